/* Error bars: classes, quantiles, what is printed. */
#include "halley/error_bar.h"
#include "halley/plan_keys.h"
#include "score/bar_class.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static halley_error_bar find_bar(const char *model_name, const char *cluster_name,
                                 const char *stack_name, uint32_t pp)
{
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_plan plan;
    halley_error_bar bar;
    halley_error err = {0};
    halley_plan_default(&plan);
    halley_stack_default(&stack);
    plan.pp = pp;
    if (stack_name != NULL)
        assert_int_equal(halley_stack_load(&stack, stack_name, &err), HALLEY_OK);
    assert_int_equal(halley_model_load(&model, model_name, &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&cluster, cluster_name, &err), HALLEY_OK);
    if (halley_error_bar_find(&bar, &model, &plan, cluster, &stack, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
    return bar;
}

static void a_known_stack_has_a_narrower_bar(void **state)
{
    (void)state;
    const halley_error_bar known = find_bar("llama3-8b", "dgx-h100:8", "nemo-25", 4);
    const halley_error_bar unknown = find_bar("llama3-8b", "dgx-h100:8", NULL, 4);
    assert_true(known.known_stack && !unknown.known_stack);
    assert_true(known.typical < unknown.typical && known.bound < unknown.bound);
    assert_true(known.measured && unknown.measured);
    assert_true(known.n_sources >= 3 && unknown.n_sources >= 3);
    assert_true(strstr(known.class_name, "stack known, pipeline") != NULL);
}

/* One and a half times, and words that say why. */
static void a_chip_that_was_never_compared_says_so(void **state)
{
    (void)state;
    char text[HALLEY_ERROR_BAR_TEXT];
    const halley_error_bar rubin = find_bar("llama3-8b", "rubin-nvl144:72", NULL, 4);
    const halley_error_bar h100 = find_bar("llama3-8b", "dgx-h100:72", NULL, 4);
    assert_false(rubin.measured);
    assert_true(fabs(rubin.typical / h100.typical - 1.5) < 1e-9);
    assert_true(fabs(rubin.bound / h100.bound - 1.5) < 1e-9);
    halley_error_bar_print(text, &rubin);
    assert_non_null(strstr(text, "No run of this chip was ever compared."));
    halley_error_bar_print(text, &h100);
    assert_null(strstr(text, "ever compared"));
    const halley_error_bar tpu =
        find_bar("llama3-8b", "tpu-7x-pod:64", "megatron-bridge", 1);
    assert_false(tpu.measured);
}

static void a_kind_that_was_never_compared_says_so(void **state)
{
    (void)state;
    char text[HALLEY_ERROR_BAR_TEXT];
    const halley_error_bar dit = find_bar("dit-xl-2", "dgx-h100:8", NULL, 1);
    const halley_error_bar bert = find_bar("bert-large", "dgx-h100:8", NULL, 1);
    assert_true(!dit.measured && dit.measured_npu && bert.measured);
    assert_true(dit.typical > bert.typical);
    halley_error_bar_print(text, &dit);
    assert_non_null(strstr(text, "No run of this kind of model was ever compared."));
}

static void a_device_outside_the_fit_is_never_surer(void **state)
{
    (void)state;
    const halley_error_bar in = find_bar("llama3-8b", "dgx-h100:8", "nemo-25", 4);
    const halley_error_bar out = find_bar("llama3-8b", "dgx-a100:8", "nemo-25", 4);
    assert_true(out.typical >= in.typical && out.bound >= in.bound);
}

static void classes_widen_until_all_runs_are_in(void **state)
{
    (void)state;
    const bar_class own = {BAR_MOE, BAR_KNOWN, BAR_UNFITTED, BAR_FSDP};
    const bar_class stranger = {BAR_DENSE, BAR_UNKNOWN, BAR_FITTED, BAR_PIPELINE};
    bar_class wide;
    assert_true(bar_class_widen(&wide, own, 0));
    assert_true(bar_class_has(wide, own) && !bar_class_has(wide, stranger));
    assert_true(bar_class_widen(&wide, own, 1) && wide.parallel == BAR_ANY);
    assert_true(wide.device == BAR_UNFITTED);
    assert_true(bar_class_widen(&wide, own, 2) && wide.device == BAR_ANY);
    assert_true(wide.stack == BAR_KNOWN);
    assert_true(bar_class_widen(&wide, own, 3) && wide.stack == BAR_FAMILY);
    assert_true(bar_class_widen(&wide, own, 4) && wide.stack == BAR_UNKNOWN);
    assert_true(wide.kind == BAR_MOE);
    assert_true(bar_class_widen(&wide, own, 5) && bar_class_has(wide, stranger));
    assert_false(bar_class_widen(&wide, own, 6));
}

/* Three sources of 1, 1 and 4 runs: weights 1, 1 and 1/2 each. */
static void quantiles_weigh_sources_by_the_root_of_their_runs(void **state)
{
    (void)state;
    const bar_class c = {BAR_DENSE, BAR_KNOWN, BAR_FITTED, BAR_FSDP};
    const bar_error errors[] = {{c, 1, 0.10, 0}, {c, 2, 0.20, 0}, {c, 3, 0.01, 0},
                                {c, 3, 0.02, 0}, {c, 3, 0.03, 0}, {c, 3, 0.30, 0}};
    bar_error scratch[6];
    bar_quantiles q;
    assert_true(bar_quantiles_make(&q, scratch, errors, 6, c, 0));
    /* Ascending: .01 .02 .03 (sum 1.5 of 4), .10 (2.5), .20 (3.5), .30 (4). */
    assert_true(q.typical == 0.20); /* 2.8 of 4 */
    assert_true(q.bound == 0.30);   /* 3.8 of 4 */
    assert_true(q.n_runs == 6 && q.n_sources == 3);
    assert_false(bar_quantiles_make(&q, scratch, errors, 6, c, 2)); /* two sources left */
    assert_true(q.n_sources == 2 && q.bound == 0.30);
    /* Nine runs of a source weigh 3 of 5: the typical error is that of another source. */
    bar_error many[11] = {{c, 1, 0.10, 0}, {c, 2, 0.20, 0}}, room[11];
    for (int i = 2; i < 11; i++)
        many[i] = (bar_error){c, 3, 0.01 * (i - 1), 0};
    assert_true(bar_quantiles_make(&q, room, many, 11, c, 0));
    assert_true(q.typical == 0.10 && q.bound == 0.20);
    const bar_class other = {BAR_MOE, BAR_KNOWN, BAR_FITTED, BAR_FSDP};
    assert_false(bar_quantiles_make(&q, scratch, errors, 6, other, 0));
}

static void kinds_and_parallelism_are_told_apart(void **state)
{
    (void)state;
    halley_model m = {.family = HALLEY_FAMILY_LLM};
    halley_plan p = {.pp = 1};
    halley_cluster *gpu = NULL, *tpu = NULL;
    assert_int_equal(halley_cluster_load(&gpu, "dgx-h100", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&tpu, "tpu-v5p-pod", NULL), HALLEY_OK);
    assert_int_equal(bar_class_of(&m, &p, gpu).kind, BAR_DENSE);
    assert_int_equal(bar_class_of(&m, &p, tpu).kind, BAR_TPU);
    assert_int_equal(bar_class_of(&m, &p, gpu).parallel, BAR_NEITHER);
    p.fsdp = 8;
    assert_int_equal(bar_class_of(&m, &p, gpu).parallel, BAR_FSDP);
    p.pp = 2;
    assert_int_equal(bar_class_of(&m, &p, gpu).parallel, BAR_PIPELINE);
    m.experts = 8;
    assert_int_equal(bar_class_of(&m, &p, gpu).kind, BAR_MOE);
    p.lora = 16;
    assert_int_equal(bar_class_of(&m, &p, gpu).kind, BAR_OTHER);
    halley_cluster_free(gpu);
    halley_cluster_free(tpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_stack_has_a_narrower_bar),
        cmocka_unit_test(a_chip_that_was_never_compared_says_so),
        cmocka_unit_test(a_kind_that_was_never_compared_says_so),
        cmocka_unit_test(a_device_outside_the_fit_is_never_surer),
        cmocka_unit_test(classes_widen_until_all_runs_are_in),
        cmocka_unit_test(quantiles_weigh_sources_by_the_root_of_their_runs),
        cmocka_unit_test(kinds_and_parallelism_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
