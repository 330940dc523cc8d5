/* explore/study/study_plan.c - `plan:`, fixed or searched for each design. */
#include "explore/study/study.h"

#include <stdio.h>
#include <string.h>

/* The plans that `plan: best` tries by default. */
static const char *const best_axes[][2] = {
    {"plan.tp", "powers-of-two"},
    {"plan.pp", "divisors"},
    {"plan.virtual", "[1, 2, 4]"},
    {"plan.ep", "powers-of-two"},
    {"plan.micro-batch", "[1, 2, 4, 8, 16]"},
    {"plan.recompute", "[none, selective, full]"},
};

bool explore_plan_gives(const halley_study *s, const char *path)
{
    for (uint32_t i = 0; i < s->n_fixed; i++) {
        if (strcmp(s->fixed[i].ref.param.path, path) == 0)
            return true;
    }
    for (uint32_t i = 0; i < s->n_axes; i++) {
        for (uint32_t r = 0; r < s->axes[i].n_refs; r++) {
            if (strcmp(s->axes[i].refs[r].param.path, path) == 0)
                return true;
        }
    }
    return s->has_fill && strcmp(s->fill.param.path, path) == 0;
}

static bool can_have_experts(const halley_study *s)
{
    bool any = s->base.model.experts > 0;
    for (uint32_t i = 0; i < s->loader.n_models; i++)
        any = any || s->loader.models[i]->experts > 0;
    return any;
}

static halley_status read_default_axes(halley_study *s, const conf_node *at,
                                       halley_error *err)
{
    for (size_t i = 0; i < sizeof best_axes / sizeof *best_axes; i++) {
        const char *path = best_axes[i][0], *text = best_axes[i][1];
        if (explore_plan_gives(s, path) ||
            (strcmp(path, "plan.ep") == 0 && !can_have_experts(s)))
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

halley_status explore_plan_read(halley_study *s, const conf_node **best,
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

halley_status explore_best_read(halley_study *s, const conf_node *best, halley_error *err)
{
    for (uint32_t i = 0; best->kind == CONF_MAP && i < best->n; i++) {
        char path[160];
        snprintf(path, sizeof path, "plan.%.*s", STR_ARG(best->keys[i]));
        TRY(explore_axis_read(s, str_from(path), best->items[i], true, err));
    }
    return read_default_axes(s, best, err);
}
