/*
 * Records of published runs into models, plans and clusters. A field is looked up in the
 * record, then in what its file says all records share. What a record does not state is
 * left at its default; a record that needs what we cannot express is kept with the
 * reason. The cluster is the preset of the same NPU whose links are nearest, with the
 * node size and the bandwidths the record states.
 */
#include "score/rows.h"

#include "base/hash.h"
#include "base/number.h"
#include "hw/embedded.h"
#include "workload/stack_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct record {
    const conf_file *file;
    const conf_node *row, *common;
} record;

static const conf_node *look(const conf_node *map, const char *group, const char *key)
{
    if (!map || map->kind != CONF_MAP)
        return NULL;
    if (group)
        map = conf_find(map, group);
    if (!map || map->kind != CONF_MAP)
        return NULL;
    return conf_find(map, key);
}

/* record.group.key, or record.key when group is NULL; NULL when absent. */
static const conf_node *field(const record *r, const char *group, const char *key)
{
    const conf_node *node = look(r->row, group, key);
    if (!node)
        node = look(r->common, group, key);
    return node && node->kind != CONF_NULL ? node : NULL;
}

static double number(const record *r, const char *group, const char *key,
                     double otherwise)
{
    const conf_node *node = field(r, group, key);
    double value;
    if (!node || node->kind != CONF_SCALAR || !number_read(node->text, &value))
        return otherwise;
    return value;
}

static uint32_t whole(const record *r, const char *group, const char *key,
                      uint32_t otherwise)
{
    const double value = number(r, group, key, otherwise);
    return value >= 0 && value <= 4e9 ? (uint32_t)value : otherwise;
}

static bool truth(const record *r, const char *group, const char *key)
{
    const conf_node *node = field(r, group, key);
    return node && node->kind == CONF_SCALAR && str_eq(node->text, STR("true"));
}

static void text(char *to, size_t size, const record *r, const char *group,
                 const char *key)
{
    const conf_node *node = field(r, group, key);
    const str s = node && node->kind == CONF_SCALAR ? node->text : STR("");
    snprintf(to, size, "%.*s", STR_ARG(s));
}

static bool is(const record *r, const char *group, const char *key, const char *value)
{
    char t[32];
    text(t, sizeof t, r, group, key);
    return strcmp(t, value) == 0;
}

static void read_model(halley_model *m, const record *r)
{
    *m = (halley_model){0};
    text(m->name, sizeof m->name, r, "model", "name");
    m->layers = whole(r, "model", "layers", 0);
    m->hidden = whole(r, "model", "hidden", 0);
    m->heads = whole(r, "model", "heads", 0);
    m->kv_heads = whole(r, "model", "kv_heads", 0);
    m->head_dim = whole(r, "model", "head_dim", 0);
    m->ffn = whole(r, "model", "ffn", 0);
    m->vocab = whole(r, "model", "vocab", 51200);
    m->gated = truth(r, "model", "glu");
    m->tied = truth(r, "model", "tied_embedding");
    m->experts = whole(r, "model", "experts", 0);
    m->top_k = whole(r, "model", "top_k", 0);
    m->expert_ffn = whole(r, "model", "expert_ffn", 0);
    m->shared_ffn = whole(r, "model", "shared_expert_ffn", 0);
    m->dense_layers = whole(r, "model", "dense_layers", 0);
    m->moe_every = whole(r, "model", "moe_every", 0);
    const conf_node *mla = field(r, "model", "mla");
    if (mla && mla->kind == CONF_MAP) {
        const record inner = {.row = mla};
        m->q_rank = whole(&inner, NULL, "q_lora_rank", 0);
        m->kv_rank = whole(&inner, NULL, "kv_lora_rank", 0);
        m->qk_nope = whole(&inner, NULL, "qk_nope", 0);
        m->qk_rope = whole(&inner, NULL, "qk_rope", 0);
        m->v_head = whole(&inner, NULL, "v_head", 0);
    }
}

static bool read_recompute(halley_recompute *out, const record *r)
{
    char t[32];
    text(t, sizeof t, r, "plan", "recompute");
    *out = HALLEY_RECOMPUTE_NONE;
    if (!*t)
        return true;
    for (int i = 0; i < HALLEY_N_RECOMPUTE; i++) {
        if (strcmp(t, halley_recompute_name((halley_recompute)i)) == 0) {
            *out = (halley_recompute)i;
            return true;
        }
    }
    return false;
}

static bool read_dtype(halley_plan *p, const record *r)
{
    char t[32];
    text(t, sizeof t, r, NULL, "dtype");
    if (halley_dtype_find(&p->dtype, t))
        return true;
    if (strstr(t, "fp4")) {
        p->dtype = HALLEY_FP4;
        return true;
    }
    if (!strstr(t, "fp8"))
        return false;
    p->dtype = HALLEY_FP8;
    if (strstr(t, "mx"))
        p->recipe = HALLEY_FP8_BLOCK;
    else if (strstr(t, "row"))
        p->recipe = HALLEY_FP8_ROW;
    return true;
}

static void read_plan(halley_plan *p, const record *r)
{
    *p = (halley_plan){0};
    p->tp = whole(r, "plan", "tp", 1);
    p->pp = whole(r, "plan", "pp", 1);
    p->dp = whole(r, "plan", "dp", 1);
    p->cp = whole(r, "plan", "cp", 1);
    p->ep = whole(r, "plan", "ep", 1);
    p->virtual_stages = whole(r, "plan", "vpp", 1);
    p->sequence_parallel = truth(r, "plan", "sequence_parallel");
    p->zero = whole(r, "plan", "zero", 0);
    p->fsdp = whole(r, "plan", "fsdp", 0);
    p->fsdp_keep = is(r, "plan", "fsdp_mode", "zero2");
    p->embeddings_as_layers = truth(r, "plan", "embeddings_count_as_layers");
    p->micro_batch = whole(r, "batch", "mbs", 1);
    p->global_batch = whole(r, "batch", "gbs", 0);
    p->micro_batches = whole(r, "batch", "micro_batches", 0);
    p->seq = whole(r, "batch", "seq", 0);
    p->unfused_attention = is(r, NULL, "attention", "unfused");
    p->gradient_bytes = whole(r, NULL, "grad_reduce_bytes", 2);
    if (is(r, "plan", "schedule", "gpipe"))
        p->schedule = HALLEY_SCHEDULE_GPIPE;
    /* Some sources count data-parallel replicas of the shard group, others its ranks. */
    const uint32_t n = whole(r, NULL, "n_npus", 0);
    const uint64_t without = (uint64_t)p->tp * p->pp * p->cp * p->dp;
    if (p->fsdp > 1 && without != n && without * p->fsdp == n)
        p->dp *= p->fsdp;
}

static void skip(score_row *row, const char *format, const char *what)
{
    if (!row->skip[0])
        snprintf(row->skip, sizeof row->skip, format, what);
}

/* How far a cluster's links are from the record's; a guess without numbers is far. */
static double distance(const halley_cluster *c, double up_Bps, double out_Bps)
{
    double d = 0;
    if (up_Bps > 0)
        d += fabs(log(c->nodes.up.bandwidth_Bps / up_Bps));
    if (out_Bps > 0)
        d += fabs(log(hw_outer_fabric(c)->bandwidth_Bps / out_Bps));
    return d;
}

/* Does a cluster's file name this NPU? */
static bool mentions(const char *text, const char *npu)
{
    char line[HALLEY_NAME + 16];
    snprintf(line, sizeof line, "\nnpu: %s\n", npu);
    return text && strstr(text, line);
}

/* The preset with this NPU whose links are nearest; NULL in *out where there is none. */
static halley_status load_nearest(halley_cluster **out, const char *npu, double up_Bps,
                                  double out_Bps, halley_error *err)
{
    char name[HALLEY_NAME];
    double best = HUGE_VAL;
    *out = NULL;
    for (size_t i = 0; halley_preset_name(name, sizeof name, "clusters", i); i++) {
        halley_cluster *c;
        if (!mentions(halley_preset_text("clusters", name), npu))
            continue; /* without reading a dozen files for each */
        const halley_status status = halley_cluster_load(&c, name, err);
        if (status != HALLEY_OK) {
            halley_cluster_free(*out);
            return status;
        }
        const double d = distance(c, up_Bps, out_Bps);
        halley_cluster_free(d < best ? *out : c);
        *out = d < best ? c : *out;
        best = d < best ? d : best;
    }
    return HALLEY_OK;
}

static halley_status find_cluster(score_rows *to, score_row *row, const record *r,
                                  halley_error *err)
{
    char npu[HALLEY_NAME], key[HALLEY_SCORE_TEXT];
    text(npu, sizeof npu, r, NULL, "npu");
    const double up = number(r, "links", "scale_up_gbps", 0) * 1e9;
    const double out = number(r, "links", "nic_gbps_per_npu", 0) * 1e9;
    const uint32_t per_node = whole(r, NULL, "per_node", 0);
    snprintf(key, sizeof key, "%s/%u/%.13s/%.13s", npu, per_node, number_digits(up, 4).at,
             number_digits(out, 4).at);
    for (uint32_t i = 0; i < to->clusters.n; i++) {
        if (strcmp(to->clusters.at[i].key, key) == 0) {
            row->cluster = i;
            return HALLEY_OK;
        }
    }
    score_cluster p = {0};
    TRY(load_nearest(&p.cluster, npu, up, out, err));
    if (p.cluster == NULL) {
        skip(row, "unknown hardware \"%s\"", npu);
        return HALLEY_OK;
    }
    memcpy(p.key, key, sizeof p.key);
    if (per_node)
        p.cluster->nodes.npus = per_node;
    if (up > 0)
        p.cluster->nodes.up.bandwidth_Bps = up;
    if (out > 0)
        p.cluster->outer[p.cluster->narrowest].fabric.bandwidth_Bps = out;
    row->cluster = (uint32_t)to->clusters.n;
    if (array_push(&to->clusters, p))
        return HALLEY_OK;
    halley_cluster_free(p.cluster);
    return error_nomem(err);
}

/* TPU sources give model TFLOP/s instead of time, by their own count of FLOPs. */
static double time_from_flops(const score_row *row, const record *r)
{
    const double rate = number(r, "measured", "model_tflops_per_npu", 0) * 1e12;
    const double n = whole(r, NULL, "n_npus", 0);
    if (rate <= 0 || n <= 0)
        return 0;
    halley_model all = row->model; /* "without causal halving" */
    char convention[64];
    text(convention, sizeof convention, r, "measured", "convention");
    all.not_causal = strstr(convention, "without causal") != NULL;
    return halley_model_step_flops(&all, row->plan.global_batch, row->plan.seq) /
           (rate * n);
}

static void read_measured(score_row *row, const record *r)
{
    if (truth(r, "measured", "formula")) {
        skip(row, "%s", "a formula of the paper, not a reading");
        return;
    }
    row->step_s = number(r, "measured", "step_time_s", 0);
    if (row->step_s <= 0)
        row->step_s = time_from_flops(row, r);
    row->peak_bytes = number(r, "measured", "peak_memory_gib", 0) * 1073741824.0;
    const conf_node *fits = field(r, "measured", "fits");
    row->out_of_memory = fits && str_eq(fits->text, STR("false"));
    if (row->step_s <= 0 && row->peak_bytes <= 0 && !row->out_of_memory)
        skip(row, "%s", "nothing measured that we predict");
}

/* Runs of one source, model, batch and machine: what one would choose between. */
static uint64_t choice_of(const record *r)
{
    char key[512];
    const conf_node *source = field(r, NULL, "source");
    const str s = source ? source->text : STR("");
    char model[HALLEY_NAME];
    text(model, sizeof model, r, "model", "name");
    const int n =
        snprintf(key, sizeof key, "%.*s|%s|%u|%u|%u|%u", STR_ARG(s), model,
                 whole(r, NULL, "n_npus", 0), whole(r, "batch", "gbs", 0),
                 whole(r, "model", "layers", 0), whole(r, "model", "hidden", 0));
    return hash_bytes(key, n < 0 ? 0 : strlen(key), 3);
}

static halley_status add_row(score_rows *to, const record *r, halley_error *err)
{
    score_row row = {0};
    text(row.id, sizeof row.id, r, NULL, "id");
    text(row.set, sizeof row.set, r, NULL, "set");
    text(row.layout, sizeof row.layout, r, NULL, "layout");
    text(row.framework, sizeof row.framework, r, NULL, "framework");
    text(row.release, sizeof row.release, r, NULL, "release");
    row.choice = choice_of(r);
    read_model(&row.model, r);
    read_plan(&row.plan, r);
    if (!read_dtype(&row.plan, r))
        skip(&row, "%s", "unknown data type");
    if (!read_recompute(&row.plan.recompute, r))
        skip(&row, "%s", "unknown kind of recomputation");
    TRY(find_cluster(to, &row, r, err));
    halley_error why = {0};
    if (!row.skip[0] && (halley_model_check(&row.model, &why) != HALLEY_OK ||
                         halley_plan_check(&row.plan, &row.model, 0, &why) != HALLEY_OK))
        skip(&row, "%.120s", why.text);
    if (!row.skip[0])
        read_measured(&row, r);
    return array_push(&to->rows, row) ? HALLEY_OK : error_nomem(err);
}

halley_status score_rows_add(score_rows *to, const conf_file *file, halley_error *err)
{
    const conf_node *list = file->root, *common = NULL;
    if (list->kind == CONF_MAP) {
        common = conf_find(list, "common");
        list = conf_find(list, "rows");
    }
    if (!list || list->kind != CONF_LIST)
        return conf_error(file, file->root, err, HALLEY_EFORMAT,
                          "want a list of runs, or a map with \"rows\"");
    for (uint32_t i = 0; i < list->n; i++) {
        if (list->items[i]->kind != CONF_MAP)
            return conf_error(file, list->items[i], err, HALLEY_EFORMAT,
                              "run %u is no map", i + 1);
        const record r = {.file = file, .row = list->items[i], .common = common};
        TRY(add_row(to, &r, err));
    }
    return HALLEY_OK;
}

/* Back to defaults and to what is known of the software without measuring it. */
static void forget_fit(halley_stack *stack)
{
    for (unsigned i = 0; i < HALLEY_N_CONSTANTS; i++) {
        if (stack->origin[i] != 2)
            continue;
        stack->k[i] = stack->prior[i];
        stack->origin[i] = 0;
    }
}

static halley_status find_stack(score_rows *rows, score_row *row, score_stacks which,
                                halley_error *err)
{
    for (uint32_t i = 0; i < rows->stacks.n; i++) {
        const halley_stack *s = &rows->stacks.at[i];
        if (workload_stack_serves(s, row->framework, row->release)) {
            row->stack = i;
            return HALLEY_OK;
        }
    }
    halley_stack stack;
    if (which == SCORE_UNKNOWN)
        halley_stack_default(&stack);
    else
        TRY(halley_stack_choose(&stack, row->framework, row->release, err));
    if (which == SCORE_UNFITTED)
        forget_fit(&stack);
    if (!stack.framework[0]) { /* nobody's: serve just this release with defaults */
        memcpy(stack.framework, row->framework, sizeof stack.framework);
        memcpy(stack.from, row->release, sizeof stack.from);
        memcpy(stack.to, row->release, sizeof stack.to);
    }
    row->stack = (uint32_t)rows->stacks.n;
    return array_push(&rows->stacks, stack) ? HALLEY_OK : error_nomem(err);
}

halley_status score_rows_stacks(score_rows *rows, score_stacks which,
                                const halley_stack *own, halley_error *err)
{
    rows->stacks.n = 0;
    if (own && !array_push(&rows->stacks, *own))
        return error_nomem(err);
    for (uint32_t i = 0; i < rows->rows.n; i++)
        TRY(find_stack(rows, &rows->rows.at[i], which, err));
    return HALLEY_OK;
}

void score_rows_fini(score_rows *rows)
{
    array_fini(&rows->rows);
    for (size_t i = 0; i < rows->clusters.n; i++)
        halley_cluster_free(rows->clusters.at[i].cluster);
    array_fini(&rows->clusters);
    array_fini(&rows->stacks);
}
