/*
 * trace/stats.h - the growing tables of halley_trace_stats. Rows are found by hash
 * and returned sorted.
 */
#ifndef TRACE_STATS_H
#define TRACE_STATS_H

#include "base/array.h"
#include "base/hash.h"
#include "halley/trace_stats.h"

enum { STATS_MAX_ROWS = 65536 };

/* {0} is empty. */
typedef struct stats_colls {
    ARRAY(halley_coll_stats) rows;
    map64 index;
} stats_colls;

typedef struct stats_attrs {
    ARRAY(halley_attr_stats) rows;
    map64 index;
} stats_attrs;

/* Add row->n to the row of that key. False: no memory. */
bool stats_colls_add(stats_colls *t, const halley_coll_stats *row);
bool stats_attrs_add(stats_attrs *t, const halley_attr_stats *row);

/* Return the sorted rows, which the caller must free(). The table is empty afterwards. */
void stats_colls_take(stats_colls *t, halley_coll_stats **rows, uint32_t *n);
void stats_attrs_take(stats_attrs *t, halley_attr_stats **rows, uint32_t *n);

#endif
