/* hw/graph/collective.h - how long whole-network collectives take in closed form. */
#ifndef HW_GRAPH_COLLECTIVE_H
#define HW_GRAPH_COLLECTIVE_H

#include "hw/graph/graph.h"

/* A collective over all NPUs, alone on the network. */
typedef struct hw_collective_time {
    double time_s;
    double fixed_s;        /* of time_s, what does not grow with the bytes: latencies */
    const char *method;    /* in words; static */
    uint32_t busiest_link; /* HW_NONE: every NPU's own links bind */
} hw_collective_time;

/*
 * All-reduce of `bytes` per NPU by rings: as many as a node has NPUs, each leaving every
 * node through another NPU (one ring where there are no nodes); on rings and tori, rings
 * along all dimensions in both directions at once. Bandwidth over the busiest link plus
 * one latency per step.
 */
halley_status hw_graph_all_reduce(hw_collective_time *out, const hw_graph *g,
                                  double bytes, halley_error *err);
/* All-to-all in which every NPU sends `bytes` in all, in equal parts to all others, by
 * even spraying over shortest paths. */
halley_status hw_graph_all_to_all(hw_collective_time *out, const hw_graph *g,
                                  double bytes, halley_error *err);
/* Capacity down / capacity up of all switches of a tier; negative: unknown, or the top.
 */
double hw_graph_oversubscription(const hw_graph *g, uint32_t tier);

#endif
