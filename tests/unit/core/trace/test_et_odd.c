/* .et files that are odd or large, and right: they are read as protobuf reads them. */
#include "et_bytes.h"
#include "same_trace.h"

#include <stdio.h>

static void duplicate_ids_are_read_and_the_last_one_is_found(void **state)
{
    (void)state;
    bytes file = start_file(), node = start_node(6, "c", 4);
    put_u64(&node, 5, 5);
    put_framed(&file, start_node(5, "a", 4));
    put_framed(&file, start_node(5, "b", 4));
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_trace_count(t), 3);
    assert_int_equal(halley_trace_find(t, 5), 1);
    assert_int_equal(halley_node_data(t, 2, 0).index, 1);
    assert_int_equal(halley_trace_dangling_count(t), 0);
    halley_trace_free(t);
}

static void id_zero_is_an_id_like_any_other(void **state)
{
    (void)state;
    bytes file = start_file(), node = start_node(1, "b", 4);
    put_u64(&node, 5, 0);
    put_framed(&file, start_node(0, "a", 4));
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_trace_find(t, 0), 0);
    assert_int_equal(halley_node_data_count(t, 1), 1);
    assert_int_equal(halley_node_data(t, 1, 0).id, 0);
    assert_int_equal(halley_node_data(t, 1, 0).index, 0);
    halley_trace_free(t);
}

static void a_dependency_on_itself_is_read_as_it_stands(void **state)
{
    (void)state;
    bytes file = start_file(), node = start_node(3, "a", 4);
    put_bytes(&node, 4, "\x03", 1);
    put_bytes(&node, 5, "\x03\x04", 2);
    put_framed(&file, node);
    halley_trace *t = NULL;
    assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                     HALLEY_OK);
    assert_int_equal(halley_node_ctrl(t, 0, 0).index, 0);
    assert_int_equal(halley_node_data(t, 0, 0).index, 0);
    assert_int_equal(halley_node_data(t, 0, 1).index, HALLEY_NO_NODE);
    assert_int_equal(halley_node_data(t, 0, 1).id, 4);
    assert_int_equal(halley_trace_dangling_count(t), 1);
    assert_encodes(t, file.at, file.n);
    halley_trace_free(t);
    free(file.at);
}

static void ids_at_the_end_of_their_range_are_found(void **state)
{
    (void)state;
    static const uint64_t ids[] = {UINT64_MAX - 1, UINT64_MAX, 0, 1, (uint64_t)1 << 63};
    bytes file = start_file();
    for (size_t i = 0; i < 5; i++) {
        bytes node = start_node(ids[i], "a", 4);
        put_u64(&node, 5, ids[(i + 4) % 5]);
        put_framed(&file, node);
    }
    halley_trace *t = parse_file(file);
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(halley_trace_find(t, ids[i]), i);
        assert_int_equal(halley_node_data(t, i, 0).index, (i + 4) % 5);
    }
    assert_int_equal(halley_trace_find(t, 2), HALLEY_NO_NODE);
    halley_trace_free(t);
}

static void a_chain_of_three_million_nodes_is_read(void **state)
{
    (void)state;
    enum { N = 3000000 };
    bytes file = start_file(), m = {0};
    for (uint32_t i = 0; i < N; i++) {
        m.n = 0;
        put_u64(&m, 1, i + 1);
        put_u64(&m, 3, 4);
        if (i > 0)
            put_u64(&m, 5, i);
        put_varint(&file, m.n);
        put_raw(&file, m.at, m.n);
    }
    free(m.at);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_trace_count(t), N);
    assert_true(halley_trace_dep_count(t) == N - 1);
    for (uint32_t i = 1; i < N; i += 9973)
        assert_int_equal(halley_node_data(t, i, 0).index, i - 1);
    assert_true(halley_trace_memory(t) < (uint64_t)N * 64);
    halley_trace_free(t);
}

static void more_nodes_than_allowed_are_refused(void **state)
{
    (void)state;
    for (uint32_t n = 2; n <= 4; n++) {
        bytes file = start_file();
        for (uint32_t i = 0; i < n; i++)
            put_framed(&file, start_node(i + 1, "a", 4));
        halley_trace *t = NULL;
        halley_error err = {0};
        const halley_load_opts opts = {.max_nodes = 3};
        const halley_status status =
            halley_trace_parse(&t, file.at, file.n, "made", &opts, &err);
        assert_int_equal(status, n > 3 ? HALLEY_ELIMIT : HALLEY_OK);
        if (n > 3)
            assert_string_equal(err.text, "more than 3 nodes in one trace");
        halley_trace_free(t);
        free(file.at);
    }
}

static void text_that_is_not_utf8_is_kept(void **state)
{
    (void)state;
    static const char *const wrong[] = {"\xff",  "\xc0\x80",         "\xed\xa0\x80",
                                        "a\x80", "\xf4\x90\x80\x80", "\xe2\x82"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        bytes file = start_file(), node = start_node(1, wrong[i], 4), attr = {0};
        put_text(&attr, 1, wrong[i]);
        put_text(&attr, 29, wrong[i]);
        put_message(&node, 10, attr);
        put_framed(&file, node);
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                         HALLEY_OK);
        assert_bytes(halley_node_name(t, 0), wrong[i]);
        assert_bytes(halley_node_attr(t, 0, 0).bytes, wrong[i]);
        assert_encodes(t, file.at, file.n);
        halley_trace_free(t);
        free(file.at);
    }
}

/* Protobuf lets a field stand twice: numbers and text are replaced, messages merged. */
static void fields_that_stand_twice_are_merged_as_protobuf_does(void **state)
{
    (void)state;
    bytes file = start_file(), node = start_node(1, "a", 4);
    bytes in1 = {0}, in2 = {0}, a = {0}, list1 = {0}, list2 = {0};
    put_text(&in1, 1, "v");
    put_text(&in1, 3, "t");
    put_text(&in2, 2, "s");
    put_text(&in2, 3, "u");
    put_message(&node, 8, in1);
    put_u64(&node, 1, 9);
    put_text(&node, 2, "b");
    put_message(&node, 8, in2);
    put_u64(&list1, 1, 1);
    put_bytes(&list2, 1, "\x02\x03", 2);
    put_u64(&a, 9, 5);
    put_message(&a, 10, list1);
    put_text(&a, 1, "x");
    put_message(&a, 10, list2);
    put_message(&node, 10, a);
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_node_id(t, 0), 9);
    assert_bytes(halley_node_name(t, 0), "b");
    const halley_io io = halley_node_inputs(t, 0);
    assert_bytes(io.values, "v");
    assert_bytes(io.shapes, "s");
    assert_bytes(io.types, "u");
    const halley_attr attr = halley_node_attr(t, 0, 0);
    assert_int_equal(attr.kind, HALLEY_ATTR_INT64_LIST);
    assert_bytes(attr.name, "x");
    size_t cursor = 0;
    halley_attr_item item;
    for (uint64_t i = 1; i <= 3; i++) {
        assert_true(halley_attr_list_next(&attr, &cursor, &item));
        assert_true(item.bits == i);
    }
    assert_false(halley_attr_list_next(&attr, &cursor, &item));
    halley_trace_free(t);
}

/* The place of an error in a message that stands in two pieces is in the file. */
static void an_error_in_a_merged_message_has_its_place(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        bytes file = start_file(), node = start_node(7, "a", 4), one = {0}, two = {0};
        put_u64(&one, k ? 1 : 5, 1);
        put_fixed64(&two, 1, 1);
        const size_t start = file.n + 1;
        if (k) {
            bytes attr = {0};
            put_message(&attr, 10, one);
            put_message(&attr, 10, two);
            put_message(&node, 10, attr);
        } else {
            put_message(&node, 8, one);
            put_message(&node, 8, two);
        }
        const size_t end = file.n + 1 + node.n;
        put_framed(&file, node);
        const halley_error err =
            parse_wrong(file, HALLEY_EFORMAT, k ? "int64_list" : "inputs or outputs");
        assert_true(err.has_offset);
        assert_in_range(err.offset, start, end - 1);
        assert_int_equal(err.node, 7);
    }
}

/* A tag or length with more bytes than it needs is still that tag or length. */
static void overlong_varints_are_understood(void **state)
{
    (void)state;
    bytes file = start_file(), node = {0}, attr = {0};
    put_raw(&node, "\x88\x00\x85\x80\x00", 5);  /* id = 5 */
    put_raw(&node, "\x92\x80\x00\x81\x00z", 6); /* name = "z" */
    put_raw(&node, "\x98\x00\x84\x00", 4);      /* type = 4 */
    put_raw(&attr, "\x8a\x00\x81\x00x\xc8\x00\x87\x00", 9);
    put_message(&node, 10, attr);
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_node_id(t, 0), 5);
    assert_bytes(halley_node_name(t, 0), "z");
    assert_int_equal(halley_node_type_of(t, 0), 4);
    assert_bytes(halley_node_attr(t, 0, 0).name, "x");
    assert_true(halley_node_attr(t, 0, 0).bits == 7);
    assert_encodes(
        t, "\x07\x0a\x05\x31.0.0\x0e\x08\x05\x12\x01z\x18\x04\x52\x05\x0a\x01x\x48\x07",
        23);
    halley_trace_free(t);
}

static void a_node_type_beyond_the_enum_is_kept(void **state)
{
    (void)state;
    static const uint64_t types[] = {8, 254, 255, 256, 0x7fffffff, UINT64_MAX};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        bytes file = start_file();
        put_framed(&file, start_node(1, "a", types[i]));
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                         HALLEY_OK);
        assert_true(halley_node_type_of(t, 0) == (uint32_t)types[i]);
        assert_encodes(t, file.at, file.n);
        halley_trace_free(t);
        free(file.at);
    }
}

static void every_node_finds_its_message_in_the_file(void **state)
{
    (void)state;
    enum { N = 1000 };
    bytes file = start_file();
    size_t starts[N];
    for (uint32_t i = 0; i < N; i++) {
        bytes node = start_node(i * 3, "some longer name than usual", i % 8);
        for (uint32_t k = 0; k < i % 5; k++)
            put_u64(&node, 5, i * 3 - k);
        starts[i] = file.n;
        put_framed(&file, node);
    }
    halley_trace *t = parse_file(file);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(halley_node_offset(t, i), starts[i]);
    halley_trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duplicate_ids_are_read_and_the_last_one_is_found),
        cmocka_unit_test(id_zero_is_an_id_like_any_other),
        cmocka_unit_test(a_dependency_on_itself_is_read_as_it_stands),
        cmocka_unit_test(ids_at_the_end_of_their_range_are_found),
        cmocka_unit_test(a_chain_of_three_million_nodes_is_read),
        cmocka_unit_test(more_nodes_than_allowed_are_refused),
        cmocka_unit_test(text_that_is_not_utf8_is_kept),
        cmocka_unit_test(fields_that_stand_twice_are_merged_as_protobuf_does),
        cmocka_unit_test(an_error_in_a_merged_message_has_its_place),
        cmocka_unit_test(overlong_varints_are_understood),
        cmocka_unit_test(a_node_type_beyond_the_enum_is_kept),
        cmocka_unit_test(every_node_finds_its_message_in_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
