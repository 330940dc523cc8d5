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

/* halley_estimate_run with the schedule in closed form; of others than these, false and
 * only the memory fields. */
bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_cluster *cluster,
                  const halley_stack *stack, estimate_which which);

/* Kinds of layers; those in bf16 have the operators of the first two. */
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
 * The operators of a design's layers, and their prices once they are asked for. Designs
 * share them that differ only in interleaving, schedule, uneven stages, ZeRO and fsdp,
 * offloaded classes, and in which layers are recomputed.
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
/* halley_estimate_run, the schedule pass by pass, of a design with these layers. */
void estimate_run_walked(halley_estimate *out, estimate_layers *layers,
                         const halley_model *model, const halley_plan *plan,
                         const halley_cluster *cluster, const halley_stack *stack);

#endif
