/* Fidelity and privacy of traces: distances, runs, attacks. */
#include "alloc_fail.h"
#include "base/rng.h"
#include "compare/compare.h"
#include "halley/trace_gen.h"
#include "make_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void put(compare_dist *d, const double *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        assert_true(compare_dist_add(d, values[i], 1));
}

static void distances_of_small_samples_are_as_by_hand(void **state)
{
    (void)state;
    const double a[] = {1, 2, 3, 4}, b[] = {2, 3, 4, 5, 5}, c[] = {4, 3, 2, 1};
    compare_dist x = {0}, y = {0}, z = {0};
    halley_spread s;
    put(&x, a, 4);
    put(&y, b, 5);
    put(&z, c, 4);
    assert_int_equal(compare_dist_spread(&s, &x, &y, NULL), HALLEY_OK);
    /* F - G at 1, 2, 3, 4: 0.25, 0.3, 0.35, 0.4 */
    assert_true(fabs(s.ks - 0.4) < 1e-12);
    assert_true(fabs(s.wasserstein - (0.25 + 0.3 + 0.35 + 0.4) / 2.5) < 1e-12);
    assert_true(s.mean_real == 2.5 && s.mean_synth == 3.8);
    assert_true(s.real[0] == 1 && s.real[100] == 4 && s.synth[100] == 5);
    assert_int_equal(compare_dist_spread(&s, &x, &z, NULL), HALLEY_OK);
    assert_true(s.ks == 0 && s.wasserstein == 0);
    compare_dist_fini(&x);
    compare_dist_fini(&y);
    compare_dist_fini(&z);
}

static void a_sample_against_none_is_as_far_as_can_be(void **state)
{
    (void)state;
    const double a[] = {1};
    compare_dist x = {0}, none = {0};
    halley_spread s;
    put(&x, a, 1);
    assert_int_equal(compare_dist_spread(&s, &x, &none, NULL), HALLEY_OK);
    assert_true(s.ks == 1);
    assert_int_equal(compare_dist_spread(&s, &none, &none, NULL), HALLEY_OK);
    assert_true(s.ks == 0);
    compare_dist_fini(&x);
}

static void the_area_under_the_curve_is_as_by_hand(void **state)
{
    (void)state;
    const double members[] = {3, 2, 1}, others[] = {2, 0};
    halley_auc auc;
    assert_int_equal(halley_auc_of(&auc, members, 3, others, 2, NULL), HALLEY_OK);
    /* pairs won: 3>2, 3>0, 2=2 (half), 2>0, 1<2, 1>0 */
    assert_true(fabs(auc.auc - 4.5 / 6) < 1e-12);
    assert_true(auc.low < auc.auc && auc.auc <= auc.high);
    assert_int_equal(halley_auc_of(&auc, members, 3, others, 0, NULL), HALLEY_EINVAL);
}

/* Scores that say nothing: half, and the interval holds half about 95 times of 100. */
static void the_interval_holds_the_truth_as_often_as_it_says(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    int n_holds = 0;
    for (int trial = 0; trial < 400; trial++) {
        double members[60], others[50];
        halley_auc auc;
        for (int i = 0; i < 60; i++)
            members[i] = rng_normal(&r);
        for (int i = 0; i < 50; i++)
            others[i] = rng_normal(&r);
        assert_int_equal(halley_auc_of(&auc, members, 60, others, 50, NULL), HALLEY_OK);
        n_holds += auc.low <= 0.5 && 0.5 <= auc.high;
    }
    assert_in_range(n_holds, 365, 396);
}

/* A chain of compute nodes of these lengths. */
static halley_trace *chain(const uint64_t *us, uint32_t n)
{
    halley_builder *b = make_start();
    for (uint32_t i = 0; i < n; i++) {
        make_comp(b, i, us[i]);
        if (i > 0)
            halley_builder_data(b, i - 1);
    }
    return make_finish(b);
}

static void verbatim(halley_verbatim out[HALLEY_N_VERBATIM], const halley_trace *real,
                     const halley_trace *synth)
{
    compare_runs a = {0}, b = {0};
    assert_true(compare_runs_add(&a, real));
    assert_true(compare_runs_add(&b, synth));
    assert_int_equal(compare_runs_verbatim(out, &a, &b, NULL), HALLEY_OK);
    compare_runs_fini(&a);
    compare_runs_fini(&b);
}

static void a_copied_run_is_found_and_its_length_told(void **state)
{
    (void)state;
    uint64_t us[200], other[200];
    halley_verbatim v[HALLEY_N_VERBATIM];
    for (uint32_t i = 0; i < 200; i++) {
        us[i] = 1000 + i;
        other[i] = i >= 50 && i < 130 ? us[i] : 5000 + i; /* 80 nodes copied */
    }
    halley_trace *const x = chain(us, 200), *const y = chain(other, 200);
    verbatim(v, x, x);
    for (int i = 0; i < 5; i++)
        assert_true(v[i].whole == 1 && v[i].beyond == 1);
    assert_true(v[5].length == 256 && v[5].whole == 0);
    verbatim(v, x, y);
    assert_true(v[3].length == 64 && fabs(v[3].whole - 80.0 / 200) < 1e-9);
    assert_true(v[4].length == 128 && v[4].whole == 0);
    halley_trace_free(x);
    halley_trace_free(y);
}

static void repeats_of_one_layer_are_no_copies(void **state)
{
    (void)state;
    uint64_t us[600], once[40];
    halley_verbatim v[HALLEY_N_VERBATIM];
    for (uint32_t i = 0; i < 600; i++)
        us[i] = 100 + i % 20;
    for (uint32_t i = 0; i < 40; i++)
        once[i] = 100 + i % 20;
    halley_trace *const many = chain(us, 600), *const few = chain(once, 40);
    verbatim(v, few, many);
    assert_true(v[1].length == 16 && v[1].whole > 0.9);
    assert_true(v[3].length == 64 && v[3].whole == 0);
    verbatim(v, many, many);
    assert_true(v[3].whole == 1);
    assert_true(v[3].beyond == 0); /* what is left is one layer, shorter than 64 */
    halley_trace_free(many);
    halley_trace_free(few);
}

static halley_trace_set *generate(uint32_t seed)
{
    halley_gen *gen = NULL;
    halley_trace_set *set = NULL;
    char text[16];
    snprintf(text, sizeof text, "%u", seed);
    assert_int_equal(halley_gen_new(&gen, "random", 2, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "seed", text, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "nodes", "60", NULL), HALLEY_OK);
    assert_int_equal(halley_gen_traces(&set, gen, NULL), HALLEY_OK);
    halley_gen_free(gen);
    return set;
}

static halley_profile *profile(uint32_t first, uint32_t n)
{
    halley_profile *p = NULL;
    assert_int_equal(halley_profile_new(&p, NULL, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < n; i++) {
        halley_trace_set *const set = generate(first + i);
        char name[16];
        snprintf(name, sizeof name, "set%u", first + i);
        assert_int_equal(halley_profile_add(p, set, name, NULL, NULL), HALLEY_OK);
        halley_trace_set_free(set);
    }
    return p;
}

static void a_collection_is_at_no_distance_from_itself(void **state)
{
    (void)state;
    halley_profile *const p = profile(0, 3);
    halley_comparison *c = NULL;
    assert_int_equal(halley_compare(&c, p, p, NULL, NULL), HALLEY_OK);
    for (int q = 0; q < HALLEY_N_QUANTITIES; q++)
        assert_true(c->spreads[q].ks == 0);
    for (int m = 0; m < HALLEY_N_MIXES; m++)
        assert_true(c->mixes[m].total_variation < 1e-12);
    for (int i = 0; i < HALLEY_N_REFERENCES; i++) {
        assert_int_equal(c->times[i].n_real, 3);
        assert_true(c->times[i].mean_real_s > 0 &&
                    c->times[i].mean_real_s == c->times[i].mean_synth_s);
    }
    assert_true(c->nearest[0].distance == 0 && c->nearest[0].shared == 1);
    assert_true(c->n_values > 0); /* numbers that fewer than 5 sets have */
    assert_false(c->attacked);
    halley_comparison_free(c);
    halley_profile_free(p);
}

static void who_hands_out_the_training_data_is_found_out(void **state)
{
    (void)state;
    halley_profile *const train = profile(0, 12), *const holdout = profile(100, 12);
    halley_profile *const fresh = profile(200, 12);
    halley_comparison *c = NULL;
    const halley_compare_opts opts = {.train = train, .holdout = holdout};
    assert_int_equal(halley_compare(&c, train, train, &opts, NULL), HALLEY_OK);
    assert_true(c->attacked && c->by_features.auc == 1 && c->by_runs.auc == 1);
    halley_comparison_free(c);
    assert_int_equal(halley_compare(&c, train, fresh, &opts, NULL), HALLEY_OK);
    assert_true(c->by_features.low < 0.5 && c->by_features.high > 0.5);
    assert_int_equal(c->by_runs.n_members, 12);
    halley_comparison_free(c);
    halley_profile_free(train);
    halley_profile_free(holdout);
    halley_profile_free(fresh);
}

static halley_status compare_it(void *context, halley_error *err)
{
    halley_profile *p = NULL;
    halley_comparison *c = NULL;
    const halley_profile_opts opts = {.most_simulated = UINT32_MAX};
    halley_status status = halley_profile_new(&p, &opts, err);
    if (status == HALLEY_OK)
        status = halley_profile_add(p, context, "x", NULL, err);
    const halley_compare_opts both = {.train = p, .holdout = p};
    if (status == HALLEY_OK)
        status = halley_compare(&c, p, p, &both, err);
    halley_comparison_free(c);
    halley_profile_free(p);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    halley_trace_set *const set = generate(1);
    assert_true(alloc_fail_everywhere(compare_it, set) > 10);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances_of_small_samples_are_as_by_hand),
        cmocka_unit_test(a_sample_against_none_is_as_far_as_can_be),
        cmocka_unit_test(the_area_under_the_curve_is_as_by_hand),
        cmocka_unit_test(the_interval_holds_the_truth_as_often_as_it_says),
        cmocka_unit_test(a_copied_run_is_found_and_its_length_told),
        cmocka_unit_test(repeats_of_one_layer_are_no_copies),
        cmocka_unit_test(a_collection_is_at_no_distance_from_itself),
        cmocka_unit_test(who_hands_out_the_training_data_is_found_out),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
