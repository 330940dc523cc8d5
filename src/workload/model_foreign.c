/* Models from Megatron arguments. */
#include "workload/model_file.h"

#include <stdio.h>
#include <string.h>

void workload_model_name(halley_model *model, const char *path)
{
    str name = str_from(path);
    while (name.n > 1 && name.at[name.n - 1] == '/')
        name.n--;
    const char *slash = memrchr(name.at, '/', name.n);
    if (slash != NULL && name.n > 1) {
        name.n -= (size_t)(slash + 1 - name.at);
        name.at = slash + 1;
    }
    snprintf(model->name, sizeof model->name, "%.*s", (int)(sizeof model->name - 1),
             name.at);
    if (name.n < sizeof model->name)
        model->name[name.n] = '\0';
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
    workload_model_name(out, name);
    const halley_status status = read_arguments(out, text, err);
    if (status != HALLEY_OK)
        error_at_file(err, name);
    return status;
}
