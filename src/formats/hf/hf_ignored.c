/*
 * Keys of Hugging Face configurations that affect neither shapes nor communication:
 * generation, dropout, special tokens, epsilons, rotary frequencies, file metadata. Keys
 * that are neither read nor listed here are reported as unknown.
 */
#include "hf/hf.h"

#include <stddef.h>

/* '*' matches any text, at the beginning or the end of a pattern. */
static const char *const ignored[] = {
    "*_act",
    "*_activation",
    "*_activation_function",
    "*_coef",
    "*_dropout",
    "*_dropout_prob",
    "*_eps",
    "*_epsilon",
    "*_func",
    "*_ids",
    "*_implementation",
    "*_init",
    "*_jitter_noise",
    "*_labels",
    "*_layerdrop",
    "*_loss",
    "*_pdrop",
    "*_penalty",
    "*_prob",
    "*_scale",
    "*_scaling_factor",
    "*_softcapping",
    "*_std",
    "*_token",
    "*_token_id",
    "*_token_index",
    "*dtype",
    "_*",
    "activation_*",
    "add_cross_attention",
    "alibi",
    "apply_query_key_layer_scaling",
    "apply_residual_connection_post_layernorm",
    "architectures",
    "attn_config",
    "attention_multiplier",
    "attention_softmax_in_fp32",
    "attn_scale",
    "auto_map",
    "aux_loss_alpha",
    "bf16",
    "bias_dropout_fusion",
    "chunk_size",
    "chunk_size_feed_forward",
    "clip_qkv",
    "conv_act",
    "decoder_start_*",
    "directionality",
    "dropout",
    "early_stopping",
    "embedding_multiplier",
    "ep_size",
    "finetuning_task",
    "forced_*",
    "force_*",
    "fp16",
    "fp32",
    "fp32_residual_connection",
    "gradient_checkpointing",
    "hidden_act",
    "hidden_dropout",
    "ignore_index",
    "init_device",
    "init_method",
    "init_std",
    "initializer_*",
    "is_decoder",
    "is_encoder_decoder",
    "label2id",
    "logits_*",
    "max_length",
    "max_new_tokens",
    "min_length",
    "mscale*",
    "n_ctx",
    "n_group",
    "n_special",
    "no_bias",
    "no_repeat_ngram_size",
    "norm_topk_prob",
    "norm_type",
    "num_beam*",
    "num_expert_group",
    "num_logits_to_keep",
    "num_return_sequences",
    "original_rope",
    "output_*",
    "partial_rotary_factor",
    "pooler_*",
    "position_embedding_type",
    "predict_special_tokens",
    "prefix",
    "pretraining_tp",
    "problem_type",
    "projector_hidden_act",
    "pruned_heads",
    "qk_head_dim",
    "qkv_hidden_size",
    "quantization*",
    "query_pre_attn_scalar",
    "remove_invalid_values",
    "residual_*",
    "rescale_prenorm_residual",
    "return_dict*",
    "rmsnorm",
    "rope_*",
    "rotary*",
    "routed_scaling_factor",
    "router_*",
    "scale_*",
    "scoring_func",
    "seq_aux",
    "softmax_scale",
    "summary_*",
    "suppress_tokens",
    "swiglu_*",
    "use_mrope",
    "*_max_length",
    "max_sequence_length",
    "runner_max_sequence_length",
    "initial_context_length",
    "original_max_position_embeddings",
    "mlp_type",
    "qk_norm_type",
    "indexer_rope_interleave",
    "moe_shared_expert_overlap",
    "begin_suppress_tokens",
    "id2label",
    "normalize_before",
    "attention_sink_size",
    "sliding_window_size",
    "num_image_tokens",
    "projection_dim",
    "mtp_*",
    "task_specific_params",
    "temperature",
    "tf_legacy_loss",
    "tie_encoder_decoder",
    "time_step_*",
    "tokenizer_class",
    "tokens_per_second",
    "top_k",
    "top_p",
    "topk_*",
    "torchscript",
    "transformers_version",
    "typical_p",
    "use_bfloat16",
    "use_cache",
    "use_dynamic_ntk",
    "use_flash_attn",
    "use_logn_attn",
    "use_mamba_kernels",
    "video_*",
    "vision_feature_*",
    "image_token_*",
    "mm_tokens_per_image",
    "afn",
    "decoder_attention_heads",
    "dim_model_base",
    "encoder_attention_heads",
    "ffn_config",
    "max_relative_positions",
    "no_rope_layers",
    "pos_att_type",
};

static bool matches(str key, str pattern)
{
    if (pattern.at[0] == '*')
        return str_ends(key, (str){pattern.at + 1, pattern.n - 1});
    if (pattern.at[pattern.n - 1] == '*')
        return str_starts(key, (str){pattern.at, pattern.n - 1});
    return str_eq(key, pattern);
}

static bool is_ignored(str key)
{
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (matches(key, str_from(ignored[i])))
            return true;
    return false;
}

static bool was_read(const halley_import *import, str key)
{
    for (size_t i = 0; i < import->entries.n; i++)
        if (import->entries.at[i].list == HALLEY_IMPORT_READ &&
            str_eq(key, str_from(import->entries.at[i].key)))
            return true;
    return false;
}

void hf_note_rest(halley_import *import, const conf_node *map)
{
    for (uint32_t i = 0; map != NULL && map->kind == CONF_MAP && i < map->n; i++) {
        const str key = map->keys[i];
        if (was_read(import, key))
            continue;
        if (str_eq(key, STR("text_config"))) {
            hf_note_rest(import, map->items[i]);
            continue;
        }
        if (str_eq(key, STR("vision_config")))
            continue; /* another note reports that the tower is counted, not timed */
        import_add(import,
                   is_ignored(key) ? HALLEY_IMPORT_IGNORED : HALLEY_IMPORT_UNKNOWN, key,
                   map->items[i]->kind == CONF_SCALAR ? map->items[i]->text : STR("…"));
    }
}
