/* The operators of a layer under the roof. */
#include "halley/estimate.h"
#include "hw/cluster.h"
#include "unit.h"

#include <string.h>

typedef struct design {
    halley_model model;
    halley_plan plan;
    halley_cluster *cluster;
    halley_stack stack;
} design;

static void load(design *d, const char *model, uint32_t tp)
{
    halley_error err = {0};
    memset(d, 0, sizeof *d);
    assert_int_equal(halley_model_load(&d->model, model, &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&d->cluster, "dgx-a100", &err), HALLEY_OK);
    halley_stack_default(&d->stack);
    d->plan = (halley_plan){.tp = tp, .dp = 8, .global_batch = 64, .micro_batch = 2};
    if (halley_plan_check(&d->plan, &d->model, 64, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void run(halley_roofline *out, design *d, double bandwidth)
{
    d->cluster->npu.tiers[0].bandwidth_Bps = bandwidth;
    halley_roofline_run(out, &d->model, &d->plan, d->cluster, &d->stack);
}

static void
no_operator_is_above_the_peak_and_none_slower_with_more_bandwidth(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt3-175b", "llama3-70b", "mixtral-8x7b"};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        design d;
        halley_roofline before, r;
        load(&d, models[m], 8);
        run(&before, &d, 1e11);
        assert_true(before.n > 4);
        for (double bw = 2e11; bw < 1e13; bw *= 2) {
            run(&r, &d, bw);
            assert_int_equal(r.n, before.n);
            for (uint32_t i = 0; i < r.n; i++) {
                assert_true(r.ops[i].flops / r.ops[i].forward_s <= r.peak_flops);
                assert_true(r.ops[i].forward_s <= before.ops[i].forward_s);
                assert_true(r.ops[i].bytes == before.ops[i].bytes);
            }
            before = r;
        }
        halley_model_fini(&d.model);
        halley_cluster_free(d.cluster);
    }
}

/* m x k and k x n are read and m x n written once when a panel fits on the chip. */
static void a_product_moves_each_operand_once_when_the_chip_holds_a_panel(void **state)
{
    (void)state;
    design d;
    halley_roofline r;
    load(&d, "gpt3-175b", 8);
    d.cluster->npu.on_chip_bytes = 1e12;
    run(&r, &d, 2e12);
    for (uint32_t i = 0; i < r.n; i++) {
        if (strcmp(r.ops[i].name, "feed-forward in") != 0)
            continue;
        const double m = 2.0 * 2048, k = 12288, n = 49152.0 / 8;
        assert_true(r.ops[i].flops == 2 * m * n * k);
        assert_true(r.ops[i].bytes == 2 * (m * k + k * n + m * n));
        halley_model_fini(&d.model);
        halley_cluster_free(d.cluster);
        return;
    }
    fail_msg("no feed-forward in");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            no_operator_is_above_the_peak_and_none_slower_with_more_bandwidth),
        cmocka_unit_test(a_product_moves_each_operand_once_when_the_chip_holds_a_panel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
