/*
 * learn/likelihood.h - the likelihood of a trace set under a model. It measures what the
 * holder of a model file can find out about a set that he has.
 */
#ifndef LEARN_LIKELIHOOD_H
#define LEARN_LIKELIHOOD_H

#include "learn/model/conditions.h"

typedef struct synth_scorer synth_scorer; /* a model, and a learner that starts from it */

halley_status synth_scorer_load(synth_scorer **out, const char *path, halley_error *err);
void synth_scorer_free(synth_scorer *s); /* NULL is fine */

/* Log-likelihoods in nats; likelihood.c lists what each contains. */
typedef struct synth_likelihood {
    double conditions; /* conditions, and the template given the conditions */
    double program;    /* program structure and loop counts */
    double values;     /* numbers of nodes */
} synth_likelihood;

/* groups_path may be NULL. Then a group consists of the ranks that use it. The score
 * does not depend on the sets that were scored before. */
halley_status synth_scorer_score(synth_likelihood *out, synth_scorer *s,
                                 const halley_trace_set *set, const conditions *c,
                                 const char *groups_path, halley_error *err);

#endif
