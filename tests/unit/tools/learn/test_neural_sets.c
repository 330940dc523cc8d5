/* A network learned from sets of traces, and the sets it makes. */
#include "folder.h"
#include "halley/learn.h"
#include "halley/trace_check.h"
#include "halley/trace_gen.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void path_of(char to[128], const char *name)
{
    snprintf(to, 128, "%s/%s", folder, name);
}

static int set_up(void **state)
{
    (void)state;
    if (folder_make() != 0)
        return -1;
    for (uint32_t i = 0; i < 8; i++) {
        char prefix[128];
        snprintf(prefix, sizeof prefix, "%s/toy-%02u", folder, i);
        folder_transformer(prefix, 4 + 2 * (i % 4));
    }
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return folder_remove();
}

static halley_status learn(const char *model, uint32_t n_steps, halley_error *err)
{
    const char *from = folder;
    halley_learn_report report;
    const halley_learn_opts opts = {
        .kind = HALLEY_LEARN_NEURAL, .seed = 7, .n_steps = n_steps, .min_support = 2};
    return halley_learn(model, &from, 1, &opts, &report, err);
}

/* Hardly trained: what it draws is mostly nonsense, and must fit together all the same.
 */
static void whatever_a_network_draws_passes_the_check(void **state)
{
    (void)state;
    char model[128];
    halley_error err = {0};
    halley_synth *synth = NULL;
    path_of(model, "m.hsm");
    assert_int_equal(learn(model, 15, &err), HALLEY_OK);
    assert_int_equal(halley_synth_load(&synth, model, &err), HALLEY_OK);
    uint64_t n_nodes = 0;
    for (uint64_t seed = 0; seed < 10; seed++) {
        halley_trace_set *set = NULL;
        halley_check_report *report = NULL;
        halley_synth_summary sum;
        const halley_synth_opts opts = {.seed = seed, .n_ranks = 4};
        if (halley_synth_make(&set, synth, &opts, &sum, &err) != HALLEY_OK)
            fail_msg("seed %d: %s", (int)seed, err.text);
        n_nodes += sum.n_nodes;
        assert_int_equal(halley_trace_check(&report, set, NULL, NULL), HALLEY_OK);
        assert_int_equal(report->n[HALLEY_ERROR], 0);
        halley_check_report_free(report);
        halley_trace_set_free(set);
    }
    assert_true(n_nodes > 0);
    halley_synth_free(synth);
}

static void the_same_seed_gives_the_same_model(void **state)
{
    (void)state;
    char a[128], b[128], command[300];
    path_of(a, "a.hsm");
    path_of(b, "b.hsm");
    assert_int_equal(learn(a, 3, NULL), HALLEY_OK);
    assert_int_equal(learn(b, 3, NULL), HALLEY_OK);
    snprintf(command, sizeof command, "cmp %s %s", a, b);
    assert_int_equal(system(command), 0);
}

/* The file's last sections are the network's: cut behind the header they end too early.
 */
static void a_model_whose_network_is_cut_off_is_refused(void **state)
{
    (void)state;
    char model[128], cut[128], command[400];
    halley_synth *synth = NULL;
    halley_error err = {0};
    path_of(model, "c.hsm");
    path_of(cut, "cut.hsm");
    assert_int_equal(learn(model, 1, NULL), HALLEY_OK);
    snprintf(command, sizeof command, "head -c -5000 %s > %s", model, cut);
    assert_int_equal(system(command), 0);
    assert_int_not_equal(halley_synth_load(&synth, cut, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "cut off"));
}

static void too_few_programs_are_refused(void **state)
{
    (void)state;
    char model[128], one[128];
    halley_error err = {0};
    const char *from = one;
    const halley_learn_opts opts = {.kind = HALLEY_LEARN_NEURAL, .min_support = 1};
    path_of(model, "d.hsm");
    path_of(one, "toy-00");
    assert_int_equal(halley_learn(model, &from, 1, &opts, NULL, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "a network needs"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whatever_a_network_draws_passes_the_check),
        cmocka_unit_test(the_same_seed_gives_the_same_model),
        cmocka_unit_test(a_model_whose_network_is_cut_off_is_refused),
        cmocka_unit_test(too_few_programs_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
