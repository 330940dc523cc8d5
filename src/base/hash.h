/* base/hash.h - hashing, and one open-addressing map from 64-bit keys to 32-bit values.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 well mixed bits of n bytes; the same on every machine and in every run. */
uint64_t hash_bytes(const void *at, size_t n, uint64_t seed);
uint64_t hash_u64(uint64_t x);
/* Of a name less the numbers in it: "LAYER 12" and "LAYER 3" have the same. */
uint64_t hash_less_numbers(str name, uint64_t seed);

/*
 * Keys are any 64-bit number, values any 32-bit number but HASH_NONE. {0} is empty.
 * Linear probing, at most 3/4 full; 12 bytes a slot.
 */
#define HASH_NONE UINT32_MAX
typedef struct map64 {
    uint64_t *keys;
    uint32_t *values; /* HASH_NONE = free slot */
    size_t n, n_slots;
} map64;

bool map64_reserve(map64 *m, size_t n); /* room for n keys in all; false: no memory */
uint32_t map64_find(const map64 *m, uint64_t key); /* HASH_NONE when absent */
/* Insert if absent. *value is the value that now stands there, *fresh whether it is the
 * given one. False: no memory. */
bool map64_put(map64 *m, uint64_t key, uint32_t *value, bool *fresh);
bool map64_set(map64 *m, uint64_t key, uint32_t value); /* insert or replace */
void map64_fini(map64 *m);

/*
 * Interned strings: equal text, equal id; ids count from 0 in order of first sight. {0}
 * is empty. Texts are copied, terminated after their last byte, and stay where they are
 * until fini.
 */
typedef struct intern_chunk intern_chunk;
typedef struct intern {
    str *texts;      /* by id */
    uint64_t *slots; /* hash in the upper half, id in the lower; HASH_NONE = free */
    uint32_t n, cap, n_slots;
    intern_chunk *chunks;
} intern;

/* The id of s, new or old; HASH_NONE when memory ran out. */
uint32_t intern_add(intern *t, str s);
uint32_t intern_find(const intern *t, str s); /* HASH_NONE when never seen */
static inline str intern_text(const intern *t, uint32_t id)
{
    return t->texts[id];
}
void intern_fini(intern *t);

#endif
