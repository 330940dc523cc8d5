/* The tokenizer: in memory, and through a window over a file. */
#include "alloc_fail.h"
#include "base/file.h"
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
    assert_true(file_stream_gzipped(file));
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
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
