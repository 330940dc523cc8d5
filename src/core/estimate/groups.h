/* estimate/groups.h - which ranks of a plan communicate, and in which groups. */
#ifndef ESTIMATE_GROUPS_H
#define ESTIMATE_GROUPS_H

#include "halley/plan.h"
#include "hw/cluster.h"
#include "workload/ops.h"

/* The coordinates of a rank. */
typedef struct plan_place {
    uint32_t tp, cp, dp, pp; /* from 0 */
} plan_place;

plan_place plan_place_of(const halley_plan *plan, uint32_t rank);
uint32_t plan_rank_at(const halley_plan *plan, plan_place at);

/* How far apart the first two members of a group of this kind are, in ranks. */
uint32_t plan_group_distance(const halley_plan *plan, workload_group kind);

/* The number of neighbours that shard weights (fsdp) or optimizer states (zero-group)
 * among themselves. It is 1 if none do, or if all data-parallel ranks do (ZeRO 1 and
 * 2). */
uint32_t plan_shards(const halley_plan *plan);

/* How many NPUs of each node the ranks fill (see halley_node_fill). */
uint32_t plan_ranks_per_node(const halley_plan *plan, const halley_cluster *cluster);

/* The size of each kind of group, and how many members are in one node of `per_node`
 * ranks. */
void plan_group_sizes(uint32_t n[WORKLOAD_N_GROUPS], uint32_t in_node[WORKLOAD_N_GROUPS],
                      const halley_plan *plan, uint32_t per_node);

/*
 * The rule that defines the groups of one kind. A rule applies to the ranks of a stage
 * (of_stage), to the ranks with the same weights (cp and dp), or to the axis of its name
 * (tp, cp). A group contains the ranks in the same block of `block` neighbours (0 = all)
 * that have the same index modulo `every`. If size < 2, groups of this kind are not used.
 */
typedef struct plan_cut {
    uint32_t size, block, every;
    bool of_stage;
} plan_cut;
plan_cut plan_group_cut(const halley_plan *plan, workload_group kind);

/*
 * The members of a group inside one node, as digits of their rank: their ranks are the
 * sums of multiples of the strides. Returns the number of digits, or UINT32_MAX if the
 * sizes do not divide each other.
 */
enum { PLAN_GROUP_DIGITS = 4 };
uint32_t plan_group_digits(hw_box_digit to[PLAN_GROUP_DIGITS], const halley_plan *plan,
                           workload_group kind, uint32_t per_node);
/* The grid inside a node of the cluster, numbered by the ranks of the plan; n_axes is 0
 * if there is none. */
void plan_grid_make(hw_direct *out, const halley_plan *plan,
                    const halley_cluster *cluster);

/*
 * Groups are numbered from 1, one kind after the other; groups of one rank have no
 * number. Returns the number of the group of `kind` that contains `rank`, or 0 if the
 * rank is alone.
 */
uint32_t plan_group_of(const halley_plan *plan, workload_group kind, uint32_t rank);
/* The number of groups, and the members of group g (1 ... n) in order. The second
 * function returns the number of members and writes them to `members`, which has room for
 * all ranks of a stage. */
uint32_t plan_group_count(const halley_plan *plan);
uint32_t plan_group_members(uint32_t *members, const halley_plan *plan, uint32_t g);

#endif
