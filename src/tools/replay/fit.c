/*
 * replay/fit.c - measure ladders of message sizes, for every kind, group and size. All
 * members synchronize and then begin at once. The sample is the time of the member that
 * began last, which is the least time. The result is the median of the samples. Every
 * sample uses other memory, like the buffers of a training step, so that caches are cold.
 * Progress is made as in a replay.
 */
#include "replay/fit.h"

#include "base/clock.h"
#include "base/error.h"
#include "replay/run.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    FIT_TAG = 28000,
    MOST_GROUPS = 4,
    SMALLEST = 64,
    AREA_BYTES = 128 << 20, /* samples move through it, so that caches are cold */
};

typedef struct fit_group {
    int ranks[1024];
    uint32_t n, per_node;
    mpi_comm comm;
    int place; /* of this process in the group; -1 = not a member */
} fit_group;

typedef struct fitter {
    replay_job job;
    const halley_replay_fit_opts *opts;
    uint32_t n_samples, per_node;
    fit_group groups[MOST_GROUPS];
    uint32_t n_groups;
    char *send, *receive; /* areas */
    size_t area, at;      /* size of each; offset of the next sample */
    double *samples;      /* of this process */
    double *all;          /* by rank and sample, on the first process */
    ARRAY(fit_ladder) ladders;
    halley_error *err;
} fitter;

/* Chakra's number of each kind; SEND has none. */
static const uint32_t coll_numbers[] = {
    [HALLEY_COLLECTIVE_ALL_REDUCE] = HALLEY_COLL_ALL_REDUCE,
    [HALLEY_COLLECTIVE_ALL_GATHER] = HALLEY_COLL_ALL_GATHER,
    [HALLEY_COLLECTIVE_REDUCE_SCATTER] = HALLEY_COLL_REDUCE_SCATTER,
    [HALLEY_COLLECTIVE_ALL_TO_ALL] = HALLEY_COLL_ALL_TO_ALL,
    [HALLEY_COLLECTIVE_BROADCAST] = HALLEY_COLL_BROADCAST,
    [HALLEY_COLLECTIVE_REDUCE] = HALLEY_COLL_REDUCE,
    [HALLEY_COLLECTIVE_GATHER] = HALLEY_COLL_GATHER,
    [HALLEY_COLLECTIVE_SCATTER] = HALLEY_COLL_SCATTER,
};

static bool wait_for_request(fitter *f, mpi_request *request)
{
    bool complete = *request == 0;
    while (!complete) {
        if (!f->job.mpi->test(request, &complete) || !replay_job_poll(&f->job))
            return false;
        if (!complete)
            replay_job_pause(&f->job);
    }
    return true;
}

static bool begin_sample(fitter *f, const fit_group *g, halley_collective_kind kind,
                         uint64_t bytes, mpi_request *request)
{
    const uint64_t n = g->n;
    uint64_t part = bytes;
    char *const send = f->send + f->at, *const receive = f->receive + f->at;
    if (kind == HALLEY_COLLECTIVE_SEND)
        return f->job.mpi->post(request, g->comm, g->place == 0 ? send : receive,
                                (size_t)bytes, 1 - g->place, 1, g->place == 0);
    if (kind == HALLEY_COLLECTIVE_ALL_GATHER || kind == HALLEY_COLLECTIVE_ALL_TO_ALL ||
        kind == HALLEY_COLLECTIVE_REDUCE_SCATTER || kind == HALLEY_COLLECTIVE_GATHER ||
        kind == HALLEY_COLLECTIVE_SCATTER)
        part = bytes / n / sizeof(float) * sizeof(float);
    const mpi_collective c = {.kind = coll_numbers[kind],
                              .comm = g->comm,
                              .n = (int)n,
                              .send = send,
                              .receive = receive,
                              .bytes = (size_t)(part > 0 ? part : sizeof(float))};
    return f->job.mpi->collect(request, &c);
}

static bool take_samples(fitter *f, const fit_group *g, halley_collective_kind kind,
                         uint64_t bytes)
{
    for (uint32_t i = 0; i < f->n_samples + 3; i++) {
        mpi_request request = 0;
        const mpi_collective barrier = {
            .kind = HALLEY_COLL_BARRIER, .comm = g->comm, .n = (int)g->n};
        if (!f->job.mpi->collect(&request, &barrier) || !wait_for_request(f, &request))
            return false;
        f->at = f->at + 2 * ((size_t)bytes + 4096) > f->area
                    ? 0
                    : f->at + (size_t)bytes + 4096;
        const uint64_t from = replay_now_ns();
        if (!begin_sample(f, g, kind, bytes, &request) || !wait_for_request(f, &request))
            return false;
        f->job.own.n_done++;
        if (i >= 3) /* the first samples include set-up */
            f->samples[i - 3] = 1e-9 * (double)(replay_now_ns() - from);
    }
    return true;
}

/* On the first process: the median over the samples. The time of a sample is that of the
 * member that began last. If one rank sends to others, which then continue, it is that of
 * the member that ended last. */
static double find_time(fitter *f, const fit_group *g, halley_collective_kind kind)
{
    const bool rooted = kind >= HALLEY_COLLECTIVE_BROADCAST; /* includes messages */
    for (uint32_t i = 0; i < f->n_samples; i++) {
        double least = INFINITY, most = 0;
        for (uint32_t k = 0; k < g->n; k++) {
            const double took = f->all[(size_t)g->ranks[k] * f->n_samples + i];
            least = fmin(least, took);
            most = fmax(most, took);
        }
        f->samples[i] = rooted ? most : least;
    }
    mem_sort_doubles(f->samples, f->n_samples);
    return f->samples[(f->n_samples - 1) / 2];
}

static bool measure_point(fitter *f, const fit_group *g, fit_ladder *l, uint64_t bytes)
{
    void *all[1024];
    size_t sizes[1024];
    const size_t bytes_each = f->n_samples * sizeof *f->samples;
    memset(f->samples, 0, f->n_samples * sizeof *f->samples);
    if (g->place >= 0 && !take_samples(f, g, l->kind, bytes))
        return false;
    for (int i = 0; i < f->job.n_ranks; i++) {
        sizes[i] = bytes_each;
        all[i] = f->all + (size_t)i * f->n_samples;
    }
    if (!replay_job_gather(&f->job, f->samples, bytes_each, all, sizes) ||
        !replay_job_meet(&f->job))
        return false;
    return f->job.rank != 0 ||
           array_push(&l->points, (fit_point){(double)bytes, find_time(f, g, l->kind)});
}

static bool measure_ladder(fitter *f, const fit_group *g, halley_collective_kind kind)
{
    const double largest = f->opts->largest_bytes > 0 ? f->opts->largest_bytes : 16 << 20;
    fit_ladder l = {.kind = kind, .n_ranks = g->n, .per_node = g->per_node};
    bool good = true;
    for (uint64_t bytes = SMALLEST; good && (double)bytes <= largest; bytes *= 2)
        good = measure_point(f, g, &l, bytes);
    if (!good || !array_push(&f->ladders, l))
        array_fini(&l.points);
    return good;
}

/* ---- set-up ---- */

static halley_status add_fit_group(fitter *f, uint32_t n, uint32_t stride)
{
    fit_group *g = &f->groups[f->n_groups];
    *g = (fit_group){.n = n, .place = -1};
    assert(f->n_groups < MOST_GROUPS);
    for (uint32_t i = 0; i < n; i++) {
        g->ranks[i] = (int)(i * stride);
        if (g->ranks[i] == f->job.rank)
            g->place = (int)i;
    }
    g->per_node = stride >= f->per_node ? 1 : n < f->per_node ? n : f->per_node;
    f->n_groups++;
    if (g->place >= 0 &&
        !f->job.mpi->make_group(&g->comm, g->ranks, (int)n, FIT_TAG + (int)f->n_groups))
        return error_set(f->err, HALLEY_EIO, "MPI cannot make a communicator");
    return HALLEY_OK;
}

/* Two ranks of a host and all of a host; two hosts and all ranks. */
static halley_status make_fit_groups(fitter *f)
{
    const uint32_t n = (uint32_t)f->job.n_ranks, h = f->per_node;
    if (h > 1)
        TRY(add_fit_group(f, 2, 1));
    if (h > 2)
        TRY(add_fit_group(f, h, 1));
    if (n > h)
        TRY(add_fit_group(f, 2, h));
    if (n > h && n > 2)
        TRY(add_fit_group(f, n, 1));
    return HALLEY_OK;
}

static halley_status init_fitter(fitter *f, const replay_mpi *mpi)
{
    const double largest = f->opts->largest_bytes > 0 ? f->opts->largest_bytes : 16 << 20;
    const size_t room = 2 * (size_t)largest + AREA_BYTES;
    if (mpi->n_ranks < 2 || mpi->n_ranks > 1024)
        return error_set(
            f->err, HALLEY_EINVAL,
            "a fit needs 2 to 1024 processes, and there %s %d: start it with "
            "mpirun -np N",
            mpi->n_ranks == 1 ? "is" : "are", mpi->n_ranks);
    TRY(replay_job_init(&f->job, mpi->plugin, mpi->rank, mpi->n_ranks, f->err));
    if (f->opts->time_limit_s > 0)
        f->job.end_s = clock_s() + f->opts->time_limit_s;
    f->per_node = (uint32_t)mpi->plugin->count_on_host();
    if (f->per_node < 1 || (uint32_t)mpi->n_ranks % f->per_node != 0)
        f->per_node = 1;
    f->n_samples = f->opts->n_samples == 0 ? 20 : f->opts->n_samples;
    f->area = room;
    f->send = mem_array(room, 1);
    f->receive = mem_array(room, 1);
    f->samples = mem_array(f->n_samples, sizeof *f->samples);
    f->all = mem_array((size_t)f->n_samples * (size_t)mpi->n_ranks, sizeof *f->all);
    if (f->send == NULL || f->receive == NULL || f->samples == NULL || f->all == NULL)
        return error_nomem(f->err);
    memset(f->send, (int)(f->opts->seed % 63), room);
    memset(f->receive, 0, room);
    return make_fit_groups(f);
}

static void fini_fitter(fitter *f)
{
    for (uint32_t i = 0; i < f->n_groups; i++)
        if (f->groups[i].comm != 0)
            f->job.mpi->free_group(&f->groups[i].comm);
    for (size_t i = 0; i < f->ladders.n; i++)
        array_fini(&f->ladders.at[i].points);
    array_fini(&f->ladders);
    free(f->send);
    free(f->receive);
    free(f->samples);
    free(f->all);
    replay_job_fini(&f->job);
}

static halley_status measure_all_groups(fitter *f)
{
    for (uint32_t g = 0; g < f->n_groups; g++)
        for (int kind = 0; kind <= HALLEY_COLLECTIVE_SCATTER; kind++) {
            if (kind == HALLEY_COLLECTIVE_SEND && f->groups[g].n != 2)
                continue;
            if (!measure_ladder(f, &f->groups[g], (halley_collective_kind)kind))
                return error_set(f->err, HALLEY_EDEADLOCK, "the measurement ends: %s",
                                 f->job.sentence[0] != '\0' ? f->job.sentence
                                                            : "memory ran out");
        }
    return HALLEY_OK;
}

halley_status halley_replay_fit(char **out, const halley_replay_fit_opts *opts,
                                halley_error *err)
{
    replay_mpi mpi;
    TRY(replay_mpi_start(&mpi, err));
    fitter *f = calloc(1, sizeof *f);
    if (f == NULL)
        return error_nomem(err);
    f->opts = opts;
    f->err = err;
    strbuf text = {0};
    halley_status status = init_fitter(f, &mpi);
    if (status == HALLEY_OK)
        status = measure_all_groups(f);
    if (status == HALLEY_OK && mpi.rank == 0 &&
        !fit_write_cluster(&text, f->ladders.at, f->ladders.n, (uint32_t)mpi.n_ranks,
                           f->per_node))
        status = error_nomem(err);
    if (status == HALLEY_OK)
        fini_fitter(f);
    if (status == HALLEY_OK)
        *out = text.at;
    else
        strbuf_fini(&text);
    if (status == HALLEY_OK)
        free(f);
    return status;
}
