/*
 * Process groups of a whole set: collect them from the traces that declare them, and
 * write them as a file for ASTRA-sim.
 */
#include "base/error.h"
#include "base/file/file.h"
#include "trace/core/groups.h"

#include <assert.h>

static bool is_known(const trace_groups *groups, size_t n, str name)
{
    assert(n <= groups->list.n);
    for (size_t i = 0; i < n; i++)
        if (str_eq(groups->list.at[i].name, name))
            return true;
    return false;
}

/* Add the groups that the metadata nodes of one rank declare. The first of a name
 * wins. */
static halley_status collect_groups(trace_groups *groups, const halley_trace *trace,
                                    halley_error *err)
{
    assert(trace != NULL);
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        if (halley_node_type_of(trace, i) != HALLEY_NODE_METADATA)
            continue;
        const size_t before = groups->list.n;
        TRY(trace_groups_parse(groups, halley_node_inputs(trace, i).values, err));
        size_t n = before;
        for (size_t k = before; k < groups->list.n; k++)
            if (!is_known(groups, n, groups->list.at[k].name))
                groups->list.at[n++] = groups->list.at[k];
        groups->list.n = n;
    }
    return HALLEY_OK;
}

void trace_groups_text_group(strbuf *to, str name)
{
    assert(name.n > 0);
    strbuf_add(to, to->n > 0 ? STR("],\n  ") : STR("{\n  "));
    strbuf_json(to, name);
    strbuf_add(to, STR(": ["));
}

void trace_groups_text_rank(strbuf *to, uint32_t rank, bool apart)
{
    const bool first = str_ends(strbuf_str(to), STR("["));
    strbuf_printf(to, "%s%s%u", first ? "" : ",", apart ? "\n" : first ? "" : " ", rank);
}

void trace_groups_text_end(strbuf *to)
{
    strbuf_add(to, to->n > 0 ? STR("]\n}\n") : STR("{\n}\n"));
}

void trace_groups_print(strbuf *to, const trace_groups *groups, bool apart)
{
    assert(to->n == 0);
    for (size_t i = 0; i < groups->list.n; i++) {
        const trace_group *const g = &groups->list.at[i];
        trace_groups_text_group(to, g->name);
        for (uint32_t k = 0; k < g->n_ranks; k++)
            trace_groups_text_rank(to, g->ranks[k], apart);
    }
    trace_groups_text_end(to);
}

halley_status trace_groups_save(const trace_groups *groups, const char *path, bool apart,
                                halley_error *err)
{
    assert(path != NULL);
    strbuf text = {0};
    trace_groups_print(&text, groups, apart);
    return file_save(path, &text, err);
}

/* Simulators identify groups by number, and accept only ranks of the set. */
static bool is_usable(const trace_group *g, uint32_t n_ranks)
{
    int64_t id;
    bool is_whole = str_to_i64(g->name, &id) && id > 0 && id <= INT32_MAX;
    for (uint32_t i = 0; is_whole && i < g->n_ranks; i++)
        is_whole = g->ranks[i] < n_ranks;
    return is_whole;
}

halley_status halley_trace_set_declared_groups(char **out, const halley_trace_set *set,
                                               halley_error *err)
{
    trace_groups groups = {0};
    strbuf text = {0};
    size_t n = 0;
    halley_status status = trace_groups_collect(&groups, set, err);
    for (size_t i = 0; status == HALLEY_OK && i < groups.list.n; i++)
        if (is_usable(&groups.list.at[i], halley_trace_set_count(set)))
            groups.list.at[n++] = groups.list.at[i];
    groups.list.n = n;
    if (status == HALLEY_OK && n > 0)
        trace_groups_print(&text, &groups, false);
    trace_groups_fini(&groups);
    if (status == HALLEY_OK && text.failed)
        status = error_nomem(err);
    if (status == HALLEY_OK)
        *out = text.at; /* NULL when empty */
    else
        strbuf_fini(&text);
    return status;
}

halley_status trace_groups_collect(trace_groups *groups, const halley_trace_set *set,
                                   halley_error *err)
{
    const halley_trace *last = NULL;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const trace = halley_trace_set_get(set, r);
        if (trace != last)
            TRY(collect_groups(groups, trace, err));
        last = trace;
    }
    return HALLEY_OK;
}
