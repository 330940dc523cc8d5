/* Numbers that people compare: money, power, conventions. */
#include "halley/numbers.h"
#include "halley/plan_keys.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct world {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan;
    halley_estimate e;
    halley_numbers n;
} world;

static void open_world(world *w, const char *model, const char *cluster)
{
    halley_error err = {0};
    halley_stack_default(&w->stack);
    halley_plan_default(&w->plan);
    assert_int_equal(halley_model_load(&w->model, model, &err), HALLEY_OK);
    if (halley_cluster_load(&w->cluster, cluster, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void compute(world *w, double tokens)
{
    halley_error err = {0};
    if (halley_plan_check(&w->plan, &w->model, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_estimate_run(&w->e, &w->model, &w->plan, w->cluster, &w->stack);
    halley_numbers_run(&w->n, &w->e, &w->model, &w->plan, w->cluster, tokens);
}

static void close_world(world *w)
{
    halley_cluster_free(w->cluster);
    halley_model_fini(&w->model);
}

static world make(const char *model, const char *cluster, uint32_t npus, uint32_t batch)
{
    world w;
    open_world(&w, model, cluster);
    w.plan.dp = npus;
    w.plan.global_batch = batch;
    compute(&w, 1e12);
    return w;
}

static bool is_near(double value, double wanted, double share)
{
    return fabs(value / wanted - 1) <= share;
}

static void nameplates_are_of_whole_nodes_and_racks(void **state)
{
    (void)state;
    world h100 = make("llama3-8b", "dgx-h100:2048", 2048, 2048);
    assert_true(is_near(h100.n.bill.nameplate_w, 3.406e6, 0.002));
    assert_true(h100.n.n_units == 256 && strcmp(h100.n.unit, "node") == 0);
    world gb200 = make("llama3-8b", "gb200-nvl72:2048", 2048, 2048);
    assert_true(is_near(gb200.n.bill.nameplate_w, 4.454e6, 0.002));
    assert_true(gb200.n.n_units == 29 && gb200.n.n_paid == 2088);
    assert_string_equal(gb200.n.unit, "rack");
    world tpu = make("llama3-8b", "tpu-v5p-pod:64", 64, 64);
    assert_true(tpu.n.n_units == 16 && strcmp(tpu.n.unit, "host") == 0);
    close_world(&h100);
    close_world(&gb200);
    close_world(&tpu);
}

/* Supermicro's 64 nodes of MLPerf v4.0: 6,848 W a node while they train GPT-3. */
static void a_node_of_h100_draws_what_was_measured(void **state)
{
    (void)state;
    world w;
    open_world(&w, "gpt3-175b", "dgx-h100:512");
    w.plan.tp = 4;
    w.plan.pp = 8;
    w.plan.dp = 16;
    w.plan.virtual_stages = 6;
    w.plan.global_batch = 2048;
    w.plan.micro_batch = 2;
    w.plan.dtype = HALLEY_FP8;
    compute(&w, 1e12);
    const double pue = halley_cluster_cost(w.cluster)->pue;
    assert_true(is_near(w.n.average_w / pue / 64, 6.85e3, 0.10));
    close_world(&w);
}

static void racks_are_bought_whole(void **state)
{
    (void)state;
    world few = make("llama3-8b", "gb200-nvl72:2048", 2048, 2048);
    world all = make("llama3-8b", "gb200-nvl72:2088", 2088, 2088);
    assert_true(few.n.bill.capital_usd == all.n.bill.capital_usd);
    close_world(&few);
    close_world(&all);
}

static double capital_with_cxl(const char *size)
{
    char text[512];
    snprintf(text, sizeof text,
             "name: c\nnpus: 8\n"
             "npu:\n  name: n\n  peak: 300 TFLOP/s\n  memory:\n"
             "    - {name: hbm, capacity: 80 GB, bandwidth: 2000 GB/s}\n"
             "    - {name: cxl, capacity: %s, bandwidth: 64 GB/s, price-per-gb: 6 USD}\n"
             "nodes: {npus: 8, up: nvlink3-a100}\n"
             "network: {fabric: ib-hdr, bandwidth: 25 GB/s}\n",
             size);
    world w;
    halley_error err = {0};
    halley_stack_default(&w.stack);
    halley_plan_default(&w.plan);
    assert_int_equal(halley_model_load(&w.model, "gpt-126m", &err), HALLEY_OK);
    if (halley_cluster_parse(&w.cluster, text, strlen(text), "c.yaml", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    w.plan.dp = 8;
    w.plan.global_batch = 8;
    compute(&w, 1e9);
    const double usd = w.n.bill.capital_usd;
    close_world(&w);
    return usd;
}

static void more_expanded_memory_costs_more(void **state)
{
    (void)state;
    const double half = capital_with_cxl("512 GB"), whole = capital_with_cxl("1024 GB");
    assert_true(is_near(whole - half, 8 * 512 * 6.0, 1e-9));
}

static void rent_replaces_capital(void **state)
{
    (void)state;
    static const char text[] = "name: c\nnpus: 8\nnpu: H100-SXM-80GB\n"
                               "nodes: {npus: 8, up: nvlink4-h100}\n"
                               "network: {fabric: ib-ndr, bandwidth: 50 GB/s}\n"
                               "cost: {rent: 2.5 USD/h, energy: 0 USD/kWh}\n"
                               "failures: {npu-mtbf: 0 s}\n";
    world w;
    halley_error err = {0};
    halley_stack_default(&w.stack);
    halley_plan_default(&w.plan);
    assert_int_equal(halley_model_load(&w.model, "gpt-126m", &err), HALLEY_OK);
    if (halley_cluster_parse(&w.cluster, text, strlen(text), "c.yaml", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    w.plan.dp = 8;
    w.plan.global_batch = 64;
    compute(&w, 1e9);
    assert_true(w.n.bill.capital_usd == 0);
    assert_true(w.n.goodput == 1);
    assert_true(is_near(w.n.rent_usd_h, 2.5, 1e-9));
    assert_true(is_near(w.n.cost_usd, w.n.npu_hours * 2.5, 1e-6));
    close_world(&w);
}

static void rates_per_gpu_and_conventions_are_consistent(void **state)
{
    (void)state;
    world w;
    open_world(&w, "llama3-405b", "dgx-h100:1024");
    w.plan.tp = 8;
    w.plan.pp = 8;
    w.plan.dp = 16;
    w.plan.embeddings_as_layers = true;
    w.plan.global_batch = 64;
    w.plan.dtype = HALLEY_FP8;
    compute(&w, 15e12);
    const halley_numbers *n = &w.n;
    assert_true(is_near(n->tokens_per_s_npu * 1024, w.e.tokens_per_s, 1e-12));
    assert_true(is_near(n->flops_per_s_npu, n->mfu * 1979e12, 1e-9));
    assert_true(is_near(n->mfu_wide, n->mfu * 1979 / 989, 1e-9));
    /* A sequence of 8k tokens: 21,508 TFLOP with full attention, 20,680 causal; with the
     * vocabulary of 32,000 of MLPerf's runs. */
    halley_model mlperf = w.model;
    mlperf.vocab = 32000;
    assert_true(is_near(halley_model_step_flops(&mlperf, 1, 8192) / 1e12, 20680, 0.005));
    assert_true(n->mfu_full > n->mfu);
    mlperf.not_causal = true;
    assert_true(is_near(halley_model_step_flops(&mlperf, 1, 8192) / 1e12, 21508, 0.005));
    assert_true(is_near(n->wall_days * n->goodput, n->days, 1e-9));
    assert_true(n->goodput < 1 && n->goodput > 0.8);
    assert_true(is_near(n->npu_hours, 1024 * 24 * n->wall_days, 1e-9));
    close_world(&w);
}

static void parameters_are_total_and_active(void **state)
{
    (void)state;
    world dense = make("llama3-8b", "dgx-h100:8", 8, 8);
    assert_true(is_near(dense.n.params, 8.03e9, 0.002));
    assert_true(dense.n.active_params == dense.n.params);
    world moe = make("deepseek-v3", "dgx-h100:2048", 2048, 2048);
    assert_true(is_near(moe.n.params, 671e9, 0.01));
    assert_true(is_near(moe.n.active_params, 37e9, 0.03));
    close_world(&dense);
    close_world(&moe);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nameplates_are_of_whole_nodes_and_racks),
        cmocka_unit_test(a_node_of_h100_draws_what_was_measured),
        cmocka_unit_test(racks_are_bought_whole),
        cmocka_unit_test(more_expanded_memory_costs_more),
        cmocka_unit_test(rent_replaces_capital),
        cmocka_unit_test(rates_per_gpu_and_conventions_are_consistent),
        cmocka_unit_test(parameters_are_total_and_active),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
