/*
 * TOML as far as configuration files use it: [tables], key = value with texts, numbers,
 * booleans and lists. Arrays of tables and inline tables are refused with an error that
 * names them.
 */
#include "base/conf/conf_build.h"
#include "launch/args.h"

#include <ctype.h>
#include <string.h>

enum { MAX_KEYS = 2048 };

typedef struct toml_reader {
    conf_file *file;
    str rest;
    uint32_t line;
    conf_node *table;
    halley_error *err;
} toml_reader;

static halley_status refuse_toml(toml_reader *t, const char *what)
{
    error_set(t->err, HALLEY_EFORMAT, "%s", what);
    error_at_line(t->err, t->line, 0);
    return HALLEY_EFORMAT;
}

static void skip_toml_blanks(toml_reader *t, bool lines)
{
    while (t->rest.n > 0) {
        const char c = t->rest.at[0];
        if (c == '#') {
            while (t->rest.n > 0 && t->rest.at[0] != '\n')
                t->rest = (str){t->rest.at + 1, t->rest.n - 1};
        } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
            t->line += c == '\n';
            t->rest = (str){t->rest.at + 1, t->rest.n - 1};
        } else {
            return;
        }
    }
}

static conf_node *find_child(const conf_node *map, str key)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (str_eq(map->keys[i], key))
            return map->items[i];
    return NULL;
}

/* Append to a map (with a key) or a list. */
static halley_status add_child(toml_reader *t, conf_node *to, str key, conf_node *node)
{
    if (to->n >= MAX_KEYS)
        return refuse_toml(t, "the table has too many keys");
    if ((to->n & (to->n - 1)) == 0) { /* grow at powers of two */
        const uint32_t cap = to->n == 0 ? 1 : 2 * to->n;
        conf_node **items = arena_array(&t->file->memory, cap, sizeof *items);
        str *keys = arena_array(&t->file->memory, cap, sizeof *keys);
        if (items == NULL || keys == NULL)
            return error_nomem(t->err);
        if (to->n > 0) {
            memcpy(items, to->items, to->n * sizeof *items);
            memcpy(keys, to->keys, to->n * sizeof *keys);
        }
        to->items = items;
        to->keys = keys;
    }
    const char *copy = arena_copy(&t->file->memory, key);
    if (copy == NULL)
        return error_nomem(t->err);
    to->keys[to->n] = (str){copy, key.n};
    to->items[to->n++] = node;
    return HALLEY_OK;
}

/* A bare or quoted key. */
static str take_toml_key(toml_reader *t)
{
    skip_toml_blanks(t, false);
    size_t n = 0;
    if (t->rest.n > 0 && (t->rest.at[0] == '"' || t->rest.at[0] == '\'')) {
        const char quote = t->rest.at[0];
        n = 1;
        while (n < t->rest.n && t->rest.at[n] != quote && t->rest.at[n] != '\n')
            n++;
        const str key = {t->rest.at + 1, n - 1};
        const size_t used = n < t->rest.n ? n + 1 : n;
        t->rest = (str){t->rest.at + used, t->rest.n - used};
        return key;
    }
    while (n < t->rest.n && (isalnum((unsigned char)t->rest.at[n]) ||
                             t->rest.at[n] == '_' || t->rest.at[n] == '-'))
        n++;
    const str key = {t->rest.at, n};
    t->rest = (str){t->rest.at + n, t->rest.n - n};
    return key;
}

/* The map at a key of a map, new or existing. */
static halley_status enter_table(toml_reader *t, conf_node **at, str key)
{
    conf_node *child = find_child(*at, key);
    if (child == NULL) {
        child = conf_node_new(t->file, CONF_MAP);
        if (child == NULL)
            return error_nomem(t->err);
        TRY(add_child(t, *at, key, child));
    }
    if (child->kind != CONF_MAP)
        return refuse_toml(t, "a key is both a value and a table");
    *at = child;
    return HALLEY_OK;
}

static halley_status read_table(toml_reader *t)
{
    t->rest = (str){t->rest.at + 1, t->rest.n - 1};
    if (t->rest.n > 0 && t->rest.at[0] == '[')
        return refuse_toml(t, "arrays of tables ([[name]]) are not read");
    t->table = t->file->root;
    for (;;) {
        const str key = take_toml_key(t);
        if (key.n == 0)
            return refuse_toml(t, "a table needs a name, as in [model]");
        TRY(enter_table(t, &t->table, key));
        skip_toml_blanks(t, false);
        const char c = t->rest.n > 0 ? t->rest.at[0] : '\0';
        if (c != '.' && c != ']')
            return refuse_toml(t, "the name of a table ends in ]");
        t->rest = (str){t->rest.at + 1, t->rest.n - 1};
        if (c == ']')
            return HALLEY_OK;
    }
}

/* Read "..." with escapes kept as written, '...', or three quotes. */
static halley_status read_string(toml_reader *t, conf_node **out)
{
    const char quote = t->rest.at[0];
    const char three[] = {quote, quote, quote, '\0'};
    const bool is_long = str_starts(t->rest, str_from(three));
    const size_t open = is_long ? 3 : 1;
    for (size_t i = open; i < t->rest.n; i++) {
        const str here = {t->rest.at + i, t->rest.n - i};
        if (quote == '"' && here.at[0] == '\\' && here.n > 1) {
            i++;
            continue;
        }
        if (here.at[0] == '\n' && !is_long)
            break;
        t->line += here.at[0] == '\n';
        if (!(is_long ? str_starts(here, str_from(three)) : here.at[0] == quote))
            continue;
        *out = conf_scalar_new(t->file, (str){t->rest.at + open, i - open}, true);
        t->rest = (str){here.at + open, here.n - open};
        return *out == NULL ? error_nomem(t->err) : HALLEY_OK;
    }
    return refuse_toml(t, "a text is never closed");
}

static halley_status read_toml_value(toml_reader *t, conf_node **out, uint32_t depth);

static halley_status read_toml_list(toml_reader *t, conf_node **out, uint32_t depth)
{
    conf_node *list = conf_node_new(t->file, CONF_LIST);
    if (list == NULL)
        return error_nomem(t->err);
    t->rest = (str){t->rest.at + 1, t->rest.n - 1};
    for (;;) {
        skip_toml_blanks(t, true);
        if (t->rest.n == 0)
            return refuse_toml(t, "a list is never closed");
        if (t->rest.at[0] == ']' || t->rest.at[0] == ',') {
            const bool end = t->rest.at[0] == ']';
            t->rest = (str){t->rest.at + 1, t->rest.n - 1};
            if (end)
                break;
            continue;
        }
        conf_node *item;
        TRY(read_toml_value(t, &item, depth + 1));
        TRY(add_child(t, list, (str){"", 0}, item));
    }
    *out = list;
    return HALLEY_OK;
}

static halley_status read_toml_value(toml_reader *t, conf_node **out, uint32_t depth)
{
    skip_toml_blanks(t, false);
    if (depth > 16)
        return refuse_toml(t, "lists are nested too deep");
    if (t->rest.n == 0 || t->rest.at[0] == '\n')
        return refuse_toml(t, "a key has no value");
    const char c = t->rest.at[0];
    if (c == '"' || c == '\'')
        return read_string(t, out);
    if (c == '[')
        return read_toml_list(t, out, depth);
    if (c == '{')
        return refuse_toml(t, "inline tables ({ }) are not read");
    size_t n = 0;
    while (n < t->rest.n && strchr(" \t\r\n,]#", t->rest.at[n]) == NULL)
        n++;
    if (n == 0)
        return refuse_toml(t, "a key has no value");
    *out = conf_scalar_new(t->file, (str){t->rest.at, n}, false);
    t->rest = (str){t->rest.at + n, t->rest.n - n};
    return *out == NULL ? error_nomem(t->err) : HALLEY_OK;
}

static halley_status read_pair(toml_reader *t)
{
    conf_node *map = t->table, *value;
    str key = take_toml_key(t);
    const uint32_t line = t->line;
    skip_toml_blanks(t, false);
    while (key.n > 0 && t->rest.n > 0 && t->rest.at[0] == '.') {
        t->rest = (str){t->rest.at + 1, t->rest.n - 1};
        TRY(enter_table(t, &map, key));
        key = take_toml_key(t);
        skip_toml_blanks(t, false);
    }
    if (key.n == 0 || t->rest.n == 0 || t->rest.at[0] != '=')
        return refuse_toml(t, "expected key = value or [table]");
    t->rest = (str){t->rest.at + 1, t->rest.n - 1};
    TRY(read_toml_value(t, &value, 0));
    value->line = line;
    if (find_child(map, key) != NULL)
        return refuse_toml(t, "a key is given twice");
    TRY(add_child(t, map, key, value));
    skip_toml_blanks(t, false);
    if (t->rest.n > 0 && t->rest.at[0] != '\n')
        return refuse_toml(t, "a value is followed by something else");
    return HALLEY_OK;
}

static halley_status read_toml(toml_reader *t)
{
    for (;;) {
        skip_toml_blanks(t, true);
        if (t->rest.n == 0)
            return HALLEY_OK;
        TRY(t->rest.at[0] == '[' ? read_table(t) : read_pair(t));
    }
}

halley_status launch_toml_parse(conf_file *out, str text, const char *name,
                                halley_error *err)
{
    *out = (conf_file){.path = name};
    out->root = conf_node_new(out, CONF_MAP);
    if (out->root == NULL)
        return error_nomem(err);
    toml_reader t = {
        .file = out, .rest = text, .line = 1, .table = out->root, .err = err};
    const halley_status status = read_toml(&t);
    if (status != HALLEY_OK) {
        error_at_file(err, name);
        conf_fini(out);
    }
    return status;
}
