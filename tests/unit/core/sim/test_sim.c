/* The simulator under native rules, and laws of any run; tests/oracle holds it to
 * ASTRA-sim's rules. */
#include "alloc_fail.h"
#include "base/pool.h"
#include "halley/sim.h"
#include "sim/coll/stdset.h"
#include "sim/table.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void assert_near(double value, double wanted, double by)
{
    if (!(value >= wanted - by && value <= wanted + by))
        fail_msg("%.17g is not near %.17g", value, wanted);
}

/* A cluster from text, by way of a file. */
static halley_cluster *cluster_of(const char *text)
{
    char path[] = "/tmp/halley-test-XXXXXX";
    const int fd = mkstemp(path);
    FILE *file = fdopen(fd, "w");
    halley_cluster *c = NULL;
    halley_error err = {0};
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    if (halley_cluster_load(&c, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    unlink(path);
    return c;
}

static halley_bytes bytes_of(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

typedef struct node {
    uint64_t id;
    uint32_t type;
    uint64_t us;               /* compute; memory: bytes */
    int64_t coll, size, group; /* collective: type, bytes, group or 0 */
    uint64_t dep;              /* id of the one it waits for, or 0 */
} node;

static halley_trace *trace_of(const node *nodes, size_t n)
{
    halley_builder *b;
    halley_trace *t;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (size_t i = 0; i < n; i++) {
        char group[16];
        snprintf(group, sizeof group, "%d", (int)nodes[i].group);
        halley_builder_node(b, nodes[i].id, nodes[i].type, bytes_of("x"));
        halley_builder_time(b, 0, nodes[i].us);
        if (nodes[i].dep != 0)
            halley_builder_data(b, nodes[i].dep);
        halley_builder_attr_bool(b, "is_cpu_op", false);
        if (nodes[i].type == HALLEY_NODE_MEM_LOAD)
            halley_builder_attr_u64(b, "tensor_size", nodes[i].us);
        if (nodes[i].type != HALLEY_NODE_COLL)
            continue;
        halley_builder_attr_i64(b, "comm_type", nodes[i].coll);
        halley_builder_attr_i64(b, "comm_size", nodes[i].size);
        halley_builder_attr_text(b, "pg_name", bytes_of(group));
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    return t;
}

/* The same trace for every rank. */
static halley_trace_set *set_of(const node *nodes, size_t n, uint32_t n_ranks)
{
    halley_trace *t = trace_of(nodes, n);
    halley_trace *all[512];
    halley_trace_set *set;
    assert_true(n_ranks <= 512);
    for (uint32_t i = 0; i < n_ranks; i++)
        all[i] = i == 0 ? t : halley_trace_keep(t);
    assert_int_equal(halley_trace_set_new(&set, all, n_ranks, NULL), HALLEY_OK);
    return set;
}

/* Seconds until the last rank is done. */
static double run(const node *nodes, size_t n, const char *cluster)
{
    halley_cluster *c = cluster_of(cluster);
    halley_trace_set *set = set_of(nodes, n, halley_cluster_npus(c));
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_AS_CLUSTER};
    halley_result *r;
    halley_error err = {0};
    double most = 0;
    if (halley_sim_run(&r, set, c, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < halley_result_ranks(r); i++) {
        const double t =
            (double)halley_result_rank(r, i).finish / halley_result_ticks_per_s(r);
        most = t > most ? t : most;
    }
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
    return most;
}

#define RING8                                                                            \
    "network:\n  - {topology: ring, size: 8, bandwidth: 100 GB/s, latency: 1 us}\n"
#define BOX                                                                              \
    "network:\n  - {topology: switch, size: 4, bandwidth: 100 GB/s, latency: 500 ns}\n"  \
    "  - {topology: switch, size: 2, bandwidth: 10 GB/s, latency: 1 us}\n"
#define GROUPS "groups: {5: [0, 1, 2, 3, 4, 5, 6, 7], 6: [0, 1, 2, 3, 4, 5, 6, 7]}\n"

/* Two host threads, two streams, each with 1 ms and 2 ms; seconds for all of them. */
static double run_recorded(const char *cluster)
{
    halley_builder *b;
    halley_trace *t;
    halley_cluster *c = cluster_of(cluster);
    halley_trace_set *set;
    halley_result *r;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint64_t i = 0; i < 8; i++) {
        halley_builder_node(b, i, HALLEY_NODE_COMP, bytes_of("x"));
        halley_builder_time(b, 0, i % 2 == 0 ? 1000 : 2000);
        halley_builder_attr_i64(b, "tid", (int64_t)(i / 2 % 2));
        halley_builder_attr_bool(b, "is_cpu_op", i < 4);
        halley_builder_attr_i64(b, "stream", (int64_t)(i / 2 % 2));
        halley_builder_attr_i64(b, "num_ops", 1000000000);
        halley_builder_attr_u64(b, "tensor_size", 1);
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_set_new(&set, &t, 1, NULL), HALLEY_OK);
    assert_int_equal(halley_sim_run(&r, set, c, NULL, NULL), HALLEY_OK);
    const double s =
        (double)halley_result_rank(r, 0).finish / halley_result_ticks_per_s(r);
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
    return s;
}

static void a_roofline_keeps_recorded_times_of_what_it_cannot_count(void **state)
{
    (void)state;
    halley_cluster *c = cluster_of(
        "network: [{topology: ring, size: 1, bandwidth: 1 GB/s, latency: 0 ns}]\n"
        "npu: {peak: {bf16: 1 TFLOP/s}, memory: [{name: m, capacity: 1 GB, "
        "bandwidth: 1 TB/s}]}\nsystem: {compute: roofline}\n");
    halley_trace *t = trace_of(&(node){.id = 1, .type = HALLEY_NODE_COMP, .us = 7}, 1);
    halley_trace_set *set;
    halley_result *r;
    assert_int_equal(halley_trace_set_new(&set, &t, 1, NULL), HALLEY_OK);
    assert_int_equal(halley_sim_run(&r, set, c, NULL, NULL), HALLEY_OK);
    assert_near((double)halley_result_rank(r, 0).finish / halley_result_ticks_per_s(r),
                7e-6, 1e-12);
    assert_int_equal(halley_result_warning_count(r), 1);
    assert_non_null(strstr(halley_result_warning(r, 0), "keep their recorded time"));
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

static void threads_and_streams_of_a_recording_run_side_by_side(void **state)
{
    (void)state;
#define ONE                                                                              \
    "network: [{topology: ring, size: 1, bandwidth: 1 GB/s, latency: 0 ns}]\n"           \
    "npu: {peak: {bf16: 1 TFLOP/s}, memory: [{name: m, capacity: 1 GB, "                 \
    "bandwidth: 1 TB/s}]}\n"
    assert_near(run_recorded(ONE), 3e-3, 1e-9);
    assert_near(run_recorded(ONE "system: {replay-only: true}\n"), 3e-3, 1e-9);
    /* Computed times share the device: four kernels of 1 ms. */
    assert_near(run_recorded(ONE "system: {compute: roofline}\n"), 4e-3, 1e-9);
#undef ONE
}

static void a_ring_all_reduce_takes_its_closed_form(void **state)
{
    (void)state;
    const node n = {1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 8000000, 0, 0};
    /* 14 steps of 1 MB over 100 GB/s and one hop of 1 us; no reduction time given. Half
     * of the data goes each way round, step by step all of it one way. */
    assert_near(run(&n, 1, RING8), 14 * (1e-6 + 5e5 / 1e11), 1e-12);
    assert_near(run(&n, 1, RING8 "system: {collectives: steps}\n"),
                14 * (1e-6 + 1e6 / 1e11), 1e-12);
    assert_near(run(&n, 1, RING8 "system: {model: link-queue}\n"),
                14 * (1e-6 + 1e6 / 1e11), 1e-12);
}

static void independent_groups_overlap_unless_there_is_one_channel(void **state)
{
    (void)state;
    const node n[] = {{1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_GATHER, 1000000, 5, 0},
                      {2, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_GATHER, 1000000, 6, 0},
                      {3, HALLEY_NODE_COMP, 20, 0, 0, 0, 0}};
    const double one = run(n, 1, BOX GROUPS);
    assert_true(one > 20e-6);
    const double step = run(n, 1, BOX GROUPS "system: {collectives: steps}\n");
    assert_near(run(n, 3, BOX GROUPS "system: {network-model: free}\n"), step, 1e-11);
    assert_near(run(n, 3, BOX GROUPS "system: {channels: one}\n"), 2 * one, 1e-11);
    /* The two are over the same links: together they take longer than one, but less
     * than twice as long, because one is in the outer dimension while the other is in
     * the inner one. */
    assert_true(run(n, 3, BOX GROUPS) > 1.2 * one);
}

static void every_collective_is_simulated(void **state)
{
    (void)state;
    for (int64_t coll = 0; coll < HALLEY_N_COLL_TYPES; coll++) {
        const node n = {1, HALLEY_NODE_COLL, 0, coll, 1 << 20, 0, 0};
        const double t = run(&n, 1, BOX "system: {chunks: 3, active-chunks: 2}\n");
        assert_true(t > 0 && t < 1);
    }
}

static void a_group_that_is_a_box_uses_its_dimensions(void **state)
{
    (void)state;
    const node world = {1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 1 << 20, 0, 0};
    const node group = {1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 1 << 20, 9, 0};
    const char *all = BOX "groups: {9: [0, 1, 2, 3, 4, 5, 6, 7]}\n";
    assert_near(run(&world, 1, BOX), run(&group, 1, all), 1e-15);
}

static void a_node_without_duration_takes_no_time_and_holds_up_nobody(void **state)
{
    (void)state;
    const node n[] = {{1, HALLEY_NODE_COMP, 0, 0, 0, 0, 0},
                      {2, HALLEY_NODE_METADATA, 0, 0, 0, 0, 1},
                      {3, HALLEY_NODE_INVALID, 0, 0, 0, 0, 2},
                      {4, HALLEY_NODE_COMP, 7, 0, 0, 0, 3}};
    assert_near(run(n, 4, RING8), 7e-6, 1e-15);
}

static void streams_let_compute_nodes_run_side_by_side(void **state)
{
    (void)state;
    const node n[] = {{1, HALLEY_NODE_COMP, 10, 0, 0, 0, 0},
                      {2, HALLEY_NODE_COMP, 10, 0, 0, 0, 0},
                      {3, HALLEY_NODE_COMP, 10, 0, 0, 0, 0}};
    assert_near(run(n, 3, RING8), 30e-6, 1e-12);
    assert_near(run(n, 3, RING8 "system: {streams: 2}\n"), 20e-6, 1e-12);
}

#define SWITCH8(more)                                                                    \
    "network:\n  - {topology: switch, size: 8, bandwidth: 100 GB/s, latency: 1 us" more  \
    "}\n"

/* Per NPU S up and S, S/n or (n-1)S down, one hop each, and the switch's own time. As a
 * whole, what goes down follows what comes up after a piece of 64 KiB, and the switch is
 * used where it is faster than messages between the NPUs. Step by step the switch has
 * everything before it answers. */
static void a_switch_reduces_and_multicasts(void **state)
{
    (void)state;
    static const struct {
        int64_t coll;
        double down, direct; /* direct: S that an NPU sends to the others */
    } rows[] = {{HALLEY_COLL_ALL_REDUCE, 1, 2 * 7.0 / 8},
                {HALLEY_COLL_REDUCE_SCATTER, 1.0 / 8, 7.0 / 8},
                {HALLEY_COLL_ALL_GATHER, 7, 7}};
    const char *models[] = {
        SWITCH8(", in-network: [all-reduce, reduce-scatter, all-gather], "
                "in-network-delay: 3 us"),
        SWITCH8(", in-network: [all-reduce, reduce-scatter, all-gather], "
                "in-network-delay: 3 us") "system: {model: link-queue}\n"};
    for (size_t i = 0; i < 3; i++) {
        const node n = {1, HALLEY_NODE_COLL, 0, rows[i].coll, 8000000, 0, 0};
        const double passes = rows[i].coll == HALLEY_COLL_ALL_REDUCE ? 2 : 1;
        assert_near(run(&n, 1, models[0]),
                    fmin(5e-6 + 65536 / 1e11 + 8e-5 * fmax(1, rows[i].down),
                         passes * 2e-6 + 8e-5 * rows[i].direct),
                    1e-11);
        assert_near(run(&n, 1, models[1]), 2e-6 + 3e-6 + 8e-5 * (1 + rows[i].down),
                    1e-11);
    }
}

/* Eight NPUs in nodes of four load 1 MB each in pieces of 100 kB. */
#define POOL(more)                                                                       \
    RING8                                                                                \
    "remote-memory: {kind: hierarchical, bandwidth: 10 GB/s, groups: 4, latency: 1 "     \
    "us, node-bandwidth: 20 GB/s, npu-bandwidth: 50 GB/s, npus-per-node: 4, piece: "     \
    "100 kB" more "}\n"

static void a_hierarchical_pool_is_as_fast_as_its_slowest_stage(void **state)
{
    (void)state;
    const node n = {1, HALLEY_NODE_MEM_LOAD, 1000000, 0, 0, 0, 0};
    /* Pieces of different NPUs interleave, so no stage waits for another one: 1 us
     * latency, 200 us for 8 MB out of memories of 40 GB/s, and 5 and 2 us for a piece on
     * the links into the node and the NPU. */
    assert_near(run(&n, 1, POOL("")), 208e-6, 1e-9);
    /* Gathered in the node's switch, memories and node links carry a quarter of it. */
    assert_near(run(&n, 1, POOL(", in-switch: true")), 54.25e-6, 1e-9);
}

static void a_slow_rank_holds_up_the_others(void **state)
{
    (void)state;
    const node n[] = {{1, HALLEY_NODE_COMP, 100, 0, 0, 0, 0},
                      {2, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 80, 0, 1}};
    const double even = run(n, 2, RING8);
    assert_near(run(n, 2, RING8 "system: {slow: {3: 1.5}}\n"), even + 50e-6, 8e-6);
    assert_true(run(n, 2, RING8 "system: {jitter: 10 %, seed: 7}\n") > even);
    assert_near(run(n, 2, RING8 "system: {jitter: 10 %, seed: 7}\n"),
                run(n, 2, RING8 "system: {jitter: 10 %, seed: 7}\n"), 0);
}

/*
 * 1 GiB over 8 x 8 x 8 switches of 50 GiB/s and 1 ns, 64 chunks: 35008.129 us one way,
 * 13635.871 us with Themis and the smallest chunk first (ASTRA-sim's tutorials);
 * 13307.292 us is the least there is.
 */
#define CUBE_DIM "  - {topology: switch, size: 8, bandwidth: 50 GiB/s, latency: 1 ns}\n"
#define CUBE "network:\n" CUBE_DIM CUBE_DIM CUBE_DIM
#define CUBE_SYSTEM                                                                      \
    "chunks: 64, algorithms: [halving-doubling, halving-doubling, halving-doubling]"

static void themis_comes_near_its_published_times(void **state)
{
    (void)state;
    const node n = {1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 1 << 30, 0, 0};
    const double plain = run(&n, 1, CUBE "system: {" CUBE_SYSTEM "}\n");
    const double themis =
        run(&n, 1, CUBE "system: {scheduling: themis, " CUBE_SYSTEM "}\n");
    assert_near(plain, 35008.129e-6, 0.05 * 35008.129e-6);
    assert_near(themis, 13635.871e-6, 0.05 * 13635.871e-6);
}

/* Rank 0 sends 1 MB to everyone, the others 1 kB; list attributes as on the wire. */
static void an_all_to_all_may_be_uneven(void **state)
{
    (void)state;
    halley_trace *all[4];
    halley_trace_set *set;
    halley_result *r;
    for (uint32_t rank = 0; rank < 4; rank++) {
        halley_builder *b;
        char wire[32];
        size_t n = 0;
        wire[n++] = 0x0a; /* field 1, packed */
        wire[n++] = 12;
        for (int i = 0; i < 4; i++) { /* 1048576 or 1024 as three-byte varints */
            memcpy(wire + n, rank == 0 ? "\x80\x80\x40" : "\x80\x88\x00", 3);
            n += 3;
        }
        const halley_attr sizes = {.name = bytes_of("comm_sizes"),
                                   .kind = HALLEY_ATTR_UINT64_LIST,
                                   .bytes = {wire, n}};
        assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
        halley_builder_node(b, 1, HALLEY_NODE_COLL, bytes_of("x"));
        halley_builder_attr_i64(b, "comm_type", HALLEY_COLL_ALL_TO_ALL);
        halley_builder_attr_i64(b, "comm_size", 4096);
        halley_builder_attr(b, &sizes);
        assert_int_equal(halley_builder_finish(&all[rank], b, NULL), HALLEY_OK);
    }
    halley_cluster *c =
        cluster_of("network:\n  - {topology: switch, size: 4, bandwidth: 1 "
                   "GB/s, latency: 0 s}\nsystem: {model: link-queue}\n");
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_LINKS};
    assert_int_equal(halley_trace_set_new(&set, all, 4, NULL), HALLEY_OK);
    assert_int_equal(halley_sim_run(&r, set, c, &opts, NULL), HALLEY_OK);
    /* the link of rank 0 carries 3 MiB, the last of which goes down a link of its own */
    assert_near((double)halley_result_rank(r, 3).finish / 1e12, 4 * 1048576e-9, 10e-6);
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

/* The steps of the critical path follow each other without a gap, from 0 to the end. */
static void the_critical_path_adds_up_to_the_time(void **state)
{
    (void)state;
    const node n[] = {{1, HALLEY_NODE_COMP, 30, 0, 0, 0, 0},
                      {2, HALLEY_NODE_COMP, 10, 0, 0, 0, 0},
                      {3, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 1 << 20, 0, 1},
                      {4, HALLEY_NODE_COMP, 5, 0, 0, 0, 3},
                      {5, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_GATHER, 1 << 16, 0, 2},
                      {6, HALLEY_NODE_COMP, 0, 0, 0, 0, 5}};
    const halley_sim_opts opts = {.record = true};
    halley_cluster *c = cluster_of(BOX "system: {slow: {5: 1.7}}\n");
    halley_trace_set *set = set_of(n, 6, 8);
    halley_result *r;
    halley_path_step *steps;
    size_t n_steps;
    uint64_t at = 0, last = 0;
    assert_int_equal(halley_sim_run(&r, set, c, &opts, NULL), HALLEY_OK);
    assert_int_equal(halley_result_path(&steps, &n_steps, r, NULL), HALLEY_OK);
    for (size_t i = 0; i < n_steps; i++) {
        assert_int_equal(steps[i].begin, at);
        at = steps[i].end;
    }
    for (uint32_t i = 0; i < 8; i++) {
        const uint64_t finish = halley_result_rank(r, i).finish;
        last = finish > last ? finish : last;
    }
    assert_int_equal(at, last);
    assert_int_equal(steps[0].rank, 5); /* the slow one */
    free(steps);
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

/* Runs share nothing: many at once give what one alone gives. */
typedef struct crowd {
    halley_cluster *cluster;
    halley_trace_set *traces;
    uint64_t finish[16];
} crowd;

static halley_status one_of_many(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    (void)worker;
    crowd *all = context;
    halley_result *r;
    const halley_status status = halley_sim_run(&r, all->traces, all->cluster, NULL, err);
    if (status != HALLEY_OK)
        return status;
    all->finish[i] = halley_result_rank(r, 0).finish;
    halley_result_free(r);
    return HALLEY_OK;
}

static void many_runs_at_once_do_not_disturb_each_other(void **state)
{
    (void)state;
    const node n = {1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 1 << 22, 0, 0};
    crowd all = {.cluster = cluster_of(BOX)};
    all.traces = set_of(&n, 1, 8);
    assert_int_equal(pool_run(4, 16, one_of_many, &all, NULL), HALLEY_OK);
    for (int i = 0; i < 16; i++)
        assert_int_equal(all.finish[i], all.finish[0]);
    halley_trace_set_free(all.traces);
    halley_cluster_free(all.cluster);
}

static halley_status run_once(void *context, halley_error *err)
{
    crowd *all = context;
    halley_result *r;
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_LINKS, .record = true};
    const halley_status status =
        halley_sim_run(&r, all->traces, all->cluster, &opts, err);
    if (status == HALLEY_OK)
        halley_result_free(r);
    return status;
}

static void running_out_of_memory_ends_a_run_cleanly(void **state)
{
    (void)state;
    const node n[] = {{1, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_REDUCE, 1 << 20, 0, 0},
                      {2, HALLEY_NODE_COLL, 0, HALLEY_COLL_ALL_TO_ALL, 1 << 20, 0, 1},
                      {3, HALLEY_NODE_COMP, 5, 0, 0, 0, 2}};
    crowd all = {.cluster = cluster_of(BOX "system: {algorithms: [direct, ring]}\n")};
    all.traces = set_of(n, 3, 8);
    assert_true(alloc_fail_everywhere(run_once, &all) > 10);
    halley_trace_set_free(all.traces);
    halley_cluster_free(all.cluster);
}

static void a_table_finds_what_was_added_and_not_removed(void **state)
{
    (void)state;
    table t = {0};
    for (uint32_t i = 0; i < 1000; i++)
        assert_true(table_add(&t, i % 97, i)); /* many of one hash */
    for (uint32_t i = 0; i < 1000; i += 2)
        table_remove(&t, i % 97, i);
    for (uint32_t i = 0; i < 1000; i++) {
        uint32_t slot = TABLE_NONE, value;
        do
            value = table_next(&t, i % 97, &slot);
        while (value != TABLE_NONE && value != i);
        assert_int_equal(value == i, i % 2);
    }
    table_fini(&t);
}

static void a_stdset_is_walked_as_gnu_walks_it(void **state)
{
    (void)state;
    /* Recorded from std::unordered_set<uint64_t> of libstdc++ 12. */
    const uint64_t keys[] = {3, 1, 16, 2, 14, 29, 100};
    const uint32_t order[] = {6, 3, 4, 1, 5, 2, 0};
    uint32_t next[7];
    stdset s;
    stdset_init(&s, keys, next);
    for (uint32_t i = 0; i < 7; i++)
        assert_true(stdset_add(&s, i));
    uint32_t at = s.first;
    for (uint32_t i = 0; i < 7; i++, at = next[at])
        assert_int_equal(at, order[i]);
    assert_int_equal(at, STDSET_END);
    stdset_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_roofline_keeps_recorded_times_of_what_it_cannot_count),
        cmocka_unit_test(threads_and_streams_of_a_recording_run_side_by_side),
        cmocka_unit_test(a_ring_all_reduce_takes_its_closed_form),
        cmocka_unit_test(independent_groups_overlap_unless_there_is_one_channel),
        cmocka_unit_test(every_collective_is_simulated),
        cmocka_unit_test(a_group_that_is_a_box_uses_its_dimensions),
        cmocka_unit_test(a_node_without_duration_takes_no_time_and_holds_up_nobody),
        cmocka_unit_test(streams_let_compute_nodes_run_side_by_side),
        cmocka_unit_test(a_switch_reduces_and_multicasts),
        cmocka_unit_test(a_hierarchical_pool_is_as_fast_as_its_slowest_stage),
        cmocka_unit_test(a_slow_rank_holds_up_the_others),
        cmocka_unit_test(themis_comes_near_its_published_times),
        cmocka_unit_test(an_all_to_all_may_be_uneven),
        cmocka_unit_test(the_critical_path_adds_up_to_the_time),
        cmocka_unit_test(many_runs_at_once_do_not_disturb_each_other),
        cmocka_unit_test(running_out_of_memory_ends_a_run_cleanly),
        cmocka_unit_test(a_table_finds_what_was_added_and_not_removed),
        cmocka_unit_test(a_stdset_is_walked_as_gnu_walks_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
