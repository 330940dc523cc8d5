/* Process groups as files and recordings declare them. */
#include "alloc_fail.h"
#include "trace/core/groups.h"
#include "unit.h"

#include <string.h>

static const char declared[] =
    "[[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"1\", \"pg_desc\": "
    "\"d\\u00e4ta\", "
    "\"ranks\": [0, 2, 4], \"group_size\": 3, \"x\": {\"y\": [1.5, null, true]}}, "
    "{\"pg_name\": \"2\", \"ranks\": [1.5]}, {\"pg_name\": 3, \"ranks\": [1]}, 7]\", 5]";

static void groups_of_a_recording_are_found(void **state)
{
    (void)state;
    trace_groups g = {0};
    assert_int_equal(
        trace_groups_parse(&g, (halley_bytes){declared, strlen(declared)}, NULL),
        HALLEY_OK);
    assert_int_equal(g.list.n, 1);
    assert_string_equal(g.list.at[0].name.at, "1");
    assert_int_equal(g.list.at[0].n_ranks, 3);
    assert_int_equal(g.list.at[0].ranks[2], 4);
    trace_groups_fini(&g);
}

static void text_in_another_form_declares_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "[{", "[{\"pg_name\": \"1\", ]",
                                        "[{}]"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const halley_bytes values = {texts[i], strlen(texts[i])};
        trace_groups g = {0};
        assert_int_equal(trace_groups_parse(&g, values, NULL), HALLEY_OK);
        assert_int_equal(g.list.n, 0);
        trace_groups_fini(&g);
    }
}

static void ranks_get_new_numbers_and_all_else_stays(void **state)
{
    (void)state;
    const uint32_t numbers[] = {1, UINT32_MAX, 0};
    strbuf out = {0};
    assert_int_equal(trace_groups_renumber(&out,
                                           (halley_bytes){declared, strlen(declared)},
                                           numbers, 3, NULL),
                     HALLEY_OK);
    assert_string_equal(
        out.at,
        "[[{\"pg_name\": \"0\", \"ranks\": []}, {\"pg_name\": \"1\", \"pg_desc\": "
        "\"d\xc3\xa4ta\", \"ranks\": [1, 0], \"group_size\": 2, \"x\": {\"y\": [1.5, "
        "null, "
        "true]}}, {\"pg_name\": \"2\", \"ranks\": []}, {\"pg_name\": 3, \"ranks\": []}, "
        "7]\", 5]");
    out.n = 0;
    assert_int_equal(
        trace_groups_renumber(&out, (halley_bytes){"[{\"a\": ", 7}, numbers, 3, NULL),
        HALLEY_OK);
    assert_int_equal(out.n, 7);
    strbuf_fini(&out);
}

static halley_status parse_and_renumber(void *context, halley_error *err)
{
    (void)context;
    const uint32_t numbers[] = {1, UINT32_MAX, 0};
    const halley_bytes values = {declared, strlen(declared)};
    trace_groups g = {0};
    strbuf out = {0};
    halley_status status = trace_groups_parse(&g, values, err);
    if (status == HALLEY_OK) {
        assert_int_equal(g.list.n, 1);
        status = trace_groups_renumber(&out, values, numbers, 3, err);
    }
    trace_groups_fini(&g);
    strbuf_fini(&out);
    return status;
}

static void without_memory_no_group_is_overlooked(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(parse_and_renumber, NULL) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_of_a_recording_are_found),
        cmocka_unit_test(text_in_another_form_declares_nothing),
        cmocka_unit_test(ranks_get_new_numbers_and_all_else_stays),
        cmocka_unit_test(without_memory_no_group_is_overlooked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
