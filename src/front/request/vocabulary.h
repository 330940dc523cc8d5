/*
 * request/vocabulary.h - every key of a JSON result, listed once: unit, meaning, the
 * commands that write it, and its name in YAML files and expressions. `halley help json`,
 * halley-json(5) and the schema are made from it. tools/test/check-json fails on a key
 * that is missing here.
 *
 * Results with rows (`result` of their verb, base/fact.h) need nothing here. To add a key
 * to another one: a row in vocabulary_keys.c. Keys of objects are written with the object
 * and a dot.
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

extern const request_key request_key_rows[]; /* up to one without a key */

/* Holds texts of a request_key. */
typedef struct request_key_room {
    char name[64], verbs[512];
} request_key_room;

/* The i-th key; false after the last. Its texts are valid as long as `room`. */
bool request_key_get(request_key *out, request_key_room *room, size_t i);

#endif
