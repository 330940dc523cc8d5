/*
 * request/vocabulary.h - every key of a JSON result, listed once: unit, meaning, the
 * commands that write it, and its name in YAML files and expressions. `halley help json`,
 * halley-json(5) and the schema are made from it. tools/test/check-json fails on a key
 * that is missing here.
 *
 * To add a key: a row in vocabulary.c. Keys of some objects (parts_s, memory_bytes,
 * import, explain, plan) could be confused with others; they are written with the object
 * and a dot. Plan keys come from the table of plans and need no row.
 */
#ifndef REQUEST_VOCABULARY_H
#define REQUEST_VOCABULARY_H

#include <stdbool.h>
#include <stddef.h>

typedef enum request_key_type {
    REQUEST_IS_NUMBER,
    REQUEST_IS_INTEGER,
    REQUEST_IS_TEXT,
    REQUEST_IS_BOOLEAN,
    REQUEST_IS_LIST,
    REQUEST_IS_OBJECT,
    REQUEST_IS_ANY, /* differs from command to command */
} request_key_type;

enum {
    REQUEST_KEY_FREE = 1, /* an object or list whose keys are data: names, paths */
    REQUEST_KEY_RARE = 2, /* written only in some cases */
};

/* "micro-batch" as a key of JSON: "micro_batch". */
void request_key_name(char to[64], const char *word);

typedef struct request_key {
    const char *key;
    request_key_type type;
    const char *unit;    /* NULL = none */
    const char *meaning; /* a phrase */
    const char *verbs;   /* commands, separated by ", "; "*" = all */
    const char *word;    /* in YAML and expressions; NULL = none */
    unsigned flags;
} request_key;

/* The i-th key; false after the last. Keys of plans come last; `name` holds their name.
 */
bool request_key_get(request_key *out, char name[64], size_t i);

#endif
