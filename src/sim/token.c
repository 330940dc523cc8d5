/*
 * sim/token.c - ring, direct and halving-doubling, packet by packet; the form they share
 * is told in coll/plan.h.
 *
 * A member awaits the answer to packet k from the moment it sends packet k. So whether an
 * arriving message is awaited follows from how many packets have been sent: a ring's
 * messages come in order and are counted, the others carry their step and leave a bit
 * when they come too early. No table of keys is needed, and the reference's rule (k-th
 * send of a key meets the k-th receive of it) is kept, because within a phase a key's
 * sends and receives come in the order of the steps.
 */
#include "des/ticks.h"
#include "sim/fold.h"

static const coll_phase *phase_of(const sim *s, uint32_t op, const sim_member *m)
{
    return &s->streams.ops.at[op].plan->phases[m->phase];
}

uint64_t sim_reduction(const sim *s, uint64_t bytes)
{
    /* Two reads and a write, each cut to whole ticks. */
    return 3 * ticks_from((double)bytes / s->system->mem_Bps *
                          (1e9 * (double)s->ticks_per_ns));
}

void sim_packet_start(sim *s, uint32_t op, uint32_t member, uint32_t k,
                      const sim_packet *packet)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const uint32_t npu = sim_member_get(s, op, member)->npu;
    const uint64_t then = packet->reduces ? sim_what(SIM_REDUCE, op, member, k)
                                          : sim_what(SIM_TOKEN, op, member, 0);
    if (s->bus != NULL && !plan->local)
        sim_bus_request(s, npu, packet, then);
    else
        sim_call_after(s, npu, plan->local ? s->group_endpoint : s->endpoint, then);
}

static void new_packet(sim *s, uint32_t op, uint32_t member, sim_member *m,
                       const coll_phase *p)
{
    if (m->cycle == 0) {
        m->cycle = p->n_silent + p->n_loud;
        m->loud_cycle = !m->loud_cycle;
    }
    const uint32_t left = m->cycle--;
    const uint32_t k = m->created++;
    const bool loud = left <= p->n_loud;
    const bool reduces = loud && !p->silent &&
                         (p->coll == CLUSTER_REDUCE_SCATTER ||
                          (p->coll == CLUSTER_ALL_REDUCE && m->loud_cycle));
    if (s->bus == NULL) { /* the same as below, without what only the bus asks for */
        const bool local = s->streams.ops.at[op].plan->local;
        sim_call_after(s, m->npu, local ? s->group_endpoint : s->endpoint,
                       reduces ? sim_what(SIM_REDUCE, op, member, k)
                               : sim_what(SIM_TOKEN, op, member, 0));
        return;
    }
    sim_packet_start(s, op, member, k,
                     &(sim_packet){.bytes = coll_packet_bytes(p, k),
                                   .reduces = reduces,
                                   .sends_back = loud && left > p->window,
                                   .from_npu = !loud});
}

void sim_phase_start(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    m->running = true;
    if (s->streams.ops.at[op].custom != NULL) {
        sim_custom_start(s, op, member);
        return;
    }
    const coll_phase *p = phase_of(s, op, m);
    m->sent = m->created = m->ready = m->cycle = 0;
    m->loud_cycle = false;
    if (p->algo == CLUSTER_ALGO_TREE) {
        sim_tree_start(s, op, member);
        return;
    }
    if (p->algo == CLUSTER_ALGO_ROOTED) {
        sim_rooted_start(s, op, member);
        return;
    }
    if (p->rooted != COLL_ROOTED_NONE && member % p->stride != p->root % p->stride) {
        m->sent = p->n_sends; /* nothing to send in this line yet */
        m->created = 1;
        sim_call_after(s, m->npu, 0, sim_what(SIM_TOKEN, op, member, 0));
        return;
    }
    if (p->algo == CLUSTER_ALGO_RING && !s->by_key) {
        const sim_op *o = &s->streams.ops.at[op];
        m->to = coll_packet_to(p, member, 0);
        const uint32_t to = sim_member_rank(s, o, m->to);
        if (s->fixes_delays) {
            m->delay = net_delay(s->net, m->npu, to, p->message_bytes);
            net_count(s->net, m->npu, to, p->message_bytes, p->n_sends);
        }
    }
    for (uint32_t i = 0; i < p->window; i++)
        new_packet(s, op, member, m, p);
}

void sim_token_reduce(sim *s, uint64_t what)
{
    const uint32_t op = sim_a(what), member = sim_b(what);
    const sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = phase_of(s, op, m);
    const uint64_t bytes =
        p->algo == CLUSTER_ALGO_TREE ? p->data_bytes : coll_packet_bytes(p, sim_c(what));
    sim_call_after(s, m->npu, sim_reduction(s, bytes),
                   sim_what(SIM_TOKEN, op, member, 0));
}

void sim_packet_received(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_phase *p = phase_of(s, op, m);
    if (p->algo == CLUSTER_ALGO_TREE)
        sim_tree_received(s, op, member);
    else
        new_packet(s, op, member, m, p);
}

/* The first member of the dimension's group: it keeps the switch's count. */
static uint32_t first_of(const coll_phase *p, uint32_t member)
{
    return member - member / p->stride % p->n * p->stride;
}

/*
 * In a switch: a message has come to it. When those of all members have, the switch needs
 * its time and then answers everyone.
 */
static void switch_event(sim *s, uint32_t op, uint32_t member, uint32_t phase,
                         uint32_t step)
{
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = &o->plan->phases[phase];
    const uint32_t first = first_of(p, member);
    if (step == COLL_SWITCH_CAME) {
        const cluster_dim *dim = &s->cluster->dims[p->level];
        const uint32_t awaited = p->rooted == COLL_ROOTED_NONE ? p->n : 1;
        if (++sim_member_inbox(sim_member_get(s, op, first), o->plan)[phase] < awaited)
            return;
        double ns = dim->in_network_ns;
        if (dim->in_network_Bps > 0)
            ns += (double)p->message_bytes / dim->in_network_Bps * 1e9;
        des_queue_push(&s->queue, s->queue.now + ticks_from(ns * (double)s->ticks_per_ns),
                       sim_what(SIM_ARRIVE, op, first, p->first_step + COLL_SWITCH_DONE));
        return;
    }
    for (uint32_t i = 0; i < p->n; i++) {
        const uint32_t to = first + i * p->stride;
        net_send_down(s->net, sim_member_rank(s, o, to), p->level, p->down_bytes,
                      sim_what(SIM_ARRIVE, op, to, p->first_step + COLL_SWITCH_ANSWER));
    }
}

void sim_packet_arrived(sim *s, uint64_t what)
{
    const uint32_t op = sim_a(what), member = sim_b(what), step = sim_c(what);
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_member *m = sim_member_get(s, op, member);
    const uint32_t phase = sim_phase_at(plan, step);
    const coll_phase *p = &plan->phases[phase];
    if (p->algo == CLUSTER_ALGO_IN_SWITCH && step != p->first_step + COLL_SWITCH_ANSWER) {
        switch_event(s, op, member, phase, step - p->first_step);
        return;
    }
    if (!m->running && m->joined && m->phase == phase && !s->cluster->astra)
        sim_phase_called(s, op, member);
    const uint32_t awaited = m->phase == phase && m->running ? m->sent : 0;
    if (p->algo == CLUSTER_ALGO_RING) {
        if (sim_member_inbox(m, plan)[phase]++ < awaited)
            new_packet(s, op, member, m, p);
        return;
    }
    if (p->algo == CLUSTER_ALGO_ROOTED && m->phase == phase && m->running) {
        sim_rooted_arrived(s, op, member);
        return;
    }
    const uint32_t k = step - p->first_step;
    if (p->algo == CLUSTER_ALGO_TREE
            ? m->phase == phase && m->running && (m->sent >> k & 1)
            : k < awaited)
        sim_packet_received(s, op, member);
    else
        sim_member_early(m, plan)[step / 64] |= UINT64_C(1) << (step % 64);
}

/* Bytes of packet k; an uneven all-to-all has its own for every member. */
static uint64_t packet_bytes(const sim *s, const sim_member *m, const coll_phase *p,
                             uint32_t k, uint32_t to)
{
    const uint64_t *sizes = s->streams.datasets.at[m->dataset].sizes;
    return sizes == NULL ? coll_packet_bytes(p, k) : sizes[to];
}

/* Rendezvous, and the cases in which two members do not agree on who meets whom, go by
 * the general rule of match.c. */
static void send_by_key(sim *s, uint32_t op, uint32_t member, uint32_t k)
{
    const sim_op *o = &s->streams.ops.at[op];
    const sim_member *m = sim_member_get(s, op, member);
    coll_phase p = o->plan->phases[m->phase];
    if (s->by_key)
        p.down = m->directions >> m->phase & 1;
    const uint32_t to = coll_packet_to(&p, member, k);
    const uint32_t from = coll_packet_from(&p, member, k);
    const uint64_t bytes = coll_packet_bytes(&p, k);
    const uint32_t self = sim_member_rank(s, o, member);
    const uint32_t to_rank = sim_member_rank(s, o, to);
    const uint32_t from_rank = sim_member_rank(s, o, from);
    const uint32_t tag = sim_op_tag(s, o);
    sim_message_send(s, self, to_rank, tag, bytes, SIM_NOTHING);
    sim_message_recv(s, from_rank, self, tag, bytes,
                     sim_what(SIM_RECEIVED, op, member, 0));
}

/* To whom a message is handed: folded, to the member that stands for all. */
static uint32_t receiver(const sim *s, uint32_t member, uint32_t to)
{
    return s->fold == NULL ? to : member;
}

static void send_ring(sim *s, uint32_t op, uint32_t member, sim_member *m,
                      const coll_plan *plan)
{
    const coll_phase *p = &plan->phases[m->phase];
    const uint64_t what =
        sim_what(SIM_ARRIVE, op, receiver(s, member, m->to), p->first_step);
    if (!s->fixes_delays) {
        const uint32_t to = sim_member_rank(s, &s->streams.ops.at[op], m->to);
        net_send(s->net, m->npu, to, p->message_bytes, what);
        return;
    }
    if (s->fold != NULL)
        sim_fold_note(s, m->npu, s->queue.now + m->delay, what);
    des_queue_push(&s->queue, s->queue.now + m->delay, what);
}

/* Broadcast in a switch: the member whose data it multicasts. */
static bool is_line_root(const coll_phase *p, uint32_t member)
{
    return member / p->stride % p->n == p->root / p->stride % p->n;
}

/* The others only await the switch's answer, which may have come before them. */
static void await_switch(sim *s, uint32_t op, uint32_t member, sim_member *m,
                         const coll_plan *plan)
{
    const uint32_t step = plan->phases[m->phase].first_step + COLL_SWITCH_ANSWER;
    uint64_t *word = &sim_member_early(m, plan)[step / 64];
    const uint64_t bit = UINT64_C(1) << (step % 64);
    if (*word & bit)
        des_queue_push(&s->queue, s->queue.now, sim_what(SIM_RECEIVED, op, member, 0));
    *word &= ~bit;
}

static bool try_send(sim *s, uint32_t op, uint32_t member, sim_member *m,
                     const coll_plan *plan)
{
    const coll_phase *p = &plan->phases[m->phase];
    const uint32_t k = m->sent;
    if (m->created == k || k == p->n_sends || m->ready == 0)
        return false;
    m->sent++;
    m->ready--;
    if (p->algo == CLUSTER_ALGO_IN_SWITCH) {
        if (p->rooted != COLL_ROOTED_NONE && !is_line_root(p, member)) {
            await_switch(s, op, member, m, plan);
            return true;
        }
        net_send_up(s->net, m->npu, p->level, p->message_bytes,
                    sim_what(SIM_ARRIVE, op, member, p->first_step + COLL_SWITCH_CAME));
        return true;
    }
    if (s->system->rendezvous || s->by_key) {
        send_by_key(s, op, member, k);
        return true;
    }
    bool early;
    if (p->algo == CLUSTER_ALGO_RING) {
        send_ring(s, op, member, m, plan);
        early = sim_member_inbox(m, plan)[m->phase] > k;
    } else {
        const uint32_t to = coll_packet_to(p, member, k), step = p->first_step + k;
        uint64_t *word = &sim_member_early(m, plan)[step / 64];
        const uint64_t bit = UINT64_C(1) << (step % 64);
        /* Halving-doubling on odd sizes: some partners look elsewhere. */
        if (!p->lopsided || coll_packet_from(p, to, k) == member)
            net_send(s->net, m->npu, sim_member_rank(s, &s->streams.ops.at[op], to),
                     packet_bytes(s, m, p, k, to),
                     sim_what(SIM_ARRIVE, op, receiver(s, member, to), step));
        early = (*word & bit) != 0;
        *word &= ~bit;
    }
    if (early)
        des_queue_push(&s->queue, s->queue.now, sim_what(SIM_RECEIVED, op, member, 0));
    return true;
}

void sim_token_fired(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_plan *plan = s->streams.ops.at[op].plan;
    const coll_phase *p = &plan->phases[m->phase];
    if (p->algo == CLUSTER_ALGO_TREE) {
        sim_tree_fired(s, op, member);
        return;
    }
    if (p->algo == CLUSTER_ALGO_ROOTED) {
        sim_rooted_fired(s, op, member);
        return;
    }
    m->ready++;
    const bool second_half = p->algo == CLUSTER_ALGO_DIRECT &&
                             p->coll == CLUSTER_ALL_REDUCE &&
                             p->n_sends - m->sent <= p->n - 1;
    if (!second_half) {
        try_send(s, op, member, m, plan);
    } else { /* a direct all-reduce gathers only when everything has been reduced */
        if (m->created - p->window < p->n - 1)
            return;
        for (uint32_t i = 0; i < p->window; i++)
            if (!try_send(s, op, member, m, plan))
                break;
    }
    if (m->sent == p->n_sends && m->ready == p->window)
        sim_phase_ended(s, op, member);
}
