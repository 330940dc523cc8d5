/*
 * Calibration: fits the constants that a stack file lists under `fit` to all rows that
 * the stack serves. Reports the error of the fit and of cross-validation by layout. Fewer
 * than three layouts, or more constants than layouts, are refused: the rows could not
 * determine the constants.
 */
#include "halley/score.h"
#include "score/fit.h"
#include "workload/stack_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t list_served_rows(const score_rows *rows, const halley_stack *stack,
                               uint32_t *at)
{
    size_t n = 0;
    for (uint32_t i = 0; i < rows->rows.n; i++) {
        const score_row *row = &rows->rows.at[i];
        if (!row->skip[0] && row->step_s > 0 &&
            workload_stack_serves(stack, row->framework, row->release))
            at[n++] = i;
    }
    return n;
}

static double mean_calibration_error(const score_rows *rows, const uint32_t *at, size_t n,
                                     const halley_stack *stack)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        const score_row *row = &rows->rows.at[at[i]];
        sum += fabs(score_predict(rows, row, stack) / row->step_s - 1);
    }
    return n ? 100 * sum / (double)n : 0;
}

/* Sum up the errors, separately for models without and with experts. */
static void add_errors(halley_stack *to, const score_rows *rows, const uint32_t *at,
                       size_t n, const halley_stack *stack)
{
    for (size_t i = 0; i < n; i++) {
        const score_row *row = &rows->rows.at[at[i]];
        const bool experts = row->model.experts > 0;
        to->expected[experts] += fabs(score_predict(rows, row, stack) / row->step_s - 1);
        to->n_runs[experts]++;
    }
}

static halley_status cross_validate_stack(halley_fit *fit, const halley_stack *prior,
                                          const score_rows *rows, const uint32_t *at,
                                          size_t n, halley_error *err)
{
    const uint32_t folds = fit->n_layouts < 5 ? fit->n_layouts : 5;
    if (folds < 3) {
        fit->cv_pct = -1;
        add_errors(&fit->stack, rows, at, n, &fit->stack);
        return HALLEY_OK;
    }
    uint32_t *part = mem_array(2 * n, sizeof *part);
    if (!part)
        return error_nomem(err);
    halley_status status = HALLEY_OK;
    double sum = 0;
    for (uint32_t f = 0; status == HALLEY_OK && f < folds; f++) {
        size_t in = 0, out = 0;
        for (size_t i = 0; i < n; i++) {
            if (score_fold(rows->rows.at[at[i]].layout, folds) == f)
                part[n + out++] = at[i];
            else
                part[in++] = at[i];
        }
        halley_stack s = *prior;
        status = score_fit(&s, prior, rows, part, in, err);
        sum += mean_calibration_error(rows, part + n, out, &s) * (double)out;
        add_errors(&fit->stack, rows, part + n, out, &s);
    }
    free(part);
    fit->cv_pct = sum / (double)n;
    return status;
}

static halley_status fit_rows(halley_fit *out, const halley_stack *stack,
                              const score_rows *rows, uint32_t *at, halley_error *err)
{
    *out = (halley_fit){.size = sizeof *out, .stack = *stack};
    const size_t n = list_served_rows(rows, stack, at);
    out->n_rows = (uint32_t)n;
    out->n_layouts = score_rows_layouts(rows, at, n);
    if (out->n_layouts < 3)
        return error_set(err, HALLEY_EINVAL,
                         "stack \"%s\" serves %u layouts of these rows; a fit needs at "
                         "least 3",
                         stack->name, out->n_layouts);
    if (stack->n_fit > out->n_layouts)
        return error_set(err, HALLEY_EINVAL,
                         "stack \"%s\" lists %u constants to fit, but its rows have only "
                         "%u layouts to tell them apart: list fewer under \"fit\"",
                         stack->name, stack->n_fit, out->n_layouts);
    score_stack_forget(&out->stack);
    const halley_stack prior = out->stack;
    out->before_pct = mean_calibration_error(rows, at, n, &prior);
    TRY(score_fit(&out->stack, &prior, rows, at, n, err));
    out->after_pct = mean_calibration_error(rows, at, n, &out->stack);
    for (uint32_t i = 0; i < stack->n_fit; i++)
        out->moves[out->n_moves++] =
            (halley_fit_move){(halley_constant)stack->fit[i], prior.k[stack->fit[i]],
                              out->stack.k[stack->fit[i]]};
    for (int i = 0; i < 2; i++) {
        out->stack.expected[i] = 0;
        out->stack.n_runs[i] = 0;
    }
    TRY(cross_validate_stack(out, &prior, rows, at, n, err));
    for (int i = 0; i < 2; i++) {
        if (out->stack.n_runs[i])
            out->stack.expected[i] /= out->stack.n_runs[i];
    }
    out->stack.n_layouts = out->n_layouts;
    return HALLEY_OK;
}

halley_status halley_calibrate(halley_fit *out, const char *stack,
                               const char *const *files, size_t n_files,
                               halley_error *err)
{
    score_rows rows = {0};
    halley_stack chosen;
    uint32_t *at = NULL;
    halley_status status = score_rows_load(&rows, files, n_files, err);
    if (status == HALLEY_OK && rows.rows.n == 0)
        status = error_set(err, HALLEY_EINVAL, "no runs to fit to");
    if (status == HALLEY_OK) {
        at = mem_array(rows.rows.n, sizeof *at);
        status = at ? HALLEY_OK : error_nomem(err);
    }
    if (status == HALLEY_OK)
        status = stack ? halley_stack_load(&chosen, stack, err)
                       : halley_stack_choose(&chosen, rows.rows.at[0].framework,
                                             rows.rows.at[0].release, err);
    if (status == HALLEY_OK)
        status = fit_rows(out, &chosen, &rows, at, err);
    free(at);
    score_rows_fini(&rows);
    return status;
}
