/* workload/family.h - constants of models that are not trained as LLMs. */
#ifndef WORKLOAD_FAMILY_H
#define WORKLOAD_FAMILY_H

#include "halley/plan.h"
#include "halley/stack.h"

/*
 * The stack that a model is priced with: `stack` itself for LLMs, else *room filled with
 * `stack` and the constants of the model's family (or of adapters, with plan->lora) in
 * place of those an LLM's software has. A constant that a fit or the stack's file set for
 * this very family's sake does not exist: families have their own.
 */
const halley_stack *workload_family_stack(halley_stack *room, const halley_model *model,
                                          const halley_plan *plan,
                                          const halley_stack *stack);

/* DLRM: how much of each kind of work shows in a step (constants of the family). */
typedef struct workload_recommender {
    double compute_shown; /* of products and of traffic; the rest hides */
    double lookup_passes; /* over the rows looked up, forward, backward and update */
    double message_time;  /* of the all-to-alls against the table */
    double wide_passes;   /* over the concatenated vectors, all cross layers */
    double output_passes; /* over the outputs of perceptrons */
} workload_recommender;
extern const workload_recommender workload_recommender_constants;

/* LoRA: traffic of an adapter beside a frozen product, in passes over its input and
 * output. */
extern const double workload_adapter_passes;

#endif
