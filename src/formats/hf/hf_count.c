/*
 * Counts the parameters of a decoder, layer by layer. The sizes are h hidden, a heads, k
 * key-value heads, d head size, f feed-forward width. E is the number of experts, e their
 * width, t the experts per token. For latent attention, q and c are the ranks of query
 * and key-value. There, n and r are the head sizes without and with rotation, and v is
 * that of values.
 *
 *   attention  h·a·d + 2·h·k·d + a·d·h, and biases (a + 2k)·d and h.
 *   latent     query: h·a(n+r), or with rank q: h·q + q + q·a(n+r);
 *              key and value: h(c+r) + c + c·a(n+v); output: a·v·h.
 *   MLP        gated: 3·h·f, else 2·h·f.
 *   MoE        E experts, router h·E, shared expert; one token uses t instead of E.
 *   Mamba, delta net, lightning attention: below, at their functions.
 *
 * The formulas match the published definitions of the models, parameter by parameter.
 * tests/unit/formats/hf/test_hf.c checks totals of public configurations.
 */
#include "base/number/whole.h"
#include "hf/hf.h"

#include <assert.h>
#include <stdio.h>

double hf_norm_params(const hf_shape *s)
{
    static const double per_hidden[] = {
        [HF_RMS] = 1, [HF_LAYER] = 2, [HF_LAYER_NO_BIAS] = 1, [HF_NO_WEIGHTS] = 0};
    return per_hidden[s->norm] * s->hidden;
}

double hf_mlp_params(const hf_shape *s, double width)
{
    const double matrices = s->gated ? 3 : 2;
    const double bias = s->mlp_bias ? (matrices - 1) * width + s->hidden : 0;
    return matrices * s->hidden * width + bias;
}

double hf_plain_layer_params(double hidden, double ffn)
{
    return 4 * hidden * hidden + 4 * hidden + 2 * hidden * ffn + ffn + hidden +
           4 * hidden;
}

static double count_latent_attention(const hf_shape *s)
{
    const double h = s->hidden, a = s->heads, qk = s->nope + s->rope;
    const double q =
        s->q_rank > 0 ? h * s->q_rank + s->q_rank + s->q_rank * a * qk : h * a * qk;
    const double bias = s->qkv_bias ? s->q_rank + s->kv_rank + s->rope + h : 0;
    return q + h * (s->kv_rank + s->rope) + s->kv_rank +
           s->kv_rank * a * (s->nope + s->v_head) + a * s->v_head * h + bias;
}

static double count_attention(const hf_shape *s)
{
    const double h = s->hidden, q = s->heads * s->head_dim,
                 kv = s->kv_heads * s->head_dim;
    if (s->kv_rank > 0)
        return count_latent_attention(s);
    const double wide = s->wide_q > 0 ? s->wide_q : 1;
    double p = h * q * wide + 2 * h * kv + q * h;
    p += s->qkv_bias ? q * wide + 2 * kv : 0;
    p += s->o_bias ? h : 0;
    if (s->qk_norm == HF_QK_HEAD)
        p += 2 * s->head_dim;
    if (s->qk_norm == HF_QK_FULL)
        p += q + kv;
    return p;
}

/* Mamba 1: input and output projection, convolution, projections of step and state. */
static double count_mamba1(const hf_shape *s)
{
    const double h = s->hidden, i = s->mamba.inner, n = s->mamba.state;
    const double r = s->mamba.dt_rank;
    double p =
        h * 2 * i + i * s->mamba.conv + i * (r + 2 * n) + r * i + i + i * n + i + i * h;
    p += s->mamba.conv_bias ? i : 0;
    p += s->mamba.bias ? 2 * i + h : 0;
    return p + (s->mamba.extra_norms ? r + 2 * n : 0);
}

/* Mamba 2: heads share the step, groups the state; a gated norm before the output. */
static double count_mamba2(const hf_shape *s)
{
    const double h = s->hidden, i = s->mamba.inner, heads = s->mamba.heads;
    const double states = 2 * s->mamba.groups * s->mamba.state;
    const double in = 2 * i + states + heads;
    double p = h * in + (i + states) * (s->mamba.conv + (s->mamba.conv_bias ? 1 : 0)) +
               3 * heads + i + i * h;
    return p + (s->mamba.bias ? in + h : 0);
}

/* Gated delta net: q, k, v and gate in one projection, a short convolution. */
static double count_delta_net(const hf_shape *s)
{
    const double q = s->delta.key_dim * s->delta.key_heads;
    const double v = s->delta.value_dim * s->delta.value_heads, h = s->hidden;
    return h * (2 * q + 2 * v) + 2 * h * s->delta.value_heads +
           (2 * q + v) * s->delta.conv + 2 * s->delta.value_heads + s->delta.value_dim +
           v * h;
}

/* Lightning attention: q, k, v, output gate, output, and a norm over the heads. */
static double count_lightning(const hf_shape *s)
{
    const double inner = s->heads * s->head_dim;
    return 5 * s->hidden * inner + inner;
}

static double count_nothing(const hf_shape *s)
{
    (void)s;
    return 0;
}

static double (*const count_mixer[HF_N_MIXERS])(const hf_shape *) = {
    [HF_ATTENTION] = count_attention, [HF_MAMBA1] = count_mamba1,
    [HF_MAMBA2] = count_mamba2,       [HF_DELTA_NET] = count_delta_net,
    [HF_LIGHTNING] = count_lightning, [HF_NO_MIXER] = count_nothing,
};

/* Parameters of a layer's experts, of which `used` count. */
static double count_experts(const hf_shape *s, double used)
{
    const double h = s->hidden, matrices = s->gated ? 3 : 2;
    const double width = s->moe_latent > 0 ? s->moe_latent : h;
    double p = used * matrices * width * s->expert_ffn;
    p += s->moe_latent > 0 ? 2 * h * s->moe_latent : 0;
    p += s->expert_bias ? used * ((matrices - 1) * s->expert_ffn + h) : 0;
    p += s->router_free ? 0 : h * s->experts + s->router_bias;
    p += matrices * h * s->shared_ffn;
    return p + (s->shared_gate ? h : 0);
}

static double count_with(const hf_shape *s, double experts)
{
    double p = s->vocab * s->hidden * (s->tied ? 1 : 2) + s->positions;
    p += s->head_bias ? s->vocab : 0;
    p += s->no_final_norm ? 0 : hf_norm_params(s);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        assert(s->layers[i].mixer < HF_N_MIXERS);
        p += s->norms * hf_norm_params(s) + count_mixer[s->layers[i].mixer](s);
        if (s->layers[i].ffn == HF_MOE)
            p += count_experts(s, experts);
        else if (s->layers[i].ffn == HF_MLP && s->ffn_total <= 0)
            p += hf_mlp_params(s, s->ffn);
    }
    const double indexer = s->q_rank * s->index_heads * s->index_dim +
                           s->hidden * s->index_dim + 2 * s->index_dim +
                           s->hidden * s->index_heads;
    return p + s->ffn_total + s->n_indexed * indexer;
}

double hf_shape_params(const hf_shape *s)
{
    return count_with(s, s->experts) + s->extra;
}

double hf_shape_active_params(const hf_shape *s)
{
    return count_with(s, s->experts > 0 ? s->top_k : 0) + s->extra_active;
}

static uint32_t count_layers(const hf_shape *s, bool (*has)(const hf_layer *))
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_layers; i++)
        n += has(&s->layers[i]);
    return n;
}

static bool has_experts(const hf_layer *layer)
{
    return layer->ffn == HF_MOE;
}

static bool sees_all(const hf_layer *layer)
{
    return layer->mixer == HF_ATTENTION && !layer->windowed;
}

static bool has_window(const hf_layer *layer)
{
    return layer->mixer == HF_ATTENTION && layer->windowed;
}

/* True if layer i has experts when the first `dense` layers have none, and then every
 * `every`-th layer does. */
static bool experts_follow(const hf_shape *s, uint32_t dense, uint32_t every)
{
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const bool expected = i >= dense && (i - dense + 1) % every == 0;
        if (expected != (s->layers[i].ffn == HF_MOE))
            return false;
    }
    return true;
}

/* The engines support "the first n layers are dense, then every m-th has experts". Other
 * patterns get the right numbers of both, dense layers first. */
static void place_experts(halley_model *m, const hf_shape *s)
{
    const uint32_t n = count_layers(s, has_experts);
    m->dense_layers = s->n_layers - n;
    m->moe_every = 1;
    for (uint32_t dense = 0; dense < s->n_layers; dense++)
        for (uint32_t every = 1; every <= 16; every++)
            if (experts_follow(s, dense, every)) {
                m->dense_layers = dense;
                m->moe_every = every;
                return;
            }
}

static bool has_attention(const hf_layer *layer)
{
    return layer->mixer == HF_ATTENTION;
}

static bool has_mlp(const hf_layer *layer)
{
    return layer->ffn == HF_MLP;
}

static bool is_usual(const hf_layer *layer)
{
    return layer->mixer == HF_ATTENTION && layer->ffn != HF_NO_FFN;
}

/* Mamba 2: channels per head. */
static uint32_t divide_inner(const hf_shape *s)
{
    return s->mamba.heads > 0 ? (uint32_t)(s->mamba.inner / s->mamba.heads) : 0;
}

/* The sizes of the one kind of recurrent layers that a model has. */
static void set_recurrent(halley_recurrent *r, const hf_shape *s, hf_mixer mixer)
{
    const uint32_t layers = r->layers, chunk = (uint32_t)s->mamba.chunk;
    switch (mixer) {
    case HF_MAMBA1:
        *r = (halley_recurrent){.mixer = HALLEY_MIXER_MAMBA,
                                .heads = (uint32_t)s->mamba.inner,
                                .groups = 1,
                                .key_dim = (uint32_t)s->mamba.state,
                                .value_dim = 1,
                                .conv = (uint32_t)s->mamba.conv,
                                .dt_rank = (uint32_t)s->mamba.dt_rank};
        break;
    case HF_MAMBA2:
        *r = (halley_recurrent){.mixer = HALLEY_MIXER_MAMBA2,
                                .heads = (uint32_t)s->mamba.heads,
                                .groups = (uint32_t)s->mamba.groups,
                                .key_dim = (uint32_t)s->mamba.state,
                                .value_dim = divide_inner(s),
                                .conv = (uint32_t)s->mamba.conv,
                                .chunk = chunk};
        break;
    case HF_DELTA_NET:
        *r = (halley_recurrent){.mixer = HALLEY_MIXER_DELTA_NET,
                                .heads = (uint32_t)s->delta.value_heads,
                                .groups = (uint32_t)s->delta.key_heads,
                                .key_dim = (uint32_t)s->delta.key_dim,
                                .value_dim = (uint32_t)s->delta.value_dim,
                                .conv = (uint32_t)s->delta.conv};
        break;
    case HF_LIGHTNING:
        *r = (halley_recurrent){.mixer = HALLEY_MIXER_LIGHTNING,
                                .heads = (uint32_t)s->heads,
                                .groups = (uint32_t)s->heads,
                                .key_dim = (uint32_t)s->head_dim,
                                .value_dim = (uint32_t)s->head_dim};
        break;
    case HF_ATTENTION:
    case HF_NO_MIXER:
    case HF_N_MIXERS:
        assert(false);
    }
    r->layers = layers;
}

/* Count the layers of each kind in models whose layers are not all attention with a
 * feed-forward. */
static void set_mixed(halley_model *m, const hf_shape *s)
{
    if (count_layers(s, is_usual) == s->n_layers)
        return;
    hf_mixer mixer = HF_ATTENTION;
    m->mixed = true;
    m->attention_layers = count_layers(s, has_attention);
    m->ffn_layers = count_layers(s, has_mlp);
    m->expert_layers = count_layers(s, has_experts);
    m->dense_layers = m->moe_every = 0;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const hf_mixer here = (hf_mixer)s->layers[i].mixer;
        if (here == HF_ATTENTION || here == HF_NO_MIXER)
            continue;
        if (mixer != HF_ATTENTION && here != mixer)
            snprintf(m->untimed, sizeof m->untimed,
                     "two kinds of layers with a state in one model");
        mixer = here;
        m->recurrent.layers++;
    }
    if (mixer != HF_ATTENTION)
        set_recurrent(&m->recurrent, s, mixer);
}

void hf_shape_to_model(halley_model *out, const hf_shape *s)
{
    halley_model *m = out;
    m->kind = HALLEY_TRANSFORMER;
    m->layers = s->n_layers;
    m->hidden = whole_u32(s->hidden);
    m->heads = whole_u32(s->heads);
    m->kv_heads = whole_u32(s->kv_heads);
    m->head_dim = whole_u32(s->head_dim);
    m->ffn = whole_u32(s->ffn);
    m->vocab = whole_u32(s->vocab);
    m->gated = s->gated;
    m->tied = s->tied;
    const uint32_t n_all = count_layers(s, sees_all);
    if (count_layers(s, has_window) > 0) {
        m->window = s->window;
        m->window_every = n_all > 0 ? (n_all + count_layers(s, has_window)) / n_all : 0;
    }
    if (count_layers(s, has_experts) > 0) {
        m->experts = whole_u32(s->experts);
        m->top_k = whole_u32(s->top_k);
        m->expert_ffn = whole_u32(s->expert_ffn);
        m->shared_ffn = whole_u32(s->shared_ffn);
        if (s->groups > 1 && s->top_groups > 0 && s->top_groups < s->groups) {
            m->router_groups = s->groups;
            m->router_top_groups = s->top_groups;
        }
        place_experts(m, s);
    }
    if (s->kv_rank > 0) {
        m->q_rank = whole_u32(s->q_rank);
        m->kv_rank = whole_u32(s->kv_rank);
        m->qk_nope = whole_u32(s->nope);
        m->qk_rope = whole_u32(s->rope);
        m->v_head = whole_u32(s->v_head);
    }
    m->expert_hidden = m->experts > 0 ? whole_u32(s->moe_latent) : 0;
    m->attention_gate = s->wide_q > 1;
    m->sinks = s->sinks;
    m->parallel_block = s->parallel;
    set_mixed(m, s);
}
