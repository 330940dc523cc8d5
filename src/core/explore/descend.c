/*
 * Continuous search by NLopt. Each of three methods gets a third of the samples:
 *
 * - DIRECT (Jones et al. 1993, locally biased) over the whole box.
 *
 * - Controlled random search (Price 1983; Kaelo and Ali 2006). It finds optima at the
 * edge of what a budget allows, where DIRECT fails.
 *
 * - Subplex (Rowan 1990) from the best point.
 *
 * Coordinates are positions along the axes. A position is rounded to the nearest value; a
 * continuous range has 4097 values. A refused design is worse than all others.
 */
#include "explore/search.h"

#include <assert.h>
#include <math.h>
#include <nlopt.h>

typedef struct descent {
    explore_run *run;
    const halley_study *study;
    map64 at; /* outer design -> value */
    ARRAY(double) values;
    double worst;
    halley_status status;
    halley_error *err;
    nlopt_opt opt;
} descent;

static uint64_t find_nearest_design(const halley_study *s, const double *x)
{
    assert(s->n_axes > 0);
    uint32_t digits[HALLEY_MAX_AXES];
    for (uint32_t i = 0; i < s->n_outer; i++) {
        const double at = floor(x[i] + 0.5), last = s->axes[i].seen.n - 1.0;
        digits[i] = (uint32_t)(at < 0 ? 0 : at > last ? last : at);
    }
    return explore_outer_id(s, digits);
}

static double evaluate_point(unsigned n, const double *x, double *gradient, void *context)
{
    assert(n > 0);
    assert(context != NULL);
    descent *d = context;
    (void)n;
    (void)gradient;
    if (d->status != HALLEY_OK)
        return 0;
    const uint64_t id = find_nearest_design(d->study, x);
    uint32_t slot = map64_find(&d->at, id);
    if (slot == HASH_NONE) {
        explore_answered got;
        d->status = explore_ask(&got, d->run, &id, 1, d->err);
        const double sign = d->study->goals[0].seen.maximize ? -1 : 1;
        const double y = got.feasible ? sign * got.objective[0] : NAN;
        slot = (uint32_t)d->values.n;
        if (d->status == HALLEY_OK &&
            (!array_push(&d->values, y) || !map64_set(&d->at, id, slot)))
            d->status = error_nomem(d->err);
        if (d->status != HALLEY_OK) {
            nlopt_force_stop(d->opt);
            return 0;
        }
        if (!isnan(y) && !(y < d->worst))
            d->worst = y;
    }
    const double y = d->values.at[slot];
    if (!isnan(y))
        return y;
    return isnan(d->worst) ? 1e30 : d->worst + fabs(d->worst) + 1;
}

static void run_descent(descent *d, nlopt_algorithm algorithm, double *x, int samples)
{
    assert(samples > 0);
    const halley_study *s = d->study;
    double low[HALLEY_MAX_AXES], high[HALLEY_MAX_AXES], step[HALLEY_MAX_AXES], y;
    for (uint32_t i = 0; i < s->n_outer; i++) {
        low[i] = 0;
        high[i] = s->axes[i].seen.n - 1.0;
        step[i] = fmax(1, high[i] / 8);
    }
    d->opt = nlopt_create(algorithm, s->n_outer);
    if (!d->opt) {
        d->status = error_nomem(d->err);
        return;
    }
    nlopt_set_lower_bounds(d->opt, low);
    nlopt_set_upper_bounds(d->opt, high);
    nlopt_set_min_objective(d->opt, evaluate_point, d);
    nlopt_set_initial_step(d->opt, step);
    nlopt_set_maxeval(d->opt, samples);
    nlopt_set_xtol_abs1(d->opt, 0.25);
    nlopt_optimize(d->opt, x, &y);
    nlopt_destroy(d->opt);
}

halley_status explore_descend(explore_run *r, halley_error *err)
{
    assert(explore_run_study(r)->n_goals > 0);
    descent d = {.run = r, .study = explore_run_study(r), .err = err, .worst = NAN};
    const halley_study *s = d.study;
    double x[HALLEY_MAX_AXES];
    if (s->n_goals > 1)
        return error_set(err, HALLEY_EINVAL,
                         "search: nlopt needs one objective; evolutionary takes several");
    for (uint32_t i = 0; i < s->n_outer; i++)
        x[i] = (s->axes[i].seen.n - 1) / 2.0;
    const int third = (int)(s->search.samples / 3 + 1);
    nlopt_srand((unsigned long)s->search.seed);
    run_descent(&d, NLOPT_GN_DIRECT_L, x, third);
    if (d.status == HALLEY_OK)
        run_descent(&d, NLOPT_GN_CRS2_LM, x, third);
    if (d.status == HALLEY_OK)
        run_descent(&d, NLOPT_LN_SBPLX, x, third);
    const halley_status status = d.status;
    map64_fini(&d.at);
    array_fini(&d.values);
    return status == HALLEY_OK ? explore_run_flush(r, err) : status;
}
