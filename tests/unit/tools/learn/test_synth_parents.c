/* The call tree of recordings: the first control dependency of a node is the operator
 * that calls it, and made sets have the same tree. */
#include "base/rng.h"
#include "folder.h"
#include "halley/learn.h"
#include "halley/trace_check.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_SETS = 24, N_MADE = 60, MOST_NODES = 2000 };

/* A recording being written: the last node, the calls around it, and pauses, which a
 * linker leaves at the end of the file. */
typedef struct recording {
    halley_builder *b;
    rng random;
    uint64_t last, n, calls[8], pause_after[MOST_NODES], pause_in[MOST_NODES];
    uint32_t depth, n_pauses;
} recording;

enum { FIRST_PAUSE = 1000000 };

static void add(recording *r, const char *name, bool calls)
{
    const uint64_t id = r->n++;
    uint64_t after = r->last;
    const uint64_t parent = r->depth > 0 ? r->calls[r->depth - 1] : 0;
    if (id > 0 && rng_unit(&r->random) < 0.2) {
        r->pause_after[r->n_pauses] = after;
        r->pause_in[r->n_pauses] = parent;
        after = FIRST_PAUSE + r->n_pauses++;
    }
    assert_int_equal(halley_builder_node(r->b, id, HALLEY_NODE_COMP,
                                         (halley_bytes){name, strlen(name)}),
                     HALLEY_OK);
    (void)halley_builder_time(r->b, 0, 10);
    if (id > 0) {
        (void)halley_builder_data(r->b, after);
        (void)halley_builder_ctrl(r->b, parent);
    }
    r->last = id;
    if (calls)
        r->calls[r->depth++] = id;
}

static void add_pauses(recording *r)
{
    for (uint32_t i = 0; i < r->n_pauses; i++) {
        (void)halley_builder_node(r->b, FIRST_PAUSE + i, HALLEY_NODE_COMP,
                                  (halley_bytes){"gap", 3});
        (void)halley_builder_time(r->b, 0, 20);
        (void)halley_builder_data(r->b, r->pause_after[i]);
        (void)halley_builder_ctrl(r->b, r->pause_in[i]);
    }
}

static void record(uint32_t set, uint32_t layers)
{
    recording r = {.random = rng_seed(set)};
    halley_trace *trace = NULL;
    char path[64];
    assert_int_equal(halley_builder_new(&r.b, NULL), HALLEY_OK);
    add(&r, "step", true);
    for (uint32_t i = 0; i < layers; i++) {
        add(&r, "layer", true);
        add(&r, "norm", false);
        add(&r, "linear", true);
        add(&r, "view", false);
        add(&r, "matmul", true);
        add(&r, "launch", false);
        r.depth -= 2; /* out of matmul and linear */
        add(&r, "sum", false);
        r.depth--; /* out of the layer */
    }
    add(&r, "end", false);
    add_pauses(&r);
    assert_int_equal(halley_builder_finish(&trace, r.b, NULL), HALLEY_OK);
    snprintf(path, sizeof path, "c/set-%02u.0.et", set);
    assert_int_equal(halley_trace_save_et(trace, path, NULL), HALLEY_OK);
    halley_trace_free(trace);
    snprintf(path, sizeof path, "c/set-%02u.conditions.json", set);
    FILE *to = fopen(path, "w");
    assert_non_null(to);
    fprintf(to, "{\"layers\": %u}\n", layers);
    fclose(to);
}

/* Nodes by what depends on what: data and control dependencies; of launches, the name of
 * the parent is known. */
typedef struct tally {
    double n, n_two, n_launches, n_in_matmul;
} tally;

static bool is_named(const halley_trace *t, uint32_t node, const char *name)
{
    const halley_bytes n = halley_node_name(t, node);
    return n.n == strlen(name) && memcmp(n.at, name, n.n) == 0;
}

static void count(tally *to, const halley_trace_set *set)
{
    halley_check_report *report = NULL;
    const halley_trace *const t = halley_trace_set_get(set, 0);
    assert_int_equal(halley_trace_check(&report, set, NULL, NULL), HALLEY_OK);
    assert_int_equal(report->n[HALLEY_ERROR], 0);
    halley_check_report_free(report);
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const uint32_t n_ctrl = halley_node_ctrl_count(t, i);
        to->n++;
        to->n_two += halley_node_data_count(t, i) == 1 && n_ctrl == 1;
        if (!is_named(t, i, "launch"))
            continue;
        to->n_launches++;
        to->n_in_matmul +=
            n_ctrl == 1 && is_named(t, halley_node_ctrl(t, i, 0).index, "matmul");
    }
}

static void made_sets_have_the_call_tree_of_recordings(void **state)
{
    (void)state;
    tally real = {0}, made = {0};
    halley_error err = {0};
    const char *const from = "c";
    const halley_learn_opts opts = {.min_support = 5};
    assert_int_equal(system("mkdir c"), 0);
    for (uint32_t i = 0; i < N_SETS; i++)
        record(i, 3 + i % 4);
    for (uint32_t i = 0; i < N_SETS; i++) {
        char prefix[32];
        const char *const of = prefix;
        halley_trace_set *set = NULL;
        snprintf(prefix, sizeof prefix, "c/set-%02u", i);
        assert_int_equal(halley_trace_set_load(&set, &of, 1, NULL, NULL), HALLEY_OK);
        count(&real, set);
        halley_trace_set_free(set);
    }
    if (halley_learn("m.hsm", &from, 1, &opts, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_synth *synth = NULL;
    assert_int_equal(halley_synth_load(&synth, "m.hsm", NULL), HALLEY_OK);
    for (uint32_t i = 0; i < N_MADE; i++) {
        const halley_synth_opts how = {.seed = i};
        halley_trace_set *set = NULL;
        assert_int_equal(halley_synth_make(&set, synth, &how, NULL, &err), HALLEY_OK);
        count(&made, set);
        halley_trace_set_free(set);
    }
    halley_synth_free(synth);
    assert_int_equal(real.n_in_matmul, real.n_launches);
    assert_int_equal(made.n_in_matmul, made.n_launches);
    assert_true(made.n_launches > 3 * N_MADE);
    assert_true(fabs(made.n_two / made.n - real.n_two / real.n) < 0.01);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(made_sets_have_the_call_tree_of_recordings,
                                        folder_enter, folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
