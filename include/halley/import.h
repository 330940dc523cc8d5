/*
 * halley/import.h - what was read from another tool's file: the keys that were used, the
 * defaults that were assumed, the keys without influence, and the unknown keys.
 */
#ifndef HALLEY_IMPORT_H
#define HALLEY_IMPORT_H

#include "halley/error.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_import_list {
    HALLEY_IMPORT_READ,    /* the key was used */
    HALLEY_IMPORT_ASSUMED, /* the key is absent; the value is the default that was used */
    HALLEY_IMPORT_IGNORED, /* a known key that changes neither shapes nor communication */
    HALLEY_IMPORT_UNKNOWN, /* a key that halley has never seen */
    HALLEY_IMPORT_NOTE,    /* a sentence about the file; the key is "" */
    HALLEY_N_IMPORT_LISTS
} halley_import_list;

typedef struct halley_import_entry {
    halley_import_list list;
    const char *key;   /* lent */
    const char *value; /* as text, lent; "" where there is none */
} halley_import_entry;

typedef struct halley_import halley_import; /* opaque; free with halley_import_free */

/* The kind of file, for example "Hugging Face configuration"; lent. */
const char *halley_import_kind(const halley_import *import);
uint32_t halley_import_count(const halley_import *import);
/* The i-th entry, i < halley_import_count. */
halley_import_entry halley_import_get(const halley_import *import, uint32_t i);
void halley_import_free(halley_import *import);

#ifdef __cplusplus
}
#endif
#endif
