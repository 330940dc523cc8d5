/* What the network library does in float: OpenBLAS against our own loops, exp. */
#include "learn/neural/nn.h"
#include "unit.h"

#include <math.h>

static void assert_near(double got, double wanted, double within)
{
    if (!(fabs(got - wanted) <= within))
        fail_msg("%.15g is not %.15g", got, wanted);
}

static void openblas_multiplies_as_our_own_loops_do(void **state)
{
    (void)state;
    nn_blas blas;
    nn_blas_open(&blas);
    if (blas.sgemm == NULL) {
        print_message("OpenBLAS is not installed\n");
        skip();
    }
    enum { M = 37, N = 19, K = 23 };
    float a[M * K], b[K * N];
    rng r = rng_seed(5);
    for (int i = 0; i < M * K; i++)
        a[i] = (float)rng_normal(&r);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)rng_normal(&r);
    const nn_run own = {0}, fast = {.blas = &blas};
    for (int form = 0; form < 8; form++) {
        const nn_product p = {M, N, K, form & 1, form & 2, form & 4};
        float x[M * N] = {3}, y[M * N] = {3};
        nn_gemm(&own, p, x, a, b);
        nn_gemm(&fast, p, y, a, b);
        for (int i = 0; i < M * N; i++)
            assert_near(x[i], y[i], 1e-4);
    }
    nn_blas_close(&blas);
    assert_null(blas.handle);
}

static void exp_is_right_to_a_millionth_and_never_overflows(void **state)
{
    (void)state;
    for (float x = -80; x < 80; x += 0.0137F)
        assert_near(nn_exp(x) / exp((double)x), 1, 1e-6);
    assert_true(isfinite(nn_exp(1e9F)) && nn_exp(-1e9F) >= 0);
    assert_near(nn_sigmoid(-1e9F), 0, 1e-30);
    assert_near(nn_sigmoid(1e9F), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(openblas_multiplies_as_our_own_loops_do),
        cmocka_unit_test(exp_is_right_to_a_millionth_and_never_overflows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
