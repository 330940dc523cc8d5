/*
 * sim/table.h - a hash table from 64-bit hashes to 32-bit values that supports removal.
 * The caller tells equal hashes apart.
 */
#ifndef SIM_TABLE_H
#define SIM_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define TABLE_NONE UINT32_MAX

/* {0} is empty. Linear probing, at most half full. */
typedef struct table {
    uint64_t *hashes;
    uint32_t *values; /* TABLE_NONE = free */
    uint32_t n, n_slots;
} table;

bool table_add(table *t, uint64_t hash, uint32_t value); /* false: no memory */
void table_remove(table *t, uint64_t hash, uint32_t value);
/* Iterate over the values with this hash: start with *slot = TABLE_NONE; returns
 * TABLE_NONE at the end. */
uint32_t table_next(const table *t, uint64_t hash, uint32_t *slot);
void table_fini(table *t);

#endif
