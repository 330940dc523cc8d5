/*
 * sim/coll/phases.h - what a member of a chunk does in a phase, per algorithm of the
 * phase (coll/algo.h). The table of a run is built once, at set-up. Its rows depend on
 * the network's capabilities and on how messages find their receivers.
 *
 *     window.c     ring, direct, halving-doubling: packets, `window` of them at the start
 *     tree.c       double binary tree
 *     rooted.c     broadcast, reduce, gather, scatter
 *     in_switch.c  reduction in a switch
 *     custom.c     the algorithm is a trace
 *     bundle.c     the whole collective as one flow
 */
#ifndef SIM_PHASES_H
#define SIM_PHASES_H

#include "sim/rules.h"

/* Receivers count messages, or use their step in the plan. */
extern const sim_phase_ops sim_ring_fixed_ops; /* the network fixes delays */
extern const sim_phase_ops sim_ring_ops;
extern const sim_phase_ops sim_steps_ops; /* direct, halving-doubling */
extern const sim_phase_ops sim_tree_ops;
/* Messages are matched by key (match.c). */
extern const sim_phase_ops sim_window_by_key_ops;
extern const sim_phase_ops sim_tree_by_key_ops;
/* These are the same for both kinds of matching. */
extern const sim_phase_ops sim_rooted_ops;
extern const sim_phase_ops sim_switch_ops;
extern const sim_phase_ops sim_custom_ops;
extern const sim_phase_ops sim_bundle_ops;

/* The next packet of a member enters the endpoint. */
void sim_window_new_packet(sim *s, uint32_t op, uint32_t member);

static inline const coll_phase *sim_phase_get(const sim *s, uint32_t op,
                                              const sim_member *m)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    assert(plan != NULL && m->phase < plan->n_phases);
    return &plan->phases[m->phase];
}

/* True if the member is in this phase and has started it. */
static inline bool sim_phase_runs(const sim_member *m, uint32_t phase)
{
    return m->phase == phase && m->running;
}

/* Under native rules a message starts the phase that its receiver has queued. */
static inline void sim_phase_wake(sim *s, uint32_t op, uint32_t member,
                                  const sim_member *m, uint32_t phase)
{
    if (!m->running && m->joined && m->phase == phase)
        s->rules->wake_phase(s, op, member);
}

/* The bit of a step whose message came before it was awaited. */
static inline void sim_early_set(sim_member *m, const coll_plan *plan, uint32_t step)
{
    assert(step < plan->n_steps);
    sim_member_early(m, plan)[step / 64] |= UINT64_C(1) << (step % 64);
}
static inline bool sim_early_take(sim_member *m, const coll_plan *plan, uint32_t step)
{
    assert(step < plan->n_steps);
    uint64_t *word = &sim_member_early(m, plan)[step / 64];
    const uint64_t bit = UINT64_C(1) << (step % 64);
    const bool early = (*word & bit) != 0;
    *word &= ~bit;
    return early;
}
/* True if a message of the member's phase has already arrived. */
bool sim_early_any(const sim *s, uint32_t op, uint32_t member);
/* For phases in which no message can arrive before its receiver has started. */
bool sim_early_never(const sim *s, uint32_t op, uint32_t member);

#endif
