/* What is learned of traces, and what is made of it. */
#include "alloc_fail.h"
#include "folder.h"
#include "halley/learn.h"
#include "halley/trace_check.h"
#include "halley/trace_gen.h"
#include "learn/model/law.h"
#include "learn/program.h"
#include "learn_once.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Sets of the transformer pattern, one for each number of layers; with conditions or
 * without. */
static void make_corpus(const char *name, uint32_t n_sets, bool told)
{
    for (uint32_t i = 0; i < n_sets; i++) {
        char prefix[128], file[160];
        snprintf(prefix, sizeof prefix, "%s/%s-%u", folder, name, i);
        folder_transformer(prefix, 4 + 2 * i);
        snprintf(file, sizeof file, "%s.conditions.json", prefix);
        if (!told)
            continue;
        FILE *to = fopen(file, "w");
        assert_non_null(to);
        fprintf(to, "{\"family\": \"toy\", \"layers\": %u}\n", 4 + 2 * i);
        fclose(to);
    }
}

static int set_up(void **state)
{
    (void)state;
    if (folder_make() != 0)
        return -1;
    make_corpus("toy", 8, true);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return folder_remove();
}

static void repeats_become_nested_loops(void **state)
{
    (void)state;
    /* start (a b b b)x3 end */
    const uint32_t tokens[] = {9, 1, 2, 2, 2, 1, 2, 2, 2, 1, 2, 2, 2, 8};
    const uint32_t expected[] = {
        9, SYMBOL_OPEN, 1, SYMBOL_OPEN, 2, SYMBOL_CLOSE, SYMBOL_CLOSE, 8};
    synth_model m;
    synth_folded f = {0};
    assert_int_equal(synth_model_init(&m, NULL), HALLEY_OK);
    assert_int_equal(synth_fold(&f, &m, tokens, 14, 0, NULL), HALLEY_OK);
    assert_int_equal(f.symbols.n, 8);
    assert_memory_equal(f.symbols.at, expected, sizeof expected);
    assert_int_equal(f.counts.n, 2);
    assert_int_equal(f.counts.at[0], 3);
    assert_int_equal(f.counts.at[1], 3);
    synth_folded_fini(&f);
    synth_model_fini(&m);
}

static void a_body_known_from_other_sets_is_a_loop_also_where_it_runs_once(void **state)
{
    (void)state;
    const uint32_t twice[] = {9, 1, 2, 3, 1, 2, 3, 8}, once[] = {9, 1, 2, 3, 8};
    synth_model m;
    synth_folded f = {0};
    assert_int_equal(synth_model_init(&m, NULL), HALLEY_OK);
    for (uint32_t set = 1; set <= 2; set++)
        assert_int_equal(synth_fold(&f, &m, twice, 8, set, NULL), HALLEY_OK);
    assert_int_equal(synth_fold(&f, &m, once, 5, 0, NULL), HALLEY_OK);
    assert_int_equal(f.counts.n, 1);
    assert_int_equal(f.counts.at[0], 1);
    assert_int_equal(f.symbols.n, 7);
    synth_folded_fini(&f);
    synth_model_fini(&m);
}

static void a_law_finds_the_powers_of_a_product(void **state)
{
    (void)state;
    static model_sum sum;
    model_law law = {0};
    for (uint32_t i = 1; i <= 60; i++) {
        law_point p = {0};
        const double a = i % 7 + 1, b = i % 5 + 1, c = i % 3 + 1;
        law_point_add(&p, FEATURE_ONE, 1);
        law_point_add(&p, FEATURE_CONDITIONS, log(a));
        law_point_add(&p, FEATURE_CONDITIONS + 1, log(b));
        law_point_add(&p, FEATURE_CONDITIONS + 2, log(c));
        law_sum_add(&sum, &p, log(24 * a * a / b));
    }
    law_fit(&law, &sum);
    assert_true(fabs(law.coefficient[FEATURE_ONE] - log(24)) < 1e-6);
    assert_true(fabs(law.coefficient[FEATURE_CONDITIONS] - 2) < 1e-6);
    assert_true(fabs(law.coefficient[FEATURE_CONDITIONS + 1] + 1) < 1e-6);
    assert_true(fabs(law.coefficient[FEATURE_CONDITIONS + 2]) < 1e-6);
    assert_true(law.spread == 0);
}

static void a_loop_that_runs_as_often_as_stages_follow_is_understood(void **state)
{
    (void)state;
    static model_loop_sum sum;
    model_loop loop = {0};
    for (uint32_t stages = 2; stages < 9; stages++)
        for (uint32_t stage = 0; stage + 1 < stages; stage++) {
            law_point p = {0};
            law_point_add(&p, FEATURE_ONE, 1);
            law_point_add(&p, FEATURE_CONDITIONS, log(stages));
            law_loop_add(&sum, &p, stages - 1 - stage, stage, stages);
        }
    law_loop_fit(&loop, &sum);
    law_point p = {0};
    law_point_add(&p, FEATURE_ONE, 1);
    law_point_add(&p, FEATURE_CONDITIONS, log(20));
    assert_true(fabs(law_loop_count(&loop, &p, 3, 20) - 16) < 1e-6);
}

static halley_status learn(const char *model, const halley_learn_opts *opts,
                           halley_learn_report *report, halley_error *err)
{
    const char *from = folder;
    return halley_learn(model, &from, 1, opts, report, err);
}

static bool stop_after_three(void *context, const halley_progress *progress)
{
    (void)context;
    return progress->done != 3;
}

/* Not even a part of it, which would hold what a model leaves out. */
static void a_run_that_was_stopped_leaves_no_file(void **state)
{
    (void)state;
    halley_learn_report report;
    halley_error err = {0};
    char command[300];
    const char *whole = folder_path("whole.hsm"), *parts = folder_path("parts.hsm");
    const halley_watch watch = {.look = stop_after_three};
    const halley_learn_opts stopping = {.watch = &watch};
    assert_int_equal(learn(whole, NULL, &report, &err), HALLEY_OK);
    assert_int_equal(report.n_sets, 8);
    assert_int_equal(learn(parts, &stopping, &report, &err), HALLEY_ECANCELED);
    assert_string_equal(err.text, "stopped after 3 of 8 sets");
    snprintf(command, sizeof command, "ls %s* 2> /dev/null", parts);
    assert_int_not_equal(system(command), 0);
    assert_int_equal(learn(parts, NULL, &report, &err), HALLEY_OK);
    snprintf(command, sizeof command, "cmp %s %s", whole, parts);
    assert_int_equal(system(command), 0);
}

static uint32_t errors_of(const halley_trace_set *set)
{
    halley_check_report *r = NULL;
    assert_int_equal(halley_trace_check(&r, set, NULL, NULL), HALLEY_OK);
    const uint32_t n = (uint32_t)r->n[HALLEY_ERROR];
    halley_check_report_free(r);
    return n;
}

static void a_set_made_under_seen_conditions_has_the_nodes_of_the_real_one(void **state)
{
    (void)state;
    char model[256];
    snprintf(model, sizeof model, "%s", folder_path("m.hsm"));
    halley_error err = {0};
    halley_synth *synth = NULL;
    assert_int_equal(learn(model, NULL, NULL, &err), HALLEY_OK);
    for (uint32_t i = 0; i < 8; i++) {
        char text[128];
        halley_trace_set *real = NULL, *made = NULL;
        const char *prefix;
        assert_int_equal(halley_synth_load(&synth, model, &err), HALLEY_OK);
        snprintf(text, sizeof text, "layers=%u", 4 + 2 * i);
        assert_int_equal(halley_synth_fix(synth, text, &err), HALLEY_OK);
        assert_int_equal(halley_synth_make(&made, synth, NULL, NULL, &err), HALLEY_OK);
        snprintf(text, sizeof text, "toy-%u", i);
        prefix = folder_path(text);
        assert_int_equal(halley_trace_set_load(&real, &prefix, 1, NULL, &err), HALLEY_OK);
        assert_int_equal(errors_of(made), 0);
        assert_int_equal(halley_trace_set_count(made), 4);
        for (uint32_t r = 0; r < 4; r++)
            assert_int_equal(halley_trace_count(halley_trace_set_get(made, r)),
                             halley_trace_count(halley_trace_set_get(real, r)));
        halley_trace_set_free(real);
        halley_trace_set_free(made);
        halley_synth_free(synth);
    }
}

/* Sets that say nothing about themselves, in a folder of their own: layers and sizes go
 * together all the same. */
static void sets_that_say_nothing_are_made_as_long_as_real_ones(void **state)
{
    (void)state;
    char model[256], of_bare[256], command[1000];
    halley_error err = {0};
    halley_synth *synth = NULL;
    bool is_real[1000] = {0};
    uint32_t n_different = 0;
    snprintf(model, sizeof model, "%s", folder_path("bare.hsm"));
    make_corpus("bare", 12, false);
    snprintf(of_bare, sizeof of_bare, "%s", folder_path("bare"));
    const char *from = of_bare;
    snprintf(command, sizeof command, "mkdir %s && mv %s-* %s", from, from, from);
    assert_int_equal(system(command), 0);
    const halley_learn_opts opts = {.min_support = 2};
    assert_int_equal(halley_learn(model, &from, 1, &opts, NULL, &err), HALLEY_OK);
    for (uint32_t i = 0; i < 12; i++) {
        char name[32];
        halley_trace_set *real = NULL;
        snprintf(name, sizeof name, "bare/bare-%u", i);
        const char *prefix = folder_path(name);
        assert_int_equal(halley_trace_set_load(&real, &prefix, 1, NULL, &err), HALLEY_OK);
        is_real[halley_trace_count(halley_trace_set_get(real, 0))] = true;
        halley_trace_set_free(real);
    }
    assert_int_equal(halley_synth_load(&synth, model, &err), HALLEY_OK);
    for (uint32_t seed = 0; seed < 40; seed++) {
        halley_trace_set *made = NULL;
        const halley_synth_opts with = {.seed = seed};
        assert_int_equal(halley_synth_make(&made, synth, &with, NULL, &err), HALLEY_OK);
        assert_int_equal(errors_of(made), 0);
        assert_int_equal(halley_trace_set_count(made), 4);
        const uint32_t n = halley_trace_count(halley_trace_set_get(made, 0));
        n_different += n >= 1000 || !is_real[n];
        halley_trace_set_free(made);
    }
    /* Pairs of numbers of layers are known by their mean, which may be an odd one. */
    assert_in_range(n_different, 0, 10);
    halley_synth_free(synth);
    snprintf(command, sizeof command, "rm -r %s", from);
    assert_int_equal(system(command), 0);
}

/* A graph of which no other set has the like. */
static void make_random_set(const char *prefix, uint32_t seed)
{
    char text[16];
    halley_gen *gen = NULL;
    snprintf(text, sizeof text, "%u", seed);
    assert_int_equal(halley_gen_new(&gen, "random", 4, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "nodes", "900", NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "seed", text, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_save(gen, prefix, NULL, NULL), HALLEY_OK);
    halley_gen_free(gen);
}

/* Half of the sets share a program of at most 300 nodes, the others are random graphs of
 * 900: those are made from the program of the first, with as many nodes as they have. */
static void sets_that_no_template_fits_are_the_nearest_scaled(void **state)
{
    (void)state;
    enum { N_EACH = 10, N_MADE = 40 };
    char from[200], prefix[256], model[256];
    uint32_t n_scaled = 0;
    halley_error err = {0};
    halley_synth *synth = NULL;
    snprintf(from, sizeof from, "%s", folder_path("mixed"));
    snprintf(model, sizeof model, "%s", folder_path("mixed.hsm"));
    assert_int_equal(mkdir(from, 0700), 0);
    for (uint32_t i = 0; i < N_EACH; i++) {
        snprintf(prefix, sizeof prefix, "%s/shared-%u", from, i);
        folder_transformer(prefix, 4 + 2 * i);
        snprintf(prefix, sizeof prefix, "%s/random-%u", from, i);
        make_random_set(prefix, i);
    }
    const char *const path = from;
    const halley_learn_opts opts = {0};
    assert_int_equal(halley_learn(model, &path, 1, &opts, NULL, &err), HALLEY_OK);
    assert_int_equal(halley_synth_load(&synth, model, &err), HALLEY_OK);
    for (uint32_t seed = 0; seed < N_MADE; seed++) {
        halley_trace_set *made = NULL;
        halley_synth_summary sum;
        const halley_synth_opts with = {.seed = seed};
        assert_int_equal(halley_synth_make(&made, synth, &with, &sum, &err), HALLEY_OK);
        assert_int_equal(errors_of(made), 0);
        const double n = (double)sum.n_nodes / sum.n_ranks;
        assert_true(n < 400 || (sum.is_scaled && n > 800 && n < 1000));
        n_scaled += n > 400;
        halley_trace_set_free(made);
    }
    assert_in_range(n_scaled, N_MADE / 4, 3 * N_MADE / 4);
    halley_synth_free(synth);
}

static void the_number_of_threads_does_not_change_the_sets(void **state)
{
    (void)state;
    enum { N = 5 };
    static const uint32_t threads[] = {1, 2, 7};
    char model[256], command[2000];
    halley_error err = {0};
    halley_synth *synth = NULL;
    snprintf(model, sizeof model, "%s", folder_path("threads.hsm"));
    assert_int_equal(learn(model, NULL, NULL, &err), HALLEY_OK);
    assert_int_equal(halley_synth_load(&synth, model, &err), HALLEY_OK);
    for (uint32_t i = 0; i < 3; i++) {
        char to[256], name[32];
        snprintf(name, sizeof name, "made-by-%u", threads[i]);
        snprintf(to, sizeof to, "%s", folder_path(name));
        halley_synth_order orders[N] = {{.name = "a", .seed = 1},
                                        {.name = "b", .seed = 2},
                                        {.name = "c", .seed = 3},
                                        {.name = "d", .seed = 4},
                                        {.name = "e", .seed = 1}};
        const halley_synth_opts opts = {.n_threads = threads[i]};
        assert_int_equal(halley_synth_save(to, synth, orders, N, &opts, &err), HALLEY_OK);
        assert_true(orders[0].made.n_nodes > 0);
        snprintf(command, sizeof command, "diff -r %s %s && ! cmp -s %s/a.3.et %s/b.3.et",
                 folder_path("made-by-1"), to, to, to);
        assert_int_equal(system(command), 0);
    }
    halley_synth_free(synth);
}

static halley_status save_two(void *context, halley_error *err)
{
    static uint32_t n_runs;
    halley_synth_order orders[] = {{.name = "a"}, {.name = "b"}};
    char name[32];
    snprintf(name, sizeof name, "nomem-%u", n_runs++);
    return halley_synth_save(folder_path(name), context, orders, 2, NULL, err);
}

static void running_out_of_memory_anywhere_is_reported(void **state)
{
    (void)state;
    char from[256];
    snprintf(from, sizeof from, "%s", folder_path("toy-0"));
    (void)alloc_fail_everywhere(learn_once, from);
    halley_synth *synth = NULL;
    assert_int_equal(halley_synth_load(&synth, folder_path("toy-0.hsm"), NULL),
                     HALLEY_OK);
    (void)alloc_fail_everywhere(save_two, synth);
    halley_synth_free(synth);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(repeats_become_nested_loops),
        cmocka_unit_test(a_body_known_from_other_sets_is_a_loop_also_where_it_runs_once),
        cmocka_unit_test(a_law_finds_the_powers_of_a_product),
        cmocka_unit_test(a_loop_that_runs_as_often_as_stages_follow_is_understood),
        cmocka_unit_test(a_run_that_was_stopped_leaves_no_file),
        cmocka_unit_test(a_set_made_under_seen_conditions_has_the_nodes_of_the_real_one),
        cmocka_unit_test(sets_that_say_nothing_are_made_as_long_as_real_ones),
        cmocka_unit_test(sets_that_no_template_fits_are_the_nearest_scaled),
        cmocka_unit_test(the_number_of_threads_does_not_change_the_sets),
        cmocka_unit_test(running_out_of_memory_anywhere_is_reported),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
