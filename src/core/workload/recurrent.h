/* workload/recurrent.h - layers that carry a state along the sequence: Mamba 1 and 2,
 * gated delta nets, lightning attention. To add one, add a row in recurrent.c. */
#ifndef WORKLOAD_RECURRENT_H
#define WORKLOAD_RECURRENT_H

#include "workload/ops.h"
#include "workload/states.h"

/* Add the operators of the mixer of one layer on one rank, from its input projection to
 * its output projection. The messages of the tensor-parallel block are not included. */
void workload_recurrent_add(workload_layer *l, const halley_model *model,
                            const halley_plan *plan, const halley_stack *stack,
                            const workload_shape *s);

/* Parameters of the mixer of one layer. */
double workload_recurrent_params(const halley_recurrent *r, double hidden);
/* FLOPs of one token forward, beyond two per parameter. */
double workload_recurrent_flops(const halley_recurrent *r);
/* The number of tokens that the published kernels process at once. */
uint32_t workload_recurrent_chunk(halley_mixer mixer);

/* Bytes of one layer, one micro-batch, one rank. */
typedef struct workload_recurrent_kept {
    double projected; /* outputs of the input projection, and other inputs of the mixer's
                         backward pass */
    double mixed;     /* its result */
    double states; /* of all chunks, alive only while a layer's gradients are computed */
} workload_recurrent_kept;
workload_recurrent_kept workload_recurrent_keep(const halley_recurrent *r,
                                                const halley_plan *plan,
                                                const workload_states *states,
                                                double tokens);

#endif
