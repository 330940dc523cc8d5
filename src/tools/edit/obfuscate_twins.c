/*
 * Twins differ only in the names of their groups before obfuscation. So they differ only
 * there afterwards: all choices depend on the key and on what the twins have in common.
 */
#include "edit/obfuscate_twins.h"

#include "base/error.h"
#include "trace/core/regroup.h"

#include <assert.h>
#include <stdlib.h>

/* Removed metadata is counted by name, so it must be equal. */
static bool same_metadata(const halley_trace *a, const halley_trace *b)
{
    assert(a != NULL && b != NULL);
    const uint32_t n = halley_trace_metadata_count(a);
    bool same = n == halley_trace_metadata_count(b) &&
                (halley_trace_version(a).n > 0) == (halley_trace_version(b).n > 0) &&
                (halley_trace_metadata_unknown(a).n > 0) ==
                    (halley_trace_metadata_unknown(b).n > 0);
    for (uint32_t i = 0; same && i < n; i++) {
        const halley_attr x = halley_trace_metadata(a, i),
                          y = halley_trace_metadata(b, i);
        same = str_eq((str){x.name.at, x.name.n}, (str){y.name.at, y.name.n}) &&
               (x.unknown.n > 0) == (y.unknown.n > 0);
    }
    return same;
}

static void find_like(obfuscate_twins *t, const trace_distinct *d,
                      const halley_obfuscate_opts *opts)
{
    for (uint32_t i = 0; i < d->n; i++) {
        const uint32_t first = d->which[t->before.first[d->first_rank[i]]];
        t->like[i] =
            opts->n_keep == 0 && same_metadata(d->trace[i], d->trace[first]) ? first : i;
        t->has_twins[t->like[i]] = t->has_twins[t->like[i]] || t->like[i] != i;
    }
}

halley_status obfuscate_twins_find(obfuscate_twins *out, const halley_trace_set *set,
                                   const trace_distinct *distinct,
                                   const halley_obfuscate_opts *opts, halley_error *err)
{
    const size_t n = distinct->n_ranks;
    TRY(trace_twins_init(&out->before, set, opts->n_threads, err));
    out->like = mem_array(distinct->n, sizeof *out->like);
    out->has_twins = mem_array_zero(distinct->n, sizeof *out->has_twins);
    out->after.n_ranks = distinct->n_ranks;
    out->after.first = mem_array(n, sizeof *out->after.first);
    out->after.names_at = mem_array(n + 1, sizeof *out->after.names_at);
    if (!out->like || !out->has_twins || !out->after.first || !out->after.names_at)
        return error_nomem(err);
    find_like(out, distinct, opts);
    return HALLEY_OK;
}

halley_status obfuscate_twins_name(obfuscate_twins *t, const trace_distinct *distinct,
                                   const obfuscate_job *job, halley_error *err)
{
    trace_twins *const after = &t->after;
    for (uint32_t r = 0; r < distinct->n_ranks; r++) {
        after->first[r] = distinct->first_rank[t->like[distinct->which[r]]];
        after->n_kinds += after->first[r] == r;
        after->names_at[r] = (uint32_t)after->names.n;
        for (uint32_t k = t->before.names_at[r]; k < t->before.names_at[r + 1]; k++) {
            char room[OBFUSCATE_GROUP];
            const str name =
                obfuscate_group(room, job, job->opts->level, t->before.names.at[k]);
            const char *const copy = arena_copy(&t->memory, name);
            if (!copy || !array_push(&after->names, (str){copy, name.n}))
                return error_nomem(err);
        }
    }
    after->names_at[distinct->n_ranks] = (uint32_t)after->names.n;
    return HALLEY_OK;
}

void obfuscate_twins_fini(obfuscate_twins *t)
{
    free(t->like);
    free(t->has_twins);
    trace_twins_fini(&t->before);
    trace_twins_fini(&t->after);
    arena_fini(&t->memory);
}

halley_status obfuscate_twin(halley_trace **out, const obfuscate_twins *t,
                             const trace_distinct *distinct, uint32_t i,
                             halley_trace *made, halley_error *err)
{
    assert(i < distinct->n && made != NULL);
    const uint32_t rank = distinct->first_rank[i];
    const uint32_t first = distinct->first_rank[t->like[i]];
    const uint32_t *const at = t->after.names_at;
    return trace_regrouped(out, made, t->after.names.at + at[first],
                           t->after.names.at + at[rank], at[rank + 1] - at[rank], err);
}
