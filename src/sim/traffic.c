/*
 * sim/traffic.c - sums over communication nodes by kind and group. A node's time is added
 * as minus its begin and plus its end, so nothing is kept per node.
 */
#include "base/hash.h"
#include "sim/engine.h"

static halley_traffic *row_of(sim *s, const sim_node *n)
{
    const uint32_t group = n->type == HALLEY_NODE_COLL ? n->a : 0;
    const uint64_t key = (uint64_t)group << 32 | (uint64_t)n->type << 8 | n->coll;
    uint32_t row = (uint32_t)s->traffic.n;
    bool fresh;
    if (!map64_put(&s->traffic_by_key, key, &row, &fresh)) {
        sim_fail_memory(s);
        return NULL;
    }
    if (!fresh)
        return &s->traffic.at[row];
    const cluster_group *g = group == 0 ? NULL : &s->cluster->groups[group - 1];
    const halley_traffic made = {.type = n->type,
                                 .coll = n->coll,
                                 .group = g == NULL ? 0 : g->id,
                                 .n_members = g == NULL ? s->n_npus : g->n};
    if (!array_push(&s->traffic, made)) {
        sim_fail_memory(s);
        return NULL;
    }
    return &s->traffic.at[row];
}

void sim_traffic_begin(sim *s, const sim_node *n)
{
    halley_traffic *row = row_of(s, n);
    if (row == NULL)
        return;
    row->count++;
    row->ticks -= (double)s->queue.now;
    if (!(n->flags & SIM_NODE_TIMED))
        row->bytes += (double)n->amount;
}

void sim_traffic_end(sim *s, const sim_node *n)
{
    halley_traffic *row = row_of(s, n);
    if (row != NULL)
        row->ticks += (double)s->queue.now;
}
