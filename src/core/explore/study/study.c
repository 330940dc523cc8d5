/*
 * Read study files. Each part of the file is a row of one schema table. Axes are read in
 * study_axis.c, fixed values in study_fixed.c, the plan in study_plan.c, and the search
 * in study_search.c. Questions are read in study_question.c, and expressions in expr.c.
 */
#include "explore/study/study.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "base/limit.h"
#include "explore/metric.h"
#include "halley/plan_keys.h"
#include "workload/plan_facts.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct study_text {
    str name, description;
    const conf_node *model, *cluster, *stack, *plan, *set, *vary, *where, *objective,
        *baseline, *search, *breaks;
    uint32_t verify;
    bool allow_unfit;
    double headroom, tokens;
} study_text;

#define PART(key, member, required, doc, default_, example)                              \
    CONF_FIELD_SHOWN(study_text, key, CONF_TYPE_NODE, UNITS_COUNT, member, required,     \
                     doc, default_, example)
static const conf_field study_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(study_text, name),
     .required = true,
     .doc = "name of the study",
     .by_default = "required",
     .example = "bandwidth"},
    CONF_FIELD_SHOWN(study_text, "description", CONF_TYPE_TEXT, UNITS_COUNT, description,
                     false, "the question that the study answers, for readers only",
                     "none", "Is 400 Gb/s enough?"),
    PART("model", model, true, "model preset or file, or a preset with changes",
         "required", "{preset: llama3-70b, layers: 96}"),
    PART("cluster", cluster, true, "cluster preset or file, or a preset with changes",
         "required", "dgx-h100:512"),
    PART("stack", stack, false, "training software: a stack preset or file",
         "uncalibrated", "megatron-core-2025"),
    PART("plan", plan, false,
         "fixed keys of the plan, or best to search the best plan of each design",
         "the plan's defaults", "{zero: 1, tp: 8}"),
    PART("set", set, false, "fixed values, by path of the parameter", "none",
         "{cluster.nodes.npus: 16}"),
    PART("vary", vary, false, "varied values, by path of the parameter", "none",
         "{plan.tp: [1, 2, 4, 8]}"),
    PART("where", where, false,
         "conditions that designs must meet, in addition to fitting in memory", "none",
         "[\"plan.tp <= 8\"]"),
    PART("objective", objective, false,
         "what to minimize or maximize, or a list of objectives", "{minimize: step-time}",
         "{maximize: mfu}"),
    PART("baseline", baseline, false,
         "values of the design that others are compared with", "none", "{plan.tp: 8}"),
    PART("search", search, false, "exhaustive, or a search method", "exhaustive",
         "{method: random, samples: 1000}"),
    PART("break-even", breaks, false,
         "questions at which value of a parameter one design overtakes another", "none",
         "[{parameter: cluster.npu.price, from: 10 kUSD, to: 90 kUSD, of: {plan.tp: 8}, "
         "beats: {plan.tp: 4}}]"),
    CONF_FIELD_SHOWN(study_text, "allow-unfit", CONF_TYPE_BOOL, UNITS_COUNT, allow_unfit,
                     false, "also keep designs that do not fit in memory", "no", "yes"),
    CONF_FIELD_SHOWN(study_text, "headroom", CONF_TYPE_QUANTITY, UNITS_SHARE, headroom,
                     false, "share of the memory that a plan must leave free", "4 %",
                     "10 %"),
    CONF_FIELD_SHOWN(study_text, "tokens", CONF_TYPE_QUANTITY, UNITS_COUNT, tokens, false,
                     "length of the training run in tokens, for its days and cost", "1T",
                     "15T"),
    {.key = "verify",
     .type = CONF_TYPE_U32,
     .offset = offsetof(study_text, verify),
     .min = 0,
     .max = 1000,
     .doc = "number of best designs to check by simulation",
     .by_default = "0",
     .example = "5"},
};

static halley_status at_node(const halley_study *s, const conf_node *node,
                             halley_status status, halley_error *err)
{
    if (status != HALLEY_OK && err && !err->file[0]) {
        error_at_file(err, s->file.path);
        error_at_line(err, node->line, node->column);
    }
    return status;
}

static halley_status read_where(halley_study *s, const conf_node *node, halley_error *err)
{
    assert(s->n_where <= EXPLORE_MAX_WHERE);
    if (node == NULL)
        return HALLEY_OK;
    const bool list = node->kind == CONF_LIST;
    for (uint32_t i = 0; i < (list ? node->n : 1); i++) {
        const conf_node *one = list ? node->items[i] : node;
        if (one->kind != CONF_SCALAR)
            return conf_error(&s->file, one, err, HALLEY_EFORMAT,
                              "where needs \"fits\" and expressions");
        if (str_eq(one->text, STR("fits"))) {
            if (!s->fits)
                return conf_error(&s->file, one, err, HALLEY_EINVAL,
                                  "where: fits contradicts allow-unfit: yes");
            continue;
        }
        if (s->n_where == EXPLORE_MAX_WHERE)
            return conf_error(&s->file, one, err, HALLEY_ELIMIT,
                              "more than %d constraints", EXPLORE_MAX_WHERE);
        TRY(at_node(
            s, one,
            explore_expr_compile(&s->where[s->n_where], &s->memory, one->text, err),
            err));
        s->n_where++;
    }
    return HALLEY_OK;
}

static halley_status read_goal(halley_study *s, const conf_node *map, halley_error *err)
{
    assert(s->n_goals <= HALLEY_MAX_OBJECTIVES);
    if (map->kind != CONF_MAP)
        return conf_error(&s->file, map, err, HALLEY_EFORMAT,
                          "objective needs {minimize: ...} or {maximize: ...}");
    for (uint32_t i = 0; i < map->n; i++) {
        const bool maximize = str_eq(map->keys[i], STR("maximize"));
        const conf_node *node = map->items[i];
        if (!maximize && !str_eq(map->keys[i], STR("minimize")))
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "objective needs minimize or maximize, not \"%.*s\"",
                              STR_ARG(map->keys[i]));
        if (node->kind != CONF_SCALAR)
            return conf_error(&s->file, node, err, HALLEY_EFORMAT,
                              "an objective is a result or an expression");
        if (s->n_goals == HALLEY_MAX_OBJECTIVES)
            return conf_error(&s->file, node, err, HALLEY_ELIMIT,
                              "more than %d objectives", HALLEY_MAX_OBJECTIVES);
        explore_goal *g = &s->goals[s->n_goals];
        g->seen.maximize = maximize;
        g->seen.metric = explore_metric_find(node->text, NULL);
        TRY(at_node(s, node, explore_expr_compile(&g->expr, &s->memory, node->text, err),
                    err));
        g->seen.text = g->expr.text;
        g->seen.money = explore_expr_uses_money(&g->expr);
        s->n_goals++;
    }
    return HALLEY_OK;
}

static halley_status read_objective(halley_study *s, const conf_node *node,
                                    halley_error *err)
{
    if (!node) {
        explore_goal *g = &s->goals[s->n_goals++];
        g->seen.metric = HALLEY_METRIC_STEP_TIME;
        g->seen.text = "step-time";
        g->seen.assumed = true;
        return explore_expr_compile(&g->expr, &s->memory, STR("step-time"), err);
    }
    if (node->kind != CONF_LIST)
        return read_goal(s, node, err);
    for (uint32_t i = 0; i < node->n; i++)
        TRY(read_goal(s, node->items[i], err));
    if (s->n_goals == 0)
        return conf_error(&s->file, node, err, HALLEY_EINVAL, "no objective is given");
    assert(s->n_goals > 0 && s->n_goals <= HALLEY_MAX_OBJECTIVES);
    return HALLEY_OK;
}

bool halley_study_keys(halley_study_key *out, const char *section, size_t i)
{
    assert(section != NULL);
    const struct {
        const char *name;
        const conf_field *fields;
        size_t n;
    } sections[] = {
        {"", study_fields, sizeof study_fields / sizeof *study_fields},
        {"vary", explore_range_fields, explore_n_range_fields},
        {"search", explore_search_fields, explore_n_search_fields},
        {"break-even", explore_question_fields, explore_n_question_fields},
    };
    for (size_t s = 0; s < sizeof sections / sizeof *sections; s++) {
        if (strcmp(sections[s].name, section) != 0 || i >= sections[s].n)
            continue;
        const conf_field *f = &sections[s].fields[i];
        *out = (halley_study_key){f->key,   f->doc,        f->required,
                                  f->names, f->by_default, f->example};
        return true;
    }
    return false;
}

static void set_all(explore_design *d, const explore_fixed *list, uint32_t n, bool whole)
{
    assert(n <= EXPLORE_MAX_FIXED);
    for (uint32_t i = 0; i < n; i++) {
        if (explore_param_whole(&list[i].ref.param) == whole)
            explore_set(d, &list[i].ref, &list[i].value);
    }
}

static halley_status read_fixed(halley_study *s, const study_text *t, halley_error *err)
{
    assert(s->n_fixed <= EXPLORE_MAX_FIXED);
    const struct {
        const char *prefix;
        const conf_node *node;
    } parts[] = {
        {"model", t->model}, {"cluster", t->cluster}, {"stack", t->stack}, {"", t->set}};
    halley_stack_default(&s->base.stack);
    s->base.cluster.nodes.npus = 1;
    for (size_t i = 0; i < 4; i++) {
        if (parts[i].node)
            TRY(explore_fixed_read(s->fixed, &s->n_fixed, s, parts[i].prefix,
                                   parts[i].node, err));
    }
    return HALLEY_OK;
}

static halley_status read_vary(halley_study *s, const conf_node *vary, halley_error *err)
{
    if (!vary)
        return HALLEY_OK;
    if (vary->kind != CONF_MAP)
        return conf_error(&s->file, vary, err, HALLEY_EFORMAT,
                          "vary needs paths and their values");
    for (uint32_t i = 0; i < vary->n; i++)
        TRY(explore_axis_read(s, vary->keys[i], vary->items[i], false, err));
    return HALLEY_OK;
}

static bool has_tier(const halley_npu *npu, const char *name)
{
    for (uint32_t i = 0; i < npu->n_tiers; i++) {
        if (strcmp(npu->tiers[i].name, name) == 0)
            return true;
    }
    return false;
}

static bool gives_capacity(const explore_ref *ref, const char *tier)
{
    return ref->param.kind == PARAM_TIER && ref->param.unit == UNITS_BYTES &&
           strcmp(ref->tier, tier) == 0;
}

/* True if a tier of that name exists, or is added, somewhere in the space. */
static bool tier_exists(const halley_study *s, const char *tier)
{
    assert(tier[0] != '\0');
    bool any = has_tier(&s->base.cluster.npu, tier);
    for (uint32_t i = 0; i < s->n_fixed; i++)
        any = any || gives_capacity(&s->fixed[i].ref, tier);
    for (uint32_t i = 0; i < s->n_axes; i++) {
        const explore_axis *a = &s->axes[i];
        for (uint32_t v = 0; v < a->seen.n * a->n_refs; v++) {
            const explore_ref *r = &a->refs[v % a->n_refs];
            const void *object = a->values[v].object;
            any = any || gives_capacity(r, tier);
            if (r->param.kind == PARAM_CLUSTER && object)
                any = any || has_tier(&((const halley_cluster *)object)->npu, tier);
            if (r->param.kind == PARAM_NPU && object)
                any = any || has_tier(object, tier);
        }
    }
    return any;
}

/* Refuse a bandwidth for a memory that no design has: it would have no effect. */
static halley_status check_tier(const halley_study *s, const explore_ref *ref,
                                halley_error *err)
{
    assert(ref->param.path[0] != '\0');
    if (ref->param.kind != PARAM_TIER || tier_exists(s, ref->tier))
        return HALLEY_OK;
    error_set(err, HALLEY_EINVAL,
              "no memory tier is called \"%s\"; give its capacity, too, to add it",
              ref->tier);
    error_at_file(err, s->file.path);
    return HALLEY_EINVAL;
}

static halley_status check_tiers(const halley_study *s, halley_error *err)
{
    for (uint32_t i = 0; i < s->n_fixed; i++)
        TRY(check_tier(s, &s->fixed[i].ref, err));
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t r = 0; r < s->axes[i].n_refs; r++)
            TRY(check_tier(s, &s->axes[i].refs[r], err));
    }
    return HALLEY_OK;
}

static void default_fill(halley_study *s)
{
    if (s->has_fill || explore_plan_gives(s, "plan.dp"))
        return;
    s->has_fill = explore_ref_find(&s->fill, STR("plan.dp"), NULL);
}

static halley_status read_headroom(halley_study *s, double headroom, halley_error *err)
{
    halley_stack usual;
    halley_stack_default(&usual);
    const conf_node *at = conf_find(s->file.root, "headroom");
    if (at != NULL && !(headroom >= 0 && headroom <= 0.9))
        return conf_error(&s->file, at, err, HALLEY_EINVAL,
                          "headroom is a share of the memory from 0 to 90 %%, not %.*s",
                          STR_ARG(at->text));
    s->headroom = at != NULL ? headroom : usual.headroom;
    assert(s->headroom >= 0 && s->headroom < 1);
    return HALLEY_OK;
}

/* Check the keys of the cluster's network that a design sets. */
static halley_status check_edits(const halley_study *s, halley_error *err)
{
    uint32_t n = 1; /* cluster.network as a whole */
    for (uint32_t i = 0; i < s->n_fixed; i++)
        n += s->fixed[i].ref.param.kind == PARAM_EDIT;
    for (uint32_t i = 0; i < s->n_axes; i++)
        for (uint32_t r = 0; r < s->axes[i].n_refs; r++)
            n += s->axes[i].refs[r].param.kind == PARAM_EDIT;
    if (n <= EXPLORE_MAX_EDITS)
        return HALLEY_OK;
    return conf_error(&s->file, NULL, err, HALLEY_ELIMIT,
                      "at most %d keys of the cluster's network can be set or vary",
                      EXPLORE_MAX_EDITS - 1);
}

static halley_status read_tokens(halley_study *s, double tokens, halley_error *err)
{
    const conf_node *at = conf_find(s->file.root, "tokens");
    if (at != NULL && !(tokens >= 1 && tokens <= 1e18))
        return conf_error(&s->file, at, err, HALLEY_EINVAL,
                          "tokens is the length of a training run, such as 15T, not %.*s",
                          STR_ARG(at->text));
    s->tokens = at != NULL ? tokens : 1e12;
    return HALLEY_OK;
}

/* The bit of a plan's key; 0 for other parameters. */
static uint64_t find_key_bit(const explore_ref *ref)
{
    const fact *f = ref->param.fact;
    return f != NULL ? UINT64_C(1) << (f - workload_plan_facts.rows) : 0;
}

static void list_given(halley_study *s)
{
    for (uint32_t i = 0; i < s->n_fixed; i++)
        s->given |= find_key_bit(&s->fixed[i].ref);
    for (uint32_t i = 0; i < s->n_derived; i++)
        s->given |= find_key_bit(&s->derived[i].ref);
    for (uint32_t i = 0; i < s->n_axes; i++)
        for (uint32_t r = 0; r < s->axes[i].n_refs; r++)
            s->given |= find_key_bit(&s->axes[i].refs[r]);
}

static halley_status read_study(halley_study *s, halley_error *err)
{
    study_text t = {.headroom = -1};
    const conf_node *best;
    TRY(conf_read(&t, &s->file, s->file.root, study_fields,
                  sizeof study_fields / sizeof *study_fields, true, NULL, err));
    s->name = arena_copy(&s->memory, t.name);
    s->description = arena_copy(&s->memory, t.description);
    if (s->name == NULL || s->description == NULL)
        return error_nomem(err);
    s->verify = t.verify;
    s->fits = !t.allow_unfit;
    TRY(read_headroom(s, t.headroom, err));
    TRY(read_tokens(s, t.tokens, err));
    halley_plan_default(&s->base.plan);
    TRY(read_fixed(s, &t, err));
    TRY(explore_plan_read(s, &best, t.plan, err));
    set_all(&s->base, s->fixed, s->n_fixed, true);
    set_all(&s->base, s->fixed, s->n_fixed, false);
    TRY(read_vary(s, t.vary, err));
    default_fill(s);
    if (best)
        TRY(explore_best_read(s, best, err));
    TRY(explore_axes_finish(s, err));
    list_given(s);
    TRY(check_tiers(s, err));
    TRY(read_where(s, t.where, err));
    TRY(read_objective(s, t.objective, err));
    TRY(explore_search_read(s, t.search, err));
    if (t.baseline) {
        s->has_baseline = true;
        TRY(explore_design_read(s->baseline, &s->n_baseline, s, t.baseline, err));
        TRY(explore_design_print(&s->baseline_text, s, t.baseline, err));
    }
    TRY(check_edits(s, err));
    return explore_questions_read(s, t.breaks, err);
}

halley_status halley_study_parse(halley_study **out, const char *text, size_t n,
                                 const char *name, halley_error *err)
{
    assert(out != NULL && name != NULL);
    halley_study *s = mem_array_zero(1, sizeof *s);
    if (s == NULL)
        return error_nomem(err);
    s->text = arena_copy(&s->memory, (str){text, n});
    s->networks = explore_networks_new();
    s->hash = hash_bytes(text, n, 1);
    halley_status status = s->text != NULL && s->networks != NULL
                               ? conf_parse(&s->file, (str){text, n}, name, err)
                               : error_nomem(err);
    s->loader = (explore_loader){.memory = &s->memory, .file = &s->file};
    if (status == HALLEY_OK && s->file.root->kind == CONF_NULL)
        status =
            conf_error(&s->file, NULL, err, HALLEY_EFORMAT, "the study file is empty");
    if (status == HALLEY_OK)
        status = read_study(s, err);
    if (status != HALLEY_OK) {
        halley_study_free(s);
        return status;
    }
    *out = s;
    return HALLEY_OK;
}

halley_status halley_study_load(halley_study **out, const char *path, halley_error *err)
{
    file_input in;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, err));
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    const halley_status status =
        halley_study_parse(out, (const char *)in.at, in.n, name, err);
    file_input_close(&in);
    return status;
}

void halley_study_free(halley_study *study)
{
    if (!study)
        return;
    for (size_t i = 0; i < study->loader.clusters.n; i++)
        halley_cluster_free(study->loader.clusters.at[i]);
    array_fini(&study->loader.clusters);
    explore_networks_free(study->networks);
    for (uint32_t i = 0; i < study->loader.n_models; i++)
        halley_model_fini(study->loader.models[i]);
    conf_fini(&study->file);
    arena_fini(&study->memory);
    free(study);
}

const char *halley_study_name(const halley_study *study)
{
    return study->name;
}

double halley_study_looked_at(const halley_study *study)
{
    assert(study->inner_size > 0);
    const double samples = (double)study->search.samples * (double)study->inner_size;
    return study->search.method == EXPLORE_EXHAUSTIVE ? study->size
                                                      : fmin(samples, study->size);
}

const char *halley_study_baseline(const halley_study *study)
{
    return study->baseline_text ? study->baseline_text : "";
}

const char *halley_study_text(const halley_study *study)
{
    return study->text;
}

uint32_t halley_study_axes(const halley_study *study)
{
    return study->n_axes;
}

const halley_axis *halley_study_axis(const halley_study *study, uint32_t i)
{
    return &study->axes[i].seen;
}

const halley_model *halley_study_model(const halley_study *study)
{
    return &study->base.model;
}

uint32_t halley_study_objectives(const halley_study *study)
{
    return study->n_goals;
}

const halley_objective *halley_study_objective(const halley_study *study, uint32_t i)
{
    return &study->goals[i].seen;
}

double halley_study_size(const halley_study *study)
{
    return study->size;
}
