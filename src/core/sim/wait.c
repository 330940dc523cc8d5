/*
 * sim/wait.c - the event queue is empty, but ranks are not done: explain which rank waits
 * for which. The message follows the chain of waiting from the first rank that is not
 * done. The other unfinished ranks are only counted.
 */
#include "base/str.h"
#include "sim/rules.h"

/* A running node of the rank, or SIM_NONE. */
static uint32_t find_running_node(const sim_rank *r)
{
    for (uint32_t i = 0; i < r->program->n; i++)
        if (r->waiting[i] == SIM_NODE_RUNNING)
            return i;
    return SIM_NONE;
}

/* Describe a message from the awaited peer that has arrived with another tag or size. */
static void describe_early(strbuf *to, const sim *s, uint32_t rank, const sim_node *n)
{
    const sim_bind *peer = &s->ranks[rank].binds[n->a];
    const uint32_t tag = s->ranks[rank].tags[n->b];
    for (size_t i = 0; i < s->match.channels.n; i++) {
        const sim_channel *c = &s->match.channels.at[i];
        if (c->n_early == 0 || c->from != peer->object || c->to != peer->place)
            continue;
        if (c->tag == tag && c->bytes != n->amount)
            strbuf_printf(to,
                          "; a message with that tag has arrived, but with %llu bytes",
                          (unsigned long long)c->bytes);
        else if (c->bytes == n->amount && c->tag != tag)
            strbuf_printf(to, "; a message of that size has arrived, but with tag %u",
                          c->tag);
        else
            continue;
        return;
    }
}

/* The rank that is simulated for an NPU. */
static uint32_t find_rank_of(const sim *s, uint32_t npu)
{
    return s->class_of == NULL ? npu : s->class_of[npu];
}

/* These functions describe what a rank waits in. They return the rank that it waits for,
 * or SIM_NONE. */
static uint32_t describe_message(strbuf *to, const sim *s, uint32_t rank,
                                 const sim_node *n)
{
    const bool sends = n->type == HALLEY_NODE_SEND;
    const uint32_t peer = s->ranks[rank].binds[n->a].object;
    strbuf_printf(to, "%s rank %u, tag %u, %llu bytes",
                  sends ? "a send to" : "a receive from", peer, s->ranks[rank].tags[n->b],
                  (unsigned long long)n->amount);
    if (!sends)
        describe_early(to, s, rank, n);
    return find_rank_of(s, peer);
}

/* The state of the members of a chunk, as seen from one of them. */
typedef struct attendance {
    uint32_t mine; /* SIM_NONE: the rank is no member, or has not reached it */
    uint32_t absent, n_absent; /* the first that has not reached it */
    uint32_t held;             /* the first that has reached it and holds it in a queue */
} attendance;

/* Ranks that a member of a chunk represents. */
static uint32_t count_member(const sim *s, const sim_op *o, uint32_t member)
{
    if (!o->plan->grouped)
        return s->ranks[member].n_alike;
    const sim_group *g = &s->groups[o->group - 1];
    return g->n_alike == NULL ? 1 : g->n_alike[member];
}

static uint32_t count_members(const sim *s, const sim_op *o)
{
    return o->plan->grouped ? s->groups[o->group - 1].n_members : s->n_npus;
}

static uint32_t get_npu(const sim *s, uint32_t rank)
{
    return s->ranks[rank].npu;
}

static attendance find_attendance(const sim *s, uint32_t op, uint32_t rank)
{
    const sim_op *o = &s->streams.ops.at[op];
    assert(op < s->streams.ops.n);
    attendance a = {SIM_NONE, SIM_NONE, 0, SIM_NONE};
    for (uint32_t k = 0; o->plan != NULL && k < o->plan->n_members; k++) {
        const sim_member *m = sim_member_get(s, op, k);
        if (m->joined && m->npu == rank)
            a.mine = k;
        if (m->joined && !m->running && a.held == SIM_NONE)
            a.held = k;
        if (m->joined)
            continue;
        a.absent = a.absent == SIM_NONE ? k : a.absent;
        a.n_absent += count_member(s, o, k);
    }
    return a;
}

/* Describe the chunk of the rank's collective that has not ended, and who has not reached
 * it. */
static uint32_t describe_collective(strbuf *to, const sim *s, uint32_t rank,
                                    const sim_node *n)
{
    uint32_t holder = SIM_NONE;
    char link[160];
    strbuf_printf(to, "%s of %llu bytes", halley_coll_type_name(n->coll),
                  (unsigned long long)n->amount);
    for (uint32_t i = 0; i < s->streams.ops.n; i++) {
        const sim_op *o = &s->streams.ops.at[i];
        const attendance a = find_attendance(s, i, rank);
        if (a.mine == SIM_NONE)
            continue;
        if (holder == SIM_NONE && a.held != SIM_NONE && a.held != a.mine)
            holder = sim_member_rank(s, o, a.held);
        if (a.n_absent == 0)
            continue;
        const uint32_t other = sim_member_rank(s, o, a.absent);
        strbuf_printf(
            to, "%s, which %u of %u members have not joined, the first of them rank %u",
            o->group == 0 ? "" : " in its group", a.n_absent, count_members(s, o),
            get_npu(s, other));
        if (o->group == 0)
            s->rules->explain_absence(to, s, rank, other);
        return other;
    }
    strbuf_add(to, STR(", which all members have joined"));
    if (holder != SIM_NONE)
        strbuf_printf(to,
                      ", but its chunks wait for each other: rank %u keeps the chunk "
                      "that others have started in a queue (active-chunks-per-dimension "
                      "and the number of queues limit how many run)",
                      get_npu(s, holder));
    else if (net_find_stalled(link, sizeof link, s->net))
        strbuf_add(to, STR(", but which cannot go on"));
    else
        strbuf_add(to, STR(", but its messages do not match"));
    return SIM_NONE;
}

static uint32_t describe_node(strbuf *to, const sim *s, uint32_t rank, uint32_t node)
{
    const sim_node *n = &s->ranks[rank].program->nodes[node];
    if (n->type == HALLEY_NODE_COLL)
        return describe_collective(to, s, rank, n);
    if (n->type == HALLEY_NODE_SEND || n->type == HALLEY_NODE_RECV)
        return describe_message(to, s, rank, n);
    strbuf_printf(to, "a %s", halley_node_type_name(n->type));
    return SIM_NONE;
}

enum { MOST_TOLD = 4 }; /* most ranks that are listed of a chain of waiting */

/* Write "rank waits for another, which waits for a third ...". */
static void describe_chain(strbuf *to, const sim *s, uint32_t rank, uint32_t node)
{
    uint32_t told[MOST_TOLD] = {rank};
    rank = describe_node(to, s, rank, node);
    for (uint32_t n = 1; n < MOST_TOLD && rank != SIM_NONE; n++) {
        const sim_rank *r = &s->ranks[rank];
        for (uint32_t k = 0; k < n; k++)
            if (told[k] == rank)
                return;
        node = find_running_node(r);
        if (r->n_done == r->program->n) {
            strbuf_printf(to, "; rank %u is done", r->npu);
            return;
        }
        if (node == SIM_NONE) {
            strbuf_printf(to, "; rank %u is idle", r->npu);
            return;
        }
        strbuf_printf(to, "; rank %u waits at node %llu in ", r->npu,
                      (unsigned long long)sim_program_id(r->program, node));
        told[n] = rank;
        rank = describe_node(to, s, rank, node);
    }
}

/* Nothing runs and nothing is ready. The graph has a cycle, or nodes took no time where
 * ASTRA-sim does not look for ready nodes again. */
static halley_status explain_idle(sim *s, uint32_t rank, uint32_t n_stuck)
{
    const sim_rank *r = &s->ranks[rank];
    uint32_t node = 0;
    while (node < r->program->n && r->waiting[node] == SIM_NODE_DONE)
        node++;
    if (r->n_ready > 0) /* ASTRA-sim's rules only */
        error_set(
            s->err, HALLEY_EDEADLOCK,
            "rank %u stops with %u nodes ready (%u ranks do not finish): they became "
            "ready when a node without duration ended, and ASTRA-sim looks again "
            "only when another node ends",
            r->npu, r->n_ready, n_stuck);
    else
        error_set(s->err, HALLEY_EDEADLOCK,
                  "rank %u: %u of its %u nodes depend on each other in a cycle, or on "
                  "such a cycle, and never run",
                  r->npu, r->program->n - r->n_done, r->program->n);
    error_at_file(s->err, r->path);
    if (node < r->program->n)
        error_at_node(s->err, sim_program_id(r->program, node));
    return HALLEY_EDEADLOCK;
}

halley_status sim_explain_wait(sim *s)
{
    uint32_t rank = SIM_NONE, n_stuck = 0;
    for (uint32_t i = 0; i < s->n_ranks; i++) {
        const sim_rank *r = &s->ranks[i];
        if (r->n_done == r->program->n)
            continue;
        n_stuck += r->n_alike;
        if (rank == SIM_NONE)
            rank = i;
    }
    if (rank == SIM_NONE)
        return HALLEY_OK;
    const uint32_t node = find_running_node(&s->ranks[rank]);
    if (node == SIM_NONE)
        return explain_idle(s, rank, n_stuck);
    strbuf text = {0};
    char link[200];
    describe_chain(&text, s, rank, node);
    if (net_find_stalled(link, sizeof link, s->net))
        strbuf_printf(&text, "; link %s has failed, and there is no other way", link);
    error_set(
        s->err, HALLEY_EDEADLOCK,
        "the simulation cannot finish: rank %u waits forever in %.*s (%u of %u ranks "
        "do not finish)",
        get_npu(s, rank), STR_ARG(strbuf_str(&text)), n_stuck, s->n_npus);
    strbuf_fini(&text);
    error_at_file(s->err, s->ranks[rank].path);
    error_at_node(s->err, sim_program_id(s->ranks[rank].program, node));
    return HALLEY_EDEADLOCK;
}
