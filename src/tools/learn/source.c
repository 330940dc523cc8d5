/*
 * Trace sets with their conditions and groups: PREFIX.conditions.json,
 * PREFIX.comm_group.json.
 */
#include "learn/source.h"

#include "base/file/file.h"
#include "edit/passes.h"

#include <assert.h>

void synth_source_close(synth_source *s)
{
    halley_trace_set_free(s->set);
    strbuf_fini(&s->groups);
    s->set = NULL;
}

const char *synth_source_groups(const synth_source *s)
{
    return s->groups.n > 0 ? s->groups.at : NULL;
}

/* Appends PREFIX and `what`, for a set named PREFIX or PREFIX.0.et. */
static void name_beside(strbuf *to, const char *name, const char *what)
{
    strbuf_add(to, trace_file_stem(name));
    strbuf_add(to, str_from(what));
}

/* Checks that every rank has nodes, which simulators require. */
static halley_status has_work(const halley_trace_set *set, halley_error *err)
{
    assert(halley_trace_set_count(set) > 0);
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        if (halley_trace_count(halley_trace_set_get(set, r)) > 0)
            continue;
        error_set(err, HALLEY_EINVAL, "there are no nodes");
        error_at_file(err, halley_trace_set_path(set, r));
        return HALLEY_EINVAL;
    }
    return HALLEY_OK;
}

halley_status synth_source_open(synth_source *s, const trace_found *found, size_t i,
                                uint32_t n_threads, halley_error *err)
{
    assert(i < found->list.n);
    strbuf path = {0};
    const char *name = found->list.at[i].name;
    *s = (synth_source){0};
    TRY(trace_found_load(&s->set, found, i, n_threads, err));
    name_beside(&path, name, ".conditions.json");
    name_beside(&s->groups, name, ".comm_group.json");
    halley_status status = path.failed || s->groups.failed
                               ? error_nomem(err)
                               : conditions_load(&s->conditions, path.at, err);
    strbuf_fini(&path);
    if (!s->groups.failed && !file_exists(s->groups.at))
        s->groups.n = 0;
    if (status == HALLEY_OK && s->conditions.n == 0)
        conditions_metadata(&s->conditions, halley_trace_set_get(s->set, 0));
    if (status == HALLEY_OK)
        status = synth_passes_alone(s->set, synth_source_groups(s), n_threads, err);
    if (status == HALLEY_OK)
        status = has_work(s->set, err);
    if (status != HALLEY_OK)
        synth_source_close(s);
    return status;
}
