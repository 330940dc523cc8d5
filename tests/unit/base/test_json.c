/* The tokenizer: in memory, and through a window over a file. */
#include "alloc_fail.h"
#include "base/file/file.h"
#include "base/json.h"
#include "base/rng.h"
#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A document larger than the window, with strings and gaps that are larger, too. */
static void make_document(strbuf *to)
{
    strbuf_add(to, STR("\xef\xbb\xbf{\"long\": \""));
    for (int i = 0; i < 100000; i++)
        strbuf_add(to, STR("abc\\n\\u00e9"));
    strbuf_add(to, STR("\","));
    for (int i = 0; i < 60000; i++)
        strbuf_add_char(to, i % 100 == 0 ? '\n' : ' ');
    strbuf_add(to, STR("\"items\": ["));
    for (int i = 0; i < 30000; i++)
        strbuf_printf(to, "%s{\"n\": %d, \"v\": [%d.5e3, true, null, \"}]\\\"\"]}\n",
                      i > 0 ? "," : "", i * 7777, -i);
    strbuf_add(to, STR("]}"));
    assert_false(to->failed);
}

static void same_tokens(json_reader *a, json_reader *b)
{
    json_token token;
    do {
        token = json_next(a);
        assert_int_equal(json_next(b), token);
        assert_int_equal(json_offset(a), json_offset(b));
        if (token >= JSON_KEY && token <= JSON_NUMBER) {
            assert_int_equal(a->text.n, b->text.n);
            assert_memory_equal(a->text.at, b->text.at, a->text.n);
        }
    } while (token != JSON_END && token != JSON_ERROR);
    assert_int_equal(token, JSON_END);
}

static void a_window_shows_the_same_tokens_as_memory(void **state)
{
    (void)state;
    strbuf text = {0};
    make_document(&text);
    json_reader memory, window;
    file_stream *file;
    json_open(&memory, strbuf_str(&text));
    assert_int_equal(file_stream_lend(&file, text.at, text.n, "t", NULL), HALLEY_OK);
    assert_int_equal(json_open_stream(&window, file, NULL), HALLEY_OK);
    same_tokens(&memory, &window);
    json_close(&window);
    file_stream_close(file);
    strbuf_fini(&text);
}

static void gzip_is_inflated_on_the_way(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-json-XXXXXX.gz";
    close(mkstemps(path, 3));
    strbuf text = {0};
    make_document(&text);
    file_output *out;
    assert_int_equal(file_output_open(&out, path, NULL), HALLEY_OK);
    file_output_str(out, strbuf_str(&text));
    assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
    json_reader memory, window;
    file_stream *file;
    json_open(&memory, strbuf_str(&text));
    assert_int_equal(file_stream_open(&file, path, NULL), HALLEY_OK);
    assert_true(file_stream_is_packed(file));
    assert_int_equal(json_open_stream(&window, file, NULL), HALLEY_OK);
    same_tokens(&memory, &window);
    json_close(&window);
    file_stream_close(file);
    strbuf_fini(&text);
    unlink(path);
}

static void a_cut_gzip_is_the_error_not_the_json(void **state)
{
    (void)state;
    char path[] = "/tmp/halley-json-XXXXXX.gz";
    close(mkstemps(path, 3));
    strbuf text = {0};
    make_document(&text);
    file_output *out;
    assert_int_equal(file_output_open(&out, path, NULL), HALLEY_OK);
    file_output_str(out, strbuf_str(&text));
    assert_int_equal(file_output_commit(out, NULL), HALLEY_OK);
    strbuf_fini(&text);
    assert_int_equal(truncate(path, 3000), 0);
    json_reader r;
    file_stream *file;
    assert_int_equal(file_stream_open(&file, path, NULL), HALLEY_OK);
    assert_int_equal(json_open_stream(&r, file, NULL), HALLEY_OK);
    json_token token;
    do
        token = json_next(&r);
    while (token != JSON_ERROR && token != JSON_END);
    assert_int_equal(token, JSON_ERROR);
    halley_error err = {0};
    assert_int_equal(json_error(&r, &err, NULL), HALLEY_EFORMAT);
    assert_non_null(strstr(err.text, "cut short"));
    json_close(&r);
    file_stream_close(file);
    unlink(path);
}

static void a_leap_lands_where_a_walk_does(void **state)
{
    (void)state;
    strbuf text = {0};
    make_document(&text);
    json_reader leap, walk;
    json_open(&leap, strbuf_str(&text));
    json_open(&walk, strbuf_str(&text));
    for (json_token token = JSON_KEY; token != JSON_END;) {
        token = json_next(&leap);
        assert_int_equal(json_next(&walk), token);
        if (token == JSON_OBJECT && leap.depth > 1) {
            assert_true(json_leap(&leap, token));
            assert_true(json_skip(&walk, token));
        }
        assert_ptr_equal(leap.at, walk.at);
        assert_int_equal(leap.depth, walk.depth);
    }
    strbuf_fini(&text);
}

static void an_error_in_a_window_knows_its_line(void **state)
{
    (void)state;
    strbuf text = {0};
    make_document(&text);
    strbuf_add(&text, STR("\n  ]"));
    json_reader r;
    file_stream *file;
    assert_int_equal(file_stream_lend(&file, text.at, text.n, "t", NULL), HALLEY_OK);
    assert_int_equal(json_open_stream(&r, file, NULL), HALLEY_OK);
    while (json_next(&r) != JSON_ERROR)
        ;
    halley_error err = {0};
    json_error(&r, &err, NULL);
    assert_int_equal(err.line, 600 + 30000 + 2);
    assert_int_equal(err.column, 3);
    assert_int_equal(err.offset, text.n - 1);
    json_close(&r);
    file_stream_close(file);
    strbuf_fini(&text);
}

static const struct {
    const char *text;
    bool foreign;
    json_token second; /* of the value in [value] */
} words[] = {
    {"[NaN]", true, JSON_NUMBER},      {"[NaN]", false, JSON_ERROR},
    {"[-inf]", true, JSON_NUMBER},     {"[-Infinity]", true, JSON_NUMBER},
    {"[-]", true, JSON_ERROR},         {"[-]", false, JSON_ERROR},
    {"[\"a\nb\"]", true, JSON_STRING}, {"[\"a\nb\"]", false, JSON_ERROR},
    {"[-5]", true, JSON_NUMBER},       {"[nul]", true, JSON_ERROR},
};

static void foreign_json_may_have_nan_and_control_characters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        json_reader r;
        json_open(&r, str_from(words[i].text));
        r.foreign = words[i].foreign;
        assert_int_equal(json_next(&r), JSON_ARRAY);
        assert_int_equal(json_next(&r), words[i].second);
    }
}

static void a_leap_over_hostile_nesting_stops(void **state)
{
    (void)state;
    char text[2000];
    memset(text, '[', sizeof text);
    json_reader r;
    json_open(&r, (str){text, sizeof text});
    assert_false(json_leap(&r, json_next(&r)));
    assert_string_equal(r.problem, "nested more than 512 deep");
    json_open(&r, STR("[[\"a"));
    assert_false(json_leap(&r, json_next(&r)));
}

static halley_status read_all(void *context, halley_error *err)
{
    const strbuf *text = context;
    file_stream *file;
    TRY(file_stream_lend(&file, text->at, text->n, "t", err));
    json_reader r;
    halley_status status = json_open_stream(&r, file, err);
    if (status == HALLEY_OK) {
        json_token token;
        do
            token = json_next(&r);
        while (token != JSON_END && token != JSON_ERROR);
        if (token == JSON_ERROR)
            status = json_error(&r, err, NULL);
        json_close(&r);
    }
    file_stream_close(file);
    return status;
}

static void a_window_without_memory_says_so(void **state)
{
    (void)state;
    strbuf text = {0};
    make_document(&text);
    assert_true(alloc_fail_everywhere(read_all, &text) >= 4);
    strbuf_fini(&text);
}

/* The tokens of a text as letters: {}[] k(ey) s(tring) n(umber) t f 0(null), E at the end
 * or ! for an error. */
static const char *tokens(const char *text, json_reader *r)
{
    static const char letters[] = {'E', '!', '{', '}', '[', ']',
                                   'k', 's', 'n', 't', 'f', '0'};
    static char out[64];
    size_t n = 0;
    json_open(r, (str){text, strlen(text)});
    while (n + 1 < sizeof out) {
        const json_token token = json_next(r);
        out[n++] = letters[token];
        if (token == JSON_END || token == JSON_ERROR)
            break;
    }
    out[n] = '\0';
    return out;
}

static void texts_are_cut_into_tokens(void **state)
{
    (void)state;
    static const struct {
        const char *text, *tokens;
    } rows[] = {
        {"", "E"},
        {" \t\r\n", "E"},
        {"\xef\xbb\xbf{}", "{}E"},
        {"{}", "{}E"},
        {"[]{}", "[]{}E"},
        {"{\"a\":1,\"b\":[true,false,null]}", "{knk[tf0]}E"},
        {" { \"a\" : \"b\" } ", "{ks}E"},
        {"1 2", "nnE"},
        {"\"a\"\"b\"", "ssE"},
        {"[[[]],[]]", "[[[]][]]E"},
        {"-0.5e+10", "nE"},
        {"1E-2", "nE"},
        {"{", "{!"},
        {"[1", "[n!"},
        {"[1,", "[n!"},
        {"[1 2]", "[n!"},
        {"[1,]", "[n!"},
        {"[,1]", "[!"},
        {"{\"a\":1,}", "{kn!"},
        {"{\"a\"}", "{!"},
        {"{\"a\":}", "{k!"},
        {"{\"a\" 1}", "{!"},
        {"{a:1}", "{!"},
        {"{1:1}", "{!"},
        {"[}", "[!"},
        {"{]", "{!"},
        {"}", "!"},
        {"]", "!"},
        {"\"a", "!"},
        {"\"a\\", "!"},
        {"\"a\\\"", "!"},
        {"\"a\nb\"", "!"},
        {"01", "!"},
        {"-", "!"},
        {"-a", "!"},
        {"+1", "!"},
        {".5", "!"},
        {"1.", "!"},
        {"1e", "!"},
        {"1e+", "!"},
        {"0x10", "n!"},
        {"NaN", "!"},
        {"tru", "!"},
        {"[nul]", "[!"},
        {"{}x", "{}!"},
        {"{},{}", "{}!"},
        {"'a'", "!"},
        {"/* */ {}", "!"},
    };
    json_reader r;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const is = tokens(rows[i].text, &r);
        if (strcmp(is, rows[i].tokens) != 0)
            fail_msg("%s: %s, must be %s", rows[i].text, is, rows[i].tokens);
        /* An error stays one, whatever is asked next. */
        if (strchr(is, '!'))
            assert_int_equal(json_next(&r), JSON_ERROR);
    }
}

static void nesting_is_limited(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    char *const text = malloc(DEEP + 1);
    assert_non_null(text);
    json_reader r;
    for (int object = 0; object < 2; object++) {
        memset(text, '[', DEEP);
        json_open(&r, (str){text, DEEP});
        uint32_t depth = 0;
        while (json_next(&r) == JSON_ARRAY)
            depth++;
        assert_int_equal(depth, JSON_MAX_DEPTH);
        assert_string_equal(r.problem, "nested more than 512 deep");
        json_open(&r, (str){text, DEEP});
        assert_false(json_skip(&r, json_next(&r)));
    }
    free(text);
}

static void escapes_are_resolved(void **state)
{
    (void)state;
    static const struct {
        const char *text, *value; /* NULL: refused */
    } rows[] = {
        {"\"\"", ""},
        {"\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d"},
        {"\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t"},
        {"\"\\u0041\\u00e9\\u20ac\"", "A\xc3\xa9\xe2\x82\xac"},
        {"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
        {"\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf"},
        {"\"\\ud7ff\\ue000\\uffff\"", "\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf"},
        {"\"\\ud83d\"", NULL},
        {"\"\\ud83d \\ude00\"", NULL},
        {"\"\\ud83d\\u0041\"", NULL},
        {"\"\\ude00\\ud83d\"", NULL},
        {"\"\\u12\"", NULL},
        {"\"\\u12g4\"", NULL},
        {"\"\\x41\"", NULL},
        {"\"\\'\"", NULL},
        {"\"\\\n\"", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_reader r;
        strbuf to = {0};
        json_open(&r, (str){rows[i].text, strlen(rows[i].text)});
        assert_int_equal(json_next(&r), JSON_STRING);
        const bool fine = json_unescape(&r, &to);
        if (fine != (rows[i].value != NULL))
            fail_msg("%s", rows[i].text);
        if (fine)
            assert_true(str_eq(strbuf_str(&to), str_from(rows[i].value)));
        else
            assert_non_null(r.problem);
        strbuf_fini(&to);
    }
}

static void a_zero_can_be_escaped(void **state)
{
    (void)state;
    json_reader r;
    strbuf to = {0};
    json_open(&r, STR("\"a\\u0000b\""));
    assert_int_equal(json_next(&r), JSON_STRING);
    assert_true(json_unescape(&r, &to));
    assert_true(str_eq(strbuf_str(&to), (str){"a\0b", 3}));
    strbuf_fini(&to);
}

/* Line, column and byte are where the wrong thing stands. */
static void errors_have_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t line, column;
    } rows[] = {
        {"x", 1, 1},
        {"{}\n  x", 2, 3},
        {"[1,\n2,\n 3 4]", 3, 4},
        {"{\"a\":\n\n tru}", 3, 2},
        {"[\"a\nb\"]", 1, 4},
        {"[1,\n", 2, 1},
        {"{\"k\" 1}", 1, 6},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        json_reader r;
        halley_error err = {0};
        tokens(rows[i].text, &r);
        assert_int_equal(json_error(&r, &err, NULL), HALLEY_EFORMAT);
        if (err.line != rows[i].line || err.column != rows[i].column)
            fail_msg("%s: %u:%u %s", rows[i].text, err.line, err.column, err.text);
        assert_true(err.has_offset && err.offset <= strlen(rows[i].text));
    }
}

static void a_wrong_value_is_placed_where_it_starts(void **state)
{
    (void)state;
    json_reader r;
    halley_error err = {0};
    json_open(&r, STR("{\n  \"a\": \"value\" }"));
    json_next(&r);
    json_next(&r);
    assert_int_equal(json_error(&r, &err, "this key is wrong"), HALLEY_EFORMAT);
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 3);
    json_next(&r);
    err = (halley_error){0};
    json_error(&r, &err, "this value is wrong");
    assert_int_equal(err.column, 8);
    assert_string_equal(err.text, "this value is wrong");
}

static void a_value_can_be_passed_over(void **state)
{
    (void)state;
    json_reader r;
    json_open(&r, STR("{\"a\": {\"b\": [1, {}, \"]}\"]}, \"c\": 3}"));
    assert_int_equal(json_next(&r), JSON_OBJECT);
    assert_int_equal(json_next(&r), JSON_KEY);
    assert_true(json_skip(&r, json_next(&r)));
    assert_int_equal(json_next(&r), JSON_KEY);
    assert_true(str_eq(r.text, STR("c")));
    assert_false(json_take_null(&r));
    assert_int_equal(json_next(&r), JSON_NUMBER);
    assert_int_equal(json_next(&r), JSON_OBJECT_END);
    assert_int_equal(json_next(&r), JSON_END);
}

/* Of jansson, whose header calls its types as we call our tokens. */
struct json_t;
struct json_t *json_loads(const char *text, size_t flags, void *why);
void json_delete(struct json_t *value);
enum { DECODE_ANY = 0x4, ALLOW_NUL = 0x10 };

/* Reference: jansson. Random texts of few letters are JSON for both or for neither. */
static void random_texts_are_json_for_jansson_too(void **state)
{
    (void)state;
    static const char *const pieces[] = {"{",     "}",     "[", "]",       ",",    ":",
                                         "\"a\"", "\"b\"", "1", "-2.5E-3", "true", "null",
                                         " ",     "\n",    "0", "\"\\n\"", "\"",   "."};
    rng rand = rng_seed(7);
    unsigned n_valid = 0;
    for (int i = 0; i < 200000; i++) {
        char text[256] = "";
        for (uint64_t n = 1 + rng_below(&rand, 9); n > 0; n--)
            strcat(text, pieces[rng_below(&rand, sizeof pieces / sizeof *pieces)]);
        struct json_t *const value = json_loads(text, DECODE_ANY | ALLOW_NUL, NULL);
        json_reader r;
        json_open(&r, (str){text, strlen(text)});
        const json_token first = json_next(&r);
        const bool ours =
            first != JSON_END && json_skip(&r, first) && json_next(&r) == JSON_END;
        if (ours != (value != NULL))
            fail_msg("%s: %s", text, value ? "valid" : "invalid");
        n_valid += ours;
        if (value)
            json_delete(value);
    }
    assert_true(n_valid > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_window_shows_the_same_tokens_as_memory),
        cmocka_unit_test(gzip_is_inflated_on_the_way),
        cmocka_unit_test(a_cut_gzip_is_the_error_not_the_json),
        cmocka_unit_test(a_leap_lands_where_a_walk_does),
        cmocka_unit_test(an_error_in_a_window_knows_its_line),
        cmocka_unit_test(foreign_json_may_have_nan_and_control_characters),
        cmocka_unit_test(a_leap_over_hostile_nesting_stops),
        cmocka_unit_test(a_window_without_memory_says_so),
        cmocka_unit_test(texts_are_cut_into_tokens),
        cmocka_unit_test(nesting_is_limited),
        cmocka_unit_test(escapes_are_resolved),
        cmocka_unit_test(a_zero_can_be_escaped),
        cmocka_unit_test(errors_have_their_place),
        cmocka_unit_test(a_wrong_value_is_placed_where_it_starts),
        cmocka_unit_test(a_value_can_be_passed_over),
        cmocka_unit_test(random_texts_are_json_for_jansson_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
