/* The period of a sequence of kernel names. */
#include "recording/fit/fit.h"

#include <assert.h>

enum {
    MOST_KERNELS = 20000,
    MIN_PERIOD = 3,
    ALLOWED = 50 /* one in ALLOWED names may differ */
};

/* The longest section of one period: kernels that equal the one a period later. At most
 * one in ALLOWED may differ. */
static fit_period find_period_stretch(const fit_kernel *k, uint32_t n, uint32_t period)
{
    fit_period best = {.period = period};
    uint32_t start = 0, wrong = 0, last = 0; /* last: end of the last match */
    for (uint32_t i = 0; i + period < n; i++) {
        if (k[i].name == k[i + period].name) {
            last = i + 1;
        } else if (++wrong * ALLOWED > i - start + 1) {
            start = i + 1;
            wrong = 0;
            continue;
        }
        if (last > start && last - start > best.length) {
            best.start = start;
            best.length = last - start;
        }
    }
    best.length = best.length > 0 ? best.length + period : 0;
    return best;
}

fit_period fit_find_period(const fit_kernel *kernels, uint32_t n)
{
    fit_period best = {0}, chosen = {0};
    const uint32_t used = n < MOST_KERNELS ? n : MOST_KERNELS;
    for (uint32_t period = MIN_PERIOD; 2 * period <= used; period++) {
        const fit_period p = find_period_stretch(kernels, used, period);
        if (p.length >= 2 * period && p.length > best.length)
            best = p;
    }
    for (uint32_t period = MIN_PERIOD; best.period > 0 && period <= best.period;
         period++) {
        chosen = find_period_stretch(kernels, used, period);
        if (chosen.length >= 2 * period && chosen.length * 20 >= best.length * 19)
            break;
    }
    assert(best.period == 0 || chosen.period > 0);
    return best.period == 0 ? best : chosen;
}
