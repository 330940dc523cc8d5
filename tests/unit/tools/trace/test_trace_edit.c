/* Mending, slicing and chaining: what is kept, what is bridged, what stays matched. */
#include "alloc_fail.h"
#include "base/rng.h"
#include "halley/trace_check.h"
#include "halley/trace_edit.h"
#include "make_trace.h"

#include <stdlib.h>

static uint32_t find_node(const halley_trace *t, uint64_t id)
{
    const uint32_t node = halley_trace_find(t, id);
    assert_int_not_equal(node, HALLEY_NO_NODE);
    return node;
}

static bool has_node(const halley_trace *t, uint64_t id)
{
    return halley_trace_find(t, id) != HALLEY_NO_NODE;
}

static bool depends_on(const halley_trace *t, uint64_t id, uint64_t on)
{
    const uint32_t node = find_node(t, id);
    for (uint32_t i = 0; i < halley_node_data_count(t, node); i++)
        if (halley_node_data(t, node, i).id == on)
            return true;
    for (uint32_t i = 0; i < halley_node_ctrl_count(t, node); i++)
        if (halley_node_ctrl(t, node, i).id == on)
            return true;
    return false;
}

static uint64_t count_errors(const halley_trace_set *set)
{
    halley_check_report *r = NULL;
    assert_int_equal(halley_trace_check(&r, set, NULL, NULL), HALLEY_OK);
    const uint64_t n = r->n[HALLEY_ERROR];
    halley_check_report_free(r);
    return n;
}

static halley_trace_set *slice(const halley_trace_set *set, const halley_slice_opts *opts,
                               halley_slice_counts *counts)
{
    halley_trace_set *out = NULL;
    halley_error err = {0};
    if (halley_trace_slice(&out, set, opts, counts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return out;
}

static void fixing_drops_what_cannot_be_met_and_nothing_else(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 5);
    make_comp(b, 2, 6);
    halley_builder_data(b, 1);
    halley_builder_data(b, 50);
    halley_builder_ctrl(b, 51);
    halley_builder_ctrl(b, 2);
    halley_trace *t = make_finish(b), *fixed = NULL;
    halley_fix_counts counts;
    assert_int_equal(halley_trace_fix(&fixed, t, false, &counts, NULL), HALLEY_OK);
    assert_int_equal(counts.n_dangling, 2);
    assert_int_equal(counts.n_self, 0);
    assert_int_equal(halley_trace_dep_count(fixed), 2);
    assert_int_equal(halley_node_duration_us(fixed, 1), 6);
    assert_int_equal(halley_node_attr_count(fixed, 1), 3);
    halley_trace_free(fixed);
    assert_int_equal(halley_trace_fix(&fixed, t, true, &counts, NULL), HALLEY_OK);
    assert_int_equal(counts.n_self, 1);
    assert_int_equal(halley_trace_dep_count(fixed), 1);
    halley_trace *again = NULL;
    assert_int_equal(halley_trace_fix(&again, fixed, true, &counts, NULL), HALLEY_OK);
    assert_null(again);
    halley_trace_free(fixed);
    halley_trace_free(t);
}

/* 1 → 2 → 3 → 4: each depends on the one before. */
static halley_trace_set *make_chain(uint32_t n)
{
    halley_builder *b = make_start();
    for (uint32_t i = 1; i <= n; i++) {
        make_comp(b, i, 10);
        if (i > 1)
            halley_builder_data(b, i - 1);
    }
    halley_trace *t = make_finish(b);
    return make_set(&t, 1);
}

static void dependencies_through_removed_nodes_are_bridged(void **state)
{
    (void)state;
    halley_trace_set *set = make_chain(5);
    const halley_id_range ids[] = {{1, 1}, {4, 5}};
    halley_slice_opts opts = {.ids = ids, .n_ids = 2};
    halley_slice_counts counts;
    halley_trace_set *out = slice(set, &opts, &counts);
    const halley_trace *t = halley_trace_set_get(out, 0);
    assert_int_equal(halley_trace_count(t), 3);
    assert_true(depends_on(t, 4, 1));
    assert_true(depends_on(t, 5, 4));
    assert_int_equal(counts.n_bridged, 1);
    assert_int_equal(counts.n_removed, 2);
    halley_trace_set_free(out);
    opts.cut = true;
    out = slice(set, &opts, &counts);
    t = halley_trace_set_get(out, 0);
    assert_int_equal(halley_node_data_count(t, find_node(t, 4)), 0);
    assert_int_equal(counts.n_cut, 1);
    halley_trace_set_free(out);
    halley_trace_set_free(set);
}

static void a_removed_node_with_many_on_both_sides_stays_as_a_joint(void **state)
{
    (void)state;
    enum { SIDE = 300 };
    halley_builder *b = make_start();
    for (uint32_t i = 0; i < SIDE; i++)
        make_comp(b, 1 + i, 1);
    halley_builder_node(b, 1000, HALLEY_NODE_MEM_LOAD, text("middle"));
    halley_builder_attr_u64(b, "tensor_size", 5);
    for (uint32_t i = 0; i < SIDE; i++)
        halley_builder_data(b, 1 + i);
    for (uint32_t i = 0; i < SIDE; i++) {
        make_comp(b, 2000 + i, 1);
        halley_builder_data(b, 1000);
    }
    halley_trace *t = make_finish(b);
    halley_trace_set *set = make_set(&t, 1);
    const halley_slice_opts opts = {.types = 1 << HALLEY_NODE_COMP};
    halley_slice_counts counts;
    halley_trace_set *out = slice(set, &opts, &counts);
    assert_int_equal(counts.n_joints, 1);
    const halley_trace *r = halley_trace_set_get(out, 0);
    assert_int_equal(halley_trace_dep_count(r), 2 * SIDE);
    const uint32_t joint = find_node(r, 1000);
    assert_int_equal(halley_node_type_of(r, joint), HALLEY_NODE_COMP);
    assert_memory_equal(halley_node_name(r, joint).at, "joint", 5);
    assert_int_equal(count_errors(out), 0);
    halley_trace_set_free(out);
    halley_trace_set_free(set);
}

/* Whether v reaches u along dependencies, by trying. */
static void reach(const halley_trace *t, uint32_t v, bool *seen)
{
    for (uint32_t i = 0; i < halley_node_data_count(t, v); i++) {
        const uint32_t u = halley_node_data(t, v, i).index;
        if (u != HALLEY_NO_NODE && !seen[u]) {
            seen[u] = true;
            reach(t, u, seen);
        }
    }
}

static void bridging_keeps_exactly_the_order_of_what_is_kept(void **state)
{
    (void)state;
    enum { N = 60 };
    rng r = rng_seed(7);
    for (int round = 0; round < 200; round++) {
        const uint64_t density = 1 + rng_below(&r, 40);
        halley_builder *b = make_start();
        for (uint32_t v = 0; v < N; v++) {
            halley_builder_node(b, v, rng_below(&r, 2) ? HALLEY_NODE_COMP : 1, text("n"));
            for (uint32_t u = 0; u < v; u++)
                if (rng_below(&r, 100) < density)
                    halley_builder_data(b, u);
        }
        halley_trace *t = make_finish(b);
        halley_trace_set *set = make_set(&t, 1);
        const halley_slice_opts opts = {.types = 1 << HALLEY_NODE_COMP};
        halley_trace_set *out = slice(set, &opts, NULL);
        const halley_trace *s = halley_trace_set_get(out, 0);
        for (uint32_t v = 0; v < N; v++) {
            if (halley_node_type_of(t, v) != HALLEY_NODE_COMP)
                continue;
            bool before[N] = {0}, after[N] = {0};
            reach(t, v, before);
            reach(s, find_node(s, v), after);
            for (uint32_t u = 0; u < N; u++)
                if (halley_node_type_of(t, u) == HALLEY_NODE_COMP)
                    assert_int_equal(before[u], after[find_node(s, u)]);
        }
        assert_int_equal(halley_trace_dangling_count(s), 0);
        halley_trace_set_free(out);
        halley_trace_set_free(set);
    }
}

static void slicing_a_cycle_ends_and_leaves_nothing_dangling(void **state)
{
    (void)state;
    rng r = rng_seed(9);
    for (int round = 0; round < 300; round++) {
        halley_builder *b = make_start();
        for (uint32_t v = 0; v < 40; v++) {
            halley_builder_node(b, v, rng_below(&r, 3) ? 1 : HALLEY_NODE_COMP, text("n"));
            for (uint32_t u = 0; u < 40; u++)
                if (rng_below(&r, 100) < 25)
                    halley_builder_data(b, u);
        }
        halley_trace *t = make_finish(b);
        halley_trace_set *set = make_set(&t, 1);
        const halley_slice_opts opts = {.types = 1 << HALLEY_NODE_COMP};
        halley_trace_set *out = slice(set, &opts, NULL);
        assert_int_equal(halley_trace_dangling_count(halley_trace_set_get(out, 0)), 0);
        halley_trace_set_free(out);
        halley_trace_set_free(set);
    }
}

static void steps_go_by_marker_names_or_by_attribute(void **state)
{
    (void)state;
    static const char *const names[] = {"before", "ProfilerStep#3", "a", "ProfilerStep#4",
                                        "b"};
    halley_builder *b = make_start();
    for (uint64_t i = 0; i < 5; i++)
        halley_builder_node(b, 1 + i, HALLEY_NODE_COMP, text(names[i]));
    halley_trace *t = make_finish(b);
    halley_trace_set *set = make_set(&t, 1);
    const halley_slice_opts three = {.by_step = true, .first_step = 3, .last_step = 3};
    halley_trace_set *out = slice(set, &three, NULL);
    const halley_trace *s = halley_trace_set_get(out, 0);
    assert_int_equal(halley_trace_count(s), 2);
    assert_true(has_node(s, 2) && has_node(s, 3));
    halley_trace_set_free(out);
    const halley_slice_opts nine = {.by_step = true, .first_step = 5, .last_step = 9};
    halley_error err = {0};
    assert_int_equal(halley_trace_slice(&out, set, &nine, NULL, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "there are steps 3 to 4"));
    halley_trace_set_free(set);

    b = make_start();
    for (uint64_t i = 0; i < 4; i++) {
        halley_builder_node(b, 1 + i, HALLEY_NODE_COMP, text("ProfilerStep#9"));
        if (i > 0)
            halley_builder_attr_i64(b, "step", (int64_t)i + 1);
    }
    t = make_finish(b);
    set = make_set(&t, 1);
    out = slice(set, &three, NULL);
    assert_int_equal(halley_trace_count(halley_trace_set_get(out, 0)), 1);
    assert_true(has_node(halley_trace_set_get(out, 0), 3));
    halley_trace_set_free(out);
    halley_trace_set_free(set);

    set = make_chain(3);
    assert_int_equal(halley_trace_slice(&out, set, &three, NULL, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "no steps"));
    halley_trace_set_free(set);
}

static void a_window_goes_by_start_or_by_the_earliest_possible_one(void **state)
{
    (void)state;
    halley_trace_set *set = make_chain(5); /* at 0, 10, 20, 30, 40 us */
    const halley_slice_opts opts = {.by_time = true, .from_us = 10, .to_us = 30};
    halley_trace_set *out = slice(set, &opts, NULL);
    const halley_trace *t = halley_trace_set_get(out, 0);
    assert_int_equal(halley_trace_count(t), 2);
    assert_true(has_node(t, 2) && has_node(t, 3));
    halley_trace_set_free(out);
    halley_trace_set_free(set);
    halley_builder *b = make_start();
    for (uint64_t i = 1; i <= 4; i++) {
        make_comp(b, i, 1);
        halley_builder_time(b, 10 * i, 1);
    }
    halley_trace *timed = make_finish(b);
    set = make_set(&timed, 1);
    out = slice(set, &opts, NULL);
    t = halley_trace_set_get(out, 0);
    assert_int_equal(halley_trace_count(t), 2);
    assert_true(has_node(t, 1) && has_node(t, 2));
    halley_trace_set_free(out);
    halley_trace_set_free(set);
}

/* n ranks in a ring: each sends to the next, receives, then all reduce together. */
static halley_trace_set *make_ring(uint32_t n)
{
    halley_trace *traces[16];
    for (uint32_t rank = 0; rank < n; rank++) {
        halley_builder *b = make_start();
        halley_builder_node(b, 1, HALLEY_NODE_METADATA, text("## process_group:init ##"));
        const halley_io io = {
            .present = true,
            .values = text(
                "['[{\"pg_name\": \"5\", \"ranks\": [0, 1, 2], \"group_size\": 3}]']")};
        halley_builder_inputs(b, &io);
        make_p2p(b, 10, true, (int32_t)((rank + 1) % n), 1, 8);
        make_p2p(b, 11, false, (int32_t)((rank + n - 1) % n), 1, 8);
        make_comp(b, 12, 100 * rank);
        halley_builder_data(b, 11);
        make_coll(b, 13, 0, 64, NULL);
        halley_builder_data(b, 12);
        if (rank < 3) {
            make_coll(b, 14, 0, 32, "5");
            halley_builder_data(b, 13);
        }
        traces[rank] = make_finish(b);
    }
    return make_set(traces, n);
}

static void ranks_that_are_left_out_take_their_messages_with_them(void **state)
{
    (void)state;
    halley_trace_set *set = make_ring(4);
    assert_int_equal(count_errors(set), 0);
    const uint32_t ranks[] = {2, 1};
    const halley_slice_opts opts = {.ranks = ranks, .n_ranks = 2};
    halley_slice_counts counts;
    halley_trace_set *out = slice(set, &opts, &counts);
    assert_int_equal(halley_trace_set_count(out), 2);
    assert_int_equal(counts.n_p2p, 2); /* 0 → 1 and 2 → 3 */
    assert_int_equal(count_errors(out), 0);
    const halley_trace *was_2 = halley_trace_set_get(out, 0);
    const halley_trace *was_1 = halley_trace_set_get(out, 1);
    assert_int_equal(halley_node_duration_us(was_2, find_node(was_2, 12)), 200);
    halley_attr attr;
    int64_t rank = -1;
    assert_true(halley_node_find_attr(&attr, was_1, find_node(was_1, 10), "comm_dst"));
    assert_true(halley_attr_to_i64(&attr, &rank) && rank == 0);
    assert_true(halley_node_find_attr(&attr, was_2, find_node(was_2, 11), "comm_src"));
    assert_true(halley_attr_to_i64(&attr, &rank) && rank == 1);
    const halley_bytes values = halley_node_inputs(was_1, find_node(was_1, 1)).values;
    assert_non_null(memmem(values.at, values.n, "[1, 0]", 6));
    assert_false(has_node(was_1, 11));
    halley_trace_set_free(out);
    halley_trace_set_free(set);
}

static void communication_goes_on_all_ranks_or_on_none(void **state)
{
    (void)state;
    halley_trace_set *set = make_ring(4);
    /* Computing takes 0 to 300 us: within 150 us only ranks 0 and 1 reach the collective.
     */
    const halley_slice_opts opts = {.by_time = true, .from_us = 0, .to_us = 150};
    halley_slice_counts counts;
    halley_trace_set *out = slice(set, &opts, &counts);
    assert_int_equal(count_errors(out), 0);
    for (uint32_t rank = 0; rank < 4; rank++)
        assert_false(has_node(halley_trace_set_get(out, rank), 13));
    assert_int_equal(counts.n_collectives, 4); /* 13 and 14 on ranks 0 and 1 */
    halley_trace_set_free(out);
    halley_trace_set_free(set);
}

static void equal_ranks_stay_shared(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 1);
    make_coll(b, 2, 0, 64, NULL);
    halley_trace *t = make_finish(b);
    halley_trace *traces[32];
    for (uint32_t i = 0; i < 32; i++)
        traces[i] = i == 0 ? t : halley_trace_keep(t);
    halley_trace_set *set = make_set(traces, 32);
    const halley_slice_opts opts = {.types = 1 << HALLEY_NODE_COLL};
    halley_slice_counts counts;
    halley_trace_set *out = slice(set, &opts, &counts);
    assert_int_equal(halley_trace_set_distinct(out), 1);
    assert_int_equal(counts.n_kept, 32);
    assert_int_equal(counts.n_removed, 32);
    halley_trace_set_free(out);
    halley_trace_set_free(set);
}

static void wrong_ranks_are_refused(void **state)
{
    (void)state;
    halley_trace_set *set = make_ring(2), *out = NULL;
    const uint32_t beyond[] = {2}, twice[] = {1, 1};
    halley_error err = {0};
    const halley_slice_opts a = {.ranks = beyond, .n_ranks = 1};
    assert_int_equal(halley_trace_slice(&out, set, &a, NULL, &err), HALLEY_EINVAL);
    assert_string_equal(err.text, "there is no rank 2, only 0 to 1");
    const halley_slice_opts b = {.ranks = twice, .n_ranks = 2};
    assert_int_equal(halley_trace_slice(&out, set, &b, NULL, &err), HALLEY_EINVAL);
    assert_string_equal(err.text, "rank 1 is named twice");
    halley_trace_set_free(set);
}

static void parts_of_a_chain_follow_each_other_through_a_joint(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 7, 1);
    halley_builder_time(b, 100, 50);
    make_comp(b, 9, 1);
    halley_builder_data(b, 7);
    make_comp(b, 8, 1);
    halley_builder_data(b, 4242);
    halley_trace *t = make_finish(b), *out = NULL;
    const halley_trace *parts[] = {t, t, t};
    assert_int_equal(halley_trace_chain(&out, parts, 3, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_count(out), 11);
    assert_int_equal(halley_trace_dangling_count(out), 0);
    assert_true(depends_on(out, 10, 9) && depends_on(out, 10, 8));
    assert_false(depends_on(out, 10, 7));
    assert_true(depends_on(out, 18, 10) && depends_on(out, 19, 10));
    assert_true(depends_on(out, 20, 18) && !depends_on(out, 20, 10));
    assert_int_equal(halley_node_start_us(out, find_node(out, 18)), 150);
    assert_int_equal(halley_node_start_us(out, find_node(out, 29)), 200);
    assert_int_equal(halley_node_duration_us(out, find_node(out, 18)), 50);
    halley_trace_set *set = make_set(&out, 1);
    assert_int_equal(count_errors(set), 0);
    halley_trace_set_free(set);
    halley_trace_free(t);
}

static void a_chain_whose_ids_do_not_fit_is_refused(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, UINT64_MAX - 1, 1);
    halley_trace *t = make_finish(b), *out = NULL;
    const halley_trace *parts[] = {t, t};
    halley_error err = {0};
    assert_int_equal(halley_trace_chain(&out, parts, 2, &err), HALLEY_ELIMIT);
    assert_null(out);
    halley_trace_free(t);
}

static halley_status slice_again(void *context, halley_error *err)
{
    static const uint32_t ranks[] = {2, 1};
    const halley_slice_opts opts = {.ranks = ranks,
                                    .n_ranks = 2,
                                    .types = UINT32_MAX & ~(1u << HALLEY_NODE_COMP),
                                    .by_time = true,
                                    .to_us = 1000,
                                    .n_threads = 1};
    halley_trace_set *out = NULL;
    const halley_status status = halley_trace_slice(&out, context, &opts, NULL, err);
    halley_trace_set_free(out);
    return status;
}

static halley_status slice_steps_again(void *context, halley_error *err)
{
    const halley_slice_opts opts = {.by_step = true, .last_step = 9, .n_threads = 1};
    halley_trace_set *out = NULL;
    const halley_status status = halley_trace_slice(&out, context, &opts, NULL, err);
    halley_trace_set_free(out);
    return status;
}

static halley_status chain_and_fix_again(void *context, halley_error *err)
{
    const halley_trace *parts[] = {context, context};
    halley_trace *out = NULL, *fixed = NULL;
    halley_fix_counts counts;
    halley_status status = halley_trace_chain(&out, parts, 2, err);
    if (status == HALLEY_OK)
        status = halley_trace_fix(&fixed, context, true, &counts, err);
    halley_trace_free(out);
    halley_trace_free(fixed);
    return status;
}

static void running_out_of_memory_while_editing_is_an_error(void **state)
{
    (void)state;
    halley_trace_set *set = make_ring(4);
    assert_true(alloc_fail_everywhere(slice_again, set) > 30);
    halley_trace_set_free(set);
    halley_builder *b = make_start();
    halley_builder_node(b, 1, HALLEY_NODE_COMP, text("ProfilerStep#3"));
    halley_builder_data(b, 7);
    halley_trace *t = make_finish(b);
    assert_true(alloc_fail_everywhere(chain_and_fix_again, t) > 10);
    set = make_set(&t, 1);
    assert_true(alloc_fail_everywhere(slice_steps_again, set) > 10);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fixing_drops_what_cannot_be_met_and_nothing_else),
        cmocka_unit_test(dependencies_through_removed_nodes_are_bridged),
        cmocka_unit_test(a_removed_node_with_many_on_both_sides_stays_as_a_joint),
        cmocka_unit_test(bridging_keeps_exactly_the_order_of_what_is_kept),
        cmocka_unit_test(slicing_a_cycle_ends_and_leaves_nothing_dangling),
        cmocka_unit_test(steps_go_by_marker_names_or_by_attribute),
        cmocka_unit_test(a_window_goes_by_start_or_by_the_earliest_possible_one),
        cmocka_unit_test(ranks_that_are_left_out_take_their_messages_with_them),
        cmocka_unit_test(communication_goes_on_all_ranks_or_on_none),
        cmocka_unit_test(equal_ranks_stay_shared),
        cmocka_unit_test(wrong_ranks_are_refused),
        cmocka_unit_test(parts_of_a_chain_follow_each_other_through_a_joint),
        cmocka_unit_test(a_chain_whose_ids_do_not_fit_is_refused),
        cmocka_unit_test(running_out_of_memory_while_editing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
