/*
 * The walk of 1F1B in waves, without its lists: the same times, pass for pass, up to a
 * hundred times faster.
 *
 * In wave t, stage i runs its forward pass t - i, then a backward pass. The number of the
 * backward pass is t - (p - 1) with one chunk, and t + i - (v + 1) p + 2 if v chunks
 * interleave. This is the order of the lists (schedule.c). Every input of a pass was made
 * in the wave before, or, with one chunk, by the next stage in this wave.
 *
 * Every schedule is walked twice at the same time, with the messages between stages and
 * without. These two lanes differ only in the hops. The stages of a wave of interleaved
 * passes do not depend on each other, so that compilers can vectorize both.
 *
 * A wave applies only additions and maxima to the times of the previous one. These
 * commute with adding a constant. If a wave has increased all times by the same amount,
 * the next one does the same, as long as it has the same passes. It has the same passes
 * if the same stages run, and if the chunk that a stage begins has the times of the one
 * before it. Such waves are skipped (skip_equal). Most waves are, because in models only
 * the first and the last chunk differ from the others.
 *
 * Times may also grow by the same amount over a period, which is one wave or the p v
 * waves of a round. Then whole rounds are skipped (skip_rounds). The earlier wave is
 * chosen as in Brent's cycle detection, because some schedules repeat only after several
 * periods. A schedule that never repeats is walked to its end.
 */
#include "workload/schedule_wave.h"

#include "base/array.h"
#include "base/error.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times are equal if they differ by less than this fraction of the elapsed time. */
static const double same_share = 1e-12;

enum { LANES = 2 }; /* with hops and without */

/* When a stage is free, and when its last forward and backward passes ended. */
typedef struct wave_stage {
    double free_s[LANES], forward_s[LANES], backward_s[LANES];
} wave_stage;

/* Stages from 1 on. [0] has the forward pass of the last stage, [p + 1] the backward pass
 * of the first. */
typedef struct wave_times {
    wave_stage stage[HALLEY_MAX_STAGES + 2];
} wave_times;

/* The next pass of a stage in one direction. */
typedef struct wave_pass {
    double arrive_s[LANES]; /* delay of its input; -INFINITY = available */
    double pass_s[LANES];
    double wait_s[LANES]; /* blocked time of its sender */
} wave_pass;

typedef struct wave_passes {
    wave_pass forward, backward;
} wave_passes;

/* In waves t with t % (p v) = phase, a stage begins a chunk that differs from the last
 * one. */
typedef struct wave_change {
    uint32_t phase, stage, chunk;
    bool backward;
} wave_change;

/* A range of waves in which the same stages run the same passes, and the times that
 * grow. */
typedef struct wave_region {
    uint32_t end; /* the wave after the last */
    bool forward, backward;
} wave_region;

typedef struct wave_walk {
    const workload_schedule_times *t;
    uint32_t p, v;
    uint32_t n;    /* forward passes of a stage */
    uint32_t back; /* the backward pass of wave t on stage 0 is number t - back */
    wave_passes passes[HALLEY_MAX_STAGES];
    wave_times times[2]; /* of this wave and of the last one, in turn */
    wave_times *now, *last;
    wave_change *changes;         /* ordered by phase */
    uint32_t n_changes, next;     /* next: the upcoming change */
    uint32_t round_at, change_at; /* first wave of its round; its own wave */
} wave_walk;

static double get_hop(const wave_walk *w, uint32_t i)
{
    if (w->t->hops_s == NULL || w->p == 1)
        return 0;
    return w->t->hops_s[w->p == 2 ? 0 : i]; /* with two stages, both directions use the
                                               same hop */
}

/* The hop from stage i to the next one, or back to the previous one, around the ring. */
static double get_next_hop(const wave_walk *w, uint32_t i, bool backward)
{
    return get_hop(w, !backward ? i : i > 0 ? i - 1 : w->p - 1);
}

static double get_pass_time(const wave_walk *w, uint32_t i, uint32_t chunk, bool backward)
{
    const workload_pass_times *x = &w->t->passes[i * w->v + chunk];
    return backward ? x->input_s + x->weight_s : x->forward_s;
}

/* True if micro-batches enter, in this direction, at this chunk of the stage. */
static bool is_entry(const wave_walk *w, uint32_t i, uint32_t chunk, bool backward)
{
    return backward ? i == w->p - 1 && chunk == w->v - 1 : i == 0 && chunk == 0;
}

static bool is_exit(const wave_walk *w, uint32_t i, uint32_t chunk, bool backward)
{
    return is_entry(w, i, chunk, !backward);
}

/* Stage i begins a chunk. */
static void set_chunk(wave_walk *w, uint32_t i, uint32_t chunk, bool backward)
{
    assert(i < w->p && chunk < w->v);
    wave_pass *to = backward ? &w->passes[i].backward : &w->passes[i].forward;
    const double pass_s = get_pass_time(w, i, chunk, backward);
    const double arrive_s = get_next_hop(w, i, !backward);
    const double wait_s = w->t->blocked * get_next_hop(w, i, backward);
    const bool enters = is_entry(w, i, chunk, backward);
    const bool leaves = is_exit(w, i, chunk, backward);
    for (int lane = 0; lane < LANES; lane++) {
        to->pass_s[lane] = pass_s;
        to->arrive_s[lane] = enters ? -INFINITY : lane == 0 ? arrive_s : 0;
        to->wait_s[lane] = leaves || lane > 0 ? 0 : wait_s;
    }
}

/* Run one pass: compute its end from when its stage is free and when its input was made.
 * Both lanes are computed before one is written, so that they form one vector. */
static inline void run_pass(double end_s[LANES], double next_s[LANES], const wave_pass *x,
                            const double free_s[LANES], const double made_s[LANES])
{
    double end[LANES], next[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        const double input_s = made_s[lane] + x->arrive_s[lane];
        const double start_s = free_s[lane] > input_s ? free_s[lane] : input_s;
        end[lane] = start_s + x->pass_s[lane];
        next[lane] = end[lane] + x->wait_s[lane];
    }
    memcpy(end_s, end, sizeof end);
    memcpy(next_s, next, sizeof next);
}

/* Run both passes of all stages. Their inputs were made in the previous wave. */
static void run_both(const wave_passes *restrict x, wave_stage *restrict now,
                     const wave_stage *restrict last, uint32_t p)
{
    for (size_t i = 1; i <= p; i++, x++) {
        double between_s[LANES];
        run_pass(now[i].forward_s, between_s, &x->forward, last[i].free_s,
                 last[i - 1].forward_s);
        run_pass(now[i].backward_s, now[i].free_s, &x->backward, between_s,
                 last[i + 1].backward_s);
    }
}

/* Run one pass of all stages: those of the other direction have not begun, or are
 * over. */
static void run_forward(const wave_passes *restrict x, wave_stage *restrict now,
                        const wave_stage *restrict last, uint32_t p)
{
    for (size_t i = 1; i <= p; i++, x++)
        run_pass(now[i].forward_s, now[i].free_s, &x->forward, last[i].free_s,
                 last[i - 1].forward_s);
}

static void run_backward(const wave_passes *restrict x, wave_stage *restrict now,
                         const wave_stage *restrict last, uint32_t p)
{
    for (size_t i = 1; i <= p; i++, x++)
        run_pass(now[i].backward_s, now[i].free_s, &x->backward, last[i].free_s,
                 last[i + 1].backward_s);
}

/* The same for the stages that run in wave t, in place: each reads its neighbour's result
 * before the neighbour runs. */
static void run_some(wave_walk *w, uint32_t t)
{
    const uint32_t p = w->p, n = w->n, back = w->back;
    const uint32_t low = t + 1 > n ? t + 1 - n : 0, high = t < p ? t + 1 : p;
    const uint32_t first = t < back ? back - t : 0;
    const uint32_t end = t + p > back + n ? back + n - t : p;
    wave_stage *now = w->now->stage;
    for (uint32_t i = high; i > low; i--)
        run_pass(now[i].forward_s, now[i].free_s, &w->passes[i - 1].forward,
                 now[i].free_s, now[i - 1].forward_s);
    for (uint32_t i = first + 1; i <= end; i++)
        run_pass(now[i].backward_s, now[i].free_s, &w->passes[i - 1].backward,
                 now[i].free_s, now[i + 1].backward_s);
}

/* With one chunk: run forward passes, then a backward pass through all stages, each of
 * which waits for that of the next stage. */
static void run_one_chunk(wave_walk *w, uint32_t t)
{
    const uint32_t p = w->p, n = w->n;
    const uint32_t low = t + 1 > n ? t + 1 - n : 0, high = t < p ? t + 1 : p;
    wave_stage *now = w->now->stage;
    for (uint32_t i = high; i > low; i--)
        run_pass(now[i].forward_s, now[i].free_s, &w->passes[i - 1].forward,
                 now[i].free_s, now[i - 1].forward_s);
    for (uint32_t i = p; t >= w->back && i > 0; i--)
        run_pass(now[i].backward_s, now[i].free_s, &w->passes[i - 1].backward,
                 now[i].free_s, now[i + 1].backward_s);
}

static void copy_stages(wave_times *to, const wave_times *from, uint32_t p)
{
    memcpy(to->stage, from->stage, (p + 2) * sizeof *to->stage);
}

/* Run wave t. If it is part of a region, w->last has the times before it. */
static void run_wave(wave_walk *w, uint32_t t, const wave_region *r)
{
    const uint32_t p = w->p;
    wave_times *last = w->now, *now = w->last;
    memcpy(last->stage[0].forward_s, last->stage[p].forward_s, sizeof(double[LANES]));
    memcpy(last->stage[p + 1].backward_s, last->stage[1].backward_s,
           sizeof(double[LANES]));
    if (r->end == 0) {
        run_some(w, t);
        return;
    }
    if (r->forward && r->backward)
        run_both(w->passes, now->stage, last->stage, p);
    else if (r->forward)
        run_forward(w->passes, now->stage, last->stage, p);
    else
        run_backward(w->passes, now->stage, last->stage, p);
    w->now = now;
    w->last = last;
}

/* True if the times of each lane have grown by growth_s since then. */
static bool is_growth(const double growth_s[LANES], const double slack_s[LANES],
                      const double now_s[LANES], const double then_s[LANES])
{
    bool is = true;
    for (int lane = 0; lane < LANES; lane++)
        is &= fabs(now_s[lane] - then_s[lane] - growth_s[lane]) <= slack_s[lane];
    return is;
}

/* True if all times of a region have grown by the same amount since then. */
static bool find_growth(double out_s[LANES], const wave_walk *w, const wave_times *then,
                        const wave_region *r)
{
    const wave_stage *a = &w->now->stage[1], *b = &then->stage[1];
    double slack_s[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        out_s[lane] = a->free_s[lane] - b->free_s[lane];
        slack_s[lane] = same_share * a->free_s[lane];
    }
    const uint32_t end = w->p - 1; /* if any differ, then mostly the last stage */
    if (!is_growth(out_s, slack_s, a[end].free_s, b[end].free_s))
        return false;
    for (uint32_t i = 0; i < w->p; i++, a++, b++)
        if (!is_growth(out_s, slack_s, a->free_s, b->free_s) ||
            (r->forward && !is_growth(out_s, slack_s, a->forward_s, b->forward_s)) ||
            (r->backward && !is_growth(out_s, slack_s, a->backward_s, b->backward_s)))
            return false;
    return true;
}

/* Increase all times of a region by `n` times the growth. */
static void add_growth(wave_walk *w, const double growth_s[LANES], uint32_t n,
                       const wave_region *r)
{
    for (uint32_t i = 1; i <= w->p; i++)
        for (int lane = 0; lane < LANES; lane++) {
            wave_stage *now = &w->now->stage[i];
            const double more_s = growth_s[lane] * n;
            now->free_s[lane] += more_s;
            now->forward_s[lane] += r->forward ? more_s : 0;
            now->backward_s[lane] += r->backward ? more_s : 0;
        }
}

/* The range of waves around wave t in which the same stages run; `end` is 0 if none
 * do. */
static wave_region find_region(const wave_walk *w, uint32_t t)
{
    const uint32_t p = w->p, n = w->n, back = w->back;
    if (t + 1 >= p && t + p <= back)
        return (wave_region){.end = back - p + 1, .forward = true};
    if (t >= back && t < n)
        return (wave_region){.end = n, .forward = true, .backward = true};
    if (t + 1 >= n + p && t + p <= back + n)
        return (wave_region){.end = back + n - p + 1, .backward = true};
    return (wave_region){0};
}

static void find_change(wave_walk *w)
{
    w->change_at =
        w->n_changes > 0 ? w->round_at + w->changes[w->next].phase : UINT32_MAX;
}

/* Begin the chunks of wave t. */
static void apply_changes(wave_walk *w, uint32_t t)
{
    while (w->change_at == t) {
        const wave_change *c = &w->changes[w->next++];
        set_chunk(w, c->stage, c->chunk, c->backward);
        if (w->next == w->n_changes) {
            w->next = 0;
            w->round_at += w->p * w->v;
        }
        find_change(w);
    }
}

/* Skip waves after wave t, up to but not including `stop`. Returns the number of the wave
 * whose times `w` has afterwards. */
static uint32_t skip_equal(wave_walk *w, const wave_region *r, uint32_t t, uint32_t stop)
{
    double growth_s[LANES];
    uint32_t end = r->end < w->change_at ? r->end : w->change_at;
    end = end < stop ? end : stop;
    if (end <= t + 1 || !find_growth(growth_s, w, w->last, r))
        return t;
    add_growth(w, growth_s, end - 1 - t, r);
    return end - 1;
}

/* The search for a wave whose times repeat a number of periods later. */
typedef struct wave_search {
    wave_times then;
    uint32_t at;    /* the wave of `then` */
    uint32_t tried; /* periods since then */
    uint32_t most;  /* periods until another wave is chosen */
    bool over;
} wave_search;

/* Like skip_equal, at the end of a period. */
static uint32_t skip_rounds(wave_walk *w, wave_search *s, uint32_t t)
{
    double growth_s[LANES];
    const wave_region all = {.forward = true, .backward = w->v > 1};
    if (s->most > 0 && find_growth(growth_s, w, &s->then, &all)) {
        const uint32_t span = t - s->at, n = (w->n - 1 - t) / span;
        add_growth(w, growth_s, n, &all);
        w->round_at += n * span;
        find_change(w);
        s->over = true;
        return t + n * span;
    }
    if (s->most == 0 || ++s->tried >= s->most) {
        copy_stages(&s->then, w->now, w->p);
        s->at = t;
        s->tried = 0;
        s->most = s->most == 0 ? 1 : 2 * s->most;
    }
    return t;
}

static void run_one_chunk_waves(wave_walk *w)
{
    wave_search search;
    search.most = 0;
    search.over = false;
    for (uint32_t t = 0; t < w->back + w->n; t++) {
        run_one_chunk(w, t);
        if (!search.over && t >= w->back && t + 1 < w->n)
            t = skip_rounds(w, &search, t);
    }
}

static void run_interleaved_waves(wave_walk *w)
{
    uint32_t round = w->back; /* the wave that ends the next period */
    wave_search search;
    search.most = 0;
    search.over = false;
    for (uint32_t t = 0; t < w->back + w->n; t++) {
        const wave_region r = find_region(w, t);
        apply_changes(w, t);
        run_wave(w, t, &r);
        if (t != round) {
            t = skip_equal(w, &r, t, t < round ? round : UINT32_MAX);
        } else if (t + 1 < w->n) {
            t = skip_rounds(w, &search, t);
            round = search.over ? 0 : t + w->p * w->v;
        }
    }
}

/* True if a chunk of a stage differs from the chunk that the stage runs before it. */
static bool is_change(const wave_walk *w, const wave_change *c)
{
    const uint32_t i = c->stage, a = c->chunk, last = w->v - 1;
    const uint32_t b = c->backward ? (a < last ? a + 1 : 0) : (a > 0 ? a - 1 : last);
    if (get_pass_time(w, i, a, c->backward) != get_pass_time(w, i, b, c->backward))
        return true;
    if (i > 0 && i + 1 < w->p)
        return false;
    return is_entry(w, i, a, c->backward) || is_entry(w, i, b, c->backward) ||
           is_exit(w, i, a, c->backward) || is_exit(w, i, b, c->backward);
}

static void add_change(wave_walk *w, wave_change c)
{
    if (is_change(w, &c))
        w->changes[w->n_changes++] = c;
}

/* True if all chunks of a stage are equal. Those of the first and last stage are not,
 * because micro-batches enter and leave there. */
static bool is_even_stage(const wave_walk *w, uint32_t i)
{
    const workload_pass_times *x = &w->t->passes[(size_t)i * w->v];
    return i > 0 && i + 1 < w->p && memcmp(x, x + 1, (w->v - 1) * sizeof *x) == 0;
}

/* With several chunks, one stage begins a chunk forward in every wave. In the next wave,
 * the following stage does. Backward, the preceding stage does. */
static void list_changes(wave_walk *w)
{
    const uint32_t p = w->p, v = w->v;
    const uint32_t ahead = 2 * p * v - w->back; /* whole rounds before wave 0 */
    uint32_t stage = (p - ahead % p) % p;
    uint32_t back_chunk = v - 1 - (stage + ahead) / p % v;
    bool even[HALLEY_MAX_STAGES];
    for (uint32_t i = 0; i < p; i++)
        even[i] = is_even_stage(w, i);
    for (uint32_t chunk = 0, phase = 0; chunk < v; chunk++)
        for (uint32_t i = 0; i < p; i++, phase++) {
            if (!even[i])
                add_change(w, (wave_change){phase, i, chunk, false});
            if (!even[stage])
                add_change(w, (wave_change){phase, stage, back_chunk, true});
            if (stage-- > 0)
                continue;
            stage = p - 1;
            back_chunk = back_chunk > 0 ? back_chunk - 1 : v - 1;
        }
    find_change(w);
}

/* The chunks of the stages at wave 0 if the rounds had begun long before. */
static void set_chunks(wave_walk *w)
{
    const uint32_t p = w->p, v = w->v, long_before = 2 * p * v;
    for (uint32_t i = 0; i < p; i++) {
        set_chunk(w, i, (long_before - i) / p % v, false);
        set_chunk(w, i, v - 1 - (long_before - w->back + i) / p % v, true);
    }
}

bool workload_schedule_is_wave(const workload_schedule *s)
{
    return s->kind == HALLEY_SCHEDULE_1F1B && s->stages <= HALLEY_MAX_STAGES &&
           (s->chunks == 1 || s->micro_batches % s->stages == 0) &&
           (uint64_t)s->stages * s->chunks < UINT32_MAX / 16 &&
           (uint64_t)s->micro_batches * s->chunks < UINT32_MAX / 4;
}

static void begin_times(wave_walk *w)
{
    w->now = &w->times[0];
    w->last = &w->times[1];
    for (int i = 0; i < 2; i++)
        memset(w->times[i].stage, 0, (w->p + 2) * sizeof *w->now->stage);
}

halley_status workload_schedule_wave(double *with_s, double *without_s,
                                     const workload_schedule *s,
                                     const workload_schedule_times *t, halley_error *err)
{
    assert(workload_schedule_is_wave(s));
    const uint32_t p = s->stages > 0 ? s->stages : 1, v = s->chunks > 0 ? s->chunks : 1;
    wave_walk w; /* large: only the part for the existing stages is set */
    w.t = t;
    w.p = p;
    w.v = v;
    w.n = s->micro_batches * v;
    w.back = v > 1 ? (v + 1) * p - 2 : p - 1;
    w.n_changes = w.next = w.round_at = 0;
    w.changes = v > 1 ? mem_array((size_t)2 * p * v, sizeof *w.changes) : NULL;
    if (v > 1 && w.changes == NULL)
        return error_nomem(err);
    begin_times(&w);
    set_chunks(&w);
    if (v > 1) {
        list_changes(&w);
        run_interleaved_waves(&w);
    } else {
        run_one_chunk_waves(&w);
    }
    free(w.changes);
    *with_s = *without_s = 0;
    for (uint32_t i = 0; i < p; i++) {
        *with_s = fmax(*with_s, w.now->stage[i + 1].free_s[0]);
        *without_s = fmax(*without_s, w.now->stage[i + 1].free_s[1]);
    }
    assert(*without_s >= 0);
    return HALLEY_OK;
}
