/* Error bars: classes, quantiles, what is printed. */
#include "halley/error_bar.h"
#include "halley/plan_keys.h"
#include "score/error_bars.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
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
    if (halley_error_bar_find(&bar, &model, &plan, cluster, &stack, NULL, &err) !=
        HALLEY_OK)
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
    /* By hand: sqrt(0.08^2 + 0.07^2) and sqrt(0.08^2 + 0.12^2). */
    assert_true(fabs(known.bound - 2 * sqrt(0.0064 + 0.0049)) < 1e-9);
    assert_true(fabs(unknown.typical - 1.04 * sqrt(0.0064 + 0.0144)) < 1e-9);
}

/* Today's bug: any stack made the bar of any chip narrower. */
static void
naming_a_stack_never_shrinks_the_bar_of_a_chip_it_was_not_compared_on(void **state)
{
    (void)state;
    const halley_error_bar none = find_bar("llama3-8b", "mi355x:8", NULL, 1);
    const halley_error_bar amd = find_bar("llama3-8b", "mi355x:8", "primus-2026", 1);
    assert_true(amd.typical >= none.typical && amd.bound >= none.bound);
    assert_true(amd.typical >= 0.15 && amd.bound >= 0.30);
    const halley_error_bar a100 = find_bar("llama3-8b", "dgx-a100:8", NULL, 1);
    const halley_error_bar nemo = find_bar("llama3-8b", "dgx-a100:8", "nemo-25", 1);
    assert_true(nemo.typical >= a100.typical && nemo.bound >= a100.bound);
}

static void a_chip_that_was_never_compared_says_so(void **state)
{
    (void)state;
    char text[HALLEY_ERROR_BAR_TEXT];
    const halley_error_bar rubin = find_bar("llama3-8b", "rubin-nvl144:72", NULL, 4);
    const halley_error_bar h100 = find_bar("llama3-8b", "dgx-h100:72", NULL, 4);
    assert_false(rubin.measured);
    assert_true(rubin.bound > 1.2 * h100.bound);
    halley_error_bar_print(text, &rubin);
    assert_non_null(strstr(text, "No run of this chip was ever compared."));
    halley_error_bar_print(text, &h100);
    assert_null(strstr(text, "ever compared"));
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

static halley_error_bar find_with(const halley_bar_facts *facts, const char *domain)
{
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_plan plan;
    halley_error_bar bar;
    halley_error err = {0};
    char text[256];
    snprintf(text, sizeof text,
             "npu: {name: GB300-288GB}\nnpus: 1152\nnodes: {npus: %s, up: nvlink5-gb300, "
             "nics: 4}\nnetwork: {fabric: ib-ndr, bandwidth: 100 GB/s}\n",
             domain);
    halley_plan_default(&plan);
    assert_int_equal(halley_stack_load(&stack, "megatron-bridge", &err), HALLEY_OK);
    assert_int_equal(halley_model_load(&model, "qwen3-30b-a3b", &err), HALLEY_OK);
    if (halley_cluster_parse(&cluster, text, strlen(text), "c.yaml", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_int_equal(
        halley_error_bar_find(&bar, &model, &plan, cluster, &stack, facts, &err),
        HALLEY_OK);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
    return bar;
}

/* 576 NPUs of one domain are three doublings above the largest that was measured. */
static void a_system_beyond_all_measured_ones_is_less_sure(void **state)
{
    (void)state;
    const halley_error_bar real = find_with(NULL, "72"), large = find_with(NULL, "576");
    assert_true(real.measured && !large.measured && large.hypothetical);
    assert_true(large.bound >= 0.30 && large.bound > real.bound);
    const double more = large.bound * large.bound - real.bound * real.bound;
    assert_true(fabs(more - 4 * 0.09) < 1e-6);
}

static void every_fact_that_is_missing_widens_the_bar(void **state)
{
    (void)state;
    const halley_estimate small = {.step_s = 1, .part_s[HALLEY_PART_HOST] = 0.3};
    const halley_bar_facts facts[] = {
        {.months = 4},
        {.low_s = 1, .high_s = 2},
        {.estimate = &small},
        {.open = true, .recipe_distance = 4},
    };
    const halley_error_bar known = find_with(NULL, "72");
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
        const halley_error_bar bar = find_with(&facts[i], "72");
        assert_true(bar.bound > known.bound && bar.typical > known.typical);
        assert_true(bar.bound >= 1.9 * bar.typical);
    }
}

static void kinds_are_told_apart(void **state)
{
    (void)state;
    halley_model m = {.family = HALLEY_FAMILY_LLM};
    halley_plan p = {.pp = 1};
    halley_cluster *gpu = NULL, *tpu = NULL;
    assert_int_equal(halley_cluster_load(&gpu, "dgx-h100", NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&tpu, "tpu-v5p-pod", NULL), HALLEY_OK);
    assert_int_equal(bar_kind_of(&m, &p, gpu), BAR_DENSE);
    assert_int_equal(bar_kind_of(&m, &p, tpu), BAR_TPU);
    m.experts = 8;
    assert_int_equal(bar_kind_of(&m, &p, gpu), BAR_MOE);
    p.lora = 16;
    assert_int_equal(bar_kind_of(&m, &p, gpu), BAR_OTHER);
    halley_cluster_free(gpu);
    halley_cluster_free(tpu);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_stack_has_a_narrower_bar),
        cmocka_unit_test(
            naming_a_stack_never_shrinks_the_bar_of_a_chip_it_was_not_compared_on),
        cmocka_unit_test(a_chip_that_was_never_compared_says_so),
        cmocka_unit_test(a_kind_that_was_never_compared_says_so),
        cmocka_unit_test(a_system_beyond_all_measured_ones_is_less_sure),
        cmocka_unit_test(every_fact_that_is_missing_widens_the_bar),
        cmocka_unit_test(kinds_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
