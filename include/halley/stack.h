/*
 * halley/stack.h - the training software: what it fuses, casts, overlaps and stores. A
 * stack is a small set of constants, each with a unit, a default, bounds and a source.
 * `halley calibrate` may change at most HALLEY_MAX_FITTED of them.
 */
#ifndef HALLEY_STACK_H
#define HALLEY_STACK_H

#include "halley/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* To add one, add a row here and a row in the table of workload/stack.c, and use it. */
typedef enum halley_constant {
    HALLEY_K_GEMM,        /* time of matmuls in training relative to a benchmark */
    HALLEY_K_GEMM_FP8,    /* further factor, 8-bit matmuls */
    HALLEY_K_GEMM_FP4,    /* 4-bit matmuls relative to 8-bit ones */
    HALLEY_K_GEMM_MOE,    /* further factor, grouped matmuls of experts */
    HALLEY_K_BATCHED,     /* batched matmuls of unfused attention */
    HALLEY_K_ATTENTION,   /* fused attention */
    HALLEY_K_CP_SKEW,     /* imbalance of attention over context-parallel ranks */
    HALLEY_K_HIDDEN,      /* bytes per hidden element forward: norm, residual, dropout */
    HALLEY_K_BACKWARD,    /* memory traffic backward relative to forward */
    HALLEY_K_ACT,         /* passes over the feed-forward activation */
    HALLEY_K_ROPE,        /* passes over query, key and value: rotation, transposition */
    HALLEY_K_SOFTMAX_F,   /* bytes per attention score, unfused, forward */
    HALLEY_K_SOFTMAX_B,   /* backward */
    HALLEY_K_SOFTMAX_ODD, /* factor when the fused softmax kernel does not support the
                             shape */
    HALLEY_K_CAST,        /* bytes per cast element, fp8 per tensor */
    HALLEY_K_CAST_ROW,    /* factor for row-wise scales */
    HALLEY_K_CAST_MX,     /* bytes per cast element, block scales */
    HALLEY_K_CAST_FP4,    /* bytes per cast element, fp4 */
    HALLEY_K_PERMUTE,     /* passes over routed tokens */
    HALLEY_K_LOSS,        /* bytes per logit: cross entropy, both passes */
    HALLEY_K_HOST_F,      /* host seconds per layer, forward */
    HALLEY_K_HOST_B,      /* backward */
    HALLEY_K_HOST_TP,     /* further time with tensor parallelism */
    HALLEY_K_HOST_MOE,    /* per layer with experts, forward */
    HALLEY_K_HOST_ODD,    /* further time when softmax is not fused */
    HALLEY_K_HOST_SHARE,  /* slow-down of the host with all NPUs of a node busy */
    HALLEY_K_TP_TIME,     /* tensor-parallel collectives relative to the table */
    HALLEY_K_TP_HIDDEN,   /* share of them that overlaps with compute */
    HALLEY_K_SP_EXTRA,    /* third gather of sequence parallelism, share exposed */
    HALLEY_K_CP_HIDDEN,   /* share of context-parallel exchange that overlaps with
                             attention */
    HALLEY_K_EP_HIDDEN,   /* share of all-to-all that overlaps with compute */
    HALLEY_K_EP_TIME,     /* all-to-all relative to the table */
    HALLEY_K_PP_HIDDEN,   /* share of stage transfers that overlaps with compute */
    HALLEY_K_DP_HIDDEN,   /* share of gradient reduction that overlaps with the
                             backward pass */
    HALLEY_K_DP_DRAG,     /* share of hidden gradient time that slows down the passes */
    HALLEY_K_DP_DRAG_STAGES, /* the same with pipeline stages */
    HALLEY_K_NETWORK,        /* collectives between nodes relative to the table */
    HALLEY_K_FSDP_DRAG,      /* slow-down of compute by gathering, share of its time */
    HALLEY_K_ACCUMULATE, /* bytes per parameter and micro-batch: gradient accumulation */
    HALLEY_K_OPTIMIZER,  /* bytes per parameter of the update */
    HALLEY_K_GRADIENTS,  /* bytes per parameter: norm, clip, scale */
    HALLEY_K_STEP,       /* seconds per step that nothing else explains */
    HALLEY_K_MICRO,      /* seconds per micro-batch, the same */
    HALLEY_K_RECOMPUTE,  /* share of forward matmuls that selective-op recomputes */
    HALLEY_K_GEMM_BLOCK, /* further factor, 8-bit matmuls scaled by blocks in software */
    HALLEY_K_CAST_BLOCK, /* their casts relative to those of hardware blocks */
    HALLEY_K_FP8_ATTENTION, /* attention in fp8 relative to 16 bits */
    HALLEY_K_SINKS,         /* attention with sinks, which fused kernels do not support */
    HALLEY_K_EAGER,         /* traffic of norms and activations that are not fused */
    HALLEY_K_EP_DEEPEP,     /* dispatch by DeepEP relative to the table */
    HALLEY_K_EP_HYBRIDEP,   /* by HybridEP */
    HALLEY_K_EP_NETWORK,    /* further factor between nodes */
    HALLEY_K_EP_OVERLAP,    /* share of dispatch that overlap-ep hides */
    HALLEY_K_HOST_DISPATCH, /* host time of an expert layer with the plain all-to-all */
    HALLEY_K_HOST_ROUTER,   /* part of it that remains with a captured router */
    HALLEY_K_HOST_LAYER,    /* part that remains with captured router and attention */
    HALLEY_K_HOST_WAIT,     /* seconds an expert layer waits for its token counts */
    HALLEY_K_OWNER,         /* seconds per rank that owns whole tensors */
    HALLEY_K_MEETING,       /* step time lost per doubling of the nodes that
                               synchronize */
    HALLEY_K_MEETING_FSDP,  /* the same if all synchronize in every layer */
    /* memory */
    HALLEY_K_MEM_WEIGHT, /* bytes per parameter */
    HALLEY_K_MEM_GRAD,
    HALLEY_K_MEM_OPTIM,
    HALLEY_K_MEM_ACT,      /* activations relative to the sum of the tensors */
    HALLEY_K_MEM_LOGIT,    /* bytes per logit */
    HALLEY_K_MEM_HEAD,     /* temporary copies of the head's gradient */
    HALLEY_K_MEM_FIXED,    /* bytes: fixed buffers inside the allocator */
    HALLEY_K_MEM_CONTEXT,  /* bytes: context and libraries, outside the allocator */
    HALLEY_K_MEM_GATHERED, /* bytes per parameter of a gathered stage, FSDP with pp */
    HALLEY_N_CONSTANTS
} halley_constant;

enum { HALLEY_MAX_FITTED = 8, HALLEY_MAX_VENDORS = 4 };

typedef struct halley_constant_info {
    const char *key;  /* as in files */
    const char *unit; /* "" for a plain factor */
    double value;     /* default */
    double min, max;
    double spread; /* of the prior, natural logarithm (absolute for shares) */
    bool share;    /* between 0 and 1, fitted linearly */
    const char *doc, *source;
} halley_constant_info;

const halley_constant_info *halley_constant_get(halley_constant id); /* lent, static */
/* HALLEY_N_CONSTANTS when no constant has that key. */
halley_constant halley_constant_find(const char *key);

/* Which memory a framework's logs report as peak memory. */
typedef enum halley_memory_reading {
    HALLEY_READING_ALLOCATED, /* of the framework's allocator on the fullest rank */
    HALLEY_READING_RANK_0,    /* the same on rank 0, so on the first stage */
    HALLEY_READING_DEVICE     /* of the whole device, including the context */
} halley_memory_reading;

typedef struct halley_stack {
    char name[HALLEY_NAME];
    char framework[HALLEY_NAME]; /* of the runs that it applies to */
    char from[16], to[16]; /* releases, inclusive, compared component by component; ""
                              = open */
    char vendors[HALLEY_MAX_VENDORS][16]; /* of the devices it runs on: "nvidia"; none =
                                             not stated */
    double k[HALLEY_N_CONSTANTS];
    double prior[HALLEY_N_CONSTANTS];   /* default or given value, from which a fit
                                           starts */
    uint8_t origin[HALLEY_N_CONSTANTS]; /* 0 default, 1 given by the file, 2 fitted */
    bool scatter_stages; /* tensor-parallel ranks send 1/tp each between stages */
    bool pads_vocab;     /* vocabulary is rounded up to a multiple of 128 tp */
    bool adds_apart;     /* gradients accumulate in a copy of the type that is reduced */
    halley_memory_reading reading; /* which memory its logs report */
    bool known;                    /* read from a file: the software is known */
    double headroom;    /* share of memory a plan must leave free; 0.04 by default */
    bool old_attention; /* its fused attention is not written for the newest devices */
    /* Mean error on runs that it applies to, of layouts that the fit had not seen. Index
     * 0 is for models without experts, 1 for models with experts. 0 runs = not known. */
    double expected[2];
    uint32_t n_runs[2], n_layouts;
    uint32_t n_fit; /* constants that `calibrate` may change, in order */
    uint8_t fit[HALLEY_MAX_FITTED];
} halley_stack;

/* All defaults, as used for software that is not known. */
void halley_stack_default(halley_stack *out);
/* Load by preset name or path. */
halley_status halley_stack_load(halley_stack *out, const char *name, halley_error *err);
/* Read the text of a stack file; errors show `name` in place of the path. */
halley_status halley_stack_parse(halley_stack *out, const char *text, size_t n,
                                 const char *name, halley_error *err);
/* The i-th key of a stack file, not counting its constants; false past the last. */
bool halley_stack_key(halley_file_key *out, size_t i);
/* The preset for a framework and release; defaults if there is none. */
halley_status halley_stack_choose(halley_stack *out, const char *framework,
                                  const char *release, halley_error *err);
/* Write a stack as YAML. */
halley_status halley_stack_save(const halley_stack *stack, const char *path,
                                halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
