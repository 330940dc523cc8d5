/* learn/model/model_numbers.h - which values of a numeric condition a model may store. */
#ifndef LEARN_MODEL_MODEL_NUMBERS_H
#define LEARN_MODEL_MODEL_NUMBERS_H

#include "learn/model/model.h"

typedef struct model_numbers_opts {
    uint32_t k;        /* sets that must share a number for it to be stored exactly */
    uint32_t for_mean; /* sets that a mean of several numbers must cover */
} model_numbers_opts;

/* Writes the values of condition `id` to c->values, in ascending order. Numbers that k
 * sets share are exact. The others are replaced by means of neighbouring numbers. False:
 * no memory. */
bool model_numbers_keep(model_condition *c, const synth_model *from, uint32_t id,
                        const model_numbers_opts *opts);

#endif
