/* Which sets lie in files and folders. */
#include "alloc_fail.h"
#include "folder.h"
#include "trace/core/set_files.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void touch(const char *path)
{
    FILE *const f = fopen(path, "w");
    assert_non_null(f);
    assert_int_equal(fclose(f), 0);
}

/* What is found, as "name=file+file name=file". */
static const char *found(const char *const *from, size_t n)
{
    static char text[1024];
    trace_found f = {0};
    halley_error err = {0};
    size_t at = 0;
    if (trace_find(&f, from, n, true, &err) != HALLEY_OK)
        fail_msg("%s: %s", err.file, err.text);
    text[0] = '\0';
    for (size_t i = 0; i < f.list.n; i++) {
        const trace_found_set *const s = &f.list.at[i];
        at +=
            (size_t)snprintf(text + at, sizeof text - at, "%s%s=", i ? " " : "", s->name);
        for (size_t k = 0; k < s->n; k++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", k ? "+" : "",
                                   f.files.at[s->first + k]);
    }
    trace_found_fini(&f);
    return text;
}

static void names_are_taken_apart(void **state)
{
    static const struct {
        const char *path, *stem;
        int rank; /* -1 = no number */
    } cases[] = {
        {"x.3.et", "x", 3},
        {"a/x.12.et.gz", "a/x", 12},
        {"x.0.json", "x", 0},
        {"x.0.jsonl.gz", "x", 0},
        {"a.b.4294967296.jsonl", "a.b", 0}, /* beyond 32 bits */
        {"x.et", "x", -1},
        {"x.03.et", "x.03", -1},
        {"x.-1.et", "x.-1", -1},
        {"x.99999999999.et", "x.99999999999", -1},
        {"7.et", "7", -1},
        {"a/7.et", "a/7", -1},
        {"a/.7.et", "a/", 7},
        {"x.3.txt", "x.3.txt", -1},
        {"x.3", "x.3", -1},
        {".et", "", -1},
        {"", "", -1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trace_file f = {0};
        const bool numbered = trace_file_split(cases[i].path, &f);
        const str stem = trace_file_stem(cases[i].path);
        if (numbered != (cases[i].rank >= 0) || !str_eq(stem, str_from(cases[i].stem)) ||
            (numbered && (uint32_t)f.rank != (uint32_t)cases[i].rank))
            fail_msg("%s: %.*s, %d", cases[i].path, STR_ARG(stem), numbered);
    }
}

static void folders_are_searched_to_any_depth_and_listed_by_name(void **state)
{
    static const char *const files[] = {
        "c/b/s.1.et",           "c/b/s.0.et",
        "c/b/s.10.et",          "c/b/s.2.et",
        "c/a.0.jsonl",          "c/a.1.jsonl",
        "c/b/d/e/deep.0.et.gz", "c/one.et",
        "c/two.jsonl.gz",       "c/j.0.json", /* beside them, what is no trace: */
        "c/a.conditions.json",  "c/b/s.comm_group.json",
        "c/comm_group.json",    "c/notes.txt",
        "c/.hidden.0.et",       "c/one.json"};
    (void)state;
    assert_int_equal(system("mkdir -p c/b/d/e c/.git && ln -s . c/again"), 0);
    touch("c/.git/x.0.et");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        touch(files[i]);
    const char *const expected = "c/a=c/a.0.jsonl+c/a.1.jsonl "
                                 "c/b/d/e/deep=c/b/d/e/deep.0.et.gz "
                                 "c/b/s=c/b/s.0.et+c/b/s.1.et+c/b/s.2.et+c/b/s.10.et "
                                 "c/j=c/j.0.json c/one.et=c/one.et "
                                 "c/two.jsonl.gz=c/two.jsonl.gz";
    const char *from[] = {"c", "c/b/s", "c/b/s.1.et", "c/"};
    assert_string_equal(found(from, 1), expected);
    assert_string_equal(found(from, 3), expected); /* named twice counts once */
}

static void files_and_prefixes_are_taken_as_they_are_named(void **state)
{
    static const struct {
        const char *from, *expected;
    } cases[] = {
        {"c/x", "c/x=c/x.0.et+c/x.1.et"},        {"c/x.1.et", "c/x=c/x.1.et"},
        {"c/one.json", "c/one.json=c/one.json"}, {"c/missing", "c/missing=c/missing"},
        {"nowhere/x", "nowhere/x=nowhere/x"},
    };
    (void)state;
    assert_int_equal(mkdir("c", 0700), 0);
    touch("c/x.0.et");
    touch("c/x.1.et");
    touch("c/xy.0.et");
    touch("c/one.json");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(found(&cases[i].from, 1), cases[i].expected);
}

static void a_set_in_two_forms_counts_once(void **state)
{
    (void)state;
    assert_int_equal(mkdir("c", 0700), 0);
    touch("c/x.0.jsonl");
    touch("c/x.1.jsonl");
    touch("c/x.0.et");
    touch("c/x.1.et");
    touch("c/x.0.json");
    const char *const from = "c";
    assert_string_equal(found(&from, 1), "c/x=c/x.0.et+c/x.1.et");
}

static void a_set_that_lacks_a_rank_is_refused_unless_its_files_are_named(void **state)
{
    (void)state;
    assert_int_equal(mkdir("c", 0700), 0);
    touch("c/x.0.et");
    touch("c/x.2.et");
    for (int named = 0; named < 2; named++) {
        trace_found f = {0};
        halley_error err = {0};
        halley_trace_set *set = NULL;
        const char *const from[] = {"c", "c/x.2.et"};
        assert_int_equal(trace_find(&f, from, named ? 2 : 1, true, &err), HALLEY_OK);
        assert_int_equal(f.list.n, 1);
        assert_int_not_equal(trace_found_load(&set, &f, 0, 0, &err), HALLEY_OK);
        /* the files are empty: one that is read says so */
        assert_int_equal(strstr(err.text, "rank 1 is missing") == NULL, named);
        trace_found_fini(&f);
    }
}

/* A folder whose path is too long cannot be opened, not even by root. */
static void a_folder_that_cannot_be_opened_is_counted_or_refused(void **state)
{
    char name[256];
    (void)state;
    memset(name, 'd', 255);
    name[255] = '\0';
    assert_int_equal(mkdir("c", 0700), 0);
    touch("c/x.0.et");
    assert_int_equal(chdir("c"), 0);
    for (int i = 0; i < 17; i++) {
        assert_int_equal(mkdir(name, 0700), 0);
        assert_int_equal(chdir(name), 0);
    }
    assert_int_equal(chdir(folder), 0);
    const char *const from = "c";
    trace_found f = {0};
    assert_int_equal(trace_find(&f, &from, 1, false, NULL), HALLEY_OK);
    assert_int_equal(f.list.n, 1);
    assert_int_equal(f.n_unreadable, 1);
    assert_non_null(strstr(f.why.text, "open this folder"));
    trace_found_fini(&f);
    halley_error err = {0};
    f = (trace_found){0};
    assert_int_equal(trace_find(&f, &from, 1, true, &err), HALLEY_EIO);
    assert_non_null(strstr(err.text, "open this folder"));
    trace_found_fini(&f);
}

static halley_status find_it(void *context, halley_error *err)
{
    static const char *const from[] = {"c", "c/a", "c/d/b.0.et"};
    trace_found f = {0};
    (void)context;
    const halley_status status = trace_find(&f, from, 3, false, err);
    trace_found_fini(&f);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    assert_int_equal(system("mkdir -p c/d && cd c && touch a.0.et a.1.et d/b.0.et"), 0);
    assert_true(alloc_fail_everywhere(find_it, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_taken_apart),
        cmocka_unit_test_setup_teardown(
            folders_are_searched_to_any_depth_and_listed_by_name, folder_enter,
            folder_leave),
        cmocka_unit_test_setup_teardown(files_and_prefixes_are_taken_as_they_are_named,
                                        folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(a_set_in_two_forms_counts_once, folder_enter,
                                        folder_leave),
        cmocka_unit_test_setup_teardown(
            a_set_that_lacks_a_rank_is_refused_unless_its_files_are_named, folder_enter,
            folder_leave),
        cmocka_unit_test_setup_teardown(
            a_folder_that_cannot_be_opened_is_counted_or_refused, folder_enter,
            folder_leave),
        cmocka_unit_test_setup_teardown(running_out_of_memory_is_reported, folder_enter,
                                        folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
