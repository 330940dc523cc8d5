/*
 * replay/exec.c - execute operations in the order of their dependencies. Communication
 * begins as soon as it is ready; the process does not wait for it while there is
 * something to compute. Compute runs one operation at a time, in trace order, as on one
 * stream.
 */
#include "replay/exec.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/rng.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

enum {
    GROUP_TAG = 29000,
    CACHE_BYTES = 128 << 20, /* larger than any cache */
};
/* Operations have separate memory, as in training, up to this limit in bytes. */
static const uint64_t most_own_bytes = UINT64_C(2) << 30;

static void lock_exec(replay_exec *e)
{
    if (e->has_thread)
        pthread_mutex_lock(&e->lock);
}

static void unlock_exec(replay_exec *e)
{
    if (e->has_thread)
        pthread_mutex_unlock(&e->lock);
}

/* ---- set-up ---- */

static halley_status make_comms(replay_exec *e, halley_error *err)
{
    const replay_plan *plan = e->plan;
    e->comms = mem_array_zero(plan->groups.n, sizeof *e->comms);
    if (e->comms == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < plan->groups.n; i++) {
        const replay_group *g = &plan->groups.at[i];
        bool is_member = false;
        for (uint32_t k = 0; k < g->n; k++)
            is_member |= g->ranks[k] == e->job->rank;
        if (is_member && g->n > 1 &&
            !e->job->mpi->make_group(&e->comms[i], g->ranks, (int)g->n,
                                     GROUP_TAG + (int)(i % 1000)))
            return error_set(err, HALLEY_EIO,
                             "MPI cannot make a communicator of group %lld",
                             (long long)g->id);
    }
    return HALLEY_OK;
}

halley_status replay_exec_init(replay_exec *e, replay_job *job, const replay_plan *plan,
                               const halley_replay_opts *opts, halley_error *err)
{
    *e = (replay_exec){.job = job,
                       .plan = plan,
                       .program = &plan->programs[job->rank],
                       .seed = opts->seed,
                       .has_thread = opts->progress == HALLEY_REPLAY_THREAD};
    const size_t n = e->program->n + 1;
    pthread_mutex_init(&e->lock, NULL);
    e->waits = mem_array(n, sizeof *e->waits);
    e->heap = mem_array(n, sizeof *e->heap);
    e->stack = mem_array(n, sizeof *e->stack);
    e->begins = mem_array_zero(n, sizeof *e->begins);
    e->ends = mem_array_zero(n, sizeof *e->ends);
    e->next_ordinal = mem_array_zero(plan->groups.n, sizeof *e->next_ordinal);
    e->own = mem_array_zero(2 * n, sizeof *e->own);
    e->evicted = mem_array_zero(CACHE_BYTES, 1);
    e->tag_limit = job->mpi->largest_tag();
    if (e->own == NULL || e->evicted == NULL || e->waits == NULL || e->heap == NULL ||
        e->stack == NULL || e->begins == NULL || e->ends == NULL ||
        e->next_ordinal == NULL)
        return error_nomem(err);
    TRY(replay_work_init(&e->work, opts, err));
    return make_comms(e, err);
}

void replay_exec_fini(replay_exec *e)
{
    for (size_t i = 0; e->comms != NULL && i < e->plan->groups.n; i++)
        if (e->comms[i] != 0)
            e->job->mpi->free_group(&e->comms[i]);
    for (size_t i = 0; i < e->buffers.n; i++)
        free(e->buffers.at[i].at);
    for (size_t i = 0; i < e->flights.n; i++)
        free(e->flights.at[i].parts);
    replay_work_fini(&e->work);
    free(e->comms);
    free(e->waits);
    free(e->heap);
    free(e->stack);
    free(e->begins);
    free(e->ends);
    free(e->next_ordinal);
    free(e->own);
    free(e->evicted);
    array_fini(&e->held);
    array_fini(&e->flights);
    array_fini(&e->buffers);
    pthread_mutex_destroy(&e->lock);
    *e = (replay_exec){0};
}

/* ---- buffers ---- */

/* The index + 1 of a new buffer; 0: no memory. */
static uint32_t add_buffer(replay_exec *e, uint64_t size)
{
    replay_buffer b = {.size = (size_t)size};
    rng r = rng_seed(e->seed + e->buffers.n);
    b.at =
        mem_is_available((size_t)size, (size_t)size) ? mem_array((size_t)size, 1) : NULL;
    if (b.at == NULL || !array_push(&e->buffers, b)) {
        free(b.at);
        e->out_of_memory = true;
        return 0;
    }
    memset(b.at, (int)(rng_u64(&r) & 0x3f), b.size); /* small floats; also makes the
                                                        pages resident */
    return (uint32_t)e->buffers.n;
}

/* An unused buffer of about that size. */
static uint32_t find_free_buffer(const replay_exec *e, uint64_t size)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i < e->buffers.n; i++) {
        const replay_buffer *b = &e->buffers.at[i];
        if (!b->used && b->size >= size && b->size <= 2 * size + 4096 &&
            (best == 0 || b->size < e->buffers.at[best - 1].size))
            best = i + 1;
    }
    return best;
}

/* The index + 1 of an operation's buffer, which is its own or a shared one. 0: none is
 * needed, or no memory. */
static uint32_t take_buffer(replay_exec *e, uint32_t op, int which, uint64_t size)
{
    uint32_t *const own = &e->own[2 * (size_t)op + (size_t)which];
    if (size == 0)
        return 0;
    if (*own == 0 && e->n_own_bytes + size <= most_own_bytes) {
        *own = add_buffer(e, size);
        e->n_own_bytes += size;
        if (*own != 0)
            e->buffers.at[*own - 1].used = true; /* for ever */
    }
    if (*own != 0)
        return *own;
    uint32_t place = find_free_buffer(e, size);
    if (place == 0)
        place = add_buffer(e, size);
    if (place != 0)
        e->buffers.at[place - 1].used = true;
    return place;
}

static char *get_buffer(const replay_exec *e, uint32_t place)
{
    return place == 0 ? NULL : e->buffers.at[place - 1].at;
}

/* ---- operations ---- */

static void make_ready(replay_exec *e, uint32_t op);

static void end_operation(replay_exec *e, uint32_t op)
{
    const replay_program *p = e->program;
    uint32_t n = 0;
    e->stack[n++] = op;
    while (n > 0) {
        op = e->stack[--n];
        e->ends[op] = replay_now_ns() - e->start_ns;
        e->n_done++;
        e->job->own.n_done++;
        for (uint32_t i = p->ops[op].first_child; i < p->ops[op + 1].first_child; i++) {
            const uint32_t child = p->children[i];
            assert(e->waits[child] > 0);
            if (--e->waits[child] > 0)
                continue;
            if (p->ops[child].kind == REPLAY_NOTHING) {
                e->begins[child] = replay_now_ns() - e->start_ns;
                e->stack[n++] = child;
            } else {
                make_ready(e, child);
            }
        }
    }
}

/* What a member sends to each member, by its node's list; false if it has no list of that
 * length. */
static bool read_node_parts(int *counts, const halley_trace *t, uint32_t node, uint32_t n)
{
    halley_attr attr;
    halley_attr_item item;
    size_t cursor = 0;
    uint32_t i = 0;
    if (!halley_node_find_attr(&attr, t, node, HALLEY_ATTR_NAME_COMM_SIZES))
        return false;
    for (; i < n && halley_attr_list_next(&attr, &cursor, &item); i++)
        counts[i] = item.bits < INT32_MAX / 2 ? (int)item.bits : INT32_MAX / 2;
    return i == n;
}

/* The node of another member's program for the same collective. */
static uint32_t find_same_collective(const replay_program *p, const replay_op *op)
{
    uint32_t i = 0;
    while (i < p->n &&
           !(p->ops[i].kind == REPLAY_COLLECTIVE && p->ops[i].group == op->group &&
             p->ops[i].ordinal == op->ordinal))
        i++;
    return i;
}

/* Compute counts and offsets of what is sent and received, and the sums of both. */
static bool list_parts(replay_flight *f, uint64_t sums[2], const replay_exec *e,
                       const replay_op *op, uint32_t n)
{
    const replay_group *g = &e->plan->groups.at[op->group];
    int *const counts = f->parts = mem_array_zero((size_t)n * 5, sizeof *f->parts);
    if (counts == NULL)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        const replay_program *p = &e->plan->programs[g->ranks[i]];
        const uint32_t node = find_same_collective(p, op);
        int *const others = counts + (size_t)n * 4;
        if (node == p->n || !read_node_parts(others, p->trace, node, n))
            return false;
        for (uint32_t k = 0; k < n; k++) {
            if (g->ranks[i] == e->job->rank)
                counts[k] = others[k];
            if (g->ranks[k] == e->job->rank)
                counts[2 * n + i] = others[k];
        }
    }
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < n; i++) {
            counts[(2 * side + 1) * (int)n + (int)i] = (int)sums[side];
            sums[side] += (uint64_t)counts[2 * side * (int)n + (int)i];
        }
    return sums[0] < INT32_MAX && sums[1] < INT32_MAX;
}

static bool begin_collective(replay_exec *e, replay_flight *f, const replay_op *op)
{
    replay_sizes sizes = replay_op_sizes(e->plan, op);
    const uint32_t n = e->plan->groups.at[op->group].n;
    uint64_t sums[2] = {0, 0};
    const bool uneven = op->uneven && list_parts(f, sums, e, op, n);
    if (uneven) {
        sizes.send = sums[0] + 1;
        sizes.receive = sums[1] + 1;
    }
    f->buffers[0] = take_buffer(e, f->op, 0, sizes.send);
    f->buffers[1] = take_buffer(e, f->op, 1, sizes.receive);
    if (e->out_of_memory)
        return false;
    const mpi_collective c = {.kind = op->coll,
                              .comm = e->comms[op->group],
                              .n = (int)n,
                              .root = (int)op->root,
                              .send = get_buffer(e, f->buffers[0]),
                              .receive = get_buffer(e, f->buffers[1]),
                              .bytes = (size_t)sizes.part,
                              .counts = uneven ? f->parts : NULL,
                              .offsets = uneven ? f->parts + n : NULL,
                              .receive_counts = uneven ? f->parts + 2 * (size_t)n : NULL,
                              .receive_offsets =
                                  uneven ? f->parts + 3 * (size_t)n : NULL};
    return e->job->mpi->collect(&f->request, &c);
}

static void begin_communication(replay_exec *e, uint32_t index)
{
    const replay_op *op = &e->program->ops[index];
    replay_flight f = {.op = index};
    bool begun;
    e->begins[index] = replay_now_ns() - e->start_ns;
    if (op->kind == REPLAY_COLLECTIVE) {
        begun = begin_collective(e, &f, op);
    } else {
        f.buffers[0] = take_buffer(e, index, 0, op->bytes);
        begun = !e->out_of_memory &&
                e->job->mpi->post(&f.request, e->comms[0], get_buffer(e, f.buffers[0]),
                                  (size_t)op->bytes, op->peer,
                                  op->tag % (e->tag_limit > 0 ? e->tag_limit : 1),
                                  op->kind == REPLAY_SEND);
    }
    if (begun && array_push(&e->flights, f))
        return;
    free(f.parts);
    e->failed = true;
    snprintf(e->job->sentence, sizeof e->job->sentence,
             e->out_of_memory
                 ? "rank %d has no memory for the buffers of node %llu; use --scale-sizes"
                 : "rank %d: MPI refuses the communication of node %llu",
             e->job->rank, (unsigned long long)halley_node_id(e->program->trace, index));
}

/* Collectives of a group begin in order. This one begins now, and then those after it
 * that are ready. */
static void begin_in_order(replay_exec *e, uint32_t index)
{
    const replay_op *ops = e->program->ops;
    const uint32_t group = ops[index].group;
    if (ops[index].ordinal != e->next_ordinal[group]) {
        if (!array_push(&e->held, index))
            e->failed = true;
        return;
    }
    e->next_ordinal[group]++;
    begin_communication(e, index);
    for (size_t i = 0; i < e->held.n && !e->failed; i++) {
        const uint32_t next = e->held.at[i];
        if (ops[next].group != group || ops[next].ordinal != e->next_ordinal[group])
            continue;
        e->held.at[i] = e->held.at[--e->held.n];
        e->next_ordinal[group]++;
        begin_communication(e, next);
        i = (size_t)-1; /* start again from the beginning */
    }
}

static void push_compute(replay_exec *e, uint32_t op)
{
    uint32_t at = e->n_heap++;
    for (; at > 0 && e->heap[(at - 1) / 2] > op; at = (at - 1) / 2)
        e->heap[at] = e->heap[(at - 1) / 2];
    e->heap[at] = op;
}

static uint32_t pop_compute(replay_exec *e)
{
    const uint32_t first = e->heap[0], last = e->heap[--e->n_heap];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < e->n_heap; at = child) {
        child += child + 1 < e->n_heap && e->heap[child + 1] < e->heap[child];
        if (last <= e->heap[child])
            break;
        e->heap[at] = e->heap[child];
    }
    e->heap[at] = last;
    return first;
}

static void make_ready(replay_exec *e, uint32_t op)
{
    switch ((replay_kind)e->program->ops[op].kind) {
    case REPLAY_COMPUTE:
    case REPLAY_COPY:
        push_compute(e, op);
        return;
    case REPLAY_COLLECTIVE:
        begin_in_order(e, op);
        return;
    case REPLAY_SEND:
    case REPLAY_RECEIVE:
        begin_communication(e, op);
        return;
    case REPLAY_NOTHING:
        break;
    }
    e->begins[op] = replay_now_ns() - e->start_ns;
    end_operation(e, op);
}

/* ---- progress ---- */

static void release_flight(replay_exec *e, size_t i)
{
    const replay_flight f = e->flights.at[i];
    for (int k = 0; k < 2; k++)
        if (f.buffers[k] != 0 && e->own[2 * (size_t)f.op + (size_t)k] == 0)
            e->buffers.at[f.buffers[k] - 1].used = false;
    free(f.parts);
    e->flights.at[i] = e->flights.at[--e->flights.n];
    end_operation(e, f.op);
}

static void advance_flights(replay_exec *e)
{
    for (size_t i = 0; i < e->flights.n && !e->failed;) {
        bool complete = e->flights.at[i].request == 0;
        if (!complete && !e->job->mpi->test(&e->flights.at[i].request, &complete)) {
            snprintf(e->job->sentence, sizeof e->job->sentence,
                     "rank %d: MPI failed while node %llu was under way", e->job->rank,
                     (unsigned long long)halley_node_id(e->program->trace,
                                                        e->flights.at[i].op));
            e->failed = true;
        }
        if (complete)
            release_flight(e, i);
        else
            i++;
    }
}

/* Report what the process waits for to the others. */
static void describe_own(replay_exec *e)
{
    replay_sign *own = &e->job->own;
    own->is_idle = e->n_heap == 0;
    own->type = 0;
    if (e->flights.n == 0)
        return;
    const uint32_t index = e->flights.at[0].op;
    const replay_op *op = &e->program->ops[index];
    own->node = halley_node_id(e->program->trace, index);
    own->bytes = op->bytes;
    own->type = halley_node_type_of(e->program->trace, index);
    own->coll = op->coll;
    own->peer = op->peer;
}

static bool look_around(replay_exec *e)
{
    advance_flights(e);
    describe_own(e);
    if (!e->failed && !replay_job_poll(e->job))
        e->failed = true;
    return !e->failed;
}

/* Called between pieces of compute. */
static bool poll_exec(void *context)
{
    replay_exec *e = context;
    if (e->has_thread) /* the thread does it */
        return !e->failed;
    advance_flights(e);
    if (e->job->own.is_idle || clock_s() - e->job->sent_s > 0.1) {
        e->job->own.is_idle = 0;
        if (!replay_job_poll(e->job))
            e->failed = true;
    }
    return !e->failed;
}

static void *advance_in_thread(void *context)
{
    replay_exec *e = context;
    while (!e->ends_thread) {
        pthread_mutex_lock(&e->lock);
        if (!e->failed && !e->ends_thread)
            look_around(e);
        pthread_mutex_unlock(&e->lock);
        sched_yield();
    }
    return NULL;
}

static void run_compute(replay_exec *e, uint32_t index)
{
    const replay_op *op = &e->program->ops[index];
    e->begins[index] = replay_now_ns() - e->start_ns;
    e->job->own.is_idle = 0;
    unlock_exec(e);
    if (op->kind == REPLAY_COPY)
        replay_work_copy(&e->work, op->bytes, poll_exec, e);
    else
        replay_work_compute(&e->work, op->seconds, poll_exec, e);
    lock_exec(e);
    end_operation(e, index);
}

static void run_operations(replay_exec *e)
{
    const replay_program *p = e->program;
    for (uint32_t i = 0; i < p->n && !e->failed; i++)
        if (p->ops[i].n_waits == 0)
            make_ready(e, i);
    while (e->n_done < p->n && !e->failed) {
        if (e->n_heap > 0) {
            run_compute(e, pop_compute(e));
        } else if (look_around(e) && e->n_heap == 0) {
            unlock_exec(e);
            replay_job_pause(e->job);
            lock_exec(e);
        }
    }
}

bool replay_exec_run(replay_exec *e)
{
    const replay_program *p = e->program;
    for (uint32_t i = 0; i < p->n; i++)
        e->waits[i] = p->ops[i].n_waits;
    memset(e->next_ordinal, 0, e->plan->groups.n * sizeof *e->next_ordinal);
    e->n_heap = e->n_done = 0;
    e->held.n = e->flights.n = 0;
    memset(e->evicted, (int)(e->job->own.n_done & 0x7f), CACHE_BYTES);
    if (!replay_job_meet(e->job))
        return false;
    e->start_ns = replay_now_ns();
    e->ends_thread = false;
    if (e->has_thread && pthread_create(&e->thread, NULL, advance_in_thread, e) != 0) {
        snprintf(e->job->sentence, sizeof e->job->sentence,
                 "rank %d cannot start the progress thread", e->job->rank);
        return false;
    }
    lock_exec(e);
    run_operations(e);
    unlock_exec(e);
    e->ends_thread = true;
    if (e->has_thread)
        pthread_join(e->thread, NULL);
    return !e->failed;
}
