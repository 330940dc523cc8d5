/* sim/result.h - a result from within; for result.c and path.c. */
#ifndef SIM_RESULT_H
#define SIM_RESULT_H

#include "sim/engine.h"

struct halley_result {
    uint32_t n_ranks;
    double ticks_per_s;
    bool roofline, stopped;
    uint32_t warnings; /* bit i: warning i (sim_warning) */
    uint64_t n_events, n_events_represented;
    uint32_t n_classes; /* ranks that were run */
    halley_rank_result *ranks;
    uint32_t *finishers;
    ARRAY(halley_traffic) traffic;
    arena memory;                   /* names of parts */
    net_link_list links;            /* that carried something, the busiest first */
    ARRAY(char *) remarks;          /* warnings beyond those of `warnings`, in `memory` */
    ARRAY(halley_dim_result) parts; /* of the network */
    net_heat heat;                  /* by dimension, NPU */
    uint64_t **nodes;  /* by rank: begins, ends, links; NULL when not recorded */
    uint32_t *n_nodes; /* by rank */
    struct sim_levels {
        halley_memory_level *at;
        size_t n;
    } * levels; /* by rank: of the NPU's own memory; none when not recorded */
};

#endif
