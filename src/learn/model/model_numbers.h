/* learn/model/model_numbers.h - the values of a numeric condition as they may be known.
 */
#ifndef LEARN_MODEL_MODEL_NUMBERS_H
#define LEARN_MODEL_MODEL_NUMBERS_H

#include "learn/model/model.h"

typedef struct model_numbers_opts {
    uint32_t k;        /* sets that must have a number for it to be known */
    uint32_t for_mean; /* sets that a mean of several numbers must be of */
} model_numbers_opts;

/* The values of condition `id` of what was learned, in ascending order, in c->values:
 * numbers that k sets have as they are, the others as means of neighbours. False: no
 * memory. */
bool model_numbers_keep(model_condition *c, const synth_model *from, uint32_t id,
                        const model_numbers_opts *opts);

#endif
