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
/* How fast each NPU of the plan loads and stores when all of them do. */
typedef struct workload_outer_rate {
    double Bps;       /* the lesser of */
    double all_Bps;   /* its share of what all NPUs of the plan use, and */
    double own_Bps;   /* its share of what only NPUs near it use */
    double latency_s; /* of one transfer, with those of the NPUs before it */
} workload_outer_rate;
workload_outer_rate workload_outer_rate_find(const halley_tier *tier,
                                             const halley_plan *plan,
                                             const halley_cluster *cluster);

#endif
