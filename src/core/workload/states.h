/* workload/states.h - bytes of one parameter, and of one kept element, in memory. */
#ifndef WORKLOAD_STATES_H
#define WORKLOAD_STATES_H

#include "halley/plan.h"
#include "halley/stack.h"

/* Bytes per parameter before anything is sharded, and per element of activations. */
typedef struct workload_states {
    double weight, gradient, optimizer;
    double expert_gradient, expert_optimizer; /* of experts, or of embedding tables */
    double gathered; /* weight and gradient of a parameter that is gathered */
    double element;  /* of a tensor between operators */
    double input;    /* of the kept input of a matmul */
    bool splits;     /* tensors between blocks are split over tensor-parallel ranks */
} workload_states;

workload_states workload_states_make(const halley_model *model, const halley_plan *plan,
                                     const halley_stack *stack, const halley_npu *npu);

#endif
