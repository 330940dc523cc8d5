/*
 * Threads that wait for each other. A thread that shows nothing and then goes on was
 * most likely given its work by another thread: the first piece after the gap depends on
 * the piece of another thread that ended last before it, within the gap and at most 1 ms
 * before. The gap then takes no time of its own. Backward operators depend on the
 * forward operator with the same sequence number.
 */
#include "ingest/record/rebuild.h"

#include <stdlib.h>

enum { HAND_OVER_NS = 1000000 };

static bool is_running(const rec_node *n)
{
    return n->kind == REC_NODE_RUN || n->kind == REC_NODE_REST;
}

static uint32_t find_thread_of(const rec_graph *g, const rec_node *n)
{
    assert(is_running(n));
    return g->rec->hosts.at[n->owner].thread;
}

static int compare_node_ends(const void *a, const void *b, void *context)
{
    const rec_node *const nodes = context;
    const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
    if (nodes[i].end_ns != nodes[j].end_ns)
        return nodes[i].end_ns < nodes[j].end_ns ? -1 : 1;
    return i < j ? -1 : i > j;
}

/* Pieces that run, by their end. */
typedef struct boundary_list {
    uint32_t *nodes;
    size_t n;
} boundary_list;

static bool list_boundaries(boundary_list *list, const rec_graph *g)
{
    list->nodes = mem_array(g->nodes.n, sizeof *list->nodes);
    if (list->nodes == NULL)
        return false;
    for (uint32_t i = 0; i < g->nodes.n; i++)
        if (is_running(&g->nodes.at[i]))
            list->nodes[list->n++] = i;
    qsort_r(list->nodes, list->n, sizeof *list->nodes, compare_node_ends, g->nodes.at);
    return true;
}

static size_t count_ended(const boundary_list *list, const rec_graph *g, int64_t at_ns)
{
    size_t low = 0, high = list->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (g->nodes.at[list->nodes[mid]].end_ns <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

/* When a piece could start; one that waits for a device began with its call. */
static int64_t find_turn(const rec_graph *g, const rec_node *n)
{
    if (n->before != REC_NONE)
        return g->nodes.at[n->before].end_ns;
    return n->waits ? g->rec->hosts.at[n->owner].begin_ns : n->begin_ns;
}

/* Who handed over to this piece; REC_NONE = nobody within 1 ms and within the gap. */
static uint32_t find_giver(const boundary_list *list, const rec_graph *g, uint32_t i)
{
    const rec_node *const n = &g->nodes.at[i];
    const uint32_t thread = find_thread_of(g, n);
    const int64_t gap_ns =
        n->before == REC_NONE ? INT64_MIN : g->nodes.at[n->before].begin_ns;
    const int64_t turn_ns = find_turn(g, n);
    for (size_t j = count_ended(list, g, turn_ns); j-- > 0;) {
        const rec_node *const giver = &g->nodes.at[list->nodes[j]];
        if (turn_ns - giver->end_ns >= HAND_OVER_NS || giver->end_ns <= gap_ns)
            return REC_NONE;
        if (find_thread_of(g, giver) != thread)
            return list->nodes[j];
    }
    return REC_NONE;
}

bool rec_add_hand_overs(rec_graph *g)
{
    boundary_list list = {0};
    if (g->rec->threads.n < 2)
        return true;
    bool ok = list_boundaries(&list, g);
    for (uint32_t i = 0; ok && i < g->nodes.n; i++) {
        const rec_node *const n = &g->nodes.at[i];
        if (!is_running(n) ||
            (n->before != REC_NONE && g->nodes.at[n->before].kind != REC_NODE_GAP))
            continue;
        const uint32_t giver = find_giver(&list, g, i);
        if (giver == REC_NONE)
            continue;
        if (n->before != REC_NONE) {
            g->nodes.at[n->before].kind = REC_NODE_HANDED;
            g->nodes.at[n->before].owner = giver;
        }
        ok = rec_add_edge(g, giver, i, REC_EDGE_HAND_OVER);
    }
    free(list.nodes);
    return ok;
}

static const rec_detail *find_detail(const record *r, uint32_t host)
{
    const uint32_t detail = r->hosts.at[host].detail;
    return detail == REC_NONE ? NULL : &r->details.at[detail];
}

static bool is_backward(const rec_detail *d)
{
    return d->forward_tid != REC_NO_ID && d->forward_tid > 0;
}

/* The piece with which a host event ends. */
static uint32_t find_final_piece(const rec_graph *g, uint32_t host)
{
    uint32_t node = g->node_of_host[host];
    while (g->nodes.at[node].end_ns < g->rec->hosts.at[host].end_ns)
        node++;
    return node;
}

static bool add_backward_edge(rec_graph *g, const map64 *forward, uint32_t i)
{
    const rec_detail *const d = find_detail(g->rec, i);
    if (d == NULL || d->sequence == REC_NO_ID || !is_backward(d))
        return true;
    const uint32_t from = map64_find(forward, d->sequence);
    if (from == HASH_NONE || g->rec->hosts.at[from].end_ns > g->rec->hosts.at[i].begin_ns)
        return true;
    const uint32_t first = find_final_piece(g, from), then = g->node_of_host[i];
    return first == then || rec_add_edge(g, first, then, REC_EDGE_BACKWARD);
}

bool rec_add_backward(rec_graph *g)
{
    const record *const r = g->rec;
    map64 forward = {0};
    bool ok = true;
    for (uint32_t i = 0; ok && i < r->hosts.n; i++) {
        const rec_detail *const d = find_detail(r, i);
        if (d != NULL && d->sequence != REC_NO_ID && !is_backward(d))
            ok = map64_set(&forward, d->sequence, i);
    }
    for (uint32_t i = 0; ok && i < r->hosts.n; i++)
        ok = add_backward_edge(g, &forward, i);
    map64_fini(&forward);
    return ok;
}
