/* String views, numbers, UTF-8, nearest names, text buffers. */
#include "alloc_fail.h"
#include "base/error.h"
#include "base/number/number.h"
#include "base/rng.h"
#include "base/str.h"
#include "unit.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void views_compare_bytewise(void **state)
{
    (void)state;
    assert_true(str_eq((str){NULL, 0}, STR("")));
    assert_true(str_eq((str){"a\0b", 3}, (str){"a\0b", 3}));
    assert_false(str_eq((str){"a\0b", 3}, (str){"a\0c", 3}));
    assert_true(str_cmp(STR("a"), STR("b")) < 0);
    assert_true(str_cmp(STR("ab"), STR("a")) > 0);
    assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
    assert_int_equal(str_cmp(STR("ab"), STR("ab")), 0);
    assert_true(str_starts(STR("name.et"), STR("name")));
    assert_false(str_starts(STR("na"), STR("name")));
    assert_true(str_ends(STR("name.et"), STR(".et")));
    assert_true(str_ends(STR(""), STR("")));
    assert_false(str_ends(STR("et"), STR(".et")));
    assert_true(str_contains(STR("abcd"), STR("bc")));
    assert_true(str_contains((str){NULL, 0}, STR("")));
    assert_false(str_contains(STR("abcd"), STR("bd")));
    assert_true(str_eq(str_trim(STR(" \t a b\r\n")), STR("a b")));
    assert_int_equal(str_trim(STR("  ")).n, 0);
    assert_int_equal(str_from(NULL).n, 0);
}

static void splitting_gives_every_part(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t n;
        const char *last;
    } rows[] = {
        {"a,b,c", 3, "c"}, {"a,", 2, ""}, {"", 1, ""}, {",,", 3, ""}, {"x", 1, "x"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        str rest = str_from(rows[i].text), head = {0};
        size_t n = 0;
        while (str_next(&rest, ',', &head))
            n++;
        assert_int_equal(n, rows[i].n);
        assert_true(str_eq(head, str_from(rows[i].last)));
    }
}

static void whole_numbers_are_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",  "-",     "+", " 1", "1 ", "1.0", "0x1", "1e3", "--1", "18446744073709551616",
        "a", "1\0001"};
    uint64_t u = 7;
    int64_t i = 7;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const str s = {bad[k], k == 11 ? 3 : strlen(bad[k])};
        assert_false(str_to_u64(s, &u));
        assert_false(str_to_i64(s, &i));
    }
    assert_false(str_to_u64(STR("-1"), &u));
    assert_false(str_to_i64(STR("9223372036854775808"), &i));
    assert_false(str_to_i64(STR("-9223372036854775809"), &i));
    assert_true(u == 7 && i == 7);
    assert_true(str_to_u64(STR("18446744073709551615"), &u) && u == UINT64_MAX);
    assert_true(str_to_u64(STR("007"), &u) && u == 7);
    assert_true(str_to_i64(STR("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_true(str_to_i64(STR("9223372036854775807"), &i) && i == INT64_MAX);
    assert_true(str_to_i64(STR("+5"), &i) && i == 5);
}

static const char *const numbers[] = {
    "0",
    "-0",
    "1",
    ".5",
    "5.",
    "-1.5e3",
    "1E-3",
    "+2",
    "123456789012345678901234567890",
    "9007199254740993",
    "9007199254740992e22",
    "9007199254740991e-22",
    "1e22",
    "1e23",
    "1.7976931348623157e308",
    "2.2250738585072014e-308",
    "4.9406564584124654e-324",
    "1e-400",
    "18446744073709551616",
    "36893488147419103232",
    "184467440737095516160",
    "0.1",
    "0.000000000000000000000000000000000000000000000001",
    "100000000000000000000000",
    "179769313486231570814527423731704356798070567525844996598917476803157260780028538760"
    "589558632766878171540458953514382464234321326889464182768467546703537516986049910576"
    "551282076245490090389328944075868508455133942304583236903222948165808559332123347747"
    "900e0",
};

static void decimals_are_read_as_strtod_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        double value = 0;
        const double expected = strtod(numbers[i], NULL);
        if (!number_read(str_from(numbers[i]), &value) ||
            memcmp(&value, &expected, sizeof value) != 0)
            fail_msg("%s is %.17g", numbers[i], value);
    }
    rng r = rng_seed(9);
    for (int i = 0; i < 20000; i++) {
        char text[64];
        const uint64_t digits = rng_u64(&r) >> rng_below(&r, 64);
        const int n = snprintf(
            text, sizeof text, "%llu.%llue%d", (unsigned long long)digits,
            (unsigned long long)rng_below(&r, 10000), (int)rng_below(&r, 80) - 40);
        double value = 0;
        assert_true(number_read((str){text, (size_t)n}, &value));
        assert_true(value == strtod(text, NULL));
    }
}

static void what_is_no_decimal_is_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"",    ".",   "e5",    "1e",    "1e+",   "0x10",
                                      "inf", "nan", "1e309", "1,5",   "1.2.3", " 1",
                                      "1 ",  "1f",  "-",     "1e5.0", "1_0",   "-inf"};
    double value = 7;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (number_read(str_from(bad[i]), &value))
            fail_msg("%s is %g", bad[i], value);
    assert_true(value == 7);
    assert_false(number_read((str){"12345", 0}, &value));
    assert_true(number_read((str){"12345", 2}, &value) && value == 12);
}

/* A locale that writes 1,5 for 1.5, if the machine has one. */
static bool set_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8",
                                        "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (setlocale(LC_NUMERIC, names[i]) != NULL)
            return true;
    return false;
}

static void a_host_with_another_locale_changes_nothing(void **state)
{
    (void)state;
    if (!set_comma_locale())
        skip();
    double value;
    strbuf b = {0};
    const bool read = number_read(STR("1.234567890123456789"), &value);
    strbuf_double(&b, 1.5);
    setlocale(LC_NUMERIC, "C");
    assert_true(read && value == 1.234567890123456789);
    assert_string_equal(b.at, "1.5");
    strbuf_fini(&b);
}

static void utf8_is_judged_as_protobuf_does(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool valid;
    } rows[] = {
        {"", true},
        {"plain ascii, longer than eight bytes", true},
        {"\xc3\xa9", true},
        {"12345678\xe2\x82\xac", true},
        {"\xf0\x9f\x9a\x80", true},
        {"\xf4\x8f\xbf\xbf", true},
        {"\xee\x80\x80\xef\xbf\xbf", true},
        {"\x80", false},
        {"\xc3", false},
        {"\xc0\x80", false},
        {"\xc1\xbf", false},
        {"\xe0\x9f\xbf", false},
        {"\xed\xa0\x80", false},
        {"\xf0\x8f\xbf\xbf", false},
        {"\xf4\x90\x80\x80", false},
        {"\xf5\x80\x80\x80", false},
        {"1234567\xff", false},
        {"\xe2\x82", false},
        {"\xe2\x28\xa1", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (str_utf8_valid(str_from(rows[i].text)) != rows[i].valid)
            fail_msg("row %zu", i);
}

static void distance_counts_edits(void **state)
{
    (void)state;
    static const struct {
        const char *a, *b;
        uint32_t distance;
    } rows[] = {{"", "", 0},
                {"abc", "abc", 0},
                {"abc", "", 3},
                {"abc", "abd", 1},
                {"abc", "acb", 1},
                {"abc", "xabc", 1},
                {"kitten", "sitting", 3},
                {"bandwith", "bandwidth", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(str_distance(str_from(rows[i].a), str_from(rows[i].b)),
                         rows[i].distance);
        assert_int_equal(str_distance(str_from(rows[i].b), str_from(rows[i].a)),
                         rows[i].distance);
    }
    char longest[300];
    memset(longest, 'x', sizeof longest);
    assert_int_equal(str_distance((str){longest, 300}, (str){longest, 300}), 0);
    assert_int_equal(str_distance((str){longest, 300}, STR("x")), 300);
}

static void the_nearest_name_is_found_or_none(void **state)
{
    (void)state;
    static const char *const names[] = {"estimate", "explore", "sim", "trace", "score"};
    assert_string_equal(str_nearest(STR("estimat"), names, 5), "estimate");
    assert_string_equal(str_nearest(STR("tarce"), names, 5), "trace");
    assert_string_equal(str_nearest(STR("sym"), names, 5), "sim");
    assert_null(str_nearest(STR("zzzz"), names, 5));
    assert_null(str_nearest(STR("x"), names, 5));
    assert_null(str_nearest(STR(""), names, 5));
    assert_null(str_nearest(STR("trace"), names, 0));
}

static void a_buffer_grows_and_stays_terminated(void **state)
{
    (void)state;
    strbuf b = {0};
    assert_int_equal(strbuf_str(&b).n, 0);
    strbuf_add(&b, STR("ab"));
    strbuf_add_char(&b, 'c');
    strbuf_printf(&b, "-%d-%s", 42, "x");
    assert_string_equal(b.at, "abc-42-x");
    for (int i = 0; i < 1000; i++) {
        strbuf_printf(&b, "%0100d", i);
        assert_int_equal(strlen(b.at), b.n);
    }
    assert_int_equal(b.n, 8 + 100 * 1000);
    assert_false(b.failed);
    strbuf_fini(&b);
    assert_null(b.at);
}

static void texts_are_escaped_for_where_they_go(void **state)
{
    (void)state;
    static const struct {
        void (*add)(strbuf *, str);
        const char *text, *escaped;
    } rows[] = {
        {strbuf_json, "", "\"\""},
        {strbuf_json, "a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {strbuf_json, "\n\t\r\b\f\x01\x1f", "\"\\n\\t\\r\\b\\f\\u0001\\u001f\""},
        {strbuf_json, "\xc3\xa9\xff!", "\"\xc3\xa9\xef\xbf\xbd!\""},
        {strbuf_xml, "<a href=\"x\">'&'\n",
         "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;\n"},
        {strbuf_xml, "\x01\x7f\xc3", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {strbuf_csv, "plain text", "plain text"},
        {strbuf_csv, "a,b", "\"a,b\""},
        {strbuf_csv, "say \"x\"", "\"say \"\"x\"\"\""},
        {strbuf_csv, "two\nlines", "two\\x0Alines"},
        {strbuf_csv, "=1+1", "'=1+1"},
        {strbuf_csv, "+cmd", "'+cmd"},
        {strbuf_csv, "-2", "'-2"},
        {strbuf_csv, "@SUM(A1)", "'@SUM(A1)"},
        {strbuf_csv, "\t=1", "'\\x09=1"},
        {strbuf_csv, "=\"a\",b", "\"'=\"\"a\"\",b\""},
        {strbuf_csv, "a=b", "a=b"},
        {strbuf_csv, "", ""},
        {strbuf_visible, "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {strbuf_visible, "\x1b]0;title\x07", "\\x1B]0;title\\x07"},
        {strbuf_visible,
         "a\xe2\x80\xae"
         "b",
         "a\\xE2\\x80\\xAE"
         "b"}, /* U+202E */
        {strbuf_visible,
         "a\xe2\x81\xa6"
         "b",
         "a\\xE2\\x81\\xA6"
         "b"}, /* U+2066 */
        {strbuf_visible,
         "\xc2\x9b"
         "31m",
         "\\xC2\\x9B"
         "31m"}, /* CSI */
        {strbuf_visible, "\xff\xc3", "\\xFF\\xC3"},
        {strbuf_json, "a\xe2\x80\xae", "\"a\\u202e\""},
        {strbuf_json, "\xc2\x9b", "\"\\u009b\""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strbuf b = {0};
        rows[i].add(&b, str_from(rows[i].text));
        assert_string_equal(strbuf_str(&b).at, rows[i].escaped);
        strbuf_fini(&b);
    }
    strbuf b = {0};
    strbuf_json(&b, (str){"a\0b", 3});
    assert_string_equal(b.at, "\"a\\u0000b\"");
    strbuf_fini(&b);
}

static void a_double_prints_shortest_and_reads_back(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *text;
    } rows[] = {{0, "0"},          {0.1, "0.1"},       {1.0 / 3, "0.3333333333333333"},
                {1e300, "1e+300"}, {-2.5, "-2.5"},     {123456789, "123456789"},
                {NAN, "null"},     {INFINITY, "null"}, {5e-324, "5e-324"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        strbuf b = {0};
        strbuf_double(&b, rows[i].value);
        assert_string_equal(b.at, rows[i].text);
        strbuf_fini(&b);
    }
    rng r = rng_seed(13);
    for (int i = 0; i < 20000; i++) {
        const uint64_t bits = rng_u64(&r);
        double value, back;
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            continue;
        strbuf b = {0};
        strbuf_double(&b, value);
        assert_true(number_read(strbuf_str(&b), &back));
        assert_memory_equal(&back, &value, sizeof value);
        strbuf_fini(&b);
    }
}

static halley_status fill_buffer(void *context, halley_error *err)
{
    (void)context;
    strbuf b = {0};
    for (int i = 0; i < 300; i++) {
        strbuf_json(&b, STR("a \"text\""));
        strbuf_printf(&b, "%0100d", i);
    }
    const halley_status status = b.failed ? error_nomem(err) : HALLEY_OK;
    if (status == HALLEY_OK)
        assert_int_equal(b.n, 300 * (112));
    strbuf_fini(&b);
    return status;
}

static void a_buffer_without_memory_says_so_at_the_end(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(fill_buffer, NULL) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views_compare_bytewise),
        cmocka_unit_test(splitting_gives_every_part),
        cmocka_unit_test(whole_numbers_are_read_whole_or_not_at_all),
        cmocka_unit_test(decimals_are_read_as_strtod_reads_them),
        cmocka_unit_test(what_is_no_decimal_is_refused),
        cmocka_unit_test(a_host_with_another_locale_changes_nothing),
        cmocka_unit_test(utf8_is_judged_as_protobuf_does),
        cmocka_unit_test(distance_counts_edits),
        cmocka_unit_test(the_nearest_name_is_found_or_none),
        cmocka_unit_test(a_buffer_grows_and_stays_terminated),
        cmocka_unit_test(texts_are_escaped_for_where_they_go),
        cmocka_unit_test(a_double_prints_shortest_and_reads_back),
        cmocka_unit_test(a_buffer_without_memory_says_so_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
