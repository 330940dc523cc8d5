/*
 * bench/estimate/designs.c - estimates a second on one core: GPT-3 175B on 512 A100,
 * varying tensor and pipeline parallelism, micro-batch, recomputation, ZeRO,
 * interleaving. Prints designs, those that fit, and seconds of CPU for the fitting ones
 * alone.
 */
#include "halley/estimate.h"
#include "measure.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAX_DESIGNS = 20000, ROUNDS = 20 };

static halley_plan *list(const halley_model *model, size_t *n)
{
    halley_plan *plans = malloc(MAX_DESIGNS * sizeof *plans);
    *n = 0;
    for (uint32_t i = 0; plans && i < 5 * 6 * 5 * 3 * 3 * 4; i++) {
        uint32_t j = i;
        halley_plan p = {.global_batch = 1536, .seq = 2048};
        p.tp = 1u << j % 5, j /= 5;
        p.pp = 1u << j % 6, j /= 6;
        p.micro_batch = 1u << j % 5, j /= 5;
        p.recompute =
            (halley_recompute[]){HALLEY_RECOMPUTE_NONE, HALLEY_RECOMPUTE_SELECTIVE,
                                 HALLEY_RECOMPUTE_FULL}[j % 3],
        j /= 3;
        p.zero = j % 3, j /= 3;
        p.virtual_stages = 1 + j;
        p.dp = 512 / (p.tp * p.pp);
        p.sequence_parallel = p.tp > 1;
        if (halley_plan_check(&p, model, 512, NULL) == HALLEY_OK)
            plans[(*n)++] = p;
    }
    return plans;
}

int main(void)
{
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    if (halley_model_load(&model, "gpt3-175b", NULL) != HALLEY_OK ||
        halley_cluster_load(&cluster, "dgx-a100", NULL) != HALLEY_OK ||
        halley_stack_load(&stack, "megatron-2022", NULL) != HALLEY_OK)
        return 1;
    size_t n, n_fit = 0;
    halley_plan *plans = list(&model, &n);
    if (!plans)
        return 1;
    halley_estimate e;
    for (size_t i = 0; i < n; i++) { /* keep those that fit */
        halley_estimate_run(&e, &model, &plans[i], cluster, &stack);
        if (e.fits)
            plans[n_fit++] = plans[i];
    }
    const double start = measure_cpu_s();
    double sum = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < n_fit; i++) {
            halley_estimate_run(&e, &model, &plans[i], cluster, &stack);
            sum += e.step_s;
        }
    const double seconds = measure_cpu_s() - start;
    printf("%zu %zu %.6f %.3f\n", n, n_fit * ROUNDS, seconds, sum);
    free(plans);
    return 0;
}
