/*
 * halley/numbers.h - the numbers that people compare: parameters, rates per accelerator,
 * FLOPs over peak by stated conventions, days and money of a whole run, power.
 */
#ifndef HALLEY_NUMBERS_H
#define HALLEY_NUMBERS_H

#include "halley/estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_numbers {
    double params, active_params; /* all; those that one token uses */
    double n_npus;                /* that the plan uses */
    double n_paid;                /* that are paid for: whole hosts or nodes */
    double n_units;               /* those hosts or nodes */
    const char *unit;             /* "node", "rack" or "host"; static */

    double tokens_per_s_npu; /* tokens per second and accelerator */
    double flops_per_s;      /* model FLOPs per second, all accelerators */
    double flops_per_s_npu;  /* and of one */
    /* Model FLOPs over the peak of the plan's type. Causal attention counts the half that
     * is needed, windows what they see (mfu, hfu); or all of it (mfu_full), as the papers
     * on Megatron and PaLM, MaxText and NVIDIA's MLPerf constants count. Logits count,
     * lookups of embeddings do not; of experts the active ones, without padding. */
    double mfu, hfu, mfu_full;
    double mfu_wide; /* mfu against the 16-bit peak; equal to mfu in 16 bits */

    double tokens;      /* of the whole run */
    double days;        /* of it, without interruptions */
    double goodput;     /* share of the wall clock that makes progress, 0 to 1 */
    double wall_days;   /* with interruptions: days / goodput */
    double npu_hours;   /* n_npus x wall_days */
    double cost_usd;    /* of the run, with interruptions */
    double energy_J;    /* of the run, with interruptions */
    double capital_usd; /* of the cluster; 0 where it is rented */
    double rent_usd_h;  /* of one accelerator; 0 where it is bought */
    double nameplate_w; /* whole nodes by their plates, with the building */
    double average_w;   /* at the load of this step, with the building */
} halley_numbers;

/* From an estimate of this very design. tokens: length of the run. */
void halley_numbers_run(halley_numbers *out, const halley_estimate *estimate,
                        const halley_model *model, const halley_plan *plan,
                        const halley_cluster *cluster, double tokens);

#ifdef __cplusplus
}
#endif
#endif
