/* hw/graph/collective.h - closed-form times of collectives over the whole network. */
#ifndef HW_GRAPH_COLLECTIVE_H
#define HW_GRAPH_COLLECTIVE_H

#include "hw/graph/graph.h"

/* A collective over all NPUs, alone on the network. */
typedef struct hw_collective_time {
    double time_s;
    double fixed_s; /* the part of time_s that does not grow with the bytes: latencies */
    const char *method;    /* in words; static */
    uint32_t busiest_link; /* HW_NONE: every NPU's own links are the limit */
} hw_collective_time;

/*
 * All-reduce of `bytes` per NPU by rings. There are as many rings as NPUs in a node (one
 * if there are no nodes). Each leaves every node through another NPU. The time is the
 * bytes over the busiest link plus one latency per step. On rings, tori and meshes, every
 * NPU forwards data along all axes at once (hw/direct.h).
 */
halley_status hw_graph_all_reduce(hw_collective_time *out, const hw_graph *g,
                                  double bytes, halley_error *err);
/* All-to-all of buffers of `bytes`: every NPU sends one of n equal parts to each other
 * NPU, by even spraying over shortest paths. */
halley_status hw_graph_all_to_all(hw_collective_time *out, const hw_graph *g,
                                  double bytes, halley_error *err);
/* Capacity down / capacity up of all switches of a tier; negative: unknown, or the top
 * tier. */
double hw_graph_oversubscription(const hw_graph *g, uint32_t tier);

#endif
