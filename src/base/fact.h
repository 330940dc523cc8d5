/*
 * base/fact.h - a struct described once, row by row. For results, tables for people, CSV,
 * JSON, the schema and the help are made from the rows. For inputs, the reader of files
 * and options, the printer and the manual pages are made from them.
 *
 * To add a quantity to a result: a member of the struct and one row of its table in a
 * file *_facts.c (macros: base/fact_rows.h), then its computation. Nothing else: JSON,
 * CSV, `halley schema`, `halley help json` and halley-json(5) follow.
 *
 *     VALUE("step_s", step_s, SECONDS, "step", "time of a training step"),
 *
 * To add a key of an input (a plan): a member of the struct, one row with IN..., for
 * plans an id in halley_plan_key, and its effect. Files, options, manual pages, JSON and
 * schema follow. Range and words are all that the reader checks; rules between keys are
 * functions (workload/plan_rules.c).
 *
 *     IN("tp", tp, 1, 1e6, "N", "ranks that split every layer", "1", "8"),
 *
 * A row is one line: key, member, unit, title in tables, meaning; then rare columns by
 * name (.word = "mfu"). The kind of a row is deduced from its member, so that a row whose
 * member has another type does not compile. Values are in SI base units, which the end of
 * the key states (_s, _bytes, _usd). Keys may contain -, which JSON and CSV write as _.
 *
 * A value is absent if its number is not finite, its text or pointer NULL, its name "",
 * its list empty, no bit set, or an input out of its range. The row then says
 * .rare = true, and the schema does not require it. A value that follows from the struct
 * alone is DERIVED; one that needs more is computed by the engine into the struct.
 */
#ifndef BASE_FACT_H
#define BASE_FACT_H

#include "base/error.h"
#include "base/number/units.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum fact_kind {
    FACT_REAL,   /* double */
    FACT_U32,    /* uint32_t */
    FACT_U64,    /* uint64_t */
    FACT_FLAG,   /* bool */
    FACT_TEXT,   /* const char *, lent */
    FACT_NAME,   /* char[] */
    FACT_CHOICE, /* uint32_t, enum or bool: one of `words` */
    FACT_BITS,   /* uint32_t: a list of `words`, one bit each */
    FACT_OWN,    /* stored in a way of its own: `print`, `set` */
    FACT_GROUP,  /* an object: the struct inside that `of` describes */
    FACT_OBJECT, /* an object: a pointer to such a struct */
    FACT_INLINE, /* the struct's rows as if they were rows of this table */
    FACT_LIST,   /* a fact_list of such structs; of texts if `of` is NULL */
    FACT_CHAIN, /* a pointer to the first of such structs, each with a pointer to the next
                 */
    FACT_TEXTS, /* a list of texts: `each` */
    FACT_MAP,   /* an object whose keys are data: `each` */
} fact_kind;

typedef enum fact_unit {
    FACT_NO_UNIT,
    FACT_SHARE,
    FACT_SECONDS,
    FACT_BYTES,
    FACT_PER_SECOND,
    FACT_FLOP,
    FACT_FLOP_PER_SECOND,
    FACT_JOULES,
    FACT_WATTS,
    FACT_USD,
    FACT_HOURS,
    FACT_N_UNITS
} fact_unit;

typedef struct fact_table fact_table;
typedef struct fact fact;

/* An entry of FACT_TEXTS (without a key) or FACT_MAP. */
typedef struct fact_entry {
    const char *key, *text; /* lent */
} fact_entry;

struct fact {
    const char *key;
    fact_kind kind;
    size_t at;               /* of the member in the struct */
    fact_unit unit;          /* of an object: of all its numbers */
    const char *title, *doc; /* in tables; a phrase */
    bool rare;               /* may be absent */
    bool flat;            /* an object, or a list with its items, on one line of JSON */
    bool tall;            /* LIST, CHAIN: an item takes several lines of JSON */
    const fact_table *of; /* GROUP, OBJECT, INLINE, LIST, CHAIN */
    const char *const *words; /* CHOICE, BITS, may be of OWN: ends with NULL */
    size_t size;              /* CHOICE: of the member; a bool has one byte */
    size_t next;              /* CHAIN: of the pointer to the next item, in an item */
    const char *word;         /* the name in expressions and studies: "step-time" */
    double (*get)(const void *from);       /* REAL, OWN: computed, instead of `at` */
    const char *(*text)(const void *from); /* TEXT: the same */
    void (*print)(strbuf *to, const fact *f, const void *from); /* OWN; nothing: absent */
    /* TEXTS, MAP: the i-th entry; false past the last. `at` is free for its use. */
    bool (*each)(fact_entry *out, const fact *f, const void *from, size_t i);

    /* Of inputs only. */
    const char *value;      /* what is written: "N"; NULL: one of `words` */
    const char *by_default; /* in words: "1", "the model's, else 8192" */
    const char *example;    /* a value; NULL for flags */
    double min, max;        /* of numbers, inclusive */
    const char *all;        /* U32: this word means UINT32_MAX */
    const char *also;       /* "gbs; batch": names of the key in other programs; after the
                               semicolon those that only serve "did you mean" */
    bool is_list;           /* OWN: several values, as of BITS */
    bool is_fixed;          /* no parameter of studies */
    /* OWN: store a text; `more`: add to what was stored before it. */
    halley_status (*set)(const fact *f, void *to, str text, bool more, halley_error *err);
};

struct fact_table {
    const char *name, *doc; /* "Estimate": the type in the schema; a phrase */
    size_t size;            /* of the struct */
    const fact *rows;       /* up to a row without key */
};

typedef struct fact_list {
    const void *at;
    size_t n;
} fact_list;

/* Append a single value as JSON: 8, "full", true. Appends nothing if it is absent, and
 * for kinds with several values. */
void fact_print(strbuf *to, const fact *f, const void *from);
/* Set a value of kind BITS or OWN from a text: "optimizer+gradients". With `more`, it is
 * added to the others; bits are added in any case. */
halley_status fact_set(const fact *f, void *to, str text, bool more, halley_error *err);
/* The number of a word of the row. HALLEY_EINVAL names the words and the nearest one. */
halley_status fact_find_word(uint32_t *out, const fact *f, str text, halley_error *err);
/* True if the row takes several values. */
bool fact_is_list(const fact *f);
/* The row of a key, with _ for -; NULL: none. */
const fact *fact_find(const fact_table *t, str key);
/* The row of a key of another program (`also`); *is_alias: it has the same values. */
const fact *fact_find_also(bool *is_alias, const fact_table *t, str word);

/* The text of TEXT, NAME and CHOICE; NULL: absent. Lent. */
const char *fact_text(const fact *f, const void *from);
/* The number of a row: of a choice that of its word, of BITS the bits, of OWN what `get`
 * gives, else 0. */
double fact_number(const fact *f, const void *from);
bool fact_is_number(const fact *f);
/* The key as JSON and CSV write it; `to` holds 64 bytes. Returns `to`. */
const char *fact_key(char to[64], const fact *f);
/* "B", "1/s"; "" for plain numbers and shares. */
const char *fact_unit_name(fact_unit unit);
/* The end of keys with this unit: "_bytes"; "" if there is none. */
const char *fact_unit_suffix(fact_unit unit);
units_kind fact_unit_kind(fact_unit unit);

/* The struct of GROUP, OBJECT and INLINE, or the first item of LIST and CHAIN; NULL:
 * absent. `fact_next` gives the item after `item`, NULL after the last. */
const void *fact_inside(const fact *f, const void *from);
const void *fact_next(const fact *f, const void *from, const void *item);

/* The row of a number by its key or its path: "mfu", "parts_s.bubble"; NULL: none. The
 * row belongs to the struct *at. */
const fact *fact_find_number(const void **at, const fact_table *t, const void *from,
                             str path);

/*
 * Append a JSON schema (2020-12) of the object that the table describes, without braces.
 * x-unit and x-word hold the unit and the word. Nested tables are named: {"$ref":
 * "<base><name>"}; fact_tables lists them.
 */
void fact_schema(strbuf *to, const fact_table *t, const char *base);
/* Add the table and all tables inside it to `tables`, each once; inline ones are left
 * out. Returns the new number, at most `size`. */
size_t fact_tables(const fact_table **tables, size_t n, size_t size, const fact_table *t);

#endif
