/* estimate/groups.h - which ranks of a plan talk to each other, and as which group. */
#ifndef ESTIMATE_GROUPS_H
#define ESTIMATE_GROUPS_H

#include "halley/plan.h"
#include "hw/cluster.h"
#include "workload/ops.h"

/* Where a rank stands. */
typedef struct plan_place {
    uint32_t tp, cp, dp, pp; /* from 0 */
} plan_place;

plan_place plan_place_of(const halley_plan *plan, uint32_t rank);
uint32_t plan_rank_at(const halley_plan *plan, plan_place at);

/* Neighbours that share weights (fsdp) or optimizer (zero-group) among themselves; 1
 * where nobody does, or all data-parallel ranks do (ZeRO 1 and 2). */
uint32_t plan_shards(const halley_plan *plan);

/* How many NPUs of each node the ranks fill (see halley_node_fill). */
uint32_t plan_ranks_per_node(const halley_plan *plan, const halley_cluster *cluster);

/* Ranks of each kind of group, and how many of them share a node of `per_node` ranks. */
void plan_group_sizes(uint32_t n[WORKLOAD_N_GROUPS], uint32_t in_node[WORKLOAD_N_GROUPS],
                      const halley_plan *plan, uint32_t per_node);

/*
 * A kind of group as a rule: among the ranks of a stage (of_stage), or of those that hold
 * the same weights (cp and dp), or along the axis of its name (tp, cp), those in the same
 * block of `block` neighbours (0 = all) and with the same index modulo `every`. size < 2:
 * nobody uses it.
 */
typedef struct plan_cut {
    uint32_t size, block, every;
    bool of_stage;
} plan_cut;
plan_cut plan_group_cut(const halley_plan *plan, workload_group kind);

/*
 * Groups are numbered from 1, kind after kind, those of one rank left out. The number of
 * the group of `kind` that `rank` belongs to; 0 when it is alone in it.
 */
uint32_t plan_group_of(const halley_plan *plan, workload_group kind, uint32_t rank);
/* How many groups there are, and the members of group g (1 ... n) in order: their number,
 * written to `members`, which has room for all ranks of a stage. */
uint32_t plan_group_count(const halley_plan *plan);
uint32_t plan_group_members(uint32_t *members, const halley_plan *plan, uint32_t g);

#endif
