/* workload/plan_rules.h - the rules for batches and pipelines, with the nearest valid
 * values. */
#ifndef WORKLOAD_PLAN_RULES_H
#define WORKLOAD_PLAN_RULES_H

#include "halley/plan.h"

/* Refuse a batch so large that it must be in tokens, with a hint. */
halley_status workload_batch_check(const halley_plan *plan, const halley_model *model,
                                   halley_error *err);

/*
 * Check stages and chunks. First switch embeddings-as-layers on if only this makes the
 * division work and the key was not given. Then check the rules of interleaving. The
 * error names the nearest valid value.
 */
halley_status workload_pipeline_check(halley_plan *plan, const halley_model *model,
                                      halley_error *err);

#endif
