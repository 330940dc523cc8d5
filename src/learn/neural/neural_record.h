/* learn/neural/neural_record.h - programs as they were met, and in a network's terms. */
#ifndef LEARN_NEURAL_NEURAL_RECORD_H
#define LEARN_NEURAL_NEURAL_RECORD_H

#include "learn/neural/neural_model.h"

typedef struct neural_recorded {
    uint32_t set, n_items;
    uint64_t family;
    law_point point;
    uint32_t *items, *first_value; /* tokens of the learner, brackets as in its symbols */
    uint32_t *backs;               /* as of free items, also of others */
    float *values;
} neural_recorded;

struct neural_recorder {
    ARRAY(neural_recorded) list;
    rng random;
    uint64_t n_seen;
    ARRAY(uint32_t) items, first_value, backs; /* of the program being recorded */
    ARRAY(float) values;
};
void neural_recorder_clear(neural_recorder *r);

/* What a learner's programs are in the terms of a network. Memory is the caller's. */
typedef struct neural_terms {
    const synth_model *m;
    arena *memory;
    uint32_t *item_of; /* the network's by the learner's token, or MODEL_NONE */
} neural_terms;
/* `from` is the learner's model, m the network's. */
halley_status neural_terms_make(neural_terms *t, const neural_model *n,
                                const synth_model *m, const synth_model *from,
                                arena *memory, halley_error *err);
/* An item whose operator m does not have is left out and counted, a loop left empty just
 * left out; features are not rescaled. The program lives as long as memory and p. */
halley_status neural_translate(neural_program *to, uint32_t *n_left_out,
                               const neural_terms *t, const neural_recorded *p,
                               halley_error *err);

#endif
