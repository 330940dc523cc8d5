/*
 * hw/graph/planes.h - parallel links that spraying uses alike, as one.
 *
 * Switches to which no NPU is connected are planes of each other when they have the same
 * neighbours up to planes, by links of the same rates: the spines of a pod, the cores.
 * Spraying splits traffic evenly over them, so that links between the same two sets of
 * planes carry the same, and are one link with their summed rate. A slow or failed link
 * sets its switch apart, and those that this concerns.
 *
 * Routes over planes have a handful of links, and need no search over the graph: a
 * million NPUs in a fat tree of three tiers have as many planes as pods.
 */
#ifndef HW_GRAPH_PLANES_H
#define HW_GRAPH_PLANES_H

#include "hw/graph/route.h"

typedef struct hw_planes hw_planes;

/*
 * *out is NULL when the graph has no planes, or is not of the kind whose routes are known
 * here: every NPU has one link to a switch, and shortest ways between these lead through
 * switches without NPUs only. The graph is lent.
 */
halley_status hw_planes_new(hw_planes **out, const hw_graph *graph, halley_error *err);
void hw_planes_free(hw_planes *p);
/* Lend another graph in which devices and links of the first have the same numbers; NPUs
 * may have further links, with higher ones. */
void hw_planes_move(hw_planes *p, const hw_graph *graph);
/* As hw_router_find by even spraying; a set of parallel links is named by its first. */
halley_status hw_planes_find(hw_route *out, hw_planes *p, uint32_t src, uint32_t dst,
                             halley_error *err);
/* By link: the first of those it is one with; and by such a first link, how many. */
const uint32_t *hw_planes_first(const hw_planes *p);
const uint32_t *hw_planes_counts(const hw_planes *p);

#endif
