/*
 * sim/coll/rooted.c - broadcast, reduce, gather and scatter over the trees of
 * coll/rooted.h.
 *
 * Down: a member waits for its parent's message (the root has the data), then sends to
 * its children one after the other. Each message starts when the previous one has left.
 * Up: a member waits for the messages of all its children, reduces each on arrival, then
 * sends to its parent. The endpoint's delay precedes every message that it sends, and
 * follows every one that it receives. The member is done when its last message has left.
 *
 * A member's `created` counts the messages that have arrived, `ready` those that it has
 * processed, and `sent` those that it has sent.
 */
#include "coll/rooted.h"

#include "sim/coll/phases.h"

static bool goes_up(const coll_phase *p)
{
    return p->rooted == COLL_ROOTED_REDUCE || p->rooted == COLL_ROOTED_GATHER;
}

/* The number of messages that a member waits for. */
static uint32_t count_awaited(const coll_phase *p, const coll_rooted_place *at)
{
    return goes_up(p) ? at->n_children : at->parent != COLL_NONE;
}

static uint32_t count_to_send(const coll_phase *p, const coll_rooted_place *at)
{
    return goes_up(p) ? at->parent != COLL_NONE : at->n_children;
}

/* Pass the endpoint; then reduce what has arrived, if asked to. */
static void pass_endpoint(sim *s, uint32_t op, uint32_t member, bool reduces)
{
    const bool local = s->streams.ops.at[op].plan->local;
    sim_call_after(
        s, sim_member_get(s, op, member)->npu, local ? s->group_endpoint : s->endpoint,
        reduces ? sim_event_reduction(op, member, 0) : sim_event_token(op, member));
}

/* Send the k-th message; the member can send again when it has left. That time is
 * computed as if there were no other traffic. */
static void send_rooted_message(sim *s, uint32_t op, uint32_t member,
                                const coll_rooted_place *at, uint32_t k)
{
    const sim_op *o = &s->streams.ops.at[op];
    const sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    const bool up = goes_up(p);
    assert(at->takes_part && (up ? at->parent != COLL_NONE : k < at->n_children));
    const uint32_t to = up ? at->parent : coll_rooted_child(p, member, k);
    const uint64_t bytes = up ? at->bytes : coll_rooted_find(p, to).bytes;
    const uint32_t step = p->first_step + (up ? at->child_index : 0);
    const uint32_t rank = sim_member_rank(s, o, to);
    const uint64_t leaves =
        net_delay(s->net, m->npu, rank, bytes) - net_delay(s->net, m->npu, rank, 0);
    net_send(s->net, m->npu, rank, bytes, sim_event_arrival(op, to, step));
    sim_call_after(s, m->npu, leaves, sim_event_token(op, member));
}

/* A message of the running phase has arrived. */
static void receive_rooted(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    assert(m->running);
    m->created++;
    pass_endpoint(s, op, member, sim_phase_get(s, op, m)->rooted == COLL_ROOTED_REDUCE);
}

static void start_rooted(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const coll_phase *p = sim_phase_get(s, op, m);
    const coll_rooted_place at = coll_rooted_find(p, member);
    if (!at.takes_part) {
        sim_call_after(s, m->npu, 0, sim_event_token(op, member));
        return;
    }
    if (count_awaited(p, &at) == 0)
        pass_endpoint(s, op, member, false);
    for (uint32_t k = 0; k < p->n_sends; k++)
        if (sim_early_take(m, plan, p->first_step + k))
            receive_rooted(s, op, member);
}

static void fire_rooted(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    const coll_rooted_place at = coll_rooted_find(p, member);
    const uint32_t awaited = at.takes_part ? count_awaited(p, &at) : 0;
    const uint32_t to_send = at.takes_part ? count_to_send(p, &at) : 0;
    assert(m->sent <= to_send && m->created <= awaited);
    if (m->ready < awaited && ++m->ready < awaited)
        return;
    if (m->sent == to_send) {
        sim_phase_ended(s, op, member);
        return;
    }
    send_rooted_message(s, op, member, &at, m->sent++);
}

static void arrive_rooted(sim *s, uint32_t op, uint32_t member, uint32_t phase,
                          uint32_t k)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_member *m = sim_member_get(s, op, member);
    sim_phase_wake(s, op, member, m, phase);
    if (sim_phase_runs(m, phase))
        receive_rooted(s, op, member);
    else
        sim_early_set(m, plan, plan->phases[phase].first_step + k);
}

const sim_phase_ops sim_rooted_ops = {start_rooted, fire_rooted, receive_rooted,
                                      arrive_rooted, sim_early_any};
