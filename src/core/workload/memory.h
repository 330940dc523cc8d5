/* workload/memory.h - the memory that one NPU needs, by class and stage. */
#ifndef WORKLOAD_MEMORY_H
#define WORKLOAD_MEMORY_H

#include "halley/estimate.h"
#include "workload/ops.h"

/* Fill the memory fields of an estimate: the fullest stage against the NPU's capacity. */
void workload_memory_fill(halley_estimate *out, const workload_parts *parts,
                          const halley_model *model, const halley_plan *plan,
                          const halley_cluster *cluster, const halley_stack *stack);

/* The tier to which the plan offloads, or NULL if the NPU has none. */
const halley_tier *workload_outer_tier(const halley_plan *plan,
                                       const halley_cluster *cluster);
/* The number of NPUs of the plan that share one such memory: its capacity and
 * bandwidth. */
double workload_outer_users(const halley_tier *tier, const halley_plan *plan,
                            const halley_cluster *cluster);

#endif
