/*
 * Keys of a Hugging Face configuration. Files often contain only the values that differ
 * from the defaults of their type. An absent key takes the default of
 * data/hf-defaults.json and is noted as assumed. An explicit null means "none" and never
 * takes the default.
 */
#include "base/number/number.h"
#include "hf/hf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { NAME_LENGTH = 64 };

void hf_fail(hf_block *b, const conf_node *at, const char *format, ...)
{
    if (b->status != HALLEY_OK)
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const conf_node *place = at != NULL ? at : b->map != NULL ? b->map : b->around;
    b->status = conf_error(b->file, place, b->err, HALLEY_EINVAL, "%s", text);
}

/* The next name of the list "a b c". */
static bool next_name(char to[NAME_LENGTH], str *names)
{
    str one;
    while (str_next(names, ' ', &one)) {
        if (one.n == 0)
            continue;
        assert(one.n < NAME_LENGTH);
        snprintf(to, NAME_LENGTH, "%.*s", STR_ARG(one));
        return true;
    }
    return false;
}

static const conf_node *find_in(const conf_node *map, const char *name)
{
    return map != NULL && map->kind == CONF_MAP ? conf_find(map, name) : NULL;
}

/* The node of `name`, or of a key that the type's defaults declare as an alias. */
static const conf_node *find_in_file(const hf_block *b, const char *name, const char **as)
{
    *as = name;
    const conf_node *node = find_in(b->map, name);
    const conf_node *aliases = find_in(b->defaults, "#names");
    for (uint32_t i = 0; node == NULL && aliases != NULL && i < aliases->n; i++)
        if (str_eq(aliases->items[i]->text, str_from(name))) {
            char alias[NAME_LENGTH];
            snprintf(alias, sizeof alias, "%.*s", STR_ARG(aliases->keys[i]));
            node = find_in(b->map, alias);
            if (node != NULL)
                *as = aliases->keys[i].at;
        }
    return node;
}

typedef struct hf_found {
    const conf_node *node; /* NULL: neither the file nor the defaults have it */
    str key;
    bool is_default;
} hf_found;

static hf_found find_value(const hf_block *b, const char *names)
{
    char name[NAME_LENGTH];
    const char *as;
    for (str rest = str_from(names); next_name(name, &rest);) {
        const conf_node *node = find_in_file(b, name, &as);
        if (node != NULL)
            return (hf_found){node, as == name ? str_from(names) : str_from(as), false};
    }
    for (str rest = str_from(names); next_name(name, &rest);) {
        const conf_node *node = find_in(b->defaults, name);
        if (node != NULL)
            return (hf_found){node, str_from(names), true};
    }
    return (hf_found){0};
}

/* The first name of the list that the block or its defaults have, for messages. */
static str name_of(const hf_block *b, const char *names, char to[NAME_LENGTH])
{
    for (str rest = str_from(names); next_name(to, &rest);)
        if (find_in(b->map, to) != NULL)
            return str_from(to);
    for (str rest = str_from(names); next_name(to, &rest);)
        if (find_in(b->defaults, to) != NULL)
            return str_from(to);
    str rest = str_from(names);
    next_name(to, &rest);
    return str_from(to);
}

static void note_found(const hf_block *b, const char *names, const hf_found *found)
{
    char name[NAME_LENGTH];
    import_add(b->import, found->is_default ? HALLEY_IMPORT_ASSUMED : HALLEY_IMPORT_READ,
               name_of(b, names, name),
               found->node->kind == CONF_NULL ? STR("null") : found->node->text);
}

/* The common value of a list such as [3072, 3072, ...] or [448, 448]: one number for
 * every layer or side. Other lists stay lists. */
static const conf_node *get_common_item(const conf_node *node)
{
    if (node->kind != CONF_LIST || node->n == 0)
        return node;
    for (uint32_t i = 0; i < node->n; i++)
        if (node->items[i]->kind != CONF_SCALAR ||
            !str_eq(node->items[i]->text, node->items[0]->text))
            return node;
    return node->items[0];
}

double hf_real(hf_block *b, const char *names, double otherwise)
{
    const hf_found found = find_value(b, names);
    if (b->status != HALLEY_OK || found.node == NULL)
        return otherwise;
    note_found(b, names, &found);
    const conf_node *node = get_common_item(found.node);
    if (node->kind == CONF_NULL)
        return otherwise;
    char name[NAME_LENGTH];
    double value;
    if (node->kind != CONF_SCALAR || node->quoted || !number_read(node->text, &value)) {
        if (node->kind == CONF_SCALAR)
            hf_fail(b, node, "%.*s must be a whole number, is the text \"%.*s\"",
                    STR_ARG(name_of(b, names, name)), STR_ARG(node->text));
        else
            hf_fail(b, node,
                    node->kind == CONF_LIST
                        ? "%.*s differs between layers, which is not modelled"
                        : "%.*s must be a number",
                    STR_ARG(name_of(b, names, name)));
        return otherwise;
    }
    return value;
}

uint32_t hf_whole(hf_block *b, const char *names, uint32_t otherwise)
{
    const double value = hf_real(b, names, otherwise);
    char name[NAME_LENGTH];
    if (b->status == HALLEY_OK &&
        !(value >= 0 && value <= INT32_MAX && value == (double)(uint32_t)value))
        hf_fail(b, find_value(b, names).node,
                "%.*s must be a whole number from 0 to 2147483647",
                STR_ARG(name_of(b, names, name)));
    return b->status == HALLEY_OK ? (uint32_t)value : otherwise;
}

uint32_t hf_whole_needed(hf_block *b, const char *names)
{
    const uint32_t value = hf_whole(b, names, 0);
    char name[NAME_LENGTH];
    if (b->status == HALLEY_OK && value == 0)
        hf_fail(b, NULL,
                find_value(b, names).node != NULL ? "%.*s must be positive"
                                                  : "the configuration has no %.*s",
                STR_ARG(name_of(b, names, name)));
    return value;
}

bool hf_flag(hf_block *b, const char *names, bool otherwise)
{
    const hf_found found = find_value(b, names);
    if (b->status != HALLEY_OK || found.node == NULL)
        return otherwise;
    note_found(b, names, &found);
    if (found.node->kind == CONF_NULL)
        return otherwise;
    bool value = otherwise;
    if (found.node->kind != CONF_SCALAR || (!str_eq(found.node->text, STR("true")) &&
                                            !str_eq(found.node->text, STR("false")))) {
        char name[NAME_LENGTH];
        hf_fail(b, found.node, "%.*s must be true or false",
                STR_ARG(name_of(b, names, name)));
        return otherwise;
    }
    value = str_eq(found.node->text, STR("true"));
    return value;
}

str hf_text(hf_block *b, const char *names, str otherwise)
{
    const hf_found found = find_value(b, names);
    if (b->status != HALLEY_OK || found.node == NULL)
        return otherwise;
    note_found(b, names, &found);
    return found.node->kind == CONF_SCALAR ? found.node->text : otherwise;
}

const conf_node *hf_node(hf_block *b, const char *names)
{
    char name[NAME_LENGTH];
    for (str rest = str_from(names); next_name(name, &rest);) {
        const conf_node *node = find_in(b->map, name);
        if (node == NULL)
            continue;
        if (node->kind == CONF_NULL)
            return NULL;
        import_add(b->import, HALLEY_IMPORT_READ, str_from(name),
                   node->kind == CONF_SCALAR ? node->text : STR("…"));
        return node;
    }
    return NULL;
}

bool hf_has(hf_block *b, const char *name)
{
    const conf_node *node = find_in(b->map, name);
    return node != NULL && node->kind != CONF_NULL;
}

void hf_use_defaults(hf_block *b, const char *type)
{
    b->defaults = type != NULL ? find_in(b->all_defaults->root, type) : NULL;
}

hf_block hf_sub_block(const hf_block *b, const char *name, const char *type)
{
    hf_block sub = *b;
    sub.around = b->map;
    sub.map = find_in(b->map, name);
    hf_use_defaults(&sub, type);
    return sub;
}
