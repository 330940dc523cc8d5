/*
 * Which of two designs is faster. Errors of two predictions for one model have much in
 * common, so their ratio is surer than each. The value ln(time of B / time of A) over a
 * scale follows Student's t with two degrees of freedom. The scales are from pairs of
 * published runs of one source and model.
 */
#include "halley/score.h"

#include <assert.h>
#include <math.h>

static const double scales[] = {[HALLEY_ALIKE_DEVICE] = 0.08,
                                [HALLEY_ALIKE_VENDOR] = 0.10,
                                [HALLEY_ALIKE_LITTLE] = 0.12};
static const double sure = 0.8;

double halley_faster(double a_s, double b_s, halley_alike alike)
{
    assert(a_s > 0 && b_s > 0);
    const double x = log(b_s / a_s) / scales[alike];
    return 0.5 + x / (2 * sqrt(2 + x * x));
}

double halley_sure(void)
{
    return sure;
}

double halley_tie_share(halley_alike alike)
{
    const double y = 2 * sure - 1;
    return expm1(scales[alike] * sqrt(2 * y * y / (1 - y * y)));
}
