/*
 * Tables of collectives and attributes. A map leads from a 64-bit hash to a row. If two
 * keys have the same hash, the second uses the next number. A table stops growing at
 * STATS_MAX_ROWS, so that a trace with many different sizes cannot use up the memory.
 */
#include "trace/stats.h"

#include <string.h>

static bool same_text(halley_bytes a, halley_bytes b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static int compare_text(halley_bytes a, halley_bytes b)
{
    return str_cmp((str){a.at, a.n}, (str){b.at, b.n});
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static bool same_coll(const halley_coll_stats *a, const halley_coll_stats *b)
{
    return a->type == b->type && a->size_bytes == b->size_bytes &&
           same_text(a->group, b->group);
}

bool stats_colls_add(stats_colls *t, const halley_coll_stats *row)
{
    halley_coll_stats key = *row;
    if (t->rows.n >= STATS_MAX_ROWS)
        key.size_bytes = HALLEY_SIZE_OTHER;
    uint64_t hash = hash_bytes(key.group.at, key.group.n, hash_u64(key.size_bytes));
    hash = hash_u64(hash + key.type);
    for (;; hash++) {
        uint32_t at = (uint32_t)t->rows.n;
        bool fresh = false;
        if (!array_reserve(&t->rows, 1) || !map64_put(&t->index, hash, &at, &fresh))
            return false;
        if (fresh) {
            t->rows.at[t->rows.n++] = key;
            return true;
        }
        if (same_coll(&t->rows.at[at], &key)) {
            t->rows.at[at].n += key.n;
            return true;
        }
    }
}

static bool same_attr(const halley_attr_stats *a, const halley_attr_stats *b)
{
    return a->kind == b->kind && same_text(a->name, b->name);
}

bool stats_attrs_add(stats_attrs *t, const halley_attr_stats *row)
{
    halley_attr_stats key = *row;
    if (t->rows.n >= STATS_MAX_ROWS)
        key.name = (halley_bytes){"(others)", 8};
    uint64_t hash = hash_bytes(key.name.at, key.name.n, (uint64_t)key.kind);
    for (;; hash++) {
        uint32_t at = (uint32_t)t->rows.n;
        bool fresh = false;
        if (!array_reserve(&t->rows, 1) || !map64_put(&t->index, hash, &at, &fresh))
            return false;
        if (fresh) {
            t->rows.at[t->rows.n++] = key;
            return true;
        }
        if (same_attr(&t->rows.at[at], &key)) {
            t->rows.at[at].n += key.n;
            return true;
        }
    }
}

static int by_type_group_size(const void *a, const void *b)
{
    const halley_coll_stats *x = a, *y = b;
    int order = compare_u64(x->type, y->type);
    if (order == 0)
        order = compare_text(x->group, y->group);
    return order != 0 ? order : compare_u64(x->size_bytes, y->size_bytes);
}

static int by_name_kind(const void *a, const void *b)
{
    const halley_attr_stats *x = a, *y = b;
    const int order = compare_text(x->name, y->name);
    return order != 0 ? order : (int)x->kind - (int)y->kind;
}

void stats_colls_take(stats_colls *t, halley_coll_stats **rows, uint32_t *n)
{
    map64_fini(&t->index);
    array_trim(&t->rows);
    if (t->rows.n > 1)
        qsort(t->rows.at, t->rows.n, sizeof *t->rows.at, by_type_group_size);
    *rows = t->rows.at;
    *n = (uint32_t)t->rows.n;
    *t = (stats_colls){0};
}

void stats_attrs_take(stats_attrs *t, halley_attr_stats **rows, uint32_t *n)
{
    map64_fini(&t->index);
    array_trim(&t->rows);
    if (t->rows.n > 1)
        qsort(t->rows.at, t->rows.n, sizeof *t->rows.at, by_name_kind);
    *rows = t->rows.at;
    *n = (uint32_t)t->rows.n;
    *t = (stats_attrs){0};
}
