/* What strangers write into HTTP requests, judged. */
#include "serve/words.h"
#include "unit.h"

#include <string.h>

static const char token[] = "0123456789abcdef0123456789abcdef";

static void only_the_whole_token_matches(void **state)
{
    (void)state;
    assert_true(serve_token_matches("Bearer 0123456789abcdef0123456789abcdef", token));
    assert_true(serve_token_matches("bearer 0123456789abcdef0123456789abcdef", token));
    static const char *const wrong[] = {"",
                                        "Bearer ",
                                        "Bearer",
                                        "Basic 0123456789abcdef0123456789abcdef",
                                        "Bearer 0123456789abcdef0123456789abcde",
                                        "Bearer 0123456789abcdef0123456789abcdef0",
                                        "Bearer  123456789abcdef0123456789abcdef",
                                        "Bearer 1123456789abcdef0123456789abcdef",
                                        "Bearer 0123456789abcdef0123456789abcdee",
                                        "0123456789abcdef0123456789abcdef"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(serve_token_matches(wrong[i], token));
    assert_false(serve_token_matches(NULL, token));
}

static void only_addresses_are_hosts(void **state)
{
    (void)state;
    static const char *const right[] = {"127.0.0.1",      "127.0.0.1:80", "localhost",
                                        "LocalHost:7425", "[::1]",        "[::1]:7425",
                                        "10.1.2.3:65535"};
    static const char *const wrong[] = {"",
                                        "example.org",
                                        "localhost.example.org",
                                        "127.0.0.1.example.org",
                                        "localhost:",
                                        "localhost:x",
                                        "127.0.0.1:123456",
                                        "[::1",
                                        "[]",
                                        "[::1]x",
                                        "[::1]:",
                                        "::1",
                                        "127.1",
                                        "localhost:80:80",
                                        "user@localhost",
                                        "[::ffff:1.2.3.4.5]"};
    for (size_t i = 0; i < sizeof right / sizeof *right; i++)
        assert_true(serve_host_is_literal(right[i]));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(serve_host_is_literal(wrong[i]));
    assert_false(serve_host_is_literal(NULL));
}

static void an_origin_is_the_host_or_absent(void **state)
{
    (void)state;
    assert_true(serve_origin_is_own(NULL, "localhost:1"));
    assert_true(serve_origin_is_own("http://localhost:1", "localhost:1"));
    assert_false(serve_origin_is_own("http://localhost:2", "localhost:1"));
    assert_false(serve_origin_is_own("https://localhost:1", "localhost:1"));
    assert_false(serve_origin_is_own("null", "localhost:1"));
    assert_false(serve_origin_is_own("http://localhost:1.example.org", "localhost:1"));
    assert_false(serve_origin_is_own("http://x", NULL));
    assert_true(serve_site_is_own(NULL));
    assert_true(serve_site_is_own("same-origin"));
    assert_false(serve_site_is_own("cross-site"));
    assert_false(serve_site_is_own("same-site"));
}

static bool is_fit(const char *name)
{
    return serve_name_is_fit(name, strlen(name));
}

static void names_of_uploads_stay_in_their_folder(void **state)
{
    (void)state;
    char longest[SERVE_NAME + 2];
    memset(longest, 'a', sizeof longest);
    assert_true(is_fit("a") && is_fit("step.0.et") && is_fit("a b") &&
                is_fit("\xc3\xbc.et"));
    assert_true(is_fit("<b>") && is_fit("a..b"));
    assert_false(is_fit("") || is_fit(".") || is_fit("..") || is_fit(".x"));
    assert_false(is_fit("a/b") || is_fit("/a") || is_fit("a\\b") || is_fit("a\nb"));
    assert_false(is_fit("\xff") || is_fit("\xe2\x80\xae") || is_fit("a\x7f"));
    assert_false(serve_name_is_fit("a\0b", 3));
    assert_true(serve_name_is_fit(longest, SERVE_NAME));
    assert_false(serve_name_is_fit(longest, SERVE_NAME + 1));
    assert_true(serve_path_is_visible("upload/x/y") && serve_path_is_visible("a.b/c.d"));
    assert_false(serve_path_is_visible("/a") || serve_path_is_visible("") ||
                 serve_path_is_visible("a/../b") || serve_path_is_visible(".a") ||
                 serve_path_is_visible("a/.b"));
}

static void numbers_and_ids_are_read_whole_or_not(void **state)
{
    (void)state;
    char id[SERVE_TOKEN + 1], name[8];
    unsigned long long n = 7;
    assert_true(serve_id_read(id, token));
    assert_string_equal(id, token);
    assert_false(serve_id_read(id, "") || serve_id_read(id, token + 1) ||
                 serve_id_read(id, "0123456789ABCDEF0123456789ABCDEF"));
    assert_true(serve_length_read(&n, "1000000000000") && n == 1000000000000);
    assert_false(serve_length_read(&n, "") || serve_length_read(&n, "-1") ||
                 serve_length_read(&n, "1 ") || serve_length_read(&n, "0x10") ||
                 serve_length_read(&n, "9999999999999999999"));
    serve_name_plain(name, sizeof name, "a/b/<\"c\">.json");
    assert_string_equal(name, "__c__.j");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_whole_token_matches),
        cmocka_unit_test(only_addresses_are_hosts),
        cmocka_unit_test(an_origin_is_the_host_or_absent),
        cmocka_unit_test(names_of_uploads_stay_in_their_folder),
        cmocka_unit_test(numbers_and_ids_are_read_whole_or_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
