/* hw/levels.h - the levels of a network, and the dimensions derived from them. */
#ifndef HW_LEVELS_H
#define HW_LEVELS_H

#include "hw/cluster.h"

/*
 * Make the levels of a cluster whose network is a list of dimensions. Other clusters do
 * not change. The innermost dimension becomes the node. It has no library constants, so
 * collectives are plain rings. Each step takes a hop's latency and the time of the bytes
 * on the link. Pieces and queues are those that `system` sets for the simulator.
 */
void hw_levels_from_dims(halley_cluster *c);
/* The inverse: update the dimensions of such a cluster after its levels changed. */
void hw_dims_follow(halley_cluster *c);
/* Remove the library's constants: only bandwidth and step latency remain. */
void hw_levels_make_plain(halley_cluster *c);
/* Find the narrowest outer level; call this after any change of outer[]. */
void hw_levels_order(halley_cluster *c);

/* Set the simulator's values that follow from the NPU: peak, bandwidth, second memory. */
void hw_npu_follow(halley_cluster *c);
/* Check that every node has a kind. */
halley_status hw_kinds_check(const halley_cluster *c, halley_error *err);

#endif
