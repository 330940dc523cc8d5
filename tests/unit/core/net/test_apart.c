/* Direct collectives whose members come to them at different times: against the same
 * messages as single flows, and against closed forms. */
#include "base/rng.h"
#include "halley/cluster.h"
#include "halley/sim.h"
#include "halley/trace.h"
#include "halley/trace_attr.h"
#include "net/flow/flow.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPUS = 16, PER_LEAF = 4, LEAVES = NPUS / PER_LEAF };

static halley_trace_set *make_calls(int64_t kind, uint64_t bytes)
{
    halley_builder *b;
    halley_trace *ranks[NPUS];
    halley_trace_set *set;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_node(b, 1, HALLEY_NODE_COLL, (halley_bytes){"call", 4});
    halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, kind);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)bytes);
    assert_int_equal(halley_builder_finish(&ranks[0], b, NULL), HALLEY_OK);
    for (int i = 1; i < NPUS; i++)
        ranks[i] = halley_trace_keep(ranks[0]);
    assert_int_equal(halley_trace_set_new(&set, ranks, NPUS, NULL), HALLEY_OK);
    return set;
}

/* The end of one call on 4 leaves; members come late by that many microseconds. */
static double run_call(int64_t kind, uint64_t bytes, uint32_t spines,
                       const uint32_t *late_us, bool no_fold)
{
    char text[1024];
    halley_error err;
    halley_cluster *c = NULL;
    halley_result *result = NULL;
    halley_trace_set *set = make_calls(kind, bytes);
    const halley_sim_opts opts = {.no_fold = no_fold};
    snprintf(text, sizeof text,
             "npus: %d\nnpu: h100-sxm-80gb\nnetwork: {topology: leaf-spine, npus: %d, "
             "leaves: %d, spines: %u, link: 50 GB/s, latency: 1 us}\nsystem: {late: {",
             NPUS, PER_LEAF, LEAVES, spines);
    for (int i = 0; i < NPUS; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%d: %u us",
                 i > 0 ? ", " : "", i, late_us[i]);
    strcat(text, "}}\n");
    if (halley_cluster_parse(&c, text, strlen(text), "c", &err) != HALLEY_OK ||
        halley_sim_run(&result, set, c, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    double end_s = 0;
    for (uint32_t i = 0; i < NPUS; i++)
        end_s = fmax(end_s, (double)halley_result_rank(result, i).finish / 1e12);
    halley_result_free(result);
    halley_cluster_free(c);
    halley_trace_set_free(set);
    return end_s;
}

static double run_alone(int64_t kind, uint64_t bytes, uint32_t spines)
{
    const uint32_t nobody[NPUS] = {0};
    return run_call(kind, bytes, spines, nobody, true);
}

/* What scales with the bytes: the rest is fixed. */
static double measure_wire(int64_t kind, uint64_t bytes, uint32_t spines)
{
    return run_alone(kind, 2 * bytes, spines) - run_alone(kind, bytes, spines);
}

static void check_near(const char *what, double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%s: %.9g s, not %.9g +- %.3g", what, got, want, tolerance);
}

static void members_that_come_within_5_percent_come_together(void **state)
{
    (void)state;
    uint32_t late_us[NPUS] = {0};
    const double alone_s = run_alone(HALLEY_COLL_ALL_TO_ALL, 64 << 20, PER_LEAF);
    late_us[3] = (uint32_t)(alone_s * 0.04e6);
    late_us[9] = late_us[3] / 2;
    check_near("all wait for the last",
               run_call(HALLEY_COLL_ALL_TO_ALL, 64 << 20, PER_LEAF, late_us, true),
               late_us[3] * 1e-6 + alone_s, 3e-12);
}

/* Its own port is all that is left to wait for, not the core that all share. */
static void a_late_member_of_an_all_to_all_waits_for_its_port_only(void **state)
{
    (void)state;
    uint32_t late_us[NPUS] = {0};
    const uint64_t bytes = 64 << 20;
    const double wide_s = run_alone(HALLEY_COLL_ALL_TO_ALL, bytes, PER_LEAF);
    const double narrow_s = run_alone(HALLEY_COLL_ALL_TO_ALL, bytes, 1);
    late_us[5] = (uint32_t)(narrow_s * 3e6);
    assert_true(narrow_s > 2.5 * wide_s);
    const double end_s = run_call(HALLEY_COLL_ALL_TO_ALL, bytes, 1, late_us, true);
    check_near("its port", end_s, late_us[5] * 1e-6 + wide_s, 1e-9 * wide_s + 1e-11);
    /* A run of symmetry classes gives way to one of all ranks. */
    assert_true(run_call(HALLEY_COLL_ALL_TO_ALL, bytes, 1, late_us, false) == end_s);
}

static void a_late_member_of_a_gather_sends_its_own_bytes_only(void **state)
{
    (void)state;
    const int64_t kinds[] = {HALLEY_COLL_GATHER, HALLEY_COLL_SCATTER};
    for (int k = 0; k < 2; k++) {
        uint32_t late_us[NPUS] = {0};
        const double alone_s = run_alone(kinds[k], 64 << 20, PER_LEAF);
        const double wire_s = measure_wire(kinds[k], 64 << 20, PER_LEAF);
        late_us[7] = (uint32_t)(alone_s * 2e6);
        check_near("one message", run_call(kinds[k], 64 << 20, PER_LEAF, late_us, true),
                   late_us[7] * 1e-6 + alone_s - wire_s * (NPUS - 2) / (NPUS - 1),
                   1e-6 * alone_s);
        late_us[7] = 0;
        late_us[0] = 1000000; /* nothing can be done without the root */
        check_near("the root", run_call(kinds[k], 64 << 20, PER_LEAF, late_us, true),
                   1 + alone_s, 1e-11);
    }
}

static void an_all_reduce_waits_for_everybody(void **state)
{
    (void)state;
    uint32_t late_us[NPUS] = {0};
    late_us[2] = 700000;
    check_near("ring or tree",
               run_call(HALLEY_COLL_ALL_REDUCE, 64 << 20, 1, late_us, true),
               0.7 + run_alone(HALLEY_COLL_ALL_REDUCE, 64 << 20, 1), 1e-11);
}

/* Ports, then one pipe for the uplinks of a leaf, each way: spraying is even. */
static uint32_t make_route(net_flow_hop *hops, uint32_t from, uint32_t to)
{
    uint32_t n = 0;
    hops[n++] = (net_flow_hop){from, NET_FLOW_ONE};
    if (from / PER_LEAF != to / PER_LEAF) {
        hops[n++] = (net_flow_hop){2 * NPUS + from / PER_LEAF, NET_FLOW_ONE};
        hops[n++] = (net_flow_hop){2 * NPUS + LEAVES + to / PER_LEAF, NET_FLOW_ONE};
    }
    hops[n++] = (net_flow_hop){NPUS + to, NET_FLOW_ONE};
    return n;
}

/* Every message by itself, as soon as both ends are there. */
static double run_messages(double bytes, double port_Bps, double core_Bps,
                           const uint32_t *late_us)
{
    double capacity[2 * NPUS + 2 * LEAVES], last_s = 0;
    net_flow *f;
    for (int i = 0; i < 2 * NPUS + 2 * LEAVES; i++)
        capacity[i] = i < 2 * NPUS ? port_Bps : core_Bps;
    assert_int_equal(
        net_flow_new(&f, capacity, 2 * NPUS + 2 * LEAVES, &(net_flow_options){0}, NULL),
        HALLEY_OK);
    for (uint32_t at_us = 0;; at_us++) { /* arrivals are whole microseconds */
        const net_flow_end *ends;
        const uint64_t tick = (uint64_t)at_us * 1000000;
        uint64_t next;
        while ((next = net_flow_next(f)) <= tick) {
            if (net_flow_advance(f, next, &ends) > 0)
                last_s = (double)next / 1e12;
            assert_true(net_flow_settle(f));
        }
        bool any_left = false;
        for (uint32_t i = 0; i < NPUS; i++)
            any_left |= late_us[i] >= at_us;
        if (!any_left)
            break;
        net_flow_advance(f, tick, &ends);
        for (uint32_t i = 0; i < NPUS; i++)
            for (uint32_t k = 0; k < NPUS; k++) {
                const uint32_t both = late_us[i] > late_us[k] ? late_us[i] : late_us[k];
                net_flow_hop hops[4];
                if (i == k || both != at_us)
                    continue;
                const uint32_t n = make_route(hops, i, k);
                net_flow_start(f, net_flow_class(f, hops, n, 0), bytes / NPUS, 0);
            }
        assert_true(net_flow_settle(f));
    }
    for (uint64_t next; (next = net_flow_next(f)) != NET_FLOW_NEVER;) {
        const net_flow_end *ends;
        if (net_flow_advance(f, next, &ends) > 0)
            last_s = (double)next / 1e12;
        assert_true(net_flow_settle(f));
    }
    net_flow_free(f);
    return last_s;
}

static void parts_take_as_long_as_their_messages(void **state)
{
    (void)state;
    rng r = rng_seed(21);
    const uint64_t bytes = 16 << 20;
    const double port_s = measure_wire(HALLEY_COLL_ALL_TO_ALL, bytes, PER_LEAF);
    const double port_Bps = (double)bytes * (NPUS - 1) / NPUS / port_s;
    double most_gain = 0;
    for (int trial = 0; trial < 24; trial++) {
        const uint32_t spines = 1 + (uint32_t)rng_below(&r, PER_LEAF);
        const double alone_s = run_alone(HALLEY_COLL_ALL_TO_ALL, bytes, spines);
        const double wire_s = measure_wire(HALLEY_COLL_ALL_TO_ALL, bytes, spines);
        const double crossing = (double)bytes / NPUS * PER_LEAF * (NPUS - PER_LEAF);
        const double core_Bps =
            spines == PER_LEAF ? port_Bps * PER_LEAF : crossing / wire_s;
        uint32_t late_us[NPUS] = {0};
        const uint32_t n_late = 1 + (uint32_t)rng_below(&r, 4);
        uint32_t last_us = 0;
        for (uint32_t i = 0; i < n_late; i++) {
            const uint32_t us = (uint32_t)(alone_s * 1e6 * rng_unit(&r) * 2);
            late_us[rng_below(&r, NPUS)] = us;
        }
        for (uint32_t i = 0; i < NPUS; i++)
            last_us = late_us[i] > last_us ? late_us[i] : last_us;
        const double got = run_call(HALLEY_COLL_ALL_TO_ALL, bytes, spines, late_us, true);
        const double want =
            run_messages((double)bytes, port_Bps, core_Bps, late_us) + alone_s - wire_s;
        /* Whoever comes within 5 % of the closed form waits, and the messages of a part
         * end together. */
        if (!(got >= want - 0.02 * alone_s && got <= want + 0.12 * alone_s))
            fail_msg("trial %d, %u spines: %.9g s, not %.9g; alone %.9g", trial, spines,
                     got, want, alone_s);
        most_gain = fmax(most_gain, last_us * 1e-6 + alone_s - got);
        assert_true(got <= last_us * 1e-6 + alone_s + 1e-11);
    }
    assert_true(most_gain > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_that_come_within_5_percent_come_together),
        cmocka_unit_test(a_late_member_of_an_all_to_all_waits_for_its_port_only),
        cmocka_unit_test(a_late_member_of_a_gather_sends_its_own_bytes_only),
        cmocka_unit_test(an_all_reduce_waits_for_everybody),
        cmocka_unit_test(parts_take_as_long_as_their_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
