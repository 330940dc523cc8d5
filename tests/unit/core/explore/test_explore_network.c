/* Studies over networks: each design is the estimate of the cluster that a file with
 * those values describes, and pays for its switches and cables. */
#include "halley/cluster.h"
#include "halley/estimate.h"
#include "halley/explore.h"
#include "halley/plan_keys.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char study_text[] =
    "{name: over, model: gpt-7.5b, cluster: CLUSTER, plan: {tp: 8, pp: 2, global-batch: "
    "512, micro-batch: 1}, vary: {cluster.network.tiers.leaf.oversubscription: [1, 2, "
    "4], cluster.network.planes: [1, 2], cluster.nodes.nics: [4, 8]}, objective: "
    "[{minimize: step-time}, {minimize: capital}]}";

static const char cluster_format[] =
    "npus: 256\nnpu: h100-sxm-80gb\nnodes: {npus: 8, up: nvlink4-h100, nics: %u}\n"
    "network: {topology: fat-tree, fabric: roce, link: 50 GB/s, planes: %u, tiers: "
    "[{name: leaf, npus: 16, oversubscription: %u}, {name: spine}]}\n"
    "cost: {npu: 28000 USD, node: 60000 USD, switch: 25000 USD, link: {copper: 100 USD, "
    "optical: 900 USD}}\n";

static halley_exploration *explore(const char *text)
{
    halley_study *study = NULL;
    halley_exploration *found = NULL;
    halley_error err = {0};
    if (halley_study_parse(&study, text, strlen(text), "s", &err) != HALLEY_OK ||
        halley_explore_run(&found, study, &(halley_explore_opts){.top = 100}, &err) !=
            HALLEY_OK)
        fail_msg("%s", err.text);
    halley_study_free(study);
    return found;
}

static halley_estimate estimate(const char *text)
{
    halley_cluster *c = NULL;
    halley_model model;
    halley_plan plan;
    halley_stack stack;
    halley_estimate e;
    halley_error err = {0};
    halley_plan_default(&plan);
    halley_stack_default(&stack);
    plan.tp = 8, plan.pp = 2, plan.dp = 16, plan.global_batch = 512, plan.micro_batch = 1;
    if (halley_cluster_parse(&c, text, strlen(text), "c", &err) != HALLEY_OK)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(halley_model_load(&model, "gpt-7.5b", NULL), HALLEY_OK);
    assert_int_equal(halley_plan_check(&plan, &model, 256, NULL), HALLEY_OK);
    halley_estimate_run(&e, &model, &plan, c, &stack);
    halley_model_fini(&model);
    halley_cluster_free(c);
    return e;
}

/* Leaves have 16 ports down; up, of each plane, 16 over the oversubscription. */
static double count_capital(uint32_t planes, uint32_t over, uint32_t nics)
{
    const double leaves = 16, up = 16.0 / over, spines = up;
    const double npu_cables = 256, spine_cables = leaves * up;
    const double scale_up = 256 * 0.5 * 450 * 4.2, cards = 32 * nics * 1500.0;
    return 256 * 28000 + 32 * 60000 + scale_up + cards +
           planes * ((leaves + spines) * 25000 + npu_cables * 100 + spine_cables * 900);
}

static void designs_are_the_clusters_that_files_describe(void **state)
{
    (void)state;
    FILE *file = fopen("explore_network.yaml", "w");
    fprintf(file, cluster_format, 8, 1, 1);
    fclose(file);
    char text[2048];
    const char *at = strstr(study_text, "CLUSTER");
    snprintf(text, sizeof text, "%.*sexplore_network.yaml%s", (int)(at - study_text),
             study_text, at + 7);
    halley_exploration *found = explore(text);
    assert_int_equal(found->n_evaluated, 12);
    assert_int_equal(found->n_feasible, 12);
    assert_int_equal(found->n_best, 12);
    static const uint32_t overs[] = {1, 2, 4}, planes[] = {1, 2}, nics[] = {4, 8};
    for (uint32_t i = 0; i < found->n_best; i++) {
        const halley_candidate *c = &found->best[i];
        const uint32_t over = overs[c->digits[0]], p = planes[c->digits[1]],
                       n = nics[c->digits[2]];
        char own[1024];
        snprintf(own, sizeof own, cluster_format, n, p, over);
        const halley_estimate e = estimate(own);
        if (fabs(c->objective[0] - e.step_s) > 1e-12 * e.step_s)
            fail_msg("over %u planes %u nics %u: %.9g s, not %.9g", over, p, n,
                     c->objective[0], e.step_s);
        const double want = count_capital(p, over, n);
        if (fabs(c->objective[1] - want) > 1e-6 * want)
            fail_msg("over %u planes %u: %.9g USD, not %.9g", over, p, c->objective[1],
                     want);
    }
    halley_exploration_free(found);
    remove("explore_network.yaml");
}

static void whole_networks_are_values_and_bad_ones_say_why(void **state)
{
    (void)state;
    halley_exploration *found = explore(
        "{name: whole, model: gpt-7.5b, cluster: 'dgx-h100:256', plan: {tp: 8, pp: 2, "
        "global-batch: 512}, vary: {cluster.network: [{topology: rail-only, link: 50 "
        "GB/s, fabric: ib-ndr}, {topology: rail-optimised, nodes-per-leaf: 8, spines: 4, "
        "link: 50 GB/s, fabric: ib-ndr}, {topology: torus, dims: [3, 3]}]}, objective: "
        "{minimize: step-time}}");
    assert_int_equal(found->n_feasible, 2);
    assert_true(found->best[0].objective[0] < found->best[1].objective[0]);
    assert_int_equal(found->n_refusals, 1);
    assert_non_null(strstr(found->refusals[0].reason, "NPUs"));
    halley_exploration_free(found);
}

static void keys_of_files_cannot_be_turned_and_must_exist(void **state)
{
    (void)state;
    halley_study *study = NULL;
    halley_error err = {0};
    static const char text[] =
        "{name: s, model: gpt-7.5b, cluster: 'dgx-h100:16', plan: {tp: 8}, break-even: "
        "[{parameter: cluster.network.spines, from: 1, to: 9, of: {}, beats: {}}], "
        "objective: {minimize: step-time}}";
    assert_int_equal(halley_study_parse(&study, text, strlen(text), "s", &err),
                     HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "break-even cannot turn cluster.network.spines"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(designs_are_the_clusters_that_files_describe),
        cmocka_unit_test(whole_networks_are_values_and_bad_ones_say_why),
        cmocka_unit_test(keys_of_files_cannot_be_turned_and_must_exist),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
