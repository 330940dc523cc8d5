/* Recordings, in which things come and go from run to run. */
#include "alloc_fail.h"
#include "base/rng.h"
#include "folder.h"
#include "halley/trace_check.h"
#include "learn_once.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { N_SETS = 30, N_PARTS = 8 };

/* What a corpus has that differs between runs. */
typedef struct noise {
    double pauses;   /* share of nodes with one before them */
    bool parents;    /* control dependencies lead to one node or another */
    bool some_sizes; /* one operator has its number of operations in every other set */
    bool in_ns;      /* nodes have duration_ns, too */
} noise;

typedef struct recording {
    halley_builder *b;
    rng random;
    uint64_t n, last, end; /* nodes so far; the last one; ids of pauses, behind all */
    uint32_t set;
    const noise *noise;
} recording;

/* A node behind the last one, or behind a pause. */
static void add(recording *r, const char *name, uint64_t us, bool sized)
{
    const uint64_t id = r->n++;
    uint64_t after = r->last;
    const bool pause = id > 0 && rng_unit(&r->random) < r->noise->pauses;
    if (pause)
        after = r->end++;
    assert_int_equal(halley_builder_node(r->b, id, HALLEY_NODE_COMP,
                                         (halley_bytes){name, strlen(name)}),
                     HALLEY_OK);
    (void)halley_builder_time(r->b, 0, us);
    if (r->noise->in_ns)
        (void)halley_builder_attr_u64(r->b, "duration_ns", 1000 * us);
    if (id > 0)
        (void)halley_builder_data(r->b, after);
    if (id > 1 && r->noise->parents)
        (void)halley_builder_ctrl(r->b, rng_unit(&r->random) < 0.5 ? 0 : 1);
    if (sized)
        (void)halley_builder_attr_i64(r->b, "num_ops", 1000);
    r->last = id;
}

/* Pauses stand at the end of the file, as a linker leaves them. */
static void add_pauses(recording *r, const uint64_t *after, uint64_t first)
{
    for (uint64_t id = first; id < r->end; id++) {
        (void)halley_builder_node(r->b, id, HALLEY_NODE_COMP, (halley_bytes){"gap", 3});
        (void)halley_builder_time(r->b, 0, 20 + (uint64_t)(60 * rng_unit(&r->random)));
        (void)halley_builder_data(r->b, after[id - first]);
    }
}

static void record(const char *prefix, uint32_t set, uint32_t layers, const noise *with)
{
    static const char *const parts[N_PARTS] = {"norm", "copy", "view", "mul",
                                               "bias", "act",  "drop", "sum"};
    const uint64_t first = 1000000;
    uint64_t after[4096];
    recording r = {.random = rng_seed(set), .set = set, .noise = with, .end = first};
    halley_trace *trace = NULL;
    char path[300];
    assert_int_equal(halley_builder_new(&r.b, NULL), HALLEY_OK);
    add(&r, "run", 5, false);
    for (uint32_t i = 0; i < layers * N_PARTS; i++) {
        const uint64_t end = r.end, last = r.last;
        const bool odd = with->some_sizes && set % 2 == 0;
        add(&r, parts[i % N_PARTS], 10 + i % N_PARTS, i % N_PARTS == 3 && !odd);
        if (r.end > end)
            after[end - first] = last;
    }
    add_pauses(&r, after, first);
    assert_int_equal(halley_builder_finish(&trace, r.b, NULL), HALLEY_OK);
    snprintf(path, sizeof path, "%s.0.et", prefix);
    assert_int_equal(halley_trace_save_et(trace, path, NULL), HALLEY_OK);
    halley_trace_free(trace);
    snprintf(path, sizeof path, "%s.conditions.json", prefix);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fprintf(to, "{\"family\": \"toy\", \"layers\": %u}\n", layers);
    fclose(to);
}

/* A corpus in a folder of its own. */
static const char *make_corpus(const char *name, uint32_t n_sets, const noise *with)
{
    const char *to = folder_path(name);
    assert_int_equal(mkdir(to, 0700), 0);
    for (uint32_t i = 0; i < n_sets; i++) {
        char prefix[280];
        snprintf(prefix, sizeof prefix, "%s/set-%02u", to, i);
        record(prefix, i, 3 + i % 4, with);
    }
    return to;
}

static halley_learn_report learn(const char *model, const char *from)
{
    halley_learn_report report = {0};
    const halley_learn_opts opts = {0};
    halley_error err = {0};
    assert_int_equal(halley_learn(model, &from, 1, &opts, &report, &err), HALLEY_OK);
    return report;
}

/* Whatever comes and goes, all runs are of one program. */
static void runs_of_one_network_have_one_template(void **state)
{
    (void)state;
    static const noise all[] = {{.pauses = 0.4},
                                {.parents = true},
                                {.some_sizes = true},
                                {.pauses = 0.3, .parents = true, .some_sizes = true}};
    for (uint32_t i = 0; i < sizeof all / sizeof *all; i++) {
        char name[32], model[256];
        snprintf(name, sizeof name, "noise-%u", i);
        const char *from = make_corpus(name, N_SETS, &all[i]);
        snprintf(model, sizeof model, "%s.hsm", folder_path(name));
        const halley_learn_report report = learn(model, from);
        assert_int_equal(report.n_templates, 1);
        assert_int_equal(report.n_covered, N_SETS);
    }
}

typedef struct tally {
    double n, n_pauses, us, n_sized, n_errors;
} tally;

static void count(void *to, const halley_trace_set *set)
{
    tally *const t = to;
    const halley_trace *trace = halley_trace_set_get(set, 0);
    halley_check_report *r = NULL;
    assert_int_equal(halley_trace_check(&r, set, NULL, NULL), HALLEY_OK);
    t->n_errors += (double)r->n[HALLEY_ERROR];
    halley_check_report_free(r);
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        const halley_bytes name = halley_node_name(trace, i);
        const bool pause = name.n == 3 && memcmp(name.at, "gap", 3) == 0;
        t->n++;
        t->n_pauses += pause;
        t->us += pause ? (double)halley_node_duration_us(trace, i) : 0;
        t->n_sized += halley_node_attr_count(trace, i) > 0;
    }
}

/* Adds up what `look` finds in the sets of a folder, and in 100 made from a model. */
static void look_at_both(void *real, void *made, const char *from, const char *model,
                         void (*look)(void *to, const halley_trace_set *set))
{
    halley_synth *synth = NULL;
    for (uint32_t i = 0; i < N_SETS; i++) {
        char prefix[280];
        const char *const of = prefix;
        halley_trace_set *set = NULL;
        snprintf(prefix, sizeof prefix, "%s/set-%02u", from, i);
        assert_int_equal(halley_trace_set_load(&set, &of, 1, NULL, NULL), HALLEY_OK);
        look(real, set);
        halley_trace_set_free(set);
    }
    assert_int_equal(halley_synth_load(&synth, model, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < 100; i++) {
        const halley_synth_opts opts = {.seed = i};
        halley_trace_set *set = NULL;
        assert_int_equal(halley_synth_make(&set, synth, &opts, NULL, NULL), HALLEY_OK);
        look(made, set);
        halley_trace_set_free(set);
    }
    halley_synth_free(synth);
}

static void what_came_and_went_does_so_again(void **state)
{
    (void)state;
    char model[256];
    const noise with = {.pauses = 0.3, .parents = true, .some_sizes = true};
    const char *from = make_corpus("again", N_SETS, &with);
    tally real = {0}, made = {0};
    snprintf(model, sizeof model, "%s", folder_path("again.hsm"));
    (void)learn(model, from);
    look_at_both(&real, &made, from, model, count);
    assert_true(made.n_errors == 0);
    assert_true(fabs(made.n_pauses / made.n - real.n_pauses / real.n) < 0.03);
    assert_true(fabs(made.n_sized / made.n - real.n_sized / real.n) < 0.02);
    assert_true(fabs(made.us / made.n_pauses * real.n_pauses / real.us - 1) < 0.05);
}

/* Durations of nodes that are no pauses: sum, those not of whole microseconds. */
typedef struct times {
    double n, us, n_odd;
} times;

static void add_times(void *to, const halley_trace_set *set)
{
    times *const t = to;
    const halley_trace *trace = halley_trace_set_get(set, 0);
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        const double us = (double)halley_node_duration_us(trace, i);
        double ns = 0;
        for (uint32_t k = 0; k < halley_node_attr_count(trace, i); k++) {
            const halley_attr a = halley_node_attr(trace, i, k);
            if (a.name.n == 11 && memcmp(a.name.at, "duration_ns", 11) == 0)
                assert_true(halley_attr_to_double(&a, &ns));
        }
        if (ns == 0)
            continue;
        t->n++;
        t->us += us;
        t->n_odd += fmod(ns, 1000) != 0;
    }
}

static void times_are_told_as_finely_as_those_learned(void **state)
{
    (void)state;
    char model[256];
    const noise with = {.pauses = 0.3, .in_ns = true};
    const char *from = make_corpus("grain", N_SETS, &with);
    times real = {0}, made = {0};
    snprintf(model, sizeof model, "%s", folder_path("grain.hsm"));
    (void)learn(model, from);
    look_at_both(&real, &made, from, model, add_times);
    assert_true(real.n_odd == 0 && made.n > 0 && made.n_odd == 0);
    assert_true(fabs(made.us / made.n * real.n / real.us - 1) < 0.2);
}

/* Where all is by chance, nothing is a pause, all operators are known, and no program is
 * shared. */
static void order_by_chance_has_no_pauses(void **state)
{
    (void)state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    const char *to = folder_path("chance");
    const noise with = {0};
    char path[300];
    assert_int_equal(mkdir(to, 0700), 0);
    for (uint32_t i = 0; i < N_SETS; i++) {
        recording r = {.random = rng_seed(i), .noise = &with};
        halley_trace *trace = NULL;
        assert_int_equal(halley_builder_new(&r.b, NULL), HALLEY_OK);
        for (uint32_t k = 0; k < 60; k++)
            add(&r, names[(uint32_t)(5 * rng_unit(&r.random))], 10, false);
        assert_int_equal(halley_builder_finish(&trace, r.b, NULL), HALLEY_OK);
        snprintf(path, sizeof path, "%s/set-%02u.0.et", to, i);
        assert_int_equal(halley_trace_save_et(trace, path, NULL), HALLEY_OK);
        halley_trace_free(trace);
    }
    const halley_learn_opts opts = {0};
    halley_error err = {0};
    assert_int_equal(halley_learn(folder_path("chance.hsm"), &to, 1, &opts, NULL, &err),
                     HALLEY_EINVAL);
    (void)halley_error_format(&err, path, sizeof path);
    assert_non_null(strstr(path, "though 5 of their operators do"));
}

static void running_out_of_memory_anywhere_is_reported(void **state)
{
    (void)state;
    char from[256];
    const noise with = {.pauses = 0.5, .parents = true, .some_sizes = true};
    snprintf(from, sizeof from, "%s", make_corpus("nomem", 4, &with));
    (void)alloc_fail_everywhere(learn_once, from);
}

static int set_up(void **state)
{
    (void)state;
    return folder_make();
}

static int tear_down(void **state)
{
    (void)state;
    return folder_remove();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_of_one_network_have_one_template),
        cmocka_unit_test(what_came_and_went_does_so_again),
        cmocka_unit_test(times_are_told_as_finely_as_those_learned),
        cmocka_unit_test(order_by_chance_has_no_pauses),
        cmocka_unit_test(running_out_of_memory_anywhere_is_reported),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
