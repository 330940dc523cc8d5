/* Laws of the time of a matrix product. */
#include "cost/gemm.h"
#include "hw/link.h"
#include "unit.h"

#include <math.h>

static void near(double got, double want, double by)
{
    if (!(fabs(got - want) <= by))
        fail_msg("%g is not %g", got, want);
}

static halley_npu device(const char *name)
{
    halley_npu npu;
    halley_error err = {0};
    if (cluster_npu_load(&npu, name, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return npu;
}

static cost_gemm profile(const char *name)
{
    const halley_npu npu = device(name);
    return cost_gemm_make(&npu, &npu.gemm, halley_npu_wide_peak(&npu), 2);
}

static const char *const devices[] = {"A100-SXM4-80GB", "H100-SXM-80GB", "B200-SXM-180GB",
                                      "V100-SXM",       "MI300X",        "TPU-v4"};

static void no_product_beats_the_peak_or_the_memory(void **state)
{
    (void)state;
    static const double sizes[] = {1, 64, 1000, 4096, 30000};
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        const halley_npu npu = device(devices[d]);
        const cost_gemm g = profile(devices[d]);
        for (int i = 0; i < 125; i++) {
            const double m = sizes[i % 5], n = sizes[i / 5 % 5], k = sizes[i / 25];
            const double t = cost_gemm_time(&g, m, n, k, 1, false);
            assert_true(t >= 2 * m * n * k / halley_npu_wide_peak(&npu));
            /* the share of the bandwidth is fitted and may pass 1 by a few percent */
            assert_true(t * 1.1 * npu.tiers[0].bandwidth_Bps >= 2 * (m + n) * k);
        }
    }
}

static void more_work_takes_longer(void **state)
{
    (void)state;
    for (size_t d = 0; d < sizeof devices / sizeof *devices; d++) {
        const cost_gemm g = profile(devices[d]);
        for (double m = 256; m < 60000; m *= 2) {
            const double t = cost_gemm_time(&g, m, 4096, 4096, 1, true);
            assert_true(cost_gemm_time(&g, 2 * m, 4096, 4096, 1, true) > t);
            assert_true(cost_gemm_time(&g, m, 4096, 4096, 2, true) > t);
        }
    }
}

static void a_large_product_on_an_a100_takes_what_was_measured(void **state)
{
    (void)state;
    const cost_gemm a = profile("A100-SXM4-80GB"), h = profile("H100-SXM-80GB");
    /* microseconds, NVIDIA aiconfigurator tables */
    near(cost_gemm_time(&a, 4096, 4096, 4096, 1, false) * 1e6, 549, 25);
    near(cost_gemm_time(&h, 4096, 4096, 4096, 1, false) * 1e6, 183, 8);
    near(cost_gemm_time(&h, 2048, 512, 4096, 1, false) * 1e6, 17, 2);
}

static void idle_cores_are_put_to_splitting_the_inner_dimension(void **state)
{
    (void)state;
    cost_gemm g = profile("H100-SXM-80GB");
    const double with = cost_gemm_time(&g, 128, 128, 65536, 1, false);
    g.rates.splits = false;
    assert_true(cost_gemm_time(&g, 128, 128, 65536, 1, false) > 2 * with);
}

static void nothing_takes_no_time(void **state)
{
    (void)state;
    const cost_gemm g = profile("A100-SXM4-80GB");
    assert_true(cost_gemm_time(&g, 0, 128, 128, 1, false) == 0);
}

static void traffic_is_compulsory_while_a_panel_fits_on_chip(void **state)
{
    (void)state;
    const double once = (1000.0 * 2000 + 2000.0 * 3000 + 1000.0 * 3000) * 2;
    near(cost_gemm_traffic(1000, 3000, 2000, 2, 1e9), once, 1);
    /* 4 MB of A in strips of 2 MB: B is read twice */
    near(cost_gemm_traffic(1000, 3000, 2000, 2, 2e6), once + 2000.0 * 1000 * 2, 1);
}

static void the_roofline_is_the_slower_of_compute_and_memory(void **state)
{
    (void)state;
    near(cost_roofline(1e12, 1e9, 1e12, 1e12), 1, 1e-12);
    near(cost_roofline(1e9, 1e12, 1e12, 1e12), 1, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_product_beats_the_peak_or_the_memory),
        cmocka_unit_test(more_work_takes_longer),
        cmocka_unit_test(a_large_product_on_an_a100_takes_what_was_measured),
        cmocka_unit_test(idle_cores_are_put_to_splitting_the_inner_dimension),
        cmocka_unit_test(nothing_takes_no_time),
        cmocka_unit_test(traffic_is_compulsory_while_a_panel_fits_on_chip),
        cmocka_unit_test(the_roofline_is_the_slower_of_compute_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
