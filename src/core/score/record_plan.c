/*
 * Converts records into models and plans. Some fields are keys of a plan under another
 * name (graphs, overlap_ep, kept, …). They are passed to the table of plan keys, so that
 * a row can state whatever a plan can. A key that halley reads but does not model yet
 * changes nothing. A row with any other value that is refused cannot be scored.
 */
#include "base/array.h"
#include "halley/plan_keys.h"
#include "score/record.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static void read_record_latent(halley_model *m, const conf_node *map)
{
    const score_record inner = {.row = map};
    m->q_rank = record_count(&inner, NULL, "q_lora_rank", 0);
    m->kv_rank = record_count(&inner, NULL, "kv_lora_rank", 0);
    m->qk_nope = record_count(&inner, NULL, "qk_nope", 0);
    m->qk_rope = record_count(&inner, NULL, "qk_rope", 0);
    m->v_head = record_count(&inner, NULL, "v_head", 0);
}

static void read_record_shape(halley_model *m, const score_record *r)
{
    *m = (halley_model){0};
    record_text(m->name, sizeof m->name, r, "model", "name");
    const struct {
        const char *key;
        uint32_t *to, otherwise;
    } counts[] = {
        {"layers", &m->layers, 0},
        {"hidden", &m->hidden, 0},
        {"heads", &m->heads, 0},
        {"kv_heads", &m->kv_heads, 0},
        {"head_dim", &m->head_dim, 0},
        {"ffn", &m->ffn, 0},
        {"vocab", &m->vocab, 51200},
        {"experts", &m->experts, 0},
        {"top_k", &m->top_k, 0},
        {"expert_ffn", &m->expert_ffn, 0},
        {"shared_expert_ffn", &m->shared_ffn, 0},
        {"dense_layers", &m->dense_layers, 0},
        {"moe_every", &m->moe_every, 0},
        {"window", &m->window, 0},
        {"window_every", &m->window_every, 0},
        {"groups", &m->router_groups, 0},
        {"top_groups", &m->router_top_groups, 0},
        {"mtp", &m->mtp, 0},
    };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        *counts[i].to = record_count(r, "model", counts[i].key, counts[i].otherwise);
    m->gated = record_is_true(r, "model", "glu");
    m->tied = record_is_true(r, "model", "tied_embedding");
    m->sinks = record_count(r, "model", "sinks", 0) > 0;
    m->parallel_block = record_is_true(r, "model", "parallel_block");
    const conf_node *mla = record_find(r, "model", "mla");
    if (mla != NULL && mla->kind == CONF_MAP)
        read_record_latent(m, mla);
}

/* "stable-diffusion-2 unet" is the preset stable-diffusion-2-unet. */
static void load_named_model(score_row *row, str name)
{
    char preset[HALLEY_NAME];
    halley_error why = {0};
    snprintf(preset, sizeof preset, "%.*s", STR_ARG(name));
    for (char *c = preset; *c != '\0'; c++)
        *c = (char)(*c == ' ' || *c == '_' ? '-' : *c >= 'A' && *c <= 'Z' ? *c + 32 : *c);
    if (halley_model_load(&row->model, preset, &why) != HALLEY_OK)
        score_row_skip(row, "unknown model \"%.100s\"", preset);
}

void score_record_model(score_row *row, const score_record *r)
{
    const conf_node *model = record_find(r, NULL, "model");
    if (model != NULL && model->kind == CONF_SCALAR)
        load_named_model(row, model->text);
    else
        read_record_shape(&row->model, r);
}

static void read_record_dtype(score_row *row, const score_record *r)
{
    char t[32];
    halley_plan *p = &row->plan;
    record_text(t, sizeof t, r, NULL, "dtype");
    if (*t == '\0' && row->model.not_causal && row->model.kind == HALLEY_TRANSFORMER) {
        p->dtype = HALLEY_FP8; /* MLPerf's encoders */
        return;
    }
    if (*t == '\0' || halley_dtype_find(&p->dtype, t))
        return;
    const bool four = strstr(t, "fp4") != NULL;
    if (!four && strstr(t, "fp8") == NULL) {
        score_row_skip(row, "unknown data type \"%.100s\"", t);
        return;
    }
    p->dtype = four ? HALLEY_FP4 : HALLEY_FP8;
    if (!four && strstr(t, "mx") != NULL)
        p->recipe = HALLEY_FP8_MX;
    else if (strstr(t, "row") != NULL)
        p->recipe = HALLEY_FP8_ROW;
}

static bool is_unmodelled(const halley_error *why)
{
    return strstr(why->text, "not modelled") != NULL;
}

static void read_recompute(score_row *row, const score_record *r)
{
    char t[32];
    halley_error why = {0};
    record_text(t, sizeof t, r, "plan", "recompute");
    if (*t == '\0')
        return;
    if (halley_plan_set(&row->plan, HALLEY_KEY_RECOMPUTE, t, &why) != HALLEY_OK)
        score_row_skip(row, "unknown kind of recomputation \"%.80s\"", t);
    if (strcmp(t, "none") == 0) /* a list of modules may still override this */
        row->plan.given &= ~(1ull << HALLEY_KEY_RECOMPUTE);
}

/* A value as the text of a plan key: lists are joined, booleans become yes and no. */
static void print_record_value(char *to, size_t size, const conf_node *node)
{
    size_t n = 0;
    const uint32_t items = node->kind == CONF_LIST ? node->n : 1;
    to[0] = '\0';
    for (uint32_t i = 0; i < items; i++) {
        const conf_node *at = node->kind == CONF_LIST ? node->items[i] : node;
        str word = at->kind == CONF_SCALAR ? at->text : STR("");
        if (str_eq(word, STR("true")) || str_eq(word, STR("false")))
            word = str_eq(word, STR("true")) ? STR("yes") : STR("no");
        const int add =
            snprintf(to + n, size - n, "%s%.*s", i > 0 ? "," : "", STR_ARG(word));
        if (add < 0 || (size_t)add >= size - n)
            return;
        n += (size_t)add;
    }
    for (char *c = to; *c != '\0'; c++)
        *c = *c == '_' ? '-' : *c;
}

/* Fields of `plan` that are keys of a plan, under the names that records use. */
static const struct {
    const char *field;
    halley_plan_key key;
} extras[] = {
    {"rank_order", HALLEY_KEY_RANK_ORDER},
    {"stage_layers", HALLEY_KEY_STAGE_LAYERS},
    {"graphs", HALLEY_KEY_GRAPHS},
    {"dispatcher", HALLEY_KEY_DISPATCHER},
    {"fp8_dispatch", HALLEY_KEY_FP8_DISPATCH},
    {"overlap_ep", HALLEY_KEY_OVERLAP_EP},
    {"capacity", HALLEY_KEY_CAPACITY},
    {"etp", HALLEY_KEY_ETP},
    {"zero_group", HALLEY_KEY_ZERO_GROUP},
    {"zero_owner", HALLEY_KEY_ZERO_OWNER},
    {"kernels", HALLEY_KEY_KERNELS},
    {"fp8_params", HALLEY_KEY_FP8_PARAMS},
    {"fp8_attention", HALLEY_KEY_FP8_ATTENTION},
    {"gradient_memory", HALLEY_KEY_GRADIENT_MEMORY},
    {"optimizer_memory", HALLEY_KEY_OPTIMIZER_MEMORY},
    {"recompute_modules", HALLEY_KEY_RECOMPUTE_MODULES},
    {"kept", HALLEY_KEY_RECOMPUTE_KEEP},
    {"offloaded", HALLEY_KEY_RECOMPUTE_OFFLOAD},
    {"offload_layers", HALLEY_KEY_OFFLOAD_LAYERS},
    {"gather", HALLEY_KEY_GATHER},
    {"bf16_layers", HALLEY_KEY_BF16_LAYERS},
    {"expert_skew", HALLEY_KEY_EXPERT_SKEW},
    {"lora_rank", HALLEY_KEY_LORA},
};

static void read_extras(score_row *row, const score_record *r)
{
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        const conf_node *node = record_find(r, "plan", extras[i].field);
        char text[256];
        halley_error why = {0};
        if (node == NULL || (node->kind == CONF_LIST && node->n == 0))
            continue;
        print_record_value(text, sizeof text, node);
        if (halley_plan_set(&row->plan, extras[i].key, text, &why) != HALLEY_OK &&
            !is_unmodelled(&why))
            score_row_skip(row, "%.120s", why.text);
    }
    /* Tokens are dropped, but no capacity is stated: each expert takes its even share. */
    halley_error why = {0};
    if (record_is_true(r, "plan", "token_drop") &&
        record_find(r, "plan", "capacity") == NULL &&
        halley_plan_set(&row->plan, HALLEY_KEY_CAPACITY, "1", &why) != HALLEY_OK &&
        !is_unmodelled(&why))
        score_row_skip(row, "%.120s", why.text);
}

static void read_degrees(halley_plan *p, const score_record *r)
{
    p->tp = record_count(r, "plan", "tp", 1);
    p->pp = record_count(r, "plan", "pp", 1);
    p->dp = record_count(r, "plan", "dp", 1);
    p->cp = record_count(r, "plan", "cp", 1);
    p->ep = record_count(r, "plan", "ep", 1);
    p->virtual_stages = record_count(r, "plan", "vpp", 1);
    p->sequence_parallel = record_is_true(r, "plan", "sequence_parallel");
    p->zero = record_count(r, "plan", "zero", 0);
    p->fsdp = record_count(r, "plan", "fsdp", 0);
    p->fsdp_keep = record_is(r, "plan", "fsdp_mode", "zero2");
    p->embeddings_as_layers = record_is_true(r, "plan", "embeddings_count_as_layers");
    if (p->virtual_stages < 2 ||
        record_find(r, "plan", "embeddings_count_as_layers") != NULL)
        p->given |= 1ull << HALLEY_KEY_EMBEDDINGS_AS_LAYERS; /* as the source says */
    /* Some sources state the number of data-parallel replicas of the shard group, others
     * the number of its ranks. */
    const uint32_t n = record_count(r, NULL, "n_npus", 0);
    const uint64_t without = (uint64_t)p->tp * p->pp * p->cp * p->dp;
    if (p->fsdp > 1 && without != n && without * p->fsdp == n)
        p->dp *= p->fsdp;
}

/* The number of sequences per step. For packed samples: the rows that contain them. */
static void read_batch(halley_plan *p, const score_record *r)
{
    const uint32_t sequences = record_count(r, "batch", "gbs", 0);
    p->global_batch = record_count(r, "batch", "rows", sequences);
    p->micro_batches = record_count(r, "batch", "micro_batches", 0);
    p->micro_batch = record_count(r, "batch", "mbs", 0);
    p->seq = record_count(r, "batch", "seq", 0);
    if (p->micro_batch == 0) /* not stated: the whole step at once, if that divides */
        p->micro_batch = p->dp > 0 && p->global_batch % p->dp == 0 &&
                                 record_find(r, "batch", "micro_batches") == NULL &&
                                 p->global_batch > 0 &&
                                 record_find(r, NULL, "kind") != NULL
                             ? p->global_batch / p->dp
                             : 1;
    assert(p->micro_batch > 0);
}

void score_record_plan(score_row *row, const score_record *r)
{
    halley_plan *p = &row->plan;
    *p = (halley_plan){0};
    read_degrees(p, r);
    read_batch(p, r);
    if (record_is(r, NULL, "attention", "unfused"))
        p->attention = HALLEY_ATTENTION_UNFUSED;
    p->gradient_bytes = record_count(r, NULL, "grad_reduce_bytes", 2);
    if (record_is(r, "plan", "schedule", "gpipe"))
        p->schedule = HALLEY_SCHEDULE_GPIPE;
    read_record_dtype(row, r);
    read_recompute(row, r);
    read_extras(row, r);
}
