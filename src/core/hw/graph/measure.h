/* hw/graph/measure.h - measures of a graph: distances, cuts, cost and power. */
#ifndef HW_GRAPH_MEASURE_H
#define HW_GRAPH_MEASURE_H

#include "hw/graph/graph.h"

/* The devices at which traffic starts and ends: the NPUs; without NPUs, the NICs; without
 * both, the hosts. */
typedef struct hw_endpoints {
    hw_device_kind kind;
    uint32_t *at; /* device ids, ascending; the caller frees it */
    uint32_t n;
} hw_endpoints;
halley_status hw_graph_endpoints(hw_endpoints *out, const hw_graph *graph,
                                 halley_error *err);

/* Shortest paths in links between endpoints, through any device. */
typedef struct hw_distances {
    bool connected;      /* every endpoint reaches every other */
    uint32_t components; /* of all devices, directions ignored */
    uint32_t diameter;   /* the longest of the existing paths */
    uint64_t *by_hops;   /* ordered pairs at 0 ... diameter links; the caller frees it */
    double mean;         /* over the connected pairs; 0 without any */
} hw_distances;
halley_status hw_graph_distances(hw_distances *out, const hw_graph *graph,
                                 halley_error *err);

/* The cut between the first half of the endpoints and the rest. */
halley_status hw_graph_half_cut(double *out, const hw_graph *graph,
                                const hw_endpoints *ends, halley_error *err);
enum { HW_EXACT_ENDPOINTS = 12 };
/* The minimum cut over all equal splits of at most HW_EXACT_ENDPOINTS endpoints. Their
 * number must be even. */
halley_status hw_graph_min_bisection(double *out, const hw_graph *graph,
                                     const hw_endpoints *ends, halley_error *err);

/* Cost and power of a graph. */
typedef struct hw_bill {
    double devices_usd, cables_usd, devices_w, cables_w;
} hw_bill;
hw_bill hw_graph_bill(const hw_graph *graph);
hw_bill hw_graph_bill_tier(const hw_graph *graph, uint32_t tier);
uint32_t hw_graph_count_tiers(const hw_graph *graph); /* NPUs are tier 0 */

/*
 * HALLEY_OK if every endpoint can reach every other, through devices that forward and
 * over links that are up. Otherwise the error names two and counts the unreachable
 * endpoints.
 */
halley_status hw_graph_check_connected(const hw_graph *graph, halley_error *err);

/* HALLEY_OK if every link has a rate and a latency. Otherwise the error names one, with
 * the remedy. Everything that computes times needs this. */
halley_status hw_graph_check_known(const hw_graph *graph, halley_error *err);

#endif
