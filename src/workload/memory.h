/* workload/memory.h - what one NPU must hold, by class and stage. */
#ifndef WORKLOAD_MEMORY_H
#define WORKLOAD_MEMORY_H

#include "halley/estimate.h"
#include "workload/ops.h"

/* The memory fields of an estimate: the fullest stage against the NPU's capacity. */
void workload_memory_fill(halley_estimate *out, const workload_parts *parts,
                          const halley_model *model, const halley_plan *plan,
                          const halley_cluster *cluster, const halley_stack *stack);

/* The tier the plan moves things to, or NULL when the NPU has none. */
const halley_tier *workload_outer_tier(const halley_plan *plan,
                                       const halley_cluster *cluster);
/* NPUs of the plan that share one such memory: its capacity and its bandwidth. */
double workload_outer_users(const halley_tier *tier, const halley_plan *plan,
                            const halley_cluster *cluster);

#endif
