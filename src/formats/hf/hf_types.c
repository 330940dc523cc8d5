/*
 * Facts about the model types of Hugging Face that are not in their files. Sources: the
 * model definitions of the transformers library, version 5, and the published
 * configurations. Every row was checked against published parameter counts.
 */
#include "hf/hf_special.h"

#include <stddef.h>

#define NO                                                                               \
    {                                                                                    \
        NULL, false                                                                      \
    }
#define YES                                                                              \
    {                                                                                    \
        NULL, true                                                                       \
    }
#define KEY(name, otherwise)                                                             \
    {                                                                                    \
        name, otherwise                                                                  \
    }
#define ATTENTION_BIAS(otherwise) KEY("attention_bias", otherwise)

/* name, defaults, gated, bias of q k v, of o, of the MLP, norms per layer, their kind,
 * norm of q and k, tied if absent, window, pattern, adjust. Sorted by family. */
static const hf_type types[] = {
    {"llama", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false),
     KEY("mlp_bias", false), 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"mistral", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_ALL, 0,
     NULL},
    {"ministral", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_ALL, 0,
     NULL},
    {"ministral3", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_ALL, 0,
     NULL},
    {"mixtral", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_ALL, 0,
     NULL},
    {"qwen2", NULL, true, YES, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_ASKED, 0,
     NULL},
    {"qwen2_vl_text", NULL, true, YES, NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_ASKED, 0, NULL},
    {"qwen2_5_vl_text", NULL, true, YES, NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_ASKED, 0, NULL},
    {"qwen2_moe", NULL, true, KEY("qkv_bias", true), NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_ASKED, 0, hf_adjust_shared_gate},
    {"qwen3", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_HEAD, false, HF_WINDOW_ASKED, 0, NULL},
    {"qwen3_moe", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_HEAD, false, HF_WINDOW_ASKED, 0, NULL},
    {"qwen3_vl_text", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_HEAD, false, HF_WINDOW_NONE, 0, NULL},
    {"qwen3_vl_moe_text", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_HEAD, false, HF_WINDOW_NONE, 0, NULL},
    {"qwen", NULL, true, YES, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_qwen},
    {"qwen3_next", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_HEAD, false, HF_WINDOW_NONE,
     0, hf_adjust_delta_net},
    {"qwen3_5_text", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_HEAD, false, HF_WINDOW_NONE,
     0, hf_adjust_delta_net},
    {"qwen3_5_moe_text", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_HEAD, false,
     HF_WINDOW_NONE, 0, hf_adjust_delta_net},
    {"gemma", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_NONE, true, HF_WINDOW_NONE, 0, NULL},
    {"gemma2", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 4, HF_RMS,
     HF_QK_NONE, true, HF_WINDOW_PATTERN, 2, NULL},
    {"gemma3_text", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 4,
     HF_RMS, HF_QK_HEAD, true, HF_WINDOW_PATTERN, 6, NULL},
    {"gemma4_text", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 4,
     HF_RMS, HF_QK_HEAD, true, HF_WINDOW_PATTERN, 6, hf_adjust_gemma4},
    {"phi", NULL, false, YES, YES, YES, 1, HF_LAYER, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_head_bias},
    {"phi3", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_ALL, 0,
     NULL},
    {"phimoe", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_LAYER,
     HF_QK_NONE, false, HF_WINDOW_ALL, 0, hf_adjust_phimoe},
    {"falcon", NULL, false, KEY("bias", false), KEY("bias", false), KEY("bias", false), 2,
     HF_LAYER, HF_QK_NONE, true, HF_WINDOW_NONE, 0, hf_adjust_falcon},
    {"gpt2", NULL, false, YES, YES, YES, 2, HF_LAYER, HF_QK_NONE, true, HF_WINDOW_NONE, 0,
     hf_adjust_positions},
    {"openai-gpt", NULL, false, YES, YES, YES, 2, HF_LAYER, HF_QK_NONE, true,
     HF_WINDOW_NONE, 0, hf_adjust_openai_gpt},
    {"gpt_bigcode", NULL, false, YES, YES, YES, 2, HF_LAYER, HF_QK_NONE, true,
     HF_WINDOW_NONE, 0, hf_adjust_bigcode},
    {"gpt_neo", NULL, false, NO, YES, YES, 2, HF_LAYER, HF_QK_NONE, true, HF_WINDOW_NONE,
     0, hf_adjust_gpt_neo},
    {"gpt_neox", NULL, false, ATTENTION_BIAS(true), ATTENTION_BIAS(true), YES, 2,
     HF_LAYER, HF_QK_NONE, false, HF_WINDOW_NONE, 0, hf_adjust_parallel},
    {"gptj", NULL, false, NO, NO, YES, 1, HF_LAYER, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_head_bias},
    {"gpt_oss", NULL, true, ATTENTION_BIAS(true), ATTENTION_BIAS(true), NO, 2, HF_RMS,
     HF_QK_NONE, false, HF_WINDOW_PATTERN, 2, hf_adjust_gpt_oss},
    {"opt", NULL, false, KEY("enable_bias", true), KEY("enable_bias", true),
     KEY("enable_bias", true), 2, HF_LAYER, HF_QK_NONE, true, HF_WINDOW_NONE, 0,
     hf_adjust_opt},
    {"bloom", NULL, false, YES, YES, YES, 2, HF_LAYER, HF_QK_NONE, true, HF_WINDOW_NONE,
     0, hf_adjust_bloom},
    {"mpt", NULL, false, NO, NO, NO, 2, HF_LAYER_NO_BIAS, HF_QK_NONE, true,
     HF_WINDOW_NONE, 0, hf_adjust_mpt},
    {"starcoder2", NULL, false, KEY("use_bias", true), KEY("use_bias", true),
     KEY("use_bias", true), 2, HF_LAYER, HF_QK_NONE, true, HF_WINDOW_ALL, 0, NULL},
    {"stablelm", NULL, true, KEY("use_qkv_bias", false), NO, NO, 2, HF_LAYER, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_stablelm},
    {"olmo", NULL, true, NO, NO, NO, 2, HF_NO_WEIGHTS, HF_QK_NONE, false, HF_WINDOW_NONE,
     0, NULL},
    {"olmo2", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_FULL, false, HF_WINDOW_NONE, 0,
     NULL},
    {"olmo3", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_FULL, false, HF_WINDOW_PATTERN, 4,
     NULL},
    {"olmoe", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_FULL, false, HF_WINDOW_NONE, 0,
     NULL},
    {"cohere", NULL, true, NO, NO, NO, 1, HF_LAYER_NO_BIAS, HF_QK_NONE, true,
     HF_WINDOW_NONE, 0, hf_adjust_cohere},
    {"cohere2", NULL, true, NO, NO, NO, 1, HF_LAYER_NO_BIAS, HF_QK_NONE, true,
     HF_WINDOW_PATTERN, 4, hf_adjust_cohere},
    {"dbrx", NULL, true, NO, NO, NO, 2, HF_LAYER_NO_BIAS, HF_QK_NONE, false,
     HF_WINDOW_NONE, 0, hf_adjust_dbrx},
    {"granite", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false),
     KEY("mlp_bias", false), 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"granitemoe", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"minicpm", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_NONE, true, HF_WINDOW_NONE, 0, NULL},
    {"smollm3", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false),
     KEY("mlp_bias", false), 2, HF_RMS, HF_QK_NONE, true, HF_WINDOW_ASKED, 0, NULL},
    {"deepseek", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     NULL},
    {"deepseek_v2", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_latent},
    {"deepseek_v3", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_deepseek_v3},
    {"kimi_k2", "deepseek_v3", true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_deepseek_v3},
    {"deepseek_v32", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_indexer},
    {"glm_moe_dsa", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_indexer},
    {"glm", NULL, true, ATTENTION_BIAS(true), NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_NONE, 0, NULL},
    {"glm4", NULL, true, ATTENTION_BIAS(true), NO, NO, 4, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_NONE, 0, NULL},
    {"glm4_moe", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_NONE, 0, hf_adjust_glm4_moe},
    {"glm4v_moe_text", "glm4_moe", true, ATTENTION_BIAS(true), NO, NO, 2, HF_RMS,
     HF_QK_NONE, false, HF_WINDOW_NONE, 0, hf_adjust_glm4_moe},
    {"chatglm", NULL, true, KEY("add_qkv_bias", false), KEY("add_bias_linear", false),
     KEY("add_bias_linear", false), 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_chatglm},
    {"internlm", NULL, true, KEY("bias", true), KEY("bias", true), NO, 2, HF_RMS,
     HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"internlm2", NULL, true, KEY("bias", true), KEY("bias", true), NO, 2, HF_RMS,
     HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"baichuan", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     NULL},
    {"exaone", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     NULL},
    {"mimo", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_NONE, 0, NULL},
    {"orion", NULL, true, NO, NO, NO, 2, HF_LAYER, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     NULL},
    {"exaone4", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_HEAD, false, HF_WINDOW_PATTERN,
     4, NULL},
    {"nemotron", NULL, false, ATTENTION_BIAS(false), ATTENTION_BIAS(false),
     KEY("mlp_bias", false), 2, HF_LAYER, HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"llama4_text", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, hf_adjust_llama4},
    {"minimax_m2", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_FULL, false, HF_WINDOW_NONE,
     0, hf_adjust_correction},
    {"minimax", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_minimax},
    {"mllama_text_model", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_NONE, 0, hf_adjust_mllama_text},
    {"mamba", NULL, true, NO, NO, NO, 1, HF_RMS, HF_QK_NONE, true, HF_WINDOW_NONE, 0,
     hf_adjust_mamba},
    {"falcon_mamba", NULL, true, NO, NO, NO, 1, HF_RMS, HF_QK_NONE, true, HF_WINDOW_NONE,
     0, hf_adjust_mamba},
    {"mamba2", NULL, true, NO, NO, NO, 1, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_mamba2},
    {"jamba", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_jamba},
    {"bamba", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_bamba},
    {"nemotron_h", NULL, false, ATTENTION_BIAS(false), ATTENTION_BIAS(false),
     KEY("mlp_bias", false), 1, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0,
     hf_adjust_nemotron_h},
    {"ernie4_5", NULL, true, KEY("use_bias", false), KEY("use_bias", false),
     KEY("use_bias", false), 2, HF_RMS, HF_QK_NONE, true, HF_WINDOW_NONE, 0, NULL},
    {"ernie4_5_moe", NULL, true, KEY("use_bias", false), KEY("use_bias", false),
     KEY("use_bias", false), 2, HF_RMS, HF_QK_NONE, true, HF_WINDOW_NONE, 0,
     hf_adjust_ernie_moe},
    {"hunyuan_v1_dense", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_HEAD, false, HF_WINDOW_NONE, 0, NULL},
    {"hunyuan_v1_moe", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_HEAD, false, HF_WINDOW_NONE, 0, hf_adjust_hunyuan_moe},
    {"seed_oss", NULL, true, ATTENTION_BIAS(true), KEY("attention_out_bias", false),
     KEY("mlp_bias", false), 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"arcee", NULL, false, ATTENTION_BIAS(false), ATTENTION_BIAS(false),
     KEY("mlp_bias", false), 2, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"apertus", NULL, false, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_HEAD, false, HF_WINDOW_NONE, 0, hf_adjust_apertus},
    {"bitnet", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_NONE, false, HF_WINDOW_NONE, 0, hf_adjust_bitnet},
    {"helium", NULL, true, ATTENTION_BIAS(false), NO, KEY("mlp_bias", false), 2, HF_RMS,
     HF_QK_NONE, false, HF_WINDOW_NONE, 0, NULL},
    {"cwm", NULL, true, NO, NO, KEY("mlp_bias", false), 2, HF_RMS, HF_QK_NONE, false,
     HF_WINDOW_PATTERN, 4, NULL},
    {"dots1", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2, HF_RMS,
     HF_QK_HEAD, false, HF_WINDOW_NONE, 0, hf_adjust_correction},
    {"solar_open", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_correction},
    {"exaone_moe", NULL, true, NO, NO, NO, 2, HF_RMS, HF_QK_HEAD, false,
     HF_WINDOW_PATTERN, 4, hf_adjust_exaone_moe},
    {"glm4_moe_lite", NULL, true, ATTENTION_BIAS(false), NO, NO, 2, HF_RMS, HF_QK_NONE,
     false, HF_WINDOW_NONE, 0, hf_adjust_deepseek_v3},
    {"glm4v_text", NULL, true, YES, NO, NO, 4, HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE,
     0, NULL},
    {"granitemoeshared", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, hf_adjust_granite_shared},
    {"granitemoehybrid", NULL, true, ATTENTION_BIAS(false), ATTENTION_BIAS(false), NO, 2,
     HF_RMS, HF_QK_NONE, false, HF_WINDOW_NONE, 0, hf_adjust_granite_hybrid},
};
enum { N_TYPES = sizeof types / sizeof *types };

const hf_type *hf_type_find(str name)
{
    for (size_t i = 0; i < N_TYPES; i++)
        if (str_eq(name, str_from(types[i].name)))
            return &types[i];
    return NULL;
}

const char *hf_type_nearest(str name)
{
    const char *names[256];
    size_t n = 0;
    for (size_t i = 0; i < N_TYPES; i++)
        names[n++] = types[i].name;
    for (size_t i = 0; hf_other_get(i) != NULL; i++)
        names[n++] = hf_other_get(i)->name;
    for (size_t i = 0; hf_wrapper_get(i) != NULL; i++)
        names[n++] = hf_wrapper_get(i)->name;
    return str_nearest(name, names, n);
}
