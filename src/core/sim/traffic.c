/*
 * sim/traffic.c - sums over communication nodes by kind and group. A node's time is added
 * as minus its begin and plus its end, so no state is kept per node.
 */
#include "base/hash.h"
#include "sim/fold.h"

static sim_traffic *get_traffic_row(sim *s, uint32_t rank, const sim_node *n)
{
    sim_rank *const r = &s->ranks[rank];
    const uint32_t group = n->type == HALLEY_NODE_COLL ? sim_node_group(r, n) : 0;
    const uint64_t key = (uint64_t)group << 32 | (uint64_t)n->type << 8 | n->coll;
    uint32_t row = (uint32_t)s->traffic.n;
    bool fresh;
    assert(key != 0 && group <= s->n_groups);
    /* Ranks mostly repeat the kind of node that they have just run. */
    if (r->traffic_key == key) {
        assert(r->traffic_row < s->traffic.n);
        return &s->traffic.at[r->traffic_row];
    }
    if (!map64_put(&s->traffic_by_key, key, &row, &fresh)) {
        sim_fail_memory(s);
        return NULL;
    }
    assert(fresh ? row == s->traffic.n : row < s->traffic.n);
    const sim_traffic made = {
        .type = n->type, .coll = n->coll, .group = group, .first_at = s->queue.now};
    if (fresh && !array_push(&s->traffic, made)) {
        sim_fail_memory(s);
        return NULL;
    }
    r->traffic_key = key;
    r->traffic_row = row;
    return &s->traffic.at[row];
}

/* The number of nodes of the row that a node represents. */
static uint32_t count_alike(const sim *s, const sim_traffic *row, uint32_t rank,
                            const sim_node *n)
{
    if (s->fold != NULL)
        return row->group == 0 ? s->fold->n_alike[rank] : s->groups[row->group - 1].n;
    if (row->group == 0)
        return s->ranks[rank].n_alike;
    const sim_group *g = &s->groups[row->group - 1];
    return g->n_alike == NULL ? 1 : g->n_alike[s->ranks[rank].binds[n->a].place];
}

void sim_traffic_begin(sim *s, uint32_t rank, const sim_node *n)
{
    sim_traffic *row = get_traffic_row(s, rank, n);
    if (row == NULL)
        return;
    const uint32_t alike = count_alike(s, row, rank, n);
    assert(alike > 0);
    row->count += alike;
    row->ticks -= (net_sum)s->queue.now * alike;
    if (!(n->flags & SIM_NODE_TIMED))
        row->bytes += (net_sum)n->amount * alike;
}

void sim_traffic_end(sim *s, uint32_t rank, const sim_node *n)
{
    sim_traffic *row = get_traffic_row(s, rank, n);
    if (row != NULL)
        row->ticks += (net_sum)s->queue.now * count_alike(s, row, rank, n);
}

static int compare_first(const void *a, const void *b)
{
    const sim_traffic *const x = a, *const y = b;
    if (x->first_at != y->first_at)
        return x->first_at < y->first_at ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->coll != y->coll)
        return x->coll < y->coll ? -1 : 1;
    return x->group < y->group ? -1 : x->group > y->group;
}

void sim_traffic_sort(sim *s)
{
    if (s->traffic.n > 1)
        qsort(s->traffic.at, s->traffic.n, sizeof *s->traffic.at, compare_first);
}
