/*
 * learn/neural/neural_state.h - saves the state of training, so that it can be resumed.
 */
#ifndef LEARN_NEURAL_NEURAL_STATE_H
#define LEARN_NEURAL_NEURAL_STATE_H

#include "learn/neural/neural_net.h"

/* The progress of training. The struct has no padding, so its bytes are its content. */
typedef struct neural_place {
    neural_loss best; /* of the best parameters */
    rng random;
    uint32_t step, best_step, at; /* at: position in the order */
    uint32_t adam_step, n_skipped, unused;
} neural_place;

/* Everything that training changes. The trainer owns the arrays. */
typedef struct neural_state {
    uint64_t key; /* hash of what is trained, and how */
    neural_place *place;
    nn_real *param, *best, *mean, *square;
    uint32_t *order;
    size_t n_params, n_order;
} neural_state;

halley_status neural_state_save(const neural_state *s, const char *path,
                                halley_error *err);
/* False, and nothing changes, if the file is missing, damaged, or of another training. */
bool neural_state_load(const neural_state *s, const char *path);

#endif
