/* halley/plan_trace.h - a plan as Chakra traces, one per rank. */
#ifndef HALLEY_PLAN_TRACE_H
#define HALLEY_PLAN_TRACE_H

#include "halley/estimate.h"
#include "halley/trace.h"
#include "halley/trace_gen.h"
#include "halley/trace_template.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How a trace states that a stack's collectives are slower or faster than the closed
 * form of their bytes. */
typedef enum halley_trace_prices {
    HALLEY_PRICES_STACK, /* in attributes halley_rate and halley_fixed_ns */
    HALLEY_PRICES_PLAIN /* for other simulators: added time is compute before the message,
                           and factors on bandwidth are left out */
} halley_trace_prices;

/*
 * One training step as roles, one per pipeline stage. The traces are those of
 * halley_plan_trace for single ranks, with groups and peers defined by rules. The plan
 * must have passed halley_plan_check. On success the caller owns *out.
 */
halley_status halley_plan_template(halley_template **out, const halley_model *model,
                                   const halley_plan *plan, const halley_cluster *cluster,
                                   const halley_stack *stack, halley_trace_prices prices,
                                   halley_error *err);

/* The same with names that contain the layer of the model and the pass, as in
 * "L12.query-key-value.FP". Other passes are .IG and .WG for gradients of inputs and of
 * weights (.IG+WG where one node computes both), .RC for what is computed again. They
 * take memory. */
halley_status
halley_plan_template_labelled(halley_template **out, const halley_model *model,
                              const halley_plan *plan, const halley_cluster *cluster,
                              const halley_stack *stack, halley_trace_prices prices,
                              halley_error *err);

/*
 * One training step of `rank`. Compute nodes have num_ops, tensor_size and a duration (in
 * microseconds, and in duration_ns). Collectives have the plan's groups (pg_name), and
 * the bytes of the plan, which are the same on every cluster. There are messages between
 * stages, and loads and stores of data in an outer tier. Ranks count
 * tensor parallel first, then context, data and pipeline parallel. The plan must have
 * passed halley_plan_check. On success the caller owns *out.
 */
halley_status halley_plan_trace(halley_trace **out, const halley_model *model,
                                const halley_plan *plan, const halley_cluster *cluster,
                                const halley_stack *stack, uint32_t rank,
                                halley_error *err);

/* What a pass of a pipeline stage computes. */
typedef enum halley_pass_kind {
    HALLEY_PASS_FORWARD,
    HALLEY_PASS_BACKWARD, /* input and weight gradients */
    HALLEY_PASS_INPUT,    /* input gradients alone */
    HALLEY_PASS_WEIGHT    /* weight gradients alone */
} halley_pass_kind;

/* One micro-batch passes through one chunk of a stage. Nodes are indexes in the trace of
 * the stage and include the messages that overlap with the pass. */
typedef struct halley_plan_pass {
    halley_pass_kind kind;
    uint32_t chunk, micro_batch;
    uint32_t first_node, n_nodes;
} halley_plan_pass;
/* The passes of stage i < plan->pp in the order in which it runs them. On success the
 * caller owns *out and must free() it. */
halley_status halley_plan_passes(halley_plan_pass **out, size_t *n,
                                 const halley_model *model, const halley_plan *plan,
                                 const halley_cluster *cluster, const halley_stack *stack,
                                 uint32_t stage, halley_error *err);

/* Write PREFIX.R.et for every rank, and PREFIX.comm_group.json when there are groups.
 * `summary` may be NULL. */
halley_status halley_plan_trace_save(const char *prefix, const halley_model *model,
                                     const halley_plan *plan,
                                     const halley_cluster *cluster,
                                     const halley_stack *stack,
                                     halley_trace_prices prices,
                                     halley_gen_summary *summary, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
