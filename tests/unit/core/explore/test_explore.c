/* Studies, expressions, runs and stores. */
#include "alloc_fail.h"
#include "cases.h"
#include "explore/study/expr.h"
#include "explore/worker.h"
#include "halley/explore.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/halley-explore-XXXXXX";

static const char *write_study(const char *text)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

#define HEAD "name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\n"
#define SPACE                                                                            \
    HEAD "vary:\n"                                                                       \
         "  plan.tp: powers-of-two\n"                                                    \
         "  plan.pp: divisors\n"                                                         \
         "  plan.micro-batch: [1, 2, 4]\n"                                               \
         "  plan.zero: [0, 1, 2]\n"                                                      \
         "  plan.recompute: [none, selective, full]\n"                                   \
         "  cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s, points: 5, scale: log}\n"

static halley_study *load(const char *text)
{
    halley_study *s = NULL;
    halley_error err = {0};
    if (halley_study_load(&s, write_study(text), &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return s;
}

static halley_exploration *explore(const halley_study *s, halley_explore_opts opts)
{
    halley_exploration *e = NULL;
    halley_error err = {0};
    if (halley_explore_run(&e, s, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return e;
}

static double value_of(const char *text)
{
    arena memory = {0};
    explore_expr e;
    halley_error err = {0};
    explore_design d = {.plan = {.tp = 8, .dp = 4, .recompute = HALLEY_RECOMPUTE_FULL}};
    double out = NAN;
    if (explore_expr_compile(&e, &memory, str_from(text), &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    if (!explore_expr_eval(&out, &e, &d, NULL))
        out = NAN;
    arena_fini(&memory);
    return out;
}

static void expressions_have_the_usual_meaning(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        double value;
    } rows[] = {
        {"1 + 2 * 3", 7},
        {"(1 + 2) * 3", 9},
        {"2 ^ 3 ^ 2", 512},
        {"-2 ^ 2", -4},
        {"10 - 4 - 3", 3},
        {"7 % 4", 3},
        {"plan.tp * plan.dp", 32},
        {"plan.tp <= 8 and plan.dp > 3", 1},
        {"not plan.tp == 8 or 1 > 2", 0},
        {"plan.recompute == full", 1},
        {"none == plan.recompute", 0},
        {"80 GB", 8e10},
        {"2 TB/s > 500 GB/s", 1},
        {"10 min / 2 s", 300},
        {"min(3, max(1, 2)) + abs(-1)", 3},
        {"log2(plan.tp) + sqrt(16) + ceil(1.2) + floor(1.8)", 10},
        {"1e3 + 1.5e-1", 1000.15},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double v = value_of(rows[i].text);
        if (!(fabs(v - rows[i].value) < 1e-9))
            fail_msg("%s is %g, not %g", rows[i].text, v, rows[i].value);
    }
}

static void division_by_zero_has_no_value(void **state)
{
    (void)state;
    assert_true(isnan(value_of("1 / (plan.tp - 8)")));
    assert_true(isnan(value_of("1 % 0")));
    assert_true(isnan(value_of("log(0)")));
    assert_true(isnan(value_of("sqrt(-1)")));
}

static void wrong_expressions_are_refused(void **state)
{
    (void)state;
    static const char *const rows[] = {
        "",     "1 +",         "* 2",          "(1",           "1)",
        "1 2",  "plan.tpp",    "plan.tp == x", "min(1",        "min 1",
        "a, b", "cluster > 1", "1 & 2",        "step-tim < 1", "not",
        "()",   "min()",       "1..2",         "min(1)",       "abs(1, 2)"};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        arena memory = {0};
        explore_expr e;
        halley_error err = {0};
        if (explore_expr_compile(&e, &memory, str_from(rows[i]), &err) == HALLEY_OK)
            fail_msg("\"%s\" was accepted", rows[i]);
        assert_true(err.text[0] != '\0');
        arena_fini(&memory);
    }
}

static void expressions_of_any_depth_are_refused_not_followed(void **state)
{
    (void)state;
    char text[4096];
    memset(text, '(', sizeof text);
    arena memory = {0};
    explore_expr e;
    assert_int_not_equal(
        explore_expr_compile(&e, &memory, (str){text, sizeof text}, NULL), HALLEY_OK);
    memset(text, '-', sizeof text);
    assert_int_not_equal(
        explore_expr_compile(&e, &memory, (str){text, sizeof text}, NULL), HALLEY_OK);
    arena_fini(&memory);
}

static void the_space_is_the_product_of_its_axes(void **state)
{
    (void)state;
    halley_study *s = load(SPACE);
    /* tp 1..64, pp divisors of 36 layers, 3 x 3 x 3 x 5 */
    assert_int_equal(halley_study_axes(s), 6);
    assert_true(halley_study_size(s) == 7.0 * 9 * 3 * 3 * 3 * 5);
    halley_exploration *e = explore(s, (halley_explore_opts){0});
    assert_true((double)e->n_evaluated == halley_study_size(s));
    uint64_t refused = 0;
    for (uint32_t i = 0; i < e->n_refusals; i++)
        refused += e->refusals[i].designs;
    assert_int_equal(refused + e->n_feasible, e->n_evaluated);
    halley_exploration_free(e);
    halley_study_free(s);
}

/* The odometer sets only what changed; the slow way sets everything. */
static void moving_equals_setting_everything_anew(void **state)
{
    (void)state;
    halley_study *s =
        load(SPACE "  stack: [megatron-2022, megatron-core-2024]\n"
                   "  cluster.npu: [A100-SXM4-80GB, H100-SXM-80GB]\n"
                   "  cluster.npu.peak: [100 TFLOP/s, 333 TFLOP/s, 777 TFLOP/s]\n"
                   "  model.hidden: [4096, 4608, 5120]\n"
                   "  odd: [{name: a}, {name: b, plan.virtual: 2}, {name: c, "
                   "cluster.up.bandwidth: 77 GB/s, plan.no-overlap: yes}]\n");
    explore_worker *fast = malloc(sizeof *fast), *slow = malloc(sizeof *slow);
    explore_worker_init(fast, s);
    const uint64_t size = (uint64_t)halley_study_size(s);
    for (uint64_t i = 0; i < cases_count(3000); i++) {
        const uint64_t id = i % 3 ? i : i * 7919 % size;
        explore_row a = {0}, b = {0};
        explore_worker_move(fast, id);
        explore_worker_init(slow, s);
        explore_worker_move(slow, id);
        const bool ok = explore_worker_try(fast, &a);
        assert_int_equal(ok, explore_worker_try(slow, &b));
        if (ok)
            assert_memory_equal(a.metrics, b.metrics, sizeof a.metrics);
    }
    free(fast);
    free(slow);
    halley_study_free(s);
}

static void same_candidates(const halley_exploration *a, const halley_exploration *b)
{
    assert_int_equal(a->n_evaluated, b->n_evaluated);
    assert_int_equal(a->n_feasible, b->n_feasible);
    assert_int_equal(a->n_best, b->n_best);
    for (uint32_t i = 0; i < a->n_best; i++) {
        assert_int_equal(a->best[i].id, b->best[i].id);
        assert_memory_equal(a->best[i].metrics, b->best[i].metrics,
                            sizeof a->best[i].metrics);
    }
    assert_int_equal(a->n_front, b->n_front);
    for (uint32_t i = 0; i < a->n_front; i++)
        assert_int_equal(a->front[i].id, b->front[i].id);
    assert_int_equal(a->n_refusals, b->n_refusals);
    for (uint32_t i = 0; i < a->n_refusals; i++) {
        assert_string_equal(a->refusals[i].reason, b->refusals[i].reason);
        assert_int_equal(a->refusals[i].designs, b->refusals[i].designs);
    }
}

#define TWO "objective: [{minimize: step-time}, {minimize: memory}]\n"

static void threads_change_nothing(void **state)
{
    (void)state;
    halley_study *s = load(SPACE TWO "verify: 5\n");
    halley_exploration *one = explore(s, (halley_explore_opts){.threads = 1});
    halley_exploration *four = explore(s, (halley_explore_opts){.threads = 4});
    same_candidates(one, four);
    assert_int_equal(one->n_verified, 5);
    assert_int_equal(four->n_verified, 5);
    for (uint32_t i = 0; i < 5; i++) {
        assert_true(one->verified[i].done && one->verified[i].simulated_s > 0);
        assert_memory_equal(&one->verified[i], &four->verified[i],
                            sizeof one->verified[i]);
    }
    halley_exploration_free(one);
    halley_exploration_free(four);
    halley_study_free(s);
}

static void nothing_on_the_front_is_dominated_or_listed_twice(void **state)
{
    (void)state;
    halley_study *s = load(SPACE TWO);
    halley_exploration *e = explore(s, (halley_explore_opts){.top = 5000});
    assert_true(e->n_front > 1);
    for (uint32_t i = 0; i < e->n_front; i++) {
        for (uint32_t j = 0; j < e->n_best; j++) {
            const double *a = e->best[j].objective, *b = e->front[i].objective;
            assert_false(a[0] <= b[0] && a[1] <= b[1] && (a[0] < b[0] || a[1] < b[1]));
        }
        for (uint32_t j = 0; j < i; j++)
            assert_true(e->front[j].id != e->front[i].id);
    }
    halley_exploration_free(e);
    halley_study_free(s);
}

static void the_best_plan_is_the_best_of_all_plans(void **state)
{
    (void)state;
    halley_study *all = load(HEAD "vary: {plan.tp: [1, 2, 4, 8], plan.pp: [1, 2, 4], "
                                  "cluster.out.bandwidth: [5 GB/s, 50 GB/s]}\n");
    halley_study *best =
        load("name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\n"
             "plan: {global-batch: 512, micro-batch: 1, virtual: 1, recompute: none, "
             "best: {tp: [1, 2, 4, 8], pp: [1, 2, 4]}}\n"
             "vary: {cluster.out.bandwidth: [5 GB/s, 50 GB/s]}\n");
    halley_exploration *a = explore(all, (halley_explore_opts){0});
    halley_exploration *b = explore(best, (halley_explore_opts){0});
    assert_int_equal(b->n_best, 2);
    assert_true(a->best[0].objective[0] == b->best[0].objective[0]);
    assert_int_equal(a->best[0].plan.tp, b->best[0].plan.tp);
    assert_int_equal(a->n_feasible, b->n_feasible);
    halley_exploration_free(a);
    halley_exploration_free(b);
    halley_study_free(all);
    halley_study_free(best);
}

static void tied_parameters_move_together(void **state)
{
    (void)state;
    halley_study *s = load(HEAD "vary:\n  system:\n"
                                "    - {name: a, plan.tp: 2, plan.pp: 4}\n"
                                "    - {name: b, plan.tp: 8, plan.pp: 1, cluster: "
                                "\"dgx-h100:128\"}\n"
                                "baseline: {system: a}\n");
    halley_exploration *e = explore(s, (halley_explore_opts){0});
    assert_int_equal(e->n_best, 2);
    assert_string_equal(e->best[0].cluster, "dgx-h100");
    assert_int_equal(e->best[0].plan.dp, 16);
    assert_true(e->has_baseline);
    assert_int_equal(e->baseline.plan.pp, 4);
    halley_exploration_free(e);
    halley_study_free(s);
}

static void a_derived_parameter_follows(void **state)
{
    (void)state;
    halley_study *s = load("name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\n"
                           "plan: {global-batch: \"= 8 * plan.dp\"}\n"
                           "vary: {plan.tp: [4, 8]}\n");
    halley_exploration *e = explore(s, (halley_explore_opts){0});
    for (uint32_t i = 0; i < e->n_best; i++)
        assert_int_equal(e->best[i].plan.global_batch, 8 * e->best[i].plan.dp);
    halley_exploration_free(e);
    halley_study_free(s);
}

/* With two thirds of a step bound by one resource, its elasticity lies between -1 and 0;
 * break-even is where the two designs are equal. */
static void a_break_even_point_is_where_designs_are_equal(void **state)
{
    (void)state;
    halley_study *s = load(
        HEAD "vary: {plan.tp: [1, 8], cluster.up.bandwidth: [50 GB/s, 300 GB/s]}\n"
             "where: []\n"
             "break-even: [{parameter: cluster.up.bandwidth, from: 1 GB/s, to: 10 TB/s, "
             "of: {plan.tp: 8}, beats: {plan.tp: 4, plan.pp: 2}}]\n");
    halley_exploration *e = explore(s, (halley_explore_opts){0});
    assert_int_equal(e->n_breaks, 1);
    if (e->breaks[0].found) {
        explore_worker *w = malloc(sizeof *w);
        explore_row a, b;
        const explore_question *q = &s->questions[0];
        explore_worker_init(w, s);
        assert_true(
            explore_worker_try_fixed(w, &a, q->of, q->n_of, &q->ref, e->breaks[0].value));
        assert_true(explore_worker_try_fixed(w, &b, q->beats, q->n_beats, &q->ref,
                                             e->breaks[0].value));
        assert_true(fabs(a.objective[0] / b.objective[0] - 1) < 1e-3);
        free(w);
    }
    for (uint32_t i = 0; i < e->n_sensitivities; i++) {
        if (strcmp(halley_study_axis(s, e->sensitivities[i].axis)->name,
                   "cluster.up.bandwidth") == 0)
            assert_true(e->sensitivities[i].elasticity <= 0 &&
                        e->sensitivities[i].elasticity > -1);
    }
    halley_exploration_free(e);
    halley_study_free(s);
}

static void a_store_resumes_where_it_stood(void **state)
{
    (void)state;
    char db[128];
    snprintf(db, sizeof db, "%s/s.db", folder);
    halley_study *s = load(SPACE TWO);
    halley_exploration *plain = explore(s, (halley_explore_opts){0});
    halley_exploration *stored = explore(s, (halley_explore_opts){.store = db});
    same_candidates(plain, stored);
    halley_exploration *again =
        explore(s, (halley_explore_opts){.store = db, .resume = true});
    same_candidates(plain, again);
    assert_int_equal(again->n_resumed, plain->n_evaluated);
    halley_error err = {0};
    halley_exploration *e = NULL;
    assert_int_equal(halley_explore_run(&e, s, &(halley_explore_opts){.store = db}, &err),
                     HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "--resume"));
    halley_exploration_free(plain);
    halley_exploration_free(stored);
    halley_exploration_free(again);
    halley_study_free(s);
    s = load(SPACE TWO "where: [fits, \"plan.tp < 8\"]\n");
    assert_int_equal(
        halley_explore_run(&e, s, &(halley_explore_opts){.store = db, .resume = true},
                           &err),
        HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "has changed"));
    halley_study_free(s);
    unlink(db);
}

static halley_status load_and_run(void *context, halley_error *err)
{
    halley_study *s = NULL;
    halley_exploration *e = NULL;
    halley_status status = halley_study_load(&s, context, err);
    if (status == HALLEY_OK)
        status = halley_explore_run(&e, s, &(halley_explore_opts){.threads = 1}, err);
    halley_exploration_free(e);
    halley_study_free(s);
    return status;
}

static void memory_may_run_out_anywhere(void **state)
{
    (void)state;
    const char *path = write_study(
        HEAD "vary: {plan.tp: divisors, sys: [{plan.pp: 1, name: x}, {plan.pp: 2}]}\n" TWO
             "where: [fits, \"memory < 70 GB\"]\nbaseline: {plan.tp: 8}\n");
    assert_true(alloc_fail_everywhere(load_and_run, (void *)(uintptr_t)path) > 50);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_have_the_usual_meaning),
        cmocka_unit_test(division_by_zero_has_no_value),
        cmocka_unit_test(wrong_expressions_are_refused),
        cmocka_unit_test(expressions_of_any_depth_are_refused_not_followed),
        cmocka_unit_test(the_space_is_the_product_of_its_axes),
        cmocka_unit_test(moving_equals_setting_everything_anew),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(nothing_on_the_front_is_dominated_or_listed_twice),
        cmocka_unit_test(the_best_plan_is_the_best_of_all_plans),
        cmocka_unit_test(tied_parameters_move_together),
        cmocka_unit_test(a_derived_parameter_follows),
        cmocka_unit_test(a_break_even_point_is_where_designs_are_equal),
        cmocka_unit_test(a_store_resumes_where_it_stood),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    const int failed = cmocka_run_group_tests_name("explore", tests, NULL, NULL);
    char path[160];
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    unlink(path);
    rmdir(folder);
    return failed;
}
