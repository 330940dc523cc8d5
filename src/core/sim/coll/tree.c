/*
 * sim/coll/tree.c - the double binary tree: data go up to the root, reduced on the way,
 * and down again. A leaf sends up and waits. An inner member waits for both children,
 * sends up, waits for its parent, and sends to both children. The root waits for its
 * child and sends back.
 *
 * A member's `sent` is a bit set of the messages that it awaits, `created` its progress,
 * and `ready` the number of reductions done. A message's step identifies its sender: 0
 * the left child, 1 the right child, 2 the parent.
 */
#include "sim/coll/phases.h"

enum { FROM_LEFT, FROM_RIGHT, FROM_PARENT };
enum { BEGIN, WAIT_TWO, WAIT_ONE, SEND_UP, WAIT_PARENT, SEND_DOWN, END };

/* `by_key` is a constant where these are inlined: messages are matched by key (match.c),
 * or by their step. */
#define SPECIALIZED static inline __attribute__((always_inline))

SPECIALIZED void await_tree_message(sim *s, uint32_t op, uint32_t member, uint32_t from,
                                    uint32_t who, const bool by_key)
{
    sim_member *m = sim_member_get(s, op, member);
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = sim_phase_get(s, op, m);
    const uint64_t received = sim_event_received(op, member);
    assert(who != COLL_NONE);
    if (by_key)
        sim_message_recv(s, sim_member_rank(s, o, who), m->npu, sim_op_tag(s, o),
                         p->message_bytes, received);
    else if (sim_early_take(m, o->plan, p->first_step + from))
        des_queue_push(&s->queue, s->queue.now, received);
    else
        m->sent |= UINT32_C(1) << from;
}

SPECIALIZED void send_tree_message(sim *s, uint32_t op, uint32_t member, uint32_t to,
                                   const bool by_key)
{
    const sim_member *m = sim_member_get(s, op, member);
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = sim_phase_get(s, op, m);
    const uint32_t rank = sim_member_rank(s, o, to);
    if (by_key) {
        sim_message_send(s, m->npu, rank, sim_op_tag(s, o), p->message_bytes,
                         SIM_EVENT_NONE);
        return;
    }
    const coll_tree_place its = coll_tree_find(p, to);
    const uint32_t from = its.left == member    ? FROM_LEFT
                          : its.right == member ? FROM_RIGHT
                                                : FROM_PARENT;
    net_send(s->net, m->npu, rank, p->message_bytes,
             sim_event_arrival(op, to, p->first_step + from));
}

static void start_tree_packet(sim *s, uint32_t op, uint32_t member, bool reduces,
                              bool sends_back, bool from_npu)
{
    const sim_member *m = sim_member_get(s, op, member);
    sim_packet_start(s, op, member, 0,
                     &(sim_packet){.bytes = sim_phase_get(s, op, m)->data_bytes,
                                   .reduces = reduces,
                                   .sends_back = sends_back,
                                   .from_npu = from_npu});
}

static bool is_root(const coll_tree_place *at)
{
    return at->parent == COLL_NONE;
}

static bool is_leaf(const coll_tree_place *at)
{
    return at->parent != COLL_NONE && at->left == COLL_NONE;
}

static uint32_t get_only_child(const coll_tree_place *at)
{
    assert((at->left == COLL_NONE) != (at->right == COLL_NONE));
    return at->left != COLL_NONE ? at->left : at->right;
}

SPECIALIZED void start_tree(sim *s, uint32_t op, uint32_t member, const bool by_key)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_tree_place at = coll_tree_find(sim_phase_get(s, op, m), member);
    if (is_leaf(&at)) {
        start_tree_packet(s, op, member, false, false, true);
        m->created = SEND_UP;
    } else if (is_root(&at)) {
        m->created = WAIT_ONE;
        await_tree_message(s, op, member, at.left != COLL_NONE ? FROM_LEFT : FROM_RIGHT,
                           get_only_child(&at), by_key);
    } else {
        m->created = WAIT_TWO;
        await_tree_message(s, op, member, FROM_LEFT, at.left, by_key);
        await_tree_message(s, op, member, FROM_RIGHT, at.right, by_key);
    }
}

static void receive_in_tree(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_tree_place at = coll_tree_find(sim_phase_get(s, op, m), member);
    if (is_leaf(&at)) {
        start_tree_packet(s, op, member, false, false, false);
        m->created = END;
    } else if (is_root(&at)) {
        start_tree_packet(s, op, member, true, true, false);
        m->created = SEND_DOWN;
    } else if (m->created == WAIT_TWO) {
        start_tree_packet(s, op, member, true, false, false);
        m->created = WAIT_ONE;
    } else if (m->created == WAIT_ONE) {
        start_tree_packet(s, op, member, true, true, false);
        m->created = SEND_UP;
    } else {
        start_tree_packet(s, op, member, true, true, false);
        m->created = SEND_DOWN;
    }
}

SPECIALIZED void fire_tree(sim *s, uint32_t op, uint32_t member, const bool by_key)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_tree_place at = coll_tree_find(sim_phase_get(s, op, m), member);
    assert(m->created == SEND_UP || m->created == SEND_DOWN || m->created == WAIT_ONE ||
           m->created == END);
    const bool between = !is_leaf(&at) && !is_root(&at);
    if (between && m->ready == 0) { /* the other child's data are missing */
        m->ready = 1;
        return;
    }
    if (m->created == SEND_UP) {
        m->created = WAIT_PARENT;
        send_tree_message(s, op, member, at.parent, by_key);
        await_tree_message(s, op, member, FROM_PARENT, at.parent, by_key);
        return;
    }
    if (m->created == SEND_DOWN && between) {
        send_tree_message(s, op, member, at.left, by_key);
        send_tree_message(s, op, member, at.right, by_key);
    } else if (m->created == SEND_DOWN) {
        send_tree_message(s, op, member, get_only_child(&at), by_key);
    }
    sim_phase_ended(s, op, member);
}

static void arrive_in_tree(sim *s, uint32_t op, uint32_t member, uint32_t phase,
                           uint32_t from)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    sim_member *m = sim_member_get(s, op, member);
    assert(from <= FROM_PARENT);
    sim_phase_wake(s, op, member, m, phase);
    if (sim_phase_runs(m, phase) && (m->sent >> from & 1))
        receive_in_tree(s, op, member);
    else
        sim_early_set(m, plan, plan->phases[phase].first_step + from);
}

static void start_tree_by_step(sim *s, uint32_t op, uint32_t member)
{
    start_tree(s, op, member, false);
}

static void fire_tree_by_step(sim *s, uint32_t op, uint32_t member)
{
    fire_tree(s, op, member, false);
}

static void start_tree_by_key(sim *s, uint32_t op, uint32_t member)
{
    start_tree(s, op, member, true);
}

static void fire_tree_by_key(sim *s, uint32_t op, uint32_t member)
{
    fire_tree(s, op, member, true);
}

const sim_phase_ops sim_tree_ops = {start_tree_by_step, fire_tree_by_step,
                                    receive_in_tree, arrive_in_tree, sim_early_any};
const sim_phase_ops sim_tree_by_key_ops = {start_tree_by_key, fire_tree_by_key,
                                           receive_in_tree, NULL, sim_early_never};
