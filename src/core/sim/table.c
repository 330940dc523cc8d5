/* sim/table.c - linear probing; removal moves later entries back into the gap. */
#include "sim/table.h"

#include "base/array.h"

#include <assert.h>

static uint32_t get_home_slot(const table *t, uint64_t hash)
{
    return (uint32_t)(hash & (t->n_slots - 1));
}

static void place_value(table *t, uint64_t hash, uint32_t value)
{
    uint32_t i = get_home_slot(t, hash);
    assert(value != TABLE_NONE && t->n < t->n_slots);
    while (t->values[i] != TABLE_NONE)
        i = (i + 1) & (t->n_slots - 1);
    t->hashes[i] = hash;
    t->values[i] = value;
}

static bool grow_table(table *t)
{
    table next = {.n_slots = t->n_slots == 0 ? 64 : t->n_slots * 2, .n = t->n};
    if (next.n_slots < t->n_slots)
        return false;
    next.hashes = mem_array(next.n_slots, sizeof *next.hashes);
    next.values = mem_array(next.n_slots, sizeof *next.values);
    if (next.hashes == NULL || next.values == NULL) {
        table_fini(&next);
        return false;
    }
    for (uint32_t i = 0; i < next.n_slots; i++)
        next.values[i] = TABLE_NONE;
    for (uint32_t i = 0; i < t->n_slots; i++)
        if (t->values[i] != TABLE_NONE)
            place_value(&next, t->hashes[i], t->values[i]);
    table_fini(t);
    *t = next;
    return true;
}

bool table_add(table *t, uint64_t hash, uint32_t value)
{
    if (t->n >= t->n_slots / 2 && !grow_table(t))
        return false;
    place_value(t, hash, value);
    t->n++;
    return true;
}

void table_remove(table *t, uint64_t hash, uint32_t value)
{
    const uint32_t mask = t->n_slots - 1;
    if (t->n == 0)
        return;
    uint32_t gap = get_home_slot(t, hash);
    while (t->values[gap] != value || t->hashes[gap] != hash) {
        if (t->values[gap] == TABLE_NONE)
            return;
        gap = (gap + 1) & mask;
    }
    for (uint32_t i = (gap + 1) & mask; t->values[i] != TABLE_NONE; i = (i + 1) & mask) {
        /* An entry may move back to the gap if that is not before its home. */
        if (((i - get_home_slot(t, t->hashes[i])) & mask) >= ((i - gap) & mask)) {
            t->hashes[gap] = t->hashes[i];
            t->values[gap] = t->values[i];
            gap = i;
        }
    }
    t->values[gap] = TABLE_NONE;
    assert(t->n > 0);
    t->n--;
}

uint32_t table_next(const table *t, uint64_t hash, uint32_t *slot)
{
    if (t->n == 0)
        return TABLE_NONE;
    uint32_t i =
        *slot == TABLE_NONE ? get_home_slot(t, hash) : (*slot + 1) & (t->n_slots - 1);
    for (; t->values[i] != TABLE_NONE; i = (i + 1) & (t->n_slots - 1)) {
        if (t->hashes[i] == hash) {
            *slot = i;
            return t->values[i];
        }
    }
    return TABLE_NONE;
}

void table_fini(table *t)
{
    free(t->hashes);
    free(t->values);
    *t = (table){0};
}
