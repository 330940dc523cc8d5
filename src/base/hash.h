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
/* The hash of a name without the numbers in it: "LAYER 12" and "LAYER 3" have the
 * same. */
uint64_t hash_less_numbers(str name, uint64_t seed);

/* Keys are any 64-bit numbers, values any 32-bit numbers but HASH_NONE. {0} is empty.
 * Linear probing, at most 3/4 full; 12 bytes per slot. */
#define HASH_NONE UINT32_MAX
typedef struct map64 {
    uint64_t *keys;
    uint32_t *values; /* HASH_NONE = free slot */
    size_t n, n_slots;
} map64;

bool map64_reserve(map64 *m, size_t n); /* room for n keys in total; false: no memory */
uint32_t map64_find(const map64 *m, uint64_t key); /* HASH_NONE when absent */
/* Insert if absent. *value becomes the stored value; *fresh is true if that is the given
 * one. Returns false if memory ran out. */
bool map64_put(map64 *m, uint64_t key, uint32_t *value, bool *fresh);
bool map64_set(map64 *m, uint64_t key, uint32_t value); /* insert or replace */
void map64_fini(map64 *m);

/* Interned strings: equal texts have equal ids. Ids count from 0 in order of insertion.
 * {0} is empty. Texts are copied, zero-terminated, and do not move until fini. */
typedef struct intern_chunk intern_chunk;
typedef struct intern {
    str *texts;      /* by id */
    uint64_t *slots; /* hash in the upper half, id in the lower; HASH_NONE = free */
    uint32_t n, cap, n_slots;
    intern_chunk *chunks;
} intern;

/* The id of s, which is added if it is new; HASH_NONE if memory ran out. */
uint32_t intern_add(intern *t, str s);
uint32_t intern_find(const intern *t, str s); /* HASH_NONE when never seen */
static inline str intern_text(const intern *t, uint32_t id)
{
    return t->texts[id];
}
void intern_fini(intern *t);

#endif
