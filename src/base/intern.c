/*
 * Interned strings: an open-addressing table of ids and a list of texts. Each slot also
 * stores 32 bits of the hash. So a probe rarely compares a wrong text, and growing the
 * table reads no texts.
 */
#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16 };

struct intern_chunk {
    intern_chunk *next;
    size_t used, size;
    char bytes[];
};

static uint64_t pack_slot(uint32_t hash, uint32_t id)
{
    return (uint64_t)hash << 32 | id;
}

static uint32_t hash_of(str s)
{
    return (uint32_t)(hash_bytes(s.at, s.n, 0) >> 32);
}

/* The slot that holds s, or the free slot where it belongs. */
static uint32_t find_text_slot(const intern *t, str s, uint32_t hash)
{
    assert(t->n_slots > 0);
    const uint32_t mask = t->n_slots - 1;
    for (uint32_t slot = hash & mask;; slot = (slot + 1) & mask) {
        const uint64_t entry = t->slots[slot];
        const uint32_t id = (uint32_t)entry;
        if (id == HASH_NONE || (entry >> 32 == hash && str_eq(t->texts[id], s)))
            return slot;
    }
}

static bool grow_slots(intern *t)
{
    if (t->n < t->n_slots / 4 * 3)
        return true;
    if (t->n_slots > UINT32_MAX / 2)
        return false;
    const uint32_t n_slots = t->n_slots > 0 ? 2 * t->n_slots : 64;
    uint64_t *slots = mem_array(n_slots, sizeof *slots);
    if (slots == NULL)
        return false;
    memset(slots, 0xff, n_slots * sizeof *slots);
    for (uint32_t i = 0; i < t->n_slots; i++) {
        if ((uint32_t)t->slots[i] == HASH_NONE)
            continue;
        uint32_t slot = (uint32_t)(t->slots[i] >> 32) & (n_slots - 1);
        while ((uint32_t)slots[slot] != HASH_NONE)
            slot = (slot + 1) & (n_slots - 1);
        slots[slot] = t->slots[i];
    }
    free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    assert(t->n < t->n_slots);
    return true;
}

static bool grow_texts(intern *t)
{
    if (t->n < t->cap)
        return true;
    const uint32_t cap = t->cap < 64 ? 64 : t->cap + t->cap / 2;
    if (cap <= t->cap)
        return false;
    str *texts = realloc(t->texts, cap * sizeof *texts);
    if (texts == NULL)
        return false;
    t->texts = texts;
    t->cap = cap;
    assert(t->n < t->cap);
    return true;
}

/* Allocate n bytes. A long text gets a chunk of its own after the first chunk. */
static char *take_bytes(intern *t, size_t n)
{
    intern_chunk *first = t->chunks;
    if (first == NULL || first->size - first->used < n) {
        const size_t size = n > CHUNK_BYTES / 4 ? n : CHUNK_BYTES;
        if (size > SIZE_MAX / 2)
            return NULL;
        intern_chunk *chunk = malloc(sizeof *chunk + size);
        if (chunk == NULL)
            return NULL;
        *chunk = (intern_chunk){.next = first, .size = size};
        if (size != CHUNK_BYTES && first != NULL) {
            chunk->next = first->next;
            first->next = chunk;
        } else {
            t->chunks = chunk;
        }
        first = chunk;
    }
    char *bytes = first->bytes + first->used;
    first->used += n;
    return bytes;
}

uint32_t intern_add(intern *t, str s)
{
    assert(s.n == 0 || s.at != NULL);
    if (!grow_slots(t) || !grow_texts(t) || s.n >= SIZE_MAX / 2)
        return HASH_NONE;
    const uint32_t hash = hash_of(s);
    const uint32_t slot = find_text_slot(t, s, hash);
    if ((uint32_t)t->slots[slot] != HASH_NONE)
        return (uint32_t)t->slots[slot];
    char *copy = take_bytes(t, s.n + 1);
    if (copy == NULL)
        return HASH_NONE;
    if (s.n > 0)
        memcpy(copy, s.at, s.n);
    copy[s.n] = '\0';
    t->texts[t->n] = (str){copy, s.n};
    t->slots[slot] = pack_slot(hash, t->n);
    return t->n++;
}

uint32_t intern_find(const intern *t, str s)
{
    return t->n_slots == 0 ? HASH_NONE
                           : (uint32_t)t->slots[find_text_slot(t, s, hash_of(s))];
}

void intern_fini(intern *t)
{
    for (intern_chunk *chunk = t->chunks; chunk != NULL;) {
        intern_chunk *next = chunk->next;
        free(chunk);
        chunk = next;
    }
    free(t->texts);
    free(t->slots);
    *t = (intern){0};
}
