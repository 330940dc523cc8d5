/* Configuration trees and schema tables. */
#include "alloc_fail.h"
#include "base/conf/conf.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char example[] = "name: dgx # a comment\n"
                              "npus: 1024\n"
                              "npu:\n"
                              "  peak: {bf16: 312 TFLOP/s, fp32: 19.5 TFLOP/s}\n"
                              "  memory:\n"
                              "    - {name: hbm, capacity: 80 GB}\n"
                              "    - {name: cxl, capacity: 512 GB}\n"
                              "quoted: \"12\\n\"\n"
                              "nothing:\n"
                              "block: |\n"
                              "  two\n"
                              "  lines\n";

static void parse_ok(conf_file *file, const char *text, const char *name)
{
    halley_error err = {0};
    if (conf_parse(file, str_from(text), name, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

static void yaml_becomes_a_tree_with_places(void **state)
{
    (void)state;
    conf_file file;
    parse_ok(&file, example, "c.yaml");
    const conf_node *root = file.root;
    assert_int_equal(root->kind, CONF_MAP);
    assert_int_equal(root->n, 6);
    assert_true(str_eq(root->keys[1], STR("npus")));
    const conf_node *peak = conf_find(conf_find(root, "npu"), "peak");
    assert_int_equal(peak->n, 2);
    assert_true(str_eq(conf_find(peak, "bf16")->text, STR("312 TFLOP/s")));
    assert_int_equal(conf_find(peak, "bf16")->line, 4);
    assert_int_equal(conf_find(peak, "bf16")->column, 16);
    assert_int_equal(conf_find(peak, "bf16")->key_column, 10);
    const conf_node *memory = conf_find(conf_find(root, "npu"), "memory");
    assert_int_equal(memory->kind, CONF_LIST);
    assert_true(str_eq(conf_find(memory->items[1], "name")->text, STR("cxl")));
    assert_true(conf_find(root, "quoted")->quoted);
    assert_true(str_eq(conf_find(root, "quoted")->text, STR("12\n")));
    assert_int_equal(conf_find(root, "nothing")->kind, CONF_NULL);
    assert_true(str_eq(conf_find(root, "block")->text, STR("two\nlines\n")));
    assert_null(conf_find(root, "absent"));
    assert_null(conf_find(memory, "name"));
    conf_fini(&file);
}

static void json_becomes_the_same_tree(void **state)
{
    (void)state;
    static const char text[] =
        " {\"a\": [1, -2.5, 1e300, true, null, \"x\\u00e9\"], \"b\": {\"c\": "
        "9223372036854775807, \"d\": 0.1}}";
    static const char *const texts[] = {"1", "-2.5", "1e300", "true", "", "x\xc3\xa9"};
    static const char *const names[] = {"a.json", "a.txt", "standard input"};
    for (size_t k = 0; k < 3; k++) {
        conf_file file;
        parse_ok(&file, text, names[k]);
        const conf_node *a = conf_find(file.root, "a");
        assert_int_equal(a->n, 6);
        double huge;
        assert_int_equal(conf_to_double(&huge, &file, a->items[2], "a", NULL), HALLEY_OK);
        assert_true(huge == 1e300);
        for (uint32_t i = 0; i < 6; i++)
            if (i != 2)
                assert_true(str_eq(a->items[i]->text, str_from(texts[i])));
        assert_int_equal(a->items[4]->kind, CONF_NULL);
        assert_true(a->items[5]->quoted);
        assert_int_equal(a->items[0]->line, 0);
        const conf_node *b = conf_find(file.root, "b");
        assert_true(str_eq(conf_find(b, "c")->text, STR("9223372036854775807")));
        assert_true(str_eq(conf_find(b, "d")->text, STR("0.1")));
        conf_fini(&file);
    }
}

static void an_integer_beyond_json_never_passes_for_another(void **state)
{
    (void)state;
    conf_file file;
    int64_t whole;
    double real;
    parse_ok(&file, "[18446744073709551615, 9007199254740993, 7]", "a.json");
    assert_int_equal(conf_to_i64(&whole, &file, file.root->items[0], "a", NULL),
                     HALLEY_EINVAL);
    assert_int_equal(conf_to_double(&real, &file, file.root->items[0], "a", NULL),
                     HALLEY_OK);
    assert_true(real == 0x1p64);
    assert_int_equal(conf_to_i64(&whole, &file, file.root->items[2], "a", NULL),
                     HALLEY_OK);
    assert_int_equal(whole, 7);
    conf_fini(&file);
    parse_ok(&file, "[-9223372036854775808, 9223372036854775807, 9223372036854775808]",
             "a.json");
    assert_string_equal(file.root->items[0]->text.at, "-9223372036854775808");
    assert_string_equal(file.root->items[1]->text.at, "9223372036854775807");
    assert_string_equal(file.root->items[2]->text.at, "9.2233720368547758e+18");
    conf_fini(&file);
}

static void of_equal_keys_the_last_counts_where_text_may_follow(void **state)
{
    (void)state;
    conf_file file;
    size_t used = 0;
    const str text = STR("{\"a\": 1, \"b\": 2, \"a\": [3]} }] and so on");
    assert_int_equal(conf_parse_only_json(&file, text, &used, NULL), HALLEY_OK);
    assert_int_equal(used, strlen("{\"a\": 1, \"b\": 2, \"a\": [3]}"));
    assert_int_equal(file.root->n, 2);
    assert_string_equal(file.root->keys[0].at, "a");
    assert_int_equal(file.root->items[0]->kind, CONF_LIST);
    conf_fini(&file);
    assert_int_equal(conf_parse_only_json(&file, text, NULL, NULL), HALLEY_EFORMAT);
}

static void flow_yaml_is_not_mistaken_for_json(void **state)
{
    (void)state;
    conf_file file;
    parse_ok(&file, "{tp: 8, pp: [1, 2]}", "plan");
    assert_true(str_eq(conf_find(file.root, "tp")->text, STR("8")));
    conf_fini(&file);
    parse_ok(&file, "{\"tp\": 8}", "plan.yaml");
    assert_int_equal(conf_find(file.root, "tp")->line, 1);
    conf_fini(&file);
}

static void an_empty_file_is_null(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n\n", "# only a comment\n", "---\n", "~"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        conf_file file;
        parse_ok(&file, texts[i], "a.yaml");
        assert_int_equal(file.root->kind, CONF_NULL);
        conf_fini(&file);
    }
}

typedef struct refusal {
    const char *name, *text, *sentence;
} refusal;

static const refusal refusals[] = {
    {"a.yaml", "a: 1\nb: 2\na: 3\n",
     "a.yaml:3:1: key \"a\" is given twice, first in line 1; remove one of them"},
    {"a.yaml", "a: &x 1\n",
     "a.yaml:1:4: anchors (&x) are not supported; write the value out"},
    {"a.yaml", "a: [&x {}]\n",
     "a.yaml:1:5: anchors (&x) are not supported; write the value out"},
    {"a.yaml", "a: *x\n",
     "a.yaml:1:4: aliases (*x) are not supported; write the value out"},
    {"a.yaml", "a: !!int 3\n",
     "a.yaml:1:4: tags (tag:yaml.org,2002:int) are not supported; leave it out"},
    {"a.yaml", "a: 1\n---\nb: 2\n",
     "a.yaml:2:1: a second document starts here; put each in a file of its own"},
    {"a.yaml", "a:\n\t- 1\n",
     "a.yaml:2:1: there is a tab here; YAML is indented with spaces"},
    {"a.yaml", "a: [1, 2\nb: 3\n",
     "a.yaml:2:2: not valid YAML: did not find expected ',' or ']' while parsing a flow "
     "sequence that starts in line 1"},
    {"a.yaml", "? [a]\n: 1\n", "a.yaml:1:3: a list or map cannot be a key; use a name"},
    {"a.yaml", "?\n: 1\n", "a.yaml:1:2: a key is missing in front of the colon"},
    {"a.yaml", "a: \xff\n",
     "a.yaml: byte 3: not text in UTF-8: invalid leading UTF-8 octet"},
    {"a.json", "{\"a\": 1,\n \"a\": 2}",
     "a.json:2:2: not valid JSON: the key \"a\" is there twice"},
    {"a.json", "{\"a\": 1",
     "a.json:1:8: not valid JSON: the file ends inside a value; it is cut"},
    {"a", "[1, 2,, 3]", "a:1:7: not valid JSON: something that is no JSON value"},
    {"a.json", "a: 1", "a.json:1:1: not valid JSON: something that is no JSON value"},
    {"a.json", "7", "a.json:1:1: not valid JSON: it must start with { or ["},
    {"a.json", "[1]\n[2]", "a.json:2:1: not valid JSON: something follows after its end"},
    {"a.json", "[1] x", "a.json:1:5: not valid JSON: something that is no JSON value"},
    {"a.json", "[\"a\\u0000b\"]",
     "a.json:1:2: not valid JSON: a text with a zero byte (\\u0000)"},
    {"a.json", "[\"\xff\"]", "a.json:1:2: not valid JSON: a text that is not UTF-8"},
    {"a.json", "{\"\xc3\": 1}", "a.json:1:2: not valid JSON: a text that is not UTF-8"},
    {"a.json", "[\"\\ud800\"]", "a.json:1:3: not valid JSON: a bad \\u escape"},
    {"a.json", "[1, 1e999]",
     "a.json:1:5: not valid JSON: a number beyond the largest double"},
    {"a.json", " \n", "a.json: the file is empty; expected JSON"},
};

static void what_cannot_be_read_is_said_with_its_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        conf_file file = {0};
        halley_error err = {0};
        char text[2048];
        const halley_status status =
            conf_parse(&file, str_from(refusals[i].text), refusals[i].name, &err);
        halley_error_format(&err, text, sizeof text);
        if (status != HALLEY_EFORMAT || strcmp(text, refusals[i].sentence) != 0)
            fail_msg("%s: status %d, %s", refusals[i].text, status, text);
        assert_null(file.root);
    }
}

static void a_duplicate_is_found_in_a_map_of_any_size(void **state)
{
    (void)state;
    for (int n = 2; n < 200; n += 7) {
        char text[4000], expected[200];
        size_t used = 0;
        for (int i = 0; i < n; i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "key-%d: 1\n", i);
        snprintf(text + used, sizeof text - used, "key-%d: 1\n", n / 2);
        conf_file file;
        halley_error err = {0};
        assert_int_equal(conf_parse(&file, str_from(text), "a", &err), HALLEY_EFORMAT);
        snprintf(expected, sizeof expected,
                 "key \"key-%d\" is given twice, first in line %d; remove one of them",
                 n / 2, n / 2 + 1);
        assert_string_equal(err.text, expected);
        assert_int_equal(err.line, n + 1);
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    static char text[200001];
    static const char *const names[] = {"a.yaml", "a.json"};
    for (size_t k = 0; k < 2; k++) {
        for (size_t depth = 63; depth <= 66; depth++) {
            memset(text, '[', depth);
            memset(text + depth, ']', depth);
            text[2 * depth] = '\0';
            conf_file file = {0};
            const halley_status status =
                conf_parse(&file, str_from(text), names[k], NULL);
            assert_int_equal(status, depth <= 64 ? HALLEY_OK : HALLEY_EFORMAT);
            conf_fini(&file);
        }
        memset(text, k == 0 ? '[' : '{', sizeof text - 1);
        conf_file file = {0};
        assert_int_equal(conf_parse(&file, str_from(text), names[k], NULL),
                         HALLEY_EFORMAT);
    }
}

static void a_file_is_loaded_with_or_without_a_byte_order_mark(void **state)
{
    (void)state;
    static const char *const texts[] = {"x: 1\n", "\xef\xbb\xbfx: 1\n", "{\"x\": 1}\n"};
    char path[] = "/tmp/halley-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        conf_file file;
        assert_int_equal(ftruncate(fd, 0), 0);
        const ssize_t n = pwrite(fd, texts[i], strlen(texts[i]), 0);
        assert_int_equal(n, strlen(texts[i]));
        assert_int_equal(conf_load(&file, path, NULL), HALLEY_OK);
        assert_string_equal(file.path, path);
        assert_true(str_eq(conf_find(file.root, "x")->text, STR("1")));
        conf_fini(&file);
    }
    close(fd);
    unlink(path);
}

static void a_missing_file_is_said(void **state)
{
    (void)state;
    conf_file file;
    halley_error err = {0};
    assert_int_equal(conf_load(&file, "/no/such/file.yaml", &err), HALLEY_EIO);
    assert_string_equal(err.file, "/no/such/file.yaml");
    assert_string_equal(err.text, "no such file");
}

typedef struct port {
    double bandwidth, latency, share;
    uint32_t size, topology;
    uint64_t bytes;
    bool in_network;
    str name;
    const conf_node *list;
} port;

static const char *const topologies[] = {"ring", "switch", "fully-connected", NULL};

static const conf_field port_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .unit = 0,
     .offset = offsetof(port, name),
     .required = true,
     .doc = "of the port"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(port, bandwidth),
     .required = true,
     .min = 1e-300,
     .max = 1e15,
     .doc = "of one port"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(port, latency),
     .min = 0,
     .max = 1,
     .doc = NULL},
    {.key = "share",
     .type = CONF_TYPE_DOUBLE,
     .unit = 0,
     .offset = offsetof(port, share),
     .min = 0,
     .max = 1,
     .doc = NULL},
    {.key = "size",
     .type = CONF_TYPE_U32,
     .unit = 0,
     .offset = offsetof(port, size),
     .min = 2,
     .max = 0,
     .doc = NULL},
    {.key = "bytes",
     .type = CONF_TYPE_U64,
     .unit = 0,
     .offset = offsetof(port, bytes),
     .doc = NULL},
    {.key = "topology",
     .type = CONF_TYPE_ENUM,
     .unit = 0,
     .offset = offsetof(port, topology),
     .names = topologies,
     .doc = NULL},
    {.key = "in-network",
     .type = CONF_TYPE_BOOL,
     .unit = 0,
     .offset = offsetof(port, in_network),
     .doc = NULL},
    {.key = "list",
     .type = CONF_TYPE_NODE,
     .unit = 0,
     .offset = offsetof(port, list),
     .doc = NULL},
};
enum { N_PORT_FIELDS = sizeof port_fields / sizeof *port_fields };

static void a_map_fills_a_struct_by_its_table(void **state)
{
    (void)state;
    conf_file file;
    port to = {.latency = 3, .share = 0.5};
    parse_ok(&file,
             "name: 42\nbandwidth: \"900 GB/s\"\nsize: 1e3\nbytes: 18446744073709551615\n"
             "topology: fully-connected\nin-network: Yes\nlist: [1]\n",
             "c.yaml");
    halley_error err = {0};
    if (conf_read(&to, &file, file.root, port_fields, N_PORT_FIELDS, true, NULL, &err))
        fail_msg("%s", err.text);
    assert_true(str_eq(to.name, STR("42")));
    assert_true(to.bandwidth == 9e11);
    assert_int_equal(to.size, 1000);
    assert_true(to.bytes == UINT64_MAX);
    assert_int_equal(to.topology, 2);
    assert_true(to.in_network);
    assert_int_equal(to.list->n, 1);
    assert_true(to.latency == 3 && to.share == 0.5);
    conf_fini(&file);
}

static const refusal wrong_values[] = {
    {"c", "bandwidth: -900 GB/s\n", "c:1:12: bandwidth must be positive, is -900 GB/s"},
    {"c", "bandwidth: 0\n", "c:1:12: bandwidth must be positive, is 0"},
    {"c", "bandwidth: 2 EB/s\n",
     "c:1:12: bandwidth must be at most 1.00 PB/s, is 2 EB/s"},
    {"c", "bandwidth: 900\n",
     "c:1:12: bandwidth: bandwidth needs a unit, such as \"900 GB/s\"; is \"900\""},
    {"c", "bandwidth: [1]\n", "c:1:12: bandwidth must be bandwidth, is a list"},
    {"c", "latency: -1 us\n", "c:1:10: latency must be at least 0 s, is -1 us"},
    {"c", "share: 1.5\n", "c:1:8: share must be at most 1, is 1.5"},
    {"c", "share: \"0.5\"\n", "c:1:8: share must be a number, is the text \"0.5\""},
    {"c", "share: 0x10\n", "c:1:8: share must be a number, is \"0x10\""},
    {"c", "size: 1\n", "c:1:7: size must be at least 2, is 1"},
    {"c", "size: -4\n", "c:1:7: size must be positive, is -4"},
    {"c", "size: 2.5\n", "c:1:7: size must be a whole number, is \"2.5\""},
    {"c", "size: 4294967296\n", "c:1:7: size must be at most 4294967295, is 4294967296"},
    {"c", "bytes: -1\n", "c:1:8: bytes must not be negative, is -1"},
    {"c", "bytes: 18446744073709551616\n",
     "c:1:8: bytes must be a whole number, is \"18446744073709551616\""},
    {"c", "topology: rign\n",
     "c:1:11: topology must be one of ring, switch, fully-connected; is \"rign\", did "
     "you "
     "mean \"ring\"?"},
    {"c", "topology: torus\n",
     "c:1:11: topology must be one of ring, switch, fully-connected; is \"torus\""},
    {"c", "in-network: 1\n", "c:1:13: in-network must be true or false, is \"1\""},
    {"c", "in-network: \"yes\"\n",
     "c:1:13: in-network must be true or false, is the text \"yes\""},
    {"c", "name: {a: 1}\n", "c:1:7: name must be a single text, not a map"},
    {"c", "\nbandwith: 1 GB/s\n",
     "c:2:1: unknown key \"bandwith\"; did you mean \"bandwidth\"?"},
    {"c", "colour: red\n",
     "c:1:1: unknown key \"colour\"; the keys here are topology, list, name, share, "
     "size, "
     "bytes, latency, bandwidth, ..."},
    {"c", "latency:\nname: x\n",
     "c:1:9: latency has no value; give one or remove the key"},
    {"c", "name: x\n", "c:1:1: key \"bandwidth\" is missing: of one port"},
    {"c", "", "c: key \"name\" is missing: of the port"},
    {"c", "- 1\n", "c:1:1: here must be keys with values (key: value), not a list"},
    {"c", "{\"name\": \"x\", \"bandwidth\": \"-1 GB/s\"}",
     "c: bandwidth must be positive, is -1 GB/s"},
};

static void a_wrong_value_is_said_with_key_and_place(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrong_values / sizeof *wrong_values; i++) {
        const refusal *r = &wrong_values[i];
        conf_file file;
        port to = {0};
        halley_error err = {0};
        char text[2048];
        parse_ok(&file, r->text, r->name);
        const halley_status status = conf_read(&to, &file, file.root, port_fields,
                                               N_PORT_FIELDS, true, NULL, &err);
        halley_error_format(&err, text, sizeof text);
        if (status != HALLEY_EINVAL || strcmp(text, r->sentence) != 0)
            fail_msg("%s: status %d, %s", r->text, status, text);
        conf_fini(&file);
    }
}

static void foreign_files_may_hold_unknown_keys(void **state)
{
    (void)state;
    conf_file file;
    port to = {.latency = 3};
    uint32_t n_unknown = 1;
    parse_ok(&file, "name: x\ncolour: red\nbandwidth: 1 B/s\nsmell: 1\nlatency:\n", "c");
    assert_int_equal(conf_read(&to, &file, file.root, port_fields, N_PORT_FIELDS, false,
                               &n_unknown, NULL),
                     HALLEY_OK);
    assert_int_equal(n_unknown, 3);
    assert_true(to.latency == 3);
    conf_fini(&file);
}

static halley_status load_example(void *context, halley_error *err)
{
    conf_file file;
    TRY(conf_parse(&file, str_from(context), "c", err));
    conf_fini(&file);
    return HALLEY_OK;
}

static void running_out_of_memory_is_said(void **state)
{
    (void)state;
    static char many[8000] = "{";
    /* Keys and texts that are longer than the first buffer of a reader. */
    static char json[] = "{\"num_attention_heads\": [1, 2.5, \"x\", {}], "
                         "\"another key\": \"a text with an escape\\n, not short\"}";
    size_t n = 1;
    for (int i = 0; i < 150; i++)
        n += (size_t)snprintf(many + n, sizeof many - n, "key-%d: [1, {a: b}, %d], ", i,
                              i);
    memcpy(many + n, "}", 2);
    assert_true(alloc_fail_everywhere(load_example, many) > 5);
    assert_true(alloc_fail_everywhere(load_example, json) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(yaml_becomes_a_tree_with_places),
        cmocka_unit_test(json_becomes_the_same_tree),
        cmocka_unit_test(an_integer_beyond_json_never_passes_for_another),
        cmocka_unit_test(of_equal_keys_the_last_counts_where_text_may_follow),
        cmocka_unit_test(flow_yaml_is_not_mistaken_for_json),
        cmocka_unit_test(an_empty_file_is_null),
        cmocka_unit_test(what_cannot_be_read_is_said_with_its_place),
        cmocka_unit_test(a_duplicate_is_found_in_a_map_of_any_size),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(a_file_is_loaded_with_or_without_a_byte_order_mark),
        cmocka_unit_test(a_missing_file_is_said),
        cmocka_unit_test(a_map_fills_a_struct_by_its_table),
        cmocka_unit_test(a_wrong_value_is_said_with_key_and_place),
        cmocka_unit_test(foreign_files_may_hold_unknown_keys),
        cmocka_unit_test(running_out_of_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
