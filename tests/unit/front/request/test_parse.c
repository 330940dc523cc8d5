/* Every reader reads the same from memory as from a file. */
#include "base/file/file.h"
#include "halley/explore.h"
#include "halley/plan_keys.h"
#include "unit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Call `same` with the path, text and length of each file of the source tree that matches
 * the pattern. */
static void for_each_file(const char *pattern,
                          void (*same)(const char *path, const char *text, size_t n))
{
    char full[512];
    glob_t found;
    snprintf(full, sizeof full, "%s/%s", getenv("HALLEY_SOURCE_ROOT"), pattern);
    assert_int_equal(glob(full, 0, NULL, &found), 0);
    assert_true(found.gl_pathc > 1);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        file_input in;
        assert_int_equal(file_input_open(&in, found.gl_pathv[i], NULL), HALLEY_OK);
        same(found.gl_pathv[i], (const char *)in.at, in.n);
        file_input_close(&in);
    }
    globfree(&found);
}

static void same_model(const char *path, const char *text, size_t n)
{
    halley_model a, b;
    halley_error err = {0};
    assert_int_equal(halley_model_load(&a, path, &err), HALLEY_OK);
    if (halley_model_parse(&b, NULL, text, n, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_int_equal(a.n_ops, b.n_ops);
    assert_true(a.n_ops == 0 || memcmp(a.ops, b.ops, a.n_ops * sizeof *a.ops) == 0);
    halley_model_fini(&a);
    halley_model_fini(&b);
    assert_memory_equal(&a, &b, sizeof a);
}

static void models_are_the_same(void **state)
{
    (void)state;
    for_each_file("presets/models/*.yaml", same_model);
}

static void same_stack(const char *path, const char *text, size_t n)
{
    halley_stack a, b;
    memset(&a, 0, sizeof a);
    memset(&b, 0, sizeof b);
    assert_int_equal(halley_stack_load(&a, path, NULL), HALLEY_OK);
    assert_int_equal(halley_stack_parse(&b, text, n, path, NULL), HALLEY_OK);
    assert_string_equal(a.name, b.name);
    assert_memory_equal(a.k, b.k, sizeof a.k);
    assert_memory_equal(a.origin, b.origin, sizeof a.origin);
    assert_memory_equal(a.fit, b.fit, a.n_fit);
}

static void stacks_are_the_same(void **state)
{
    (void)state;
    for_each_file("presets/stacks/*.yaml", same_stack);
}

static void same_study(const char *path, const char *text, size_t n)
{
    halley_study *a = NULL, *b = NULL;
    halley_error err = {0};
    if (halley_study_load(&a, path, &err) != HALLEY_OK ||
        halley_study_parse(&b, text, n, path, &err) != HALLEY_OK)
        fail_msg("%s: %s", path, err.text);
    assert_string_equal(halley_study_name(a), halley_study_name(b));
    assert_string_equal(halley_study_text(a), halley_study_text(b));
    assert_int_equal(halley_study_axes(a), halley_study_axes(b));
    assert_true(halley_study_size(a) == halley_study_size(b));
    halley_study_free(a);
    halley_study_free(b);
}

static void studies_are_the_same(void **state)
{
    (void)state;
    for_each_file("studies/*.yaml", same_study);
}

static void a_plan_is_read_from_text_and_says_which_keys_it_gave(void **state)
{
    (void)state;
    static const char yaml[] = "tp: 8\nrecompute: full\noffload: [optimizer]\n";
    static const char json[] = "{\"tp\": 8, \"recompute\": \"full\", \"offload\": "
                               "[\"optimizer\"]}";
    const struct {
        const char *text;
        size_t n;
    } forms[] = {{yaml, sizeof yaml - 1}, {json, sizeof json - 1}};
    for (size_t i = 0; i < 2; i++) {
        halley_plan p;
        uint64_t given = 0;
        halley_plan_default(&p);
        assert_int_equal(
            halley_plan_parse(&p, &given, forms[i].text, forms[i].n, "plan", NULL),
            HALLEY_OK);
        assert_int_equal(p.tp, 8);
        assert_int_equal(p.recompute, HALLEY_RECOMPUTE_FULL);
        assert_int_equal(p.offload, HALLEY_OFFLOAD_OPTIMIZER);
        assert_true(given ==
                    ((uint64_t)1 << HALLEY_KEY_TP | (uint64_t)1 << HALLEY_KEY_RECOMPUTE |
                     (uint64_t)1 << HALLEY_KEY_OFFLOAD));
    }
}

static halley_status parse_plan(const char *text, halley_error *err)
{
    halley_plan p;
    halley_plan_default(&p);
    return halley_plan_parse(&p, NULL, text, strlen(text), "plan", err);
}

static void words_that_a_key_does_not_know_are_refused(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"etp: two", "etp "},
        {"graphs: ful", "graphs must be one of"},
        {"gather: never", "gather must be one of"},
        {"fp8-params: perhaps", "fp8-params must be yes or no"},
        {"recompute-modules: [mlp, moo]", "recompute-modules must be one of"},
        {"recompute-keep: qkv+put", "recompute-keep must be one of"},
        {"recompute: keep", "recompute must be one of"},
        {"gradient-memory: 17", "gradient-memory "},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        halley_error err = {0};
        assert_true(parse_plan(refused[i][0], &err) != HALLEY_OK);
        if (strncmp(err.text, refused[i][1], strlen(refused[i][1])) != 0)
            fail_msg("%s: %s", refused[i][0], err.text);
    }
    assert_int_equal(parse_plan("etp: 1\nzero-group: 0\nfp8-attention: no\n"
                                "dispatcher: all-to-all\ncapacity: 0\ngraphs: none\n"
                                "recompute-keep: []\nlora: 0\ngather: step\n"
                                "recompute-modules: [mla_up_proj, moe-act]\n"
                                "fp8-params: no\nrecompute-offload: input+qkv\n",
                                NULL),
                     HALLEY_OK);
}

static void keys_of_json_have_underscores(void **state)
{
    (void)state;
    static const char row[] = "{\"plan\": {\"tp\": 4, \"micro_batch\": 2, "
                              "\"no_overlap\": true}, \"step_s\": 1.5}";
    halley_plan p;
    halley_plan_default(&p);
    assert_int_equal(halley_plan_parse(&p, NULL, row, sizeof row - 1, "row", NULL),
                     HALLEY_OK);
    assert_int_equal(p.tp, 4);
    assert_int_equal(p.micro_batch, 2);
    assert_true(p.no_overlap);
    halley_error err = {0};
    assert_int_equal(parse_plan("{\"micro_batch\": 2, \"micro-batch\": 2}", &err),
                     HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "given twice"));
}

static void errors_name_the_text(void **state)
{
    (void)state;
    static const char bad[] = "tp: 8\nfoo: 1\n";
    char sentence[2048];
    halley_error err = {0};
    halley_plan p = {0};
    halley_model m;
    halley_study *s = NULL;
    halley_stack k;
    assert_int_equal(halley_plan_parse(&p, NULL, bad, sizeof bad - 1, "mine", &err),
                     HALLEY_EINVAL);
    halley_error_format(&err, sentence, sizeof sentence);
    assert_int_equal(strncmp(sentence, "mine:2:1: ", 10), 0);
    err = (halley_error){0};
    assert_int_not_equal(halley_model_parse(&m, NULL, bad, sizeof bad - 1, "mine", &err),
                         HALLEY_OK);
    assert_string_equal(err.file, "mine");
    err = (halley_error){0};
    assert_int_not_equal(halley_study_parse(&s, bad, sizeof bad - 1, "mine", &err),
                         HALLEY_OK);
    assert_string_equal(err.file, "mine");
    assert_null(s);
    err = (halley_error){0};
    assert_int_not_equal(halley_stack_parse(&k, bad, sizeof bad - 1, "mine", &err),
                         HALLEY_OK);
    assert_string_equal(err.file, "mine");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_the_same),
        cmocka_unit_test(stacks_are_the_same),
        cmocka_unit_test(studies_are_the_same),
        cmocka_unit_test(a_plan_is_read_from_text_and_says_which_keys_it_gave),
        cmocka_unit_test(words_that_a_key_does_not_know_are_refused),
        cmocka_unit_test(keys_of_json_have_underscores),
        cmocka_unit_test(errors_name_the_text),
    };
    return cmocka_run_group_tests_name("parse", tests, NULL, NULL);
}
