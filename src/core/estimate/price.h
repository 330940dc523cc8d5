/* estimate/price.h - the time of a layer's operators on a cluster under a plan. */
#ifndef ESTIMATE_PRICE_H
#define ESTIMATE_PRICE_H

#include "coll/dims.h"
#include "cost/gemm.h"
#include "halley/estimate.h"
#include "hw/cluster.h"
#include "workload/ops.h"

/* The inputs for pricing the operators of one plan; made once per plan. */
typedef struct price_context {
    const halley_model *model;
    const halley_plan *plan;
    const halley_cluster *cluster;
    const halley_stack *stack;
    cost_gemm wide, low; /* for 16-bit types, and for the plan's own type */
    double low_factor, wide_factor;
    double stream_s;         /* seconds to stream one byte */
    double cast_bytes;       /* per cast element; 0 = nothing is cast */
    double busy;             /* factor on matmuls and attention: units used by messages */
    uint32_t ranks_per_node; /* in a full node (plan_ranks_per_node) */
    uint32_t n[WORKLOAD_N_GROUPS], per_node[WORKLOAD_N_GROUPS]; /* ranks of each group */
    uint32_t n_levels;                                          /* beyond the node */
    coll_level levels[WORKLOAD_N_GROUPS][COLL_MAX_LEVELS];
    const halley_fabric *out[WORKLOAD_N_GROUPS]; /* the outermost level of each group */
    bool has_dims; /* groups are boxes on a list of dimensions */
    coll_dims dims[WORKLOAD_N_GROUPS];
    /* With several levels: bandwidth per member for rings and trees, and for pairs. */
    double ring_Bps[WORKLOAD_N_GROUPS], pairs_Bps[WORKLOAD_N_GROUPS];
    hw_direct grid;                  /* inside nodes, as the plan's ranks fill it */
    hw_box boxes[WORKLOAD_N_GROUPS]; /* of the members in one node; n 0: none */
    double host;                     /* factor on host time */
    bool only_wide;                  /* price layers that stay in bf16 */
} price_context;

/* Seconds of one layer for one micro-batch. */
typedef struct price_layer {
    double f[WORKLOAD_N_CLASSES], b[WORKLOAD_N_CLASSES], r[WORKLOAD_N_CLASSES];
    double comm_f[WORKLOAD_N_GROUPS], comm_b[WORKLOAD_N_GROUPS],
        comm_r[WORKLOAD_N_GROUPS]; /* exposed */
    double link_f[WORKLOAD_N_GROUPS], link_b[WORKLOAD_N_GROUPS],
        link_r[WORKLOAD_N_GROUPS];  /* all messages, hidden or exposed */
    double forward_s, backward_s;   /* with messages, recomputation, host floor */
    double host_f_s, host_b_s;      /* the part of them spent waiting for the host */
    double plain_b_s, host_plain_s; /* the backward pass without recomputation */
    double weight_s; /* the part of the backward pass that computes weight gradients */
    double host_w_s; /* the part of weight_s spent waiting for the host */
    double flops, again_flops; /* matmuls and attention: forward, and recomputed */
} price_layer;

/* `e` contains the memory of the design, for plans that spread it over two tiers. */
void price_context_make(price_context *out, const halley_model *model,
                        const halley_plan *plan, const halley_cluster *cluster,
                        const halley_stack *stack, const halley_estimate *e);
/* `floor`: the host issues the operators of this layer (true except for embedding and
 * head). */
void price_layer_make(price_layer *out, const price_context *c,
                      const workload_layer *layer, bool floor);
/* One compute operator: seconds forward, backward, and recomputed. */
typedef struct price_op {
    double forward_s, backward_s, again_s;
    double cast_f_s, cast_b_s; /* the part of them spent on casts */
    double weight_s; /* the part of the backward pass for gradients of weights */
} price_op;
price_op price_op_make(const price_context *c, const workload_op *op);
/* Seconds of one message with all of its bytes, hidden or not. */
double price_message_time(const price_context *c, const workload_op *op);
/* True if recomputation repeats whole layers, including their messages. */
bool price_repeats_messages(const halley_plan *plan);
/* A collective call of one of this plan's groups, with its network levels. */
coll_call price_call(const price_context *c, coll_kind kind, workload_group group,
                     double bytes);
double price_call_time(const price_context *c, workload_group group,
                       const coll_call *call);
/* The part of that time during which bytes are sent. */
double price_call_wire(const price_context *c, workload_group group,
                       const coll_call *call);
/* The level of the network that connects stages `a` and `b`: 0 = the node, then outer
 * levels. Messages of the same size across the same level take the same time. */
uint32_t price_stages_level(const price_context *c, uint32_t a, uint32_t b);
/* Seconds of a message between adjacent stages `a` and `b`. */
double price_send(const price_context *c, double bytes, uint32_t a, uint32_t b);
/* The same on an idle network, without the time that the stack adds. */
double price_send_alone(const price_context *c, double bytes, uint32_t a, uint32_t b);
/* Seconds of a collective of this plan's group. Between nodes, the stack's factor slows
 * it down. */
double price_coll(const price_context *c, coll_kind kind, workload_group group,
                  double bytes);
/* Gathering a layer's weights from the ranks that shard them, and reducing gradients. */
typedef struct price_shards {
    double gather_s, reduce_s;
    double gather_bytes, reduce_bytes; /* bytes that a rank sends or receives */
} price_shards;
price_shards price_shards_make(const price_context *c, double weights,
                               double expert_weights);
/* The time by which concurrent gathers slow down compute. It is a fraction of their time
 * or of the time that their bytes take at scale-up bandwidth, whichever is less. */
double price_drag(const price_context *c, double messages_s, double bytes);
/* A constant of a communication library: 1 on networks for which it has none. */
double price_library(const price_context *c, halley_constant constant);
/* The share of a group's messages that compute does not hide, 0 to 1. */
double price_exposed(const price_context *c, workload_group group);
/* (a^6 + b^6)^(1/6): host and NPU work concurrently within a phase. */
double price_side_by_side(double a, double b);

#endif
