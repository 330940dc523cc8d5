/* Recipes: which one is the nearest, and what a plan takes from it. */
#include "halley/estimate.h"
#include "halley/recipe.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* A question: a model on a cluster, and its workload. */
typedef struct question {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan;
} question;

static void ask(question *q, const char *model, const char *cluster, const char *stack,
                const char *dtype, const char *batch)
{
    halley_error err = {0};
    halley_plan_default(&q->plan);
    assert_int_equal(halley_model_load(&q->model, model, &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&q->cluster, cluster, &err), HALLEY_OK);
    assert_int_equal(halley_stack_load(&q->stack, stack, &err), HALLEY_OK);
    halley_plan_set(&q->plan, HALLEY_KEY_DTYPE, dtype, &err);
    halley_plan_set(&q->plan, HALLEY_KEY_GLOBAL_BATCH, batch, &err);
    halley_plan_set(&q->plan, HALLEY_KEY_SEQ, "4096", &err);
}

static void forget(question *q)
{
    halley_cluster_free(q->cluster);
    halley_model_fini(&q->model);
}

static halley_recipe find(const question *q, const halley_recipe_opts *opts)
{
    halley_recipes *set;
    halley_recipe r;
    halley_error err = {0};
    assert_int_equal(halley_recipes_load(&set, q->stack.framework, &err), HALLEY_OK);
    assert_int_equal(halley_recipes_find(&r, set, &q->model, &q->plan,
                                         halley_cluster_npu(q->cluster, 0)->name,
                                         halley_cluster_npus(q->cluster), opts, &err),
                     HALLEY_OK);
    halley_recipes_free(set);
    return r;
}

static double step_of(question *q, halley_recipe *r)
{
    halley_error err = {0};
    halley_estimate e;
    const uint32_t n = halley_cluster_npus(q->cluster);
    assert_int_equal(
        halley_recipe_apply(&q->plan, r, &q->model, q->cluster, n, &q->stack, &err),
        HALLEY_OK);
    halley_plan *p = &q->plan;
    p->dp = n / ((p->tp ? p->tp : 1) * (p->pp ? p->pp : 1) * (p->cp ? p->cp : 1));
    if (halley_plan_check(p, &q->model, n, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_estimate_run(&e, &q->model, p, q->cluster, &q->stack);
    assert_true(e.fits);
    return e.step_s;
}

/* Commands with only the workload, and what Megatron-Bridge's performance summary
 * measured. No recipe was fitted to them. */
static void commands_with_only_the_workload_match_measurements(void **state)
{
    static const struct {
        const char *model, *cluster, *dtype, *batch, *release;
        double measured_s;
    } runs[] = {
        {"deepseek-v3", "gb300-nvl72:256", "mxfp8", "4096", "26.04.01", 13.13},
        {"deepseek-v3", "dgx-b200:256", "mxfp8", "4096", "26.04.01", 19.69},
        {"deepseek-v3", "dgx-b300:256", "mxfp8", "4096", "26.04", 20.93},
        {"qwen3-235b-a22b", "gb300-nvl72:256", "mxfp8", "8192", "26.08", 14.87},
        {"qwen3-235b-a22b", "gb200-nvl72:256", "mxfp8", "8192", "26.08", 18.00},
        {"qwen3-235b-a22b", "dgx-h100:256", "fp8", "8192", "26.04.01", 76.56},
        {"qwen3-30b-a3b", "gb300-nvl72:8", "mxfp8", "512", "26.08", 5.89},
        {"qwen3-30b-a3b", "gb200-nvl72:8", "mxfp8", "512", "26.08", 6.56},
        {"qwen3-30b-a3b", "dgx-b300:8", "mxfp8", "512", "26.06", 6.43},
        {"qwen3-30b-a3b", "dgx-b200:8", "mxfp8", "512", "26.04.01", 9.66},
        {"qwen3-30b-a3b", "dgx-h100:16", "fp8", "1024", "26.06", 29.70},
        {"gpt-oss-120b", "gb300-nvl72:64", "mxfp8", "1280", "26.08", 2.48},
        {"gpt-oss-120b", "gb200-nvl72:64", "mxfp8", "1280", "26.08", 2.86},
        {"gpt-oss-120b", "gb300-nvl72:64", "bf16", "1280", "26.04.01", 4.27},
        {"gpt-oss-120b", "gb200-nvl72:64", "bf16", "1280", "26.04.01", 4.92},
        {"gpt-oss-120b", "dgx-b300:64", "bf16", "1280", "26.04.01", 5.38},
        {"gpt-oss-120b", "dgx-h100:64", "bf16", "1280", "26.04.01", 14.07},
        {"gpt-oss-120b", "dgx-b300:64", "mxfp8", "1280", "26.06", 4.42},
    };
    enum { N = sizeof runs / sizeof *runs };
    (void)state;
    double sum = 0;
    int near = 0;
    for (int i = 0; i < N; i++) {
        question q;
        ask(&q, runs[i].model, runs[i].cluster, "megatron-bridge", runs[i].dtype,
            runs[i].batch);
        halley_recipe r = find(&q, &(halley_recipe_opts){.release = runs[i].release});
        const double error = fabs(step_of(&q, &r) / runs[i].measured_s - 1);
        sum += error;
        near += error <= 0.15;
        forget(&q);
    }
    assert_true(sum / N < 0.09);
    assert_true(near >= 15);
}

static void
the_same_device_wins_over_a_relative_and_a_relative_over_a_cousin(void **state)
{
    question q;
    (void)state;
    ask(&q, "qwen3-30b-a3b", "gb300-nvl72:8", "megatron-bridge", "mxfp8", "512");
    assert_non_null(strstr(find(&q, NULL).name, "/GB300-288GB/8/mxfp8"));
    const halley_recipe near = find(&q, &(halley_recipe_opts){.without = "GB300-288GB"});
    assert_non_null(strstr(near.name, "/GB200-186GB/8/mxfp8"));
    assert_true(near.distance >= 3 && strstr(near.why, "chip GB200") != NULL);
    forget(&q);
}

static void another_release_has_its_own_settings(void **state)
{
    question q;
    (void)state;
    ask(&q, "qwen3-30b-a3b", "dgx-b200:8", "megatron-bridge", "mxfp8", "512");
    const halley_recipe old = find(&q, &(halley_recipe_opts){.release = "26.02"});
    const halley_recipe new = find(&q, NULL);
    assert_string_equal(old.release, "26.02");
    assert_string_equal(old.value[HALLEY_KEY_GRAPHS], "router");
    assert_string_equal(new.release, "26.08");
    assert_string_equal(new.value[HALLEY_KEY_GRAPHS], "full");
    const halley_recipe before = find(&q, &(halley_recipe_opts){.release = "25.09"});
    assert_string_equal(before.release, "26.02");
    assert_true(before.months > 4 && before.months < 6);
    forget(&q);
}

static void what_the_user_states_is_never_taken(void **state)
{
    question q;
    halley_error err = {0};
    (void)state;
    ask(&q, "qwen3-30b-a3b", "gb300-nvl72:8", "megatron-bridge", "mxfp8", "512");
    halley_recipe r = find(&q, NULL);
    halley_plan_set(&q.plan, HALLEY_KEY_GRAPHS, "none", &err);
    halley_plan_set(&q.plan, HALLEY_KEY_EP, "4", &err);
    halley_recipe_apply(&q.plan, &r, &q.model, q.cluster, 8, &q.stack, &err);
    assert_int_equal(q.plan.graphs, HALLEY_GRAPHS_NONE);
    assert_int_equal(q.plan.ep, 4);
    assert_false(r.has_layout);
    assert_int_equal(q.plan.micro_batch, 0); /* a key of the layout */
    assert_int_equal(q.plan.dispatcher, HALLEY_DISPATCH_HYBRIDEP);
    assert_int_equal(r.taken & (1ull << HALLEY_KEY_GRAPHS | 1ull << HALLEY_KEY_EP), 0);
    forget(&q);
}

static void a_layout_that_does_not_divide_is_not_taken(void **state)
{
    question q;
    halley_error err = {0};
    (void)state;
    ask(&q, "qwen3-235b-a22b", "gb300-nvl72:3", "megatron-bridge", "mxfp8", "512");
    halley_recipe r = find(&q, NULL);
    halley_recipe_apply(&q.plan, &r, &q.model, q.cluster, 3, &q.stack, &err);
    assert_false(r.has_layout);
    assert_int_equal(q.plan.pp, 0);
    forget(&q);
}

static void a_model_without_recipes_takes_software_of_its_kind_only(void **state)
{
    question q;
    halley_error err = {0};
    (void)state;
    ask(&q, "mixtral-8x22b", "dgx-h100:64", "megatron-bridge", "bf16", "512");
    halley_plan_set(&q.plan, HALLEY_KEY_EP, "8", &err);
    halley_recipe r = find(&q, NULL);
    assert_true(r.similar);
    halley_recipe_apply(&q.plan, &r, &q.model, q.cluster, 64, &q.stack, &err);
    assert_true(r.taken >> HALLEY_KEY_DISPATCHER & 1);
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++)
        if (r.taken >> i & 1)
            assert_int_equal(halley_plan_key_class((halley_plan_key)i),
                             HALLEY_KEY_SOFTWARE);
    forget(&q);
}

/* Every value that a recipe states for a key of plans is one that plans accept. */
static void every_recipe_states_values_that_plans_accept(void **state)
{
    halley_recipes *set;
    halley_error err = {0};
    (void)state;
    assert_int_equal(halley_recipes_load(&set, NULL, &err), HALLEY_OK);
    assert_true(halley_recipes_count(set) > 1500);
    for (size_t i = 0; i < halley_recipes_count(set); i++) {
        halley_recipe r;
        halley_recipes_get(&r, set, i);
        for (int k = 0; k < HALLEY_N_PLAN_KEYS; k++) {
            halley_plan p;
            halley_plan_default(&p);
            if (r.value[k][0] != '\0' && k != (int)HALLEY_KEY_STAGE_LAYERS &&
                halley_plan_set(&p, (halley_plan_key)k, r.value[k], &err) != HALLEY_OK)
                fail_msg("%s: %s", r.name, err.text);
        }
    }
    halley_recipes_free(set);
}

static void a_stack_runs_on_devices_of_its_vendors(void **state)
{
    halley_stack s;
    halley_error err = {0};
    (void)state;
    assert_int_equal(halley_stack_load(&s, "megatron-bridge", &err), HALLEY_OK);
    assert_int_equal(halley_stack_check_npu(&s, "GB200-186GB", &err), HALLEY_OK);
    assert_int_equal(halley_stack_check_npu(&s, "of my own", &err), HALLEY_OK);
    assert_int_equal(halley_stack_check_npu(&s, "MI355X", &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "primus-2026"));
    halley_stack_default(&s);
    assert_int_equal(halley_stack_check_npu(&s, "MI355X", &err), HALLEY_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commands_with_only_the_workload_match_measurements),
        cmocka_unit_test(
            the_same_device_wins_over_a_relative_and_a_relative_over_a_cousin),
        cmocka_unit_test(another_release_has_its_own_settings),
        cmocka_unit_test(what_the_user_states_is_never_taken),
        cmocka_unit_test(a_layout_that_does_not_divide_is_not_taken),
        cmocka_unit_test(a_model_without_recipes_takes_software_of_its_kind_only),
        cmocka_unit_test(every_recipe_states_values_that_plans_accept),
        cmocka_unit_test(a_stack_runs_on_devices_of_its_vendors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
