/*
 * hw/network.h - the network of a cluster as one graph, and the routes over it.
 *
 * A cluster describes nodes and the fabric that connects them. Both are graphs: `node` is
 * one node (its switch, mesh or torus), and `fabric` connects the NPUs of all nodes.
 * `graph` contains both: first the devices and links of the fabric with their indexes,
 * then those of every node. If a cluster has no separate nodes (a torus, a list of
 * dimensions, explicit edges), there is only `graph`.
 *
 * Routes inside a node stay inside. Routes between nodes use the fabric. On rails, a
 * message to another rail first crosses the sender's node (PXN), unless the routing
 * disables this.
 */
#ifndef HW_NETWORK_H
#define HW_NETWORK_H

#include "hw/cluster.h"
#include "hw/graph/generate.h"
#include "hw/graph/planes.h"
#include "hw/graph/route.h"

#include <assert.h>

/* The part of the network that a link belongs to. */
typedef enum hw_link_level {
    HW_LEVEL_NODE,  /* inside a node */
    HW_LEVEL_PORT,  /* between an NPU or its network card and the fabric */
    HW_LEVEL_FABRIC /* between switches */
} hw_link_level;

typedef struct hw_network {
    hw_graph *graph;
    bool joins_nodes;        /* false: there is only `graph` */
    hw_graph *fabric, *node; /* NULL without nodes; no fabric after planes are merged */
    hw_router *whole, *across, *inside;
    hw_direct direct;         /* the grid inside nodes; n_axes 0: there is none */
    bool is_regular;          /* every link of the grid is as it should be */
    bool is_grid;             /* it was so at the beginning ... */
    uint32_t n_changed;       /* ... and this many links of nodes have changed since */
    uint32_t per_node;        /* NPUs per node; all NPUs if there is only one node */
    uint32_t first_node_link; /* link in `graph` */
    bool rails;               /* NPU r of every node is on rail r */
    bool no_pxn;
    hw_planes *planes;       /* NULL: every link is used separately */
    uint8_t *level;          /* by link: hw_link_level */
    hw_change_array changes; /* changes of links during a run, by time */
    double reroute_s;        /* delay until routes avoid failed links */
    ARRAY(hw_hop) hops;      /* of the last route */
} hw_network;

/* The caller frees *out with hw_network_free. Not thread-safe. */
halley_status hw_network_new(hw_network **out, const halley_cluster *c,
                             halley_error *err);
void hw_network_free(hw_network *n);
/* Store the price and power of the network's switches and cables in the cluster. */
void hw_network_price(halley_cluster *c);
/* Merge parallel links that spraying uses equally, if there are any. From then on, routes
 * between nodes name only the first of them. The separate fabric graph is freed. */
halley_status hw_network_merge_planes(hw_network *n, halley_error *err);
/* Set the capacity of a link in both graphs that contain it. Routes do not change. */
void hw_network_set_rate(hw_network *n, uint32_t link, double bw_Bps);
/* Compute routes for the present state of the links. */
halley_status hw_network_reroute(hw_network *n, const halley_cluster *c,
                                 halley_error *err);
/* The links from one NPU to another, valid until the next call. */
halley_status hw_network_find(hw_route *out, hw_network *n, uint32_t src, uint32_t dst,
                              halley_error *err);

/* The box that NPUs of one node form. False: there is no grid, one of its links has
 * failed or is slow, or they form no box. `npus` NULL means 0 ... count - 1. */
bool hw_network_box(hw_box *out, const hw_network *n, const uint32_t *npus,
                    uint32_t count);

static inline uint32_t hw_network_node_of(const hw_network *n, uint32_t npu)
{
    return npu / n->per_node;
}
/* The number of links merged into this link of a route; 1 = not merged. */
static inline uint32_t hw_network_count_parallel(const hw_network *n, uint32_t link)
{
    return n->planes == NULL || link >= n->first_node_link
               ? 1
               : hw_planes_counts(n->planes)[link];
}
/* The link that represents this link in routes. */
static inline uint32_t hw_network_first_parallel(const hw_network *n, uint32_t link)
{
    return n->planes == NULL || link >= n->first_node_link
               ? link
               : hw_planes_first(n->planes)[link];
}
/* Capacity of a link inside a node or of a port when it has no fault. */
static inline double hw_network_nominal_Bps(const hw_network *n, uint32_t link)
{
    const double Bps = n->graph->kinds[n->graph->link_kind[link]].bw_Bps;
    assert(hw_network_count_parallel(n, link) == 1);
    return Bps != HW_UNKNOWN ? Bps : n->graph->link_Bps[link]; /* rates from a file */
}
/* Present capacity of a link of a route, including the links merged into it. */
static inline double hw_network_capacity_Bps(const hw_network *n, uint32_t link)
{
    return n->graph->link_Bps[link] * hw_network_count_parallel(n, link);
}

#endif
