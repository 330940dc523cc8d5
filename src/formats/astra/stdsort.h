/*
 * astra/stdsort.h - sorts as GNU's std::sort does, including its order of equal
 * elements, which is deterministic but not stable. ASTRA-sim's memory traces depend on
 * it.
 */
#ifndef ASTRA_STDSORT_H
#define ASTRA_STDSORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct stdsort_item {
    uint64_t key;
    uint32_t index;
} stdsort_item;

/* By descending key. */
void stdsort_descending(stdsort_item *at, size_t n);

#endif
