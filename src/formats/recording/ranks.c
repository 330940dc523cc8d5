/*
 * Link many ranks. Each is linked on its own, then clocks are aligned. Times are written
 * only after that, because they count from the earliest start of all ranks.
 *
 * The i-th collective of a group and type is the same one on every rank. It cannot end
 * before its last member has joined, and all members end within microseconds of each
 * other. Clocks of machines differ by milliseconds, so the difference of the ends is the
 * difference of the clocks. The median over all collectives is robust against a few
 * unusual ends.
 */
#include "base/file/file.h"
#include "base/pool.h"
#include "recording/coll_ends.h"
#include "recording/link.h"

#include <stdlib.h>
#include <string.h>

typedef struct ranks {
    link_job *jobs;
    char **host_paths, **device_paths;
    uint32_t n;
    int64_t zero_ns; /* earliest start, on rank 0's clock */
    link_names names;
    halley_trace **traces;
    watcher look;
} ranks;

/* Fill the rank into "host.%d.json". NULL: no memory. */
static char *fill_in_rank(const char *pattern, uint32_t rank)
{
    const char *const at = strstr(pattern, "%d");
    strbuf path = {0};
    strbuf_printf(&path, "%.*s%u%s", (int)(at - pattern), pattern, rank, at + 2);
    if (path.failed)
        strbuf_fini(&path);
    return path.at;
}

static halley_status check_pattern(const char *pattern, halley_error *err)
{
    const char *const at = strstr(pattern, "%d");
    if (at && !strchr(at + 2, '%') && !memchr(pattern, '%', (size_t)(at - pattern)))
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "the name of many traces must contain %%d once, for the rank, as in "
                     "\"host.%%d.json\"; \"%s\" does not",
                     pattern);
}

/* Does the file of a rank exist? */
static halley_status find_rank(bool *out, const char *pattern, uint32_t rank,
                               halley_error *err)
{
    char *const path = fill_in_rank(pattern, rank);
    if (!path)
        return error_nomem(err);
    *out = file_exists(path);
    free(path);
    return HALLEY_OK;
}

/* Report which file is missing: rank `n`, though ranks up to `last` exist (last < n: none
 * after it exists). */
static halley_status refuse_gap(const char *pattern, uint32_t n, uint32_t last,
                                halley_error *err)
{
    char *const path = fill_in_rank(pattern, n);
    if (!path)
        return error_nomem(err);
    if (last > n)
        error_set(err, HALLEY_EIO, "%s is missing (%u-%u found but %u)", path,
                  n == 0 ? 1 : 0, last, n);
    else {
        error_set(err, HALLEY_EIO, "no such file; ranks count from 0");
        error_at_file(err, path);
    }
    free(path);
    return HALLEY_EIO;
}

/* Count ranks from 0. A missing rank before existing ones is an error, not the end. */
static halley_status count_ranks(uint32_t *n, const char *host_pattern, halley_error *err)
{
    enum { LOOK_AHEAD = 1024 };
    bool exists = true;
    for (*n = 0; *n < UINT32_MAX - LOOK_AHEAD; ++*n) {
        TRY(find_rank(&exists, host_pattern, *n, err));
        if (!exists)
            break;
    }
    uint32_t last = 0;
    for (uint32_t i = *n + 1; i <= *n + LOOK_AHEAD; i++) {
        TRY(find_rank(&exists, host_pattern, i, err));
        last = exists ? i : last;
    }
    return *n == 0 || last > *n ? refuse_gap(host_pattern, *n, last, err) : HALLEY_OK;
}

static halley_status run_one(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    const halley_status status = link_job_run(&((ranks *)context)->jobs[i], err);
    if (status != HALLEY_OK && err && err->file[0] == '\0')
        error_prefix(err, "rank %zu", i);
    return status;
}

static halley_status emit_one(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    ranks *const r = context;
    link_job *const job = &r->jobs[i];
    const int64_t zero = r->zero_ns - job->report.clock_offset_ns;
    if (!watcher_add(&r->look, 0))
        return watcher_error(&r->look, err);
    job->graph.names = &r->names;
    const halley_status status = link_emit(&r->traces[i], &job->graph, zero, err);
    link_job_fini(job); /* free it now, because each is large */
    memset(&job->graph, 0, sizeof job->graph);
    memset(&job->host, 0, sizeof job->host);
    memset(&job->device, 0, sizeof job->device);
    return status;
}

static bool collect_coll_ends(coll_ends *out, const link_job *job)
{
    const link_graph *const g = &job->graph;
    for (uint32_t i = 0; i < g->nodes.n; i++) {
        const comm_info *const c = link_timed_collective(g, i);
        if (c == NULL)
            continue;
        const uint64_t group = hash_bytes(c->group.at, c->group.n, c->coll);
        const int64_t end_ns = g->nodes.at[i].start_ns + g->nodes.at[i].duration_ns;
        if (!coll_ends_add(out, group, UINT64_MAX, job->device.base_ns + end_ns))
            return false;
    }
    coll_ends_sort(out);
    return true;
}

static bool align_ranks(ranks *r)
{
    coll_ends first = {0};
    bool ok = collect_coll_ends(&first, &r->jobs[0]);
    const int64_t base = r->jobs[0].device.base_ns;
    r->zero_ns = r->jobs[0].graph.from_ns;
    for (uint32_t i = 1; ok && i < r->n; i++) {
        link_job *const job = &r->jobs[i];
        coll_ends mine = {0};
        int64_t offset = 0;
        ok = collect_coll_ends(&mine, job) && coll_ends_offset(&offset, &mine, &first);
        coll_ends_fini(&mine);
        /* Times within a job are relative to its base. */
        job->report.clock_offset_ns = offset + job->device.base_ns - base;
        const int64_t from = job->graph.from_ns + job->report.clock_offset_ns;
        r->zero_ns = from < r->zero_ns ? from : r->zero_ns;
    }
    coll_ends_fini(&first);
    return ok;
}

static halley_status number_rank_groups(ranks *r, halley_error *err)
{
    for (uint32_t i = 0; i < r->n; i++)
        TRY(link_names_add(&r->names, &r->jobs[i].graph, err));
    return link_names_finish(&r->names, err);
}

/* Room for n ranks. */
static halley_status make_room(ranks *r, uint32_t n, halley_error *err)
{
    r->n = n;
    r->jobs = mem_array_zero(n, sizeof *r->jobs);
    r->host_paths = mem_array_zero(n, sizeof *r->host_paths);
    r->device_paths = mem_array_zero(n, sizeof *r->device_paths);
    r->traces = mem_array_zero(n, sizeof *r->traces);
    const bool ok = r->jobs != NULL && r->host_paths != NULL && r->device_paths != NULL &&
                    r->traces != NULL;
    return ok ? HALLEY_OK : error_nomem(err);
}

static halley_status set_jobs(ranks *r, bool has_devices, const halley_link_opts *opts,
                              halley_error *err)
{
    watcher_init(&r->look, opts != NULL ? opts->watch : NULL, "linking", "recordings",
                 (double)r->n * (has_devices ? 2 : 1));
    if (watcher_is_cancelled(&r->look))
        return watcher_error(&r->look, err);
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->host_paths[i] == NULL || (has_devices && r->device_paths[i] == NULL))
            return error_nomem(err);
        r->jobs[i].host_path = r->host_paths[i];
        r->jobs[i].device_path = r->device_paths[i];
        r->jobs[i].opts = opts;
        r->jobs[i].look = &r->look;
    }
    return HALLEY_OK;
}

static halley_status prepare_ranks(ranks *r, const char *host_pattern,
                                   const char *device_pattern,
                                   const halley_link_opts *opts, halley_error *err)
{
    uint32_t n;
    TRY(check_pattern(host_pattern, err));
    if (device_pattern)
        TRY(check_pattern(device_pattern, err));
    TRY(count_ranks(&n, host_pattern, err));
    TRY(make_room(r, n, err));
    for (uint32_t i = 0; i < n; i++) {
        r->host_paths[i] = fill_in_rank(host_pattern, i);
        r->device_paths[i] = device_pattern ? fill_in_rank(device_pattern, i) : NULL;
    }
    return set_jobs(r, device_pattern != NULL, opts, err);
}

static void free_ranks(ranks *r)
{
    for (uint32_t i = 0; r->jobs && i < r->n; i++)
        link_job_fini(&r->jobs[i]);
    for (uint32_t i = 0; r->host_paths && r->device_paths && i < r->n; i++) {
        free(r->host_paths[i]);
        free(r->device_paths[i]);
    }
    for (uint32_t i = 0; r->traces && i < r->n; i++)
        halley_trace_free(r->traces[i]);
    link_names_fini(&r->names);
    free(r->jobs);
    free(r->host_paths);
    free(r->device_paths);
    free(r->traces);
}

static halley_status finish_ranks(halley_trace_set **out, halley_link_report **reports,
                                  ranks *r, halley_error *err)
{
    halley_link_report *const all = mem_array(r->n, sizeof *all);
    if (!all)
        return error_nomem(err);
    for (uint32_t i = 0; i < r->n; i++)
        all[i] = r->jobs[i].report;
    const halley_status status = halley_trace_set_new(out, r->traces, r->n, err);
    if (status != HALLEY_OK) {
        free(all);
        return status;
    }
    for (uint32_t i = 0; i < r->n; i++)
        r->traces[i] = NULL; /* the set owns them now */
    *reports = all;
    return HALLEY_OK;
}

static halley_status link_prepared(halley_trace_set **out, halley_link_report **reports,
                                   ranks *r, uint32_t n_threads, halley_error *err)
{
    TRY(pool_run(n_threads, r->n, run_one, r, err));
    if (!align_ranks(r))
        return error_nomem(err);
    TRY(number_rank_groups(r, err));
    TRY(pool_run(n_threads, r->n, emit_one, r, err));
    return finish_ranks(out, reports, r, err);
}

halley_status halley_trace_link_ranks(halley_trace_set **out,
                                      halley_link_report **reports,
                                      const char *host_pattern,
                                      const char *device_pattern,
                                      const halley_link_opts *opts, halley_error *err)
{
    ranks r = {0};
    halley_status status = prepare_ranks(&r, host_pattern, device_pattern, opts, err);
    if (status == HALLEY_OK)
        status = link_prepared(out, reports, &r, opts ? opts->n_threads : 0, err);
    free_ranks(&r);
    return status;
}

halley_status halley_trace_link_pairs(halley_trace_set **out,
                                      halley_link_report **reports,
                                      const char *const *host_paths,
                                      const char *const *device_paths, uint32_t n,
                                      const halley_link_opts *opts, halley_error *err)
{
    ranks r = {0};
    halley_status status = make_room(&r, n, err);
    for (uint32_t i = 0; status == HALLEY_OK && i < n; i++) {
        r.host_paths[i] = strdup(host_paths[i]);
        if (device_paths != NULL)
            r.device_paths[i] = strdup(device_paths[i]);
    }
    if (status == HALLEY_OK)
        status = set_jobs(&r, device_paths != NULL, opts, err);
    if (status == HALLEY_OK)
        status = link_prepared(out, reports, &r, opts ? opts->n_threads : 0, err);
    free_ranks(&r);
    return status;
}
