/*
 * Adam (Kingma and Ba, 2015) with decoupled weight decay (Loshchilov and Hutter, 2019).
 * A step is the running mean of the gradient divided by the root of its running mean
 * square. Both are corrected for their start at 0.
 */
#include "base/array.h"
#include "learn/neural/nn.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

halley_status nn_adam_init(nn_adam *a, size_t n, const nn_adam_opts *opts,
                           halley_error *err)
{
    assert(n > 0);
    *a = (nn_adam){.opts = *opts, .n = n};
    if (n > SIZE_MAX / 2)
        return error_nomem(err);
    a->mean = mem_array_zero(2 * n, sizeof *a->mean);
    if (a->mean == NULL)
        return error_nomem(err);
    a->square = a->mean + n;
    return HALLEY_OK;
}

void nn_adam_fini(nn_adam *a)
{
    free(a->mean);
    *a = (nn_adam){0};
}

double nn_adam_rate(const nn_adam_opts *opts, uint32_t step)
{
    if (step < opts->n_warm)
        return opts->rate * (step + 1) / opts->n_warm;
    if (step >= opts->n_steps)
        return opts->rate * 0.1;
    const double share = (double)(step - opts->n_warm) / (opts->n_steps - opts->n_warm);
    return opts->rate * (0.1 + 0.9 * 0.5 * (1 + cos(3.14159265358979324 * share)));
}

static double measure_length(const nn_real *grad, size_t n)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += (double)grad[i] * (double)grad[i];
    return sqrt(squares);
}

halley_status nn_adam_step(nn_adam *a, nn_real *param, nn_real *grad, halley_error *err)
{
    assert(a->n > 0);
    enum { MAX_SKIPPED = 10 };
    const double whole = measure_length(grad, a->n);
    if (!isfinite(whole)) {
        if (++a->n_skipped >= MAX_SKIPPED)
            return error_set(err, HALLEY_EINVAL,
                             "training diverged: %d gradients in a row are not finite "
                             "at step %u; choose a lower rate",
                             MAX_SKIPPED, a->step);
        return HALLEY_OK;
    }
    a->n_skipped = 0;
    const nn_real shorten =
        (nn_real)(a->opts.clip > 0 && whole > a->opts.clip ? a->opts.clip / whole : 1);
    const double rate = nn_adam_rate(&a->opts, a->step++);
    const double free_mean = 1 - pow(0.9, a->step), free_square = 1 - pow(0.99, a->step);
    const nn_real pace = (nn_real)(rate / free_mean * sqrt(free_square));
    const nn_real keep = (nn_real)(1 - rate * a->opts.decay);
    const nn_real tiny = (nn_real)1e-8;
    for (size_t i = 0; i < a->n; i++) {
        const nn_real g = grad[i] * shorten;
        a->mean[i] += (nn_real)0.1 * (g - a->mean[i]);
        a->square[i] += (nn_real)0.01 * (g * g - a->square[i]);
        param[i] =
            keep * param[i] - pace * a->mean[i] / ((nn_real)sqrt(a->square[i]) + tiny);
    }
    return HALLEY_OK;
}
