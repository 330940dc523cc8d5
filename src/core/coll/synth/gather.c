/*
 * coll/synth/gather.c - the best of several all-gathers, their times for other sizes, and
 * the least time that is possible.
 *
 * A greedy search can be worse where links are free before a chunk has arrived, because
 * arrivals fall out of step. So schedules are searched with links that are free after the
 * last byte and with links that are busy until the arrival. All are timed the first way.
 * With the order on every link kept, each move starts as early as its chunk and its links
 * allow, which delays none.
 */
#include "base/call.h"
#include "coll/synth/synth.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void synth_gather_fini(synth_gather *s)
{
    array_fini(&s->moves);
    *s = (synth_gather){0};
}

halley_status synth_gather_time(uint64_t *time_ps, const synth_gather *s,
                                const synth_graph *g, double bytes, synth_move *moves,
                                halley_error *err)
{
    const uint32_t n_chunks = g->n * s->pieces;
    const double chunk_bytes = bytes / n_chunks;
    uint64_t *free_at = mem_array_zero(g->n_links, sizeof *free_at);
    uint64_t *here = mem_array_zero((size_t)g->n * n_chunks, sizeof *here);
    const bool room = free_at != NULL && here != NULL;
    *time_ps = 0;
    for (size_t i = 0; room && i < s->moves.n; i++) {
        const synth_move *m = &s->moves.at[i];
        const synth_edge *e = &g->edges.at[m->edge];
        uint64_t start = here[(size_t)e->from * n_chunks + m->chunk];
        for (uint32_t k = 0; k < e->n; k++)
            if (free_at[g->path.at[e->first + k]] > start)
                start = free_at[g->path.at[e->first + k]];
        for (uint32_t k = 0; k < e->n; k++)
            free_at[g->path.at[e->first + k]] = start + synth_drain_ps(e, chunk_bytes);
        const uint64_t end = start + synth_travel_ps(e, chunk_bytes);
        here[(size_t)e->to * n_chunks + m->chunk] = end;
        *time_ps = end > *time_ps ? end : *time_ps;
        if (moves != NULL)
            moves[i] = (synth_move){start, end, m->edge, m->chunk};
    }
    free(free_at);
    free(here);
    return room ? HALLEY_OK : error_nomem(err);
}

static int compare_moves(const void *a, const void *b)
{
    const synth_move *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    if (x->edge != y->edge)
        return x->edge < y->edge ? -1 : 1;
    return (x->chunk > y->chunk) - (x->chunk < y->chunk);
}

/* Keep the better of two schedules; `other` is empty afterwards. */
static void keep_better(synth_gather *best, synth_gather *other)
{
    assert(best != other);
    if (best->moves.n == 0 || other->time_ps < best->time_ps) {
        synth_gather_fini(best);
        *best = *other;
        *other = (synth_gather){0};
    }
    synth_gather_fini(other);
}

static halley_status try_once(synth_gather *best, const synth_graph *g, double bytes,
                              const synth_try *t, halley_error *err)
{
    synth_gather s;
    TRY(synth_search(&s, g, bytes / ((double)g->n * t->pieces), t, err));
    halley_status status = synth_gather_time(&s.time_ps, &s, g, bytes, s.moves.at, err);
    qsort(s.moves.at, s.moves.n, sizeof *s.moves.at, compare_moves);
    if (status == HALLEY_OK)
        status = synth_gather_verify(&s, g, err);
    if (status == HALLEY_OK)
        keep_better(best, &s);
    synth_gather_fini(&s);
    return status;
}

static double find_slowest_wire(const synth_graph *g, double bytes)
{
    assert(bytes >= 0);
    double most = 0;
    for (size_t i = 0; i < g->edges.n; i++)
        most = fmax(most, bytes / g->edges.at[i].Bps);
    return most;
}

enum { MOST_DETOUR_MEMBERS = 256 };

static halley_status try_pieces(synth_gather *best, const synth_graph *g, double bytes,
                                uint32_t pieces, const synth_options *o,
                                halley_error *err)
{
    const double chunk = bytes / ((double)g->n * pieces);
    const double slacks[] = {-1, 0, find_slowest_wire(g, chunk)};
    const uint32_t n_slacks = g->n <= MOST_DETOUR_MEMBERS ? 3 : 1;
    const uint32_t n_seeds = o->effort > 1 ? o->effort : 1;
    for (uint32_t k = 0; k < n_slacks; k++)
        for (uint32_t seed = 0; seed < n_seeds; seed++)
            for (int stores = 0; stores < 2; stores++)
                TRY(try_once(best, g, bytes,
                             &(synth_try){.pieces = pieces,
                                          .seed = o->seed + seed,
                                          .stores = stores,
                                          .slack_s = slacks[k]},
                             err));
    return call_check(err);
}

halley_status synth_gather_find(synth_gather *out, const synth_graph *g, double bytes,
                                const synth_options *o, halley_error *err)
{
    const uint32_t most = g->n <= 64 || (o->effort > 2 && g->n <= 512) ? 8
                          : g->n <= 256                                ? 4
                                                                       : 1;
    *out = (synth_gather){0};
    if ((uint64_t)g->n * (g->n - 1) > SYNTH_MAX_MOVES)
        return error_set(err, HALLEY_ELIMIT, "a schedule of %u NPUs has too many moves",
                         g->n);
    for (uint32_t pieces = 1; pieces <= most; pieces *= 2) {
        if (o->pieces > 0 && pieces != o->pieces)
            continue;
        if (pieces > 1 && bytes / g->n / pieces < 1)
            break;
        const halley_status status = try_pieces(out, g, bytes, pieces, o, err);
        if (status != HALLEY_OK) {
            synth_gather_fini(out);
            return status;
        }
    }
    return HALLEY_OK;
}

/* ---- the bound ---- */

/* What must enter each domain of a level, over the rate of the ports into it. `domain`,
 * by member; NULL: each member alone. */
static bool bound_level(double *most, const synth_graph *g, const uint32_t *domain,
                        double bytes)
{
    assert(most != NULL && bytes >= 0);
    double *rate = mem_array_zero(g->n, sizeof *rate);
    uint32_t *size = mem_array_zero(g->n, sizeof *size);
    bool *seen = mem_array_zero(g->n_links, sizeof *seen);
    const bool room = rate != NULL && size != NULL && seen != NULL;
    for (uint32_t v = 0; room && v < g->n; v++)
        size[domain != NULL ? domain[v] : v]++;
    for (size_t i = 0; room && i < g->edges.n; i++) {
        const synth_edge *e = &g->edges.at[i];
        const uint32_t to = domain != NULL ? domain[e->to] : e->to;
        if ((domain != NULL && domain[e->from] == to) || seen[e->port])
            continue;
        seen[e->port] = true;
        rate[to] += e->Bps;
    }
    for (uint32_t v = 0; room && v < g->n; v++)
        if (size[v] > 0 && rate[v] > 0)
            *most = fmax(*most, bytes * (g->n - size[v]) / g->n / rate[v]);
    free(rate);
    free(size);
    free(seen);
    return room;
}

/* The longest of the shortest paths. */
static bool bound_latency(double *most, const synth_graph *g)
{
    double *at = mem_array(g->n, sizeof *at);
    for (uint32_t from = 0; at != NULL && from < g->n; from++) {
        for (uint32_t v = 0; v < g->n; v++)
            at[v] = v == from ? 0 : HUGE_VAL;
        for (bool changed = true; changed;) {
            changed = false;
            for (size_t i = 0; i < g->edges.n; i++) {
                const synth_edge *e = &g->edges.at[i];
                if (at[e->from] + e->latency_s < at[e->to]) {
                    at[e->to] = at[e->from] + e->latency_s;
                    changed = true;
                }
            }
        }
        for (uint32_t v = 0; v < g->n; v++)
            *most = fmax(*most, at[v]);
    }
    free(at);
    return at != NULL;
}

const char synth_bound_npu[] = "bytes into an NPU";
const char synth_bound_domain[] = "bytes into a group of NPUs that faster links connect";

double synth_gather_bound(const char **reason, const synth_graph *g, double bytes)
{
    double entering = 0, domain = 0, path = 0;
    (void)bound_level(&entering, g, NULL, bytes);
    for (uint32_t k = 1; k < g->n_levels; k++)
        (void)bound_level(&domain, g, g->domain[k], bytes);
    if (g->n <= MOST_DETOUR_MEMBERS)
        (void)bound_latency(&path, g);
    const double most = fmax(entering, fmax(domain, path));
    *reason = most == entering ? synth_bound_npu
              : most == domain ? synth_bound_domain
                               : "latency of the longest path";
    return most;
}
