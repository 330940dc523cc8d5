/* Decoders whose configuration has its own keys, or whose definition has parameters that
 * no key states. */
#include "hf/hf_special.h"

#include "base/number/whole.h"

#include <assert.h>
#include <stddef.h>

static void add_extra(hf_shape *s, double params)
{
    s->extra += params;
    s->extra_active += params;
}

static bool is_in_list(const conf_node *list, uint32_t value)
{
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++) {
        uint64_t number;
        if (str_to_u64(list->items[i]->text, &number) && number == value)
            return true;
    }
    return false;
}

void hf_adjust_shared_gate(hf_block *b, hf_shape *s)
{
    (void)b;
    s->shared_gate = s->shared_ffn > 0;
}

/* The first Qwen counts both halves of the gated feed-forward in intermediate_size. */
void hf_adjust_qwen(hf_block *b, hf_shape *s)
{
    (void)b;
    s->ffn /= 2;
}

/* Full attention in every n-th layer, with an output gate as wide as the query; gated
 * delta nets in the others. */
void hf_adjust_delta_net(hf_block *b, hf_shape *s)
{
    s->delta.key_dim = hf_whole(b, "linear_key_head_dim", 128);
    s->delta.value_dim = hf_whole(b, "linear_value_head_dim", 128);
    s->delta.key_heads = hf_whole(b, "linear_num_key_heads", 16);
    s->delta.value_heads = hf_whole(b, "linear_num_value_heads", 32);
    s->delta.conv = hf_whole(b, "linear_conv_kernel_dim", 4);
    s->wide_q = 2;
    s->shared_gate = s->shared_ffn > 0;
    if (s->typed)
        return;
    const uint32_t every = hf_whole(b, "full_attention_interval", 4);
    for (uint32_t i = 0; i < s->n_layers && every > 0; i++)
        if ((i + 1) % every != 0)
            s->layers[i].mixer = HF_DELTA_NET;
}

/* The additional parameters of a Gemma 4 layer over one with the sliding layers' head
 * size. */
static double extra_gemma4_layer(const hf_shape *s, double dim, double kv_heads,
                                 bool v_is_k, bool shares_kv)
{
    const double h = s->hidden;
    const double usual = 2 * h * s->head_dim * (s->heads + s->kv_heads) + 2 * s->head_dim;
    const double n_kv = shares_kv ? 0 : v_is_k ? 1 : 2;
    const double real =
        2 * h * dim * s->heads + n_kv * h * dim * kv_heads + (shares_kv ? dim : 2 * dim);
    return real - usual + 1; /* plus the layer's scalar */
}

void hf_adjust_gemma4(hf_block *b, hf_shape *s)
{
    const double full_dim = hf_whole(b, "global_head_dim", 512);
    const double full_kv =
        hf_whole(b, "num_global_key_value_heads", whole_u32(s->kv_heads));
    const bool k_is_v = hf_flag(b, "attention_k_eq_v", false);
    const uint32_t n_shared = hf_whole(b, "num_kv_shared_layers", 0);
    const bool wide = hf_flag(b, "use_double_wide_mlp", false);
    const double p = hf_whole(b, "hidden_size_per_layer_input", 0);
    const double per_layer_vocab =
        hf_whole(b, "vocab_size_per_layer_input", whole_u32(s->vocab));
    const bool moe = hf_flag(b, "enable_moe_block", false);
    const double h = s->hidden, layers = s->n_layers;
    s->ffn_total = 0;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const bool full = !s->layers[i].windowed;
        const bool shares = i + n_shared >= s->n_layers;
        add_extra(s, extra_gemma4_layer(s, full ? full_dim : s->head_dim,
                                        full ? full_kv : s->kv_heads, full && k_is_v,
                                        shares));
        s->ffn_total += hf_mlp_params(s, shares && wide ? 2 * s->ffn : s->ffn);
        s->layers[i].ffn = moe ? HF_MOE : HF_MLP;
    }
    if (moe) /* next to the MLP: norms, a scale, and a scale per expert */
        add_extra(s, layers * (4 * h + s->experts));
    if (p > 0)
        add_extra(s, per_layer_vocab * layers * p + h * layers * p + p +
                         layers * (2 * h * p + h));
    if (full_dim != s->head_dim || moe || p > 0)
        import_note(b->import,
                    "The estimate treats all attention layers of this model as "
                    "its sliding ones.");
}

/* Phi and GPT-J: attention and feed-forward in parallel, and a head with a bias. */
void hf_adjust_head_bias(hf_block *b, hf_shape *s)
{
    (void)b;
    s->head_bias = s->parallel = true;
}

void hf_adjust_parallel(hf_block *b, hf_shape *s)
{
    s->parallel = hf_flag(b, "use_parallel_residual", true);
}

void hf_adjust_phimoe(hf_block *b, hf_shape *s)
{
    s->head_bias = hf_flag(b, "lm_head_bias", false);
}

void hf_adjust_falcon(hf_block *b, hf_shape *s)
{
    const bool new = hf_flag(b, "new_decoder_architecture", false);
    const bool parallel = hf_flag(b, "parallel_attn", true);
    if (!new)
        s->kv_heads = hf_flag(b, "multi_query", true) ? 1 : s->heads;
    s->norms = new ? hf_whole(b, "num_ln_in_parallel_attn", 2) : parallel ? 1 : 2;
    s->parallel = new || parallel;
}

void hf_adjust_positions(hf_block *b, hf_shape *s)
{
    s->positions = s->hidden * hf_whole(b, "n_positions max_position_embeddings", 1024);
}

void hf_adjust_openai_gpt(hf_block *b, hf_shape *s)
{
    s->positions = s->hidden * hf_whole(b, "n_positions max_position_embeddings", 512);
    s->no_final_norm = true;
}

void hf_adjust_bigcode(hf_block *b, hf_shape *s)
{
    hf_adjust_positions(b, s);
    s->kv_heads = hf_flag(b, "multi_query", true) ? 1 : s->heads;
}

/* attention_types: [[["global", "local"], 12]]: the list of kinds, repeated 12 times. */
static void read_neo_attention(hf_block *b, hf_shape *s)
{
    const conf_node *groups = hf_node(b, "attention_types");
    uint32_t at = 0;
    for (uint32_t g = 0; groups != NULL && groups->kind == CONF_LIST && g < groups->n;
         g++) {
        const conf_node *group = groups->items[g];
        uint64_t times;
        if (group->kind != CONF_LIST || group->n != 2 ||
            group->items[0]->kind != CONF_LIST ||
            !str_to_u64(group->items[1]->text, &times)) {
            hf_fail(b, group, "attention_types must hold pairs of kinds and a count");
            return;
        }
        for (uint64_t k = 0; k < times && at < s->n_layers; k++)
            for (uint32_t i = 0; i < group->items[0]->n && at < s->n_layers; i++, at++)
                s->layers[at].windowed =
                    str_eq(group->items[0]->items[i]->text, STR("local"));
    }
    for (uint32_t i = 0; groups == NULL && i < s->n_layers; i++)
        s->layers[i].windowed = i % 2 == 1;
}

void hf_adjust_gpt_neo(hf_block *b, hf_shape *s)
{
    s->positions = s->hidden * hf_whole(b, "max_position_embeddings", 2048);
    s->window = hf_whole(b, "window_size", 256);
    read_neo_attention(b, s);
}

void hf_adjust_gpt_oss(hf_block *b, hf_shape *s)
{
    (void)b;
    s->router_bias = s->experts;
    s->expert_bias = true;
    s->sinks = true;
    add_extra(s, s->n_layers * s->heads);
}

void hf_adjust_opt(hf_block *b, hf_shape *s)
{
    const double h = s->hidden;
    s->positions = h * (hf_whole(b, "max_position_embeddings", 2048) + 2.0);
    const double w = hf_whole(b, "word_embed_proj_dim", whole_u32(h));
    if (w != h)
        add_extra(s, s->vocab * (w - h) + 2 * w * h);
    s->no_final_norm = !hf_flag(b, "do_layer_norm_before", true) ||
                       hf_flag(b, "_remove_final_layer_norm", false);
}

void hf_adjust_bloom(hf_block *b, hf_shape *s)
{
    (void)b;
    add_extra(s, 2 * s->hidden); /* norm of the embedding */
}

void hf_adjust_mpt(hf_block *b, hf_shape *s)
{
    s->ffn = s->hidden * hf_real(b, "expansion_ratio", 4);
    hf_block attention = hf_sub_block(b, "attn_config", NULL);
    s->kv_heads = hf_whole(&attention, "kv_n_heads", whole_u32(s->heads));
    b->status = attention.status;
}

void hf_adjust_stablelm(hf_block *b, hf_shape *s)
{
    s->parallel = hf_flag(b, "use_parallel_residual", false);
    if (s->parallel)
        s->norms = 1;
    if (hf_flag(b, "qk_layernorm", false))
        s->qk_norm = HF_QK_FULL;
}

void hf_adjust_cohere(hf_block *b, hf_shape *s)
{
    s->parallel = true;
    if (hf_flag(b, "use_qk_norm", false))
        s->qk_norm = HF_QK_FULL;
}

void hf_adjust_dbrx(hf_block *b, hf_shape *s)
{
    hf_block attention = hf_sub_block(b, "attn_config", NULL);
    hf_block ffn = hf_sub_block(b, "ffn_config", NULL);
    s->kv_heads = hf_whole(&attention, "kv_n_heads", 1);
    s->expert_ffn = s->ffn = hf_whole(&ffn, "ffn_hidden_size", 3584);
    s->experts = hf_whole(&ffn, "moe_num_experts", 4);
    s->top_k = hf_whole(&ffn, "moe_top_k", 1);
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].ffn = HF_MOE;
    b->status = attention.status != HALLEY_OK ? attention.status : ffn.status;
}

void hf_adjust_latent(hf_block *b, hf_shape *s)
{
    s->kv_rank = hf_whole_needed(b, "kv_lora_rank");
    s->q_rank = hf_whole(b, "q_lora_rank", 0);
    s->nope = hf_whole_needed(b, "qk_nope_head_dim");
    s->rope = hf_whole_needed(b, "qk_rope_head_dim");
    s->v_head = hf_whole_needed(b, "v_head_dim");
    s->kv_heads = s->heads;
    s->head_dim = s->nope + s->rope;
}

void hf_adjust_correction(hf_block *b, hf_shape *s)
{
    (void)b;
    s->router_bias = s->experts;
}

void hf_adjust_deepseek_v3(hf_block *b, hf_shape *s)
{
    hf_adjust_latent(b, s);
    s->router_bias = s->experts;
}

void hf_adjust_indexer(hf_block *b, hf_shape *s)
{
    hf_adjust_deepseek_v3(b, s);
    s->index_heads = hf_whole_needed(b, "index_n_heads");
    s->index_dim = hf_whole_needed(b, "index_head_dim");
    s->n_indexed = s->n_layers;
    const conf_node *types = hf_node(b, "indexer_types");
    if (types == NULL || types->kind != CONF_LIST)
        return;
    s->n_indexed = 0;
    for (uint32_t i = 0; i < types->n && i < s->n_layers; i++)
        s->n_indexed += str_eq(types->items[i]->text, STR("full"));
}

void hf_adjust_glm4_moe(hf_block *b, hf_shape *s)
{
    s->router_bias = s->experts;
    if (hf_flag(b, "use_qk_norm", false))
        s->qk_norm = HF_QK_HEAD;
}

void hf_adjust_chatglm(hf_block *b, hf_shape *s)
{
    if (hf_flag(b, "multi_query_attention", false))
        s->kv_heads = hf_whole(b, "multi_query_group_num", 1);
}

/* Experts in every n-th layer, each with a shared expert of the same width. Three of four
 * layers attend in chunks. */
void hf_adjust_llama4(hf_block *b, hf_shape *s)
{
    const uint32_t step = hf_whole(b, "interleave_moe_layer_step", 1);
    const conf_node *listed = hf_node(b, "moe_layers");
    const conf_node *rope = hf_node(b, "no_rope_layers");
    s->expert_ffn = s->shared_ffn = s->ffn;
    s->ffn = hf_whole(b, "intermediate_size_mlp", whole_u32(s->ffn));
    s->window = hf_whole(b, "attention_chunk_size", 8192);
    const bool has_rope = rope != NULL && rope->kind == CONF_LIST && rope->n > 0;
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const bool sparse = listed != NULL && listed->kind == CONF_LIST
                                ? is_in_list(listed, i)
                                : step > 0 && (i + 1) % step == 0;
        s->layers[i].ffn = sparse ? HF_MOE : HF_MLP;
        if (!s->typed)
            s->layers[i].windowed = has_rope && i < rope->n
                                        ? !str_eq(rope->items[i]->text, STR("0"))
                                        : (i + 1) % 4 != 0;
    }
}

/* attn_type_list: 0 for lightning attention, 1 for full attention. */
void hf_adjust_minimax(hf_block *b, hf_shape *s)
{
    const conf_node *list = hf_node(b, "attn_type_list");
    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (s->layers[i].mixer == HF_DELTA_NET)
            s->layers[i].mixer = HF_LIGHTNING; /* "linear_attention" of layer_types */
        if (!s->typed && list != NULL && list->kind == CONF_LIST && i < list->n &&
            str_eq(list->items[i]->text, STR("0")))
            s->layers[i].mixer = HF_LIGHTNING;
    }
}

/* Cross-attention layers are like the others, with norms of q and k and two gates. */
void hf_adjust_mllama_text(hf_block *b, hf_shape *s)
{
    const conf_node *cross = hf_node(b, "cross_attention_layers");
    double n = 0;
    for (uint32_t i = 0; i < s->n_layers; i++)
        n += is_in_list(cross, i);
    add_extra(s, n * (2 * s->head_dim + 2) + 8 * s->hidden);
}
