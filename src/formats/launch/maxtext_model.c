/*
 * The model of a MaxText file. It is a preset by name, with sizes that override those of
 * the preset, or sizes with MaxText's defaults. The key decoder_block implies what the
 * sizes do not state. This is how many real layers one entry holds, which layers have a
 * window, and which norms there are.
 *
 * The key global_parameter_scale is a power of two. Its doublings apply to heads and
 * feed-forward, then to the hidden size, then to the layers, and so on. The code that
 * counts Hugging Face's configurations counts the shape.
 */
#include "base/number/whole.h"
#include "hf/hf.h"
#include "launch/args.h"

#include <stdio.h>
#include <string.h>

enum { NO_KEY = -1 };

typedef enum block_norms {
    NORMS_RMS,   /* before attention and feed-forward */
    NORMS_OLMO,  /* the same, and of all of q and k */
    NORMS_LAYER, /* with biases, as everything in GPT-3 */
} block_norms;

static const struct block {
    const char *name;
    uint32_t layers;     /* real layers per entry of base_num_decoder_layers */
    uint32_t full_every; /* every n-th layer has full attention; 0 = no windows */
    const char *window;  /* the key of the window */
    block_norms norms;
    bool qk_norm;         /* independent of use_qk_norm */
    bool weightless_norm; /* use_qk_norm has no weights */
} blocks[] = {
    {"default", 1, 0, NULL, NORMS_RMS, false, false},
    {"llama2", 1, 0, NULL, NORMS_RMS, false, false},
    {"mistral", 1, 0, NULL, NORMS_RMS, false, false},
    {"mixtral", 1, 0, NULL, NORMS_RMS, false, false},
    {"deepseek", 1, 0, NULL, NORMS_RMS, false, false},
    {"gemma", 1, 0, NULL, NORMS_RMS, false, false},
    {"gemma2", 2, 2, "sliding-window-size", NORMS_RMS, false, false},
    {"gemma3", 1, 6, "sliding-window-size", NORMS_RMS, true, false},
    {"qwen2", 1, 0, NULL, NORMS_RMS, false, false},
    {"qwen3", 1, 0, NULL, NORMS_RMS, false, false},
    {"qwen3_moe", 1, 0, NULL, NORMS_RMS, false, false},
    {"gpt3", 1, 0, NULL, NORMS_LAYER, false, false},
    {"gpt_oss", 1, 2, "sliding-window-size", NORMS_RMS, false, false},
    {"llama4", 1, 4, "chunk-attn-window-size", NORMS_RMS, false, true},
    {"olmo3", 1, 4, "sliding-window-size", NORMS_OLMO, false, false},
};

static const struct block *find_block(launch_args *a)
{
    const str name = launch_args_text(a, "decoder-block", STR("llama2"), NO_KEY);
    for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
        if (str_eq(name, str_from(blocks[i].name)))
            return &blocks[i];
    launch_args_fail(
        a, HALLEY_EINVAL,
        "decoder_block %.*s is not modelled; give the model with -m and this "
        "file with --plan",
        STR_ARG(name));
    return NULL;
}

/* Refuse keys that change the model, unless they have the value given here. */
static void refuse_shapes(launch_args *a)
{
    static const struct {
        const char *name, *off, *doc;
    } shapes[] = {
        {"attention-output-dim", "-1", "attention of another width"},
        {"moe-expert-input-dim", "-1", "experts of another width"},
        {"global-head-dim", "0", "heads that differ between layers"},
        {"global-num-kv-heads", "0", "heads that differ between layers"},
        {"share-kv-projections", "", "keys that are values, too"},
        {"num-kv-shared-layers", "0", "layers that share keys and values"},
        {"hidden-size-per-layer-input", "0", "embeddings of every layer"},
        {"mhc-expansion-rate", "1", "several residual streams"},
        {"engram-layers", "", "layers that look up n-grams"},
        {"first-num-hash-layers", "0", "layers routed by a hash"},
        {"use-indexer", "", "sparse attention"},
        {"pipeline-parallel-layers", "-1", "a pipeline of some layers only"},
        {"custom-mesh-and-rule", "", "a mesh of its own"},
        {"enable-diloco", "", "replicas are synchronized less than once per step"},
        {"dcn-diloco-parallelism", "1", "replicas are synchronized less often"},
        {"ici-diloco-parallelism", "1", "replicas are synchronized less often"},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const launch_arg *arg = launch_args_find(a, shapes[i].name);
        if (arg == NULL || arg->value.n == 0 ||
            str_eq(arg->value, str_from(shapes[i].off)))
            continue;
        char shown[64];
        snprintf(shown, sizeof shown, "%s", shapes[i].name);
        for (char *c = shown; *c != '\0'; c++)
            *c = *c == '-' ? '_' : *c;
        launch_args_fail(a, HALLEY_EINVAL,
                         "%s changes the run in a way that halley cannot model yet (%s)",
                         shown, shapes[i].doc);
    }
}

typedef struct scales {
    double hidden, heads, layers; /* factors; the feed-forward grows with the heads */
} scales;

static scales read_scales(launch_args *a)
{
    const uint32_t scale = launch_args_whole(a, "global-parameter-scale", 1, NO_KEY);
    uint32_t log = 0;
    while (log < 30 && 1u << (log + 1) <= scale)
        log++;
    if (scale == 0 || 1u << log != scale)
        launch_args_fail(a, HALLEY_EINVAL,
                         "global_parameter_scale must be a power of 2, is %u", scale);
    const uint32_t base = log / 3, rest = log % 3;
    return (scales){.hidden = (double)(1u << (base + (rest > 1))),
                    .heads = (double)(1u << (base + (rest > 0))),
                    .layers = (double)(1u << base)};
}

static void read_latent(launch_args *a, hf_shape *s)
{
    if (!str_eq(launch_args_text(a, "attention-type", STR("global"), NO_KEY), STR("mla")))
        return;
    s->q_rank = launch_args_whole(a, "q-lora-rank", 0, NO_KEY);
    s->kv_rank = launch_args_whole(a, "kv-lora-rank", 512, NO_KEY);
    s->nope = launch_args_whole(a, "qk-nope-head-dim", 128, NO_KEY);
    s->rope = launch_args_whole(a, "qk-rope-head-dim", 64, NO_KEY);
    s->v_head = launch_args_whole(a, "v-head-dim", 128, NO_KEY);
    s->kv_heads = s->heads;
    s->head_dim = s->nope + s->rope;
    s->qk_norm = HF_QK_NONE; /* norms of the ranks, which are counted anyway */
}

static void read_maxtext_experts(launch_args *a, hf_shape *s, double scale)
{
    const uint32_t experts = launch_args_whole(a, "num-experts", 1, NO_KEY);
    const uint32_t step = launch_args_whole(a, "interleave-moe-layer-step", 1, NO_KEY);
    const uint32_t dense = launch_args_whole(a, "first-num-dense-layers", 0, NO_KEY);
    const double size = launch_args_real(a, "base-moe-mlp-dim", -1, NO_KEY);
    if (experts <= 1)
        return;
    s->experts = experts;
    s->top_k = launch_args_whole(a, "num-experts-per-tok", 1, NO_KEY);
    s->expert_ffn = size > 0 && size < 1e9 ? size * scale : s->ffn;
    s->shared_ffn = s->expert_ffn * launch_args_whole(a, "shared-experts", 0, NO_KEY);
    s->router_bias = launch_args_has(a, "routed-bias") ? experts : 0;
    s->expert_bias = launch_args_has(a, "mlp-bias");
    const double groups = launch_args_real(a, "n-routing-groups", -1, NO_KEY);
    const double used = launch_args_real(a, "topk-routing-group", -1, NO_KEY);
    s->groups = groups > 0 && groups < 1e6 ? whole_u32(groups) : 0;
    s->top_groups = used > 0 && used < 1e6 ? whole_u32(used) : 0;
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].ffn =
            i >= dense && step > 0 && (i + 1) % step == 0 ? HF_MOE : HF_MLP;
}

static void read_maxtext_norms(launch_args *a, hf_shape *s, const struct block *block)
{
    const bool asked = launch_args_has(a, "use-qk-norm") && !block->weightless_norm;
    const bool biased = block->norms == NORMS_LAYER;
    s->norms = 2u + launch_args_has(a, "use-post-attn-norm") +
               launch_args_has(a, "use-post-ffw-norm");
    s->norm = biased ? HF_LAYER : HF_RMS;
    s->qk_norm = block->norms == NORMS_OLMO ? HF_QK_FULL
                 : asked || block->qk_norm  ? HF_QK_HEAD
                                            : HF_QK_NONE;
    if (block->norms == NORMS_OLMO)
        s->norms = 2;
    const bool is_oss = str_eq(str_from(block->name), STR("gpt_oss"));
    const bool bias = launch_args_has(a, "attention-bias");
    s->qkv_bias = biased || bias;
    s->o_bias = biased || (bias && is_oss);
    s->mlp_bias = biased || launch_args_has(a, "mlp-bias");
    s->sinks = launch_args_has(a, "attention-sink");
    if (s->sinks)
        s->extra = s->extra_active = s->n_layers * s->heads;
    const double rows = launch_args_real(a, "trainable-position-size", -1, NO_KEY);
    s->positions = rows > 0 && rows < 1e9 ? rows * s->hidden : 0;
}

static void read_maxtext_windows(launch_args *a, hf_shape *s, const struct block *block)
{
    const bool all = str_eq(launch_args_text(a, "attention-type", STR("global"), NO_KEY),
                            STR("local_sliding"));
    const uint32_t sliding = launch_args_whole(a, "sliding-window-size", 0, NO_KEY);
    launch_args_find(a, "chunk-attn-window-size");
    s->window = block->window != NULL ? launch_args_whole(a, block->window, 0, NO_KEY)
                : all                 ? sliding
                                      : 0;
    for (uint32_t i = 0; s->window > 0 && i < s->n_layers; i++)
        s->layers[i].windowed = block->window == NULL || (i + 1) % block->full_every != 0;
}

/* Returns false on failure. */
static bool read_maxtext_sizes(launch_args *a, hf_shape *s, const struct block *block)
{
    const scales by = read_scales(a);
    const double layers = launch_args_whole(a, "base-num-decoder-layers", 16, NO_KEY) *
                          by.layers * block->layers;
    s->hidden = launch_args_whole(a, "base-emb-dim", 2048, NO_KEY) * by.hidden;
    s->heads = launch_args_whole(a, "base-num-query-heads", 16, NO_KEY) * by.heads;
    s->kv_heads = launch_args_whole(a, "base-num-kv-heads", 16, NO_KEY) * by.heads;
    s->head_dim = launch_args_whole(a, "head-dim", 128, NO_KEY);
    s->ffn = launch_args_whole(a, "base-mlp-dim", 7168, NO_KEY) * by.heads;
    s->vocab = launch_args_whole(a, "vocab-size", 32000, NO_KEY);
    s->tied = launch_args_has(a, "logits-via-embedding");
    const str words = launch_args_text(a, "mlp-activations", STR("silu linear"), NO_KEY);
    s->gated =
        memchr(words.at, ' ', words.n) != NULL || memchr(words.at, ',', words.n) != NULL;
    if (a->status == HALLEY_OK &&
        (layers < 1 || layers > HF_MAX_LAYERS || s->hidden > 1 << 24 || s->ffn > 1 << 28))
        launch_args_fail(a, HALLEY_EINVAL,
                         "the sizes are zero or larger than any model's");
    if (a->status != HALLEY_OK)
        return false;
    s->n_layers = (uint32_t)layers;
    s->layers = arena_array(&a->launch->memory, s->n_layers, sizeof *s->layers);
    if (s->layers == NULL)
        a->status = error_nomem(a->err);
    for (uint32_t i = 0; s->layers != NULL && i < s->n_layers; i++)
        s->layers[i] = (hf_layer){HF_ATTENTION, HF_MLP, false};
    if (s->layers != NULL)
        read_maxtext_experts(a, s, by.heads);
    return a->status == HALLEY_OK;
}

static void read_shape(launch_args *a, halley_model *m)
{
    hf_shape s = {0};
    const struct block *block = find_block(a);
    if (block == NULL || !read_maxtext_sizes(a, &s, block))
        return;
    read_maxtext_norms(a, &s, block);
    read_maxtext_windows(a, &s, block);
    read_latent(a, &s);
    snprintf(m->name, sizeof m->name, "MaxText model");
    hf_shape_to_model(m, &s);
    if (a->status == HALLEY_OK)
        a->status = halley_model_check(m, a->err);
    if (a->status != HALLEY_OK)
        return;
    m->extra_params = hf_shape_params(&s) - halley_model_params(m);
    m->extra_active_params = hf_shape_active_params(&s) - halley_model_active_params(m);
}

/* Sizes in addition to a name override those of the named model. */
static void override_sizes(launch_args *a, halley_model *m)
{
    const struct {
        const char *name;
        uint32_t *to;
    } sizes[] = {{"base-emb-dim", &m->hidden},
                 {"base-num-query-heads", &m->heads},
                 {"base-num-kv-heads", &m->kv_heads},
                 {"head-dim", &m->head_dim},
                 {"base-mlp-dim", &m->ffn},
                 {"base-num-decoder-layers", &m->layers},
                 {"vocab-size", &m->vocab},
                 {"num-experts", &m->experts},
                 {"num-experts-per-tok", &m->top_k},
                 {"base-moe-mlp-dim", &m->expert_ffn},
                 {"first-num-dense-layers", &m->dense_layers}};
    bool changed = false;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const uint32_t before = *sizes[i].to;
        if (launch_args_find(a, sizes[i].name) != NULL)
            *sizes[i].to = launch_args_whole(a, sizes[i].name, before, NO_KEY);
        changed = changed || *sizes[i].to != before;
    }
    if (!changed)
        return;
    import_note(a->launch->import,
                "Sizes of this file replace those of the named model.");
    if (a->status == HALLEY_OK)
        a->status = halley_model_check(m, a->err);
}

static void read_named(launch_args *a, halley_model *m, str name)
{
    const char *preset = launch_preset_of(STR("maxtext"), name);
    if (preset == NULL && a->opts->plan_only)
        return;
    if (preset == NULL) {
        launch_args_fail(
            a, HALLEY_ENOTFOUND,
            "the model %.*s is not known; give it with -m and this file with "
            "--plan",
            STR_ARG(name));
        return;
    }
    a->status = halley_model_load(m, preset, a->err);
    if (a->status == HALLEY_OK)
        override_sizes(a, m);
    a->launch->has_model = a->status == HALLEY_OK;
}

void launch_maxtext_model(launch_args *a)
{
    const str name = launch_args_text(a, "model-name", STR("default"), NO_KEY);
    halley_model *m = &a->launch->model;
    refuse_shapes(a);
    if (a->status != HALLEY_OK)
        return;
    if (str_eq(name, STR("default"))) {
        read_shape(a, m);
        a->launch->has_model = a->status == HALLEY_OK;
    } else {
        read_named(a, m, name);
    }
    if (a->launch->has_model)
        m->mtp = launch_args_whole(a, "mtp-num-layers", m->mtp, NO_KEY);
    if (launch_args_has(a, "use-multimodal"))
        import_note(a->launch->import, "The vision tower is neither counted nor timed.");
}
