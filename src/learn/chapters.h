/*
 * learn/chapters.h - parts of programs, for sets that no template stands for.
 *
 * A network's program changes here and there with its sizes: one way to clear gradients
 * or another, one bucket of them or several. Few sets are then the same from begin to
 * end, but between two operators that are there once in every program, many are.
 */
#ifndef LEARN_CHAPTERS_H
#define LEARN_CHAPTERS_H

#include "learn/learn_set.h"
#include "learn/sample/sample.h"

/* How many programs have an operator, and how many have it once; {0}: of none. */
typedef struct chapter_finder {
    synth_u32s times, has, once; /* by operator; times: in the program at hand */
    uint32_t n_programs;
} chapter_finder;

void chapter_finder_fini(chapter_finder *f);
bool chapter_finder_look(chapter_finder *f,
                         const synth_program *p); /* false: no memory */
/* Marks operators that chapters begin with. */
void chapter_finder_decide(const chapter_finder *f, synth_model *m);

/* The chapters of the program at hand, in l->folded one after the other. */
halley_status chapters_learn(learner *l, const learn_stage *at, halley_error *err);

/* A chapter from an operator on (MODEL_NONE: from the begin) for the conditions of the
 * set, which p is; MODEL_NONE: no set of the family had one. */
uint32_t chapters_choose(sample_set *s, uint32_t from, const law_point *p);

#endif
