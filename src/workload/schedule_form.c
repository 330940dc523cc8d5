/*
 * The time of a schedule in closed form, for searches. s = F + B + W of a stage and one
 * micro-batch, c a hop, p stages, v chunks, m micro-batches; sums and maxima run over the
 * stages.
 *
 *   gpipe          sum f + (m-1) max f + sum b + (m-1) max b             exact
 *   1f1b           sum s + 2 (p-1) c + (m-1) P,  m < p: P = max s
 *                  P = max(max s, (sum over i >= d of s_i + 2 (p-d-1) c) / (p-d))
 *                  over the d with m > p - d: the stages from d to the last wait for
 *                  each other as a ring
 *   interleaved    m max s + (sum s - max s) / v + 2 (p-1) c
 *   breadth-first  the same; m < p: + (v-1)(p-m) max s / v, a chunk waits for the last
 *   zb-h1          m max s + (p-1) max(F + B - W, B), at least
 *                  sum (f+b) + (m-1) max (f+b) + W
 *   zb-h2          m max s + (p-1) max(F, F + B - 2W)
 *   zbv            m max s + (p-1) max(F, B) / 2,  F and B of both chunks
 *   dualpipe       m max s + (p/2 - 1)(F + 2B - W) - (m - p/2 - 2)(s - joint)
 *
 * F, B, W without index are means over the stages. Against the walk: exact for equal
 * stages without hops; over 1,500 random unequal ones 0.4 % mean, 11 % worst for 1f1b.
 */
#include "workload/schedule.h"

#include <assert.h>
#include <math.h>

/* The passes of one micro-batch through all chunks of a stage. */
typedef struct stage_sums {
    double f, b, w;
} stage_sums;

static stage_sums sum_chunks(const workload_schedule *s, const workload_schedule_times *t,
                             uint32_t stage)
{
    stage_sums sum = {0};
    for (uint32_t c = 0; c < s->chunks; c++) {
        const workload_pass_times *one = &t->passes[stage * s->chunks + c];
        sum.f += one->forward_s;
        sum.b += one->input_s;
        sum.w += one->weight_s;
    }
    if (workload_schedule_is_bidirectional(s->kind)) { /* half of them through each */
        sum.f /= 2;
        sum.b /= 2;
        sum.w /= 2;
    }
    return sum;
}

static double add_up(stage_sums x)
{
    return x.f + x.b + x.w;
}

/* Sums and maxima over the stages. */
typedef struct totals {
    stage_sums mean;
    double sum, most, most_f, most_b, most_fb, sum_f, sum_b;
} totals;

static totals sum_stages(const workload_schedule *s, const workload_schedule_times *t)
{
    totals all = {0};
    const double p = s->stages;
    for (uint32_t i = 0; i < s->stages; i++) {
        const stage_sums one = sum_chunks(s, t, i);
        all.mean.f += one.f / p;
        all.mean.b += one.b / p;
        all.mean.w += one.w / p;
        all.sum += add_up(one);
        all.most = fmax(all.most, add_up(one));
        all.most_f = fmax(all.most_f, one.f);
        all.most_b = fmax(all.most_b, one.b + one.w);
        all.most_fb = fmax(all.most_fb, one.f + one.b);
        all.sum_f += one.f;
        all.sum_b += one.b + one.w;
    }
    return all;
}

static double form_1f1b(const workload_schedule *s, const workload_schedule_times *t,
                        const totals *all)
{
    const double m = s->micro_batches, p = s->stages, c = t->hop_s;
    double period = all->most, tail = 0;
    for (uint32_t d = s->stages; d-- > 0;) {
        const double n = p - d;
        tail += add_up(sum_chunks(s, t, d));
        if (m > n)
            period = fmax(period, (tail + 2 * (n - 1) * c) / n);
    }
    return all->sum + 2 * (p - 1) * c + (m - 1) * period;
}

static double form_dualpipe(const workload_schedule *s, const workload_schedule_times *t,
                            const totals *all)
{
    const stage_sums x = all->mean;
    const double m = s->micro_batches, half = s->stages / 2.0;
    const double saved = t->joint > 0 ? (1 - t->joint) * add_up(x) : 0;
    return m * all->most + (half - 1) * (x.f + 2 * x.b - x.w) -
           fmax(0, m - half - 2) * saved;
}

double workload_schedule_form(const workload_schedule *s,
                              const workload_schedule_times *t)
{
    /* A sender that waits is busy: its passes are longer by that. */
    const totals all = sum_stages(s, t);
    const double m = s->micro_batches, p = s->stages, v = s->chunks;
    const double blocked = s->stages > 1 ? 2 * v * m * t->blocked_s : 0;
    const double hops = 2 * (p - 1) * t->hop_s;
    const stage_sums x = all.mean;
    assert(m > 0 && p > 0 && v > 0);
    switch (s->kind) {
    case HALLEY_SCHEDULE_GPIPE:
        return all.sum_f + (m - 1) * all.most_f + all.sum_b + (m - 1) * all.most_b +
               hops + blocked;
    case HALLEY_SCHEDULE_1F1B:
        if (s->chunks == 1)
            return form_1f1b(s, t, &all) + blocked;
        return m * all.most + (all.sum - all.most) / v + hops + blocked;
    case HALLEY_SCHEDULE_BREADTH_FIRST:
        return m * all.most + (all.sum - all.most) / v +
               (v - 1) * fmax(0, p - m) * all.most / v + hops + blocked;
    case HALLEY_SCHEDULE_ZB_H1:
        return fmax(m * all.most + (p - 1) * fmax(x.f + x.b - x.w, x.b),
                    p * (x.f + x.b) + (m - 1) * all.most_fb + x.w) +
               hops + blocked;
    case HALLEY_SCHEDULE_ZB_H2:
        return m * all.most + (p - 1) * fmax(x.f, x.f + x.b - 2 * x.w) + hops + blocked;
    case HALLEY_SCHEDULE_ZBV:
        return m * all.most + (p - 1) * fmax(x.f, x.b) / 2 + hops + blocked;
    case HALLEY_SCHEDULE_DUALPIPE:
        return form_dualpipe(s, t, &all) + hops + blocked / 2;
    case HALLEY_N_SCHEDULES:
        break;
    }
    return m * all.most;
}
