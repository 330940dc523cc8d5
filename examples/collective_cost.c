/*
 * A collective algorithm of your own in estimates: here an all-reduce in two levels,
 * inside the node and then between nodes, on links of 450 and 50 GB/s without latency.
 *
 *   cc collective_cost.c $(pkg-config --cflags --libs halley) -o collective_cost
 *   ./collective_cost
 */
#include <halley/halley.h>
#include <stdio.h>

/* Reduce-scatter inside, all-reduce of the share between nodes, all-gather inside. */
static double time_two_levels(void *context, const halley_collective_call *call,
                              double standard_s)
{
    int *n_calls = context;
    const double inside = call->per_node, nodes = call->n_ranks / inside;
    (void)standard_s;
    if (call->kind != HALLEY_COLLECTIVE_ALL_REDUCE)
        return -1; /* halley's own */
    (*n_calls)++;
    return 2 * (inside - 1) / inside * call->bytes / 450e9 +
           2 * (nodes - 1) / nodes * call->bytes / inside / 50e9;
}

static double time_step(const halley_cluster *cluster, halley_error *err)
{
    halley_model model;
    halley_stack stack;
    halley_estimate e = {0};
    halley_plan plan;
    halley_stack_default(&stack);
    halley_plan_default(&plan);
    plan.dp = 64;
    plan.zero = 0; /* gradients are all-reduced */
    plan.global_batch = 64;
    if (halley_model_load(&model, "gpt-126m", err) != HALLEY_OK)
        return 0;
    if (halley_plan_check(&plan, &model, 64, err) == HALLEY_OK)
        halley_estimate_run(&e, &model, &plan, cluster, &stack);
    halley_model_fini(&model);
    return e.step_s;
}

int main(void)
{
    int n_calls = 0;
    const halley_extensions own = {.collective = time_two_levels, .context = &n_calls};
    halley_cluster *cluster;
    halley_error err = {0};
    if (halley_cluster_load(&cluster, "dgx-h100:64", &err) != HALLEY_OK)
        return 1;
    const double before_s = time_step(cluster, &err);
    halley_cluster_extend(cluster, &own);
    const double after_s = time_step(cluster, &err);
    halley_cluster_free(cluster);
    printf("a step takes %.2f ms, with the two-level all-reduce %.2f ms\n",
           1e3 * before_s, 1e3 * after_s);
    return before_s > 0 && after_s > 0 && n_calls > 0 ? 0 : 1;
}
