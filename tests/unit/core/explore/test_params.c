/* Every key of a plan is a parameter of studies, and sets what a plan file sets. */
#include "explore/study/param.h"
#include "halley/plan_keys.h"
#include "unit.h"
#include "workload/plan_facts.h"

#include <stdio.h>
#include <string.h>

static halley_plan read_plan(halley_plan_key key, const char *text)
{
    halley_plan plan;
    halley_error err = {0};
    halley_plan_default(&plan);
    if (halley_plan_set(&plan, key, text, &err) != HALLEY_OK)
        fail_msg("%s: %s", halley_plan_key_name(key), err.text);
    plan.given = 0;
    return plan;
}

static explore_ref find_param(const char *path)
{
    explore_ref ref;
    if (!explore_ref_find(&ref, str_from(path), NULL))
        fail_msg("%s is no parameter", path);
    return ref;
}

static void check_value(const char *path, halley_plan_key key, const char *text)
{
    static explore_design design;
    arena memory = {0};
    halley_error err = {0};
    explore_value value;
    const conf_file file = {.path = "s.yaml"};
    const conf_node node = {.kind = CONF_SCALAR, .text = str_from(text)};
    explore_loader loader = {.memory = &memory, .file = &file};
    const explore_ref ref = find_param(path);
    if (explore_value_read(&value, &loader, &ref, &node, &err) != HALLEY_OK)
        fail_msg("%s: %s: %s", path, text, err.text);
    halley_plan_default(&design.plan);
    explore_set(&design, &ref, &value);
    design.plan.given = 0;
    const halley_plan wanted = read_plan(key, text);
    if (memcmp(&design.plan, &wanted, sizeof wanted) != 0)
        fail_msg("%s: %s sets another plan than a file", path, text);
    assert_string_equal(value.text, text);
    if (strncmp(text, "mx", 2) != 0 &&
        strncmp(text, "nv", 2) != 0) /* fp8 with a recipe */
        assert_true(explore_get(&design, &ref) == value.number);
    arena_fini(&memory);
}

static void every_key_of_a_plan_varies_as_a_file_sets_it(void **state)
{
    (void)state;
    size_t n = 0;
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        char path[EXPLORE_PATH];
        const halley_plan_key key = (halley_plan_key)i;
        const fact *f = &workload_plan_facts.rows[i];
        explore_ref ref;
        snprintf(path, sizeof path, "plan.%.40s", f->key);
        if (f->is_fixed) {
            assert_false(explore_ref_find(&ref, str_from(path), NULL));
            continue;
        }
        n++;
        if (f->kind == FACT_FLAG) {
            check_value(path, key, "yes");
            check_value(path, key, "no");
            continue;
        }
        check_value(path, key, f->example);
        if (f->all != NULL)
            check_value(path, key, f->all);
        for (size_t k = 0; f->words != NULL && f->words[k] != NULL; k++)
            check_value(path, key, f->words[k]);
    }
    assert_int_equal(n, HALLEY_N_PLAN_KEYS - 2); /* fp8-params, stage-layers */
    check_value("plan.offload", HALLEY_KEY_OFFLOAD, "optimizer+weights");
}

static void parameters_are_listed_once_and_found_by_their_path(void **state)
{
    (void)state;
    halley_parameter p, q;
    size_t n = 0;
    for (; halley_explore_parameter(&p, n); n++) {
        explore_ref ref;
        assert_true(p.doc != NULL && p.doc[0] != '\0');
        const bool is_pattern =
            strpbrk(p.path, "KCT") != NULL &&
            (strstr(p.path, "KEY") != NULL || strstr(p.path, "TIER") != NULL ||
             strstr(p.path, "CONSTANT") != NULL);
        if (!is_pattern && !explore_ref_find(&ref, str_from(p.path), NULL))
            fail_msg("%s is listed, but not found", p.path);
        for (size_t k = 0; k < n && halley_explore_parameter(&q, k); k++)
            assert_string_not_equal(p.path, q.path);
    }
    assert_true(n > HALLEY_N_PLAN_KEYS);
}

static void an_unknown_path_has_a_near_one(void **state)
{
    (void)state;
    explore_ref ref;
    char nearest[EXPLORE_PATH];
    assert_false(explore_ref_find(&ref, STR("plan.offload-teir"), nearest));
    assert_string_equal(nearest, "plan.offload-tier");
    assert_false(explore_ref_find(&ref, STR("xyzzyxyzzyxyzzy"), nearest));
    assert_string_equal(nearest, "");
}

/* Designs that differ in one key have different names in a store. */
static void every_key_of_a_plan_changes_the_hash_of_a_design(void **state)
{
    (void)state;
    static explore_design design;
    halley_cluster *c;
    halley_error err = {0};
    assert_int_equal(halley_cluster_load(&c, "dgx-h100:8", &err), HALLEY_OK);
    hw_cluster_assign(&design.cluster, c);
    for (int i = 0; i < HALLEY_N_PLAN_KEYS; i++) {
        const fact *f = &workload_plan_facts.rows[i];
        design.plan = (halley_plan){.tp = 1};
        const uint64_t before = explore_design_key(&design);
        const char *texts[] = {f->example != NULL ? f->example : "yes", "no"};
        bool differs = false;
        for (size_t k = 0; k < (f->kind == FACT_FLAG ? 2 : 1); k++) {
            halley_plan_set(&design.plan, (halley_plan_key)i, texts[k], &err);
            differs |= explore_design_key(&design) != before;
        }
        if (!differs)
            fail_msg("%s does not change the hash", f->key);
    }
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_key_of_a_plan_varies_as_a_file_sets_it),
        cmocka_unit_test(parameters_are_listed_once_and_found_by_their_path),
        cmocka_unit_test(an_unknown_path_has_a_near_one),
        cmocka_unit_test(every_key_of_a_plan_changes_the_hash_of_a_design),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
