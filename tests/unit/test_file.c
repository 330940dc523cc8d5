/* Files in and out. */
#include "base/file.h"
#include "base/rng.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static void save(const char *path, const void *at, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(at, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static uint8_t *random_bytes(size_t n)
{
    uint8_t *bytes = malloc(n + 1);
    assert_non_null(bytes);
    rng r = rng_seed(n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(rng_below(&r, 4) * 17);
    return bytes;
}

static void a_file_reads_as_it_was_written_with_zeros_behind(void **state)
{
    (void)state;
    static const size_t sizes[] = {0,     1,     4095,   4096,   65535, 65536,
                                   65537, 69600, 131072, 200000, 262130};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (int gz = 0; gz < 2; gz++) {
            const char *path = gz ? "a.gz" : "a";
            const size_t n = sizes[k];
            uint8_t *bytes = random_bytes(n);
            file_output *out;
            file_input in;
            assert_int_equal(file_output_open(&out, path, NULL), HALLEY_OK);
            file_output_write(out, bytes, n / 2);
            file_output_write(out, bytes + n / 2, n - n / 2);
            assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
            assert_int_equal(file_input_open(&in, path, NULL), HALLEY_OK);
            assert_int_equal(in.n, n);
            assert_int_equal(in.gzipped, gz);
            assert_non_null(in.at);
            assert_memory_equal(in.at, bytes, n);
            for (int i = 0; i < FILE_PAD; i++)
                assert_int_equal(in.at[n + (size_t)i], 0);
            file_input_close(&in);
            free(bytes);
        }
    }
}

static void an_abandoned_output_leaves_the_old_file(void **state)
{
    file_output *out;
    file_input in;
    save("a", "old", 3);
    assert_int_equal(file_output_open(&out, "a", NULL), HALLEY_OK);
    file_output_str(out, STR("new"));
    file_output_abort(out);
    assert_int_equal(file_input_open(&in, "a", NULL), HALLEY_OK);
    assert_memory_equal(in.at, "old", 3);
    file_input_close(&in);
    assert_int_equal(unlink("a"), 0);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(rmdir(*state), 0); /* nothing else was left */
    assert_int_equal(mkdir(*state, 0700), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_reads_as_it_was_written_with_zeros_behind,
                                        enter_folder, leave_folder),
        cmocka_unit_test_setup_teardown(an_abandoned_output_leaves_the_old_file,
                                        enter_folder, leave_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
