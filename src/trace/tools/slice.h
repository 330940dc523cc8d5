/* trace/tools/slice.h - the parts of slicing: what is selected, what must go with it. */
#ifndef TRACE_TOOLS_SLICE_H
#define TRACE_TOOLS_SLICE_H

#include "base/array.h"
#include "trace/core/distinct.h"
#include "trace/tools/edit.h"

typedef ARRAY(uint32_t) slice_nodes;

typedef struct slice {
    const halley_slice_opts *opts;
    const trace_distinct *distinct;
    uint8_t **keep;     /* by distinct trace (NULL = no kept rank has it), by node */
    uint32_t *new_rank; /* by rank; UINT32_MAX = left out */
    uint32_t *n_kept;   /* by distinct trace: kept ranks that have it */
    slice_nodes *drops; /* by rank: nodes that this rank cannot keep, ascending */
    halley_slice_counts counts;
} slice;

/* Marks of one trace by everything but partners: *keep is the caller's, to free(). */
halley_status slice_select(uint8_t **keep, const halley_trace *trace,
                           const halley_slice_opts *opts, halley_error *err);
/* Unmark collectives and list sends and receives whose partners are removed; with
 * keep_unmatched only those that have no rank to go to any more. */
halley_status slice_match(slice *s, halley_error *err);

#endif
