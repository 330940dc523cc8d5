/* Layers of recordings and of pipelines with unequal stages. */
#include "alloc_fail.h"
#include "edit/scale.h"
#include "halley/scale.h"
#include "make_trace.h"
#include "node_number.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAIN = 1, ENGINE = 2 };

/* A recorded step: operators, kernels behind them, numbers of autograd. */
typedef struct recorder {
    halley_builder *b;
    uint64_t id, last_host[3], last_kernel;
    uint64_t at_ns;
    uint64_t longer; /* how many times as long nodes are; 0 = once */
} recorder;

static uint64_t add_node(recorder *r, const char *name, int64_t tid, uint64_t parent,
                         bool host, const char *shapes)
{
    const uint64_t id = r->id++;
    uint64_t *const last = host ? &r->last_host[tid] : &r->last_kernel;
    halley_builder_node(r->b, id, HALLEY_NODE_COMP, text(name));
    halley_builder_time(r->b, r->at_ns / 1000,
                        (host ? 1 : 10) * (r->longer ? r->longer : 1));
    if (*last > 0)
        halley_builder_data(r->b, *last);
    if (!host)
        halley_builder_data(r->b, parent);
    if (id != parent)
        halley_builder_ctrl(r->b, parent);
    const halley_io in = {.present = true, .shapes = text(shapes)};
    halley_builder_inputs(r->b, &in);
    halley_builder_attr_i64(r->b, "tid", tid);
    halley_builder_attr_bool(r->b, "is_cpu_op", host);
    halley_builder_attr_u64(r->b, "start_ns", r->at_ns += 1000);
    *last = id;
    return id;
}

static void numbered(recorder *r, int64_t seq, int64_t fw_parent)
{
    halley_builder_attr_i64(r->b, "seq_id", seq);
    halley_builder_attr_i64(r->b, "fw_parent", fw_parent);
}

static void add_forward(recorder *r, const char *name, int64_t seq, const char *shapes)
{
    const uint64_t op = add_node(r, name, MAIN, 0, true, shapes);
    numbered(r, seq, 0);
    const uint64_t call = add_node(r, "aten::mm", MAIN, op, true, shapes);
    numbered(r, -1, 0);
    add_node(r, seq % 2 ? "gemm a" : "gemm b", MAIN, call, false, "");
    numbered(r, -1, 0);
}

static void add_backward(recorder *r, int64_t seq, bool weight)
{
    const uint64_t call =
        add_node(r, "autograd::engine::evaluate_function: Mm", ENGINE, 0, true, "");
    const uint64_t op = add_node(r, "MmBackward0", ENGINE, call, true, "");
    numbered(r, seq, 1);
    add_node(r, "gemm", ENGINE, op, false, "");
    if (!weight)
        return;
    add_node(r, "torch::autograd::AccumulateGrad", ENGINE, 0, true, "[[8, 4]]");
    numbered(r, -1, 1);
}

static void add_bucket(recorder *r, uint64_t bytes)
{
    const uint64_t op = add_node(r, "c10d::allreduce_", ENGINE, 0, true, "");
    halley_builder_node(r->b, r->id, HALLEY_NODE_COLL, text("nccl"));
    halley_builder_data(r->b, op);
    halley_builder_ctrl(r->b, op);
    halley_builder_attr_i64(r->b, "tid", ENGINE);
    halley_builder_attr_bool(r->b, "is_cpu_op", false);
    halley_builder_attr_u64(r->b, "start_ns", r->at_ns += 1000);
    halley_builder_attr_i64(r->b, "comm_type", HALLEY_COLL_ALL_REDUCE);
    halley_builder_attr_u64(r->b, "comm_size", bytes);
    r->id++;
}

static void add_optimizer(recorder *r, uint64_t n_weights)
{
    r->longer = n_weights;
    const uint64_t step = add_node(r, "Optimizer.step#SGD.step", MAIN, 0, true, "");
    const uint64_t op = add_node(r, "aten::add_", MAIN, step, true, "[[8, 4]]");
    add_node(r, "update", MAIN, op, false, "");
    r->longer = 0;
}

/* n layers of two operators between a first and a last one, `n_steps` times; buckets
 * after layer `bucket` and at the end, of 128 bytes a weight; an optimizer. */
static halley_trace *record(uint32_t n, uint32_t bucket, uint32_t n_steps)
{
    recorder r = {.b = make_start()};
    int64_t seq = 0;
    add_node(&r, "thread", MAIN, 0, true, "");
    for (uint32_t step = 0; step < n_steps; step++) {
        const int64_t first = seq;
        add_forward(&r, "aten::embedding", seq++, "[[64]]");
        for (uint32_t k = 0; k < n; k++) {
            add_forward(&r, "aten::linear", seq++, "[[8, 4]]");
            add_forward(&r, "aten::gelu", seq++, "[[8, 8]]");
        }
        add_forward(&r, "aten::loss", seq++, "[[1]]");
        uint32_t weights = 0;
        for (int64_t s = seq - 1; s >= first; s--) {
            const bool weight = (s - first) % 2 == 1;
            add_backward(&r, s, weight);
            weights += weight;
            if (s == first + 1 + 2 * (int64_t)bucket) {
                add_bucket(&r, 128 * weights);
                weights = 0;
            }
        }
        if (weights > 0)
            add_bucket(&r, 128 * weights);
        add_optimizer(&r, n + 1);
    }
    return make_finish(r.b);
}

static uint32_t count_named(const halley_trace *t, const char *name)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const halley_bytes at = halley_node_name(t, i);
        n += at.n == strlen(name) && memcmp(at.at, name, at.n) == 0;
    }
    return n;
}

static uint64_t sum_bytes(const halley_trace *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        if (halley_node_type_of(t, i) == HALLEY_NODE_COLL)
            sum += number(t, i, "comm_size");
    return sum;
}

/* One rank's longest chain of durations, in the order of dependencies. */
static uint64_t longest(const halley_trace *t)
{
    const uint32_t n = halley_trace_count(t);
    uint64_t *const end = calloc(n, sizeof *end), most = 0;
    assert_non_null(end);
    for (uint32_t pass = 0; pass < 64; pass++)
        for (uint32_t i = 0; i < n; i++) {
            uint64_t start = 0;
            for (uint32_t k = 0; k < halley_node_data_count(t, i); k++) {
                const uint32_t dep = halley_node_data(t, i, k).index;
                start = end[dep] > start ? end[dep] : start;
            }
            end[i] = start + halley_node_duration_us(t, i);
            most = end[i] > most ? end[i] : most;
        }
    free(end);
    return most;
}

static void layers_of_a_recording_are_copied_with_all_that_belongs_to_them(void **state)
{
    (void)state;
    static const uint32_t to[] = {5, 6, 9, 12, 4, 3, 1};
    for (size_t i = 0; i < sizeof to / sizeof *to; i++) {
        halley_trace *const from = record(6, 2, 2), *const want = record(to[i], 0, 2);
        halley_trace_set *const set = make_set(&(halley_trace *){from}, 1);
        const halley_scale_opts opts = {.layers_from = 6, .layers_to = to[i]};
        halley_scaled *s = NULL;
        halley_error err = {0};
        if (to[i] == 1) { /* the bucket's own layer cannot go */
            assert_int_equal(halley_trace_scale(&s, set, &opts, &err), HALLEY_EINVAL);
            assert_non_null(strstr(err.text, "cannot be left out"));
        } else {
            if (halley_trace_scale(&s, set, &opts, &err) != HALLEY_OK)
                fail_msg("%s", err.text);
            const halley_trace *const t = halley_trace_set_get(s->set, 0);
            static const char *const names[] = {"aten::linear", "aten::mm", "MmBackward0",
                                                "torch::autograd::AccumulateGrad",
                                                "gemm"};
            for (size_t k = 0; k < sizeof names / sizeof *names; k++)
                assert_int_equal(count_named(t, names[k]), count_named(want, names[k]));
            assert_int_equal(count_named(t, "nccl"), count_named(from, "nccl"));
            assert_int_equal(sum_bytes(t), sum_bytes(want));
            assert_int_equal(longest(t), longest(want));
        }
        halley_scaled_free(s);
        halley_trace_set_free(set);
        halley_trace_free(want);
    }
}

static void expect_refusal(halley_trace *t, uint32_t from, uint32_t to, const char *words)
{
    halley_trace_set *const set = make_set(&t, 1);
    const halley_scale_opts opts = {.layers_from = from, .layers_to = to};
    halley_scaled *s = NULL;
    halley_error err = {0};
    assert_int_equal(halley_trace_scale(&s, set, &opts, &err), HALLEY_EINVAL);
    if (!strstr(err.text, words))
        fail_msg("%s", err.text);
    halley_trace_set_free(set);
}

static void what_is_no_layer_of_a_recording_is_refused(void **state)
{
    (void)state;
    halley_trace_set *const set = make_set(&(halley_trace *){record(6, 2, 2)}, 1);
    const halley_scale_opts opts = {.layers_from = 6, .layers_to = 8, .repeats = 6};
    halley_scaled *s = NULL;
    halley_error err = {0};
    assert_int_equal(halley_trace_scale(&s, set, &opts, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "--repeats is not for recordings"));
    halley_trace_set_free(set);
    expect_refusal(record(6, 2, 3), 7, 14, "rows of 6 equal blocks");
    expect_refusal(record(6, 2, 3), 3, 6, "rows of 6 equal blocks"); /* three steps */
    expect_refusal(record(1, 0, 3), 3, 6, "no operators that repeat");
    recorder r = {.b = make_start()};
    for (int i = 0; i < 40; i++) /* a forward pass alone */
        add_node(&r, i % 2 ? "aten::linear" : "aten::gelu", MAIN, 0, true, "[[4]]");
    expect_refusal(make_finish(r.b), 20, 40, "rows of 19 equal blocks");
}

static void layers_are_shared_out_in_proportion(void **state)
{
    (void)state;
    static const struct {
        uint32_t parts[4], n;
        uint64_t total;
        uint32_t want[4];
        bool fine;
    } rows[] = {
        {{5, 2, 1}, 3, 16, {10, 4, 2}, true}, {{5, 2, 1}, 3, 9, {6, 2, 1}, true},
        {{5, 2, 1}, 3, 11, {7, 3, 1}, true},  {{2, 3, 5, 2}, 4, 13, {2, 3, 6, 2}, true},
        {{1, 1, 1}, 3, 4, {2, 1, 1}, true},   {{5, 2, 1}, 3, 4, {3, 1, 0}, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t out[4] = {0};
        assert_int_equal(scale_share_out(out, rows[i].parts, rows[i].n, rows[i].total),
                         rows[i].fine);
        for (uint32_t k = 0; k < rows[i].n; k++)
            assert_int_equal(out[k], rows[i].want[k]);
    }
}

static void ends_stay_and_the_inside_is_copied_in_turn(void **state)
{
    (void)state;
    static const uint8_t second[] = {0, 1, 0, 0}, all[] = {1, 1, 1, 1};
    static const struct {
        uint32_t n, n_after;
        const uint8_t *fixed;
        uint32_t want[8]; /* UINT32_MAX at the head: refused */
    } rows[] = {{4, 8, NULL, {0, 1, 2, 1, 2, 1, 2, 3}},
                {4, 6, second, {0, 1, 2, 2, 2, 3}},
                {2, 4, NULL, {0, 0, 0, 1}},
                {1, 3, NULL, {0, 0, 0}},
                {4, 3, NULL, {0, 1, 3}},
                {4, 3, second, {0, 1, 3}},
                {4, 2, second, {UINT32_MAX}},
                {4, 1, NULL, {0}},
                {4, 8, all, {UINT32_MAX}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool fine = false;
        uint32_t *const blocks =
            scale_block_list(rows[i].n, rows[i].n_after, rows[i].fixed, &fine);
        assert_true(fine);
        assert_int_equal(blocks == NULL, rows[i].want[0] == UINT32_MAX);
        for (uint32_t k = 0; blocks && k < rows[i].n_after; k++)
            assert_int_equal(blocks[k], rows[i].want[k]);
        free(blocks);
    }
}

/* Stages of a pipeline, each with its layers between a receive and a send. */
static halley_trace_set *pipeline(const uint32_t *layers, uint32_t n)
{
    halley_trace *traces[8];
    for (uint32_t r = 0; r < n; r++) {
        halley_builder *const b = make_start();
        uint64_t id = 0;
        for (uint32_t batch = 0; batch < 3; batch++) {
            if (r > 0)
                make_p2p(b, id++, false, (int32_t)r - 1, (int32_t)batch, 64);
            for (uint32_t k = 0; k < 2 * layers[r]; k++) {
                halley_builder_node(b, id, HALLEY_NODE_COMP, text("comp"));
                halley_builder_time(b, 0, 10);
                if (id > 0)
                    halley_builder_data(b, id - 1);
                halley_builder_attr_bool(b, "is_cpu_op", false);
                halley_builder_attr_i64(b, "num_ops", 100 + k % 2);
                id++;
            }
            if (r + 1 < n) {
                make_p2p(b, id, true, (int32_t)r + 1, (int32_t)batch, 64);
                halley_builder_data(b, id - 1);
                id++;
            }
        }
        traces[r] = make_finish(b);
    }
    return make_set(traces, n);
}

static uint32_t count_comp(const halley_trace *t)
{
    return count_named(t, "comp");
}

static void unequal_stages_get_their_share(void **state)
{
    (void)state;
    static const struct {
        uint32_t layers[4], n, from, to, want[4]; /* want[0] = 0: refused */
    } rows[] = {{{3, 3, 2, 2}, 4, 10, 12, {3, 3, 3, 3}},
                {{2, 2, 2}, 3, 6, 8, {3, 3, 2}},
                {{3, 2, 2}, 3, 7, 14, {5, 5, 4}},
                {{5, 2, 2}, 3, 9, 18, {10, 4, 4}},
                {{5, 2, 2}, 3, 9, 10, {6, 2, 2}},
                {{4, 2}, 2, 6, 3, {2, 1}},
                {{4, 2}, 2, 6, 1, {0}},
                {{4, 2}, 2, 7, 14, {0}}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_trace_set *const set = pipeline(rows[i].layers, rows[i].n);
        const halley_scale_opts opts = {.layers_from = rows[i].from,
                                        .layers_to = rows[i].to};
        halley_scaled *s = NULL;
        halley_error err = {0};
        const halley_status status = halley_trace_scale(&s, set, &opts, &err);
        if ((status == HALLEY_OK) != (rows[i].want[0] != 0))
            fail_msg("%zu: %s", i, err.text);
        for (uint32_t r = 0; s && r < rows[i].n; r++)
            assert_int_equal(count_comp(halley_trace_set_get(s->set, r)),
                             6 * rows[i].want[r]);
        halley_scaled_free(s);
        halley_trace_set_free(set);
    }
}

static halley_status scale_it(void *context, halley_error *err)
{
    halley_scaled *s = NULL;
    const halley_status status = halley_trace_scale(
        &s, context, &(halley_scale_opts){.layers_from = 6, .layers_to = 8}, err);
    halley_scaled_free(s);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    halley_trace_set *const recorded = make_set(&(halley_trace *){record(6, 2, 2)}, 1);
    assert_true(alloc_fail_everywhere(scale_it, recorded) > 10);
    halley_trace_set_free(recorded);
    halley_trace_set *const stages = pipeline((const uint32_t[]){4, 2}, 2);
    assert_true(alloc_fail_everywhere(scale_it, stages) > 10);
    halley_trace_set_free(stages);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_of_a_recording_are_copied_with_all_that_belongs_to_them),
        cmocka_unit_test(what_is_no_layer_of_a_recording_is_refused),
        cmocka_unit_test(layers_are_shared_out_in_proportion),
        cmocka_unit_test(ends_stay_and_the_inside_is_copied_in_turn),
        cmocka_unit_test(unequal_stages_get_their_share),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
