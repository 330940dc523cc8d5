/*
 * trace/core/twins.h - ranks whose traces are equal except for the names of their groups.
 * What is found for one then holds for the others.
 */
#ifndef TRACE_CORE_TWINS_H
#define TRACE_CORE_TWINS_H

#include "base/array.h"
#include "base/str.h"
#include "halley/trace.h"

typedef struct trace_twins {
    uint32_t n_ranks;
    uint32_t n_kinds; /* ranks that are the first of their class */
    uint32_t *first;  /* by rank: the lowest rank with a trace like its own */
    /* By rank: the names of its groups (lent by the traces) are names[names_at[rank]] up
     * to names_at[rank + 1]. The k-th name of a rank corresponds to the k-th of the first
     * rank of its class. There are none if there are too many, or only one rank. */
    uint32_t *names_at;
    ARRAY(str) names;
} trace_twins;

/*
 * Find the twins on up to n_threads threads (0 = one per core). Everything in two traces
 * must be equal and in the same order. Only the metadata and, one for one, the texts of
 * pg_name may differ. Twins may be missed if there are more than 64 names, or unknown
 * fields.
 */
halley_status trace_twins_init(trace_twins *out, const halley_trace_set *set,
                               uint32_t n_threads, halley_error *err);
void trace_twins_fini(trace_twins *t);

#endif
