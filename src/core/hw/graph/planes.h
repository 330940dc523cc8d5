/*
 * hw/graph/planes.h - merges parallel links that spraying uses equally.
 *
 * Two switches without NPUs are planes of each other if they have the same neighbours up
 * to planes, by links of the same rates. Examples are the spines of a pod, and the cores.
 * Spraying splits traffic evenly over them. Links between the same two sets of planes
 * therefore carry the same load and are merged into one link with their total rate. A
 * slow or failed link separates its switch, and the switches that this affects.
 *
 * Routes over planes have only a few links and need no search over the graph. A million
 * NPUs in a fat tree of three tiers have as many planes as pods.
 */
#ifndef HW_GRAPH_PLANES_H
#define HW_GRAPH_PLANES_H

#include "hw/graph/route.h"

typedef struct hw_planes hw_planes;

/*
 * *out is NULL if the graph has no planes, or if its routes cannot be computed here. They
 * can if every NPU has one link to a switch, and if shortest paths between these lead
 * only through switches without NPUs. The graph is not owned.
 */
halley_status hw_planes_new(hw_planes **out, const hw_graph *graph, halley_error *err);
void hw_planes_free(hw_planes *p);
/* Switch to another graph in which the devices and links of the first have the same
 * numbers. NPUs may have further links, with higher numbers. The graph is not owned. */
void hw_planes_move(hw_planes *p, const hw_graph *graph);
/* Like hw_router_find with even spraying; the first link represents a set of parallel
 * links. */
halley_status hw_planes_find(hw_route *out, hw_planes *p, uint32_t src, uint32_t dst,
                             halley_error *err);
/* By link: the first link of its merged set; and by such a first link, the size of the
 * set. */
const uint32_t *hw_planes_first(const hw_planes *p);
const uint32_t *hw_planes_counts(const hw_planes *p);

#endif
