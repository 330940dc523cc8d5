/* synth/blur.h - noise in a model, so that single sets cannot be told from it. */
#ifndef SYNTH_BLUR_H
#define SYNTH_BLUR_H

#include "synth/model.h"

/* `m` was made of `from`, a learner's state, by model_prune. Laws that too few sets stand
 * behind to be sure of go, the rest is blurred. The same state, the same noise. */
void model_blur(synth_model *m, const synth_model *from);

#endif
