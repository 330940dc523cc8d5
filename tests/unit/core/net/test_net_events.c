/* Links that change in a run: against closed forms and an integral over time. */
#include "base/rng.h"
#include "halley/cluster.h"
#include "halley/sim.h"
#include "halley/trace.h"
#include "halley/trace_attr.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NPUS = 8 };

static const char switch_text[] = "topology: switch, link: 50 GB/s, latency: 1 us";
static const char tree_text[] = "topology: leaf-spine, npus: 4, leaves: 2, spines: 2, "
                                "link: 50 GB/s, latency: 1 us";

static halley_status load_cluster(halley_cluster **out, const char *network,
                                  const char *more, halley_error *err)
{
    char text[2048];
    snprintf(text, sizeof text, "npus: %d\nnpu: h100-sxm-80gb\nnetwork: {%s%s%s}\n", NPUS,
             network, more[0] != '\0' ? ", " : "", more);
    return halley_cluster_parse(out, text, strlen(text), "c", err);
}

/* A kernel, if it has a length, then an all-reduce. */
static halley_trace_set *make_sum(uint64_t kernel_us)
{
    halley_builder *b;
    halley_trace *ranks[NPUS];
    halley_trace_set *set;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    if (kernel_us > 0) {
        halley_builder_node(b, 0, HALLEY_NODE_COMP, (halley_bytes){"kernel", 6});
        halley_builder_time(b, 0, kernel_us);
        halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    }
    halley_builder_node(b, 1, HALLEY_NODE_COLL, (halley_bytes){"sum", 3});
    halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_COLL_ALL_REDUCE);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 64 << 20);
    if (kernel_us > 0)
        halley_builder_data(b, 0);
    assert_int_equal(halley_builder_finish(&ranks[0], b, NULL), HALLEY_OK);
    for (int i = 1; i < NPUS; i++)
        ranks[i] = halley_trace_keep(ranks[0]);
    assert_int_equal(halley_trace_set_new(&set, ranks, NPUS, NULL), HALLEY_OK);
    return set;
}

/* Ten all-reduces, one after the other, of a size that gives no whole number of ticks. */
static halley_trace_set *make_sums(void)
{
    halley_builder *b;
    halley_trace *ranks[NPUS];
    halley_trace_set *set;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint64_t id = 0; id < 10; id++) {
        halley_builder_node(b, id, HALLEY_NODE_COLL, (halley_bytes){"sum", 3});
        halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
        halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_COLL_ALL_REDUCE);
        halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 1234567);
        if (id > 0)
            halley_builder_data(b, id - 1);
    }
    assert_int_equal(halley_builder_finish(&ranks[0], b, NULL), HALLEY_OK);
    for (int i = 1; i < NPUS; i++)
        ranks[i] = halley_trace_keep(ranks[0]);
    assert_int_equal(halley_trace_set_new(&set, ranks, NPUS, NULL), HALLEY_OK);
    return set;
}

/* The end of the run in seconds; negative: it failed, and `err` says why. */
static double run_sum(const char *network, const char *more, uint64_t kernel_us,
                      halley_error *err)
{
    halley_cluster *c = NULL;
    halley_result *result = NULL;
    halley_trace_set *set = make_sum(kernel_us);
    double end_s = -1;
    *err = (halley_error){0};
    if (load_cluster(&c, network, more, err) == HALLEY_OK &&
        halley_sim_run(&result, set, c, NULL, err) == HALLEY_OK) {
        end_s = 0;
        for (uint32_t i = 0; i < NPUS; i++)
            end_s = fmax(end_s, (double)halley_result_rank(result, i).finish / 1e12);
    }
    halley_result_free(result);
    halley_cluster_free(c);
    halley_trace_set_free(set);
    return end_s;
}

static double get_end_s(const char *network, const char *more, uint64_t kernel_us)
{
    halley_error err;
    const double end_s = run_sum(network, more, kernel_us, &err);
    if (end_s < 0)
        fail_msg("%s: %s", more, err.text);
    return end_s;
}

static void check_time(const char *what, double got, double want)
{
    if (!(fabs(got - want) <= 20e-12 + 1e-9 * want))
        fail_msg("%s: %.15g s, not %.15g", what, got, want);
}

/* An event of an NPU's port. */
typedef struct port_event {
    uint32_t npu, at_us, for_us;
    uint32_t percent;
} port_event;

/* The slowest port sets the pace of a ring: the time lost is the integral of what it does
 * not carry. All events end before the collective does. */
static double integrate_loss_s(const port_event *events, uint32_t n, uint32_t last_us)
{
    double lost_us = 0;
    for (uint32_t us = 0; us < last_us; us++) {
        uint32_t least = 100;
        for (uint32_t i = 0; i < n; i++)
            if (us >= events[i].at_us && us < events[i].at_us + events[i].for_us &&
                events[i].percent < least)
                least = events[i].percent;
        lost_us += 1 - least / 100.0;
    }
    return lost_us * 1e-6;
}

static void the_slowest_port_sets_the_pace_at_every_instant(void **state)
{
    (void)state;
    rng r = rng_seed(7);
    const double alone_s = get_end_s(switch_text, "", 0);
    const uint32_t room_us = (uint32_t)(alone_s * 1e6 * 0.8);
    assert_true(room_us > 1000);
    for (int trial = 0; trial < 60; trial++) {
        const uint32_t n = 1 + (uint32_t)rng_below(&r, 5);
        port_event events[5];
        char text[1024] = "events: [";
        for (uint32_t i = 0; i < n; i++) {
            port_event *e = &events[i];
            e->npu = (i + (uint32_t)trial) % NPUS; /* one event a port */
            e->at_us = (uint32_t)rng_below(&r, room_us - 200);
            e->for_us = 1 + (uint32_t)rng_below(&r, room_us - e->at_us - 1);
            e->percent = (uint32_t)rng_below(&r, 4) * 25;
            char bandwidth[16];
            snprintf(bandwidth, sizeof bandwidth, e->percent == 0 ? "0" : "%u %%",
                     e->percent);
            snprintf(text + strlen(text), sizeof text - strlen(text),
                     "%s{at: %u us, device: npu%u, bandwidth: %s, for: %u us}",
                     i > 0 ? ", " : "", e->at_us, e->npu, bandwidth, e->for_us);
        }
        snprintf(text + strlen(text), sizeof text - strlen(text), "]%s",
                 trial % 2 == 0 ? "" : ", reroute: 1 s");
        check_time(text, get_end_s(switch_text, text, 0),
                   alone_s + integrate_loss_s(events, n, room_us));
    }
}

static void what_starts_while_its_links_are_down_waits_for_them(void **state)
{
    (void)state;
    const double alone_s = get_end_s(switch_text, "", 0);
    check_time("down from 0.2 to 2 ms, started at 0.5 ms",
               get_end_s(switch_text,
                         "events: [{at: 200 us, device: npu2, bandwidth: 0, for: 1800 "
                         "us}]",
                         500),
               2e-3 + alone_s);
    check_time("over before anything starts",
               get_end_s(switch_text,
                         "events: [{at: 100 us, device: npu2, bandwidth: 0, for: 100 "
                         "us}]",
                         500),
               0.5e-3 + alone_s);
    check_time(
        "later than the run",
        get_end_s(switch_text, "events: [{at: 5 s, device: npu2, bandwidth: 0}]", 0),
        alone_s);
}

static void what_fails_is_avoided_after_the_time_that_routes_take(void **state)
{
    (void)state;
    /* The spine's links bind: 4 NPUs over 2 spines at a quarter of their rate. */
    char tree[256], text[300];
    snprintf(tree, sizeof tree,
             "%s, links: [{between: [leaf*, spine*], bandwidth: x0.25}]", tree_text);
    snprintf(text, sizeof text, "%s, failed: [spine1]", tree);
    const double failed_s = get_end_s(text, "", 0), whole_s = get_end_s(tree, "", 0);
    assert_true(failed_s > 1.5 * whole_s);
    check_time("from the start",
               get_end_s(tree, "events: [{at: 0 s, device: spine1, bandwidth: 0}]", 0),
               failed_s);
    check_time("from the start, routes after 1 ms",
               get_end_s(tree,
                         "events: [{at: 0 s, device: spine1, bandwidth: 0}], reroute: 1 "
                         "ms",
                         0),
               failed_s + 1e-3);
    /* What was sent before does not count any more: linear in the time of the failure. */
    double end_s[3];
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text,
                 "events: [{at: %d us, device: spine1, bandwidth: 0}], reroute: 300 us",
                 400 * (i + 1));
        end_s[i] = get_end_s(tree, text, 0);
        assert_true(end_s[i] < failed_s + 300e-6 && end_s[i] > whole_s + 300e-6);
    }
    check_time("linear", end_s[2] - end_s[1], end_s[1] - end_s[0]);
    check_time("as if from the start", 2 * end_s[0] - end_s[1], failed_s + 300e-6);
}

static void a_failure_without_another_way_is_named(void **state)
{
    (void)state;
    halley_error err;
    assert_true(run_sum(switch_text, "events: [{at: 1 us, device: npu3, bandwidth: 0}]",
                        0, &err) < 0);
    assert_int_equal(err.code, HALLEY_EDEADLOCK);
    if (strstr(err.text, "npu3") == NULL || strstr(err.text, "has failed") == NULL ||
        strstr(err.text, "do not match") != NULL)
        fail_msg("%s", err.text);
}

/* Its ends are rounded to a tick, which the certificate must allow when the rate is 0. */
static void a_link_may_fail_after_collectives_have_crossed_it(void **state)
{
    (void)state;
    static const char text[] =
        "npus: 8\nnpu: h100-sxm-80gb\nnodes: {npus: 2, up: nvlink4-h100, nics: 2}\n"
        "network: {topology: rail-optimised, nodes-per-leaf: 1, spines: 2, cables: 1, "
        "link: 400 Gb/s, latency: 500 ns, fabric: ib-ndr, "
        "events: [{at: 400 us, link: leaf0 - spine0, bandwidth: 0}]}\n";
    halley_error err = {0};
    halley_cluster *c = NULL;
    halley_result *result = NULL;
    halley_trace_set *set = make_sums();
    if (halley_cluster_parse(&c, text, strlen(text), "c", &err) != HALLEY_OK ||
        halley_sim_run(&result, set, c, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_true(halley_result_rank(result, 0).finish > 400 * 1000000ull);
    halley_result_free(result);
    halley_cluster_free(c);
    halley_trace_set_free(set);
}

static void wrong_events_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *more, *words;
    } cases[] = {
        {"events: 3", "events must be a list"},
        {"events: [5]", "an entry of events is a map"},
        {"events: [{at: 1 s, link: npu0 - switch0}]", "bandwidth"},
        {"events: [{at: 1 s, bandwidth: 0}]", "link or device"},
        {"events: [{at: 1 s, device: npu1, link: a - b, bandwidth: 0}]",
         "link or device"},
        {"events: [{device: npu1, bandwidth: 0}]", "\"at\" is missing"},
        {"events: [{at: -1 s, device: npu1, bandwidth: 0}]", "at"},
        {"events: [{at: 1 s, for: 0 s, device: npu1, bandwidth: 0}]", "for must be"},
        {"events: [{at: 1 s, device: npu1, bandwidth: fast}]", "bandwidth must be"},
        {"events: [{at: 1 s, device: npu77, bandwidth: 0}]", "npu77"},
        {"events: [{at: 1 s, link: npu0 - npu1, bandwidth: 0}]", "no link joins"},
        {"events: [{at: 1 s, devise: npu1, bandwidth: 0}]", "devise"},
        {"events: [{at: 1 s, device: npu1, bandwidth: 0}, {at: 2 s, device: npu1, "
         "bandwidth: x0.5}]",
         "two events hold"},
        {"reroute: -1 s", "reroute"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_error err;
        assert_true(run_sum(switch_text, cases[i].more, 0, &err) < 0);
        if (strstr(err.text, cases[i].words) == NULL)
            fail_msg("%s: %s", cases[i].more, err.text);
    }
}

static void other_network_models_refuse_events(void **state)
{
    (void)state;
    halley_cluster *c = NULL;
    halley_result *result = NULL;
    halley_error err = {0};
    halley_trace_set *set = make_sum(0);
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_FREE};
    assert_int_equal(load_cluster(&c, switch_text,
                                  "events: [{at: 1 s, device: npu1, bandwidth: 0}]",
                                  &err),
                     HALLEY_OK);
    assert_int_not_equal(halley_sim_run(&result, set, c, &opts, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "flow"));
    halley_cluster_free(c);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slowest_port_sets_the_pace_at_every_instant),
        cmocka_unit_test(what_starts_while_its_links_are_down_waits_for_them),
        cmocka_unit_test(what_fails_is_avoided_after_the_time_that_routes_take),
        cmocka_unit_test(a_failure_without_another_way_is_named),
        cmocka_unit_test(a_link_may_fail_after_collectives_have_crossed_it),
        cmocka_unit_test(wrong_events_are_refused),
        cmocka_unit_test(other_network_models_refuse_events),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
