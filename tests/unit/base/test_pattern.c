/* Regular expressions: the C library's matcher is the oracle on random expressions. */
#include "alloc_fail.h"
#include "base/error.h"
#include "base/pattern.h"
#include "base/rng.h"
#include "unit.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

static bool does_match(const char *expression, str text)
{
    pattern *p = NULL;
    halley_error err;
    if (pattern_compile(&p, str_from(expression), &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    const bool found = pattern_search(p, text);
    assert_int_equal(pattern_search(p, text), found); /* what it remembers is right */
    pattern_free(p);
    return found;
}

static void known_expressions_match_what_they_should(void **state)
{
    (void)state;
    static const struct {
        const char *expression, *text;
        bool matches;
    } cases[] = {
        {"nccl.*AllReduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", true},
        {"nccl.*AllReduce", "ncclDevKernel_AllGather_RING_LL", false},
        {"(^|[^m])all_?gather", "mall_gather", false},
        {"(^|[^m])all_?gather", "allgather", true},
        {"^$", "", true},
        {"$^", "", true},
        {"^$", "x", false},
        {"a|", "", true},
        {"", "anything", true},
        {"()", "x", true},
        {"a{2,3}b", "ab", false},
        {"^a{2,3}b", "aaab", true},
        {"^a{2,3}b", "aaaab", false},
        {"^a{0}b", "b", true},
        {"^a{0,2}b$", "aaab", false},
        {"^a{2,}$", "aaaaa", true},
        {"[]a]", "]", true},
        {"[^]a]", "]", false},
        {"[a-]", "-", true},
        {"[[:upper:]_]+[[:digit:]]", "AB_9", true},
        {"\\(x\\)\\.", "(x).", true},
        {"\\d+\\s\\w", "12 a", true},
        {"^\\D+$", "12", false},
        {"(((a*)*)*)*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaac", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (does_match(cases[i].expression, str_from(cases[i].text)) != cases[i].matches)
            fail_msg("%s against %s", cases[i].expression, cases[i].text);
    assert_true(does_match("a.b", (str){"xa\0b", 4}));
}

static void named_classes_are_those_of_the_c_library(void **state)
{
    (void)state;
    static const char *const names[] = {"alpha", "alnum", "upper", "lower",
                                        "digit", "space", "blank", "xdigit",
                                        "cntrl", "graph", "print", "punct"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        char expression[32];
        regex_t oracle;
        snprintf(expression, sizeof expression, "[[:%s:]]", names[k]);
        assert_int_equal(regcomp(&oracle, expression, REG_EXTENDED | REG_NOSUB), 0);
        for (int i = 1; i < 256; i++) {
            const char text[2] = {(char)i, '\0'};
            assert_int_equal(does_match(expression, (str){text, 1}),
                             regexec(&oracle, text, 0, NULL, 0) == 0);
        }
        regfree(&oracle);
    }
}

static void wrong_expressions_are_refused_with_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *expression, *says;
    } cases[] = {
        {"a(b", "at byte 4: missing closing parenthesis"},
        {"a)b", "at byte 2: unmatched closing parenthesis"},
        {"a[b", "missing terminating ]"},
        {"*a", "at byte 1: quantifier does not follow"},
        {"a|+", "at byte 3: quantifier does not follow"},
        {"(ab)\\1", "reference to non-existent subpattern"},
        {"a\\", "\\ at end of pattern"},
        {"a{3,2}", "numbers out of order in {} quantifier"},
        {"a{65536}", "number too big in {} quantifier"},
        {"[z-a]", "range out of order"},
        {"[[:letter:]]", "unknown POSIX class name"},
        {"[[.a.]]", "POSIX collating elements are not supported"},
        {"((a{255}){255}){255}", "regular expression is too large"},
        {"a\\C", "using \\C is disabled"},
        {"(*UTF)a", "using UTF is disabled"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pattern *p = NULL;
        halley_error err = {0};
        assert_int_not_equal(pattern_compile(&p, str_from(cases[i].expression), &err),
                             HALLEY_OK);
        assert_null(p);
        if (strstr(err.text, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].expression, err.text);
    }
}

static void deep_nesting_is_refused(void **state)
{
    (void)state;
    char text[10001];
    memset(text, '(', 10000);
    pattern *p = NULL;
    halley_error err;
    assert_int_equal(pattern_compile(&p, (str){text, 10000}, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "parentheses are too deeply nested"));
}

typedef struct writer {
    rng r;
    char text[256];
    size_t n;
} writer;

static void write_text(writer *w, const char *text)
{
    for (; *text != '\0' && w->n + 1 < sizeof w->text; text++)
        w->text[w->n++] = *text;
}

static void write_expression(writer *w, int depth);

static void write_unit(writer *w, int depth)
{
    static const char *const units[] = {"a",     "b",     "c",   ".",  "[ab]", "[^a]",
                                        "[b-c]", "[^bc]", "\\.", "ab", "bc"};
    const uint64_t kind = rng_u64(&w->r) % 14;
    if (kind < 11) {
        write_text(w, units[kind]);
    } else if (kind < 13 && depth > 0) {
        write_text(w, "(");
        write_expression(w, depth - 1);
        write_text(w, ")");
    } else {
        write_text(w, "cab");
    }
}

static void write_expression(writer *w, int depth)
{
    static const char *const counts[] = {"*", "+", "?", "{2}", "{1,3}", "{0,2}", "{2,}"};
    const uint64_t units = 1 + rng_u64(&w->r) % 3;
    for (uint64_t i = 0; i < units; i++) {
        write_unit(w, depth);
        if (rng_u64(&w->r) % 3 == 0)
            write_text(w, counts[rng_u64(&w->r) % 7]);
    }
    if (rng_u64(&w->r) % 3 == 0) {
        write_text(w, "|");
        write_expression(w, depth > 0 ? depth - 1 : 0);
    }
}

static void random_expressions_match_as_in_the_c_library(void **state)
{
    (void)state;
    writer w = {.r = rng_seed(7)};
    size_t matches = 0, tries = 0;
    for (int round = 0; round < 4000; round++) {
        w.n = 0;
        /* Not inside of repeats: there the C library gets it wrong ("a(^|c){2}"), and $,
         * too. */
        if (rng_u64(&w.r) % 3 == 0)
            write_text(&w, rng_u64(&w.r) % 2 == 0 ? "^" : "(^|c)");
        write_expression(&w, 3);
        if (rng_u64(&w.r) % 4 == 0)
            write_text(&w, "$");
        if (w.n + 1 == sizeof w.text)
            continue; /* cut off */
        w.text[w.n] = '\0';
        regex_t oracle;
        pattern *p = NULL;
        assert_int_equal(regcomp(&oracle, w.text, REG_EXTENDED | REG_NOSUB), 0);
        assert_int_equal(pattern_compile(&p, (str){w.text, w.n}, NULL), HALLEY_OK);
        for (int i = 0; i < 20; i++) {
            char text[16];
            const size_t n = rng_u64(&w.r) % 12;
            for (size_t k = 0; k < n; k++)
                text[k] = "abc.d"[rng_u64(&w.r) % 5];
            text[n] = '\0';
            const bool expected = regexec(&oracle, text, 0, NULL, 0) == 0;
            if (pattern_search(p, (str){text, n}) != expected)
                fail_msg("\"%s\" against \"%s\": expected %d", w.text, text, expected);
            matches += expected;
            tries++;
        }
        regfree(&oracle);
        pattern_free(p);
    }
    assert_true(tries > 70000);
    assert_true(matches > tries / 10 && matches < tries * 95 / 100);
}

static void a_search_that_costs_too_much_is_no_match_and_counted(void **state)
{
    (void)state;
    char text[40];
    memset(text, 'a', sizeof text);
    pattern *p = NULL;
    assert_int_equal(pattern_compile(&p, STR("^(a|aa|a?a)*[^a]"), NULL), HALLEY_OK);
    assert_false(pattern_search(p, STR("aaa")));
    assert_int_equal(pattern_count_ended(p), 0);
    assert_false(pattern_search(p, (str){text, sizeof text}));
    assert_int_equal(pattern_count_ended(p), 1);
    assert_true(pattern_search(p, STR("aab")));
    pattern_free(p);
}

static void long_expressions_are_refused(void **state)
{
    (void)state;
    static char text[70000];
    memset(text, 'a', sizeof text);
    pattern *p = NULL;
    halley_error err;
    assert_int_equal(pattern_compile(&p, (str){text, sizeof text}, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "longer than the limit"));
}

static halley_status compile_and_search(void *context, halley_error *err)
{
    (void)context;
    pattern *p = NULL;
    TRY(pattern_compile(&p, STR("(a|[bc]{2,9})*d"), err));
    assert_true(pattern_search(p, STR("abcd")));
    pattern_free(p);
    return HALLEY_OK;
}

static void memory_that_runs_out_leaks_nothing(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(compile_and_search, NULL) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_expressions_match_what_they_should),
        cmocka_unit_test(named_classes_are_those_of_the_c_library),
        cmocka_unit_test(wrong_expressions_are_refused_with_their_place),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(random_expressions_match_as_in_the_c_library),
        cmocka_unit_test(a_search_that_costs_too_much_is_no_match_and_counted),
        cmocka_unit_test(long_expressions_are_refused),
        cmocka_unit_test(memory_that_runs_out_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
