/* Traces in JSON: the forms they come in, the numbers and texts in them, and bad ones. */
#include "et_bytes.h"
#include "same_trace.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

static halley_trace *parse(const char *text)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_trace_parse(&t, text, strlen(text), "made", NULL, &err) != HALLEY_OK)
        fail_msg("%u:%u: %s\n%s", err.line, err.column, err.text, text);
    return t;
}

static void refused(const char *text, const char *words)
{
    bytes file = {0};
    put_raw(&file, text, strlen(text));
    const halley_error err = parse_wrong(file, HALLEY_EFORMAT, words);
    assert_true(err.line > 0 && err.column > 0 && err.has_offset);
}

static const char meta[] = "{\"version\": \"1.0.0\"}";
static const char node1[] = "{\"id\": \"1\", \"name\": \"a\", \"type\": \"COMP_NODE\"}";
static const char node2[] =
    "{\"id\": \"2\", \"type\": \"COMM_COLL_NODE\", \"dataDeps\": [\"1\"], "
    "\"durationMicros\": \"7\", \"inputs\": {\"values\": \"[]\"}, "
    "\"attr\": [{\"name\": \"comm_type\", \"int64Val\": \"0\"}]}";

static void all_forms_of_a_trace_are_read_the_same(void **state)
{
    (void)state;
    static const char *const formats[] = {
        "%s%s%s",
        "%s\n%s\n%s\n",
        "\n\n %s\r\n\r\n%s \t %s  ",
        "[%s,%s,%s]",
        " [ %s , %s , %s ] ",
        "\xef\xbb\xbf%s%s%s",
        "{\"metadata\":%s,\"nodes\":[%s,%s]}",
        "\xef\xbb\xbf {\n\"metadata\" : %s ,\n\"nodes\" : [ %s ,\n %s ] }\n",
        "{\"nodes\":[%2$s,%3$s],\"metadata\":%1$s}",
    };
    halley_trace *first = NULL;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        char text[1024];
        snprintf(text, sizeof text, formats[i], meta, node1, node2);
        halley_trace *const t = parse(text);
        assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_JSON);
        assert_int_equal(halley_trace_count(t), 2);
        assert_bytes(halley_trace_version(t), "1.0.0");
        if (first)
            same_trace(first, t);
        else
            first = t;
        if (first != t)
            halley_trace_free(t);
    }
    halley_trace_free(first);
}

static void keys_may_stand_in_any_order_and_either_spelling(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}{\"id\":\"3\",\"name\":\"n\",\"type\":\"COMP_NODE\",\"ctrlDeps\":[\"1\",\"2\"]"
        ","
        "\"startTimeMicros\":\"5\",\"durationMicros\":\"6\",\"outputs\":{\"shapes\":"
        "\"s\","
        "\"types\":\"t\"},\"attr\":[{\"name\":\"x\",\"docString\":\"d\",\"int32Val\":4}]"
        "}",
        "{}{\"attr\":[{\"int32_val\":4,\"doc_string\":\"d\",\"name\":\"x\"}],"
        "\"outputs\":{\"types\":\"t\",\"shapes\":\"s\"},\"duration_micros\":6,"
        "\"start_time_micros\":\"5\",\"ctrl_deps\":[1,\"2\"],\"type\":4,\"name\":\"n\","
        "\"id\":3}",
        "{\"attr\":[]} {\"name\":\"n\", \"attr\":[{\"name\":\"x\",\"docString\":\"d\","
        "\"int32Val\":\"4\"}],\"id\":3.0,\"type\":4e0,\"startTimeMicros\":0.5e1,"
        "\"durationMicros\":6,\"ctrlDeps\":[1,2],\"dataDeps\":null,\"inputs\":null,"
        "\"outputs\":{\"shapes\":\"s\",\"types\":\"t\",\"values\":null}}",
    };
    halley_trace *const first = parse(texts[0]);
    for (size_t i = 1; i < sizeof texts / sizeof *texts; i++) {
        halley_trace *const t = parse(texts[i]);
        same_trace(first, t);
        halley_trace_free(t);
    }
    halley_trace_free(first);
}

/* The value of the one attribute of a trace whose attribute has this text. */
static halley_attr_item value_of(const char *key, const char *value, halley_status wanted)
{
    char text[4096];
    snprintf(text, sizeof text,
             "{} {\"id\": 1, \"attr\": [{\"name\": \"x\", \"%s\": %s}]}", key, value);
    halley_trace *t = NULL;
    halley_error err = {0};
    const halley_status status =
        halley_trace_parse(&t, text, strlen(text), "made", NULL, &err);
    if (status != wanted)
        fail_msg("%s: %s: %s", key, value, err.text);
    halley_attr_item item = {0};
    if (!status)
        item.bits = halley_node_attr(t, 0, 0).bits;
    halley_trace_free(t);
    return item;
}

static void integers_hold_to_the_ends_of_their_types(void **state)
{
    (void)state;
    static const struct {
        const char *key, *least, *below, *most, *above;
        uint64_t least_bits, most_bits;
    } rows[] = {
        {"int32Val", "-2147483648", "-2147483649", "2147483647", "2147483648",
         (uint64_t)INT32_MIN, INT32_MAX},
        {"sint32Val", "-2147483648", "-2147483649", "2147483647", "2147483648",
         (uint64_t)INT32_MIN, INT32_MAX},
        {"sfixed32Val", "-2147483648", "-2147483649", "2147483647", "2147483648",
         (uint64_t)INT32_MIN, INT32_MAX},
        {"uint32Val", "0", "-1", "4294967295", "4294967296", 0, UINT32_MAX},
        {"fixed32Val", "0", "-1", "4294967295", "4294967296", 0, UINT32_MAX},
        {"int64Val", "\"-9223372036854775808\"", "\"-9223372036854775809\"",
         "\"9223372036854775807\"", "\"9223372036854775808\"", (uint64_t)INT64_MIN,
         INT64_MAX},
        {"sint64Val", "-9223372036854775808", "-9223372036854775809",
         "9223372036854775807", "9223372036854775808", (uint64_t)INT64_MIN, INT64_MAX},
        {"sfixed64Val", "-9223372036854775808", "-9223372036854775809",
         "9223372036854775807", "9223372036854775808", (uint64_t)INT64_MIN, INT64_MAX},
        {"uint64Val", "0", "-1", "18446744073709551615", "18446744073709551616", 0,
         UINT64_MAX},
        {"fixed64Val", "\"0\"", "\"-1\"", "\"18446744073709551615\"",
         "\"18446744073709551616\"", 0, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_true(value_of(rows[i].key, rows[i].least, HALLEY_OK).bits ==
                    rows[i].least_bits);
        assert_true(value_of(rows[i].key, rows[i].most, HALLEY_OK).bits ==
                    rows[i].most_bits);
        value_of(rows[i].key, rows[i].below, HALLEY_EFORMAT);
        value_of(rows[i].key, rows[i].above, HALLEY_EFORMAT);
        value_of(rows[i].key, "1.5", HALLEY_EFORMAT);
        value_of(rows[i].key, "\"\"", HALLEY_EFORMAT);
        value_of(rows[i].key, "\"0x10\"", HALLEY_EFORMAT);
        value_of(rows[i].key, "\"1 \"", HALLEY_EFORMAT);
        value_of(rows[i].key, "true", HALLEY_EFORMAT);
        value_of(rows[i].key, "[1]", HALLEY_EFORMAT);
        assert_true(value_of(rows[i].key, "1e3", HALLEY_OK).bits == 1000);
        /* A double cannot hold this; another number would be the wrong one. */
        value_of(rows[i].key, "9007199254740993.0", HALLEY_EFORMAT);
    }
}

static double real_of(const char *key, const char *value, halley_status wanted)
{
    const halley_attr a = {.kind = strcmp(key, "doubleVal") ? HALLEY_ATTR_FLOAT
                                                            : HALLEY_ATTR_DOUBLE,
                           .bits = value_of(key, value, wanted).bits};
    double real = 0;
    assert_true(halley_attr_to_double(&a, &real));
    return real;
}

static void real_numbers_are_read_exactly(void **state)
{
    (void)state;
    assert_true(real_of("doubleVal", "0.1", HALLEY_OK) == 0.1);
    assert_true(real_of("doubleVal", "1.7976931348623157e308", HALLEY_OK) == DBL_MAX);
    assert_true(real_of("doubleVal", "5e-324", HALLEY_OK) == 0x1p-1074);
    assert_true(real_of("doubleVal", "123456789012345678", HALLEY_OK) ==
                123456789012345678.0);
    assert_true(real_of("doubleVal", "\"1.5\"", HALLEY_OK) == 1.5);
    assert_true(1 / real_of("doubleVal", "-0.0", HALLEY_OK) == -__builtin_inf());
    assert_true(real_of("doubleVal", "\"Infinity\"", HALLEY_OK) == __builtin_inf());
    assert_true(real_of("floatVal", "\"-Infinity\"", HALLEY_OK) == -__builtin_inf());
    assert_true(value_of("doubleVal", "\"NaN\"", HALLEY_OK).bits == 0x7ff8000000000000);
    assert_true(value_of("floatVal", "\"NaN\"", HALLEY_OK).bits == 0x7fc00000);
    assert_true(value_of("floatVal", "3.4028235e38", HALLEY_OK).bits == 0x7f7fffff);
    assert_true(value_of("floatVal", "1e-45", HALLEY_OK).bits == 1);
    value_of("doubleVal", "1e309", HALLEY_EFORMAT);
    value_of("floatVal", "1e39", HALLEY_EFORMAT);
    value_of("doubleVal", "Infinity", HALLEY_EFORMAT);
    value_of("doubleVal", "\"inf\"", HALLEY_EFORMAT);
    value_of("doubleVal", "\"\"", HALLEY_EFORMAT);
    value_of("doubleVal", "[]", HALLEY_EFORMAT);
}

static void bytes_are_base64(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value; /* NULL: refused */
    } rows[] = {
        {"", ""},
        {"QQ==", "A"},
        {"QUI=", "AB"},
        {"QUJD", "ABC"},
        {"QUJDRA==", "ABCD"},
        {"QQ", "A"},
        {"-_-_", "\xfb\xff\xbf"},
        {"+\\/+\\/", "\xfb\xff\xbf"},
        {"Q", NULL},
        {"QUJDR", NULL},
        {"Q Q=", NULL},
        {"QQ===", NULL},
        {"Q=Q=", NULL},
        {"\xc3\xa9", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[256];
        snprintf(text, sizeof text, "{}{\"id\":1,\"attr\":[{\"bytesVal\":\"%s\"}]}",
                 rows[i].text);
        halley_trace *t = NULL;
        const halley_status status =
            halley_trace_parse(&t, text, strlen(text), "made", NULL, NULL);
        if ((status == HALLEY_OK) != (rows[i].value != NULL))
            fail_msg("%s", text);
        if (t)
            assert_bytes(halley_node_attr(t, 0, 0).bytes, rows[i].value);
        halley_trace_free(t);
    }
}

static void lists_of_every_kind_are_read(void **state)
{
    (void)state;
    halley_trace *const t =
        parse("{}{\"id\":1,\"attr\":[{\"int64List\":{\"values\":[\"-1\",2]}},"
              "{\"stringList\":{\"values\":[\"\",\"\\u00e9\"]}},{\"boolList\":{}},"
              "{\"double_list\":{\"values\":[1,\"NaN\"]}},{\"bytesList\":{\"values\":["
              "\"QQ==\"]}},"
              "{\"boolList\":{\"values\":null}},{\"uint32List\":{\"values\":[]}}]}");
    static const int counts[] = {2, 2, 0, 2, 1, 0, 0};
    for (uint32_t i = 0; i < 7; i++) {
        const halley_attr a = halley_node_attr(t, 0, i);
        size_t cursor = 0;
        halley_attr_item item;
        int n = 0;
        while (halley_attr_list_next(&a, &cursor, &item))
            n++;
        assert_int_equal(n, counts[i]);
    }
    halley_trace_free(t);
}

/* Protobuf's reader treats null as if the key were not there. */
static void null_is_the_same_as_absent(void **state)
{
    (void)state;
    halley_trace *const t = parse(
        "{\"version\":null,\"attr\":null}{\"id\":4,\"name\":null,\"type\":null,\"attr\":"
        "[{\"name\":\"x\",\"int64Val\":null,\"docString\":null,\"stringVal\":\"s\"}]}");
    assert_true(halley_trace_has_metadata(t));
    assert_int_equal(halley_trace_count(t), 1);
    const halley_attr a = halley_node_attr(t, 0, 0);
    assert_int_equal(a.kind, HALLEY_ATTR_STRING);
    assert_bytes(a.bytes, "s");
    halley_trace_free(t);
    refused("{}{\"id\":1,\"attr\":[{\"int64List\":{\"values\":[null]}}]}", "an integer");
    refused("{}{\"id\":1,\"dataDeps\":[null]}", "a node id is a number");
    refused("{}{\"id\":1,\"attr\":[null]}", "an attribute is an object");
}

static void wrong_documents_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"[]", "it has no objects"},
        {"[{}", "the file ends inside a value"},
        {"{}{\"id\":1}]", "closes nothing"},
        {"{}{\"id\":1},{\"id\":2}", "no JSON value"},
        {"{}[]", "consists of objects only"},
        {"[{}]{}", "consists of objects only"},
        {"{}{\"id\":1,\"idd\":2}", "not in Chakra's node schema"},
        {"{}{\"id\":1,\"version\":\"1\"}", "not in Chakra's node schema"},
        {"{\"version\":\"1\",\"id\":1}", "metadata has a version and attributes only"},
        {"{}{\"id\":1,\"id\":1}", "is twice"},
        {"{}{\"id\":1,\"attr\":[],\"attr\":[]}", "is twice"},
        {"{}{\"id\":1,\"dataDeps\":[],\"data_deps\":[]}", "is twice"},
        {"{}{\"inputs\":{\"values\":\"\",\"values\":\"\"}}", "is twice"},
        {"{}{\"attr\":[{\"name\":\"\",\"name\":\"\"}]}", "is twice"},
        {"{}{\"attr\":[{\"int64Val\":1,\"int32Val\":1}]}", "one value"},
        {"{}{\"attr\":[{\"int64List\":{\"values\":[],\"values\":[]}}]}", "is twice"},
        {"{}{\"attr\":[{\"int64List\":{\"value\":[]}}]}", "no key but"},
        {"{}{\"attr\":[{\"int64List\":[1]}]}", "a list object"},
        {"{}{\"attr\":[{\"quux\":1}]}", "attribute schema"},
        {"{}{\"attr\":[{\"boolVal\":1}]}", "true or false"},
        {"{}{\"attr\":{}}", "an array of attributes"},
        {"{}{\"type\":\"COMPUTE\"}", "a node type such as"},
        {"{}{\"type\":2147483648}", "a node type such as"},
        {"{}{\"id\":-1}", "an integer"},
        {"{}{\"name\":1}", "a string"},
        {"{}{\"name\":\"\\ud800\"}", "\\u escape"},
        {"{}{\"name\":\"\xff\"}", "not UTF-8"},
        {"{}{\"name\":\"\xed\xa0\x80\"}", "not UTF-8"},
        {"{}{\"inputs\":[]}", "an object is wanted"},
        {"{}{\"inputs\":{\"strides\":\"\"}}", "values, shapes and types only"},
        {"{}{\"ctrlDeps\":[18446744073709551616]}", "2^64-1"},
        {"{}{\"ctrlDeps\":5}", "an array of node ids"},
        {"{\"metadata\":{\"id\":1},\"nodes\":[]}", "metadata has a version"},
        {"{\"metadata\":{},\"metadata\":{}}", "is twice"},
        {"{\"nodes\":[],\"nodes\":[]}", "is twice"},
        {"{\"nodes\":[1]}", "a node is an object"},
        {"{\"nodes\":{}}", "nodes an array"},
        {"{\"nodes\":[],\"more\":1}", "metadata and nodes only"},
        {"{\"nodes\":[]}{\"id\":1}", "after the trace document"},
        {"{\"workload_graph\":[]}{\"id\":1}", "after the trace document"},
        {"{\"workload_graph\":{}}", "an array of nodes"},
        {"{\"workload_graph\":[1]}", "a node is an object"},
        {"{\"workload_graph\":[{\"Id\":\"x\"}]}", "an integer"},
        {"{\"workload_graph\":[{\"Id\":1,\"x\":[]}]}", "can become attributes"},
        {"{\"workload_graph\":[{\"Id\":1,\"comm_size\":1.5}]}", "an integer"},
        {"{\"workload_graph\":[{\"Id\":1}", "the file ends inside"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(rows[i].text, rows[i].words);
}

static void nesting_without_end_is_refused(void **state)
{
    (void)state;
    static const char *const starts[] = {
        "{}{\"attr\":", "{\"x\":", "{\"workload_graph\":", "{\"nodes\":", "{}{\"id\":"};
    for (size_t i = 0; i < 5; i++) {
        bytes file = {0};
        put_raw(&file, starts[i], strlen(starts[i]));
        for (int k = 0; k < 1000000; k++)
            put_raw(&file, "[", 1);
        parse_wrong(file, HALLEY_EFORMAT, "");
    }
}

/* An .et with 123 bytes of metadata and a version of 34 starts like JSON: {, \n, ". */
static void an_et_that_starts_like_json_is_an_et(void **state)
{
    (void)state;
    bytes file = {0}, message = {0}, attr = {0};
    put_text(&message, 1, "a version of thirty-four characters");
    message.at[1] = 34;
    message.n--;
    put_text(&attr, 1, "schema");
    char value[128] = "";
    memset(value, 'x', 87 - 2 - attr.n - 3);
    put_text(&attr, 29, value);
    put_message(&message, 2, attr);
    assert_int_equal(message.n, 123);
    put_framed(&file, message);
    put_framed(&file, start_node(1, "a", 4));
    assert_memory_equal(file.at, "{\n\"", 3);
    halley_trace *const t = parse_file(file);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET);
    assert_bytes(halley_trace_version(t), "a version of thirty-four character");
    halley_trace_free(t);
}

static void a_document_without_nodes_is_an_empty_trace(void **state)
{
    (void)state;
    halley_trace *const t = parse("{\"nodes\": []}");
    assert_int_equal(halley_trace_count(t), 0);
    assert_encodes(t, "", 1); /* a metadata message of no bytes */
    halley_trace_free(t);
}

static void a_document_may_have_no_metadata(void **state)
{
    (void)state;
    halley_trace *const t = parse("{\"nodes\": [{\"attr\": [{\"name\": \"x\"}]}]}");
    assert_int_equal(halley_trace_count(t), 1);
    assert_false(halley_trace_has_metadata(t));
    uint8_t *out = NULL;
    size_t n = 0;
    assert_int_equal(halley_trace_encode_et(&out, &n, t, NULL), HALLEY_OK);
    halley_trace *again = NULL;
    assert_int_equal(halley_trace_parse(&again, out, n, "made", NULL, NULL), HALLEY_OK);
    same_trace(t, again);
    halley_trace_free(again);
    halley_trace_free(t);
    free(out);
}

static void a_workload_graph_becomes_a_trace(void **state)
{
    (void)state;
    halley_trace *const t = parse(
        "{\"schema\": \"x\", \"pid\": 7, \"workload_graph\": [{\"Id\": 3, \"Name\": "
        "\"n\\u00e9\", "
        "\"NodeType\": 7, \"ctrlDeps\": [1], \"data_deps\": [1, 2], \"runtime\": 9, "
        "\"is_cpu_op\": 1, \"tensor_size\": 18446744073709551615, \"comm_type\": 2, "
        "\"comm_size\": \"64\", \"comm_tag\": -1, \"k\\u0065y\": 18446744073709551615, "
        "\"real\": 0.5, \"flag\": true, \"text\": \"\\n\"}, "
        "{\"is_cpu_op\": false, \"Id\": 4}], \"last\": -3}");
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_GRAPH_JSON);
    assert_int_equal(halley_trace_metadata_count(t), 3);
    assert_int_equal(halley_trace_count(t), 2);
    assert_bytes(halley_node_name(t, 0), "n\xc3\xa9");
    assert_int_equal(halley_node_type_of(t, 0), HALLEY_NODE_COLL);
    assert_int_equal(halley_node_duration_us(t, 0), 9);
    assert_int_equal(halley_node_ctrl_count(t, 0), 1);
    assert_int_equal(halley_node_data(t, 0, 1).id, 2);
    static const struct {
        const char *name;
        halley_attr_kind kind;
        uint64_t bits;
    } rows[] = {
        {"is_cpu_op", HALLEY_ATTR_BOOL, 1},
        {"tensor_size", HALLEY_ATTR_UINT64, UINT64_MAX},
        {"comm_type", HALLEY_ATTR_INT64, 2},
        {"comm_size", HALLEY_ATTR_INT64, 64},
        {"comm_tag", HALLEY_ATTR_INT32, UINT64_MAX},
        {"key", HALLEY_ATTR_UINT64, UINT64_MAX},
        {"real", HALLEY_ATTR_DOUBLE, 0x3fe0000000000000},
        {"flag", HALLEY_ATTR_BOOL, 1},
        {"text", HALLEY_ATTR_STRING, 0},
    };
    assert_int_equal(halley_node_attr_count(t, 0), sizeof rows / sizeof *rows);
    for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const halley_attr a = halley_node_attr(t, 0, i);
        assert_bytes(a.name, rows[i].name);
        assert_int_equal(a.kind, rows[i].kind);
        assert_true(a.bits == rows[i].bits);
    }
    assert_int_equal(halley_node_id(t, 1), 4);
    assert_int_equal(halley_node_attr(t, 1, 0).bits, 0);
    halley_trace_free(t);
}

static void more_json_nodes_than_allowed_are_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "{}{\"id\":1}{\"id\":2}{\"id\":3}",
        "{\"nodes\":[{\"id\":1},{\"id\":2},{\"id\":3}]}",
        "{\"workload_graph\":[{\"Id\":1},{\"Id\":2},{\"Id\":3}]}"};
    for (size_t i = 0; i < 3; i++) {
        halley_load_opts opts = {.max_nodes = 2};
        halley_trace *t = NULL;
        halley_error err = {0};
        assert_int_equal(
            halley_trace_parse(&t, texts[i], strlen(texts[i]), "made", &opts, &err),
            HALLEY_ELIMIT);
        assert_string_equal(err.text, "more than 2 nodes in one trace");
        opts.max_nodes = 3;
        assert_int_equal(
            halley_trace_parse(&t, texts[i], strlen(texts[i]), "made", &opts, &err),
            HALLEY_OK);
        halley_trace_free(t);
    }
}

/* A document cut anywhere is refused, never half read. */
static void a_document_cut_anywhere_is_refused(void **state)
{
    (void)state;
    static const char text[] =
        "{\"metadata\": {\"version\": \"1\"}, \"nodes\": [{\"id\": \"1\", \"name\": "
        "\"\\u00e9\", "
        "\"attr\": [{\"name\": \"x\", \"doubleList\": {\"values\": [1.5, \"NaN\"]}}]}]}";
    for (size_t n = 0; n < sizeof text - 1; n++) {
        halley_trace *t = NULL;
        assert_int_equal(halley_trace_parse(&t, text, n, "made", NULL, NULL),
                         HALLEY_EFORMAT);
    }
    halley_trace_free(parse(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_forms_of_a_trace_are_read_the_same),
        cmocka_unit_test(keys_may_stand_in_any_order_and_either_spelling),
        cmocka_unit_test(integers_hold_to_the_ends_of_their_types),
        cmocka_unit_test(real_numbers_are_read_exactly),
        cmocka_unit_test(bytes_are_base64),
        cmocka_unit_test(lists_of_every_kind_are_read),
        cmocka_unit_test(null_is_the_same_as_absent),
        cmocka_unit_test(wrong_documents_are_refused),
        cmocka_unit_test(nesting_without_end_is_refused),
        cmocka_unit_test(an_et_that_starts_like_json_is_an_et),
        cmocka_unit_test(a_document_without_nodes_is_an_empty_trace),
        cmocka_unit_test(a_document_may_have_no_metadata),
        cmocka_unit_test(a_workload_graph_becomes_a_trace),
        cmocka_unit_test(more_json_nodes_than_allowed_are_refused),
        cmocka_unit_test(a_document_cut_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
