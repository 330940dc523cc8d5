/*
 * request/preset_values.c - the numbers of presets with their sources.
 *
 * A preset is a YAML file with a map `sources`. The source of the value a.b is the first
 * of these entries that exists:
 *
 *   - "a.b";
 *   - the name of the list entry that contains it ("host" for memory.host.capacity);
 *   - "b", unless b is also a top-level key of the file;
 *   - "a", then "a" without its parts after each '-' ("gemm" for gemm-fp8);
 *   - "all".
 */
#include "request/preset_values.h"

#include "base/conf/conf.h"
#include "base/number/number.h"
#include "halley/cluster.h"
#include "halley/model.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_KEY = 160 };

typedef struct value_writer {
    report_json *j;
    const conf_node *root, *sources;
} value_writer;

/* The position of a value in the file. */
typedef struct value_place {
    char key[MOST_KEY];
    str first, item, last; /* top-level key, name of a list entry, key of the value */
} value_place;

/* The value of an entry of `sources`; n = 0: there is none. */
static str find_source(const value_writer *w, str key)
{
    for (uint32_t i = 0; w->sources != NULL && i < w->sources->n; i++)
        if (str_eq(w->sources->keys[i], key) && w->sources->items[i]->kind == CONF_SCALAR)
            return w->sources->items[i]->text;
    return (str){0};
}

static bool is_top_key(const value_writer *w, str key)
{
    for (uint32_t i = 0; i < w->root->n; i++)
        if (str_eq(w->root->keys[i], key))
            return true;
    return false;
}

static str choose_source(const value_writer *w, const value_place *at)
{
    str source = find_source(w, str_from(at->key));
    if (source.n == 0 && at->item.n > 0)
        source = find_source(w, at->item);
    if (source.n == 0 && !is_top_key(w, at->last))
        source = find_source(w, at->last);
    for (str key = at->first; source.n == 0 && key.n > 0; key.n--)
        if (key.n == at->first.n || key.at[key.n] == '-')
            source = find_source(w, key);
    return source.n > 0 ? source : find_source(w, STR("all"));
}

/* The unit of results for a kind of quantity. */
static const char *name_unit(units_kind kind)
{
    static const char *const names[UNITS_N_KINDS] = {
        [UNITS_BYTES] = "B",      [UNITS_BANDWIDTH] = "B/s", [UNITS_FLOPS] = "FLOP/s",
        [UNITS_TIME] = "s",       [UNITS_POWER] = "W",       [UNITS_ENERGY] = "J",
        [UNITS_MONEY] = "USD",    [UNITS_PRICE] = "USD/J",   [UNITS_RENT] = "USD/s",
        [UNITS_FREQUENCY] = "Hz",
    };
    return names[kind];
}

/* Read a number, with the unit that its text has; false: it is a word. */
static bool read_number(double *out, const char **unit, const conf_node *node)
{
    *unit = NULL;
    if (node->quoted || node->text.n == 0)
        return false;
    if (units_parse(out, node->text, UNITS_SHARE, NULL) == HALLEY_OK)
        return true;
    for (int kind = UNITS_BYTES; kind < UNITS_SHARE; kind++)
        if (units_parse(out, node->text, (units_kind)kind, NULL) == HALLEY_OK) {
            *unit = name_unit((units_kind)kind);
            return true;
        }
    return false;
}

static void write_scalar(const value_writer *w, const value_place *at,
                         const conf_node *node)
{
    double value;
    const char *unit;
    const str source = choose_source(w, at);
    report_json_flat_object(w->j, NULL);
    report_json_text(w->j, "key", str_from(at->key));
    report_json_text(w->j, "words", node->text);
    if (read_number(&value, &unit, node))
        report_json_double(w->j, "value", value);
    else
        unit = NULL;
    if (unit != NULL)
        report_json_text(w->j, "unit", str_from(unit));
    if (source.n > 0)
        report_json_text(w->j, "source", source);
    report_json_end(w->j);
}

/* A position inside of `at`. */
static value_place enter_place(const value_place *at, str key, bool is_item)
{
    value_place in = *at; /* presets are part of halley: their keys fit */
    const size_t used = strlen(at->key) + (at->key[0] != '\0');
    const size_t room = sizeof in.key - 1 - used;
    const size_t n = key.n < room ? key.n : room;
    assert(used < sizeof in.key);
    if (used > 0)
        in.key[used - 1] = '.';
    memcpy(in.key + used, key.at, n);
    in.key[used + n] = '\0';
    in.last = key;
    if (is_item)
        in.item = key;
    if (at->key[0] == '\0')
        in.first = key;
    return in;
}

/* The recursion is as deep as the preset; the parser allows 64 levels. */
static void write_node(const value_writer *w, const value_place *at,
                       const conf_node *node)
{
    if (node->kind == CONF_SCALAR)
        write_scalar(w, at, node);
    for (uint32_t i = 0; node->kind == CONF_MAP && i < node->n; i++) {
        const value_place in = enter_place(at, node->keys[i], false);
        const bool is_about =
            (node == w->root && str_eq(node->keys[i], STR("sources"))) ||
            (at->item.n > 0 && str_eq(node->keys[i], STR("name")));
        if (!is_about)
            write_node(w, &in, node->items[i]);
    }
    for (uint32_t i = 0; node->kind == CONF_LIST && i < node->n; i++) {
        const conf_node *item = node->items[i];
        const conf_node *name = item->kind == CONF_MAP ? conf_find(item, "name") : NULL;
        char number[16];
        snprintf(number, sizeof number, "%u", i);
        const bool is_named = name != NULL && name->kind == CONF_SCALAR;
        const value_place in =
            enter_place(at, is_named ? name->text : str_from(number), is_named);
        write_node(w, &in, item);
    }
}

static void write_computed(report_json *j, const char *key, double value,
                           const char *unit)
{
    if (!(value > 0))
        return;
    report_json_flat_object(j, NULL);
    report_json_text(j, "key", str_from(key));
    report_json_text(j, "words", str_from(number_digits(value, 6).at));
    report_json_double(j, "value", value);
    if (unit != NULL)
        report_json_text(j, "unit", str_from(unit));
    report_json_text(j, "source", STR("computed by halley from the sizes"));
    report_json_end(j);
}

static halley_status write_model_counts(report_json *j, const char *name,
                                        halley_error *err)
{
    halley_model model;
    TRY(halley_model_load(&model, name, err));
    write_computed(j, "parameters", halley_model_params(&model), NULL);
    write_computed(j, "active-parameters", halley_model_active_params(&model), NULL);
    if (model.seq > 0)
        write_computed(j, "training-flops-per-token",
                       halley_model_step_flops(&model, 1, model.seq) / model.seq, "FLOP");
    halley_model_fini(&model);
    return HALLEY_OK;
}

halley_status request_write_preset_values(report_json *j, const char *folder,
                                          const char *name, halley_error *err)
{
    const char *text = halley_preset_text(folder, name);
    conf_file file;
    if (text == NULL)
        return error_set(err, HALLEY_ENOTFOUND, "no preset \"%s\"", name);
    TRY(conf_parse(&file, str_from(text), name, err));
    const value_writer w = {j, file.root, conf_find(file.root, "sources")};
    const value_place top = {.key = ""};
    report_json_array(j, "values");
    write_node(&w, &top, file.root);
    const halley_status status =
        strcmp(folder, "models") == 0 ? write_model_counts(j, name, err) : HALLEY_OK;
    report_json_end(j);
    conf_fini(&file);
    return status;
}
