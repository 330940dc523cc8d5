/* score/metrics.h - errors of predictions against measurements. */
#ifndef SCORE_METRICS_H
#define SCORE_METRICS_H

#include "halley/score.h"

typedef struct score_pair {
    const char *id; /* not owned */
    double measured, predicted;
} score_pair;

/* Fill in mape, median, bias, spearman, worst and scored of a set. Reorders `pairs`. */
halley_status score_metrics(halley_score_set *set, score_pair *pairs, size_t n,
                            halley_error *err);
/* Count one more row of a set as skipped for `reason`. */
void score_skip(halley_score_set *set, const char *reason);

#endif
