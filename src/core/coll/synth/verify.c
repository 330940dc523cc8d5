/* coll/synth/verify.c - checks a schedule by other means than those that found it. */
#include "coll/synth/synth.h"

#include <stdlib.h>

static halley_status refuse_move(size_t move, const char *what, halley_error *err)
{
    return error_set(err, HALLEY_EINVAL,
                     "internal error: move %zu of a synthesised schedule %s", move, what);
}

static halley_status check_move(const synth_gather *s, const synth_graph *g, size_t i,
                                uint64_t *until, uint64_t *at, halley_error *err)
{
    const synth_move *m = &s->moves.at[i];
    const synth_edge *e = &g->edges.at[m->edge];
    const uint32_t n_chunks = g->n * s->pieces;
    uint64_t *to = &at[(size_t)e->to * n_chunks + m->chunk];
    if (i > 0 && s->moves.at[i - 1].start > m->start)
        return refuse_move(i, "starts before the previous one", err);
    if (at[(size_t)e->from * n_chunks + m->chunk] > m->start)
        return refuse_move(i, "sends a chunk that has not arrived", err);
    if (*to != UINT64_MAX)
        return refuse_move(i, "brings a chunk that was there", err);
    if (m->end < m->start + synth_travel_ps(e, s->chunk_bytes))
        return refuse_move(i, "is faster than its links", err);
    *to = m->end;
    for (uint32_t k = 0; k < e->n; k++) {
        uint64_t *link = &until[g->path.at[e->first + k]];
        if (*link > m->start)
            return refuse_move(i, "uses a busy link", err);
        *link = m->start + synth_drain_ps(e, s->chunk_bytes);
    }
    return HALLEY_OK;
}

halley_status synth_gather_verify(const synth_gather *s, const synth_graph *g,
                                  halley_error *err)
{
    const size_t n_chunks = (size_t)g->n * s->pieces, all = n_chunks * g->n;
    uint64_t *until = mem_array_zero(g->n_links, sizeof *until);
    uint64_t *at = mem_array(all, sizeof *at);
    halley_status status = until != NULL && at != NULL ? HALLEY_OK : error_nomem(err);
    for (size_t i = 0; status == HALLEY_OK && i < all; i++)
        at[i] = i % n_chunks / s->pieces == i / n_chunks ? 0 : UINT64_MAX;
    for (size_t i = 0; status == HALLEY_OK && i < s->moves.n; i++)
        status = check_move(s, g, i, until, at, err);
    for (size_t i = 0; status == HALLEY_OK && i < all; i++)
        if (at[i] == UINT64_MAX)
            status = refuse_move(s->moves.n, "is missing: a chunk never arrives", err);
    free(until);
    free(at);
    return status;
}
