/* How likely a model makes sets, and what that tells about who was learned from. */
#include "alloc_fail.h"
#include "folder.h"
#include "halley/compare.h"
#include "halley/learn.h"
#include "halley/trace_gen.h"
#include "learn/likelihood.h"
#include "learn/source.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* FOLDER/s0 …: n sets of a pattern with a parameter that counts from `first`, by
 * `modulo`.
 */
static void make_sets(const char *name, const char *pattern, const char *parameter,
                      uint32_t first, uint32_t n, uint32_t modulo)
{
    char command[64];
    snprintf(command, sizeof command, "mkdir %s", name);
    assert_int_equal(system(command), 0);
    for (uint32_t i = 0; i < n; i++) {
        char prefix[64], value[16];
        halley_gen *gen = NULL;
        snprintf(prefix, sizeof prefix, "%s/s%u", name, i);
        snprintf(value, sizeof value, "%u", first + i % modulo);
        assert_int_equal(halley_gen_new(&gen, pattern, 2, NULL), HALLEY_OK);
        assert_int_equal(halley_gen_set(gen, parameter, value, NULL), HALLEY_OK);
        if (strcmp(pattern, "random") == 0)
            assert_int_equal(halley_gen_set(gen, "nodes", "40", NULL), HALLEY_OK);
        assert_int_equal(halley_gen_save(gen, prefix, NULL, NULL), HALLEY_OK);
        halley_gen_free(gen);
    }
}

static void learn(const char *model, const char *from, uint32_t min_support)
{
    halley_error err = {0};
    const halley_learn_opts opts = {.min_support = min_support};
    if (halley_learn(model, &from, 1, &opts, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void attack(halley_auc out[HALLEY_N_LIKELIHOODS], const char *reference)
{
    halley_error err = {0};
    const halley_membership_opts opts = {
        .model = "M.hsm", .reference = reference, .train = "train", .holdout = "holdout"};
    if (halley_membership(out, &opts, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

/* Of n random graphs each: members, others, and what the reference is learned from. */
static void make_random(uint32_t n)
{
    make_sets("train", "random", "seed", 1, n, 100);
    make_sets("holdout", "random", "seed", 101, n, 100);
    make_sets("other", "random", "seed", 201, n, 100);
}

static void a_model_that_keeps_single_sets_gives_them_away(void **state)
{
    (void)state;
    make_random(15);
    learn("M.hsm", "train", 1);
    learn("R.hsm", "other", 1);
    halley_auc auc[HALLEY_N_LIKELIHOODS];
    attack(auc, "R.hsm");
    assert_int_equal(auc[HALLEY_LIKELIHOOD_ALL].n_members, 15);
    assert_int_equal(auc[HALLEY_LIKELIHOOD_ALL].n_others, 15);
    assert_true(auc[HALLEY_LIKELIHOOD_ALL].auc > 0.9);
    assert_true(auc[HALLEY_LIKELIHOOD_PROGRAMS].auc > 0.9);
}

static void sets_that_laws_explain_are_not_told_apart(void **state)
{
    (void)state;
    make_sets("train", "transformer", "layers", 4, 25, 5);
    make_sets("holdout", "transformer", "layers", 4, 25, 5);
    make_sets("other", "transformer", "layers", 4, 25, 5);
    learn("M.hsm", "train", 0);
    learn("R.hsm", "other", 0);
    halley_auc auc[HALLEY_N_LIKELIHOODS];
    attack(auc, "R.hsm");
    for (int k = 0; k < HALLEY_N_LIKELIHOODS; k++)
        assert_true(fabs(auc[k].auc - 0.5) < 1e-9);
    attack(auc, NULL);
    for (int k = 0; k < HALLEY_N_LIKELIHOODS; k++)
        assert_true(fabs(auc[k].auc - 0.5) < 1e-9);
}

static void score_each(synth_likelihood *out, const trace_found *found, bool backwards)
{
    synth_scorer *s = NULL;
    halley_error err = {0};
    if (synth_scorer_load(&s, "M.hsm", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    for (size_t i = 0; i < found->list.n; i++) {
        const size_t at = backwards ? found->list.n - 1 - i : i;
        synth_source source;
        assert_int_equal(synth_source_open(&source, found, at, 1, &err), HALLEY_OK);
        assert_int_equal(synth_scorer_score(&out[at], s, source.set, &source.conditions,
                                            synth_source_groups(&source), &err),
                         HALLEY_OK);
        synth_source_close(&source);
    }
    synth_scorer_free(s);
}

static void a_score_does_not_depend_on_the_sets_before_it(void **state)
{
    (void)state;
    make_sets("train", "transformer", "layers", 4, 8, 100);
    make_sets("holdout", "random", "seed", 3, 2, 100);
    learn("M.hsm", "train", 2);
    const char *const from[] = {"train", "holdout"};
    trace_found found = {0};
    assert_int_equal(trace_find(&found, from, 2, true, NULL), HALLEY_OK);
    synth_likelihood forwards[10], backwards[10];
    assert_int_equal(found.list.n, 10);
    score_each(forwards, &found, false);
    score_each(backwards, &found, true);
    assert_memory_equal(forwards, backwards, sizeof forwards);
    for (int i = 0; i < 10; i++)
        assert_true(
            isfinite(forwards[i].conditions + forwards[i].program + forwards[i].values));
    trace_found_fini(&found);
}

static halley_status attack_it(void *context, halley_error *err)
{
    halley_auc out[HALLEY_N_LIKELIHOODS];
    (void)context;
    const halley_membership_opts opts = {.model = "M.hsm",
                                         .reference = "M.hsm",
                                         .train = "train",
                                         .holdout = "train",
                                         .strict = true};
    return halley_membership(out, &opts, NULL, err);
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    make_sets("train", "transformer", "layers", 2, 1, 100);
    learn("M.hsm", "train", 1);
    assert_true(alloc_fail_everywhere(attack_it, NULL) > 50);
}

static halley_status score_it(void *context, halley_error *err)
{
    const synth_source *source = context;
    synth_scorer *s = NULL;
    synth_likelihood out;
    TRY(synth_scorer_load(&s, "M.hsm", err));
    const halley_status status = synth_scorer_score(
        &out, s, source->set, &source->conditions, synth_source_groups(source), err);
    synth_scorer_free(s);
    return status;
}

static void running_out_of_memory_while_scoring_is_reported(void **state)
{
    (void)state;
    make_sets("train", "transformer", "layers", 2, 10, 100);
    learn("M.hsm", "train", 2);
    trace_found found = {0};
    synth_source source;
    const char *const from[] = {"train"};
    assert_int_equal(trace_find(&found, from, 1, true, NULL), HALLEY_OK);
    assert_int_equal(synth_source_open(&source, &found, 0, 1, NULL), HALLEY_OK);
    assert_true(alloc_fail_everywhere(score_it, &source) > 50);
    synth_source_close(&source);
    trace_found_fini(&found);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_model_that_keeps_single_sets_gives_them_away,
                                        folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(sets_that_laws_explain_are_not_told_apart,
                                        folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(a_score_does_not_depend_on_the_sets_before_it,
                                        folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(running_out_of_memory_while_scoring_is_reported,
                                        folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(running_out_of_memory_is_reported, folder_enter,
                                        folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
