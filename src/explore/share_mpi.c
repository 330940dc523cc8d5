/*
 * Many machines, over MPI. Rank 0 hands out blocks of a wave and evaluates some itself
 * between looks at its mail; every other rank has two blocks to do, so that it
 * never waits for that. A block comes back as one message with its rows, front, sums and
 * reasons, and goes into its place in the wave: the result is that of one process.
 *
 * A rank that is silent long after it should have answered is taken for dead: its blocks
 * are done again, and should it answer after all, that is dropped and it gets work again.
 * This needs an MPI that lets the job live (mpirun --enable-recovery); others end
 * the job with the rank, the store holds what was committed, and --resume goes on.
 */
#include "base/array.h"
#include "base/error.h"
#include "explore/run_state.h"
#include "explore/share.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_WORK = 1, TAG_DONE = 2, TAG_LEAVE = 3, AHEAD = 2 };

/* Silence after which a rank is given up: so many seconds, and so many times the longest
 * block. */
static const double patience_s = 3, patience_blocks = 20;

/* What is sent to do; ids follow when has_ids. n = 0: stop. */
typedef struct order {
    uint64_t wave, block, first, n, has_ids;
} order;

/* What comes back; rows, front and sums follow in the same message. */
typedef struct done {
    uint64_t wave, block, n_rows, n_front, n_feasible, n_evaluated;
    double took_s;
    halley_error err; /* code 0 = none */
    explore_reasons reasons;
} done;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(void)
{
    const struct timespec t = {.tv_nsec = 100000};
    nanosleep(&t, NULL);
}

halley_status halley_explore_join(uint32_t *rank, uint32_t *n_ranks, halley_error *err)
{
    static const char *const signs[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK",
                                        "MPI_LOCALNRANKS"};
    bool started = false;
    int me = 0, all = 1;
    *rank = 0;
    *n_ranks = 1;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        started = started || getenv(signs[i]);
    if (!started)
        return HALLEY_OK;
    int got = 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &got) != MPI_SUCCESS)
        return error_set(err, HALLEY_EIO, "MPI does not start");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    *rank = (uint32_t)me;
    *n_ranks = (uint32_t)all;
    return HALLEY_OK;
}

/* Rank 0 waits for a dead one no longer, and tells the others not to, either. */
static void leave_alone(void)
{
    int all = 1;
    char word = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    for (int to = 1; to < all; to++)
        MPI_Send(&word, 1, MPI_BYTE, to, TAG_LEAVE, MPI_COMM_WORLD);
}

/* MPI_Finalize waits for all, and a dead one never comes: see that all are here first.
 * The others wait for rank 0 however long it writes, it for them a while. */
static bool all_are_here(void)
{
    int me = 0, here = 0, told = 0;
    MPI_Request met;
    const double start = now_s();
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (MPI_Ibarrier(MPI_COMM_WORLD, &met) != MPI_SUCCESS)
        return false;
    while (!told) {
        if (MPI_Test(&met, &here, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        if (here)
            return true;
        told = me == 0 && now_s() - start > patience_s;
        if (me != 0)
            MPI_Iprobe(0, TAG_LEAVE, MPI_COMM_WORLD, &told, MPI_STATUS_IGNORE);
        nap();
    }
    if (me == 0)
        leave_alone();
    return false;
}

void halley_explore_leave(uint32_t n_ranks)
{
    int on = 0, off = 0;
    (void)n_ranks;
    MPI_Initialized(&on);
    MPI_Finalized(&off);
    if (on && !off && all_are_here())
        MPI_Finalize();
}

/* What rank 0 knows of another. */
typedef struct mate {
    uint32_t n;       /* blocks it has to do ... */
    order has[AHEAD]; /* ... these */
    bool silent;      /* taken for dead */
    double heard_s;   /* when it last answered or, idle, was given work */
} mate;

struct explore_share {
    mate *mates; /* by rank */
    uint32_t n_ranks;
    uint64_t wave; /* tells the answers of this one from late ones */
    uint32_t n_blocks, next, n_done;
    bool is_done[EXPLORE_WAVE];
    uint32_t again[EXPLORE_WAVE], n_again; /* taken back */
    double longest_s;                      /* block */
    char *mail;
    size_t mail_size;
};

void explore_share_free(struct explore_share *share)
{
    if (!share)
        return;
    free(share->mates);
    free(share->mail);
    free(share);
}

static halley_status open_share(explore_run *r, halley_error *err)
{
    if (r->share)
        return HALLEY_OK;
    r->share = mem_array_zero(1, sizeof *r->share);
    if (!r->share)
        return error_nomem(err);
    r->share->n_ranks = r->n_ranks;
    r->share->mates = mem_array_zero(r->n_ranks, sizeof *r->share->mates);
    return r->share->mates ? HALLEY_OK : error_nomem(err);
}

static size_t sums_bytes(const halley_study *s, const explore_sums *sums)
{
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

/* Fill the rank's desk. */
static void send_orders(explore_run *r, uint32_t to)
{
    struct explore_share *h = r->share;
    mate *m = &h->mates[to];
    uint32_t b;
    while (m->n < AHEAD && !m->silent && take_next(h, &b)) {
        const uint64_t from = b * r->per_block;
        const uint64_t n = r->n - from < r->per_block ? r->n - from : r->per_block;
        const order o = {h->wave, b, r->first + from, n, r->ids != NULL};
        if (m->n == 0)
            m->heard_s = now_s();
        m->has[m->n++] = o;
        bool sent = MPI_Send(&o, sizeof o, MPI_BYTE, (int)to, TAG_WORK, MPI_COMM_WORLD) ==
                    MPI_SUCCESS;
        if (sent && r->ids)
            sent = MPI_Send(r->ids + from, (int)(n * sizeof *r->ids), MPI_BYTE, (int)to,
                            TAG_WORK, MPI_COMM_WORLD) == MPI_SUCCESS;
        if (!sent)
            give_up(h, m);
    }
}

/* A block from the mail, into its place. */
static halley_status unpack(explore_run *r, const done *d, halley_error *err)
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

static halley_status receive(explore_run *r, MPI_Status *from, halley_error *err)
{
    struct explore_share *h = r->share;
    int n = 0;
    MPI_Get_count(from, MPI_BYTE, &n);
    if ((size_t)n > h->mail_size) {
        char *grown = realloc(h->mail, (size_t)n);
        if (!grown)
            return error_nomem(err);
        h->mail = grown;
        h->mail_size = (size_t)n;
    }
    mate *m = &h->mates[from->MPI_SOURCE];
    if (MPI_Recv(h->mail, n, MPI_BYTE, from->MPI_SOURCE, TAG_DONE, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE) != MPI_SUCCESS) {
        give_up(h, m);
        return HALLEY_OK;
    }
    const done *d = (const done *)(const void *)h->mail;
    m->heard_s = now_s();
    m->silent = false;
    cross_out(m, d);
    if (d->took_s > h->longest_s)
        h->longest_s = d->took_s;
    if (d->wave != h->wave || h->is_done[d->block])
        return HALLEY_OK; /* too late: it was done again */
    h->is_done[d->block] = true;
    h->n_done++;
    return unpack(r, d, err);
}

/* *any: something came. */
static halley_status read_mail(explore_run *r, bool *any, halley_error *err)
{
    int waiting = 0;
    MPI_Status from;
    *any = false;
    for (;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_DONE, MPI_COMM_WORLD, &waiting, &from);
        if (!waiting)
            return HALLEY_OK;
        *any = true;
        TRY(receive(r, &from, err));
        send_orders(r, (uint32_t)from.MPI_SOURCE);
    }
}

/* In the middle of a block of its own rank 0 reads its mail, too: some blocks take ten
 * times as long as others, and nobody shall wait for that. */
static halley_status read_between(explore_run *r, halley_error *err)
{
    bool any;
    return read_mail(r, &any, err);
}

static void look_for_dead(struct explore_share *h)
{
    const double now = now_s(), block_s = patience_blocks * h->longest_s;
    for (uint32_t i = 1; i < h->n_ranks; i++) {
        mate *m = &h->mates[i];
        if (m->n && !m->silent &&
            now - m->heard_s > (block_s > patience_s ? block_s : patience_s))
            give_up(h, m);
    }
}

static halley_status evaluate_here(explore_run *r, uint32_t block, halley_error *err)
{
    struct explore_share *h = r->share;
    const double start = now_s();
    r->between = read_between;
    TRY(explore_evaluate_block(r, block, 0, err));
    const double took = now_s() - start;
    h->longest_s = took > h->longest_s ? took : h->longest_s;
    h->is_done[block] = true;
    h->n_done++;
    return HALLEY_OK;
}

halley_status explore_share_wave(explore_run *r, uint32_t n_blocks, halley_error *err)
{
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
        const bool here = take_next(h, &block);
        if (here)
            TRY(evaluate_here(r, block, err));
        TRY(read_mail(r, &any, err));
        look_for_dead(h);
        if (!here && !any)
            nap();
    }
    return HALLEY_OK;
}

/* Answers on their way: the next block is begun before the last one is taken. */
typedef struct outbox {
    struct {
        char *at;
        size_t size;
        MPI_Request sent;
        bool busy;
    } slots[AHEAD];
    uint32_t next;
} outbox;

static bool wait_slot(outbox *box, uint32_t i)
{
    int free_again = 0;
    while (box->slots[i].busy) {
        if (MPI_Test(&box->slots[i].sent, &free_again, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            return false;
        box->slots[i].busy = !free_again;
        if (!free_again)
            nap();
    }
    return true;
}

static bool make_room(outbox *box, uint32_t i, size_t size)
{
    if (size > INT32_MAX || !wait_slot(box, i))
        return false;
    if (size <= box->slots[i].size)
        return true;
    free(box->slots[i].at);
    box->slots[i].at = malloc(size);
    box->slots[i].size = box->slots[i].at ? size : 0;
    return box->slots[i].at != NULL;
}

/* One message; false when memory ran out or nothing can be sent. */
static bool send_done(explore_run *r, outbox *box, done *d)
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
                 sums = well ? sums_bytes(r->study, &b->sums) : 0,
                 all = sizeof *d + rows + front + sums;
    const uint32_t slot = box->next;
    box->next = (slot + 1) % AHEAD;
    if (!make_room(box, slot, all))
        return false;
    char *at = box->slots[slot].at;
    memcpy(at, d, sizeof *d);
    memcpy(at += sizeof *d, b->rows, rows);
    at += rows;
    if (front)
        memcpy(at, b->front.at, front);
    memcpy(at + front, b->sums.memory, sums);
    box->slots[slot].busy =
        MPI_Isend(box->slots[slot].at, (int)all, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD,
                  &box->slots[slot].sent) == MPI_SUCCESS;
    return box->slots[slot].busy;
}

/* Asks now and then instead of waiting inside MPI, which would keep a core busy. */
static bool get(void *to, size_t n)
{
    int here = 0;
    while (!here) {
        if (MPI_Iprobe(0, TAG_WORK, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS)
            return false;
        if (!here)
            nap();
    }
    return MPI_Recv(to, (int)n, MPI_BYTE, 0, TAG_WORK, MPI_COMM_WORLD,
                    MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

static halley_status work(explore_run *r, uint64_t *ids, done *d, outbox *box,
                          halley_error *err)
{
    order o;
    for (;;) {
        if (!get(&o, sizeof o) || (o.n && o.has_ids && !get(ids, o.n * sizeof *ids)))
            return error_set(err, HALLEY_EIO, "the first process is gone");
        if (o.n == 0)
            return HALLEY_OK;
        r->ids = o.has_ids ? ids : NULL;
        r->first = o.first;
        r->n = o.n;
        *d = (done){.wave = o.wave, .block = o.block};
        const double start = now_s();
        halley_error wrong = {0};
        if (explore_evaluate_block(r, 0, 0, &wrong) != HALLEY_OK)
            d->err = wrong;
        d->took_s = now_s() - start;
        if (!send_done(r, box, d))
            return error_set(err, HALLEY_EIO, "nothing can be sent to the first process");
    }
}

halley_status explore_share_work(explore_run *r, halley_error *err)
{
    uint64_t *ids = mem_array(r->per_block, sizeof *ids);
    done *d = mem_array_zero(1, sizeof *d);
    outbox box = {0};
    r->wave = 0;
    halley_status status = ids && d ? work(r, ids, d, &box, err) : error_nomem(err);
    for (uint32_t i = 0; i < AHEAD; i++) {
        if (status == HALLEY_OK && !wait_slot(&box, i))
            status = error_set(err, HALLEY_EIO, "the first process is gone");
        if (!box.slots[i].busy)
            free(box.slots[i].at);
    }
    free(ids);
    free(d);
    return status;
}

/* After a failure others may still be sending: they can stop only when that is taken. */
static void drain(explore_run *r)
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
            nap();
    }
}

void explore_share_stop(explore_run *r, uint32_t n_ranks)
{
    const order stop = {0};
    if (r)
        drain(r);
    for (uint32_t to = 1; to < n_ranks; to++)
        MPI_Send(&stop, sizeof stop, MPI_BYTE, (int)to, TAG_WORK, MPI_COMM_WORLD);
}
