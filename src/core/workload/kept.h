/*
 * workload/kept.h - the tensors that a layer keeps for its backward pass, by group, and
 * those that remain with recomputation.
 */
#ifndef WORKLOAD_KEPT_H
#define WORKLOAD_KEPT_H

#include "workload/ops.h"
#include "workload/states.h"

typedef enum workload_tensor {
    WORKLOAD_KEPT_NORM,     /* inputs of the two norms; masks of unfused dropout */
    WORKLOAD_KEPT_NORM_OUT, /* inputs of qkv and of the feed-forward */
    WORKLOAD_KEPT_QKV,
    WORKLOAD_KEPT_LATENT, /* of latent attention */
    WORKLOAD_KEPT_ATTN_OUT,
    WORKLOAD_KEPT_PROJ, /* the same in the low-precision type */
    WORKLOAD_KEPT_CORE, /* scores of unfused attention */
    WORKLOAD_KEPT_FC1_OUT,
    WORKLOAD_KEPT_ACT_OUT,
    WORKLOAD_KEPT_MOE_IN, /* routed tokens */
    WORKLOAD_KEPT_E_FC1_OUT,
    WORKLOAD_KEPT_E_ACT_OUT,
    WORKLOAD_KEPT_ROUTER,
    WORKLOAD_KEPT_S_FC1_OUT, /* shared experts */
    WORKLOAD_KEPT_S_ACT_OUT,
    WORKLOAD_KEPT_OTHER, /* of models that are not transformers */
    WORKLOAD_N_KEPT
} workload_tensor;

/* Bytes of one layer, one micro-batch, one rank. */
typedef struct workload_kept {
    double bytes[WORKLOAD_N_KEPT];
    double all;           /* their sum: the bytes without recomputation */
    double kept;          /* with the plan's recomputation */
    double offloaded;     /* the part of kept that is in the outer tier */
    double working;       /* while a layer is recomputed */
    double input, q_or_v; /* of the layer; of queries or values alone */
    double states;        /* of recurrent layers, while gradients are computed */
} workload_kept;

void workload_kept_make(workload_kept *out, const halley_model *model,
                        const halley_plan *plan, const workload_states *states,
                        const workload_shape *shape, const workload_layer *layer);

#endif
