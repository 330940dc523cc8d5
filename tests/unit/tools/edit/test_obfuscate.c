/* Obfuscation: what stays, what goes, and that nothing shows through. */
#include "alloc_fail.h"
#include "base/rng.h"
#include "edit/obfuscate.h"
#include "edit/times.h"
#include "halley/ingest.h"
#include "halley/trace_check.h"
#include "halley/trace_gen.h"
#include "make_trace.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static halley_trace_set *generate(const char *pattern, uint32_t n)
{
    halley_gen *gen = NULL;
    halley_trace_set *set = NULL;
    assert_int_equal(halley_gen_new(&gen, pattern, n, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_traces(&set, gen, NULL), HALLEY_OK);
    halley_gen_free(gen);
    return set;
}

static halley_obfuscation *hide(const halley_trace_set *set, halley_obfuscate_opts opts)
{
    halley_obfuscation *o = NULL;
    halley_error err = {0};
    opts.key[0] = 7;
    opts.n_threads = 1;
    if (halley_trace_obfuscate(&o, set, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return o;
}

/* A trace with everything in it that should not get out. */
static halley_trace *make_secret(void)
{
    halley_builder *b = make_start();
    const halley_attr pid = {
        .name = text("pid"), .kind = HALLEY_ATTR_UINT64, .bits = 4711};
    const halley_attr schema = {.name = text("schema"),
                                .kind = HALLEY_ATTR_STRING,
                                .bytes = text("1.1.1-secret-build")};
    halley_builder_metadata(b, &pid);
    halley_builder_metadata(b, &schema);
    for (uint64_t i = 0; i < 3; i++) {
        const halley_io io = {.present = true,
                              .values = text("[[12, 3, 0, 6144, 4, 'cuda:0']]"),
                              .shapes = text("[[4096, 11008]]"),
                              .types = text("['Tensor(c10::BFloat16)']")};
        halley_builder_node(
            b, 1000 + 7 * i, HALLEY_NODE_COMP,
            text(i == 1 ? "/opt/models/secret_kernel.py" : "secret_block_forward"));
        halley_builder_time(b, 5000000 + 100 * i, 100);
        if (i > 0)
            halley_builder_data(b, 1000 + 7 * (i - 1));
        halley_builder_inputs(b, &io);
        halley_builder_outputs(b, &io);
        halley_builder_attr_bool(b, "is_cpu_op", false);
        halley_builder_attr_i64(b, "num_ops", 123456789);
        halley_builder_attr_u64(b, "tensor_size", 987654321);
        halley_builder_attr_text(b, "op_schema",
                                 text("aten::secret(Tensor self) -> Tensor"));
        halley_builder_attr_i64(b, "tid", 99);
        halley_builder_attr_i64(b, "rf_id", (int64_t)i);
        halley_builder_unknown(b, (halley_bytes){"\xfa\x01\x0amysecretxx", 13});
    }
    return make_finish(b);
}

static halley_trace_set *secret_set(void)
{
    halley_trace *const t = make_secret();
    return make_set(&t, 1);
}

static uint64_t removed(const halley_obfuscation *o, const char *what)
{
    for (size_t i = 0; i < o->n_removed; i++)
        if (strcmp(o->removed[i].what, what) == 0)
            return o->removed[i].n;
    return 0;
}

static bool holds(const halley_trace *t, const char *word)
{
    uint8_t *bytes = NULL;
    size_t n = 0;
    assert_int_equal(halley_trace_encode_et(&bytes, &n, t, NULL), HALLEY_OK);
    const bool found = memmem(bytes, n, word, strlen(word)) != NULL;
    free(bytes);
    return found;
}

static void what_is_not_understood_is_dropped_and_counted(void **state)
{
    (void)state;
    halley_trace_set *const set = secret_set();
    for (int level = HALLEY_HIDE_IDS; level <= HALLEY_HIDE_STRUCTURE; level++) {
        halley_obfuscation *const o =
            hide(set, (halley_obfuscate_opts){.level = (halley_obfuscate_level)level});
        const halley_trace *const t = halley_trace_set_get(o->set, 0);
        halley_attr tid;
        assert_int_equal(removed(o, "attribute op_schema"), 3);
        assert_true(halley_node_find_attr(&tid, t, 0, "tid"));
        assert_int_equal(tid.bits, 0); /* it was 99 */
        assert_int_equal(removed(o, "attribute rf_id"), 3);
        assert_int_equal(removed(o, "metadata pid"), 1);
        assert_int_equal(removed(o, "metadata schema"), 1);
        assert_int_equal(removed(o, "unknown fields"), 3);
        assert_int_equal(removed(o, "inputs and outputs of nodes"), 6);
        assert_int_equal(removed(o, "version string"), 1);
        assert_int_equal(halley_trace_metadata_count(t), 0);
        static const char *const words[] = {
            "mysecret", "cuda", "4096", "BFloat16", "aten", "op_schema", "secret-build"};
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            assert_false(holds(t, words[i]));
        assert_int_equal(holds(t, "secret"), level == HALLEY_HIDE_IDS);
        halley_obfuscation_free(o);
    }
    halley_trace_set_free(set);
}

static void what_is_asked_for_stays(void **state)
{
    (void)state;
    halley_trace_set *const set = secret_set();
    const char *const keep[] = {"tid", "schema", "op_schema"};
    halley_obfuscation *const o =
        hide(set, (halley_obfuscate_opts){.level = HALLEY_HIDE_NAMES,
                                          .keep = keep,
                                          .n_keep = 3,
                                          .keep_io = HALLEY_KEEP_SHAPES});
    const halley_trace *const t = halley_trace_set_get(o->set, 0);
    halley_attr attr;
    assert_true(halley_node_find_attr(&attr, t, 0, "tid"));
    assert_int_equal(attr.bits, 99);
    assert_true(holds(t, "4096, 11008"));
    assert_true(holds(t, "1.1.1-secret-build"));
    assert_false(holds(t, "BFloat16"));
    assert_false(holds(t, "cuda"));
    assert_false(holds(t, "kernel"));
    halley_obfuscation_free(o);
    halley_trace_set_free(set);
}

static void ids_are_dense_in_the_old_order_and_starts_relative(void **state)
{
    (void)state;
    halley_trace_set *const set = secret_set();
    halley_obfuscation *const o = hide(set, (halley_obfuscate_opts){0});
    const halley_trace *const t = halley_trace_set_get(o->set, 0);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(halley_node_id(t, i), OBFUSCATE_FIRST_ID + i);
        assert_int_equal(halley_node_start_us(t, i), 100 * i);
        assert_int_equal(halley_node_data_count(t, i), i > 0);
    }
    assert_int_equal(halley_node_data(t, 2, 0).index, 1);
    halley_obfuscation_free(o);
    halley_trace_set_free(set);
}

/* The search itself must be able to find something. */
static void a_run_of_eight_bytes_is_found(void **state)
{
    (void)state;
    halley_trace *const secret = make_secret();
    obfuscate_scanned scanned = {0};
    halley_error err = {0};
    const halley_obfuscate_opts opts = {0};
    halley_builder *b = make_start();
    make_comp(b, 1, 5);
    halley_builder_node(b, 2, HALLEY_NODE_COMP, text("xxblock_foyy"));
    halley_trace *const leaky = make_finish(b);
    assert_int_equal(obfuscate_scan(&scanned, &opts, secret, leaky, 0, 1, &err),
                     HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "block_fo"));
    halley_trace_free(leaky);
    b = make_start();
    halley_builder_node(b, 2, HALLEY_NODE_COMP, text("xxlock_foyy"));
    halley_trace *const fine = make_finish(b);
    assert_int_equal(obfuscate_scan(&scanned, &opts, secret, fine, 0, 1, &err),
                     HALLEY_OK);
    halley_trace_free(fine);
    halley_trace_free(secret);
}

static void a_run_beyond_ascii_is_found(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    halley_builder_node(b, 2, HALLEY_NODE_COMP, text("geheime Übersäße"));
    halley_trace *const t = make_finish(b);
    obfuscate_scanned scanned = {0};
    const halley_obfuscate_opts opts = {0};
    assert_int_equal(obfuscate_scan(&scanned, &opts, t, t, 0, 1, NULL), HALLEY_EINVAL);
    halley_trace_free(t);
}

static void names_of_the_schema_are_no_leak(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 5);
    halley_builder_node(b, 2, HALLEY_NODE_COMP, text("tensor_size"));
    halley_trace *const t = make_finish(b);
    halley_trace_set *const set = make_set(&t, 1);
    halley_obfuscation_free(
        hide(set, (halley_obfuscate_opts){.level = HALLEY_HIDE_NAMES}));
    halley_trace_set_free(set);
}

/* Windows of 8 bytes of a text that stand in some bytes, found by looking everywhere. */
static unsigned count_windows(halley_bytes from, const uint8_t *bytes, size_t n)
{
    unsigned found = 0;
    for (size_t i = 0; i + 8 <= from.n; i++)
        found += memmem(bytes, n, from.at + i, 8) != NULL;
    return found;
}

/* A slow obvious scan beside the fast one, over a recording of PyTorch. */
static void nothing_of_a_recording_is_in_the_output(void **state)
{
    (void)state;
    const char *const root = getenv("HALLEY_SOURCE_ROOT");
    char host[512], device[512];
    if (!root)
        skip();
    snprintf(host, sizeof host, "%s/tests/data/recording/host.0.json", root);
    snprintf(device, sizeof device, "%s/tests/data/recording/device.0.json", root);
    halley_trace *t = NULL;
    assert_int_equal(halley_trace_link(&t, NULL, host, device, NULL, NULL), HALLEY_OK);
    halley_trace_set *const set = make_set(&t, 1);
    halley_obfuscation *const o =
        hide(set, (halley_obfuscate_opts){.level = HALLEY_HIDE_NAMES});
    uint8_t *bytes = NULL, *input = NULL;
    size_t n = 0, n_input = 0;
    assert_int_equal(
        halley_trace_encode_et(&bytes, &n, halley_trace_set_get(o->set, 0), NULL),
        HALLEY_OK);
    assert_int_equal(halley_trace_encode_et(&input, &n_input, t, NULL), HALLEY_OK);
    unsigned n_before = 0, n_after = 0;
    for (uint32_t i = 0; i < halley_trace_count(t); i++) {
        const halley_io in = halley_node_inputs(t, i), out = halley_node_outputs(t, i);
        const halley_bytes texts[] = {halley_node_name(t, i),
                                      in.values,
                                      in.shapes,
                                      in.types,
                                      out.values,
                                      out.shapes};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
            n_after += count_windows(texts[k], bytes, n);
            n_before += count_windows(texts[k], input, n_input);
        }
    }
    assert_true(n_before > 100); /* it can find something */
    assert_int_equal(n_after, 0);
    free(bytes);
    free(input);
    halley_obfuscation_free(o);
    halley_trace_set_free(set);
}

static void pseudonyms_follow_the_key_across_ranks(void **state)
{
    (void)state;
    halley_trace_set *const set = generate("transformer", 8);
    halley_obfuscation *const a =
        hide(set, (halley_obfuscate_opts){.level = HALLEY_HIDE_NAMES});
    halley_obfuscation *const b =
        hide(set, (halley_obfuscate_opts){.level = HALLEY_HIDE_NAMES, .key = {0, 1}});
    for (uint32_t r = 0; r < 8; r++) {
        const halley_trace *const x = halley_trace_set_get(a->set, r);
        const halley_bytes first = halley_node_name(x, 0);
        const halley_bytes other = halley_node_name(halley_trace_set_get(b->set, r), 0);
        const halley_bytes name0 = halley_node_name(halley_trace_set_get(a->set, 0), 0);
        assert_int_equal(first.n, 17);
        assert_memory_equal(first.at, name0.at, 17);
        assert_memory_not_equal(first.at, other.at, 17);
    }
    halley_obfuscation_free(a);
    halley_obfuscation_free(b);
    halley_trace_set_free(set);
}

static void no_value_moves_by_more_than_the_step(void **state)
{
    (void)state;
    rng r = rng_seed(3);
    obfuscate_scale s;
    for (int i = 0; i < 100000; i++) {
        if (i % 200 == 0)
            obfuscate_scale_init(&s, 0.001 + 0.4 * rng_unit(&r));
        const double step = s.step;
        const uint64_t v = (uint64_t)exp(rng_unit(&r) * 44.3);
        const uint64_t q = obfuscate_round(v, &s);
        assert_true(fabs((double)q - (double)v) <= step * (double)v);
        const double x = exp(rng_unit(&r) * 40 - 20);
        assert_true(fabs(obfuscate_round_real(x, &s) - x) <= step * x * (1 + 1e-12));
    }
    obfuscate_scale_init(&s, 0.05);
    assert_int_equal(obfuscate_round(0, &s), 0);
    assert_int_equal(obfuscate_round(1000003, &s), obfuscate_round(1000007, &s));
}

static double time_of(const halley_trace_set *set, uint32_t cluster)
{
    static const trace_groups none = {0};
    synth_timing how;
    assert_int_equal(synth_timing_of(&how, set, NULL, NULL), HALLEY_OK);
    double seconds[HALLEY_N_REFERENCES];
    halley_error err = {0};
    if (synth_times(seconds, set, &none, &how, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return seconds[cluster];
}

static void assert_passes(const halley_trace_set *set)
{
    halley_check_report *report = NULL;
    assert_int_equal(halley_trace_check(&report, set, NULL, NULL), HALLEY_OK);
    assert_int_equal(report->n[HALLEY_ERROR], 0);
    halley_check_report_free(report);
}

/* Random graphs with all kinds of nodes, at every level. */
static void time_is_the_same_and_then_within_the_bound(void **state)
{
    (void)state;
    static const char *const patterns[] = {"random", "pipeline", "data-parallel",
                                           "messages"};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        halley_trace_set *const set = generate(patterns[p], 4);
        for (int level = 0; level <= HALLEY_HIDE_STRUCTURE; level++) {
            halley_obfuscation *const o =
                hide(set, (halley_obfuscate_opts){.level = (halley_obfuscate_level)level,
                                                  .bound = 0.02});
            assert_passes(o->set);
            for (uint32_t c = 0; c < HALLEY_N_REFERENCES; c++) {
                const double before = time_of(set, c), after = time_of(o->set, c);
                if (level < HALLEY_HIDE_SIZES)
                    assert_true(before == after);
                else
                    assert_true(fabs(after - before) <= 0.02 * before);
            }
            assert_true(o->size_error <= 0.02 && o->duration_error <= 0.02);
            halley_obfuscation_free(o);
        }
        halley_trace_set_free(set);
    }
}

static void structure_changes_the_graph(void **state)
{
    (void)state;
    halley_trace_set *const set = generate("random", 2);
    halley_obfuscation *const o =
        hide(set, (halley_obfuscate_opts){.level = HALLEY_HIDE_STRUCTURE, .bound = 0.2});
    assert_true(o->n_split > 0);
    assert_true(o->n_edges_added + o->n_edges_dropped > 0);
    assert_int_equal(o->n_nodes, o->n_nodes_before + o->n_split - o->n_joined);
    halley_obfuscation_free(o);
    halley_trace_set_free(set);
}

static halley_status hide_it_all(void *context, halley_error *err)
{
    const halley_obfuscate_opts opts = {.level = HALLEY_HIDE_NAMES, .n_threads = 1};
    halley_obfuscation *o = NULL;
    const halley_status status = halley_trace_obfuscate(&o, context, &opts, err);
    halley_obfuscation_free(o);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    halley_trace_set *const set = secret_set();
    assert_true(alloc_fail_everywhere(hide_it_all, set) > 10);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_understood_is_dropped_and_counted),
        cmocka_unit_test(what_is_asked_for_stays),
        cmocka_unit_test(ids_are_dense_in_the_old_order_and_starts_relative),
        cmocka_unit_test(a_run_of_eight_bytes_is_found),
        cmocka_unit_test(a_run_beyond_ascii_is_found),
        cmocka_unit_test(names_of_the_schema_are_no_leak),
        cmocka_unit_test(nothing_of_a_recording_is_in_the_output),
        cmocka_unit_test(pseudonyms_follow_the_key_across_ranks),
        cmocka_unit_test(no_value_moves_by_more_than_the_step),
        cmocka_unit_test(time_is_the_same_and_then_within_the_bound),
        cmocka_unit_test(structure_changes_the_graph),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
