/* Looks up fields of records. The common values of their file are the fallback. */
#include "score/record.h"

#include "base/number/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const conf_node *find_in_map(const conf_node *map, const char *group,
                                    const char *key)
{
    if (map == NULL || map->kind != CONF_MAP)
        return NULL;
    if (group != NULL)
        map = conf_find(map, group);
    if (map == NULL || map->kind != CONF_MAP)
        return NULL;
    return conf_find(map, key);
}

const conf_node *record_find(const score_record *r, const char *group, const char *key)
{
    const conf_node *node = find_in_map(r->row, group, key);
    if (node == NULL)
        node = find_in_map(r->common, group, key);
    return node != NULL && node->kind != CONF_NULL ? node : NULL;
}

double record_number(const score_record *r, const char *group, const char *key,
                     double otherwise)
{
    const conf_node *node = record_find(r, group, key);
    double value;
    if (node == NULL || node->kind != CONF_SCALAR || !number_read(node->text, &value))
        return otherwise;
    return value;
}

uint32_t record_count(const score_record *r, const char *group, const char *key,
                      uint32_t otherwise)
{
    const double value = record_number(r, group, key, otherwise);
    return value >= 0 && value <= 4e9 && floor(value) == value ? (uint32_t)value
                                                               : otherwise;
}

bool record_is_true(const score_record *r, const char *group, const char *key)
{
    const conf_node *node = record_find(r, group, key);
    return node != NULL && node->kind == CONF_SCALAR && str_eq(node->text, STR("true"));
}

void record_text(char *to, size_t size, const score_record *r, const char *group,
                 const char *key)
{
    const conf_node *node = record_find(r, group, key);
    const str s = node != NULL && node->kind == CONF_SCALAR ? node->text : STR("");
    snprintf(to, size, "%.*s", STR_ARG(s));
}

bool record_is(const score_record *r, const char *group, const char *key,
               const char *value)
{
    char t[32];
    record_text(t, sizeof t, r, group, key);
    return strcmp(t, value) == 0;
}

void score_row_skip(score_row *row, const char *format, const char *what)
{
    if (row->skip[0] == '\0')
        snprintf(row->skip, sizeof row->skip, format, what);
}
