/* workload/memory.h - what one NPU must hold, by class and stage. */
#ifndef WORKLOAD_MEMORY_H
#define WORKLOAD_MEMORY_H

#include "halley/estimate.h"
#include "workload/ops.h"

/* Bytes of stage i by class, before anything is moved to an outer tier. */
void workload_memory_stage(double bytes[HALLEY_N_MEMORY], const halley_model *model,
                           const halley_plan *plan, const halley_stack *stack,
                           uint32_t i);

/* The memory fields of an estimate: the fullest stage against the NPU's capacity. */
void workload_memory_fill(halley_estimate *out, const workload_parts *parts,
                          const halley_model *model, const halley_plan *plan,
                          const halley_cluster *cluster, const halley_stack *stack);

/* The tier the plan moves things to, or NULL when the NPU has none. */
const halley_tier *workload_outer_tier(const halley_plan *plan,
                                       const halley_cluster *cluster);

#endif
