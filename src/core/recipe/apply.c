/*
 * What a plan takes from a recipe: the layout if the user states none of it, and the
 * settings of the software. It takes recomputation where the recipe's layout is used or
 * the plan does not fit without. Every step is kept only if the plan is still possible.
 */
#include "halley/estimate.h"
#include "recipe/data.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define BIT(key) (1ull << HALLEY_KEY_##key)

/* Keys by class; the others say what is trained, or are never in a recipe. */
static const uint64_t keys_of[HALLEY_N_KEY_CLASSES] = {
    [HALLEY_KEY_LAYOUT] = BIT(TP) | BIT(PP) | BIT(CP) | BIT(EP) | BIT(ETP) | BIT(DP) |
                          BIT(VIRTUAL) | BIT(SCHEDULE) | BIT(MICRO_BATCH) | BIT(FSDP) |
                          BIT(STAGE_LAYERS) | BIT(EMBEDDINGS_AS_LAYERS),
    [HALLEY_KEY_MEMORY] = BIT(RECOMPUTE) | BIT(RECOMPUTE_EVERY) | BIT(RECOMPUTE_LAYERS) |
                          BIT(RECOMPUTE_MODULES) | BIT(RECOMPUTE_KEEP) |
                          BIT(RECOMPUTE_OFFLOAD) | BIT(OFFLOAD) | BIT(OFFLOAD_LAYERS) |
                          BIT(OFFLOAD_TIER),
    [HALLEY_KEY_WORKLOAD] =
        BIT(GLOBAL_BATCH) | BIT(SEQ) | BIT(DTYPE) | BIT(FP8_RECIPE) | BIT(LORA),
};

halley_key_class halley_plan_key_class(halley_plan_key key)
{
    for (int i = 0; i < HALLEY_N_KEY_CLASSES; i++)
        if (keys_of[i] >> key & 1)
            return (halley_key_class)i;
    return HALLEY_KEY_SOFTWARE;
}

const char *halley_key_class_name(halley_key_class kind)
{
    static const char *const names[HALLEY_N_KEY_CLASSES] = {
        [HALLEY_KEY_SOFTWARE] = "software",
        [HALLEY_KEY_MEMORY] = "memory",
        [HALLEY_KEY_LAYOUT] = "layout",
        [HALLEY_KEY_WORKLOAD] = "workload"};
    assert((int)kind < HALLEY_N_KEY_CLASSES);
    return names[kind];
}

/* What is needed to try a plan. */
typedef struct trial {
    const halley_model *model;
    const halley_cluster *cluster;
    const halley_stack *stack;
    halley_recipe *recipe;
    uint32_t n_npus;
    uint64_t stated; /* keys that the user gave */
} trial;

/* Check a copy of the plan with dp filled in; the checked plan goes to *out. */
static bool is_possible(halley_plan *out, const halley_plan *plan, const trial *t)
{
    halley_error why = {0};
    const uint32_t n = t->n_npus;
    halley_plan p = *plan;
    const uint64_t others =
        (uint64_t)(p.tp ? p.tp : 1) * (p.pp ? p.pp : 1) * (p.cp ? p.cp : 1);
    if (p.dp == 0)
        p.dp = n % others == 0 ? (uint32_t)(n / others) : 0;
    if (p.dp == 0 || halley_plan_check(&p, t->model, n, &why) != HALLEY_OK ||
        halley_plan_check_npu(&p, halley_cluster_npu(t->cluster, 0), &why) != HALLEY_OK)
        return false;
    *out = p;
    return true;
}

static bool fits(const halley_plan *plan, const trial *t)
{
    halley_plan p;
    halley_estimate e;
    if (!is_possible(&p, plan, t))
        return false;
    halley_estimate_run(&e, t->model, &p, t->cluster, t->stack);
    return e.fits;
}

/* "4*15,1" as "4,4,...,4,1". */
static bool expand_runs(char *to, size_t size, const char *text)
{
    str rest = str_from(text), part;
    size_t n = 0;
    to[0] = '\0';
    while (str_next(&rest, ',', &part)) {
        unsigned layers, times = 1;
        char one[32];
        snprintf(one, sizeof one, "%.*s", (int)(part.n < 31 ? part.n : 31), part.at);
        if (sscanf(one, "%u*%u", &layers, &times) < 1)
            return false;
        for (unsigned i = 0; i < times; i++) {
            const int add = snprintf(to + n, size - n, "%s%u", n > 0 ? "," : "", layers);
            if (add < 0 || (size_t)add >= size - n)
                return false;
            n += (size_t)add;
        }
    }
    return true;
}

/* Set one key if the recipe states it; false if the plan refuses the value. */
static bool set_key(halley_plan *plan, const trial *t, int key)
{
    halley_error why = {0};
    char text[1024];
    const char *value = t->recipe->value[key];
    if (key == (int)HALLEY_KEY_STAGE_LAYERS) {
        if (!expand_runs(text, sizeof text, value))
            return false;
        value = text;
    }
    return halley_plan_set(plan, (halley_plan_key)key, value, &why) == HALLEY_OK;
}

/* Set the stated keys of a class, without those in `except`; *taken gets their bits. */
static bool set_class(halley_plan *plan, uint64_t *taken, const trial *t,
                      halley_key_class class, uint64_t except)
{
    *taken = 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const uint64_t bit = 1ull << i;
        if (!(keys_of[class] & ~except & bit) || t->recipe->value[i][0] == '\0')
            continue;
        if (!set_key(plan, t, i))
            return false;
        *taken |= bit;
    }
    return true;
}

static bool try_layout(halley_plan *plan, const trial *t, uint64_t except)
{
    halley_plan with = *plan, checked;
    uint64_t taken;
    if (!set_class(&with, &taken, t, HALLEY_KEY_LAYOUT, except) ||
        !is_possible(&checked, &with, t))
        return false;
    *plan = with;
    t->recipe->taken |= taken;
    t->recipe->has_layout = true;
    return true;
}

/* The largest divisor of dp * cp * tp that is below the recipe's ep. */
static bool lower_ep(const halley_plan *plan, const trial *t)
{
    halley_plan p = *plan;
    uint64_t taken;
    char *const ep = t->recipe->value[HALLEY_KEY_EP];
    if (!set_class(&p, &taken, t, HALLEY_KEY_LAYOUT, BIT(STAGE_LAYERS)) || p.ep < 2)
        return false;
    const uint32_t pp = p.pp > 0 ? p.pp : 1;
    const uint32_t ranks = t->n_npus / pp;
    uint32_t lower = p.ep - 1;
    while (lower > 1 && (ranks % lower != 0 || t->model->experts % lower != 0))
        lower--;
    snprintf(ep, HALLEY_RECIPE_VALUE, "%u", lower > 0 ? lower : 1);
    t->recipe->lowered_ep = true;
    return true;
}

/* The layout as it is, without its list of stages, or with a lower ep. */
static void take_layout(halley_plan *plan, const trial *t)
{
    char ep[HALLEY_RECIPE_VALUE];
    memcpy(ep, t->recipe->value[HALLEY_KEY_EP], sizeof ep);
    if (t->recipe->similar || (t->stated & keys_of[HALLEY_KEY_LAYOUT]) != 0 ||
        try_layout(plan, t, 0) || try_layout(plan, t, BIT(STAGE_LAYERS)))
        return;
    if (lower_ep(plan, t) &&
        (try_layout(plan, t, 0) || try_layout(plan, t, BIT(STAGE_LAYERS))))
        return;
    memcpy(t->recipe->value[HALLEY_KEY_EP], ep, sizeof ep);
    t->recipe->lowered_ep = false;
}

/* True if a plan has the degrees of the recipe, stated by the user or taken. */
static bool has_degrees(const halley_plan *plan, const trial *t)
{
    static const halley_plan_key degrees[] = {
        HALLEY_KEY_TP,      HALLEY_KEY_PP,          HALLEY_KEY_CP,  HALLEY_KEY_EP,
        HALLEY_KEY_VIRTUAL, HALLEY_KEY_MICRO_BATCH, HALLEY_KEY_FSDP};
    halley_plan checked, other;
    if (t->recipe->similar || !is_possible(&checked, plan, t))
        return false;
    other = *plan;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        if (t->recipe->value[degrees[i]][0] != '\0' &&
            !set_key(&other, t, (int)degrees[i]))
            return false;
    halley_plan same;
    return is_possible(&same, &other, t) && same.tp == checked.tp &&
           same.pp == checked.pp && same.cp == checked.cp && same.ep == checked.ep &&
           same.virtual_stages == checked.virtual_stages &&
           same.micro_batch == checked.micro_batch && same.fsdp == checked.fsdp;
}

static void take_memory(halley_plan *plan, const trial *t)
{
    halley_plan with = *plan, checked;
    uint64_t taken;
    const bool is_own = t->recipe->has_layout || has_degrees(plan, t);
    if (t->recipe->similar || (t->stated & keys_of[HALLEY_KEY_MEMORY]) != 0 ||
        (!is_own && fits(plan, t)) ||
        !set_class(&with, &taken, t, HALLEY_KEY_MEMORY, 0) || taken == 0 ||
        !is_possible(&checked, &with, t) || (!is_own && !fits(&with, t)))
        return;
    *plan = with;
    t->recipe->taken |= taken;
    t->recipe->needed_memory = !is_own;
}

/* Keys of experts mean nothing without expert parallelism, ZeRO nothing with fsdp. */
static bool applies(const halley_plan *plan, int key)
{
    const uint64_t of_experts =
        BIT(DISPATCHER) | BIT(FP8_DISPATCH) | BIT(OVERLAP_EP) | BIT(CAPACITY);
    if (of_experts >> key & 1)
        return plan->ep > 1;
    return key != (int)HALLEY_KEY_ZERO || plan->fsdp == 0;
}

bool recipe_may_overlap(const halley_plan *plan)
{
    const bool whole = plan->recompute == HALLEY_RECOMPUTE_FULL ||
                       (plan->recompute_modules & HALLEY_MODULE_MOE) != 0;
    const bool plain =
        plan->schedule == HALLEY_SCHEDULE_1F1B && plan->virtual_stages <= 1;
    return plan->ep > 1 && !whole && (plan->pp <= 1 || !plain);
}

static void take_software(halley_plan *plan, const trial *t)
{
    /* Chosen for the size of a model, so not for another one. */
    const uint64_t of_size = BIT(OPTIMIZER_MEMORY) | BIT(GRADIENT_MEMORY);
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        halley_plan with = *plan, checked;
        const uint64_t bit = 1ull << i;
        if (((t->stated | (t->recipe->similar ? of_size : 0)) & bit) != 0 ||
            t->recipe->value[i][0] == '\0' ||
            halley_plan_key_class((halley_plan_key)i) != HALLEY_KEY_SOFTWARE ||
            !is_possible(&checked, plan, t) || !applies(&checked, i) ||
            (i == (int)HALLEY_KEY_OVERLAP_EP && !recipe_may_overlap(&checked)) ||
            !set_key(&with, t, i) || !is_possible(&checked, &with, t))
            continue;
        *plan = with;
        t->recipe->taken |= bit;
    }
}

halley_status halley_recipe_apply(halley_plan *plan, halley_recipe *recipe,
                                  const halley_model *model,
                                  const halley_cluster *cluster, uint32_t n_npus,
                                  const halley_stack *stack, halley_error *err)
{
    const trial t = {model, cluster, stack, recipe, n_npus, plan->given};
    (void)err;
    if (recipe->name[0] == '\0' || n_npus == 0)
        return HALLEY_OK;
    take_layout(plan, &t);
    take_memory(plan, &t);
    take_software(plan, &t);
    return HALLEY_OK;
}

void halley_recipe_layout(char *to, size_t size, const halley_recipe *recipe)
{
    size_t n = 0;
    assert(size > 0);
    to[0] = '\0';
    for (int i = 0; i < HALLEY_N_PLAN_KEYS && n < size; i++) {
        const char *value = recipe->value[i];
        if (halley_plan_key_class((halley_plan_key)i) != HALLEY_KEY_LAYOUT ||
            value[0] == '\0' || i == (int)HALLEY_KEY_STAGE_LAYERS ||
            (strcmp(value, "1") == 0 && i != (int)HALLEY_KEY_MICRO_BATCH))
            continue;
        const int add = snprintf(to + n, size - n, "%s%s %s", n > 0 ? ", " : "",
                                 halley_plan_key_name((halley_plan_key)i), value);
        n += add > 0 ? (size_t)add : 0;
    }
}
