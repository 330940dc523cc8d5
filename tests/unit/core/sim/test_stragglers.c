/* Slow and late NPUs, and kernels that communication disturbs. */
#include "halley/cluster.h"
#include "halley/sim.h"
#include "halley/trace.h"
#include "halley/trace_attr.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plain_text[] =
    "npus: 8\nnpu: h100-sxm-80gb\nnetwork: {topology: switch, "
    "link: 50 GB/s, latency: 1 us}\n";

static halley_cluster *parse(const char *system)
{
    char text[1024];
    halley_cluster *c = NULL;
    halley_error err = {0};
    snprintf(text, sizeof text, "%s%s", plain_text, system);
    if (halley_cluster_parse(&c, text, strlen(text), "c", &err) != HALLEY_OK)
        fail_msg("%s: %s", text, err.text);
    return c;
}

/* Every rank: kernels of that length one after the other, beside all-reduces. */
static halley_trace_set *make_traces(const uint64_t *kernels_us, uint32_t n_kernels,
                                     uint32_t n_colls, uint64_t bytes, const char *class)
{
    halley_builder *b;
    halley_trace *ranks[8];
    halley_trace_set *set;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < n_kernels; i++) {
        halley_builder_node(b, i, HALLEY_NODE_COMP, (halley_bytes){"kernel", 6});
        halley_builder_time(b, 0, kernels_us[i]);
        halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
        halley_builder_attr_text(b, HALLEY_ATTR_NAME_KERNEL_CLASS,
                                 (halley_bytes){class, strlen(class)});
        if (i > 0)
            halley_builder_data(b, i - 1);
    }
    for (uint32_t i = 0; i < n_colls; i++) {
        halley_builder_node(b, 100 + i, HALLEY_NODE_COLL, (halley_bytes){"sum", 3});
        halley_builder_attr_bool(b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
        halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_COLL_ALL_REDUCE);
        halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)bytes);
    }
    assert_int_equal(halley_builder_finish(&ranks[0], b, NULL), HALLEY_OK);
    for (int i = 1; i < 8; i++)
        ranks[i] = halley_trace_keep(ranks[0]);
    assert_int_equal(halley_trace_set_new(&set, ranks, 8, NULL), HALLEY_OK);
    return set;
}

static halley_result *simulate(const halley_trace_set *set, halley_cluster *c)
{
    halley_result *result;
    halley_error err = {0};
    if (halley_sim_run(&result, set, c, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_cluster_free(c);
    return result;
}

static double get_finish_s(const halley_result *r, uint32_t rank)
{
    return (double)halley_result_rank(r, rank).finish / 1e12;
}

/* How long an all-reduce takes alone. */
static double time_sum(uint64_t bytes)
{
    halley_trace_set *set = make_traces(NULL, 0, 1, bytes, "");
    halley_result *r = simulate(set, parse(""));
    const double s = get_finish_s(r, 0);
    halley_result_free(r);
    halley_trace_set_free(set);
    return s;
}

static void kernels_beside_communication_take_the_stated_factor(void **state)
{
    (void)state;
    static const struct {
        const char *class;
        double f;
    } classes[] = {{"matmul", 0.25}, {"attention", 0.1}, {"elementwise", 0.5}};
    const uint64_t bytes = 32 << 20;
    const double comm_s = time_sum(bytes);
    for (int i = 0; i < 3; i++) {
        const uint64_t lengths[] = {300, 500, 4000};
        for (int k = 0; k < 3; k++) {
            const uint64_t kernels[] = {lengths[k], 200};
            halley_trace_set *set = make_traces(kernels, 2, 1, bytes, classes[i].class);
            halley_result *r = simulate(
                set, parse("system: {interference: {matmul: 25 %, attention: 0.1, "
                           "memory-bound: 50 %}}\n"));
            /* Work that is done while the collective runs, then the rest. */
            const double work_s = (double)(lengths[k] + 200) * 1e-6;
            const double done_s = comm_s / (1 + classes[i].f);
            const double want =
                work_s <= done_s ? work_s * (1 + classes[i].f) : comm_s + work_s - done_s;
            const double got = (double)halley_result_rank(r, 3).compute / 1e12;
            if (fabs(got - want) > 5e-12)
                fail_msg("%s, %llu us: %.9g s, not %.9g", classes[i].class,
                         (unsigned long long)lengths[k], got, want);
            assert_true(fabs(get_finish_s(r, 3) - fmax(want, comm_s)) < 5e-12);
            assert_int_equal(halley_result_warning_count(r), 1);
            assert_non_null(strstr(halley_result_warning(r, 0),
                                   "matmuls 1.25, attention 1.1, memory-bound kernels "
                                   "1.5 times"));
            halley_result_free(r);
            halley_trace_set_free(set);
        }
    }
}

/* Scenario 27: a ring waits for a member that is 1 ms late, and then takes its time. */
static void a_ring_waits_for_the_late_one(void **state)
{
    (void)state;
    halley_trace_set *set = make_traces(NULL, 0, 1, 64 << 20, "");
    halley_cluster *c = parse("");
    assert_int_equal(halley_cluster_set_late(c, "0=1 ms", NULL), HALLEY_OK);
    halley_result *r = simulate(set, c);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(fabs(get_finish_s(r, i) - 1e-3 - time_sum(64 << 20)) < 2e-12);
    halley_result_free(r);
    halley_trace_set_free(set);
}

static void slow_npus_and_nodes_compute_longer(void **state)
{
    (void)state;
    const uint64_t kernels[] = {1000};
    halley_trace_set *set = make_traces(kernels, 1, 0, 0, "matmul");
    halley_cluster *c = NULL;
    assert_int_equal(halley_cluster_load(&c, "dgx-h100:8", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_set_slow(c, "2-3=1.5", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_set_slow(c, "7=3", NULL), HALLEY_OK);
    halley_result *r = simulate(set, c);
    for (uint32_t i = 0; i < 8; i++)
        assert_true(fabs(get_finish_s(r, i) - (i == 7             ? 3e-3
                                               : i == 2 || i == 3 ? 1.5e-3
                                                                  : 1e-3)) < 1e-12);
    halley_result_free(r);
    assert_int_equal(halley_cluster_load(&c, "dgx-h100:16", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_set_slow(c, "node1=2", NULL), HALLEY_OK);
    char *text = NULL;
    assert_int_equal(halley_cluster_print(&text, c, NULL), HALLEY_OK);
    assert_non_null(strstr(text, "    8: 2\n"));
    assert_null(strstr(text, "    7: "));
    free(text);
    halley_cluster_free(c);
    halley_trace_set_free(set);
}

static void wrong_settings_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *setting, *text;
    } cases[] = {{"9=2", "\"9\" is not one of the 8 NPUs"},
                 {"node8=2", "\"node8\" is not one of the 8 NPUs"},
                 {"x=2", "\"x\" names no NPUs: use 3, 0-7, node2 or node0-3"},
                 {"3", "slow: expected NPUS=VALUE, such as node2=1.5, is \"3\""},
                 {"3=-1", "slow: a factor must be positive and below 1e6, is -1"},
                 {"3=fast", "slow: \"fast\" is no factor"}};
    halley_cluster *c = parse("");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_error err = {0};
        assert_int_equal(halley_cluster_set_slow(c, cases[i].setting, &err),
                         HALLEY_EINVAL);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s: %s", cases[i].setting, err.text);
    }
    halley_cluster_free(c);
    static const struct {
        const char *system, *text;
    } files[] = {{"interference: {network: 10 %}", "must be keys with values"},
                 {"interference: {network: {memory-bound: 100 %}}", "memory-bound"},
                 {"interference: {network: {matmul: -5 %}}", "matmul"},
                 {"interference: {network: {gemm: 5 %}}", "gemm"}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        halley_error err = {0};
        char text[512];
        snprintf(text, sizeof text, "%ssystem: {%s}\n", plain_text, files[i].system);
        assert_int_equal(halley_cluster_parse(&c, text, strlen(text), "c", &err),
                         HALLEY_EINVAL);
        if (strstr(err.text, files[i].text) == NULL)
            fail_msg("%s: %s", files[i].system, err.text);
    }
}

/* The rate alone, times 1 - h while the kernel runs. */
static double add_network_loss(double fixed_s, double wire_s, double kernel_s, double h)
{
    return wire_s <= kernel_s * (1 - h)
               ? fixed_s + wire_s / (1 - h)
               : fixed_s + kernel_s + (wire_s - kernel_s * (1 - h));
}

static void collectives_beside_kernels_lose_the_stated_share(void **state)
{
    (void)state;
    static const struct {
        const char *class;
        double h;
    } classes[] = {{"matmul", 0.05}, {"attention", 0.1}, {"elementwise", 0.4}};
    const uint64_t bytes = 32 << 20;
    const double alone_s = time_sum(bytes), wire_s = time_sum(2 * bytes) - alone_s;
    for (int i = 0; i < 3; i++) {
        const uint64_t lengths[] = {100, 700, 9000};
        for (int k = 0; k < 3; k++) {
            const uint64_t kernels[] = {lengths[k], 50};
            halley_trace_set *set = make_traces(kernels, 2, 1, bytes, classes[i].class);
            halley_result *r = simulate(
                set, parse("system: {interference: {network: {matmul: 5 %, attention: "
                           "0.1, memory-bound: 40 %}}}\n"));
            const double kernel_s = (double)(lengths[k] + 50) * 1e-6;
            const double want = fmax(kernel_s, add_network_loss(alone_s - wire_s, wire_s,
                                                                kernel_s, classes[i].h));
            if (fabs(get_finish_s(r, 3) - want) > 1e-11)
                fail_msg("%s, %llu us: %.12g s, not %.12g", classes[i].class,
                         (unsigned long long)lengths[k], get_finish_s(r, 3), want);
            assert_non_null(strstr(halley_result_warning(r, 0),
                                   "by 5 % next to matmuls, 10 % next to attention, 40 % "
                                   "next to memory-bound kernels"));
            halley_result_free(r);
            halley_trace_set_free(set);
        }
    }
}

/* Both at once: the kernel runs at 1 / (1 + f), the collective at 1 - h meanwhile. */
static void kernels_and_collectives_slow_each_other_down(void **state)
{
    (void)state;
    const uint64_t bytes = 32 << 20, kernels[] = {400};
    const double alone_s = time_sum(bytes), wire_s = time_sum(2 * bytes) - alone_s;
    halley_trace_set *set = make_traces(kernels, 1, 1, bytes, "elementwise");
    halley_result *r = simulate(set, parse("system: {interference: {memory-bound: 50 %, "
                                           "network: {memory-bound: 20 %}}}\n"));
    const double kernel_s = 400e-6 * 1.5;
    const double want = add_network_loss(alone_s - wire_s, wire_s, kernel_s, 0.2);
    assert_true(want > kernel_s);
    assert_true(fabs((double)halley_result_rank(r, 1).compute / 1e12 - kernel_s) < 5e-12);
    assert_true(fabs(get_finish_s(r, 1) - want) < 1e-11);
    halley_result_free(r);
    halley_trace_set_free(set);
}

static void steps_refuse_to_be_slowed(void **state)
{
    (void)state;
    halley_error err = {0};
    halley_result *r = NULL;
    halley_trace_set *set = make_traces(NULL, 0, 1, 1 << 20, "");
    halley_cluster *c =
        parse("system: {collectives: steps, interference: {network: {matmul: 5 %}}}\n");
    assert_int_equal(halley_sim_run(&r, set, c, NULL, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "interference: network needs"));
    halley_cluster_free(c);
    halley_trace_set_free(set);
}

static void what_is_written_is_read_again(void **state)
{
    (void)state;
    halley_cluster *c =
        parse("system: {slow: {3: 1.5, 4-5: 2}, late: {1: 5 ms}, "
              "interference: {memory-bound: 0.2, network: {matmul: 0.1}}}\n");
    char *once = NULL, *twice = NULL;
    assert_int_equal(halley_cluster_print(&once, c, NULL), HALLEY_OK);
    halley_cluster_free(c);
    assert_int_equal(halley_cluster_parse(&c, once, strlen(once), "c", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_print(&twice, c, NULL), HALLEY_OK);
    assert_string_equal(once, twice);
    assert_non_null(strstr(once, "network: {matmul: 0.1, attention: 0"));
    free(once);
    free(twice);
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_beside_communication_take_the_stated_factor),
        cmocka_unit_test(collectives_beside_kernels_lose_the_stated_share),
        cmocka_unit_test(kernels_and_collectives_slow_each_other_down),
        cmocka_unit_test(steps_refuse_to_be_slowed),
        cmocka_unit_test(a_ring_waits_for_the_late_one),
        cmocka_unit_test(slow_npus_and_nodes_compute_longer),
        cmocka_unit_test(wrong_settings_are_named),
        cmocka_unit_test(what_is_written_is_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
