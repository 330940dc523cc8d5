/* Traces read in pieces, with their bytes freed: the same trace, the same errors; and
 * large files of a set that are equal, begin alike or differ. */
#include "base/file/file.h"
#include "random_trace.h"
#include "same_trace.h"

#include <stdio.h>
#include <unistd.h>

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

static const halley_load_opts freeing = {.frees_bytes = true};

static void check_same(const char *path)
{
    halley_trace *whole = NULL, *pieces = NULL;
    halley_error a = {0}, b = {0};
    const halley_status one = halley_trace_load(&whole, path, NULL, &a);
    const halley_status two = halley_trace_load(&pieces, path, &freeing, &b);
    if (one != two || strcmp(a.text, b.text) != 0 || a.has_offset != b.has_offset ||
        a.offset != b.offset || a.node != b.node)
        fail_msg("%s: \"%s\" at %llu, and in pieces \"%s\" at %llu", path, a.text,
                 (unsigned long long)a.offset, b.text, (unsigned long long)b.offset);
    if (one == HALLEY_OK) {
        same_trace(whole, pieces);
        assert_true(halley_trace_memory(pieces) > 0);
    }
    halley_trace_free(whole);
    halley_trace_free(pieces);
}

/* From a few bytes to several windows of 256 KiB. */
static void pieces_give_the_same_trace(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {0, 1, 5, 40, 400, 3000, 9000};
    for (uint64_t seed = 0; seed < 28; seed++) {
        halley_trace *t = random_trace(seed, sizes[seed % 7], (unsigned)(seed / 7));
        assert_int_equal(halley_trace_save_et(t, "t.et", NULL), HALLEY_OK);
        assert_int_equal(halley_trace_save_et(t, "t.et.gz", NULL), HALLEY_OK);
        check_same("t.et");
        check_same("t.et.gz");
        halley_trace_free(t);
    }
}

/* Cut anywhere, or with a byte changed: the same sentence with the same place. */
static void pieces_give_the_same_errors(void **state)
{
    (void)state;
    halley_trace *t = random_trace(3, 6000, 0);
    file_input in;
    rng r = rng_seed(5);
    assert_int_equal(halley_trace_save_et(t, "t.et", NULL), HALLEY_OK);
    halley_trace_free(t);
    assert_int_equal(file_input_open(&in, "t.et", NULL), HALLEY_OK);
    assert_true(in.n > 600000);
    uint8_t *copy = malloc(in.n);
    for (int i = 0; i < 150; i++) {
        memcpy(copy, in.at, in.n);
        const size_t n = i % 2 == 0 ? rng_below(&r, in.n) : in.n;
        if (i % 2 == 1)
            copy[rng_below(&r, in.n)] = (uint8_t)rng_u64(&r);
        FILE *f = fopen("bad.et", "wb");
        assert_non_null(f);
        assert_int_equal(fwrite(copy, 1, n, f), n);
        fclose(f);
        check_same("bad.et");
    }
    free(copy);
    file_input_close(&in);
}

static uint32_t count_distinct(const halley_load_opts *opts)
{
    const char *const path = "w";
    halley_trace_set *set;
    halley_error err = {0};
    if (halley_trace_set_load(&set, &path, 1, opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    const uint32_t n = halley_trace_set_distinct(set);
    assert_int_equal(halley_trace_set_count(set), 24);
    halley_trace_set_free(set);
    return n;
}

/* 24 files of more than 64 MiB / 24: none is kept in memory. */
static void large_files_of_a_set_are_told_apart(void **state)
{
    (void)state;
    halley_trace *one = random_trace(11, 30000, 0), *two = random_trace(12, 30000, 0);
    assert_int_equal(halley_trace_save_et(one, "a", NULL), HALLEY_OK);
    assert_int_equal(halley_trace_save_et(two, "b", NULL), HALLEY_OK);
    halley_trace_free(one);
    halley_trace_free(two);
    file_input in;
    assert_int_equal(file_input_open(&in, "a", NULL), HALLEY_OK);
    if (in.n < (64 << 20) / 24) /* the test would say nothing */
        fail_msg("%zu bytes", in.n);
    file_input_close(&in);
    /* All equal; two kinds; one that differs in its last message only. */
    assert_int_equal(system("for i in $(seq 0 23); do ln -f a w.$i.et; done"), 0);
    assert_int_equal(count_distinct(NULL), 1);
    assert_int_equal(system("for i in 3 5 7; do ln -f b w.$i.et; done"), 0);
    assert_int_equal(count_distinct(&freeing), 2);
    assert_int_equal(
        system("cat a > c; printf '\\007\\010\\001\\022\\001x\\030\\004' >> c;"
               "cat a > d; printf '\\007\\010\\001\\022\\001y\\030\\004' >> d;"
               "ln -f c w.9.et; ln -f c w.11.et; ln -f d w.12.et"),
        0);
    assert_int_equal(count_distinct(&freeing), 4);
    assert_int_equal(system("ln -f b w.0.et"), 0);
    assert_int_equal(count_distinct(&freeing), 4);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(pieces_give_the_same_trace),
        IN_FOLDER(pieces_give_the_same_errors),
        IN_FOLDER(large_files_of_a_set_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
