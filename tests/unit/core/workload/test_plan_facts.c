/* The keys of plans: every row at its bounds, its words and its example, printed and
 * read. */
#include "base/number/number.h"
#include "halley/plan_keys.h"
#include "unit.h"
#include "workload/plan_facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static halley_plan set_key(halley_plan_key key, const char *text)
{
    halley_plan plan;
    halley_error err = {0};
    halley_plan_default(&plan);
    if (halley_plan_set(&plan, key, text, &err) != HALLEY_OK)
        fail_msg("%s: %s", halley_plan_key_name(key), err.text);
    if ((plan.given >> key & 1) == 0)
        fail_msg("%s is not given after it was set", halley_plan_key_name(key));
    return plan;
}

static void assert_refused(halley_plan_key key, const char *text)
{
    halley_plan plan, before;
    halley_error err = {0};
    halley_plan_default(&plan);
    memcpy(&before, &plan, sizeof plan);
    const char *name = halley_plan_key_name(key);
    if (halley_plan_set(&plan, key, text, &err) == HALLEY_OK)
        fail_msg("%s takes %s", name, text);
    if (strstr(err.text, name) == NULL)
        fail_msg("\"%s\" does not name %s", err.text, name);
    assert_memory_equal(&plan, &before, sizeof plan);
}

/* What a plan prints reads back as the same plan. */
static void assert_reads_back(halley_plan_key key, const char *text)
{
    const halley_plan plan = set_key(key, text);
    halley_plan again;
    halley_error err = {0};
    char *value = NULL;
    char file[4096];
    halley_plan_default(&again);
    assert_int_equal(halley_plan_print(&value, &plan, key, &err), HALLEY_OK);
    if (value == NULL) {
        fail_msg("%s %s prints nothing", halley_plan_key_name(key), text);
        return;
    }
    snprintf(file, sizeof file, "{\"%s\": %s}", halley_plan_key_name(key), value);
    if (halley_plan_parse(&again, NULL, file, strlen(file), "x", &err) != HALLEY_OK)
        fail_msg("%s: %s", file, err.text);
    again.given = plan.given; /* mxfp8 sets two keys */
    again.recipe = plan.recipe;
    if (memcmp(&again, &plan, sizeof plan) != 0)
        fail_msg("%s is not %s", file, text);
    free(value);
}

static void check_bounds(halley_plan_key key, const fact *f)
{
    assert_true(f->max > f->min);
    assert_reads_back(key, number_shortest(f->min).at);
    assert_reads_back(key, number_shortest(f->max).at);
    assert_refused(key, number_shortest(f->max + 1).at);
    assert_refused(key, number_shortest(f->min - 1).at);
    assert_refused(key, "many");
    if (f->all != NULL)
        assert_reads_back(key, f->all);
}

static void check_words(halley_plan_key key, const fact *f)
{
    for (size_t i = 0; f->words[i] != NULL; i++) {
        assert_reads_back(key, f->words[i]);
        assert_true(strlen(f->words[i]) > 0 && strchr(f->words[i], '_') == NULL);
    }
    assert_refused(key, "nonesuch");
}

static void every_row_takes_its_bounds_words_and_example(void **state)
{
    (void)state;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const halley_plan_key key = (halley_plan_key)i;
        const fact *f = &workload_plan_facts.rows[i];
        assert_true(f->key != NULL && f->doc != NULL && f->by_default != NULL);
        if (f->kind == FACT_FLAG) {
            assert_reads_back(key, "yes");
            assert_reads_back(key, "no");
            assert_refused(key, "maybe");
            continue;
        }
        assert_non_null(f->example);
        assert_reads_back(key, f->example);
        if (f->kind == FACT_U32 || f->kind == FACT_REAL)
            check_bounds(key, f);
        if (f->words != NULL)
            check_words(key, f);
    }
    assert_null(workload_plan_facts.rows[HALLEY_N_PLAN_KEYS].key);
}

static void lists_add_up_and_take_lists_and_texts(void **state)
{
    (void)state;
    halley_plan plan = set_key(HALLEY_KEY_OFFLOAD, "optimizer+gradients");
    assert_int_equal(plan.offload, HALLEY_OFFLOAD_OPTIMIZER | HALLEY_OFFLOAD_GRADIENTS);
    assert_int_equal(halley_plan_set(&plan, HALLEY_KEY_OFFLOAD, "weights", NULL),
                     HALLEY_OK);
    assert_int_equal(plan.offload, HALLEY_OFFLOAD_OPTIMIZER | HALLEY_OFFLOAD_GRADIENTS |
                                       HALLEY_OFFLOAD_WEIGHTS);
    const char text[] = "stage_layers: [1, \"2+3\"]\noffload: []\nexpose: none\n";
    assert_int_equal(halley_plan_parse(&plan, NULL, text, strlen(text), "x", NULL),
                     HALLEY_OK);
    assert_int_equal(plan.n_stage_layers, 3);
    assert_int_equal(plan.stage_layers[2], 3);
    assert_int_equal(plan.expose, 0);
    assert_int_equal(halley_plan_set(&plan, HALLEY_KEY_STAGE_LAYERS, "7,8", NULL),
                     HALLEY_OK);
    assert_int_equal(plan.n_stage_layers, 2);
}

static void an_abbreviated_format_sets_its_recipe_in_any_order(void **state)
{
    (void)state;
    static const char *const files[] = {"dtype: mxfp8\nfp8-recipe: row\n",
                                        "fp8-recipe: row\ndtype: mxfp8\n"};
    for (size_t i = 0; i < 2; i++) {
        halley_plan plan;
        halley_plan_default(&plan);
        assert_int_equal(
            halley_plan_parse(&plan, NULL, files[i], strlen(files[i]), "x", NULL),
            HALLEY_OK);
        assert_int_equal(plan.dtype, HALLEY_FP8);
        assert_int_equal(plan.recipe, HALLEY_FP8_MX);
    }
}

/* Names of keys in other programs: none is a key here, and none stands for two keys. */
static void names_in_other_programs_are_unambiguous(void **state)
{
    (void)state;
    size_t n = 0;
    for (const fact *f = workload_plan_facts.rows; f->key != NULL; f++) {
        str part, word, all = str_from(f->also);
        bool is_alias;
        while (str_next(&all, ';', &part))
            while (str_next(&part, ' ', &word)) {
                if (word.n == 0)
                    continue;
                assert_null(fact_find(&workload_plan_facts, word));
                assert_ptr_equal(fact_find_also(&is_alias, &workload_plan_facts, word),
                                 f);
                n++;
            }
    }
    assert_int_equal(n, 52);
    halley_plan_key key;
    bool is_alias;
    assert_true(halley_plan_key_find(&key, &is_alias, "tensor_model-parallel_size"));
    assert_true(key == HALLEY_KEY_TP && is_alias);
    assert_true(halley_plan_key_find(&key, &is_alias, "tensor"));
    assert_true(key == HALLEY_KEY_TP && !is_alias);
    assert_false(halley_plan_key_find(&key, &is_alias, "tp"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_takes_its_bounds_words_and_example),
        cmocka_unit_test(lists_add_up_and_take_lists_and_texts),
        cmocka_unit_test(an_abbreviated_format_sets_its_recipe_in_any_order),
        cmocka_unit_test(names_in_other_programs_are_unambiguous),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
