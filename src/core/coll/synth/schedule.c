/*
 * coll/synth/schedule.c - the public handle of a synthesised schedule: one or two passes,
 * first the sums, then the gather. The pass of sums is the gather of the reversed
 * network, backwards in time.
 */
#include "halley/schedule.h"

#include "coll/synth/synth.h"
#include "hw/direct.h"
#include "hw/graph/topology.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct schedule_pass {
    synth_graph graph;
    synth_gather gather;
} schedule_pass;

struct halley_collective_schedule {
    bool sums, gathers;
    schedule_pass passes[2]; /* sums, gather */
    uint32_t *npus;          /* NULL: place i is NPU i */
    uint32_t *by_end;        /* moves of the pass of sums, by end */
    halley_schedule_summary summary;
};

void halley_schedule_free(halley_collective_schedule *schedule)
{
    if (schedule == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        synth_graph_fini(&schedule->passes[i].graph);
        synth_gather_fini(&schedule->passes[i].gather);
    }
    free(schedule->npus);
    free(schedule->by_end);
    free(schedule);
}

static halley_status check_options(const hw_graph *g, halley_collective_kind kind,
                                   double bytes, const halley_schedule_options *o,
                                   halley_error *err)
{
    if (kind != HALLEY_COLLECTIVE_ALL_REDUCE && kind != HALLEY_COLLECTIVE_ALL_GATHER &&
        kind != HALLEY_COLLECTIVE_REDUCE_SCATTER)
        return error_set(err, HALLEY_EINVAL,
                         "schedules are synthesised for all-gather, reduce-scatter and "
                         "all-reduce");
    if (!(bytes > 0 && isfinite(bytes)))
        return error_set(err, HALLEY_EINVAL, "the size of a collective must be positive");
    for (uint32_t i = 0; o->npus != NULL && i < o->n_npus; i++) {
        if (o->npus[i] >= g->n_npus)
            return error_set(err, HALLEY_EINVAL, "there is no NPU %u: the network has %u",
                             o->npus[i], g->n_npus);
        for (uint32_t k = 0; k < i; k++)
            if (o->npus[k] == o->npus[i])
                return error_set(err, HALLEY_EINVAL, "NPU %u is a member twice",
                                 o->npus[i]);
    }
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_Bps[i] == HW_UNKNOWN || g->link_latency_s[i] == HW_UNKNOWN)
            return error_set(err, HALLEY_EINVAL,
                             "the network states no rate or latency for some links");
    return HALLEY_OK;
}

static halley_status make_pass(schedule_pass *p, const hw_graph *g, bool reversed,
                               double bytes, const halley_schedule_options *o,
                               halley_error *err)
{
    const uint32_t n = o->npus != NULL ? o->n_npus : g->n_npus;
    const synth_options options = {.effort = o->effort, .seed = o->seed};
    TRY(synth_graph_make(&p->graph, g, o->npus, n, reversed, err));
    return synth_gather_find(&p->gather, &p->graph, bytes, &options, err);
}

/* Bytes per second through the ports into one member, and into all of them. */
static void find_rates(double *least, double *all, const synth_graph *g)
{
    *least = HUGE_VAL;
    *all = 0;
    for (uint32_t v = 0; v < g->n; v++) {
        double rate = 0;
        for (uint32_t p = g->port_at[v]; p < g->port_at[v + 1]; p++)
            rate += g->edges.at[g->in[g->port_begin[p]]].Bps;
        *least = fmin(*least, rate);
        *all += rate;
    }
}

/* The halves of an all-reduce bind different NPUs, so the sum of their bounds is none. */
static void bound_all_reduce(halley_schedule_summary *s,
                             const halley_collective_schedule *schedule)
{
    double in, out, all, unused;
    find_rates(&out, &unused, &schedule->passes[0].graph);
    find_rates(&in, &all, &schedule->passes[1].graph);
    const double n = s->n_npus, one = s->bytes / fmin(in, out);
    const double total = 2 * (n - 1) * s->bytes / all;
    s->bound_s = fmax(one, total);
    s->bound = one > total ? "bytes into or out of an NPU" : "bytes into all NPUs";
}

/* Groups that are boxes of a grid have a closed form. */
static void find_form(halley_schedule_summary *s, const hw_graph *g,
                      const halley_schedule_options *o, double passes)
{
    hw_direct grid;
    hw_box box;
    s->form_s = -1;
    if (!hw_direct_of_graph(&grid, g) || !hw_box_find(&box, &grid, o->npus, s->n_npus))
        return;
    s->form = "along all axes at once";
    s->form_s =
        passes * (hw_box_latency(&box) + hw_box_rounding(&box) * (box.n - 1.0) / box.n *
                                             s->bytes / hw_box_rate(&box));
}

static void summarise(halley_collective_schedule *to, const hw_graph *g, double bytes,
                      const halley_schedule_options *o)
{
    halley_schedule_summary *s = &to->summary;
    const char *reason = NULL;
    *s = (halley_schedule_summary){.bytes = bytes};
    for (int i = 0; i < 2; i++) {
        const schedule_pass *p = &to->passes[i];
        if (i == 0 ? !to->sums : !to->gathers)
            continue;
        s->n_npus = p->graph.n;
        s->pieces = p->gather.pieces;
        s->n_moves += p->gather.moves.n;
        s->time_s += (double)p->gather.time_ps * 1e-12;
        s->bound_s = synth_gather_bound(&reason, &p->graph, bytes);
        s->bound = reason;
    }
    if (to->sums && to->gathers)
        bound_all_reduce(s, to);
    else if (to->sums) /* the bound is that of the reversed network */
        s->bound = strcmp(reason, synth_bound_npu) == 0 ? "bytes out of an NPU"
                   : strcmp(reason, synth_bound_domain) == 0
                       ? "bytes out of a group of NPUs that faster links connect"
                       : reason;
    find_form(s, g, o, to->sums && to->gathers ? 2 : 1);
}

/* A move by its end. */
typedef struct move_end {
    uint64_t end;
    uint32_t move;
} move_end;

static int compare_ends(const void *a, const void *b)
{
    const move_end *x = a, *y = b;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->move > y->move) - (x->move < y->move);
}

static halley_status sort_by_end(halley_collective_schedule *s, halley_error *err)
{
    const synth_gather *g = &s->passes[0].gather;
    move_end *ends = mem_array(g->moves.n, sizeof *ends);
    s->by_end = mem_array(g->moves.n, sizeof *s->by_end);
    if (ends == NULL || s->by_end == NULL) {
        free(ends);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < g->moves.n; i++)
        ends[i] = (move_end){g->moves.at[i].end, i};
    qsort(ends, g->moves.n, sizeof *ends, compare_ends);
    for (uint32_t i = 0; i < g->moves.n; i++)
        s->by_end[i] = ends[i].move;
    free(ends);
    return HALLEY_OK;
}

/* All-reduces sum and gather the same chunks, so both passes need equal pieces. */
static halley_status match_pieces(halley_collective_schedule *s, double bytes,
                                  const halley_schedule_options *o, halley_error *err)
{
    schedule_pass *const a = &s->passes[0], *const b = &s->passes[1];
    if (a->gather.pieces == b->gather.pieces)
        return HALLEY_OK;
    const bool redo_first = a->gather.pieces < b->gather.pieces;
    schedule_pass *const redo = redo_first ? a : b;
    const synth_options options = {.effort = o->effort,
                                   .seed = o->seed,
                                   .pieces =
                                       redo_first ? b->gather.pieces : a->gather.pieces};
    synth_gather_fini(&redo->gather);
    return synth_gather_find(&redo->gather, &redo->graph, bytes, &options, err);
}

halley_status halley_schedule_find(halley_collective_schedule **out,
                                   const halley_topology *topology,
                                   halley_collective_kind kind, double bytes,
                                   const halley_schedule_options *options,
                                   halley_error *err)
{
    const halley_schedule_options o =
        options != NULL ? *options : (halley_schedule_options){0};
    const hw_graph *g = topology->graph;
    TRY(check_options(g, kind, bytes, &o, err));
    halley_collective_schedule *s = mem_array_zero(1, sizeof *s);
    if (s == NULL)
        return error_nomem(err);
    s->sums = kind != HALLEY_COLLECTIVE_ALL_GATHER;
    s->gathers = kind != HALLEY_COLLECTIVE_REDUCE_SCATTER;
    halley_status status = HALLEY_OK;
    if (s->sums)
        status = make_pass(&s->passes[0], g, true, bytes, &o, err);
    if (status == HALLEY_OK && s->gathers)
        status = make_pass(&s->passes[1], g, false, bytes, &o, err);
    if (status == HALLEY_OK && s->sums && s->gathers)
        status = match_pieces(s, bytes, &o, err);
    if (status == HALLEY_OK && s->sums)
        status = sort_by_end(s, err);
    if (status == HALLEY_OK && o.npus != NULL) {
        s->npus = mem_array(o.n_npus, sizeof *s->npus);
        for (uint32_t i = 0; s->npus != NULL && i < o.n_npus; i++)
            s->npus[i] = o.npus[i];
        status = s->npus != NULL ? HALLEY_OK : error_nomem(err);
    }
    if (status != HALLEY_OK) {
        halley_schedule_free(s);
        return status;
    }
    summarise(s, g, bytes, &o);
    *out = s;
    return HALLEY_OK;
}

void halley_schedule_summarise(halley_schedule_summary *out,
                               const halley_collective_schedule *s)
{
    *out = s->summary;
}

static uint32_t get_npu(const halley_collective_schedule *s, uint32_t place)
{
    return s->npus != NULL ? s->npus[place] : place;
}

int halley_schedule_get_move(halley_schedule_move *out,
                             const halley_collective_schedule *s, uint64_t i)
{
    const uint64_t n_sums = s->passes[0].gather.moves.n;
    const uint64_t end_ps = s->passes[0].gather.time_ps;
    if (i >= s->summary.n_moves)
        return 0;
    if (i < n_sums) { /* the last move of the reversed gather comes first */
        const schedule_pass *p = &s->passes[0];
        const synth_move *m = &p->gather.moves.at[s->by_end[n_sums - 1 - i]];
        const synth_edge *e = &p->graph.edges.at[m->edge];
        *out = (halley_schedule_move){.start_s = (double)(end_ps - m->end) * 1e-12,
                                      .end_s = (double)(end_ps - m->start) * 1e-12,
                                      .from = get_npu(s, e->to),
                                      .to = get_npu(s, e->from),
                                      .chunk = m->chunk,
                                      .sums = 1};
        return 1;
    }
    const schedule_pass *p = &s->passes[1];
    const synth_move *m = &p->gather.moves.at[i - n_sums];
    const synth_edge *e = &p->graph.edges.at[m->edge];
    const double after_s = s->sums ? (double)end_ps * 1e-12 : 0;
    *out = (halley_schedule_move){.start_s = after_s + (double)m->start * 1e-12,
                                  .end_s = after_s + (double)m->end * 1e-12,
                                  .from = get_npu(s, e->from),
                                  .to = get_npu(s, e->to),
                                  .chunk = m->chunk};
    return 1;
}
