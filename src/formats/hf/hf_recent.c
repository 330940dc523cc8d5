/* Decoders of 2025 and later whose experts, norms or layers have their own keys. */
#include "hf/hf_special.h"

#include <stddef.h>

static void add_params(hf_shape *s, double params)
{
    s->extra += params;
    s->extra_active += params;
}

/* ERNIE 4.5: experts from one layer to another, at an interval. */
void hf_adjust_ernie_moe(hf_block *b, hf_shape *s)
{
    s->experts = hf_whole_needed(b, "moe_num_experts num_experts");
    s->top_k = hf_whole_needed(b, "moe_k num_experts_per_tok");
    s->expert_ffn = hf_whole_needed(b, "moe_intermediate_size");
    s->shared_ffn = s->expert_ffn * hf_whole(b, "moe_num_shared_experts", 0);
    s->router_bias = s->experts;
    s->head_bias = hf_flag(b, "use_bias", false);
    const uint32_t first = hf_whole(b, "moe_layer_start_index", 0);
    const double end = hf_real(b, "moe_layer_end_index", -1);
    const uint32_t every = hf_whole(b, "moe_layer_interval", 1);
    for (uint32_t i = 0; i < s->n_layers; i++)
        s->layers[i].ffn =
            every > 0 && (i + 1) % every == 0 && i >= first && (end < 0 || i <= end)
                ? HF_MOE
                : HF_MLP;
}

/* Hunyuan: every layer has experts and a shared one, all of intermediate_size. */
void hf_adjust_hunyuan_moe(hf_block *b, hf_shape *s)
{
    (void)b;
    s->expert_ffn = s->shared_ffn = s->experts > 0 ? s->ffn : 0;
}

void hf_adjust_granite_shared(hf_block *b, hf_shape *s)
{
    s->expert_ffn = s->ffn;
    s->shared_ffn = hf_whole(b, "shared_intermediate_size", 0);
}

/* Granite 4: Mamba 2 or attention, then experts with a shared one. Without experts, the
 * shared one is the feed-forward. */
void hf_adjust_granite_hybrid(hf_block *b, hf_shape *s)
{
    hf_adjust_bamba(b, s);
    hf_adjust_granite_shared(b, s);
    for (uint32_t i = 0; i < s->n_layers; i++) {
        if (s->layers[i].mixer == HF_DELTA_NET)
            s->layers[i].mixer = HF_MAMBA2; /* "linear_attention" of layer_types */
        s->layers[i].ffn = s->experts > 0 ? HF_MOE : HF_MLP;
    }
    if (s->experts <= 0) {
        s->ffn = s->shared_ffn;
        s->shared_ffn = s->expert_ffn = 0;
    }
}

/* Two learned parameters of the activation in each layer. */
void hf_adjust_apertus(hf_block *b, hf_shape *s)
{
    (void)b;
    add_params(s, 2.0 * s->n_layers);
}

/* Norms of attention's output and within the feed-forward. */
void hf_adjust_bitnet(hf_block *b, hf_shape *s)
{
    (void)b;
    add_params(s, s->n_layers * (s->hidden + s->ffn));
}

void hf_adjust_exaone_moe(hf_block *b, hf_shape *s)
{
    s->router_bias = s->experts;
    s->shared_ffn = s->expert_ffn * hf_whole(b, "num_shared_experts", 1);
}
