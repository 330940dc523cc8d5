/*
 * Cut threads into pieces, and add the device nodes.
 *
 * Each thread is cut at every begin and end of its events. A piece belongs to the
 * innermost open event, or to none (a gap). An event's first piece is its node, even if
 * it has no length because a child begins at the same time.
 */
#include "recording/record/rebuild.h"

#include <stdlib.h>

bool rec_add_edge(rec_graph *g, uint32_t from, uint32_t to, rec_edge_kind kind)
{
    assert(from < g->n_nodes && to < g->n_nodes && from != to);
    if (rec_node_end(g, from) > rec_node_begin(g, to))
        return true;
    g->n_by_kind[kind]++;
    if (to < g->n_pieces)
        g->marks.at[to] |= REC_MARK_EDGES;
    return array_push(&g->edges, (rec_edge){.from = from, .to = to, .kind = kind});
}

uint32_t rec_chain_before(const rec_graph *g, uint32_t node)
{
    for (; node < g->n_pieces; node--) {
        if (g->marks.at[node] & REC_MARK_FIRST)
            return REC_NONE;
        if (rec_node_get_kind(g, node - 1) != REC_NODE_HANDED)
            return node - 1;
    }
    return REC_NONE;
}

/* The state of cutting one thread. */
typedef struct cutter {
    rec_graph *g;
    uint32_t thread;
    bool is_open; /* the last piece is still open: its end is unknown */
    int64_t now_ns;
    uint32_t *stack;
    size_t depth;
} cutter;

static bool add_thread_piece(cutter *c, rec_node_kind kind, uint32_t owner)
{
    rec_graph *const g = c->g;
    const bool is_first = g->owners.n == g->piece_at[c->thread];
    const unsigned mark = (unsigned)kind | (is_first ? REC_MARK_FIRST : 0);
    assert(!is_first || kind == REC_NODE_RUN);
    return array_push(&g->owners, owner) && array_push(&g->marks, (uint8_t)mark);
}

/* Extend the current piece, or begin a gap, up to `to_ns`. */
static bool advance_thread(cutter *c, int64_t to_ns)
{
    assert(to_ns >= c->now_ns);
    bool ok = true;
    if (!c->is_open && to_ns > c->now_ns)
        ok = c->depth > 0 ? add_thread_piece(c, REC_NODE_REST, c->stack[c->depth - 1])
                          : add_thread_piece(c, REC_NODE_GAP, c->thread);
    c->is_open = false;
    c->now_ns = to_ns;
    return ok;
}

/* End all events that have ended by `at_ns`. */
static bool end_events(cutter *c, int64_t at_ns)
{
    bool ok = true;
    for (; ok && c->depth > 0; c->depth--) {
        const int64_t end_ns = c->g->rec->hosts.at[c->stack[c->depth - 1]].end_ns;
        if (end_ns > at_ns)
            break;
        ok = advance_thread(c, end_ns);
    }
    return ok;
}

static bool begin_host_event(cutter *c, uint32_t i)
{
    const rec_host *const event = &c->g->rec->hosts.at[i];
    if (!end_events(c, event->begin_ns) || !advance_thread(c, event->begin_ns))
        return false;
    c->g->node_of_host[i] = (uint32_t)c->g->owners.n;
    c->is_open = true;
    c->stack[c->depth++] = i;
    return add_thread_piece(c, REC_NODE_RUN, i);
}

static bool cut_thread(rec_graph *g, uint32_t t, uint32_t *stack)
{
    const rec_thread *const thread = &g->rec->threads.at[t];
    g->piece_at[t] = (uint32_t)g->owners.n;
    if (thread->n == 0)
        return true;
    cutter c = {.g = g,
                .thread = t,
                .now_ns = g->rec->hosts.at[thread->first].begin_ns,
                .stack = stack};
    bool ok = true;
    for (uint32_t i = thread->first; ok && i < thread->first + thread->n; i++)
        ok = begin_host_event(&c, i);
    return ok && end_events(&c, INT64_MAX);
}

bool rec_cut_threads(rec_graph *g)
{
    const record *const r = g->rec;
    g->node_of_host = mem_array(r->hosts.n, sizeof *g->node_of_host);
    g->piece_at = mem_array(r->threads.n + 1, sizeof *g->piece_at);
    g->overlaps = mem_array_zero(r->works.n, sizeof *g->overlaps);
    uint32_t *const stack = mem_array(r->hosts.n + 1, sizeof *stack);
    bool ok = stack != NULL && g->node_of_host != NULL && g->piece_at != NULL &&
              g->overlaps != NULL && array_reserve(&g->owners, r->hosts.n * 2) &&
              array_reserve(&g->marks, r->hosts.n * 2);
    for (uint32_t t = 0; ok && t < r->threads.n; t++)
        ok = cut_thread(g, t, stack);
    free(stack);
    if (!ok || g->owners.n >= REC_NONE - r->works.n)
        return false;
    g->n_pieces = g->piece_at[r->threads.n] = (uint32_t)g->owners.n;
    g->n_nodes = g->n_pieces + (uint32_t)r->works.n;
    return true;
}

/* Add the launch edge from the last piece of the thread before the call begins. Kernels
 * may start while the call still runs. */
static bool add_launch(rec_graph *g, const rec_work *w, uint32_t node)
{
    if (w->launch == REC_NONE)
        return true;
    if (g->rec->hosts.at[w->launch].begin_ns > w->begin_ns) {
        g->n_late_launch++;
        return true;
    }
    const uint32_t before = rec_chain_before(g, g->node_of_host[w->launch]);
    return before == REC_NONE || rec_add_edge(g, before, node, REC_EDGE_LAUNCH);
}

/* Add an edge from the previous event of its stream, if that had ended. */
static bool add_stream_order(rec_graph *g, const rec_work *w, uint32_t node,
                             uint32_t *last)
{
    const uint32_t before = last[w->row];
    if (before != REC_NONE && rec_node_end(g, before) > w->begin_ns) {
        g->overlaps[node - g->n_pieces] = true;
    } else if (before != REC_NONE && !rec_add_edge(g, before, node, REC_EDGE_STREAM))
        return false;
    if (!w->is_sync && (before == REC_NONE || rec_node_end(g, before) <= w->end_ns))
        last[w->row] = node;
    return true;
}

bool rec_add_devices(rec_graph *g)
{
    const record *const r = g->rec;
    uint32_t *const last = mem_array(r->rows.n, sizeof *last);
    bool ok = last != NULL;
    for (size_t i = 0; ok && i < r->rows.n; i++)
        last[i] = REC_NONE;
    for (uint32_t i = 0; ok && i < r->works.n; i++) {
        const rec_work *const w = &r->works.at[i];
        const uint32_t node = rec_node_of_work(g, i);
        ok = add_launch(g, w, node) && add_stream_order(g, w, node, last);
    }
    free(last);
    return ok;
}
