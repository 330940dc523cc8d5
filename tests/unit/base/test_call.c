/* What a call may do with its files, and how it ends. */
#include "base/call.h"
#include "base/file/file.h"
#include "base/file/file_look.h"
#include "base/pool.h"
#include "unit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void make_file(const char *path)
{
    strbuf text = {0};
    strbuf_add(&text, STR("precious"));
    assert_int_equal(file_save(path, &text, NULL), HALLEY_OK);
}

static void begin(void)
{
    const halley_watch *none = NULL;
    assert_int_equal(call_begin(&none, "testing", NULL), HALLEY_OK);
    assert_null(none);
}

static halley_status read_file(const char *path, halley_error *err)
{
    file_input in;
    const halley_status status = file_input_open(&in, path, err);
    if (status == HALLEY_OK)
        file_input_close(&in);
    return status;
}

static halley_status write_file(const char *path, halley_error *err)
{
    strbuf text = {0};
    strbuf_add(&text, STR("new"));
    return file_save(path, &text, err);
}

static void what_is_read_is_not_written_over(void **state)
{
    (void)state;
    halley_error err = {0};
    make_file("call.a");
    make_file("call.b");
    (void)unlink("call.hard");
    assert_int_equal(link("call.a", "call.hard"), 0);
    begin();
    assert_int_equal(read_file("call.a", &err), HALLEY_OK);
    assert_int_equal(write_file("call.b", &err), HALLEY_OK);
    assert_int_equal(call_failure(&err), HALLEY_OK);
    assert_int_equal(write_file("./call.hard", &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "would write over this file"));
    assert_string_equal(err.file, "./call.hard");
    err = (halley_error){0};
    assert_int_equal(call_failure(&err), HALLEY_EINVAL);
    assert_string_equal(err.file, "./call.hard");
    call_end();
    assert_int_equal(write_file("call.a", &err), HALLEY_OK);
    unlink("call.a");
    unlink("call.b");
    unlink("call.hard");
}

static halley_status read_in_thread(void *context, size_t i, uint32_t worker,
                                    halley_error *err)
{
    (void)i;
    (void)worker;
    return read_file(context, err);
}

static void what_is_to_be_written_over_is_not_read(void **state)
{
    (void)state;
    char path[] = "call.a";
    halley_error err = {0};
    struct stat about;
    make_file(path);
    assert_int_equal(stat(path, &about), 0);
    begin();
    call_set_remedy(", or pray");
    assert_int_equal(call_writes(&about, "--report", path, &err), HALLEY_OK);
    assert_int_equal(pool_run(4, 8, read_in_thread, path, &err), HALLEY_EINVAL);
    assert_string_equal(err.text, "--report would write over this file, which the "
                                  "command reads; choose another name, or pray");
    call_end();
    begin();
    call_allow_replacing();
    assert_int_equal(read_file(path, &err), HALLEY_OK);
    assert_int_equal(write_file(path, &err), HALLEY_OK);
    call_end();
    unlink(path);
}

static void what_cannot_be_looked_at_fails_the_call(void **state)
{
    (void)state;
    halley_error err = {0};
    char longest[300];
    struct stat about;
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    (void)unlink("call.loop");
    assert_int_equal(symlink("call.loop", "call.loop"), 0);
    begin();
    assert_false(file_exists("call.none") || file_exists("/dev/null/none"));
    assert_false(file_exists(longest));
    assert_int_equal(call_failure(&err), HALLEY_OK);
    assert_false(file_is_regular("call.loop"));
    assert_int_equal(file_look("call.loop", &about), ELOOP);
    assert_int_equal(call_failure(&err), HALLEY_EIO);
    assert_string_equal(err.file, "call.loop");
    call_end();
    unlink("call.loop");
}

static bool look_and_cancel(void *context, const halley_progress *now)
{
    (void)now;
    return atomic_fetch_add((atomic_int *)context, 1) < 3;
}

static halley_status turn_for_ever(void *context, size_t i, uint32_t worker,
                                   halley_error *err)
{
    (void)context;
    (void)i;
    (void)worker;
    while (call_goes_on())
        continue;
    return call_check(err);
}

static void every_thread_of_a_call_is_cancelled(void **state)
{
    (void)state;
    halley_error err = {0};
    atomic_int n_looks = 0;
    const halley_watch watch = {look_and_cancel, &n_looks}, *used = &watch, *nested;
    assert_int_equal(call_begin(&used, "turning", &err), HALLEY_OK);
    nested = used;
    assert_int_equal(call_begin(&nested, "within", &err), HALLEY_OK);
    assert_ptr_equal(nested, used);
    call_end();
    assert_int_equal(pool_run(4, 4, turn_for_ever, NULL, &err), HALLEY_ECANCELED);
    assert_string_equal(err.text, "turning was cancelled");
    assert_int_equal(n_looks, 4);
    assert_false(used->look(used->context, &(halley_progress){"x", "y", 0, 0}));
    call_end();
    assert_true(call_goes_on());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_read_is_not_written_over),
        cmocka_unit_test(what_is_to_be_written_over_is_not_read),
        cmocka_unit_test(what_cannot_be_looked_at_fails_the_call),
        cmocka_unit_test(every_thread_of_a_call_is_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
