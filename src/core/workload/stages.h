/* workload/stages.h - which layers a pipeline stage holds. */
#ifndef WORKLOAD_STAGES_H
#define WORKLOAD_STAGES_H

#include "halley/plan.h"

typedef struct workload_stage {
    uint32_t n_dense, n_moe;
    uint32_t again_dense, again_moe; /* of them, recomputed if the plan recomputes */
    bool first, last;                /* holds the embedding, the head */
} workload_stage;

/* The layers of stage i of plan->pp, in all its chunks. If layers do not divide evenly,
 * the last stages have one less. A stage of a bidirectional schedule holds two stages of
 * the model. */
workload_stage workload_stage_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i);
/* The layers of one of its chunks, numbered as in workload/schedule.h. */
workload_stage workload_chunk_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i, uint32_t chunk);

/*
 * Iterate over the distinct stages. These are i = 0, 1 and the last if all stages between
 * are equal to stage 1, else all stages. *times is the number of stages that stage i
 * represents.
 */
uint32_t workload_stage_next(const halley_model *model, const halley_plan *plan,
                             uint32_t i, uint32_t *times);

#endif
