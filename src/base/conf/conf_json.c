/*
 * Build a conf tree from JSON with the tokenizer of base/json.h. The tokenizer needs no
 * memory, so syntax errors and lack of memory cannot be confused.
 *
 * Nodes have no line. Integers are kept if they fit 64 bits with sign. Larger ones may
 * have lost digits as a double. They are written with an exponent
 * (1.8446744073709552e+19), so that they do not look like integers.
 */
#include "base/array.h"
#include "base/conf/conf_build.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct json_maker {
    conf_file *file;
    json_reader reader;
    bool lax;       /* the last of equal keys counts */
    strbuf scratch; /* of a text with escapes */
} json_maker;

/* Report `what` at the start of the last token or, if NULL, the tokenizer's error. */
static halley_status report_json_error(const json_maker *m, const char *what,
                                       halley_error *err)
{
    halley_error found;
    const halley_status status = json_error(&m->reader, &found, what);
    error_set(err, status, "not valid JSON: %s", found.text);
    error_at_line(err, found.line, found.column);
    return status;
}

static halley_status report_equal_keys(const json_maker *m, str key, halley_error *err)
{
    char what[160];
    snprintf(what, sizeof what, "the key \"%.*s\" is there twice",
             (int)(key.n < 100 ? key.n : 100), key.at);
    return report_json_error(m, what, err);
}

/* The text of the last key or string; lent until the next one. */
static halley_status read_json_text(str *out, json_maker *m, halley_error *err)
{
    *out = m->reader.text;
    if (m->reader.escaped) {
        m->scratch.n = 0;
        if (!json_unescape(&m->reader, &m->scratch))
            return m->scratch.failed ? error_nomem(err) : report_json_error(m, NULL, err);
        *out = strbuf_str(&m->scratch);
    }
    if (!str_utf8_valid(*out))
        return report_json_error(m, "a text that is not UTF-8", err);
    if (out->n > 0 && memchr(out->at, '\0', out->n) != NULL)
        return report_json_error(m, "a text with a zero byte (\\u0000)", err);
    return HALLEY_OK;
}

static halley_status make_json_number(conf_node **out, json_maker *m, halley_error *err)
{
    int64_t whole;
    double real;
    char text[NUMBER_TEXT];
    if (str_to_i64(m->reader.text, &whole))
        snprintf(text, sizeof text, "%" PRId64, whole);
    else if (number_read(m->reader.text, &real))
        snprintf(text, sizeof text, "%s",
                 fabs(real) > 0x1p53 ? number_exponent(real, 16).at
                                     : number_shortest(real).at);
    else
        return report_json_error(m, "a number beyond the largest double", err);
    *out = conf_scalar_new(m->file, str_from(text), false);
    return *out != NULL ? HALLEY_OK : error_nomem(err);
}

static halley_status make_json_scalar(conf_node **out, json_maker *m, json_token token,
                                      halley_error *err)
{
    str text = STR("");
    if (token == JSON_NUMBER)
        return make_json_number(out, m, err);
    if (token == JSON_STRING)
        TRY(read_json_text(&text, m, err));
    *out = token == JSON_NULL     ? conf_node_new(m->file, CONF_NULL)
           : token == JSON_STRING ? conf_scalar_new(m->file, text, true)
                                  : conf_scalar_new(m->file, m->reader.text, false);
    return *out != NULL ? HALLEY_OK : error_nomem(err);
}

/* The items of a list or map while it is read. */
typedef struct json_items {
    ARRAY(conf_node *) list;
    intern keys; /* of a map: the id of a key is its index in the list */
} json_items;

static halley_status make_json_node(conf_node **out, json_maker *m, json_token token,
                                    uint32_t depth, halley_error *err);

/* Read items up to the closing bracket. */
static halley_status read_json_items(json_items *to, json_maker *m, bool is_map,
                                     uint32_t depth, halley_error *err)
{
    const json_token end = is_map ? JSON_OBJECT_END : JSON_ARRAY_END;
    for (json_token token; (token = json_next(&m->reader)) != end;) {
        size_t place = to->list.n;
        if (is_map && token != JSON_ERROR) {
            str key;
            assert(token == JSON_KEY);
            TRY(read_json_text(&key, m, err));
            place = intern_add(&to->keys, key);
            if (place == HASH_NONE)
                return error_nomem(err);
            if (place < to->list.n && !m->lax)
                return report_equal_keys(m, key, err);
            token = json_next(&m->reader);
        }
        if (place == to->list.n && !array_push(&to->list, NULL))
            return error_nomem(err);
        TRY(make_json_node(&to->list.at[place], m, token, depth + 1, err));
    }
    return HALLEY_OK;
}

static halley_status keep_json_items(conf_node *node, conf_file *file,
                                     const json_items *items, halley_error *err)
{
    const size_t n = items->list.n;
    assert(items->keys.n == 0 || items->keys.n == n);
    node->items = arena_array(&file->memory, n, sizeof(conf_node *));
    if (node->kind == CONF_MAP)
        node->keys = arena_array(&file->memory, n, sizeof(str));
    if (node->items == NULL || (node->kind == CONF_MAP && node->keys == NULL))
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        node->items[i] = items->list.at[i];
        if (node->kind != CONF_MAP)
            continue;
        const str key = intern_text(&items->keys, i);
        node->keys[i] = (str){arena_copy(&file->memory, key), key.n};
        if (node->keys[i].at == NULL)
            return error_nomem(err);
    }
    node->n = (uint32_t)n;
    return HALLEY_OK;
}

/* Recurses at most CONF_DEPTH deep. */
static halley_status make_json_node(conf_node **out, json_maker *m, json_token token,
                                    uint32_t depth, halley_error *err)
{
    if (token == JSON_ERROR)
        return report_json_error(m, NULL, err);
    if (token != JSON_OBJECT && token != JSON_ARRAY)
        return make_json_scalar(out, m, token, err);
    if (depth >= CONF_DEPTH)
        return error_set(err, HALLEY_EFORMAT,
                         "lists and maps are nested more than %d deep", CONF_DEPTH);
    json_items items = {0};
    conf_node *const node =
        conf_node_new(m->file, token == JSON_OBJECT ? CONF_MAP : CONF_LIST);
    halley_status status =
        node != NULL ? read_json_items(&items, m, token == JSON_OBJECT, depth, err)
                     : error_nomem(err);
    if (status == HALLEY_OK)
        status = keep_json_items(node, m->file, &items, err);
    array_fini(&items.list);
    intern_fini(&items.keys);
    *out = node;
    return status;
}

halley_status conf_parse_json(conf_file *file, str text, bool lax, size_t *used,
                              halley_error *err)
{
    json_maker m = {.file = file, .lax = lax};
    json_open(&m.reader, text);
    json_token token = json_next(&m.reader);
    halley_status status = HALLEY_OK;
    if (token == JSON_END)
        status = error_set(err, HALLEY_EFORMAT, "the file is empty; expected JSON");
    else if (token != JSON_ERROR && token != JSON_OBJECT && token != JSON_ARRAY)
        status = report_json_error(&m, "it must start with { or [", err);
    else
        status = make_json_node(&file->root, &m, token, 0, err);
    if (used != NULL)
        *used = (size_t)json_offset(&m.reader);
    if (status == HALLEY_OK && !lax) {
        token = json_next(&m.reader);
        if (token != JSON_END)
            status = report_json_error(
                &m, token != JSON_ERROR ? "something follows after its end" : NULL, err);
    }
    strbuf_fini(&m.scratch);
    return status;
}

/* Recurses as deep as the parser allows. */
void conf_node_print(strbuf *to, const conf_node *node)
{
    const bool is_map = node->kind == CONF_MAP;
    if (node->kind == CONF_NULL) {
        strbuf_add(to, STR("null"));
        return;
    }
    if (node->kind == CONF_SCALAR && node->quoted) {
        strbuf_json(to, node->text);
        return;
    }
    if (node->kind == CONF_SCALAR) {
        strbuf_add(to, node->text);
        return;
    }
    strbuf_add_char(to, is_map ? '{' : '[');
    for (uint32_t i = 0; i < node->n; i++) {
        if (i > 0)
            strbuf_add(to, STR(", "));
        if (is_map) {
            strbuf_json(to, node->keys[i]);
            strbuf_add(to, STR(": "));
        }
        conf_node_print(to, node->items[i]);
    }
    strbuf_add_char(to, is_map ? '}' : ']');
}
