/*
 * sim/load/jobs.c - several jobs on one cluster. The traces of all jobs become one set
 * with one rank per NPU (jobs_trace.c); NPUs without a job do nothing. Every job is
 * simulated alone on its NPUs, then all jobs are simulated together. The runs alone show
 * which links two jobs share. The run together shows how busy these links are.
 */
#include "sim/load/jobs.h"

#include "base/array.h"
#include "base/hash.h"
#include "hw/groups.h"
#include "trace/core/edit.h"
#include "trace/core/set_alike.h"

#include <stdlib.h>
#include <string.h>

typedef struct job_state {
    sim_job_map map;
    halley_cluster *own; /* holds its groups, of its own ranks */
    halley_result *alone;
    halley_job_result out;
} job_state;

struct halley_jobs_result {
    arena memory;
    uint32_t n_jobs;
    job_state *jobs;
    halley_result *together;
    halley_cluster *cluster; /* with the groups of all jobs */
    halley_trace **traces;   /* by NPU: of its job; NULL = it has none */
    uint32_t *job_of;        /* by NPU; UINT32_MAX = none */
    halley_trace *idle;
};

static halley_status check_jobs(const halley_cluster *c, halley_error *err)
{
    if (c->astra)
        return error_set(err, HALLEY_EINVAL,
                         "several jobs need rules: native, not ASTRA-sim's");
    if (c->n_groups > 0)
        return error_set(
            err, HALLEY_EINVAL,
            "cluster \"%s\" has communicator groups, which name ranks of one "
            "job; with several jobs each brings its own",
            halley_cluster_name(c));
    return HALLEY_OK;
}

/* Copy a cluster and keep what jobs share: its slow NPUs. */
static halley_cluster *copy_shared_cluster(const halley_cluster *c)
{
    halley_cluster *copy = hw_cluster_copy(c);
    if (copy != NULL)
        copy->system.slow = c->system.slow, copy->system.late_s = c->system.late_s;
    return copy;
}

static halley_status read_job_groups(job_state *s, const halley_sim_job *job,
                                     const halley_cluster *c, halley_error *err)
{
    s->own = hw_cluster_copy(c);
    if (s->own == NULL)
        return error_nomem(err);
    s->own->n_npus = s->map.n_ranks;
    if (job->groups != NULL)
        TRY(halley_cluster_load_groups(s->own, job->groups, err));
    s->map.groups = s->own->groups;
    s->map.n_groups = s->own->n_groups;
    return HALLEY_OK;
}

/* Record which job each NPU has. */
static halley_status take_npus(halley_jobs_result *r, uint32_t j, halley_error *err)
{
    assert(j < r->n_jobs);
    const sim_job_map *m = &r->jobs[j].map;
    for (uint32_t i = 0; i < m->n_ranks; i++) {
        const uint32_t npu = m->npus[i];
        if (npu >= r->cluster->n_npus)
            return error_set(
                err, HALLEY_EINVAL,
                "job %s: rank %u is placed on NPU %u, and the cluster has %u", m->name, i,
                npu, r->cluster->n_npus);
        if (r->job_of[npu] != UINT32_MAX)
            return error_set(err, HALLEY_EINVAL,
                             "job %s: rank %u is placed on NPU %u, which job %s has",
                             m->name, i, npu, r->jobs[r->job_of[npu]].map.name);
        r->job_of[npu] = j;
    }
    return HALLEY_OK;
}

static halley_status open_jobs(halley_jobs_result *r, const halley_sim_job *jobs,
                               const uint32_t *npus, halley_error *err)
{
    int64_t next = 1;
    for (uint32_t i = 0; i < r->cluster->n_npus; i++)
        r->job_of[i] = UINT32_MAX;
    for (uint32_t j = 0; j < r->n_jobs; j++) {
        job_state *s = &r->jobs[j];
        const uint32_t n = halley_trace_set_count(jobs[j].traces);
        uint32_t *own = arena_array(&r->memory, n, sizeof *own);
        s->map = (sim_job_map){.name = arena_copy(&r->memory, str_from(jobs[j].name)),
                               .n_ranks = n};
        if (own == NULL || s->map.name == NULL)
            return error_nomem(err);
        memcpy(own, npus, n * sizeof *own);
        npus += n;
        s->map.npus = own;
        TRY(take_npus(r, j, err));
        TRY(read_job_groups(s, &jobs[j], r->cluster, err));
        s->map.world = next;
        s->map.first_group = next + 1;
        next += 1 + s->map.n_groups;
    }
    return HALLEY_OK;
}

/* Add a group to the cluster: ranks of a job (NULL: all of them) as NPUs. */
static halley_status add_job_group(halley_cluster *c, int64_t id, const sim_job_map *m,
                                   const cluster_group *g, uint32_t *room,
                                   halley_error *err)
{
    const uint32_t n = g == NULL ? m->n_ranks : g->n;
    assert(n > 0 && n <= c->n_npus); /* `room` has that many */
    for (uint32_t i = 0; i < n; i++)
        room[i] = m->npus[g == NULL ? i : g->ranks[i]];
    return hw_groups_add(c, id, room, n, err);
}

static halley_status add_groups(halley_jobs_result *r, uint32_t *room, halley_error *err)
{
    size_t n = 0;
    for (uint32_t j = 0; j < r->n_jobs; j++)
        n += 1 + r->jobs[j].map.n_groups;
    TRY(hw_groups_begin(r->cluster, n, err));
    for (uint32_t j = 0; j < r->n_jobs; j++) {
        const sim_job_map *m = &r->jobs[j].map;
        TRY(add_job_group(r->cluster, m->world, m, NULL, room, err));
        for (uint32_t i = 0; i < m->n_groups; i++)
            TRY(add_job_group(r->cluster, m->first_group + i, m, &m->groups[i], room,
                              err));
    }
    return hw_groups_end(r->cluster, err);
}

/* Ranks of a job that share a trace also share the rewritten one. */
static halley_status rewrite_traces(halley_jobs_result *r, uint32_t j,
                                    const halley_trace_set *set, halley_error *err)
{
    const sim_job_map *m = &r->jobs[j].map;
    map64 seen = {0};
    halley_status status = HALLEY_OK;
    if (!trace_set_is_whole(set))
        return error_set(err, HALLEY_EINVAL,
                         "the traces of a job must be loaded without differences_only");
    for (uint32_t i = 0; i < m->n_ranks && status == HALLEY_OK; i++) {
        const halley_trace *from = halley_trace_set_get(set, i);
        uint32_t first = i;
        bool fresh;
        assert(r->traces[m->npus[i]] == NULL); /* an NPU has one rank */
        if (!map64_put(&seen, (uint64_t)(uintptr_t)from, &first, &fresh))
            status = error_nomem(err);
        else if (fresh)
            status = sim_job_trace(&r->traces[m->npus[i]], from, m, err);
        else
            r->traces[m->npus[i]] = halley_trace_keep(r->traces[m->npus[first]]);
    }
    map64_fini(&seen);
    return status;
}

/* Collect the traces of one job (UINT32_MAX: of all jobs); other NPUs get idle traces. */
static halley_status gather_traces(halley_trace_set **out, const halley_jobs_result *r,
                                   uint32_t job, halley_error *err)
{
    const uint32_t n = r->cluster->n_npus;
    halley_trace **list = mem_array(n, sizeof *list);
    if (list == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        assert((r->traces[i] != NULL) == (r->job_of[i] != UINT32_MAX));
        const bool runs =
            r->traces[i] != NULL && (job == UINT32_MAX || r->job_of[i] == job);
        list[i] = halley_trace_keep(runs ? r->traces[i] : r->idle);
    }
    const halley_status status = halley_trace_set_new(out, list, n, err);
    for (uint32_t i = 0; i < n && status != HALLEY_OK; i++)
        halley_trace_free(list[i]);
    free(list);
    return status;
}

static halley_status run_jobs(halley_result **out, const halley_jobs_result *r,
                              uint32_t job, const halley_sim_opts *opts,
                              halley_error *err)
{
    halley_trace_set *set = NULL;
    halley_sim_opts own = opts == NULL ? (halley_sim_opts){0} : *opts;
    own.all_links = true; /* shared links are found by name */
    if (job != UINT32_MAX)
        own.record = own.heat = false;
    own.no_fold = true; /* links are compared one by one */
    TRY(gather_traces(&set, r, job, err));
    const halley_status status = halley_sim_run(out, set, r->cluster, &own, err);
    halley_trace_set_free(set);
    return status;
}

static double find_finish_s(const halley_result *result, const sim_job_map *m)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < m->n_ranks; i++) {
        const uint64_t finish = halley_result_rank(result, m->npus[i]).finish;
        assert(m->npus[i] < halley_result_ranks(result));
        last = finish > last ? finish : last;
    }
    return (double)last / halley_result_ticks_per_s(result);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted names of the links that a job uses; the caller frees them. */
static const char **list_used_links(uint32_t *n, const halley_result *result)
{
    *n = halley_result_links(result);
    const char **names = mem_array(*n, sizeof *names);
    for (uint32_t i = 0; names != NULL && i < *n; i++)
        names[i] = halley_result_link(result, i).name;
    if (names != NULL && *n > 1)
        qsort(names, *n, sizeof *names, compare_names);
    return names;
}

/* The run of all jobs lists links by use. So the first link of a job that another job
 * also uses is its busiest shared link. */
static halley_status find_shared_links(halley_jobs_result *r, halley_error *err)
{
    const char ***names = mem_array_zero(r->n_jobs, sizeof *names);
    uint32_t *n = mem_array_zero(r->n_jobs, sizeof *n);
    bool room = names != NULL && n != NULL;
    for (uint32_t j = 0; room && j < r->n_jobs; j++)
        room = (names[j] = list_used_links(&n[j], r->jobs[j].alone)) != NULL;
    for (uint32_t i = 0; room && i < halley_result_links(r->together); i++) {
        const halley_link_result link = halley_result_link(r->together, i);
        uint32_t n_users = 0;
        for (uint32_t pass = 0; pass < 2 && (pass == 0 || n_users > 1); pass++)
            for (uint32_t j = 0; j < r->n_jobs; j++) {
                halley_job_result *out = &r->jobs[j].out;
                if (bsearch(&link.name, names[j], n[j], sizeof *names[j],
                            compare_names) == NULL)
                    continue;
                n_users += pass == 0;
                out->n_shared_links += pass;
                if (pass == 1 && out->busiest_shared == NULL) {
                    out->busiest_shared = link.name;
                    out->busiest_use = link.use;
                }
            }
    }
    assert(!room || r->n_jobs > 1 || r->jobs[0].out.n_shared_links == 0);
    for (uint32_t j = 0; names != NULL && j < r->n_jobs; j++)
        free(names[j]);
    free(names);
    free(n);
    return room ? HALLEY_OK : error_nomem(err);
}

static halley_status simulate_jobs(halley_jobs_result *r, const halley_sim_job *jobs,
                                   const halley_sim_opts *opts, halley_error *err)
{
    for (uint32_t j = 0; j < r->n_jobs; j++)
        TRY(rewrite_traces(r, j, jobs[j].traces, err));
    TRY(sim_idle_trace(&r->idle, err));
    for (uint32_t j = 0; j < r->n_jobs; j++)
        TRY(run_jobs(&r->jobs[j].alone, r, j, opts, err));
    TRY(run_jobs(&r->together, r, UINT32_MAX, opts, err));
    for (uint32_t j = 0; j < r->n_jobs; j++) {
        job_state *s = &r->jobs[j];
        s->out = (halley_job_result){.name = s->map.name,
                                     .n_ranks = s->map.n_ranks,
                                     .npus = s->map.npus,
                                     .alone_s = find_finish_s(s->alone, &s->map),
                                     .together_s = find_finish_s(r->together, &s->map)};
        s->out.slowdown = s->out.alone_s > 0 ? s->out.together_s / s->out.alone_s : 1;
    }
    return find_shared_links(r, err);
}

static halley_status fill_jobs(halley_jobs_result *r, const halley_sim_job *jobs,
                               const uint32_t *npus, const halley_cluster *cluster,
                               const halley_sim_opts *opts, halley_error *err)
{
    TRY(check_jobs(cluster, err));
    r->cluster = copy_shared_cluster(cluster);
    r->jobs = mem_array_zero(r->n_jobs, sizeof *r->jobs);
    r->traces = mem_array_zero(cluster->n_npus, sizeof(halley_trace *));
    r->job_of = mem_array(cluster->n_npus, sizeof *r->job_of);
    uint32_t *room = mem_array(cluster->n_npus, sizeof *room);
    halley_status status = r->cluster == NULL || r->jobs == NULL || r->traces == NULL ||
                                   r->job_of == NULL || room == NULL
                               ? error_nomem(err)
                               : HALLEY_OK;
    if (status == HALLEY_OK)
        status = open_jobs(r, jobs, npus, err);
    if (status == HALLEY_OK)
        status = add_groups(r, room, err);
    free(room);
    return status == HALLEY_OK ? simulate_jobs(r, jobs, opts, err) : status;
}

halley_status halley_jobs_run(halley_jobs_result **out, const halley_sim_job *jobs,
                              uint32_t n_jobs, const uint32_t *npus,
                              const halley_cluster *cluster, const halley_sim_opts *opts,
                              halley_error *err)
{
    if (n_jobs == 0 || cluster->n_npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "there are no jobs, or the cluster has no number of NPUs");
    halley_jobs_result *r = mem_array_zero(1, sizeof *r);
    if (r == NULL)
        return error_nomem(err);
    r->n_jobs = n_jobs;
    const halley_status status = fill_jobs(r, jobs, npus, cluster, opts, err);
    if (status == HALLEY_OK)
        *out = r;
    else
        halley_jobs_result_free(r);
    return status;
}

void halley_jobs_result_free(halley_jobs_result *r)
{
    if (r == NULL)
        return;
    for (uint32_t j = 0; r->jobs != NULL && j < r->n_jobs; j++) {
        halley_result_free(r->jobs[j].alone);
        halley_cluster_free(r->jobs[j].own);
    }
    for (uint32_t i = 0;
         r->traces != NULL && r->cluster != NULL && i < r->cluster->n_npus; i++)
        if (r->traces[i] != NULL)
            halley_trace_free(r->traces[i]);
    if (r->idle != NULL)
        halley_trace_free(r->idle);
    halley_result_free(r->together);
    halley_cluster_free(r->cluster);
    free(r->traces);
    free(r->job_of);
    free(r->jobs);
    arena_fini(&r->memory);
    free(r);
}

uint32_t halley_jobs_count(const halley_jobs_result *result)
{
    return result->n_jobs;
}

halley_job_result halley_jobs_get(const halley_jobs_result *result, uint32_t job)
{
    assert(job < result->n_jobs);
    return result->jobs[job].out;
}

const halley_result *halley_jobs_together(const halley_jobs_result *result)
{
    return result->together;
}
