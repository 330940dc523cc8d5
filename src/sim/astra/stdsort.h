/*
 * sim/astra/stdsort.h - sort in the order that GNU's std::sort leaves, which for equal
 * elements is neither that of the input nor chance. ASTRA-sim's memory traces show it.
 */
#ifndef SIM_ASTRA_STDSORT_H
#define SIM_ASTRA_STDSORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct stdsort_item {
    uint64_t key;
    uint32_t index;
} stdsort_item;

/* By descending key. */
void stdsort_descending(stdsort_item *at, size_t n);

#endif
