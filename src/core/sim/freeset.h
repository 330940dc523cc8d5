/*
 * sim/freeset.h - a set of small numbers that finds its smallest member quickly. The
 * lowest level has one bit per number, the next one bit per word of the level below, and
 * so on. It needs no memory except these bits.
 */
#ifndef SIM_FREESET_H
#define SIM_FREESET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FREESET_LEVELS = 6 };

typedef struct freeset {
    uint64_t *levels[FREESET_LEVELS]; /* the bits first, the single top word last */
    uint32_t n_levels;
} freeset;

/* Words that a set of numbers below n needs. */
static inline size_t freeset_words(uint32_t n)
{
    size_t words = n == 0 ? 1 : ((size_t)n + 63) / 64, total = words;
    while (words > 1) {
        words = (words + 63) / 64;
        total += words;
    }
    return total;
}

/* An empty set over freeset_words(n) zeroed words. */
static inline void freeset_init(freeset *s, uint64_t *words, uint32_t n)
{
    size_t n_words = n == 0 ? 1 : ((size_t)n + 63) / 64;
    s->n_levels = 0;
    for (;;) {
        assert(s->n_levels < FREESET_LEVELS);
        s->levels[s->n_levels++] = words;
        if (n_words == 1)
            return;
        words += n_words;
        n_words = (n_words + 63) / 64;
    }
}

static inline void freeset_add(freeset *s, uint32_t i)
{
    assert((uint64_t)i >> (6 * s->n_levels) == 0); /* within the capacity of the set */
    for (uint32_t level = 0; level < s->n_levels; level++) {
        uint64_t *word = &s->levels[level][i >> 6];
        const bool was_empty = *word == 0;
        *word |= UINT64_C(1) << (i & 63);
        if (!was_empty)
            return;
        i >>= 6;
    }
}

static inline void freeset_remove(freeset *s, uint32_t i)
{
    assert((uint64_t)i >> (6 * s->n_levels) == 0);
    for (uint32_t level = 0; level < s->n_levels; level++) {
        uint64_t *word = &s->levels[level][i >> 6];
        *word &= ~(UINT64_C(1) << (i & 63));
        if (*word != 0)
            return;
        i >>= 6;
    }
}

/* The smallest number, or UINT32_MAX. */
static inline uint32_t freeset_first(const freeset *s)
{
    uint32_t i = 0;
    for (uint32_t level = s->n_levels; level-- > 0;) {
        const uint64_t word = s->levels[level][i];
        if (word == 0)
            return UINT32_MAX;
        i = i << 6 | (uint32_t)__builtin_ctzll(word);
        assert(level == 0 || s->levels[level - 1][i] != 0); /* the levels agree */
    }
    return i;
}

#endif
