/* halley/learn_check.h - test whether a learned model reproduces its training data. */
#ifndef HALLEY_LEARN_CHECK_H
#define HALLEY_LEARN_CHECK_H

#include "halley/learn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sums over the sets that were compared. */
typedef struct halley_learn_figures {
    double operations; /* floating-point operations */
    double bytes;      /* of messages and collectives */
    double comm_share; /* of the recorded time of devices, from 0 to 1 */
    double time_s;     /* simulated on a reference cluster */
} halley_learn_figures;

enum { HALLEY_LEARN_PATH = 512 };

typedef struct halley_learn_check {
    uint32_t n_sets; /* sets compared: all, or 32 spread over the corpus */
    halley_learn_figures corpus, model;
    double largest_error;            /* |model / corpus - 1| of the worst figure */
    char failed[HALLEY_ERROR_TEXT];  /* the figures that exceed the bound; "" = none */
    char nearest[HALLEY_LEARN_PATH]; /* the set of the corpus nearest to its mean */
} halley_learn_check;

/* Largest allowed relative error of each figure: 25 %. */
#define HALLEY_LEARN_BOUND 0.25

/* Call before learning. EINVAL: the corpus holds recordings so large that their programs
 * would not fit into 1 GB, because no two recordings share a program. The error suggests
 * the nearest single recording instead. */
halley_status halley_learn_budget(const char *const *from, size_t n_from,
                                  halley_error *err);
/* Call after learning. Makes sets under the conditions of sets of the corpus and compares
 * them. Figures that differ are reported in `failed`, not as an error. */
halley_status halley_learn_verify(halley_learn_check *out, const char *model_path,
                                  const char *const *from, size_t n_from,
                                  halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
