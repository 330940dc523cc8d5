/* Limits of inputs: sizes, ratios, pipes that never end. */
#include "base/file/file.h"
#include "base/file/file_stream.h"
#include "base/limit.h"
#include "halley/limit.h"
#include "unit.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20 };

static char path[] = "/tmp/halley-limit-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    const int fd = mkstemp(path);
    close(fd);
    return fd >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(path);
}

/* Make the file by a shell command whose output it is. */
static void make_file(const char *command)
{
    char line[300];
    snprintf(line, sizeof line, "%s > %s", command, path);
    assert_int_equal(system(line), 0);
}

static void expect_refused(uint64_t most, const char *words)
{
    file_input in;
    halley_error err = {0};
    assert_int_equal(file_input_open_most(&in, path, most, &err), HALLEY_ELIMIT);
    if (strstr(err.text, words) == NULL)
        fail_msg("%s", err.text);
    assert_string_equal(err.file, path);
}

static void the_limit_is_the_call_or_the_environment_or_half_of_the_machine(void **state)
{
    (void)state;
    uint64_t limit, half;
    halley_error err = {0};
    assert_int_equal(limit_memory(&half, &err), HALLEY_OK);
    assert_true(half > 64u * MIB);
    setenv("HALLEY_MAX_MEMORY", "100 MB", 1);
    assert_int_equal(limit_memory(&limit, &err), HALLEY_OK);
    assert_int_equal(limit, 100000000);
    assert_int_equal(halley_memory_limit_set(32 * MIB, &err), HALLEY_OK);
    assert_int_equal(limit_memory(&limit, &err), HALLEY_OK);
    assert_int_equal(limit, 32 * MIB);
    assert_int_equal(halley_memory_limit_set(0, &err), HALLEY_OK);
    static const char *const wrong[] = {"much", "7", "-1 GB", "0 B", "1 B", "nan GB"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HALLEY_MAX_MEMORY", wrong[i], 1);
        assert_int_equal(limit_memory(&limit, &err), HALLEY_EINVAL);
        assert_non_null(strstr(err.text, "HALLEY_MAX_MEMORY"));
    }
    unsetenv("HALLEY_MAX_MEMORY");
    assert_int_equal(halley_memory_limit_set(5, &err), HALLEY_EINVAL);
    assert_int_equal(limit_memory(&limit, &err), HALLEY_OK);
    assert_int_equal(limit, half);
}

static void files_over_the_limit_are_refused_before_they_are_read(void **state)
{
    (void)state;
    make_file("head -c 17000000 /dev/zero");
    expect_refused(LIMIT_CONFIGURATION, "at most 16.8 MB");
    assert_int_equal(truncate(path, (off_t)1 << 42), 0); /* no machine could read it */
    expect_refused(0, "--max-memory");
    make_file("head -c 16000000 /dev/zero");
    file_input in;
    assert_int_equal(file_input_open_most(&in, path, LIMIT_CONFIGURATION, NULL),
                     HALLEY_OK);
    assert_int_equal(in.n, 16000000);
    file_input_close(&in);
}

static void small_files_that_unpack_to_large_ones_are_refused(void **state)
{
    (void)state;
    halley_error err = {0};
    assert_int_equal(halley_memory_limit_set(32 * MIB, &err), HALLEY_OK);
    make_file("head -c 40000000 /dev/zero | gzip -1");
    expect_refused(0, "the limit is 33.6 MB");
    expect_refused(LIMIT_CONFIGURATION, "at most 16.8 MB");
    make_file("head -c 40000000 /dev/zero | zstd -q");
    expect_refused(0, "the limit is 33.6 MB");
    assert_int_equal(halley_memory_limit_set(0, &err), HALLEY_OK);
    make_file("head -c 200000000 /dev/zero | zstd -q");
    expect_refused(0, "more than 1000 times their size");
}

static void a_stream_that_unpacks_without_end_is_refused(void **state)
{
    (void)state;
    static char buffer[MIB];
    file_stream *s = NULL;
    halley_error err = {0};
    size_t got = 1;
    make_file("head -c 200000000 /dev/zero | zstd -q");
    assert_int_equal(file_stream_open(&s, path, &err), HALLEY_OK);
    halley_status status = HALLEY_OK;
    while (status == HALLEY_OK && got > 0)
        status = file_stream_read(s, buffer, sizeof buffer, &got, &err);
    assert_int_equal(status, HALLEY_ELIMIT);
    assert_non_null(strstr(err.text, "more than 1000 times their size"));
    file_stream_close(s);
}

static void what_never_ends_is_read_up_to_the_limit(void **state)
{
    (void)state;
    static char buffer[16 * MIB];
    file_input in;
    file_stream *s = NULL;
    halley_error err = {0};
    size_t got = 1;
    uint64_t n = 0;
    assert_int_equal(halley_memory_limit_set(16 * MIB, &err), HALLEY_OK);
    assert_int_equal(file_input_open(&in, "/dev/zero", &err), HALLEY_ELIMIT);
    assert_non_null(strstr(err.text, "--max-memory"));
    assert_int_equal(file_stream_open(&s, "/dev/zero", &err), HALLEY_OK);
    halley_status status = HALLEY_OK;
    for (; status == HALLEY_OK && got > 0; n += got)
        status = file_stream_read(s, buffer, sizeof buffer, &got, &err);
    assert_int_equal(status, HALLEY_ELIMIT);
    assert_true(n > 16u * 16 * MIB && n < 20u * 16 * MIB);
    assert_non_null(strstr(err.text, "does not end"));
    file_stream_close(s);
    assert_int_equal(halley_memory_limit_set(0, &err), HALLEY_OK);
}

/* The bytes are those of the moment of reading: nothing happens to them, or to this
 * process, when the file shrinks. */
static void a_file_that_is_shortened_later_stays_readable(void **state)
{
    (void)state;
    file_input in;
    halley_error err = {0};
    make_file("head -c 10000000 /dev/zero | tr '\\0' x");
    assert_int_equal(file_input_open(&in, path, &err), HALLEY_OK);
    assert_int_equal(truncate(path, 0), 0);
    size_t n = 0;
    for (size_t i = 0; i < in.n; i++)
        n += in.at[i] == 'x';
    assert_int_equal(n, 10000000);
    for (size_t i = 0; i < FILE_PAD; i++)
        assert_int_equal(in.at[in.n + i], 0);
    file_input_close(&in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_the_call_or_the_environment_or_half_of_the_machine),
        cmocka_unit_test(files_over_the_limit_are_refused_before_they_are_read),
        cmocka_unit_test(small_files_that_unpack_to_large_ones_are_refused),
        cmocka_unit_test(a_stream_that_unpacks_without_end_is_refused),
        cmocka_unit_test(what_never_ends_is_read_up_to_the_limit),
        cmocka_unit_test(a_file_that_is_shortened_later_stays_readable),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
