/*
 * Answers to questions about the optimum.
 *
 * Elasticity is d ln objective / d ln parameter at the best design. It is a central
 * difference of one percent for continuous parameters, and the difference between
 * neighbouring values for whole numbers. The swing is the range of the objective along
 * one axis with all else fixed. With `plan: best` the plan is chosen again for each
 * value. Break-even is the first change of sign of the difference of two designs, found
 * by 64 logarithmic steps and then bisection. Whole numbers are tried one by one.
 */
#include "explore/answer.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_SWING = 65, SCAN = 64, HALVINGS = 60 };

/* The objective with one digit changed; NaN if the design is refused. */
static double with_digit(explore_worker *w, const uint32_t *digits, uint32_t axis,
                         uint32_t digit)
{
    assert(axis < w->study->n_axes);
    assert(digit < w->study->axes[axis].seen.n);
    const halley_study *s = w->study;
    uint32_t moved[HALLEY_MAX_AXES];
    explore_row row;
    memcpy(moved, digits, sizeof moved);
    moved[axis] = digit;
    const uint64_t id = explore_id(s, moved);
    const uint64_t n = axis < s->n_outer ? s->inner_size : 1;
    return explore_worker_best_exact(w, &row, id - id % n, n) ? row.objective[0] : NAN;
}

static double with_factor(explore_worker *w, const halley_candidate *best,
                          const explore_ref *ref, double factor)
{
    assert(ref->param.path[0] != '\0');
    assert(factor > 0);
    explore_row row;
    explore_worker_move(w, best->id);
    const explore_value v = {.number = factor * explore_get(&w->raw, ref)};
    explore_set(&w->raw, ref, &v);
    w->exact = true;
    const bool ok = explore_worker_try(w, &row);
    w->exact = false;
    w->placed = false;
    return ok ? row.objective[0] : NAN;
}

static double compute_slope(double y0, double y1, double x0, double x1)
{
    return y0 > 0 && y1 > 0 && x0 > 0 && x1 > 0 && x0 != x1 ? log(y1 / y0) / log(x1 / x0)
                                                            : NAN;
}

static double find_elasticity(explore_worker *w, const halley_candidate *best,
                              uint32_t axis)
{
    assert(axis < w->study->n_axes);
    const explore_axis *a = &w->study->axes[axis];
    const double here = best->objective[0];
    const param_kind kind = a->refs[0].param.kind;
    if (!a->seen.numbers)
        return NAN;
    if (kind != PARAM_U32 && kind != PARAM_EDIT) {
        const double low = with_factor(w, best, &a->refs[0], 0.99);
        const double high = with_factor(w, best, &a->refs[0], 1.01);
        return isnan(low)    ? compute_slope(here, high, 1, 1.01)
               : isnan(high) ? compute_slope(low, here, 0.99, 1)
                             : compute_slope(low, high, 0.99, 1.01);
    }
    const uint32_t at = best->digits[axis];
    const double *x = a->seen.numbers;
    double y0 = at > 0 ? with_digit(w, best->digits, axis, at - 1) : NAN;
    double y1 = at + 1 < a->seen.n ? with_digit(w, best->digits, axis, at + 1) : NAN;
    if (isnan(y0) && isnan(y1))
        return NAN;
    if (isnan(y0))
        return compute_slope(here, y1, x[at], x[at + 1]);
    if (isnan(y1))
        return compute_slope(y0, here, x[at - 1], x[at]);
    return compute_slope(y0, y1, x[at - 1], x[at + 1]);
}

static halley_sensitivity find_sensitivity(explore_worker *w, const halley_exploration *e,
                                           uint32_t axis)
{
    assert(axis < w->study->n_axes);
    assert(e->n_best > 0);
    const halley_candidate *best = &e->best[0];
    const halley_axis *a = &w->study->axes[axis].seen;
    halley_sensitivity out = {
        .axis = axis, .low = NAN, .high = NAN, .space_low = NAN, .space_high = NAN};
    const uint32_t n = a->n < MOST_SWING ? a->n : MOST_SWING;
    out.tried = n;
    out.elasticity = find_elasticity(w, best, axis);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t digit = n > 1 ? (uint32_t)((uint64_t)i * (a->n - 1) / (n - 1)) : 0;
        const double y = with_digit(w, best->digits, axis, digit);
        if (isnan(y)) {
            out.refused++;
            continue;
        }
        if (!(out.low <= y)) {
            out.low = y;
            out.low_value = digit;
        }
        if (!(out.high >= y)) {
            out.high = y;
            out.high_value = digit;
        }
    }
    for (uint32_t i = 0; i < a->n; i++) {
        const double y = e->marginals[axis][i].best;
        if (!isnan(y) && !(out.space_low <= y))
            out.space_low = y;
        if (!isnan(y) && !(out.space_high >= y))
            out.space_high = y;
    }
    return out;
}

static double measure_swing(const halley_sensitivity *s)
{
    const double a = isnan(s->low) || s->low <= 0 ? 1 : s->high / s->low;
    const double b =
        isnan(s->space_low) || s->space_low <= 0 ? 1 : s->space_high / s->space_low;
    return a > b ? a : b;
}

static int widest_first(const void *a, const void *b)
{
    const halley_sensitivity *x = a, *y = b;
    const double p = measure_swing(x), q = measure_swing(y);
    if (p != q)
        return p < q ? 1 : -1;
    return x->axis < y->axis ? -1 : x->axis > y->axis;
}

static halley_status list_sensitivities(halley_exploration *e, explore_worker *w,
                                        halley_error *err)
{
    const halley_study *s = w->study;
    if (e->n_best == 0 || s->inner_size > 200000)
        return HALLEY_OK;
    e->sensitivities = mem_array(s->n_outer, sizeof *e->sensitivities);
    if (!e->sensitivities)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->n_outer; i++) {
        if (s->axes[i].seen.n > 1)
            e->sensitivities[e->n_sensitivities++] = find_sensitivity(w, e, i);
    }
    qsort(e->sensitivities, e->n_sensitivities, sizeof *e->sensitivities, widest_first);
    assert(e->n_sensitivities <= w->study->n_axes);
    return HALLEY_OK;
}

static halley_status estimate_baseline(halley_exploration *e, explore_worker *w,
                                       explore_bars *bars, halley_error *err)
{
    assert(w->study != NULL);
    const halley_study *s = w->study;
    explore_row row = {0};
    if (!s->has_baseline)
        return HALLEY_OK;
    w->reasons.n = 0;
    bool ok = explore_worker_try_fixed(w, &row, s->baseline, s->n_baseline, NULL, 0);
    if (!ok) {
        w->relaxed = true;
        w->reasons.n = 0;
        ok = explore_worker_try_fixed(w, &row, s->baseline, s->n_baseline, NULL, 0);
        w->relaxed = false;
    }
    if (!ok && w->reasons.n)
        snprintf(e->baseline_refused, sizeof e->baseline_refused, "%s",
                 w->reasons.at[0].seen.reason);
    if (!ok)
        return HALLEY_OK;
    e->has_baseline = true;
    explore_candidate_fill(&e->baseline, w, &row);
    w->placed = false;
    return explore_bars_find(&e->baseline.error_bar, bars, w, err);
}

/* How far the design is ahead (> 0) with the parameter at x; NaN if neither design
 * runs. */
static double measure_lead(explore_worker *w, const explore_question *q, double x)
{
    assert(q->n_of + q->n_beats > 0 || q->of == NULL);
    explore_row a, b;
    const bool of = explore_worker_try_fixed(w, &a, q->of, q->n_of, &q->ref, x);
    const bool beats = explore_worker_try_fixed(w, &b, q->beats, q->n_beats, &q->ref, x);
    if (!of && !beats)
        return NAN;
    if (!of || !beats)
        return of ? INFINITY : -INFINITY;
    const double d = b.objective[0] - a.objective[0];
    return w->study->goals[0].seen.maximize ? -d : d;
}

/* The result of scanning the range. */
typedef struct scan {
    double first;     /* the first value that is not NaN */
    bool always_both; /* wherever one design is feasible, the other is feasible, too */
    double low, high; /* around the first change of sign */
    bool changes;
} scan;

static double step_of(const explore_question *q, int i)
{
    const double x = q->from * pow(q->to / q->from, (double)i / SCAN);
    return q->ref.param.kind == PARAM_U32 ? floor(x + 0.5) : x;
}

static scan scan_question(explore_worker *w, const explore_question *q)
{
    scan s = {.first = NAN, .always_both = true};
    double before = NAN, x_before = q->from;
    for (int i = 0; i <= SCAN && !s.changes; i++) {
        const double x = step_of(q, i), y = measure_lead(w, q, x);
        if (isnan(y))
            continue;
        s.first = isnan(s.first) ? y : s.first;
        s.always_both = s.always_both && !isinf(y);
        if (!isnan(before) && (before > 0) != (y > 0)) {
            s.changes = true;
            s.low = x_before;
            s.high = x;
        }
        before = y;
        x_before = x;
    }
    return s;
}

/* The least value at which the sign has changed. */
static double narrow_crossing(explore_worker *w, const explore_question *q, double low,
                              double high, bool rises)
{
    assert(low <= high);
    const bool whole = q->ref.param.kind == PARAM_U32;
    for (double x = low + 1; whole && x < high && high - low < 1e5; x++) {
        const double y = measure_lead(w, q, x);
        if (!isnan(y) && (y > 0) == rises)
            return x;
    }
    for (int i = 0; !whole && i < HALVINGS && high / low > 1 + 1e-9; i++) {
        const double middle = sqrt(low * high);
        if ((measure_lead(w, q, middle) > 0) == rises)
            high = middle;
        else
            low = middle;
    }
    return high;
}

static const char *no_change(const scan *s)
{
    if (isnan(s->first))
        return "neither design is feasible";
    if (!s->always_both)
        return s->first > 0 ? "always (the other is not everywhere feasible)"
                            : "never (it is not everywhere feasible)";
    return s->first > 0 ? "always" : "never";
}

static void answer_question(halley_break_even *out, explore_worker *w,
                            const explore_question *q)
{
    assert(q->ref.param.path[0] != '\0');
    char text[64], from[64], to[64];
    const units_kind unit = q->ref.param.unit;
    snprintf(out->question, sizeof out->question, "How much %s until {%s} beats {%s}?",
             q->path, q->of_text, q->beats_text);
    units_format(from, sizeof from, q->from, unit);
    units_format(to, sizeof to, q->to, unit);
    const scan s = scan_question(w, q);
    if (!s.changes) {
        snprintf(out->answer, sizeof out->answer, "%s between %s and %s", no_change(&s),
                 from, to);
        return;
    }
    const bool rises = !(measure_lead(w, q, s.low) > 0);
    out->found = true;
    out->value = narrow_crossing(w, q, s.low, s.high, rises);
    units_format(text, sizeof text, out->value, unit);
    snprintf(out->answer, sizeof out->answer, "%s %s (between %s and %s)",
             rises ? "from" : "only below", text, from, to);
}

halley_status explore_answer(halley_exploration *e, const halley_study *s,
                             explore_worker *w, explore_bars *bars, halley_error *err)
{
    TRY(estimate_baseline(e, w, bars, err));
    TRY(list_sensitivities(e, w, err));
    e->breaks = mem_array_zero(s->n_questions, sizeof *e->breaks);
    if (!e->breaks)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->n_questions; i++)
        answer_question(&e->breaks[e->n_breaks++], w, &s->questions[i]);
    return HALLEY_OK;
}
