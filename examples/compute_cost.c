/*
 * A cost of compute of your own in estimates: here a device that reaches 70 % of
 * 989 TFLOP/s in every matmul, whatever its shape.
 *
 *   cc compute_cost.c $(pkg-config --cflags --libs halley) -o compute_cost
 *   ./compute_cost
 */
#include <halley/halley.h>
#include <stdio.h>

static double time_matmul(void *context, const halley_compute_call *call,
                          double standard_s)
{
    const double *flops_per_s = context;
    (void)standard_s;
    if (call->kind != HALLEY_COMPUTE_MATMUL)
        return -1;                                /* halley's own */
    const double passes = call->backward ? 2 : 1; /* gradients of inputs and weights */
    return passes * call->repeat * call->flops / *flops_per_s;
}

int main(void)
{
    double flops_per_s = 0.7 * 989e12;
    const halley_extensions own = {.compute = time_matmul, .context = &flops_per_s};
    halley_cluster *cluster = NULL;
    halley_model model;
    halley_stack stack;
    halley_plan plan;
    halley_estimate standard = {0}, mine = {0};
    halley_error err = {0};
    halley_stack_default(&stack);
    halley_plan_default(&plan);
    plan.tp = 8;
    plan.dp = 8;
    plan.global_batch = 64;
    if (halley_model_load(&model, "llama3-8b", &err) != HALLEY_OK ||
        halley_cluster_load(&cluster, "dgx-h100:64", &err) != HALLEY_OK ||
        halley_plan_check(&plan, &model, 64, &err) != HALLEY_OK)
        return 1;
    halley_estimate_run(&standard, &model, &plan, cluster, &stack);
    halley_cluster_extend(cluster, &own);
    halley_estimate_run(&mine, &model, &plan, cluster, &stack);
    printf("a step takes %.2f s, at 70 %% of peak in every matmul %.2f s\n",
           standard.step_s, mine.step_s);
    halley_cluster_free(cluster);
    halley_model_fini(&model);
    return mine.step_s > 0 && mine.step_s != standard.step_s ? 0 : 1;
}
