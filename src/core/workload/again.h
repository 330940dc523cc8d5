/* workload/again.h - how much of an operator recomputation repeats. */
#ifndef WORKLOAD_AGAIN_H
#define WORKLOAD_AGAIN_H

#include "workload/ops.h"

/* The fraction of the operator's forward time that the backward pass repeats, 0 to 1. */
double workload_again_share(const halley_plan *plan, const halley_stack *stack,
                            const workload_op *op);

#endif
