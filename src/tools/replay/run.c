/*
 * replay/run.c - a job: plan, check, warm up, repeat. After every repeat the first
 * process receives the times of all processes, so that finished repeats are kept whatever
 * happens next.
 */
#include "replay/run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/number/number.h"
#include "mpi/load.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

halley_status replay_mpi_start(replay_mpi *out, halley_error *err)
{
    static replay_mpi started; /* MPI cannot be started twice in a process */
    if (started.plugin == NULL) {
        const mpi_plugin *plugin;
        TRY(mpi_plugin_load(&plugin, err));
        if (!plugin->start(&started.rank, &started.n_ranks, &started.threads))
            return error_set(err, HALLEY_EIO, "MPI does not start");
        started.plugin = plugin;
    }
    *out = started;
    return HALLEY_OK;
}

void halley_replay_finish(void)
{
    replay_mpi mpi = {0};
    if (replay_mpi_start(&mpi, NULL) == HALLEY_OK && mpi.plugin != NULL &&
        mpi.plugin->is_running())
        mpi.plugin->stop();
}

static size_t count_time_bytes(const replay_plan *plan, uint32_t rank)
{
    return (size_t)plan->programs[rank].n * 2 * sizeof(uint64_t);
}

/* Room for the times of a repeat. */
static bool add_repeat_room(halley_replay *r, void **all, size_t *sizes)
{
    const uint32_t n = r->plan.n_ranks;
    uint64_t **times = realloc(r->times, (size_t)(r->n_repeats + 1) * n * sizeof *times);
    double *steps = realloc(r->steps_s, (r->n_repeats + 1) * sizeof *steps);
    if (times != NULL)
        r->times = times;
    if (steps != NULL)
        r->steps_s = steps;
    bool room = times != NULL && steps != NULL;
    for (uint32_t i = 0; room && i < n; i++) {
        sizes[i] = count_time_bytes(&r->plan, i);
        all[i] = r->is_first ? mem_array(sizes[i] + 1, 1) : NULL;
        r->times[(size_t)r->n_repeats * n + i] = all[i];
        room = !r->is_first || all[i] != NULL;
        for (uint32_t k = i + 1; k < n; k++)
            r->times[(size_t)r->n_repeats * n + k] = NULL;
    }
    return room;
}

static double find_step_s(const halley_replay *r, uint32_t repeat)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < r->plan.n_ranks; i++) {
        const uint32_t n = r->plan.programs[i].n;
        const uint64_t *ends = replay_times(r, repeat, i) + n;
        for (uint32_t k = 0; k < n; k++)
            last = ends[k] > last ? ends[k] : last;
    }
    return 1e-9 * (double)last;
}

static void save_step(const halley_replay *r, const halley_replay_opts *opts)
{
    FILE *to = opts->repeats_file == NULL
                   ? NULL
                   : fopen(opts->repeats_file, r->n_repeats == 1 ? "w" : "a");
    if (to == NULL)
        return;
    if (r->n_repeats == 1)
        fprintf(to, "repeat,step_s\n");
    fprintf(to, "%u,%s\n", r->n_repeats - 1,
            number_fixed(r->steps_s[r->n_repeats - 1], 9).at);
    fclose(to);
}

/* Send the times of this process to the first one. */
static bool keep_repeat(halley_replay *r, replay_exec *e, const halley_replay_opts *opts)
{
    const uint32_t n = e->program->n;
    void **all = mem_array_zero(r->plan.n_ranks, sizeof *all);
    size_t *sizes = mem_array_zero(r->plan.n_ranks, sizeof *sizes);
    uint64_t *own = mem_array((size_t)n * 2 + 1, sizeof *own);
    bool kept =
        all != NULL && sizes != NULL && own != NULL && add_repeat_room(r, all, sizes);
    if (kept) {
        memcpy(own, e->begins, n * sizeof *own);
        memcpy(own + n, e->ends, n * sizeof *own);
        kept = replay_job_gather(e->job, own, (size_t)n * 2 * sizeof *own, all, sizes);
    }
    if (kept && r->is_first)
        r->steps_s[r->n_repeats] = find_step_s(r, r->n_repeats);
    if (kept)
        r->n_repeats++;
    else
        for (uint32_t i = 0; all != NULL && i < r->plan.n_ranks; i++)
            free(all[i]);
    if (kept && r->is_first)
        save_step(r, opts);
    free(own);
    free(sizes);
    free(all);
    return kept;
}

static halley_status run_repeats(halley_replay *r, replay_exec *e,
                                 const halley_replay_opts *opts, halley_error *err)
{
    const uint32_t n = opts->n_repeats == 0 ? 5 : opts->n_repeats;
    const uint32_t n_warm = opts->n_warm_ups == UINT32_MAX ? 0
                            : opts->n_warm_ups == 0        ? 1
                                                           : opts->n_warm_ups;
    bool good = true;
    for (uint32_t i = 0; good && i < n_warm; i++)
        good = replay_exec_run(e);
    for (uint32_t i = 0; good && i < n; i++)
        good = replay_exec_run(e) && keep_repeat(r, e, opts);
    if (good)
        good = replay_job_meet(e->job);
    if (good)
        return HALLEY_OK;
    return error_set(err, HALLEY_EDEADLOCK, "the replay ends after %u of %u repeats: %s",
                     r->n_repeats, n,
                     e->job->sentence[0] != '\0' ? e->job->sentence : "memory ran out");
}

static halley_status run_job(halley_replay *r, const replay_mpi *mpi,
                             const halley_replay_opts *opts, halley_error *err)
{
    replay_job job;
    replay_exec exec = {0};
    halley_status status =
        replay_job_init(&job, mpi->plugin, mpi->rank, mpi->n_ranks, err);
    if (opts->stall_limit_s > 0)
        job.stall_limit_s = opts->stall_limit_s;
    if (opts->time_limit_s > 0)
        job.end_s = clock_s() + opts->time_limit_s;
    if (status == HALLEY_OK)
        status = replay_exec_init(&exec, &job, &r->plan, opts, err);
    if (status == HALLEY_OK)
        status = run_repeats(r, &exec, opts, err);
    if (status == HALLEY_OK && exec.plan != NULL)
        replay_exec_fini(&exec);
    if (status == HALLEY_OK)
        replay_job_fini(&job);
    return status; /* after a failure MPI may still use the buffers */
}

halley_status halley_replay_run(halley_replay **out, const halley_trace_set *traces,
                                const halley_replay_opts *opts, halley_error *err)
{
    replay_mpi mpi = {.n_ranks = (int)halley_trace_set_count(traces)};
    *out = NULL;
    if (!opts->dry_run || mpi_count_started() > 0)
        TRY(replay_mpi_start(&mpi, err));
    if (opts->progress == HALLEY_REPLAY_THREAD && !opts->dry_run && !mpi.threads)
        return error_set(err, HALLEY_EINVAL,
                         "this MPI does not support threads; use --progress poll");
    halley_replay *r = calloc(1, sizeof *r);
    if (r == NULL)
        return error_nomem(err);
    r->is_first = mpi.rank == 0;
    halley_status status =
        replay_plan_init(&r->plan, traces, (uint32_t)mpi.n_ranks, opts, err);
    if (status == HALLEY_OK)
        status = replay_plan_check(&r->plan, err);
    if (status == HALLEY_OK && !opts->dry_run)
        status = run_job(r, &mpi, opts, err);
    if (status != HALLEY_OK && r->n_repeats == 0) {
        halley_replay_free(r);
        return status;
    }
    *out = r;
    return status;
}

void halley_replay_free(halley_replay *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; r->times != NULL && i < (size_t)r->n_repeats * r->plan.n_ranks;
         i++)
        free(r->times[i]);
    free(r->times);
    free(r->steps_s);
    replay_plan_fini(&r->plan);
    free(r);
}

bool halley_replay_is_first(const halley_replay *r)
{
    return r->is_first;
}

uint32_t halley_replay_ranks(const halley_replay *r)
{
    return r->plan.n_ranks;
}

uint32_t halley_replay_steps(const double **out, const halley_replay *r)
{
    *out = r->steps_s;
    return r->is_first ? r->n_repeats : 0;
}

uint32_t replay_median_repeat(const halley_replay *r)
{
    assert(r->n_repeats > 0);
    for (uint32_t i = 0; i < r->n_repeats; i++) {
        uint32_t below = 0, equal = 0;
        for (uint32_t k = 0; k < r->n_repeats; k++) {
            below += r->steps_s[k] < r->steps_s[i];
            equal += r->steps_s[k] == r->steps_s[i];
        }
        if (below <= (r->n_repeats - 1) / 2 && below + equal > (r->n_repeats - 1) / 2)
            return i;
    }
    return 0;
}

double halley_replay_step_s(const halley_replay *r)
{
    return !r->is_first || r->n_repeats == 0 ? 0 : r->steps_s[replay_median_repeat(r)];
}

uint32_t halley_replay_note_count(const halley_replay *r)
{
    return (uint32_t)r->plan.notes.n;
}

const char *halley_replay_note(const halley_replay *r, uint32_t i)
{
    return r->plan.notes.at[i];
}
