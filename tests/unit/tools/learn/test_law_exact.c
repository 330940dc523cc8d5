/* Counts of loops as sums of products of conditions. */
#include "base/rng.h"
#include "learn/model/law.h"
#include "unit.h"

#include <math.h>
#include <string.h>

/* Layers, micro-batches, replicas, width; and where among how many stages. */
typedef struct place {
    double layers, batches, replicas, width;
    uint32_t stage, n_stages;
} place;

static law_point point_of(const place *at)
{
    law_point p = {0};
    const double x[] = {at->layers, at->batches, at->replicas, at->width};
    law_point_add(&p, FEATURE_ONE, 1);
    for (uint32_t i = 0; i < 4; i++)
        law_point_add(&p, FEATURE_CONDITIONS + i, log(x[i]));
    return p;
}

static place any_place(rng *random)
{
    static const double layers[] = {2, 3, 4, 6, 8}, batches[] = {2, 4, 6};
    place at = {.layers = layers[rng_below(random, 5)],
                .batches = batches[rng_below(random, 3)],
                .replicas = exp2((double)rng_below(random, 4)),
                .width = 256 * exp2((double)rng_below(random, 4)),
                .n_stages = 1U << rng_below(random, 3)};
    at.stage = (uint32_t)rng_below(random, at.n_stages);
    return at;
}

static double twice_less_one(const place *at)
{
    return 2 * at->layers - 1;
}
static double all_but_the_last(const place *at)
{
    return 4 * at->layers * at->batches - 2 * at->layers;
}
static double ahead(const place *at)
{
    return 2 * at->batches + (at->n_stages - 1 - at->stage);
}
static double halves(const place *at)
{
    return at->layers * at->batches * at->width / 512 + 3;
}
static double two_rows(const place *at)
{
    return 3 * at->layers + at->batches * at->replicas - 2;
}
static double always(const place *at)
{
    (void)at;
    return 7;
}
static double no_law(const place *at)
{
    return 3 + fmod(at->layers * 7919 + at->batches * 104729 + at->width * 13, 11);
}

static void fill(model_samples *s, double (*count)(const place *), uint32_t n,
                 uint64_t seed)
{
    rng random = rng_seed(seed);
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < n; i++) {
        const place at = any_place(&random);
        const law_point p = point_of(&at);
        law_samples_add(s, &p, (uint32_t)count(&at), at.stage, at.n_stages);
    }
}

static void sums_of_products_hold_beyond_what_was_seen(void **state)
{
    static double (*const laws[])(const place *) = {
        twice_less_one, all_but_the_last, ahead, halves, two_rows, always};
    (void)state;
    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        const place beyond = {16, 12, 16, 4096, 2, 8};
        const law_point p = point_of(&beyond);
        model_samples s;
        model_loop loop = {0};
        fill(&s, laws[i], 200, 3);
        assert_int_equal(s.n, MODEL_SAMPLES);
        assert_true(law_exact_fit(&loop, &s));
        assert_true(fabs(law_loop_count(&loop, &p, 2, 8) - laws[i](&beyond)) < 1e-3);
    }
}

static void what_follows_no_law_has_none(void **state)
{
    model_samples s;
    model_loop loop = {0};
    (void)state;
    fill(&s, no_law, 200, 3);
    assert_false(law_exact_fit(&loop, &s));
    assert_false(loop.exact.is_found);
}

/* One set that is different is enough. */
static void a_law_holds_in_every_sample_or_not_at_all(void **state)
{
    model_samples s;
    model_loop loop = {0};
    (void)state;
    fill(&s, all_but_the_last, 200, 3);
    s.at[5].count++;
    assert_false(law_exact_fit(&loop, &s));
}

static void few_counts_show_no_law(void **state)
{
    model_samples s;
    model_loop loop = {0};
    (void)state;
    fill(&s, twice_less_one, 2, 3);
    assert_false(law_exact_fit(&loop, &s));
}

static void samples_do_not_depend_on_the_order_of_sets(void **state)
{
    model_samples a, b;
    place all[100];
    rng random = rng_seed(9);
    (void)state;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    for (uint32_t i = 0; i < 100; i++)
        all[i] = any_place(&random);
    for (uint32_t i = 0; i < 100; i++) {
        const place *const x = &all[i], *const y = &all[99 - i];
        const law_point p = point_of(x), q = point_of(y);
        law_samples_add(&a, &p, (uint32_t)two_rows(x), x->stage, x->n_stages);
        law_samples_add(&b, &q, (uint32_t)two_rows(y), y->stage, y->n_stages);
    }
    assert_memory_equal(&a, &b, sizeof a);
    for (uint32_t i = 1; i < a.n; i++)
        assert_true(a.at[i - 1].hash < a.at[i].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_of_products_hold_beyond_what_was_seen),
        cmocka_unit_test(what_follows_no_law_has_none),
        cmocka_unit_test(a_law_holds_in_every_sample_or_not_at_all),
        cmocka_unit_test(few_counts_show_no_law),
        cmocka_unit_test(samples_do_not_depend_on_the_order_of_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
