/* learn/model/model_prune.h - from what was seen to what may be kept. */
#ifndef LEARN_MODEL_MODEL_PRUNE_H
#define LEARN_MODEL_MODEL_PRUNE_H

#include "learn/model/model.h"

/*
 * The model of what `from` learned: laws fitted, and nothing in it that fewer than k sets
 * have: no text, operator, reference, skeleton, template or value of a condition.
 * all_tokens: also tokens of programs that are not kept, for a network. EINVAL: nothing
 * is left. On success *out is the caller's to fini.
 */
halley_status model_prune(synth_model *out, const synth_model *from, uint32_t k,
                          bool all_tokens, halley_error *err);

/* Its last step: laws that too few sets support to be sure of are dropped, ranges are
 * stored less exactly. `m` was made of `from`. */
void model_drop_unsure(synth_model *m, const synth_model *from);

#endif
