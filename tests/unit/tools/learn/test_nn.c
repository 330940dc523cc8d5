/*
 * The network library, compiled with double, so that gradients can be compared with
 * central differences to many digits; what is float only (OpenBLAS) is in
 * test_nn_float.c.
 */
#include "alloc_fail.h"
#include "learn/neural/nn.c"
#include "learn/neural/nn.h"
#include "learn/neural/nn_adam.c"
#include "learn/neural/nn_blas.c"
#include "learn/neural/nn_gru.c"
#include "learn/neural/nn_loss.c"
#include "unit.h"

#include <math.h>
#include <string.h>

enum { MAX_VALUES = 4096 };

static void assert_near(double got, double wanted, double within)
{
    if (!(fabs(got - wanted) <= within))
        fail_msg("%.15g is not %.15g", got, wanted);
}

/* A loss of parameters and inputs, and its gradient by both. */
typedef struct problem problem;
struct problem {
    double (*loss)(problem *p, bool backward);
    nn_layout layout;
    double param[MAX_VALUES], grad[MAX_VALUES];
    double input[MAX_VALUES], dinput[MAX_VALUES];
    size_t n_inputs;
    double mix[MAX_VALUES]; /* the loss is the sum of outputs times these */
    nn_run run;
    nn_dense dense;
    nn_embed embed;
    nn_norm norm;
    nn_gru gru;
};

static void fill(double *to, size_t n, rng *r)
{
    for (size_t i = 0; i < n; i++)
        to[i] = rng_normal(r);
}

/* |analytic - (f(x + h) - f(x - h)) / 2h| for every element of at. */
static void assert_gradient(problem *p, double *at, const double *grad, size_t n)
{
    const double h = 1e-5;
    for (size_t i = 0; i < n; i++) {
        const double keep = at[i];
        at[i] = keep + h;
        const double above = p->loss(p, false);
        at[i] = keep - h;
        const double below = p->loss(p, false);
        at[i] = keep;
        const double measured = (above - below) / (2 * h);
        const double off = fabs(measured - grad[i]);
        if (off > 1e-6 * (1 + fabs(measured)))
            fail_msg("gradient %zu of %zu is %.10g, differences give %.10g", i, n,
                     grad[i], measured);
    }
}

static void check_gradients(problem *p)
{
    rng r = rng_seed(7);
    fill(p->param, p->layout.n, &r);
    fill(p->input, p->n_inputs, &r);
    fill(p->mix, MAX_VALUES, &r);
    p->run = (nn_run){.param = p->param, .grad = p->grad};
    p->loss(p, true);
    assert_gradient(p, p->param, p->grad, p->layout.n);
    assert_gradient(p, p->input, p->dinput, p->n_inputs);
    double longest = 0; /* a gradient of zeros would agree with a loss that is constant */
    for (size_t i = 0; i < p->n_inputs; i++)
        longest = fmax(longest, fabs(p->dinput[i]));
    assert_true(longest > 0.01);
}

static double mixed(const problem *p, const double *y, size_t n)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++)
        loss += y[i] * p->mix[i];
    return loss;
}

enum { ROWS = 5, IN = 4, OUT = 3 };

static double dense_loss(problem *p, bool backward)
{
    double y[ROWS * OUT] = {0};
    nn_dense_forward(&p->run, &p->dense, y, p->input, ROWS, true);
    if (backward)
        nn_dense_backward(&p->run, &p->dense, p->dinput, p->mix, p->input, ROWS);
    return mixed(p, y, ROWS * OUT);
}

static void dense_gradients_are_those_of_its_outputs(void **state)
{
    (void)state;
    problem p = {.loss = dense_loss, .n_inputs = ROWS * IN};
    p.dense = nn_dense_new(&p.layout, IN, OUT, true);
    check_gradients(&p);
}

static double norm_loss(problem *p, bool backward)
{
    double y[ROWS * IN];
    nn_norm_forward(&p->run, &p->norm, y, p->input, ROWS);
    if (backward)
        nn_norm_backward(&p->run, &p->norm, p->dinput, p->mix, p->input, ROWS);
    return mixed(p, y, ROWS * IN);
}

static void norm_gradients_are_those_of_its_outputs(void **state)
{
    (void)state;
    problem p = {.loss = norm_loss, .n_inputs = ROWS * IN};
    p.norm = nn_norm_new(&p.layout, IN);
    check_gradients(&p);
}

static double gelu_loss(problem *p, bool backward)
{
    double y[ROWS * IN];
    nn_gelu_forward(y, p->input, ROWS * IN);
    if (backward)
        nn_gelu_backward(p->dinput, p->mix, p->input, ROWS * IN);
    return mixed(p, y, ROWS * IN);
}

static void gelu_gradients_are_those_of_its_outputs(void **state)
{
    (void)state;
    problem p = {.loss = gelu_loss, .n_inputs = ROWS * IN};
    check_gradients(&p);
}

/* The table is used twice by one row and not by another; the input is added. */
static double embed_loss(problem *p, bool backward)
{
    const uint32_t id[ROWS] = {1, 0, NN_NO_ROW, 1, 3};
    double y[ROWS * IN];
    memcpy(y, p->input, sizeof y);
    nn_embed_forward(&p->run, &p->embed, y, id, ROWS, true);
    for (int i = 0; i < ROWS * IN; i++)
        if (backward)
            p->dinput[i] = p->mix[i];
    if (backward)
        nn_embed_backward(&p->run, &p->embed, p->mix, id, ROWS);
    return mixed(p, y, ROWS * IN);
}

static void embed_gradients_are_those_of_its_outputs(void **state)
{
    (void)state;
    problem p = {.loss = embed_loss, .n_inputs = ROWS * IN};
    p.embed = nn_embed_new(&p.layout, 4, IN);
    check_gradients(&p);
}

/* Three sequences of 4, 2 and 1 steps; the input is 7 rows and 3 first states. The first
 * sequence looks back twice. */
enum { WIDTH = 3, GRU_ROWS = 7 };
static const uint32_t gru_first[] = {0, 3, 5, 6, 7};
static const uint32_t gru_also[] = {NN_NO_ROW, NN_NO_ROW, NN_NO_ROW, NN_NO_ROW,
                                    NN_NO_ROW, 0,         3};

static double gru_loss(problem *p, bool backward)
{
    const nn_steps steps = {gru_first, 4, gru_also};
    double gate[GRU_ROWS * 9], recur[GRU_ROWS * 9], before[GRU_ROWS * WIDTH];
    double y[GRU_ROWS * WIDTH], dy[GRU_ROWS * WIDTH], dgate[GRU_ROWS * 21];
    const double *start = p->input + GRU_ROWS * IN;
    nn_gru_memory m = {gate, recur, before};
    nn_gru_forward(&p->run, &p->gru, &m, steps, y, p->input, start);
    memcpy(dy, p->mix, sizeof dy);
    if (backward)
        nn_gru_backward(&p->run, &p->gru, &m, steps, p->dinput, p->dinput + GRU_ROWS * IN,
                        dy, dgate, p->input);
    return mixed(p, y, GRU_ROWS * WIDTH);
}

static void gru_gradients_are_those_of_its_outputs(void **state)
{
    (void)state;
    problem p = {.loss = gru_loss, .n_inputs = GRU_ROWS * IN + 3 * WIDTH};
    p.gru = nn_gru_new(&p.layout, IN, WIDTH);
    check_gradients(&p);
}

static double softmax_loss(problem *p, bool backward)
{
    const uint32_t target[ROWS] = {0, 2, NN_NO_ROW, 3, 1};
    double y[ROWS * IN];
    memcpy(y, p->input, sizeof y);
    const double loss = nn_softmax_loss(y, target, ROWS, IN);
    if (backward)
        memcpy(p->dinput, y, sizeof y);
    return loss;
}

static double bernoulli_loss(problem *p, bool backward)
{
    const uint8_t target[6] = {1, 0, 0, 1, 1, 0};
    double y[6];
    memcpy(y, p->input, sizeof y);
    const double loss = nn_bernoulli_loss(y, target, 6);
    if (backward)
        memcpy(p->dinput, y, sizeof y);
    return loss;
}

static double mixture_loss(problem *p, bool backward)
{
    const double target[ROWS] = {0.3, -2, 5, 0, 1};
    double y[ROWS * NN_MIX_WIDTH];
    memcpy(y, p->input, sizeof y);
    const double loss = nn_mixture_loss(y, target, ROWS);
    if (backward)
        memcpy(p->dinput, y, sizeof y);
    return loss;
}

static void loss_gradients_are_those_of_the_loss(void **state)
{
    (void)state;
    problem soft = {.loss = softmax_loss, .n_inputs = ROWS * IN};
    check_gradients(&soft);
    problem coin = {.loss = bernoulli_loss, .n_inputs = 6};
    check_gradients(&coin);
    problem mixture = {.loss = mixture_loss, .n_inputs = ROWS * NN_MIX_WIDTH};
    check_gradients(&mixture);
}

static void losses_are_minus_the_logarithm_of_probabilities(void **state)
{
    (void)state;
    double total = 0;
    for (uint32_t i = 0; i < 3; i++) {
        double score[3] = {0.5, -1, 2};
        total += exp(-nn_softmax_loss(score, &i, 1, 3));
    }
    assert_near(total, 1, 1e-12);
    total = 0; /* the density of a mixture integrates to 1 */
    for (double y = -40; y < 40; y += 0.001) {
        double score[NN_MIX_WIDTH] = {0, 1, -1, -2, 0, 3, 0, -1, 0.5};
        total += 0.001 * exp(-nn_mixture_loss(score, &y, 1));
    }
    assert_near(total, 1, 1e-6);
}

static void draws_follow_their_scores(void **state)
{
    (void)state;
    const double score[3] = {0, log(2), log(5)},
                 mix[NN_MIX_WIDTH] = {9, 0, 0, 4, 0, 0, -1};
    rng r = rng_seed(3);
    double count[3] = {0}, heads = 0, sum = 0;
    enum { N = 40000 };
    for (int i = 0; i < N; i++) {
        count[nn_softmax_draw(score, 3, 1, 0, &r)]++;
        heads += nn_bernoulli_draw(log(3), 1, &r);
        sum += nn_mixture_draw(mix, 1, &r);
    }
    for (int i = 0; i < 3; i++)
        assert_near(count[i] / N, exp(score[i]) / 8, 0.01);
    assert_near(heads / N, 0.75, 0.01);
    assert_near(sum / N, 4, 0.02);
    assert_int_equal(nn_softmax_draw(score, 3, 0, 0, &r), 2);
    for (int i = 0; i < 100; i++) /* a fifth of the likeliest is too little */
        assert_int_not_equal(nn_softmax_draw(score, 3, 1, 0.3, &r), 0);
    assert_near(nn_mixture_draw(mix, 0, &r), 4, 0);
}

static void products_do_not_depend_on_how_operands_lie(void **state)
{
    (void)state;
    enum { M = 4, N = 3, K = 5 };
    rng r = rng_seed(1);
    double a[M * K], b[K * N], at[K * M], bt[N * K];
    fill(a, M * K, &r);
    fill(b, K * N, &r);
    for (int i = 0; i < M * K; i++)
        at[i % K * M + i / K] = a[i];
    for (int i = 0; i < K * N; i++)
        bt[i % N * K + i / N] = b[i];
    const nn_run run = {0};
    for (int form = 0; form < 4; form++) {
        double c[M * N] = {1};
        const nn_product p = {M, N, K, .trans_a = form & 1, .trans_b = form & 2};
        nn_gemm(&run, p, c, form & 1 ? at : a, form & 2 ? bt : b);
        for (int i = 0; i < M * N; i++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += a[i / N * K + k] * b[k * N + i % N];
            assert_near(c[i], sum, 1e-12);
        }
    }
}

static void the_rate_rises_then_falls_to_a_tenth(void **state)
{
    (void)state;
    const nn_adam_opts o = {.rate = 1, .n_warm = 10, .n_steps = 110};
    assert_near(nn_adam_rate(&o, 0), 0.1, 1e-12);
    assert_near(nn_adam_rate(&o, 9), 1, 1e-12);
    assert_near(nn_adam_rate(&o, 60), 0.55, 1e-9);
    assert_near(nn_adam_rate(&o, 110), 0.1, 1e-12);
    assert_near(nn_adam_rate(&o, 1000), 0.1, 1e-12);
}

static void adam_finds_the_bottom_of_a_bowl(void **state)
{
    (void)state;
    const nn_adam_opts o = {.rate = 0.05, .clip = 1, .n_warm = 10, .n_steps = 500};
    nn_adam a;
    assert_int_equal(nn_adam_init(&a, 2, &o, NULL), HALLEY_OK);
    double x[2] = {3, -2};
    for (int i = 0; i < 500; i++) {
        double grad[2] = {2 * (x[0] - 1), 20 * (x[1] - 2)};
        assert_int_equal(nn_adam_step(&a, x, grad, NULL), HALLEY_OK);
    }
    assert_near(x[0], 1, 1e-3);
    assert_near(x[1], 2, 1e-3);
    nn_adam_fini(&a);
}

static void gradients_that_are_not_finite_change_nothing_and_end_training(void **state)
{
    (void)state;
    const nn_adam_opts o = {.rate = 0.05, .n_steps = 500};
    nn_adam a;
    halley_error err = {0};
    assert_int_equal(nn_adam_init(&a, 1, &o, NULL), HALLEY_OK);
    double x = 3, bad = NAN;
    for (int i = 0; i < 9; i++)
        assert_int_equal(nn_adam_step(&a, &x, &bad, &err), HALLEY_OK);
    assert_near(x, 3, 0);
    assert_int_equal(nn_adam_step(&a, &x, &bad, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "diverged"));
    nn_adam_fini(&a);
}

static void what_is_not_finite_is_seen(void **state)
{
    (void)state;
    double x[3] = {1, -1e300, 0};
    assert_true(nn_finite(x, 3));
    x[1] = INFINITY;
    assert_false(nn_finite(x, 3));
    x[1] = NAN;
    assert_false(nn_finite(x, 3));
}

static halley_status init_adam(void *context, halley_error *err)
{
    (void)context;
    nn_adam a;
    const halley_status status = nn_adam_init(&a, 10, &(nn_adam_opts){0}, err);
    nn_adam_fini(&a);
    return status;
}

static void memory_that_runs_out_is_reported(void **state)
{
    (void)state;
    assert_int_equal(alloc_fail_everywhere(init_adam, NULL), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_gradients_are_those_of_its_outputs),
        cmocka_unit_test(norm_gradients_are_those_of_its_outputs),
        cmocka_unit_test(gelu_gradients_are_those_of_its_outputs),
        cmocka_unit_test(embed_gradients_are_those_of_its_outputs),
        cmocka_unit_test(gru_gradients_are_those_of_its_outputs),
        cmocka_unit_test(loss_gradients_are_those_of_the_loss),
        cmocka_unit_test(losses_are_minus_the_logarithm_of_probabilities),
        cmocka_unit_test(draws_follow_their_scores),
        cmocka_unit_test(products_do_not_depend_on_how_operands_lie),
        cmocka_unit_test(the_rate_rises_then_falls_to_a_tenth),
        cmocka_unit_test(adam_finds_the_bottom_of_a_bowl),
        cmocka_unit_test(gradients_that_are_not_finite_change_nothing_and_end_training),
        cmocka_unit_test(what_is_not_finite_is_seen),
        cmocka_unit_test(memory_that_runs_out_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
