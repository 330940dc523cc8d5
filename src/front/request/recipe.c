#include "request/recipe.h"

#include "base/error.h"
#include "halley/estimate.h"
#include "halley/launch.h"
#include "request/document.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

halley_status design_leaves_open(bool *open, const design_options *o, halley_error *err)
{
    const char *const files[] = {o->model, o->plan};
    *open = true;
    for (size_t i = 0; *open && i < sizeof files / sizeof *files; i++) {
        bool is_launch = false;
        if (files[i] != NULL && !request_is_document(files[i]))
            TRY(halley_launch_detect(&is_launch, files[i], err));
        *open = !is_launch;
    }
    return HALLEY_OK;
}

/* Find out whether a recipe may be used. */
static halley_status decide_recipe(bool *use, request_call *call, const design_options *o,
                                   halley_error *err)
{
    const bool none = o->recipe != NULL && strcasecmp(o->recipe, "none") == 0;
    const bool automatic = o->recipe == NULL || strcasecmp(o->recipe, "auto") == 0;
    if (o->no_recipe && o->recipe != NULL && !none)
        return request_usage(call, err, "--recipe %s and --no-recipe exclude each other",
                             o->recipe);
    *use = !o->no_recipe && !none;
    return *use && automatic ? design_leaves_open(use, o, err) : HALLEY_OK;
}

/* A named recipe may be of any framework; those of the stack's come first. */
static halley_status find_in(halley_recipe *out, const char *framework,
                             const halley_plan *plan, const halley_model *model,
                             const halley_cluster *cluster,
                             const halley_recipe_opts *opts, halley_error *err)
{
    halley_recipes *set;
    TRY(halley_recipes_load(&set, framework, err));
    const halley_status status =
        halley_recipes_find(out, set, model, plan, halley_cluster_npu(cluster, 0)->name,
                            halley_cluster_npus(cluster), opts, err);
    halley_recipes_free(set);
    return status;
}

/* Find the recipe that the options choose; without a name if there is none. */
static halley_status find_plan_recipe(halley_recipe *out, const halley_plan *plan,
                                      const halley_model *model,
                                      const halley_cluster *cluster,
                                      const halley_stack *stack, request_call *call,
                                      const design_options *o, halley_error *err)
{
    bool use = false;
    const bool automatic = o->recipe == NULL || strcasecmp(o->recipe, "auto") == 0;
    const halley_recipe_opts opts = {.name = automatic ? NULL : o->recipe,
                                     .release = o->release};
    *out = (halley_recipe){.size = sizeof *out};
    TRY(decide_recipe(&use, call, o, err));
    if (!use || (automatic && stack->framework[0] == '\0'))
        return HALLEY_OK;
    if (automatic)
        return find_in(out, stack->framework, plan, model, cluster, &opts, err);
    halley_error first;
    if (stack->framework[0] != '\0' &&
        find_in(out, stack->framework, plan, model, cluster, &opts, &first) == HALLEY_OK)
        return HALLEY_OK;
    return design_usage(call, find_in(out, NULL, plan, model, cluster, &opts, err), err);
}

static void print_taken(char *to, size_t size, const char *key, const char *value)
{
    if (strcmp(value, "yes") == 0)
        snprintf(to, size, "%s", key);
    else if (strcmp(value, "no") == 0)
        snprintf(to, size, "no %s", key);
    else
        snprintf(to, size, "%s %s", key, value);
}

/* Report the keys that a plan took from a recipe. */
static void assume_plan_recipe(const request_call *call, const halley_recipe *recipe)
{
    static const halley_key_class order[] = {HALLEY_KEY_LAYOUT, HALLEY_KEY_SOFTWARE,
                                             HALLEY_KEY_MEMORY};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++)
        for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
            request_assumption a = {.origin = "recipe"};
            if (!(recipe->taken >> i & 1) ||
                halley_plan_key_class((halley_plan_key)i) != order[k])
                continue;
            snprintf(a.key, sizeof a.key, "%s", halley_plan_key_name((halley_plan_key)i));
            snprintf(a.value, sizeof a.value, "%s", recipe->value[i]);
            snprintf(a.recipe, sizeof a.recipe, "%.47s %.140s", recipe->framework,
                     recipe->name);
            snprintf(a.why, sizeof a.why, "%s", recipe->why);
            print_taken(a.text, sizeof a.text, a.key, a.value);
            request_assume(call, &a);
        }
}

/* The layout of the recipe as a suggestion, with its own step time. */
static void suggest_layout(const request_call *call, const halley_plan *stated,
                           const halley_recipe *recipe, const halley_model *model,
                           const halley_cluster *cluster, const halley_stack *stack)
{
    char layout[256], time[32] = "";
    halley_recipe other = *recipe;
    halley_plan p = *stated;
    halley_plan empty;
    halley_estimate e;
    halley_error why = {0};
    halley_plan_default(&empty);
    halley_recipe_layout(layout, sizeof layout, recipe);
    if (recipe->has_layout || recipe->similar || layout[0] == '\0')
        return;
    empty.dtype = p.dtype;
    empty.recipe = p.recipe;
    empty.global_batch = p.global_batch;
    empty.seq = p.seq;
    other.taken = 0;
    if (halley_recipe_apply(&empty, &other, model, cluster, halley_cluster_npus(cluster),
                            stack, &why) == HALLEY_OK &&
        other.has_layout && design_complete(&empty, model, cluster, &why) == HALLEY_OK) {
        halley_estimate_run(&e, model, &empty, cluster, stack);
        units_format(time, sizeof time, e.step_s, UNITS_TIME);
    }
    request_note(call, "note: the recipe's layout: %s%s%s%s", layout,
                 time[0] != '\0' ? " (" : "; it does not divide this cluster or batch",
                 time, time[0] != '\0' ? ")" : "");
}

/* Batch and sequence are never taken; say where they differ. */
static void note_workload(const request_call *call, const halley_plan *plan,
                          const halley_recipe *recipe)
{
    const char *batch = recipe->value[HALLEY_KEY_GLOBAL_BATCH];
    const char *seq = recipe->value[HALLEY_KEY_SEQ];
    char own[16];
    if (recipe->similar)
        return;
    snprintf(own, sizeof own, "%u", plan->global_batch);
    if (plan->global_batch > 0 && batch[0] != '\0' && strcmp(own, batch) != 0)
        request_note(call, "note: the recipe is for global batch %s, not %s", batch, own);
    snprintf(own, sizeof own, "%u", plan->seq);
    if (plan->seq > 0 && seq[0] != '\0' && strcmp(own, seq) != 0)
        request_note(call, "note: the recipe is for sequences of %s, not %s", seq, own);
}

halley_status design_take_recipe(halley_plan *plan, halley_recipe *out,
                                 const halley_model *model, const halley_cluster *cluster,
                                 const halley_stack *stack, request_call *call,
                                 const design_options *o, halley_error *err)
{
    halley_recipe recipe;
    const halley_plan stated = *plan;
    TRY(find_plan_recipe(&recipe, plan, model, cluster, stack, call, o, err));
    TRY(halley_recipe_apply(plan, &recipe, model, cluster, halley_cluster_npus(cluster),
                            stack, err));
    if (recipe.name[0] != '\0') {
        assume_plan_recipe(call, &recipe);
        suggest_layout(call, &stated, &recipe, model, cluster, stack);
        note_workload(call, &stated, &recipe);
    }
    if (recipe.needed_memory)
        request_note(call, "note: without the recipe's recomputation it does not fit");
    if (out != NULL)
        *out = recipe;
    return HALLEY_OK;
}

static bool can_run(const halley_plan *plan, const void *framework)
{
    return halley_framework_lacks(framework, plan) == NULL;
}

halley_status design_limit_search(halley_search_opts *opts, halley_framework *f,
                                  const halley_stack *stack, halley_error *err)
{
    const uint64_t named =
        1ull << HALLEY_KEY_ZERO | 1ull << HALLEY_KEY_FSDP | 1ull << HALLEY_KEY_SCHEDULE;
    TRY(halley_framework_find(f, stack->framework, err));
    if (!f->known || (opts->fixed & named) != 0)
        return HALLEY_OK;
    opts->allows = can_run;
    opts->context = f;
    return HALLEY_OK;
}
