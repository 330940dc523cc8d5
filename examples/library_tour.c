/*
 * What the library can do, in one program: explore a study with progress and cancel it,
 * simulate a trace and a cluster that are made in memory, estimate 100,000 designs, and
 * ask the same as a JSON request.
 *
 *   cc library_tour.c $(pkg-config --cflags --libs halley) -o library_tour &&
 * ./library_tour
 */
#include <halley/halley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char study_text[] =
    "{name: tour, model: llama3-8b, cluster: 'dgx-h100:64', plan: {global-batch: 512},"
    " vary: {plan.tp: powers-of-two, plan.pp: divisors, plan.zero: [0, 1, 2, 3]},"
    " objective: {minimize: step-time}}";
static const char cluster_text[] = "npus: 2\nnpu: h100-sxm-80gb\nnetwork: [{topology: "
                                   "ring, size: 2, bandwidth: 50 GB/s, latency: 1 us}]\n";

static void check(halley_status status, const halley_error *err)
{
    char sentence[2048];
    if (status == HALLEY_OK)
        return;
    fprintf(stderr, "%s\n", halley_error_format(err, sentence, sizeof sentence));
    exit(1);
}

/* Counts its calls in *context and cancels the work that starts with a negative count. */
static bool look(void *context, const halley_progress *now)
{
    int *calls = context;
    (void)now;
    return (*calls)++ >= 0;
}

static void explore(halley_error *err)
{
    halley_study *study;
    halley_exploration *found;
    int calls = -1;
    const halley_watch watch = {look, &calls};
    const halley_explore_opts opts = {.watch = &watch};
    check(halley_study_parse(&study, study_text, strlen(study_text), "tour", err), err);
    if (halley_explore_run(&found, study, &opts, err) != HALLEY_ECANCELED)
        exit(1);
    calls = 0;
    check(halley_explore_run(&found, study, &opts, err), err);
    printf("explored %llu designs, best tp %u pp %u\n",
           (unsigned long long)found->n_evaluated, found->best[0].plan.tp,
           found->best[0].plan.pp);
    halley_exploration_free(found);
    halley_study_free(study);
}

static void simulate(halley_error *err)
{
    halley_builder *b;
    halley_trace *ranks[2];
    halley_trace_set *set;
    halley_cluster *cluster;
    halley_result *result;
    check(halley_builder_new(&b, err), err);
    halley_builder_node(b, 0, HALLEY_NODE_COMP, (halley_bytes){"backward", 8});
    halley_builder_time(b, 0, 100);
    halley_builder_node(b, 1, HALLEY_NODE_COLL, (halley_bytes){"all-reduce", 10});
    halley_builder_data(b, 0);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_COLL_ALL_REDUCE);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 50000000);
    check(halley_builder_finish(&ranks[0], b, err), err);
    ranks[1] = halley_trace_keep(ranks[0]);
    check(halley_trace_set_new(&set, ranks, 2, err), err);
    check(halley_cluster_parse(&cluster, cluster_text, strlen(cluster_text), "two", err),
          err);
    check(halley_sim_run(&result, set, cluster, &(halley_sim_opts){0}, err), err);
    printf("simulated %.0f us\n", (double)halley_result_rank(result, 0).finish /
                                      halley_result_ticks_per_s(result) * 1e6);
    halley_result_free(result);
    halley_cluster_free(cluster);
    halley_trace_set_free(set);
}

static void estimate(halley_error *err)
{
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_estimate e, best = {.step_s = 1e99};
    int n = 0;
    check(halley_model_load(&model, "llama3-8b", err), err);
    check(halley_cluster_load(&cluster, "dgx-h100:64", err), err);
    halley_stack_default(&stack);
    for (uint32_t i = 0; n < 100000; i++) {
        halley_plan p;
        halley_plan_default(&p);
        p.tp = 1u << i % 4, p.pp = 1u << i / 4 % 3, p.zero = i / 12 % 3,
        p.micro_batch = 1u << i / 36 % 3;
        p.dp = 64 / (p.tp * p.pp), p.global_batch = 512;
        check(halley_plan_check(&p, &model, 64, err), err);
        halley_estimate_run(&e, &model, &p, cluster, &stack);
        best = e.fits && e.step_s < best.step_s ? e : best;
        n++;
    }
    printf("estimated %d designs, fastest step %.2f s\n", n, best.step_s);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
}

int main(void)
{
    halley_error err = {0};
    char *reply;
    explore(&err);
    simulate(&err);
    estimate(&err);
    check(halley_request(&reply, "{\"do\": \"version\"}", NULL, &err), &err);
    printf("%s", reply);
    free(reply);
    return 0;
}
