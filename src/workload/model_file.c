/*
 * Model files: our YAML by one table of keys, Hugging Face's config.json by the names its
 * model families use, and launch files, of which only the model is taken here. Foreign
 * files are told apart by content.
 */
#include "workload/model_file.h"

#include "base/array.h"
#include "base/conf/conf.h"
#include "base/file/file.h"
#include "base/number/whole.h"
#include "halley/model.h"
#include "hw/embedded.h"
#include "hw/npu.h"
#include "workload/import/hf_model.h"
#include "workload/import/json_text.h"
#include "workload/launch/args.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {"transformer", "moe",  "dlrm", "ops",
                                    "encoder",     "unet", "dit",  NULL};

typedef struct latent_text {
    uint32_t q_rank, kv_rank, nope, rope, value;
} latent_text;
#define LATENT(key, member, required, doc)                                               \
    CONF_FIELD(latent_text, key, CONF_TYPE_U32, UNITS_COUNT, member, required, doc)
static const conf_field latent_fields[] = {
    LATENT("q-rank", q_rank, false, "rank of the query; 0 = not compressed"),
    LATENT("kv-rank", kv_rank, true, "rank of key and value"),
    LATENT("nope", nope, true, "head size without rotation"),
    LATENT("rope", rope, true, "head size with rotation"),
    LATENT("value", value, true, "head size of the value"),
};

typedef struct model_text {
    str name;
    uint32_t kind;
    halley_model m;
    const conf_node *latent, *bottom, *top, *operators, *sources;
    bool causal;
} model_text;
#define MODEL(key, type, member, doc)                                                    \
    CONF_FIELD(model_text, key, type, UNITS_COUNT, member, false, doc)
static const conf_field model_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(model_text, name),
     .required = true,
     .doc = "name of the model"},
    {.key = "kind",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(model_text, kind),
     .names = kinds,
     .doc = "what it is"},
    MODEL("layers", CONF_TYPE_U32, m.layers, "transformer layers"),
    MODEL("hidden", CONF_TYPE_U32, m.hidden, "hidden size"),
    MODEL("heads", CONF_TYPE_U32, m.heads, "attention heads"),
    MODEL("kv-heads", CONF_TYPE_U32, m.kv_heads, "key and value heads"),
    MODEL("head-dim", CONF_TYPE_U32, m.head_dim, "head size"),
    MODEL("ffn", CONF_TYPE_U32, m.ffn, "width of the feed-forward"),
    MODEL("gated", CONF_TYPE_BOOL, m.gated, "the feed-forward has a gate"),
    MODEL("vocab", CONF_TYPE_U32, m.vocab, "vocabulary"),
    MODEL("seq", CONF_TYPE_U32, m.seq, "usual sequence length"),
    MODEL("tied", CONF_TYPE_BOOL, m.tied, "one matrix for both embeddings"),
    MODEL("causal", CONF_TYPE_BOOL, causal, "attention sees only the past"),
    MODEL("window", CONF_TYPE_U32, m.window, "sliding window"),
    MODEL("window-every", CONF_TYPE_U32, m.window_every,
          "one layer in this many sees all"),
    MODEL("experts", CONF_TYPE_U32, m.experts, "experts of a layer"),
    MODEL("top-k", CONF_TYPE_U32, m.top_k, "experts a token goes to"),
    MODEL("expert-ffn", CONF_TYPE_U32, m.expert_ffn, "width of an expert"),
    MODEL("shared-ffn", CONF_TYPE_U32, m.shared_ffn, "width of shared experts"),
    MODEL("dense-layers", CONF_TYPE_U32, m.dense_layers, "first layers without experts"),
    MODEL("moe-every", CONF_TYPE_U32, m.moe_every, "one layer in this many has experts"),
    MODEL("groups", CONF_TYPE_U32, m.router_groups,
          "groups of experts that routing knows; 0 = one"),
    MODEL("top-groups", CONF_TYPE_U32, m.router_top_groups,
          "groups that the experts of one token may lie in; 0 = all"),
    MODEL("mtp", CONF_TYPE_U32, m.mtp, "depth of multi-token prediction"),
    MODEL("sinks", CONF_TYPE_BOOL, m.sinks, "attention sinks"),
    MODEL("parallel-block", CONF_TYPE_BOOL, m.parallel_block,
          "attention and feed-forward of a layer run side by side"),
    {.key = "head-share",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_SHARE,
     .offset = offsetof(model_text, m.head_share),
     .max = 1,
     .doc = "share of the positions that the head sees (default: all)",
     .example = "15 %"},
    MODEL("text-tokens", CONF_TYPE_U32, m.text_tokens, "dit: tokens of the text"),
    MODEL("image", CONF_TYPE_U32, m.image, "dit: edge of the image in pixels"),
    MODEL("frames", CONF_TYPE_U32, m.frames, "dit: frames of a video; 0 = an image"),
    MODEL("adaptive-norm", CONF_TYPE_BOOL, m.adaptive_norm,
          "norms are made from the time step, 6 hidden^2 parameters a block"),
    MODEL("latent", CONF_TYPE_NODE, latent, "latent attention"),
    MODEL("tables", CONF_TYPE_U32, m.tables, "embedding tables"),
    MODEL("table-rows", CONF_TYPE_DOUBLE, m.table_rows, "rows of a table"),
    MODEL("table-dim", CONF_TYPE_U32, m.table_dim, "width of a table"),
    MODEL("lookups", CONF_TYPE_U32, m.lookups, "rows looked up in a table by a sample"),
    MODEL("sample-lookups", CONF_TYPE_DOUBLE, m.sample_lookups,
          "rows looked up by a sample in all tables (default: tables x lookups)"),
    MODEL("cross-layers", CONF_TYPE_U32, m.cross_layers,
          "low-rank cross layers of DCNv2; 0 = pairs of vectors are multiplied"),
    MODEL("cross-rank", CONF_TYPE_U32, m.cross_rank, "their rank"),
    MODEL("bottom", CONF_TYPE_NODE, bottom, "widths of the bottom perceptron"),
    MODEL("top", CONF_TYPE_NODE, top, "widths of the top perceptron"),
    MODEL("operators", CONF_TYPE_NODE, operators, "explicit operators"),
    MODEL("sources", CONF_TYPE_NODE, sources, "origin of the numbers"),
};

static bool key_at(halley_file_key *out, const conf_field *fields, size_t n, size_t i)
{
    if (i >= n)
        return false;
    *out = (halley_file_key){.key = fields[i].key, .doc = fields[i].doc};
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
#define OP(key, type, member, doc)                                                       \
    CONF_FIELD(op_text, key, type, UNITS_COUNT, member, false, doc)
static const conf_field op_fields[] = {
    OP("name", CONF_TYPE_TEXT, name, "name of the operator"),
    OP("m", CONF_TYPE_DOUBLE, m, "rows of a product, per sample"),
    OP("n", CONF_TYPE_DOUBLE, n, "columns"),
    OP("k", CONF_TYPE_DOUBLE, k, "inner size"),
    OP("window", CONF_TYPE_DOUBLE, window,
       "of a convolution: pixels that an output sees, 9 for 3 x 3; its input is read "
       "once"),
    OP("heads", CONF_TYPE_U32, heads, "attention of m queries: heads"),
    OP("head-dim", CONF_TYPE_U32, head_dim, "attention: head size"),
    OP("keys", CONF_TYPE_U32, keys, "attention: keys that a query sees"),
    OP("flops", CONF_TYPE_DOUBLE, flops, "where it is no product, per sample"),
    OP("bytes", CONF_TYPE_DOUBLE, bytes, "traffic, per sample"),
    OP("weights", CONF_TYPE_DOUBLE, weights, "parameters"),
    OP("saved", CONF_TYPE_DOUBLE, saved, "bytes kept for backward, per sample"),
    OP("repeat", CONF_TYPE_U32, repeat, "times in a row"),
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

/* An operator with heads is attention: it has no weights of its own. */
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
                          "a model of kind ops wants a list of operators");
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

/* Files of ours have `name` or `kind`; configurations of Hugging Face and diffusers name
 * their class; a JSON file with neither is one that lies beside such a configuration. */
static bool is_hugging_face(const conf_file *file)
{
    static const char *const marks[] = {"model_type", "architectures", "_class_name"};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (conf_find(file->root, marks[i]) != NULL)
            return true;
    return str_ends(str_from(file->path), STR(".json")) &&
           conf_find(file->root, "name") == NULL && conf_find(file->root, "kind") == NULL;
}

static halley_status read_any(halley_model *out, halley_import **import,
                              const conf_file *file, const char *name, halley_error *err)
{
    if (file->root->kind != CONF_MAP)
        return conf_error(file, file->root, err, HALLEY_EFORMAT,
                          "a model file is a map of keys");
    if (!is_hugging_face(file))
        return read_own(out, file, err);
    *import = import_new("Hugging Face configuration");
    if (*import == NULL)
        return error_nomem(err);
    workload_model_name(out, name);
    return import_hf_read(out, *import, file, err);
}

/* The model of a launch file, which is freed. */
static halley_status take_model(halley_model *out, halley_import **notes,
                                halley_launch *launch, halley_error *err)
{
    halley_status status = HALLEY_OK;
    if (!launch->has_model) {
        status =
            error_set(err, HALLEY_EINVAL,
                      "this is a %s, which holds no model: give it with --plan, and a "
                      "model with -m",
                      launch->import->kind);
        error_at_file(err, launch->path);
    } else {
        *out = launch->model;
        launch->model.ops = NULL;
        *notes = launch->import;
        launch->import = NULL;
    }
    halley_launch_free(launch);
    return status;
}

static halley_status load_file(conf_file *file, const char *name, halley_error *err)
{
    const str s = str_from(name);
    if (str_ends(s, STR(".json")) || str_ends(s, STR(".json.gz")) || file_is_folder(name))
        return import_json_load(file, name, err);
    return cluster_preset_load(file, "models", name, err);
}

/* Check what was read with `status`, and hand over the notes (import may be NULL). */
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

halley_status halley_model_import(halley_model *out, halley_import **import,
                                  const char *name, halley_error *err)
{
    *out = (halley_model){0};
    halley_import *notes = NULL;
    bool is_launch;
    halley_status status = HALLEY_OK;
    TRY(halley_launch_detect(&is_launch, name, err));
    if (is_launch) {
        halley_launch *launch;
        TRY(halley_launch_load(&launch, name, NULL, err));
        status = take_model(out, &notes, launch, err);
    } else {
        conf_file file;
        TRY(load_file(&file, name, err));
        status = read_any(out, &notes, &file, name, err);
        conf_fini(&file);
    }
    return finish_import(out, import, notes, status, err);
}

/* Our YAML or a Hugging Face configuration, from memory. */
static halley_status parse_conf(halley_model *out, halley_import **notes, str text,
                                const char *name, halley_error *err)
{
    conf_file file;
    const str body = str_trim(text);
    const bool is_json = body.n > 0 && body.at[0] == '{';
    TRY(is_json ? import_json_parse(&file, text, name, err)
                : conf_parse(&file, text, name, err));
    const halley_status status = read_any(out, notes, &file, name, err);
    conf_fini(&file);
    return status;
}

halley_status halley_model_parse(halley_model *out, halley_import **import,
                                 const char *text, size_t n, const char *name,
                                 halley_error *err)
{
    *out = (halley_model){0};
    const str all = {text, n};
    halley_import *notes = NULL;
    halley_status status;
    if (launch_text_is(all, name)) {
        halley_launch *launch;
        TRY(halley_launch_parse(&launch, text, n, name, NULL, err));
        status = take_model(out, &notes, launch, err);
    } else {
        status = parse_conf(out, &notes, all, name, err);
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
