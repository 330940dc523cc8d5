/*
 * Layers: matmul, embedding tables, layer normalization, GELU. Matmuls use OpenBLAS in
 * training. Our own loops add in a fixed order. So they are used for drawing samples: a
 * seed gives the same bytes whatever vector instructions the machine has.
 */
#include "learn/neural/nn.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Each row of c is a weighted sum of rows of b. */
static void multiply_rows(nn_product p, nn_real *c, const nn_real *a, const nn_real *b)
{
    for (size_t i = 0; i < p.m; i++)
        for (size_t l = 0; l < p.k; l++) {
            const nn_real x = p.trans_a ? a[l * p.m + i] : a[i * p.k + l];
            if (x == 0)
                continue;
            const nn_real *from = b + l * p.n;
            nn_real *to = c + i * p.n;
            for (size_t j = 0; j < p.n; j++)
                to[j] += x * from[j];
        }
}

/* Each element of c is the dot product of a row of a and a row of b. */
static void multiply_dots(nn_product p, nn_real *c, const nn_real *a, const nn_real *b)
{
    for (size_t i = 0; i < p.m; i++)
        for (size_t j = 0; j < p.n; j++) {
            const nn_real *y = b + j * p.k;
            nn_real sum = 0;
            for (size_t l = 0; l < p.k; l++)
                sum += (p.trans_a ? a[l * p.m + i] : a[i * p.k + l]) * y[l];
            c[i * p.n + j] += sum;
        }
}

void nn_gemm(const nn_run *run, nn_product p, nn_real *c, const nn_real *a,
             const nn_real *b)
{
    assert(a != c && b != c);
    if (p.m == 0 || p.n == 0)
        return;
    if (NN_IS_FLOAT && run->blas != NULL && run->blas->sgemm != NULL && p.k > 0) {
        enum { ROW_MAJOR = 101, PLAIN = 111, TRANS = 112 };
        run->blas->sgemm(ROW_MAJOR, p.trans_a ? TRANS : PLAIN, p.trans_b ? TRANS : PLAIN,
                         (int)p.m, (int)p.n, (int)p.k, 1, (const void *)a,
                         (int)(p.trans_a ? p.m : p.k), (const void *)b,
                         (int)(p.trans_b ? p.k : p.n), p.add ? 1.0F : 0.0F, (void *)c,
                         (int)p.n);
        return;
    }
    if (!p.add)
        memset(c, 0, (size_t)p.m * p.n * sizeof *c);
    (p.trans_b ? multiply_dots : multiply_rows)(p, c, a, b);
}

static size_t place_params(nn_layout *layout, size_t n)
{
    const size_t at = layout->n;
    layout->n += n;
    assert(layout->n >= n);
    return at;
}

static void fill_normal(nn_real *to, size_t n, double deviation, rng *r)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (nn_real)(deviation * rng_normal(r));
}

nn_dense nn_dense_new(nn_layout *layout, uint32_t n_in, uint32_t n_out, bool bias)
{
    assert(n_in > 0 && n_out > 0);
    nn_dense d = {.n_in = n_in, .n_out = n_out, .bias = NN_NO_BIAS};
    d.weight = place_params(layout, (size_t)n_in * n_out);
    if (bias)
        d.bias = place_params(layout, n_out);
    return d;
}

void nn_dense_init(const nn_dense *d, nn_real *param, rng *r)
{
    fill_normal(param + d->weight, (size_t)d->n_in * d->n_out, 1 / sqrt(d->n_in), r);
    if (d->bias != NN_NO_BIAS)
        memset(param + d->bias, 0, d->n_out * sizeof *param);
}

void nn_dense_forward(const nn_run *run, const nn_dense *d, nn_real *y, const nn_real *x,
                      uint32_t n_rows, bool add)
{
    const nn_product p = {.m = n_rows, .n = d->n_out, .k = d->n_in, .add = add};
    nn_gemm(run, p, y, x, run->param + d->weight);
    if (d->bias == NN_NO_BIAS)
        return;
    const nn_real *bias = run->param + d->bias;
    for (size_t i = 0; i < n_rows; i++)
        for (size_t j = 0; j < d->n_out; j++)
            y[i * d->n_out + j] += bias[j];
}

void nn_dense_backward(const nn_run *run, const nn_dense *d, nn_real *dx,
                       const nn_real *dy, const nn_real *x, uint32_t n_rows)
{
    assert(run->grad != NULL);
    const nn_product weight = {
        .m = d->n_in, .n = d->n_out, .k = n_rows, .trans_a = true, .add = true};
    nn_gemm(run, weight, run->grad + d->weight, x, dy);
    if (d->bias != NN_NO_BIAS)
        for (size_t i = 0; i < n_rows; i++)
            for (size_t j = 0; j < d->n_out; j++)
                run->grad[d->bias + j] += dy[i * d->n_out + j];
    if (dx == NULL)
        return;
    const nn_product input = {
        .m = n_rows, .n = d->n_in, .k = d->n_out, .trans_b = true, .add = true};
    nn_gemm(run, input, dx, dy, run->param + d->weight);
}

nn_embed nn_embed_new(nn_layout *layout, uint32_t n_rows, uint32_t width)
{
    return (nn_embed){n_rows, width, place_params(layout, (size_t)n_rows * width)};
}

void nn_embed_init(const nn_embed *e, nn_real *param, rng *r, double deviation)
{
    fill_normal(param + e->table, (size_t)e->n_rows * e->width, deviation, r);
}

void nn_embed_forward(const nn_run *run, const nn_embed *e, nn_real *y,
                      const uint32_t *id, uint32_t n, bool add)
{
    assert(e->width > 0);
    if (!add)
        memset(y, 0, (size_t)n * e->width * sizeof *y);
    for (size_t i = 0; i < n; i++) {
        if (id[i] == NN_NO_ROW)
            continue;
        const nn_real *row = run->param + e->table + (size_t)id[i] * e->width;
        for (size_t j = 0; j < e->width; j++)
            y[i * e->width + j] += row[j];
    }
}

void nn_embed_backward(const nn_run *run, const nn_embed *e, const nn_real *dy,
                       const uint32_t *id, uint32_t n)
{
    assert(run->grad != NULL);
    for (size_t i = 0; i < n; i++) {
        if (id[i] == NN_NO_ROW)
            continue;
        nn_real *row = run->grad + e->table + (size_t)id[i] * e->width;
        for (size_t j = 0; j < e->width; j++)
            row[j] += dy[i * e->width + j];
    }
}

nn_norm nn_norm_new(nn_layout *layout, uint32_t width)
{
    assert(width > 0);
    nn_norm l = {.width = width};
    l.gain = place_params(layout, width);
    l.bias = place_params(layout, width);
    return l;
}

void nn_norm_init(const nn_norm *l, nn_real *param)
{
    for (size_t i = 0; i < l->width; i++) {
        param[l->gain + i] = 1;
        param[l->bias + i] = 0;
    }
}

/* The mean of a row, and 1 over its standard deviation. */
static void measure_moments(nn_real *mean, nn_real *rescale, const nn_real *x, uint32_t n)
{
    assert(n > 0);
    nn_real sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / (nn_real)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *rescale = 1 / (nn_real)sqrt((double)squares / n + 1e-5);
}

void nn_norm_forward(const nn_run *run, const nn_norm *l, nn_real *y, const nn_real *x,
                     uint32_t n_rows)
{
    const nn_real *gain = run->param + l->gain, *bias = run->param + l->bias;
    for (size_t i = 0; i < n_rows; i++, x += l->width, y += l->width) {
        nn_real mean, rescale;
        measure_moments(&mean, &rescale, x, l->width);
        for (size_t j = 0; j < l->width; j++)
            y[j] = (x[j] - mean) * rescale * gain[j] + bias[j];
    }
}

void nn_norm_backward(const nn_run *run, const nn_norm *l, nn_real *dx, const nn_real *dy,
                      const nn_real *x, uint32_t n_rows)
{
    assert(run->grad != NULL);
    const nn_real *gain = run->param + l->gain;
    nn_real *dgain = run->grad + l->gain, *dbias = run->grad + l->bias;
    const uint32_t n = l->width;
    for (size_t i = 0; i < n_rows; i++, x += n, dy += n, dx += n) {
        nn_real mean, rescale, sum = 0, along = 0;
        measure_moments(&mean, &rescale, x, n);
        for (size_t j = 0; j < n; j++) {
            const nn_real unit = (x[j] - mean) * rescale;
            dgain[j] += dy[j] * unit;
            dbias[j] += dy[j];
            sum += dy[j] * gain[j];
            along += dy[j] * gain[j] * unit;
        }
        for (size_t j = 0; j < n; j++) {
            const nn_real unit = (x[j] - mean) * rescale;
            dx[j] += rescale * (dy[j] * gain[j] - (sum + unit * along) / (nn_real)n);
        }
    }
}

static const nn_real GELU_SLOPE = (nn_real)1.702;

void nn_gelu_forward(nn_real *y, const nn_real *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] * nn_sigmoid(GELU_SLOPE * x[i]);
}

void nn_gelu_backward(nn_real *dx, const nn_real *dy, const nn_real *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const nn_real s = nn_sigmoid(GELU_SLOPE * x[i]);
        dx[i] += dy[i] * (s + GELU_SLOPE * x[i] * s * (1 - s));
    }
}

bool nn_finite(const nn_real *at, size_t n)
{
    nn_real zero = 0; /* infinity and NaN times 0 are NaN, which stays in the sum */
    for (size_t i = 0; i < n; i++)
        zero += at[i] * 0;
    return zero == 0;
}
