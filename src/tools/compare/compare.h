/*
 * compare/compare.h - the parts of `trace compare`. Distributions are in compare_dist.c,
 * the profile of a set in compare_profile.c, and runs of nodes in compare_runs.c.
 * Distances and attacks are in compare_near.c. compare.c combines the results.
 */
#ifndef COMPARE_COMPARE_H
#define COMPARE_COMPARE_H

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "halley/compare.h"

/* Weighted values. {0} is empty. */
typedef struct compare_point {
    double value, weight;
} compare_point;
typedef struct compare_dist {
    map64 index; /* bits of a value -> its point */
    ARRAY(compare_point) points;
} compare_dist;

bool compare_dist_add(compare_dist *d, double value,
                      double weight); /* false: no memory */
void compare_dist_fini(compare_dist *d);
halley_status compare_dist_spread(halley_spread *out, const compare_dist *real,
                                  const compare_dist *synth, halley_error *err);

/* Weights of labels. {0} is empty. */
typedef struct compare_mix {
    intern labels;
    ARRAY(double) weights;
} compare_mix;
bool compare_mix_add(compare_mix *m, str label, double weight); /* false: no memory */
void compare_mix_fini(compare_mix *m);

/* Tokens of the nodes of one trace, in order: complete, and without inner repeats. */
typedef ARRAY(uint64_t) token_array;
typedef struct compare_runs {
    token_array exact, novel, shape; /* of all traces, one after the other */
    ARRAY(uint32_t) exact_ends, novel_ends, shape_ends;
} compare_runs;
bool compare_runs_add(compare_runs *r, const halley_trace *trace); /* false: no memory */
void compare_runs_fini(compare_runs *r);
/* For each length, the shares of `synth` that also occur in `real`. */
halley_status compare_runs_verbatim(halley_verbatim out[HALLEY_N_VERBATIM],
                                    const compare_runs *real, const compare_runs *synth,
                                    halley_error *err);

/* The features by which sets are compared. */
enum { COMPARE_FEATURES = 40, COMPARE_SKETCH = 128 };
typedef struct compare_set {
    const char *name;
    double features[COMPARE_FEATURES];
    uint64_t sketch[COMPARE_SKETCH]; /* the smallest hashes of runs of 4 nodes */
    uint32_t n_sketch;
    bool simulated;
    double seconds[HALLEY_N_REFERENCES];
} compare_set;

/* How often something occurs, and in how many sets. */
typedef struct compare_support {
    uint64_t value, n_uses;    /* value: of numbers only */
    uint32_t n_sets, last_set; /* last_set: index of the last set + 1 */
} compare_support;

struct halley_profile {
    halley_profile_opts opts;
    arena memory;
    compare_dist dists[HALLEY_N_QUANTITIES];
    compare_mix mixes[HALLEY_N_MIXES];
    compare_runs runs;
    ARRAY(compare_set) sets;
    uint32_t n_simulated;
    const char *not_simulated;
    /* Texts and numbers, and the number of sets that contain them. */
    intern texts;
    ARRAY(compare_support) text_support; /* by text */
    map64 values;                        /* number -> index */
    ARRAY(compare_support) value_support;
};

halley_status compare_near(halley_comparison *out, arena *memory,
                           const halley_profile *real, const halley_profile *synth,
                           halley_error *err);
halley_status compare_attack(halley_comparison *out, const halley_profile *synth,
                             const halley_profile *train, const halley_profile *holdout,
                             halley_error *err);

#endif
