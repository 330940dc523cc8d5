/* Mean, median, bias, rank correlation and the worst rows of a set of predictions. */
#include "score/metrics.h"

#include "base/array.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double error_of(const score_pair *p)
{
    return 100 * (p->predicted - p->measured) / p->measured;
}

static int by_metric_error(const void *a, const void *b)
{
    const double x = fabs(error_of(a)), y = fabs(error_of(b));
    if (x != y)
        return x < y ? -1 : 1;
    return strcmp(((const score_pair *)a)->id, ((const score_pair *)b)->id);
}

typedef struct ranked {
    double value;
    size_t index;
} ranked;

static int by_metric_value(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Compute ranks; equal values share their mean rank. */
static void rank_values(double *out, ranked *sorted, size_t n)
{
    qsort(sorted, n, sizeof *sorted, by_metric_value);
    for (size_t i = 0; i < n;) {
        size_t j = i + 1;
        while (j < n && sorted[j].value == sorted[i].value)
            j++;
        for (size_t k = i; k < j; k++)
            out[sorted[k].index] = (double)(i + j - 1) / 2;
        i = j;
    }
}

static double correlate_ranks(const double *a, const double *b, size_t n)
{
    const double mean = ((double)n - 1) / 2;
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (a[i] - mean) * (b[i] - mean);
        aa += (a[i] - mean) * (a[i] - mean);
        bb += (b[i] - mean) * (b[i] - mean);
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}

static halley_status compute_spearman(double *out, const score_pair *pairs, size_t n,
                                      halley_error *err)
{
    ranked *sorted = mem_array(n, sizeof *sorted);
    double *a = mem_array(n, sizeof *a), *b = mem_array(n, sizeof *b);
    if (sorted && a && b) {
        for (size_t i = 0; i < n; i++)
            sorted[i] = (ranked){pairs[i].measured, i};
        rank_values(a, sorted, n);
        for (size_t i = 0; i < n; i++)
            sorted[i] = (ranked){pairs[i].predicted, i};
        rank_values(b, sorted, n);
        *out = correlate_ranks(a, b, n);
    }
    const bool ok = sorted && a && b;
    free(sorted);
    free(a);
    free(b);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* Nothing can be ranked by numbers that are not finite. */
static halley_status check_pairs(const score_pair *pairs, size_t n, halley_error *err)
{
    for (size_t i = 0; i < n; i++)
        if (!isfinite(error_of(&pairs[i])))
            return error_set(err, HALLEY_ELIMIT,
                             "the prediction for %s is too large for a number; correct "
                             "or remove its row",
                             pairs[i].id);
    return HALLEY_OK;
}

halley_status score_metrics(halley_score_set *set, score_pair *pairs, size_t n,
                            halley_error *err)
{
    set->scored = (uint32_t)n;
    if (n == 0)
        return HALLEY_OK;
    TRY(check_pairs(pairs, n, err));
    qsort(pairs, n, sizeof *pairs, by_metric_error);
    double sum = 0, bias = 0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs(error_of(&pairs[i]));
        bias += error_of(&pairs[i]);
    }
    set->mape_pct = sum / (double)n;
    set->bias_pct = bias / (double)n;
    set->median_pct =
        n % 2 ? fabs(error_of(&pairs[n / 2]))
              : (fabs(error_of(&pairs[n / 2])) + fabs(error_of(&pairs[n / 2 - 1]))) / 2;
    for (size_t i = 0; i < n && i < HALLEY_SCORE_WORST; i++) {
        const score_pair *p = &pairs[n - 1 - i];
        halley_score_worst *w = &set->worst[set->n_worst++];
        snprintf(w->id, sizeof w->id, "%s", p->id);
        w->measured = p->measured;
        w->predicted = p->predicted;
    }
    return compute_spearman(&set->spearman, pairs, n, err);
}

void score_skip(halley_score_set *set, const char *reason)
{
    uint32_t i = 0;
    while (i < set->n_skips && strcmp(set->skips[i].reason, reason) != 0)
        i++;
    if (i == HALLEY_SCORE_SKIPS) { /* the last slot counts all other reasons */
        i--;
        snprintf(set->skips[i].reason, sizeof set->skips[i].reason, "other reasons");
    } else if (i == set->n_skips) {
        set->n_skips++;
        snprintf(set->skips[i].reason, sizeof set->skips[i].reason, "%s", reason);
    }
    set->skips[i].rows++;
}
