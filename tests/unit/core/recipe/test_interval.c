/* Step times that unstated settings leave open, and what frameworks can do. */
#include "halley/estimate.h"
#include "halley/recipe.h"
#include "unit.h"

#include <string.h>

static halley_interval find(const char *model_name, const char *cluster_name,
                            const char *stack_name, const char *const (*keys)[2],
                            double *point_s)
{
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_plan plan;
    halley_interval i;
    halley_estimate e;
    halley_error err = {0};
    halley_plan_default(&plan);
    halley_stack_default(&stack);
    if (stack_name != NULL)
        assert_int_equal(halley_stack_load(&stack, stack_name, &err), HALLEY_OK);
    assert_int_equal(halley_model_load(&model, model_name, &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&cluster, cluster_name, &err), HALLEY_OK);
    for (; (*keys)[0] != NULL; keys++) {
        int key = 0;
        while (strcmp(halley_plan_key_name((halley_plan_key)key), (*keys)[0]) != 0)
            key++;
        if (halley_plan_set(&plan, (halley_plan_key)key, (*keys)[1], &err) != HALLEY_OK)
            fail_msg("%s", err.text);
    }
    plan.dp = halley_cluster_npus(cluster) / (plan.tp > 0 ? plan.tp : 1);
    if (halley_plan_check(&plan, &model, halley_cluster_npus(cluster), &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_estimate_run(&e, &model, &plan, cluster, &stack);
    *point_s = e.step_s;
    assert_int_equal(halley_interval_find(&i, &model, &plan, cluster, &stack, NULL, &err),
                     HALLEY_OK);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
    return i;
}

/* 5.79 s were measured, 10.6 s are predicted if every setting is off. */
static void settings_that_nobody_states_leave_an_interval(void **state)
{
    static const char *const keys[][2] = {{"dtype", "fp8"},     {"ep", "8"},
                                          {"micro-batch", "8"}, {"global-batch", "512"},
                                          {"seq", "4096"},      {NULL, NULL}};
    double point_s;
    (void)state;
    const halley_interval i =
        find("qwen3-30b-a3b", "gb300-nvl72:8", "megatron-bridge", keys, &point_s);
    assert_true(i.low_s <= point_s && point_s <= i.high_s);
    assert_true(0.93 * i.low_s <= 5.79 && 5.79 <= 1.07 * i.high_s);
    assert_true(i.high_s / i.low_s > 1.5);
    assert_int_equal(i.unknown[0].key, HALLEY_KEY_OVERLAP_EP);
    for (uint32_t k = 1; k < i.n_unknown; k++)
        assert_true(i.unknown[k].effect <= i.unknown[k - 1].effect);
}

static void stated_settings_leave_nothing_open(void **state)
{
    static const char *const keys[][2] = {
        {"dtype", "fp8"},         {"ep", "8"},
        {"micro-batch", "8"},     {"global-batch", "512"},
        {"seq", "4096"},          {"graphs", "full"},
        {"dispatcher", "deepep"}, {"overlap-ep", "yes"},
        {"fp8-attention", "yes"}, {NULL, NULL}};
    double point_s;
    (void)state;
    const halley_interval i =
        find("qwen3-30b-a3b", "gb300-nvl72:8", "megatron-bridge", keys, &point_s);
    assert_true(i.low_s == 0 && i.high_s == 0 && i.n_unknown == 0);
}

static void a_dense_model_of_a_known_stack_has_no_interval(void **state)
{
    static const char *const keys[][2] = {
        {"tp", "4"}, {"global-batch", "64"}, {NULL, NULL}};
    double point_s;
    (void)state;
    assert_true(
        find("llama3-8b", "dgx-h100:8", "megatron-bridge", keys, &point_s).low_s == 0);
}

static void frameworks_lack_what_their_authors_do_not_have(void **state)
{
    halley_framework megatron, titan, none;
    halley_error err = {0};
    halley_plan p = {.tp = 1, .pp = 2, .dp = 4, .cp = 1, .zero = 2};
    (void)state;
    assert_int_equal(halley_framework_find(&megatron, "megatron-bridge", &err),
                     HALLEY_OK);
    assert_int_equal(halley_framework_find(&titan, "torchtitan", &err), HALLEY_OK);
    assert_int_equal(halley_framework_find(&none, "", &err), HALLEY_OK);
    assert_true(megatron.known && titan.known && !none.known);
    assert_string_equal(halley_framework_lacks(&megatron, &p),
                        "this ZeRO stage with pipeline stages");
    p.zero = 1;
    assert_null(halley_framework_lacks(&megatron, &p));
    p.fsdp = 4;
    assert_string_equal(halley_framework_lacks(&megatron, &p), "FSDP with stages");
    assert_null(halley_framework_lacks(&titan, &p));
    assert_null(halley_framework_lacks(&none, &p));
    p.pp = 1;
    assert_null(halley_framework_lacks(&megatron, &p));
    p.pp = 2;
    p.fsdp = 0;
    p.schedule = HALLEY_SCHEDULE_DUALPIPE;
    assert_string_equal(halley_framework_lacks(&megatron, &p), "this pipeline schedule");
}

/* Every framework of a shipped stack either is described or has no file of its own. */
static void every_framework_file_is_read(void **state)
{
    static const char *const names[] = {"megatron-core", "nemo",     "deepspeed",
                                        "torchtitan",    "maxtext",  "automodel",
                                        "primus",        "deepseek", "llm-foundry"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        halley_framework f;
        halley_error err = {0};
        if (halley_framework_find(&f, names[i], &err) != HALLEY_OK)
            fail_msg("%s", err.text);
        assert_true(f.known && f.zero != 0 && f.schedules != 0 && f.dispatchers != 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_that_nobody_states_leave_an_interval),
        cmocka_unit_test(stated_settings_leave_nothing_open),
        cmocka_unit_test(a_dense_model_of_a_known_stack_has_no_interval),
        cmocka_unit_test(frameworks_lack_what_their_authors_do_not_have),
        cmocka_unit_test(every_framework_file_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
