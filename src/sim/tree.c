/*
 * sim/tree.c - the double binary tree: data go up to the root, being reduced, and down
 * again. A leaf sends up and waits; a place between waits for both children, sends up,
 * waits, sends to both; the root waits for its child and sends back.
 *
 * A member's `sent` holds, bit by bit, which messages it awaits, `created` how far it is
 * and `ready` the reductions done. Steps name who a message comes from: 0 the left child,
 * 1 the right one, 2 the parent.
 */
#include "sim/engine.h"

enum { FROM_LEFT, FROM_RIGHT, FROM_PARENT };
enum { BEGIN, WAIT_TWO, WAIT_ONE, SEND_UP, WAIT_PARENT, SEND_DOWN, END };

static const coll_phase *phase_of(const sim *s, uint32_t op, const sim_member *m)
{
    return &s->streams.ops.at[op].plan->phases[m->phase];
}

static void await(sim *s, uint32_t op, uint32_t member, uint32_t from, uint32_t who)
{
    sim_member *m = sim_member_get(s, op, member);
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = phase_of(s, op, m);
    const uint64_t received = sim_what(SIM_RECEIVED, op, member, 0);
    if (s->system->rendezvous || s->by_key) {
        sim_message_recv(s, sim_member_rank(s, o, who), m->npu, sim_op_tag(s, o),
                         p->message_bytes, received);
        return;
    }
    const uint32_t step = p->first_step + from;
    uint64_t *word = &sim_member_early(m, o->plan)[step / 64];
    const uint64_t bit = UINT64_C(1) << (step % 64);
    if (*word & bit)
        des_queue_push(&s->queue, s->queue.now, received);
    else
        m->sent |= UINT32_C(1) << from;
    *word &= ~bit;
}

static void send(sim *s, uint32_t op, uint32_t member, uint32_t to)
{
    const sim_member *m = sim_member_get(s, op, member);
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = phase_of(s, op, m);
    const uint32_t rank = sim_member_rank(s, o, to);
    if (s->system->rendezvous || s->by_key) {
        sim_message_send(s, m->npu, rank, sim_op_tag(s, o), p->message_bytes,
                         SIM_NOTHING);
        return;
    }
    const coll_tree_place its = coll_tree_find(p, to);
    const uint32_t from = its.left == member    ? FROM_LEFT
                          : its.right == member ? FROM_RIGHT
                                                : FROM_PARENT;
    net_send(s->net, m->npu, rank, p->message_bytes,
             sim_what(SIM_ARRIVE, op, to, p->first_step + from));
}

static void packet(sim *s, uint32_t op, uint32_t member, bool reduces, bool sends_back,
                   bool from_npu)
{
    const sim_member *m = sim_member_get(s, op, member);
    sim_packet_start(s, op, member, 0,
                     &(sim_packet){.bytes = phase_of(s, op, m)->data_bytes,
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

static uint32_t only_child(const coll_tree_place *at)
{
    return at->left != COLL_NONE ? at->left : at->right;
}

void sim_tree_start(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_tree_place at = coll_tree_find(phase_of(s, op, m), member);
    if (is_leaf(&at)) {
        packet(s, op, member, false, false, true);
        m->created = SEND_UP;
    } else if (is_root(&at)) {
        m->created = WAIT_ONE;
        await(s, op, member, at.left != COLL_NONE ? FROM_LEFT : FROM_RIGHT,
              only_child(&at));
    } else {
        m->created = WAIT_TWO;
        await(s, op, member, FROM_LEFT, at.left);
        await(s, op, member, FROM_RIGHT, at.right);
    }
}

void sim_tree_received(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_tree_place at = coll_tree_find(phase_of(s, op, m), member);
    if (is_leaf(&at)) {
        packet(s, op, member, false, false, false);
        m->created = END;
    } else if (is_root(&at)) {
        packet(s, op, member, true, true, false);
        m->created = SEND_DOWN;
    } else if (m->created == WAIT_TWO) {
        packet(s, op, member, true, false, false);
        m->created = WAIT_ONE;
    } else if (m->created == WAIT_ONE) {
        packet(s, op, member, true, true, false);
        m->created = SEND_UP;
    } else {
        packet(s, op, member, true, true, false);
        m->created = SEND_DOWN;
    }
}

void sim_tree_fired(sim *s, uint32_t op, uint32_t member)
{
    sim_member *m = sim_member_get(s, op, member);
    const coll_tree_place at = coll_tree_find(phase_of(s, op, m), member);
    const bool between = !is_leaf(&at) && !is_root(&at);
    if (between && m->ready == 0) { /* one child's data are in; the other's will follow */
        m->ready = 1;
        return;
    }
    if (m->created == SEND_UP) {
        m->created = WAIT_PARENT;
        send(s, op, member, at.parent);
        await(s, op, member, FROM_PARENT, at.parent);
        return;
    }
    if (m->created == SEND_DOWN && between) {
        send(s, op, member, at.left);
        send(s, op, member, at.right);
    } else if (m->created == SEND_DOWN) {
        send(s, op, member, only_child(&at));
    }
    sim_phase_ended(s, op, member);
}
