/*
 * replay/job.c - detect dead and stuck processes. Every process sends a heartbeat to the
 * first one several times per second, and the first one to all others. A process that is
 * silent for too long is assumed dead. If all processes wait for others and nothing ends
 * for as long, the job is stuck. The error says who waits for what.
 */
#include "replay/job.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/number/number.h"
#include "base/str.h"
#include "halley/trace.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SIGN_TAG = 30001, DATA_TAG = 30002 };
static const double sign_every_s = 0.2;

/* Restart the timers: no process has been silent so far. */
static void restart_job(replay_job *j)
{
    const double now = clock_s();
    for (int i = 0; i < j->n_ranks; i++)
        j->seen_s[i] = now;
    j->moved_s = now;
}

halley_status replay_job_init(replay_job *j, const mpi_plugin *mpi, int rank, int n_ranks,
                              halley_error *err)
{
    const size_t n = (size_t)n_ranks;
    *j = (replay_job){.mpi = mpi, .rank = rank, .n_ranks = n_ranks, .stall_limit_s = 8};
    j->own.peer = -1;
    j->signs = mem_array_zero(n, sizeof *j->signs);
    j->seen_s = mem_array_zero(n, sizeof *j->seen_s);
    j->sending = mem_array_zero(n, sizeof *j->sending);
    j->out = mem_array_zero(n, sizeof *j->out);
    if (j->signs == NULL || j->seen_s == NULL || j->sending == NULL || j->out == NULL)
        return error_nomem(err);
    j->yields = mpi->count_on_host() > sysconf(_SC_NPROCESSORS_ONLN);
    restart_job(j);
    return HALLEY_OK;
}

void replay_job_pause(const replay_job *j)
{
    if (j->yields)
        sched_yield();
}

void replay_job_fini(replay_job *j)
{
    for (int i = 0; j->sending != NULL && i < j->n_ranks; i++)
        if (j->sending[i] != 0)
            j->mpi->forget(&j->sending[i]);
    free(j->signs);
    free(j->seen_s);
    free(j->sending);
    free(j->out);
    *j = (replay_job){0};
}

static void send_sign(replay_job *j, int to)
{
    bool complete = true;
    if (j->sending[to] != 0 && j->mpi->test(&j->sending[to], &complete) && !complete)
        return; /* the previous one has not been sent yet */
    j->out[to] = j->own;
    (void)j->mpi->send(&j->sending[to], &j->out[to], sizeof j->out[to], to, SIGN_TAG);
}

static void send_signs(replay_job *j, double now)
{
    if (now - j->sent_s < sign_every_s)
        return;
    j->sent_s = now;
    if (j->rank != 0)
        send_sign(j, 0);
    for (int i = 1; j->rank == 0 && i < j->n_ranks; i++)
        send_sign(j, i);
}

static void take_signs(replay_job *j, double now)
{
    int from, n;
    uintptr_t message;
    while (j->mpi->match(SIGN_TAG, &from, &n, &message)) {
        replay_sign sign = {0};
        mpi_request request = 0;
        bool complete = false;
        char room[256];
        if (n > (int)sizeof room || !j->mpi->receive(&request, room, n, message))
            return;
        while (request != 0 && !complete && j->mpi->test(&request, &complete)) {
        }
        if (n == (int)sizeof sign && from >= 0 && from < j->n_ranks) {
            memcpy(&sign, room, sizeof sign);
            j->signs[from] = sign;
            j->seen_s[from] = now;
        }
    }
}

static void describe_wait(strbuf *to, int rank, const replay_sign *s)
{
    strbuf_printf(to, "%srank %d waits for node %llu, ", to->n > 0 ? "; " : "", rank,
                  (unsigned long long)s->node);
    if (s->type == HALLEY_NODE_COLL)
        strbuf_printf(to, "%s", halley_coll_type_name(s->coll));
    else
        strbuf_printf(to, "a message %s rank %d",
                      s->type == HALLEY_NODE_SEND ? "to" : "from", s->peer);
    strbuf_printf(to, " of %llu bytes", (unsigned long long)s->bytes);
}

static void tell_stuck(replay_job *j, double now)
{
    strbuf text = {0};
    int n = 0;
    for (int i = 0; i < j->n_ranks && n < 4; i++)
        if (j->signs[i].is_idle && j->signs[i].type != 0) {
            describe_wait(&text, i, &j->signs[i]);
            n++;
        }
    snprintf(j->sentence, sizeof j->sentence, "nothing has ended for %s s: %s",
             number_fixed(now - j->moved_s, 0).at,
             text.failed || text.n == 0 ? "all wait" : text.at);
    strbuf_fini(&text);
}

/* On the first process: check whether a process is dead, or all are stuck. */
static void look_at_all(replay_job *j, double now)
{
    uint64_t n_done = 0;
    bool all_idle = true;
    j->signs[0] = j->own;
    for (int i = 0; i < j->n_ranks; i++) {
        n_done += j->signs[i].n_done;
        all_idle = all_idle && j->signs[i].is_idle != 0;
    }
    if (n_done != j->n_done || !all_idle)
        j->moved_s = now;
    j->n_done = n_done;
    if (now - j->moved_s > j->stall_limit_s)
        tell_stuck(j, now);
}

bool replay_job_poll(replay_job *j)
{
    const double now = clock_s();
    if (j->sentence[0] != '\0')
        return false;
    send_signs(j, now);
    take_signs(j, now);
    for (int i = j->rank == 0 ? 1 : 0; i < (j->rank == 0 ? j->n_ranks : 1); i++)
        if (now - j->seen_s[i] > j->stall_limit_s + (j->rank == 0 ? 0 : 1))
            snprintf(j->sentence, sizeof j->sentence,
                     "rank %d has been silent for %s s: its process has died or hangs", i,
                     number_fixed(now - j->seen_s[i], 0).at);
    if (j->rank == 0 && j->sentence[0] == '\0')
        look_at_all(j, now);
    if (j->end_s > 0 && now > j->end_s)
        snprintf(j->sentence, sizeof j->sentence, "the time limit of the job is over");
    return j->sentence[0] == '\0';
}

/* Wait until a request is complete. */
static bool wait_request(replay_job *j, mpi_request *request)
{
    bool complete = *request == 0;
    while (!complete) {
        if (!j->mpi->test(request, &complete)) {
            snprintf(j->sentence, sizeof j->sentence, "MPI failed");
            return false;
        }
        if (!complete && !replay_job_poll(j))
            return false;
        if (!complete)
            replay_job_pause(j);
    }
    return true;
}

bool replay_job_meet(replay_job *j)
{
    mpi_request request = 0;
    restart_job(j);
    j->own.is_idle = 0;
    return j->mpi->meet(&request) && wait_request(j, &request);
}

bool replay_job_gather(replay_job *j, const void *bytes, size_t n, void *const *all,
                       const size_t *sizes)
{
    mpi_request request = 0;
    if (j->rank != 0)
        return j->mpi->send(&request, bytes, (int)n, 0, DATA_TAG) &&
               wait_request(j, &request);
    memcpy(all[0], bytes, n);
    for (int left = j->n_ranks - 1; left > 0;) {
        int from, length;
        uintptr_t message;
        if (!j->mpi->match(DATA_TAG, &from, &length, &message)) {
            if (!replay_job_poll(j))
                return false;
            replay_job_pause(j);
            continue;
        }
        if ((size_t)length != sizes[from]) {
            snprintf(j->sentence, sizeof j->sentence,
                     "rank %d sent results of another length: do all processes read the "
                     "same traces?",
                     from);
            return false;
        }
        if (!j->mpi->receive(&request, all[from], length, message) ||
            !wait_request(j, &request))
            return false;
        left--;
    }
    return true;
}
