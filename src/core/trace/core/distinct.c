/*
 * Equal ranks share one trace. So the distinct traces of a set are its distinct pointers,
 * numbered by the first rank that has them.
 */
#include "trace/core/distinct.h"

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

#include <assert.h>

static bool fill_distinct(trace_distinct *d, const halley_trace_set *set, map64 *seen)
{
    assert(d->n_ranks == halley_trace_set_count(set));
    for (uint32_t rank = 0; rank < d->n_ranks; rank++) {
        const halley_trace *trace = halley_trace_set_get(set, rank);
        uint32_t at = d->n;
        bool fresh = false;
        if (!map64_put(seen, (uint64_t)(uintptr_t)trace, &at, &fresh))
            return false;
        d->which[rank] = at;
        d->n_sharing[at]++;
        if (!fresh)
            continue;
        d->first_rank[at] = rank;
        d->trace[at] = trace;
        d->n++;
    }
    assert(d->n <= d->n_ranks);
    return true;
}

halley_status trace_distinct_init(trace_distinct *out, const halley_trace_set *set,
                                  halley_error *err)
{
    const uint32_t n = halley_trace_set_count(set);
    trace_distinct d = {.n_ranks = n,
                        .which = mem_array(n, sizeof *d.which),
                        .first_rank = mem_array(n, sizeof *d.first_rank),
                        .n_sharing = mem_array_zero(n, sizeof *d.n_sharing),
                        .trace = mem_array(n, sizeof *d.trace)};
    map64 seen = {0};
    const bool ok = d.which != NULL && d.first_rank != NULL && d.n_sharing != NULL &&
                    d.trace != NULL && fill_distinct(&d, set, &seen);
    map64_fini(&seen);
    if (!ok) {
        trace_distinct_fini(&d);
        return error_nomem(err);
    }
    *out = d;
    assert(out->n > 0 || out->n_ranks == 0);
    return HALLEY_OK;
}

void trace_distinct_fini(trace_distinct *d)
{
    free(d->which);
    free(d->first_rank);
    free(d->n_sharing);
    free((void *)d->trace);
    *d = (trace_distinct){0};
}
