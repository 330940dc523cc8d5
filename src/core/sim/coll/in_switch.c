/*
 * sim/coll/in_switch.c - a reduction or broadcast in the switch of a dimension. Every
 * member sends its data up. When the data of all members have arrived, the switch takes
 * its processing time and then answers every member. The first member of the dimension's
 * group counts the arrivals for the switch.
 */
#include "des/ticks.h"
#include "sim/coll/phases.h"

static uint32_t get_first_member(const coll_phase *p, uint32_t member)
{
    return member - member / p->stride % p->n * p->stride;
}

/* Broadcast: the member whose data the switch multicasts. */
static bool is_line_root(const coll_phase *p, uint32_t member)
{
    return member / p->stride % p->n == p->root / p->stride % p->n;
}

static void start_switch(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    assert(p->window == 1 && p->n_sends == 1);
    if (p->rooted != COLL_ROOTED_NONE && member % p->stride != p->root % p->stride) {
        m->sent = p->n_sends; /* nothing to send in this line yet */
        m->created = 1;
        sim_call_after(s, m->npu, 0, sim_event_token(op, member));
        return;
    }
    sim_window_new_packet(s, op, member);
}

static void send_to_switch(sim *s, uint32_t op, uint32_t member, sim_member *m)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const coll_phase *p = &plan->phases[m->phase];
    m->sent++;
    m->ready--;
    if (p->rooted == COLL_ROOTED_NONE || is_line_root(p, member)) {
        net_send_up(s->net, m->npu, p->level, p->message_bytes,
                    sim_event_arrival(op, member, p->first_step + COLL_SWITCH_CAME));
        return;
    }
    /* The other members only wait for the switch's answer, which may have come already.
     */
    if (sim_early_take(m, plan, p->first_step + COLL_SWITCH_ANSWER))
        des_queue_push(&s->queue, s->queue.now, sim_event_received(op, member));
}

static void fire_switch(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    m->ready++;
    if (m->created != m->sent && m->sent != p->n_sends)
        send_to_switch(s, op, member, m);
    if (m->sent == p->n_sends && m->ready == p->window)
        sim_phase_ended(s, op, member);
}

/* A member's data have reached the switch. The last arrival starts its processing. */
static void gather_in_switch(sim *s, uint32_t op, uint32_t first, uint32_t phase)
{
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = &o->plan->phases[phase];
    const cluster_dim *dim = &s->cluster->dims[p->level];
    const uint32_t n_awaited = p->rooted == COLL_ROOTED_NONE ? p->n : 1;
    uint32_t *n_come = &sim_member_inbox(sim_member_get(s, op, first), o->plan)[phase];
    assert(*n_come < n_awaited);
    if (++*n_come < n_awaited)
        return;
    double ns = dim->in_network_ns;
    if (dim->in_network_Bps > 0)
        ns += (double)p->message_bytes / dim->in_network_Bps * 1e9;
    des_queue_push(&s->queue,
                   s->queue.now +
                       des_queue_ticks(&s->queue, ns * (double)s->ticks_per_ns),
                   sim_event_arrival(op, first, p->first_step + COLL_SWITCH_DONE));
}

static void answer_members(sim *s, uint32_t op, uint32_t first, uint32_t phase)
{
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = &o->plan->phases[phase];
    for (uint32_t i = 0; i < p->n; i++) {
        const uint32_t to = first + i * p->stride;
        net_send_down(s->net, sim_member_rank(s, o, to), p->level, p->down_bytes,
                      sim_event_arrival(op, to, p->first_step + COLL_SWITCH_ANSWER));
    }
}

static void arrive_at_switch(sim *s, uint32_t op, uint32_t member, uint32_t phase,
                             uint32_t k)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const coll_phase *p = &plan->phases[phase];
    sim_member *m = sim_member_get(s, op, member);
    assert(k < COLL_N_SWITCH_STEPS);
    if (k == COLL_SWITCH_CAME) {
        gather_in_switch(s, op, get_first_member(p, member), phase);
    } else if (k == COLL_SWITCH_DONE) {
        answer_members(s, op, get_first_member(p, member), phase);
    } else {
        sim_phase_wake(s, op, member, m, phase);
        if (sim_phase_runs(m, phase) && k < m->sent)
            sim_window_new_packet(s, op, member);
        else
            sim_early_set(m, plan, p->first_step + k);
    }
}

/* The switch answers only members that have sent, so no message arrives at a waiting
 * member. */
const sim_phase_ops sim_switch_ops = {start_switch, fire_switch, sim_window_new_packet,
                                      arrive_at_switch, sim_early_never};
