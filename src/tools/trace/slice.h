/*
 * trace/slice.h - the parts of slicing: what is selected, and what must be removed
 * with it.
 */
#ifndef TRACE_SLICE_H
#define TRACE_SLICE_H

#include "base/array.h"
#include "trace/core/distinct.h"
#include "trace/core/edit.h"

typedef ARRAY(uint32_t) slice_nodes;

typedef struct slice {
    const halley_slice_opts *opts;
    const trace_distinct *distinct;
    uint8_t **keep;     /* by distinct trace (NULL = no kept rank has it), by node */
    uint32_t *new_rank; /* by rank; UINT32_MAX = left out */
    uint32_t *n_kept;   /* by distinct trace: kept ranks that have it */
    slice_nodes *drops; /* by rank: nodes that this rank cannot keep, ascending */
    uint64_t origin_ns; /* for time slices of recordings; UINT64_MAX = none */
    halley_slice_counts counts;
} slice;

/* Mark the nodes of one trace by everything except partners. The caller must free()
 * *keep. */
halley_status slice_select(uint8_t **keep, const halley_trace *trace,
                           const halley_slice_opts *opts, halley_error *err);
/* Unmark collectives, and list sends and receives, whose partners are removed. With
 * keep_unmatched, list only those whose peer rank is removed. */
halley_status slice_match(slice *s, halley_error *err);

/* Nodes of one trace that must be released at their recorded time, because what they
 * waited for has been removed. */
typedef struct slice_release {
    const halley_trace *trace;
    uint32_t n; /* nodes; 0 = nothing to release */
    uint64_t origin_ns, next_id, n_released;
    uint64_t *wait_ns; /* by node: from the origin to its recorded start; 0 = none */
    bool *is_lag, *is_used, *has_child; /* by node */
} slice_release;

/* The earliest recorded start of what is kept; UINT64_MAX: nothing was recorded. */
uint64_t slice_find_origin(const slice *s);
/* Also unmarks lags without a predecessor or successor. Call slice_release_fini also
 * after a failure. */
halley_status slice_release_init(slice_release *r, const halley_trace *trace,
                                 uint8_t *keep, uint64_t origin_ns, halley_error *err);
void slice_release_fini(slice_release *r);
/* Add the dependency of the open node on its release, if it has one. Call in the order of
 * nodes. */
halley_status slice_release_depend(slice_release *r, halley_builder *b, uint32_t node);
/* Add the release nodes. Call after all nodes. */
halley_status slice_release_add(const slice_release *r, halley_builder *b);

#endif
