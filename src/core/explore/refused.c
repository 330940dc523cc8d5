/*
 * Explain why no feasible design has some value of an axis. Everything else is as in the
 * best design, and the plan is chosen again if the study chooses it. Memory and every
 * `where` have an excess relative to their limit. Of all plans, the one with the fewest
 * violated conditions is reported, then the one with the least excess, then the best.
 * What it violates is why the value is refused: if one plan fits, memory is not.
 */
#include "explore/refused.h"

#include "base/array.h"
#include "base/str.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_VALUES = 64, MOST_PLANS = 1 << 16 };

/* The conditions that a plan violates. */
typedef struct violations {
    uint32_t n;
    double worst; /* the largest excess over its limit */
    double objective;
    double over_bytes;
    char text[sizeof((halley_refused_value *)0)->reason];
    size_t length;
} violations;

static void add_words(violations *v, const char *words)
{
    const size_t size = sizeof v->text;
    v->length += (size_t)snprintf(v->text + v->length, size - v->length, "%s%s",
                                  v->length > 0 ? "; " : "", words);
    v->length = v->length < size ? v->length : size - 1;
}

static void add_memory(violations *v, const explore_worker *w)
{
    if (!w->study->fits || w->estimate.fits)
        return;
    v->over_bytes = explore_worker_excess(w);
    v->worst = fmax(v->worst, v->over_bytes / w->estimate.capacity_bytes);
    v->n++;
    add_words(v, "does not fit in memory");
}

/* "capital < 40 MUSD is violated: 42.0 MUSD, over by 2.00 MUSD" */
static void add_condition(violations *v, const explore_expr *e, const explore_worker *w,
                          const double *metrics)
{
    double truth = 0;
    explore_comparison c;
    char words[160], got[48], by[48];
    if (explore_expr_eval(&truth, e, &w->design, metrics) && truth != 0)
        return;
    v->n++;
    if (!explore_expr_compare(&c, e, &w->design, metrics)) {
        v->worst = fmax(v->worst, 1);
        snprintf(words, sizeof words, "where %s is violated", e->text);
        add_words(v, words);
        return;
    }
    const double excess = fabs(c.got - c.limit);
    v->worst = fmax(v->worst, c.limit != 0 ? excess / fabs(c.limit) : excess);
    snprintf(words, sizeof words, "%s is violated: %s, %s by %s", e->text,
             halley_metric_format(got, sizeof got, c.metric, c.got),
             c.got > c.limit ? "over" : "under",
             halley_metric_format(by, sizeof by, c.metric, excess));
    add_words(v, words);
}

static violations find_violations(const explore_worker *w, const explore_row *row)
{
    const halley_study *s = w->study;
    violations v = {.objective = s->goals[0].seen.maximize ? -row->objective[0]
                                                           : row->objective[0]};
    add_memory(&v, w);
    for (uint32_t i = 0; i < s->n_where; i++)
        add_condition(&v, &s->where[i], w, row->metrics);
    return v;
}

static bool is_nearer(const violations *a, const violations *b)
{
    if (a->n != b->n)
        return a->n < b->n;
    return a->worst != b->worst ? a->worst < b->worst : a->objective < b->objective;
}

/* Try all plans of the design. Returns false if one of them is feasible, which means that
 * the search did not evaluate it. */
static bool explain_refusal(halley_refused_value *out, explore_worker *w, uint64_t id)
{
    const uint64_t inner = w->study->inner_size <= MOST_PLANS ? w->study->inner_size : 1;
    violations least = {.n = UINT32_MAX};
    const bool relaxed = w->relaxed;
    w->reasons.n = 0;
    w->relaxed = true;
    for (uint64_t i = 0; i < inner && least.n > 0; i++) {
        explore_row row;
        explore_worker_move(w, id - id % inner + i);
        if (!explore_worker_try(w, &row))
            continue;
        const violations v = find_violations(w, &row);
        least = is_nearer(&v, &least) ? v : least;
    }
    w->relaxed = relaxed;
    if (least.n == 0)
        return false;
    out->over_bytes = least.n == UINT32_MAX ? 0 : least.over_bytes;
    snprintf(out->reason, sizeof out->reason, "%s",
             least.n != UINT32_MAX ? least.text
             : w->reasons.n > 0    ? w->reasons.at[0].seen.reason
                                   : "not feasible");
    return true;
}

static uint32_t count_refused(const halley_exploration *e, const halley_study *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_outer; i++)
        for (uint32_t v = 0; s->axes[i].seen.n <= MOST_VALUES && v < s->axes[i].seen.n;
             v++)
            n += e->marginals[i][v].feasible == 0;
    return n;
}

halley_status explore_refused(halley_exploration *e, const halley_study *s,
                              explore_worker *w, halley_error *err)
{
    const uint32_t most = count_refused(e, s);
    if (e->n_best == 0 || most == 0)
        return HALLEY_OK;
    e->refused_values = mem_array_zero(most, sizeof *e->refused_values);
    if (e->refused_values == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < s->n_outer; i++) {
        for (uint32_t v = 0; s->axes[i].seen.n <= MOST_VALUES && v < s->axes[i].seen.n;
             v++) {
            uint32_t digits[HALLEY_MAX_AXES];
            halley_refused_value one = {.axis = i, .value = v};
            if (e->marginals[i][v].feasible > 0)
                continue;
            memcpy(digits, e->best[0].digits, sizeof digits);
            digits[i] = v;
            if (explain_refusal(&one, w, explore_id(s, digits)))
                e->refused_values[e->n_refused_values++] = one;
        }
    }
    return HALLEY_OK;
}
