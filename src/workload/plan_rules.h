/* workload/plan_rules.h - what a batch and a pipeline must obey, with the nearest way
 * out.
 */
#ifndef WORKLOAD_PLAN_RULES_H
#define WORKLOAD_PLAN_RULES_H

#include "halley/plan.h"

/* A batch so large that it must have been given in tokens is refused with a hint. */
halley_status workload_batch_check(const halley_plan *plan, const halley_model *model,
                                   halley_error *err);

/*
 * Stages and chunks: switches embeddings-as-layers on where only that divides and nobody
 * said otherwise, then checks the rules of interleaving. The sentence names the nearest
 * valid value.
 */
halley_status workload_pipeline_check(halley_plan *plan, const halley_model *model,
                                      halley_error *err);

#endif
