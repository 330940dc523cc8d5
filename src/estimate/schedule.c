/*
 * Pipeline schedules. GPipe: all forward, then all backward. 1F1B: stage i runs ahead by
 * pp - 1 - i forward passes, then alternates. Interleaved (Narayanan et al. 2021): micro-
 * batches go through the chunks of a stage in rounds of pp; a stage runs ahead by
 * 2 (pp - 1 - i) + (v - 1) pp passes.
 */
#include "estimate/schedule.h"

static uint32_t forward_count(const halley_plan *plan)
{
    return halley_plan_micro_batches(plan) * plan->virtual_stages;
}

uint32_t plan_pass_count(const halley_plan *plan)
{
    return 2 * forward_count(plan);
}

static uint32_t ahead(const halley_plan *plan, uint32_t stage)
{
    const uint32_t n = forward_count(plan), behind = plan->pp - 1 - stage;
    uint32_t k = behind;
    if (plan->schedule == HALLEY_SCHEDULE_GPIPE)
        k = n;
    else if (plan->virtual_stages > 1)
        k = 2 * behind + (plan->virtual_stages - 1) * plan->pp;
    return k < n ? k : n;
}

/* The k-th forward (or backward) pass: which micro-batch and chunk. */
static plan_pass in_round(const halley_plan *plan, uint32_t k, bool backward)
{
    const uint32_t v = plan->virtual_stages, m = halley_plan_micro_batches(plan);
    if (v <= 1)
        return (plan_pass){backward, k, 0};
    /* A last round may be short. */
    const uint32_t full = plan->pp ? plan->pp : 1;
    const uint32_t round = k / (full * v), left = m - round * full;
    const uint32_t size = left < full && left > 0 ? left : full;
    const uint32_t in = k - round * full * v;
    const uint32_t chunk = in / size;
    return (plan_pass){backward, round * plan->pp + in % size,
                       backward ? v - 1 - chunk : chunk};
}

plan_pass plan_pass_at(const halley_plan *plan, uint32_t stage, uint32_t k)
{
    const uint32_t n = forward_count(plan), first = ahead(plan, stage);
    if (k < first)
        return in_round(plan, k, false);
    k -= first; /* alternate: forward, backward */
    const uint32_t pairs = n - first;
    if (k < 2 * pairs)
        return k % 2 ? in_round(plan, k / 2, true) : in_round(plan, first + k / 2, false);
    return in_round(plan, pairs + k - 2 * pairs, true);
}
