/*
 * base/fact_rows.h - short names to write the rows of base/fact.h, for files *_facts.c
 * only. THIS is the struct of the table:
 *
 *     #define THIS halley_estimate
 *     const fact_table estimate_facts = {"Step", "one step", sizeof(THIS), (const
 * fact[]){ VALUE("mfu", mfu, SHARE, "MFU", "model FLOPs over the peak", .word = "mfu"),
 *         {0}}};
 *     #undef THIS
 *
 * One row is one line. The last column opens the "..." of its macro, so that rows without
 * rare columns are strict C17.
 */
#ifndef BASE_FACT_ROWS_H
#define BASE_FACT_ROWS_H

#include "base/fact.h"

#define NO_UNIT FACT_NO_UNIT
#define SHARE FACT_SHARE
#define SECONDS FACT_SECONDS
#define BYTES FACT_BYTES
#define PER_SECOND FACT_PER_SECOND
#define FLOP FACT_FLOP
#define FLOP_PER_SECOND FACT_FLOP_PER_SECOND
#define JOULES FACT_JOULES
#define WATTS FACT_WATTS
#define USD FACT_USD
#define HOURS FACT_HOURS

/* clang-format off */
#define FACT_AT(kind_, k, m) .key = k, .kind = kind_, .at = offsetof(THIS, m)
#define FACT_KIND(m)                                                                     \
    _Generic(((THIS *)0)->m, double: FACT_REAL, uint32_t: FACT_U32, uint64_t: FACT_U64,  \
             bool: FACT_FLAG, const char *: FACT_TEXT, char *: FACT_NAME)
#define FACT_LIST_KIND(m) _Generic(((THIS *)0)->m, fact_list: FACT_LIST)
/* clang-format on */

#define VALUE(k, m, u, t, ...)                                                           \
    {                                                                                    \
        FACT_AT(FACT_KIND(m), k, m), .unit = u, .title = t, .doc = __VA_ARGS__           \
    }
#define DERIVED(k, f, u, t, ...)                                                         \
    {                                                                                    \
        .key = k, .kind = FACT_REAL, .get = f, .unit = u, .title = t, .doc = __VA_ARGS__ \
    }
#define DERIVED_TEXT(k, f, t, ...)                                                       \
    {                                                                                    \
        .key = k, .kind = FACT_TEXT, .text = f, .title = t, .doc = __VA_ARGS__           \
    }
#define CHOICE(k, m, w, t, ...)                                                          \
    {                                                                                    \
        FACT_AT(FACT_CHOICE, k, m), .size = sizeof(((THIS *)0)->m), .words = w,          \
                                    .title = t, .doc = __VA_ARGS__                       \
    }
#define OWN(k, p, t, ...)                                                                \
    {                                                                                    \
        .key = k, .kind = FACT_OWN, .print = p, .title = t, .doc = __VA_ARGS__           \
    }
#define GROUP(k, m, o, u, t, ...)                                                        \
    {                                                                                    \
        FACT_AT(FACT_GROUP, k, m), .of = &o, .unit = u, .title = t, .doc = __VA_ARGS__   \
    }
/* An object of the same struct. */
#define SELF(k, o, u, t, ...)                                                            \
    {                                                                                    \
        .key = k, .kind = FACT_GROUP, .of = &o, .unit = u, .title = t,                   \
        .doc = __VA_ARGS__                                                               \
    }
#define OBJECT(k, m, o, t, ...)                                                          \
    {                                                                                    \
        FACT_AT(FACT_OBJECT, k, m), .of = &o, .title = t, .doc = __VA_ARGS__             \
    }
#define INLINE(m, o)                                                                     \
    {                                                                                    \
        FACT_AT(FACT_INLINE, "", m), .of = &o                                            \
    }
#define LIST(k, m, o, t, ...)                                                            \
    {                                                                                    \
        FACT_AT(FACT_LIST_KIND(m), k, m), .of = o, .title = t, .doc = __VA_ARGS__        \
    }
#define CHAIN(k, m, o, item, next_, t, ...)                                              \
    {                                                                                    \
        FACT_AT(FACT_CHAIN, k, m), .of = &o, .next = offsetof(item, next_), .title = t,  \
                                   .doc = __VA_ARGS__                                    \
    }
/* `id` selects the list that `f` returns. */
#define TEXTS(k, f, id, t, ...)                                                          \
    {                                                                                    \
        .key = k, .kind = FACT_TEXTS, .each = f, .at = id, .title = t,                   \
        .doc = __VA_ARGS__                                                               \
    }
#define MAP(k, f, id, t, ...)                                                            \
    {                                                                                    \
        .key = k, .kind = FACT_MAP, .each = f, .at = id, .title = t, .doc = __VA_ARGS__  \
    }

/* Inputs: key, member, smallest, largest, what is written, meaning, default, example. */
#define IN(k, m, lo, hi, v, d, def, ...)                                                 \
    {                                                                                    \
        FACT_AT(FACT_KIND(m), k, m), .min = lo, .max = hi, .value = v, .doc = d,         \
                                     .by_default = def, .example = __VA_ARGS__           \
    }
#define IN_FLAG(k, m, d, ...)                                                            \
    {                                                                                    \
        FACT_AT(FACT_KIND(m), k, m), .value = "yes|no", .doc = d,                        \
                                     .by_default = __VA_ARGS__                           \
    }
#define IN_WORD(k, m, w, d, def, ...)                                                    \
    {                                                                                    \
        FACT_AT(FACT_CHOICE, k, m), .size = sizeof(((THIS *)0)->m), .words = w,          \
                                    .doc = d, .by_default = def, .example = __VA_ARGS__  \
    }
#define IN_BITS(k, m, w, v, d, ...)                                                      \
    {                                                                                    \
        FACT_AT(FACT_BITS, k, m), .words = w, .value = v, .doc = d, .rare = true,        \
                                  .by_default = "none", .example = __VA_ARGS__           \
    }
#define IN_OWN(k, s, p, v, d, def, ...)                                                  \
    {                                                                                    \
        .key = k, .kind = FACT_OWN, .set = s, .print = p, .value = v, .doc = d,          \
        .by_default = def, .example = __VA_ARGS__                                        \
    }
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

#endif
