/*
 * Many machines, over MPI. Rank 0 hands out blocks of a wave and evaluates some itself
 * between looks at its mail; every other rank always has two blocks to do, so that it
 * never waits for that. A block comes back as its rows, front, sums and reasons, and goes
 * into its place in the wave: the result is that of one process. When a rank dies MPI
 * ends the job; the store holds what was committed, and --resume goes on.
 */
#include "base/error.h"
#include "explore/run_state.h"
#include "explore/share.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { TAG_WORK = 1, TAG_DONE = 2, AHEAD = 2 };

/* What is sent to do; ids follow when has_ids. n = 0: stop. */
typedef struct order {
    uint64_t block, first, n, has_ids;
} order;

/* What comes back; rows, front and sums follow. */
typedef struct done {
    uint64_t block, n_rows, n_front, n_feasible, n_evaluated;
    halley_error err; /* code 0 = none */
    explore_reasons reasons;
} done;

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
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &all);
    *rank = (uint32_t)me;
    *n_ranks = (uint32_t)all;
    return HALLEY_OK;
}

void halley_explore_leave(uint32_t n_ranks)
{
    int on = 0, off = 0;
    (void)n_ranks;
    MPI_Initialized(&on);
    MPI_Finalized(&off);
    if (on && !off)
        MPI_Finalize();
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

static void send_order(explore_run *r, int to, uint32_t b)
{
    const uint64_t from = b * r->per_block;
    const uint64_t n = r->n - from < r->per_block ? r->n - from : r->per_block;
    const order o = {b, r->first + from, n, r->ids != NULL};
    MPI_Send(&o, sizeof o, MPI_BYTE, to, TAG_WORK, MPI_COMM_WORLD);
    if (r->ids)
        MPI_Send(r->ids + from, (int)(n * sizeof *r->ids), MPI_BYTE, to, TAG_WORK,
                 MPI_COMM_WORLD);
}

static void receive(void *to, size_t n, int from, int tag)
{
    MPI_Recv(to, (int)n, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A block that `from` has done, into its place. */
static halley_status take(explore_run *r, int from, halley_error *err)
{
    done *d = malloc(sizeof *d);
    if (!d)
        return error_nomem(err);
    receive(d, sizeof *d, from, TAG_DONE);
    explore_block *b = &r->blocks[r->wave][d->block];
    halley_status status = d->err.code;
    b->n_rows = (uint32_t)d->n_rows;
    b->n_feasible = d->n_feasible;
    b->n_evaluated = d->n_evaluated;
    b->reasons = d->reasons;
    b->front.n = 0;
    if (status != HALLEY_OK && err)
        *err = d->err;
    if (status == HALLEY_OK && !array_reserve(&b->front, d->n_front))
        status = error_nomem(err);
    if (status == HALLEY_OK) {
        receive(b->rows, d->n_rows * sizeof *b->rows, from, TAG_DONE);
        receive(b->front.at, d->n_front * sizeof *b->front.at, from, TAG_DONE);
        receive(b->sums.memory, sums_bytes(r->study, &b->sums), from, TAG_DONE);
        b->front.n = d->n_front;
    }
    free(d);
    return status;
}

typedef struct desk {
    uint32_t next, n_blocks; /* to hand out */
    uint32_t out;            /* with others */
} desk;

static halley_status read_mail(explore_run *r, desk *d, halley_error *err)
{
    int waiting = 0;
    MPI_Status from;
    MPI_Iprobe(MPI_ANY_SOURCE, TAG_DONE, MPI_COMM_WORLD, &waiting, &from);
    while (waiting) {
        TRY(take(r, from.MPI_SOURCE, err));
        d->out--;
        if (d->next < d->n_blocks) {
            send_order(r, from.MPI_SOURCE, d->next++);
            d->out++;
        }
        MPI_Iprobe(MPI_ANY_SOURCE, TAG_DONE, MPI_COMM_WORLD, &waiting, &from);
    }
    return HALLEY_OK;
}

halley_status explore_share_wave(explore_run *r, uint32_t n_blocks, halley_error *err)
{
    desk d = {.n_blocks = n_blocks};
    for (int k = 0; k < AHEAD; k++) {
        for (uint32_t to = 1; to < r->n_ranks && d.next < n_blocks; to++) {
            send_order(r, (int)to, d.next++);
            d.out++;
        }
    }
    while (d.next < n_blocks || d.out) {
        if (d.next < n_blocks)
            TRY(explore_evaluate_block(r, d.next++, 0, err));
        TRY(read_mail(r, &d, err));
    }
    return HALLEY_OK;
}

static void send_done(explore_run *r, uint64_t block, halley_status status,
                      const halley_error *err)
{
    const explore_block *b = &r->blocks[0][0];
    done *d = calloc(1, sizeof *d);
    if (!d)
        MPI_Abort(MPI_COMM_WORLD, 1);
    d->block = block;
    if (status != HALLEY_OK)
        d->err = *err;
    d->n_rows = b->n_rows;
    d->n_front = b->front.n;
    d->n_feasible = b->n_feasible;
    d->n_evaluated = b->n_evaluated;
    d->reasons = b->reasons;
    MPI_Send(d, sizeof *d, MPI_BYTE, 0, TAG_DONE, MPI_COMM_WORLD);
    free(d);
    if (status != HALLEY_OK)
        return;
    MPI_Send(b->rows, (int)(b->n_rows * sizeof *b->rows), MPI_BYTE, 0, TAG_DONE,
             MPI_COMM_WORLD);
    MPI_Send(b->front.at, (int)(b->front.n * sizeof *b->front.at), MPI_BYTE, 0, TAG_DONE,
             MPI_COMM_WORLD);
    MPI_Send(b->sums.memory, (int)sums_bytes(r->study, &b->sums), MPI_BYTE, 0, TAG_DONE,
             MPI_COMM_WORLD);
}

halley_status explore_share_work(explore_run *r, halley_error *err)
{
    uint64_t *ids = mem_array(r->per_block, sizeof *ids);
    if (!ids)
        return error_nomem(err);
    r->wave = 0;
    for (;;) {
        order o;
        halley_error wrong = {0};
        receive(&o, sizeof o, 0, TAG_WORK);
        if (o.n == 0)
            break;
        if (o.has_ids)
            receive(ids, o.n * sizeof *ids, 0, TAG_WORK);
        r->ids = o.has_ids ? ids : NULL;
        r->first = o.first;
        r->n = o.n;
        const halley_status status = explore_evaluate_block(r, 0, 0, &wrong);
        send_done(r, o.block, status, &wrong);
    }
    free(ids);
    return HALLEY_OK;
}

void explore_share_stop(uint32_t n_ranks)
{
    const order stop = {0};
    for (uint32_t to = 1; to < n_ranks; to++)
        MPI_Send(&stop, sizeof stop, MPI_BYTE, (int)to, TAG_WORK, MPI_COMM_WORLD);
}
