/* workload/family.h - constants of models that are not trained like LLMs. */
#ifndef WORKLOAD_FAMILY_H
#define WORKLOAD_FAMILY_H

#include "halley/plan.h"
#include "halley/stack.h"

/*
 * The stack that prices a model. For LLMs it is `stack` itself. Otherwise *room is filled
 * with `stack` and the constants of the model's family (or of adapters, with plan->lora)
 * replace those of an LLM's software. Neither fits nor stack files can set constants for
 * a family: families have their own.
 */
const halley_stack *workload_family_stack(halley_stack *room, const halley_model *model,
                                          const halley_plan *plan,
                                          const halley_stack *stack);

/* DLRM: how much of each kind of work is visible in a step (constants of the family). */
typedef struct workload_recommender {
    double compute_shown; /* fraction of matmuls and memory traffic; the rest is hidden */
    double lookup_passes; /* over looked-up rows: forward, backward and update */
    double message_time;  /* factor of the all-to-alls over the table's time */
    double wide_passes;   /* passes over the concatenated vectors, all cross layers */
    double output_passes; /* passes over the outputs of perceptrons */
} workload_recommender;
extern const workload_recommender workload_recommender_constants;

/* LoRA: the traffic of an adapter of a frozen matmul, in passes over its input and
 * output. */
extern const double workload_adapter_passes;

#endif
