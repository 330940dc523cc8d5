/*
 * The schemas before v0.0.4. Their messages are written down here by field number:
 *
 *   v0.0.1  node: id 1, name 2, type 3, parent 4 (each a field), then properties 5 … 20
 *   v0.0.2  node: … parent 4, six texts 5 … 10, attribute 11;
 *           attribute: name 1, type tag 2, doc 3, f 4, i 5, s 6, floats 7, ints 8,
 * strings 9 v0.0.3  as v0.0.2, METADATA_NODE = 1; attribute: b 4, f 5, i 6, s 7, lists 8
 * … 11 later   attribute: b 4, f 5, u 6, i 7, s 8, lists 9 … 13; metadata: attribute 1
 */
#include "et_bytes.h"

#include <stdio.h>

enum { V2, V3, V3_LATE };

/* Type tag and value field of each kind of value, by schema; 0 = the schema has none. */
static const struct {
    halley_attr_kind kind;
    uint32_t tag[3], field[3];
} kinds[] = {
    {HALLEY_ATTR_BOOL, {99, 0, 0}, {0, 4, 4}},
    {HALLEY_ATTR_FLOAT, {0, 1, 1}, {4, 5, 5}},
    {HALLEY_ATTR_UINT64, {99, 99, 2}, {0, 0, 6}},
    {HALLEY_ATTR_INT64, {1, 2, 3}, {5, 6, 7}},
    {HALLEY_ATTR_STRING, {2, 3, 4}, {6, 7, 8}},
    {HALLEY_ATTR_BOOL_LIST, {99, 4, 5}, {0, 8, 9}},
    {HALLEY_ATTR_FLOAT_LIST, {3, 5, 6}, {7, 9, 10}},
    {HALLEY_ATTR_UINT64_LIST, {99, 99, 7}, {0, 0, 11}},
    {HALLEY_ATTR_INT64_LIST, {4, 6, 8}, {8, 10, 12}},
    {HALLEY_ATTR_STRING_LIST, {5, 7, 9}, {9, 11, 13}},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static const halley_trace_form forms[] = {HALLEY_FORM_ET_V2, HALLEY_FORM_ET_V3,
                                          HALLEY_FORM_ET_V3};

/* An attribute with its tag, to which the value is added. */
static bytes start_attr(const char *name, uint32_t tag)
{
    bytes attr = {0};
    put_text(&attr, 1, name);
    put_u64(&attr, 2, tag);
    return attr;
}

static void put_int(bytes *node, int schema, const char *name, uint64_t value)
{
    bytes attr = start_attr(name, kinds[3].tag[schema]);
    put_u64(&attr, kinds[3].field[schema], value);
    put_message(node, 11, attr);
}

/* One value of the kind: 1.5, 300, -1 and 7, "text". */
static void put_value(bytes *attr, halley_attr_kind kind, uint32_t field)
{
    const bool list = halley_attr_is_list(kind);
    for (int i = 0; i < (list ? 2 : 1); i++) {
        if (kind == HALLEY_ATTR_FLOAT || kind == HALLEY_ATTR_FLOAT_LIST)
            put_fixed32(attr, field, 0x3fc00000u);
        else if (kind == HALLEY_ATTR_STRING || kind == HALLEY_ATTR_STRING_LIST)
            put_text(attr, field, "text");
        else if (kind == HALLEY_ATTR_BOOL || kind == HALLEY_ATTR_BOOL_LIST)
            put_u64(attr, field, 1);
        else
            put_u64(attr, field, i == 0 ? UINT64_MAX : 7);
    }
}

static void assert_value(uint64_t bits, halley_bytes text, halley_attr_kind scalar, int i)
{
    if (scalar == HALLEY_ATTR_STRING)
        assert_bytes(text, "text");
    else if (scalar == HALLEY_ATTR_FLOAT)
        assert_true(bits == 0x3fc00000u);
    else if (scalar == HALLEY_ATTR_BOOL)
        assert_true(bits == 1);
    else
        assert_true(bits == (i == 0 ? UINT64_MAX : 7));
}

static void every_kind_of_value_is_converted(void **state)
{
    (void)state;
    for (int schema = V2; schema <= V3_LATE; schema++) {
        bytes file = {0}, node = start_node(5, "aten::mm", schema == V2 ? 3 : 4);
        put_u64(&node, 4, 1);
        put_u64(&node, 4, 300);
        put_text(&node, 5, "in");
        put_text(&node, 6, "in shapes");
        put_text(&node, 7, "in types");
        put_text(&node, 8, "out");
        put_text(&node, 10, "out types");
        for (size_t k = 0; k < N_KINDS; k++) {
            if (!kinds[k].field[schema])
                continue;
            bytes attr =
                start_attr(halley_attr_kind_name(kinds[k].kind), kinds[k].tag[schema]);
            put_text(&attr, 3, "doc");
            put_value(&attr, kinds[k].kind, kinds[k].field[schema]);
            put_message(&node, 11, attr);
        }
        put_framed(&file, node);
        halley_trace *t = parse_file(file);
        assert_int_equal(halley_trace_form_of(t), forms[schema]);
        assert_int_equal(halley_trace_count(t), 1);
        assert_int_equal(halley_node_id(t, 0), 5);
        assert_int_equal(halley_node_type_of(t, 0), HALLEY_NODE_COMP);
        assert_int_equal(halley_node_ctrl_count(t, 0), 0);
        assert_int_equal(halley_node_data_count(t, 0), 2);
        assert_int_equal(halley_node_data(t, 0, 1).id, 300);
        assert_bytes(halley_node_inputs(t, 0).types, "in types");
        assert_bytes(halley_node_outputs(t, 0).values, "out");
        assert_bytes(halley_node_outputs(t, 0).shapes, "");
        for (uint32_t i = 0; i < halley_node_attr_count(t, 0); i++) {
            const halley_attr a = halley_node_attr(t, 0, i);
            assert_bytes(a.name, halley_attr_kind_name(a.kind));
            assert_bytes(a.doc, "doc");
            if (!halley_attr_is_list(a.kind)) {
                assert_value(a.bits, a.bytes, a.kind, 0);
                continue;
            }
            size_t cursor = 0;
            halley_attr_item item;
            for (int n = 0; n < 2; n++) {
                assert_true(halley_attr_list_next(&a, &cursor, &item));
                assert_value(item.bits, item.bytes, (halley_attr_kind)(a.kind - 1), n);
            }
            assert_false(halley_attr_list_next(&a, &cursor, &item));
        }
        assert_int_equal(halley_node_attr_count(t, 0), schema == V2   ? 6
                                                       : schema == V3 ? 8
                                                                      : 10);
        halley_trace_free(t);
    }
}

static void node_types_are_renumbered(void **state)
{
    (void)state;
    for (int schema = V2; schema <= V3_LATE; schema++)
        for (uint64_t type = 0; type <= (schema == V2 ? 6 : 7); type++) {
            bytes file = {0}, node = start_node(1, "a", type);
            put_int(&node, schema, "num_ops", 3);
            put_framed(&file, node);
            halley_trace *t = parse_file(file);
            assert_int_equal(halley_trace_form_of(t), forms[schema]);
            assert_int_equal(halley_node_type_of(t, 0),
                             schema == V2 && type > 0 ? type + 1 : type);
            halley_trace_free(t);
        }
}

static void collectives_are_renumbered(void **state)
{
    (void)state;
    static const uint64_t now[] = {HALLEY_COLL_ALL_REDUCE, HALLEY_COLL_ALL_TO_ALL,
                                   HALLEY_COLL_ALL_GATHER, HALLEY_COLL_REDUCE_SCATTER,
                                   HALLEY_COLL_BROADCAST};
    for (int schema = V2; schema <= V3_LATE; schema++)
        for (uint64_t type = 0; type < 5; type++) {
            bytes file = {0}, node = start_node(1, "a", schema == V2 ? 6 : 7);
            put_int(&node, schema, "comm_type", type);
            put_framed(&file, node);
            halley_trace *t = parse_file(file);
            halley_attr a;
            assert_true(halley_node_find_attr(&a, t, 0, "comm_type"));
            assert_int_equal(a.kind, HALLEY_ATTR_INT64);
            assert_true(a.bits == now[type]);
            halley_trace_free(t);
        }
}

static void a_runtime_attribute_becomes_the_duration(void **state)
{
    (void)state;
    for (int schema = V2; schema <= V3_LATE; schema++) {
        bytes file = {0}, node = start_node(1, "a", 3);
        put_int(&node, schema, "runtime", 17);
        put_int(&node, schema, "num_ops", 2);
        put_int(&node, schema, "runtime", 18); /* the last one counts */
        put_framed(&file, node);
        halley_trace *t = parse_file(file);
        assert_int_equal(halley_node_duration_us(t, 0), 18);
        assert_int_equal(halley_node_attr_count(t, 0), 1);
        halley_trace_free(t);
    }
}

/* Tag 4 in field 8 is a list of integers in v0.0.2, of bools in v0.0.3. */
static void a_list_of_integers_is_no_list_of_bools(void **state)
{
    (void)state;
    for (uint64_t most = 1; most <= 2; most++) {
        bytes file = {0}, node = start_node(1, "a", 3), attr = start_attr("dims", 4);
        put_u64(&attr, 8, 0);
        put_u64(&attr, 8, most);
        put_message(&node, 11, attr);
        put_framed(&file, node);
        halley_trace *t = parse_file(file);
        assert_int_equal(halley_trace_form_of(t),
                         most > 1 ? HALLEY_FORM_ET_V2 : HALLEY_FORM_ET_V3);
        assert_int_equal(halley_node_attr(t, 0, 0).kind,
                         most > 1 ? HALLEY_ATTR_INT64_LIST : HALLEY_ATTR_BOOL_LIST);
        halley_trace_free(t);
    }
}

static void late_metadata_is_converted(void **state)
{
    (void)state;
    for (int schema = V3; schema <= V3_LATE; schema++) {
        bytes file = {0}, meta = {0}, node = start_node(1, "a", 4);
        bytes attr = start_attr("schema", kinds[4].tag[schema]);
        put_text(&attr, kinds[4].field[schema], "1.0.1");
        put_message(&meta, 1, attr);
        put_framed(&file, meta);
        put_int(&node, schema, "num_ops", 2);
        put_framed(&file, node);
        halley_trace *t = parse_file(file);
        assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET_V3);
        assert_true(halley_trace_has_metadata(t));
        assert_bytes(halley_trace_version(t), "");
        assert_int_equal(halley_trace_metadata_count(t), 1);
        assert_bytes(halley_trace_metadata(t, 0).name, "schema");
        assert_bytes(halley_trace_metadata(t, 0).bytes, "1.0.1");
        assert_int_equal(halley_trace_count(t), 1);
        halley_trace_free(t);
    }
}

static void an_empty_metadata_message_may_precede_old_nodes(void **state)
{
    (void)state;
    bytes file = {0}, node = start_node(1, "a", 4);
    put_framed(&file, (bytes){0});
    put_int(&node, V3_LATE, "num_ops", 2);
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET_V3);
    assert_bytes(halley_node_attr(t, 0, 0).name, "num_ops");
    halley_trace_free(t);
}

static void flat_nodes_become_attributes(void **state)
{
    (void)state;
    static const struct {
        uint32_t field;
        uint64_t value;
        const char *name;
        halley_attr_kind kind;
        uint64_t now;
    } rows[] = {
        {5, 2, "tensor_loc", HALLEY_ATTR_INT32, 2},
        {6, 1 << 20, "tensor_size", HALLEY_ATTR_UINT64, 1 << 20},
        {7, 1499, "duration_ns", HALLEY_ATTR_UINT64, 1499},
        {8, 1, "input_tensor_loc", HALLEY_ATTR_INT32, 1},
        {9, 64, "input_tensor_size", HALLEY_ATTR_UINT64, 64},
        {10, 1, "output_tensor_loc", HALLEY_ATTR_INT32, 1},
        {11, 65, "output_tensor_size", HALLEY_ATTR_UINT64, 65},
        {12, 12345678901, "num_ops", HALLEY_ATTR_INT64, 12345678901},
        {13, 4, "comm_type", HALLEY_ATTR_INT64, HALLEY_COLL_REDUCE_SCATTER},
        {16, 3, "comm_src", HALLEY_ATTR_INT32, 3},
        {17, 4, "comm_dst", HALLEY_ATTR_INT32, 4},
        {18, UINT32_MAX, "comm_size", HALLEY_ATTR_INT64, UINT32_MAX},
        {19, 9, "comm_tag", HALLEY_ATTR_INT32, 9},
        {20, 1, "comm_priority", HALLEY_ATTR_INT32, 1},
    };
    bytes file = {0}, node = start_node(5, "ar", 6);
    put_u64(&node, 4, 1);
    put_u64(&node, 4, 2);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        put_u64(&node, rows[i].field, rows[i].value);
    put_u64(&node, 14, 1);
    put_u64(&node, 14, 0);
    put_u64(&node, 14, 1);
    put_u64(&node, 15, 42);
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET_V1);
    assert_int_equal(halley_node_type_of(t, 0), HALLEY_NODE_COLL);
    assert_int_equal(halley_node_data_count(t, 0), 2);
    assert_int_equal(halley_node_duration_us(t, 0), 1); /* 1499 ns, rounded */
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_attr a;
        assert_true(halley_node_find_attr(&a, t, 0, rows[i].name));
        assert_int_equal(a.kind, rows[i].kind);
        assert_true(a.bits == rows[i].now);
    }
    halley_attr a;
    assert_true(halley_node_find_attr(&a, t, 0, "pg_name"));
    assert_bytes(a.bytes, "42");
    assert_true(halley_node_find_attr(&a, t, 0, "involved_dim"));
    size_t cursor = 0;
    halley_attr_item item;
    for (uint64_t i = 0; i < 3; i++) {
        assert_true(halley_attr_list_next(&a, &cursor, &item));
        assert_true(item.bits == (i != 1));
    }
    assert_false(halley_attr_list_next(&a, &cursor, &item));
    halley_trace_free(t);
}

static void nanoseconds_are_rounded_without_overflow(void **state)
{
    (void)state;
    static const uint64_t ns[] = {0, 499, 500, 1500, UINT64_MAX};
    static const uint64_t us[] = {0, 0, 1, 2, 18446744073709552};
    for (size_t i = 0; i < 5; i++) {
        bytes file = {0}, node = start_node(5, "c", 3);
        put_u64(&node, 7, ns[i]);
        put_u64(&node, 12, 1);
        put_framed(&file, node);
        halley_trace *t = parse_file(file);
        assert_true(halley_node_duration_us(t, 0) == us[i]);
        halley_trace_free(t);
    }
}

/* v0.0.1's zero is "invalid", not the all-reduce that zero is today. */
static void an_invalid_collective_is_not_an_all_reduce(void **state)
{
    (void)state;
    bytes file = {0}, node = start_node(5, "c", 6);
    put_u64(&node, 13, 0);
    put_u64(&node, 18, 64);
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    halley_attr a;
    assert_false(halley_node_find_attr(&a, t, 0, "comm_type"));
    assert_true(halley_node_find_attr(&a, t, 0, "comm_size"));
    halley_trace_free(t);
}

/* Nodes that only a v0.0.4 writer can have made, all without metadata in front. */
static void a_present_file_without_metadata_is_not_taken_for_an_old_one(void **state)
{
    (void)state;
    for (int k = 0; k < 7; k++) {
        bytes file = {0}, node = start_node(5, "GEMM", 4), sub = {0};
        if (k == 1)
            put_bytes(&node, 4, "\x01", 1);
        if (k == 2)
            put_bytes(&node, 5, "\x01\x02", 2);
        if (k == 3)
            put_u64(&node, 6, 100);
        if (k == 4)
            put_u64(&node, 7, 100);
        put_text(&sub, 1, k == 5 ? "[1]" : "num_ops");
        if (k == 5)
            put_message(&node, 8, sub);
        else if (k == 6)
            put_message(&node, 10, sub);
        else
            free(sub.at);
        put_framed(&file, node);
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL),
                         HALLEY_OK);
        assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET);
        assert_int_equal(halley_node_type_of(t, 0), HALLEY_NODE_COMP);
        assert_encodes(t, file.at, file.n);
        halley_trace_free(t);
        free(file.at);
    }
}

static void a_flat_compute_node_is_told_from_a_present_one(void **state)
{
    (void)state;
    bytes file = {0}, node = start_node(5, "c", 3);
    put_u64(&node, 7, 5000);
    put_framed(&file, node);
    halley_trace *t = parse_file(file);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET_V1);
    assert_int_equal(halley_node_type_of(t, 0), HALLEY_NODE_COMP);
    assert_int_equal(halley_node_duration_us(t, 0), 5);
    halley_trace_free(t);
}

/* A present file with an unknown field that v0.0.1 knows: what we write of it must not be
 * taken for v0.0.1 later. The empty list of dependencies, which only v0.0.4 packs, is not
 * written again. */
static void what_is_written_is_never_taken_for_an_old_file(void **state)
{
    (void)state;
    for (int meta = 0; meta < 2; meta++)
        for (uint32_t field = 11; field <= 15; field++) {
            bytes file = {0}, node = start_node(1, "(", 4);
            if (meta)
                put_framed(&file, (bytes){0});
            put_bytes(&node, 4, "", 0);
            put_u64(&node, 7, 5000);
            if (field == 11) {
                bytes attr = start_attr("num_ops", 3);
                put_u64(&attr, 7, 1);
                put_message(&node, 11, attr);
            } else {
                put_u64(&node, field, 1);
            }
            put_framed(&file, node);
            halley_trace *const t = parse_file(file);
            uint8_t *out = NULL;
            size_t n = 0;
            assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET);
            assert_int_equal(halley_trace_encode_et(&out, &n, t, NULL), HALLEY_OK);
            halley_trace *again = NULL;
            assert_int_equal(halley_trace_parse(&again, out, n, "again", NULL, NULL),
                             HALLEY_OK);
            assert_int_equal(halley_trace_form_of(again), HALLEY_FORM_ET);
            assert_int_equal(halley_node_type_of(again, 0), HALLEY_NODE_COMP);
            assert_int_equal(halley_node_unknown(again, 0).n,
                             halley_node_unknown(t, 0).n);
            assert_encodes(again, out, n);
            halley_trace_free(again);
            halley_trace_free(t);
            free(out);
        }
}

static void damage_behind_the_first_messages_is_named(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        bytes file = {0};
        for (uint64_t i = 0; i < 40; i++) {
            bytes node = start_node(i + 1, "a", 3);
            put_int(&node, V2, "num_ops", i);
            put_framed(&file, node);
        }
        const size_t start = file.n;
        bytes wrong = {0};
        put_u64(&wrong, 1, 41); /* no name, which those schemas require */
        if (k == 0)
            put_framed(&file, wrong);
        else
            put_varint(&file, 77);
        const halley_error err =
            parse_wrong(file, HALLEY_EFORMAT,
                        k == 0 ? "this message is no node of Chakra .et v0.0.2"
                               : "a message of 77 bytes");
        assert_true(err.has_offset);
        assert_int_equal(err.offset, start);
        if (k == 1)
            free(wrong.at);
    }
}

/* Cut or with any byte changed: read as something or refused, never a fault. */
static void damaged_old_files_are_read_or_refused(void **state)
{
    (void)state;
    for (int schema = V2; schema <= V3_LATE; schema++) {
        bytes file = {0}, node = start_node(5, "a", 3);
        put_u64(&node, 4, 1);
        put_int(&node, schema, "runtime", 3);
        bytes attr = start_attr("dims", kinds[8].tag[schema]);
        put_value(&attr, HALLEY_ATTR_INT64_LIST, kinds[8].field[schema]);
        put_message(&node, 11, attr);
        put_framed(&file, node);
        for (size_t i = 0; i < file.n; i++)
            for (int value = 0; value < 256; value++) {
                const uint8_t before = file.at[i];
                file.at[i] = (uint8_t)value;
                halley_trace *t = NULL;
                (void)!halley_trace_parse(&t, file.at, file.n, "made", NULL, NULL);
                halley_trace_free(t);
                file.at[i] = before;
            }
        for (size_t n = 0; n < file.n; n++) {
            halley_trace *t = NULL;
            assert_int_not_equal(halley_trace_parse(&t, file.at, n, "made", NULL, NULL),
                                 HALLEY_OK);
        }
        free(file.at);
    }
}

static void more_old_nodes_than_allowed_are_refused(void **state)
{
    (void)state;
    bytes file = {0};
    for (uint64_t i = 0; i < 4; i++) {
        bytes node = start_node(i + 1, "a", 3);
        put_int(&node, V2, "num_ops", i);
        put_framed(&file, node);
    }
    const halley_load_opts opts = {.max_nodes = 3};
    halley_trace *t = NULL;
    halley_error err = {0};
    assert_int_equal(halley_trace_parse(&t, file.at, file.n, "made", &opts, &err),
                     HALLEY_ELIMIT);
    assert_string_equal(err.text, "more than 3 nodes in one trace");
    free(file.at);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_of_value_is_converted),
        cmocka_unit_test(node_types_are_renumbered),
        cmocka_unit_test(collectives_are_renumbered),
        cmocka_unit_test(a_runtime_attribute_becomes_the_duration),
        cmocka_unit_test(a_list_of_integers_is_no_list_of_bools),
        cmocka_unit_test(late_metadata_is_converted),
        cmocka_unit_test(an_empty_metadata_message_may_precede_old_nodes),
        cmocka_unit_test(flat_nodes_become_attributes),
        cmocka_unit_test(nanoseconds_are_rounded_without_overflow),
        cmocka_unit_test(an_invalid_collective_is_not_an_all_reduce),
        cmocka_unit_test(a_present_file_without_metadata_is_not_taken_for_an_old_one),
        cmocka_unit_test(a_flat_compute_node_is_told_from_a_present_one),
        cmocka_unit_test(what_is_written_is_never_taken_for_an_old_file),
        cmocka_unit_test(damage_behind_the_first_messages_is_named),
        cmocka_unit_test(damaged_old_files_are_read_or_refused),
        cmocka_unit_test(more_old_nodes_than_allowed_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
