/* .et files that are wrong: each has its sentence and its place. */
#include "et_bytes.h"
#include "same_trace.h"

#include <stdio.h>

static void an_empty_file_is_refused(void **state)
{
    (void)state;
    parse_wrong((bytes){0}, HALLEY_EFORMAT, "the file is empty");
}

static void a_length_beyond_the_end_is_refused_where_it_stands(void **state)
{
    (void)state;
    bytes file = start_file();
    put_framed(&file, start_node(1, "a", 4));
    const size_t start = file.n;
    put_varint(&file, 1000);
    put_raw(&file, "\x08\x02", 2);
    const halley_error err = parse_wrong(
        file, HALLEY_EFORMAT, "a message of 1000 bytes, but the file ends after 2");
    assert_true(err.has_offset);
    assert_int_equal(err.offset, start);
}

static void a_file_that_ends_inside_a_length_is_refused(void **state)
{
    (void)state;
    bytes file = start_file();
    const size_t start = file.n;
    put_raw(&file, "\x80\x80", 2);
    const halley_error err =
        parse_wrong(file, HALLEY_EFORMAT, "the file ends inside a message length");
    assert_int_equal(err.offset, start);
}

static void a_length_of_more_than_ten_bytes_is_refused(void **state)
{
    (void)state;
    for (int first = 0; first < 2; first++) {
        bytes file = first ? (bytes){0} : start_file();
        const size_t start = file.n;
        put_raw(&file, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11);
        const halley_error err =
            parse_wrong(file, HALLEY_EFORMAT, "a message length of more than ten bytes");
        assert_true(err.has_offset);
        assert_int_equal(err.offset, start);
    }
}

/* 2^64-1 and the largest sizes must not overflow any sum. */
static void a_length_near_two_to_the_64_is_refused(void **state)
{
    (void)state;
    static const uint64_t lengths[] = {UINT64_MAX, INT64_MAX, (uint64_t)INT64_MAX + 1,
                                       UINT64_MAX - 16, UINT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        bytes file = start_file(), node = start_node(1, "a", 4), attr = {0};
        put_varint(&file, lengths[i]);
        put_raw(&file, "\x08", 1);
        parse_wrong(file, HALLEY_EFORMAT, "but the file ends after 1");
        file = start_file();
        put_tag(&node, 2, 2);
        put_varint(&node, lengths[i]);
        put_framed(&file, node);
        parse_wrong(file, HALLEY_EFORMAT, "field name is malformed or runs beyond");
        file = start_file();
        node = start_node(1, "a", 4);
        put_text(&attr, 1, "x");
        put_tag(&attr, 29, 2);
        put_varint(&attr, lengths[i]);
        put_message(&node, 10, attr);
        put_framed(&file, node);
        parse_wrong(file, HALLEY_EFORMAT, "its string_val is malformed or cut");
    }
}

static void a_node_of_zero_length_is_refused(void **state)
{
    (void)state;
    bytes file = start_file();
    put_framed(&file, start_node(1, "a", 4));
    const size_t start = file.n;
    put_framed(&file, (bytes){0});
    put_framed(&file, start_node(2, "b", 4));
    const halley_error err = parse_wrong(file, HALLEY_EFORMAT, "a node of zero length");
    assert_true(err.has_offset);
    assert_int_equal(err.offset, start);
}

static void an_empty_metadata_message_is_metadata(void **state)
{
    (void)state;
    bytes file = {0};
    put_framed(&file, (bytes){0});
    put_framed(&file, start_node(1, "a", 4));
    halley_trace *t = parse_file(file);
    assert_true(halley_trace_has_metadata(t));
    assert_int_equal(halley_trace_count(t), 1);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET);
    halley_trace_free(t);
}

static void a_file_may_consist_of_metadata_alone(void **state)
{
    (void)state;
    halley_trace *t = parse_file(start_file());
    assert_bytes(halley_trace_version(t), "1.0.0");
    assert_int_equal(halley_trace_count(t), 0);
    assert_int_equal(halley_trace_find(t, 0), HALLEY_NO_NODE);
    assert_encodes(t, "\x07\x0a\x05\x31.0.0", 8);
    halley_trace_free(t);
}

/* The first message is a node when there is no metadata, even one that would pass for
 * metadata with unknown fields: "hi" is also an attribute, uint64_val = 105. */
static void a_file_without_metadata_starts_with_a_node(void **state)
{
    (void)state;
    for (int k = 0; k < 5; k++) {
        bytes file = {0}, node = {0}, attr = {0};
        put_text(&attr, 1, "num_ops");
        put_u64(&attr, 9, 3);
        if (k == 0)
            put_u64(&node, 1, 5);
        if (k <= 2)
            put_text(&node, 2, k == 1 ? "hi" : "GEMM");
        if (k != 3)
            put_u64(&node, 3, 4);
        put_message(&node, 10, attr);
        put_framed(&file, node);
        put_framed(&file, start_node(6, "b", 4));
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                         HALLEY_OK);
        assert_false(halley_trace_has_metadata(t));
        assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET);
        assert_int_equal(halley_trace_count(t), 2);
        assert_bytes(halley_node_name(t, 0), k == 1 ? "hi" : k <= 2 ? "GEMM" : "");
        assert_bytes(halley_node_attr(t, 0, 0).name, "num_ops");
        assert_encodes(t, file.at, file.n);
        halley_trace_free(t);
        free(file.at);
    }
}

static void metadata_with_unknown_fields_is_metadata(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        bytes file = {0}, meta = {0}, attr = {0};
        put_text(&attr, 1, "schema");
        put_text(&attr, 29, "1.0.2");
        if (k == 0)
            put_text(&meta, 1, "2.0.0");
        if (k <= 1)
            put_message(&meta, 2, attr);
        else
            free(attr.at);
        put_u64(&meta, k == 2 ? 99 : 3, 77);
        put_framed(&file, meta);
        put_framed(&file, start_node(6, "b", 4));
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                         HALLEY_OK);
        assert_true(halley_trace_has_metadata(t));
        assert_int_equal(halley_trace_metadata_unknown(t).n, k == 2 ? 3 : 2);
        assert_int_equal(halley_trace_count(t), 1);
        assert_encodes(t, file.at, file.n);
        halley_trace_free(t);
        free(file.at);
    }
}

/* What a node's fields are called, and their wire type; repeated numbers may be 0 too. */
static const struct {
    const char *name;
    uint32_t wire_type;
} node_fields[] = {
    {"", 0},
    {"id", 0},
    {"name", 2},
    {"type", 0},
    {"ctrl_deps", 0},
    {"data_deps", 0},
    {"start_time_micros", 0},
    {"duration_micros", 0},
    {"inputs", 2},
    {"outputs", 2},
    {"attr", 2},
};

static void a_node_field_of_a_wrong_wire_type_is_refused(void **state)
{
    (void)state;
    for (uint32_t field = 1; field <= 10; field++)
        for (uint32_t type = 0; type <= 5; type++) {
            if (type == node_fields[field].wire_type ||
                ((field == 4 || field == 5) && type == 2))
                continue;
            bytes file = start_file(), node = start_node(7, "a", 4);
            const size_t start = file.n + 1 + node.n;
            put_any(&node, field, type);
            put_framed(&file, node);
            char words[64];
            snprintf(words, sizeof words, "node field %s has wire type %u, must be %u",
                     node_fields[field].name, type, node_fields[field].wire_type);
            const halley_error err = parse_wrong(file, HALLEY_EFORMAT, words);
            assert_true(err.has_node);
            assert_int_equal(err.node, 7);
            assert_int_equal(err.offset, start);
        }
}

static uint32_t attr_wire_type(uint32_t field)
{
    if (field == 3 || field == 21 || field == 25)
        return 1;
    if (field == 5 || field == 19 || field == 23)
        return 5;
    return field < 3 || field % 2 == 0 || field >= 29 ? 2 : 0;
}

static void an_attribute_field_of_a_wrong_wire_type_is_refused(void **state)
{
    (void)state;
    for (uint32_t field = 1; field < HALLEY_ATTR_END; field++)
        for (uint32_t type = 0; type <= 5; type++) {
            if (type == attr_wire_type(field))
                continue;
            bytes file = start_file(), node = start_node(7, "a", 4), attr = {0};
            put_text(&attr, 1, "x");
            const size_t start = file.n + 1 + node.n + 2 + attr.n;
            put_any(&attr, field, type);
            put_message(&node, 10, attr);
            put_framed(&file, node);
            char words[80];
            snprintf(words, sizeof words,
                     "attribute \"x\": field %u has wire type %u, must be %u", field,
                     type, attr_wire_type(field));
            const halley_error err = parse_wrong(file, HALLEY_EFORMAT, words);
            assert_int_equal(err.node, 7);
            assert_int_equal(err.offset, start);
        }
}

static void an_io_field_of_a_wrong_wire_type_is_refused(void **state)
{
    (void)state;
    for (uint32_t io = 8; io <= 9; io++)
        for (uint32_t field = 1; field <= 3; field++)
            for (uint32_t type = 0; type <= 5; type++) {
                if (type == 2)
                    continue;
                bytes file = start_file(), node = start_node(7, "a", 4), info = {0};
                const size_t start = file.n + 1 + node.n + 2;
                put_any(&info, field, type);
                put_message(&node, io, info);
                put_framed(&file, node);
                char words[64];
                snprintf(words, sizeof words, "field %u has wire type %u, must be 2",
                         field, type);
                const halley_error err = parse_wrong(file, HALLEY_EFORMAT, words);
                assert_int_equal(err.node, 7);
                assert_int_equal(err.offset, start);
            }
}

/* Lists of numbers may also be packed; lists of text may not be anything else. */
static void a_list_element_of_a_wrong_wire_type_is_refused(void **state)
{
    (void)state;
    for (uint32_t kind = HALLEY_ATTR_DOUBLE_LIST; kind < HALLEY_ATTR_END; kind += 2)
        for (uint32_t type = 0; type <= 5; type++) {
            if (type == attr_wire_type(kind - 1) || type == 2)
                continue;
            bytes file = start_file(), node = start_node(7, "a", 4), attr = {0},
                  list = {0};
            put_any(&list, 1, type);
            put_text(&attr, 1, "x");
            put_message(&attr, kind, list);
            put_message(&node, 10, attr);
            put_framed(&file, node);
            char words[64];
            snprintf(words, sizeof words, "%s has elements of wire type %u, must be %u",
                     halley_attr_kind_name((halley_attr_kind)kind), type,
                     attr_wire_type(kind - 1));
            const halley_error err = parse_wrong(file, HALLEY_EFORMAT, words);
            assert_int_equal(err.node, 7);
            assert_true(err.has_offset);
        }
}

static void a_metadata_field_of_a_wrong_wire_type_is_refused(void **state)
{
    (void)state;
    for (uint32_t type = 1; type <= 5; type++) {
        if (type == 2)
            continue;
        bytes file = {0}, meta = {0};
        put_text(&meta, 1, "1.0.0");
        put_any(&meta, 2, type);
        put_framed(&file, meta);
        put_framed(&file, start_node(1, "a", 4));
        parse_wrong(file, HALLEY_EFORMAT, "metadata field 2 is malformed");
    }
}

/* A damaged metadata message is named as such, not as a node that is none. */
static void damaged_metadata_is_called_metadata(void **state)
{
    (void)state;
    bytes file = {0}, meta = {0}, attr = {0};
    put_text(&meta, 1, "1.0.0");
    put_text(&attr, 1, "pid");
    put_fixed32(&attr, 13, 5);
    put_message(&meta, 2, attr);
    put_framed(&file, meta);
    put_framed(&file, start_node(1, "a", 4));
    const halley_error err = parse_wrong(
        file, HALLEY_EFORMAT, "attribute \"pid\": field 13 has wire type 5, must be 0");
    assert_false(err.has_node);
}

static const uint8_t eleven[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
                                 0x80, 0x80, 0x80, 0x80, 0x01};

static void a_varint_of_more_than_ten_bytes_is_refused_in_every_field(void **state)
{
    (void)state;
    static const uint32_t numbers[] = {1, 3, 4, 5, 6, 7};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bytes file = start_file(), node = start_node(7, "a", 4);
        const size_t start = file.n + 1 + node.n;
        put_tag(&node, numbers[i], 0);
        put_raw(&node, eleven, sizeof eleven);
        put_framed(&file, node);
        char words[64];
        snprintf(words, sizeof words, "field %s is malformed",
                 node_fields[numbers[i]].name);
        const halley_error err = parse_wrong(file, HALLEY_EFORMAT, words);
        assert_int_equal(err.offset, start);
        assert_int_equal(err.node, 7);
    }
    for (uint32_t field = 4; field <= 5; field++) {
        bytes file = start_file(), node = start_node(7, "a", 4);
        put_bytes(&node, field, eleven, sizeof eleven);
        put_framed(&file, node);
        parse_wrong(file, HALLEY_EFORMAT, field == 4 ? "ctrl_deps" : "data_deps");
    }
    for (uint32_t kind = HALLEY_ATTR_DOUBLE; kind < HALLEY_ATTR_END; kind++) {
        if (attr_wire_type(kind) != 0)
            continue;
        bytes file = start_file(), node = start_node(7, "a", 4), attr = {0};
        put_text(&attr, 1, "x");
        put_tag(&attr, kind, 0);
        put_raw(&attr, eleven, sizeof eleven);
        put_message(&node, 10, attr);
        put_framed(&file, node);
        char words[64];
        snprintf(words, sizeof words, "attribute \"x\": its %s is malformed",
                 halley_attr_kind_name((halley_attr_kind)kind));
        parse_wrong(file, HALLEY_EFORMAT, words);
    }
}

/* Ten bytes whose last is more than the one bit that is left: no 64-bit number. */
static void a_varint_beyond_64_bits_is_refused(void **state)
{
    (void)state;
    bytes file = start_file(), node = start_node(7, "a", 4);
    put_tag(&node, 6, 0);
    put_raw(&node, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10);
    put_framed(&file, node);
    parse_wrong(file, HALLEY_EFORMAT, "field start_time_micros is malformed");
}

static void field_number_zero_and_wire_types_6_and_7_are_refused(void **state)
{
    (void)state;
    static const uint8_t tags[] = {0x00, 0x02, 0x0e, 0x0f, 0x5e, 0x5f};
    for (size_t i = 0; i < sizeof tags; i++) {
        bytes file = start_file(), node = start_node(7, "a", 4);
        const size_t start = file.n + 1 + node.n;
        put_raw(&node, &tags[i], 1);
        put_raw(&node, "\x00\x00", 2);
        put_framed(&file, node);
        const halley_error err = parse_wrong(file, HALLEY_EFORMAT, "malformed field");
        assert_int_equal(err.offset, start);
        assert_int_equal(err.node, 7);
    }
}

/* Unknown groups nest: 100 deep is kept, 101 is refused, a million does not overflow. */
static void groups_nested_without_end_are_refused(void **state)
{
    (void)state;
    static const size_t depths[] = {1, 100, 101, 1000000};
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++) {
        const size_t depth = depths[k];
        bytes file = start_file(), node = start_node(7, "a", 4);
        for (size_t i = 0; i < depth; i++)
            put_tag(&node, 11, 3);
        for (size_t i = 0; i < depth; i++)
            put_tag(&node, 11, 4);
        put_framed(&file, node);
        if (depth > 100) {
            const halley_error err =
                parse_wrong(file, HALLEY_EFORMAT, "unknown field 11 of a node");
            assert_int_equal(err.node, 7);
            continue;
        }
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                         HALLEY_OK);
        assert_int_equal(halley_node_unknown(t, 0).n, 2 * depth);
        assert_encodes(t, file.at, file.n);
        halley_trace_free(t);
        free(file.at);
    }
}

static void a_group_that_another_field_ends_is_refused(void **state)
{
    (void)state;
    for (int k = 0; k < 3; k++) {
        bytes file = start_file(), node = start_node(7, "a", 4);
        if (k != 1)
            put_tag(&node, 11, 3);
        if (k != 2)
            put_tag(&node, 12, 4);
        put_framed(&file, node);
        parse_wrong(file, HALLEY_EFORMAT, "of a node is malformed or cut");
    }
}

/* A file cut at any byte is refused, or is a whole file of fewer messages. */
static void a_file_cut_anywhere_is_refused_or_ends_between_messages(void **state)
{
    (void)state;
    bytes file = start_file();
    size_t ends[4] = {file.n};
    for (uint32_t i = 1; i < 4; i++) {
        bytes node = start_node(i, "node", 4), attr = {0}, io = {0};
        put_bytes(&node, 5, "\x01\x02\x80\x01", 4);
        put_text(&io, 1, "[1, 2]");
        put_message(&node, 8, io);
        put_text(&attr, 1, "op_schema");
        put_text(&attr, 29, "aten::mm");
        put_message(&node, 10, attr);
        put_framed(&file, node);
        ends[i] = file.n;
    }
    for (size_t n = 1; n <= file.n; n++) {
        bool whole = false;
        for (uint32_t i = 0; i < 4; i++)
            whole |= n == ends[i];
        halley_trace *t = NULL;
        halley_error err = {0};
        const halley_status status =
            halley_trace_parse(&t, file.at, n, "made", NULL, &err);
        assert_int_equal(status, whole ? HALLEY_OK : HALLEY_EFORMAT);
        assert_true(whole || err.has_offset);
        halley_trace_free(t);
    }
    free(file.at);
}

/* Damage at any byte is refused or read as something else, never a fault (ASan looks). */
static void a_file_with_any_byte_changed_is_read_or_refused(void **state)
{
    (void)state;
    bytes file = start_file();
    bytes node = start_node(1, "node", 4), attr = {0}, io = {0}, list = {0};
    put_bytes(&node, 4, "\x01\x02\x80\x01", 4);
    put_text(&io, 1, "[1, 2]");
    put_text(&io, 7, "?");
    put_message(&node, 9, io);
    put_bytes(&list, 1, "\x01\x80\x01", 3);
    put_text(&attr, 1, "dims");
    put_text(&attr, 2, "doc");
    put_message(&attr, 16, list);
    put_message(&node, 10, attr);
    put_framed(&file, node);
    for (size_t i = 0; i < file.n; i++)
        for (int value = 0; value < 256; value++) {
            const uint8_t before = file.at[i];
            file.at[i] = (uint8_t)value;
            halley_trace *t = NULL;
            if (halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL) == HALLEY_OK)
                same_trace(t, t);
            halley_trace_free(t);
            file.at[i] = before;
        }
    free(file.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_file_is_refused),
        cmocka_unit_test(a_length_beyond_the_end_is_refused_where_it_stands),
        cmocka_unit_test(a_file_that_ends_inside_a_length_is_refused),
        cmocka_unit_test(a_length_of_more_than_ten_bytes_is_refused),
        cmocka_unit_test(a_length_near_two_to_the_64_is_refused),
        cmocka_unit_test(a_node_of_zero_length_is_refused),
        cmocka_unit_test(an_empty_metadata_message_is_metadata),
        cmocka_unit_test(a_file_may_consist_of_metadata_alone),
        cmocka_unit_test(a_file_without_metadata_starts_with_a_node),
        cmocka_unit_test(metadata_with_unknown_fields_is_metadata),
        cmocka_unit_test(a_node_field_of_a_wrong_wire_type_is_refused),
        cmocka_unit_test(an_attribute_field_of_a_wrong_wire_type_is_refused),
        cmocka_unit_test(an_io_field_of_a_wrong_wire_type_is_refused),
        cmocka_unit_test(a_list_element_of_a_wrong_wire_type_is_refused),
        cmocka_unit_test(a_metadata_field_of_a_wrong_wire_type_is_refused),
        cmocka_unit_test(damaged_metadata_is_called_metadata),
        cmocka_unit_test(a_varint_of_more_than_ten_bytes_is_refused_in_every_field),
        cmocka_unit_test(a_varint_beyond_64_bits_is_refused),
        cmocka_unit_test(field_number_zero_and_wire_types_6_and_7_are_refused),
        cmocka_unit_test(groups_nested_without_end_are_refused),
        cmocka_unit_test(a_group_that_another_field_ends_is_refused),
        cmocka_unit_test(a_file_cut_anywhere_is_refused_or_ends_between_messages),
        cmocka_unit_test(a_file_with_any_byte_changed_is_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
