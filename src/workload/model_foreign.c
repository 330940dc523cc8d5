/*
 * Models from Hugging Face configurations and Megatron arguments. Families name the same
 * thing differently; each number has a list of names, tried in order.
 */
#include "base/conf.h"
#include "workload/model_file.h"

#include <stdio.h>
#include <string.h>

static const char *const hf_layers[] = {"num_hidden_layers", "n_layer", "n_layers",
                                        "num_layers", NULL};
static const char *const hf_hidden[] = {"hidden_size", "n_embd", "d_model", NULL};
static const char *const hf_heads[] = {"num_attention_heads", "n_head", "n_heads", NULL};
static const char *const hf_kv_heads[] = {"num_key_value_heads", "num_kv_heads",
                                          "multi_query_group_num", NULL};
static const char *const hf_ffn[] = {"intermediate_size", "ffn_hidden_size", "n_inner",
                                     "ffn_dim", NULL};
static const char *const hf_vocab[] = {"vocab_size", "padded_vocab_size", NULL};
static const char *const hf_seq[] = {"max_position_embeddings", "n_positions",
                                     "seq_length", "max_seq_len", NULL};
static const char *const hf_experts[] = {"num_local_experts", "n_routed_experts",
                                         "num_experts", NULL};
static const char *const hf_top_k[] = {"num_experts_per_tok", "experts_per_token",
                                       "moe_topk", NULL};

static halley_status find(uint32_t *out, const conf_file *file, const char *const *names,
                          bool required, halley_error *err)
{
    for (const char *const *name = names; *name; name++) {
        const conf_node *node = conf_find(file->root, *name);
        int64_t value;
        if (!node || node->kind != CONF_SCALAR)
            continue;
        TRY(conf_to_i64(&value, file, node, *name, err));
        if (value < 0 || value > INT32_MAX)
            return conf_error(file, node, err, HALLEY_EINVAL, "%s is out of range",
                              *name);
        *out = (uint32_t)value;
        return HALLEY_OK;
    }
    if (!required)
        return HALLEY_OK;
    return conf_error(file, file->root, err, HALLEY_EFORMAT,
                      "the configuration has no \"%s\", which the shape needs", names[0]);
}

static halley_status optional(uint32_t *out, const conf_file *file, const char *name,
                              halley_error *err)
{
    const char *const names[] = {name, NULL};
    return find(out, file, names, false, err);
}

static bool text_is(const conf_file *file, const char *key, const char *part)
{
    const conf_node *node = conf_find(file->root, key);
    return node && node->kind == CONF_SCALAR && str_contains(node->text, str_from(part));
}

static bool flag(const conf_file *file, const char *key, bool otherwise)
{
    const conf_node *node = conf_find(file->root, key);
    bool value;
    if (!node || node->kind != CONF_SCALAR ||
        conf_to_bool(&value, file, node, key, NULL) != HALLEY_OK)
        return otherwise;
    return value;
}

static halley_status read_experts(halley_model *m, const conf_file *file,
                                  halley_error *err)
{
    TRY(find(&m->experts, file, hf_experts, false, err));
    if (!m->experts)
        return HALLEY_OK;
    TRY(find(&m->top_k, file, hf_top_k, true, err));
    m->expert_ffn = m->ffn;
    TRY(optional(&m->expert_ffn, file, "moe_intermediate_size", err));
    TRY(optional(&m->dense_layers, file, "first_k_dense_replace", err));
    TRY(optional(&m->shared_ffn, file, "shared_expert_intermediate_size", err));
    uint32_t shared = 0;
    TRY(optional(&shared, file, "n_shared_experts", err));
    if (shared)
        m->shared_ffn = shared * m->expert_ffn;
    return optional(&m->moe_every, file, "decoder_sparse_step", err);
}

static halley_status read_latent(halley_model *m, const conf_file *file,
                                 halley_error *err)
{
    TRY(optional(&m->kv_rank, file, "kv_lora_rank", err));
    if (!m->kv_rank)
        return HALLEY_OK;
    TRY(optional(&m->q_rank, file, "q_lora_rank", err));
    static const char *const nope[] = {"qk_nope_head_dim", NULL};
    static const char *const rope[] = {"qk_rope_head_dim", NULL};
    static const char *const value[] = {"v_head_dim", NULL};
    TRY(find(&m->qk_nope, file, nope, true, err));
    TRY(find(&m->qk_rope, file, rope, true, err));
    return find(&m->v_head, file, value, true, err);
}

/* The part of a path that says which model it is. */
static void name_from(char to[HALLEY_NAME], const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(to, HALLEY_NAME, "%.*s", HALLEY_NAME - 1, slash ? slash + 1 : path);
}

halley_status workload_model_from_hf(halley_model *out, const conf_file *file,
                                     const char *name, halley_error *err)
{
    halley_model *m = out;
    name_from(m->name, name);
    TRY(find(&m->layers, file, hf_layers, true, err));
    TRY(find(&m->hidden, file, hf_hidden, true, err));
    TRY(find(&m->heads, file, hf_heads, true, err));
    TRY(find(&m->vocab, file, hf_vocab, true, err));
    TRY(find(&m->kv_heads, file, hf_kv_heads, false, err));
    TRY(find(&m->ffn, file, hf_ffn, false, err));
    TRY(find(&m->seq, file, hf_seq, false, err));
    TRY(optional(&m->head_dim, file, "head_dim", err));
    if (flag(file, "use_sliding_window", true))
        TRY(optional(&m->window, file, "sliding_window", err));
    if (text_is(file, "model_type", "gpt_oss"))
        m->window_every = 2;
    m->gated = text_is(file, "hidden_act", "silu") ||
               text_is(file, "hidden_act", "swi") || text_is(file, "model_type", "gemma");
    m->tied =
        flag(file, "tie_word_embeddings",
             text_is(file, "model_type", "gpt2") || text_is(file, "model_type", "mpt"));
    TRY(read_experts(m, file, err));
    return read_latent(m, file, err);
}

/* The value behind "--name" (or "--name=value"); empty when absent. */
static str argument(str text, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "--%s", name);
    const str k = str_from(key);
    for (size_t i = 0; i + k.n <= text.n; i++) {
        if (memcmp(text.at + i, k.at, k.n) != 0)
            continue;
        size_t at = i + k.n;
        if (at < text.n && strchr(" =\t\n\\\"'", text.at[at]) == NULL)
            continue; /* a longer name */
        while (at < text.n && strchr(" =\t\n\\\"'", text.at[at]))
            at++;
        size_t end = at;
        while (end < text.n && strchr(" \t\n\\\"'", text.at[end]) == NULL)
            end++;
        return (str){text.at + at, end - at};
    }
    return (str){"", 0};
}

static bool has(str text, const char *name)
{
    char key[64];
    snprintf(key, sizeof key, "--%s", name);
    const str k = str_from(key);
    for (size_t i = 0; i + k.n <= text.n; i++) {
        const char after = i + k.n < text.n ? text.at[i + k.n] : ' ';
        if (memcmp(text.at + i, k.at, k.n) == 0 && strchr(" \t\n\\\"'=", after))
            return true;
    }
    return false;
}

static halley_status whole(uint32_t *out, str text, const char *name, bool required,
                           halley_error *err)
{
    const str value = argument(text, name);
    uint64_t n;
    if (value.n == 0 && !required)
        return HALLEY_OK;
    if (value.n == 0)
        return error_set(err, HALLEY_EFORMAT, "the arguments have no --%s", name);
    if (!str_to_u64(value, &n) || n > INT32_MAX)
        return error_set(err, HALLEY_EFORMAT, "--%s wants a whole number, has \"%.*s\"",
                         name, STR_ARG(value));
    *out = (uint32_t)n;
    return HALLEY_OK;
}

static halley_status read_arguments(halley_model *m, str text, halley_error *err)
{
    TRY(whole(&m->layers, text, "num-layers", true, err));
    TRY(whole(&m->hidden, text, "hidden-size", true, err));
    TRY(whole(&m->heads, text, "num-attention-heads", true, err));
    TRY(whole(&m->seq, text, "seq-length", false, err));
    TRY(whole(&m->ffn, text, "ffn-hidden-size", false, err));
    TRY(whole(&m->head_dim, text, "kv-channels", false, err));
    m->vocab = 51200; /* GPT-2's, padded; the arguments name a tokenizer */
    TRY(whole(&m->vocab, text, "vocab-size", false, err));
    TRY(whole(&m->vocab, text, "padded-vocab-size", false, err));
    if (has(text, "group-query-attention"))
        TRY(whole(&m->kv_heads, text, "num-query-groups", true, err));
    m->gated = has(text, "swiglu");
    m->tied = !has(text, "untie-embeddings-and-output-weights");
    TRY(whole(&m->experts, text, "num-experts", false, err));
    if (!m->experts)
        return HALLEY_OK;
    m->top_k = 2;
    TRY(whole(&m->top_k, text, "moe-router-topk", false, err));
    m->expert_ffn = m->ffn ? m->ffn : 4 * m->hidden;
    TRY(whole(&m->expert_ffn, text, "moe-ffn-hidden-size", false, err));
    return whole(&m->shared_ffn, text, "moe-shared-expert-intermediate-size", false, err);
}

halley_status workload_model_from_megatron(halley_model *out, str text, const char *name,
                                           halley_error *err)
{
    name_from(out->name, name);
    const halley_status status = read_arguments(out, text, err);
    if (status != HALLEY_OK)
        error_at_file(err, name);
    return status;
}
