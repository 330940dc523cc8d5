/*
 * The tree of a configuration file, and access to single values. Scalars stay text until
 * a reader asks for a type, so that errors can show what was written.
 */
#include "base/conf/conf.h"

#include "base/conf/conf_build.h"
#include "base/file/file.h"
#include "base/limit.h"
#include "base/number/number.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

conf_node *conf_node_new(conf_file *file, conf_kind kind)
{
    assert(file != NULL);
    conf_node *node = arena_array(&file->memory, 1, sizeof *node);
    if (node == NULL)
        return NULL;
    node->kind = kind;
    node->text = (str){"", 0};
    return node;
}

conf_node *conf_scalar_new(conf_file *file, str text, bool quoted)
{
    conf_node *node = conf_node_new(file, CONF_SCALAR);
    const char *copy = arena_copy(&file->memory, text);
    if (node == NULL || copy == NULL)
        return NULL;
    node->text = (str){copy, text.n};
    node->quoted = quoted;
    return node;
}

bool conf_is_null(str text)
{
    return text.n == 0 || str_eq(text, STR("~")) || str_eq(text, STR("null")) ||
           str_eq(text, STR("Null")) || str_eq(text, STR("NULL"));
}

static bool starts_like_json(str text)
{
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = (str){text.at + 3, text.n - 3};
    text = str_trim(text);
    return text.n > 0 && (text.at[0] == '{' || text.at[0] == '[');
}

static halley_status parse_text(conf_file *file, str text, bool aliases, bool lax,
                                halley_error *err)
{
    const str name = str_from(file->path);
    const bool is_yaml = str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml"));
    const bool is_json = str_ends(name, STR(".json")) ||
                         str_ends(name, STR(".json.gz")) ||
                         str_ends(name, STR(".json.zst"));
    if (!is_json && (is_yaml || !starts_like_json(text)))
        return conf_parse_yaml(file, text, aliases, err);
    const halley_status status = conf_parse_json(file, text, lax, NULL, err);
    if (status != HALLEY_EFORMAT || is_json)
        return status;
    /* Some YAML also starts with { or [. If the text is neither, the JSON error is
     * reported. */
    file->root = NULL;
    const halley_status second = conf_parse_yaml(file, text, aliases, NULL);
    if (second == HALLEY_OK && err != NULL)
        *err = (halley_error){0};
    if (second == HALLEY_ENOMEM)
        return error_nomem(err);
    return second == HALLEY_OK ? HALLEY_OK : status;
}

/* True if there are bytes that no text contains. */
static bool is_binary_text(str text)
{
    const size_t n = text.n < 4096 ? text.n : 4096;
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c == 0 || (c < 8 && c != 7))
            return true;
    }
    return false;
}

static halley_status parse_any(conf_file *out, str text, const char *name, bool aliases,
                               bool lax, halley_error *err)
{
    assert(name != NULL);
    conf_file file = {0};
    file.path = arena_copy(&file.memory, str_from(name));
    halley_status status = file.path == NULL ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK && is_binary_text(text))
        status = error_set(err, HALLEY_EFORMAT, "not a text file");
    if (status == HALLEY_OK)
        status = parse_text(&file, text, aliases, lax, err);
    if (status != HALLEY_OK) {
        error_at_file(err, name);
        conf_fini(&file);
        return status;
    }
    *out = file;
    return HALLEY_OK;
}

halley_status conf_parse(conf_file *out, str text, const char *name, halley_error *err)
{
    return parse_any(out, text, name, false, false, err);
}

halley_status conf_parse_foreign(conf_file *out, str text, const char *name,
                                 halley_error *err)
{
    return parse_any(out, text, name, true, false, err);
}

halley_status conf_parse_only_json(conf_file *out, str text, size_t *used,
                                   halley_error *err)
{
    conf_file file = {.path = ""};
    const halley_status status = conf_parse_json(&file, text, used != NULL, used, err);
    if (status == HALLEY_OK)
        *out = file;
    else
        conf_fini(&file);
    return status;
}

static halley_status load_conf(conf_file *out, const char *path, uint64_t most, bool lax,
                               halley_error *err)
{
    file_input in;
    TRY(file_input_open_most(&in, path, most, err));
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    const halley_status status =
        parse_any(out, (str){(const char *)in.at, in.n}, name, false, lax, err);
    file_input_close(&in);
    return status;
}

halley_status conf_load(conf_file *out, const char *path, halley_error *err)
{
    return load_conf(out, path, LIMIT_CONFIGURATION, false, err);
}

halley_status conf_load_table(conf_file *out, const char *path, halley_error *err)
{
    return load_conf(out, path, 0, false, err);
}

halley_status conf_load_lax(conf_file *out, const char *path, halley_error *err)
{
    return load_conf(out, path, LIMIT_CONFIGURATION, true, err);
}

void conf_fini(conf_file *file)
{
    arena_fini(&file->memory);
    *file = (conf_file){0};
}

bool conf_key_is(str written, const char *key)
{
    assert(key[0] != '\0');
    for (size_t i = 0; i < written.n; i++) {
        const bool same =
            written.at[i] == key[i] || (written.at[i] == '_' && key[i] == '-');
        if (key[i] == '\0' || !same)
            return false;
    }
    return key[written.n] == '\0';
}

const conf_node *conf_find(const conf_node *map, const char *key)
{
    assert(map == NULL || map->kind != CONF_MAP || map->keys != NULL || map->n == 0);
    if (map == NULL || map->kind != CONF_MAP || key[0] == '\0')
        return NULL;
    for (uint32_t i = 0; i < map->n; i++)
        if (conf_key_is(map->keys[i], key))
            return map->items[i];
    return NULL;
}

halley_status conf_error(const conf_file *file, const conf_node *at, halley_error *err,
                         halley_status code, const char *format, ...)
{
    assert(code != HALLEY_OK);
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(err, code, "%s", text);
    error_at_file(err, file->path);
    if (at != NULL && at->line > 0)
        error_at_line(err, at->line, at->column);
    return code;
}

/* Describe a value in an error: `"12 apples"`, `a list`. */
static const char *describe_node(char *to, size_t size, const conf_node *node)
{
    assert(size > 0);
    static const char *const words[] = {
        [CONF_NULL] = "empty", [CONF_LIST] = "a list", [CONF_MAP] = "a map"};
    if (node->kind != CONF_SCALAR)
        snprintf(to, size, "%s", words[node->kind]);
    else
        snprintf(to, size, "%s\"%.*s\"", node->quoted ? "the text " : "",
                 (int)(node->text.n < 100 ? node->text.n : 100), node->text.at);
    return to;
}

static halley_status refuse_node(const conf_file *file, const conf_node *node,
                                 const char *key, const char *wanted, halley_error *err)
{
    assert(key != NULL && wanted != NULL);
    char is[128];
    return conf_error(file, node, err, HALLEY_EINVAL, "%s must be %s, is %s", key, wanted,
                      describe_node(is, sizeof is, node));
}

static bool is_plain_scalar(const conf_node *node)
{
    return node->kind == CONF_SCALAR && !node->quoted;
}

halley_status conf_to_double(double *out, const conf_file *file, const conf_node *node,
                             const char *key, halley_error *err)
{
    if (!is_plain_scalar(node) || !number_read(node->text, out))
        return refuse_node(file, node, key, "a number", err);
    return HALLEY_OK;
}

halley_status conf_to_i64(int64_t *out, const conf_file *file, const conf_node *node,
                          const char *key, halley_error *err)
{
    double real;
    if (is_plain_scalar(node) && str_to_i64(node->text, out))
        return HALLEY_OK;
    /* 1e6 and 4.0 are whole numbers too, if a double represents them exactly. */
    if (!is_plain_scalar(node) || !number_read(node->text, &real) || real < -0x1p53 ||
        real > 0x1p53 || real != (double)(int64_t)real)
        return refuse_node(file, node, key, "a whole number", err);
    *out = (int64_t)real;
    return HALLEY_OK;
}

halley_status conf_to_quantity(double *out, const conf_file *file, const conf_node *node,
                               units_kind unit, const char *key, halley_error *err)
{
    assert(unit < UNITS_N_KINDS);
    if (node->kind != CONF_SCALAR)
        return refuse_node(file, node, key, units_name(unit), err);
    const halley_status status = units_parse(out, node->text, unit, err);
    if (status != HALLEY_OK) {
        error_prefix(err, "%s", key);
        error_at_file(err, file->path);
        error_at_line(err, node->line, node->column);
    }
    return status;
}

halley_status conf_to_bool(bool *out, const conf_file *file, const conf_node *node,
                           const char *key, halley_error *err)
{
    static const char *const words[] = {"false", "true", "no", "yes", "off", "on"};
    for (size_t i = 0; i < 6 && is_plain_scalar(node); i++) {
        if (node->text.n == strlen(words[i]) &&
            strncasecmp(node->text.at, words[i], node->text.n) == 0) {
            *out = i % 2 == 1;
            return HALLEY_OK;
        }
    }
    return refuse_node(file, node, key, "true or false", err);
}
