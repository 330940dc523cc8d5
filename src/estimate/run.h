/* estimate/run.h - an estimate that may stop early, and many that share their layers. */
#ifndef ESTIMATE_RUN_H
#define ESTIMATE_RUN_H

#include "estimate/price.h"
#include "halley/estimate.h"

/* halley_estimate_run; with only_if_fits, false and only the memory fields when the
 * design does not fit. */
bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_cluster *cluster,
                  const halley_stack *stack, bool only_if_fits);

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
                       bool only_if_fits);

#endif
