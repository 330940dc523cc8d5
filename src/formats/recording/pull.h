/* recording/pull.h - helpers on top of json_reader for the readers of recordings. */
#ifndef RECORDING_PULL_H
#define RECORDING_PULL_H

#include "base/hash.h"
#include "base/json.h"

#define PULL_NONE UINT64_MAX

static inline bool pull_is(str text, const char *word, size_t n)
{
    return text.n == n && __builtin_memcmp(text.at, word, n) == 0;
}
/* Does the text equal this literal? */
#define PULL_IS(text, literal) pull_is((text), "" literal, sizeof(literal) - 1)

/* The integer of a number or string token (decimal, or 0x…). PULL_NONE: it is not an
 * integer. Negative numbers are returned as two's complement. */
uint64_t pull_u64(const json_reader *r, json_token token);
/* Microseconds, with an optional fraction, as nanoseconds. Exact to the nanosecond;
 * halves are rounded up. False: not a number, or out of range. */
bool pull_us_as_ns(str text, int64_t *out);
/* The last key or string with escapes decoded. `scratch` holds it if there were any. */
str pull_text(json_reader *r, strbuf *scratch);
/* The state of reading one recording, with the texts it keeps. {.texts} is empty. */
typedef struct pull_reader {
    json_reader json;
    intern *texts;
    strbuf scratch;
    json_token last; /* last token of the object being iterated */
    bool no_memory;
} pull_reader;
/* Report an error at the reader's position: `what`, or the JSON error, or no memory. */
halley_status pull_bad(pull_reader *r, halley_error *err, const char *what);
/*
 * Iterate over the keys of an object, after its opening bracket: `while (pull_key(r)) …`.
 * Each key is in r->json.text; its value must be read or skipped. Then pull_ended checks
 * whether the object ended or the text is bad.
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
 * Iterate over the objects of a list, after its opening bracket: `while (pull_object(r))
 * …`. Each object must be read. Then pull_list_ended checks whether the list ended.
 * `what` is the error for an item that is not an object.
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
/* Skip the value that starts with `token`. */
static inline halley_status pull_skip(pull_reader *r, json_token token, halley_error *err)
{
    return json_leap(&r->json, token) ? HALLEY_OK : pull_bad(r, err, NULL);
}
/* Intern the text of a string or number. HASH_NONE for other tokens, or if memory ran out
 * (no_memory). */
uint32_t pull_intern(pull_reader *r, json_token token);

/*
 * Write the value that starts with `token` as Python's repr() prints it after
 * json.load(), which is what Chakra keeps in IOInfo. False: a JSON_ERROR occurred
 * (r->problem).
 */
bool pull_repr(json_reader *r, json_token token, strbuf *to);

#endif
