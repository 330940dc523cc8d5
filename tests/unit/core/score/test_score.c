/* Predictions stay as good as they are; fits and files behave. */
#include "alloc_fail.h"
#include "cases.h"
#include "coll/time.h"
#include "cost/gemm.h"
#include "halley/score.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "unit.h"
#include "workload/stack_file.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Mean error of step time in percent that layouts not seen by the fit must keep, and of
 * peak memory. */
static const struct {
    const char *set, *metric;
    double most;
} bars[] = {
    /* Required of version 2. */
    {"fms-fsdp", "step time", 15},
    {"internevo", "step time", 8},
    {"internevo-hybrid-zero", "step time", 8},
    {"trillium", "step time", 10},
    {"mlperf-tpu-int8", "step time", 12},
    {"mlperf-405b", "step time", 5},
    {"mlperf-8b", "step time", 9},
    {"mbridge-moe", "step time", 12},
    {"dgxc-moe", "step time", 15},
    {"mlperf-dlrm", "step time", 6},
    {"mlperf-lora", "step time", 15},
    {"mlperf-bert", "step time", 12},
    {"mlperf-sd", "step time", 20},
    /* What version 1 had, and half a point. */
    {"seqsel", "step time", 1.8},
    {"megatron-sc21", "step time", 2.1},
    {"megatron-2020", "step time", 4.5},
    {"bloom", "step time", 5.3},
    {"vtrain", "step time", 7.3},
    {"vtrain-single", "step time", 8.6},
    {"mpt-a100", "step time", 4.5},
    {"mpt-h100", "step time", 3.5},
    {"dgxc-dense", "step time", 5.5},
    {"dgxc-fsdp", "step time", 3.8},
    {"mbridge-dense", "step time", 5.9},
    {"megatron-core-h100", "step time", 12.5},
    {"torchtitan", "step time", 11.6},
    {"simumax-dense", "step time", 5},
    {"simumax-moe", "step time", 4.6},
    {"maxtext", "step time", 8.3},
    {"mlperf-405b", "peak memory", 5},
    {"mlperf-8b", "peak memory", 5},
    {"bloom", "peak memory", 5},
    {"simumax-dense", "peak memory", 3},
    {"simumax-moe", "peak memory", 3},
    {"torchtitan", "peak memory", 10},
};

/* All runs, or those of three sets where a part of the cases is tried. */
static halley_score *score_all(const halley_score_opts *opts)
{
    const char *few[] = {"bloom", "torchtitan", "simumax-moe"};
    const bool all = cases_share() >= 100;
    halley_score *s = NULL;
    halley_error err = {0};
    if (halley_score_run(&s, all ? NULL : few, all ? 0 : 3, opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return s;
}

static bool is_scored(const halley_score *s, const char *set)
{
    for (uint32_t i = 0; i < s->n_sets; i++)
        if (strcmp(s->sets[i].set, set) == 0)
            return true;
    return cases_share() >= 100; /* find() then says that it is missing */
}

static const halley_score_set *find(const halley_score *s, const char *set,
                                    const char *metric)
{
    for (uint32_t i = 0; i < s->n_sets; i++) {
        if (strcmp(s->sets[i].set, set) == 0 && strcmp(s->sets[i].metric, metric) == 0)
            return &s->sets[i];
    }
    fail_msg("no set %s, %s", set, metric);
    return NULL;
}

static void held_out_errors_keep_their_bars(void **state)
{
    (void)state;
    const halley_score_opts opts = {.folds = 5};
    halley_score *s = score_all(&opts);
    for (size_t i = 0; i < sizeof bars / sizeof *bars; i++) {
        if (!is_scored(s, bars[i].set))
            continue;
        const halley_score_set *set = find(s, bars[i].set, bars[i].metric);
        const double got = set->cv_pct >= 0 ? set->cv_pct : set->mape_pct;
        if (!(got <= bars[i].most))
            fail_msg("%s, %s: %.2f %% is above %.2f %%", set->set, set->metric, got,
                     bars[i].most);
    }
    /* One run of BLOOM that ran out of memory is not explained; none that ran is refused,
     * on any device. */
    for (uint32_t i = 0; i < s->n_sets; i++)
        assert_int_equal(s->sets[i].n_fit_refused, 0);
    const halley_score_set *bloom = find(s, "bloom", "peak memory");
    assert_int_equal(bloom->n_out_refused, bloom->n_out - 1);
    assert_int_equal(bloom->n_fit, 76);
    halley_score_free(s);
}

static void without_any_fit_old_stacks_are_still_near(void **state)
{
    (void)state;
    static const struct {
        const char *set;
        double most;
    } near[] = {{"megatron-sc21", 7}, {"bloom", 10}, {"vtrain", 9}, {"simumax-dense", 8}};
    const halley_score_opts opts = {.defaults = true};
    halley_score *s = score_all(&opts);
    for (size_t i = 0; i < sizeof near / sizeof *near; i++)
        if (is_scored(s, near[i].set))
            assert_true(find(s, near[i].set, "step time")->mape_pct <= near[i].most);
    halley_score_free(s);
}

static void no_stack_fits_more_than_eight_constants(void **state)
{
    (void)state;
    char name[HALLEY_NAME];
    for (size_t i = 0; halley_preset_name(name, sizeof name, "stacks", i); i++) {
        halley_stack stack;
        halley_error err = {0};
        assert_int_equal(halley_stack_load(&stack, name, &err), HALLEY_OK);
        uint32_t fitted = 0;
        for (unsigned k = 0; k < HALLEY_N_CONSTANTS; k++)
            fitted += stack.origin[k] == 2;
        assert_true(fitted <= HALLEY_MAX_FITTED);
        assert_true(stack.n_fit <= HALLEY_MAX_FITTED);
    }
}

static void releases_compare_piece_by_piece(void **state)
{
    (void)state;
    assert_true(workload_release_compare("25.04.01", "25.11") < 0);
    assert_true(workload_release_compare("26.02", "26.02.01") < 0);
    assert_true(workload_release_compare("26.02", "26.02") == 0);
    assert_true(workload_release_compare("2022", "2021") > 0);
    halley_stack s = {.framework = "megatron-bridge", .from = "26.01", .to = "26.02.99"};
    assert_true(workload_stack_serves(&s, "megatron-bridge", "26.02.01"));
    assert_false(workload_stack_serves(&s, "megatron-bridge", "26.04"));
    assert_false(workload_stack_serves(&s, "megatron", "26.02"));
}

static void a_saved_stack_reads_back_the_same(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-test-XXXXXX.yaml";
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    halley_stack a, b;
    halley_error err = {0};
    assert_int_equal(halley_stack_load(&a, "megatron-core-2025", &err), HALLEY_OK);
    assert_int_equal(halley_stack_save(&a, path, &err), HALLEY_OK);
    if (halley_stack_load(&b, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    for (unsigned k = 0; k < HALLEY_N_CONSTANTS; k++) {
        assert_true(fabs(a.k[k] - b.k[k]) <= 1e-3 * fabs(a.k[k]));
        assert_int_equal(a.origin[k], b.origin[k]);
    }
    assert_string_equal(a.framework, b.framework);
    assert_int_equal(a.n_fit, b.n_fit);
    unlink(path);
}

static void shipped_stacks_are_what_calibrate_makes(void **state)
{
    (void)state;
    static const char *const names[] = {"megatron-2022", "torchtitan-2024", "maxtext"};
    for (size_t i = 0; i < (cases_share() >= 100 ? 3 : 1); i++) {
        halley_stack shipped;
        halley_fit fit;
        halley_error err = {0};
        assert_int_equal(halley_stack_load(&shipped, names[i], &err), HALLEY_OK);
        assert_int_equal(halley_calibrate(&fit, names[i], NULL, 0, &err), HALLEY_OK);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(fit.stack.n_runs[k], shipped.n_runs[k]);
            assert_true(fabs(fit.stack.expected[k] - shipped.expected[k]) < 0.002);
        }
        for (unsigned k = 0; k < HALLEY_N_CONSTANTS; k++)
            assert_true(fabs(shipped.k[k] - fit.stack.k[k]) <=
                        2e-3 * fabs(shipped.k[k]) + 1e-6);
    }
}

/* Tables made by our own formulas with other constants than the preset's. */
static void write_products(const char *path)
{
    halley_npu npu;
    halley_error err = {0};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(cluster_npu_load(&npu, "H100-SXM-80GB", &err), HALLEY_OK);
    npu.gemm.launch_s *= 1.5;
    npu.gemm.efficiency *= 0.9;
    const cost_gemm g = cost_gemm_make(&npu, &npu.gemm, npu.peak_flops[HALLEY_BF16], 2);
    fprintf(f, "system,source,dtype,m,n,k,latency_ms\n");
    for (int m = 64; m <= 16384; m *= 2)
        for (int n = 256; n <= 16384; n *= 2)
            for (int k = 256; k <= 16384; k *= 2)
                fprintf(f, "h100_sxm,made,bfloat16,%d,%d,%d,%.9g\n", m, n, k,
                        1e3 * cost_gemm_time(&g, m, n, k, 1, false));
    fclose(f);
}

static void write_collectives(const char *path)
{
    halley_link link;
    halley_error err = {0};
    const halley_fabric none = {.bandwidth_Bps = 1, .share = 1};
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(cluster_link_load(&link, "nvlink4-h100", &err), HALLEY_OK);
    link.launch_s *= 2;
    link.simple.share *= 0.8;
    fprintf(f, "system,nccl,op,dtype,num_gpus,message_size_elements,latency_ms\n");
    for (uint32_t n = 2; n <= 8; n *= 2)
        for (double elements = 128; elements < 3e8; elements *= 2) {
            const coll_call c = {.kind = COLL_ALL_GATHER, .bytes = 2 * elements, .n = n};
            fprintf(f, "h100_sxm,made,all_gather,half,%u,%.0f,%.9g\n", n, elements,
                    1e3 * coll_call_time(&link, &none, &c));
        }
    fclose(f);
}

static double moved_by(const halley_device_fit *fit, const char *key)
{
    for (uint32_t i = 0; i < fit->n_moves; i++) {
        if (strcmp(fit->moves[i].key, key) == 0)
            return fit->moves[i].to / fit->moves[i].from;
    }
    fail_msg("%s was not fitted", key);
    return 0;
}

static void constants_that_made_a_table_are_found_again(void **state)
{
    (void)state;
    char csv[] = "/tmp/halley-device-XXXXXX.csv",
         out[] = "/tmp/halley-device-XXXXXX.yaml";
    halley_error err = {0};
    halley_device_fit fit;
    halley_npu npu;
    close(mkstemps(csv, 4));
    close(mkstemps(out, 5));
    write_products(csv);
    assert_int_equal(halley_calibrate_device(&fit, csv, "h100-sxm-80gb", out, &err),
                     HALLEY_OK);
    assert_true(fit.before_pct > 5 && fit.held_pct < 1 && fit.n_held > fit.n_fitted);
    assert_true(fabs(moved_by(&fit, "gemm.launch") - 1.5) < 0.1);
    assert_true(fabs(moved_by(&fit, "gemm.efficiency") - 0.9) < 0.03);
    assert_int_equal(cluster_npu_load(&npu, out, &err), HALLEY_OK); /* the file reads */
    assert_true(fabs(npu.gemm.sustained - 0.75) < 1e-9);
    write_collectives(csv);
    assert_int_equal(halley_calibrate_device(&fit, csv, "nvlink4-h100", NULL, &err),
                     HALLEY_OK);
    assert_true(fit.before_pct > 10 && fit.held_pct < 2);
    assert_true(fabs(moved_by(&fit, "launch") - 2) < 0.2);
    assert_true(fabs(moved_by(&fit, "simple.share") - 0.8) < 0.05);
    assert_int_equal(halley_calibrate_device(&fit, csv, "pcie4-l40s", NULL, &err),
                     HALLEY_ENOTFOUND);
    unlink(csv);
    unlink(out);
}

static void more_constants_than_layouts_are_refused(void **state)
{
    (void)state;
    halley_fit fit;
    halley_error err = {0};
    assert_int_equal(halley_calibrate(&fit, "jax-25", NULL, 0, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "layouts"));
}

static void a_row_of_unknown_hardware_is_skipped_with_the_reason(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-test-XXXXXX.json";
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "w");
    fputs("[{\"id\":\"a\",\"set\":\"mine\",\"layout\":\"x\",\"framework\":\"none\","
          "\"release\":\"1\",\"npu\":\"Abacus\",\"n_npus\":1,\"model\":{\"layers\":2,"
          "\"hidden\":64,\"heads\":1,\"vocab\":100},\"plan\":{\"tp\":1},\"batch\":{"
          "\"gbs\":1,"
          "\"mbs\":1,\"seq\":8},\"dtype\":\"bf16\",\"measured\":{\"step_time_s\":1}}]\n",
          f);
    fclose(f);
    const char *files[] = {path};
    halley_score *s = NULL;
    halley_error err = {0};
    assert_int_equal(halley_score_run(&s, files, 1, NULL, &err), HALLEY_OK);
    assert_int_equal(s->sets[0].scored, 0);
    assert_non_null(strstr(s->sets[0].skips[0].reason, "Abacus"));
    halley_score_free(s);
    unlink(path);
}

static halley_status score_one(void *context, halley_error *err)
{
    (void)context;
    const char *files[] = {"megatron-sc21"};
    halley_score *s = NULL;
    const halley_status status = halley_score_run(&s, files, 1, NULL, err);
    if (status == HALLEY_OK)
        halley_score_free(s);
    return status;
}

static void scoring_reports_running_out_of_memory(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(score_one, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_out_errors_keep_their_bars),
        cmocka_unit_test(without_any_fit_old_stacks_are_still_near),
        cmocka_unit_test(no_stack_fits_more_than_eight_constants),
        cmocka_unit_test(releases_compare_piece_by_piece),
        cmocka_unit_test(a_saved_stack_reads_back_the_same),
        cmocka_unit_test(shipped_stacks_are_what_calibrate_makes),
        cmocka_unit_test(constants_that_made_a_table_are_found_again),
        cmocka_unit_test(more_constants_than_layouts_are_refused),
        cmocka_unit_test(a_row_of_unknown_hardware_is_skipped_with_the_reason),
        cmocka_unit_test(scoring_reports_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
