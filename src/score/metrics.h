/* score/metrics.h - errors of predictions against measurements. */
#ifndef SCORE_METRICS_H
#define SCORE_METRICS_H

#include "halley/score.h"

typedef struct score_pair {
    const char *id; /* lent */
    double measured, predicted;
} score_pair;

/* Fill mape, median, bias, spearman, worst and scored of a set. Orders `pairs` anew. */
halley_status score_metrics(halley_score_set *set, score_pair *pairs, size_t n,
                            halley_error *err);
/* One more row of a set skipped for `reason`. */
void score_skip(halley_score_set *set, const char *reason);

#endif
