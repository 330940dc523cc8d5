/* halley/plan.h - how a model is parallelized over the NPUs and trained. */
#ifndef HALLEY_PLAN_H
#define HALLEY_PLAN_H

#include "halley/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_recompute {
    HALLEY_RECOMPUTE_NONE,
    HALLEY_RECOMPUTE_SELECTIVE,    /* the attention core */
    HALLEY_RECOMPUTE_SELECTIVE_OP, /* all but every second matmul */
    HALLEY_RECOMPUTE_FULL,         /* whole layers, from their inputs */
    HALLEY_RECOMPUTE_MINIMAL,      /* all but the matmuls */
    HALLEY_RECOMPUTE_QKV,          /* all but the attention projections */
    HALLEY_RECOMPUTE_MODULES,      /* the modules of recompute_modules */
    HALLEY_RECOMPUTE_KEPT,         /* all but the tensors of recompute_keep */
    HALLEY_N_RECOMPUTE
} halley_recompute;

typedef enum halley_schedule {
    HALLEY_SCHEDULE_1F1B, /* interleaved when virtual stages > 1 */
    HALLEY_SCHEDULE_GPIPE,
    HALLEY_SCHEDULE_BREADTH_FIRST, /* each chunk processes all micro-batches before the
                                      next chunk starts */
    HALLEY_SCHEDULE_ZB_H1,         /* zero bubble: weight gradients fill the bubble */
    HALLEY_SCHEDULE_ZB_H2,         /* the same with twice the activations */
    HALLEY_SCHEDULE_ZBV,           /* two chunks per stage, arranged in a V */
    HALLEY_SCHEDULE_DUALPIPE,      /* two streams from both ends, weights held twice */
    HALLEY_N_SCHEDULES
} halley_schedule;

typedef enum halley_fp8_recipe {
    HALLEY_FP8_TENSOR, /* one scale per tensor */
    HALLEY_FP8_ROW,
    HALLEY_FP8_BLOCK, /* blocks of 128, scaled by software: DeepSeek-V3 on Hopper */
    HALLEY_FP8_MX,    /* one scale every 32 elements, in hardware: mxfp8, mxfp4 */
    HALLEY_FP8_NV,    /* every 16 elements: nvfp4 */
    HALLEY_N_RECIPES
} halley_fp8_recipe;

/* How often sharded weights (fsdp) are gathered. */
typedef enum halley_gather {
    HALLEY_GATHER_DEFAULT,     /* once per step with pipeline stages, else in every
                                  micro-batch */
    HALLEY_GATHER_STEP,        /* once per step; the whole stage stays gathered */
    HALLEY_GATHER_MICRO_BATCH, /* layer by layer in every micro-batch */
} halley_gather;

/* A yes or no whose default depends on the rest of the plan. */
typedef enum halley_choice {
    HALLEY_CHOICE_DEFAULT,
    HALLEY_CHOICE_NO,
    HALLEY_CHOICE_YES
} halley_choice;

/* What the optimizer stores for a parameter of a matmul. */
typedef enum halley_optimizer {
    HALLEY_OPTIMIZER_ADAM,
    HALLEY_OPTIMIZER_SGD,
    HALLEY_OPTIMIZER_ADAGRAD,
    HALLEY_N_OPTIMIZERS
} halley_optimizer;

/* The same for embedding tables, whose gradients are sparse. */
typedef enum halley_table_optimizer {
    HALLEY_TABLE_ROW_WISE_ADAGRAD, /* one number per row */
    HALLEY_TABLE_ADAGRAD,
    HALLEY_TABLE_SGD,
    HALLEY_TABLE_ADAM,
    HALLEY_N_TABLE_OPTIMIZERS
} halley_table_optimizer;

/* How routed tokens reach their experts. */
typedef enum halley_dispatcher {
    HALLEY_DISPATCH_ALL_TO_ALL, /* the library's collective */
    HALLEY_DISPATCH_DEEPEP,
    HALLEY_DISPATCH_HYBRIDEP,
    HALLEY_N_DISPATCHERS
} halley_dispatcher;

/* Kernels of the attention core. */
typedef enum halley_attention {
    HALLEY_ATTENTION_FLASH,   /* fused */
    HALLEY_ATTENTION_UNFUSED, /* the matrix of scores goes through memory */
    HALLEY_ATTENTION_OLD, /* fused, but written for an earlier generation of devices */
    HALLEY_N_ATTENTIONS
} halley_attention;

/* What is captured in CUDA graphs, so that the host launches it as one. */
typedef enum halley_graphs {
    HALLEY_GRAPHS_NONE,
    HALLEY_GRAPHS_ROUTER,
    HALLEY_GRAPHS_LAYER, /* router and attention; all of a layer without experts */
    HALLEY_GRAPHS_FULL,
    HALLEY_N_GRAPHS
} halley_graphs;

enum { HALLEY_MAX_STAGES = 256 };
#define HALLEY_FSDP_ALL UINT32_MAX /* halley_plan_check replaces it by dp * cp */

/* What is offloaded from the NPU's own memory to tier `offload_tier`. */
enum {
    HALLEY_OFFLOAD_OPTIMIZER = 1,
    HALLEY_OFFLOAD_GRADIENTS = 2,
    HALLEY_OFFLOAD_WEIGHTS = 4,
    HALLEY_OFFLOAD_ACTIVATIONS = 8
};

/* Modules of Megatron-Core that the backward pass recomputes. */
enum {
    HALLEY_MODULE_LAYERNORM = 1,
    HALLEY_MODULE_CORE_ATTN = 2,
    HALLEY_MODULE_MLA_UP_PROJ = 4,
    HALLEY_MODULE_MOE_ACT = 8,
    HALLEY_MODULE_MLP = 16,
    HALLEY_MODULE_MOE = 32,
    HALLEY_MODULE_SHARED_EXPERTS = 64
};

/* Tensors of a layer that MaxText's policies keep by name. */
enum {
    HALLEY_TENSOR_INPUT = 1,
    HALLEY_TENSOR_QKV = 2,
    HALLEY_TENSOR_CONTEXT = 4,
    HALLEY_TENSOR_OUT = 8,
    HALLEY_TENSOR_MLPWI = 16,
    HALLEY_TENSOR_MLPWO = 32
};

/* Kinds of communication. */
enum {
    HALLEY_EXPOSE_TP = 1,
    HALLEY_EXPOSE_CP = 2,
    HALLEY_EXPOSE_EP = 4,
    HALLEY_EXPOSE_PP = 8,
    HALLEY_EXPOSE_DP = 16
};

enum { HALLEY_RANK_ORDERS = 24 };

/* A degree of zero means 1. halley_plan_check fills in defaults; halley_plan_assumed
 * lists them. */
typedef struct halley_plan {
    uint32_t tp, pp, dp, cp, ep;
    uint32_t virtual_stages; /* interleaving: chunks of layers per stage; 0 = 1 */
    bool sequence_parallel;
    uint32_t zero;  /* ZeRO stage: 1 shards optimizer states, 2 also gradients, 3 also
                       weights (fsdp) */
    uint32_t fsdp;  /* ranks that shard every weight; 0 = off, dp * cp = all */
    bool fsdp_keep; /* keep gathered weights for the backward pass (ZeRO-2 like) */
    halley_recompute recompute;
    uint32_t recompute_every;  /* full: keep the input of one layer in this many; 0 = 1 */
    uint32_t recompute_layers; /* recompute only this many first layers of each stage;
                                  0 = all */
    uint32_t recompute_modules; /* HALLEY_MODULE_ bits, with HALLEY_RECOMPUTE_MODULES */
    uint32_t recompute_keep;    /* HALLEY_TENSOR_ bits, with HALLEY_RECOMPUTE_KEPT */
    uint32_t recompute_offload; /* those of recompute_keep that are stored in the outer
                                   tier */
    halley_schedule schedule;
    uint32_t rank_order;    /* how ranks are numbered: one of HALLEY_RANK_ORDERS; 0 =
                               tp, cp, dp, pp, innermost first (halley_rank_order_name) */
    uint32_t micro_batch;   /* sequences; 0 = 1 */
    uint32_t global_batch;  /* sequences */
    uint32_t micro_batches; /* per data-parallel rank; 0 = follows from the batch sizes */
    uint32_t seq;           /* tokens; 0 = the model's */
    halley_dtype dtype;     /* of the matmuls */
    halley_fp8_recipe recipe;
    halley_attention attention;
    bool fp8_attention;
    bool eager_kernels;   /* norms and activations run as separate operators, not fused */
    uint32_t bf16_layers; /* layers of the model that stay in bf16, half at each end */
    uint32_t etp;         /* ranks that split each expert; 0 = 1 */
    uint32_t zero_group;  /* ZeRO 1 and 2: ranks that shard the optimizer; 0 = all */
    bool zero_owner;      /* ZeRO 1 by whole tensors: each is reduced to its owner,
                             which sends it back */
    halley_dispatcher dispatcher;
    bool fp8_dispatch;  /* tokens are dispatched in fp8; results return in bf16 */
    bool overlap_ep;    /* expert messages overlap with the compute of another
                           micro-batch */
    double capacity;    /* capacity factor of the experts; 0 = no token is dropped */
    double expert_skew; /* load of the fullest rank above the mean, as a fraction */
    halley_graphs graphs;
    bool embeddings_as_layers; /* embedding and head count as one layer each when
                                  stages are cut */
    uint32_t gradient_bytes;   /* bytes of a gradient in messages; 0 = 2 */
    uint32_t n_stage_layers;   /* uneven stages: length of stage_layers; 0 = even */
    uint8_t stage_layers[HALLEY_MAX_STAGES];
    uint32_t lora;         /* rank of the adapters on frozen weights; 0 = all weights are
                              trained */
    uint32_t offload;      /* HALLEY_OFFLOAD_ bits */
    uint32_t offload_tier; /* 0 = the nearest tier after local memory */
    uint32_t offload_layers; /* with offloaded activations: how many layers of a stage;
                                0 = all */
    halley_gather gather;
    halley_choice fp8_params; /* weights are stored in the low-precision type; default:
                                 they are */
    double gradient_memory;   /* bytes stored per gradient; 0 = by number format and
                                 stack */
    double optimizer_memory;  /* bytes per parameter of the optimizer; 0 = by number
                                 format and stack, unless `given` has its key */
    halley_optimizer optimizer;
    halley_table_optimizer table_optimizer; /* of embedding tables */
    bool spread;      /* spill what does not fit to the next tier, proportionally
                         across all classes (COMET): one effective bandwidth */
    bool no_overlap;  /* communication never overlaps with compute */
    uint32_t expose;  /* HALLEY_EXPOSE_ bits: communication that never overlaps with
                         compute */
    bool has_experts; /* halley_plan_check sets it */
    /* Bits 1 << halley_plan_key: keys that a file, an option or a study set. Defaults
     * that depend on the rest of the plan apply only to keys that are not set. */
    uint64_t given;
} halley_plan;

/* Fill in defaults, then check the plan against the model and `n_npus` (0 = tp*cp*pp*dp).
 * The degrees must multiply to n_npus and divide heads, layers, experts and batch. The
 * error says which one does not and what to change. */
halley_status halley_plan_check(halley_plan *plan, const halley_model *model,
                                uint32_t n_npus, halley_error *err);

/* HALLEY_EINVAL: tp or cp cannot divide the model's heads; the error names the nearest
 * tp. */
halley_status halley_plan_check_heads(const halley_plan *plan, const halley_model *model,
                                      halley_error *err);
/* HALLEY_EINVAL: the NPU has no units for the plan's number format. If the plan names no
 * scaling factors for fp4, this fills them in: nv if the NPU has them, else mx. */
halley_status halley_plan_check_npu(halley_plan *plan, const halley_npu *npu,
                                    halley_error *err);

/* A default that a plan uses because its key was not set. */
typedef struct halley_assumption {
    uint32_t key;   /* a halley_plan_key */
    char value[32]; /* as in a plan file */
    char text[96];  /* "global batch 128", "sequence 8192 (from the model)", "zero 1" */
} halley_assumption;
/* The i-th one of a checked plan; false past the last. */
bool halley_plan_assumed(halley_assumption *to, uint32_t i, const halley_plan *plan,
                         const halley_model *model);

/* Micro-batches of one data-parallel rank; valid after the check. */
uint32_t halley_plan_micro_batches(const halley_plan *plan);

/* The number format with its scaling factors: "bf16", "fp8", "fp8 block", "mxfp8",
 * "nvfp4"; lent, static. */
const char *halley_plan_format_name(const halley_plan *plan);
const char *halley_schedule_name(halley_schedule schedule);    /* lent, static */
const char *halley_recompute_name(halley_recompute recompute); /* lent, static */
/* "tp-cp-dp-pp": ranks that differ only in the first dimension are neighbours. */
const char *halley_rank_order_name(uint32_t rank_order); /* lent, static */

#ifdef __cplusplus
}
#endif
#endif
