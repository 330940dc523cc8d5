/*
 * learn/neural/nn.h - a small neural network library: layers with explicit forward and
 * backward passes.
 *
 * All parameters of a network are in one array of nn_real. A layer holds a few sizes and
 * the positions of its weights in that array. So a layer is plain data, and the
 * gradients are a second array of the same length. A batch is a row-major matrix without
 * gaps. Forward passes write `y`, or add to it where they say so. Backward passes take
 * the gradient `dy` of the loss with respect to the output. They ADD to the gradient of
 * the input (`dx`, NULL = not needed) and to that of the parameters (run->grad).
 *
 * Nothing here starts threads or keeps state. To be independent of the number of
 * threads, split a batch into parts of fixed size. Give each part its own gradient array
 * and add these in order.
 */
#ifndef LEARN_NEURAL_NN_H
#define LEARN_NEURAL_NN_H

#include "base/error.h"
#include "base/rng.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The tests compile this source with double, to compare gradients with finite
 * differences. */
#ifndef NN_REAL
#define NN_REAL float
#endif
typedef NN_REAL nn_real;

/* OpenBLAS, if the machine has it; {0} = our own loops. */
typedef void nn_sgemm(int order, int trans_a, int trans_b, int m, int n, int k,
                      float alpha, const float *a, int lda, const float *b, int ldb,
                      float beta, float *c, int ldc);
typedef struct nn_blas {
    void *handle;
    nn_sgemm *sgemm;
    void (*set_threads)(int);
    int n_threads; /* the previous setting, to be restored */
} nn_blas;

/* Loads the library and sets it to one thread, since the batch is already split. A
 * missing library is not an error. */
void nn_blas_open(nn_blas *blas);
void nn_blas_close(nn_blas *blas);

/* The context of a computation. One per thread; `param` is shared. */
typedef struct nn_run {
    const nn_real *param;
    nn_real *grad;       /* NULL in forward passes */
    const nn_blas *blas; /* NULL = our own loops, with the same bits on every machine */
} nn_run;

/* c = a b, or c += a b. a is m x k (or k x m and transposed), b is k x n (or n x k). */
typedef struct nn_product {
    uint32_t m, n, k;
    bool trans_a, trans_b, add;
} nn_product;
void nn_gemm(const nn_run *run, nn_product p, nn_real *c, const nn_real *a,
             const nn_real *b);

/* Positions of the parameters, assigned while the layers are made. */
typedef struct nn_layout {
    size_t n;
} nn_layout;

/* y = x w + b. */
typedef struct nn_dense {
    uint32_t n_in, n_out;
    size_t weight, bias; /* positions; NN_NO_BIAS: the layer has no bias */
} nn_dense;
#define NN_NO_BIAS SIZE_MAX
nn_dense nn_dense_new(nn_layout *layout, uint32_t n_in, uint32_t n_out, bool bias);
void nn_dense_init(const nn_dense *d, nn_real *param, rng *r);
/* `add`: y += x w + b, for an input in several pieces. */
void nn_dense_forward(const nn_run *run, const nn_dense *d, nn_real *y, const nn_real *x,
                      uint32_t n_rows, bool add);
void nn_dense_backward(const nn_run *run, const nn_dense *d, nn_real *dx,
                       const nn_real *dy, const nn_real *x, uint32_t n_rows);

/* y[i] is row id[i] of a table. NN_NO_ROW gives zeros. */
typedef struct nn_embed {
    uint32_t n_rows, width;
    size_t table;
} nn_embed;
#define NN_NO_ROW UINT32_MAX
nn_embed nn_embed_new(nn_layout *layout, uint32_t n_rows, uint32_t width);
void nn_embed_init(const nn_embed *e, nn_real *param, rng *r, double deviation);
void nn_embed_forward(const nn_run *run, const nn_embed *e, nn_real *y,
                      const uint32_t *id, uint32_t n, bool add);
void nn_embed_backward(const nn_run *run, const nn_embed *e, const nn_real *dy,
                       const uint32_t *id, uint32_t n);

/* Layer normalization: each row to mean 0 and deviation 1, then times a gain, plus a
 * bias. */
typedef struct nn_norm {
    uint32_t width;
    size_t gain, bias;
} nn_norm;
nn_norm nn_norm_new(nn_layout *layout, uint32_t width);
void nn_norm_init(const nn_norm *l, nn_real *param);
void nn_norm_forward(const nn_run *run, const nn_norm *l, nn_real *y, const nn_real *x,
                     uint32_t n_rows);
void nn_norm_backward(const nn_run *run, const nn_norm *l, nn_real *dx, const nn_real *dy,
                      const nn_real *x, uint32_t n_rows);

/* GELU as x sigmoid(1.702 x). y may be x in the forward pass. */
void nn_gelu_forward(nn_real *y, const nn_real *x, size_t n);
void nn_gelu_backward(nn_real *dx, const nn_real *dy, const nn_real *x, size_t n);

/* A gated recurrent unit over several sequences, longest first. Rows are packed by step:
 * step t has rows first[t] to first[t + 1] - 1, one per sequence longer than t. `state`
 * row i of step t is the state AFTER the input of that row. */
typedef struct nn_gru {
    nn_dense input; /* to reset, update and candidate; n_in x 3 width */
    nn_dense recur; /* the same from the previous state */
    uint32_t width;
} nn_gru;
nn_gru nn_gru_new(nn_layout *layout, uint32_t n_in, uint32_t width);
void nn_gru_init(const nn_gru *g, nn_real *param, rng *r);
/* Memory of a pass, owned by the caller: rows x 3 width each. */
typedef struct nn_gru_memory {
    nn_real *gate;   /* input part, then reset, update and candidate after activation */
    nn_real *recur;  /* recurrent part before activation */
    nn_real *before; /* rows x width: the previous state */
} nn_gru_memory;
typedef struct nn_steps {
    const uint32_t *first; /* n + 1 entries */
    uint32_t n;
    /* by row: the row of an earlier step whose state is averaged with the previous
     * state; NN_NO_ROW or NULL = none */
    const uint32_t *also;
} nn_steps;
/* `start`: the states before the first step, as many rows as it has. */
void nn_gru_forward(const nn_run *run, const nn_gru *g, nn_gru_memory *m, nn_steps steps,
                    nn_real *state, const nn_real *x, const nn_real *start);
/* dstate is overwritten: it holds the gradients of the states in the end. dgate is
 * scratch, rows x 7 width. */
void nn_gru_backward(const nn_run *run, const nn_gru *g, const nn_gru_memory *m,
                     nn_steps steps, nn_real *dx, nn_real *dstart, nn_real *dstate,
                     nn_real *dgate, const nn_real *x);

/* Losses. Each returns the sum over rows in nats and replaces the scores by the
 * gradient. */
/* Rows with target NN_NO_ROW do not count. */
double nn_softmax_loss(nn_real *score, const uint32_t *target, uint32_t n_rows,
                       uint32_t n_classes);
/* target is 0 or 1. */
double nn_bernoulli_loss(nn_real *score, const uint8_t *target, size_t n);

/* A number as a mixture of logistic distributions. A row of scores is n_parts weights
 * (as logits), n_parts centres, n_parts logarithms of scales. Scales stay above
 * NN_SCALE_LOW. */
enum { NN_MIX_PARTS = 3, NN_MIX_WIDTH = 3 * NN_MIX_PARTS };
#define NN_SCALE_LOW 0.002
double nn_mixture_loss(nn_real *score, const nn_real *target, uint32_t n_rows);

/* Draws from scores. `temperature` 1 = as learned, 0 = the most likely. Choices whose
 * probability is less than `least` times that of the most likely one are never drawn. */
uint32_t nn_softmax_draw(const nn_real *score, uint32_t n_classes, double temperature,
                         double least, rng *r);
bool nn_bernoulli_draw(nn_real score, double temperature, rng *r);
double nn_mixture_draw(const nn_real score[NN_MIX_WIDTH], double temperature, rng *r);

/* Adam with decoupled weight decay. The rate rises linearly, then falls as a cosine to a
 * tenth. Gradients longer than `clip` are shortened to it. */
typedef struct nn_adam_opts {
    double rate, decay, clip;
    uint32_t n_warm, n_steps; /* steps of the rise, and in total */
} nn_adam_opts;
typedef struct nn_adam {
    nn_adam_opts opts;
    nn_real *mean, *square; /* moments of the gradients; one allocation, at mean */
    size_t n;
    uint32_t step, n_skipped; /* n_skipped: consecutive steps skipped because a gradient
                                 was not finite */
} nn_adam;
halley_status nn_adam_init(nn_adam *a, size_t n, const nn_adam_opts *opts,
                           halley_error *err);
void nn_adam_fini(nn_adam *a);
double nn_adam_rate(const nn_adam_opts *opts, uint32_t step);
/* One step along -`grad`. A gradient that is not finite changes nothing. The tenth in a
 * row is EINVAL. */
halley_status nn_adam_step(nn_adam *a, nn_real *param, nn_real *grad, halley_error *err);

bool nn_finite(const nn_real *at, size_t n);

#define NN_IS_FLOAT (sizeof(nn_real) == sizeof(float))

/* exp by plain arithmetic: the same bits on every machine, and loops can be
 * vectorized. */
static inline float nn_exp_float(float x)
{
    x = x > -87 ? x : -87; /* also maps NaN to -87 */
    x = x < 88 ? x : 88;
    const int32_t k = (int32_t)(x * 1.44269504F + 127.5F) - 127; /* rounds: sum > 0 */
    const float r = (x - (float)k * 0.693359375F) + (float)k * 2.12194440e-4F;
    float y = 1.3888889e-3F;
    y = y * r + 8.3333333e-3F;
    y = y * r + 4.1666667e-2F;
    y = y * r + 1.6666667e-1F;
    y = y * r + 0.5F;
    y = y * r + 1;
    y = y * r + 1;
    const union {
        int32_t bits;
        float value;
    } power = {(k + 127) * (1 << 23)}; /* 2^k */
    return y * power.value;
}

static inline nn_real nn_exp(nn_real x)
{
    return NN_IS_FLOAT ? (nn_real)nn_exp_float((float)x)
                       : (nn_real)__builtin_exp((double)x);
}

static inline nn_real nn_sigmoid(nn_real x)
{
    return 1 / (1 + nn_exp(-x));
}

#endif
