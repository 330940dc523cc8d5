/*
 * Schema tables. One row per key defines how its value is read, where it is stored and
 * its allowed range. Keys are read in file order, so the first error is the first in the
 * file.
 */
#include "base/conf/conf.h"
#include "base/number/number.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

enum { MOST_FIELDS = 128 };

/* Context for the functions below about the value they read. */
typedef struct value {
    const conf_file *file;
    const conf_node *node;
    const conf_field *field;
    halley_error *err;
} value;

static const char *show_bound(char *to, size_t size, const conf_field *field,
                              double bound)
{
    assert(size > 0);
    if (field->type == CONF_TYPE_QUANTITY && field->unit == UNITS_SHARE) {
        snprintf(to, size, "%.30s %%", number_digits(100 * bound, 6).at);
        return to;
    }
    if (field->type == CONF_TYPE_QUANTITY)
        return units_format(to, size, bound, field->unit);
    snprintf(to, size, "%s", number_digits(bound, 15).at);
    return to;
}

static halley_status check_value_range(const value *v, double number)
{
    assert(v->field != NULL);
    const conf_field *f = v->field;
    const bool has_max = f->max >= f->min;
    if (f->min == 0 && f->max == 0)
        return HALLEY_OK;
    if (number >= f->min && (!has_max || number <= f->max))
        return HALLEY_OK;
    char low[40], high[40];
    show_bound(low, sizeof low, f, f->min);
    show_bound(high, sizeof high, f, f->max);
    const str is = v->node->text;
    if (number <= 0 && f->min > 0)
        return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                          "%s must be positive, is %.*s", f->key, STR_ARG(is));
    if (has_max && f->type == CONF_TYPE_QUANTITY && f->unit == UNITS_SHARE)
        return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                          "%s must be between %s and %s, is %.*s", f->key, low, high,
                          STR_ARG(is));
    if (number < f->min)
        return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                          "%s must be at least %s, is %.*s", f->key, low, STR_ARG(is));
    return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                      "%s must be at most %s, is %.*s", f->key, high, STR_ARG(is));
}

static halley_status to_u64(uint64_t *out, const value *v, uint64_t largest)
{
    const conf_field *f = v->field;
    int64_t number = 0;
    uint64_t size;
    if (v->node->kind == CONF_SCALAR && !v->node->quoted &&
        str_to_u64(v->node->text, &size)) {
        TRY(check_value_range(v, (double)size));
    } else {
        TRY(conf_to_i64(&number, v->file, v->node, f->key, v->err));
        TRY(check_value_range(v, (double)number));
        size = (uint64_t)number;
    }
    if (number < 0)
        return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                          "%s must not be negative, is %.*s", f->key,
                          STR_ARG(v->node->text));
    if (size > largest)
        return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                          "%s must be at most %llu, is %.*s", f->key,
                          (unsigned long long)largest, STR_ARG(v->node->text));
    *out = size;
    return HALLEY_OK;
}

static halley_status to_double(double *out, const value *v)
{
    double number;
    if (v->field->type == CONF_TYPE_QUANTITY)
        TRY(conf_to_quantity(&number, v->file, v->node, v->field->unit, v->field->key,
                             v->err));
    else
        TRY(conf_to_double(&number, v->file, v->node, v->field->key, v->err));
    TRY(check_value_range(v, number));
    *out = number;
    return HALLEY_OK;
}

static halley_status to_enum(uint32_t *out, const value *v)
{
    assert(v->field->names != NULL);
    const conf_field *f = v->field;
    const str text = v->node->text;
    char list[512] = "";
    uint32_t n = 0;
    for (size_t used = 0; f->names[n] != NULL; n++) {
        if (v->node->kind == CONF_SCALAR && str_eq(text, str_from(f->names[n]))) {
            *out = n;
            return HALLEY_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                     n > 0 ? ", " : "", f->names[n]);
    }
    const char *meant =
        v->node->kind == CONF_SCALAR ? str_nearest(text, f->names, n) : NULL;
    return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                      "%s must be one of %s; is \"%.*s\"%s%s%s", f->key, list,
                      STR_ARG(text), meant != NULL ? ", did you mean \"" : "",
                      meant != NULL ? meant : "", meant != NULL ? "\"?" : "");
}

static halley_status to_text(str *out, const value *v)
{
    if (v->node->kind != CONF_SCALAR)
        return conf_error(v->file, v->node, v->err, HALLEY_EINVAL,
                          "%s must be a single text, not a %s", v->field->key,
                          v->node->kind == CONF_LIST ? "list" : "map");
    *out = v->node->text;
    return HALLEY_OK;
}

/* The words of a list, or of a text that joins them. */
static halley_status read_words(void *to, const value *v)
{
    halley_error own = {0};
    const bool is_list = v->node->kind == CONF_LIST;
    for (uint32_t i = 0; i < (is_list ? v->node->n : 1); i++) {
        const conf_node *node = is_list ? v->node->items[i] : v->node;
        if (node->kind != CONF_SCALAR)
            return conf_error(v->file, node, v->err, HALLEY_EINVAL,
                              "%s needs single values in its list", v->field->key);
        const halley_status status =
            fact_set(v->field->fact, to, node->text, i > 0, &own);
        if (status != HALLEY_OK)
            return conf_error(v->file, node, v->err, status, "%s", own.text);
    }
    return HALLEY_OK;
}

/* Values of rows that a plain type cannot store. */
static halley_status read_fact(void *to, const value *v)
{
    const fact *f = v->field->fact;
    char *member = (char *)to + f->at;
    uint64_t size = UINT32_MAX;
    uint32_t word = 0;
    switch (f->kind) {
    case FACT_CHOICE:
        assert(f->size == sizeof(bool));
        TRY(to_enum(&word, v));
        *(bool *)member = word > 0;
        return HALLEY_OK;
    case FACT_U32:
        if (v->node->kind != CONF_SCALAR || !str_eq(v->node->text, str_from(f->all))) {
            const halley_status status = to_u64(&size, v, UINT32_MAX);
            if (status != HALLEY_OK)
                return conf_error(v->file, v->node, v->err, status,
                                  "%s must be a whole number from %s to %s or \"%s\"; is "
                                  "\"%.*s\"",
                                  f->key, number_digits(f->min, 15).at,
                                  number_digits(f->max, 15).at, f->all,
                                  STR_ARG(v->node->text));
        }
        *(uint32_t *)(void *)member = (uint32_t)size;
        return HALLEY_OK;
    default:
        return read_words(to, v);
    }
}

static halley_status read_field_value(void *to, const value *v)
{
    char *member = (char *)to + v->field->offset;
    uint64_t size = 0;
    switch (v->field->type) {
    case CONF_TYPE_U32:
        TRY(to_u64(&size, v, UINT32_MAX));
        *(uint32_t *)(void *)member = (uint32_t)size;
        return HALLEY_OK;
    case CONF_TYPE_U64:
        return to_u64((uint64_t *)(void *)member, v, UINT64_MAX);
    case CONF_TYPE_DOUBLE:
    case CONF_TYPE_QUANTITY:
        return to_double((double *)(void *)member, v);
    case CONF_TYPE_BOOL:
        return conf_to_bool((bool *)(void *)member, v->file, v->node, v->field->key,
                            v->err);
    case CONF_TYPE_TEXT:
        return to_text((str *)(void *)member, v);
    case CONF_TYPE_ENUM:
        return to_enum((uint32_t *)(void *)member, v);
    case CONF_TYPE_NODE:
        *(const conf_node **)(void *)member = v->node;
        return HALLEY_OK;
    case CONF_TYPE_FACT:
        return read_fact(to, v);
    }
    return error_set(v->err, HALLEY_EINVAL, "%s has no type", v->field->key);
}

/* For errors at the key of this node rather than at its value. */
static conf_node find_key_name(const conf_node *node)
{
    return (conf_node){.line = node->key_line, .column = node->key_column};
}

/* Sort names by distance; equally near ones stay in order. */
static void sort_by_distance(const char **names, size_t n, str wrong)
{
    assert(names != NULL || n == 0);
    for (size_t i = 1; i < n; i++) {
        const char *name = names[i];
        const uint32_t distance = str_distance(wrong, str_from(name));
        size_t k = i;
        for (; k > 0 && str_distance(wrong, str_from(names[k - 1])) > distance; k--)
            names[k] = names[k - 1];
        names[k] = name;
    }
}

static halley_status unknown_key(const conf_file *file, const conf_node *node, str key,
                                 const conf_field *fields, size_t n, halley_error *err)
{
    assert(n > 0);
    const char *names[MOST_FIELDS] = {0};
    const size_t n_names = n < MOST_FIELDS ? n : MOST_FIELDS;
    for (size_t i = 0; i < n_names; i++)
        names[i] = fields[i].key;
    const conf_node at = find_key_name(node);
    const char *meant = str_nearest(key, names, n_names);
    if (meant != NULL)
        return conf_error(file, &at, err, HALLEY_EINVAL,
                          "unknown key \"%.*s\"; did you mean \"%s\"?", STR_ARG(key),
                          meant);
    enum { MOST_SHOWN = 8 }; /* a longer list is shortened to the nearest ones */
    sort_by_distance(names, n_names > MOST_SHOWN ? n_names : 0, key);
    char list[512] = "";
    for (size_t i = 0, used = 0; i < n_names && i < MOST_SHOWN && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s",
                                 i > 0 ? ", " : "", names[i]);
    return conf_error(file, &at, err, HALLEY_EINVAL,
                      "unknown key \"%.*s\"; the keys here are %s%s", STR_ARG(key), list,
                      n_names > MOST_SHOWN ? ", ..." : "");
}

static const conf_field *find_field(const conf_field *fields, size_t n, str key)
{
    for (size_t i = 0; i < n; i++)
        if (conf_key_is(key, fields[i].key))
            return &fields[i];
    return NULL;
}

static halley_status check_required(const conf_file *file, const conf_node *map,
                                    const conf_field *fields, size_t n, halley_error *err)
{
    for (size_t i = 0; i < n; i++) {
        const conf_node *node = conf_find(map, fields[i].key);
        if (fields[i].required && (node == NULL || node->kind == CONF_NULL))
            return conf_error(file, map, err, HALLEY_EINVAL, "key \"%s\" is missing%s%s",
                              fields[i].key, fields[i].doc != NULL ? ": " : "",
                              fields[i].doc != NULL ? fields[i].doc : "");
    }
    return HALLEY_OK;
}

halley_status conf_read(void *to, const conf_file *file, const conf_node *map,
                        const conf_field *fields, size_t n, bool strict,
                        uint32_t *n_unknown, halley_error *err)
{
    assert(fields != NULL || n == 0);
    static const conf_node empty = {.kind = CONF_NULL};
    map = map != NULL ? map : &empty;
    if (map->kind != CONF_MAP && map->kind != CONF_NULL)
        return conf_error(file, map, err, HALLEY_EINVAL,
                          "here must be keys with values (key: value), not a %s",
                          map->kind == CONF_LIST ? "list" : "single value");
    uint32_t n_left = 0;
    for (uint32_t i = 0; i < map->n; i++) {
        const conf_node *node = map->items[i];
        const conf_field *field = find_field(fields, n, map->keys[i]);
        if (field == NULL && strict)
            return unknown_key(file, node, map->keys[i], fields, n, err);
        n_left += field == NULL;
        if (field == NULL || (node->kind == CONF_NULL && !strict))
            continue;
        if (strict && conf_find(map, field->key) != node)
            return conf_error(file, node, err, HALLEY_EINVAL,
                              "%s is given twice, with - and with _", field->key);
        if (node->kind == CONF_NULL)
            return conf_error(file, node, err, HALLEY_EINVAL,
                              "%s has no value; give one or remove the key", field->key);
        TRY(read_field_value(to, &(value){file, node, field, err}));
    }
    TRY(check_required(file, map, fields, n, err));
    if (n_unknown != NULL)
        *n_unknown += n_left;
    return HALLEY_OK;
}

static conf_type find_type(const fact *f)
{
    switch (f->kind) {
    case FACT_U32:
        return f->all == NULL ? CONF_TYPE_U32 : CONF_TYPE_FACT;
    case FACT_U64:
        return CONF_TYPE_U64;
    case FACT_REAL:
        return f->unit == FACT_NO_UNIT ? CONF_TYPE_DOUBLE : CONF_TYPE_QUANTITY;
    case FACT_FLAG:
        return CONF_TYPE_BOOL;
    case FACT_CHOICE:
        return f->size == sizeof(uint32_t) ? CONF_TYPE_ENUM : CONF_TYPE_FACT;
    default:
        assert(f->kind == FACT_BITS || f->kind == FACT_OWN);
        return CONF_TYPE_FACT;
    }
}

halley_status conf_read_facts(void *to, const conf_file *file, const conf_node *map,
                              const fact_table *table, halley_error *err)
{
    conf_field fields[MOST_FIELDS];
    size_t n = 0;
    for (const fact *f = table->rows; f->key != NULL; f++) {
        assert(n < MOST_FIELDS);
        fields[n++] = (conf_field){.key = f->key,
                                   .type = find_type(f),
                                   .unit = fact_unit_kind(f->unit),
                                   .offset = f->at,
                                   .min = f->min,
                                   .max = f->max,
                                   .names = f->words,
                                   .doc = f->doc,
                                   .fact = f};
    }
    return conf_read(to, file, map, fields, n, true, NULL, err);
}
