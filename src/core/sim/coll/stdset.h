/*
 * sim/coll/stdset.h - a set of numbered items with the iteration order of GNU's
 * std::unordered_set<uint64_t>. ASTRA-sim issues the nodes of a custom collective in that
 * order, so it determines who gets a link first.
 */
#ifndef SIM_STDSET_H
#define SIM_STDSET_H

#include <stdbool.h>
#include <stdint.h>

#define STDSET_END UINT32_MAX

/* Items are 0 … n-1; item i has the key keys[i]. {0} is empty except for `keys`. */
typedef struct stdset {
    const uint64_t *keys;
    uint32_t *next;    /* by item; n of them, owned by the caller */
    uint32_t *buckets; /* the item before the first of the bucket; owned */
    uint32_t n, n_buckets, first;
} stdset;

/* `next` has room for every item. */
static inline void stdset_init(stdset *s, const uint64_t *keys, uint32_t *next)
{
    *s = (stdset){.keys = keys, .next = next, .first = STDSET_END};
}
/* The number of buckets of a set to which n items were added. */
uint32_t stdset_count_buckets(uint32_t n);
/* Add an item that is not in the set; false: no memory. */
bool stdset_add(stdset *s, uint32_t i);
/* Remove an item that is in the set. */
void stdset_remove(stdset *s, uint32_t i);
void stdset_fini(stdset *s);

#endif
