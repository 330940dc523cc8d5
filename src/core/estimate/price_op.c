/*
 * The time of one operator: forward, backward (gradients of inputs and weights), and the
 * part that recomputation repeats. Matmuls run at the clocks that training sustains.
 */
#include "estimate/extend.h"
#include "estimate/price.h"
#include "workload/again.h"

#include <assert.h>
#include <math.h>

/* The factor for sizes that are badly aligned for the tensor units. */
static double compute_misalignment(const halley_npu *npu, const workload_op *op)
{
    if (npu->round_to > 1)
        return 1;
    if (fmod(op->n, 8) != 0 || fmod(op->k, 8) != 0)
        return npu->misaligned_8;
    if (fmod(op->n, 64) != 0 || fmod(op->k, 64) != 0)
        return npu->misaligned_64;
    return 1;
}

static double head_misaligned(const halley_npu *npu, double dim)
{
    if (fmod(dim, 2) != 0)
        return npu->head_misaligned_2;
    return fmod(dim, 8) != 0 ? npu->head_misaligned_8 : 1;
}

typedef struct op_time {
    double f, b; /* seconds */
    double w;    /* the part of b for weight gradients */
    double cast_f, cast_b;
} op_time;

/* A convolution as an implicit matmul: the m x k matrix is never written, and its input
 * is read once for all positions of the window. */
static cost_gemm make_convolution(const cost_gemm *g, const workload_op *op)
{
    cost_gemm own = *g;
    const double m = op->m, n = op->n, k = op->k;
    own.memory_s *= (m * k / op->window + n * k + m * n) / (m * k + n * k + m * n);
    return own;
}

/* Factors of a stack and of a family are averages over shapes and devices. No factor may
 * make a matmul faster than the peak of its units. */
static double scaled_gemm(const cost_gemm *g, double factor, double m, double n, double k,
                          double groups)
{
    return fmax(factor * cost_gemm_time(g, m, n, k, groups, true),
                2 * m * n * k * groups * g->flop_s);
}

static op_time gemm_time(const price_context *c, const workload_op *op)
{
    const bool low = op->low && !c->only_wide;
    cost_gemm own;
    const cost_gemm *g = low ? &c->low : &c->wide;
    if (op->window > 1) {
        own = make_convolution(g, op);
        g = &own;
    }
    double factor = (low ? c->low_factor : c->wide_factor) * c->busy;
    factor *= compute_misalignment(&c->cluster->npu, op);
    if (op->slow > 0)
        factor *= op->slow;
    if (op->class == WORKLOAD_EXPERTS)
        factor *= c->stack->k[HALLEY_K_GEMM_MOE];
    const double m = op->m, n = op->n, k = op->k, groups = op->groups;
    op_time t = {
        .f = scaled_gemm(g, factor, m, n, k, groups),
        .w = op->frozen ? 0 : scaled_gemm(g, factor, n, k, m, groups),
    };
    t.b = scaled_gemm(g, factor, m, k, n, groups) + t.w;
    if (low && c->cast_bytes > 0) {
        t.cast_f = op->cast_f * c->cast_bytes * c->stream_s;
        t.cast_b = op->cast_b * c->cast_bytes * c->stream_s;
    }
    return t;
}

static op_time batched_time(const price_context *c, const workload_op *op)
{
    const double factor = c->stack->k[HALLEY_K_BATCHED] * c->stack->k[HALLEY_K_GEMM] *
                          c->busy * c->cluster->npu.batched_factor *
                          head_misaligned(&c->cluster->npu, op->head_dim);
    const double m = op->m, n = op->n, k = op->k, g = op->groups;
    return (op_time){
        .f = scaled_gemm(&c->wide, factor, m, n, k, g),
        .b = scaled_gemm(&c->wide, factor, m, k, n, g) +
             scaled_gemm(&c->wide, factor, n, k, m, g),
    };
}

/* The fraction of peak for a head size, interpolated between measured sizes. */
static double attention_share(const halley_npu *npu, double dim)
{
    assert(dim > 0);
    const double at = dim / 64 - 1;
    if (at <= 0)
        return npu->attention_share[0] * (dim > 16 ? dim / 64 : 0.25);
    const int i = at >= 3 ? 2 : (int)at;
    const double w = at >= 3 ? 1 : at - i;
    return npu->attention_share[i] * (1 - w) + npu->attention_share[i + 1] * w;
}

/* Attention runs in 16 bits, or in fp32 if all training does. */
static double find_attention_peak(const price_context *c)
{
    const halley_npu *npu = &c->cluster->npu;
    const halley_dtype type = c->plan->dtype;
    const double wide = halley_npu_wide_peak(npu);
    const bool full = type == HALLEY_FP32 || type == HALLEY_TF32;
    return full ? fmin(wide, npu->peak_flops[type]) : wide;
}

static double find_fastest_peak(const price_context *c)
{
    const double own = find_attention_peak(c);
    return c->plan->fp8_attention ? fmax(own, c->cluster->npu.peak_flops[HALLEY_FP8])
                                  : own;
}

static op_time flash_time(const price_context *c, const workload_op *op)
{
    const halley_npu *npu = &c->cluster->npu;
    const double skew = 1 + c->stack->k[HALLEY_K_CP_SKEW] * (1 - 1.0 / c->plan->cp);
    const double s = op->seq;
    const double rate = find_attention_peak(c) * attention_share(npu, op->head_dim) * s /
                        (s + npu->attention_half);
    const double *k = c->stack->k;
    const bool is_old =
        c->stack->old_attention || c->plan->attention == HALLEY_ATTENTION_OLD;
    const double old = is_old && npu->attention_old > 0 ? npu->attention_old : 1;
    double factor = k[HALLEY_K_ATTENTION] * c->busy * skew / old;
    if (c->plan->fp8_attention)
        factor *= k[HALLEY_K_FP8_ATTENTION];
    if (c->model->sinks)
        factor *= k[HALLEY_K_SINKS];
    const double least = op->flops / find_fastest_peak(c); /* no factor beats the peak */
    return (op_time){
        .f = fmax(factor * op->flops / rate, least) + op->bytes_f * c->stream_s,
        .b = 2.5 * fmax(factor * op->flops / (rate * npu->attention_backward), least) +
             op->bytes_b * c->stream_s,
    };
}

static op_time stream_time(const price_context *c, const workload_op *op)
{
    double factor = op->odd ? c->stack->k[HALLEY_K_SOFTMAX_ODD] : 1;
    if (op->raw)
        factor *= c->cluster->npu.memory_share;
    return (op_time){.f = factor * op->bytes_f * c->stream_s,
                     .b = factor * op->bytes_b * c->stream_s};
}

/* FLOP/s outside the matmul units. If a device states an fp32 peak, it is used up to an
 * eighth of the 16-bit peak, because it may be that of the matmul units. Otherwise a
 * sixteenth of the 16-bit peak is used. On devices that state both peaks, the ratio is an
 * eighth (MI300X) to a sixteenth (A100, H100). */
static double find_vector_peak(const halley_npu *npu)
{
    const double wide = halley_npu_wide_peak(npu), own = npu->peak_flops[HALLEY_FP32];
    return own > 0 ? fmin(own, wide / 8) : wide / 16;
}

/* A roofline: the longer of arithmetic and memory traffic. */
static op_time vector_time(const price_context *c, const workload_op *op)
{
    const double rate = find_vector_peak(&c->cluster->npu);
    assert(rate > 0);
    return (op_time){.f = fmax(c->busy * op->flops / rate, op->bytes_f * c->stream_s),
                     .b = fmax(c->busy * op->flops_b / rate, op->bytes_b * c->stream_s)};
}

static op_time one_time(const price_context *c, const workload_op *op)
{
    switch (op->kind) {
    case WORKLOAD_GEMM:
        return gemm_time(c, op);
    case WORKLOAD_BATCHED:
        return batched_time(c, op);
    case WORKLOAD_FLASH:
        return flash_time(c, op);
    case WORKLOAD_VECTOR:
        return vector_time(c, op);
    case WORKLOAD_STREAM:
    case WORKLOAD_COLL:
        break;
    }
    return stream_time(c, op);
}

static op_time compute_op_time(const price_context *c, const workload_op *op)
{
    op_time t = one_time(c, op);
    t.f = estimate_extended(c->cluster, op, false, t.f);
    t.b = estimate_extended(c->cluster, op, true, t.b);
    if (op->repeat > 0) {
        t.f *= op->repeat;
        t.b *= op->repeat;
        t.w *= op->repeat;
        t.cast_f *= op->repeat;
        t.cast_b *= op->repeat;
    }
    return t;
}

price_op price_op_make(const price_context *c, const workload_op *op)
{
    assert(c->stream_s > 0);
    assert(op->kind != WORKLOAD_COLL);
    const op_time t = compute_op_time(c, op);
    return (price_op){.forward_s = t.f + t.cast_f,
                      .backward_s = t.b + t.cast_b,
                      .again_s =
                          workload_again_share(c->plan, c->stack, op) * (t.f + t.cast_f),
                      .cast_f_s = t.cast_f,
                      .cast_b_s = t.cast_b,
                      .weight_s = t.w};
}

bool price_repeats_messages(const halley_plan *plan)
{
    return plan->recompute == HALLEY_RECOMPUTE_FULL;
}
