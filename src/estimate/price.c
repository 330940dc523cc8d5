/*
 * Prices. Each operator gets three times: forward, backward (input and weight gradient),
 * and what recomputation repeats. Products in training run at sustained clocks. Messages
 * get the share that compute does not hide. Host and NPU overlap inside a phase, not per
 * kernel, so the floor is applied to the forward and backward pass of a layer as a whole:
 * t = (npu^6 + host^6)^(1/6).
 */
#include "estimate/price.h"

#include "estimate/extend.h"
#include "estimate/groups.h"
#include "estimate/outer.h"
#include "workload/memory.h"

#include <math.h>

static void set_low(price_context *c)
{
    const halley_npu *npu = &c->cluster->npu;
    const double *k = c->stack->k;
    const halley_dtype type = c->plan->dtype;
    c->low = c->wide;
    c->low_factor = c->wide_factor;
    c->cast_bytes = 0;
    if (type == HALLEY_FP32 || type == HALLEY_TF32) {
        c->low = cost_gemm_make(npu, &npu->gemm, npu->peak_flops[type], 4);
        c->wide = c->low;
        return;
    }
    if (type != HALLEY_FP8 && type != HALLEY_FP4 && type != HALLEY_INT8)
        return;
    const halley_dtype eight = type == HALLEY_INT8 ? HALLEY_INT8 : HALLEY_FP8;
    c->low = cost_gemm_make(npu, &npu->gemm_fp8, npu->peak_flops[eight], 1);
    c->low_factor = k[HALLEY_K_GEMM] * k[HALLEY_K_GEMM_FP8];
    c->cast_bytes = k[HALLEY_K_CAST];
    if (c->plan->recipe == HALLEY_FP8_ROW)
        c->cast_bytes *= k[HALLEY_K_CAST_ROW];
    if (c->plan->recipe == HALLEY_FP8_BLOCK)
        c->cast_bytes = k[HALLEY_K_CAST_MX];
    if (type == HALLEY_FP4) {
        c->low_factor *= k[HALLEY_K_GEMM_FP4];
        c->cast_bytes = k[HALLEY_K_CAST_FP4];
    }
}

/* A share of all traffic goes to the outer tier: COMET's one effective bandwidth. */
static void spread(price_context *c, double share, const halley_tier *tier)
{
    if (!tier || share <= 0)
        return;
    const double local = c->cluster->npu.tiers[0].bandwidth_Bps;
    const double users = workload_outer_users(tier, c->plan, c->cluster);
    const double slower = 1 - share + share * local * users / tier->bandwidth_Bps;
    c->stream_s *= slower;
    c->wide.memory_s *= slower;
    c->low.memory_s *= slower;
}

void price_context_make(price_context *out, const halley_model *model,
                        const halley_plan *plan, const halley_cluster *cluster,
                        const halley_stack *stack, const halley_estimate *e)
{
    const halley_npu *npu = &cluster->npu;
    price_context *c = out;
    c->model = model;
    c->plan = plan;
    c->cluster = cluster;
    c->stack = stack;
    c->wide = cost_gemm_make(npu, &npu->gemm, halley_npu_wide_peak(npu), 2);
    c->wide_factor = stack->k[HALLEY_K_GEMM];
    set_low(c);
    c->stream_s = 1 / (npu->memory_share * npu->tiers[0].bandwidth_Bps);
    if (plan->spread)
        spread(c, estimate_outer_share(e), workload_outer_tier(plan, cluster));
    plan_group_sizes(c->n, c->per_node, plan, cluster->nodes.npus);
    const uint32_t used = plan->tp * plan->cp * plan->dp * plan->pp;
    const uint32_t near = used < cluster->nodes.npus ? used : cluster->nodes.npus;
    const double busy = cluster->nodes.npus > 1 ? (near - 1.0) / 7.0 : 0;
    c->host = cluster->host_factor *
              (1 + stack->k[HALLEY_K_HOST_SHARE] * (busy > 1 ? 1 : busy));
}

double price_coll(const price_context *c, coll_kind kind, workload_group group,
                  double bytes)
{
    const uint32_t n = c->n[group], near = c->per_node[group];
    const coll_call call = {.kind = kind, .bytes = bytes, .n = n, .per_node = near};
    const double t =
        coll_call_time(&c->cluster->nodes.up, hw_outer_fabric(c->cluster), &call);
    return near < n ? t * c->stack->k[HALLEY_K_NETWORK] : t;
}

price_shards price_shards_make(const price_context *c, double weights,
                               double expert_weights)
{
    const double gb = c->plan->gradient_bytes;
    price_shards s = {
        .gather_s = price_coll(c, COLL_ALL_GATHER, WORKLOAD_FSDP, 2 * weights),
        .reduce_s = price_coll(c, COLL_REDUCE_SCATTER, WORKLOAD_FSDP, gb * weights)};
    if (expert_weights > 0) {
        s.gather_s += price_coll(c, COLL_ALL_GATHER, WORKLOAD_XP, 2 * expert_weights);
        s.reduce_s +=
            price_coll(c, COLL_REDUCE_SCATTER, WORKLOAD_XP, gb * expert_weights);
    }
    return s;
}

double price_side_by_side(double a, double b)
{
    const double big = a > b ? a : b, small = a > b ? b : a;
    const double r = small / big, r3 = r * r * r;
    return r < 0.2 ? big : big * sqrt(cbrt(1 + r3 * r3));
}

/* Factor for sizes the tensor units do not like. */
static double misaligned(const halley_npu *npu, const workload_op *op)
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
    double cast_f, cast_b;
} op_time;

/* A convolution as a product: the matrix m x k is never written, its input is read once
 * for all places of the window. */
static cost_gemm convolve(const cost_gemm *g, const workload_op *op)
{
    cost_gemm own = *g;
    const double m = op->m, n = op->n, k = op->k;
    own.memory_s *= (m * k / op->window + n * k + m * n) / (m * k + n * k + m * n);
    return own;
}

static op_time gemm_time(const price_context *c, const workload_op *op)
{
    cost_gemm own;
    const cost_gemm *g = op->low ? &c->low : &c->wide;
    if (op->window > 1) {
        own = convolve(g, op);
        g = &own;
    }
    double factor = op->low ? c->low_factor : c->wide_factor;
    factor *= misaligned(&c->cluster->npu, op);
    if (op->class == WORKLOAD_EXPERTS)
        factor *= c->stack->k[HALLEY_K_GEMM_MOE];
    const double m = op->m, n = op->n, k = op->k, groups = op->groups;
    op_time t = {
        .f = factor * cost_gemm_time(g, m, n, k, groups, true),
        .b = factor * (cost_gemm_time(g, m, k, n, groups, true) +
                       (op->frozen ? 0 : cost_gemm_time(g, n, k, m, groups, true))),
    };
    if (op->low && c->cast_bytes > 0) {
        t.cast_f = op->cast_f * c->cast_bytes * c->stream_s;
        t.cast_b = op->cast_b * c->cast_bytes * c->stream_s;
    }
    return t;
}

static op_time batched_time(const price_context *c, const workload_op *op)
{
    const double factor = c->stack->k[HALLEY_K_BATCHED] * c->stack->k[HALLEY_K_GEMM] *
                          c->cluster->npu.batched_factor *
                          head_misaligned(&c->cluster->npu, op->head_dim);
    const double m = op->m, n = op->n, k = op->k, g = op->groups;
    return (op_time){
        .f = factor * cost_gemm_time(&c->wide, m, n, k, g, true),
        .b = factor * (cost_gemm_time(&c->wide, m, k, n, g, true) +
                       cost_gemm_time(&c->wide, n, k, m, g, true)),
    };
}

/* Share of peak for a head size, between the measured ones. */
static double attention_share(const halley_npu *npu, double dim)
{
    const double at = dim / 64 - 1;
    if (at <= 0)
        return npu->attention_share[0] * (dim > 16 ? dim / 64 : 0.25);
    const int i = at >= 3 ? 2 : (int)at;
    const double w = at >= 3 ? 1 : at - i;
    return npu->attention_share[i] * (1 - w) + npu->attention_share[i + 1] * w;
}

static op_time flash_time(const price_context *c, const workload_op *op)
{
    const halley_npu *npu = &c->cluster->npu;
    const double skew = 1 + c->stack->k[HALLEY_K_CP_SKEW] * (1 - 1.0 / c->plan->cp);
    const double s = op->seq;
    const double rate = halley_npu_wide_peak(npu) * attention_share(npu, op->head_dim) *
                        s / (s + npu->attention_half);
    const double old = c->stack->old_attention ? npu->attention_old : 1;
    const double factor = c->stack->k[HALLEY_K_ATTENTION] * skew / old;
    return (op_time){
        .f = factor * op->flops / rate + op->bytes_f * c->stream_s,
        .b = factor * 2.5 * op->flops / (rate * npu->attention_backward) +
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

static op_time one_time(const price_context *c, const workload_op *op)
{
    switch (op->kind) {
    case WORKLOAD_GEMM:
        return gemm_time(c, op);
    case WORKLOAD_BATCHED:
        return batched_time(c, op);
    case WORKLOAD_FLASH:
        return flash_time(c, op);
    case WORKLOAD_STREAM:
    case WORKLOAD_COLL:
        break;
    }
    return stream_time(c, op);
}

static op_time compute_time(const price_context *c, const workload_op *op)
{
    op_time t = one_time(c, op);
    if (op->repeat > 1) {
        t.f *= op->repeat;
        t.b *= op->repeat;
    }
    t.f = estimate_extended(c->cluster, op, false, t.f);
    t.b = estimate_extended(c->cluster, op, true, t.b);
    return t;
}

/* Which share of a class's forward pass the backward pass repeats. */
static double repeated(const price_context *c, workload_class class)
{
    switch (c->plan->recompute) {
    case HALLEY_RECOMPUTE_NONE:
    case HALLEY_RECOMPUTE_MODULES: /* by operator, once plans may say so */
    case HALLEY_RECOMPUTE_KEPT:
    case HALLEY_N_RECOMPUTE:
        return 0;
    case HALLEY_RECOMPUTE_SELECTIVE:
        return class == WORKLOAD_ATTENTION ? 1 : 0;
    case HALLEY_RECOMPUTE_SELECTIVE_OP:
        if (class == WORKLOAD_ATTENTION)
            return 0;
        return class == WORKLOAD_TRAFFIC ? 1 : c->stack->k[HALLEY_K_RECOMPUTE];
    case HALLEY_RECOMPUTE_FULL:
        return 1;
    case HALLEY_RECOMPUTE_MINIMAL:
        return class == WORKLOAD_PRODUCTS || class == WORKLOAD_EXPERTS ? 0 : 1;
    case HALLEY_RECOMPUTE_QKV:
        return class == WORKLOAD_PRODUCTS || class == WORKLOAD_EXPERTS ? 0.8 : 1;
    }
    return 0;
}

/* Bytes to other nodes, when the copies for one node travel once. */
static double sent_once(double copies, double nodes)
{
    return nodes * (1 - pow(1 - 1 / nodes, copies)) / copies;
}

static double coll_time(const price_context *c, const workload_op *op)
{
    static const coll_kind kinds[] = {
        [WORKLOAD_ALL_REDUCE] = COLL_ALL_REDUCE,
        [WORKLOAD_ALL_GATHER] = COLL_ALL_GATHER,
        [WORKLOAD_REDUCE_SCATTER] = COLL_REDUCE_SCATTER,
        [WORKLOAD_ALL_TO_ALL] = COLL_ALL_TO_ALL,
        [WORKLOAD_EXCHANGE] = COLL_SEND,
    };
    const uint32_t n = c->n[op->group], g = c->per_node[op->group];
    coll_call call = {
        .kind = kinds[op->coll], .bytes = op->bytes_f, .n = n, .per_node = g};
    const bool turns = op->coll == WORKLOAD_EXCHANGE && c->cluster->nodes.up.torus;
    if (turns) { /* to the neighbour, n - 1 times, is how a plain ring gathers */
        call.kind = COLL_ALL_GATHER;
        call.bytes *= n;
    }
    if (op->copies > 1 && g < n)
        call.remote_share = sent_once(op->copies, (double)n / g);
    double t = coll_call_time(&c->cluster->nodes.up, hw_outer_fabric(c->cluster), &call);
    if (g < n && op->group != WORKLOAD_EP) /* experts have a factor of their own */
        t *= c->stack->k[HALLEY_K_NETWORK];
    return op->coll == WORKLOAD_EXCHANGE && !turns ? t * (n - 1) : t;
}

static bool hides(const halley_plan *plan, uint32_t bit)
{
    return !plan->no_overlap && !(plan->expose & bit);
}

double price_exposed(const price_context *c, workload_group group)
{
    const double *k = c->stack->k;
    const halley_plan *plan = c->plan;
    switch (group) {
    case WORKLOAD_TP:
        /* Only split tokens can be sent while others are multiplied. */
        if (!plan->sequence_parallel && c->cluster->npu.round_to <= 1)
            return 1;
        return hides(plan, HALLEY_EXPOSE_TP) ? 1 - k[HALLEY_K_TP_HIDDEN] : 1;
    case WORKLOAD_CP:
        return hides(plan, HALLEY_EXPOSE_CP) ? 1 - k[HALLEY_K_CP_HIDDEN] : 1;
    case WORKLOAD_EP:
        return hides(plan, HALLEY_EXPOSE_EP) ? 1 - k[HALLEY_K_EP_HIDDEN] : 1;
    case WORKLOAD_PP:
        return hides(plan, HALLEY_EXPOSE_PP) ? 1 - k[HALLEY_K_PP_HIDDEN] : 1;
    case WORKLOAD_DP:
    case WORKLOAD_XP:
    case WORKLOAD_FSDP:
    case WORKLOAD_OUTER:
        /* Reduction starts before the backward pass ends where its owner is known. */
        if (!plan->zero && !plan->fsdp)
            return 1;
        return hides(plan, HALLEY_EXPOSE_DP) ? 1 - k[HALLEY_K_DP_HIDDEN] : 1;
    case WORKLOAD_N_GROUPS:
        break;
    }
    return 1;
}

/* What the stack's collectives take against the table, by group. */
static double slowness(const price_context *c, workload_group group)
{
    return group == WORKLOAD_TP   ? c->stack->k[HALLEY_K_TP_TIME]
           : group == WORKLOAD_EP ? c->stack->k[HALLEY_K_EP_TIME]
                                  : 1;
}

static void host_floor(price_layer *p, const price_context *c, const workload_layer *l,
                       double npu_f, double npu_b, double again)
{
    const double *k = c->stack->k;
    double f = l->moe ? k[HALLEY_K_HOST_MOE] : k[HALLEY_K_HOST_F];
    double b = l->moe ? f * 1.5 : k[HALLEY_K_HOST_B];
    if (c->plan->tp > 1)
        f += k[HALLEY_K_HOST_TP];
    if (c->plan->unfused_attention &&
        fmod(c->plan->micro_batch * (double)c->model->heads / c->plan->tp, 4) != 0)
        f += k[HALLEY_K_HOST_ODD];
    const double b_again = c->plan->recompute == HALLEY_RECOMPUTE_FULL ? b + f : b;
    p->forward_s = price_side_by_side(npu_f, f * c->host);
    p->backward_s = price_side_by_side(npu_b + again, b_again * c->host);
    p->plain_b_s = again > 0 ? price_side_by_side(npu_b, b * c->host) : p->backward_s;
    p->host_f_s = p->forward_s - npu_f;
    p->host_b_s = p->backward_s - npu_b - again;
    p->host_plain_s = p->plain_b_s - npu_b;
}

price_op price_op_make(const price_context *c, const workload_op *op)
{
    const op_time t = compute_time(c, op);
    return (price_op){.forward_s = t.f + t.cast_f,
                      .backward_s = t.b + t.cast_b,
                      .again_s = repeated(c, op->class) * (t.f + t.cast_f)};
}

/* Exposed seconds of a layer's message, forward and backward. */
static op_time price_message(price_layer *out, const price_context *c,
                             const workload_op *op)
{
    const double one = coll_time(c, op) * slowness(c, op->group);
    const double share = price_exposed(c, op->group);
    op_time t = {.f = one * op->times_f * share, .b = one * op->times_b * share};
    if (op->coll == WORKLOAD_EXCHANGE) { /* hides behind attention, as far as that goes */
        t.f = fmax(t.f, one * op->times_f - out->f[WORKLOAD_ATTENTION]);
        t.b = fmax(t.b, one * op->times_b - out->b[WORKLOAD_ATTENTION]);
    }
    out->comm_f[op->group] += t.f;
    out->comm_b[op->group] += t.b;
    return t;
}

void price_layer_make(price_layer *out, const price_context *c,
                      const workload_layer *layer, bool floor)
{
    *out = (price_layer){0};
    const bool full = c->plan->recompute == HALLEY_RECOMPUTE_FULL && floor;
    double npu_f = 0, npu_b = 0, again = 0;
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[i];
        out->flops += op->flops * (op->repeat > 1 ? op->repeat : 1);
        if (op->kind == WORKLOAD_COLL) {
            const op_time t = price_message(out, c, op);
            out->comm_r[op->group] += full ? t.f : 0;
            npu_f += t.f;
            npu_b += t.b;
            again += full ? t.f : 0;
            continue;
        }
        const op_time t = compute_time(c, op);
        const double r = floor ? repeated(c, op->class) * (t.f + t.cast_f) : 0;
        out->f[op->class] += t.f;
        out->b[op->class] += t.b;
        out->f[WORKLOAD_TRAFFIC] += t.cast_f;
        out->b[WORKLOAD_TRAFFIC] += t.cast_b;
        out->r[op->class] += r;
        npu_f += t.f + t.cast_f;
        npu_b += t.b + t.cast_b;
        again += r;
    }
    out->forward_s = npu_f;
    out->backward_s = npu_b + again;
    out->plain_b_s = npu_b;
    if (floor)
        host_floor(out, c, layer, npu_f, npu_b, again);
}
