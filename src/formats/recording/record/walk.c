/*
 * Iterate over nodes in order of time. The pieces of each thread and the works are
 * already sorted, so a heap with one entry for each gives the next node.
 */
#include "recording/record/rebuild.h"

#include <stdlib.h>

typedef struct rec_walk_row walk_row;

static bool comes_before(const walk_row *a, const walk_row *b)
{
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns < b->begin_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns;
    return a->node < b->node;
}

static void sink_row(rec_walk *w, size_t i)
{
    const walk_row row = w->rows[i];
    for (;;) {
        size_t child = 2 * i + 1;
        if (child + 1 < w->n_rows && comes_before(&w->rows[child + 1], &w->rows[child]))
            child++;
        if (child >= w->n_rows || !comes_before(&w->rows[child], &row))
            break;
        w->rows[i] = w->rows[child];
        i = child;
    }
    w->rows[i] = row;
}

static void set_row_times(walk_row *row, const rec_graph *g)
{
    row->begin_ns = rec_node_begin(g, row->node);
    row->end_ns = rec_node_end(g, row->node);
}

static void add_walk_row(rec_walk *w, uint32_t first, uint32_t end)
{
    if (first == end)
        return;
    walk_row *const row = &w->rows[w->n_rows++];
    *row = (walk_row){.node = first, .end = end};
    set_row_times(row, w->g);
}

bool rec_walk_init(rec_walk *w, const rec_graph *g)
{
    const size_t n_threads = g->rec->threads.n;
    *w = (rec_walk){.g = g, .rows = mem_array(n_threads + 1, sizeof *w->rows)};
    if (w->rows == NULL)
        return false;
    for (size_t t = 0; t < n_threads; t++)
        add_walk_row(w, g->piece_at[t], g->piece_at[t + 1]);
    add_walk_row(w, g->n_pieces, g->n_nodes);
    for (size_t i = w->n_rows / 2; i-- > 0;)
        sink_row(w, i);
    return true;
}

uint32_t rec_walk_next(rec_walk *w)
{
    if (w->n_rows == 0)
        return REC_NONE;
    walk_row *const top = &w->rows[0];
    const uint32_t node = top->node++;
    if (top->node == top->end) {
        *top = w->rows[--w->n_rows];
    } else {
        set_row_times(top, w->g);
        assert(top->begin_ns >= rec_node_begin(w->g, node));
    }
    if (w->n_rows > 0)
        sink_row(w, 0);
    return node;
}

void rec_walk_fini(rec_walk *w)
{
    free(w->rows);
    w->rows = NULL;
}
