/*
 * The verdict on a step. The largest loss of time determines its kind. If that loss is
 * small (the thresholds are those of recordings, tools/recording/kernels/top.c), the step
 * is bound by its largest part of useful work instead. The second largest loss is added
 * if it is large enough to matter.
 */
#include "report/losses.h"

#include "base/number/number.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>

/* Fractions of the total from which a loss determines the kind, and from which it is
 * added. */
static const double first_share = 0.15, second_share = 0.10;
/* The fraction from which work limited by memory comes before any loss. */
static const double memory_share = 0.5;

static const char *const kinds[REPORT_N_LOSSES] = {
    [REPORT_LOSS_NONE] = "compute-bound",
    [REPORT_WORK_MEMORY] = "memory-bound",
    [REPORT_LOSS_COMMUNICATION] = "communication-bound",
    [REPORT_LOSS_BUBBLE] = "bound by the pipeline",
    [REPORT_LOSS_RECOMPUTE] = "compute-bound with recomputation",
    [REPORT_LOSS_HOST] = "host-bound",
    [REPORT_LOSS_MEMORY] = "bound by outer memory",
    [REPORT_LOSS_OTHER] = "bound by fixed costs",
};

/* The largest part that is (or is not) a loss and is not `but`; NULL if none takes time.
 */
static const report_loss *find_largest(const report_loss *parts, size_t n, bool is_loss,
                                       const report_loss *but)
{
    const report_loss *largest = NULL;
    for (size_t i = 0; i < n; i++) {
        if ((parts[i].kind > REPORT_WORK_MEMORY) != is_loss || &parts[i] == but ||
            !(parts[i].seconds > 0))
            continue;
        if (largest == NULL || parts[i].seconds > largest->seconds)
            largest = &parts[i];
    }
    return largest;
}

static double sum_seconds(const report_loss *parts, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += parts[i].seconds > 0 ? parts[i].seconds : 0;
    return sum;
}

void report_losses_describe(char to[REPORT_LOSSES_TEXT], const report_loss *parts,
                            size_t n, const char *whole)
{
    const double total = sum_seconds(parts, n);
    const report_loss *loss = find_largest(parts, n, true, NULL);
    const report_loss *work = find_largest(parts, n, false, NULL);
    const bool waits_for_memory = work != NULL && work->kind == REPORT_WORK_MEMORY &&
                                  work->seconds >= memory_share * total;
    const bool is_bound =
        loss != NULL && loss->seconds >= first_share * total && !waits_for_memory;
    const report_loss *first = is_bound || work == NULL ? loss : work;
    if (first == NULL) {
        snprintf(to, REPORT_LOSSES_TEXT, "there is no time to judge");
        return;
    }
    assert(first->kind < REPORT_N_LOSSES && total > 0);
    const report_loss *second = first == loss ? find_largest(parts, n, true, loss) : loss;
    const int used =
        snprintf(to, REPORT_LOSSES_TEXT, "%s: %s %% of %s is %s", kinds[first->kind],
                 number_fixed(100 * first->seconds / total, 0).at, whole, first->name);
    if (second == NULL || second->seconds < second_share * total || used < 0 ||
        used >= REPORT_LOSSES_TEXT)
        return;
    snprintf(to + used, REPORT_LOSSES_TEXT - (size_t)used, ". Also %s %% is %s",
             number_fixed(100 * second->seconds / total, 0).at, second->name);
}
