/*
 * The request "schema": all requests and all keys of results as a JSON Schema. Keys that
 * start with x- hold what JSON Schema has no keyword for.
 */
#include "base/str.h"
#include "halley/plan_keys.h"
#include "request/verbs.h"
#include "request/vocabulary.h"

#include <string.h>

static const char *name_type(request_key_type type)
{
    static const char *const names[] = {"number", "integer", "string", "boolean",
                                        "array",  "object",  ""};
    return names[type];
}

/* Write the commands of a key as a list; all verbs if it is "*". */
static void write_commands(report_json *j, const char *verbs)
{
    str rest = str_from(verbs), one;
    report_json_flat_array(j, "x-commands");
    if (strcmp(verbs, "*") == 0)
        for (size_t i = 0; request_verbs[i] != NULL; i++)
            report_json_text(j, NULL, str_from(request_verbs[i]->name));
    else
        while (str_next(&rest, ',', &one))
            report_json_text(j, NULL, str_trim(one));
    report_json_end(j);
}

static void write_enum(report_json *j, const char *const *words)
{
    report_json_flat_array(j, "enum");
    for (size_t i = 0; words[i] != NULL; i++)
        report_json_text(j, NULL, str_from(words[i]));
    report_json_end(j);
}

/* Write the values of a plan key, if these are words. A list is an array of them, or a
 * text in which + joins them. */
static void write_plan_words(report_json *j, const char *name)
{
    for (int k = 0; k < HALLEY_N_PLAN_KEYS; k++) {
        const char *const *const words = halley_plan_key_words((halley_plan_key)k);
        if (words == NULL || strcmp(name, halley_plan_key_name((halley_plan_key)k)) != 0)
            continue;
        if (!halley_plan_key_is_list((halley_plan_key)k)) {
            write_enum(j, words);
            return;
        }
        report_json_flat_object(j, "items");
        write_enum(j, words);
        report_json_end(j);
    }
}

static void write_key(report_json *j, const request_key *k)
{
    report_json_object(j, k->key);
    report_json_text(j, "description", str_from(k->meaning));
    if (k->type != REQUEST_IS_ANY)
        report_json_text(j, "type", str_from(name_type(k->type)));
    if (strncmp(k->key, "plan.", 5) == 0)
        write_plan_words(j, k->word);
    if (k->unit != NULL)
        report_json_text(j, "x-unit", str_from(k->unit));
    if (k->word != NULL)
        report_json_text(j, "x-word", str_from(k->word));
    if ((k->flags & REQUEST_KEY_FREE) != 0)
        report_json_bool(j, "additionalProperties", true);
    if ((k->flags & REQUEST_KEY_RARE) != 0)
        report_json_bool(j, "x-rare", true);
    write_commands(j, k->verbs);
    report_json_end(j);
}

static void write_option_type(report_json *j, const request_option *o)
{
    switch (o->kind) {
    case REQUEST_FLAG:
        report_json_text(j, "type", STR("boolean"));
        break;
    case REQUEST_TEXT: /* a document, or a plan's key, which may be a number */
    case REQUEST_PLAN_KEYS:
        break;
    case REQUEST_TEXTS:
        report_json_text(j, "type", STR("array"));
        break;
    case REQUEST_U32:
    case REQUEST_U64:
        report_json_text(j, "type", STR("integer"));
        break;
    case REQUEST_DOUBLE:
        report_json_text(j, "type", STR("number"));
        break;
    case REQUEST_QUANTITY:
        report_json_flat_array(j, "type");
        report_json_text(j, NULL, STR("number"));
        report_json_text(j, NULL, STR("string"));
        report_json_end(j);
        break;
    case REQUEST_CHOICE:
        write_enum(j, o->choices);
        break;
    }
}

static void write_option(report_json *j, const request_option *o, bool with_plan)
{
    char key[64];
    request_key_name(key, o->name);
    strbuf doc = {0};
    request_option_doc(&doc, o);
    report_json_object(j, key);
    report_json_text(j, "description", strbuf_str(&doc));
    j->scratch.failed |= doc.failed;
    strbuf_fini(&doc);
    write_option_type(j, o);
    if (with_plan && (o->kind == REQUEST_TEXT || o->kind == REQUEST_TEXTS))
        write_plan_words(j, o->name);
    if (o->min != 0 || o->max != 0) {
        report_json_double(j, "minimum", o->min);
        report_json_double(j, "maximum", o->max);
    }
    if (o->by_default != NULL)
        report_json_text(j, "x-default", str_from(o->by_default));
    if (o->example != NULL) {
        report_json_flat_array(j, "examples");
        report_json_text(j, NULL, str_from(o->example));
        report_json_end(j);
    }
    if (o->letter != 0)
        report_json_text(j, "x-letter", (str){&o->letter, 1});
    if (o->is_document)
        report_json_bool(j, "x-document", true);
    if (o->writes)
        report_json_bool(j, "x-writes", true);
    report_json_end(j);
}

static void write_verb_name(report_json *j, const char *key, const char *name)
{
    char text[64];
    snprintf(text, sizeof text, "%s", name);
    for (char *c = text; *c != '\0'; c++)
        *c = *c == ' ' ? '.' : *c;
    report_json_text(j, key, str_from(text));
}

static void write_properties(report_json *j, const request_verb *v)
{
    report_json_object(j, "properties");
    report_json_flat_object(j, "do");
    write_verb_name(j, "const", v->name);
    report_json_end(j);
    for (size_t i = 0; v->arg_keys != NULL && v->arg_keys[i] != NULL; i++) {
        report_json_flat_object(j, v->arg_keys[i]);
        report_json_text(j, "description", str_from(v->arguments));
        report_json_end(j);
    }
    const bool has_plan = request_option_find(NULL, v, STR("plan"));
    for (request_option_walk w = {.verb = v}; request_option_next(&w);)
        if (strcmp(w.option.name, "json") != 0 && strcmp(w.option.name, "csv") != 0)
            write_option(j, &w.option, has_plan);
    report_json_end(j);
}

static void write_request(report_json *j, const request_verb *v)
{
    char key[64];
    snprintf(key, sizeof key, "%s", v->name);
    for (char *c = key; *c != '\0'; c++)
        *c = *c == ' ' ? '.' : *c;
    report_json_object(j, key);
    report_json_text(j, "description", str_from(v->summary));
    report_json_text(j, "type", STR("object"));
    report_json_text(j, "x-verb", str_from(key));
    if (v->arg_keys != NULL) {
        report_json_flat_array(j, "x-arguments");
        for (size_t i = 0; v->arg_keys[i] != NULL; i++)
            report_json_text(j, NULL, str_from(v->arg_keys[i]));
        report_json_end(j);
    }
    report_json_flat_array(j, "required");
    report_json_text(j, NULL, STR("do"));
    for (size_t i = 0; i < v->min_args && v->arg_keys[i] != NULL; i++)
        report_json_text(j, NULL, str_from(v->arg_keys[i]));
    report_json_end(j);
    report_json_bool(j, "additionalProperties", false);
    write_properties(j, v);
    report_json_end(j);
}

static void write_table(report_json *j, const char *verb, const fact_table *t)
{
    char key[64];
    strbuf text = {0};
    strbuf_add_char(&text, '{');
    fact_schema(&text, t, "#/$defs/results/");
    if (verb != NULL) {
        snprintf(key, sizeof key, "%s", verb);
        for (char *c = key; *c != '\0'; c++)
            *c = *c == ' ' ? '.' : *c;
        strbuf_printf(&text, ", \"x-verb\": \"%s\"", key);
    }
    strbuf_add_char(&text, '}');
    report_json_raw(j, t->name, strbuf_str(&text));
    j->scratch.failed |= text.failed;
    strbuf_fini(&text);
}

/* Write the results with rows by the names of their tables, and what is inside them. */
static void write_results(report_json *j)
{
    const fact_table *tables[REQUEST_MAX_TABLES];
    size_t n = 0;
    report_json_object(j, "results");
    for (size_t i = 0; request_verbs[i] != NULL; i++) {
        const fact_table *t = request_verbs[i]->result;
        if (t == NULL)
            continue;
        const fact rows[] = {{.key = "", .kind = FACT_INLINE, .of = t},
                             {.key = "", .kind = FACT_INLINE, .of = &request_notes_facts},
                             {0}};
        const fact_table whole = {t->name, t->doc, t->size, rows};
        size_t at = n;
        n = fact_tables(tables, n, REQUEST_MAX_TABLES, t);
        write_table(j, request_verbs[i]->name, &whole);
        for (at++; at < n; at++)
            write_table(j, NULL, tables[at]);
    }
    report_json_end(j);
}

static halley_status schema_run(request_call *call, halley_error *err)
{
    report_json j;
    request_key k;
    request_key_room room;
    request_json_begin(&j, call);
    report_json_text(&j, "$schema", STR("https://json-schema.org/draft/2020-12/schema"));
    report_json_text(&j, "title", STR("halley requests and results"));
    report_json_object(&j, "$defs");
    report_json_object(&j, "requests");
    for (size_t i = 0; request_verbs[i] != NULL; i++)
        write_request(&j, request_verbs[i]);
    report_json_end(&j);
    report_json_object(&j, "keys");
    for (size_t i = 0; request_key_get(&k, &room, i); i++)
        write_key(&j, &k);
    report_json_end(&j);
    write_results(&j);
    report_json_flat_object(&j, "codes");
    report_json_flat_array(&j, "enum");
    for (int i = REQUEST_CODE_USAGE; i < REQUEST_N_CODES; i++)
        report_json_text(&j, NULL, str_from(request_code_word((request_code)i)));
    report_json_end(&j);
    report_json_end(&j);
    report_json_end(&j);
    return request_json_end(&j, call, err);
}

const request_verb request_verb_schema = {
    .name = "schema",
    .summary = "all requests and keys of results as a JSON Schema",
    .arguments = "",
    .description =
        "Describes every request under $defs.requests. Describes every key of results"
        " under $defs.keys, with its unit, its word in YAML files and the commands "
        "that write it. Describes whole results, with the keys that are always there, "
        "under $defs.results.",
    .run = schema_run,
};
