/* learn/neural/neural_model.h - a model's operators, tokens and conditions as the network
 * sees them; learning the network, and drawing a set's programs from it. */
#ifndef LEARN_NEURAL_NEURAL_MODEL_H
#define LEARN_NEURAL_NEURAL_MODEL_H

#include "learn/learn_set.h"
#include "learn/model/conditions.h"
#include "learn/neural/neural.h"
#include "learn/sample/sample.h"

typedef struct neural_model {
    neural_net net;
    arena memory;       /* of the shape */
    uint32_t *token;    /* the model's, by the network's number */
    uint32_t *token_of; /* the network's, by the model's number */
} neural_model;

/* EINVAL: the model has no operators to write programs with, or too many. */
halley_status neural_model_make(neural_model *n, const synth_model *m, halley_error *err);
void neural_model_fini(neural_model *n);
/* Whether the parameters that the model holds are those of such a network. */
bool neural_model_fits(const neural_model *n, const synth_model *m);
/* The network of a model that was loaded from `path`; empty where it has none. */
halley_status neural_model_load(neural_model *n, const synth_model *m, const char *path,
                                halley_error *err);

/* Conditions as features: those of the model's laws, then one for each family. */
void neural_features(float to[NEURAL_FEATURES], const law_point *p, uint64_t family,
                     const synth_model *m);
/* The same around 0 and about 1 wide, as the network was trained. */
void neural_rescale(float feature[NEURAL_FEATURES], const model_net *head);

/* Programs met while learning: all of them, or, of many, some drawn by lot. */
typedef struct neural_recorder neural_recorder;
neural_recorder *neural_recorder_new(uint64_t seed); /* NULL: no memory */
void neural_recorder_free(neural_recorder *r);
/* The program that the learner just read and folded. */
halley_status neural_recorder_add(neural_recorder *r, const learner *l,
                                  const halley_trace *trace, uint32_t rank,
                                  const law_point *p, uint64_t family, halley_error *err);

/* Train a network on what was recorded, and put it into the model `m` of the learner's
 * `from`. */
halley_status neural_learn(synth_model *m, neural_report *report,
                           const neural_recorder *r, const synth_model *from,
                           const neural_train_opts *opts, halley_error *err);

/* What programs cost under a network, in nats: layers, operators and edges; numbers and
 * how often loops run. */
typedef struct neural_cost {
    double program, numbers;
} neural_cost;
typedef struct neural_scorer {
    const neural_model *n;
    const synth_model *m, *from; /* the network's; that of the learner who records */
    const nn_blas *blas;
} neural_scorer;
/* Of all that was recorded; nothing is afterwards. */
halley_status neural_score(neural_cost *out, const neural_scorer *s, neural_recorder *r,
                           halley_error *err);

/* The programs and numbers of a set's stages. */
halley_status neural_sample(sample_set *s, const neural_model *n, halley_error *err);

#endif
