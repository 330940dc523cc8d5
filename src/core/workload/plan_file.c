/*
 * Plans as text: a file, or one key and its text. Both use one table of keys. A key with
 * several values takes a list in a file, or texts joined by + or commas.
 */
#include "workload/plan_file.h"

#include "base/conf/conf.h"
#include "base/number/number.h"
#include "halley/plan_keys.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

/* The words of a key that is one of a list, in the order of its enum. After the types
 * come abbreviations for a type and a recipe. */
enum { N_DTYPES = 7, N_SHORT = 3 };
static const char *const dtypes[] = {"bf16", "fp16",  "fp32",  "tf32",  "fp8", "fp4",
                                     "int8", "mxfp8", "mxfp4", "nvfp4", NULL};
const char *const workload_schedule_names[] = {"1f1b",  "gpipe", "breadth-first", "zb-h1",
                                               "zb-h2", "zbv",   "dualpipe",      NULL};
static const char *const attentions[] = {"flash", "unfused", "old", NULL};
const char *const workload_recipe_names[] = {"tensor", "row", "block", "mx", "nv", NULL};
const char *const workload_gather_names[] = {"default", "step", "micro-batch", NULL};
/* In the order of HALLEY_MODULE_ and HALLEY_TENSOR_ bits. */
static const char *const modules[] = {"layernorm",      "core-attn", "mla-up-proj",
                                      "moe-act",        "mlp",       "moe",
                                      "shared-experts", NULL};
static const char *const tensors[] = {"input", "qkv",   "context", "out",
                                      "mlpwi", "mlpwo", NULL};
_Static_assert(N_DTYPES == (int)HALLEY_N_DTYPES, "every type has a word");
_Static_assert(sizeof workload_schedule_names / sizeof *workload_schedule_names ==
                   HALLEY_N_SCHEDULES + 1,
               "every schedule has a word");
_Static_assert(sizeof workload_recipe_names / sizeof *workload_recipe_names ==
                   HALLEY_N_RECIPES + 1,
               "every recipe has a word");
const char *const workload_dispatcher_names[] = {"all-to-all", "deepep", "hybridep",
                                                 NULL};
const char *const workload_graphs_names[] = {"none", "router", "layer", "full", NULL};
const char *const workload_optimizer_names[] = {"adam", "sgd", "adagrad", NULL};
const char *const workload_table_optimizer_names[] = {"row-wise-adagrad", "adagrad",
                                                      "sgd", "adam", NULL};
static const char *const kernels[] = {"fused", "eager", NULL};
static const char *const exposed[] = {"tp", "cp", "ep", "pp", "dp", NULL};
static const char *const classes[] = {"optimizer", "gradients", "weights", "activations",
                                      NULL}; /* in the order of HALLEY_OFFLOAD_ bits */

const char *const workload_recompute_names[HALLEY_N_RECOMPUTE + 1] = {
    "none", "selective", "selective-op", "full", "minimal",
    "qkv",  "modules",   "kept",         NULL};
const char *const workload_order_names[HALLEY_RANK_ORDERS + 1] = {
    "tp-cp-dp-pp", "tp-cp-pp-dp", "tp-dp-cp-pp", "tp-dp-pp-cp", "tp-pp-cp-dp",
    "tp-pp-dp-cp", "cp-tp-dp-pp", "cp-tp-pp-dp", "cp-dp-tp-pp", "cp-dp-pp-tp",
    "cp-pp-tp-dp", "cp-pp-dp-tp", "dp-tp-cp-pp", "dp-tp-pp-cp", "dp-cp-tp-pp",
    "dp-cp-pp-tp", "dp-pp-tp-cp", "dp-pp-cp-tp", "pp-tp-cp-dp", "pp-tp-dp-cp",
    "pp-cp-tp-dp", "pp-cp-dp-tp", "pp-dp-tp-cp", "pp-dp-cp-tp", NULL};

/* A plan, and values that are not stored in it directly. */
typedef struct plan_text {
    halley_plan p;
    uint32_t dtype, attention, kernels;
    str fsdp, fp8_params;
    const conf_node *offload, *expose, *stage_layers;
    const conf_node *modules, *keep, *offload_tensors;
} plan_text;

typedef struct key_type {
    conf_type type;
    size_t offset;
    double min, max;
    const char *const *names;
} key_type;

#define AT(member) offsetof(plan_text, member)
#define NUMBER(member, low, high)                                                        \
    {                                                                                    \
        CONF_TYPE_U32, AT(p.member), low, high, NULL                                     \
    }
#define SHARE(member, low, high)                                                         \
    {                                                                                    \
        CONF_TYPE_DOUBLE, AT(p.member), low, high, NULL                                  \
    }
#define NAME(member, names)                                                              \
    {                                                                                    \
        CONF_TYPE_ENUM, AT(member), 0, 0, names                                          \
    }
#define SWITCH(member)                                                                   \
    {                                                                                    \
        CONF_TYPE_BOOL, AT(p.member), 0, 0, NULL                                         \
    }
static const key_type types[HALLEY_N_PLAN_KEYS] = {
    [HALLEY_KEY_GLOBAL_BATCH] = NUMBER(global_batch, 1, 4e9),
    [HALLEY_KEY_SEQ] = NUMBER(seq, 1, 1e9),
    [HALLEY_KEY_DTYPE] = NAME(dtype, dtypes),
    [HALLEY_KEY_TP] = NUMBER(tp, 1, 1e6),
    [HALLEY_KEY_PP] = NUMBER(pp, 1, 1e6),
    [HALLEY_KEY_DP] = NUMBER(dp, 1, 1e8),
    [HALLEY_KEY_CP] = NUMBER(cp, 1, 1e6),
    [HALLEY_KEY_EP] = NUMBER(ep, 1, 1e6),
    [HALLEY_KEY_VIRTUAL] = NUMBER(virtual_stages, 1, 1e4),
    [HALLEY_KEY_MICRO_BATCH] = NUMBER(micro_batch, 1, 1e8),
    [HALLEY_KEY_ZERO] = NUMBER(zero, 0, 3),
    [HALLEY_KEY_FSDP] = {CONF_TYPE_TEXT, AT(fsdp), 0, 0, NULL},
    [HALLEY_KEY_RECOMPUTE] = NAME(p.recompute, workload_recompute_names),
    [HALLEY_KEY_RECOMPUTE_EVERY] = NUMBER(recompute_every, 1, 1e5),
    [HALLEY_KEY_RECOMPUTE_LAYERS] = NUMBER(recompute_layers, 0, 1e5),
    [HALLEY_KEY_RANK_ORDER] = NAME(p.rank_order, workload_order_names),
    [HALLEY_KEY_FP8_RECIPE] = NAME(p.recipe, workload_recipe_names),
    [HALLEY_KEY_GRADIENT_BYTES] = NUMBER(gradient_bytes, 2, 4),
    [HALLEY_KEY_OFFLOAD_TIER] = NUMBER(offload_tier, 1, 16),
    [HALLEY_KEY_LORA] = NUMBER(lora, 0, 65536),
    [HALLEY_KEY_SCHEDULE] = NAME(p.schedule, workload_schedule_names),
    [HALLEY_KEY_ATTENTION] = NAME(attention, attentions),
    [HALLEY_KEY_ETP] = NUMBER(etp, 1, 1e6),
    [HALLEY_KEY_ZERO_GROUP] = NUMBER(zero_group, 0, 1e8),
    [HALLEY_KEY_DISPATCHER] = NAME(p.dispatcher, workload_dispatcher_names),
    [HALLEY_KEY_CAPACITY] = SHARE(capacity, 0, 100),
    [HALLEY_KEY_EXPERT_SKEW] = SHARE(expert_skew, 0, 100),
    [HALLEY_KEY_GRAPHS] = NAME(p.graphs, workload_graphs_names),
    [HALLEY_KEY_KERNELS] = NAME(kernels, kernels),
    [HALLEY_KEY_BF16_LAYERS] = NUMBER(bf16_layers, 0, 1e5),
    [HALLEY_KEY_FP8_ATTENTION] = SWITCH(fp8_attention),
    [HALLEY_KEY_ZERO_OWNER] = SWITCH(zero_owner),
    [HALLEY_KEY_FP8_DISPATCH] = SWITCH(fp8_dispatch),
    [HALLEY_KEY_OVERLAP_EP] = SWITCH(overlap_ep),
    [HALLEY_KEY_SEQUENCE_PARALLEL] = SWITCH(sequence_parallel),
    [HALLEY_KEY_KEEP_GATHERED] = SWITCH(fsdp_keep),
    [HALLEY_KEY_EMBEDDINGS_AS_LAYERS] = SWITCH(embeddings_as_layers),
    [HALLEY_KEY_SPREAD] = SWITCH(spread),
    [HALLEY_KEY_NO_OVERLAP] = SWITCH(no_overlap),
    [HALLEY_KEY_STAGE_LAYERS] = {CONF_TYPE_NODE, AT(stage_layers), 0, 0, NULL},
    [HALLEY_KEY_EXPOSE] = {CONF_TYPE_NODE, AT(expose), 0, 0, NULL},
    [HALLEY_KEY_OFFLOAD] = {CONF_TYPE_NODE, AT(offload), 0, 0, NULL},
    [HALLEY_KEY_RECOMPUTE_MODULES] = {CONF_TYPE_NODE, AT(modules), 0, 0, NULL},
    [HALLEY_KEY_RECOMPUTE_KEEP] = {CONF_TYPE_NODE, AT(keep), 0, 0, NULL},
    [HALLEY_KEY_RECOMPUTE_OFFLOAD] = {CONF_TYPE_NODE, AT(offload_tensors), 0, 0, NULL},
    [HALLEY_KEY_GATHER] = NAME(p.gather, workload_gather_names),
    [HALLEY_KEY_FP8_PARAMS] = {CONF_TYPE_TEXT, AT(fp8_params), 0, 0, NULL},
    [HALLEY_KEY_GRADIENT_MEMORY] = SHARE(gradient_memory, 0, 16),
    [HALLEY_KEY_OPTIMIZER_MEMORY] = SHARE(optimizer_memory, 0, 64),
    [HALLEY_KEY_OPTIMIZER] = NAME(p.optimizer, workload_optimizer_names),
    [HALLEY_KEY_TABLE_OPTIMIZER] =
        NAME(p.table_optimizer, workload_table_optimizer_names),
    [HALLEY_KEY_OFFLOAD_LAYERS] = NUMBER(offload_layers, 0, 1e5)};

/* Option names of Megatron-LM, DeepSpeed, torchtitan and NeMo for keys of a plan. */
static const struct {
    const char *word;
    halley_plan_key key;
    bool is_alias; /* an option there that has the same values as the key here */
} foreign_words[] = {
    {"gbs", HALLEY_KEY_GLOBAL_BATCH, true},
    {"global-batch-size", HALLEY_KEY_GLOBAL_BATCH, true},
    {"train-batch-size", HALLEY_KEY_GLOBAL_BATCH, true},
    {"batch", HALLEY_KEY_GLOBAL_BATCH, false},
    {"batch-size", HALLEY_KEY_GLOBAL_BATCH, false},
    {"mbs", HALLEY_KEY_MICRO_BATCH, true},
    {"micro-batch-size", HALLEY_KEY_MICRO_BATCH, true},
    {"train-micro-batch-size-per-gpu", HALLEY_KEY_MICRO_BATCH, true},
    {"local-batch-size", HALLEY_KEY_MICRO_BATCH, false},
    {"seq-length", HALLEY_KEY_SEQ, true},
    {"seq-len", HALLEY_KEY_SEQ, true},
    {"sequence-length", HALLEY_KEY_SEQ, true},
    {"max-seq-len", HALLEY_KEY_SEQ, true},
    {"context-length", HALLEY_KEY_SEQ, false},
    {"precision", HALLEY_KEY_DTYPE, false},
    {"tensor-model-parallel-size", HALLEY_KEY_TP, true},
    {"tensor-parallel-size", HALLEY_KEY_TP, true},
    {"tensor-parallel-degree", HALLEY_KEY_TP, true},
    {"tensor", HALLEY_KEY_TP, false},
    {"tensor-parallel", HALLEY_KEY_TP, false},
    {"pipeline-model-parallel-size", HALLEY_KEY_PP, true},
    {"pipeline-parallel-size", HALLEY_KEY_PP, true},
    {"pipeline-parallel-degree", HALLEY_KEY_PP, true},
    {"pipeline", HALLEY_KEY_PP, false},
    {"pipeline-parallel", HALLEY_KEY_PP, false},
    {"stages", HALLEY_KEY_PP, false},
    {"data-parallel-size", HALLEY_KEY_DP, true},
    {"data-parallel-replicate-degree", HALLEY_KEY_DP, false},
    {"data", HALLEY_KEY_DP, false},
    {"data-parallel", HALLEY_KEY_DP, false},
    {"replicas", HALLEY_KEY_DP, false},
    {"context-parallel-size", HALLEY_KEY_CP, true},
    {"context-parallel-degree", HALLEY_KEY_CP, true},
    {"context", HALLEY_KEY_CP, false},
    {"context-parallel", HALLEY_KEY_CP, false},
    {"expert-model-parallel-size", HALLEY_KEY_EP, true},
    {"expert-parallel-size", HALLEY_KEY_EP, true},
    {"expert-parallel-degree", HALLEY_KEY_EP, true},
    {"expert", HALLEY_KEY_EP, false},
    {"expert-parallel", HALLEY_KEY_EP, false},
    {"expert-tensor-parallel-size", HALLEY_KEY_ETP, true},
    {"virtual-pipeline-model-parallel-size", HALLEY_KEY_VIRTUAL, true},
    {"vpp", HALLEY_KEY_VIRTUAL, true},
    {"virtual-stages", HALLEY_KEY_VIRTUAL, false},
    {"zero-stage", HALLEY_KEY_ZERO, true},
    {"recompute-granularity", HALLEY_KEY_RECOMPUTE, true},
    {"activation-checkpointing", HALLEY_KEY_RECOMPUTE, false},
    {"checkpointing", HALLEY_KEY_RECOMPUTE, false},
    {"moe-expert-capacity-factor", HALLEY_KEY_CAPACITY, true},
    {"data-parallel-shard-degree", HALLEY_KEY_FSDP, false},
    {"lora-rank", HALLEY_KEY_LORA, true},
    {"cpu-offload", HALLEY_KEY_OFFLOAD, false},
};

#define NAMED(id, key, shown, doc, ...) {key, doc},
static const struct {
    const char *name, *doc;
} keys[] = {HALLEY_PLAN_VALUES(NAMED) HALLEY_PLAN_SWITCHES(NAMED)
                HALLEY_PLAN_LISTS(NAMED)};

static conf_field make_field(int i)
{
    return (conf_field){.key = keys[i].name,
                        .type = types[i].type,
                        .offset = types[i].offset,
                        .min = types[i].min,
                        .max = types[i].max,
                        .names = types[i].names,
                        .doc = keys[i].doc};
}

/* Reads the words of a list or a text, one by one. */
typedef struct list_reader {
    halley_plan *plan;
    const conf_file *file;
    halley_error *err;
    const char *key;
    const char *const *names; /* bits of *bits, in order */
    uint32_t *bits;
} list_reader;

/* Words in lists may contain - or _. */
static bool is_word(str word, const char *name)
{
    size_t i = 0;
    for (; i < word.n && name[i] != '\0'; i++) {
        if ((word.at[i] == '_' ? '-' : word.at[i]) != name[i])
            return false;
    }
    return i == word.n && name[i] == '\0';
}

static halley_status read_name(const list_reader *r, const conf_node *at, str word)
{
    uint32_t n = 0;
    for (; r->names[n]; n++) {
        if (!is_word(word, r->names[n]))
            continue;
        *r->bits |= 1u << n;
        return HALLEY_OK;
    }
    const char *near = str_nearest(word, r->names, n);
    return conf_error(r->file, at, r->err, HALLEY_EINVAL, "%s knows no \"%.*s\"%s%s%s",
                      r->key, STR_ARG(word), near ? ", did you mean \"" : "",
                      near ? near : "", near ? "\"?" : "");
}

static halley_status read_stage(const list_reader *r, const conf_node *at, str word)
{
    uint64_t n;
    halley_plan *p = r->plan;
    if (!str_to_u64(word, &n) || n == 0 || n > UINT8_MAX)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "%s needs layers of a stage from 1 to %d, not \"%.*s\"", r->key,
                          UINT8_MAX, STR_ARG(word));
    if (p->n_stage_layers == HALLEY_MAX_STAGES)
        return conf_error(r->file, at, r->err, HALLEY_ELIMIT,
                          "%s has more than %d stages", r->key, HALLEY_MAX_STAGES);
    p->stage_layers[p->n_stage_layers++] = (uint8_t)n;
    return HALLEY_OK;
}

static halley_status read_words(const list_reader *r, const conf_node *at)
{
    str rest = at->text, part;
    if (at->kind != CONF_SCALAR)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "%s needs single values in its list", r->key);
    if (r->names && str_eq(rest, STR("none")))
        return HALLEY_OK;
    while (str_next(&rest, '+', &part)) {
        str word;
        while (str_next(&part, ',', &word))
            TRY(r->names ? read_name(r, at, str_trim(word))
                         : read_stage(r, at, str_trim(word)));
    }
    return HALLEY_OK;
}

static halley_status read_list(const list_reader *r, const conf_node *node)
{
    if (!node)
        return HALLEY_OK;
    if (node->kind != CONF_LIST)
        return read_words(r, node);
    for (uint32_t i = 0; i < node->n; i++)
        TRY(read_words(r, node->items[i]));
    return HALLEY_OK;
}

static halley_status read_fsdp(halley_plan *plan, const conf_file *file, str text,
                               halley_error *err)
{
    uint64_t n;
    if (str_eq(text, STR("all"))) {
        plan->fsdp = HALLEY_FSDP_ALL;
        return HALLEY_OK;
    }
    if (!str_to_u64(text, &n) || n > 100000000)
        return conf_error(file, NULL, err, HALLEY_EINVAL,
                          "fsdp needs a number of ranks or \"all\", not \"%.*s\"",
                          STR_ARG(text));
    plan->fsdp = (uint32_t)n;
    return HALLEY_OK;
}

static halley_status read_fp8_params(halley_plan *plan, const conf_file *file, str text,
                                     halley_error *err)
{
    const bool yes = str_eq(text, STR("yes")) || str_eq(text, STR("true"));
    if (!yes && !str_eq(text, STR("no")) && !str_eq(text, STR("false")))
        return conf_error(file, NULL, err, HALLEY_EINVAL,
                          "fp8-params must be yes or no, not \"%.*s\"", STR_ARG(text));
    plan->fp8_params = yes ? HALLEY_CHOICE_YES : HALLEY_CHOICE_NO;
    return HALLEY_OK;
}

/* A plan with the words for its keys. */
static plan_text plan_text_of(const halley_plan *plan)
{
    return (plan_text){.p = *plan,
                       .dtype = plan->dtype,
                       .attention = plan->unfused_attention ? 1
                                    : plan->old_attention   ? 2
                                                            : 0,
                       .kernels = plan->eager_kernels};
}

/* mxfp8, mxfp4 and nvfp4 are abbreviations for a type and a recipe. */
static void set_dtype(halley_plan *p, uint32_t word)
{
    static const struct {
        halley_dtype dtype;
        halley_fp8_recipe recipe;
    } meanings[N_SHORT] = {{HALLEY_FP8, HALLEY_FP8_MX},
                           {HALLEY_FP4, HALLEY_FP8_MX},
                           {HALLEY_FP4, HALLEY_FP8_NV}};
    assert(word < N_DTYPES + N_SHORT);
    if (word < N_DTYPES) {
        p->dtype = (halley_dtype)word;
        return;
    }
    p->dtype = meanings[word - N_DTYPES].dtype;
    p->recipe = meanings[word - N_DTYPES].recipe;
    p->given |= 1ull << HALLEY_KEY_FP8_RECIPE;
}

static bool find_foreign_word(halley_plan_key *out, bool *is_alias, str word)
{
    for (size_t i = 0; i < sizeof foreign_words / sizeof *foreign_words; i++) {
        if (!is_word(word, foreign_words[i].word))
            continue;
        *out = foreign_words[i].key;
        if (is_alias != NULL)
            *is_alias = foreign_words[i].is_alias;
        return true;
    }
    return false;
}

static bool is_key(str name)
{
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        if (conf_key_is(name, keys[i].name))
            return true;
    return false;
}

/* Refuse option names of other programs, such as "tensor", and name the matching key. */
static halley_status refuse_foreign_words(const conf_file *file, halley_error *err)
{
    halley_plan_key key;
    const conf_node *map = file->root;
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        if (is_key(map->keys[i]) || !find_foreign_word(&key, NULL, map->keys[i]))
            continue;
        conf_node at = *map->items[i];
        at.line = at.key_line > 0 ? at.key_line : at.line;
        at.column = at.key_line > 0 ? at.key_column : at.column;
        return conf_error(file, &at, err, HALLEY_EINVAL,
                          "unknown key \"%.*s\"; did you mean \"%s\"?",
                          STR_ARG(map->keys[i]), keys[key].name);
    }
    return HALLEY_OK;
}

/* Read the fields of `n` keys from `first` on. */
static halley_status read_fields(halley_plan *plan, const conf_file *file, int first,
                                 int n, halley_error *err)
{
    assert(first >= 0 && n > 0 && first + n <= HALLEY_N_PLAN_KEYS);
    conf_field fields[HALLEY_N_PLAN_KEYS];
    plan_text t = plan_text_of(plan);
    for (int i = 0; i < n; i++)
        fields[i] = make_field(first + i);
    TRY(conf_read(&t, file, file->root, fields, (size_t)n, true, NULL, err));
    set_dtype(&t.p, t.dtype);
    t.p.unfused_attention = t.attention == 1;
    t.p.old_attention = t.attention == 2;
    t.p.eager_kernels = t.kernels == 1;
    if (t.fsdp.n)
        TRY(read_fsdp(&t.p, file, t.fsdp, err));
    halley_plan *p = &t.p;
    if (t.stage_layers)
        p->n_stage_layers = 0;
    TRY(read_list(&(list_reader){p, file, err, "offload", classes, &p->offload},
                  t.offload));
    TRY(read_list(&(list_reader){p, file, err, "expose", exposed, &p->expose}, t.expose));
    TRY(read_list(&(list_reader){p, file, err, "stage-layers", NULL, NULL},
                  t.stage_layers));
    TRY(read_list(
        &(list_reader){p, file, err, "recompute-modules", modules, &p->recompute_modules},
        t.modules));
    TRY(read_list(
        &(list_reader){p, file, err, "recompute-keep", tensors, &p->recompute_keep},
        t.keep));
    TRY(read_list(
        &(list_reader){p, file, err, "recompute-offload", tensors, &p->recompute_offload},
        t.offload_tensors));
    if (t.fp8_params.n > 0)
        TRY(read_fp8_params(p, file, t.fp8_params, err));
    for (int i = first; i < first + n; i++)
        p->given |= (uint64_t)(conf_find(file->root, keys[i].name) != NULL) << i;
    *plan = t.p;
    return HALLEY_OK;
}

halley_status workload_plan_read(halley_plan *plan, const conf_file *file,
                                 halley_error *err)
{
    TRY(refuse_foreign_words(file, err));
    return read_fields(plan, file, 0, HALLEY_N_PLAN_KEYS, err);
}

void halley_plan_default(halley_plan *out)
{
    *out = (halley_plan){.zero = 1, .sequence_parallel = true};
}

halley_status halley_plan_set(halley_plan *plan, halley_plan_key key, const char *text,
                              halley_error *err)
{
    conf_node value = {.kind = CONF_SCALAR, .text = str_from(text)};
    conf_node *items[] = {&value};
    str names[] = {str_from(keys[key].name)};
    conf_node root = {.kind = CONF_MAP, .n = 1, .keys = names, .items = items};
    return read_fields(plan, &(conf_file){.path = "", .root = &root}, (int)key, 1, err);
}

/* JSON uses keys with _: "micro_batch" is micro-batch. */
static halley_status rename_keys(conf_file *file, halley_error *err)
{
    conf_node *map = file->root;
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        if (memchr(map->keys[i].at, '_', map->keys[i].n) == NULL)
            continue;
        char *name = arena_copy(&file->memory, map->keys[i]);
        if (name == NULL)
            return error_nomem(err);
        for (size_t k = 0; name[k] != '\0'; k++)
            name[k] = name[k] == '_' ? '-' : name[k];
        if (conf_find(map, name) != map->items[i])
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "%s is given twice, with - and with _", name);
        map->keys[i] = str_from(name);
    }
    return HALLEY_OK;
}

/* A row of `halley plan --json` has its plan under "plan". */
static halley_status find_plan(conf_file *file, halley_error *err)
{
    conf_node *map = file->root;
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        if (str_eq(map->keys[i], STR("plan")) && map->items[i]->kind == CONF_MAP)
            file->root = map->items[i];
    }
    return rename_keys(file, err);
}

static halley_status read_plan(halley_plan *plan, uint64_t *given, conf_file *file,
                               halley_error *err)
{
    TRY(find_plan(file, err));
    TRY(workload_plan_read(plan, file, err));
    for (int i = 0; given != NULL && i < HALLEY_N_PLAN_KEYS; i++)
        *given |= (uint64_t)(conf_find(file->root, keys[i].name) != NULL) << i;
    return HALLEY_OK;
}

halley_status halley_plan_load(halley_plan *plan, uint64_t *given, const char *path,
                               halley_error *err)
{
    conf_file file;
    TRY(conf_load(&file, path, err));
    const halley_status status = read_plan(plan, given, &file, err);
    conf_fini(&file);
    return status;
}

halley_status halley_plan_parse(halley_plan *plan, uint64_t *given, const char *text,
                                size_t n, const char *name, halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, (str){text, n}, name, err));
    const halley_status status = read_plan(plan, given, &file, err);
    conf_fini(&file);
    return status;
}

/* The words of the set bits, as a JSON list. */
static void print_bits(strbuf *to, const char *const *names, uint32_t bits)
{
    const char *comma = "";
    strbuf_add_char(to, '[');
    for (uint32_t i = 0; names[i] != NULL; i++) {
        if ((bits >> i & 1) == 0)
            continue;
        strbuf_printf(to, "%s\"%s\"", comma, names[i]);
        comma = ", ";
    }
    strbuf_add_char(to, ']');
}

static void print_stages(strbuf *to, const halley_plan *p)
{
    strbuf_add_char(to, '[');
    for (uint32_t i = 0; i < p->n_stage_layers; i++)
        strbuf_printf(to, "%s%u", i > 0 ? ", " : "", p->stage_layers[i]);
    strbuf_add_char(to, ']');
}

/* Print a key that is stored in the plan directly; numbers out of range are not set. */
static void print_plain(strbuf *to, const plan_text *t, const key_type *type)
{
    const char *at = (const char *)t + type->offset;
    uint32_t number = 0;
    bool yes = false;
    if (type->type == CONF_TYPE_BOOL) {
        memcpy(&yes, at, sizeof yes);
        strbuf_printf(to, "%s", yes ? "true" : "false");
        return;
    }
    if (type->type == CONF_TYPE_DOUBLE) {
        double share = 0;
        memcpy(&share, at, sizeof share);
        strbuf_printf(to, "%s", number_shortest(share).at);
        return;
    }
    memcpy(&number, at, sizeof number);
    if (type->type == CONF_TYPE_ENUM)
        strbuf_printf(to, "\"%s\"", type->names[number]);
    else if (number >= type->min && number <= type->max)
        strbuf_printf(to, "%u", number);
}

static void print_key(strbuf *to, const plan_text *t, halley_plan_key key)
{
    switch (types[key].type) {
    case CONF_TYPE_U32:
    case CONF_TYPE_DOUBLE:
    case CONF_TYPE_ENUM:
    case CONF_TYPE_BOOL:
        print_plain(to, t, &types[key]);
        break;
    default:
        break;
    }
    if (key == HALLEY_KEY_FSDP)
        strbuf_printf(to, "%u", t->p.fsdp);
    else if (key == HALLEY_KEY_STAGE_LAYERS && t->p.n_stage_layers > 0)
        print_stages(to, &t->p);
    else if (key == HALLEY_KEY_EXPOSE && t->p.expose != 0)
        print_bits(to, exposed, t->p.expose);
    else if (key == HALLEY_KEY_OFFLOAD && t->p.offload != 0)
        print_bits(to, classes, t->p.offload);
    else if (key == HALLEY_KEY_RECOMPUTE_MODULES && t->p.recompute_modules != 0)
        print_bits(to, modules, t->p.recompute_modules);
    else if (key == HALLEY_KEY_RECOMPUTE_KEEP && t->p.recompute_keep != 0)
        print_bits(to, tensors, t->p.recompute_keep);
    else if (key == HALLEY_KEY_RECOMPUTE_OFFLOAD && t->p.recompute_offload != 0)
        print_bits(to, tensors, t->p.recompute_offload);
    else if (key == HALLEY_KEY_FP8_PARAMS && t->p.fp8_params != HALLEY_CHOICE_DEFAULT)
        strbuf_printf(to, "%s", t->p.fp8_params == HALLEY_CHOICE_YES ? "true" : "false");
}

halley_status halley_plan_print(char **out, const halley_plan *plan, halley_plan_key key,
                                halley_error *err)
{
    const plan_text t = plan_text_of(plan);
    strbuf text = {0};
    assert((int)key < HALLEY_N_PLAN_KEYS);
    print_key(&text, &t, key);
    if (text.failed) {
        strbuf_fini(&text);
        return error_nomem(err);
    }
    *out = text.at;
    return HALLEY_OK;
}

const char *halley_plan_key_name(halley_plan_key key)
{
    return (int)key < HALLEY_N_PLAN_KEYS ? keys[key].name : "";
}

bool halley_plan_key_find(halley_plan_key *out, bool *is_alias, const char *word)
{
    return find_foreign_word(out, is_alias, str_from(word));
}

const char *const *halley_plan_key_words(halley_plan_key key)
{
    assert((int)key < HALLEY_N_PLAN_KEYS);
    switch (key) {
    case HALLEY_KEY_EXPOSE:
        return exposed;
    case HALLEY_KEY_OFFLOAD:
        return classes;
    case HALLEY_KEY_RECOMPUTE_MODULES:
        return modules;
    case HALLEY_KEY_RECOMPUTE_KEEP:
    case HALLEY_KEY_RECOMPUTE_OFFLOAD:
        return tensors;
    default:
        return types[key].names;
    }
}

bool halley_plan_key_is_list(halley_plan_key key)
{
    assert((int)key < HALLEY_N_PLAN_KEYS);
    return types[key].type == CONF_TYPE_NODE;
}
