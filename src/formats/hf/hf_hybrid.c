/* Decoders with state-space layers: Mamba 1 and 2, and hybrids with attention. */
#include "hf/hf_special.h"

#include <math.h>
#include <stddef.h>

static void set_all_mixers(hf_shape *s, hf_mixer mixer, hf_ffn ffn)
{
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i] = (hf_layer){(uint8_t)mixer, (uint8_t)ffn, false};
}

/* The rank of the step's projection; "auto" is hidden / 16. */
static double read_dt_rank(hf_block *b, const char *key, double hidden)
{
    if (str_eq(hf_text(b, key, STR("auto")), STR("auto")))
        return ceil(hidden / 16);
    return hf_whole(b, key, 0);
}

void hf_adjust_mamba(hf_block *b, hf_shape *s)
{
    set_all_mixers(s, HF_MAMBA1, HF_NO_FFN);
    s->mamba.inner =
        hf_whole(b, "intermediate_size", (uint32_t)(s->hidden * hf_real(b, "expand", 2)));
    s->mamba.state = hf_whole(b, "state_size", 16);
    s->mamba.conv = hf_whole(b, "conv_kernel", 4);
    s->mamba.dt_rank = read_dt_rank(b, "time_step_rank", s->hidden);
    s->mamba.conv_bias = hf_flag(b, "use_conv_bias", true);
    s->mamba.bias = hf_flag(b, "use_bias", false);
}

void hf_adjust_mamba2(hf_block *b, hf_shape *s)
{
    set_all_mixers(s, HF_MAMBA2, HF_NO_FFN);
    s->mamba.inner = s->hidden * hf_real(b, "expand", 2);
    s->mamba.state = hf_whole(b, "state_size", 128);
    s->mamba.conv = hf_whole(b, "conv_kernel", 4);
    s->mamba.heads = hf_whole_needed(b, "num_heads");
    s->mamba.groups = hf_whole(b, "n_groups", 8);
    s->mamba.chunk = hf_whole(b, "chunk_size", 0);
    s->mamba.conv_bias = hf_flag(b, "use_conv_bias", true);
    s->mamba.bias = hf_flag(b, "use_bias", false);
}

void hf_adjust_jamba(hf_block *b, hf_shape *s)
{
    const uint32_t attention = hf_whole(b, "attn_layer_period", 8);
    const uint32_t attention_at = hf_whole(b, "attn_layer_offset", 4);
    const uint32_t sparse = hf_whole(b, "expert_layer_period", 2);
    const uint32_t sparse_at = hf_whole(b, "expert_layer_offset", 1);
    s->mamba.inner = s->hidden * hf_real(b, "mamba_expand", 2);
    s->mamba.state = hf_whole(b, "mamba_d_state", 16);
    s->mamba.conv = hf_whole(b, "mamba_d_conv", 4);
    s->mamba.dt_rank = read_dt_rank(b, "mamba_dt_rank", s->hidden);
    s->mamba.conv_bias = hf_flag(b, "mamba_conv_bias", true);
    s->mamba.bias = hf_flag(b, "mamba_proj_bias", false);
    s->mamba.extra_norms = true;
    if (b->status != HALLEY_OK)
        return;
    if (attention == 0 || sparse == 0) {
        hf_fail(b, NULL, "attn_layer_period and expert_layer_period must be positive");
        return;
    }
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i] = (hf_layer){
            i % attention == attention_at ? HF_ATTENTION : HF_MAMBA1,
            s->experts > 1 && i % sparse == sparse_at ? HF_MOE : HF_MLP, false};
}

void hf_adjust_bamba(hf_block *b, hf_shape *s)
{
    s->mamba.heads = hf_whole_needed(b, "mamba_n_heads");
    const bool is_auto = str_eq(hf_text(b, "mamba_d_head", STR("auto")), STR("auto"));
    const uint32_t head = is_auto ? 0 : hf_whole(b, "mamba_d_head", 0);
    s->mamba.inner =
        head > 0 ? s->mamba.heads * head : s->hidden * hf_real(b, "mamba_expand", 2);
    s->mamba.state = hf_whole(b, "mamba_d_state", 256);
    s->mamba.conv = hf_whole(b, "mamba_d_conv", 4);
    s->mamba.groups = hf_whole(b, "mamba_n_groups", 1);
    s->mamba.chunk = hf_whole(b, "mamba_chunk_size", 0);
    s->mamba.conv_bias = hf_flag(b, "mamba_conv_bias", true);
    s->mamba.bias = hf_flag(b, "mamba_proj_bias", false);
    const conf_node *list = hf_node(b, "attn_layer_indices");
    for (uint32_t i = 0; i < s->n_layers && !s->typed; i++)
        s->layers[i].mixer = HF_MAMBA2;
    for (uint32_t i = 0; list != NULL && list->kind == CONF_LIST && i < list->n; i++) {
        uint64_t layer;
        if (str_to_u64(list->items[i]->text, &layer) && layer < s->n_layers)
            s->layers[layer].mixer = HF_ATTENTION;
        else
            hf_fail(b, list->items[i], "attn_layer_indices names no layer of this model");
    }
}

/* One entry of Nemotron-H's pattern: M Mamba 2, * attention, - MLP, E experts. */
static bool set_entry(hf_layer *layer, char kind)
{
    switch (kind) {
    case 'M':
        *layer = (hf_layer){HF_MAMBA2, HF_NO_FFN, false};
        return true;
    case '*':
        *layer = (hf_layer){HF_ATTENTION, HF_NO_FFN, false};
        return true;
    case '-':
        *layer = (hf_layer){HF_NO_MIXER, HF_MLP, false};
        return true;
    case 'E':
        *layer = (hf_layer){HF_NO_MIXER, HF_MOE, false};
        return true;
    default:
        return false;
    }
}

static char letter_of(str word)
{
    static const struct {
        const char *word;
        char letter;
    } words[] = {{"mamba", 'M'}, {"attention", '*'}, {"mlp", '-'}, {"moe", 'E'}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (str_eq(word, str_from(words[i].word)))
            return words[i].letter;
    return word.n == 1 ? word.at[0] : '?';
}

static void read_pattern(hf_block *b, hf_shape *s)
{
    const conf_node *node =
        hf_node(b, "hybrid_override_pattern layers_block_type layer_types");
    if (node == NULL) {
        hf_fail(b, NULL, "the configuration needs \"hybrid_override_pattern\"");
        return;
    }
    const size_t n = node->kind == CONF_LIST ? node->n : node->text.n;
    if (n != s->n_layers) {
        hf_fail(b, node, "the pattern describes %zu layers, num_hidden_layers says %u", n,
                s->n_layers);
        return;
    }
    for (uint32_t i = 0; i < s->n_layers; i++) {
        const char kind =
            node->kind == CONF_LIST ? letter_of(node->items[i]->text) : node->text.at[i];
        if (!set_entry(&s->layers[i], kind))
            hf_fail(b, node, "the pattern has an unknown kind of layer at place %u",
                    i + 1);
    }
}

void hf_adjust_nemotron_h(hf_block *b, hf_shape *s)
{
    read_pattern(b, s);
    s->mamba.heads = hf_whole_needed(b, "mamba_num_heads");
    s->mamba.inner = s->mamba.heads * hf_whole_needed(b, "mamba_head_dim");
    s->mamba.state = hf_whole(b, "ssm_state_size", 128);
    s->mamba.conv = hf_whole(b, "conv_kernel", 4);
    s->mamba.groups = hf_whole(b, "n_groups", 8);
    s->mamba.chunk = hf_whole(b, "chunk_size", 0);
    s->mamba.conv_bias = hf_flag(b, "use_conv_bias", true);
    s->mamba.bias = hf_flag(b, "mamba_proj_bias", false);
    s->router_bias = s->experts;
    s->moe_latent = hf_whole(b, "moe_latent_size", 0);
    const uint32_t n_shared = hf_whole(b, "n_shared_experts", 1);
    s->shared_ffn = n_shared * hf_whole(b, "moe_shared_expert_intermediate_size", 0);
}
