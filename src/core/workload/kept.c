/*
 * Activations, tensor by tensor (Korthikanti et al. 2022 for dense layers: the counts
 * below give their 34 + 5 as/h bytes per element). T is the tokens of a micro-batch on a
 * rank. Ts is the part of them outside tensor-parallel regions. The hidden size is h,
 * with a heads and feed-forward width f. An element takes w bytes, and that of a matmul's
 * kept input aw.
 *
 * Experts see the rows of the fullest rank. If no token is dropped, these are at least a
 * tenth more than the mean.
 *
 * Recomputation keeps less, but needs room for the tensors it recomputes, one layer at a
 * time. Both include the layer's input, which is counted once. Therefore no kind of
 * recomputation needs more memory than none.
 */
#include "workload/kept.h"

#include "workload/recurrent.h"

#include <assert.h>
#include <math.h>

static void count_attention(workload_kept *k, const halley_model *model,
                            const halley_plan *plan, const workload_states *st,
                            const workload_shape *s)
{
    const double w = st->element, aw = st->input, T = s->tokens, a = s->heads;
    double *bytes = k->bytes;
    if (model->kv_rank > 0) {
        bytes[WORKLOAD_KEPT_QKV] = w * T * a * (2 * s->dim_qk + s->dim_v);
        bytes[WORKLOAD_KEPT_LATENT] =
            (w + aw) * T * ((double)model->q_rank + model->kv_rank) +
            w * T * model->qk_rope;
        k->q_or_v = w * T * a * (s->dim_qk + s->dim_v);
    } else {
        const double kv = s->kv_heads * (s->dim_qk + s->dim_v);
        bytes[WORKLOAD_KEPT_QKV] = w * T * (a * s->dim_qk + kv);
        k->q_or_v = w * T * (a * s->dim_qk + s->kv_heads * s->dim_v);
    }
    bytes[WORKLOAD_KEPT_ATTN_OUT] = w * T * a * s->dim_v;
    if (aw < w)
        bytes[WORKLOAD_KEPT_PROJ] = aw * T * a * s->dim_v;
    if (plan->attention == HALLEY_ATTENTION_UNFUSED) /* softmax, its dropout and mask */
        bytes[WORKLOAD_KEPT_CORE] =
            (2 * w + 1) * plan->micro_batch * a * s->seq * (s->seq / plan->cp);
    else
        bytes[WORKLOAD_KEPT_ATTN_OUT] += 4 * T * a; /* log-sums */
}

/* The number of rows that the experts of the fullest rank process. */
static double count_rows(const halley_model *model, const halley_plan *plan,
                         const workload_shape *s)
{
    static const double least_skew = 0.1; /* routers are never perfectly balanced */
    const double even = s->tokens / plan->tp * model->top_k;
    return plan->capacity > 0 ? even * plan->capacity
                              : even * (1 + fmax(least_skew, plan->expert_skew));
}

static void count_experts(workload_kept *k, const halley_model *model,
                          const halley_plan *plan, const workload_states *st,
                          const workload_shape *s)
{
    const double rows = count_rows(model, plan, s), wide = model->gated ? 2 : 1;
    const double f = model->expert_ffn, etp = plan->etp > 1 ? plan->etp : 1;
    double *bytes = k->bytes;
    const double width = model->expert_hidden ? model->expert_hidden : s->hidden;
    bytes[WORKLOAD_KEPT_MOE_IN] = st->input * rows * etp * width;
    bytes[WORKLOAD_KEPT_E_FC1_OUT] = st->element * rows * f * wide;
    bytes[WORKLOAD_KEPT_E_ACT_OUT] = st->input * rows * f;
    bytes[WORKLOAD_KEPT_ROUTER] = 8 * s->tokens / plan->tp * model->experts;
    const double shared = (double)model->shared_ffn / plan->tp;
    bytes[WORKLOAD_KEPT_S_FC1_OUT] = st->element * s->tokens * shared * wide;
    bytes[WORKLOAD_KEPT_S_ACT_OUT] = st->input * s->tokens * shared;
}

/* Scale tensors by the fraction of layers that have them, if layers differ. */
static void share_tensors(workload_kept *k, workload_tensor first, workload_tensor last,
                          double share)
{
    assert(first <= last && last < WORKLOAD_N_KEPT && share >= 0 && share <= 1);
    for (unsigned i = first; i <= last; i++)
        k->bytes[i] *= share;
}

static void count_recurrent(workload_kept *k, const halley_model *model,
                            const halley_plan *plan, const workload_states *st,
                            const workload_shape *s, double share)
{
    const workload_recurrent_kept r =
        workload_recurrent_keep(&model->recurrent, plan, st, s->tokens);
    k->bytes[WORKLOAD_KEPT_QKV] += share * r.projected;
    k->bytes[WORKLOAD_KEPT_ATTN_OUT] += share * r.mixed;
    k->bytes[WORKLOAD_KEPT_PROJ] += share * r.mixed * st->input / st->element;
    k->q_or_v += share * r.projected;
    k->states = r.states;
}

static void count_ffn(workload_kept *k, const halley_model *model,
                      const halley_plan *plan, const workload_states *st,
                      const workload_shape *s)
{
    const double f = (double)model->ffn / plan->tp, wide = model->gated ? 2 : 1;
    k->bytes[WORKLOAD_KEPT_FC1_OUT] = st->element * s->tokens * f * wide;
    k->bytes[WORKLOAD_KEPT_ACT_OUT] = st->input * s->tokens * f;
}

/* The average layer of a hybrid model; each of its blocks has a norm. */
static void count_mixed(workload_kept *k, const halley_model *model,
                        const halley_plan *plan, const workload_states *st,
                        const workload_shape *s, bool moe)
{
    const workload_mix mix = workload_mix_make(model, moe);
    const double blocks = mix.attention + mix.recurrent + mix.ffn + mix.experts;
    k->bytes[WORKLOAD_KEPT_NORM] *= blocks / 2;
    k->bytes[WORKLOAD_KEPT_NORM_OUT] *= blocks / 2;
    if (mix.attention > 0)
        count_attention(k, model, plan, st, s);
    share_tensors(k, WORKLOAD_KEPT_QKV, WORKLOAD_KEPT_CORE, mix.attention);
    k->q_or_v *= mix.attention;
    if (mix.recurrent > 0)
        count_recurrent(k, model, plan, st, s, mix.recurrent);
    count_ffn(k, model, plan, st, s);
    share_tensors(k, WORKLOAD_KEPT_FC1_OUT, WORKLOAD_KEPT_ACT_OUT, mix.ffn);
    if (mix.experts > 0)
        count_experts(k, model, plan, st, s);
    share_tensors(k, WORKLOAD_KEPT_MOE_IN, WORKLOAD_KEPT_S_ACT_OUT, mix.experts);
}

static void count_transformer(workload_kept *k, const halley_model *model,
                              const halley_plan *plan, const workload_states *st,
                              const workload_shape *s, bool moe)
{
    double *bytes = k->bytes;
    const double masks = plan->attention == HALLEY_ATTENTION_UNFUSED ? 2 : 0;
    const double between = (st->splits ? s->tokens / plan->tp : s->tokens) * s->hidden;
    k->input = st->element * between;
    bytes[WORKLOAD_KEPT_NORM] = 2 * k->input + masks * between;
    bytes[WORKLOAD_KEPT_NORM_OUT] = 2 * st->input * between;
    if (model->mixed) {
        count_mixed(k, model, plan, st, s, moe);
        return;
    }
    count_attention(k, model, plan, st, s);
    if (moe)
        count_experts(k, model, plan, st, s);
    else
        count_ffn(k, model, plan, st, s);
}

#define BIT(tensor) (1u << WORKLOAD_KEPT_##tensor)
/* The tensors that each module of Megatron-Core recomputes, in the order of
 * HALLEY_MODULE_ bits. */
static const uint32_t module_tensors[] = {
    BIT(NORM_OUT),
    BIT(CORE),
    BIT(QKV),
    BIT(E_ACT_OUT) | BIT(S_ACT_OUT),
    BIT(FC1_OUT) | BIT(ACT_OUT) | BIT(S_FC1_OUT) | BIT(S_ACT_OUT),
    BIT(MOE_IN) | BIT(E_FC1_OUT) | BIT(E_ACT_OUT) | BIT(ROUTER),
    BIT(S_FC1_OUT) | BIT(S_ACT_OUT),
};

static double sum_tensors(const workload_kept *k, uint32_t tensors)
{
    double sum = 0;
    for (unsigned i = 0; i < WORKLOAD_N_KEPT; i++)
        sum += tensors >> i & 1 ? k->bytes[i] : 0;
    return sum;
}

static double sum_modules(const workload_kept *k, uint32_t modules)
{
    uint32_t tensors = 0;
    for (unsigned i = 0; i < sizeof module_tensors / sizeof *module_tensors; i++)
        tensors |= modules >> i & 1 ? module_tensors[i] : 0;
    return sum_tensors(k, tensors);
}

static const uint32_t fc1_tensors = BIT(FC1_OUT) | BIT(E_FC1_OUT) | BIT(S_FC1_OUT);

/* Tensors that MaxText's policies name, HALLEY_TENSOR_ bits. */
static double sum_named(const workload_kept *k, uint32_t names)
{
    double sum = 0;
    const uint32_t as_input =
        HALLEY_TENSOR_INPUT | HALLEY_TENSOR_OUT | HALLEY_TENSOR_MLPWO;
    for (uint32_t bits = names & as_input; bits > 0; bits &= bits - 1)
        sum += k->input;
    if (names & HALLEY_TENSOR_QKV)
        sum += k->bytes[WORKLOAD_KEPT_QKV];
    if (names & HALLEY_TENSOR_CONTEXT)
        sum += k->bytes[WORKLOAD_KEPT_ATTN_OUT];
    if (names & HALLEY_TENSOR_MLPWI)
        sum += sum_tensors(k, fc1_tensors);
    return sum;
}

static void keep_full(workload_kept *k, const halley_plan *plan)
{
    const double every = plan->recompute_every > 1 ? plan->recompute_every : 1;
    const double input = k->input > 0 ? k->input : 0;
    k->kept = fmin(input / every, k->all);
    k->working = every * k->all - input;
}

static void keep_named(workload_kept *k, const halley_plan *plan)
{
    static const double xla_work = 0.7; /* fraction of a layer: XLA frees tensors early */
    const uint32_t keep = plan->recompute_keep | plan->recompute_offload;
    k->kept = fmin(sum_named(k, keep | HALLEY_TENSOR_INPUT), k->all);
    k->offloaded = fmin(sum_named(k, plan->recompute_offload), k->kept);
    k->working = fmin(xla_work * k->all, k->all - k->kept);
}

static void apply_recompute(workload_kept *k, const halley_plan *plan)
{
    static const uint32_t minimal = HALLEY_TENSOR_INPUT | HALLEY_TENSOR_QKV |
                                    HALLEY_TENSOR_OUT | HALLEY_TENSOR_MLPWI |
                                    HALLEY_TENSOR_MLPWO;
    double kept = k->all;
    switch (plan->recompute) {
    case HALLEY_RECOMPUTE_FULL:
        keep_full(k, plan);
        return;
    case HALLEY_RECOMPUTE_KEPT:
        keep_named(k, plan);
        return;
    case HALLEY_RECOMPUTE_SELECTIVE:
        kept = k->all - k->bytes[WORKLOAD_KEPT_CORE];
        break;
    case HALLEY_RECOMPUTE_SELECTIVE_OP:
        kept = 2 * k->input + k->q_or_v + k->bytes[WORKLOAD_KEPT_ATTN_OUT] +
               sum_tensors(k, fc1_tensors) / 2;
        break;
    case HALLEY_RECOMPUTE_MINIMAL:
        kept = sum_named(k, minimal);
        break;
    case HALLEY_RECOMPUTE_QKV:
        kept = sum_named(k, HALLEY_TENSOR_INPUT | HALLEY_TENSOR_QKV);
        break;
    case HALLEY_RECOMPUTE_MODULES:
        kept = k->all - sum_modules(k, plan->recompute_modules);
        break;
    case HALLEY_RECOMPUTE_NONE:
    case HALLEY_N_RECOMPUTE:
        break;
    }
    k->kept = fmin(kept, k->all);
    k->working = k->all - k->kept;
}

/* Frozen matmuls have no weight gradient, so their inputs are not kept. The exceptions
 * are qkv and the projection, which have adapters (LoRA). */
static void drop_frozen(workload_kept *k)
{
    static const workload_tensor unread[] = {WORKLOAD_KEPT_ACT_OUT, WORKLOAD_KEPT_MOE_IN,
                                             WORKLOAD_KEPT_E_ACT_OUT,
                                             WORKLOAD_KEPT_S_ACT_OUT};
    for (size_t i = 0; i < sizeof unread / sizeof *unread; i++)
        k->bytes[unread[i]] = 0;
    k->bytes[WORKLOAD_KEPT_NORM_OUT] /= 2;
}

void workload_kept_make(workload_kept *out, const halley_model *model,
                        const halley_plan *plan, const workload_states *states,
                        const workload_shape *shape, const workload_layer *layer)
{
    *out = (workload_kept){0};
    if (model->kind == HALLEY_TRANSFORMER)
        count_transformer(out, model, plan, states, shape, layer->moe);
    for (uint32_t i = 0; model->kind != HALLEY_TRANSFORMER && i < layer->n; i++)
        out->bytes[WORKLOAD_KEPT_OTHER] += layer->ops[i].saved;
    if (plan->lora > 0)
        drop_frozen(out);
    out->all = sum_tensors(out, UINT32_MAX);
    apply_recompute(out, plan);
    assert(out->all >= 0 && out->kept >= 0 && out->kept <= out->all);
    assert(out->offloaded <= out->kept && out->working >= 0);
}
