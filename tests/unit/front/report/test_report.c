/* report/table.h and report/json.h: the same rows for people and for programs. */
#include "alloc_fail.h"
#include "report/json.h"
#include "report/table.h"
#include "unit.h"

#include <stdlib.h>

static const report_column columns[] = {
    {.title = "name", .key = "name", .kind = REPORT_WORDS, .max_width = 8},
    {.title = "nodes", .key = "nodes", .kind = REPORT_COUNT},
    {.title = "size", .key = "size_bytes", .kind = REPORT_QUANTITY, .unit = UNITS_BYTES},
    {.title = "note", .key = "note", .kind = REPORT_WORDS},
};

static report_table *sample(void)
{
    report_table *t = report_table_new(columns, 4);
    assert_non_null(t);
    report_table_words(t, STR("gemm"));
    report_table_count(t, 12);
    report_table_number(t, 1.5e9);
    report_table_words(t, STR("a, \"b\""));
    report_table_words(t, STR("na\xC3\xAFve_kernel"));
    report_table_count(t, 4096);
    report_table_empty(t);
    report_table_words(t, STR("tab\there"));
    return t;
}

static char *as(const report_table *t, report_form form)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    assert_int_equal(report_table_write(t, form, to, NULL), HALLEY_OK);
    fclose(to);
    return text;
}

static void expect(report_form form, const char *expected)
{
    report_table *t = sample();
    char *text = as(t, form);
    assert_string_equal(text, expected);
    free(text);
    report_table_free(t);
}

static void people_see_aligned_columns_with_units(void **state)
{
    (void)state;
    expect(REPORT_TEXT, "name      nodes     size  note\n"
                        "gemm         12  1.50 GB  a, \"b\"\n"
                        "na\xC3\xAFve...   4096           tab\\x09here\n");
}

static void programs_get_plain_numbers_as_csv(void **state)
{
    (void)state;
    expect(REPORT_CSV, "name,nodes,size_bytes,note\n"
                       "gemm,12,1500000000,\"a, \"\"b\"\"\"\n"
                       "na\xC3\xAFve_kernel,4096,,tab\\x09here\n");
}

static void programs_get_plain_numbers_as_json(void **state)
{
    (void)state;
    expect(REPORT_JSON,
           "[\n"
           "  {\"name\": \"gemm\", \"nodes\": 12, \"size_bytes\": 1500000000, "
           "\"note\": \"a, \\\"b\\\"\"},\n"
           "  {\"name\": \"na\xC3\xAFve_kernel\", \"nodes\": 4096, "
           "\"note\": \"tab\\there\"}\n"
           "]\n");
}

static void a_table_without_rows_is_its_head(void **state)
{
    (void)state;
    report_table *t = report_table_new(columns, 2);
    char *text = as(t, REPORT_TEXT);
    assert_string_equal(text, "name  nodes\n");
    free(text);
    text = as(t, REPORT_JSON);
    assert_string_equal(text, "[]\n");
    free(text);
    report_table_free(t);
}

static void containers_nest_and_short_ones_stay_on_their_line(void **state)
{
    (void)state;
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    report_json j;
    report_json_init(&j, to);
    report_json_object(&j, NULL);
    report_json_flat_array(&j, "list");
    report_json_u64(&j, NULL, UINT64_MAX);
    report_json_i64(&j, NULL, INT64_MIN);
    report_json_flat_object(&j, NULL);
    report_json_bool(&j, "yes", true);
    report_json_end(&j);
    report_json_end(&j);
    report_json_array(&j, "deep");
    report_json_double(&j, NULL, 0.1);
    report_json_null(&j, NULL);
    report_json_end(&j);
    report_json_object(&j, "empty");
    report_json_end(&j);
    report_json_end(&j);
    assert_int_equal(report_json_fini(&j, NULL), HALLEY_OK);
    fclose(to);
    assert_string_equal(text, "{\n"
                              "  \"list\": [18446744073709551615, -9223372036854775808, "
                              "{\"yes\": true}],\n"
                              "  \"deep\": [\n"
                              "    0.1,\n"
                              "    null\n"
                              "  ],\n"
                              "  \"empty\": {}\n"
                              "}\n");
    free(text);
}

static halley_status write_table(void *context, halley_error *err)
{
    const report_form *form = context;
    report_table *t = report_table_new(columns, 4);
    if (!t)
        return error_nomem(err);
    for (uint64_t i = 0; i < 100; i++) {
        report_table_words(t, STR("kernel"));
        report_table_count(t, i);
        report_table_number(t, 0.1 * (double)i);
        report_table_empty(t);
    }
    FILE *to = fopen("/dev/null", "w");
    assert_non_null(to);
    const halley_status status = report_table_write(t, *form, to, err);
    fclose(to);
    report_table_free(t);
    return status;
}

static void memory_that_runs_out_while_writing_is_reported(void **state)
{
    (void)state;
    static report_form forms[] = {REPORT_TEXT, REPORT_JSON, REPORT_CSV};
    for (size_t i = 0; i < 3; i++)
        assert_true(alloc_fail_everywhere(write_table, &forms[i]) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(people_see_aligned_columns_with_units),
        cmocka_unit_test(programs_get_plain_numbers_as_csv),
        cmocka_unit_test(programs_get_plain_numbers_as_json),
        cmocka_unit_test(a_table_without_rows_is_its_head),
        cmocka_unit_test(containers_nest_and_short_ones_stay_on_their_line),
        cmocka_unit_test(memory_that_runs_out_while_writing_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
