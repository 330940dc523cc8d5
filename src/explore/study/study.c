/*
 * Study files. Each part of the file is a row of one schema table; what varies, what is
 * fixed and what is asked are read by study_axis.c, study_fixed.c and expr.c.
 */
#include "explore/study/study.h"

#include "base/array.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "base/limit.h"
#include "explore/metric.h"
#include "halley/plan_keys.h"

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

static const char *const methods[] = {"exhaustive",   "random", "latin-hypercube",
                                      "evolutionary", "nlopt",  NULL};

typedef struct search_text {
    uint32_t method, population;
    uint64_t samples, seed;
} search_text;
static const conf_field search_fields[] = {
    {.key = "method",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(search_text, method),
     .required = true,
     .names = methods,
     .doc = "search method",
     .by_default = "required"},
    {.key = "samples",
     .type = CONF_TYPE_U64,
     .offset = offsetof(search_text, samples),
     .min = 1,
     .max = 1e9,
     .doc = "number of designs to evaluate",
     .by_default = "10000",
     .example = "50000"},
    {.key = "population",
     .type = CONF_TYPE_U32,
     .offset = offsetof(search_text, population),
     .min = 4,
     .max = 1e5,
     .doc = "population of the evolutionary search",
     .by_default = "64",
     .example = "256"},
    {.key = "seed",
     .type = CONF_TYPE_U64,
     .offset = offsetof(search_text, seed),
     .doc = "seed of the random numbers",
     .by_default = "1",
     .example = "7"},
};

static halley_status read_search(halley_study *s, const conf_node *node,
                                 halley_error *err)
{
    search_text t = {.seed = 1, .samples = 10000, .population = 64};
    if (node && node->kind == CONF_SCALAR) {
        while (methods[t.method] && !str_eq(node->text, str_from(methods[t.method])))
            t.method++;
        if (!methods[t.method])
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "search is exhaustive, random, latin-hypercube, "
                              "evolutionary or nlopt, not \"%.*s\"",
                              STR_ARG(node->text));
    } else if (node) {
        TRY(conf_read(&t, &s->file, node, search_fields,
                      sizeof search_fields / sizeof *search_fields, true, NULL, err));
    }
    s->search =
        (explore_search){(explore_method)t.method, t.samples, t.population, t.seed};
    return HALLEY_OK;
}

/* {plan.tp: 64, system: GPU}: parameters, or the name of a row of tied ones. */
static halley_status read_design(explore_fixed *out, uint32_t *n, halley_study *s,
                                 const conf_node *map, halley_error *err)
{
    assert(*n <= EXPLORE_MAX_FIXED);
    if (map->kind != CONF_MAP)
        return conf_error(&s->file, map, err, HALLEY_EFORMAT,
                          "a design is a map of parameters");
    const bool had_fill = s->has_fill;
    for (uint32_t i = 0; i < map->n; i++) {
        const conf_node *node = map->items[i];
        const explore_axis *tied = NULL;
        for (uint32_t a = 0; a < s->n_axes; a++) {
            if (str_eq(map->keys[i], str_from(s->axes[a].seen.name)) &&
                s->axes[a].values &&
                s->axes[a].seen.texts[0] != s->axes[a].values[0].text)
                tied = &s->axes[a];
        }
        if (!tied) {
            char path[160];
            snprintf(path, sizeof path, "%.*s", STR_ARG(map->keys[i]));
            TRY(explore_fixed_read(out, n, s, path, node, err));
            continue;
        }
        uint32_t row = 0;
        while (row < tied->seen.n && !str_eq(node->text, str_from(tied->seen.texts[row])))
            row++;
        if (row == tied->seen.n)
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "%s has no row named \"%.*s\"", tied->seen.name,
                              STR_ARG(node->text));
        for (uint32_t r = 0; r < tied->n_refs && *n < EXPLORE_MAX_FIXED; r++) {
            const explore_value *v = &tied->values[row * tied->n_refs + r];
            if (v->text)
                out[(*n)++] = (explore_fixed){tied->refs[r], *v};
        }
    }
    s->has_fill = had_fill;
    return HALLEY_OK;
}

typedef struct question_text {
    str parameter;
    const conf_node *from, *to, *of, *beats;
} question_text;
#define QUESTION(key, type, member, doc, example)                                        \
    CONF_FIELD_SHOWN(question_text, key, type, UNITS_COUNT, member, true, doc,           \
                     "required", example)
static const conf_field question_fields[] = {
    QUESTION("parameter", CONF_TYPE_TEXT, parameter, "parameter to vary",
             "cluster.network.bandwidth"),
    QUESTION("from", CONF_TYPE_NODE, from, "smallest value", "25 GB/s"),
    QUESTION("to", CONF_TYPE_NODE, to, "largest value", "100 GB/s"),
    QUESTION("of", CONF_TYPE_NODE, of, "the design that should win", "{plan.tp: 8}"),
    QUESTION("beats", CONF_TYPE_NODE, beats, "the design it is compared with",
             "{plan.tp: 4}"),
};

/* "plan.tp 64, system small" */
static halley_status words_of(const char **out, halley_study *s, const conf_node *map,
                              halley_error *err)
{
    strbuf words = {0};
    for (uint32_t i = 0; i < map->n; i++)
        strbuf_printf(&words, "%s%.*s %.*s", i ? ", " : "", STR_ARG(map->keys[i]),
                      STR_ARG(map->items[i]->text));
    *out = words.failed ? NULL : arena_copy(&s->memory, strbuf_str(&words));
    strbuf_fini(&words);
    return *out ? HALLEY_OK : error_nomem(err);
}

static halley_status side(const explore_fixed **out, uint32_t *n, const char **text,
                          halley_study *s, const conf_node *map, halley_error *err)
{
    assert(text != NULL);
    explore_fixed *list = arena_array(&s->memory, EXPLORE_MAX_FIXED, sizeof *list);
    if (!list)
        return error_nomem(err);
    *n = 0;
    TRY(read_design(list, n, s, map, err));
    *out = list;
    return words_of(text, s, map, err);
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
        {"search", search_fields, sizeof search_fields / sizeof *search_fields},
        {"break-even", question_fields, sizeof question_fields / sizeof *question_fields},
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

static halley_status read_questions(halley_study *s, const conf_node *list,
                                    halley_error *err)
{
    assert(s->n_questions == 0);
    if (!list)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n > EXPLORE_MAX_QUESTIONS)
        return conf_error(&s->file, list, err, HALLEY_EFORMAT,
                          "break-even is a list of at most %d questions",
                          EXPLORE_MAX_QUESTIONS);
    for (uint32_t i = 0; i < list->n; i++) {
        question_text t = {0};
        explore_question *q = &s->questions[s->n_questions];
        explore_value v;
        TRY(conf_read(&t, &s->file, list->items[i], question_fields, 5, true, NULL, err));
        TRY(explore_ref_read(&q->ref, s, t.parameter, list->items[i], err));
        q->path = arena_copy(&s->memory, t.parameter);
        if (q->ref.param->kind == PARAM_EDIT)
            return conf_error(&s->file, list->items[i], err, HALLEY_EINVAL,
                              "break-even cannot turn %s, which is a key of the cluster "
                              "file; vary it instead",
                              q->path == NULL ? "" : q->path);
        TRY(explore_value_read(&v, &s->loader, &q->ref, t.from, err));
        q->from = v.number;
        TRY(explore_value_read(&v, &s->loader, &q->ref, t.to, err));
        q->to = v.number;
        if (!(q->from > 0 && q->from < q->to) || !q->path)
            return conf_error(&s->file, t.from, err, HALLEY_EINVAL,
                              "break-even needs 0 < from < to");
        TRY(side(&q->of, &q->n_of, &q->of_text, s, t.of, err));
        TRY(side(&q->beats, &q->n_beats, &q->beats_text, s, t.beats, err));
        s->n_questions++;
    }
    assert(s->n_questions <= EXPLORE_MAX_QUESTIONS);
    return HALLEY_OK;
}

/* The plans `plan: best` tries, where the study says nothing else. */
static const char *const best_axes[][2] = {
    {"plan.tp", "powers-of-two"},
    {"plan.pp", "divisors"},
    {"plan.virtual", "[1, 2, 4]"},
    {"plan.ep", "powers-of-two"},
    {"plan.micro-batch", "[1, 2, 4, 8, 16]"},
    {"plan.recompute", "[none, selective, full]"},
};

static bool is_fixed(const halley_study *s, const char *path)
{
    for (uint32_t i = 0; i < s->n_fixed; i++) {
        if (strcmp(s->fixed[i].ref.param->path, path) == 0)
            return true;
    }
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t r = 0; r < s->axes[i].n_refs; r++) {
            if (strcmp(s->axes[i].refs[r].param->path, path) == 0)
                return true;
        }
    }
    return s->has_fill && strcmp(s->fill.param->path, path) == 0;
}

static bool has_experts(const halley_study *s)
{
    bool any = s->base.model.experts > 0;
    for (uint32_t i = 0; i < s->loader.n_models; i++)
        any = any || s->loader.models[i]->experts > 0;
    return any;
}

static halley_status default_best(halley_study *s, const conf_node *at, halley_error *err)
{
    for (size_t i = 0; i < sizeof best_axes / sizeof *best_axes; i++) {
        const char *path = best_axes[i][0], *text = best_axes[i][1];
        if (is_fixed(s, path) || (strcmp(path, "plan.ep") == 0 && !has_experts(s)))
            continue;
        conf_node items[8], *list[8], spec = *at;
        spec.text = str_from(text);
        spec.kind = CONF_SCALAR;
        if (text[0] == '[') {
            str rest = {text + 1, strlen(text) - 2}, word;
            spec.kind = CONF_LIST;
            spec.n = 0;
            while (str_next(&rest, ',', &word)) {
                items[spec.n] = *at;
                items[spec.n].kind = CONF_SCALAR;
                items[spec.n].text = str_trim(word);
                list[spec.n] = &items[spec.n];
                spec.n++;
            }
            spec.items = list;
        }
        conf_node *kept = arena_alloc(&s->memory, sizeof *kept);
        if (!kept)
            return error_nomem(err);
        *kept = spec;
        TRY(explore_axis_read(s, str_from(path), kept, true, err));
    }
    return HALLEY_OK;
}

/* `plan: best`, `plan: {best: {tp: [1, 8], ...}, zero: 1}`, or a fixed plan. */
static halley_status read_plan(halley_study *s, const conf_node **best,
                               const conf_node *plan, halley_error *err)
{
    *best = NULL;
    if (!plan)
        return HALLEY_OK;
    if (plan->kind == CONF_SCALAR && str_eq(plan->text, STR("best"))) {
        *best = plan;
        s->best_plan = true;
        return HALLEY_OK;
    }
    if (plan->kind != CONF_MAP)
        return conf_error(&s->file, plan, err, HALLEY_EFORMAT,
                          "plan is a map such as {tp: 8, zero: 1}, or best");
    for (uint32_t i = 0; i < plan->n; i++) {
        const conf_node *node = plan->items[i];
        if (str_eq(plan->keys[i], STR("best"))) {
            *best = node;
            s->best_plan = true;
            continue;
        }
        char path[160];
        snprintf(path, sizeof path, "plan.%.*s", STR_ARG(plan->keys[i]));
        TRY(explore_fixed_read(s->fixed, &s->n_fixed, s, path, node, err));
    }
    return HALLEY_OK;
}

static halley_status read_best(halley_study *s, const conf_node *best, halley_error *err)
{
    for (uint32_t i = 0; best->kind == CONF_MAP && i < best->n; i++) {
        char path[160];
        snprintf(path, sizeof path, "plan.%.*s", STR_ARG(best->keys[i]));
        TRY(explore_axis_read(s, str_from(path), best->items[i], true, err));
    }
    return default_best(s, best, err);
}

static void set_all(explore_design *d, const explore_fixed *list, uint32_t n, bool whole)
{
    assert(n <= EXPLORE_MAX_FIXED);
    for (uint32_t i = 0; i < n; i++) {
        if (explore_param_whole(list[i].ref.param) == whole)
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
    return ref->param->kind == PARAM_TIER && ref->param->unit == UNITS_BYTES &&
           strcmp(ref->tier, tier) == 0;
}

/* Is there, or comes about, a tier of that name somewhere in the space? */
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
            if (r->param->kind == PARAM_CLUSTER && object)
                any = any || has_tier(&((const halley_cluster *)object)->npu, tier);
            if (r->param->kind == PARAM_NPU && object)
                any = any || has_tier(object, tier);
        }
    }
    return any;
}

/* A bandwidth for a memory that is nowhere would change nothing, silently. */
static halley_status check_tier(const halley_study *s, const explore_ref *ref,
                                halley_error *err)
{
    assert(ref->param != NULL);
    if (ref->param->kind != PARAM_TIER || tier_exists(s, ref->tier))
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
    if (s->has_fill || is_fixed(s, "plan.dp"))
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

/* Keys of the cluster's network that a design sets. */
static halley_status check_edits(const halley_study *s, halley_error *err)
{
    uint32_t n = 1; /* cluster.network as a whole */
    for (uint32_t i = 0; i < s->n_fixed; i++)
        n += s->fixed[i].ref.param->kind == PARAM_EDIT;
    for (uint32_t i = 0; i < s->n_axes; i++)
        for (uint32_t r = 0; r < s->axes[i].n_refs; r++)
            n += s->axes[i].refs[r].param->kind == PARAM_EDIT;
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

/* The bit of a plan's key that a path names: "plan.tp"; 0 for other paths. */
static uint64_t find_key_bit(const explore_ref *ref)
{
    static const char prefix[] = "plan.";
    if (strncmp(ref->param->path, prefix, sizeof prefix - 1) != 0)
        return 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        if (strcmp(halley_plan_key_name((halley_plan_key)i),
                   ref->param->path + sizeof prefix - 1) == 0)
            return UINT64_C(1) << i;
    return 0;
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
    TRY(read_plan(s, &best, t.plan, err));
    set_all(&s->base, s->fixed, s->n_fixed, true);
    set_all(&s->base, s->fixed, s->n_fixed, false);
    TRY(read_vary(s, t.vary, err));
    default_fill(s);
    if (best)
        TRY(read_best(s, best, err));
    TRY(explore_axes_finish(s, err));
    list_given(s);
    TRY(check_tiers(s, err));
    TRY(read_where(s, t.where, err));
    TRY(read_objective(s, t.objective, err));
    TRY(read_search(s, t.search, err));
    if (t.baseline) {
        s->has_baseline = true;
        TRY(read_design(s->baseline, &s->n_baseline, s, t.baseline, err));
        TRY(words_of(&s->baseline_text, s, t.baseline, err));
    }
    TRY(check_edits(s, err));
    return read_questions(s, t.breaks, err);
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
