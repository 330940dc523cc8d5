/*
 * The walk of 1F1B in waves, without its lists: the same times, pass for pass, some ten
 * times faster.
 *
 * In wave t stage i runs its forward pass t - i, then a backward pass: t - (p - 1) where
 * there is one chunk, t + i - (v + 1) p + 2 where v chunks interleave. That is the order
 * of the lists (schedule.c), and all that a pass waits for was made in the wave before,
 * or, with one chunk, by the next stage in this wave.
 *
 * While all stages run both passes a wave does the same to the times of the last one as
 * every wave a period before it (one wave, or p v of them): additions and maxima, which
 * commute with adding a constant. So when all times have grown by the same amount since
 * an earlier wave, they do so for ever, and whole spans of waves are skipped. The earlier
 * wave is chosen as in Brent's search for cycles: some schedules come back only after
 * several periods. A schedule that never comes back is walked to its end.
 */
#include "workload/schedule_wave.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Times are the same when they differ by less than this share of the time passed. */
static const double same_share = 1e-12;

/* By stage: when it is free, when its last forward and backward passes ended. */
typedef struct wave_times {
    double free_s[HALLEY_MAX_STAGES];
    double forward_s[HALLEY_MAX_STAGES];
    double backward_s[HALLEY_MAX_STAGES];
} wave_times;

typedef struct wave_walk {
    const workload_pass_times *passes;
    uint32_t p, v;
    uint32_t n;    /* forward passes of a stage */
    uint32_t back; /* the backward pass of wave t on stage 0 is number t - back */
    double hop_s[HALLEY_MAX_STAGES]; /* from i to i + 1, the last one to the first */
    double blocked;
    wave_times now;
} wave_walk;

/* One pass: when its input is there, how long it takes, how long its sender waits. */
static double run_wave_pass(double *free_s, double input_s, double pass_s, double wait_s)
{
    const double start = *free_s > input_s ? *free_s : input_s;
    *free_s = start + pass_s + wait_s;
    return start + pass_s;
}

/* Forward pass t - i of every stage; each reads what the stage before it made in the last
 * wave. */
static void run_forward(wave_walk *w, uint32_t t)
{
    const uint32_t p = w->p, v = w->v, at = t % (p * v);
    const uint32_t low = t + 1 > w->n ? t + 1 - w->n : 0, high = t < p - 1 ? t : p - 1;
    wave_times *now = &w->now;
    const double last_s = now->forward_s[p - 1];
    for (uint32_t i = high + 1; i-- > low;) {
        const uint32_t chunk = (at >= i ? at - i : at + p * v - i) / p;
        double input_s = 0, wait_s = w->blocked * w->hop_s[i];
        if (i > 0)
            input_s = now->forward_s[i - 1] + w->hop_s[i - 1];
        else if (chunk > 0)
            input_s = last_s + w->hop_s[p - 1];
        if (i == p - 1 && chunk == v - 1)
            wait_s = 0;
        now->forward_s[i] = run_wave_pass(&now->free_s[i], input_s,
                                          w->passes[i * v + chunk].forward_s, wait_s);
    }
}

static double get_backward_s(const wave_walk *w, uint32_t i, uint32_t chunk)
{
    const workload_pass_times *x = &w->passes[i * w->v + chunk];
    return x->input_s + x->weight_s;
}

/* One chunk: backward pass t - (p - 1) through all stages. */
static void run_backward(wave_walk *w, uint32_t t)
{
    if (t < w->back || t - w->back >= w->n)
        return;
    wave_times *now = &w->now;
    double input_s = 0;
    for (uint32_t i = w->p; i-- > 0;) {
        const double hop_s = i > 0 ? w->hop_s[i - 1] : 0;
        const double end_s = run_wave_pass(&now->free_s[i], input_s,
                                           get_backward_s(w, i, 0), w->blocked * hop_s);
        input_s = end_s + hop_s;
    }
}

/* Several chunks: backward pass t + i - back of every stage; each reads what the stage
 * after it made in the last wave. */
static void run_interleaved(wave_walk *w, uint32_t t)
{
    const uint32_t p = w->p, v = w->v;
    const uint32_t low = t < w->back ? w->back - t : 0;
    wave_times *now = &w->now;
    const double first_s = now->backward_s[0];
    for (uint32_t i = low; i < p && t + i - w->back < w->n; i++) {
        const uint32_t chunk = v - 1 - (t + i - w->back) % (p * v) / p;
        double input_s = 0, wait_s = 0;
        if (i + 1 < p)
            input_s = now->backward_s[i + 1] + w->hop_s[i];
        else if (chunk + 1 < v)
            input_s = first_s + w->hop_s[p - 1];
        if (i > 0 || chunk > 0)
            wait_s = w->blocked * w->hop_s[i > 0 ? i - 1 : p - 1];
        now->backward_s[i] =
            run_wave_pass(&now->free_s[i], input_s, get_backward_s(w, i, chunk), wait_s);
    }
}

/* Have all times grown by the same amount since then? */
static bool find_growth(double *out_s, const wave_walk *w, const wave_times *then)
{
    const wave_times *now = &w->now;
    const uint32_t p = w->p;
    double least = INFINITY, most = 0, end = 0;
    for (uint32_t i = 0; i < p; i++) {
        const double a = now->free_s[i] - then->free_s[i];
        const double b = now->forward_s[i] - then->forward_s[i];
        const double c = w->v > 1 ? now->backward_s[i] - then->backward_s[i] : a;
        least = fmin(least, fmin(a, fmin(b, c)));
        most = fmax(most, fmax(a, fmax(b, c)));
        end = fmax(end, now->free_s[i]);
    }
    *out_s = most;
    return most - least <= same_share * end;
}

static void add_growth(wave_walk *w, double growth_s)
{
    for (uint32_t i = 0; i < w->p; i++) {
        w->now.free_s[i] += growth_s;
        w->now.forward_s[i] += growth_s;
        w->now.backward_s[i] += growth_s;
    }
}

/* The search for a wave whose times come back. */
typedef struct wave_search {
    wave_times then;
    uint32_t at;    /* the wave of `then` */
    uint32_t tried; /* periods since then */
    uint32_t most;  /* periods until another wave is taken */
    bool over;
} wave_search;

static void copy_times(wave_times *to, const wave_times *from, uint32_t p)
{
    memcpy(to->free_s, from->free_s, p * sizeof *to->free_s);
    memcpy(to->forward_s, from->forward_s, p * sizeof *to->forward_s);
    memcpy(to->backward_s, from->backward_s, p * sizeof *to->backward_s);
}

/* After wave t, the last with all passes being `last`: the number of the wave whose times
 * `w` has now. */
static uint32_t skip_waves(wave_walk *w, wave_search *s, uint32_t t, uint32_t last)
{
    double growth_s;
    if (s->most > 0 && find_growth(&growth_s, w, &s->then)) {
        const uint32_t span = t - s->at, n = (last - t) / span;
        add_growth(w, growth_s * n);
        s->over = true;
        return t + n * span;
    }
    if (s->most == 0 || ++s->tried >= s->most) {
        copy_times(&s->then, &w->now, w->p);
        s->at = t;
        s->tried = 0;
        s->most = s->most == 0 ? 1 : 2 * s->most;
    }
    return t;
}

static void run_waves(wave_walk *w)
{
    const uint32_t period = w->v > 1 ? w->p * w->v : 1;
    const uint32_t n_waves = w->back + w->n, last = w->n - 1;
    wave_search search;
    search.most = 0;
    search.over = false;
    for (uint32_t t = 0; t < n_waves; t++) {
        run_forward(w, t);
        if (w->v > 1)
            run_interleaved(w, t);
        else
            run_backward(w, t);
        if (!search.over && t >= w->back && t < last && (t - w->back) % period == 0)
            t = skip_waves(w, &search, t, last);
    }
}

bool workload_schedule_is_wave(const workload_schedule *s)
{
    return s->kind == HALLEY_SCHEDULE_1F1B && s->stages <= HALLEY_MAX_STAGES &&
           (s->chunks == 1 || s->micro_batches % s->stages == 0) &&
           (uint64_t)s->micro_batches * s->chunks < UINT32_MAX / 4;
}

double workload_schedule_wave(const workload_schedule *s,
                              const workload_schedule_times *t)
{
    assert(workload_schedule_is_wave(s));
    const uint32_t p = s->stages, v = s->chunks;
    wave_walk w; /* large: only what p stages need is set */
    w.passes = t->passes;
    w.p = p;
    w.v = v;
    w.n = s->micro_batches * v;
    w.back = v > 1 ? (v + 1) * p - 2 : p - 1;
    w.blocked = t->blocked;
    for (uint32_t i = 0; i < p; i++) {
        w.hop_s[i] = t->hops_s != NULL ? t->hops_s[i] : 0;
        w.now.free_s[i] = w.now.forward_s[i] = w.now.backward_s[i] = 0;
    }
    if (p == 2) /* the way back is the way there */
        w.hop_s[1] = w.hop_s[0];
    if (p == 1)
        w.hop_s[0] = 0;
    run_waves(&w);
    double end_s = 0;
    for (uint32_t i = 0; i < p; i++)
        end_s = fmax(end_s, w.now.free_s[i]);
    assert(end_s >= 0);
    return end_s;
}
