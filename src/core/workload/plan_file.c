/* Plans as text: a file, or one key and its text. Both read by the rows of the keys. */
#include "workload/plan_file.h"

#include "halley/plan_keys.h"
#include "workload/plan_facts.h"

#include <assert.h>
#include <string.h>

static const fact *get_row(halley_plan_key key)
{
    assert((int)key < HALLEY_N_PLAN_KEYS);
    return &workload_plan_facts.rows[key];
}

/* Refuse option names of other programs, such as "tensor", and name the matching key. */
static halley_status refuse_foreign_words(const conf_file *file, halley_error *err)
{
    bool is_alias;
    const conf_node *map = file->root;
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        const fact *meant =
            fact_find(&workload_plan_facts, map->keys[i]) == NULL
                ? fact_find_also(&is_alias, &workload_plan_facts, map->keys[i])
                : NULL;
        if (meant == NULL)
            continue;
        conf_node at = *map->items[i];
        at.line = at.key_line > 0 ? at.key_line : at.line;
        at.column = at.key_line > 0 ? at.key_column : at.column;
        return conf_error(file, &at, err, HALLEY_EINVAL,
                          "unknown key \"%.*s\"; did you mean \"%s\"?",
                          STR_ARG(map->keys[i]), meant->key);
    }
    return HALLEY_OK;
}

/* mxfp8 is short for a format and a recipe: that recipe counts, in any order of keys. */
static halley_status read_dtype_again(halley_plan *p, const conf_file *file,
                                      halley_error *err)
{
    const fact *f = get_row(HALLEY_KEY_DTYPE);
    const conf_node *node = conf_find(file->root, f->key);
    return node != NULL ? fact_set(f, p, node->text, false, err) : HALLEY_OK;
}

static uint64_t find_given(const conf_file *file)
{
    uint64_t given = 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        given |=
            (uint64_t)(conf_find(file->root, workload_plan_facts.rows[i].key) != NULL)
            << i;
    return given;
}

static halley_status read_keys(halley_plan *plan, const conf_file *file,
                               halley_error *err)
{
    halley_plan p = *plan;
    TRY(conf_read_facts(&p, file, file->root, &workload_plan_facts, err));
    TRY(read_dtype_again(&p, file, err));
    p.given |= find_given(file);
    *plan = p;
    return HALLEY_OK;
}

halley_status workload_plan_read(halley_plan *plan, const conf_file *file,
                                 halley_error *err)
{
    TRY(refuse_foreign_words(file, err));
    return read_keys(plan, file, err);
}

void halley_plan_default(halley_plan *out)
{
    *out = (halley_plan){.zero = 1, .sequence_parallel = true};
}

halley_status halley_plan_set(halley_plan *plan, halley_plan_key key, const char *text,
                              halley_error *err)
{
    conf_node value = {.kind = CONF_SCALAR, .text = str_from(text)};
    conf_node *items[] = {&value};
    str names[] = {str_from(get_row(key)->key)};
    conf_node root = {.kind = CONF_MAP, .n = 1, .keys = names, .items = items};
    return read_keys(plan, &(conf_file){.path = "", .root = &root}, err);
}

/* JSON uses keys with _: "micro_batch" is micro-batch. */
static halley_status rename_keys(conf_file *file, halley_error *err)
{
    conf_node *map = file->root;
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        if (memchr(map->keys[i].at, '_', map->keys[i].n) == NULL)
            continue;
        char *name = arena_copy(&file->memory, map->keys[i]);
        if (name == NULL)
            return error_nomem(err);
        for (size_t k = 0; name[k] != '\0'; k++)
            name[k] = name[k] == '_' ? '-' : name[k];
        if (conf_find(map, name) != map->items[i])
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "%s is given twice, with - and with _", name);
        map->keys[i] = str_from(name);
    }
    return HALLEY_OK;
}

/* A row of `halley plan --json` has its plan under "plan". */
static halley_status find_plan(conf_file *file, halley_error *err)
{
    conf_node *map = file->root;
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        if (str_eq(map->keys[i], STR("plan")) && map->items[i]->kind == CONF_MAP)
            file->root = map->items[i];
    }
    return rename_keys(file, err);
}

static halley_status read_plan(halley_plan *plan, uint64_t *given, conf_file *file,
                               halley_error *err)
{
    TRY(find_plan(file, err));
    TRY(workload_plan_read(plan, file, err));
    if (given != NULL)
        *given |= find_given(file);
    return HALLEY_OK;
}

halley_status halley_plan_load(halley_plan *plan, uint64_t *given, const char *path,
                               halley_error *err)
{
    conf_file file;
    TRY(conf_load(&file, path, err));
    const halley_status status = read_plan(plan, given, &file, err);
    conf_fini(&file);
    return status;
}

halley_status halley_plan_parse(halley_plan *plan, uint64_t *given, const char *text,
                                size_t n, const char *name, halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, (str){text, n}, name, err));
    const halley_status status = read_plan(plan, given, &file, err);
    conf_fini(&file);
    return status;
}

halley_status halley_plan_print(char **out, const halley_plan *plan, halley_plan_key key,
                                halley_error *err)
{
    strbuf text = {0};
    fact_print(&text, get_row(key), plan);
    if (text.failed) {
        strbuf_fini(&text);
        return error_nomem(err);
    }
    *out = text.at;
    return HALLEY_OK;
}

const char *halley_plan_key_name(halley_plan_key key)
{
    return (int)key < HALLEY_N_PLAN_KEYS ? get_row(key)->key : "";
}

bool halley_plan_key_find(halley_plan_key *out, bool *is_alias, const char *word)
{
    bool own;
    const fact *f = fact_find_also(is_alias != NULL ? is_alias : &own,
                                   &workload_plan_facts, str_from(word));
    if (f != NULL)
        *out = (halley_plan_key)(f - workload_plan_facts.rows);
    return f != NULL;
}

const char *const *halley_plan_key_words(halley_plan_key key)
{
    return get_row(key)->words;
}

bool halley_plan_key_is_list(halley_plan_key key)
{
    return fact_is_list(get_row(key));
}
