/*
 * trace/core/twins.h - ranks whose traces are equal but for the names of their groups, so
 * that what is found out about one holds for the others.
 */
#ifndef TRACE_CORE_TWINS_H
#define TRACE_CORE_TWINS_H

#include "base/array.h"
#include "base/str.h"
#include "halley/trace.h"

typedef struct trace_twins {
    uint32_t n_ranks;
    uint32_t n_kinds; /* ranks that are the first of their kind */
    uint32_t *first;  /* by rank: the lowest rank with a trace like its own */
    /* By rank: the names of its groups (lent by the traces) are names[names_at[rank]] up
     * to names_at[rank + 1]; where the first of its kind has its k-th, this rank has its
     * own k-th. None when there are too many, or one rank. */
    uint32_t *names_at;
    ARRAY(str) names;
} trace_twins;

/*
 * Find them, on up to n_threads threads (0 = one per core). Everything in two traces must
 * be equal, in the same order, but the metadata and, one for one, the texts of pg_name.
 * Twins may be missed when there are over 64 names, or fields that are not understood.
 */
halley_status trace_twins_init(trace_twins *out, const halley_trace_set *set,
                               uint32_t n_threads, halley_error *err);
void trace_twins_fini(trace_twins *t);

#endif
