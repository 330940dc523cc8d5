/* What is kept out of models: what goes, what changes, what stays. */
#include "base/rng.h"
#include "learn/model/law.h"
#include "learn/model/model_prune.h"
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

/* Nodes of sets that differ by chance alone, three to a set, uniform from 0 to 1. */
static void where_sets_are_alike_nodes_keep_their_shape(void **state)
{
    static model_sum sum;
    model_law law = {0};
    rng random = rng_seed(4);
    (void)state;
    memset(&sum, 0, sizeof sum);
    for (uint32_t i = 0; i < 4000; i++) {
        law_point p = {0};
        double y[3], mean = 0, square = 0;
        law_point_add(&p, FEATURE_ONE, 1);
        for (int k = 0; k < 3; k++) {
            y[k] = 20 + log(rng_unit(&random) + 1e-3);
            mean += y[k] / 3;
            sum.circle[law_circle_at(y[k])]++;
        }
        for (int k = 0; k < 3; k++) {
            square += (y[k] - mean) * (y[k] - mean);
            law_sum_deviation(&sum, (y[k] - mean) * sqrt(1.5));
        }
        law_sum_add(&sum, &p, mean);
        law_sum_nodes(&sum, 3, square / 2, 0);
        law_sum_ends(&sum, mean, fmin(y[0], fmin(y[1], y[2])),
                     fmax(y[0], fmax(y[1], y[2])));
    }
    law_fit(&law, &sum);
    law_fit_ends(&law, &sum, 5);
    assert_int_equal(law.plain, 1);
    /* None is above the largest, and half are above half of it. */
    double above = 0, half = 0;
    for (int i = 0; i < MODEL_BUCKETS; i++) {
        const double from =
            law.coefficient[FEATURE_ONE] + (i - MODEL_BUCKETS / 2) * MODEL_WIDTH;
        above += from > 20.01 ? (double)law.hist[i] : 0;
        half += from > 20 - log(2) - MODEL_WIDTH / 2 ? (double)law.hist[i] : 0;
    }
    assert_true(above < 1e-6);
    assert_true(fabs(half - 0.5) < 0.05);
    for (uint32_t i = 0; i < MODEL_CIRCLE; i++) /* the same buckets when it is scored */
        assert_true(sum.circle[i] == 0 || law.hist[law_plain_bucket(&law, i)] > 0);
}

/* An operator without dependencies that n sets have, so that something is left. */
static void add_token(synth_model *m, uint32_t n)
{
    const model_op op = {.name = synth_text_add(m, STR("op")), .n_sets = n};
    const model_token token = {.op = 0, .n_sets = n};
    assert_true(array_push(&m->ops, op) && array_push(&m->tokens, token));
}

/* A program of that token, which n sets have. */
static void add_template(synth_model *m, uint32_t n)
{
    const model_skeleton skeleton = {.n = 1, .n_sets = n};
    const model_template template = {.n = 1, .n_sets = n};
    const uint32_t first = 0;
    assert_true(array_push(&m->symbols, first) && array_push(&m->skeletons, skeleton) &&
                array_push(&m->parts, first) && array_push(&m->templates, template));
}

/* 30 numbers of two sets each, and one of twelve. */
static void means_of_numbers_stand_for_more_sets_than_numbers_do(void **state)
{
    (void)state;
    synth_model from, m;
    assert_int_equal(synth_model_init(&from, NULL), HALLEY_OK);
    model_condition c = {.n_sets = 70, .n_values = 30, .feature = MODEL_NONE};
    c.name = synth_text_add(&from, STR("x"));
    for (uint32_t i = 0; i < 30; i++) {
        const uint32_t n = i == 7 ? 12 : 2;
        const model_portrait portrait = {.number = {i + 1.0}};
        c.values[i] = (model_value){i + 1.0, 0, MODEL_NONE, n, n, MODEL_NONE};
        for (uint32_t k = 0; k < n; k++)
            assert_true(array_push(&from.portraits, portrait));
    }
    c.low = 1;
    c.high = 30;
    assert_true(array_push(&from.conditions, c));
    add_token(&from, 70);
    add_template(&from, 70);
    from.head.at[0].n_sets = 70;
    assert_int_equal(model_prune(&m, &from, 5, NULL), HALLEY_OK);
    const model_condition *kept = &m.conditions.at[0];
    uint32_t sum = 0, n_exact = 0;
    for (uint32_t i = 0; i < kept->n_values; i++) {
        const bool exact = kept->values[i].n_exact >= 5;
        assert_true(exact ? kept->values[i].number == 8 : kept->values[i].n_sets >= 17);
        assert_true(i == 0 || kept->values[i].number > kept->values[i - 1].number);
        n_exact += exact;
        sum += kept->values[i].n_sets;
    }
    assert_int_equal(n_exact, 1);
    assert_int_equal(sum, 70);
    finish(&from, &m);
}

static void what_no_program_is_shared_of_is_refused(void **state)
{
    (void)state;
    synth_model from, m;
    halley_error err = {0};
    char text[HALLEY_ERROR_TEXT];
    assert_int_equal(synth_model_init(&from, NULL), HALLEY_OK);
    add_token(&from, 6);
    from.head.at[0].n_sets = 6;
    assert_int_equal(model_prune(&m, &from, 7, &err), HALLEY_EINVAL);
    (void)halley_error_format(&err, text, sizeof text);
    assert_non_null(strstr(text, "nothing occurs in 7 of the 6 sets"));
    assert_int_equal(model_prune(&m, &from, 5, &err), HALLEY_EINVAL);
    (void)halley_error_format(&err, text, sizeof text);
    assert_non_null(strstr(text, "no program occurs in 5 of the 6 sets"));
    synth_model_fini(&from);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_of_too_few_sets_go),
        cmocka_unit_test(where_sets_are_alike_nodes_keep_their_shape),
        cmocka_unit_test(exact_laws_stay_exact),
        cmocka_unit_test(means_of_numbers_stand_for_more_sets_than_numbers_do),
        cmocka_unit_test(what_no_program_is_shared_of_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
