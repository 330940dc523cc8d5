/*
 * hw/graph/route.h - finds the links that a message takes.
 *
 * A route is a list of links. Each has the fraction of the message's rate that it
 * carries, in units of 2^-40. On a single path, all fractions are 1. Spraying splits
 * evenly at every device.
 *
 * Routes are not stored for all pairs. For every destination class, a router stores the
 * next links of every device. NPUs with one port are in the class of their leaf switch.
 *
 * To add a rule, add a row in the table of route.c with the functions that make next
 * links or walk a route. Also add a test of all pairs in tests/unit/core/hw/test_route.c.
 */
#ifndef HW_GRAPH_ROUTE_H
#define HW_GRAPH_ROUTE_H

#include "hw/graph/graph.h"

typedef enum hw_routing {
    HW_ROUTING_DEFAULT, /* dimension-order if dimensions have cables, else spray */
    HW_ROUTING_SHORTEST,
    HW_ROUTING_ECMP,
    HW_ROUTING_SPRAY,
    HW_ROUTING_UP_DOWN,
    HW_ROUTING_DIMENSION_ORDER,
    HW_ROUTING_TABLE,
    HW_ROUTING_MINIMAL,
    HW_ROUTING_VALIANT,
    HW_ROUTING_N
} hw_routing;

/* How up-down, table and valiant choose among several paths. */
typedef enum hw_spread {
    HW_SPREAD_EVEN,
    HW_SPREAD_HASH,
    HW_SPREAD_DESTINATION
} hw_spread;

/* One entry of a routing table: at `device`, messages to NPUs first ... last leave
 * through these links. If several entries match, the one for the fewest NPUs is used. */
typedef struct hw_table_entry {
    uint32_t device, first, last;
    const uint32_t *links;
    uint32_t n_links;
} hw_table_entry;

/* Valid when zeroed. */
typedef struct hw_route_options {
    hw_routing routing;
    hw_spread spread; /* for up-down, table and valiant */
    uint64_t seed;    /* of the hash */
    bool polarised;   /* all devices use the same hash */
    bool weighted;    /* spray in proportion to the rate of the links */
    bool split_ties;  /* dimension-order: half each way if both are equally short */
    bool no_pxn;      /* rails: change rails in the fabric, not in the node */
    const hw_table_entry *table; /* not owned; must outlive the router */
    uint32_t n_table;
} hw_route_options;

#define HW_ROUTE_ONE (UINT64_C(1) << 40)
typedef struct hw_hop {
    uint32_t link;
    uint64_t share; /* HW_ROUTE_ONE = the whole message */
} hw_hop;
typedef struct hw_route {
    const hw_hop *hops; /* owned by the router, valid until its next call */
    uint32_t n;
    bool is_path;     /* every share is 1, hops in order */
    double latency_s; /* of links and devices, on the longest path */
} hw_route;

/* Not thread-safe. The graph is not owned. */
typedef struct hw_router hw_router;

/* A table is checked for all pairs of NPUs. The error names the first pair with a loop or
 * dead end. */
halley_status hw_router_new(hw_router **out, const hw_graph *graph,
                            const hw_route_options *options, halley_error *err);
void hw_router_free(hw_router *router);
/* True if it sprays evenly over all shortest paths. */
bool hw_router_sprays(const hw_router *router);
/* Find the route from one NPU to another, or to itself (no hops). `label` distinguishes
 * messages of the same pair (queue pairs). If there is no path, the error names the
 * devices. */
halley_status hw_router_find(hw_route *out, hw_router *router, uint32_t src, uint32_t dst,
                             uint64_t label, halley_error *err);
/*
 * The load of an all-to-all, in messages per link: every NPU sends one message to every
 * other, by even spraying over shortest paths (rails: without PXN). `load` has n_links
 * elements and is overwritten. There is one pass per destination class, so that 16,384
 * NPUs take less than a second.
 */
halley_status hw_router_load_all_to_all(double *load, hw_router *router,
                                        halley_error *err);

#endif
