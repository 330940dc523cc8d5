/* workload/ops.h - the operators of one layer on one rank for one micro-batch. */
#ifndef WORKLOAD_OPS_H
#define WORKLOAD_OPS_H

#include "halley/plan.h"
#include "halley/stack.h"

typedef enum workload_kind {
    WORKLOAD_GEMM,    /* C[m,n] = A[m,k] B[k,n]; backward has two of them */
    WORKLOAD_BATCHED, /* `groups` matmuls without weights */
    WORKLOAD_FLASH,   /* fused attention */
    WORKLOAD_STREAM,  /* bytes through memory */
    WORKLOAD_VECTOR,  /* arithmetic outside the matmul units, or its bytes: the longer of
                         both */
    WORKLOAD_COLL     /* a collective among the ranks of `group` */
} workload_kind;

typedef enum workload_class {
    WORKLOAD_PRODUCTS, /* dense matmuls of layers */
    WORKLOAD_ATTENTION,
    WORKLOAD_EXPERTS, /* grouped matmuls */
    WORKLOAD_TRAFFIC, /* memory-bound: norms, activations, casts, loss */
    WORKLOAD_HEAD,    /* the matmul of the logits */
    WORKLOAD_MESSAGES,
    WORKLOAD_N_CLASSES
} workload_class;

/* The role of an operator in a layer, for kinds of recomputation that name it. */
typedef enum workload_part {
    WORKLOAD_PART_OTHER,
    WORKLOAD_PART_NORM,
    WORKLOAD_PART_QKV,
    WORKLOAD_PART_UP, /* latent attention: from the latents to queries, keys, values */
    WORKLOAD_PART_ROTATE, /* rotation and transposition */
    WORKLOAD_PART_CORE,   /* attention itself */
    WORKLOAD_PART_PROJECTION,
    WORKLOAD_PART_FC1,
    WORKLOAD_PART_ACT,
    WORKLOAD_PART_FC2,
    WORKLOAD_PART_ROUTER, /* with permutation */
    WORKLOAD_PART_E_FC1,  /* of experts */
    WORKLOAD_PART_E_ACT,
    WORKLOAD_PART_E_FC2,
    WORKLOAD_PART_S_FC1, /* of shared experts */
    WORKLOAD_PART_S_ACT,
    WORKLOAD_PART_S_FC2,
    WORKLOAD_PART_MIXER, /* a recurrent layer between its projections */
    WORKLOAD_N_PARTS
} workload_part;

typedef enum workload_group {
    WORKLOAD_TP,
    WORKLOAD_CP,
    WORKLOAD_EP,
    WORKLOAD_DP,
    WORKLOAD_PP,
    WORKLOAD_XP,     /* copies of the same experts */
    WORKLOAD_FSDP,   /* ranks that shard every weight */
    WORKLOAD_OUTER,  /* ranks with the same shard */
    WORKLOAD_ETP,    /* ranks that split each expert */
    WORKLOAD_XFSDP,  /* copies of an expert that shard its weights */
    WORKLOAD_XOUTER, /* copies with the same shard */
    WORKLOAD_N_GROUPS
} workload_group;

typedef enum workload_coll {
    WORKLOAD_ALL_REDUCE,
    WORKLOAD_ALL_GATHER,
    WORKLOAD_REDUCE_SCATTER,
    WORKLOAD_ALL_TO_ALL,
    WORKLOAD_EXCHANGE /* to the neighbour, n - 1 times */
} workload_coll;

typedef struct workload_op {
    const char *name; /* static */
    workload_kind kind;
    workload_class class;
    workload_part part;
    bool low; /* in the plan's 8- or 4-bit type, if it has one */
    bool odd; /* no suitable kernel: slower softmax */
    double m, n, k, groups;
    double repeat; /* number of repetitions, or the fraction of layers that have it
                      (hybrids); 0 = 1 */
    double window; /* GEMM of a convolution: m x k contains each input this many times */
    double slow;   /* factor on its time: the fullest rank's load; 0 = 1 */
    double head_dim, seq;    /* of attention: mean of the two head sizes */
    double flops;            /* forward, two per multiply-add */
    double flops_b;          /* VECTOR: backward */
    double bytes_f, bytes_b; /* STREAM: traffic; COLL: size, as coll/time.h counts it */
    double cast_f, cast_b;   /* elements to cast to the low type */
    double weights;          /* parameters on this rank */
    double saved;            /* bytes kept for the backward pass */
    workload_coll coll;
    workload_group group;
    double times_f, times_b; /* COLL: number of times */
    double sent_b; /* COLL: messages sent backward, if compute hides the rest of one of
                      them whatever the plan; 0 = times_b */
    double copies; /* COLL: copies of each token, to this many ranks; 0 = 1 */
    bool raw;      /* STREAM: at the memory's full bandwidth, not a kernel's share */
    bool frozen;   /* GEMM: its weights get no gradient */
} workload_op;

enum { WORKLOAD_MAX_OPS = 64 };

/* The contents of one layer, of the embedding, or of the head. */
typedef struct workload_layer {
    uint32_t n;
    workload_op ops[WORKLOAD_MAX_OPS];
    double weights, expert_weights; /* parameters on this rank */
    double touched; /* the part of expert_weights that a step reads and updates */
    double frozen, frozen_experts; /* the part that is never updated (LoRA) */
    bool updated; /* the operators include the update of touched weights */
    bool moe;
    double moe_share; /* fraction of the layers it represents that have experts */
} workload_layer;

/* The sizes on one rank, computed once per plan. */
typedef struct workload_shape {
    double tokens;       /* of a micro-batch on one context rank */
    double shard_tokens; /* those outside tensor-parallel regions */
    double hidden, heads, kv_heads, dim_qk, dim_v, vocab;
    double seq;
} workload_shape;

workload_shape workload_shape_make(const halley_model *model, const halley_plan *plan,
                                   const halley_stack *stack);
void workload_layer_make(workload_layer *out, const halley_model *model,
                         const halley_plan *plan, const halley_stack *stack,
                         const workload_shape *shape, bool moe);

/* Every kind of layer of a model under a plan; made once per design. */
typedef struct workload_parts {
    workload_shape shape;
    bool has_dense, has_moe; /* a model that is not a transformer is one dense "layer" */
    workload_layer dense, moe, embedding, head;
} workload_parts;

void workload_parts_make(workload_parts *out, const halley_model *model,
                         const halley_plan *plan, const halley_stack *stack);

/* Add an operator; its fields may be changed afterwards. `backward`: the factor for the
 * bytes of the backward pass. */
workload_op *workload_gemm_add(workload_layer *l, const char *name, double m, double n,
                               double k);
workload_op *workload_stream_add(workload_layer *l, const char *name, double bytes,
                                 double backward);
workload_op *workload_coll_add(workload_layer *l, const char *name, workload_coll kind,
                               workload_group group, double bytes);
workload_op *workload_op_add(workload_layer *l, const char *name, workload_kind kind,
                             workload_class class);

/* The blocks of a layer, on average over the model's layers: 1 or 0 except for
 * hybrids. */
typedef struct workload_mix {
    double attention, recurrent; /* mixers */
    double ffn, experts;         /* dense feed-forward, mixture of experts */
} workload_mix;
workload_mix workload_mix_make(const halley_model *model, bool moe);

/* True if layer i has experts. */
bool workload_is_moe(const halley_model *model, uint32_t layer);

#endif
