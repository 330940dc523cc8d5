/* Plans of a replay, what does not match, and lines fitted to measured ladders. */
#include "halley/cluster.h"
#include "halley/extend.h"
#include "halley/trace_attr.h"
#include "replay/fit.h"
#include "replay/plan.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* A trace of collectives in a row, each after a compute node. */
static halley_trace *make_collectives(const uint32_t *colls, const int64_t *sizes,
                                      uint32_t n)
{
    halley_builder *b;
    halley_trace *t = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < n; i++) {
        halley_builder_node(b, 2 * i, HALLEY_NODE_COMP, (halley_bytes){"work", 4});
        halley_builder_time(b, 0, 7);
        if (i > 0)
            halley_builder_data(b, 2 * i - 1);
        halley_builder_node(b, 2 * i + 1, HALLEY_NODE_COLL, (halley_bytes){"coll", 4});
        halley_builder_data(b, 2 * i);
        halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, colls[i]);
        halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, sizes[i]);
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    return t;
}

static halley_trace_set *make_set(halley_trace *a, halley_trace *b)
{
    halley_trace_set *set = NULL;
    assert_int_equal(halley_trace_set_new(&set, (halley_trace *[]){a, b}, 2, NULL),
                     HALLEY_OK);
    return set;
}

static void operations_have_the_sizes_that_mpi_needs(void **state)
{
    static const uint32_t colls[] = {HALLEY_COLL_ALL_REDUCE,     HALLEY_COLL_ALL_GATHER,
                                     HALLEY_COLL_REDUCE_SCATTER, HALLEY_COLL_ALL_TO_ALL,
                                     HALLEY_COLL_BROADCAST,      HALLEY_COLL_GATHER};
    static const int64_t sizes[] = {1001, 1000, 1001, 1001, 77, 1000};
    static const replay_sizes wanted[] = {{1004, 1004, 1004}, {1000, 2000, 1000},
                                          {1008, 504, 504},   {1002, 1002, 501},
                                          {0, 77, 77},        {1000, 1000, 500}};
    halley_trace_set *set =
        make_set(make_collectives(colls, sizes, 6), make_collectives(colls, sizes, 6));
    replay_plan plan;
    (void)state;
    assert_int_equal(replay_plan_init(&plan, set, 2, &(halley_replay_opts){0}, NULL),
                     HALLEY_OK);
    assert_int_equal(replay_plan_check(&plan, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < 6; i++) {
        const replay_op *op = &plan.programs[0].ops[2 * i + 1];
        const replay_sizes found = replay_op_sizes(&plan, op);
        assert_int_equal(op->kind, REPLAY_COLLECTIVE);
        assert_int_equal(op->ordinal, i);
        assert_memory_equal(&found, &wanted[i], sizeof found);
        assert_true(fabs(plan.programs[0].ops[2 * i].seconds - 7e-6) < 1e-15);
    }
    replay_plan_fini(&plan);
    halley_trace_set_free(set);
}

static void scales_and_parts_change_what_runs(void **state)
{
    static const uint32_t coll = HALLEY_COLL_ALL_REDUCE;
    static const int64_t size = 4000;
    halley_trace_set *set =
        make_set(make_collectives(&coll, &size, 1), make_collectives(&coll, &size, 1));
    replay_plan plan;
    (void)state;
    assert_int_equal(
        replay_plan_init(&plan, set, 2,
                         &(halley_replay_opts){.size_scale = 0.5, .only_comm = true},
                         NULL),
        HALLEY_OK);
    assert_int_equal(plan.programs[1].ops[0].kind, REPLAY_NOTHING);
    assert_int_equal(plan.programs[1].ops[1].bytes, 2000);
    assert_int_equal(plan.notes.n, 1);
    replay_plan_fini(&plan);
    assert_int_equal(
        replay_plan_init(&plan, set, 1, &(halley_replay_opts){.shrink = true}, NULL),
        HALLEY_OK);
    assert_int_equal(plan.programs[0].ops[1].kind,
                     REPLAY_NOTHING); /* nobody to talk to */
    replay_plan_fini(&plan);
    assert_int_equal(replay_plan_init(&plan, set, 1, &(halley_replay_opts){0}, NULL),
                     HALLEY_EINVAL);
    replay_plan_fini(&plan);
    halley_trace_set_free(set);
}

static void ranks_that_do_not_match_are_refused(void **state)
{
    static const uint32_t colls[] = {HALLEY_COLL_ALL_REDUCE, HALLEY_COLL_ALL_GATHER};
    static const int64_t sizes[] = {1000, 1000}, other[] = {1000, 2000};
    const struct {
        halley_trace *second;
        const char *says;
    } rows[] = {
        {make_collectives(colls, other, 2), "ALL_GATHER of 2000 bytes"},
        {make_collectives(colls, sizes, 1), "rank 1 has no more"},
    };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        halley_error err = {0};
        replay_plan plan;
        halley_trace_set *set =
            make_set(make_collectives(colls, sizes, 2), rows[i].second);
        assert_int_equal(replay_plan_init(&plan, set, 2, &(halley_replay_opts){0}, &err),
                         HALLEY_OK);
        assert_int_equal(replay_plan_check(&plan, &err), HALLEY_EDEADLOCK);
        assert_non_null(strstr(err.text, rows[i].says));
        replay_plan_fini(&plan);
        halley_trace_set_free(set);
    }
}

/* Two protocols, as a machine would show them. */
static double two_protocols(double bytes)
{
    return bytes < 8192 ? 1e-6 + bytes / 1e9 : 5e-6 + bytes / 4e9;
}

static void few_lines_come_near_to_all_points(void **state)
{
    fit_ladder l = {0};
    fit_lines lines = {0};
    (void)state;
    for (double bytes = 64; bytes <= 1 << 24; bytes *= 2)
        assert_true(array_push(&l.points, (fit_point){bytes, two_protocols(bytes)}));
    assert_true(fit_find_lines(&lines, &l, 0.05));
    assert_true(lines.n >= 2 && lines.n <= 4);
    assert_true(lines.at[0].from_bytes == 0);
    for (size_t i = 0; i < l.points.n; i++) {
        const fit_point p = l.points.at[i];
        size_t k = 0;
        while (k + 1 < lines.n && lines.at[k + 1].from_bytes <= p.bytes)
            k++;
        const double seconds = lines.at[k].latency_s + p.bytes / lines.at[k].bw_Bps;
        assert_true(fabs(seconds / p.seconds - 1) < 0.051);
    }
    array_fini(&lines);
    array_fini(&l.points);
}

static void a_fitted_cluster_gives_back_what_was_measured(void **state)
{
    fit_ladder ladders[2] = {
        {.kind = HALLEY_COLLECTIVE_ALL_REDUCE, .n_ranks = 2, .per_node = 2},
        {.kind = HALLEY_COLLECTIVE_SEND, .n_ranks = 2, .per_node = 2}};
    halley_cluster *cluster = NULL;
    halley_error err = {0};
    strbuf text = {0};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (double bytes = 64; bytes <= 1 << 24; bytes *= 2)
            assert_true(
                array_push(&ladders[i].points, (fit_point){bytes, two_protocols(bytes)}));
    assert_true(fit_write_cluster(&text, ladders, 2, 2, 2));
    assert_int_equal(halley_cluster_parse(&cluster, text.at, text.n, "fitted", &err),
                     HALLEY_OK);
    assert_int_equal(halley_cluster_npus(cluster), 2);
    halley_cluster_free(cluster);
    strbuf_fini(&text);
    array_fini(&ladders[0].points);
    array_fini(&ladders[1].points);
}

static void one_line_fits_by_relative_error(void **state)
{
    fit_ladder l = {0};
    (void)state;
    for (double bytes = 64; bytes <= 1 << 24; bytes *= 2)
        assert_true(array_push(&l.points, (fit_point){bytes, 2e-6 + bytes / 3e9}));
    const fit_line line = fit_find_line(&l);
    assert_true(fabs(line.latency_s / 2e-6 - 1) < 1e-6);
    assert_true(fabs(line.bw_Bps / 3e9 - 1) < 1e-6);
    array_fini(&l.points);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_have_the_sizes_that_mpi_needs),
        cmocka_unit_test(scales_and_parts_change_what_runs),
        cmocka_unit_test(ranks_that_do_not_match_are_refused),
        cmocka_unit_test(few_lines_come_near_to_all_points),
        cmocka_unit_test(a_fitted_cluster_gives_back_what_was_measured),
        cmocka_unit_test(one_line_fits_by_relative_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
