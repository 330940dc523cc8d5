/* Laws that hold for every trace: what is written reads back the same, by all accessors.
 */
#include "random_trace.h"
#include "same_trace.h"

#include <stdio.h>
#include <unistd.h>

enum { EVERYTHING = RANDOM_UNKNOWN | RANDOM_NOT_UTF8, SEEDS = 400 };

/* A folder of its own for each test; *state is its path. */
static int enter_folder(void **state)
{
    char *path = strdup("/tmp/halley-test-XXXXXX");
    *state = mkdtemp(path);
    return *state == NULL ? -1 : chdir(path);
}

static int leave_folder(void **state)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    const int failed = chdir("/") != 0 || system(command) != 0;
    free(*state);
    return failed;
}

static bytes encode(const halley_trace *t)
{
    bytes out = {0};
    halley_error err = {0};
    if (halley_trace_encode_et(&out.at, &out.n, t, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return out;
}

static halley_trace *decode(bytes file, uint32_t n_threads)
{
    const halley_load_opts opts = {.n_threads = n_threads};
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_trace_parse(&t, file.at, file.n, "made", &opts, &err) != HALLEY_OK)
        fail_msg("byte %llu: %s", (unsigned long long)err.offset, err.text);
    return t;
}

static void what_is_written_reads_back_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        halley_trace *const built =
            random_trace(seed, 1 + (uint32_t)seed % 40, EVERYTHING);
        const bytes file = encode(built);
        halley_trace *const read = decode(file, 1);
        same_trace(built, read);
        assert_encodes(read, file.at, file.n);
        halley_trace_free(read);
        halley_trace_free(built);
        free(file.at);
    }
}

static void a_copy_by_the_builder_is_the_same(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < SEEDS / 4; seed++) {
        halley_trace *const from = random_trace(seed, 20, EVERYTHING);
        halley_builder *b = NULL;
        halley_trace *copy = NULL;
        assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
        halley_builder_version(b, halley_trace_version(from));
        for (uint32_t i = 0; i < halley_trace_metadata_count(from); i++) {
            const halley_attr a = halley_trace_metadata(from, i);
            halley_builder_metadata(b, &a);
        }
        halley_builder_metadata_unknown(b, halley_trace_metadata_unknown(from));
        for (uint32_t i = 0; i < halley_trace_count(from); i++)
            assert_int_equal(halley_builder_copy(b, from, i), HALLEY_OK);
        assert_int_equal(halley_builder_finish(&copy, b, NULL), HALLEY_OK);
        same_trace(from, copy);
        halley_trace_free(from);
        halley_trace_free(copy);
    }
}

static void every_style_of_json_gives_the_same_et_again(void **state)
{
    (void)state;
    static const char *const paths[] = {"a.json", "a.jsonl", "b.json.gz"};
    for (uint64_t seed = 0; seed < SEEDS / 4; seed++) {
        halley_trace *const built = random_trace(seed, 1 + (uint32_t)seed % 30, 0);
        const bytes file = encode(built);
        for (int style = HALLEY_JSON_DOCUMENT; style <= HALLEY_JSON_CHAKRA; style++) {
            halley_trace *read = NULL;
            halley_error err = {0};
            uint64_t n_dropped = 99;
            assert_int_equal(halley_trace_save_json(built, paths[style],
                                                    (halley_json_style)style, seed % 2,
                                                    &n_dropped, NULL),
                             HALLEY_OK);
            assert_true(n_dropped == 0);
            if (halley_trace_load(&read, paths[style], NULL, &err) != HALLEY_OK)
                fail_msg("seed %d style %d: %u:%u: %s", (int)seed, style, err.line,
                         err.column, err.text);
            same_trace(built, read);
            assert_encodes(read, file.at, file.n);
            assert_int_equal(halley_trace_form_of(read), HALLEY_FORM_JSON);
            halley_trace_free(read);
        }
        free(file.at);
        halley_trace_free(built);
    }
}

static void json_refuses_what_it_cannot_carry_and_leaves_no_file(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        const unsigned flags = seed % 2 ? RANDOM_UNKNOWN : RANDOM_NOT_UTF8;
        halley_trace *const t = random_trace(seed, 40, flags);
        halley_error err = {0};
        uint64_t n_dropped = 0;
        assert_int_equal(
            halley_trace_save_json(t, "a.json", HALLEY_JSON_LINES, false, NULL, &err),
            HALLEY_EINVAL);
        assert_non_null(strstr(err.text, "which JSON cannot carry"));
        assert_int_not_equal(access("a.json", F_OK), 0);
        assert_int_equal(halley_trace_save_json(t, "a.json", HALLEY_JSON_LINES, true,
                                                &n_dropped, NULL),
                         HALLEY_OK);
        assert_true(n_dropped > 0);
        halley_trace *read = NULL;
        assert_int_equal(halley_trace_load(&read, "a.json", NULL, &err), HALLEY_OK);
        assert_int_equal(halley_trace_count(read), 40);
        halley_trace_free(read);
        halley_trace_free(t);
        unlink("a.json");
    }
}

/* One node of the many: names that look like messages, sparse and falling ids, attributes
 * in many orders, unknown fields, now and then a text of half a megabyte. */
static bytes big_file(uint64_t seed, size_t at_least, size_t longest)
{
    rng r = rng_seed(seed);
    bytes file = start_file();
    char *const filler = calloc(1, longest);
    assert_non_null(filler);
    bytes fake = {0};
    for (int i = 0; i < 12; i++)
        put_framed(&fake, start_node((uint64_t)i + 7, "fake", 4));
    for (size_t i = 0; i + fake.n <= longest; i += fake.n)
        memcpy(filler + i, fake.at, fake.n);
    uint64_t id = 5;
    while (file.n < at_least) {
        bytes node = start_node(id, "aten::convolution_backward", rng_below(&r, 300));
        id += rng_below(&r, 50) ? 1 : rng_u64(&r) >> 8;
        const size_t n_filler = rng_below(&r, 2000) ? (size_t)rng_below(&r, 300)
                                                    : longest - (size_t)rng_below(&r, 64);
        if (rng_below(&r, 4) == 0)
            put_bytes(&node, 2, filler, n_filler);
        for (uint64_t n = rng_below(&r, 4); n > 0; n--)
            put_u64(&node, rng_below(&r, 2) ? 4 : 5, id - rng_below(&r, 9));
        for (uint64_t n = rng_below(&r, 8); n > 0; n--) {
            bytes attr = {0};
            char name[16];
            snprintf(name, sizeof name, "attr_%u", (unsigned)rng_below(&r, 12));
            put_text(&attr, 1, name);
            if (rng_below(&r, 3))
                put_u64(&attr, 9, random_u64(&r));
            else
                put_bytes(&attr, 29, filler, n_filler);
            put_message(&node, 10, attr);
        }
        if (rng_below(&r, 100) == 0)
            put_u64(&node, 99, 1);
        put_framed(&file, node);
    }
    free(fake.at);
    free(filler);
    return file;
}

static void one_thread_reads_the_same_as_many(void **state)
{
    (void)state;
    static const size_t longest[] = {400, 500000, 17 << 20};
    for (size_t k = 0; k < 3; k++) {
        const bytes file = big_file(k, 26 << 20, longest[k]);
        halley_trace *const one = decode(file, 1);
        assert_true(halley_trace_count(one) > 10);
        for (uint32_t n = 2; n <= 4; n++) {
            halley_trace *const many = decode(file, n);
            same_trace(one, many);
            for (uint32_t i = 0; i < halley_trace_count(one); i += 1 + i / 100)
                assert_true(halley_node_offset(one, i) == halley_node_offset(many, i));
            halley_trace_free(many);
        }
        halley_trace_free(one);
        free(file.at);
    }
}

/* Damage far behind is found at the same byte, whoever reads it. */
static void many_threads_find_the_same_error_as_one(void **state)
{
    (void)state;
    bytes file = big_file(4, 26 << 20, 400);
    const size_t n = file.n;
    put_framed(&file, start_node(1, "a", 4));
    put_raw(&file, "\x00", 1);
    for (int k = 0; k < 2; k++) {
        halley_error errors[2] = {{0}, {0}};
        for (uint32_t i = 0; i < 2; i++) {
            const halley_load_opts opts = {.n_threads = 1 + 2 * i};
            halley_trace *t = NULL;
            assert_int_equal(halley_trace_parse(&t, file.at, k ? n - 1 : file.n, "made",
                                                &opts, &errors[i]),
                             HALLEY_EFORMAT);
        }
        assert_string_equal(errors[0].text, errors[1].text);
        assert_true(errors[0].has_offset && errors[0].offset == errors[1].offset);
        assert_true(k == 1 || errors[0].offset == file.n - 1);
    }
    free(file.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back_the_same),
        cmocka_unit_test(a_copy_by_the_builder_is_the_same),
        cmocka_unit_test_setup_teardown(every_style_of_json_gives_the_same_et_again,
                                        enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(
            json_refuses_what_it_cannot_carry_and_leaves_no_file, enter_folder,
            leave_folder),
        cmocka_unit_test(one_thread_reads_the_same_as_many),
        cmocka_unit_test(many_threads_find_the_same_error_as_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
