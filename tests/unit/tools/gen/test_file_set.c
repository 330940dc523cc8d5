/* Sets of files that appear together, and what a signal handler removes. */
#include "alloc_fail.h"
#include "base/file/file.h"
#include "base/file/file_temporary.h"
#include "base/pool.h"
#include "folder.h"
#include "halley/unfinished.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Entries of the folder, hidden ones included. */
static size_t count_files(const char *path)
{
    size_t n = 0;
    DIR *opened = opendir(path);
    assert_non_null(opened);
    while (readdir(opened) != NULL)
        n++;
    closedir(opened);
    return n - 2;
}

static void expect_content(const char *path, const char *text)
{
    file_input in;
    assert_int_equal(file_input_open(&in, path, NULL), HALLEY_OK);
    assert_int_equal(in.n, strlen(text));
    assert_memory_equal(in.at, text, in.n);
    file_input_close(&in);
}

static halley_status write_file(const char *path, const char *text, halley_error *err)
{
    file_output *out;
    TRY(file_output_open(&out, path, err));
    file_output_str(out, str_from(text));
    return file_output_commit(out, err);
}

static file_set *open_set(void)
{
    file_set *set = NULL;
    assert_int_equal(file_set_open(&set, NULL), HALLEY_OK);
    return set;
}

static void put_text(file_set *set, const char *path, const char *text)
{
    assert_int_equal(file_set_put(set, path, text, strlen(text), NULL), HALLEY_OK);
}

static void files_of_a_set_appear_together(void **state)
{
    (void)state;
    file_set *set = open_set();
    put_text(set, "a", "one");
    const char *name = NULL;
    assert_int_equal(file_set_add(set, &name, "b.gz", false, NULL), HALLEY_OK);
    assert_true(str_ends(str_from(name), STR(".gz")));
    assert_int_equal(write_file(name, "two", NULL), HALLEY_OK);
    assert_false(file_exists("a") || file_exists("b.gz"));
    assert_int_equal(count_files("."), 2);
    assert_int_equal(file_set_commit(set, NULL), HALLEY_OK);
    expect_content("a", "one");
    expect_content("b.gz", "two");
    assert_int_equal(count_files("."), 2);
}

/* A file, and a set of which one file is written through its temporary name. */
static void write_file_and_set(void)
{
    const char *name = NULL;
    assert_int_equal(write_file("a", "one", NULL), HALLEY_OK);
    file_set *set = open_set();
    put_text(set, "b", "two");
    assert_int_equal(file_set_add(set, &name, "c", false, NULL), HALLEY_OK);
    assert_int_equal(write_file(name, "three", NULL), HALLEY_OK);
    assert_int_equal(file_set_commit(set, NULL), HALLEY_OK);
}

static void files_that_are_held_appear_at_the_end(void **state)
{
    (void)state;
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    write_file_and_set();
    assert_int_equal(file_hold_end(HALLEY_OK, NULL), HALLEY_OK); /* the inner one */
    assert_false(file_exists("a") || file_exists("b") || file_exists("c"));
    assert_int_equal(file_hold_end(HALLEY_OK, NULL), HALLEY_OK);
    expect_content("a", "one");
    expect_content("b", "two");
    expect_content("c", "three");
    assert_int_equal(count_files("."), 3);
    assert_int_equal(write_file("d", "four", NULL), HALLEY_OK);
    expect_content("d", "four"); /* held no more */
}

static void a_call_that_fails_late_leaves_no_file(void **state)
{
    (void)state;
    assert_int_equal(write_file("a", "old", NULL), HALLEY_OK);
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    write_file_and_set();
    file_set *given_up = open_set();
    const char *name = NULL;
    assert_int_equal(file_set_add(given_up, &name, "d", false, NULL), HALLEY_OK);
    assert_int_equal(write_file(name, "four", NULL), HALLEY_OK);
    file_set_abort(given_up);
    assert_int_equal(file_hold_end(HALLEY_ENOMEM, NULL), HALLEY_ENOMEM);
    expect_content("a", "old");
    assert_int_equal(count_files("."), 1);
}

/* A folder of many files, and one that is made for files written one by one. */
static void fill_folders(const char *many, const char *made)
{
    file_folder *filled = NULL;
    assert_int_equal(file_folder_open(&filled, many, NULL), HALLEY_OK);
    assert_int_equal(file_folder_put(filled, "a", "one", 3, NULL), HALLEY_OK);
    assert_int_equal(file_folder_put(filled, "b", "two", 3, NULL), HALLEY_OK);
    assert_int_equal(file_folder_commit(filled, NULL), HALLEY_OK);
    assert_int_equal(file_folder_make(made, NULL), HALLEY_OK);
    assert_int_equal(write_file("made/c", "three", NULL), HALLEY_OK);
}

static void folders_that_are_held_appear_at_the_end(void **state)
{
    (void)state;
    assert_int_equal(mkdir("there", 0700), 0);
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    fill_folders("many", "made");
    fill_folders("there", "made/");
    assert_false(file_exists("many") || file_exists("there/a"));
    assert_int_equal(file_hold_end(HALLEY_OK, NULL), HALLEY_OK);
    expect_content("many/a", "one");
    expect_content("there/b", "two");
    expect_content("made/c", "three");
    assert_int_equal(count_files("."), 3);
    assert_int_equal(count_files("there"), 2);
    assert_int_equal(count_files("made"), 1);
}

static void a_call_that_fails_leaves_only_folders_that_were_there(void **state)
{
    (void)state;
    assert_int_equal(mkdir("there", 0700), 0);
    for (int was_there = 0; was_there < 2; was_there++) {
        assert_int_equal(was_there ? mkdir("made", 0700) : 0, 0);
        assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
        fill_folders("many", "made");
        fill_folders("there", "made");
        assert_int_equal(file_hold_end(HALLEY_EIO, NULL), HALLEY_EIO);
        assert_int_equal(count_files("."), 1 + was_there);
        assert_int_equal(count_files("there"), 0);
    }
    assert_int_equal(count_files("made"), 0);
    assert_int_equal(rmdir("made"), 0);
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    fill_folders("many", "made");
    assert_int_equal(mkdir("made/of others", 0700), 0);
    assert_int_equal(file_hold_end(HALLEY_EIO, NULL), HALLEY_EIO);
    assert_int_equal(count_files("made"), 1);
}

/* A name that is taken in the meantime stops the last step of the call. */
static void a_folder_that_cannot_be_named_takes_the_others_away(void **state)
{
    (void)state;
    assert_int_equal(mkdir("there", 0700), 0);
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    fill_folders("there", "made");
    fill_folders("first", "made");
    fill_folders("many", "made");
    assert_int_equal(mkdir("many", 0700), 0);
    assert_int_equal(mkdir("many/of others", 0700), 0);
    halley_error err;
    assert_int_equal(file_hold_end(HALLEY_OK, &err), HALLEY_EIO);
    assert_non_null(strstr(err.text, "cannot write many: "));
    assert_int_equal(count_files("."), 2);
    assert_int_equal(count_files("there"), 0);
}

static void a_file_that_is_held_can_be_read_back(void **state)
{
    (void)state;
    assert_int_equal(write_file("old", "text", NULL), HALLEY_OK);
    assert_int_equal(symlink("old", "link"), 0);
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    write_file_and_set();
    assert_int_equal(write_file("link", "new", NULL), HALLEY_OK);
    expect_content(file_held_name("a"), "one");
    expect_content(file_held_name("c"), "three");
    expect_content(file_held_name("link"), "new");
    expect_content(file_held_name("old"), "new");
    expect_content("old", "text");
    assert_string_equal(file_held_name("none"), "none");
    assert_int_equal(file_hold_end(HALLEY_OK, NULL), HALLEY_OK);
    assert_string_equal(file_held_name("a"), "a");
    expect_content("old", "new");
}

static void a_file_for_the_next_call_is_not_held(void **state)
{
    (void)state;
    file_output *out = NULL;
    assert_int_equal(file_hold_begin(NULL), HALLEY_OK);
    assert_int_equal(file_output_open(&out, "state", NULL), HALLEY_OK);
    file_output_str(out, STR("step 7"));
    assert_int_equal(file_output_commit_now(out, NULL), HALLEY_OK);
    expect_content("state", "step 7");
    assert_int_equal(file_hold_end(HALLEY_EIO, NULL), HALLEY_EIO);
    expect_content("state", "step 7");
}

static halley_status hold_folders(void *context, halley_error *err)
{
    (void)context;
    file_folder *filled = NULL;
    TRY(file_hold_begin(err));
    halley_status status = file_folder_make("made", err);
    if (status == HALLEY_OK)
        status = write_file("made/a", "one", err);
    if (status == HALLEY_OK)
        status = file_folder_open(&filled, "there", err);
    if (status == HALLEY_OK) {
        status = file_folder_put(filled, "b", "two", 3, err);
        if (status == HALLEY_OK)
            status = file_folder_commit(filled, err);
        else
            file_folder_abort(filled);
    }
    status = file_hold_end(status, err);
    const bool kept = file_exists("made") || file_exists("there/b");
    assert_true(kept == (status == HALLEY_OK));
    (void)unlink("made/a");
    (void)unlink("there/b");
    (void)rmdir("made");
    return status;
}

static void running_out_of_memory_leaves_no_folder(void **state)
{
    (void)state;
    assert_int_equal(mkdir("there", 0700), 0);
    assert_true(alloc_fail_everywhere(hold_folders, NULL) > 5);
    assert_int_equal(count_files("."), 1);
    assert_int_equal(count_files("there"), 0);
}

static void what_was_announced_must_be_written_unless_it_may_miss(void **state)
{
    (void)state;
    for (int may_miss = 0; may_miss < 2; may_miss++) {
        const char *name = NULL;
        file_set *set = open_set();
        put_text(set, "a", "one");
        assert_int_equal(file_set_add(set, &name, "b", may_miss, NULL), HALLEY_OK);
        assert_int_equal(file_set_commit(set, NULL), may_miss ? HALLEY_OK : HALLEY_EIO);
        assert_int_equal(count_files("."), may_miss ? 1 : 0);
    }
}

static void an_abandoned_set_leaves_the_old_files(void **state)
{
    (void)state;
    assert_int_equal(write_file("a", "old", NULL), HALLEY_OK);
    file_set *set = open_set();
    const char *name = NULL;
    put_text(set, "a", "new");
    put_text(set, "b", "new");
    assert_int_equal(file_set_add(set, &name, "c", true, NULL), HALLEY_OK);
    file_set_abort(set);
    expect_content("a", "old");
    assert_int_equal(count_files("."), 1);
    file_set_abort(NULL);
}

static void a_replaced_file_of_a_set_keeps_its_mode_and_link(void **state)
{
    (void)state;
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(write_file("folder/a", "old", NULL), HALLEY_OK);
    assert_int_equal(chmod("folder/a", 0604), 0);
    assert_int_equal(symlink("folder/a", "link"), 0);
    const mode_t before = umask(027);
    file_set *set = open_set();
    put_text(set, "link", "new");
    put_text(set, "fresh", "new");
    assert_int_equal(file_set_commit(set, NULL), HALLEY_OK);
    umask(before);
    struct stat about;
    assert_int_equal(lstat("link", &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    expect_content("folder/a", "new");
    assert_int_equal(stat("folder/a", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0604);
    assert_int_equal(stat("fresh", &about), 0);
    assert_int_equal(about.st_mode & 07777, 0640);
}

static void a_set_that_cannot_be_written_leaves_nothing(void **state)
{
    (void)state;
    halley_error err = {0};
    file_set *set = open_set();
    put_text(set, "a", "one");
    assert_int_equal(mkdir("folder", 0700), 0);
    assert_int_equal(file_set_put(set, "folder", "x", 1, &err), HALLEY_EIO);
    assert_string_equal(err.text, "cannot write folder: Is a directory");
    assert_int_equal(file_set_put(set, "none/b", "x", 1, &err), HALLEY_EIO);
    assert_non_null(strstr(err.text, "does not exist"));
    /* A folder takes a name between writing and committing. */
    put_text(set, "late", "x");
    assert_int_equal(mkdir("late", 0700), 0);
    assert_int_equal(file_set_commit(set, &err), HALLEY_EIO);
    assert_int_equal(count_files("."), 2); /* the two folders */
}

static void a_disk_that_fills_up_leaves_no_set(void **state)
{
    (void)state;
    static char large[1 << 16];
    struct rlimit before, low = {.rlim_cur = 1 << 15};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low.rlim_max = before.rlim_max;
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    halley_error err = {0};
    file_set *set = open_set();
    put_text(set, "a", "small");
    assert_int_equal(file_set_put(set, "b", large, sizeof large, &err), HALLEY_EIO);
    assert_non_null(strstr(err.text, "File too large"));
    file_set_abort(set);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(count_files("."), 0);
}

static void special_files_are_no_members_of_a_set(void **state)
{
    (void)state;
    file_set *set = open_set();
    const char *name = NULL;
    assert_int_equal(file_set_add(set, &name, "/dev/null", false, NULL), HALLEY_OK);
    assert_string_equal(name, "/dev/null");
    put_text(set, "/dev/null", "text");
    assert_int_equal(file_set_commit(set, NULL), HALLEY_OK);
    struct stat about;
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

static halley_status put_numbered(void *context, size_t i, uint32_t worker,
                                  halley_error *err)
{
    char path[32];
    (void)worker;
    snprintf(path, sizeof path, "file.%zu", i);
    return file_set_put(context, path, path, strlen(path), err);
}

static void many_threads_fill_one_set(void **state)
{
    (void)state;
    file_set *set = open_set();
    assert_int_equal(pool_run(4, 300, put_numbered, set, NULL), HALLEY_OK);
    assert_int_equal(file_set_commit(set, NULL), HALLEY_OK);
    assert_int_equal(count_files("."), 300);
    expect_content("file.299", "file.299");
}

static halley_status write_set(void *context, halley_error *err)
{
    (void)context;
    file_set *set;
    const char *name;
    TRY(file_set_open(&set, err));
    halley_status status = file_set_put(set, "a", "x", 1, err);
    if (status == HALLEY_OK)
        status = file_set_add(set, &name, "b", false, err);
    if (status == HALLEY_OK)
        status = write_file(name, "y", err);
    if (status == HALLEY_OK)
        return file_set_commit(set, err);
    file_set_abort(set);
    return status;
}

static void running_out_of_memory_leaves_no_set(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(write_set, NULL) > 5);
    assert_int_equal(count_files("."), 2);
}

/* What the handler of a program does, in a process of its own. */
static void remove_and_end(int number)
{
    (void)number;
    _exit(halley_unfinished_remove() >= 7 ? 0 : 9);
}

static int write_until_signal(void)
{
    file_output *out;
    file_folder *many;
    file_set *set;
    const char *name;
    signal(SIGTERM, remove_and_end);
    bool ok = file_output_open(&out, "one", NULL) == HALLEY_OK &&
              file_folder_open(&many, "many", NULL) == HALLEY_OK &&
              file_set_open(&set, NULL) == HALLEY_OK &&
              file_set_put(set, "a", "x", 1, NULL) == HALLEY_OK &&
              file_set_add(set, &name, "b", false, NULL) == HALLEY_OK &&
              write_file(name, "y", NULL) == HALLEY_OK;
    for (int i = 0; ok && i < 500; i++) {
        char path[32];
        snprintf(path, sizeof path, "%d", i);
        ok = file_folder_put(many, path, path, 1, NULL) == HALLEY_OK;
    }
    ok = ok && file_hold_begin(NULL) == HALLEY_OK &&
         file_folder_make("made", NULL) == HALLEY_OK &&
         file_folder_make("made/inner", NULL) == HALLEY_OK &&
         write_file("made/inner/a", "z", NULL) == HALLEY_OK;
    if (ok && count_files(".") == 5)
        raise(SIGTERM);
    return 8;
}

static void a_signal_handler_removes_what_is_not_finished(void **state)
{
    (void)state;
    assert_int_equal(write_file("finished", "text", NULL), HALLEY_OK);
    assert_int_equal(unlink("finished"), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(write_until_signal());
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(count_files("."), 0);
}

static halley_status put_for_ever(void *context, size_t i, uint32_t worker,
                                  halley_error *err)
{
    (void)worker;
    for (size_t k = 0;; k++) {
        char path[48];
        snprintf(path, sizeof path, "file.%zu.%zu", i, k);
        if (i == 0 && k == 20)
            kill(getpid(), SIGTERM);
        TRY(file_set_put(context, path, "x", 1, err));
    }
}

static void end_process(int number)
{
    (void)halley_unfinished_remove();
    signal(number, SIG_DFL);
    raise(number);
}

/* The handler runs in one thread while three others create files. */
static void nothing_is_left_by_threads_that_go_on(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            file_set *set = open_set();
            signal(SIGTERM, end_process);
            (void)pool_run(4, 4, put_for_ever, set, NULL);
            pause(); /* where the handler runs in another thread */
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        assert_int_equal(count_files("."), 0);
    }
}

static int make_nothing(const char *path, void *context)
{
    (void)path;
    (void)context;
    return 0;
}

static void temporary_names_differ_and_their_places_are_used_again(void **state)
{
    (void)state;
    enum { N = 5000 }; /* more than one block of the list */
    static file_temporary *all[N];
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < N; i++) {
            assert_int_equal(
                file_temporary_new(&all[i], "a/name", false, make_nothing, NULL), 0);
            assert_true(str_starts(str_from(all[i]->path), STR("a/.name.")));
            assert_true(i == 0 || strcmp(all[i]->path, all[i - 1]->path) != 0);
        }
        for (int i = 0; i < N; i++) {
            assert_true(all[i]->slot < N + 64);
            file_temporary_free(all[i]);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, folder_enter, folder_leave)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(files_of_a_set_appear_together),
        TEST(files_that_are_held_appear_at_the_end),
        TEST(a_call_that_fails_late_leaves_no_file),
        TEST(folders_that_are_held_appear_at_the_end),
        TEST(a_call_that_fails_leaves_only_folders_that_were_there),
        TEST(a_folder_that_cannot_be_named_takes_the_others_away),
        TEST(a_file_that_is_held_can_be_read_back),
        TEST(a_file_for_the_next_call_is_not_held),
        TEST(running_out_of_memory_leaves_no_folder),
        TEST(what_was_announced_must_be_written_unless_it_may_miss),
        TEST(an_abandoned_set_leaves_the_old_files),
        TEST(a_replaced_file_of_a_set_keeps_its_mode_and_link),
        TEST(a_set_that_cannot_be_written_leaves_nothing),
        TEST(a_disk_that_fills_up_leaves_no_set),
        TEST(special_files_are_no_members_of_a_set),
        TEST(many_threads_fill_one_set),
        TEST(running_out_of_memory_leaves_no_set),
        TEST(a_signal_handler_removes_what_is_not_finished),
        TEST(nothing_is_left_by_threads_that_go_on),
        TEST(temporary_names_differ_and_their_places_are_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
