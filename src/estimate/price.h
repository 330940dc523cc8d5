/* estimate/price.h - the time of a layer's operators on a cluster under a plan. */
#ifndef ESTIMATE_PRICE_H
#define ESTIMATE_PRICE_H

#include "coll/time.h"
#include "cost/gemm.h"
#include "halley/estimate.h"
#include "hw/cluster.h"
#include "workload/ops.h"

/* What the operators of one plan are priced with; made once per plan. */
typedef struct price_context {
    const halley_model *model;
    const halley_plan *plan;
    const halley_cluster *cluster;
    const halley_stack *stack;
    cost_gemm wide, low; /* 16-bit, and the plan's own type */
    double low_factor, wide_factor;
    double stream_s;   /* of one byte */
    double cast_bytes; /* per cast element; 0 = nothing is cast */
    uint32_t n[WORKLOAD_N_GROUPS], per_node[WORKLOAD_N_GROUPS]; /* ranks of each group */
    double host;                                                /* factor on host time */
} price_context;

/* Seconds of one layer for one micro-batch. */
typedef struct price_layer {
    double f[WORKLOAD_N_CLASSES], b[WORKLOAD_N_CLASSES], r[WORKLOAD_N_CLASSES];
    double comm_f[WORKLOAD_N_GROUPS], comm_b[WORKLOAD_N_GROUPS],
        comm_r[WORKLOAD_N_GROUPS]; /* exposed */
    double forward_s, backward_s;  /* with messages, recomputation and the host's floor */
    double host_f_s, host_b_s;     /* of them, waiting for the host */
    double plain_b_s, host_plain_s; /* the backward pass without recomputation */
    double flops;                   /* forward */
} price_layer;

/* `e` has the memory of the design, for plans that spread it over two tiers. */
void price_context_make(price_context *out, const halley_model *model,
                        const halley_plan *plan, const halley_cluster *cluster,
                        const halley_stack *stack, const halley_estimate *e);
/* `floor`: the host issues the operators of this layer (not of embedding and head). */
void price_layer_make(price_layer *out, const price_context *c,
                      const workload_layer *layer, bool floor);
/* One operator that computes: seconds forward, backward, and what is computed again. */
typedef struct price_op {
    double forward_s, backward_s, again_s;
} price_op;
price_op price_op_make(const price_context *c, const workload_op *op);
/* A collective of this plan's group; between nodes slower by what the stack knows. */
double price_coll(const price_context *c, coll_kind kind, workload_group group,
                  double bytes);
/* Gathering a layer's weights from the ranks that share them, and reducing gradients. */
typedef struct price_shards {
    double gather_s, reduce_s;
} price_shards;
price_shards price_shards_make(const price_context *c, double weights,
                               double expert_weights);
/* The share of a group's messages that compute does not hide, 0 to 1. */
double price_exposed(const price_context *c, workload_group group);
/* (a^6 + b^6)^(1/6): host and NPU work side by side within a phase. */
double price_side_by_side(double a, double b);

#endif
