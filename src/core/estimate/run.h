/* estimate/run.h - estimates that may stop early, and many estimates that share
 * layers. */
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

/* Like halley_estimate_run, with the schedule in closed form. For designs outside
 * `which`, it returns false and sets only the memory fields. */
bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_cluster *cluster,
                  const halley_stack *stack, estimate_which which);

/* Kinds of layers. Layers kept in bf16 have the operators of the first two kinds. */
typedef enum estimate_kind {
    ESTIMATE_DENSE,
    ESTIMATE_EXPERTS,
    ESTIMATE_EMBEDDING,
    ESTIMATE_HEAD,
    ESTIMATE_DENSE_WIDE, /* kept in bf16 */
    ESTIMATE_EXPERTS_WIDE,
    ESTIMATE_N_KINDS
} estimate_kind;

/*
 * The operators of a design's layers, and their prices, which are computed on first use.
 * Designs share them if they differ only in the pipeline (interleaving, schedule, uneven
 * stages), in sharding (ZeRO, fsdp), in offloaded classes, or in which layers are
 * recomputed.
 */
typedef struct estimate_layers {
    workload_parts parts;
    price_layer prices[ESTIMATE_N_KINDS];
    bool priced;
} estimate_layers;

void estimate_layers_make(estimate_layers *out, const halley_model *model,
                          const halley_plan *plan, const halley_stack *stack);
bool estimate_run_with(halley_estimate *out, estimate_layers *layers,
                       const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster, const halley_stack *stack,
                       estimate_which which);
/* Like halley_estimate_run, for a design with these layers. Walks the schedule pass by
 * pass. */
void estimate_run_walked(halley_estimate *out, estimate_layers *layers,
                         const halley_model *model, const halley_plan *plan,
                         const halley_cluster *cluster, const halley_stack *stack);

#endif
