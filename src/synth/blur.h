/* synth/blur.h - what single sets could be told from, taken out of a model. */
#ifndef SYNTH_BLUR_H
#define SYNTH_BLUR_H

#include "synth/model.h"

/* `m` was made of `from`, a learner's state, by model_prune. Laws that too few sets stand
 * behind to be sure of go; ranges are told less exactly. */
void model_blur(synth_model *m, const synth_model *from);

#endif
