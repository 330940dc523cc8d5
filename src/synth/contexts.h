/* synth/contexts.h - what follows what, for sets that no template stands for. */
#ifndef SYNTH_CONTEXTS_H
#define SYNTH_CONTEXTS_H

#include "synth/sample.h"

/* Contexts of an operator, from the longest to the shortest. */
enum { CONTEXT_ORDERS = 8 };

/* One program more of a set of this family (hash of its name). False: no memory. */
bool contexts_add(synth_model *m, const synth_program *p, const synth_folded *f,
                  uint64_t family);
/* Whether a program repeats enough to be told with loops. */
bool contexts_folds(const synth_program *p, const synth_folded *f);

/* A program of about n nodes for a stage of the set. */
halley_status contexts_draw(sample_set *s, sample_stage *stage, double n,
                            halley_error *err);

#endif
