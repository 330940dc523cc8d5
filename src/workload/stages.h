/* workload/stages.h - which layers a pipeline stage holds. */
#ifndef WORKLOAD_STAGES_H
#define WORKLOAD_STAGES_H

#include "halley/plan.h"

typedef struct workload_stage {
    uint32_t n_dense, n_moe;
    uint32_t again_dense, again_moe; /* of them, recomputed where the plan recomputes */
    bool first, last;                /* holds the embedding, the head */
} workload_stage;

/* Layers of stage i of plan->pp, all its chunks. Uneven layer counts give the last stages
 * one less. A stage of a bidirectional schedule holds two stages of the model. */
workload_stage workload_stage_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i);
/* Of one of its chunks, as workload/schedule.h numbers them. */
workload_stage workload_chunk_make(const halley_model *model, const halley_plan *plan,
                                   uint32_t i, uint32_t chunk);

/*
 * Walk the stages that differ: i = 0, 1, the last when all between are like stage 1, else
 * all of them. *times says for how many stage i stands.
 */
uint32_t workload_stage_next(const halley_model *model, const halley_plan *plan,
                             uint32_t i, uint32_t *times);

#endif
