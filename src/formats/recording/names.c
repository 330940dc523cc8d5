/*
 * Numbers for process groups. PyTorch may name a group by a hash, but simulators identify
 * groups by number. Names that are numbers stay. The other names of all ranks are sorted
 * and get the numbers after the largest of those. So every rank has the same numbers.
 */
#include "recording/link.h"
#include "trace/core/groups.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool add_name(link_names *names, str name)
{
    uint64_t number;
    if (name.n == 0)
        return true;
    if (str_to_u64(name, &number)) {
        if (number >= names->first && number < UINT32_MAX)
            names->first = number + 1;
        return true;
    }
    return intern_add(&names->texts, name) != HASH_NONE;
}

static halley_status add_declared(link_names *names, const link_graph *g, uint32_t node,
                                  halley_error *err)
{
    trace_groups groups = {0};
    const str values = host_io_get(g->host, node).values;
    const halley_status status =
        trace_groups_parse(&groups, (halley_bytes){values.at, values.n}, err);
    bool ok = true;
    for (size_t i = 0; status == HALLEY_OK && ok && i < groups.list.n; i++)
        ok = add_name(names, groups.list.at[i].name);
    trace_groups_fini(&groups);
    return ok ? status : error_nomem(err);
}

halley_status link_names_add(link_names *names, const link_graph *g, halley_error *err)
{
    bool ok = true;
    names->first = names->first ? names->first : 1;
    for (size_t i = 0; ok && i < g->comms.n; i++)
        ok = add_name(names, g->comms.at[i].group);
    for (size_t i = 0; ok && g->device && i < g->device->job.groups.n; i++)
        ok = add_name(names,
                      intern_text(&g->device->texts, g->device->job.groups.at[i].name));
    for (uint32_t i = 0; ok && i < g->host->nodes.n; i++)
        if (link_declares_groups(g, i))
            TRY(add_declared(names, g, i, err));
    return ok ? HALLEY_OK : error_nomem(err);
}

static int by_text(const void *a, const void *b, void *texts)
{
    return str_cmp(intern_text(texts, *(const uint32_t *)a),
                   intern_text(texts, *(const uint32_t *)b));
}

halley_status link_names_finish(link_names *names, halley_error *err)
{
    const uint32_t n = names->texts.n;
    uint32_t *const order = mem_array(n, sizeof *order);
    names->number = mem_array(n, sizeof *names->number);
    if (!order || !names->number) {
        free(order);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    if (n > 0)
        qsort_r(order, n, sizeof *order, by_text, &names->texts);
    for (uint32_t i = 0; i < n; i++)
        names->number[order[i]] = names->first + i;
    free(order);
    return HALLEY_OK;
}

str link_names_get(const link_names *names, str name, char number[24])
{
    const uint32_t id = name.n ? intern_find(&names->texts, name) : HASH_NONE;
    if (id == HASH_NONE)
        return name;
    const int n = snprintf(number, 24, "%" PRIu64, names->number[id]);
    return (str){number, (size_t)n};
}

void link_names_rewrite(strbuf *to, const link_names *names, str values)
{
    static const char key[] = "\"pg_name\": \"";
    for (;;) {
        const char *const at =
            values.n ? memmem(values.at, values.n, key, sizeof key - 1) : NULL;
        const char *const from = at ? at + sizeof key - 1 : NULL;
        const char *const end =
            at ? memchr(from, '"', (size_t)(values.at + values.n - from)) : NULL;
        if (!end)
            break;
        char number[24];
        strbuf_add(to, (str){values.at, (size_t)(from - values.at)});
        strbuf_add(to, link_names_get(names, (str){from, (size_t)(end - from)}, number));
        values.n -= (size_t)(end - values.at);
        values.at = end;
    }
    strbuf_add(to, values);
}

void link_names_fini(link_names *names)
{
    intern_fini(&names->texts);
    free(names->number);
}
