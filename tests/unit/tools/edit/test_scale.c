/* What-if edits: laws that hold whatever the trace. */
#include "alloc_fail.h"
#include "edit/scale.h"
#include "edit/times.h"
#include "halley/sim.h"
#include "halley/synth.h"
#include "halley/trace_diff.h"
#include "halley/trace_gen.h"
#include "make_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A generated set, and its groups in a file. */
typedef struct made {
    halley_trace_set *set;
    char groups[128];
} made;

static made generate(const char *pattern, uint32_t n, const char *const *params)
{
    made m = {0};
    char prefix[64], path[96], name[] = "scale-groups-XXXXXX";
    halley_gen *gen = NULL;
    halley_gen_summary summary;
    const int fd = mkstemp(name);
    assert_true(fd >= 0);
    close(fd);
    snprintf(prefix, sizeof prefix, "%s-t", name);
    assert_int_equal(halley_gen_new(&gen, pattern, n, NULL), HALLEY_OK);
    for (; *params; params += 2)
        assert_int_equal(halley_gen_set(gen, params[0], params[1], NULL), HALLEY_OK);
    assert_int_equal(halley_gen_traces(&m.set, gen, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_save(gen, prefix, &summary, NULL), HALLEY_OK);
    halley_gen_free(gen);
    for (uint32_t r = 0; r < n; r++) {
        snprintf(path, sizeof path, "%s.%u.et", prefix, r);
        unlink(path);
    }
    unlink(name);
    snprintf(m.groups, sizeof m.groups, "%s.comm_group.json", prefix);
    if (summary.n_groups == 0)
        m.groups[0] = '\0';
    return m;
}

static const char *groups_of(const made *m)
{
    return m->groups[0] ? m->groups : NULL;
}

static void drop(made *m)
{
    halley_trace_set_free(m->set);
    if (m->groups[0])
        unlink(m->groups);
}

static halley_scaled *scale(const made *m, halley_scale_opts opts)
{
    halley_scaled *s = NULL;
    halley_error err = {0};
    opts.groups_path = groups_of(m);
    if (halley_trace_scale(&s, m->set, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return s;
}

static void expect_refusal(const made *m, halley_scale_opts opts, const char *words)
{
    halley_scaled *s = NULL;
    halley_error err = {0};
    opts.groups_path = groups_of(m);
    assert_int_equal(halley_trace_scale(&s, m->set, &opts, &err), HALLEY_EINVAL);
    if (!strstr(err.text, words))
        fail_msg("%s", err.text);
}

static void times_of(double seconds[HALLEY_N_REFERENCES], const halley_trace_set *set,
                     const trace_groups *groups)
{
    synth_timing how;
    assert_int_equal(synth_timing_of(&how, set, NULL, NULL), HALLEY_OK);
    halley_error err = {0};
    if (synth_times(seconds, set, groups, &how, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void made_times(double seconds[HALLEY_N_REFERENCES], const made *m)
{
    trace_groups groups = {0};
    assert_int_equal(synth_groups_of(&groups, m->set, groups_of(m), NULL), HALLEY_OK);
    times_of(seconds, m->set, &groups);
    trace_groups_fini(&groups);
}

static void scaled_times(double seconds[HALLEY_N_REFERENCES], const halley_scaled *s)
{
    char path[] = "scale-saved-XXXXXX";
    trace_groups groups = {0};
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    unlink(path);
    assert_int_equal(halley_scaled_save_groups(s, path, NULL), HALLEY_OK);
    if (access(path, R_OK) == 0)
        assert_int_equal(trace_groups_load(&groups, path, NULL), HALLEY_OK);
    unlink(path);
    times_of(seconds, s->set, &groups);
    trace_groups_fini(&groups);
}

static void assert_same_time(const halley_scaled *s, const made *as)
{
    double a[HALLEY_N_REFERENCES], b[HALLEY_N_REFERENCES];
    scaled_times(a, s);
    made_times(b, as);
    for (int i = 0; i < HALLEY_N_REFERENCES; i++)
        assert_true(fabs(a[i] - b[i]) <= 1e-9 * b[i]);
}

static void assert_same_nodes(const halley_trace_set *a, const halley_trace_set *b)
{
    halley_diff_report *report = NULL;
    assert_int_equal(halley_trace_diff(&report, a, b, NULL, NULL), HALLEY_OK);
    assert_int_equal(report->n_total, 0);
    halley_diff_report_free(report);
}

/* Names and values, to the end that NULL marks. */
#define PARAMS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void a_factor_of_one_changes_nothing(void **state)
{
    (void)state;
    made m = generate("random", 4, PARAMS("nodes", "60"));
    halley_scaled *s =
        scale(&m, (halley_scale_opts){.compute = 1, .bytes = 1, .batch = 1});
    assert_same_nodes(m.set, s->set);
    halley_scaled_free(s);
    drop(&m);
}

static void twice_the_compute_and_half_of_that_is_the_same(void **state)
{
    (void)state;
    made m = generate("random", 4, PARAMS("nodes", "60"));
    halley_scaled *s = scale(&m, (halley_scale_opts){.compute = 2, .bytes = 4});
    double before[HALLEY_N_REFERENCES], after[HALLEY_N_REFERENCES];
    made_times(before, &m);
    scaled_times(after, s);
    for (int i = 0; i < HALLEY_N_REFERENCES; i++)
        assert_true(after[i] > before[i] && after[i] < 4 * before[i]);
    const halley_scale_opts back = {.compute = 0.5, .bytes = 0.25};
    halley_scaled *again = NULL;
    assert_int_equal(halley_trace_scale(&again, s->set, &back, NULL), HALLEY_OK);
    assert_same_nodes(m.set, again->set);
    halley_scaled_free(again);
    halley_scaled_free(s);
    drop(&m);
}

static void layers_become_those_of_the_larger_model(void **state)
{
    (void)state;
    static const struct {
        const char *tp, *pp, *from, *to;
        uint32_t n, a, b;
    } rows[] = {{"2", "1", "4", "8", 4, 4, 8},
                {"2", "1", "8", "4", 4, 8, 4},
                {"1", "2", "4", "12", 4, 4, 12},
                {"2", "2", "6", "4", 8, 6, 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        made m =
            generate("transformer", rows[i].n,
                     PARAMS("tp", rows[i].tp, "pp", rows[i].pp, "layers", rows[i].from));
        made want =
            generate("transformer", rows[i].n,
                     PARAMS("tp", rows[i].tp, "pp", rows[i].pp, "layers", rows[i].to));
        halley_scaled *s = scale(
            &m, (halley_scale_opts){.layers_from = rows[i].a, .layers_to = rows[i].b});
        assert_same_time(s, &want);
        halley_scaled_free(s);
        drop(&m);
        drop(&want);
    }
}

static void replicas_become_those_of_the_larger_job(void **state)
{
    (void)state;
    made m = generate("transformer", 8, PARAMS("tp", "2", "pp", "2", "layers", "4"));
    made want = generate("transformer", 16, PARAMS("tp", "2", "pp", "2", "layers", "4"));
    halley_scaled *s = scale(&m, (halley_scale_opts){.dp = 4});
    assert_int_equal(s->n_ranks, 16);
    assert_int_equal(s->dp_before, 2);
    assert_same_time(s, &want);
    halley_scaled_free(s);
    s = scale(&want, (halley_scale_opts){.dp = 2});
    assert_same_time(s, &m);
    halley_scaled_free(s);
    drop(&m);
    drop(&want);
}

static void one_replica_needs_no_collectives(void **state)
{
    (void)state;
    static const uint32_t ranks[] = {2, 8};
    for (size_t i = 0; i < 2; i++) {
        const bool tensor = ranks[i] == 8;
        made m = tensor ? generate("transformer", 8, PARAMS("tp", "4", "layers", "2"))
                        : generate("data-parallel", 2, PARAMS("layers", "3"));
        halley_scaled *s = scale(&m, (halley_scale_opts){.dp = 1});
        made alone = tensor ? generate("transformer", 4, PARAMS("tp", "4", "layers", "2"))
                            : (made){0};
        assert_int_equal(s->n_ranks, ranks[i] / 2);
        uint32_t n = 0;
        const halley_trace *const t = halley_trace_set_get(s->set, 0);
        for (uint32_t k = 0; k < halley_trace_count(t); k++)
            n += halley_node_type_of(t, k) == HALLEY_NODE_COLL;
        assert_int_equal(n > 0, tensor);
        if (tensor) {
            assert_same_time(s, &alone);
            drop(&alone);
        }
        halley_scaled_free(s);
        drop(&m);
    }
}

static void zero_has_its_gathers_split_among_more(void **state)
{
    (void)state;
    made m = generate("data-parallel", 4, PARAMS("zero", "yes"));
    made want = generate("data-parallel", 8, PARAMS("zero", "yes"));
    halley_scaled *s = scale(&m, (halley_scale_opts){.dp = 8});
    assert_same_time(s, &want);
    halley_scaled_free(s);
    drop(&m);
    drop(&want);
}

static double volume(const halley_trace_set *set)
{
    double bytes = 0;
    for (uint32_t r = 0; r < halley_trace_set_count(set); r++) {
        const halley_trace *const t = halley_trace_set_get(set, r);
        for (uint32_t i = 0; i < halley_trace_count(t); i++) {
            trace_roles roles;
            uint64_t type = 0, size = 0;
            if (halley_node_type_of(t, i) != HALLEY_NODE_COLL)
                continue;
            trace_roles_read(&roles, t, i);
            (void)trace_roles_u64(&roles, TRACE_ROLE_COMM_TYPE, &type);
            (void)trace_roles_u64(&roles, TRACE_ROLE_COMM_SIZE, &size);
            /* what a ring of 4 sends: S is the whole, or for a gather a rank's part */
            bytes += (double)size * (type == HALLEY_COLL_ALL_REDUCE   ? 1.5
                                     : type == HALLEY_COLL_ALL_GATHER ? 3
                                                                      : 0.75);
        }
    }
    return bytes;
}

static void a_swap_moves_the_same_bytes_and_back_again(void **state)
{
    (void)state;
    made m = generate("data-parallel", 4, PARAMS(NULL));
    halley_scaled *s = scale(&m, (halley_scale_opts){.swap = HALLEY_SWAP_SPLIT});
    assert_true(s->n_collectives > 0);
    assert_true(volume(s->set) == volume(m.set));
    const halley_scale_opts back = {.swap = HALLEY_SWAP_JOIN};
    halley_scaled *again = NULL;
    assert_int_equal(halley_trace_scale(&again, s->set, &back, NULL), HALLEY_OK);
    assert_same_nodes(m.set, again->set);
    halley_scaled_free(again);
    halley_scaled_free(s);
    expect_refusal(&m, (halley_scale_opts){.swap = HALLEY_SWAP_JOIN}, "to swap");
    drop(&m);
}

static void offload_puts_a_load_before_and_a_store_behind(void **state)
{
    (void)state;
    made m = generate("data-parallel", 2, PARAMS("layers", "2"));
    halley_scaled *s = scale(&m, (halley_scale_opts){.offload = 0.5});
    const halley_trace *const t = halley_trace_set_get(s->set, 0);
    uint64_t n[HALLEY_N_NODE_TYPES] = {0};
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        n[halley_node_type_of(t, i)]++;
    assert_int_equal(n[HALLEY_NODE_MEM_LOAD], n[HALLEY_NODE_COMP]);
    assert_int_equal(n[HALLEY_NODE_MEM_STORE], n[HALLEY_NODE_COMP]);
    halley_scaled_free(s);
    expect_refusal(&m, (halley_scale_opts){.offload = 0.5, .offload_match = "nothing"},
                   "offloaded");
    drop(&m);
}

static void a_larger_batch_leaves_gradients_as_they_are(void **state)
{
    (void)state;
    made m = generate("transformer", 4, PARAMS("tp", "2", "layers", "2"));
    halley_scaled *s = scale(&m, (halley_scale_opts){.batch = 3});
    const halley_trace *const a = halley_trace_set_get(m.set, 0);
    const halley_trace *const b = halley_trace_set_get(s->set, 0);
    unsigned n_same = 0, n_more = 0;
    for (uint32_t i = 0; i < halley_trace_count(a); i++) {
        halley_attr x, y;
        if (!halley_node_find_attr(&x, a, i, "comm_size"))
            continue;
        assert_true(halley_node_find_attr(&y, b, i, "comm_size"));
        const halley_bytes name = halley_node_name(a, i);
        const bool gradient = memmem(name.at, name.n, "GRADIENT", 8) != NULL;
        assert_int_equal(y.bits, gradient ? x.bits : 3 * x.bits);
        n_same += gradient;
        n_more += !gradient;
    }
    assert_true(n_same > 0 && n_more > 0);
    halley_scaled_free(s);
    drop(&m);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    made tensor = generate("transformer", 4, PARAMS("tp", "4", "layers", "4"));
    expect_refusal(&tensor, (halley_scale_opts){.dp = 2}, "no data-parallel group");
    expect_refusal(&tensor, (halley_scale_opts){.dp = 2, .dp_groups = "9"}, "no group");
    expect_refusal(&tensor, (halley_scale_opts){.layers_from = 3, .layers_to = 5},
                   "not the layers");
    drop(&tensor);
    made one = generate("all-reduce", 4, PARAMS(NULL));
    expect_refusal(&one, (halley_scale_opts){.layers_from = 1, .layers_to = 2},
                   "nothing repeats here");
    drop(&one);
    made pairs = generate("all-pairs", 4, PARAMS(NULL));
    expect_refusal(&pairs, (halley_scale_opts){.dp = 2, .dp_groups = "0"},
                   "from one replica to another");
    expect_refusal(&pairs, (halley_scale_opts){.compute = -1}, "a factor must be");
    drop(&pairs);
}

static halley_status scale_it(void *context, halley_error *err)
{
    const made *const m = context;
    const halley_scale_opts opts = {.layers_from = 6,
                                    .layers_to = 12,
                                    .swap = HALLEY_SWAP_SPLIT,
                                    .dp = 4,
                                    .dp_groups = "0",
                                    .compute = 2,
                                    .batch = 2,
                                    .offload = 0.5,
                                    .groups_path = groups_of(m)};
    halley_scaled *s = NULL;
    const halley_status status = halley_trace_scale(&s, m->set, &opts, err);
    halley_scaled_free(s);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    made m = generate("data-parallel", 2, PARAMS("layers", "6"));
    assert_true(alloc_fail_everywhere(scale_it, &m) > 10);
    drop(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_of_one_changes_nothing),
        cmocka_unit_test(twice_the_compute_and_half_of_that_is_the_same),
        cmocka_unit_test(layers_become_those_of_the_larger_model),
        cmocka_unit_test(replicas_become_those_of_the_larger_job),
        cmocka_unit_test(one_replica_needs_no_collectives),
        cmocka_unit_test(zero_has_its_gathers_split_among_more),
        cmocka_unit_test(a_swap_moves_the_same_bytes_and_back_again),
        cmocka_unit_test(offload_puts_a_load_before_and_a_store_behind),
        cmocka_unit_test(a_larger_batch_leaves_gradients_as_they_are),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
