/*
 * Dependencies between threads.
 *
 * If a thread has a gap and then continues, another thread most likely gave it work. So
 * the first piece after the gap depends on the piece of another thread that ended last
 * before it. That piece must have ended within the gap and less than 1 ms before. The gap
 * then takes no time of its own. Backward operators depend on the forward operator with
 * the same sequence number.
 */
#include "recording/record/rebuild.h"

#include <stdlib.h>

enum { HAND_OVER_NS = 1000000 };

static bool is_running(const rec_graph *g, uint32_t node)
{
    const rec_node_kind kind = rec_node_get_kind(g, node);
    return kind == REC_NODE_RUN || kind == REC_NODE_REST;
}

/* The last running piece of the thread that ends by at_ns; REC_NONE = none. */
static uint32_t find_last_ended(const rec_graph *g, uint32_t thread, int64_t at_ns)
{
    const uint32_t first = g->piece_at[thread];
    uint32_t low = first, high = g->piece_at[thread + 1];
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (rec_node_end(g, mid) <= at_ns)
            low = mid + 1;
        else
            high = mid;
    }
    while (low > first && !is_running(g, low - 1))
        low--;
    return low > first ? low - 1 : REC_NONE;
}

/* When a piece could start. A piece that waits for a device began with its call. */
static int64_t find_turn(const rec_graph *g, const rec_node *n)
{
    if (n->before != REC_NONE)
        return rec_node_end(g, n->before);
    return n->waits ? g->rec->hosts.at[n->owner].begin_ns : n->begin_ns;
}

/* The piece that gave work to this one; REC_NONE = none within 1 ms and within the
 * gap. */
static uint32_t find_giver(const rec_graph *g, uint32_t i)
{
    const rec_node n = rec_node_get(g, i);
    const uint32_t thread = rec_host_thread(g->rec, n.owner);
    const int64_t gap_ns = n.before == REC_NONE ? INT64_MIN : rec_node_begin(g, n.before);
    const int64_t turn_ns = find_turn(g, &n);
    uint32_t giver = REC_NONE;
    int64_t last_ns = INT64_MIN;
    for (uint32_t t = 0; t < g->rec->threads.n; t++) {
        const uint32_t node = t == thread ? REC_NONE : find_last_ended(g, t, turn_ns);
        if (node == REC_NONE || rec_node_end(g, node) < last_ns)
            continue;
        giver = node; /* of several with the same end, the highest number */
        last_ns = rec_node_end(g, node);
    }
    const bool is_near =
        giver != REC_NONE && turn_ns - last_ns < HAND_OVER_NS && last_ns > gap_ns;
    return is_near ? giver : REC_NONE;
}

/* The piece after a gap, or the first of its thread. */
static bool may_be_handed(const rec_graph *g, uint32_t i)
{
    return is_running(g, i) && ((g->marks.at[i] & REC_MARK_FIRST) ||
                                rec_node_get_kind(g, i - 1) == REC_NODE_GAP);
}

bool rec_add_hand_overs(rec_graph *g)
{
    bool ok = true;
    if (g->rec->threads.n < 2)
        return true;
    for (uint32_t i = 0; ok && i < g->n_pieces; i++) {
        const uint32_t giver = may_be_handed(g, i) ? find_giver(g, i) : REC_NONE;
        if (giver == REC_NONE)
            continue;
        if ((g->marks.at[i] & REC_MARK_FIRST) == 0) {
            const unsigned rest = g->marks.at[i - 1] & ~(unsigned)REC_MARK_KIND;
            g->marks.at[i - 1] = (uint8_t)(rest | REC_NODE_HANDED);
            g->owners.at[i - 1] = giver;
        }
        ok = rec_add_edge(g, giver, i, REC_EDGE_HAND_OVER);
    }
    return ok;
}

static const rec_detail *find_detail(const record *r, uint32_t host)
{
    return rec_host_detail(r, &r->hosts.at[host]);
}

static bool is_backward(const rec_detail *d)
{
    return d->forward_tid != REC_NO_ID && d->forward_tid > 0;
}

/* The last piece of a host event. */
static uint32_t find_final_piece(const rec_graph *g, uint32_t host)
{
    uint32_t node = g->node_of_host[host];
    while (rec_node_end(g, node) < g->rec->hosts.at[host].end_ns)
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
