/*
 * "Does any plan fit?" asks only the smallest designs of each parallelization. The search
 * over all plans is its reference: with a little less memory than the least with which
 * the answer is yes, none of them may fit.
 */
#include "base/rng.h"
#include "cases.h"
#include "halley/plan_keys.h"
#include "halley/search.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct question {
    halley_model model;
    halley_stack stack;
    halley_search_opts opts;
    double outer_GB; /* second tier; 0 = none */
    char about[256];
} question;

static void draw_question(question *q, rng *r)
{
    static const char *const models[] = {"gpt-126m", "mpt-350m",         "qwen3-0.6b",
                                         "gpt-1.7b", "deepseek-v2-lite", "bert-large"};
    static const char *const stacks[] = {"", "megatron-core-2025", "torchtitan-2024",
                                         "maxtext", "megatron-deepspeed-2022"};
    halley_error err = {0};
    const char *const model = models[rng_below(r, 6)], *const stack =
                                                           stacks[rng_below(r, 5)];
    const uint32_t n_npus = 2u << rng_below(r, 3);
    *q = (question){.opts = {.n_npus = n_npus, .top = 1}};
    halley_stack_default(&q->stack);
    if (halley_model_load(&q->model, model, &err) != HALLEY_OK ||
        (stack[0] != '\0' && halley_stack_load(&q->stack, stack, &err) != HALLEY_OK))
        fail_msg("%s", err.text);
    halley_plan_default(&q->opts.plan);
    q->opts.plan.global_batch = n_npus << rng_below(r, 3);
    q->opts.plan.seq = 256u << rng_below(r, 4);
    q->opts.fixed = HALLEY_SEARCH_WORKLOAD_KEYS;
    if (rng_below(r, 2) == 0)
        q->outer_GB = exp2(6 * rng_unit(r) - 2);
    snprintf(q->about, sizeof q->about,
             "%s %s on %u NPUs, batch %u, seq %u, outer %.3f GB", model, stack, n_npus,
             q->opts.plan.global_batch, q->opts.plan.seq, q->outer_GB);
}

static halley_cluster *make_cluster(const question *q, double capacity_GB)
{
    char outer[128] = "", text[512];
    halley_cluster *cluster = NULL;
    halley_error err = {0};
    if (q->outer_GB > 0)
        snprintf(outer, sizeof outer,
                 ", {name: host, kind: per-npu, capacity: %.6f GB, bandwidth: 50 GB/s}",
                 q->outer_GB);
    snprintf(text, sizeof text,
             "name: drawn\nnpus: %u\n"
             "npu: {name: drawn, peak: {bf16: 300 TFLOP/s}, memory: [{name: hbm, "
             "capacity: %.6f GB, bandwidth: 2 TB/s}%s]}\n"
             "nodes: {npus: 4, up: nvlink3-a100}\n"
             "network: {fabric: ib-hdr, bandwidth: 25 GB/s}\n",
             q->opts.n_npus, capacity_GB, outer);
    if (halley_cluster_parse(&cluster, text, strlen(text), "drawn", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return cluster;
}

static bool has_plan(const question *q, double capacity_GB)
{
    halley_cluster *const cluster = make_cluster(q, capacity_GB);
    halley_found best;
    const bool fits = halley_search_any(&best, &q->model, cluster, &q->stack, &q->opts) ==
                      HALLEY_SEARCH_FITS;
    if (fits) {
        halley_estimate e;
        halley_estimate_run(&e, &q->model, &best.plan, cluster, &q->stack);
        assert_true(e.fits);
    }
    halley_cluster_free(cluster);
    return fits;
}

/* The least memory with which a plan is found, within 0.01 %. */
static double find_least_GB(const question *q)
{
    double no = 0.01, yes = 1000;
    assert_true(has_plan(q, yes) && !has_plan(q, no));
    while (yes / no > 1.0001) {
        const double mid = sqrt(no * yes);
        *(has_plan(q, mid) ? &yes : &no) = mid;
    }
    return yes;
}

static void with_less_memory_than_is_said_to_be_needed_no_plan_fits(void **state)
{
    (void)state;
    rng r = rng_seed(5);
    const uint32_t cases = cases_count(12);
    for (uint32_t i = 0; i < cases; i++) {
        question q;
        draw_question(&q, &r);
        const double least_GB = find_least_GB(&q);
        halley_cluster *const cluster = make_cluster(&q, 0.9995 * least_GB);
        halley_search *s = NULL;
        halley_error err = {0};
        q.opts.all = true;
        if (halley_search_run(&s, &q.model, cluster, &q.stack, &q.opts, &err) !=
            HALLEY_OK)
            fail_msg("%s", err.text);
        if (s->n_feasible > 0)
            fail_msg("%s: %.3f GB are said to be needed, but %.0f plans need less",
                     q.about, least_GB, (double)s->n_feasible);
        halley_search_free(s);
        halley_cluster_free(cluster);
        halley_model_fini(&q.model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_less_memory_than_is_said_to_be_needed_no_plan_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
