/* Models that are not trained as LLMs: their own constants, against measured steps. */
#include "halley/estimate.h"
#include "halley/plan_keys.h"
#include "unit.h"
#include "workload/family.h"
#include "workload/ops.h"

#include <math.h>
#include <string.h>

/* One design; NULL in dtype is bf16. */
typedef struct case_of {
    const char *model, *cluster, *dtype;
    uint32_t global_batch, micro_batch, cp, lora, seq;
} case_of;

static halley_estimate estimate(const case_of *c)
{
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_plan plan;
    halley_estimate e;
    halley_error err = {0};
    halley_plan_default(&plan);
    halley_stack_default(&stack);
    assert_int_equal(halley_model_load(&model, c->model, &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&cluster, c->cluster, &err), HALLEY_OK);
    plan.cp = c->cp ? c->cp : 1;
    plan.dp = halley_cluster_npus(cluster) / plan.cp;
    plan.global_batch = c->global_batch;
    plan.micro_batch = c->micro_batch;
    plan.lora = c->lora;
    plan.seq = c->seq;
    if (c->dtype != NULL)
        assert_true(halley_dtype_find(&plan.dtype, c->dtype));
    if (halley_plan_check(&plan, &model, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_estimate_run(&e, &model, &plan, cluster, &stack);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
    return e;
}

static void assert_step(const case_of *c, double measured_s, double tolerance)
{
    const halley_estimate e = estimate(c);
    if (!(fabs(e.step_s / measured_s - 1) <= tolerance))
        fail_msg("%s on %s: %.2f ms, measured %.2f ms", c->model, c->cluster,
                 e.step_s * 1e3, measured_s * 1e3);
}

static void steps_are_as_measured(void **state)
{
    (void)state;
    static const struct {
        case_of design;
        double measured_s, tolerance;
    } runs[] = {
        /* MLPerf Training v4.0 and v5.0 result logs. */
        {{"dlrm-mlperf", "dgx-h100:8", NULL, 55296, 6912, 0, 0, 0}, 4.01e-3, 0.25},
        {{"dlrm-mlperf", "dgx-h100:64", NULL, 135168, 2112, 0, 0, 0}, 2.82e-3, 0.25},
        {{"dlrm-mlperf", "dgx-h100:128", NULL, 135168, 1056, 0, 0, 0}, 2.08e-3, 0.25},
        {{"resnet-50", "dgx-h100:8", NULL, 3200, 400, 0, 0, 0}, 3200 / 57.1e3, 0.25},
        {{"llama2-70b", "dgx-b200:8", "fp8", 8, 1, 0, 16, 8192}, 1.52, 0.15},
        {{"llama2-70b", "gb200-nvl72:64", "fp8", 8, 1, 8, 16, 8192}, 0.241, 0.15},
        {{"bert-large", "dgx-b200:8", "fp8", 384, 48, 0, 0, 0}, 66e-3, 0.20},
        {{"stable-diffusion-2-unet", "gb200-nvl72:8", NULL, 256, 32, 0, 0, 0},
         0.110,
         0.20},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        assert_step(&runs[i].design, runs[i].measured_s, runs[i].tolerance);
    }
}

/* Parameters as published. */
static void parameters_are_as_published(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        double params, tolerance;
    } models[] = {
        {"stable-diffusion-2-unet", 865.9e6, 0.002},
        {"dit-xl-2", 675e6, 0.02},
        {"bert-large", 336e6, 0.02},
        {"grok-1", 314e9, 0.01},
        {"llama3-8b", 8.03e9, 0.002},
        {"resnet-50", 25.6e6, 0.02},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        halley_model m;
        assert_int_equal(halley_model_load(&m, models[i].model, NULL), HALLEY_OK);
        const double p = halley_model_params(&m);
        if (!(fabs(p / models[i].params - 1) <= models[i].tolerance))
            fail_msg("%s: %.4g parameters", models[i].model, p);
        halley_model_fini(&m);
    }
}

static void dcnv2_has_sixteen_million_dense_parameters(void **state)
{
    (void)state;
    halley_model m;
    assert_int_equal(halley_model_load(&m, "dlrm-mlperf", NULL), HALLEY_OK);
    assert_true(fabs(halley_model_active_params(&m) / 16.0e6 - 1) < 0.01);
    assert_true(fabs(halley_model_step_flops(&m, 1, 1) / 96e6 - 1) < 0.01);
    halley_model_fini(&m);
}

/* What an LLM's software costs never reaches another family, whatever the stack says. */
static void constants_of_llms_do_not_apply_to_others(void **state)
{
    (void)state;
    static const char *const names[] = {"bert-large", "stable-diffusion-2-unet",
                                        "dlrm-mlperf", "resnet-50"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        halley_model m;
        halley_plan plan = {.lora = 0};
        halley_stack slow, room;
        halley_stack_default(&slow);
        slow.k[HALLEY_K_STEP] = 1;
        slow.k[HALLEY_K_MICRO] = 0.2;
        assert_int_equal(halley_model_load(&m, names[i], NULL), HALLEY_OK);
        const halley_stack *used = workload_family_stack(&room, &m, &plan, &slow);
        assert_true(used == &room);
        assert_true(used->k[HALLEY_K_STEP] < 0.02);
        assert_true(used->k[HALLEY_K_MICRO] == 0);
        halley_model_fini(&m);
    }
}

static void llms_keep_the_stack_they_are_given(void **state)
{
    (void)state;
    halley_model m;
    halley_plan plan = {.lora = 0};
    halley_stack stack, room;
    halley_stack_default(&stack);
    assert_int_equal(halley_model_load(&m, "llama3-8b", NULL), HALLEY_OK);
    assert_true(workload_family_stack(&room, &m, &plan, &stack) == &stack);
    plan.lora = 16;
    assert_true(workload_family_stack(&room, &m, &plan, &stack) == &room);
    assert_true(room.k[HALLEY_K_STEP] == 40e-3);
    halley_model_fini(&m);
}

/* Frozen weights get input gradients only: less time than training all, and more than a
 * forward pass and one backward product. */
static void adapters_train_faster_than_everything(void **state)
{
    (void)state;
    const case_of all = {"llama2-70b", "dgx-b200:8", "fp8", 8, 1, 0, 0, 4096};
    case_of adapter = all;
    adapter.lora = 16;
    const halley_estimate full = estimate(&all), lora = estimate(&adapter);
    assert_true(lora.step_s < full.step_s);
    assert_true(lora.part_s[HALLEY_PART_BACKWARD] <
                0.8 * full.part_s[HALLEY_PART_BACKWARD]);
    assert_true(lora.part_s[HALLEY_PART_FORWARD] >= full.part_s[HALLEY_PART_FORWARD]);
    assert_true(lora.part_s[HALLEY_PART_OPTIMIZER] <
                0.01 * full.part_s[HALLEY_PART_OPTIMIZER]);
    assert_true(lora.part_s[HALLEY_PART_DP] < 0.1 * full.part_s[HALLEY_PART_DP]);
}

static void adapters_of_a_layer_have_the_size_lora_gives(void **state)
{
    (void)state;
    halley_model m;
    halley_stack stack;
    workload_parts parts;
    halley_error err = {0};
    halley_plan plan = {.dp = 1, .global_batch = 1, .lora = 16, .seq = 128};
    halley_stack_default(&stack);
    assert_int_equal(halley_model_load(&m, "llama2-70b", &err), HALLEY_OK);
    assert_int_equal(halley_plan_check(&plan, &m, 0, &err), HALLEY_OK);
    workload_parts_make(&parts, &m, &plan, &stack);
    const double h = 8192, kv = 2 * 8 * 128;
    const double wanted = 16 * ((h + h + kv) + (h + h)); /* qkv, projection */
    assert_true(fabs(parts.dense.weights - parts.dense.frozen - wanted) < 1);
    assert_true(parts.head.frozen == parts.head.weights);
    halley_model_fini(&m);
}

static void windows_count_in_flops_as_in_time(void **state)
{
    (void)state;
    halley_model m = {.window = 4096};
    assert_true(halley_model_keys_seen(&m, 4096) == 2048);
    assert_true(halley_model_keys_seen(&m, 16384) == 4096 - 4096.0 * 4096 / 32768);
    m.window_every = 2;
    assert_true(halley_model_keys_seen(&m, 16384) == 0.5 * 8192 + 0.5 * 3584);
    m.not_causal = true;
    assert_true(halley_model_keys_seen(&m, 1024) == 1024);
}

/* With one key of the plan; no value: none. */
static halley_stage_memory memory_of(halley_plan_key key, const char *value)
{
    halley_model m;
    halley_cluster *c = NULL;
    halley_stack stack;
    halley_plan plan;
    halley_stage_memory out;
    halley_error err = {0};
    halley_plan_default(&plan);
    halley_stack_default(&stack);
    assert_int_equal(halley_model_load(&m, "dlrm-1t", &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&c, "comet-baseline:64", &err), HALLEY_OK);
    plan.global_batch = 65536;
    plan.micro_batch = 1024;
    plan.dp = 64;
    if (value != NULL)
        assert_int_equal(halley_plan_set(&plan, key, value, &err), HALLEY_OK);
    assert_int_equal(halley_plan_check(&plan, &m, 64, &err), HALLEY_OK);
    out.size = sizeof out;
    halley_estimate_stage(&out, &m, &plan, c, &stack, 0);
    halley_model_fini(&m);
    halley_cluster_free(c);
    return out;
}

/* 1,024 tables of 9.155 million rows and 128 numbers, on 64 ranks. */
static void tables_have_an_optimizer_of_their_own(void **state)
{
    (void)state;
    const double rows = 1024 * 9155000.0 / 64;
    static const struct {
        const char *value;
        double per_row;
    } all[] = {{NULL, 4},
               {"row-wise-adagrad", 4},
               {"adagrad", 4 * 128},
               {"sgd", 0},
               {"adam", 8 * 128}};
    const double sgd = memory_of(HALLEY_KEY_TABLE_OPTIMIZER, "sgd")
                           .memory_bytes[HALLEY_MEMORY_OPTIMIZER];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const halley_stage_memory m = memory_of(HALLEY_KEY_TABLE_OPTIMIZER, all[i].value);
        const double tables = m.memory_bytes[HALLEY_MEMORY_OPTIMIZER] - sgd;
        assert_true(fabs(tables - rows * all[i].per_row) < 1e-6 * rows * 128);
    }
    assert_true(memory_of(HALLEY_KEY_TABLE_OPTIMIZER, NULL).device_bytes < 60e9);
    assert_true(sgd > 0 && sgd < 0.1e9); /* Adam of the perceptrons */
    const halley_stage_memory none = memory_of(HALLEY_KEY_OPTIMIZER_MEMORY, "0");
    assert_true(none.memory_bytes[HALLEY_MEMORY_OPTIMIZER] == 0);
}

/* One micro-batch looks up 1,024 x 32 rows per sample; each counts once. */
static void gradients_of_tables_are_those_of_rows_that_are_looked_up(void **state)
{
    (void)state;
    const double draws = 1024.0 * 1024 * 32, rows = 1024 * 9155000.0 / 64;
    const double unique = rows * (1 - exp(-draws / rows));
    const double all =
        memory_of(HALLEY_KEY_TABLE_OPTIMIZER, NULL).memory_bytes[HALLEY_MEMORY_GRADIENTS];
    assert_true(all > unique * 128 * 4 && all < unique * 128 * 4 + 1.5e9);
    assert_true(all < draws * 128 * 4 + 1.5e9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_as_measured),
        cmocka_unit_test(parameters_are_as_published),
        cmocka_unit_test(dcnv2_has_sixteen_million_dense_parameters),
        cmocka_unit_test(constants_of_llms_do_not_apply_to_others),
        cmocka_unit_test(llms_keep_the_stack_they_are_given),
        cmocka_unit_test(adapters_train_faster_than_everything),
        cmocka_unit_test(adapters_of_a_layer_have_the_size_lora_gives),
        cmocka_unit_test(windows_count_in_flops_as_in_time),
        cmocka_unit_test(tables_have_an_optimizer_of_their_own),
        cmocka_unit_test(gradients_of_tables_are_those_of_rows_that_are_looked_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
