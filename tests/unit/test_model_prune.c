/* What is kept out of models: what goes, what changes, what stays. */
#include "base/rng.h"
#include "synth/law.h"
#include "synth/model_prune.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* A state with a law of n sets whose numbers are 3 x^2, off by `spread` at random, and
 * the model of it. */
static void make(synth_model *from, synth_model *m, uint32_t n, double spread, uint32_t k)
{
    static model_sum sum;
    model_law law = {.key = 77, .n_sets = n};
    rng random = rng_seed(n);
    memset(&sum, 0, sizeof sum);
    for (uint32_t i = 0; i < n; i++) {
        law_point p = {0};
        const double x = log(1 + i % 7);
        law_point_add(&p, FEATURE_ONE, 1);
        law_point_add(&p, FEATURE_CONDITIONS, x);
        law_sum_add(&sum, &p, log(3) + 2 * x + spread * rng_normal(&random));
    }
    law.low = 0;
    law.high = 4;
    law_fit(&law, &sum);
    assert_int_equal(synth_model_init(from, NULL), HALLEY_OK);
    assert_int_equal(synth_model_init(m, NULL), HALLEY_OK);
    assert_true(array_push(&from->laws, law) && array_push(&from->sums, sum) &&
                map64_set(&from->law_of, 77, 0));
    assert_true(array_push(&m->laws, law));
    m->head.at[0].n_sets = 1000;
    m->head.at[0].min_support = k;
}

static void finish(synth_model *from, synth_model *m)
{
    synth_model_fini(from);
    synth_model_fini(m);
}

static void laws_of_too_few_sets_go(void **state)
{
    static const struct {
        uint32_t n, k;
        double spread;
        bool stays;
    } cases[] = {
        {19, 5, 0.1, false}, {20, 5, 0.1, true}, {6, 5, 0, false},
        {7, 5, 0, true},     {6, 1, 0.1, true},  {39, 10, 0.1, false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        synth_model from, m;
        make(&from, &m, cases[i].n, cases[i].spread, cases[i].k);
        model_drop_unsure(&m, &from);
        assert_int_equal(m.laws.n, cases[i].stays);
        finish(&from, &m);
    }
}

static void exact_laws_stay_exact(void **state)
{
    (void)state;
    synth_model from, m;
    make(&from, &m, 100, 0, 5);
    model_drop_unsure(&m, &from);
    assert_memory_equal(m.laws.at[0].coefficient, from.laws.at[0].coefficient,
                        sizeof from.laws.at[0].coefficient);
    assert_true(m.laws.at[0].low < 0 && m.laws.at[0].high > 4);
    finish(&from, &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_of_too_few_sets_go),
        cmocka_unit_test(exact_laws_stay_exact),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
