/* workload/stages.h - which layers a pipeline stage holds. */
#ifndef WORKLOAD_STAGES_H
#define WORKLOAD_STAGES_H

#include "halley/plan.h"

typedef struct workload_stage {
    uint32_t n_dense, n_moe;
    bool first, last; /* holds the embedding, the head */
} workload_stage;

/* Layers of stage i of plan->pp. Uneven layer counts give the last stages one less. */
workload_stage workload_stage_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i);

#endif
