/* learn/neural/neural_state.h - training on disk, to go on when it was stopped. */
#ifndef LEARN_NEURAL_NEURAL_STATE_H
#define LEARN_NEURAL_NEURAL_STATE_H

#include "learn/neural/neural_net.h"

/* Where training is. Without holes, so that its bytes are all of it. */
typedef struct neural_place {
    neural_loss best; /* of the best parameters */
    rng random;
    uint32_t step, best_step, at; /* at: in the order */
    uint32_t adam_step, n_skipped, unused;
} neural_place;

/* All that changes; the arrays are the trainer's. */
typedef struct neural_state {
    uint64_t key; /* of what is trained, and how */
    neural_place *place;
    nn_real *param, *best, *mean, *square;
    uint32_t *order;
    size_t n_params, n_order;
} neural_state;

halley_status neural_state_save(const neural_state *s, const char *path,
                                halley_error *err);
/* False, and nothing changes: no such file, or of another training, or damaged. */
bool neural_state_load(const neural_state *s, const char *path);

#endif
