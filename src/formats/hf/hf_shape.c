/* Reads a decoder's configuration as a shape: first the keys that all types share, then
 * the row of its type, then the type's own adjustments. */
#include "base/number/number.h"
#include "base/number/whole.h"
#include "hf/hf.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

/* Hybrids may list their layers and omit their number; 0: they do not. */
static uint32_t count_listed_layers(hf_block *b, const char *names)
{
    const conf_node *list = hf_node(b, "layers_block_type hybrid_override_pattern");
    if (list == NULL || hf_whole(b, names, 0) > 0 || b->status != HALLEY_OK)
        return 0;
    const size_t n = list->kind == CONF_LIST ? list->n : list->text.n;
    return n <= HF_MAX_LAYERS ? (uint32_t)n : 0;
}

static void read_sizes(hf_shape *s, hf_block *b)
{
    static const char layers[] = "num_hidden_layers n_layer n_layers num_layers";
    s->n_layers = count_listed_layers(b, layers);
    if (s->n_layers == 0)
        s->n_layers = hf_whole_needed(b, layers);
    s->hidden = hf_whole_needed(b, "hidden_size n_embd n_embed d_model");
    s->heads = hf_whole(b, "num_attention_heads n_head n_heads num_heads", 0);
    s->kv_heads =
        hf_whole(b, "num_key_value_heads num_kv_heads n_head_kv", whole_u32(s->heads));
    s->head_dim = hf_whole(b, "head_dim kv_channels attention_head_dim", 0);
    if (s->head_dim <= 0 && s->heads > 0)
        s->head_dim = s->hidden / s->heads;
    s->ffn = hf_whole(b, "intermediate_size ffn_hidden_size n_inner ffn_dim",
                      whole_u32(4 * s->hidden));
    s->vocab = hf_whole_needed(b, "padded_vocab_size vocab_size");
    s->mtp_layers = hf_whole(b, "num_nextn_predict_layers", 0);
}

static bool read_bias(hf_block *b, const hf_bias *bias)
{
    return bias->key != NULL ? hf_flag(b, bias->key, bias->otherwise) : bias->otherwise;
}

/* True if the head shares the embedding. The block decides, else the wrapper around it,
 * else the type. A default of the nested block does not override the wrapper. */
static bool read_tied(hf_block *b, bool otherwise)
{
    hf_block around = *b;
    around.map = b->around;
    if (!hf_has(b, "tie_word_embeddings") && b->around != NULL &&
        hf_has(&around, "tie_word_embeddings"))
        return hf_flag(&around, "tie_word_embeddings", otherwise);
    return hf_flag(b, "tie_word_embeddings", otherwise);
}

static bool is_word(const conf_node *node, const char *word)
{
    return node->kind == CONF_SCALAR && str_eq(node->text, str_from(word));
}

/* `layer_types`: one word per layer. It overrides every pattern of the type. */
static void read_layer_types(hf_shape *s, hf_block *b)
{
    const conf_node *list = hf_node(b, "layer_types");
    if (list == NULL)
        return;
    s->typed = true;
    if (list->kind != CONF_LIST || list->n < s->n_layers) {
        hf_fail(b, list, "layer_types must have one word for each of the %u layers",
                s->n_layers);
        return;
    }
    for (uint32_t i = 0; i < s->n_layers && b->status == HALLEY_OK; i++) {
        const conf_node *word = list->items[i];
        s->layers[i].windowed =
            is_word(word, "sliding_attention") || is_word(word, "chunked_attention");
        if (is_word(word, "linear_attention"))
            s->layers[i].mixer = HF_DELTA_NET;
        else if (is_word(word, "mamba"))
            s->layers[i].mixer = HF_MAMBA2;
        else if (!s->layers[i].windowed && !is_word(word, "full_attention") &&
                 !is_word(word, "attention") &&
                 !is_word(word, "deepseek_sparse_attention") && !is_word(word, "moe") &&
                 !is_word(word, "mlp"))
            hf_fail(b, word, "layer type \"%.*s\" is not known", STR_ARG(word->text));
    }
}

/* Every n-th layer has full attention: a number, or one period as a string such as "LLLG"
 * (EXAONE 4). */
static uint32_t read_window_pattern(hf_block *b, uint32_t otherwise)
{
    const conf_node *node = hf_node(b, "sliding_window_pattern");
    if (node == NULL || node->kind != CONF_SCALAR || node->text.n == 0 ||
        (node->text.at[0] != 'L' && node->text.at[0] != 'G'))
        return hf_whole(b, "sliding_window_pattern", otherwise);
    const str letters = node->text;
    for (size_t i = 0; i < letters.n; i++)
        if (letters.at[i] != (i + 1 < letters.n ? 'L' : 'G'))
            hf_fail(b, node, "sliding_window_pattern must be L's and a G at the end");
    return letters.n < HF_MAX_LAYERS ? (uint32_t)letters.n : otherwise;
}

static void read_windows(hf_shape *s, hf_block *b, const hf_type *type)
{
    uint32_t first = 0, full_every = 0;
    if (type->window == HF_WINDOW_NONE)
        return;
    s->window = hf_whole(b, "sliding_window", 0);
    if (type->window == HF_WINDOW_ASKED) {
        if (!hf_flag(b, "use_sliding_window", false))
            s->window = 0;
        first = hf_whole(b, "max_window_layers", 0);
    }
    if (type->window == HF_WINDOW_PATTERN)
        full_every = read_window_pattern(b, type->pattern);
    if (s->window == 0)
        return;
    for (uint32_t i = first; i < s->n_layers; i++)
        s->layers[i].windowed = full_every == 0 || (i + 1) % full_every != 0;
}

/* `mlp_layer_types`, `moe_layer_freq` as a list, `mlp_only_layers`: which layers are
 * dense. */
static void read_sparse_lists(hf_shape *s, hf_block *b)
{
    const conf_node *types = hf_node(b, "mlp_layer_types");
    for (uint32_t i = 0; types != NULL && types->kind == CONF_LIST && i < s->n_layers;
         i++)
        s->layers[i].ffn =
            i < types->n && is_word(types->items[i], "dense") ? HF_MLP : HF_MOE;
    const conf_node *dense = hf_node(b, "mlp_only_layers");
    for (uint32_t i = 0; dense != NULL && dense->kind == CONF_LIST && i < dense->n; i++) {
        int64_t layer;
        if (conf_to_i64(&layer, b->file, dense->items[i], "mlp_only_layers", b->err) !=
            HALLEY_OK) {
            b->status = HALLEY_EINVAL;
            return;
        }
        if (layer >= 0 && layer < s->n_layers)
            s->layers[layer].ffn = HF_MLP;
    }
}

static void place_experts_by_step(hf_shape *s, hf_block *b)
{
    const uint32_t dense = hf_whole(b, "first_k_dense_replace", 0);
    const uint32_t step = hf_whole(b, "decoder_sparse_step", 1);
    const conf_node *freq = hf_node(b, "moe_layer_freq");
    const bool listed = freq != NULL && freq->kind == CONF_LIST;
    const uint32_t every = freq != NULL && !listed ? hf_whole(b, "moe_layer_freq", 1) : 1;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        bool sparse =
            i >= dense && step > 0 && (i + 1) % step == 0 && every > 0 && i % every == 0;
        if (listed && i < freq->n)
            sparse = !is_word(freq->items[i], "0");
        s->layers[i].ffn = sparse ? HF_MOE : HF_MLP;
    }
    read_sparse_lists(s, b);
}

static void read_experts(hf_shape *s, hf_block *b)
{
    s->experts = hf_whole(b, "num_local_experts n_routed_experts num_experts", 0);
    if (s->experts <= 0)
        return;
    s->top_k = hf_whole_needed(
        b, "num_experts_per_tok experts_per_token moe_topk top_k_experts");
    s->expert_ffn = hf_whole(b, "moe_intermediate_size", (uint32_t)s->ffn);
    const uint32_t n_shared = hf_whole(b, "n_shared_experts", 0);
    s->shared_ffn = hf_whole(b, "shared_expert_intermediate_size",
                             (uint32_t)(n_shared * s->expert_ffn));
    s->groups = hf_whole(b, "n_group", 0);
    s->top_groups = hf_whole(b, "topk_group", 0);
    if (s->top_k > s->experts)
        hf_fail(b, NULL, "%s experts per token, but there are only %s",
                number_fixed(s->top_k, 0).at, number_fixed(s->experts, 0).at);
    place_experts_by_step(s, b);
}

/* Refuse sizes that would no longer be exact when multiplied. */
static void check_ranges(const hf_shape *s, hf_block *b)
{
    if (s->kv_rank <= 0 && s->heads > 0 && s->head_dim != floor(s->head_dim))
        hf_fail(b, NULL, "hidden %s is not a multiple of heads %s: give head_dim",
                number_fixed(s->hidden, 0).at, number_fixed(s->heads, 0).at);
    if (s->hidden > 1 << 24 || s->ffn > 1 << 28 || s->vocab > 1 << 28 ||
        s->experts > 1 << 20 || s->heads > 1 << 20)
        hf_fail(b, NULL,
                "the sizes are larger than any model's: hidden %s, ffn %s, "
                "vocabulary %s, experts %s, heads %s",
                number_fixed(s->hidden, 0).at, number_fixed(s->ffn, 0).at,
                number_fixed(s->vocab, 0).at, number_fixed(s->experts, 0).at,
                number_fixed(s->heads, 0).at);
}

halley_status hf_shape_read(hf_shape *out, hf_block *b, const hf_type *type,
                            arena *memory)
{
    assert(type->norms <= 4);
    hf_shape s = {.gated = type->gated,
                  .norms = type->norms,
                  .norm = type->norm,
                  .qk_norm = type->qk_norm};
    read_sizes(&s, b);
    if (b->status == HALLEY_OK && s.n_layers > HF_MAX_LAYERS)
        hf_fail(b, NULL, "%u layers; halley reads at most %d", s.n_layers, HF_MAX_LAYERS);
    if (b->status != HALLEY_OK)
        return b->status;
    s.layers = arena_array(memory, s.n_layers, sizeof *s.layers);
    if (s.layers == NULL)
        return error_nomem(b->err);
    for (uint32_t i = 0; i < s.n_layers; i++)
        s.layers[i] = (hf_layer){HF_ATTENTION, HF_MLP, false};
    s.qkv_bias = read_bias(b, &type->qkv);
    s.o_bias = read_bias(b, &type->o);
    s.mlp_bias = read_bias(b, &type->mlp);
    s.tied = read_tied(b, type->tied);
    read_experts(&s, b);
    read_windows(&s, b, type);
    if (b->status == HALLEY_OK)
        read_layer_types(&s, b);
    if (type->adjust != NULL && b->status == HALLEY_OK)
        type->adjust(b, &s);
    if (b->status == HALLEY_OK)
        check_ranges(&s, b);
    if (b->status == HALLEY_OK)
        *out = s;
    return b->status;
}
