/* Side nodes, which are collectives off the chain of a program: how many, and where,
 * follows from sizes. */
#include "alloc_fail.h"
#include "folder.h"
#include "halley/trace_check.h"
#include "learn/likelihood.h"
#include "learn/source.h"
#include "learn_once.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { N_SETS = 40, N_PARTS = 4, BUCKET = 1000 };

static void add(halley_builder *b, uint64_t id, halley_node_type type, const char *name)
{
    assert_int_equal(halley_builder_node(b, id, type, (halley_bytes){name, strlen(name)}),
                     HALLEY_OK);
    (void)halley_builder_time(b, 0, type == HALLEY_NODE_COMP ? 10 : 0);
}

static void add_reduction(halley_builder *b, uint64_t id, int64_t bytes)
{
    add(b, id, HALLEY_NODE_COLL, "reduction");
    (void)halley_builder_attr_i64(b, "comm_type", HALLEY_COLL_ALL_REDUCE);
    (void)halley_builder_attr_i64(b, "comm_size", bytes);
}

/* Layers of four parts, each with gradients of `bytes`: as soon as a bucket is full it is
 * reduced off the chain, and an update waits for all buckets. What is left is reduced
 * in the chain. */
static void make_trace(const char *path, uint32_t layers, int64_t bytes)
{
    static const char *const parts[N_PARTS] = {"out", "act", "in", "norm"};
    uint64_t id = 0, last = 0, buckets[256];
    uint32_t n = 0;
    int64_t full = 0;
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    add(b, id++, HALLEY_NODE_COMP, "loss");
    for (uint32_t i = 0; i < layers * N_PARTS; i++) {
        add(b, id, HALLEY_NODE_COMP, parts[i % N_PARTS]);
        (void)halley_builder_data(b, last);
        last = id++;
        full += bytes;
        if (full < BUCKET)
            continue;
        add_reduction(b, id, full);
        (void)halley_builder_data(b, last);
        buckets[n++] = id++;
        full = 0;
    }
    add_reduction(b, id, full + 1);
    (void)halley_builder_data(b, last);
    add(b, id + 1, HALLEY_NODE_COMP, "update");
    (void)halley_builder_data(b, id);
    for (uint32_t i = 0; i < n; i++)
        (void)halley_builder_data(b, buckets[i]);
    assert_int_equal(halley_builder_finish(&trace, b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_save_et(trace, path, NULL), HALLEY_OK);
    halley_trace_free(trace);
}

static void make_set(const char *prefix, uint32_t layers, int64_t bytes)
{
    char path[300];
    for (uint32_t rank = 0; rank < 2; rank++) {
        snprintf(path, sizeof path, "%s.%u.et", prefix, rank);
        make_trace(path, layers, bytes);
    }
    snprintf(path, sizeof path, "%s.conditions.json", prefix);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fprintf(to, "{\"family\": \"toy\", \"layers\": %u, \"weights\": %ld}\n", layers,
            (long)bytes);
    fclose(to);
}

static void name_set(char prefix[280], const char *corpus, uint32_t i)
{
    snprintf(prefix, 280, "%s/set-%02u", corpus, i);
}

/* No two sets have their buckets in the same places. */
static const char *make_corpus(const char *name, uint32_t n_sets)
{
    char prefix[280];
    const char *to = folder_path(name);
    assert_int_equal(mkdir(to, 0700), 0);
    for (uint32_t i = 0; i < n_sets; i++) {
        name_set(prefix, to, i);
        make_set(prefix, 4 + i % 3, 80 + 23 * (int64_t)i);
    }
    return to;
}

static halley_learn_report learn(const char *model, const char *from)
{
    halley_learn_report report = {0};
    const halley_learn_opts opts = {0};
    halley_error err = {0};
    if (halley_learn(model, &from, 1, &opts, &report, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return report;
}

typedef struct tally {
    double n_sets, n, n_sides, bytes;
} tally;

/* Collectives of a set, those that more than the next node waits for, and their bytes. */
static void count(tally *t, const halley_trace_set *set)
{
    halley_check_report *r = NULL;
    const halley_trace *const trace = halley_trace_set_get(set, 0);
    const uint32_t n = halley_trace_count(trace);
    assert_int_equal(halley_trace_check(&r, set, NULL, NULL), HALLEY_OK);
    assert_int_equal(r->n[HALLEY_ERROR], 0);
    halley_check_report_free(r);
    t->n_sets++;
    t->n += n;
    for (uint32_t i = 0; i < n; i++) {
        if (halley_node_type_of(trace, i) != HALLEY_NODE_COLL)
            continue;
        t->n_sides += i + 2 < n;
        for (uint32_t k = 0; k < halley_node_attr_count(trace, i); k++) {
            const halley_attr a = halley_node_attr(trace, i, k);
            double bytes = 0;
            if (a.name.n == 9 && memcmp(a.name.at, "comm_size", 9) == 0)
                assert_true(halley_attr_to_double(&a, &bytes));
            t->bytes += bytes;
        }
        /* the update, which is last, waits for all of them */
        bool waits = false;
        for (uint32_t k = 0; k < halley_node_data_count(trace, n - 1); k++)
            waits = waits || halley_node_data(trace, n - 1, k).index == i;
        assert_true(waits);
    }
}

static void sets_that_differ_in_their_buckets_share_a_template(void **state)
{
    (void)state;
    char model[256];
    const char *from = make_corpus("buckets", N_SETS);
    snprintf(model, sizeof model, "%s", folder_path("buckets.hsm"));
    const halley_learn_report report = learn(model, from);
    assert_int_equal(report.n_templates, 1);
    assert_int_equal(report.n_covered, N_SETS);
}

static void buckets_are_as_many_and_as_large_as_those_learned(void **state)
{
    (void)state;
    char model[256], prefix[280];
    const char *from = make_corpus("like", N_SETS);
    tally real = {0}, made = {0};
    halley_synth *synth = NULL;
    snprintf(model, sizeof model, "%s", folder_path("like.hsm"));
    (void)learn(model, from);
    assert_int_equal(halley_synth_load(&synth, model, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < N_SETS; i++) {
        const char *const of = prefix;
        halley_trace_set *set = NULL;
        name_set(prefix, from, i);
        assert_int_equal(halley_trace_set_load(&set, &of, 1, NULL, NULL), HALLEY_OK);
        count(&real, set);
        halley_trace_set_free(set);
    }
    for (uint32_t i = 0; i < 5 * N_SETS; i++) {
        const halley_synth_opts opts = {.seed = i};
        halley_trace_set *set = NULL;
        assert_int_equal(halley_synth_make(&set, synth, &opts, NULL, NULL), HALLEY_OK);
        count(&made, set);
        halley_trace_set_free(set);
    }
    halley_synth_free(synth);
    assert_true(fabs(made.n / made.n_sets * real.n_sets / real.n - 1) < 0.05);
    assert_true(fabs(made.n_sides / made.n_sets * real.n_sets / real.n_sides - 1) < 0.1);
    assert_true(fabs(made.bytes / made.n_sets * real.n_sets / real.bytes - 1) < 0.15);
}

static synth_likelihood score(synth_scorer *scorer, const char *corpus, uint32_t i)
{
    char prefix[280];
    const char *const of = prefix;
    trace_found found = {0};
    synth_source source = {0};
    synth_likelihood out = {0};
    name_set(prefix, corpus, i);
    assert_int_equal(trace_find(&found, &of, 1, true, NULL), HALLEY_OK);
    assert_int_equal(synth_source_open(&source, &found, 0, 1, NULL), HALLEY_OK);
    assert_int_equal(
        synth_scorer_score(&out, scorer, source.set, &source.conditions, NULL, NULL),
        HALLEY_OK);
    synth_source_close(&source);
    trace_found_fini(&found);
    return out;
}

/* The side nodes of one set say nothing about how likely the next one is. */
static void scores_do_not_depend_on_side_nodes_of_sets_before(void **state)
{
    (void)state;
    char model[256];
    const char *from = make_corpus("scores", N_SETS);
    synth_scorer *scorer = NULL;
    snprintf(model, sizeof model, "%s", folder_path("scores.hsm"));
    (void)learn(model, from);
    assert_int_equal(synth_scorer_load(&scorer, model, NULL), HALLEY_OK);
    const synth_likelihood first = score(scorer, from, 3);
    for (uint32_t i = 4; i < 20; i++)
        (void)score(scorer, from, i);
    const synth_likelihood again = score(scorer, from, 3);
    assert_true(first.program == again.program && first.values == again.values);
    synth_scorer_free(scorer);
}

static void running_out_of_memory_anywhere_is_reported(void **state)
{
    (void)state;
    char from[256];
    snprintf(from, sizeof from, "%s", make_corpus("nomem", 4));
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
        cmocka_unit_test(sets_that_differ_in_their_buckets_share_a_template),
        cmocka_unit_test(buckets_are_as_many_and_as_large_as_those_learned),
        cmocka_unit_test(scores_do_not_depend_on_side_nodes_of_sets_before),
        cmocka_unit_test(running_out_of_memory_anywhere_is_reported),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
