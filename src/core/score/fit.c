/*
 * Fitting by iteratively reweighted least squares with priors.
 *
 * Minimise  sum_i w_i sqrt(e_i^2 + d^2) / s  +  1/2 sum_j ((x_j - p_j) / spread_j)^2
 *
 * over x_j, the log of a factor or amount, or a share itself. Here e_i =
 * log(predicted/measured), d = 0.02 (smaller errors are noise) and s = 0.04 (the accuracy
 * of a measured run). The absolute value limits the influence of single outliers.
 *
 * The weight of a row is w_i = 1 / sqrt(r sqrt(n)). Here r is the number of rows with its
 * layout in its set, and n the number of rows in the set. 900 small runs therefore do not
 * dominate 70 large ones. Derivatives are finite differences. Steps are damped
 * (Levenberg).
 */
#include "score/fit.h"

#include "base/hash.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double flat = 0.02, known = 0.04;
enum { MAX_ROUNDS = 40 };

double score_predict(const score_rows *rows, const score_row *row,
                     const halley_stack *stack)
{
    halley_estimate e;
    halley_estimate_run(&e, &row->model, &row->plan,
                        rows->clusters.at[row->cluster].cluster, stack);
    return e.step_s;
}

uint32_t score_fold(const char *layout, uint32_t n_folds)
{
    return (uint32_t)(hash_bytes(layout, strlen(layout), 17) % n_folds);
}

typedef struct problem {
    halley_stack *stack;
    const halley_stack *prior;
    const score_rows *rows;
    const uint32_t *at;
    size_t n, m;
    double *weight, *error, *jacobian; /* n, n, n x m */
} problem;

static double fit_to_x(unsigned id, double value)
{
    return halley_constant_get((halley_constant)id)->share ? value : log(value);
}

static double from_x(unsigned id, double x)
{
    const halley_constant_info *info = halley_constant_get((halley_constant)id);
    const double value = info->share ? x : exp(x);
    return value < info->min ? info->min : value > info->max ? info->max : value;
}

/* The weight depends on the number of rows in the set, and with the same layout. */
static void set_weights(problem *p)
{
    for (size_t i = 0; i < p->n; i++) {
        const score_row *a = &p->rows->rows.at[p->at[i]];
        double same_layout = 0, same_set = 0;
        for (size_t j = 0; j < p->n; j++) {
            const score_row *b = &p->rows->rows.at[p->at[j]];
            if (strcmp(a->set, b->set) != 0)
                continue;
            same_set++;
            same_layout += strcmp(a->layout, b->layout) == 0;
        }
        p->weight[i] = 1 / sqrt(same_layout * sqrt(same_set));
    }
}

static void compute_errors(const problem *p, double *out)
{
    for (size_t i = 0; i < p->n; i++) {
        const score_row *row = &p->rows->rows.at[p->at[i]];
        out[i] = log(score_predict(p->rows, row, p->stack) / row->step_s);
    }
}

static double prior_offset(const problem *p, size_t j)
{
    const unsigned id = p->stack->fit[j];
    const double spread = halley_constant_get((halley_constant)id)->spread;
    return (fit_to_x(id, p->stack->k[id]) - fit_to_x(id, p->prior->k[id])) / spread;
}

static double compute_objective(const problem *p, const double *error)
{
    double sum = 0;
    for (size_t i = 0; i < p->n; i++)
        sum += p->weight[i] * sqrt(error[i] * error[i] + flat * flat) / known;
    for (size_t j = 0; j < p->m; j++)
        sum += 0.5 * prior_offset(p, j) * prior_offset(p, j);
    return sum;
}

static void differentiate_errors(problem *p)
{
    for (size_t j = 0; j < p->m; j++) {
        const unsigned id = p->stack->fit[j];
        const double old = p->stack->k[id], h = 1e-3;
        double step = h;
        p->stack->k[id] = from_x(id, fit_to_x(id, old) + h);
        if (p->stack->k[id] == old) { /* it is at its upper bound */
            step = -h;
            p->stack->k[id] = from_x(id, fit_to_x(id, old) - h);
        }
        for (size_t i = 0; i < p->n; i++) {
            const score_row *row = &p->rows->rows.at[p->at[i]];
            const double e = log(score_predict(p->rows, row, p->stack) / row->step_s);
            p->jacobian[i * p->m + j] = (e - p->error[i]) / step;
        }
        p->stack->k[id] = old;
    }
}

/* Solve a small symmetric positive system in place by elimination. */
static void solve_system(double a[HALLEY_MAX_FITTED][HALLEY_MAX_FITTED],
                         double b[HALLEY_MAX_FITTED], size_t m)
{
    for (size_t k = 0; k < m; k++) {
        for (size_t i = k + 1; i < m; i++) {
            const double f = a[i][k] / a[k][k];
            for (size_t j = k; j < m; j++)
                a[i][j] -= f * a[k][j];
            b[i] -= f * b[k];
        }
    }
    for (size_t k = m; k-- > 0;) {
        for (size_t j = k + 1; j < m; j++)
            b[k] -= a[k][j] * b[j];
        b[k] /= a[k][k];
    }
}

static void newton_step(const problem *p, double damping, double step[HALLEY_MAX_FITTED])
{
    double a[HALLEY_MAX_FITTED][HALLEY_MAX_FITTED] = {{0}};
    for (size_t j = 0; j < p->m; j++)
        step[j] = 0;
    for (size_t i = 0; i < p->n; i++) {
        const double e = p->error[i];
        const double w = p->weight[i] / (known * sqrt(e * e + flat * flat));
        const double *g = p->jacobian + i * p->m;
        for (size_t j = 0; j < p->m; j++) {
            step[j] -= w * g[j] * e;
            for (size_t k = 0; k < p->m; k++)
                a[j][k] += w * g[j] * g[k];
        }
    }
    for (size_t j = 0; j < p->m; j++) {
        const unsigned id = p->stack->fit[j];
        const double spread = halley_constant_get((halley_constant)id)->spread;
        a[j][j] = (a[j][j] + 1 / (spread * spread)) * (1 + damping);
        step[j] -= prior_offset(p, j) / spread;
    }
    solve_system(a, step, p->m);
}

static bool try_step(problem *p, const double *step, double *value, double *scratch)
{
    double old[HALLEY_MAX_FITTED];
    for (size_t j = 0; j < p->m; j++) {
        const unsigned id = p->stack->fit[j];
        old[j] = p->stack->k[id];
        p->stack->k[id] = from_x(id, fit_to_x(id, old[j]) + step[j]);
    }
    compute_errors(p, scratch);
    const double now = compute_objective(p, scratch);
    if (now < *value) {
        *value = now;
        memcpy(p->error, scratch, p->n * sizeof *scratch);
        return true;
    }
    for (size_t j = 0; j < p->m; j++)
        p->stack->k[p->stack->fit[j]] = old[j];
    return false;
}

static void descend_gradient(problem *p, double *scratch)
{
    compute_errors(p, p->error);
    double value = compute_objective(p, p->error), damping = 1e-3;
    for (int round = 0; round < MAX_ROUNDS; round++) {
        const double before = value;
        differentiate_errors(p);
        bool moved = false;
        for (int tries = 0; tries < 8 && !moved; tries++) {
            double step[HALLEY_MAX_FITTED];
            newton_step(p, damping, step);
            moved = try_step(p, step, &value, scratch);
            damping = moved ? damping * 0.3 : damping * 5;
        }
        if (!moved || before - value < 1e-4 * before)
            return;
    }
}

halley_status score_fit(halley_stack *stack, const halley_stack *prior,
                        const score_rows *rows, const uint32_t *at, size_t n,
                        halley_error *err)
{
    if (n == 0 || stack->n_fit == 0)
        return HALLEY_OK;
    problem p = {.stack = stack,
                 .prior = prior,
                 .rows = rows,
                 .at = at,
                 .n = n,
                 .m = stack->n_fit};
    double *block = mem_array(n, (p.m + 3) * sizeof *block);
    if (!block)
        return error_nomem(err);
    p.weight = block;
    p.error = block + n;
    p.jacobian = block + 3 * n;
    set_weights(&p);
    descend_gradient(&p, block + 2 * n);
    free(block);
    for (size_t j = 0; j < p.m; j++)
        stack->origin[stack->fit[j]] = 2;
    return HALLEY_OK;
}
