/*
 * learn/likelihood.h - how likely a model makes a set of traces: what somebody who holds
 * the model's file can learn from it about a set he has.
 */
#ifndef LEARN_LIKELIHOOD_H
#define LEARN_LIKELIHOOD_H

#include "learn/model/conditions.h"

typedef struct synth_scorer synth_scorer; /* a model, and a learner that knows it */

halley_status synth_scorer_load(synth_scorer **out, const char *path, halley_error *err);
void synth_scorer_free(synth_scorer *s); /* NULL is fine */

/* Logarithms, nats; see likelihood.c for what is in each. */
typedef struct synth_likelihood {
    double conditions; /* and the template, given them */
    double program;    /* what follows what, and how often loops run */
    double values;     /* numbers of nodes */
    /* by the network, 0 where there is none: layers, operators and edges of the first,
     * second and last stage, given the conditions; their numbers, loops' counts included
     */
    double net_program, net_values;
} synth_likelihood;
bool synth_scorer_has_net(const synth_scorer *s);

/* groups_path may be NULL: then groups are who uses them. The same set scores the same
 * whatever was scored before. */
halley_status synth_scorer_score(synth_likelihood *out, synth_scorer *s,
                                 const halley_trace_set *set, const conditions *c,
                                 const char *groups_path, halley_error *err);

#endif
