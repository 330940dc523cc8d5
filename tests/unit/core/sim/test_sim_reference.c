/*
 * The engine under native rules against a slow obvious one, on random graphs of computing
 * and messages: every node's begin and end must be equal. And laws of any run.
 */
#include "base/rng.h"
#include "halley/sim.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RANKS = 5, MOST = 40, LATENCY_NS = 700, STREAMS = 2 };
enum { COMPUTE, SEND, RECEIVE };

/* A node of a rank: computing for `amount` ps, or a message of `amount` bytes. */
typedef struct item {
    int kind;
    uint64_t amount;
    uint32_t peer, tag;
    uint32_t deps[2], n_deps; /* earlier nodes of the rank */
    uint64_t begin, end;      /* as the reference finds them, ps; UINT64_MAX = not yet */
    uint64_t ready;           /* in which round it became so: first come first served */
    bool waits, runs, ends, done;
} item;
typedef struct job {
    item items[RANKS][MOST];
    uint32_t n[RANKS];
} job;

static item *add(job *j, rng *r, uint32_t rank, int kind, uint64_t amount)
{
    item *it = &j->items[rank][j->n[rank]];
    *it = (item){.kind = kind, .amount = amount, .begin = UINT64_MAX, .end = UINT64_MAX};
    for (uint32_t k = 0; k < 2 && j->n[rank] > 0; k++)
        if (rng_below(r, 3) > 0)
            it->deps[it->n_deps++] = (uint32_t)rng_below(r, j->n[rank]);
    j->n[rank]++;
    return it;
}

static void make_job(job *j, rng *r)
{
    memset(j, 0, sizeof *j);
    for (uint32_t k = 0; k < 90; k++) {
        const uint32_t rank = (uint32_t)rng_below(r, RANKS);
        const uint32_t peer = (rank + 1 + (uint32_t)rng_below(r, RANKS - 1)) % RANKS;
        if (j->n[rank] == MOST || j->n[peer] == MOST)
            continue;
        if (rng_below(r, 2) == 0) {
            add(j, r, rank, COMPUTE, (1 + rng_below(r, 1000000)) * 1000);
            continue;
        }
        const uint64_t bytes = 1 + rng_below(r, 1000000);
        item *send = add(j, r, rank, SEND, bytes);
        send->peer = peer;
        send->tag = k;
        item *receive = add(j, r, peer, RECEIVE, bytes);
        receive->peer = rank;
        receive->tag = k;
    }
    for (uint32_t i = 0; i < RANKS; i++) /* nobody is empty */
        if (j->n[i] == 0)
            add(j, r, i, COMPUTE, 1000);
}

/* On a ring of 1 GB/s links: shorter way, bytes once. */
static uint64_t delay(uint32_t from, uint32_t to, uint64_t bytes)
{
    const uint32_t up = (to + RANKS - from) % RANKS;
    const uint32_t hops = up < RANKS - up ? up : RANKS - up;
    return (uint64_t)hops * LATENCY_NS * 1000 + bytes * 1000;
}

/* How many nodes of the rank hold what this one needs; receives need nothing. */
static bool has_room(const job *j, uint32_t rank, const item *it)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < j->n[rank]; i++) {
        const item *other = &j->items[rank][i];
        n += other->runs && other->kind == it->kind &&
             (it->kind == COMPUTE || other->peer == it->peer);
    }
    return it->kind == RECEIVE || n < (it->kind == COMPUTE ? STREAMS : 1);
}

static const item *partner(const job *j, const item *receive)
{
    const uint32_t from = receive->peer;
    for (uint32_t i = 0; i < j->n[from]; i++)
        if (j->items[from][i].kind == SEND && j->items[from][i].tag == receive->tag)
            return &j->items[from][i];
    return NULL;
}

static void become_ready(job *j, uint64_t round)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < j->n[r]; i++) {
            item *it = &j->items[r][i];
            bool ready = !it->waits && !it->runs && !it->done;
            for (uint32_t k = 0; k < it->n_deps; k++)
                ready = ready && j->items[r][it->deps[k]].done;
            if (!ready)
                continue;
            it->waits = true;
            it->ready = round;
        }
    }
}

/* Start the one that has been ready longest wherever there is room. */
static bool start_one(job *j, uint64_t now)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        item *best = NULL;
        for (uint32_t i = 0; i < j->n[r]; i++) {
            item *it = &j->items[r][i];
            if (it->waits && has_room(j, r, it) &&
                (best == NULL || it->ready < best->ready))
                best = it;
        }
        if (best == NULL)
            continue;
        best->waits = false;
        best->runs = true;
        best->begin = now;
        if (best->kind == COMPUTE)
            best->end = now + best->amount;
        if (best->kind == SEND)
            best->end = now + delay(r, best->peer, best->amount);
        return true;
    }
    return false;
}

static uint64_t end_of(const job *j, const item *it)
{
    if (it->kind != RECEIVE)
        return it->end;
    const item *send = partner(j, it);
    if (send->end == UINT64_MAX)
        return UINT64_MAX;
    return send->end > it->begin ? send->end : it->begin;
}

/* When the next nodes end; UINT64_MAX: none does. */
static uint64_t next_end(const job *j)
{
    uint64_t at = UINT64_MAX;
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t i = 0; i < j->n[r]; i++)
            if (j->items[r][i].runs && end_of(j, &j->items[r][i]) < at)
                at = end_of(j, &j->items[r][i]);
    return at;
}

static void end_all(job *j, uint64_t at)
{
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t i = 0; i < j->n[r]; i++) {
            item *it = &j->items[r][i];
            it->ends = it->runs && end_of(j, it) == at;
        }
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t i = 0; i < j->n[r]; i++) {
            item *it = &j->items[r][i];
            if (!it->ends)
                continue;
            it->end = at;
            it->runs = false;
            it->done = true;
        }
}

/* All that ends at an instant ends together; what that makes ready goes by its number. */
static uint64_t reference(job *j)
{
    for (uint64_t now = 0, round = 0;; round++) {
        become_ready(j, round);
        while (start_one(j, now))
            ;
        const uint64_t next = next_end(j);
        if (next == UINT64_MAX)
            return now;
        now = next;
        end_all(j, now);
    }
}

static halley_trace *trace_of(const job *j, uint32_t rank)
{
    static const uint32_t types[] = {HALLEY_NODE_COMP, HALLEY_NODE_SEND,
                                     HALLEY_NODE_RECV};
    halley_builder *b;
    halley_trace *t;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < j->n[rank]; i++) {
        const item *it = &j->items[rank][i];
        halley_builder_node(b, i, types[it->kind], (halley_bytes){"x", 1});
        for (uint32_t k = 0; k < it->n_deps; k++)
            halley_builder_data(b, it->deps[k]);
        if (it->kind == COMPUTE) {
            halley_builder_attr_u64(b, "duration_ns", it->amount / 1000);
            continue;
        }
        const bool sends = it->kind == SEND;
        halley_builder_attr_i32(b, sends ? "comm_dst" : "comm_src", (int32_t)it->peer);
        halley_builder_attr_u64(b, "comm_size", it->amount);
        halley_builder_attr_i32(b, "comm_tag", (int32_t)it->tag);
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    return t;
}

static halley_trace_set *set_of(const job *j)
{
    halley_trace *all[RANKS];
    halley_trace_set *set;
    for (uint32_t i = 0; i < RANKS; i++)
        all[i] = trace_of(j, i);
    assert_int_equal(halley_trace_set_new(&set, all, RANKS, NULL), HALLEY_OK);
    return set;
}

static halley_cluster *ring(void)
{
    char path[] = "/tmp/halley-test-XXXXXX";
    const int fd = mkstemp(path);
    halley_cluster *c = NULL;
    dprintf(fd,
            "network: [{topology: ring, size: %d, bandwidth: 1 GB/s, latency: %d ns}]\n"
            "system: {network-model: free, streams: %d}\n",
            RANKS, LATENCY_NS, STREAMS);
    close(fd);
    assert_int_equal(halley_cluster_load(&c, path, NULL), HALLEY_OK);
    unlink(path);
    return c;
}

/* The longest way through one rank's graph, by what its computing alone takes. */
static uint64_t critical_path(const job *j, uint32_t rank)
{
    uint64_t ends[MOST], most = 0;
    for (uint32_t i = 0; i < j->n[rank]; i++) {
        const item *it = &j->items[rank][i];
        ends[i] = 0;
        for (uint32_t k = 0; k < it->n_deps; k++)
            ends[i] = ends[it->deps[k]] > ends[i] ? ends[it->deps[k]] : ends[i];
        ends[i] += it->kind == COMPUTE ? it->amount : 0;
        most = ends[i] > most ? ends[i] : most;
    }
    return most;
}

/* All of it, one after the other. */
static uint64_t sum(const job *j)
{
    uint64_t total = 0;
    for (uint32_t r = 0; r < RANKS; r++)
        for (uint32_t i = 0; i < j->n[r]; i++) {
            const item *it = &j->items[r][i];
            total += it->kind == COMPUTE ? it->amount
                     : it->kind == SEND  ? delay(r, it->peer, it->amount)
                                         : 0;
        }
    return total;
}

static void assert_same(const job *j, const halley_result *result)
{
    for (uint32_t r = 0; r < RANKS; r++) {
        for (uint32_t i = 0; i < j->n[r]; i++) {
            const halley_node_times t = halley_result_node(result, r, i);
            const item *it = &j->items[r][i];
            if (t.begin != it->begin || t.end != it->end)
                fail_msg("rank %u node %u: %llu to %llu, not %llu to %llu", r, i,
                         (unsigned long long)t.begin, (unsigned long long)t.end,
                         (unsigned long long)it->begin, (unsigned long long)it->end);
        }
    }
}

static void every_node_runs_when_the_slow_engine_says(void **state)
{
    (void)state;
    rng r = rng_seed(20261115);
    halley_cluster *c = ring();
    job *j = malloc(sizeof *j);
    uint32_t n_finished = 0;
    assert_non_null(j);
    for (int round = 0; round < 200; round++) {
        const halley_sim_opts opts = {.record = true};
        halley_result *result;
        make_job(j, &r);
        halley_trace_set *set = set_of(j);
        const halley_status status = halley_sim_run(&result, set, c, &opts, NULL);
        const uint64_t end = reference(j);
        bool done = true;
        for (uint32_t k = 0; k < RANKS; k++)
            for (uint32_t i = 0; i < j->n[k]; i++)
                done = done && j->items[k][i].done;
        assert_int_equal(status, done ? HALLEY_OK : HALLEY_EDEADLOCK);
        if (done) {
            n_finished++;
            assert_same(j, result);
            assert_true(end <= sum(j));
            for (uint32_t k = 0; k < RANKS; k++)
                assert_true(end >= critical_path(j, k));
            halley_result_free(result);
        }
        halley_trace_set_free(set);
    }
    assert_true(n_finished > 20);
    free(j);
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_node_runs_when_the_slow_engine_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
