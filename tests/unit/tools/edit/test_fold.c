/* The portable form of a recording, under the rules of a simulator with three lanes. */
#include "base/rng.h"
#include "cases.h"
#include "halley/portable.h"
#include "halley/sim.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>

enum { N_THREADS = 3, N_STREAMS = 2, MOST_NODES = 400 };

/* A recording in halley's own form, made at random: host nodes follow each other on a
 * thread, and launch device nodes that begin after a lag. */
typedef struct recording {
    halley_builder *b;
    uint64_t next_id;
    uint64_t last_host[N_THREADS], last_work[N_STREAMS]; /* ids; 0 = none */
} recording;

static void put_node(recording *r, const char *name, bool is_cpu, uint64_t duration_us)
{
    halley_builder_node(r->b, r->next_id++, HALLEY_NODE_COMP,
                        (halley_bytes){name, strlen(name)});
    halley_builder_time(r->b, 0, duration_us);
    halley_builder_attr_bool(r->b, "is_cpu_op", is_cpu);
    halley_builder_attr_u64(r->b, "duration_ns", duration_us * 1000);
}

static uint64_t put_lag(recording *r, uint64_t after, uint64_t duration_us)
{
    put_node(r, "launch latency", true, duration_us);
    halley_builder_attr_bool(r->b, "free_lane", true);
    halley_builder_data(r->b, after);
    return r->next_id - 1;
}

static uint64_t put_host(recording *r, uint32_t thread, uint64_t wait_for,
                         uint64_t duration_us)
{
    put_node(r, "aten::mm", true, duration_us);
    halley_builder_attr_i64(r->b, "tid", thread);
    if (r->last_host[thread] > 0)
        halley_builder_data(r->b, r->last_host[thread]);
    if (wait_for > 0)
        halley_builder_data(r->b, wait_for);
    return r->last_host[thread] = r->next_id - 1;
}

static void put_work(recording *r, uint32_t stream, uint64_t launch, uint64_t duration_us)
{
    put_node(r, "gemm", false, duration_us);
    halley_builder_attr_i64(r->b, "stream", stream);
    halley_builder_attr_text(r->b, "kernel_class", (halley_bytes){"matmul", 6});
    halley_builder_data(r->b, launch);
    if (r->last_work[stream] > 0)
        halley_builder_data(r->b, r->last_work[stream]);
    r->last_work[stream] = r->next_id - 1;
}

static halley_trace_set *make_recording(rng *random, uint32_t n)
{
    recording r = {.next_id = 1};
    halley_trace *trace;
    halley_trace_set *set;
    assert_int_equal(halley_builder_new(&r.b, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t thread = (uint32_t)rng_below(random, N_THREADS);
        const uint32_t stream = (uint32_t)rng_below(random, N_STREAMS);
        const bool waits = rng_below(random, 8) == 0;
        const uint64_t launch =
            put_host(&r, thread, waits ? r.last_work[stream] : 0, rng_below(random, 30));
        if (rng_below(random, 2) == 0)
            put_work(&r, stream, put_lag(&r, launch, 1 + rng_below(random, 40)),
                     rng_below(random, 50));
    }
    assert_int_equal(halley_builder_finish(&trace, r.b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_set_new(&set, &trace, 1, NULL), HALLEY_OK);
    return set;
}

static double replay(const halley_trace_set *set)
{
    halley_result *result;
    assert_int_equal(halley_sim_replay(&result, set, false, NULL), HALLEY_OK);
    const double seconds = halley_result_wall_s(result);
    halley_result_free(result);
    return seconds;
}

static uint32_t lane_of(const halley_trace *t, uint32_t node)
{
    halley_attr attr;
    if (halley_node_type_of(t, node) != HALLEY_NODE_COMP)
        return 2;
    return halley_node_find_attr(&attr, t, node, "is_cpu_op") && attr.bits != 0 ? 0 : 1;
}

static bool is_ready(const halley_trace *t, uint32_t node, const uint64_t *ends,
                     uint64_t now)
{
    for (uint32_t k = 0; k < halley_node_data_count(t, node); k++)
        if (ends[halley_node_data(t, node, k).index] > now)
            return false;
    return true;
}

/* ASTRA-sim's rules, as slowly and obviously as possible: at every instant, ready nodes
 * are issued in the order of ids if their slot is free. A node lasts its microseconds, or
 * 1 ns if these are 0. No attribute but is_cpu_op is read. */
static uint64_t run_slots_ns(const halley_trace *t)
{
    const uint32_t n = halley_trace_count(t);
    uint64_t *const ends = malloc(n * sizeof *ends);
    uint64_t now = 0, last = 0, free_at[3] = {0};
    assert_non_null(ends);
    for (uint32_t i = 0; i < n; i++)
        ends[i] = UINT64_MAX;
    for (uint32_t n_left = n; n_left > 0;) {
        for (uint32_t i = 0; i < n; i++) {
            const uint32_t lane = lane_of(t, i);
            if (ends[i] != UINT64_MAX || free_at[lane] > now ||
                !is_ready(t, i, ends, now))
                continue;
            const uint64_t us = halley_node_duration_us(t, i);
            ends[i] = free_at[lane] = now + (us > 0 ? us * 1000 : 1);
            last = ends[i] > last ? ends[i] : last;
            n_left--;
        }
        uint64_t next = UINT64_MAX;
        for (uint32_t i = 0; i < n; i++)
            if (ends[i] != UINT64_MAX && ends[i] > now && ends[i] < next)
                next = ends[i];
        assert_true(n_left == 0 || next != UINT64_MAX);
        now = next;
    }
    free(ends);
    return last;
}

static void the_portable_form_takes_the_recorded_time_in_three_lanes(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < cases_count(60); seed++) {
        rng random = rng_seed(seed);
        halley_trace_set *const own =
            make_recording(&random, 1 + (uint32_t)rng_below(&random, MOST_NODES / 4));
        halley_trace_set *portable;
        halley_portable report;
        assert_int_equal(halley_trace_make_portable(&portable, &report, own, NULL),
                         HALLEY_OK);
        const halley_trace *const t = halley_trace_set_get(portable, 0);
        const double recorded = replay(own) * 1e9, native = replay(portable) * 1e9;
        const double slots = (double)run_slots_ns(t);
        assert_int_equal(report.n_nodes, halley_trace_count(t));
        assert_int_equal(report.n_lost, 0);
        assert_float_equal(native, recorded, 1);
        /* every node of 0 us adds at most 1 ns */
        assert_true(slots >= recorded && slots <= recorded + halley_trace_count(t));
        halley_trace_set_free(portable);
        halley_trace_set_free(own);
    }
}

static void no_private_attribute_is_needed(void **state)
{
    (void)state;
    rng random = rng_seed(7);
    halley_trace_set *const own = make_recording(&random, 60), *portable;
    halley_portable report;
    halley_attr attr;
    assert_int_equal(halley_trace_make_portable(&portable, &report, own, NULL),
                     HALLEY_OK);
    const halley_trace *const t = halley_trace_set_get(portable, 0);
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        assert_false(halley_node_find_attr(&attr, t, i, "free_lane"));
        for (uint32_t k = 0; k < halley_node_data_count(t, i); k++)
            assert_true(halley_node_data(t, i, k).index < i);
    }
    halley_trace_set_free(portable);
    halley_trace_set_free(own);
}

/* Two streams that overlap for 30 of 50 us each, after one launch each. */
static void what_another_stream_covers_is_counted(void **state)
{
    (void)state;
    recording r = {.next_id = 1};
    halley_trace *trace;
    halley_trace_set *own, *portable;
    halley_portable report;
    assert_int_equal(halley_builder_new(&r.b, NULL), HALLEY_OK);
    put_work(&r, 0, put_host(&r, 0, 0, 10), 50);
    put_work(&r, 1, put_host(&r, 0, 0, 20), 50);
    assert_int_equal(halley_builder_finish(&trace, r.b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_set_new(&own, &trace, 1, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_make_portable(&portable, &report, own, NULL),
                     HALLEY_OK);
    assert_float_equal(report.device_s, 100e-6, 1e-12);
    assert_float_equal(report.covered_s, 30e-6, 1e-12);
    assert_float_equal(report.wall_s, 80e-6, 1e-12);
    assert_int_equal(run_slots_ns(halley_trace_set_get(portable, 0)), 80000);
    halley_trace_set_free(portable);
    halley_trace_set_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_portable_form_takes_the_recorded_time_in_three_lanes),
        cmocka_unit_test(no_private_attribute_is_needed),
        cmocka_unit_test(what_another_stream_covers_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
