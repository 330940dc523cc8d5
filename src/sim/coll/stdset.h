/*
 * sim/coll/stdset.h - a set of numbered things that is walked in the order in which GNU's
 * std::unordered_set<uint64_t> would be. ASTRA-sim issues the nodes of a custom
 * collective in that order, so it decides who gets a link first.
 */
#ifndef SIM_STDSET_H
#define SIM_STDSET_H

#include <stdbool.h>
#include <stdint.h>

#define STDSET_END UINT32_MAX

/* Things are 0 … n-1, thing i has the key keys[i]. {0} is empty but for `keys`. */
typedef struct stdset {
    const uint64_t *keys;
    uint32_t *next;    /* by thing; n of them, the caller's */
    uint32_t *buckets; /* the thing before the first of the bucket; own */
    uint32_t n, n_buckets, first;
} stdset;

/* `next` has room for every thing. */
static inline void stdset_init(stdset *s, const uint64_t *keys, uint32_t *next)
{
    *s = (stdset){.keys = keys, .next = next, .first = STDSET_END};
}
/* The buckets of a set to which n things were added. */
uint32_t stdset_count_buckets(uint32_t n);
/* Add a thing that is not in it; false: no memory. */
bool stdset_add(stdset *s, uint32_t i);
/* Take out a thing that is in it. */
void stdset_remove(stdset *s, uint32_t i);
void stdset_fini(stdset *s);

#endif
