/* Models, plans, stages and the memory they need. */
#include "alloc_fail.h"
#include "halley/cluster.h"
#include "halley/plan.h"
#include "unit.h"
#include "workload/memory.h"
#include "workload/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static halley_model load(const char *name)
{
    halley_model m;
    halley_error err = {0};
    if (halley_model_load(&m, name, &err) != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return m;
}

static halley_cluster *get_cluster(const char *name)
{
    halley_cluster *c;
    halley_error err = {0};
    if (halley_cluster_load(&c, name, &err) != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return c;
}

static void parameters_are_those_the_models_are_known_for(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double all, active; /* 1e9 */
    } models[] = {
        {"gpt3-175b", 175, 175},        {"llama2-7b", 6.74, 6.74},
        {"llama2-70b", 69, 69},         {"llama3-8b", 8.03, 8.03},
        {"llama3-405b", 405.9, 405.9},  {"mixtral-8x7b", 46.7, 12.9},
        {"deepseek-v3", 671, 37.5},     {"qwen3-235b-a22b", 235, 22},
        {"qwen3-30b-a3b", 30.5, 3.3},   {"gpt-oss-120b", 117, 5.7},
        {"transformer-1t", 1008, 1008}, {"bloom-176b", 176, 176},
        {"palm-540b", 540, 540},        {"nemotron-4-340b", 341, 341},
        {"turing-nlg-530b", 530, 530},  {"grok-1", 316, 85},
        {"resnet-50", 0.0255, 0.0255},  {"dlrm-1t", 1200, 0.4},
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        halley_model m = load(models[i].name);
        const double all = halley_model_params(&m) / 1e9;
        const double active = halley_model_active_params(&m) / 1e9;
        if (fabs(all / models[i].all - 1) > 0.025)
            fail_msg("%s has %g", models[i].name, all);
        if (models[i].active > 1 && fabs(active / models[i].active - 1) > 0.1)
            fail_msg("%s uses %g", models[i].name, active);
        halley_model_fini(&m);
    }
}

static void stages_hold_every_layer_once(void **state)
{
    (void)state;
    static const char *const names[] = {"gpt3-175b", "llama3-405b", "deepseek-v3",
                                        "llama4-maverick"};
    for (size_t k = 0; k < 4; k++) {
        const halley_model m = load(names[k]);
        uint32_t n_moe = 0;
        for (uint32_t i = 0; i < m.layers; i++)
            n_moe += workload_is_moe(&m, i);
        for (uint32_t pp = 1; pp <= 21; pp++)
            for (uint32_t v = 1; v <= 3; v++)
                for (int shift = 0; shift < 2; shift++) {
                    const halley_plan p = {
                        .pp = pp, .virtual_stages = v, .embeddings_as_layers = shift};
                    uint32_t dense = 0, moe = 0;
                    for (uint32_t i = 0; i < pp; i++) {
                        const workload_stage s = workload_stage_make(&m, &p, i);
                        dense += s.n_dense;
                        moe += s.n_moe;
                    }
                    assert_int_equal(moe, n_moe);
                    assert_int_equal(dense, m.layers - n_moe);
                }
    }
}

/* Korthikanti et al. 2022: s b h (34 + 5 a s / h) bytes a layer, split by tensor and
 * sequence parallelism; (10 + (24 + 5as/h)/t) without the latter; 2 s b h recomputed. */
static void activations_are_the_papers_formula(void **state)
{
    (void)state;
    halley_stack stack;
    halley_stack_default(&stack);
    stack.k[HALLEY_K_MEM_ACT] = 1;
    halley_cluster *cluster = get_cluster("dgx-a100:8");
    const halley_model m = load("gpt-22b");
    const double sbh = 2048.0 * 4 * m.hidden, scores = 5.0 * m.heads * 2048 / m.hidden;
    static const struct {
        uint32_t tp;
        bool sp;
        halley_recompute recompute;
    } cases[] = {{1, false, HALLEY_RECOMPUTE_NONE},
                 {8, false, HALLEY_RECOMPUTE_NONE},
                 {8, true, HALLEY_RECOMPUTE_NONE},
                 {8, true, HALLEY_RECOMPUTE_SELECTIVE},
                 {8, false, HALLEY_RECOMPUTE_FULL}};
    const double want[] = {34 + scores, 10 + (24 + scores) / 8, (34 + scores) / 8,
                           34.0 / 8, 2};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_plan p = {.tp = cases[i].tp,
                         .sequence_parallel = cases[i].sp,
                         .recompute = cases[i].recompute,
                         .micro_batch = 4,
                         .global_batch = 4,
                         .seq = 2048,
                         .attention = HALLEY_ATTENTION_UNFUSED};
        halley_error err = {0};
        assert_int_equal(halley_plan_check(&p, &m, 0, &err), HALLEY_OK);
        workload_parts parts;
        workload_parts_make(&parts, &m, &p, &stack);
        halley_stage_memory stage;
        halley_estimate_stage(&stage, &m, &p, cluster, &stack, 0);
        const double *bytes = stage.memory_bytes;
        const double layers = bytes[HALLEY_MEMORY_ACTIVATIONS] / m.layers;
        /* one layer's worth of working memory beside what is kept */
        const double slack = cases[i].recompute ? (34 + scores) * sbh / m.layers : 1;
        assert_true(layers >= want[i] * sbh * 0.999);
        assert_true(layers <= want[i] * sbh * 1.001 + slack);
    }
    halley_cluster_free(cluster);
}

static void model_states_shrink_with_zero(void **state)
{
    (void)state;
    halley_stack stack;
    halley_stack_default(&stack);
    halley_cluster *cluster = get_cluster("dgx-a100:64");
    const halley_model m = load("gpt-7.5b");
    double last = HUGE_VAL;
    for (uint32_t zero = 0; zero < 4; zero++) {
        halley_plan p = {.dp = 64, .global_batch = 64, .zero = zero};
        halley_error err = {0};
        assert_int_equal(halley_plan_check(&p, &m, 64, &err), HALLEY_OK);
        halley_stage_memory stage;
        halley_estimate_stage(&stage, &m, &p, cluster, &stack, 0);
        const double *bytes = stage.memory_bytes;
        const double states = bytes[HALLEY_MEMORY_WEIGHTS] +
                              bytes[HALLEY_MEMORY_GRADIENTS] +
                              bytes[HALLEY_MEMORY_OPTIMIZER];
        assert_true(states < last);
        last = states;
    }
    /* 18 bytes a parameter over 64 ranks */
    assert_true(fabs(last * 64 / (18 * halley_model_params(&m)) - 1) < 0.02);
    halley_cluster_free(cluster);
}

static void plans_that_do_not_divide_are_refused_in_words(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        halley_plan plan;
        uint32_t n;
        const char *says;
    } cases[] = {
        {"gpt3-175b", {.tp = 8, .dp = 3}, 32, "is 24 NPUs, the cluster has 32"},
        {"gpt3-175b", {.tp = 7}, 0, "does not divide 96 heads"},
        {"gpt3-175b", {.pp = 100}, 0, "more than the 96 layers"},
        {"gpt3-175b", {.ep = 2, .dp = 2}, 0, "needs a model with experts"},
        {"mixtral-8x7b",
         {.ep = 3, .dp = 3},
         0,
         "does not divide the number of experts 8"},
        {"mixtral-8x7b", {.ep = 8, .dp = 3}, 0, "does not divide the 3 ranks"},
        {"gpt3-175b", {.dp = 4, .global_batch = 6}, 0, "not a multiple of dp 4"},
        {"gpt3-175b", {.zero = 4}, 0, "0 to 3"},
        {"llama3-8b", {.cp = 3}, 0, "does not divide the sequence length"},
        {"resnet-50", {.tp = 2}, 0, "only data parallelism"},
        {"gpt3-175b",
         {.pp = 4, .n_stage_layers = 3, .stage_layers = {32, 32, 32}},
         0,
         "given for 3 stages, the pipeline has 4"},
        {"gpt3-175b",
         {.pp = 2, .n_stage_layers = 2, .stage_layers = {48, 47}},
         0,
         "95 layers together, the model has 96"},
        {"gpt3-175b",
         {.pp = 2, .virtual_stages = 2, .n_stage_layers = 2, .stage_layers = {95, 1}},
         0,
         "stage 1 has 1 layers, fewer than its 2 chunks"},
        {"gpt3-175b", {.recompute_every = 4}, 0, "needs full recomputation, not none"},
        {"gpt3-175b", {.recompute_layers = 4}, 0, "none is chosen"},
        {"gpt3-175b", {.fsdp_keep = true}, 0, "only be kept with fsdp"},
        {"gpt3-175b", {.rank_order = 24}, 0, "24 rank orders"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_model m = load(cases[i].model);
        halley_plan p = cases[i].plan;
        halley_error err = {0};
        assert_int_not_equal(halley_plan_check(&p, &m, cases[i].n, &err), HALLEY_OK);
        if (!strstr(err.text, cases[i].says))
            fail_msg("\"%s\" does not say \"%s\"", err.text, cases[i].says);
        halley_model_fini(&m);
    }
}

static void an_unknown_model_is_answered_with_the_nearest(void **state)
{
    (void)state;
    halley_model m;
    halley_error err = {0};
    assert_int_equal(halley_model_load(&m, "gpt3-175", &err), HALLEY_ENOTFOUND);
    assert_non_null(strstr(err.text, "did you mean gpt3-175b"));
}

static halley_status load_resnet(void *context, halley_error *err)
{
    (void)context;
    halley_model m;
    const halley_status status = halley_model_load(&m, "resnet-50", err);
    if (status == HALLEY_OK)
        halley_model_fini(&m);
    return status;
}

static halley_status load_cluster(void *context, halley_error *err)
{
    (void)context;
    halley_cluster *c = NULL;
    const halley_status status = halley_cluster_load(&c, "dgx-h100", err);
    halley_cluster_free(c);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(load_resnet, NULL) > 2);
    assert_true(alloc_fail_everywhere(load_cluster, NULL) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_those_the_models_are_known_for),
        cmocka_unit_test(stages_hold_every_layer_once),
        cmocka_unit_test(activations_are_the_papers_formula),
        cmocka_unit_test(model_states_shrink_with_zero),
        cmocka_unit_test(plans_that_do_not_divide_are_refused_in_words),
        cmocka_unit_test(an_unknown_model_is_answered_with_the_nearest),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
