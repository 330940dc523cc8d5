/* hw/levels.h - the levels of a network, and the dimensions that they make. */
#ifndef HW_LEVELS_H
#define HW_LEVELS_H

#include "hw/cluster.h"

/*
 * Levels of a cluster whose network is a list of dimensions; others are left alone. The
 * innermost dimension becomes the node. No constants of a library are known for it, so
 * collectives are plain rings: each step a hop's latency and the bytes over the link, in
 * the pieces and with the queues that `system` asks the simulator for.
 */
void hw_levels_from_dims(halley_cluster *c);
/* The other way: dimensions of such a cluster after its levels were changed. */
void hw_dims_follow(halley_cluster *c);
/* Forget the constants of the library: bandwidth and step latency alone. */
void hw_levels_make_plain(halley_cluster *c);
/* Note which outer level is the narrowest; after any change of outer[]. */
void hw_levels_order(halley_cluster *c);

/* What the NPU implies for the simulator: its peak, its bandwidth, its second memory. */
void hw_npu_follow(halley_cluster *c);
/* Does every node have a kind? */
halley_status hw_kinds_check(const halley_cluster *c, halley_error *err);

#endif
