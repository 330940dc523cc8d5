/*
 * JSON to a conf tree through jansson. It keeps no places, so nodes have no line; its
 * syntax errors do. It counts integers in 64 bits with sign; a file with a larger one is
 * read again with all numbers as doubles, and those that may have lost digits are written
 * so (1.8446744073709552e+19) that they do not pass for integers.
 */
#include "base/conf/conf_build.h"
#include "base/number/number.h"

#include <assert.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>

static conf_node *make_json_number(conf_file *file, const json_t *value)
{
    char text[40];
    if (json_is_integer(value)) {
        const int n =
            snprintf(text, sizeof text, "%" PRId64, (int64_t)json_integer_value(value));
        return conf_scalar_new(file, (str){text, (size_t)n}, false);
    }
    const double real = json_real_value(value);
    strbuf b = {0};
    if (fabs(real) > 0x1p53)
        strbuf_printf(&b, "%s", number_exponent(real, 16).at);
    else
        strbuf_double(&b, real);
    conf_node *node = b.failed ? NULL : conf_scalar_new(file, strbuf_str(&b), false);
    strbuf_fini(&b);
    return node;
}

static conf_node *make_json_scalar(conf_file *file, const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_STRING:
        return conf_scalar_new(
            file, (str){json_string_value(value), json_string_length(value)}, true);
    case JSON_TRUE:
        return conf_scalar_new(file, STR("true"), false);
    case JSON_FALSE:
        return conf_scalar_new(file, STR("false"), false);
    case JSON_NULL:
        return conf_node_new(file, CONF_NULL);
    default:
        return make_json_number(file, value);
    }
}

static halley_status make_json_node(conf_node **out, conf_file *file, json_t *value,
                                    uint32_t depth, halley_error *err);

static halley_status make_json_list(conf_node *node, conf_file *file, json_t *list,
                                    uint32_t depth, halley_error *err)
{
    assert(json_is_array(list));
    const size_t n = json_array_size(list);
    node->items = arena_array(&file->memory, n, sizeof(conf_node *));
    if (node->items == NULL)
        return error_nomem(err);
    node->n = (uint32_t)n;
    for (uint32_t i = 0; i < node->n; i++)
        TRY(make_json_node(&node->items[i], file, json_array_get(list, i), depth + 1,
                           err));
    return HALLEY_OK;
}

static halley_status make_json_map(conf_node *node, conf_file *file, json_t *map,
                                   uint32_t depth, halley_error *err)
{
    assert(json_is_object(map));
    const size_t n = json_object_size(map);
    node->items = arena_array(&file->memory, n, sizeof(conf_node *));
    node->keys = arena_array(&file->memory, n, sizeof(str));
    if (node->items == NULL || node->keys == NULL)
        return error_nomem(err);
    void *at = json_object_iter(map);
    for (; at != NULL; at = json_object_iter_next(map, at)) {
        const str key = {json_object_iter_key(at), json_object_iter_key_len(at)};
        const char *copy = arena_copy(&file->memory, key);
        if (copy == NULL)
            return error_nomem(err);
        node->keys[node->n] = (str){copy, key.n};
        TRY(make_json_node(&node->items[node->n], file, json_object_iter_value(at),
                           depth + 1, err));
        node->n++;
    }
    return HALLEY_OK;
}

/* Recurses at most CONF_DEPTH deep. */
static halley_status make_json_node(conf_node **out, conf_file *file, json_t *value,
                                    uint32_t depth, halley_error *err)
{
    assert(value != NULL);
    const bool is_list = json_is_array(value), is_map = json_is_object(value);
    if ((is_list || is_map) && depth >= CONF_DEPTH)
        return error_set(err, HALLEY_EFORMAT,
                         "lists and maps are nested more than %d deep", CONF_DEPTH);
    conf_node *node = is_list  ? conf_node_new(file, CONF_LIST)
                      : is_map ? conf_node_new(file, CONF_MAP)
                               : make_json_scalar(file, value);
    if (node == NULL)
        return error_nomem(err);
    *out = node;
    if (is_list)
        return make_json_list(node, file, value, depth, err);
    return is_map ? make_json_map(node, file, value, depth, err) : HALLEY_OK;
}

static halley_status report_json_error(const json_error_t *problem, halley_error *err)
{
    assert(problem != NULL);
    if (json_error_code(problem) == json_error_out_of_memory)
        return error_nomem(err);
    error_set(err, HALLEY_EFORMAT, "not valid JSON: %s", problem->text);
    if (problem->line > 0 && problem->column >= 0)
        error_at_line(err, (uint32_t)problem->line,
                      (uint32_t)(problem->column > 0 ? problem->column : 1));
    return HALLEY_EFORMAT;
}

halley_status conf_parse_json(conf_file *file, str text, bool lax, halley_error *err)
{
    const str mark = STR("\xef\xbb\xbf"); /* UTF-8's byte order mark */
    const size_t flags = lax ? JSON_DISABLE_EOF_CHECK : JSON_REJECT_DUPLICATES;
    json_error_t problem;
    if (str_starts(text, mark))
        text = (str){text.at + mark.n, text.n - mark.n};
    if (str_trim(text).n == 0)
        return error_set(err, HALLEY_EFORMAT, "the file is empty; expected JSON");
    json_t *root = json_loadb(text.at, text.n, flags, &problem);
    if (root == NULL && json_error_code(&problem) == json_error_numeric_overflow)
        root = json_loadb(text.at, text.n, flags | JSON_DECODE_INT_AS_REAL, &problem);
    if (root == NULL)
        return report_json_error(&problem, err);
    const halley_status status = make_json_node(&file->root, file, root, 0, err);
    json_decref(root);
    return status;
}
