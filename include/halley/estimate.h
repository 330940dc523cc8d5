/*
 * halley/estimate.h - does a design fit, how long does a step take, and where does the
 * time go?
 */
#ifndef HALLEY_ESTIMATE_H
#define HALLEY_ESTIMATE_H

#include "halley/cluster.h"
#include "halley/model.h"
#include "halley/plan.h"
#include "halley/stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where the time of a step goes; the parts add up to step_s. */
typedef enum halley_part {
    HALLEY_PART_FORWARD,   /* compute */
    HALLEY_PART_BACKWARD,  /* compute, input and weight gradients */
    HALLEY_PART_RECOMPUTE, /* forward again, with its messages */
    HALLEY_PART_TP,        /* exposed communication ... */
    HALLEY_PART_CP,
    HALLEY_PART_EP,
    HALLEY_PART_PP,
    HALLEY_PART_DP,
    HALLEY_PART_BUBBLE,     /* stages wait for each other */
    HALLEY_PART_HOST,       /* the NPU waits for its host */
    HALLEY_PART_ACCUMULATE, /* gradient accumulation */
    HALLEY_PART_OPTIMIZER,
    HALLEY_PART_OFFLOAD,
    HALLEY_PART_MEETING, /* ranks wait for the slowest rank at collectives */
    HALLEY_PART_OTHER,
    HALLEY_N_PARTS
} halley_part;

typedef enum halley_memory {
    HALLEY_MEMORY_WEIGHTS,
    HALLEY_MEMORY_GRADIENTS,
    HALLEY_MEMORY_OPTIMIZER,
    HALLEY_MEMORY_ACTIVATIONS,
    HALLEY_MEMORY_LOGITS,   /* logits, loss and the head's temporaries */
    HALLEY_MEMORY_GATHERED, /* FSDP: whole weights of layers in work, with gradients */
    HALLEY_MEMORY_BUFFERS,  /* fixed buffers of the framework */
    HALLEY_MEMORY_CONTEXT,  /* of the driver and libraries: outside the allocator */
    HALLEY_N_MEMORY
} halley_memory;

/* Whether a design fits, with headroom; see halley_estimate. */
typedef enum halley_memory_fit {
    HALLEY_FIT_FITS,
    HALLEY_FIT_TIGHT, /* fits, with less than 6 % to spare beyond the headroom */
    HALLEY_FIT_MAY,   /* needs up to 115 % of the memory and the software is not known */
    HALLEY_FIT_MAY_NEED_OFFLOAD, /* a TPU below 150 %: XLA offloads what it must */
    HALLEY_FIT_NOT,
    HALLEY_N_FITS
} halley_memory_fit;
const char *
halley_fit_name(halley_memory_fit fit); /* "fits", "may-fit", ...; lent, static */

const char *halley_part_name(halley_part part);       /* lent, static */
const char *halley_memory_name(halley_memory memory); /* lent, static */

/* Classes of compute. */
enum {
    HALLEY_CLASS_MATMUL,
    HALLEY_CLASS_ATTENTION,
    HALLEY_CLASS_EXPERTS, /* grouped matmuls */
    HALLEY_CLASS_MEMORY_BOUND,
    HALLEY_CLASS_LOGITS, /* the matmul of the head */
    HALLEY_N_CLASSES
};
const char *halley_class_name(uint32_t op_class); /* lent, static */

/* Lengths of the arrays by part, class and kind of memory. They have room for new
 * entries. */
enum { HALLEY_MAX_PARTS = 24, HALLEY_MAX_CLASSES = 8, HALLEY_MAX_MEMORY = 12 };

typedef struct halley_estimate {
    size_t size; /* filled by the library, see error.h */
    double step_s;
    double part_s[HALLEY_MAX_PARTS];
    /* Forward and backward compute of the slowest stage by class; adds up to the parts
     * FORWARD and BACKWARD. */
    double class_s[HALLEY_MAX_CLASSES];
    bool schedule_walked; /* simulated pass by pass; false = the pipeline's time is a
                             closed form */
    bool out_of_memory;   /* the schedule walk could not allocate memory: do not use the
                             numbers */
    double tokens_per_s;
    double model_flops;  /* of one step, all NPUs */
    double mfu, hfu;     /* model and hardware FLOPs over peak of the plan's type */
    uint32_t slow_stage; /* the slowest stage */

    double memory_bytes[HALLEY_MAX_MEMORY]; /* of the fullest stage, local memory */
    double outer_bytes[HALLEY_MAX_MEMORY];  /* of that stage, in the outer tier */
    double offloaded_bytes;                 /* the sum of outer_bytes */
    double peak_bytes;      /* the sum of memory_bytes: what tools of the device report */
    double allocated_bytes; /* the same without the context: what the framework's
                               allocator reports */
    double capacity_bytes;  /* of the NPU's own memory */
    double outer_capacity_bytes; /* of the memory that is offloaded to; 0 = none */
    double outer_users;          /* NPUs that share it */
    double headroom;             /* share of it that must stay free (halley_stack) */
    uint32_t full_stage;
    bool fits;             /* `fit` is FITS or TIGHT */
    halley_memory_fit fit; /* local memory with headroom, and outer memory */

    double energy_J, cost_usd; /* of one step, all NPUs */
    double outer_need_bytes;   /* outer memory per NPU, of the stage that offloads most;
                                  the average if all NPUs share the memory */
    uint64_t outer_stage;      /* that stage */
    double weight_gradient_s;  /* the part of backward compute for gradients of weights */
    uint64_t room[HALLEY_ROOM - 3]; /* reserved for new members; 0 */
} halley_estimate;

/* Estimate one design. Inputs are only read and nothing stays allocated. The function may
 * be called from any thread. The plan must have passed halley_plan_check for this model.
 * A design that does not fit is timed as well: check `fits`. */
void halley_estimate_run(halley_estimate *out, const halley_model *model,
                         const halley_plan *plan, const halley_cluster *cluster,
                         const halley_stack *stack);

/*
 * Make many estimates of one model on one cluster, one after the other. What two
 * consecutive designs have in common is computed once. Results are identical to those of
 * halley_estimate_run. Model, cluster and stack are lent and must outlive the estimator.
 * One thread at a time may use an estimator.
 */
typedef struct halley_estimator halley_estimator;
halley_status halley_estimator_new(halley_estimator **out, const halley_model *model,
                                   const halley_cluster *cluster,
                                   const halley_stack *stack, halley_error *err);
void halley_estimator_run(halley_estimator *estimator, halley_estimate *out,
                          const halley_plan *plan);
void halley_estimator_free(halley_estimator *estimator); /* NULL is fine */

/* The memory of one pipeline stage. */
typedef struct halley_stage_memory {
    size_t size;                            /* filled by the library, see error.h */
    double memory_bytes[HALLEY_MAX_MEMORY]; /* local */
    double outer_bytes[HALLEY_MAX_MEMORY];  /* in the outer tier */
    double device_bytes;                    /* the sum of memory_bytes */
    double allocated_bytes;                 /* the same without the context */
    uint64_t room[HALLEY_ROOM];             /* reserved for new members; 0 */
} halley_stage_memory;
/*
 * How ranks fill nodes. They fill them one after the other. Nodes may then split groups,
 * or the last node may be less than half full. If filling fewer NPUs of each node avoids
 * that and needs no further node, ranks are placed so. For example, 256 ranks in groups
 * of 64 fill 64 NPUs in each of four racks of 72, as block scheduling places them.
 */
typedef struct halley_node_fill {
    uint32_t npus_per_node; /* that ranks fill in every node but the last */
    uint32_t split_ranks;   /* the smallest group that nodes split even so; 0 = none */
    uint32_t saved_ranks;   /* the smallest group that full nodes would split; 0 = none */
} halley_node_fill;
halley_node_fill halley_estimate_node_fill(const halley_plan *plan,
                                           const halley_cluster *cluster);
/* Give the network of a simulation as many NPUs per node as ranks of the plan fill. The
 * cluster must have as many NPUs as the plan has ranks. It is then for simulation only:
 * costs and power count whole nodes, which it no longer describes. */
halley_status halley_estimate_fill_nodes(halley_cluster *cluster, const halley_plan *plan,
                                         halley_error *err);

/* Stage i < plan->pp of a checked plan. */
void halley_estimate_stage(halley_stage_memory *out, const halley_model *model,
                           const halley_plan *plan, const halley_cluster *cluster,
                           const halley_stack *stack, uint32_t i);

/* HALLEY_ELIMIT unless every number of the result is finite. A number that is not finite
 * is a bug in halley and must not be printed as an answer. */
halley_status halley_estimate_check(const halley_estimate *estimate, halley_error *err);

/* The share of a long run's time that remains productive despite interruptions. */
typedef struct halley_goodput {
    size_t size;       /* filled by the library, see error.h */
    double mtbf_s;     /* mean time between interruptions of the job; infinite if none */
    double interval_s; /* best interval of work between checkpoints */
    double share;      /* of the wall-clock time that makes progress, 0 to 1 */
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_goodput;
void halley_goodput_run(halley_goodput *out, const halley_failures *failures,
                        double n_npus);

/* An operator of a layer, forward, for one micro-batch on one NPU. */
typedef struct halley_roofline_op {
    char name[48];
    double flops, bytes; /* executed; moved to and from memory */
    double forward_s;
} halley_roofline_op;
enum { HALLEY_MAX_ROOFLINE = 24 };
typedef struct halley_roofline {
    size_t size;                      /* filled by the library, see error.h */
    double peak_flops, bandwidth_Bps; /* the roof: of the plan's type; of local memory */
    uint32_t n;
    halley_roofline_op ops[HALLEY_MAX_ROOFLINE];
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_roofline;
void halley_roofline_run(halley_roofline *out, const halley_model *model,
                         const halley_plan *plan, const halley_cluster *cluster,
                         const halley_stack *stack);

/* How a number is computed: a tree whose root is the step. The tree owns the texts.
 * Unknown values are NULL. */
typedef struct halley_explanation {
    const char *name;    /* "matmul", "feed-forward up" */
    const char *formula; /* with numbers: "8192 x 28672 x 8192, 0.96 TFLOP" */
    const char *origin;  /* of a constant: "fitted", "given" or "default" */
    const char *unit;    /* "s", "B"; "" for a plain number */
    double value;
    bool has_value;
    struct halley_explanation *children, *next; /* the first; the next sibling */
} halley_explanation;
halley_status halley_estimate_explain_tree(halley_explanation **out,
                                           const halley_model *model,
                                           const halley_plan *plan,
                                           const halley_cluster *cluster,
                                           const halley_stack *stack, halley_error *err);
void halley_explanation_free(halley_explanation *root); /* NULL is fine */

/* The same as text: every operator of a layer, every message and every term of the step
 * with its formula and numbers. The caller frees *out. */
halley_status halley_estimate_explain(char **out, const halley_model *model,
                                      const halley_plan *plan,
                                      const halley_cluster *cluster,
                                      const halley_stack *stack, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
