/*
 * Acceptance of predictions: figures of published runs, one row per case, with the bar
 * that was set before they were predicted. The numbers of the cases are those of the
 * requirements; refusals, memory and money are in tests/cli/acceptance.t, others in
 * test_memory.c, test_time.c, test_schedule.c, test_kinds.c and test_numbers.c.
 */
#include "base/rng.h"
#include "halley/explore.h"
#include "halley/plan_keys.h"
#include "halley/score.h"
#include "halley/search.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static halley_score *score_sets(const char *const *sets, size_t n, uint32_t folds)
{
    halley_score *s = NULL;
    halley_error err = {0};
    if (halley_score_run(&s, sets, n, &(halley_score_opts){.folds = folds}, &err) !=
        HALLEY_OK)
        fail_msg("%s", err.text);
    return s;
}

static const halley_score_row *find_row(const halley_score *s, const char *part)
{
    for (uint32_t i = 0; i < s->n_rows; i++)
        if (strstr(s->rows[i].id, part) != NULL)
            return &s->rows[i];
    fail_msg("no run %s", part);
    return NULL;
}

/* Case 38: ZeRO 1 by owners gets slower with the ranks that share, hybrid ZeRO does
 * not: 1,024 against 8 GPUs. */
static void internevo_scales_as_measured(void **state)
{
    (void)state;
    static const struct {
        const char *set, *small, *large;
        double measured, within;
    } rows[] = {{"internevo", "-8gpu", "-1024gpu", 1.79, 0.10},
                {"internevo-hybrid-zero", "-8gpu", "-1024gpu", 1.05, 0.05}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_score *s = score_sets(&rows[i].set, 1, 0);
        double least = 0, most = 0;
        uint32_t few = UINT32_MAX, many = 0;
        for (uint32_t k = 0; k < s->n_rows; k++) {
            const char *digits = strrchr(s->rows[k].id, '-');
            uint32_t n = 0;
            assert_non_null(digits);
            assert_int_equal(sscanf(digits, "-%u", &n), 1);
            if (n < few) {
                few = n;
                least = s->rows[k].predicted_s;
            }
            if (n > many) {
                many = n;
                most = s->rows[k].predicted_s;
            }
        }
        assert_true(few == 8 && many == 1024);
        if (fabs(most / least / rows[i].measured - 1) > rows[i].within)
            fail_msg("%s: %.3f, not %.2f", rows[i].set, most / least, rows[i].measured);
        halley_score_free(s);
    }
}

/* Case 41: runs in nvfp4 are predicted without a bias. */
static void four_bit_runs_have_no_bias(void **state)
{
    (void)state;
    halley_score *s = score_sets(NULL, 0, 0);
    double sum = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n_rows; i++) {
        if (s->rows[i].dtype != HALLEY_FP4)
            continue;
        sum += s->rows[i].predicted_s / s->rows[i].measured_s - 1;
        n++;
    }
    print_message("%u runs in 4 bits, bias %+.1f %%\n", n, 100 * sum / n);
    assert_true(n >= 15);
    assert_true(fabs(sum / n) <= 0.05);
    assert_non_null(find_row(s, "bloom"));
    halley_score_free(s);
}

static halley_exploration *explore(const char *text)
{
    halley_study *s = NULL;
    halley_exploration *e = NULL;
    halley_error err = {0};
    if (halley_study_parse(&s, text, strlen(text), "study", &err) != HALLEY_OK ||
        halley_explore_run(&e, s, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_study_free(s);
    return e;
}

/* Case 46: 1 MB, 48 MB and 10 GB on chip give three step times, falling. */
static void on_chip_memory_matters(void **state)
{
    (void)state;
    static const char *const sizes[] = {"1 MB", "48 MB", "10 GB"};
    double before = HUGE_VAL;
    for (int i = 0; i < 3; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "name: s\nmodel: llama3-8b\ncluster: dgx-h100:8\nallow-unfit: yes\n"
                 "set: {cluster.npu.on-chip: %s}\n",
                 sizes[i]);
        halley_exploration *e = explore(text);
        assert_true(e->best[0].objective[0] < before);
        before = e->best[0].objective[0];
        halley_exploration_free(e);
    }
}

/* Case 47: explore and estimate of one design are the same, in time and in fit. */
static void explore_equals_estimate(void **state)
{
    (void)state;
    halley_exploration *e =
        explore("name: s\nmodel: llama3-8b\ncluster: dgx-h100:64\nplan: {global-batch: "
                "128}\nallow-unfit: yes\nvary: {plan.tp: [1, 2, 4]}\n");
    halley_model model;
    halley_cluster *cluster = NULL;
    halley_stack stack;
    halley_error err = {0};
    halley_stack_default(&stack);
    assert_int_equal(halley_model_load(&model, "llama3-8b", &err), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&cluster, "dgx-h100:64", &err), HALLEY_OK);
    assert_int_equal(e->n_best, 3);
    for (uint32_t i = 0; i < 3; i++) {
        halley_plan p;
        halley_estimate one;
        halley_plan_default(&p);
        p.tp = e->best[i].plan.tp;
        p.dp = 64 / p.tp;
        p.global_batch = 128;
        assert_int_equal(halley_plan_check(&p, &model, 64, &err), HALLEY_OK);
        halley_estimate_run(&one, &model, &p, cluster, &stack);
        assert_true(one.step_s == e->best[i].objective[0]);
        assert_true(one.fits == e->best[i].fits);
    }
    halley_exploration_free(e);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
}

static uint32_t draw_of(rng *r, const uint32_t *list, uint32_t n)
{
    return list[rng_below(r, n)];
}

/* A plan of the space that `plan` searches by default. */
static halley_plan draw_plan(rng *r, const halley_model *m, uint32_t n_npus)
{
    static const uint32_t powers[] = {1, 2, 4, 8, 16};
    static const halley_recompute kinds[] = {
        HALLEY_RECOMPUTE_NONE, HALLEY_RECOMPUTE_SELECTIVE, HALLEY_RECOMPUTE_FULL};
    halley_plan p;
    halley_plan_default(&p);
    p.tp = draw_of(r, powers, 4);
    p.pp = draw_of(r, powers, 5);
    p.dp = n_npus / (p.tp * p.pp);
    p.ep = m->experts > 0 ? draw_of(r, powers, 4) : 1;
    p.virtual_stages = p.pp > 1 ? draw_of(r, powers, 3) : 1;
    p.micro_batch = draw_of(r, powers, 4);
    p.recompute = kinds[rng_below(r, 3)];
    p.sequence_parallel = rng_below(r, 4) > 0;
    p.zero = (uint32_t)rng_below(r, 4);
    p.global_batch = 4 * n_npus;
    return p;
}

/* No random plan of the space is faster than the best one that was found. */
static void no_random_plan_beats_the_best(void **state)
{
    (void)state;
    static const struct {
        const char *model, *cluster;
    } cases[] = {{"llama3-8b", "dgx-h100:32"},
                 {"gpt-18.4b", "dgx-a100:64"},
                 {"llama3-70b", "gb200-nvl72:64"},
                 {"qwen3-30b-a3b", "dgx-h200:32"},
                 {"mixtral-8x7b", "mi300x:64"}};
    rng r = rng_seed(23);
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_model model;
        halley_cluster *cluster = NULL;
        halley_stack stack;
        halley_search *s = NULL;
        halley_error err = {0};
        halley_stack_default(&stack);
        assert_int_equal(halley_model_load(&model, cases[i].model, &err), HALLEY_OK);
        assert_int_equal(halley_cluster_load(&cluster, cases[i].cluster, &err),
                         HALLEY_OK);
        const uint32_t n_npus = halley_cluster_npus(cluster);
        halley_search_opts opts = {.n_npus = n_npus, .top = 1};
        halley_plan_default(&opts.plan);
        opts.plan.global_batch = 4 * n_npus;
        opts.fixed = 1ull << HALLEY_KEY_GLOBAL_BATCH;
        if (halley_search_run(&s, &model, cluster, &stack, &opts, &err) != HALLEY_OK)
            fail_msg("%s", err.text);
        assert_int_equal(s->n_found, 1);
        const double best = s->found[0].estimate.step_s;
        for (int k = 0; k < 2000; k++) {
            halley_estimate e;
            halley_plan p = draw_plan(&r, &model, n_npus);
            if (p.dp == 0 || p.tp * p.pp * p.dp != n_npus ||
                halley_plan_check(&p, &model, n_npus, NULL) != HALLEY_OK)
                continue;
            halley_estimate_run(&e, &model, &p, cluster, &stack);
            if (e.fits && e.step_s < best * (1 - 1e-12))
                fail_msg("%s on %s: tp %u pp %u dp %u ep %u v %u mbs %u recompute %d "
                         "zero %u sp %d takes %.6f s, the best %.6f s",
                         cases[i].model, cases[i].cluster, p.tp, p.pp, p.dp, p.ep,
                         p.virtual_stages, p.micro_batch, (int)p.recompute, p.zero,
                         p.sequence_parallel, e.step_s, best);
            n += e.fits;
        }
        halley_search_free(s);
        halley_cluster_free(cluster);
        halley_model_fini(&model);
    }
    print_message("%u random plans that fit\n", n);
    assert_true(n > 1000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(internevo_scales_as_measured),
        cmocka_unit_test(four_bit_runs_have_no_bias),
        cmocka_unit_test(on_chip_memory_matters),
        cmocka_unit_test(explore_equals_estimate),
        cmocka_unit_test(no_random_plan_beats_the_best),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
