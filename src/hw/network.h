/*
 * hw/network.h - the network of a cluster as one graph, and the routes over it.
 *
 * A cluster describes nodes and what joins them. Both are graphs: `node` is one node (its
 * switch, mesh or torus), `fabric` joins the NPUs of all nodes, and `graph` is the two
 * together: the devices and links of the fabric with their numbers, then every node's
 * own. Where a cluster has no nodes of its own (a torus, a list of dimensions, explicit
 * edges) there is only `graph`.
 *
 * Routes inside a node stay inside; routes between nodes take the fabric. On rails, a
 * message to another rail crosses the sender's node first (PXN), unless the routing says
 * otherwise.
 */
#ifndef HW_NETWORK_H
#define HW_NETWORK_H

#include "hw/cluster.h"
#include "hw/graph/generate.h"
#include "hw/graph/planes.h"
#include "hw/graph/route.h"

#include <assert.h>

/* What a link belongs to. */
typedef enum hw_link_level {
    HW_LEVEL_NODE,  /* inside a node */
    HW_LEVEL_PORT,  /* between an NPU or its network card and the fabric */
    HW_LEVEL_FABRIC /* between switches */
} hw_link_level;

typedef struct hw_network {
    hw_graph *graph;
    bool joins_nodes;        /* false: there is only `graph` */
    hw_graph *fabric, *node; /* NULL without nodes; no fabric once planes are merged */
    hw_router *whole, *across, *inside;
    uint32_t per_node;        /* NPUs of a node; all when there is only one */
    uint32_t first_node_link; /* link in `graph` */
    bool rails;               /* NPU r of every node is on rail r */
    bool no_pxn;
    hw_planes *planes;       /* NULL: every link is used on its own */
    uint8_t *level;          /* by link: hw_link_level */
    hw_change_array changes; /* of links in a run, by time */
    double reroute_s;        /* until routes avoid what has failed */
    ARRAY(hw_hop) hops;      /* of the last route */
} hw_network;

/* *out is the caller's, to free with hw_network_free. For one thread. */
halley_status hw_network_new(hw_network **out, const halley_cluster *c,
                             halley_error *err);
void hw_network_free(hw_network *n);
/* Price and power of the network's switches and cables, into the cluster. */
void hw_network_price(halley_cluster *c);
/* From now on routes between nodes name parallel links that spraying uses alike by the
 * first of them, if there are such. The fabric on its own is then freed. */
halley_status hw_network_merge_planes(hw_network *n, halley_error *err);
/* What a link carries from now on, in both graphs that have it. Routes stay. */
void hw_network_set_rate(hw_network *n, uint32_t link, double bw_Bps);
/* Routes of the links as they are now. */
halley_status hw_network_reroute(hw_network *n, const halley_cluster *c,
                                 halley_error *err);
/* The links from one NPU to another, lent until the next call. */
halley_status hw_network_find(hw_route *out, hw_network *n, uint32_t src, uint32_t dst,
                              halley_error *err);

static inline uint32_t hw_network_node_of(const hw_network *n, uint32_t npu)
{
    return npu / n->per_node;
}
/* The links that are one with a link of a route; 1 = it alone. */
static inline uint32_t hw_network_count_parallel(const hw_network *n, uint32_t link)
{
    return n->planes == NULL || link >= n->first_node_link
               ? 1
               : hw_planes_counts(n->planes)[link];
}
/* The link of routes that a link is one with. */
static inline uint32_t hw_network_first_parallel(const hw_network *n, uint32_t link)
{
    return n->planes == NULL || link >= n->first_node_link
               ? link
               : hw_planes_first(n->planes)[link];
}
/* Capacity of a link inside a node or of a port when nothing is wrong with it. */
static inline double hw_network_nominal_Bps(const hw_network *n, uint32_t link)
{
    const double Bps = n->graph->kinds[n->graph->link_kind[link]].bw_Bps;
    assert(hw_network_count_parallel(n, link) == 1);
    return Bps != HW_UNKNOWN ? Bps : n->graph->link_Bps[link]; /* rates of a file */
}
/* Capacity of a link of routes as it is, with those that are one with it. */
static inline double hw_network_capacity_Bps(const hw_network *n, uint32_t link)
{
    return n->graph->link_Bps[link] * hw_network_count_parallel(n, link);
}

#endif
