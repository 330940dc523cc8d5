/*
 * The shape of a network: derived sizes, number of parameters, number of FLOPs. A
 * multiply-add counts as two FLOPs. Backward is twice forward. Causal attention counts
 * only the half that is needed. (Narayanan et al. 2021 count all of it. The difference is
 * s / (6h) of the layer and matters only for long sequences.)
 */
#include "halley/model.h"

#include "base/error.h"
#include "workload/recurrent.h"

#include <math.h>

enum { MAX_OPERATORS = 64 };

static halley_status check_experts(halley_model *m, halley_error *err)
{
    if (m->experts && (!m->top_k || m->top_k > m->experts || !m->expert_ffn))
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": with %u experts, top-k must be 1 to %u and "
                         "expert-ffn positive",
                         m->name, m->experts, m->experts);
    if (m->experts && !m->moe_every)
        m->moe_every = 1;
    return HALLEY_OK;
}

/* For models with different layers: each layer has at most one mixer and one
 * feed-forward, and at least one of them. */
static halley_status check_mixed(halley_model *m, halley_error *err)
{
    halley_recurrent *r = &m->recurrent;
    const uint64_t mixers = (uint64_t)m->attention_layers + r->layers;
    const uint64_t ffn = (uint64_t)m->ffn_layers + m->expert_layers;
    if (!m->layers || !m->hidden)
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": layers and hidden must be positive", m->name);
    if (mixers > m->layers || ffn > m->layers || mixers + ffn < m->layers)
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": %u layers have %llu mixers and %llu "
                         "feed-forwards; a layer has at most one of each, and at least "
                         "one of them",
                         m->name, m->layers, (unsigned long long)mixers,
                         (unsigned long long)ffn);
    if (r->layers == 0)
        return HALLEY_OK;
    if (!r->heads || !r->groups || !r->key_dim || !r->value_dim ||
        (r->mixer == HALLEY_MIXER_MAMBA && !r->dt_rank))
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": the sizes of its %s must be positive", m->name,
                         halley_mixer_name(r->mixer));
    if (r->chunk == 0)
        r->chunk = workload_recurrent_chunk(r->mixer);
    return HALLEY_OK;
}

/* Unrealistic sizes would take hours, or lose precision in sums. */
static halley_status check_size(const halley_model *m, halley_error *err)
{
    enum { MOST_LAYERS = 4096, MOST_HIDDEN = 1 << 24 };
    if (m->layers <= MOST_LAYERS && m->hidden <= MOST_HIDDEN)
        return HALLEY_OK;
    return error_set(err, HALLEY_ELIMIT,
                     "model \"%s\": at most %d layers and a hidden size of %d are "
                     "possible, not %u and %u",
                     m->name, MOST_LAYERS, MOST_HIDDEN, m->layers, m->hidden);
}

static halley_status check_transformer(halley_model *m, halley_error *err)
{
    TRY(check_size(m, err));
    if (m->untimed[0] != '\0' && m->layers && m->hidden)
        return HALLEY_OK; /* only counted: there may be no attention */
    if (m->mixed)
        TRY(check_mixed(m, err));
    if (m->mixed && m->attention_layers == 0)
        return check_experts(m, err);
    if (!m->layers || !m->hidden || !m->heads)
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": layers, hidden and heads must be positive",
                         m->name);
    if (!m->head_dim && !m->kv_rank && m->hidden % m->heads)
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": hidden %u is not a multiple of heads %u: give "
                         "head-dim",
                         m->name, m->hidden, m->heads);
    if (!m->head_dim)
        m->head_dim = m->hidden / m->heads;
    if (!m->kv_heads)
        m->kv_heads = m->heads;
    if (m->heads % m->kv_heads)
        return error_set(err, HALLEY_EINVAL,
                         "model \"%s\": kv-heads %u does not divide heads %u", m->name,
                         m->kv_heads, m->heads);
    if (!m->ffn && !(m->mixed && m->ffn_layers == 0))
        m->ffn = 4 * m->hidden;
    return check_experts(m, err);
}

static halley_family find_family(const halley_model *m)
{
    if (m->kind == HALLEY_DLRM)
        return HALLEY_FAMILY_RECOMMENDER;
    if (m->kind == HALLEY_OPS)
        return HALLEY_FAMILY_OPERATORS;
    return m->not_causal ? HALLEY_FAMILY_ENCODER : HALLEY_FAMILY_LLM;
}

/* Patches of 16 x 16 pixels, four frames at a time, after the tokens of the text. */
static void count_image_tokens(halley_model *m)
{
    const uint32_t edge = m->image / 16, times = m->frames > 4 ? m->frames / 4 : 1;
    if (m->image > 0)
        m->seq = m->text_tokens + edge * edge * times;
}

halley_status halley_model_check(halley_model *model, halley_error *err)
{
    if (model->family == HALLEY_FAMILY_AUTO)
        model->family = find_family(model);
    if (model->family == HALLEY_FAMILY_DIT)
        count_image_tokens(model);
    if (model->kind == HALLEY_TRANSFORMER)
        return check_transformer(model, err);
    model->layers = 1;
    if (!model->seq)
        model->seq = 1;
    if (model->kind == HALLEY_DLRM &&
        (model->n_bottom < 2 || model->n_top < 2 || !model->tables || !model->table_dim))
        return error_set(
            err, HALLEY_EINVAL,
            "model \"%s\": a DLRM needs tables, table-dim, and bottom and top "
            "widths",
            model->name);
    if (model->n_ops > MAX_OPERATORS)
        return error_set(err, HALLEY_ELIMIT,
                         "model \"%s\": more than %d operators; use repeat", model->name,
                         MAX_OPERATORS);
    return HALLEY_OK;
}

static double attention_params(const halley_model *m)
{
    const double h = m->hidden, a = m->heads;
    if (!m->kv_rank)
        return h * m->head_dim * ((m->attention_gate ? 3 : 2) * a + 2.0 * m->kv_heads);
    const double qk = m->qk_nope + m->qk_rope;
    const double q = m->q_rank ? m->q_rank * (h + a * qk) : h * a * qk;
    return q + h * (m->kv_rank + m->qk_rope) + m->kv_rank * a * (m->qk_nope + m->v_head) +
           a * m->v_head * h;
}

static double moe_layers(const halley_model *m)
{
    if (!m->experts)
        return 0;
    if (m->mixed)
        return m->expert_layers;
    return floor((double)(m->layers - m->dense_layers) /
                 (m->moe_every ? m->moe_every : 1));
}

/* The number of parameters with `experts` of the experts in use. */
static double params_with(const halley_model *m, double experts)
{
    const double h = m->hidden, wide = m->gated ? 3 : 2, moe = moe_layers(m);
    const double attention = m->mixed ? m->attention_layers : m->layers;
    const double dense = m->mixed ? m->ffn_layers : m->layers - moe;
    const double inside = m->expert_hidden ? m->expert_hidden : h; /* of experts */
    double p = attention * attention_params(m) + 4 * h * m->layers;
    if (m->adaptive_norm)
        p += m->layers * 6 * h * h;
    p += dense * wide * h * m->ffn;
    p += moe * (wide * (experts * inside * m->expert_ffn + h * m->shared_ffn) +
                h * m->experts + (m->expert_hidden ? 2 * h * inside : 0));
    if (m->recurrent.layers > 0)
        p += m->recurrent.layers * workload_recurrent_params(&m->recurrent, h);
    return p + (double)m->vocab * h * (m->tied ? 1 : 2);
}

static double mlp_params(const uint32_t *widths, uint32_t n)
{
    double p = 0;
    for (uint32_t i = 0; i + 1 < n; i++)
        p += (double)widths[i] * widths[i + 1];
    return p;
}

/* Low-rank cross layers of DCNv2 on the concatenation of all vectors. */
static double cross_params(const halley_model *m)
{
    const double width = (m->tables + 1.0) * m->table_dim;
    return 2.0 * m->cross_layers * width * m->cross_rank;
}

/* For models that are not transformers: all parameters, or without the tables, of which a
 * sample uses very little. */
static double flat_params(const halley_model *m, bool tables)
{
    double p = mlp_params(m->bottom, m->n_bottom) + mlp_params(m->top, m->n_top) +
               cross_params(m);
    if (tables)
        p += m->tables * m->table_rows * m->table_dim;
    for (uint32_t i = 0; i < m->n_ops; i++)
        p += m->ops[i].weights * (m->ops[i].repeat ? m->ops[i].repeat : 1);
    return p;
}

static double flat_flops(const halley_model *m)
{
    double f = 2 * (mlp_params(m->bottom, m->n_bottom) + mlp_params(m->top, m->n_top) +
                    cross_params(m));
    for (uint32_t i = 0; i < m->n_ops; i++) {
        const halley_model_op *op = &m->ops[i];
        const double one =
            op->m > 0 && op->heads == 0 ? 2 * op->m * op->n * op->k : op->flops;
        f += one * (op->repeat ? op->repeat : 1);
    }
    return f;
}

double halley_model_params(const halley_model *model)
{
    if (model->kind != HALLEY_TRANSFORMER)
        return flat_params(model, true);
    return params_with(model, model->experts) + model->extra_params;
}

double halley_model_active_params(const halley_model *model)
{
    if (model->kind != HALLEY_TRANSFORMER)
        return flat_params(model, false);
    return params_with(model, model->top_k) + model->extra_active_params;
}

halley_status halley_model_check_timed(const halley_model *model, halley_error *err)
{
    if (model->untimed[0] == '\0')
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "model \"%s\" has %s, which halley counts but cannot time yet",
                     model->name, model->untimed);
}

double halley_model_keys_seen(const halley_model *model, double seq)
{
    const double all = model->not_causal ? seq : seq / 2;
    if (model->window == 0 || model->window >= seq)
        return all;
    const double w = model->window, near = w - w * w / (2 * seq);
    const double full = model->window_every > 0 ? 1.0 / model->window_every : 0;
    return full * all + (1 - full) * near;
}

double halley_model_token_params(const halley_model *model)
{
    const halley_model *m = model;
    const double head = (double)m->vocab * m->hidden;
    const double share = m->head_share > 0 ? m->head_share : 1;
    const double embeddings = head * (m->tied ? 1 : 2);
    const double blocks =
        params_with(m, m->top_k) - embeddings -
        (m->adaptive_norm ? 6.0 * m->layers * m->hidden * m->hidden : 0);
    const double per_layer = m->layers > 0 ? blocks / m->layers : 0;
    return blocks + share * head +
           m->mtp * (per_layer + 2.0 * m->hidden * m->hidden + head);
}

double halley_model_step_flops(const halley_model *model, double samples, double seq)
{
    const halley_model *m = model;
    if (m->kind != HALLEY_TRANSFORMER)
        return 3 * samples * flat_flops(m);
    const double tokens = samples * seq;
    const double layers = m->mixed
                              ? m->attention_layers * (1 + (double)m->mtp / m->layers)
                              : m->layers + m->mtp;
    const double mixing =
        m->recurrent.layers > 0
            ? m->recurrent.layers * workload_recurrent_flops(&m->recurrent)
            : 0;
    const double dims =
        m->kv_rank ? m->qk_nope + m->qk_rope + m->v_head : 2.0 * m->head_dim;
    return 6 * tokens * halley_model_token_params(m) + 3 * tokens * mixing +
           6 * tokens * layers * m->heads * dims * halley_model_keys_seen(m, seq);
}
