/*
 * The processes of one run. Rank 0 may be silent while it writes or simulates. But if it
 * was killed and MPI keeps the job alive, the others must not wait for ever. So a thread
 * of rank 0 regularly sends a heartbeat to each rank. A rank that receives none for a
 * long time assumes that rank 0 is dead. A rank that does not receive its heartbeats gets
 * no more of them.
 */
#include "explore/job.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number/number.h"
#include "explore/mailbox.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct halley_job {
    const mpi_plugin *mpi;
    uint32_t rank, n_ranks;
    bool beats;
    double patience_s, heard_s;
    /* rank 0 */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
    mpi_request *sent; /* by rank: the last heartbeat */
};

/* Seconds without a heartbeat after which rank 0 is assumed dead. */
static double read_patience(void)
{
    double s = 0;
    return number_read(str_from(getenv("HALLEY_MPI_PATIENCE")), &s) && s > 0 ? s : 60;
}

static void send_heartbeats(struct halley_job *p)
{
    static const char word = 0;
    for (uint32_t to = 1; to < p->n_ranks; to++) {
        bool taken = false;
        if (p->mpi->test(&p->sent[to], &taken) && taken)
            p->mpi->send(&p->sent[to], &word, 1, (int)to, TAG_BEAT);
    }
}

static void *keep_beating(void *context)
{
    struct halley_job *p = context;
    const double every_s = p->patience_s / 20;
    pthread_mutex_lock(&p->lock);
    while (!p->end) {
        pthread_mutex_unlock(&p->lock);
        send_heartbeats(p);
        pthread_mutex_lock(&p->lock);
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        const double at = (double)until.tv_nsec * 1e-9 + every_s;
        until.tv_sec += (time_t)at;
        until.tv_nsec = (long)((at - (double)(time_t)at) * 1e9);
        if (!p->end)
            pthread_cond_timedwait(&p->ended, &p->lock, &until);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

static halley_status start_heartbeat(struct halley_job *p, halley_error *err)
{
    assert(p != NULL);
    pthread_condattr_t clock;
    p->sent = mem_array_zero(p->n_ranks, sizeof *p->sent);
    if (!p->sent)
        return error_nomem(err);
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ended, &clock);
    pthread_condattr_destroy(&clock);
    p->beats = pthread_create(&p->thread, NULL, keep_beating, p) == 0;
    return p->beats ? HALLEY_OK : error_set(err, HALLEY_EIO, "cannot start a thread");
}

halley_status explore_job_new(struct halley_job **out, const mpi_plugin *mpi,
                              uint32_t rank, uint32_t n_ranks, bool threads,
                              halley_error *err)
{
    assert(n_ranks > 1 && rank < n_ranks);
    assert(mpi != NULL);
    assert(rank < n_ranks);
    struct halley_job *p = mem_array_zero(1, sizeof *p);
    if (!p)
        return error_nomem(err);
    p->mpi = mpi;
    p->rank = rank;
    p->n_ranks = n_ranks;
    p->patience_s = read_patience();
    p->heard_s = clock_s();
    p->beats = threads && rank > 0;
    const halley_status status =
        rank == 0 && n_ranks > 1 && threads ? start_heartbeat(p, err) : HALLEY_OK;
    if (status != HALLEY_OK) {
        free(p->sent);
        free(p);
        return status;
    }
    *out = p;
    return HALLEY_OK;
}

const mpi_plugin *explore_job_mpi(const struct halley_job *p)
{
    assert(p != NULL);
    return p->mpi;
}

bool explore_job_is_lost(struct halley_job *p)
{
    if (p == NULL || !p->beats)
        return false;
    while (p->mpi->probe(0, TAG_BEAT)) {
        p->mpi->drop(0, TAG_BEAT);
        p->heard_s = clock_s();
    }
    return clock_s() - p->heard_s > p->patience_s;
}

/* MPI still owns a heartbeat that was sent but not received; its buffer is static. */
void explore_job_free(struct halley_job *p)
{
    if (!p)
        return;
    if (p->rank == 0 && p->beats) {
        pthread_mutex_lock(&p->lock);
        p->end = true;
        pthread_cond_signal(&p->ended);
        pthread_mutex_unlock(&p->lock);
        pthread_join(p->thread, NULL);
        pthread_cond_destroy(&p->ended);
        pthread_mutex_destroy(&p->lock);
    }
    for (uint32_t i = 0; p->sent != NULL && i < p->n_ranks; i++)
        p->mpi->forget(&p->sent[i]);
    free(p->sent);
    free(p);
}
