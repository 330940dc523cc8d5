/*
 * trace/core/distinct.h - the distinct traces of a set, so that equal ranks are analysed
 * once.
 */
#ifndef TRACE_CORE_DISTINCT_H
#define TRACE_CORE_DISTINCT_H

#include "halley/trace.h"

typedef struct trace_distinct {
    uint32_t n_ranks, n;
    uint32_t *which;            /* n_ranks: index into the arrays below */
    uint32_t *first_rank;       /* n: lowest rank that has the trace */
    uint32_t *n_sharing;        /* n: ranks that have it */
    const halley_trace **trace; /* n */
} trace_distinct;

halley_status trace_distinct_init(trace_distinct *out, const halley_trace_set *set,
                                  halley_error *err);
void trace_distinct_fini(trace_distinct *d);

#endif
