/* ingest/pull.h - small steps over json_reader that both readers of recordings take. */
#ifndef INGEST_PULL_H
#define INGEST_PULL_H

#include "base/hash.h"
#include "base/json.h"

#define PULL_NONE UINT64_MAX

static inline bool pull_is(str text, const char *word, size_t n)
{
    return text.n == n && __builtin_memcmp(text.at, word, n) == 0;
}
/* Does the reader's last text equal this literal? */
#define PULL_IS(text, literal) pull_is((text), "" literal, sizeof(literal) - 1)

/* The whole number behind a number or a string token (decimal, or 0x…); PULL_NONE for
 * what is none. Negative numbers come out as two's complement. */
uint64_t pull_u64(const json_reader *r, json_token token);
/* Microseconds, with a fraction perhaps, as nanoseconds: exact to the nanosecond, halves
 * rounded up. False: no number, or none that fits. */
bool pull_us_as_ns(str text, int64_t *out);
/* The last key or string without escapes; `scratch` holds it when it had any. */
str pull_text(json_reader *r, strbuf *scratch);
/* One recording being read, with the texts it keeps. {.texts} is empty. */
typedef struct pull_reader {
    json_reader json;
    intern *texts;
    strbuf scratch;
    json_token last; /* of an object's walk */
    bool no_memory;
} pull_reader;
/* What is wrong where the reader stands: `what`, or what JSON says; or no memory. */
halley_status pull_bad(pull_reader *r, halley_error *err, const char *what);
/*
 * The keys of an object, behind its opening bracket: `while (pull_key(r)) …` with each
 * key in r->json.text, its value to be read or skipped; then pull_ended says whether the
 * object ended or the text is bad.
 */
static inline bool pull_key(pull_reader *r)
{
    r->last = json_next(&r->json);
    return r->last == JSON_KEY;
}
static inline halley_status pull_ended(pull_reader *r, halley_error *err)
{
    return r->last == JSON_OBJECT_END ? HALLEY_OK : pull_bad(r, err, NULL);
}
/*
 * The objects of a list, after its opening bracket: `while (pull_object(r)) …` with each
 * object to be read; then pull_list_ended says whether the list ended. `what` is wrong
 * with an item that is no object.
 */
static inline bool pull_object(pull_reader *r)
{
    r->last = json_next(&r->json);
    return r->last == JSON_OBJECT;
}
static inline halley_status pull_list_ended(pull_reader *r, const char *what,
                                            halley_error *err)
{
    if (r->last == JSON_ARRAY_END)
        return HALLEY_OK;
    return pull_bad(r, err, r->last == JSON_ERROR ? NULL : what);
}
/* Past the value that starts with `token`. */
static inline halley_status pull_skip(pull_reader *r, json_token token, halley_error *err)
{
    return json_leap(&r->json, token) ? HALLEY_OK : pull_bad(r, err, NULL);
}
/* The text of a string or number, interned; HASH_NONE for other tokens, and when memory
 * ran out (no_memory). */
uint32_t pull_intern(pull_reader *r, json_token token);

/*
 * The value that starts with `token` as Python's repr() would print it after json.load():
 * what Chakra keeps in IOInfo. False: JSON_ERROR came up (r->problem).
 */
bool pull_repr(json_reader *r, json_token token, strbuf *to);

#endif
