/*
 * Values that do not vary, in `model:`, `cluster:`, `plan:`, `stack:`, `set:` and
 * `baseline:`. Nested maps are the same as dotted paths.
 */
#include "explore/study/study.h"
#include "halley/plan_keys.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 160, MOST_NESTED = 16 };

/* Other spellings of a path, as in plan files. */
static const char *const aliases[][2] = {
    {"plan.pp.degree", "plan.pp"},
    {"plan.pp.schedule", "plan.schedule"},
    {"plan.pp.virtual", "plan.virtual"},
    {"npus", "cluster.npus"},
    {"cluster.nodes.up.link", "cluster.nodes.up"},
    {"cluster.network.fabric", "cluster.network"},
};

/* Other training programs' words for keys of plans: "plan.tensor" means tp. */
static const char *find_by_word(str path)
{
    char word[64];
    halley_plan_key key;
    if (!str_starts(path, STR("plan.")))
        return NULL;
    snprintf(word, sizeof word, "%.*s", (int)path.n - 5, path.at + 5);
    return halley_plan_key_find(&key, NULL, word) ? halley_plan_key_name(key) : NULL;
}

halley_status explore_ref_read(explore_ref *out, const halley_study *s, str path,
                               const conf_node *node, halley_error *err)
{
    char nearest[EXPLORE_PATH] = "";
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++) {
        if (str_eq(path, str_from(aliases[i][0])))
            path = str_from(aliases[i][1]);
    }
    if (explore_ref_find(out, path, nearest)) {
        assert(out->param.path[0] != '\0');
        return HALLEY_OK;
    }
    conf_node at = *node;
    if (at.key_line) {
        at.line = at.key_line;
        at.column = at.key_column;
    }
    const char *meant = find_by_word(path);
    const char *near = meant != NULL ? meant : nearest[0] != '\0' ? nearest : NULL;
    return conf_error(&s->file, &at, err, HALLEY_EINVAL, "no parameter \"%.*s\"%s%s%s%s",
                      STR_ARG(path), near ? ", did you mean \"" : "",
                      meant != NULL ? "plan." : "", near ? near : "",
                      near ? "\"?" : "; `halley explore --parameters` lists them");
}

static bool may_fill(const explore_param *p)
{
    static const char *const degrees[] = {"plan.dp", "plan.tp", "plan.pp", "plan.cp"};
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(p->path, degrees[i]) == 0)
            return true;
    }
    return false;
}

halley_status explore_special_read(bool *is, halley_study *s, const explore_ref *ref,
                                   const conf_node *node, halley_error *err)
{
    assert(ref->param.path[0] != '\0');
    *is = false;
    if (node->kind != CONF_SCALAR)
        return HALLEY_OK;
    if (str_eq(node->text, STR("fill"))) {
        if (!may_fill(&ref->param) || s->has_fill)
            return conf_error(&s->file, node, err, HALLEY_EINVAL,
                              "only one of plan.dp, plan.tp, plan.pp and plan.cp can "
                              "fill the NPUs");
        s->has_fill = *is = true;
        s->fill = *ref;
        return HALLEY_OK;
    }
    if (!str_starts(node->text, STR("=")) || explore_param_whole(&ref->param))
        return HALLEY_OK;
    if (s->n_derived == EXPLORE_MAX_DERIVED)
        return conf_error(&s->file, node, err, HALLEY_ELIMIT,
                          "more than %d parameters follow from others",
                          EXPLORE_MAX_DERIVED);
    explore_derived *d = &s->derived[s->n_derived++];
    *is = true;
    d->ref = *ref;
    const str text = str_trim((str){node->text.at + 1, node->text.n - 1});
    const halley_status status = explore_expr_compile(&d->expr, &s->memory, text, err);
    if (status == HALLEY_EINVAL) {
        error_at_file(err, s->file.path);
        error_at_line(err, node->line, node->column);
    }
    if (status == HALLEY_OK && d->expr.uses_results)
        return conf_error(&s->file, node, err, HALLEY_EINVAL,
                          "%s cannot follow from results", ref->param.path);
    return status;
}

static halley_status add_value(explore_fixed *out, uint32_t *n, halley_study *s,
                               const char *path, const conf_node *node, halley_error *err)
{
    assert(*n <= EXPLORE_MAX_FIXED);
    explore_ref ref;
    bool special;
    TRY(explore_ref_read(&ref, s, str_from(path), node, err));
    TRY(explore_special_read(&special, s, &ref, node, err));
    if (special)
        return HALLEY_OK;
    if (*n == EXPLORE_MAX_FIXED)
        return conf_error(&s->file, node, err, HALLEY_ELIMIT, "more than %d values",
                          EXPLORE_MAX_FIXED);
    out[*n].ref = ref;
    TRY(explore_value_read(&out[*n].value, &s->loader, &ref, node, err));
    (*n)++;
    return HALLEY_OK;
}

typedef struct frame {
    const conf_node *map;
    uint32_t i;
    char path[PATH_SIZE];
} frame;

static halley_status extend_path(char to[PATH_SIZE], const halley_study *s,
                                 const char *prefix, str key, const conf_node *node,
                                 halley_error *err)
{
    assert(prefix != NULL);
    const bool whole = str_eq(key, STR("preset")); /* of the thing itself */
    const int n = whole ? snprintf(to, PATH_SIZE, "%s", prefix)
                        : snprintf(to, PATH_SIZE, "%s%s%.*s", prefix, *prefix ? "." : "",
                                   STR_ARG(key));
    if (n < 0 || n >= PATH_SIZE)
        return conf_error(&s->file, node, err, HALLEY_ELIMIT, "the path is too long");
    return HALLEY_OK;
}

halley_status explore_fixed_read(explore_fixed *out, uint32_t *n, halley_study *s,
                                 const char *prefix, const conf_node *map,
                                 halley_error *err)
{
    assert(*n <= EXPLORE_MAX_FIXED);
    if (map->kind == CONF_SCALAR)
        return add_value(out, n, s, prefix, map, err);
    frame stack[MOST_NESTED];
    uint32_t depth = 1;
    stack[0].map = map;
    stack[0].i = 0;
    snprintf(stack[0].path, PATH_SIZE, "%s", prefix);
    while (depth) {
        frame *f = &stack[depth - 1];
        if (f->map->kind != CONF_MAP)
            return conf_error(&s->file, f->map, err, HALLEY_EFORMAT,
                              "%s needs names and values", f->path);
        if (f->i == f->map->n) {
            depth--;
            continue;
        }
        const conf_node *node = f->map->items[f->i];
        const str key = f->map->keys[f->i++];
        char path[PATH_SIZE];
        TRY(extend_path(path, s, f->path, key, node, err));
        if (node->kind != CONF_MAP) {
            TRY(add_value(out, n, s, path, node, err));
            continue;
        }
        if (depth == MOST_NESTED)
            return conf_error(&s->file, node, err, HALLEY_ELIMIT, "nested too deeply");
        stack[depth].map = node;
        stack[depth].i = 0;
        memcpy(stack[depth].path, path, sizeof path);
        depth++;
    }
    return HALLEY_OK;
}
