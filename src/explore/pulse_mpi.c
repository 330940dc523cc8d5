/*
 * Rank 0 may be silent for as long as it writes or simulates, but when it was killed and
 * MPI lets the job live, the others must not wait for ever. So a thread of rank 0 sends a
 * beat to each now and then, and a rank that hears none for a long time takes it for
 * dead. A rank that does not take its beats gets no more of them.
 */
#include "explore/pulse_mpi.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "explore/post_mpi.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct halley_pulse {
    uint32_t rank, n_ranks;
    bool beats;
    double patience_s, heard_s;
    /* rank 0 */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool end;
    MPI_Request *sent; /* by rank: the last beat */
};

/* Seconds; the environment may say otherwise. */
static double patience(void)
{
    const char *said = getenv("HALLEY_MPI_PATIENCE");
    const double s = said ? strtod(said, NULL) : 0;
    return s > 0 ? s : 60;
}

static void beat(struct halley_pulse *p)
{
    static const char word = 0;
    for (uint32_t to = 1; to < p->n_ranks; to++) {
        int taken = 0;
        if (MPI_Test(&p->sent[to], &taken, MPI_STATUS_IGNORE) == MPI_SUCCESS && taken)
            MPI_Isend(&word, 1, MPI_BYTE, (int)to, TAG_BEAT, MPI_COMM_WORLD,
                      &p->sent[to]);
    }
}

static void *keep_beating(void *context)
{
    struct halley_pulse *p = context;
    const double every_s = p->patience_s / 20;
    pthread_mutex_lock(&p->lock);
    while (!p->end) {
        pthread_mutex_unlock(&p->lock);
        beat(p);
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

static halley_status start(struct halley_pulse *p, halley_error *err)
{
    pthread_condattr_t clock;
    p->sent = mem_array(p->n_ranks, sizeof(MPI_Request));
    if (!p->sent)
        return error_nomem(err);
    for (uint32_t i = 0; i < p->n_ranks; i++)
        p->sent[i] = MPI_REQUEST_NULL;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&p->ended, &clock);
    pthread_condattr_destroy(&clock);
    p->beats = pthread_create(&p->thread, NULL, keep_beating, p) == 0;
    return p->beats ? HALLEY_OK : error_set(err, HALLEY_EIO, "cannot start a thread");
}

halley_status pulse_begin(struct halley_pulse **out, uint32_t rank, uint32_t n_ranks,
                          bool threads, halley_error *err)
{
    struct halley_pulse *p = mem_array_zero(1, sizeof *p);
    if (!p)
        return error_nomem(err);
    p->rank = rank;
    p->n_ranks = n_ranks;
    p->patience_s = patience();
    p->heard_s = clock_s();
    p->beats = threads && rank > 0;
    const halley_status status =
        rank == 0 && n_ranks > 1 && threads ? start(p, err) : HALLEY_OK;
    if (status != HALLEY_OK) {
        free(p->sent);
        free(p);
        return status;
    }
    *out = p;
    return HALLEY_OK;
}

bool pulse_lost(struct halley_pulse *p)
{
    int here = 0;
    char word;
    if (!p || !p->beats)
        return false;
    for (;;) {
        if (MPI_Iprobe(0, TAG_BEAT, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE) !=
                MPI_SUCCESS ||
            !here)
            return clock_s() - p->heard_s > p->patience_s;
        MPI_Recv(&word, 1, MPI_BYTE, 0, TAG_BEAT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        p->heard_s = clock_s();
    }
}

/* What was sent and not taken stays MPI's: its buffer is static. */
void pulse_end(struct halley_pulse *p)
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
    for (uint32_t i = 0; p->sent && i < p->n_ranks; i++) {
        if (p->sent[i] != MPI_REQUEST_NULL)
            MPI_Request_free(&p->sent[i]);
    }
    free(p->sent);
    free(p);
}
