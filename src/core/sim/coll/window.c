/*
 * sim/coll/window.c - ring, direct and halving-doubling, packet by packet. coll/plan.h
 * describes the form that they share.
 *
 * A member awaits the answer to packet k from the moment it sends packet k. The number of
 * packets sent therefore determines whether an arriving message is awaited. A ring's
 * messages arrive in order and are counted. Other messages carry their step, and set a
 * bit if they come too early.
 *
 * So no table of keys is needed. ASTRA-sim's rule still holds: the k-th send of a key
 * meets the k-th receive of it. The reason is that within a phase the sends and receives
 * of a key come in the order of the steps. Rendezvous, and the cases in which two members
 * disagree on who meets whom, use the general matching of match.c instead.
 */
#include "sim/coll/phases.h"
#include "sim/fold.h"

/* Sends packet k, and notes its answer if that has come before. It is one of the
 * functions below, and a constant where it is inlined, so that messages need no indirect
 * call. */
typedef void packet_sender(sim *s, uint32_t op, uint32_t member, sim_member *m,
                           const coll_plan *plan, uint32_t k);
#define SPECIALIZED static inline __attribute__((always_inline))

static void start_window_packet(sim *s, uint32_t op, uint32_t member, sim_member *m,
                                const coll_phase *p)
{
    if (m->cycle == 0) {
        m->cycle = p->n_silent + p->n_loud;
        m->loud_cycle = !m->loud_cycle;
    }
    assert(m->cycle > 0 && m->running);
    const uint32_t left = m->cycle--;
    const uint32_t k = m->created++;
    const bool loud = left <= p->n_loud;
    const bool reduces = loud && !p->silent &&
                         (p->coll == CLUSTER_REDUCE_SCATTER ||
                          (p->coll == CLUSTER_ALL_REDUCE && m->loud_cycle));
    const uint32_t sized = p->bytes == NULL ? 0 : k; /* all packets are of one size */
    if (s->bus == NULL) { /* as below, without what only the bus needs */
        const bool local = s->streams.ops.at[op].plan->local;
        sim_call_after(s, m->npu, local ? s->group_endpoint : s->endpoint,
                       reduces ? sim_event_reduction(op, member, sized)
                               : sim_event_token(op, member));
        return;
    }
    sim_packet_start(s, op, member, sized,
                     &(sim_packet){.bytes = coll_packet_bytes(p, k),
                                   .reduces = reduces,
                                   .sends_back = loud && left > p->window,
                                   .from_npu = !loud});
}

void sim_window_new_packet(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    start_window_packet(s, op, member, m, sim_phase_get(s, op, m));
}

static void start_window(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    for (uint32_t i = 0; i < p->window; i++)
        start_window_packet(s, op, member, m, p);
}

static void start_ring(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    m->to = coll_packet_to(sim_phase_get(s, op, m), member, 0);
    start_window(s, op, member);
}

/* All messages of the phase take the same time and are counted at once. */
static void start_fixed_ring(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = sim_phase_get(s, op, m);
    m->to = coll_packet_to(p, member, 0);
    const uint32_t to = sim_member_rank(s, &s->streams.ops.at[op], m->to);
    assert(to != m->npu);
    m->delay = net_delay(s->net, m->npu, to, p->message_bytes);
    net_count(s->net, m->npu, to, p->message_bytes, p->n_sends);
    start_window(s, op, member);
}

/* The member that gets a message; in a folded run, the one that represents all. */
static uint32_t get_receiver(const sim *s, uint32_t member, uint32_t to)
{
    return s->fold == NULL ? to : member;
}

static void push_received(sim *s, uint32_t op, uint32_t member)
{
    des_queue_push(&s->queue, s->queue.now, sim_event_received(op, member));
}

SPECIALIZED void send_fixed_ring_packet(sim *s, uint32_t op, uint32_t member,
                                        sim_member *m, const coll_plan *plan, uint32_t k)
{
    const coll_phase *p = &plan->phases[m->phase];
    const uint64_t event =
        sim_event_arrival(op, get_receiver(s, member, m->to), p->first_step);
    if (s->fold != NULL)
        sim_fold_note(s, m->npu, s->queue.now + m->delay, event);
    des_queue_push(&s->queue, s->queue.now + m->delay, event);
    if (sim_member_inbox(m, plan)[m->phase] > k)
        push_received(s, op, member);
}

SPECIALIZED void send_ring_packet(sim *s, uint32_t op, uint32_t member, sim_member *m,
                                  const coll_plan *plan, uint32_t k)
{
    const coll_phase *p = &plan->phases[m->phase];
    const uint32_t to = sim_member_rank(s, &s->streams.ops.at[op], m->to);
    net_send(s->net, m->npu, to, p->message_bytes,
             sim_event_arrival(op, get_receiver(s, member, m->to), p->first_step));
    if (sim_member_inbox(m, plan)[m->phase] > k)
        push_received(s, op, member);
}

/* Bytes of packet k; an uneven all-to-all has a size for every member. */
static uint64_t get_packet_bytes(const sim *s, const sim_member *m, const coll_phase *p,
                                 uint32_t k, uint32_t to)
{
    assert(m->dataset < s->streams.datasets.n);
    const uint64_t *sizes = s->streams.datasets.at[m->dataset].sizes;
    return sizes == NULL ? coll_packet_bytes(p, k) : sizes[to];
}

SPECIALIZED void send_step_packet(sim *s, uint32_t op, uint32_t member, sim_member *m,
                                  const coll_plan *plan, uint32_t k)
{
    const coll_phase *p = &plan->phases[m->phase];
    const uint32_t to = coll_packet_to(p, member, k), step = p->first_step + k;
    /* Halving-doubling on sizes that are no power of two: some partners expect other
     * members. */
    if (!p->lopsided || coll_packet_from(p, to, k) == member)
        net_send(s->net, m->npu, sim_member_rank(s, &s->streams.ops.at[op], to),
                 get_packet_bytes(s, m, p, k, to),
                 sim_event_arrival(op, get_receiver(s, member, to), step));
    if (sim_early_take(m, plan, step))
        push_received(s, op, member);
}

/* Every member has its own directions, which may differ from those of its plan. */
SPECIALIZED void send_packet_by_key(sim *s, uint32_t op, uint32_t member, sim_member *m,
                                    const coll_plan *plan, uint32_t k)
{
    const sim_op *o = &s->streams.ops.at[op];
    coll_phase p = plan->phases[m->phase];
    p.down = m->directions >> m->phase & 1;
    const uint64_t bytes = coll_packet_bytes(&p, k);
    const uint32_t self = sim_member_rank(s, o, member);
    const uint32_t to = sim_member_rank(s, o, coll_packet_to(&p, member, k));
    const uint32_t from = sim_member_rank(s, o, coll_packet_from(&p, member, k));
    const uint32_t tag = sim_op_tag(s, o);
    sim_message_send(s, self, to, tag, bytes, SIM_EVENT_NONE);
    sim_message_recv(s, from, self, tag, bytes, sim_event_received(op, member));
}

SPECIALIZED bool try_send_packet(sim *s, uint32_t op, uint32_t member, sim_member *m,
                                 const coll_plan *plan, packet_sender *send)
{
    const uint32_t k = m->sent;
    if (m->created == k || k == plan->phases[m->phase].n_sends || m->ready == 0)
        return false;
    assert(k < m->created);
    m->sent++;
    m->ready--;
    send(s, op, member, m, plan, k);
    return true;
}

static bool has_ended(const sim_member *m, const coll_phase *p)
{
    assert(m->sent <= p->n_sends && m->ready <= p->window);
    return m->sent == p->n_sends && m->ready == p->window;
}

SPECIALIZED void fire_ring_packet(sim *s, uint32_t op, uint32_t member,
                                  packet_sender *send)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_plan *plan = s->streams.ops.at[op].plan;
    m->ready++;
    try_send_packet(s, op, member, m, plan, send);
    if (has_ended(m, &plan->phases[m->phase]))
        sim_phase_ended(s, op, member);
}

/* In a direct all-reduce, the packets of the gather wait until everything has been
 * reduced. */
SPECIALIZED void fire_window_packet(sim *s, uint32_t op, uint32_t member,
                                    packet_sender *send)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const coll_phase *p = &plan->phases[m->phase];
    m->ready++;
    if (!p->gathers_after_reduction || p->n_sends - m->sent > p->n - 1) {
        try_send_packet(s, op, member, m, plan, send);
    } else {
        if (m->created - p->window < p->n - 1)
            return;
        for (uint32_t i = 0; i < p->window; i++)
            if (!try_send_packet(s, op, member, m, plan, send))
                break;
    }
    if (has_ended(m, p))
        sim_phase_ended(s, op, member);
}

static void fire_fixed_ring(sim *s, uint32_t op, uint32_t member)
{
    fire_ring_packet(s, op, member, send_fixed_ring_packet);
}

static void fire_ring(sim *s, uint32_t op, uint32_t member)
{
    fire_ring_packet(s, op, member, send_ring_packet);
}

static void fire_steps(sim *s, uint32_t op, uint32_t member)
{
    fire_window_packet(s, op, member, send_step_packet);
}

static void fire_window_by_key(sim *s, uint32_t op, uint32_t member)
{
    fire_window_packet(s, op, member, send_packet_by_key);
}

static void arrive_in_ring(sim *s, uint32_t op, uint32_t member, uint32_t phase,
                           uint32_t k)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_member *m = sim_member_get(s, op, member);
    (void)k;
    sim_phase_wake(s, op, member, m, phase);
    const uint32_t awaited = sim_phase_runs(m, phase) ? m->sent : 0;
    if (sim_member_inbox(m, plan)[phase]++ < awaited)
        start_window_packet(s, op, member, m, &plan->phases[phase]);
}

static void arrive_at_step(sim *s, uint32_t op, uint32_t member, uint32_t phase,
                           uint32_t k)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = &plan->phases[phase];
    sim_phase_wake(s, op, member, m, phase);
    if (sim_phase_runs(m, phase) && k < m->sent)
        start_window_packet(s, op, member, m, p);
    else
        sim_early_set(m, plan, p->first_step + k);
}

static bool has_ring_message(const sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    return sim_member_inbox(m, s->streams.ops.at[op].plan)[m->phase] > 0;
}

const sim_phase_ops sim_ring_fixed_ops = {start_fixed_ring, fire_fixed_ring,
                                          sim_window_new_packet, arrive_in_ring,
                                          has_ring_message};
const sim_phase_ops sim_ring_ops = {start_ring, fire_ring, sim_window_new_packet,
                                    arrive_in_ring, has_ring_message};
const sim_phase_ops sim_steps_ops = {start_window, fire_steps, sim_window_new_packet,
                                     arrive_at_step, sim_early_any};
/* match.c handles the messages: none arrives at a step. */
const sim_phase_ops sim_window_by_key_ops = {
    start_window, fire_window_by_key, sim_window_new_packet, NULL, sim_early_never};
