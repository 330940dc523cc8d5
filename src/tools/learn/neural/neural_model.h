/*
 * learn/neural/neural_model.h - operators, tokens and conditions of a model in the terms
 * of the network.
 */
#ifndef LEARN_NEURAL_NEURAL_MODEL_H
#define LEARN_NEURAL_NEURAL_MODEL_H

#include "learn/neural/neural_net.h"

struct neural_model {
    neural_net net;
    arena memory;       /* holds the shape */
    uint32_t *token;    /* token of the model, by token of the network */
    uint32_t *token_of; /* token of the network, by token of the model */
};

/* EINVAL: the model has no operators, or too many. */
halley_status neural_model_make(neural_model *n, const synth_model *m, halley_error *err);
void neural_model_fini(neural_model *n);
/* True if the parameters in the model belong to such a network. */
bool neural_model_fits(const neural_model *n, const synth_model *m);

/* The conditions as features: those of the model's laws, then one per family. */
void neural_features(float to[NEURAL_FEATURES], const law_point *p, uint64_t family,
                     const synth_model *m);
/* Standardizes features to mean 0 and deviation 1, as in training. */
void neural_rescale(float feature[NEURAL_FEATURES], const model_net *head);

#endif
