/*
 * A run on many machines, over MPI. Rank 0 hands out the blocks of a wave and evaluates
 * some itself between checks of its mailbox. Every other rank has two blocks queued, so
 * that it never waits for rank 0. A block returns as one message with its rows, front,
 * sums and reasons, and is put into its place in the wave. The result is that of one
 * process.
 *
 * A rank that is silent long after it should have answered is assumed dead, and its
 * blocks are evaluated again. If it answers after all, the answer is dropped and the rank
 * gets work again. This needs an MPI that keeps the job alive (mpirun --enable-recovery).
 * Other MPIs end the job with the rank; the store then holds what was committed, and
 * --resume continues. No call waits inside MPI for another rank, because that rank may be
 * dead.
 */
#include "explore/share.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "explore/job.h"
#include "explore/mailbox.h"
#include "explore/run_state.h"
#include "mpi/load.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AHEAD = 2 };

/* Silence after which a rank is assumed dead: the larger of that many seconds and that
 * many times the longest block. */
static const double patience_s = 3, patience_blocks = 20;

/* Work for a rank; n ids follow in the same message if has_ids. n = 0: stop. */
typedef struct order {
    uint64_t wave, block, first, n, has_ids;
} order;

/* The answer; rows, front and sums follow in the same message. */
typedef struct done {
    uint64_t wave, block, n_rows, n_front, n_feasible, n_evaluated;
    double took_s;
    halley_error err; /* code 0 = none */
    explore_reasons reasons;
} done;

static void sleep_briefly(void)
{
    const struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
}

static halley_status start_mpi(halley_explore_opts *o, halley_error *err)
{
    assert(o != NULL);
    const mpi_plugin *mpi = NULL;
    int rank = 0, n_ranks = 1;
    bool threads = false;
    TRY(mpi_plugin_load(&mpi, err));
    if (!mpi->start(&rank, &n_ranks, &threads))
        return error_set(err, HALLEY_EIO, "MPI does not start");
    assert(rank >= 0 && rank < n_ranks);
    o->rank = (uint32_t)rank;
    o->n_ranks = (uint32_t)n_ranks;
    return explore_job_new(&o->job, mpi, o->rank, o->n_ranks, threads, err);
}

/* A single process of srun or mpirun needs no MPI, and the plug-in may be missing. */
halley_status halley_explore_join(halley_explore_opts *o, halley_error *err)
{
    o->rank = 0;
    o->n_ranks = 1;
    return mpi_count_started() > 1 ? start_mpi(o, err) : HALLEY_OK;
}

/* Send one word to all other ranks, whether they receive it or not; the word must stay
 * valid. */
static void send_to_all(const mpi_plugin *mpi, const void *word, int n, int tag,
                        uint32_t n_ranks)
{
    assert(n >= 0 && n_ranks > 1);
    for (uint32_t to = 1; to < n_ranks; to++) {
        mpi_request sent = 0;
        if (mpi->send(&sent, word, n, (int)to, tag))
            mpi->forget(&sent);
    }
}

/* True if rank 0 has said that no rank should wait for a dead rank any longer, or if rank
 * 0 itself is dead. */
static bool must_leave(struct halley_job *job)
{
    return explore_job_mpi(job)->probe(0, TAG_LEAVE) || explore_job_is_lost(job);
}

/* MPI_Finalize waits for all ranks, and a dead rank never arrives. So check first that
 * all are here. The others wait for rank 0 as long as it writes; rank 0 waits for them
 * only for a while. */
static bool all_are_here(const halley_explore_opts *o, const mpi_plugin *mpi)
{
    assert(o->rank < o->n_ranks);
    static const char leave = 0;
    bool here = false, must = false;
    mpi_request met = 0;
    const double start = clock_s();
    if (!mpi->meet(&met))
        return false;
    while (!must) {
        if (!mpi->test(&met, &here))
            return false;
        if (here)
            return true;
        must = o->rank == 0 ? clock_s() - start > patience_s : must_leave(o->job);
        sleep_briefly();
    }
    if (o->rank == 0)
        send_to_all(mpi, &leave, sizeof leave, TAG_LEAVE, o->n_ranks);
    return false;
}

void halley_explore_leave(halley_explore_opts *o)
{
    if (o->job == NULL)
        return;
    const mpi_plugin *mpi = explore_job_mpi(o->job);
    const bool all_here = mpi->is_running() && all_are_here(o, mpi);
    explore_job_free(o->job);
    o->job = NULL;
    if (all_here)
        mpi->stop();
}

/* What rank 0 knows about another rank. */
typedef struct mate {
    uint32_t n;       /* number of blocks it has to evaluate ... */
    order has[AHEAD]; /* ... these */
    bool silent;      /* assumed dead */
    double heard_s;   /* when it last answered, or got work while idle */
} mate;

struct explore_share {
    mate *mates; /* by rank */
    uint32_t n_ranks;
    uint64_t wave; /* distinguishes answers of this wave from late ones */
    uint32_t n_blocks, next, n_done;
    bool is_done[EXPLORE_WAVE];
    uint32_t again[EXPLORE_WAVE], n_again; /* blocks to evaluate again */
    double longest_s;                      /* time of the longest block */
    explore_mailbox mail;
};

void explore_share_free(struct explore_share *share)
{
    if (!share)
        return;
    explore_mailbox_close(&share->mail);
    free(share->mates);
    free(share);
}

static halley_status open_share(explore_run *r, halley_error *err)
{
    assert(r->n_ranks > 1);
    if (r->share)
        return HALLEY_OK;
    r->share = mem_array_zero(1, sizeof *r->share);
    if (!r->share)
        return error_nomem(err);
    r->share->n_ranks = r->n_ranks;
    r->share->mail.mpi = explore_job_mpi(r->job);
    r->share->mates = mem_array_zero(r->n_ranks, sizeof *r->share->mates);
    return r->share->mates ? HALLEY_OK : error_nomem(err);
}

static size_t sums_bytes(const halley_study *s, const explore_sums *sums)
{
    assert(sums->memory != NULL);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n_axes; i++)
        n += s->axes[i].seen.n * sizeof(halley_marginal);
    for (uint32_t i = 0; i < sums->n_heats; i++)
        n += (size_t)s->axes[sums->heats[i].axis_i].seen.n *
             s->axes[sums->heats[i].axis_j].seen.n * (sizeof(double) + sizeof(uint64_t));
    return n;
}

static bool take_next(struct explore_share *h, uint32_t *block)
{
    while (h->n_again) {
        *block = h->again[--h->n_again];
        if (!h->is_done[*block])
            return true;
    }
    if (h->next == h->n_blocks)
        return false;
    *block = h->next++;
    return true;
}

static void give_up(struct explore_share *h, mate *m)
{
    m->silent = true;
    for (uint32_t i = 0; i < m->n; i++) {
        const uint32_t block = (uint32_t)m->has[i].block;
        if (m->has[i].wave == h->wave && !h->is_done[block])
            h->again[h->n_again++] = block;
    }
    m->n = 0;
}

static bool send_order(explore_run *r, uint32_t to, const order *o)
{
    assert(to < r->n_ranks);
    const size_t ids = o->has_ids ? o->n * sizeof *r->ids : 0;
    explore_message *l = explore_mailbox_new(&r->share->mail, sizeof *o + ids);
    if (!l)
        return false;
    memcpy(l->bytes, o, sizeof *o);
    if (ids)
        memcpy(l->bytes + sizeof *o, r->ids + (o->first - r->first), ids);
    return explore_mailbox_send(&r->share->mail, l, (int)to, TAG_WORK);
}

/* Send blocks until the rank has AHEAD of them. */
static void send_orders(explore_run *r, uint32_t to)
{
    assert(to < r->n_ranks);
    struct explore_share *h = r->share;
    mate *m = &h->mates[to];
    uint32_t b;
    while (m->n < AHEAD && !m->silent && take_next(h, &b)) {
        const uint64_t from = b * r->per_block;
        const uint64_t n = r->n - from < r->per_block ? r->n - from : r->per_block;
        const order o = {h->wave, b, r->first + from, n, r->ids != NULL};
        if (m->n == 0)
            m->heard_s = clock_s();
        m->has[m->n++] = o;
        if (!send_order(r, to, &o))
            give_up(h, m);
    }
}

/* Put a received block into its place. */
static halley_status unpack_block(explore_run *r, const done *d, halley_error *err)
{
    explore_block *b = &r->blocks[r->wave][d->block];
    const char *at = (const char *)(d + 1);
    if (d->err.code != HALLEY_OK) {
        if (err)
            *err = d->err;
        return d->err.code;
    }
    if (!array_reserve(&b->front, d->n_front))
        return error_nomem(err);
    b->n_rows = (uint32_t)d->n_rows;
    b->n_feasible = d->n_feasible;
    b->n_evaluated = d->n_evaluated;
    b->reasons = d->reasons;
    b->front.n = d->n_front;
    memcpy(b->rows, at, d->n_rows * sizeof *b->rows);
    at += d->n_rows * sizeof *b->rows;
    if (d->n_front)
        memcpy(b->front.at, at, d->n_front * sizeof *b->front.at);
    at += d->n_front * sizeof *b->front.at;
    memcpy(b->sums.memory, at, sums_bytes(r->study, &b->sums));
    return HALLEY_OK;
}

static void cross_out(mate *m, const done *d)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->has[i].wave != d->wave || m->has[i].block != d->block)
            continue;
        m->has[i] = m->has[--m->n];
        return;
    }
}

static halley_status receive_block(explore_run *r, int from, const done *d,
                                   halley_error *err)
{
    assert(from > 0 && (uint32_t)from < r->n_ranks);
    struct explore_share *h = r->share;
    mate *m = &h->mates[from];
    m->heard_s = clock_s();
    m->silent = false;
    cross_out(m, d);
    if (d->took_s > h->longest_s)
        h->longest_s = d->took_s;
    if (d->wave != h->wave || h->is_done[d->block])
        return HALLEY_OK; /* too late: it was evaluated again */
    h->is_done[d->block] = true;
    h->n_done++;
    watcher_add(&r->look, d->n_evaluated);
    return unpack_block(r, d, err);
}

/* Process all received messages. *any is true if there was one. */
static halley_status read_mail(explore_run *r, bool *any, halley_error *err)
{
    explore_mailbox *mail = &r->share->mail;
    explore_message *l;
    *any = false;
    for (;;) {
        if (!explore_mailbox_take(mail, TAG_DONE, &l))
            return error_nomem(err);
        if (!l)
            return HALLEY_OK;
        *any = true;
        const int from = l->peer;
        const halley_status status =
            receive_block(r, from, (const done *)(const void *)l->bytes, err);
        explore_mailbox_release(mail, l);
        if (status != HALLEY_OK)
            return status;
        send_orders(r, (uint32_t)from);
    }
}

/* Rank 0 also checks its mailbox while it evaluates a block. Some blocks take ten times
 * as long as others, and no rank should wait for that. */
static halley_status read_between(explore_run *r, halley_error *err)
{
    bool any;
    return read_mail(r, &any, err);
}

static void look_for_dead(struct explore_share *h)
{
    const double now = clock_s(), block_s = patience_blocks * h->longest_s;
    for (uint32_t i = 1; i < h->n_ranks; i++) {
        mate *m = &h->mates[i];
        if (m->n && !m->silent &&
            now - m->heard_s > (block_s > patience_s ? block_s : patience_s))
            give_up(h, m);
    }
}

static halley_status evaluate_here(explore_run *r, uint32_t block, halley_error *err)
{
    assert(block < EXPLORE_WAVE);
    struct explore_share *h = r->share;
    const double start = clock_s();
    r->between = read_between;
    TRY(explore_evaluate_block(r, block, 0, err));
    const double took = clock_s() - start;
    h->longest_s = took > h->longest_s ? took : h->longest_s;
    h->is_done[block] = true;
    h->n_done++;
    return HALLEY_OK;
}

halley_status explore_share_wave(explore_run *r, uint32_t n_blocks, halley_error *err)
{
    assert(n_blocks > 0 && n_blocks <= EXPLORE_WAVE);
    TRY(open_share(r, err));
    struct explore_share *h = r->share;
    uint32_t block;
    bool any = false;
    h->wave++;
    h->n_blocks = n_blocks;
    h->next = h->n_done = h->n_again = 0;
    memset(h->is_done, 0, sizeof h->is_done);
    for (uint32_t to = 1; to < r->n_ranks; to++)
        send_orders(r, to);
    while (h->n_done < n_blocks) {
        if (!watcher_add(&r->look, 0))
            return watcher_error(&r->look, err);
        const bool here = take_next(h, &block);
        if (here)
            TRY(evaluate_here(r, block, err));
        TRY(read_mail(r, &any, err));
        look_for_dead(h);
        if (!here && !any)
            sleep_briefly();
    }
    return HALLEY_OK;
}

/* Send an answer. It is in transit while the next block is evaluated. False if memory ran
 * out or nothing can be sent. */
static bool send_done(explore_run *r, explore_mailbox *mail, done *d)
{
    const explore_block *b = &r->blocks[0][0];
    const bool well = d->err.code == HALLEY_OK;
    d->n_rows = well ? b->n_rows : 0;
    d->n_front = well ? b->front.n : 0;
    d->n_feasible = b->n_feasible;
    d->n_evaluated = b->n_evaluated;
    d->reasons = b->reasons;
    const size_t rows = d->n_rows * sizeof *b->rows,
                 front = d->n_front * sizeof *b->front.at,
                 sums = well ? sums_bytes(r->study, &b->sums) : 0;
    explore_message *l = explore_mailbox_new(mail, sizeof *d + rows + front + sums);
    if (!l)
        return false;
    char *at = l->bytes;
    memcpy(at, d, sizeof *d);
    memcpy(at += sizeof *d, b->rows, rows);
    at += rows;
    if (front)
        memcpy(at, b->front.at, front);
    memcpy(at + front, b->sums.memory, sums);
    return explore_mailbox_send(mail, l, 0, TAG_DONE);
}

/* Polls at intervals instead of waiting inside MPI, which would keep a core busy. */
static halley_status wait_for_order(explore_run *r, explore_mailbox *mail,
                                    explore_message **l, halley_error *err)
{
    for (;;) {
        if (!explore_mailbox_take(mail, TAG_WORK, l))
            return error_nomem(err);
        if (*l)
            return HALLEY_OK;
        if (explore_job_is_lost(r->job))
            return error_set(err, HALLEY_EIO,
                             "the first process is gone: go on with --resume");
        sleep_briefly();
    }
}

static void do_block(explore_run *r, const order *o, done *d)
{
    const double start = clock_s();
    r->ids = o->has_ids ? (const uint64_t *)(const void *)(o + 1) : NULL;
    r->first = o->first;
    r->n = o->n;
    *d = (done){.wave = o->wave, .block = o->block};
    halley_error wrong = {0};
    if (explore_evaluate_block(r, 0, 0, &wrong) != HALLEY_OK)
        d->err = wrong;
    d->took_s = clock_s() - start;
}

static halley_status evaluate_for_rank(explore_run *r, explore_mailbox *mail, done *d,
                                       halley_error *err)
{
    for (bool stop = false; !stop;) {
        explore_message *l;
        TRY(wait_for_order(r, mail, &l, err));
        const order *o = (const order *)(const void *)l->bytes;
        stop = o->n == 0;
        if (!stop)
            do_block(r, o, d);
        explore_mailbox_release(mail, l);
        if (!stop && !send_done(r, mail, d))
            return error_set(err, HALLEY_EIO, "nothing can be sent to the first process");
    }
    return HALLEY_OK;
}

halley_status explore_share_work(explore_run *r, halley_error *err)
{
    assert(r->job != NULL);
    done *d = mem_array_zero(1, sizeof *d);
    explore_mailbox mail = {.mpi = explore_job_mpi(r->job)};
    r->wave = 0;
    const halley_status status =
        d ? evaluate_for_rank(r, &mail, d, err) : error_nomem(err);
    while (status == HALLEY_OK && !explore_mailbox_is_sent(&mail) && !must_leave(r->job))
        sleep_briefly();
    explore_mailbox_close(&mail);
    free(d);
    return status;
}

/* After a failure others may still be sending; they can stop only when their messages are
 * received. */
static void drain_mail(explore_run *r)
{
    struct explore_share *h = r->share;
    bool any = false, busy = h != NULL;
    if (!h)
        return;
    h->wave++;
    h->next = h->n_blocks;
    h->n_again = 0;
    while (busy) {
        busy = false;
        if (read_mail(r, &any, NULL) != HALLEY_OK)
            return;
        look_for_dead(h);
        h->n_again = 0;
        for (uint32_t i = 1; i < h->n_ranks; i++)
            busy = busy || (h->mates[i].n && !h->mates[i].silent);
        if (busy && !any)
            sleep_briefly();
    }
}

void explore_share_stop(explore_run *r, const halley_explore_opts *o)
{
    static const order stop = {0};
    if (o->job == NULL)
        return;
    if (r != NULL)
        drain_mail(r);
    send_to_all(explore_job_mpi(o->job), &stop, sizeof stop, TAG_WORK, o->n_ranks);
}
