/* Errors. */
#include "base/error.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void an_error_is_a_sentence_and_a_code(void **state)
{
    (void)state;
    halley_error err = {0};
    assert_int_equal(error_set(&err, HALLEY_EINVAL, "%s is %d", "x", 3), HALLEY_EINVAL);
    assert_int_equal(err.code, HALLEY_EINVAL);
    assert_string_equal(err.text, "x is 3");
    assert_int_equal(error_nomem(&err), HALLEY_ENOMEM);
    assert_string_equal(err.text, "memory ran out");
    assert_int_equal(error_errno(&err, "open a", ENOENT), HALLEY_EIO);
    assert_string_equal(err.text, "cannot open a: its folder does not exist");
    assert_int_equal(error_errno(&err, "map", ENOMEM), HALLEY_ENOMEM);
}

static void nobody_has_to_listen(void **state)
{
    (void)state;
    assert_int_equal(error_set(NULL, HALLEY_EIO, "x"), HALLEY_EIO);
    assert_int_equal(error_nomem(NULL), HALLEY_ENOMEM);
    assert_int_equal(error_errno(NULL, "x", EIO), HALLEY_EIO);
    error_at_file(NULL, "a");
    error_at_line(NULL, 1, 2);
    error_at_offset(NULL, 1);
    error_at_node(NULL, 1);
    error_prefix(NULL, "x");
}

static void the_first_place_is_kept_and_a_new_error_forgets_it(void **state)
{
    (void)state;
    halley_error err = {0};
    char text[256];
    error_set(&err, HALLEY_EFORMAT, "bad");
    error_at_file(&err, "a");
    error_at_file(&err, "b");
    error_at_line(&err, 3, 4);
    error_at_line(&err, 5, 6);
    assert_string_equal(halley_error_format(&err, text, sizeof text), "a:3:4: bad");
    error_set(&err, HALLEY_EFORMAT, "worse");
    error_at_offset(&err, 0);
    error_at_offset(&err, 7);
    error_at_node(&err, 12);
    error_at_node(&err, 13);
    assert_string_equal(halley_error_format(&err, text, sizeof text),
                        "byte 0: node 12: worse");
    error_at_file(&err, "c.et");
    assert_string_equal(halley_error_format(&err, text, sizeof text),
                        "c.et: byte 0: node 12: worse");
}

static void words_go_before_the_sentence(void **state)
{
    (void)state;
    halley_error err = {0};
    error_set(&err, HALLEY_EINVAL, "bad");
    error_at_node(&err, 5);
    error_prefix(&err, "rank %d", 3);
    assert_string_equal(err.text, "rank 3: bad");
    error_prefix(&err, "in all ");
    assert_string_equal(err.text, "in all rank 3: bad");
    assert_int_equal(err.node, 5);
    assert_int_equal(err.code, HALLEY_EINVAL);
}

static void an_error_may_be_made_from_its_own_text(void **state)
{
    (void)state;
    halley_error err = {0};
    error_set(&err, HALLEY_EINVAL, "bad");
    error_set(&err, HALLEY_EIO, "%s and %s", err.text, err.text);
    assert_string_equal(err.text, "bad and bad");
}

static void input_cannot_write_on_the_terminal(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"a\nb\tc", "a\\x0ab\\x09c"},
        {"\x1b[31mred", "\\x1b[31mred"},
        {"\x7f", "\\x7f"},
        {"\xc2\x9b", "\\xc2\\x9b"}, /* the one-byte CSI of C1 */
        {"\xc2\xa0 \xc3\xa9 \xf0\x9f\x9a\x80", "\xc2\xa0 \xc3\xa9 \xf0\x9f\x9a\x80"},
        {"\xff\xc3", "\\xff\\xc3"},
        {"\xed\xa0\x80", "\\xed\\xa0\\x80"}, /* a surrogate */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_error err = {0};
        error_set(&err, HALLEY_EINVAL, "%s", rows[i][0]);
        error_at_file(&err, rows[i][0]);
        assert_string_equal(err.text, rows[i][1]);
        assert_string_equal(err.file, rows[i][1]);
    }
}

static void a_long_sentence_is_cut_between_characters(void **state)
{
    (void)state;
    static char text[4 * HALLEY_ERROR_TEXT];
    for (size_t shift = 0; shift < 3; shift++) {
        halley_error err = {0};
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof text; i += 2)
            memcpy(text + i, "\xc3\xa9", 3);
        error_set(&err, HALLEY_EINVAL, "%s", text);
        assert_in_range(strlen(err.text), HALLEY_ERROR_TEXT - 4, HALLEY_ERROR_TEXT - 1);
        assert_null(strchr(err.text, '\\'));
        error_prefix(&err, "x");
        assert_null(strchr(err.text, '\\'));
        memset(text, '\n', sizeof text - 1);
        error_set(&err, HALLEY_EINVAL, "%s", text);
        assert_string_equal(err.text + strlen(err.text) - 4, "\\x0a");
    }
}

static void formatting_never_overruns(void **state)
{
    (void)state;
    halley_error err = {0};
    error_set(&err, HALLEY_EINVAL, "sentence");
    error_at_file(&err, "file");
    error_at_line(&err, 10, 20);
    error_at_offset(&err, 30);
    error_at_node(&err, 40);
    char whole[128];
    halley_error_format(&err, whole, sizeof whole);
    assert_string_equal(whole, "file:10:20: byte 30: node 40: sentence");
    for (size_t size = 1; size < sizeof whole; size++) {
        char text[130];
        memset(text, '#', sizeof text);
        halley_error_format(&err, text, size);
        assert_true(strlen(text) < size);
        assert_memory_equal(text, whole, strlen(text));
        assert_int_equal(text[size], '#');
    }
    assert_string_equal(halley_error_format(&(halley_error){0}, whole, sizeof whole),
                        "no error");
}

static void every_status_has_words(void **state)
{
    (void)state;
    for (int i = HALLEY_OK; i <= HALLEY_ECANCELED; i++)
        assert_string_not_equal(halley_status_text((halley_status)i), "unknown status");
    assert_string_equal(halley_status_text((halley_status)99), "unknown status");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_a_sentence_and_a_code),
        cmocka_unit_test(nobody_has_to_listen),
        cmocka_unit_test(the_first_place_is_kept_and_a_new_error_forgets_it),
        cmocka_unit_test(words_go_before_the_sentence),
        cmocka_unit_test(an_error_may_be_made_from_its_own_text),
        cmocka_unit_test(input_cannot_write_on_the_terminal),
        cmocka_unit_test(a_long_sentence_is_cut_between_characters),
        cmocka_unit_test(formatting_never_overruns),
        cmocka_unit_test(every_status_has_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
