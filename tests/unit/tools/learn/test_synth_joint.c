/* Which conditions go together, and laws of numbers that differ by chance. */
#include "base/rng.h"
#include "learn/model/joint.h"
#include "unit.h"

#include <math.h>

/* A model with two numbers of four values each, and a word. */
static void make_model(synth_model *m)
{
    assert_int_equal(synth_model_init(m, NULL), HALLEY_OK);
    for (uint32_t c = 0; c < 3; c++) {
        model_condition of = {.n_sets = 400, .n_values = 4, .is_text = c == 2};
        of.name = synth_text_add(m, c == 0 ? STR("tp") : c == 1 ? STR("pp") : STR("x"));
        for (uint32_t v = 0; v < 4; v++)
            of.values[v] = (model_value){
                .number = exp2(v), .n_sets = 100, .text = of.name, .feature = MODEL_NONE};
        assert_true(array_push(&m->conditions, of));
    }
}

static joint_row row_of(uint32_t a, uint32_t b, uint32_t c)
{
    joint_row row;
    for (uint32_t i = 0; i < JOINT_COLUMNS; i++)
        row.value[i] = MODEL_ABSENT;
    row.value[0] = a;
    row.value[1] = b;
    row.value[2] = c;
    row.value[JOINT_TEMPLATE] = 0;
    return row;
}

static void what_never_goes_together_is_not_drawn_together(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[400];
    uint32_t n = 0;
    make_model(&m);
    /* tp x pp is at most 8; the word says nothing. */
    for (uint32_t i = 0; n < 400; i++) {
        const uint32_t a = i % 4, b = i / 4 % 4;
        if (a + b <= 3)
            rows[n++] = row_of(a, b, i / 16 % 2);
    }
    assert_true(joint_grow(&m, rows, n, 5, false));
    assert_int_equal(m.roots.n, 3);
    rng random = rng_seed(1);
    uint32_t most = 0, of_zero = 0;
    for (uint32_t i = 0; i < 4000; i++) {
        joint_row row = row_of(MODEL_NONE, MODEL_NONE, MODEL_NONE);
        for (size_t k = 0; k < m.roots.n; k++)
            row.value[m.roots.at[k].of] =
                joint_draw(&m, &m.roots.at[k], &row, rng_unit(&random));
        const uint32_t sum = row.value[0] + row.value[1];
        most = sum > most ? sum : most;
        of_zero += row.value[0] == 0;
    }
    assert_int_equal(most, 3);
    assert_in_range(of_zero, 1400, 1800); /* 4 of 10 pairs */
    synth_model_fini(&m);
}

static void no_branch_says_anything_about_fewer_sets_than_asked_for(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[400];
    make_model(&m);
    rng random = rng_seed(7);
    for (uint32_t i = 0; i < 400; i++) {
        const uint32_t a = (uint32_t)rng_below(&random, 4);
        const bool rare = rng_below(&random, 40) == 0;
        rows[i] = row_of(a, rare ? (uint32_t)rng_below(&random, 4) : a, a / 2);
    }
    assert_true(joint_grow(&m, rows, 400, 5, false));
    assert_true(m.branches.n > 3);
    for (size_t i = 0; i < m.branches.n; i++)
        assert_true(m.branches.at[i].n_sets >= 5);
    for (size_t i = 0; i < m.shares.n; i++)
        assert_true(m.shares.at[i].n_sets >= 5);
    synth_model_fini(&m);
}

static void a_branch_lists_each_value_that_enough_sets_have(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[80];
    make_model(&m);
    /* The first says whether the second is large; which of the large ones is chance. */
    for (uint32_t i = 0; i < 80; i++)
        rows[i] = row_of(i % 2, 2 * (i % 2) + i / 2 % 2, 0);
    assert_true(joint_grow(&m, rows, 80, 5, false));
    for (uint32_t large = 0; large < 2; large++) {
        const joint_row row = row_of(large, MODEL_NONE, MODEL_NONE);
        const model_branch *leaf = &m.branches.at[joint_leaf(&m, &m.roots.at[1], &row)];
        assert_int_equal(leaf->n, 2);
        for (uint32_t i = 0; i < 2; i++) {
            const model_share *share = &m.shares.at[leaf->first + i];
            assert_int_equal(share->first, 2 * large + i);
            assert_int_equal(share->last, 2 * large + i);
            assert_int_equal(share->n_sets, 20);
        }
        assert_true(fabs(joint_share(&m, &m.roots.at[1], &row, 2 * large) - 0.5) < 1e-9);
    }
    synth_model_fini(&m);
}

static void probabilities_of_all_values_add_up(void **state)
{
    (void)state;
    synth_model m;
    joint_row rows[60];
    make_model(&m);
    for (uint32_t i = 0; i < 60; i++)
        rows[i] = row_of(i % 4, i < 57 ? 0 : i % 4, 0); /* three sets are too few */
    assert_true(joint_grow(&m, rows, 60, 5, false));
    double sum = 0;
    joint_row row = row_of(1, MODEL_NONE, MODEL_NONE);
    for (uint32_t v = 0; v < 4; v++)
        sum += joint_share(&m, &m.roots.at[1], &row, v);
    assert_true(fabs(sum - 1) < 1e-6);
    synth_model_fini(&m);
}

/* Sets of three nodes whose numbers come from one distribution. */
static void means_of_few_nodes_that_differ_by_chance_are_no_difference_of_sets(void **s)
{
    (void)s;
    static model_sum sum;
    model_law law = {.n_sets = 300};
    rng random = rng_seed(3);
    for (uint32_t i = 0; i < 300; i++) {
        double x[3], mean = 0, square = 0;
        law_point p = {0};
        for (int k = 0; k < 3; k++)
            mean += (x[k] = 10 + rng_normal(&random)) / 3;
        for (int k = 0; k < 3; k++) {
            square += (x[k] - mean) * (x[k] - mean) / 2;
            law_sum_deviation(&sum, (x[k] - mean) * sqrt(1.5));
        }
        law_point_add(&p, FEATURE_ONE, 1);
        law_point_add(&p, FEATURE_CONDITIONS, log(1 + i % 7));
        law_sum_add(&sum, &p, mean);
        law_sum_nodes(&sum, 3, square, 0);
    }
    law_fit(&law, &sum);
    assert_true(law.spread < 0.25F); /* the means deviate by 0.58 */
    assert_true(law.coefficient[FEATURE_CONDITIONS] == 0);
    assert_true(fabs(law.coefficient[FEATURE_ONE] - 10) < 0.2);
}

static void ends_are_what_enough_sets_reach(void **state)
{
    (void)state;
    static model_sum sum;
    model_law law = {.n_sets = 20};
    for (uint32_t i = 0; i < 20; i++)
        law_sum_ends(&sum, i, i == 0 ? -100.0 : i, i == 19 ? 100.0 : i);
    law_fit_ends(&law, &sum, 5);
    assert_true(law.low == 4 && law.high == 15);
    assert_true(law.least == 4 && law.most == 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_never_goes_together_is_not_drawn_together),
        cmocka_unit_test(no_branch_says_anything_about_fewer_sets_than_asked_for),
        cmocka_unit_test(a_branch_lists_each_value_that_enough_sets_have),
        cmocka_unit_test(probabilities_of_all_values_add_up),
        cmocka_unit_test(
            means_of_few_nodes_that_differ_by_chance_are_no_difference_of_sets),
        cmocka_unit_test(ends_are_what_enough_sets_reach),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
