/* Process groups. Both forms hold small JSON, which jansson reads. */
#include "trace/core/groups.h"

#include "base/error.h"
#include "base/file/file.h"
#include "halley/trace_edit.h"

#include <assert.h>
#include <jansson.h>
#include <string.h>

void trace_groups_fini(trace_groups *g)
{
    array_fini(&g->list);
    arena_fini(&g->memory);
}

static bool means_all(const char *name)
{
    return name[0] == '\0' || strcmp(name, "0") == 0;
}

static bool is_rank(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) < UINT32_MAX;
}

/* EFORMAT (without a sentence) when an item is no rank. */
static halley_status append_group(trace_groups *g, const char *name, const json_t *ranks,
                                  halley_error *err)
{
    assert(name != NULL && ranks != NULL);
    const size_t n = json_array_size(ranks);
    trace_group group = {.name = str_from(arena_copy(&g->memory, str_from(name))),
                         .ranks = arena_array(&g->memory, n, sizeof *group.ranks),
                         .n_ranks = (uint32_t)n};
    if (group.name.at == NULL || group.name.n == 0 || (group.ranks == NULL && n > 0))
        return error_nomem(err);
    for (size_t i = 0; i < n; i++) {
        const json_t *item = json_array_get(ranks, i);
        if (!is_rank(item))
            return HALLEY_EFORMAT;
        group.ranks[i] = (uint32_t)json_integer_value(item);
    }
    return array_push(&g->list, group) ? HALLEY_OK : error_nomem(err);
}

static halley_status add_all(trace_groups *g, json_t *root, halley_error *err)
{
    const char *name = NULL;
    json_t *ranks = NULL;
    json_object_foreach(root, name, ranks)
    {
        if (means_all(name))
            continue;
        const halley_status status =
            json_is_array(ranks) ? append_group(g, name, ranks, err) : HALLEY_EFORMAT;
        if (status == HALLEY_EFORMAT)
            return error_set(err, status, "group \"%s\": expected a list of ranks", name);
        TRY(status);
    }
    return HALLEY_OK;
}

static halley_status load_text(trace_groups *g, const file_input *in, halley_error *err)
{
    json_error_t why;
    json_t *root = json_loadb((const char *)in->at, in->n, JSON_REJECT_DUPLICATES, &why);
    if (root == NULL) {
        error_set(err, HALLEY_EFORMAT, "not JSON: %s", why.text);
        if (why.line > 0)
            error_at_line(err, (uint32_t)why.line, (uint32_t)why.column);
        return HALLEY_EFORMAT;
    }
    const halley_status status =
        json_is_object(root)
            ? add_all(g, root, err)
            : error_set(err, HALLEY_EFORMAT,
                        "expected an object of groups, such as {\"1\": [0, 1]}");
    json_decref(root);
    return status;
}

halley_status trace_groups_load(trace_groups *g, const char *path, halley_error *err)
{
    file_input in;
    TRY(file_input_open(&in, path, err));
    const halley_status status = load_text(g, &in, err);
    if (status != HALLEY_OK)
        error_at_file(err, path);
    file_input_close(&in);
    return status;
}

/* The JSON array inside the Python list; *before and *after are what stands around it.
 * NULL when there is none. */
static json_t *find_inner(halley_bytes values, size_t *before, size_t *after)
{
    const char *at = values.n > 0 ? memmem(values.at, values.n, "[{", 2) : NULL;
    if (at == NULL)
        return NULL;
    *before = (size_t)(at - values.at);
    json_error_t why;
    json_t *root = json_loadb(at, values.n - *before, JSON_DISABLE_EOF_CHECK, &why);
    if (root == NULL) /* jansson calls a string without memory an invalid token: again */
        root = json_loadb(at, values.n - *before, JSON_DISABLE_EOF_CHECK, &why);
    if (root == NULL)
        return NULL;
    *after = *before + (size_t)why.position;
    assert(*before <= *after);
    return root;
}

halley_status trace_groups_parse(trace_groups *g, halley_bytes values, halley_error *err)
{
    size_t before = 0, after = 0;
    json_t *root = find_inner(values, &before, &after);
    halley_status status = HALLEY_OK;
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(root, i, item)
    {
        const char *name = json_string_value(json_object_get(item, "pg_name"));
        const json_t *ranks = json_object_get(item, "ranks");
        if (name == NULL || means_all(name) || json_array_size(ranks) == 0)
            continue;
        status = append_group(g, name, ranks, err);
        if (status != HALLEY_OK && status != HALLEY_EFORMAT)
            break;
        status = HALLEY_OK;
    }
    json_decref(root);
    return status;
}

static bool renumber_ranks(json_t *group, const uint32_t *to, uint32_t n)
{
    assert(n > 0);
    json_t *ranks = json_object_get(group, "ranks");
    json_t *fresh = json_array();
    if (fresh == NULL)
        return false;
    bool ok = true;
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(ranks, i, item)
    {
        if (is_rank(item) && json_integer_value(item) < (json_int_t)n &&
            to[json_integer_value(item)] != UINT32_MAX)
            ok &= json_array_append_new(fresh,
                                        json_integer(to[json_integer_value(item)])) == 0;
    }
    if (json_object_get(group, "group_size") != NULL && json_array_size(ranks) > 0)
        ok &= json_object_set_new(group, "group_size",
                                  json_integer((json_int_t)json_array_size(fresh))) == 0;
    return json_object_set_new(group, "ranks", fresh) == 0 && ok;
}

halley_status trace_groups_renumber(strbuf *out, halley_bytes values, const uint32_t *to,
                                    uint32_t n, halley_error *err)
{
    assert(to != NULL);
    size_t before = 0, after = 0;
    json_t *root = find_inner(values, &before, &after);
    if (root == NULL) {
        strbuf_add(out, (str){values.at, values.n});
        return out->failed ? error_nomem(err) : HALLEY_OK;
    }
    bool ok = true;
    size_t i = 0;
    json_t *item = NULL;
    json_array_foreach(root, i, item) if (json_array_size(json_object_get(item, "ranks")))
        ok &= renumber_ranks(item, to, n);
    char *text = ok ? json_dumps(root, 0) : NULL;
    json_decref(root);
    if (text == NULL)
        return error_nomem(err);
    strbuf_add(out, (str){values.at, before});
    strbuf_add(out, str_from(text));
    strbuf_add(out, (str){values.at + after, values.n - after});
    free(text);
    return out->failed ? error_nomem(err) : HALLEY_OK;
}

/* Ranks under their new numbers; false: none of them has one. */
static bool renumber_group(trace_group *group, const uint32_t *to, uint32_t n)
{
    assert(n > 0 && group->n_ranks > 0);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < group->n_ranks; i++)
        if (group->ranks[i] < n && to[group->ranks[i]] != UINT32_MAX)
            group->ranks[kept++] = to[group->ranks[i]];
    group->n_ranks = kept;
    return kept > 0;
}

halley_status halley_groups_renumber(const char *out_path, const char *path,
                                     const uint32_t *to, uint32_t n, halley_error *err)
{
    assert(to != NULL || n == 0);
    trace_groups groups = {0};
    halley_status status = trace_groups_load(&groups, path, err);
    if (status == HALLEY_OK) {
        size_t kept = 0;
        for (size_t i = 0; i < groups.list.n; i++)
            if (renumber_group(&groups.list.at[i], to, n))
                groups.list.at[kept++] = groups.list.at[i];
        groups.list.n = kept;
        status = trace_groups_save(&groups, out_path, false, err);
    }
    trace_groups_fini(&groups);
    return status;
}
