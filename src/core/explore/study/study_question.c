/*
 * explore/study/study_question.c - `break-even:`, the value of a parameter from which one
 * design beats another, and the designs that such a question names.
 */
#include "explore/study/study.h"

#include <assert.h>
#include <stdio.h>

halley_status explore_design_read(explore_fixed *out, uint32_t *n, halley_study *s,
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
const conf_field explore_question_fields[] = {
    QUESTION("parameter", CONF_TYPE_TEXT, parameter, "parameter to vary",
             "cluster.network.bandwidth"),
    QUESTION("from", CONF_TYPE_NODE, from, "smallest value", "25 GB/s"),
    QUESTION("to", CONF_TYPE_NODE, to, "largest value", "100 GB/s"),
    QUESTION("of", CONF_TYPE_NODE, of, "the design that should win", "{plan.tp: 8}"),
    QUESTION("beats", CONF_TYPE_NODE, beats, "the design it is compared with",
             "{plan.tp: 4}"),
};
const size_t explore_n_question_fields =
    sizeof explore_question_fields / sizeof *explore_question_fields;

halley_status explore_design_print(const char **out, halley_study *s,
                                   const conf_node *map, halley_error *err)
{
    strbuf words = {0};
    for (uint32_t i = 0; i < map->n; i++)
        strbuf_printf(&words, "%s%.*s %.*s", i ? ", " : "", STR_ARG(map->keys[i]),
                      STR_ARG(map->items[i]->text));
    *out = words.failed ? NULL : arena_copy(&s->memory, strbuf_str(&words));
    strbuf_fini(&words);
    return *out ? HALLEY_OK : error_nomem(err);
}

static halley_status read_side(const explore_fixed **out, uint32_t *n, const char **text,
                               halley_study *s, const conf_node *map, halley_error *err)
{
    assert(text != NULL);
    explore_fixed *list = arena_array(&s->memory, EXPLORE_MAX_FIXED, sizeof *list);
    if (!list)
        return error_nomem(err);
    *n = 0;
    TRY(explore_design_read(list, n, s, map, err));
    *out = list;
    return explore_design_print(text, s, map, err);
}

halley_status explore_questions_read(halley_study *s, const conf_node *list,
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
        TRY(conf_read(&t, &s->file, list->items[i], explore_question_fields,
                      explore_n_question_fields, true, NULL, err));
        TRY(explore_ref_read(&q->ref, s, t.parameter, list->items[i], err));
        q->path = arena_copy(&s->memory, t.parameter);
        if (q->ref.param.kind == PARAM_EDIT)
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
        TRY(read_side(&q->of, &q->n_of, &q->of_text, s, t.of, err));
        TRY(read_side(&q->beats, &q->n_beats, &q->beats_text, s, t.beats, err));
        s->n_questions++;
    }
    assert(s->n_questions <= EXPLORE_MAX_QUESTIONS);
    return HALLEY_OK;
}
