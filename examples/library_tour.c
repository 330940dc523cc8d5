/*
 * The library in one program: run a study with progress and cancel it, simulate a trace
 * and a cluster made in memory, estimate 100,000 designs.
 *
 *   cc library_tour.c $(pkg-config --cflags --libs halley) -o library_tour
 */
#include <halley/halley.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static halley_error err;

/* End with the sentence of the failure. */
static void check(halley_status status)
{
    char sentence[2048];
    if (status == HALLEY_OK)
        return;
    fprintf(stderr, "%s\n", halley_error_format(&err, sentence, sizeof sentence));
    exit(1);
}

/* Counts its calls; a negative count cancels the work at once. */
static bool look(void *calls, const halley_progress *now)
{
    (void)now;
    return (*(int *)calls)++ >= 0;
}

static void explore(void)
{
    static const char text[] =
        "{name: tour, model: llama3-8b, cluster: 'dgx-h100:64', plan: {global-batch: "
        "512},"
        " vary: {plan.tp: powers-of-two, plan.pp: divisors, plan.zero: [0, 1, 2, 3]},"
        " objective: {minimize: step-time}}";
    halley_study *study;
    halley_exploration *found;
    int calls = -1;
    const halley_explore_opts opts = {.watch = &(halley_watch){look, &calls}};
    check(halley_study_parse(&study, text, strlen(text), "tour", &err));
    if (halley_explore_run(&found, study, &opts, &err) != HALLEY_ECANCELED)
        exit(1);
    check(halley_explore_run(&found, study, &opts, &err)); /* calls is 0 now */
    printf("explored %llu designs, best tp %u pp %u\n",
           (unsigned long long)found->n_evaluated, found->best[0].plan.tp,
           found->best[0].plan.pp);
    halley_exploration_free(found);
    halley_study_free(study);
}

static void simulate(void)
{
    static const char text[] = "{npus: 2, npu: h100-sxm-80gb, network: [{topology: ring,"
                               " size: 2, bandwidth: 50 GB/s, latency: 1 us}]}";
    halley_builder *b;
    halley_trace *ranks[2];
    halley_trace_set *set;
    halley_cluster *cluster;
    halley_result *result;
    check(halley_builder_new(&b, &err));
    halley_builder_node(b, 0, HALLEY_NODE_COMP, (halley_bytes){"backward", 8});
    halley_builder_time(b, 0, 100);
    halley_builder_node(b, 1, HALLEY_NODE_COLL, (halley_bytes){"all-reduce", 10});
    halley_builder_data(b, 0);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_COLL_ALL_REDUCE);
    halley_builder_attr_i64(b, HALLEY_ATTR_NAME_COMM_SIZE, 50000000);
    check(halley_builder_finish(&ranks[0], b, &err));
    ranks[1] = halley_trace_keep(ranks[0]);
    check(halley_trace_set_new(&set, ranks, 2, &err));
    check(halley_cluster_parse(&cluster, text, strlen(text), "two", &err));
    check(halley_sim_run(&result, set, cluster, &(halley_sim_opts){0}, &err));
    printf("simulated %.0f us\n", (double)halley_result_rank(result, 0).finish /
                                      halley_result_ticks_per_s(result) * 1e6);
    halley_result_free(result);
    halley_cluster_free(cluster);
    halley_trace_set_free(set);
}

static void estimate(void)
{
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_estimate e, best = {.step_s = 1e99};
    check(halley_model_load(&model, "llama3-8b", &err));
    check(halley_cluster_load(&cluster, "dgx-h100:64", &err));
    halley_stack_default(&stack);
    for (uint32_t i = 0; i < 100000; i++) {
        halley_plan p;
        halley_plan_default(&p);
        p.tp = 1u << i % 4, p.pp = 1u << i / 4 % 3, p.dp = 64 / (p.tp * p.pp);
        p.zero = i / 12 % 3, p.micro_batch = 1u << i / 36 % 3, p.global_batch = 512;
        check(halley_plan_check(&p, &model, 64, &err));
        halley_estimate_run(&e, &model, &p, cluster, &stack);
        best = e.fits && e.step_s < best.step_s ? e : best;
    }
    printf("estimated 100000 designs, fastest step %.2f s\n", best.step_s);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
}

int main(void)
{
    explore();
    simulate();
    estimate();
    return 0;
}
