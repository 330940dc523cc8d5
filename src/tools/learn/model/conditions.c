/*
 * Conditions of a set. They come from PREFIX.conditions.json next to the set, or else
 * from the metadata of its first trace. The number of ranks is always taken from the set
 * itself. Sets without any conditions are called "bare": learn_derive.c derives theirs
 * from the traces. A number is a feature of laws by its logarithm. A text is an
 * indicator feature (0 or 1) per value.
 */
#include "learn/model/conditions.h"

#include "base/file/file.h"
#include "base/json.h"
#include "base/limit.h"
#include "base/number/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

condition *conditions_find(conditions *c, const char *name)
{
    assert(name != NULL);
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->at[i].name, name) == 0)
            return &c->at[i];
    return NULL;
}

void conditions_set(conditions *c, const char *name, const char *text, double number)
{
    assert(name[0] != '\0');
    condition *at = conditions_find(c, name);
    if (strlen(name) >= CONDITION_TEXT || (text && strlen(text) >= CONDITION_TEXT) ||
        *name == '\0' || (text && *text == '\0') || (!text && !(number >= 0)) ||
        (!at && c->n == MODEL_CONDITIONS))
        return;
    if (!at)
        at = &c->at[c->n++];
    *at = (condition){.number = text ? 0 : number};
    snprintf(at->name, sizeof at->name, "%s", name);
    snprintf(at->text, sizeof at->text, "%s", text ? text : "");
    assert(c->n <= MODEL_CONDITIONS);
}

static void set_token(conditions *c, const char *name, json_token token, str value)
{
    char text[CONDITION_TEXT];
    double number;
    if (value.n >= sizeof text)
        return;
    memcpy(text, value.at, value.n);
    text[value.n] = '\0';
    if (token == JSON_STRING)
        conditions_set(c, name, text, 0);
    else if (token == JSON_NUMBER && number_read(value, &number))
        conditions_set(c, name, NULL, number);
    else if (token == JSON_TRUE || token == JSON_FALSE)
        conditions_set(c, name, token == JSON_TRUE ? "yes" : "no", 0);
}

static halley_status parse_conditions(conditions *c, json_reader *r, halley_error *err)
{
    if (json_next(r) != JSON_OBJECT)
        return json_error(r, err, "conditions must be one object of numbers and texts");
    for (;;) {
        char name[CONDITION_TEXT];
        json_token token = json_next(r);
        if (token == JSON_OBJECT_END)
            return HALLEY_OK;
        if (token != JSON_KEY)
            return json_error(r, err, NULL);
        snprintf(name, sizeof name, "%.*s", STR_ARG(r->text));
        token = json_next(r);
        if (token == JSON_ERROR)
            return json_error(r, err, NULL);
        set_token(c, name, token, r->text);
        if (!json_skip(r, token))
            return json_error(r, err, NULL);
    }
}

halley_status conditions_load(conditions *c, const char *path, halley_error *err)
{
    assert(path != NULL);
    file_input in;
    json_reader r;
    if (!file_exists(path))
        return HALLEY_OK;
    TRY(file_input_open_most(&in, path, LIMIT_CONFIGURATION, err));
    json_open(&r, (str){(const char *)in.at, in.n});
    const halley_status status = parse_conditions(c, &r, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    file_input_close(&in);
    return status;
}

void conditions_metadata(conditions *c, const halley_trace *trace)
{
    for (uint32_t i = 0; i < halley_trace_metadata_count(trace); i++) {
        const halley_attr a = halley_trace_metadata(trace, i);
        char name[CONDITION_TEXT], text[CONDITION_TEXT];
        double number;
        if (a.name.n >= sizeof name)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)a.name.n, a.name.at);
        if (a.kind == HALLEY_ATTR_STRING && a.bytes.n < sizeof text) {
            snprintf(text, sizeof text, "%.*s", (int)a.bytes.n, a.bytes.at);
            conditions_set(c, name, text, 0);
        } else if (halley_attr_to_double(&a, &number))
            conditions_set(c, name, NULL, number);
    }
}

uint32_t conditions_index(const synth_model *m, const char *name)
{
    assert(name != NULL);
    for (uint32_t i = 0; i < m->conditions.n; i++)
        if (str_eq(synth_text(m, m->conditions.at[i].name), str_from(name)))
            return i;
    return MODEL_NONE;
}

/* The distance of two numbers is the logarithm of their ratio; 0.5 is added so that 0 is
 * allowed. */
static double measure_distance(double a, double b)
{
    return fabs(log((a + 0.5) / (b + 0.5)));
}

uint32_t conditions_value(const synth_model *m, const model_condition *of,
                          const condition *c)
{
    assert(of->n_values <= MODEL_ABSENT);
    uint32_t best = MODEL_NONE;
    for (uint32_t i = 0; i < of->n_values; i++) {
        const model_value *v = &of->values[i];
        if (of->is_text) {
            if (str_eq(synth_text(m, v->text), str_from(c->text)))
                return i;
        } else if (best == MODEL_NONE ||
                   measure_distance(v->number, c->number) <
                       measure_distance(of->values[best].number, c->number))
            best = i;
    }
    return best;
}

uint32_t conditions_kind(const model_condition *of, uint32_t value)
{
    assert(value < MODEL_VALUES);
    if (of->is_text || value == MODEL_ABSENT)
        return value;
    return of->values[value].number > 1.5 ? 2 : of->values[value].number > 0.5;
}

static uint32_t take_feature(synth_model *m)
{
    model_head *head = &m->head.at[0];
    return head->n_features < MODEL_FEATURES ? head->n_features++ : MODEL_NONE;
}

static halley_status add_condition(synth_model *m, const condition *c, halley_error *err)
{
    assert(m->conditions.n < MODEL_CONDITIONS);
    model_condition new = {.is_text = c->text[0] != '\0', .feature = MODEL_NONE};
    new.name = synth_text_add(m, str_from(c->name));
    if (new.name == MODEL_NONE)
        return error_nomem(err);
    new.low = INFINITY;
    new.high = -INFINITY;
    if (!new.is_text)
        new.feature = take_feature(m);
    return array_push(&m->conditions, new) ? HALLEY_OK : error_nomem(err);
}

/* The index of the value. A new value is added while there is room. */
static halley_status learn_value(uint32_t *out, synth_model *m, uint32_t condition_id,
                                 const condition *c, halley_error *err)
{
    assert(condition_id < m->conditions.n);
    model_condition *of = &m->conditions.at[condition_id];
    *out = conditions_value(m, of, c);
    const bool exact =
        *out != MODEL_NONE && (of->is_text || of->values[*out].number == c->number);
    if (!exact && of->n_values < MODEL_ABSENT) {
        model_value v = {.number = c->number, .text = MODEL_NONE, .feature = MODEL_NONE};
        if (of->is_text) {
            v.text = synth_text_add(m, str_from(c->text));
            if (v.text == MODEL_NONE)
                return error_nomem(err);
            /* The first value of a text has no feature: the constant of the law covers
             * it. */
            if (of->n_values > 0 && strcmp(c->name, "family") != 0)
                v.feature = take_feature(m);
        }
        *out = of->n_values++;
        of->values[*out] = v;
    }
    if (*out == MODEL_NONE)
        return HALLEY_OK;
    model_value *v = &of->values[*out];
    v->n_sets++;
    v->n_exact += of->is_text || v->number == c->number;
    return HALLEY_OK;
}

halley_status conditions_learn(uint32_t values[MODEL_CONDITIONS], synth_model *m,
                               const conditions *c, halley_error *err)
{
    assert(c->n <= MODEL_CONDITIONS);
    for (uint32_t i = 0; i < MODEL_CONDITIONS; i++)
        values[i] = MODEL_NONE;
    for (uint32_t i = 0; i < c->n; i++) {
        uint32_t id = conditions_index(m, c->at[i].name);
        if (id == MODEL_NONE && m->conditions.n == MODEL_CONDITIONS)
            continue;
        if (id == MODEL_NONE) {
            TRY(add_condition(m, &c->at[i], err));
            id = (uint32_t)m->conditions.n - 1;
        }
        model_condition *of = &m->conditions.at[id];
        if (of->is_text != (c->at[i].text[0] != '\0'))
            continue;
        TRY(learn_value(&values[id], m, id, &c->at[i], err));
        of = &m->conditions.at[id];
        of->n_sets++;
        of->low = fmin(of->low, c->at[i].number);
        of->high = fmax(of->high, c->at[i].number);
        of->broken |= floor(c->at[i].number) != c->at[i].number;
    }
    return HALLEY_OK;
}

static double feature_of(double number)
{
    return log(number < 0.5 ? 0.5 : number);
}

void conditions_point(law_point *p, const synth_model *m, const conditions *c,
                      uint32_t stage, uint32_t n_stages)
{
    assert(stage < n_stages);
    *p = (law_point){0};
    law_point_add(p, FEATURE_ONE, 1);
    law_point_add(p, FEATURE_FIRST, n_stages > 1 && stage == 0);
    law_point_add(p, FEATURE_LAST, n_stages > 1 && stage + 1 == n_stages);
    for (uint32_t i = 0; i < c->n; i++) {
        const uint32_t id = conditions_index(m, c->at[i].name);
        if (id == MODEL_NONE)
            continue;
        const model_condition *of = &m->conditions.at[id];
        if (!of->is_text) {
            if (of->feature != MODEL_NONE)
                law_point_add(p, of->feature, feature_of(c->at[i].number));
            continue;
        }
        const uint32_t value = conditions_value(m, of, &c->at[i]);
        if (value != MODEL_NONE && of->values[value].feature != MODEL_NONE)
            law_point_add(p, of->values[value].feature, 1);
    }
}

void conditions_set_point(law_point *p, const synth_model *m, const conditions *c)
{
    const uint32_t id = conditions_index(m, "ranks");
    conditions_point(p, m, c, 0, 1);
    for (uint32_t i = 0; id != MODEL_NONE && i < p->n; i++)
        if (p->feature[i] == m->conditions.at[id].feature) {
            p->feature[i] = p->feature[p->n - 1];
            p->value[i] = p->value[--p->n];
        }
}

uint64_t conditions_family(const conditions *c)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->at[i].name, "family") == 0)
            return hash_bytes(c->at[i].text, strlen(c->at[i].text), 0);
    return 0;
}
