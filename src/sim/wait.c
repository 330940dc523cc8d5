/*
 * sim/wait.c - the queue is dry and ranks are not done: say who waits for whom. The first
 * rank that is not done gives the sentence; the others are counted.
 */
#include "sim/engine.h"

#include <stdio.h>

/* A running node of the rank, or SIM_NONE. */
static uint32_t running_node(const sim_rank *r)
{
    for (uint32_t i = 0; i < r->program->n; i++)
        if (r->waiting[i] == SIM_NODE_RUNNING)
            return i;
    return SIM_NONE;
}

static void describe_message(char *to, size_t size, const sim *s, uint32_t rank,
                             const sim_node *n)
{
    const bool sends = n->type == HALLEY_NODE_SEND;
    int used = snprintf(to, size, "%s rank %u, tag %u, %llu bytes",
                        sends ? "a send to" : "a receive from", n->a, n->b,
                        (unsigned long long)n->amount);
    if (sends || used < 0 || (size_t)used >= size)
        return;
    for (size_t i = 0; i < s->match.channels.n; i++) {
        const sim_channel *c = &s->match.channels.at[i];
        if (c->n_early > 0 && c->from == n->a && c->to == rank && c->tag == n->b &&
            c->bytes != n->amount) {
            snprintf(to + used, size - (size_t)used,
                     "; a message with that tag has come, but of %llu bytes",
                     (unsigned long long)c->bytes);
            return;
        }
    }
}

/* The chunk of the rank's collective that has not ended, and who has not come to it. */
static void describe_collective(char *to, size_t size, const sim *s, uint32_t rank,
                                const sim_node *n)
{
    const char *name = halley_coll_type_name(n->coll);
    for (size_t i = 0; i < s->streams.ops.n; i++) {
        const sim_op *o = &s->streams.ops.at[i];
        uint32_t mine = SIM_NONE, absent = SIM_NONE, n_absent = 0;
        for (uint32_t k = 0; o->plan != NULL && k < o->plan->n_members; k++) {
            const sim_member *m = sim_member_get(s, (uint32_t)i, k);
            if (m->joined && m->npu == rank)
                mine = k;
            if (!m->joined) {
                absent = absent == SIM_NONE ? k : absent;
                n_absent++;
            }
        }
        if (mine == SIM_NONE || n_absent == 0)
            continue;
        const uint32_t other = sim_member_rank(s, o, absent);
        const bool uneven =
            s->cluster->astra && o->group == 0 && s->cluster->n_groups > 0 &&
            s->streams.world_streams[rank] != s->streams.world_streams[other];
        snprintf(to, size,
                 "%s of %llu bytes%s, to which %u of %u members have not come, the first "
                 "of them rank %u%s",
                 name, (unsigned long long)n->amount,
                 o->group == 0 ? "" : " in its group", n_absent, o->plan->n_members,
                 other,
                 uneven ? "; the two have begun different numbers of collectives, and "
                          "ASTRA-sim counts those of groups and of the world together"
                        : "");
        return;
    }
    snprintf(to, size, "%s of %llu bytes, whose messages do not meet", name,
             (unsigned long long)n->amount);
}

static void describe(char *to, size_t size, const sim *s, uint32_t rank, uint32_t node)
{
    const sim_node *n = &s->ranks[rank].program->nodes[node];
    if (n->type == HALLEY_NODE_COLL)
        describe_collective(to, size, s, rank, n);
    else if (n->type == HALLEY_NODE_SEND || n->type == HALLEY_NODE_RECV)
        describe_message(to, size, s, rank, n);
    else
        snprintf(to, size, "a %s", halley_node_type_name(n->type));
}

/* Nothing runs and nothing is ready: a cycle, or nodes that took no time in a place where
 * the reference does not look again. */
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
            rank, r->n_ready, n_stuck);
    else
        error_set(s->err, HALLEY_EDEADLOCK,
                  "rank %u: %u of its %u nodes depend on each other in a circle, or on "
                  "such a circle, and never run",
                  rank, r->program->n - r->n_done, r->program->n);
    error_at_file(s->err, halley_trace_path(r->program->trace));
    if (node < r->program->n)
        error_at_node(s->err, sim_program_id(r->program, node));
    return HALLEY_EDEADLOCK;
}

halley_status sim_explain_wait(sim *s)
{
    uint32_t rank = SIM_NONE, n_stuck = 0;
    for (uint32_t i = 0; i < s->n_npus; i++) {
        const sim_rank *r = &s->ranks[i];
        if (r->n_done == r->program->n)
            continue;
        n_stuck++;
        if (rank == SIM_NONE)
            rank = i;
    }
    if (rank == SIM_NONE)
        return HALLEY_OK;
    const uint32_t node = running_node(&s->ranks[rank]);
    if (node == SIM_NONE)
        return explain_idle(s, rank, n_stuck);
    char text[512];
    describe(text, sizeof text, s, rank, node);
    error_set(
        s->err, HALLEY_EDEADLOCK,
        "the simulation cannot finish: rank %u waits for ever in %s (%u of %u ranks "
        "do not finish)",
        rank, text, n_stuck, s->n_npus);
    error_at_file(s->err, halley_trace_path(s->ranks[rank].program->trace));
    error_at_node(s->err, sim_program_id(s->ranks[rank].program, node));
    return HALLEY_EDEADLOCK;
}
