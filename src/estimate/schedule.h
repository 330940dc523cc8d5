/* estimate/schedule.h - the order in which a stage works on micro-batches. */
#ifndef ESTIMATE_SCHEDULE_H
#define ESTIMATE_SCHEDULE_H

#include "halley/plan.h"

/* Pass number k of a stage: forward or backward of a micro-batch through a chunk. */
typedef struct plan_pass {
    bool backward;
    uint32_t micro_batch, chunk;
} plan_pass;

uint32_t plan_pass_count(const halley_plan *plan);
plan_pass plan_pass_at(const halley_plan *plan, uint32_t stage, uint32_t k);

#endif
