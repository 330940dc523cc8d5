/* request/sim/sim_options.h - the options of `sim` as the table of verb_sim.c fills them.
 */
#ifndef REQUEST_SIM_OPTIONS_H
#define REQUEST_SIM_OPTIONS_H

#include "request/design.h"

typedef struct sim_options {
    const char *write_cluster;
    const char *workload, *system, *network, *memory, *group;
    const char *logging, *logging_folder, *rendezvous;
    const char *logical_topology, *htsim_proto, *htsim_topology;
    uint32_t model, queues, compute, passes;
    double injection, comm_scale, compute_scale;
    bool astra_output, per_rank, explain, replay, no_fold;
    uint64_t shuffle;
    const char *per_node, *timeline, *heat, *links, *memory_out, *recorded_on, *expand;
    const char *report;
    const char *columns;
    bool all_ranks;
    double stop_at;
    request_texts jobs, slow, late;
    const char *placement;
    request_output output;
    design_options design; /* its cluster is used for traces, too */
} sim_options;

#endif
