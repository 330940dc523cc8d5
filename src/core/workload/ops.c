/*
 * A layer as a list of operators, with sizes for one rank and one micro-batch.
 *
 * Tensor parallelism splits the columns of the first and the rows of the second matmul of
 * each block. Sequence parallelism splits the tokens between blocks. Context parallelism
 * splits the sequence, and each rank receives the keys and values of the others in turn.
 * Experts are distributed over ep ranks; each token goes to top_k of them and back. The
 * bytes of streaming operators are what the kernels read and write, per element, from the
 * stack. T tokens, Tn tokens between blocks, h hidden, a heads, d head size, f
 * feed-forward.
 */
#include "workload/ops.h"

#include "workload/adapter.h"
#include "workload/flat.h"
#include "workload/recurrent.h"

#include <assert.h>
#include <math.h>

static double pad(double x, double to)
{
    return to > 1 ? ceil(x / to) * to : x;
}

bool workload_is_moe(const halley_model *model, uint32_t layer)
{
    if (!model->experts || layer < model->dense_layers)
        return false;
    if (model->mixed)
        return true;
    const uint32_t every = model->moe_every ? model->moe_every : 1;
    return (layer - model->dense_layers) % every == every - 1;
}

workload_shape workload_shape_make(const halley_model *model, const halley_plan *plan,
                                   const halley_stack *stack)
{
    const double tokens = (double)plan->micro_batch * plan->seq / plan->cp;
    workload_shape s = {
        .tokens = tokens,
        .shard_tokens = plan->sequence_parallel ? tokens / plan->tp : tokens,
        .hidden = model->hidden,
        .heads = (double)model->heads / plan->tp,
        .kv_heads = fmax(1, (double)model->kv_heads / plan->tp),
        .dim_qk = model->head_dim,
        .dim_v = model->head_dim,
        .vocab = (double)model->vocab,
        .seq = plan->seq,
    };
    if (model->kv_rank) {
        s.dim_qk = model->qk_nope + model->qk_rope;
        s.dim_v = model->v_head;
    }
    if (stack->pads_vocab)
        s.vocab = pad(s.vocab, 128.0 * plan->tp);
    s.vocab /= plan->tp;
    return s;
}

static workload_op *add(workload_layer *l, const char *name, workload_kind kind,
                        workload_class class)
{
    assert(l->n < WORKLOAD_MAX_OPS);
    workload_op *op = &l->ops[l->n++];
    *op = (workload_op){.name = name, .kind = kind, .class = class, .groups = 1};
    return op;
}

static workload_op *gemm(workload_layer *l, const char *name, double m, double n,
                         double k)
{
    workload_op *op = add(l, name, WORKLOAD_GEMM, WORKLOAD_PRODUCTS);
    op->m = m;
    op->n = n;
    op->k = k;
    op->low = true;
    op->flops = 2 * m * n * k;
    op->weights = n * k;
    op->cast_f = m * k;
    op->cast_b = m * n;
    l->weights += op->weights;
    return op;
}

static workload_op *stream(workload_layer *l, const char *name, double bytes,
                           double backward)
{
    workload_op *op = add(l, name, WORKLOAD_STREAM, WORKLOAD_TRAFFIC);
    op->bytes_f = bytes;
    op->bytes_b = bytes * backward;
    return op;
}

static workload_op *coll(workload_layer *l, const char *name, workload_coll kind,
                         workload_group group, double bytes)
{
    workload_op *op = add(l, name, WORKLOAD_COLL, WORKLOAD_MESSAGES);
    op->coll = kind;
    op->group = group;
    op->bytes_f = op->bytes_b = bytes;
    op->times_f = op->times_b = 1;
    return op;
}

workload_op *workload_op_add(workload_layer *l, const char *name, workload_kind kind,
                             workload_class class)
{
    return add(l, name, kind, class);
}

workload_op *workload_gemm_add(workload_layer *l, const char *name, double m, double n,
                               double k)
{
    return gemm(l, name, m, n, k);
}

workload_op *workload_stream_add(workload_layer *l, const char *name, double bytes,
                                 double backward)
{
    return stream(l, name, bytes, backward);
}

workload_op *workload_coll_add(workload_layer *l, const char *name, workload_coll kind,
                               workload_group group, double bytes)
{
    return coll(l, name, kind, group, bytes);
}

workload_mix workload_mix_make(const halley_model *model, bool moe)
{
    if (!model->mixed)
        return (workload_mix){.attention = 1, .ffn = !moe, .experts = moe};
    const double n = model->layers;
    assert(n > 0);
    return (workload_mix){.attention = model->attention_layers / n,
                          .recurrent = model->recurrent.layers / n,
                          .ffn = model->ffn_layers / n,
                          .experts = model->expert_layers / n};
}

/* The start of the latest block, while a layer is built. */
typedef struct block_start {
    uint32_t n;
    double weights, expert_weights;
} block_start;

static block_start begin_block(const workload_layer *l)
{
    return (block_start){l->n, l->weights, l->expert_weights};
}

/* Scale the block since `from`: only a fraction of the layers that this layer represents
 * has it. */
static void share_block(workload_layer *l, const block_start *from, double share)
{
    assert(share >= 0 && share <= 1 && from->n <= l->n);
    if (share == 1)
        return;
    for (uint32_t i = from->n; i < l->n; i++) {
        workload_op *op = &l->ops[i];
        op->repeat = share * (op->repeat > 0 ? op->repeat : 1);
        op->weights *= share;
        op->times_f *= share;
        op->times_b *= share;
        op->sent_b *= share;
    }
    l->weights = from->weights + share * (l->weights - from->weights);
    l->expert_weights =
        from->expert_weights + share * (l->expert_weights - from->expert_weights);
    l->touched = l->expert_weights;
}

/* The message before a tensor-parallel block: with sequence parallelism a gather, and
 * backward one more gather for the weight gradient. */
static void gather_block(workload_layer *l, const halley_plan *plan,
                         const halley_stack *stack, const workload_shape *s)
{
    if (plan->tp < 2 || !plan->sequence_parallel)
        return;
    workload_op *op = coll(l, "sequence all-gather", WORKLOAD_ALL_GATHER, WORKLOAD_TP,
                           s->tokens * s->hidden * 2);
    op->times_b = 1 + stack->k[HALLEY_K_SP_EXTRA];
    op->sent_b = 2;
}

/* The message after it: a scatter or an all-reduce. */
static void reduce_block(workload_layer *l, const halley_plan *plan,
                         const workload_shape *s)
{
    const double bytes = s->tokens * s->hidden * 2;
    if (plan->tp > 1 && plan->sequence_parallel)
        coll(l, "sequence reduce-scatter", WORKLOAD_REDUCE_SCATTER, WORKLOAD_TP, bytes);
    else if (plan->tp > 1)
        coll(l, "tensor all-reduce", WORKLOAD_ALL_REDUCE, WORKLOAD_TP, bytes);
}

static void fused_attention(workload_layer *l, const halley_model *model,
                            const workload_shape *s)
{
    workload_op *op = add(l, "attention", WORKLOAD_FLASH, WORKLOAD_ATTENTION);
    op->head_dim = (s->dim_qk + s->dim_v) / 2;
    op->seq = s->seq;
    op->flops = 2 * s->tokens * s->heads * (s->dim_qk + s->dim_v) *
                halley_model_keys_seen(model, s->seq);
    const double q = s->heads * s->dim_qk, o = s->heads * s->dim_v;
    const double kv = s->kv_heads * (s->dim_qk + s->dim_v);
    op->bytes_f = 2 * s->tokens * (q + o + kv);
    op->bytes_b = 2 * s->tokens * (2 * q + 2 * o + 2 * kv);
    op->part = WORKLOAD_PART_CORE;
}

static void unfused_attention(workload_layer *l, const halley_plan *plan,
                              const halley_stack *stack, const workload_shape *s)
{
    const double groups = plan->micro_batch * s->heads;
    const double rows = s->seq / plan->cp, scores = groups * rows * s->seq;
    workload_op *op = add(l, "query x key", WORKLOAD_BATCHED, WORKLOAD_ATTENTION);
    op->m = rows;
    op->n = s->seq;
    op->k = s->dim_qk;
    op->groups = groups;
    op->head_dim = s->dim_qk;
    op->flops = 2 * scores * s->dim_qk;
    op->part = WORKLOAD_PART_CORE;
    op = add(l, "scores x value", WORKLOAD_BATCHED, WORKLOAD_ATTENTION);
    op->m = rows;
    op->n = s->dim_v;
    op->k = s->seq;
    op->groups = groups;
    op->head_dim = s->dim_v;
    op->flops = 2 * scores * s->dim_v;
    op->part = WORKLOAD_PART_CORE;
    op = stream(l, "softmax", scores * stack->k[HALLEY_K_SOFTMAX_F], 1);
    op->bytes_b = scores * stack->k[HALLEY_K_SOFTMAX_B];
    op->class = WORKLOAD_ATTENTION;
    op->odd = fmod(groups, 4) != 0; /* Megatron's fused kernel needs a multiple of 4 */
    op->part = WORKLOAD_PART_CORE;
}

static void latent_products(workload_layer *l, const halley_model *m,
                            const workload_shape *s)
{
    const double T = s->tokens, h = s->hidden;
    if (m->q_rank) {
        gemm(l, "query down", T, m->q_rank, h)->part = WORKLOAD_PART_QKV;
        gemm(l, "query up", T, s->heads * s->dim_qk, m->q_rank)->part = WORKLOAD_PART_UP;
    } else {
        gemm(l, "query", T, s->heads * s->dim_qk, h)->part = WORKLOAD_PART_QKV;
    }
    gemm(l, "key-value down", T, m->kv_rank + m->qk_rope, h)->part = WORKLOAD_PART_QKV;
    gemm(l, "key-value up", T, s->heads * (m->qk_nope + s->dim_v), m->kv_rank)->part =
        WORKLOAD_PART_UP;
}

/* True if the feed-forward part of the layer ends with its own messages. */
static bool sums_after(const halley_model *model, const workload_layer *l)
{
    return !l->moe || model->shared_ffn > 0;
}

/* A parallel block adds both of its parts before its scatter, after one gather. */
static bool sums_once(const halley_model *model, const workload_layer *l)
{
    return model->parallel_block && sums_after(model, l);
}

static void attention_block(workload_layer *l, const halley_model *model,
                            const halley_plan *plan, const halley_stack *stack,
                            const workload_shape *s)
{
    const double T = s->tokens;
    const double kv = s->kv_heads * (s->dim_qk + s->dim_v);
    gather_block(l, plan, stack, s);
    if (model->kv_rank)
        latent_products(l, model, s);
    else
        gemm(l, "query-key-value", T,
             s->heads * s->dim_qk * (model->attention_gate ? 2 : 1) + kv, s->hidden)
            ->part = WORKLOAD_PART_QKV;
    stream(l, "rotate and transpose",
           4 * T * (s->heads * s->dim_qk + kv) * stack->k[HALLEY_K_ROPE],
           stack->k[HALLEY_K_BACKWARD])
        ->part = WORKLOAD_PART_ROTATE;
    if (plan->cp > 1)
        coll(l, "key-value exchange", WORKLOAD_EXCHANGE, WORKLOAD_CP, 2 * T * kv)
            ->times_b = 2;
    if (plan->attention == HALLEY_ATTENTION_UNFUSED)
        unfused_attention(l, plan, stack, s);
    else
        fused_attention(l, model, s);
    gemm(l, "projection", T, s->hidden, s->heads * s->dim_v)->part =
        WORKLOAD_PART_PROJECTION;
    if (!sums_once(model, l))
        reduce_block(l, plan, s);
}

/* Separate operators move more bytes than fused ones. */
static double kernel_passes(const halley_plan *plan, const halley_stack *stack)
{
    return plan->eager_kernels ? stack->k[HALLEY_K_EAGER] : 1;
}

static void feed_forward(workload_layer *l, const halley_model *model,
                         const halley_plan *plan, const workload_shape *s, double ffn,
                         const halley_stack *stack)
{
    const double hidden = s->hidden, passes = kernel_passes(plan, stack);
    const double wide = model->gated ? 2 : 1, tokens = s->tokens;
    gemm(l, "feed-forward in", tokens, wide * ffn, hidden)->part = WORKLOAD_PART_FC1;
    workload_op *op = stream(
        l, "activation", 2 * tokens * ffn * (wide + 1) * stack->k[HALLEY_K_ACT] * passes,
        stack->k[HALLEY_K_BACKWARD]);
    op->part = WORKLOAD_PART_ACT;
    gemm(l, "feed-forward out", tokens, hidden, ffn)->part = WORKLOAD_PART_FC2;
}

/* Experts may work in a narrower space than the layers (latent experts). */
static double expert_width(const halley_model *model)
{
    return model->expert_hidden ? model->expert_hidden : model->hidden;
}

static void send_tokens(workload_layer *l, const char *name, const halley_model *model,
                        const halley_plan *plan, double bytes)
{
    if (plan->ep < 2)
        return;
    workload_op *op = coll(l, name, WORKLOAD_ALL_TO_ALL, WORKLOAD_EP, bytes);
    op->copies = model->top_k;
    op->slow = 1 + plan->expert_skew;
}

/* Routed tokens go to their experts, in 8 or 16 bits ... */
static void dispatch_tokens(workload_layer *l, const halley_model *model,
                            const halley_plan *plan, double rows)
{
    const double bytes = rows * expert_width(model);
    send_tokens(l, "dispatch", model, plan, (plan->fp8_dispatch ? 1 : 2) * bytes);
    if (plan->etp > 1)
        coll(l, "expert all-gather", WORKLOAD_ALL_GATHER, WORKLOAD_ETP,
             2 * bytes * plan->etp);
}

/* ... and back in 16. */
static void combine_tokens(workload_layer *l, const halley_model *model,
                           const halley_plan *plan, double rows)
{
    const double bytes = 2 * rows * expert_width(model);
    if (plan->etp > 1)
        coll(l, "expert reduce-scatter", WORKLOAD_REDUCE_SCATTER, WORKLOAD_ETP,
             bytes * plan->etp);
    send_tokens(l, "combine", model, plan, bytes);
}

/* Combine the matmuls of all local experts into one grouped matmul each. The sizes of
 * `op` are those of one expert. */
static void group_experts(workload_layer *l, uint32_t first, double local, double slow)
{
    for (uint32_t i = first; i < l->n; i++) {
        workload_op *op = &l->ops[i];
        if (op->class != WORKLOAD_EXPERTS)
            continue;
        op->groups = local;
        op->slow = slow;
        op->flops *= local;
        op->weights *= local;
        op->cast_f *= local;
        op->cast_b *= local;
    }
}

static void shared_experts(workload_layer *l, const halley_model *model,
                           const halley_plan *plan, const halley_stack *stack,
                           const workload_shape *s)
{
    const uint32_t first = l->n;
    feed_forward(l, model, plan, s, (double)model->shared_ffn / plan->tp, stack);
    for (uint32_t i = first; i < l->n; i++)
        l->ops[i].part =
            (workload_part)(l->ops[i].part + WORKLOAD_PART_S_FC1 - WORKLOAD_PART_FC1);
}

static void expert_block(workload_layer *l, const halley_model *model,
                         const halley_plan *plan, const halley_stack *stack,
                         const workload_shape *s)
{
    const double Tn = s->tokens / plan->tp; /* experts get split tokens */
    const double h = expert_width(model);
    const double fill = plan->capacity > 0 ? plan->capacity : 1;
    const double rows = Tn * model->top_k * fill;
    const double local = (double)model->experts / plan->ep, etp = plan->etp;
    const double wide = model->gated ? 2 : 1, f = model->expert_ffn / etp;
    workload_op *op = gemm(l, "router", Tn, model->experts, s->hidden);
    op->low = false;
    op->part = WORKLOAD_PART_ROUTER;
    if (model->expert_hidden) {
        gemm(l, "expert down", Tn, h, s->hidden)->part = WORKLOAD_PART_ROUTER;
        gemm(l, "expert up", Tn, s->hidden, h)->part = WORKLOAD_PART_ROUTER;
    }
    stream(l, "permute", 2 * rows * h * stack->k[HALLEY_K_PERMUTE], 1)->part =
        WORKLOAD_PART_ROUTER;
    dispatch_tokens(l, model, plan, rows);
    const double before = l->weights, each = rows * etp / local;
    const uint32_t first = l->n;
    gemm(l, "experts in", each, wide * f, h)->class = WORKLOAD_EXPERTS;
    workload_op *act = stream(l, "expert activation",
                              2 * rows * etp * f * (wide + 1) * stack->k[HALLEY_K_ACT] *
                                  kernel_passes(plan, stack),
                              stack->k[HALLEY_K_BACKWARD]);
    act->part = WORKLOAD_PART_E_ACT;
    gemm(l, "experts out", each, h, f)->class = WORKLOAD_EXPERTS;
    l->ops[first].part = WORKLOAD_PART_E_FC1;
    l->ops[l->n - 1].part = WORKLOAD_PART_E_FC2;
    group_experts(l, first, local, 1 + plan->expert_skew);
    l->expert_weights = l->touched = (l->weights - before) * local;
    l->weights = before;
    combine_tokens(l, model, plan, rows);
    if (model->shared_ffn && !sums_once(model, l))
        gather_block(l, plan, stack, s);
    if (model->shared_ffn)
        shared_experts(l, model, plan, stack, s);
}

/* The blocks of a hybrid's average layer, each with its final messages. */
static void mixed_blocks(workload_layer *l, const halley_model *model,
                         const halley_plan *plan, const halley_stack *stack,
                         const workload_shape *s)
{
    const workload_mix mix = workload_mix_make(model, l->moe);
    block_start start = begin_block(l);
    if (mix.attention > 0)
        attention_block(l, model, plan, stack, s);
    share_block(l, &start, mix.attention);
    start = begin_block(l);
    if (mix.recurrent > 0) {
        gather_block(l, plan, stack, s);
        workload_recurrent_add(l, model, plan, stack, s);
        reduce_block(l, plan, s);
    }
    share_block(l, &start, mix.recurrent);
    start = begin_block(l);
    if (mix.ffn > 0) {
        gather_block(l, plan, stack, s);
        feed_forward(l, model, plan, s, (double)model->ffn / plan->tp, stack);
        reduce_block(l, plan, s);
    }
    share_block(l, &start, mix.ffn);
    start = begin_block(l);
    if (mix.experts > 0)
        expert_block(l, model, plan, stack, s);
    if (mix.experts > 0 && model->shared_ffn > 0)
        reduce_block(l, plan, s);
    share_block(l, &start, mix.experts);
}

/* Norms and residuals, for each block of the layer; usually there are two. */
static void add_norms(workload_layer *l, const halley_model *model,
                      const halley_plan *plan, const halley_stack *stack,
                      const workload_shape *s)
{
    const workload_mix mix = workload_mix_make(model, l->moe);
    const double blocks = mix.attention + mix.recurrent + mix.ffn + mix.experts;
    l->weights = 2 * blocks * s->hidden; /* norms and biases */
    workload_op *op = stream(l, "norm, residual, dropout",
                             blocks / 2 * s->shard_tokens * s->hidden *
                                 stack->k[HALLEY_K_HIDDEN] * kernel_passes(plan, stack),
                             stack->k[HALLEY_K_BACKWARD]);
    op->part = WORKLOAD_PART_NORM;
}

void workload_layer_make(workload_layer *out, const halley_model *model,
                         const halley_plan *plan, const halley_stack *stack,
                         const workload_shape *s, bool moe)
{
    out->n = 0;
    out->expert_weights = out->touched = 0;
    out->frozen = out->frozen_experts = 0;
    out->updated = false;
    out->moe = moe;
    add_norms(out, model, plan, stack, s);
    out->moe_share = workload_mix_make(model, moe).experts;
    if (model->adaptive_norm)
        out->weights += 6 * s->hidden * s->hidden / plan->tp;
    if (model->mixed) {
        mixed_blocks(out, model, plan, stack, s);
        return;
    }
    attention_block(out, model, plan, stack, s);
    if (moe) {
        expert_block(out, model, plan, stack, s);
    } else {
        if (!sums_once(model, out))
            gather_block(out, plan, stack, s);
        feed_forward(out, model, plan, s, (double)model->ffn / plan->tp, stack);
    }
    if (sums_after(model, out))
        reduce_block(out, plan, s);
}

static void make_embedding(workload_layer *out, const halley_model *model,
                           const halley_plan *plan, const workload_shape *s)
{
    out->n = 0;
    out->weights = s->vocab * s->hidden;
    out->expert_weights = out->touched = 0;
    out->frozen = out->frozen_experts = 0;
    out->updated = false;
    out->moe = false;
    stream(out, "embedding", s->tokens * s->hidden * 6, 1.5);
    (void)model;
    if (plan->tp > 1)
        coll(out, "embedding all-reduce", WORKLOAD_ALL_REDUCE, WORKLOAD_TP,
             s->tokens * s->hidden * 2)
            ->times_b = 0;
}

static void make_head(workload_layer *out, const halley_model *model,
                      const halley_plan *plan, const halley_stack *stack,
                      const workload_shape *s)
{
    out->n = 0;
    out->weights = 0;
    out->expert_weights = out->touched = 0;
    out->frozen = out->frozen_experts = 0;
    out->updated = false;
    out->moe = false;
    /* In masked language models, the head processes only the masked positions. */
    const double seen = s->tokens * (model->head_share > 0 ? model->head_share : 1);
    const double passes = 1 + model->mtp; /* each further token has its own logits */
    workload_op *op = gemm(out, "logits", seen, s->vocab, s->hidden);
    op->class = WORKLOAD_HEAD;
    op->low = false;
    op->repeat = passes;
    const double logits = seen * s->vocab;
    stream(out, "loss", logits * stack->k[HALLEY_K_LOSS] * 0.5 * passes, 1);
    if (model->mtp > 0) {
        op =
            gemm(out, "prediction projection", s->shard_tokens, s->hidden, 2 * s->hidden);
        op->repeat = model->mtp;
        op->weights *= model->mtp;
        out->weights += (model->mtp - 1) * 2 * s->hidden * s->hidden;
    }
    if (plan->tp > 1)
        coll(out, "logits all-reduce", WORKLOAD_ALL_REDUCE, WORKLOAD_TP,
             s->tokens * s->hidden * 2)
            ->times_f = 0;
}

static void adapt_parts(workload_parts *p, const halley_plan *plan)
{
    if (p->has_dense)
        workload_layer_adapt(&p->dense, plan);
    if (p->has_moe)
        workload_layer_adapt(&p->moe, plan);
    workload_layer_freeze(&p->embedding);
    workload_layer_freeze(&p->head);
}

/* Clear everything but the array of operators, which is large; its count becomes 0. */
static void clear_layer(workload_layer *layer)
{
    layer->n = 0;
    layer->weights = layer->expert_weights = layer->touched = 0;
    layer->frozen = layer->frozen_experts = 0;
    layer->updated = layer->moe = false;
    layer->moe_share = 0;
}

void workload_parts_make(workload_parts *out, const halley_model *model,
                         const halley_plan *plan, const halley_stack *stack)
{
    out->shape = workload_shape_make(model, plan, stack);
    const workload_shape *s = &out->shape;
    clear_layer(&out->dense);
    clear_layer(&out->moe);
    clear_layer(&out->embedding);
    clear_layer(&out->head);
    out->has_moe = model->kind == HALLEY_TRANSFORMER && model->experts > 0;
    out->has_dense =
        !out->has_moe || (!model->mixed && (model->dense_layers || model->moe_every > 1));
    if (model->kind != HALLEY_TRANSFORMER) {
        workload_flat_make(&out->dense, model, plan);
        return;
    }
    if (out->has_dense)
        workload_layer_make(&out->dense, model, plan, stack, s, false);
    if (out->has_moe)
        workload_layer_make(&out->moe, model, plan, stack, s, true);
    if (model->vocab > 0) {
        make_embedding(&out->embedding, model, plan, s);
        make_head(&out->head, model, plan, stack, s);
    }
    if (plan->lora > 0)
        adapt_parts(out, plan);
}
