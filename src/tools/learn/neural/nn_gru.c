/*
 * Gated recurrent unit (Cho et al., 2014). The reset gate comes after the recurrent
 * matmul, so that a step is one matmul:
 *
 *     r = sigmoid(x Wr + h Ur)    u = sigmoid(x Wu + h Uu)    c = tanh(x Wc + r (h Uc))
 *     h' = u h + (1 - u) c
 *
 * The matmul with the inputs covers all steps at once. That with the states goes step by
 * step, for all sequences that have the step. A row may also use an earlier state: its h
 * is then the mean of the previous state and that one.
 */
#include "learn/neural/nn.h"

#include <assert.h>
#include <string.h>

nn_gru nn_gru_new(nn_layout *layout, uint32_t n_in, uint32_t width)
{
    assert(n_in > 0 && width > 0);
    nn_gru g = {.width = width};
    g.input = nn_dense_new(layout, n_in, 3 * width, true);
    g.recur = nn_dense_new(layout, width, 3 * width, true);
    return g;
}

void nn_gru_init(const nn_gru *g, nn_real *param, rng *r)
{
    nn_dense_init(&g->input, param, r);
    nn_dense_init(&g->recur, param, r);
    for (uint32_t i = 0; i < g->width; i++) /* favours remembering at first */
        param[g->input.bias + g->width + i] = 1;
}

static nn_real compute_tanh(nn_real x)
{
    return 2 * nn_sigmoid(2 * x) - 1;
}

/* Computes one row. `gate` holds the input part and becomes the activations. */
static void step_row(nn_real *gate, const nn_real *recur, nn_real *state,
                     const nn_real *before, size_t w)
{
    for (size_t i = 0; i < w; i++) {
        const nn_real reset = nn_sigmoid(gate[i] + recur[i]);
        const nn_real update = nn_sigmoid(gate[w + i] + recur[w + i]);
        const nn_real fresh = compute_tanh(gate[2 * w + i] + reset * recur[2 * w + i]);
        gate[i] = reset;
        gate[w + i] = update;
        gate[2 * w + i] = fresh;
        state[i] = update * before[i] + (1 - update) * fresh;
    }
}

static bool looks_back(const nn_steps *steps, size_t row)
{
    return steps->also != NULL && steps->also[row] != NN_NO_ROW;
}

void nn_gru_forward(const nn_run *run, const nn_gru *g, nn_gru_memory *m, nn_steps steps,
                    nn_real *state, const nn_real *x, const nn_real *start)
{
    const size_t w = g->width;
    nn_dense_forward(run, &g->input, m->gate, x, steps.first[steps.n], false);
    const nn_real *before = start;
    for (uint32_t t = 0; t < steps.n; t++) {
        const size_t at = steps.first[t];
        const uint32_t n = steps.first[t + 1] - steps.first[t];
        memcpy(m->before + at * w, before, n * w * sizeof *before);
        for (size_t row = at; row < at + n; row++)
            for (size_t i = 0; looks_back(&steps, row) && i < w; i++) {
                nn_real *h = &m->before[row * w + i];
                *h = (*h + state[steps.also[row] * w + i]) / 2;
            }
        nn_dense_forward(run, &g->recur, m->recur + at * 3 * w, m->before + at * w, n,
                         false);
        for (size_t i = at; i < at + n; i++)
            step_row(m->gate + i * 3 * w, m->recur + i * 3 * w, state + i * w,
                     m->before + i * w, g->width);
        before = state + at * w;
    }
}

/* The gradients of one row: with respect to the sums before activation (input part,
 * recurrent part), and directly to the previous state. */
static void unstep_row(nn_real *dinput, nn_real *drecur, nn_real *dbefore,
                       const nn_real *dstate, const nn_real *gate, const nn_real *recur,
                       const nn_real *before, size_t w)
{
    for (size_t i = 0; i < w; i++) {
        const nn_real reset = gate[i], update = gate[w + i], fresh = gate[2 * w + i];
        const nn_real dfresh = dstate[i] * (1 - update) * (1 - fresh * fresh);
        dinput[2 * w + i] = dfresh;
        drecur[2 * w + i] = dfresh * reset;
        dinput[i] = drecur[i] = dfresh * recur[2 * w + i] * reset * (1 - reset);
        dinput[w + i] = drecur[w + i] =
            dstate[i] * (before[i] - fresh) * update * (1 - update);
        dbefore[i] += dstate[i] * update;
    }
}

/* Passes the gradient of a row's h to the previous state and to the earlier one. */
static void hand_back(nn_real *to, nn_real *dstate, const nn_real *dbefore,
                      const nn_steps *steps, size_t row, size_t w)
{
    const bool both = looks_back(steps, row);
    for (size_t i = 0; i < w; i++) {
        to[i] += both ? dbefore[i] / 2 : dbefore[i];
        if (both)
            dstate[steps->also[row] * w + i] += dbefore[i] / 2;
    }
}

void nn_gru_backward(const nn_run *run, const nn_gru *g, const nn_gru_memory *m,
                     nn_steps steps, nn_real *dx, nn_real *dstart, nn_real *dstate,
                     nn_real *dgate, const nn_real *x)
{
    assert(run->grad != NULL);
    const size_t w = g->width;
    const uint32_t n_rows = steps.first[steps.n];
    nn_real *dinput = dgate, *drecur = dgate + (size_t)n_rows * 3 * w;
    nn_real *dbefore = drecur + (size_t)n_rows * 3 * w;
    memset(dbefore, 0, n_rows * w * sizeof *dbefore);
    const nn_product back = {
        .n = g->width, .k = 3 * g->width, .trans_b = true, .add = true};
    for (uint32_t t = steps.n; t-- > 0;) {
        const size_t at = steps.first[t];
        const uint32_t n = steps.first[t + 1] - steps.first[t];
        for (size_t row = at; row < at + n; row++)
            unstep_row(dinput + row * 3 * w, drecur + row * 3 * w, dbefore + row * w,
                       dstate + row * w, m->gate + row * 3 * w, m->recur + row * 3 * w,
                       m->before + row * w, g->width);
        nn_product p = back;
        p.m = n;
        nn_gemm(run, p, dbefore + at * w, drecur + at * 3 * w,
                run->param + g->recur.weight);
        nn_real *to = t > 0 ? dstate + (size_t)steps.first[t - 1] * w : dstart;
        for (size_t row = at; row < at + n; row++, to += w)
            hand_back(to, dstate, dbefore + row * w, &steps, row, w);
    }
    nn_dense_backward(run, &g->recur, NULL, drecur, m->before, n_rows);
    nn_dense_backward(run, &g->input, dx, dinput, x, n_rows);
}
