/* Process groups. Both forms contain small JSON, which is parsed into a tree. */
#include "trace/core/groups.h"

#include "base/conf/conf.h"
#include "base/error.h"
#include "base/file/file.h"
#include "halley/trace_edit.h"

#include <assert.h>
#include <string.h>

void trace_groups_fini(trace_groups *g)
{
    array_fini(&g->list);
    arena_fini(&g->memory);
}

static bool means_all(str name)
{
    return name.n == 0 || str_eq(name, STR("0"));
}

/* Read an integer below UINT32_MAX, not in quotes. */
static bool read_rank(uint32_t *out, const conf_node *node)
{
    uint64_t value;
    if (node->kind != CONF_SCALAR || node->quoted || !str_to_u64(node->text, &value) ||
        value >= UINT32_MAX)
        return false;
    *out = (uint32_t)value;
    return true;
}

/* EFORMAT (without an error sentence) if an item is not a rank. */
static halley_status append_group(trace_groups *g, str name, const conf_node *ranks,
                                  halley_error *err)
{
    assert(ranks->kind == CONF_LIST);
    const uint32_t n = ranks->n;
    trace_group group = {.name = {arena_copy(&g->memory, name), name.n},
                         .ranks = arena_array(&g->memory, n, sizeof *group.ranks),
                         .n_ranks = n};
    if (group.name.at == NULL || (group.ranks == NULL && n > 0))
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        if (!read_rank(&group.ranks[i], ranks->items[i]))
            return HALLEY_EFORMAT;
    return array_push(&g->list, group) ? HALLEY_OK : error_nomem(err);
}

static halley_status add_all(trace_groups *g, const conf_node *root, halley_error *err)
{
    if (root->kind != CONF_MAP)
        return error_set(err, HALLEY_EFORMAT,
                         "expected an object of groups, such as {\"1\": [0, 1]}");
    for (uint32_t i = 0; i < root->n; i++) {
        const conf_node *const ranks = root->items[i];
        if (means_all(root->keys[i]))
            continue;
        const halley_status status = ranks->kind == CONF_LIST
                                         ? append_group(g, root->keys[i], ranks, err)
                                         : HALLEY_EFORMAT;
        if (status == HALLEY_EFORMAT)
            return error_set(err, status, "group \"%s\": expected a list of ranks",
                             root->keys[i].at);
        TRY(status);
    }
    return HALLEY_OK;
}

static halley_status load_text(trace_groups *g, const file_input *in, halley_error *err)
{
    conf_file file;
    TRY(conf_parse_only_json(&file, (str){(const char *)in->at, in->n}, NULL, err));
    const halley_status status = add_all(g, file.root, err);
    conf_fini(&file);
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

/* Find the JSON array inside the Python list, and its position: the bytes before it and
 * up to its end. `inner->root` is NULL if there is none. */
static halley_status find_inner(conf_file *inner, size_t *before, size_t *end,
                                halley_bytes values, halley_error *err)
{
    const char *at = values.n > 0 ? memmem(values.at, values.n, "[{", 2) : NULL;
    *inner = (conf_file){0};
    if (at == NULL)
        return HALLEY_OK;
    *before = (size_t)(at - values.at);
    size_t used = 0;
    const halley_status status =
        conf_parse_only_json(inner, (str){at, values.n - *before}, &used, NULL);
    if (status == HALLEY_ENOMEM)
        return error_nomem(err);
    *end = *before + used;
    assert(*end <= values.n);
    return HALLEY_OK;
}

/* The ranks of an item of that array; NULL = none. */
static const conf_node *find_ranks(const conf_node *item)
{
    const conf_node *const ranks =
        item->kind == CONF_MAP ? conf_find(item, "ranks") : NULL;
    return ranks != NULL && ranks->kind == CONF_LIST && ranks->n > 0 ? ranks : NULL;
}

halley_status trace_groups_parse(trace_groups *g, halley_bytes values, halley_error *err)
{
    size_t before = 0, end = 0;
    conf_file inner;
    TRY(find_inner(&inner, &before, &end, values, err));
    const uint32_t n = inner.root != NULL ? inner.root->n : 0;
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; i < n && status == HALLEY_OK; i++) {
        const conf_node *const ranks = find_ranks(inner.root->items[i]);
        const conf_node *const name =
            ranks != NULL ? conf_find(inner.root->items[i], "pg_name") : NULL;
        if (name == NULL || !name->quoted || means_all(name->text))
            continue;
        status = append_group(g, name->text, ranks, err);
        if (status == HALLEY_EFORMAT)
            status = HALLEY_OK;
    }
    conf_fini(&inner);
    return status;
}

/* Write the new numbers of ranks as text. Returns the number of ranks that have one. */
static uint32_t write_ranks(strbuf *to, const conf_node *ranks, const uint32_t *numbers,
                            uint32_t n)
{
    uint32_t kept = 0, rank;
    strbuf_add_char(to, '[');
    for (uint32_t i = 0; i < ranks->n; i++)
        if (read_rank(&rank, ranks->items[i]) && rank < n && numbers[rank] != UINT32_MAX)
            strbuf_printf(to, "%s%u", kept++ > 0 ? ", " : "", numbers[rank]);
    strbuf_add_char(to, ']');
    return kept;
}

/* Write a group with the new numbers of its ranks and its new size. */
static void write_group(strbuf *to, const conf_node *group, const uint32_t *numbers,
                        uint32_t n)
{
    const conf_node *const ranks = find_ranks(group);
    strbuf fresh = {0};
    if (ranks == NULL) {
        conf_node_print(to, group);
        return;
    }
    const uint32_t kept = write_ranks(&fresh, ranks, numbers, n);
    to->failed |= fresh.failed;
    for (uint32_t i = 0; i < group->n; i++) {
        strbuf_add(to, i > 0 ? STR(", ") : STR("{"));
        strbuf_json(to, group->keys[i]);
        strbuf_add(to, STR(": "));
        if (group->items[i] == ranks)
            strbuf_add(to, strbuf_str(&fresh));
        else if (str_eq(group->keys[i], STR("group_size")))
            strbuf_printf(to, "%u", kept);
        else
            conf_node_print(to, group->items[i]);
    }
    strbuf_add_char(to, '}');
    strbuf_fini(&fresh);
}

halley_status trace_groups_renumber(strbuf *out, halley_bytes values, const uint32_t *to,
                                    uint32_t n, halley_error *err)
{
    assert(to != NULL);
    size_t before = 0, end = 0;
    conf_file inner;
    TRY(find_inner(&inner, &before, &end, values, err));
    if (inner.root == NULL) {
        strbuf_add(out, (str){values.at, values.n});
    } else {
        strbuf_add(out, (str){values.at, before});
        for (uint32_t i = 0; i < inner.root->n; i++) {
            strbuf_add(out, i > 0 ? STR(", ") : STR("["));
            write_group(out, inner.root->items[i], to, n);
        }
        strbuf_add_char(out, ']');
        strbuf_add(out, (str){values.at + end, values.n - end});
    }
    conf_fini(&inner);
    return out->failed ? error_nomem(err) : HALLEY_OK;
}

/* Renumber the ranks of a group. False: none of them has a new number. */
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
