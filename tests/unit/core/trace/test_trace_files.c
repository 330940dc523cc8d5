/* Traces in files and folders: gzip, sets of ranks, full disks, what is no file. */
#include "base/file/file.h"
#include "random_trace.h"
#include "same_trace.h"

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
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
    snprintf(command, sizeof command, "chmod -R u+rwx '%s'; rm -rf '%s'", (char *)*state,
             (char *)*state);
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

static bytes contents(const char *path)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    bytes out = {0};
    char buffer[4096];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;)
        put_raw(&out, buffer, n);
    fclose(f);
    return out;
}

static halley_error load_wrong(const char *path, halley_status code, const char *words)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    assert_int_equal(halley_trace_load(&t, path, NULL, &err), code);
    assert_null(t);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
    assert_string_equal(err.file, path);
    return err;
}

static void what_is_no_file_is_refused(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    load_wrong("folder", HALLEY_EIO, "is a directory");
    load_wrong("missing.et", HALLEY_EIO, "no such file");
    load_wrong("folder/missing.et", HALLEY_EIO, "no such file");
    save("file", "x", 1);
    load_wrong("file/x", HALLEY_EIO, "Not a directory");
    char longest[5000];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    halley_trace *t = NULL;
    assert_int_equal(halley_trace_load(&t, longest, NULL, NULL), HALLEY_EIO);
    assert_int_equal(symlink("loop", "loop"), 0);
    load_wrong("loop", HALLEY_EIO, "Too many levels");
}

static void an_unreadable_file_is_refused(void **state)
{
    (void)state;
    save("secret.et", "x", 1);
    assert_int_equal(chmod("secret.et", 0), 0);
    if (access("secret.et", R_OK) == 0)
        skip(); /* root may read everything */
    load_wrong("secret.et", HALLEY_EIO, "permission denied");
}

/* For root, too: memory of another process that cannot be read gives an error of read().
 */
static void an_error_while_reading_is_passed_on(void **state)
{
    (void)state;
    load_wrong("/proc/self/mem", HALLEY_EIO, "cannot read");
}

static void an_empty_or_wrong_file_is_named(void **state)
{
    (void)state;
    save("empty.et", "", 0);
    load_wrong("empty.et", HALLEY_EFORMAT, "the file is empty");
    save("text.et", "hello, world, this is no trace at all\n", 38);
    load_wrong("text.et", HALLEY_EFORMAT, "");
    save("spaces.json", "  \n ", 4);
    load_wrong("spaces.json", HALLEY_EFORMAT, "");
}

static void gzip_is_read_whatever_it_is_called(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(3, 300, RANDOM_UNKNOWN);
    assert_int_equal(halley_trace_save_et(t, "a.et.gz", NULL), HALLEY_OK);
    assert_int_equal(rename("a.et.gz", "a"), 0);
    bytes file = contents("a");
    assert_memory_equal(file.at, "\x1f\x8b", 2);
    halley_trace *from_file = NULL, *from_memory = NULL;
    assert_int_equal(halley_trace_load(&from_file, "a", NULL, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_parse(&from_memory, file.at, file.n, "a", NULL, NULL),
                     HALLEY_OK);
    same_trace(t, from_file);
    same_trace(t, from_memory);
    halley_trace_free(from_file);
    halley_trace_free(from_memory);
    halley_trace_free(t);
    free(file.at);
}

/* Members may end anywhere in a message, as with bgzip or cat a.gz b.gz. */
static void several_gzip_members_are_one_trace(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(3, 300, 0);
    uint8_t *out = NULL;
    size_t n = 0;
    assert_int_equal(halley_trace_encode_et(&out, &n, t, NULL), HALLEY_OK);
    bytes all = {0};
    for (size_t at = 0, step = 0; at < n; at += step) {
        step = n - at < 5000 ? n - at : 1 + at % 4999;
        file_output *piece;
        assert_int_equal(file_output_open(&piece, "piece.gz", NULL), HALLEY_OK);
        file_output_write(piece, out + at, step);
        assert_int_equal(file_output_commit(piece, NULL), HALLEY_OK);
        bytes member = contents("piece.gz");
        put_raw(&all, member.at, member.n);
        free(member.at);
    }
    halley_trace *again = NULL;
    assert_int_equal(halley_trace_parse(&again, all.at, all.n, "a", NULL, NULL),
                     HALLEY_OK);
    same_trace(t, again);
    halley_trace_free(again);
    halley_trace_free(t);
    free(out);
    free(all.at);
}

static void gzip_that_is_cut_or_damaged_is_refused(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(3, 30, 0);
    assert_int_equal(halley_trace_save_et(t, "a.et.gz", NULL), HALLEY_OK);
    halley_trace_free(t);
    bytes file = contents("a.et.gz");
    for (size_t n = 2; n < file.n; n += 1 + file.n / 50) {
        save("cut.et.gz", file.at, n);
        load_wrong("cut.et.gz", HALLEY_EFORMAT, "gzip");
    }
    file.at[file.n - 6] ^= 1; /* in the checksum */
    save("sum.et.gz", file.at, file.n);
    load_wrong("sum.et.gz", HALLEY_EFORMAT, "checksum");
    file.at[file.n - 6] ^= 1;
    put_raw(&file, "junk", 4);
    save("junk.et.gz", file.at, file.n);
    load_wrong("junk.et.gz", HALLEY_EFORMAT, "something else than gzip data");
    free(file.at);
}

/* What save does to a folder: the old file as it was, and nothing else left behind. */
static void assert_untouched(const char *path, const char *old)
{
    bytes file = contents(path);
    assert_int_equal(file.n, strlen(old));
    assert_memory_equal(file.at, old, file.n);
    free(file.at);
    char command[128];
    snprintf(command, sizeof command, "test \"$(ls -A)\" = '%s'", path);
    assert_int_equal(system(command), 0);
}

typedef halley_status save_function(const halley_trace *, const char *, halley_error *);

static halley_status save_json(const halley_trace *t, const char *path, halley_error *err)
{
    return halley_trace_save_json(t, path, HALLEY_JSON_LINES, true, NULL, err);
}

static const struct {
    save_function *save;
    const char *path;
} savers[] = {{halley_trace_save_et, "a.et"},
              {halley_trace_save_et, "a.et.gz"},
              {save_json, "a.json"},
              {save_json, "a.jsonl.gz"}};

static void a_full_disk_leaves_the_old_file(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(3, 30000, 0);
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (size_t k = 0; k < sizeof savers / sizeof *savers; k++)
        for (int step = 0; step < 3; step++) {
            static const rlim_t limits[] = {0, 4096, 300000};
            halley_error err = {0};
            save(savers[k].path, "old", 3);
            struct rlimit small = {limits[step], before.rlim_max};
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
            const halley_status status = savers[k].save(t, savers[k].path, &err);
            assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
            assert_int_equal(status, HALLEY_EIO);
            assert_non_null(strstr(err.text, "File too large"));
            assert_untouched(savers[k].path, "old");
            unlink(savers[k].path);
        }
    halley_trace_free(t);
}

static void a_full_device_is_reported(void **state)
{
    (void)state;
    if (access("/dev/full", W_OK) != 0)
        skip();
    halley_trace *const t = random_trace(3, 3000, 0);
    for (size_t k = 0; k < sizeof savers / sizeof *savers; k += 2) {
        halley_error err = {0};
        assert_int_equal(savers[k].save(t, "/dev/full", &err), HALLEY_EIO);
        assert_non_null(strstr(err.text, "No space left on device"));
    }
    halley_trace_free(t);
}

static void a_path_that_cannot_be_written_is_refused(void **state)
{
    (void)state;
    halley_trace *const t = random_trace(3, 3, 0);
    assert_int_equal(mkdir("folder.et", 0700), 0);
    for (size_t k = 0; k < sizeof savers / sizeof *savers; k++) {
        halley_error err = {0};
        assert_int_equal(savers[k].save(t, "missing/a.et", &err), HALLEY_EIO);
        assert_non_null(strstr(err.text, "missing/a.et"));
        assert_int_equal(savers[k].save(t, "folder.et", &err), HALLEY_EIO);
        assert_non_null(strstr(err.text, "Is a directory"));
    }
    halley_trace_free(t);
}

static void a_trace_that_cannot_be_written_leaves_no_file(void **state)
{
    (void)state;
    halley_builder *b = NULL;
    halley_trace *t = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_node(b, 0, 0, (halley_bytes){"", 0});
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    save("a.et", "old", 3);
    halley_error err = {0};
    assert_int_equal(halley_trace_save_et(t, "a.et", &err), HALLEY_EINVAL);
    assert_untouched("a.et", "old");
    assert_int_equal(unlink("a.et"), 0);
    assert_int_equal(halley_trace_save_et(t, "a.et", &err), HALLEY_EINVAL);
    assert_int_not_equal(access("a.et", F_OK), 0);
    halley_trace_free(t);
}

/* Rank files PREFIX.i.ENDING from seeds. */
static void save_rank(const char *prefix, uint64_t rank, const char *ending,
                      uint64_t seed)
{
    char path[128];
    snprintf(path, sizeof path, "%s.%llu%s", prefix, (unsigned long long)rank, ending);
    halley_trace *const t = random_trace(seed, 5, 0);
    assert_int_equal(strstr(ending, "json") ? save_json(t, path, NULL)
                                            : halley_trace_save_et(t, path, NULL),
                     HALLEY_OK);
    halley_trace_free(t);
}

static halley_trace_set *load_set(const char *path)
{
    halley_trace_set *set = NULL;
    halley_error err = {0};
    if (halley_trace_set_load(&set, &path, 1, NULL, &err) != HALLEY_OK)
        fail_msg("%s: %s", err.file, err.text);
    return set;
}

static void set_wrong(const char *path, halley_status code, const char *words)
{
    halley_trace_set *set = NULL;
    halley_error err = {0};
    assert_int_equal(halley_trace_set_load(&set, &path, 1, NULL, &err), code);
    assert_null(set);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void a_set_is_named_by_prefix_or_folder(void **state)
{
    static const char *const endings[] = {".et", ".et.gz", ".json", ".jsonl", ".json.gz"};
    char whole[256];
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        assert_int_equal(mkdir("run", 0700), 0);
        for (uint64_t i = 0; i < 12; i++) /* 10 sorts behind 9, not behind 1 */
            save_rank("run/step", i, endings[k], i);
        save("run/notes.txt", "x", 1);
        snprintf(whole, sizeof whole, "%s/run/step", (char *)*state);
        const char *const names[] = {"run/step", "run", "run/", "./run/step", whole};
        for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
            halley_trace_set *const set = load_set(names[n]);
            assert_int_equal(halley_trace_set_count(set), 12);
            assert_int_equal(halley_trace_set_distinct(set), 12);
            for (uint32_t i = 0; i < 12; i++) {
                halley_trace *const t = random_trace(i, 5, 0);
                same_trace(t, halley_trace_set_get(set, i));
                halley_trace_free(t);
                char ending[32];
                snprintf(ending, sizeof ending, "step.%u%s", i, endings[k]);
                assert_non_null(strstr(halley_trace_set_path(set, i), ending));
            }
            halley_trace_set_free(set);
        }
        assert_int_equal(system("rm -r run"), 0);
    }
}

static void equal_ranks_share_one_trace(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 9; i++)
        save_rank("a", i, ".et", i % 3);
    halley_trace_set *const set = load_set("a");
    assert_int_equal(halley_trace_set_distinct(set), 3);
    for (uint32_t i = 3; i < 9; i++)
        assert_ptr_equal(halley_trace_set_get(set, i), halley_trace_set_get(set, i % 3));
    assert_ptr_not_equal(halley_trace_set_get(set, 0), halley_trace_set_get(set, 1));
    assert_non_null(strstr(halley_trace_set_path(set, 7), "a.7.et"));
    halley_trace_set_free(set);
}

static void a_missing_rank_is_named(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 6; i++)
        if (i != 3)
            save_rank("a", i, ".et", i);
    set_wrong("a", HALLEY_ENOTFOUND, "rank 3 is missing");
    set_wrong(".", HALLEY_ENOTFOUND, "rank 3 is missing");
    unlink("a.0.et");
    set_wrong("a", HALLEY_ENOTFOUND, "rank 0 is missing");
}

static void a_folder_with_two_sets_is_refused(void **state)
{
    (void)state;
    save_rank("a", 0, ".et", 1);
    save_rank("b", 0, ".et", 1);
    set_wrong(".", HALLEY_EINVAL, "holds more than one trace set");
    halley_trace_set_free(load_set("a"));
    save_rank("a", 0, ".json", 1);
    set_wrong("a", HALLEY_EINVAL, "holds more than one trace set");
}

static void a_set_that_is_not_there_is_refused(void **state)
{
    (void)state;
    halley_trace_set *set = NULL;
    halley_error err = {0};
    assert_int_equal(mkdir("empty", 0700), 0);
    set_wrong("empty", HALLEY_ENOTFOUND, "no trace in this folder");
    set_wrong("nothing", HALLEY_ENOTFOUND, "no such trace");
    set_wrong("no/folder/here", HALLEY_ENOTFOUND, "no such trace");
    set_wrong("", HALLEY_ENOTFOUND, "no such trace");
    assert_int_equal(halley_trace_set_load(&set, NULL, 0, NULL, &err), HALLEY_EINVAL);
}

static void files_are_ranks_by_number_or_by_order(void **state)
{
    (void)state;
    save_rank("a", 0, ".et", 0);
    save_rank("a", 1, ".et", 1);
    save_rank("b", 1, ".et", 2);
    static const struct {
        const char *paths[2];
        uint64_t seeds[2];
    } rows[] = {
        {{"a.1.et", "a.0.et"}, {0, 1}}, /* their own numbers */
        {{"b.1.et", "a.1.et"}, {2, 1}}, /* twice 1: the order given */
    };
    for (size_t k = 0; k < 2; k++) {
        halley_trace_set *set = NULL;
        assert_int_equal(halley_trace_set_load(&set, rows[k].paths, 2, NULL, NULL),
                         HALLEY_OK);
        for (uint32_t i = 0; i < 2; i++) {
            halley_trace *const t = random_trace(rows[k].seeds[i], 5, 0);
            same_trace(t, halley_trace_set_get(set, i));
            halley_trace_free(t);
        }
        halley_trace_set_free(set);
    }
}

static void a_damaged_rank_is_named(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        save_rank("a", i, ".et", i);
    save("a.2.et", "\x07\x0a\x05\x31.0.0\x50", 9);
    halley_trace_set *set = NULL;
    halley_error err = {0};
    const char *const path = "a";
    assert_int_equal(halley_trace_set_load(&set, &path, 1, NULL, &err), HALLEY_EFORMAT);
    assert_non_null(strstr(err.file, "a.2.et"));
    assert_true(err.has_offset && err.offset == 8);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter_folder, leave_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_no_file_is_refused),
        IN_FOLDER(an_unreadable_file_is_refused),
        IN_FOLDER(an_error_while_reading_is_passed_on),
        IN_FOLDER(an_empty_or_wrong_file_is_named),
        IN_FOLDER(gzip_is_read_whatever_it_is_called),
        IN_FOLDER(several_gzip_members_are_one_trace),
        IN_FOLDER(gzip_that_is_cut_or_damaged_is_refused),
        IN_FOLDER(a_full_disk_leaves_the_old_file),
        IN_FOLDER(a_full_device_is_reported),
        IN_FOLDER(a_path_that_cannot_be_written_is_refused),
        IN_FOLDER(a_trace_that_cannot_be_written_leaves_no_file),
        IN_FOLDER(a_set_is_named_by_prefix_or_folder),
        IN_FOLDER(equal_ranks_share_one_trace),
        IN_FOLDER(a_missing_rank_is_named),
        IN_FOLDER(a_folder_with_two_sets_is_refused),
        IN_FOLDER(a_set_that_is_not_there_is_refused),
        IN_FOLDER(files_are_ranks_by_number_or_by_order),
        IN_FOLDER(a_damaged_rank_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
