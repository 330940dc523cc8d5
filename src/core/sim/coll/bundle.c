/*
 * sim/coll/bundle.c - a collective as one flow over many links. When its last member has
 * arrived, the network carries it as the communication library would. When it is over,
 * all members continue. The first member's state counts the members that have arrived.
 *
 * Members may arrive at different times. In a direct collective (all-to-all, gather,
 * scatter), members that have arrived exchange their messages while others are still
 * missing. Members that arrive within 5 % of the collective's undisturbed time count as
 * simultaneous. If a member is missing when that time has passed since the first of them
 * arrived, a part of the collective starts (net_start_part). The part has the messages
 * between present members of which at least one is new. The last part starts as soon as
 * all members are present. All members continue when every part is over.
 *
 * Rings and trees have no parts, because a late member delays all others. A folded run
 * does not have individual members: it is abandoned, and all ranks are simulated.
 */
#include "sim/coll/phases.h"
#include "sim/interfere.h"

#include <math.h>

/* In larger collectives all members wait for the last one, because a part examines every
 * pair of nodes. */
enum { MOST_APART_MEMBERS = 1024 };
static const double most_apart = 0.05; /* of the undisturbed time: NETWORK.md 6.3 */

static coll_kind find_kind(cluster_coll coll, coll_rooted root)
{
    static const coll_kind rooted[] = {[COLL_ROOTED_BROADCAST] = COLL_BROADCAST,
                                       [COLL_ROOTED_REDUCE] = COLL_REDUCE,
                                       [COLL_ROOTED_GATHER] = COLL_GATHER,
                                       [COLL_ROOTED_SCATTER] = COLL_SCATTER};
    static const coll_kind kinds[] = {[CLUSTER_ALL_REDUCE] = COLL_ALL_REDUCE,
                                      [CLUSTER_ALL_GATHER] = COLL_ALL_GATHER,
                                      [CLUSTER_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
                                      [CLUSTER_ALL_TO_ALL] = COLL_ALL_TO_ALL};
    return root != COLL_ROOTED_NONE ? rooted[root] : kinds[coll];
}

/* The collective is not split here. The node of an all-gather states one member's bytes.
 */
void sim_bundle_describe(net_bundle *b, uint32_t coll_type, uint64_t amount)
{
    cluster_coll coll;
    coll_rooted rooted;
    const uint64_t bytes = amount == 0 ? 1 : amount;
    sim_coll_describe(&coll, &rooted, coll_type);
    b->kind = find_kind(coll, rooted);
    b->bytes = (double)(coll == CLUSTER_ALL_GATHER ? bytes * b->n : bytes);
}

static net_bundle describe_op(const sim *s, uint32_t op)
{
    const sim_op *o = &s->streams.ops.at[op];
    const coll_phase *p = &o->plan->phases[0];
    const sim_group *g = o->plan->grouped ? &s->groups[o->group - 1] : NULL;
    assert(g == NULL || g->n_members > 0);
    return (net_bundle){.kind = find_kind(p->coll, p->rooted),
                        .bytes = (double)o->plan->bytes,
                        .ranks = g == NULL ? NULL : g->members,
                        .n = g == NULL ? s->n_npus : g->n_members,
                        .root = g == NULL ? s->ranks[p->root].npu : g->npus[p->root],
                        .group = o->plan->grouped ? o->group : 0,
                        .id = g == NULL ? 0 : g->id,
                        .event = sim_event_arrival(op, 0, 0),
                        .price = {o->plan->rate, o->plan->fixed_s}};
}

static uint32_t *get_n_come(const sim *s, uint32_t op)
{
    return sim_member_inbox(sim_member_get(s, op, 0), s->streams.ops.at[op].plan);
}

/* The marks of a member. Bit 0: its messages are in a part that has started. In the first
 * member's marks, the bits above it are the index + 1 of the op's sim_apart. */
static uint64_t *get_marks(const sim *s, uint32_t op, uint32_t member)
{
    return sim_member_early(sim_member_get(s, op, member), s->streams.ops.at[op].plan);
}

/* NULL: the op has no parts and no timer. */
static sim_apart *find_apart(const sim *s, uint32_t op)
{
    const uint64_t id = *get_marks(s, op, 0) >> 1;
    assert(id <= s->streams.aparts.n);
    return id == 0 ? NULL : &s->streams.aparts.at[id - 1];
}

/* Create the record of an op. NULL: the run has failed. */
static sim_apart *make_apart(sim *s, uint32_t op)
{
    sim_streams *t = &s->streams;
    if (t->free_apart == 0) {
        if (!array_push(&t->aparts, (sim_apart){0})) {
            sim_fail_memory(s);
            return NULL;
        }
        t->free_apart = (uint32_t)t->aparts.n;
    }
    const uint32_t id = t->free_apart;
    assert(id <= t->aparts.n && find_apart(s, op) == NULL);
    t->free_apart = t->aparts.at[id - 1].next_free;
    t->aparts.at[id - 1] = (sim_apart){0};
    *get_marks(s, op, 0) |= (uint64_t)id << 1;
    return &t->aparts.at[id - 1];
}

static void free_apart(sim *s, uint32_t op)
{
    sim_apart *a = find_apart(s, op);
    assert(a != NULL && a->n_open == 0);
    a->next_free = s->streams.free_apart;
    s->streams.free_apart = (uint32_t)(*get_marks(s, op, 0) >> 1);
    *get_marks(s, op, 0) &= 1;
}

static bool is_direct(const net_bundle *b)
{
    return b->kind == COLL_ALL_TO_ALL || b->kind == COLL_GATHER ||
           b->kind == COLL_SCATTER;
}

static uint64_t compute_patience(sim *s, const net_bundle *b)
{
    net_shape shape;
    if (!is_direct(b) || b->n < 3 || b->n > MOST_APART_MEMBERS)
        return 0;
    const halley_status status = s->net->model->prepare(&shape, s->net, b);
    if (status != HALLEY_OK) {
        sim_fail(s, status);
        return 0;
    }
    const double ticks_per_s = 1e9 * (double)s->ticks_per_ns;
    const double alone =
        (double)shape.fixed_ticks + shape.volume_bytes / shape.cap_Bps * ticks_per_s;
    assert(isfinite(alone) && alone >= 0);
    return des_queue_ticks(&s->queue, floor(alone * most_apart));
}

/* Members that arrive within this many ticks count as simultaneous; 0: all wait for the
 * last. Computed once per plan. */
static uint64_t find_patience(sim *s, uint32_t op)
{
    sim_streams *t = &s->streams;
    const coll_plan *plan = t->ops.at[op].plan;
    uint32_t id = (uint32_t)t->patience.n;
    bool fresh;
    if (!net_can(s->net, NET_CAN_PARTS))
        return 0;
    if (!array_reserve(&t->patience, 1) ||
        !map64_put(&t->patience_by_plan, (uint64_t)(uintptr_t)plan, &id, &fresh)) {
        sim_fail_memory(s);
        return 0;
    }
    if (fresh) {
        const net_bundle b = describe_op(s, op);
        t->patience.at[t->patience.n++] = compute_patience(s, &b);
    }
    assert(id < t->patience.n);
    return t->patience.at[id];
}

/* Set each member's state: 0 absent, 1 in an earlier part, 2 new. False: they have no
 * partner yet. */
static bool mark_states(uint8_t *states, const sim *s, uint32_t op, const net_bundle *b)
{
    uint32_t n_present = 0;
    bool has_root = b->kind == COLL_ALL_TO_ALL;
    for (uint32_t i = 0; i < b->n; i++) {
        const sim_member *m = sim_member_get(s, op, i);
        states[i] = !m->running ? 0 : (*get_marks(s, op, i) & 1) != 0 ? 1 : 2;
        n_present += states[i] != 0;
        has_root |= states[i] != 0 && (b->ranks == NULL ? i : b->ranks[i]) == b->root;
    }
    return n_present > 1 && has_root;
}

static void start_part(sim *s, uint32_t op)
{
    net_bundle b = describe_op(s, op);
    uint8_t states[MOST_APART_MEMBERS];
    assert(b.n <= MOST_APART_MEMBERS && b.n == s->streams.ops.at[op].plan->n_members);
    if (!mark_states(states, s, op, &b))
        return;
    for (uint32_t i = 0; i < b.n; i++)
        *get_marks(s, op, i) |= states[i] != 0;
    sim_apart *a = find_apart(s, op);
    a->n_open++;
    a->has_started = true;
    b.states = states;
    sim_interfere_add_call(s, op, net_start_part(s->net, &b), b.event);
}

/* All members are present. */
static void start_rest(sim *s, uint32_t op)
{
    sim_apart *a = find_apart(s, op);
    if (a != NULL && a->is_timed)
        des_timer_cancel(&s->queue, a->timer);
    if (a != NULL && a->has_started) {
        a->is_timed = false;
        start_part(s, op);
        return;
    }
    if (a != NULL)
        free_apart(s, op);
    const net_bundle b = describe_op(s, op);
    sim_interfere_add_call(s, op, net_start_bundle(s->net, &b), b.event);
}

/* Start the timer for the first member, or for the first one after a part. */
static void wait_for_others(sim *s, uint32_t op)
{
    sim_apart *a = find_apart(s, op);
    if (a != NULL && a->is_timed)
        return;
    const uint64_t patience = find_patience(s, op);
    if (patience == 0)
        return;
    if (a == NULL && (a = make_apart(s, op)) == NULL)
        return;
    a->is_timed = true;
    a->timer = des_timer_set(&s->queue, s->queue.now + patience, sim_event_token(op, 0));
}

static void start_bundle(sim *s, uint32_t op, uint32_t member)
{
    const coll_plan *plan = s->streams.ops.at[op].plan;
    uint32_t *n_come = get_n_come(s, op);
    assert(member < plan->n_members && *n_come < plan->n_members);
    (void)member;
    if (++*n_come == plan->n_members)
        start_rest(s, op);
    else
        wait_for_others(s, op);
}

/* The timer has expired: start a part with the members that are present. */
static void end_patience(sim *s, uint32_t op, uint32_t member)
{
    sim_apart *a = find_apart(s, op);
    assert(member == 0 && a != NULL && a->is_timed);
    (void)member;
    a->is_timed = false;
    if (s->class_of == NULL) {
        start_part(s, op);
        return;
    }
    s->came_apart = true;
    sim_fail(s, HALLEY_EINVAL);
}

static void end_bundle(sim *s, uint32_t op, uint32_t member, uint32_t phase, uint32_t k)
{
    const uint32_t n = s->streams.ops.at[op].plan->n_members;
    sim_apart *a = find_apart(s, op);
    assert(member == 0 && phase == 0 && k == 0);
    (void)member, (void)phase, (void)k;
    if (a != NULL) {
        assert(a->n_open > 0);
        if (--a->n_open > 0 || *get_n_come(s, op) < n)
            return;
        free_apart(s, op);
    }
    sim_interfere_end_calls(s, op);
    for (uint32_t i = 0; i < n && s->status == HALLEY_OK; i++)
        sim_phase_ended(s, op, i);
}

const sim_phase_ops sim_bundle_ops = {.start = start_bundle,
                                      .arrive = end_bundle,
                                      .fire = end_patience,
                                      .is_called = sim_early_never};
