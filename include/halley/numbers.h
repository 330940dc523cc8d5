/*
 * halley/numbers.h - figures that people compare: parameters, rates per accelerator,
 * FLOPs over peak by stated conventions, duration, cost and power of a whole run.
 */
#ifndef HALLEY_NUMBERS_H
#define HALLEY_NUMBERS_H

#include "halley/bill.h"
#include "halley/estimate.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_numbers {
    double params, active_params; /* all; those that one token uses */
    double n_npus;                /* used by the plan */
    double n_paid;                /* paid for: whole hosts or nodes */
    double n_units;               /* number of those hosts or nodes */
    const char *unit;             /* "node", "rack" or "host"; static */

    const char *counted;     /* what is counted: "tokens", or "samples" of models that are
                                not transformers; static */
    double tokens_per_s_npu; /* tokens per second and accelerator */
    double flops_per_s;      /* model FLOPs per second, all accelerators */
    double flops_per_s_npu;  /* the same for one accelerator */
    /*
     * Model FLOPs over the peak of the plan's number format. In mfu and hfu, causal
     * attention counts the half that is needed and windows count the keys that they see.
     * In mfu_full all of attention counts, as in the Megatron and PaLM papers, MaxText
     * and NVIDIA's MLPerf constants. Logits count; embedding lookups do not. Only active
     * experts count, without padding.
     */
    double mfu, hfu, mfu_full;
    double mfu_wide; /* mfu relative to the 16-bit peak; equal to mfu in 16 bits */

    double tokens;     /* of the whole run */
    double days;       /* of the run, without interruptions */
    double goodput;    /* share of the wall clock that makes progress, 0 to 1 */
    double wall_days;  /* with interruptions: days / goodput */
    double npu_hours;  /* n_npus x wall_days */
    double cost_usd;   /* of the run, with interruptions */
    double energy_J;   /* of the run, with interruptions */
    double carbon_kg;  /* of the run: energy, and its share of what hosts embody */
    halley_bill bill;  /* capital and nameplate power of the cluster */
    char missing[128]; /* names of prices that the bill lacks; "" = none */
    double rent_usd_h; /* of one accelerator; 0 where it is bought */
    double own_usd_h;  /* what owning an accelerator costs per hour, at full use */
    double average_w;  /* average power at the load of this step, including the
                          building */
} halley_numbers;

/* `estimate` must be an estimate of this design. `tokens` is the length of the training
 * run. */
void halley_numbers_run(halley_numbers *out, const halley_estimate *estimate,
                        const halley_model *model, const halley_plan *plan,
                        const halley_cluster *cluster, double tokens);

#ifdef __cplusplus
}
#endif
#endif
