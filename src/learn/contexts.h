/* learn/contexts.h - what follows what, for sets that no template stands for. */
#ifndef LEARN_CONTEXTS_H
#define LEARN_CONTEXTS_H

#include "learn/sample/sample.h"

/* Contexts of an operator, from the longest to the shortest. */
enum { CONTEXT_ORDERS = 10 };

/* Of which sets contexts are: those of a family (hash of its name); those that are the
 * same in all conditions that are words, and in whether there are several ranks. */
typedef struct contexts_whose {
    uint64_t family, class;
} contexts_whose;
contexts_whose contexts_whose_of(const conditions *c, uint32_t n_ranks);

/* One program more. False: no memory. */
bool contexts_add(synth_model *m, const synth_program *p, const synth_folded *f,
                  const contexts_whose *of);
/* The law of how often a loop runs, in a family (0: in any): keys of the operators and
 * brackets within. */
uint64_t contexts_loop_key(uint64_t family, const uint64_t *keys, size_t n);
/* Whether a program repeats enough to be told with loops. */
bool contexts_folds(const synth_program *p, const synth_folded *f);

/* A program for a stage of the set. Told: of n nodes, or hardly less; else where it ends
 * by itself, at half as many more at the latest. */
halley_status contexts_draw(sample_set *s, sample_stage *stage, double n, bool told,
                            halley_error *err);

#endif
