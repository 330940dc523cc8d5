/* estimate/run.h - an estimate that may stop early, and many that share their layers. */
#ifndef ESTIMATE_RUN_H
#define ESTIMATE_RUN_H

#include "estimate/price.h"
#include "halley/estimate.h"

/* Which designs are worth timing. */
typedef enum estimate_which {
    ESTIMATE_ALL,
    ESTIMATE_MAY_FIT,
    ESTIMATE_FITS
} estimate_which;

/* halley_estimate_run; of others than these, false and only the memory fields. */
bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_cluster *cluster,
                  const halley_stack *stack, estimate_which which);

/*
 * The operators of a design's layers, and their prices once they are asked for. Designs
 * share them that differ only in interleaving, schedule, uneven stages, ZeRO and fsdp,
 * offloaded classes, and in which layers are recomputed.
 */
typedef struct estimate_layers {
    workload_parts parts;
    price_layer prices[4]; /* dense, with experts, embedding, head */
    bool priced;
} estimate_layers;

void estimate_layers_make(estimate_layers *out, const halley_model *model,
                          const halley_plan *plan, const halley_stack *stack);
bool estimate_run_with(halley_estimate *out, estimate_layers *layers,
                       const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster, const halley_stack *stack,
                       estimate_which which);

#endif
