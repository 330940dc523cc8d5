/*
 * Ranks and groups of a plan. Rank = tp + TP (cp + CP (dp + DP pp)), as in Megatron. A
 * tensor-parallel group shares cp, dp and pp; a context group tp, dp and pp; a data group
 * tp and pp, context ranks included, as they hold the same weights; an expert group is ep
 * neighbours of a stage, and ranks at the same place of theirs hold the same experts.
 */
#include "estimate/groups.h"

static const workload_group kinds[] = {WORKLOAD_TP, WORKLOAD_CP, WORKLOAD_EP, WORKLOAD_DP,
                                       WORKLOAD_XP};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static uint32_t stage_ranks(const halley_plan *plan)
{
    return plan->tp * plan->cp * plan->dp;
}

plan_place plan_place_of(const halley_plan *plan, uint32_t rank)
{
    plan_place at;
    at.tp = rank % plan->tp, rank /= plan->tp;
    at.cp = rank % plan->cp, rank /= plan->cp;
    at.dp = rank % plan->dp;
    at.pp = rank / plan->dp;
    return at;
}

uint32_t plan_rank_at(const halley_plan *plan, plan_place at)
{
    return at.tp + plan->tp * (at.cp + plan->cp * (at.dp + plan->dp * at.pp));
}

static uint32_t size_of(const halley_plan *plan, workload_group kind)
{
    switch (kind) {
    case WORKLOAD_TP:
        return plan->tp;
    case WORKLOAD_CP:
        return plan->cp;
    case WORKLOAD_EP:
        return plan->ep;
    case WORKLOAD_DP:
        return plan->dp * plan->cp;
    case WORKLOAD_XP:
        return plan->ep > 1 ? stage_ranks(plan) / plan->ep : 1;
    case WORKLOAD_PP:
    case WORKLOAD_N_GROUPS:
        break;
    }
    return 1;
}

/* Which of its kind, from 0, and which place in it. */
static uint32_t index_of(const halley_plan *plan, workload_group kind, uint32_t rank)
{
    const uint32_t stage = stage_ranks(plan), in_stage = rank % stage;
    const uint32_t before = rank / stage * (stage / size_of(plan, kind));
    const plan_place at = plan_place_of(plan, rank);
    switch (kind) {
    case WORKLOAD_TP:
        return before + in_stage / plan->tp;
    case WORKLOAD_CP:
        return before + at.tp + plan->tp * at.dp;
    case WORKLOAD_EP:
        return before + in_stage / plan->ep;
    case WORKLOAD_DP:
        return before + at.tp;
    case WORKLOAD_XP:
        return before + in_stage % plan->ep;
    case WORKLOAD_PP:
    case WORKLOAD_N_GROUPS:
        break;
    }
    return 0;
}

static uint32_t count_of(const halley_plan *plan, workload_group kind)
{
    const uint32_t size = size_of(plan, kind);
    return size > 1 ? stage_ranks(plan) / size * plan->pp : 0;
}

uint32_t plan_group_of(const halley_plan *plan, workload_group kind, uint32_t rank)
{
    uint32_t first = 1;
    for (int i = 0; i < N_KINDS; i++) {
        if (kinds[i] == kind)
            return size_of(plan, kind) > 1 ? first + index_of(plan, kind, rank) : 0;
        first += count_of(plan, kinds[i]);
    }
    return 0;
}

uint32_t plan_group_count(const halley_plan *plan)
{
    uint32_t n = 0;
    for (int i = 0; i < N_KINDS; i++)
        n += count_of(plan, kinds[i]);
    return n;
}

uint32_t plan_group_members(uint32_t *members, const halley_plan *plan, uint32_t g)
{
    uint32_t first = 1;
    for (int i = 0; i < N_KINDS; i++) {
        const uint32_t count = count_of(plan, kinds[i]);
        if (count == 0 || g >= first + count) {
            first += count;
            continue;
        }
        /* Its stage is known; look there for the ranks that are in it. */
        const uint32_t stage = stage_ranks(plan);
        const uint32_t per = stage / size_of(plan, kinds[i]); /* groups of a stage */
        const uint32_t start = (g - first) / per * stage;
        uint32_t n = 0;
        for (uint32_t r = start; r < start + stage; r++) {
            if (index_of(plan, kinds[i], r) == g - first)
                members[n++] = r;
        }
        return n;
    }
    return 0;
}
