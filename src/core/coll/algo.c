/* coll/algo.c - the table of algorithms; the header explains how to add one. */
#include "coll/algo.h"

#include "coll/schedules.h"
#include "coll/time_parts.h"

#define BIT(coll) (UINT32_C(1) << (coll))
#define ALL_COLLS (BIT(CLUSTER_N_COLLS) - 1)

const coll_algo coll_algos[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = {.name = "ring",
                           .applicable = ALL_COLLS,
                           .fill = coll_ring_fill,
                           .to = coll_ring_to,
                           .from = coll_ring_from,
                           .distance = coll_ring_distance,
                           .time = coll_ring_time,
                           .load = coll_ring_load},
    [CLUSTER_ALGO_DIRECT] = {.name = "direct",
                             .applicable = ALL_COLLS,
                             .fill = coll_direct_fill,
                             .to = coll_direct_to,
                             .from = coll_direct_from,
                             .distance = coll_direct_distance,
                             .time = coll_direct_time,
                             .load = coll_direct_load},
    [CLUSTER_ALGO_HALVING_DOUBLING] = {.name = "halving-doubling",
                                       .applicable = ALL_COLLS & ~BIT(CLUSTER_ALL_TO_ALL),
                                       .fill = coll_halving_fill,
                                       .to = coll_halving_peer,
                                       .from = coll_halving_peer,
                                       .distance = coll_halving_distance},
    [CLUSTER_ALGO_TREE] = {.name = "double-binary-tree",
                           .applicable = BIT(CLUSTER_ALL_REDUCE),
                           .fill = coll_tree_fill,
                           .time = coll_tree_time,
                           .load = coll_tree_load,
                           .has_two_trees = true,
                           .ends_full_lists_only = true},
    [CLUSTER_ALGO_IN_SWITCH] = {.name = "in-switch",
                                .applicable = ALL_COLLS,
                                .fill = coll_switch_fill,
                                .to = coll_switch_peer,
                                .from = coll_switch_peer,
                                .time = coll_switch_time,
                                .load = coll_switch_load},
    [CLUSTER_ALGO_ROOTED] = {.name = "rooted",
                             .applicable = ALL_COLLS,
                             .fill = coll_rooted_fill},
    /* Its schedule is a trace that the simulator runs. */
    [CLUSTER_ALGO_CUSTOM] = {.name = "custom", .applicable = ALL_COLLS},
    /* All algorithms of the library, as one flow over many links. */
    [CLUSTER_ALGO_BUNDLE] = {.name = "bundle", .applicable = ALL_COLLS},
};
