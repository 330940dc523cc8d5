/* learn/model/model_prune.h - reduces what was learned to what may be kept. */
#ifndef LEARN_MODEL_MODEL_PRUNE_H
#define LEARN_MODEL_MODEL_PRUNE_H

#include "learn/model/model.h"

/* Makes the model from what `from` learned: fits the laws, and drops everything that
 * fewer than k sets have. This applies to texts, operators, references, skeletons,
 * templates and values of conditions. EINVAL: nothing is left. On success the caller owns
 * *out and must fini it. */
halley_status model_prune(synth_model *out, const synth_model *from, uint32_t k,
                          halley_error *err);

/* The last step of model_prune: drops laws that too few sets support, and widens the
 * ranges of the others. `m` was made from `from`. */
void model_drop_unsure(synth_model *m, const synth_model *from);

#endif
