/*
 * learn/neural/neural.h - the neural network that writes programs: the interface for
 * other folders.
 *
 * Files outside src/tools/learn/neural include no other header of this folder, except the
 * tests of its parts. A network can be trained on the programs that a recorder
 * collected. It can draw the programs of a new set. It can measure the cost (negative
 * log-likelihood) of programs.
 */
#ifndef LEARN_NEURAL_NEURAL_H
#define LEARN_NEURAL_NEURAL_H

#include "learn/model/law.h"

struct learner;
struct sample_set;

/* Programs collected during learning: all of them or, of many, a random sample. */
typedef struct neural_recorder neural_recorder;
neural_recorder *neural_recorder_new(uint64_t seed); /* NULL: no memory */
void neural_recorder_free(neural_recorder *r);       /* NULL is allowed */
/* Adds the program that the learner has just read and folded. */
halley_status neural_recorder_add(neural_recorder *r, const struct learner *l,
                                  const halley_trace *trace, uint32_t rank,
                                  const law_point *p, uint64_t family, halley_error *err);

typedef struct neural_train_opts {
    uint64_t seed;
    double rate;        /* 0 = 0.004 */
    uint32_t n_steps;   /* 0 = 1000 */
    uint32_t n_threads; /* 0 = one per core; affects only the run time */
    const char *state;  /* file to resume from and to save to regularly; NULL = none */
    bool fresh;         /* do not resume from the file */
    /* Called regularly. False ends the run (ECANCELED). NULL = never. */
    bool (*go_on)(void *context, uint32_t step, uint32_t n_steps);
    void *context;
} neural_train_opts;
typedef struct neural_outcome {
    double loss, op_loss; /* of held-out programs, nats per item: total; operators only */
    uint32_t best_step, n_resumed; /* n_resumed: training steps of an earlier run */
} neural_outcome;
/* Trains a network on the recorded programs and stores it in the model `m`, which was
 * made from the learner's model `from`. */
halley_status neural_learn(synth_model *m, neural_outcome *out, const neural_recorder *r,
                           const synth_model *from, const neural_train_opts *opts,
                           halley_error *err);

/* Opens the network of a model that was loaded from `path`. *out is NULL if the model
 * has no network. Otherwise the caller owns it, and the model must outlive it. */
typedef struct neural_model neural_model;
halley_status neural_model_open(neural_model **out, const synth_model *m,
                                const char *path, halley_error *err);
void neural_model_close(neural_model *n); /* NULL is allowed */
/* Draws the programs and numbers of a set's stages. */
halley_status neural_sample(struct sample_set *s, const neural_model *n,
                            halley_error *err);

/* The cost of programs under a network, in nats: structure (layers, operators and
 * edges); numbers and loop counts. */
typedef struct neural_cost {
    double program, numbers;
} neural_cost;
typedef struct neural_scorer neural_scorer;
/* Like neural_model_open. */
halley_status neural_scorer_open(neural_scorer **out, const synth_model *m,
                                 const char *path, halley_error *err);
void neural_scorer_close(neural_scorer *s); /* NULL is allowed */
/* The recorder to fill with the programs to be scored next. */
neural_recorder *neural_scorer_recorder(neural_scorer *s);
/* The cost of everything that a learner with the model `from` recorded. The recorder is
 * empty afterwards. */
halley_status neural_scorer_score(neural_cost *out, neural_scorer *s,
                                  const synth_model *from, halley_error *err);

#endif
