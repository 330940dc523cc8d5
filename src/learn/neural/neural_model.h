/* learn/neural/neural_model.h - a model's operators, tokens and conditions as the network
 * sees them. */
#ifndef LEARN_NEURAL_NEURAL_MODEL_H
#define LEARN_NEURAL_NEURAL_MODEL_H

#include "learn/neural/neural_net.h"

struct neural_model {
    neural_net net;
    arena memory;       /* of the shape */
    uint32_t *token;    /* the model's, by the network's number */
    uint32_t *token_of; /* the network's, by the model's number */
};

/* EINVAL: the model has no operators to write programs with, or too many. */
halley_status neural_model_make(neural_model *n, const synth_model *m, halley_error *err);
void neural_model_fini(neural_model *n);
/* Whether the parameters that the model holds are those of such a network. */
bool neural_model_fits(const neural_model *n, const synth_model *m);

/* Conditions as features: those of the model's laws, then one for each family. */
void neural_features(float to[NEURAL_FEATURES], const law_point *p, uint64_t family,
                     const synth_model *m);
/* The same around 0 and about 1 wide, as the network was trained. */
void neural_rescale(float feature[NEURAL_FEATURES], const model_net *head);

#endif
