/* Collectives on networks of dimensions: closed forms written out here, laws, and what
 * switches that reduce bring. */
#include "coll/dims.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static halley_cluster *cluster_of(const char *network, const char *more)
{
    char text[2048];
    halley_cluster *c = NULL;
    halley_error err = {0};
    snprintf(text, sizeof text, "name: n\nnpu: h100-sxm-80gb\nnetwork: [%s]\n%s", network,
             more);
    if (halley_cluster_parse(&c, text, strlen(text), "n.yaml", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_true(coll_dims_can(c));
    return c;
}

static void assert_near(double value, double wanted, double by)
{
    if (!(fabs(value - wanted) <= by))
        fail_msg("%.17g is not %.17g", value, wanted);
}

/* Of all NPUs, without the time of reductions. */
static coll_dims_load load_of(const char *network, const char *more, coll_kind kind,
                              double bytes)
{
    halley_cluster *c = cluster_of(network, more);
    coll_dims d = coll_dims_all(c);
    coll_dims_load load;
    d.reduce_Bps = 0;
    coll_dims_make(&load, &d, &(coll_call){.kind = kind, .bytes = bytes, .n = c->n_npus});
    halley_cluster_free(c);
    return load;
}

#define SWITCH(n, rate, more)                                                            \
    "{topology: switch, size: " #n ", bandwidth: " rate ", latency: 700 ns" more "}"
#define RING(n, rate) "{topology: ring, size: " #n ", bandwidth: " rate ", latency: 1 us}"
#define FULL(n, rate)                                                                    \
    "{topology: fully-connected, size: " #n ", bandwidth: " rate ", latency: 1 us}"
#define REDUCES ", in-network: [all-reduce]"
#define LIST(algorithm) "system: {algorithms: [" algorithm "]}\n"
#define CHUNKS(n) "system: {chunks: " #n ", active-chunks: " #n "}\n"

static void every_algorithm_has_its_closed_form(void **state)
{
    (void)state;
    static const struct {
        const char *network, *more;
        coll_kind kind;
        double us; /* of 8 MB */
    } rows[] = {
        {RING(8, "100 GB/s"), LIST("ring"), COLL_ALL_REDUCE, 14 + 14 * 5.0},
        {RING(8, "100 GB/s"), LIST("ring"), COLL_ALL_GATHER, 7 + 7 * 5.0},
        {RING(2, "100 GB/s"), LIST("ring"), COLL_REDUCE_SCATTER, 1 + 40.0},
        {RING(8, "100 GB/s"), LIST("direct"), COLL_ALL_TO_ALL, 4 + 80.0},
        {RING(8, "100 GB/s"), LIST("halving-doubling"), COLL_REDUCE_SCATTER,
         7 + 3 * 40.0},
        {FULL(8, "100 GB/s"), LIST("ring"), COLL_ALL_REDUCE, 14 + 140.0},
        {FULL(8, "100 GB/s"), LIST("direct"), COLL_ALL_REDUCE, 2 + 20.0},
        {FULL(8, "100 GB/s"), LIST("direct-4"), COLL_ALL_REDUCE, 4 + 20.0},
        {FULL(8, "100 GB/s"), "", COLL_ALL_REDUCE, 2 + 20.0},
        {SWITCH(8, "100 GB/s", ""), LIST("ring"), COLL_ALL_GATHER, 7 * 1.4 + 70.0},
        {SWITCH(8, "100 GB/s", ""), LIST("direct"), COLL_ALL_TO_ALL, 1.4 + 70.0},
        {SWITCH(8, "100 GB/s", ""), LIST("halving-doubling"), COLL_ALL_REDUCE,
         6 * 1.4 + 140.0},
        /* 80 MB/8 and 10 MB/4 in sequence, one chunk */
        {SWITCH(4, "100 GB/s", "") "," SWITCH(2, "50 GB/s", ""), LIST("direct, direct"),
         COLL_ALL_REDUCE, 2 * (1.4 + 60.0) + 2 * (1.4 + 20.0)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double s = load_of(rows[i].network, rows[i].more, rows[i].kind, 8e6).time_s;
        if (fabs(s * 1e6 - rows[i].us) > 1e-6)
            fail_msg("row %zu: %.6f us, wanted %.6f", i, s * 1e6, rows[i].us);
    }
}

/* 2 latencies, a piece (or chunk) of S, then S in both directions at once. */
static void a_switch_that_reduces_streams(void **state)
{
    (void)state;
    const char *network = SWITCH(8, "450 GB/s", REDUCES);
    const double wire = 1e9 / 450e9;
    assert_near(load_of(network, "", COLL_ALL_REDUCE, 1e9).time_s,
                1.4e-6 + 65536 / 450e9 + wire, 1e-12);
    assert_near(load_of(network, CHUNKS(16), COLL_ALL_REDUCE, 1e9).time_s,
                1.4e-6 + wire * 17 / 16, 1e-12);
    assert_near(load_of(network, "system: {chunks: 16}\n", COLL_ALL_REDUCE, 1e9).time_s,
                16 * 1.4e-6 + wire * 17 / 16, 1e-12);
    const coll_dims_load slow =
        load_of(SWITCH(8, "450 GB/s", REDUCES ", in-network-throughput: 300 GB/s"), "",
                COLL_ALL_REDUCE, 1e9);
    assert_near(slow.wire_s, 1.5 * wire, 1e-12);
    const double plain =
        load_of(SWITCH(8, "450 GB/s", ""), "", COLL_ALL_REDUCE, 1e15).time_s;
    const coll_dims_load large = load_of(network, "", COLL_ALL_REDUCE, 1e15);
    assert_near(plain / large.time_s, 2 * 7.0 / 8, 1e-6);
    assert_near(large.plain_s, plain, 1e-9);
}

/* Two members opposite each other on a ring of 8 use both ways round; four such groups
 * use the same links. */
static void opposite_members_of_a_ring_use_both_ways(void **state)
{
    (void)state;
    halley_cluster *c = cluster_of(RING(8, "100 GB/s"), "");
    static const uint32_t members[] = {1, 5};
    coll_dims d = coll_dims_all(c);
    d.reduce_Bps = 0;
    assert_true(coll_dims_find_box(&d, members, 2));
    const coll_call call = {.kind = COLL_ALL_GATHER, .bytes = 8e6, .n = 2};
    assert_near(coll_dims_time(&d, &call), 4e-6 + 4e6 / 2 / 100e9, 1e-12);
    d.sharing[0] = 4;
    assert_near(coll_dims_time(&d, &call), 4e-6 + 4 * 4e6 / 2 / 100e9, 1e-12);
    halley_cluster_free(c);
}

/* A throughput below half of the links is slower than a ring, and is not used. */
static void a_switch_is_used_only_where_it_helps(void **state)
{
    (void)state;
    const coll_dims_load slow =
        load_of(SWITCH(8, "450 GB/s", REDUCES ", in-network-throughput: 50 GB/s"), "",
                COLL_ALL_REDUCE, 1e9);
    assert_int_equal(slow.in_switch, 0);
    assert_near(slow.time_s, slow.plain_s, 0);
    static const char *const inner[] = {"", REDUCES};
    static const char *const chunks[] = {"", CHUNKS(4), CHUNKS(64)};
    for (int i = 0; i < 3; i++) {
        char networks[2][512];
        for (int k = 0; k < 2; k++)
            snprintf(
                networks[k], sizeof networks[k],
                "{topology: switch, size: 8, bandwidth: 450 GB/s, latency: 700 ns%s},"
                "{topology: switch, size: 4, bandwidth: 400 GB/s, latency: 1 us}",
                inner[k]);
        const double plain = load_of(networks[0], chunks[i], COLL_ALL_REDUCE, 1e9).time_s;
        const coll_dims_load with = load_of(networks[1], chunks[i], COLL_ALL_REDUCE, 1e9);
        assert_true(with.time_s <= plain);
        assert_true(with.plain_s == plain);
        if (i > 0) /* up S + S/8 beside down S/8 + 7/8 S, in place of 2 * 7/8 S */
            assert_true(with.in_switch == 1 && with.time_s < 0.8 * plain);
    }
}

/* No all-reduce is faster than its bytes over all links of an NPU. */
static void no_all_reduce_beats_its_lower_bound(void **state)
{
    (void)state;
    static const char *const networks[] = {
        RING(8, "50 GB/s") "," FULL(4, "20 GB/s") "," SWITCH(2, "40 GB/s", ""),
        SWITCH(16, "100 GB/s", "") "," RING(4, "10 GB/s"), FULL(16, "10 GB/s")};
    static const double Bps[] = {2 * 50e9 + 3 * 20e9 + 40e9, 100e9 + 2 * 10e9, 150e9};
    static const double npus[] = {64, 64, 16};
    static const char *const chunks[] = {"", CHUNKS(3), CHUNKS(100)};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const double s = load_of(networks[i], chunks[k], COLL_ALL_REDUCE, 1e9).time_s;
            assert_true(s >= 2e9 * (npus[i] - 1) / npus[i] / Bps[i]);
        }
}

static void a_group_is_a_box_if_its_members_are_evenly_apart(void **state)
{
    (void)state;
    halley_cluster *c = cluster_of(
        RING(4, "1 GB/s") "," FULL(3, "1 GB/s") "," SWITCH(2, "1 GB/s", ""), "");
    static const struct {
        uint32_t n, members[6], extent[3], stride[3];
    } boxes[] = {{2, {0, 2}, {2, 1, 1}, {2, 1, 1}},
                 {4, {1, 5, 13, 17}, {1, 2, 2}, {1, 1, 1}},
                 {6, {0, 2, 4, 6, 8, 10}, {2, 3, 1}, {2, 1, 1}},
                 {3, {3, 7, 11}, {1, 3, 1}, {1, 1, 1}}};
    static const uint32_t no_boxes[][4] = {
        {0, 1, 3, 4}, {0, 1, 2, 4}, {1, 0, 5, 4}, {0, 1, 4, 6}};
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++) {
        coll_dims d = coll_dims_all(c);
        assert_true(coll_dims_find_box(&d, boxes[i].members, boxes[i].n));
        assert_memory_equal(d.extent, boxes[i].extent, sizeof boxes[i].extent);
        assert_memory_equal(d.stride, boxes[i].stride, sizeof boxes[i].stride);
    }
    for (size_t i = 0; i < sizeof no_boxes / sizeof *no_boxes; i++) {
        coll_dims d = coll_dims_all(c);
        assert_false(coll_dims_find_box(&d, no_boxes[i], 4));
    }
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_has_its_closed_form),
        cmocka_unit_test(a_switch_that_reduces_streams),
        cmocka_unit_test(opposite_members_of_a_ring_use_both_ways),
        cmocka_unit_test(a_switch_is_used_only_where_it_helps),
        cmocka_unit_test(no_all_reduce_beats_its_lower_bound),
        cmocka_unit_test(a_group_is_a_box_if_its_members_are_evenly_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
