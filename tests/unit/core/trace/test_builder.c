/* The builder: what it refuses, what it tidies, and that failures stay. */
#include "et_bytes.h"
#include "same_trace.h"

static halley_builder *start(void)
{
    halley_builder *b = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    return b;
}

static void finish_wrong(halley_builder *b, halley_status code, const char *words)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    assert_int_equal(halley_builder_finish(&t, b, &err), code);
    assert_null(t);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, words))
        fail_msg("\"%s\" does not say \"%s\"", err.text, words);
}

static void what_belongs_to_a_node_needs_one(void **state)
{
    (void)state;
    const halley_io io = {.present = true};
    const halley_attr attr = {.kind = HALLEY_ATTR_BOOL};
    for (int k = 0; k < 7; k++) {
        halley_builder *const b = start();
        const halley_status status =
            k == 0   ? halley_builder_time(b, 1, 1)
            : k == 1 ? halley_builder_data(b, 1)
            : k == 2 ? halley_builder_ctrl(b, 1)
            : k == 3 ? halley_builder_inputs(b, &io)
            : k == 4 ? halley_builder_outputs(b, &io)
            : k == 5 ? halley_builder_attr(b, &attr)
                     : halley_builder_unknown(b, (halley_bytes){"\xf8\x07\x01", 3});
        assert_int_equal(status, HALLEY_EINVAL);
        /* It stays so, whatever comes. */
        assert_int_equal(halley_builder_node(b, 1, 4, (halley_bytes){"a", 1}),
                         HALLEY_EINVAL);
        finish_wrong(b, HALLEY_EINVAL, "there is no node yet");
    }
}

static void values_are_cut_to_their_type(void **state)
{
    (void)state;
    static const struct {
        halley_attr_kind kind;
        uint64_t given, kept;
    } rows[] = {
        {HALLEY_ATTR_INT32, 0x1ffffffff, UINT64_MAX},
        {HALLEY_ATTR_INT32, 0x80000000, 0xffffffff80000000},
        {HALLEY_ATTR_SINT32, 0x1ffffffff, UINT64_MAX},
        {HALLEY_ATTR_SFIXED32, 0xffffffff, UINT64_MAX},
        {HALLEY_ATTR_UINT32, UINT64_MAX, UINT32_MAX},
        {HALLEY_ATTR_FIXED32, UINT64_MAX, UINT32_MAX},
        {HALLEY_ATTR_FLOAT, 0xffff3f800000, 0x3f800000},
        {HALLEY_ATTR_BOOL, 256, 1},
        {HALLEY_ATTR_NONE, 77, 0},
        {HALLEY_ATTR_UINT64, UINT64_MAX, UINT64_MAX},
        {HALLEY_ATTR_SINT64, UINT64_MAX, UINT64_MAX},
    };
    halley_builder *const b = start();
    halley_trace *t = NULL;
    halley_builder_node(b, 1, 4, (halley_bytes){"a", 1});
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const halley_attr a = {.kind = rows[i].kind, .bits = rows[i].given};
        assert_int_equal(halley_builder_attr(b, &a), HALLEY_OK);
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(halley_node_attr(t, 0, i).bits == rows[i].kept);
    uint8_t *out = NULL;
    size_t n = 0;
    assert_int_equal(halley_trace_encode_et(&out, &n, t, NULL), HALLEY_OK);
    halley_trace *again = NULL;
    assert_int_equal(halley_trace_parse(&again, out, n, "made", NULL, NULL), HALLEY_OK);
    same_trace(t, again);
    halley_trace_free(t);
    halley_trace_free(again);
    free(out);
}

static void malformed_lists_and_kinds_are_refused(void **state)
{
    (void)state;
    static const struct {
        int kind;
        const char *bytes;
        size_t n;
        halley_status status;
        const char *words;
    } rows[] = {
        {1, "", 0, HALLEY_EINVAL, "no attribute kind 1"},
        {2, "", 0, HALLEY_EINVAL, "no attribute kind 2"},
        {33, "", 0, HALLEY_EINVAL, "no attribute kind 33"},
        {HALLEY_ATTR_INT64_LIST, "\x0a\x05\x01", 3, HALLEY_EFORMAT, "int64_list"},
        {HALLEY_ATTR_INT64_LIST, "\x0a\x01\x80", 3, HALLEY_EFORMAT, "int64_list"},
        {HALLEY_ATTR_DOUBLE_LIST, "\x0a\x03zzz", 5, HALLEY_EFORMAT, "double_list"},
        {HALLEY_ATTR_STRING_LIST, "\x08\x01", 2, HALLEY_EFORMAT, "string_list"},
        {HALLEY_ATTR_BYTES_LIST, "x", 1, HALLEY_EFORMAT, "bytes_list"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int meta = 0; meta < 2; meta++) {
            halley_builder *const b = start();
            const halley_attr a = {.kind = (halley_attr_kind)rows[i].kind,
                                   .bytes = {rows[i].bytes, rows[i].n}};
            halley_builder_node(b, 1, 4, (halley_bytes){"a", 1});
            assert_int_equal(meta ? halley_builder_metadata(b, &a)
                                  : halley_builder_attr(b, &a),
                             rows[i].status);
            finish_wrong(b, rows[i].status, rows[i].words);
        }
}

static void lists_are_tidied(void **state)
{
    (void)state;
    halley_builder *const b = start();
    halley_trace *t = NULL;
    const halley_attr a = {.kind = HALLEY_ATTR_INT64_LIST,
                           .bytes = {"\x08\x01\x0a\x02\x02\x03\x0a", 6}};
    halley_builder_node(b, 1, 4, (halley_bytes){"a", 1});
    assert_int_equal(halley_builder_attr(b, &a), HALLEY_OK);
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    const halley_bytes is = halley_node_attr(t, 0, 0).bytes;
    assert_int_equal(is.n, 5);
    assert_memory_equal(is.at, "\x0a\x03\x01\x02\x03", 5);
    halley_trace_free(t);
}

/* Bytes that would be read back as something else, or not at all. */
static void unknown_fields_must_be_unknown_fields(void **state)
{
    (void)state;
    static const halley_bytes wrong[] = {{"x", 1},
                                         {"\xfa\x07\x05z", 4},
                                         {"\x00\x01", 2},
                                         {"\x08\x01", 2},
                                         {"\xfb\x07", 2}};
    for (size_t i = 0; i < 5; i++)
        for (int k = 0; k < 5; k++) {
            halley_builder *const b = start();
            const halley_attr attr = {.kind = HALLEY_ATTR_BOOL, .unknown = wrong[i]};
            const halley_io io = {.present = true, .unknown = wrong[i]};
            halley_builder_node(b, 1, 4, (halley_bytes){"a", 1});
            const halley_status status =
                k == 0   ? halley_builder_unknown(b, wrong[i])
                : k == 1 ? halley_builder_metadata_unknown(b, wrong[i])
                : k == 2 ? halley_builder_attr(b, &attr)
                : k == 3 ? halley_builder_inputs(b, &io)
                         : halley_builder_metadata(b, &attr);
            assert_int_equal(status, HALLEY_EINVAL);
            finish_wrong(b, HALLEY_EINVAL, "no fields unknown to the schema");
        }
}

static void what_stands_once_is_replaced_and_unknown_fields_are_appended(void **state)
{
    (void)state;
    halley_builder *const b = start();
    halley_trace *t = NULL;
    const halley_io one = {.present = true, .values = {"one", 3}};
    const halley_io two = {.present = true, .shapes = {"two", 3}};
    halley_builder_node(b, 1, 300, (halley_bytes){"a", 1});
    for (int i = 0; i < 100; i++)
        halley_builder_unknown(b, (halley_bytes){"\xf8\x07\x01", 3});
    halley_builder_time(b, 5, 6);
    halley_builder_time(b, 0, 7);
    halley_builder_inputs(b, &one);
    halley_builder_inputs(b, &two);
    halley_builder_node(b, 2, 300, (halley_bytes){"b", 1});
    halley_builder_unknown(b, (halley_bytes){"\xf8\x07\x02", 3});
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    assert_int_equal(halley_node_unknown(t, 0).n, 300);
    assert_memory_equal(halley_node_unknown(t, 1).at, "\xf8\x07\x02", 3);
    assert_int_equal(halley_node_type_of(t, 0), 300);
    assert_int_equal(halley_node_start_us(t, 0), 0);
    assert_int_equal(halley_node_duration_us(t, 0), 7);
    assert_bytes(halley_node_inputs(t, 0).values, "");
    assert_bytes(halley_node_inputs(t, 0).shapes, "two");
    halley_trace_free(t);
}

static void a_node_of_which_nothing_is_set_cannot_be_written(void **state)
{
    (void)state;
    halley_builder *const b = start();
    halley_trace *t = NULL;
    uint8_t *out = NULL;
    size_t n = 0;
    halley_error err = {0};
    halley_builder_node(b, 5, 4, (halley_bytes){"a", 1});
    halley_builder_node(b, 0, 0, (halley_bytes){"", 0});
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    assert_int_equal(halley_trace_encode_et(&out, &n, t, &err), HALLEY_EINVAL);
    assert_null(out);
    assert_non_null(strstr(err.text, "has no bytes in an .et file"));
    assert_true(err.has_node && err.node == 0);
    halley_trace_free(t);
}

static void an_empty_builder_gives_an_empty_trace(void **state)
{
    (void)state;
    halley_trace *t = NULL;
    assert_int_equal(halley_builder_finish(&t, start(), NULL), HALLEY_OK);
    assert_int_equal(halley_trace_count(t), 0);
    assert_true(halley_trace_dep_count(t) == 0);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_BUILT);
    assert_string_equal(halley_trace_path(t), "");
    assert_encodes(t, "", 1); /* the empty metadata message: a length of zero */
    halley_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_belongs_to_a_node_needs_one),
        cmocka_unit_test(values_are_cut_to_their_type),
        cmocka_unit_test(malformed_lists_and_kinds_are_refused),
        cmocka_unit_test(lists_are_tidied),
        cmocka_unit_test(unknown_fields_must_be_unknown_fields),
        cmocka_unit_test(what_stands_once_is_replaced_and_unknown_fields_are_appended),
        cmocka_unit_test(a_node_of_which_nothing_is_set_cannot_be_written),
        cmocka_unit_test(an_empty_builder_gives_an_empty_trace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
