/*
 * learn/neural/neural_record.h - recorded programs, and their translation for a network.
 */
#ifndef LEARN_NEURAL_NEURAL_RECORD_H
#define LEARN_NEURAL_NEURAL_RECORD_H

#include "learn/neural/neural_model.h"

typedef struct neural_recorded {
    uint32_t set, n_items;
    uint64_t family;
    law_point point;
    uint32_t *items, *first_value; /* items: tokens of the learner, and brackets */
    uint32_t *backs;               /* explicit edges, also of items that are not free */
    float *values;
} neural_recorded;

struct neural_recorder {
    ARRAY(neural_recorded) list;
    rng random;
    uint64_t n_seen;
    ARRAY(uint32_t) items, first_value, backs; /* buffers of the program being recorded */
    ARRAY(float) values;
};
void neural_recorder_clear(neural_recorder *r);

/* Translates programs of a learner to a network. The caller owns the memory. */
typedef struct neural_terms {
    const synth_model *m;
    arena *memory;
    uint32_t *item_of; /* item of the network by token of the learner, or MODEL_NONE */
} neural_terms;
/* `from` is the learner's model, m the network's. */
halley_status neural_terms_make(neural_terms *t, const neural_model *n,
                                const synth_model *m, const synth_model *from,
                                arena *memory, halley_error *err);
/* Translates a program. Items whose operator m lacks are dropped and counted. Loops that
 * become empty are dropped. Features are not standardized yet. The program is valid as
 * long as memory and p. */
halley_status neural_translate(neural_program *to, uint32_t *n_left_out,
                               const neural_terms *t, const neural_recorded *p,
                               halley_error *err);

#endif
