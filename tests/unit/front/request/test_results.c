/* Public results: each begins with its size, and those in the caller's storage never
 * grow. */
#include "halley/halley.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

#define ROW(type, bytes)                                                                 \
    {                                                                                    \
#type, offsetof(type, size), sizeof(type), bytes                                 \
    }

/* A new member takes as many bytes from `room`: programs that were compiled before then
 * still provide enough. */
static void storage_of_the_caller_is_as_large_as_in_version_1(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t offset, bytes, bytes_in_version_1;
    } rows[] = {
        ROW(halley_estimate, 664),        ROW(halley_stage_memory, 280),
        ROW(halley_goodput, 96),          ROW(halley_roofline, 1824),
        ROW(halley_error_bar, 200),       ROW(halley_error_coverage, 5864),
        ROW(halley_dry_run, 2816),        ROW(halley_results_summary, 384),
        ROW(halley_link_report, 648),     ROW(halley_learn_report, 2240),
        ROW(halley_synth_summary, 112),   ROW(halley_device_fit, 2992),
        ROW(halley_topology_counts, 136), ROW(halley_fix_counts, 88),
        ROW(halley_slice_counts, 128),    ROW(halley_gen_summary, 104),
        ROW(halley_view_summary, 128),    ROW(halley_left_out, 2128),
        ROW(halley_recorded_model, 208),
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].offset != 0 || rows[i].bytes != rows[i].bytes_in_version_1)
            fail_msg("%s has %zu bytes, not %zu: shorten its `room`", rows[i].name,
                     rows[i].bytes, rows[i].bytes_in_version_1);
    assert_true((int)HALLEY_N_PARTS <= (int)HALLEY_MAX_PARTS);
    assert_true((int)HALLEY_N_CLASSES <= (int)HALLEY_MAX_CLASSES);
    assert_true((int)HALLEY_N_MEMORY <= (int)HALLEY_MAX_MEMORY);
    assert_true((int)HALLEY_N_QUANTITIES <= (int)HALLEY_MAX_COMPARED);
}

static void estimates_fill_their_size(void **state)
{
    (void)state;
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_plan plan;
    halley_estimate e;
    halley_stage_memory stage;
    halley_roofline roofline;
    halley_goodput goodput;
    halley_error_bar bar;
    assert_int_equal(halley_model_load(&model, "llama3-8b", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&cluster, "dgx-h100:8", NULL), HALLEY_OK);
    halley_stack_default(&stack);
    halley_plan_default(&plan);
    plan.tp = 8;
    assert_int_equal(halley_plan_check(&plan, &model, 8, NULL), HALLEY_OK);
    /* What was in the storage before does not matter. */
    memset(&e, 0xff, sizeof e);
    halley_estimate_run(&e, &model, &plan, cluster, &stack);
    halley_estimate_stage(&stage, &model, &plan, cluster, &stack, 0);
    halley_roofline_run(&roofline, &model, &plan, cluster, &stack);
    halley_goodput_run(&goodput, &(halley_failures){0}, 8);
    assert_int_equal(
        halley_error_bar_find(&bar, &model, &plan, cluster, &stack, NULL, NULL),
        HALLEY_OK);
    assert_int_equal(e.size, sizeof e);
    assert_int_equal(stage.size, sizeof stage);
    assert_int_equal(roofline.size, sizeof roofline);
    assert_int_equal(goodput.size, sizeof goodput);
    assert_int_equal(bar.size, sizeof bar);
    for (size_t i = 0; i < sizeof e.room / sizeof *e.room; i++)
        assert_int_equal(e.room[i], 0);
    for (int i = HALLEY_N_PARTS; i < HALLEY_MAX_PARTS; i++)
        assert_true(e.part_s[i] == 0);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
}

static halley_trace_set *make_all_reduces(void)
{
    halley_gen *gen = NULL;
    halley_trace_set *set = NULL;
    assert_int_equal(halley_gen_new(&gen, "all-reduce", 4, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_traces(&set, gen, NULL), HALLEY_OK);
    halley_gen_free(gen);
    return set;
}

static void reports_of_traces_fill_their_size(void **state)
{
    (void)state;
    halley_trace_set *const set = make_all_reduces();
    halley_check_report *checked = NULL;
    halley_diff_report *diff = NULL;
    halley_set_stats *stats = NULL;
    halley_trace_set *part = NULL;
    halley_trace *fixed = NULL;
    halley_slice_counts slices;
    halley_fix_counts fixes;
    assert_int_equal(halley_trace_check(&checked, set, NULL, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_diff(&diff, set, set, NULL, NULL), HALLEY_OK);
    assert_int_equal(halley_set_stats_new(&stats, set, 1, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_slice(&part, set, NULL, &slices, NULL), HALLEY_OK);
    assert_int_equal(
        halley_trace_fix(&fixed, halley_trace_set_get(set, 0), true, &fixes, NULL),
        HALLEY_OK);
    assert_int_equal(checked->size, sizeof *checked);
    assert_int_equal(diff->size, sizeof *diff);
    assert_int_equal(stats->size, sizeof *stats);
    assert_int_equal(stats->total->size, sizeof *stats->total);
    assert_int_equal(stats->distinct[0]->size, sizeof *stats->total);
    assert_int_equal(slices.size, sizeof slices);
    assert_int_equal(fixes.size, sizeof fixes);
    halley_check_report_free(checked);
    halley_diff_report_free(diff);
    halley_set_stats_free(stats);
    halley_trace_set_free(part);
    halley_trace_free(fixed);
    halley_trace_set_free(set);
}

static void reports_of_edits_fill_their_size(void **state)
{
    (void)state;
    halley_trace_set *const set = make_all_reduces();
    halley_scaled *scaled = NULL;
    halley_obfuscation *hidden = NULL;
    halley_view_summary view;
    assert_int_equal(
        halley_trace_scale(&scaled, set, &(halley_scale_opts){.bytes = 2}, NULL),
        HALLEY_OK);
    assert_int_equal(
        halley_trace_obfuscate(&hidden, set, &(halley_obfuscate_opts){0}, NULL),
        HALLEY_OK);
    assert_int_equal(halley_view_save(halley_trace_set_get(set, 0), "test_results.dot",
                                      NULL, &view, NULL),
                     HALLEY_OK);
    remove("test_results.dot");
    assert_int_equal(scaled->size, sizeof *scaled);
    assert_int_equal(hidden->size, sizeof *hidden);
    assert_int_equal(view.size, sizeof view);
    halley_scaled_free(scaled);
    halley_obfuscation_free(hidden);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(storage_of_the_caller_is_as_large_as_in_version_1),
        cmocka_unit_test(estimates_fill_their_size),
        cmocka_unit_test(reports_of_traces_fill_their_size),
        cmocka_unit_test(reports_of_edits_fill_their_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
