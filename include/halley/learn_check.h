/* halley/learn_check.h - does a learned model reproduce what it was learned from? */
#ifndef HALLEY_LEARN_CHECK_H
#define HALLEY_LEARN_CHECK_H

#include "halley/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the sets that were looked at. */
typedef struct halley_learn_figures {
    double operations; /* floating-point operations */
    double bytes;      /* of messages and collectives */
    double comm_share; /* of the recorded time of devices, from 0 to 1 */
    double time_s;     /* simulated on a reference cluster */
} halley_learn_figures;

enum { HALLEY_LEARN_PATH = 512 };

typedef struct halley_learn_check {
    uint32_t n_sets; /* looked at: all, or 32 spread over the corpus */
    halley_learn_figures corpus, model;
    double largest_error;            /* |model / corpus - 1| of the worst figure */
    char failed[HALLEY_ERROR_TEXT];  /* which figures are beyond the bound; "" = none */
    char nearest[HALLEY_LEARN_PATH]; /* the set of the corpus nearest to its mean */
} halley_learn_check;

/* Bound of each figure: 25 %. */
#define HALLEY_LEARN_BOUND 0.25

/*
 * Before learning: EINVAL when the corpus holds recordings so large that their programs,
 * which no two of them share, would not fit into 1 GB; the sentence names the nearest
 * recording instead.
 */
halley_status halley_learn_budget(const char *const *from, size_t n_from,
                                  halley_error *err);
/* After learning: make sets under the conditions of sets of the corpus and compare. That
 * figures differ is no failure: see `failed`. */
halley_status halley_learn_verify(halley_learn_check *out, const char *model_path,
                                  const char *const *from, size_t n_from,
                                  halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
