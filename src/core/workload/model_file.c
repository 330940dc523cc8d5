/*
 * Model files: halley's YAML by one table of keys, and files of other programs by the
 * table of formats (base/format.h). The content of a file determines its kind.
 */
#include "workload/model_file.h"

#include "base/array.h"
#include "base/conf/conf.h"
#include "base/file/file.h"
#include "base/format.h"
#include "base/limit.h"
#include "base/number/whole.h"
#include "halley/model.h"
#include "hw/embedded.h"
#include "hw/npu.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"transformer", "moe",  "dlrm", "ops",
                                    "encoder",     "unet", "dit",  NULL};

typedef struct latent_text {
    uint32_t q_rank, kv_rank, nope, rope, value;
} latent_text;
#define LATENT(key, member, required, doc, default_, example)                            \
    CONF_FIELD_SHOWN(latent_text, key, CONF_TYPE_U32, UNITS_COUNT, member, required,     \
                     doc, default_, example)
static const conf_field latent_fields[] = {
    LATENT("q-rank", q_rank, false,
           "rank of the compressed queries; 0 does not compress them", "0", "1536"),
    LATENT("kv-rank", kv_rank, true, "rank of the compressed keys and values", "required",
           "512"),
    LATENT("nope", nope, true, "head size without rotary embedding", "required", "128"),
    LATENT("rope", rope, true, "head size with rotary embedding", "required", "64"),
    LATENT("value", value, true, "head size of the values", "required", "128"),
};

typedef struct model_text {
    str name;
    uint32_t kind;
    halley_model m;
    const conf_node *latent, *bottom, *top, *operators, *sources;
    bool causal;
} model_text;
#define MODEL(key, type, member, doc, default_, example)                                 \
    CONF_FIELD_SHOWN(model_text, key, type, UNITS_COUNT, member, false, doc, default_,   \
                     example)
static const conf_field model_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(model_text, name),
     .required = true,
     .doc = "name of the model",
     .by_default = "required",
     .example = "my-7b"},
    {.key = "kind",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(model_text, kind),
     .names = kinds,
     .doc = "architecture",
     .by_default = "transformer"},
    MODEL("layers", CONF_TYPE_U32, m.layers, "number of transformer layers",
          "required by kind", "32"),
    MODEL("hidden", CONF_TYPE_U32, m.hidden, "hidden size", "required by kind", "4096"),
    MODEL("heads", CONF_TYPE_U32, m.heads, "number of attention heads",
          "required by kind", "32"),
    MODEL("kv-heads", CONF_TYPE_U32, m.kv_heads, "number of key and value heads", "heads",
          "8"),
    MODEL("head-dim", CONF_TYPE_U32, m.head_dim, "head size", "hidden / heads", "128"),
    MODEL("ffn", CONF_TYPE_U32, m.ffn, "width of the feed-forward layer", "4 x hidden",
          "14336"),
    MODEL("gated", CONF_TYPE_BOOL, m.gated,
          "whether the feed-forward layer has a gate (SwiGLU)", "no", "yes"),
    MODEL("vocab", CONF_TYPE_U32, m.vocab, "vocabulary size in tokens",
          "required by kind", "128256"),
    MODEL("seq", CONF_TYPE_U32, m.seq, "usual sequence length in tokens", "8192", "4096"),
    MODEL("tied", CONF_TYPE_BOOL, m.tied,
          "whether the embedding and the head share their weights", "no", "yes"),
    MODEL("causal", CONF_TYPE_BOOL, causal, "whether attention is causal", "yes", "no"),
    MODEL("window", CONF_TYPE_U32, m.window,
          "sliding window in tokens; 0 is full attention", "0", "4096"),
    MODEL("window-every", CONF_TYPE_U32, m.window_every,
          "every N-th layer has full attention", "0, none", "6"),
    MODEL("experts", CONF_TYPE_U32, m.experts, "experts per layer", "0", "64"),
    MODEL("top-k", CONF_TYPE_U32, m.top_k, "experts per token", "0", "8"),
    MODEL("expert-ffn", CONF_TYPE_U32, m.expert_ffn, "width of an expert",
          "required with experts", "2048"),
    MODEL("shared-ffn", CONF_TYPE_U32, m.shared_ffn, "total width of the shared experts",
          "0", "2048"),
    MODEL("dense-layers", CONF_TYPE_U32, m.dense_layers,
          "number of leading layers without experts", "0", "3"),
    MODEL("moe-every", CONF_TYPE_U32, m.moe_every, "every N-th layer has experts", "1",
          "2"),
    MODEL("groups", CONF_TYPE_U32, m.router_groups,
          "number of expert groups for group-limited routing", "0, one group", "8"),
    MODEL("top-groups", CONF_TYPE_U32, m.router_top_groups,
          "number of groups that the experts of one token may be in", "0, all", "4"),
    MODEL("mtp", CONF_TYPE_U32, m.mtp, "depth of multi-token prediction", "0", "1"),
    MODEL("sinks", CONF_TYPE_BOOL, m.sinks, "whether attention has sinks", "no", "yes"),
    MODEL("parallel-block", CONF_TYPE_BOOL, m.parallel_block,
          "whether attention and feed-forward of a layer run in parallel", "no", "yes"),
    {.key = "head-share",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_SHARE,
     .offset = offsetof(model_text, m.head_share),
     .max = 1,
     .doc = "share of the positions for which the head computes logits",
     .by_default = "100 %",
     .example = "15 %"},
    MODEL("text-tokens", CONF_TYPE_U32, m.text_tokens, "dit: number of text tokens", "0",
          "512"),
    MODEL("image", CONF_TYPE_U32, m.image, "dit: edge of the image in pixels", "0",
          "1024"),
    MODEL("frames", CONF_TYPE_U32, m.frames, "dit: number of video frames; 0 is an image",
          "0", "81"),
    MODEL("adaptive-norm", CONF_TYPE_BOOL, m.adaptive_norm,
          "whether norms are computed from the time step, with 6 hidden^2 parameters per "
          "block",
          "no", "yes"),
    MODEL("latent", CONF_TYPE_NODE, latent, "latent attention (MLA)", "none",
          "{kv-rank: 512, nope: 128, rope: 64, value: 128}"),
    MODEL("tables", CONF_TYPE_U32, m.tables, "dlrm: number of embedding tables", "0",
          "26"),
    MODEL("table-rows", CONF_TYPE_DOUBLE, m.table_rows, "dlrm: rows per table", "0",
          "1000000"),
    MODEL("table-dim", CONF_TYPE_U32, m.table_dim, "dlrm: width of a table", "0", "128"),
    MODEL("lookups", CONF_TYPE_U32, m.lookups, "dlrm: lookups per table and sample", "1",
          "20"),
    MODEL("sample-lookups", CONF_TYPE_DOUBLE, m.sample_lookups,
          "dlrm: lookups per sample in all tables", "tables x lookups", "214"),
    MODEL(
        "cross-layers", CONF_TYPE_U32, m.cross_layers,
        "dlrm: number of low-rank cross layers (DCNv2); 0 computes dot products of pairs",
        "0", "3"),
    MODEL("cross-rank", CONF_TYPE_U32, m.cross_rank, "dlrm: rank of the cross layers",
          "0", "512"),
    MODEL("bottom", CONF_TYPE_NODE, bottom, "dlrm: widths of the bottom MLP", "none",
          "[13, 512, 256, 128]"),
    MODEL("top", CONF_TYPE_NODE, top, "dlrm: widths of the top MLP", "none",
          "[1024, 1024, 512, 256, 1]"),
    MODEL("operators", CONF_TYPE_NODE, operators, "ops: list of operators", "none",
          "[{name: proj, m: 512, n: 4096, k: 4096}]"),
    MODEL("sources", CONF_TYPE_NODE, sources,
          "where the numbers come from; for readers only", "none",
          "[https://arxiv.org/abs/2407.21783]"),
};

static bool key_at(halley_file_key *out, const conf_field *fields, size_t n, size_t i)
{
    if (i >= n)
        return false;
    *out = (halley_file_key){.key = fields[i].key,
                             .doc = fields[i].doc,
                             .names = fields[i].names,
                             .required = fields[i].required,
                             .by_default = fields[i].by_default,
                             .example = fields[i].example};
    return true;
}

static halley_status read_widths(uint32_t out[HALLEY_MAX_MLP], uint32_t *n,
                                 const conf_file *file, const conf_node *list,
                                 const char *key, halley_error *err)
{
    double widths[HALLEY_MAX_MLP];
    size_t count = 0;
    TRY(cluster_list_read(widths, HALLEY_MAX_MLP, &count, file, list, UNITS_COUNT, key,
                          err));
    for (size_t i = 0; i < count; i++)
        out[i] = whole_u32(widths[i]);
    *n = (uint32_t)count;
    return HALLEY_OK;
}

typedef struct op_text {
    str name;
    double m, n, k, flops, bytes, weights, saved, window;
    uint32_t repeat, heads, head_dim, keys;
} op_text;
#define OP(key, type, member, doc, default_, example)                                    \
    CONF_FIELD_SHOWN(op_text, key, type, UNITS_COUNT, member, false, doc, default_,      \
                     example)
static const conf_field op_fields[] = {
    OP("name", CONF_TYPE_TEXT, name, "name of the operator", "none", "proj"),
    OP("m", CONF_TYPE_DOUBLE, m, "rows of the matmul, per sample", "0", "512"),
    OP("n", CONF_TYPE_DOUBLE, n, "columns of the matmul", "0", "4096"),
    OP("k", CONF_TYPE_DOUBLE, k, "inner size of the matmul", "0", "4096"),
    OP("window", CONF_TYPE_DOUBLE, window,
       "convolution: pixels per output, 9 for 3 x 3; the input is read once", "0", "9"),
    OP("heads", CONF_TYPE_U32, heads, "attention of m queries: number of heads", "0",
       "16"),
    OP("head-dim", CONF_TYPE_U32, head_dim, "attention: head size", "0", "64"),
    OP("keys", CONF_TYPE_U32, keys, "attention: keys per query", "0", "4096"),
    OP("flops", CONF_TYPE_DOUBLE, flops, "operations per sample, if it is not a matmul",
       "0", "2e9"),
    OP("bytes", CONF_TYPE_DOUBLE, bytes, "memory traffic in bytes per sample", "0",
       "4e6"),
    OP("weights", CONF_TYPE_DOUBLE, weights, "number of parameters", "k x n", "1e6"),
    OP("saved", CONF_TYPE_DOUBLE, saved, "bytes saved for the backward pass, per sample",
       "0", "2e6"),
    OP("repeat", CONF_TYPE_U32, repeat, "number of consecutive executions", "1", "12"),
};

bool halley_model_key(halley_file_key *out, const char *part, size_t i)
{
    if (strcmp(part, "latent") == 0)
        return key_at(out, latent_fields, sizeof latent_fields / sizeof *latent_fields,
                      i);
    if (strcmp(part, "operators") == 0)
        return key_at(out, op_fields, sizeof op_fields / sizeof *op_fields, i);
    return key_at(out, model_fields, sizeof model_fields / sizeof *model_fields, i);
}

/* An operator with heads is attention: it has no weights. */
static halley_status read_attention(halley_model_op *op, const conf_file *file,
                                    const conf_node *at, halley_error *err)
{
    if (!(op->m > 0) || op->head_dim == 0 || op->keys == 0)
        return conf_error(file, at, err, HALLEY_EINVAL,
                          "attention needs m (its queries), heads, head-dim and keys");
    const double width = (double)op->heads * op->head_dim;
    op->flops = 4 * op->m * op->keys * width;
    op->bytes = 4 * (op->m + op->keys) * width;
    op->saved_bytes = op->bytes;
    op->weights = 0;
    return HALLEY_OK;
}

static halley_status read_operators(halley_model *out, const conf_file *file,
                                    const conf_node *list, halley_error *err)
{
    if (!list || list->kind != CONF_LIST || list->n == 0)
        return conf_error(file, file->root, err, HALLEY_EFORMAT,
                          "a model of kind ops needs a list of operators");
    out->ops = mem_array_zero(list->n, sizeof *out->ops);
    if (!out->ops)
        return error_nomem(err);
    for (uint32_t i = 0; i < list->n; i++) {
        op_text t = {.repeat = 1, .name = STR("operator")};
        TRY(conf_read(&t, file, list->items[i], op_fields,
                      sizeof op_fields / sizeof *op_fields, true, NULL, err));
        halley_model_op *op = &out->ops[out->n_ops++];
        *op = (halley_model_op){
            .m = t.m,
            .n = t.n,
            .k = t.k,
            .flops = t.flops,
            .bytes = t.bytes,
            .weights = t.weights > 0 ? t.weights : t.n * t.k,
            .saved_bytes =
                t.saved > 0 ? t.saved : 2 * t.m * t.k / (t.window > 1 ? t.window : 1),
            .window = t.window,
            .repeat = t.repeat ? t.repeat : 1,
            .heads = t.heads,
            .head_dim = t.head_dim,
            .keys = t.keys};
        if (op->heads > 0)
            TRY(read_attention(op, file, list->items[i], err));
        TRY(cluster_name_copy(op->name, t.name, err));
    }
    return HALLEY_OK;
}

static halley_status read_own(halley_model *out, const conf_file *file, halley_error *err)
{
    model_text t = {.causal = true};
    if (file->root->kind != CONF_MAP)
        return conf_error(file, file->root, err, HALLEY_EFORMAT,
                          "a model file is a map of keys");
    TRY(conf_read(&t, file, file->root, model_fields,
                  sizeof model_fields / sizeof *model_fields, true, NULL, err));
    *out = t.m;
    static const halley_model_kind of[] = {
        HALLEY_TRANSFORMER, HALLEY_TRANSFORMER, HALLEY_DLRM,       HALLEY_OPS,
        HALLEY_TRANSFORMER, HALLEY_OPS,         HALLEY_TRANSFORMER};
    static const halley_family families[] = {
        HALLEY_FAMILY_AUTO,    HALLEY_FAMILY_AUTO, HALLEY_FAMILY_AUTO, HALLEY_FAMILY_AUTO,
        HALLEY_FAMILY_ENCODER, HALLEY_FAMILY_UNET, HALLEY_FAMILY_DIT};
    out->kind = of[t.kind];
    out->family = families[t.kind];
    out->not_causal = !t.causal || out->family == HALLEY_FAMILY_ENCODER ||
                      out->family == HALLEY_FAMILY_DIT;
    TRY(cluster_name_copy(out->name, t.name, err));
    if (t.latent) {
        latent_text l = {0};
        TRY(conf_read(&l, file, t.latent, latent_fields,
                      sizeof latent_fields / sizeof *latent_fields, true, NULL, err));
        out->q_rank = l.q_rank;
        out->kv_rank = l.kv_rank;
        out->qk_nope = l.nope;
        out->qk_rope = l.rope;
        out->v_head = l.value;
    }
    if (out->kind == HALLEY_DLRM) {
        TRY(read_widths(out->bottom, &out->n_bottom, file, t.bottom, "bottom", err));
        TRY(read_widths(out->top, &out->n_top, file, t.top, "top", err));
    }
    if (out->kind == HALLEY_OPS)
        TRY(read_operators(out, file, t.operators, err));
    return HALLEY_OK;
}

/* Check the model that was read with `status`, and return the notes (import may be
 * NULL). */
static halley_status finish_import(halley_model *out, halley_import **import,
                                   halley_import *notes, halley_status status,
                                   halley_error *err)
{
    if (status == HALLEY_OK)
        status = halley_model_check(out, err);
    if (status != HALLEY_OK)
        halley_model_fini(out);
    if (status != HALLEY_OK || import == NULL)
        halley_import_free(notes);
    else
        *import = notes;
    return status;
}

/* The format of another program in which a file or folder is; *out is NULL for a preset
 * and for halley's own files. */
static halley_status detect_foreign(const format_row **out, const char *name,
                                    halley_error *err)
{
    file_input in;
    *out = file_is_folder(name) ? format_detect(FORMAT_MODEL, STR(""), name) : NULL;
    if (*out != NULL || !file_exists(name) || file_is_folder(name))
        return HALLEY_OK;
    TRY(file_input_open_most(&in, name, LIMIT_CONFIGURATION, err));
    *out = format_detect(FORMAT_MODEL, (str){(const char *)in.at, in.n}, name);
    file_input_close(&in);
    return HALLEY_OK;
}

halley_status halley_model_import(halley_model *out, halley_import **import,
                                  const char *name, halley_error *err)
{
    *out = (halley_model){0};
    halley_import *notes = NULL;
    halley_status status;
    const format_row *row;
    TRY(detect_foreign(&row, name, err));
    if (row != NULL) {
        const format_source from = {.path = name, .is_on_disk = true};
        status = row->read(&(workload_foreign){out, &notes}, row, &from, err);
    } else {
        conf_file file;
        TRY(cluster_preset_load(&file, "models", name, err));
        status = read_own(out, &file, err);
        conf_fini(&file);
    }
    return finish_import(out, import, notes, status, err);
}

halley_status halley_model_parse(halley_model *out, halley_import **import,
                                 const char *text, size_t n, const char *name,
                                 halley_error *err)
{
    *out = (halley_model){0};
    const format_source from = {.text = {text, n}, .path = name};
    const format_row *const row = format_detect(FORMAT_MODEL, from.text, name);
    halley_import *notes = NULL;
    halley_status status;
    if (row != NULL) {
        status = row->read(&(workload_foreign){out, &notes}, row, &from, err);
    } else {
        conf_file file;
        TRY(conf_parse(&file, from.text, name, err));
        status = read_own(out, &file, err);
        conf_fini(&file);
    }
    return finish_import(out, import, notes, status, err);
}

halley_status halley_model_load(halley_model *out, const char *name, halley_error *err)
{
    halley_import *import;
    TRY(halley_model_import(out, &import, name, err));
    halley_import_free(import);
    return HALLEY_OK;
}

void halley_model_fini(halley_model *model)
{
    free(model->ops);
    model->ops = NULL;
    model->n_ops = 0;
}

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
