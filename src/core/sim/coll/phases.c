/* sim/coll/phases.c - the table of a run's algorithms, and code that they share. */
#include "sim/coll/phases.h"

#include "des/ticks.h"

static const sim_phase_ops *const ops_by_step[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = &sim_ring_ops,
    [CLUSTER_ALGO_DIRECT] = &sim_steps_ops,
    [CLUSTER_ALGO_HALVING_DOUBLING] = &sim_steps_ops,
    [CLUSTER_ALGO_TREE] = &sim_tree_ops,
    [CLUSTER_ALGO_IN_SWITCH] = &sim_switch_ops,
    [CLUSTER_ALGO_ROOTED] = &sim_rooted_ops,
    [CLUSTER_ALGO_CUSTOM] = &sim_custom_ops,
    [CLUSTER_ALGO_BUNDLE] = &sim_bundle_ops,
};

static const sim_phase_ops *const ops_by_key[CLUSTER_N_ALGOS] = {
    [CLUSTER_ALGO_RING] = &sim_window_by_key_ops,
    [CLUSTER_ALGO_DIRECT] = &sim_window_by_key_ops,
    [CLUSTER_ALGO_HALVING_DOUBLING] = &sim_window_by_key_ops,
    [CLUSTER_ALGO_TREE] = &sim_tree_by_key_ops,
    [CLUSTER_ALGO_IN_SWITCH] = &sim_switch_ops,
    [CLUSTER_ALGO_ROOTED] = &sim_rooted_ops,
    [CLUSTER_ALGO_CUSTOM] = &sim_custom_ops,
    [CLUSTER_ALGO_BUNDLE] = &sim_bundle_ops,
};

void sim_phases_init(sim *s, bool by_key)
{
    for (int i = 0; i < CLUSTER_N_ALGOS; i++)
        s->phases[i] = by_key ? *ops_by_key[i] : *ops_by_step[i];
    if (!by_key && net_can(s->net, NET_CAN_FIX_DELAY))
        s->phases[CLUSTER_ALGO_RING] = sim_ring_fixed_ops;
}

/* Two reads and a write, each truncated to whole ticks. */
static uint64_t get_reduction_ticks(sim *s, uint64_t bytes)
{
    const double ticks =
        (double)bytes / s->system->mem_Bps * (1e9 * (double)s->ticks_per_ns);
    if (!(s->system->mem_Bps > 0)) /* without a bandwidth, reductions take no time */
        return 3 * ticks_from(ticks);
    return 3 * des_queue_ticks(&s->queue, ticks);
}

/* Most packets of a phase have the same size, so the last result is kept. */
uint64_t sim_reduction(sim *s, uint64_t bytes)
{
    sim_reduced *last = &s->reduced;
    if (bytes != last->bytes || !last->is_known)
        *last = (sim_reduced){bytes, get_reduction_ticks(s, bytes), true};
    return last->ticks;
}

bool sim_early_any(const sim *s, uint32_t op, uint32_t member)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = &plan->phases[m->phase];
    const uint64_t *early = sim_member_early(m, plan);
    for (uint32_t step = p->first_step; step < p->first_step + p->n_sends; step++)
        if (early[step / 64] >> (step % 64) & 1)
            return true;
    return false;
}

bool sim_early_never(const sim *s, uint32_t op, uint32_t member)
{
    (void)s, (void)op, (void)member;
    return false;
}

void sim_packet_start(sim *s, uint32_t op, uint32_t member, uint32_t k,
                      const sim_packet *packet)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const uint32_t npu = sim_member_get(s, op, member)->npu;
    const uint64_t then = packet->reduces ? sim_event_reduction(op, member, k)
                                          : sim_event_token(op, member);
    if (s->bus != NULL && !plan->local)
        sim_bus_request(s, npu, packet, then);
    else
        sim_call_after(s, npu, plan->local ? s->group_endpoint : s->endpoint, then);
}

void sim_phase_start(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    assert(m->joined && !m->running);
    m->running = true;
    m->sent = m->created = m->ready = m->cycle = 0;
    m->loud_cycle = false;
    s->phases[p->algo].start(s, op, member);
}

/* The events of phases; every field of them is checked here. */
static const coll_phase *check_packet(const sim *s, const sim_packet_event *e)
{
    assert(e->op < s->streams.ops.n && s->streams.ops.at[e->op].plan != NULL);
    assert(e->member < s->streams.ops.at[e->op].plan->n_members);
    return sim_phase_get(s, e->op, sim_member_get(s, e->op, e->member));
}

void sim_packet_arrived(sim *s, uint64_t event)
{
    const sim_packet_event e = sim_event_read_packet(event);
    const coll_plan *plan = s->streams.ops.at[e.op].plan;
    assert(e.op < s->streams.ops.n && plan != NULL);
    assert(e.member < plan->n_members && e.step < plan->n_steps);
    const uint32_t phase = sim_phase_at(plan, e.step);
    const coll_phase *p = &plan->phases[phase];
    s->phases[p->algo].arrive(s, e.op, e.member, phase, e.step - p->first_step);
}

void sim_packet_received(sim *s, uint64_t event)
{
    const sim_packet_event e = sim_event_read_packet(event);
    s->phases[check_packet(s, &e)->algo].receive(s, e.op, e.member);
}

void sim_token_fired(sim *s, uint64_t event)
{
    const sim_packet_event e = sim_event_read_packet(event);
    s->phases[check_packet(s, &e)->algo].fire(s, e.op, e.member);
}

void sim_token_reduce(sim *s, uint64_t event)
{
    const sim_packet_event e = sim_event_read_packet(event);
    const coll_phase *p = check_packet(s, &e);
    const uint64_t bytes = coll_packet_bytes(p, e.step);
    sim_call_after(s, sim_member_get(s, e.op, e.member)->npu, sim_reduction(s, bytes),
                   sim_event_token(e.op, e.member));
}
