/* trace/core/levels.h - longest-path levels of a dependency graph, and its cycles. */
#ifndef TRACE_CORE_LEVELS_H
#define TRACE_CORE_LEVELS_H

#include "trace/core/store.h"

/* Level of a node in or after a dependency cycle: it can never start. */
#define TRACE_LEVEL_CYCLIC UINT32_MAX

typedef struct trace_levels_opts {
    bool with_time;   /* compute end_us too */
    bool ignore_self; /* a node's dependency on itself is not a cycle */
} trace_levels_opts;

/* Both arrays have one element per node. Dangling dependencies do not count. */
typedef struct trace_levels {
    uint32_t *level;  /* nodes of the longest chain that ends here, from 1 */
    uint64_t *end_us; /* largest time of such a chain (saturates); 0 after cycles */
    uint32_t n_cyclic;
    uint32_t depth; /* the largest level */
} trace_levels;

/* Linear in nodes and edges, without recursion. On success free with trace_levels_fini.
 */
halley_status trace_levels_init(trace_levels *out, const halley_trace *trace,
                                const trace_levels_opts *opts, halley_error *err);
void trace_levels_fini(trace_levels *levels);

/* The dependencies of a node, data first, then control, as one list. */
static inline uint32_t trace_deps_count(const halley_trace *trace, uint32_t node)
{
    const trace_store *s = &trace->s;
    return (s->data_at.n ? s->data_at.at[node + 1] - s->data_at.at[node] : 0) +
           (s->ctrl_at.n ? s->ctrl_at.at[node + 1] - s->ctrl_at.at[node] : 0);
}
/* Index of the i-th dependency, or HALLEY_NO_NODE if no node has that id. */
static inline uint32_t trace_deps_index(const halley_trace *trace, uint32_t node,
                                        uint32_t i)
{
    const trace_store *s = &trace->s;
    const uint32_t n_data =
        s->data_at.n ? s->data_at.at[node + 1] - s->data_at.at[node] : 0;
    const uint32_t index = i < n_data ? trace->data[s->data_at.at[node] + i]
                                      : trace->ctrl[s->ctrl_at.at[node] + i - n_data];
    return index < s->n ? index : HALLEY_NO_NODE;
}

/*
 * Find a shortest cycle through a node that is on a cycle. Each entry of *out depends on
 * the next one, and the last on the first. *n is 0 if levels->n_cyclic is. On success the
 * caller must free() *out.
 */
halley_status trace_cycle_find(uint32_t **out, uint32_t *n, const halley_trace *trace,
                               const trace_levels *levels, bool ignore_self,
                               halley_error *err);

#endif
