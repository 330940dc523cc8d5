/*
 * Rounding to a geometric scale. With a largest relative error b, the ratio of the scale
 * is r = (1 + b) / (1 - b). A value between two points goes to the nearer one, which is
 * at most b away, relative to the value. Below 1 / (r - 1), points are less than 1
 * apart, so integers are not changed.
 */
#include "edit/obfuscate.h"

#include <assert.h>
#include <math.h>

void obfuscate_scale_init(obfuscate_scale *s, double step)
{
    assert(step > 0);
    s->step = step;
    s->ratio = (1 + step) / (1 - step);
    s->log_ratio = log(s->ratio);
    for (uint32_t k = 0; k < OBFUSCATE_POINTS; k++)
        s->point[k] = pow(s->ratio, k);
}

double obfuscate_round_real(double value, const obfuscate_scale *s)
{
    assert(value >= 0);
    if (!(value > 0) || !(s->step > 0) || !isfinite(value))
        return value;
    const double k = floor(log(value) / s->log_ratio);
    const double below =
        k >= 0 && k < OBFUSCATE_POINTS ? s->point[(uint32_t)k] : pow(s->ratio, k);
    const double above = below * s->ratio;
    return value - below < above - value ? below : above;
}

static bool is_near(uint64_t a, uint64_t value, double step)
{
    const uint64_t error = a > value ? a - value : value - a;
    return (double)error <= step * (double)value;
}

uint64_t obfuscate_round(uint64_t value, const obfuscate_scale *s)
{
    if (value == 0 || !(s->step > 0))
        return value;
    if (value >= UINT64_C(1) << 62) { /* the next point may exceed 64 bits */
        const uint64_t most = (UINT64_C(1) << 60) - 1;
        const uint64_t part = obfuscate_round(value >> 4, s);
        const uint64_t whole = (part < most ? part : most) << 4;
        return is_near(whole, value, s->step) ? whole : value & ~UINT64_C(0xffffffff);
    }
    const uint64_t rounded = (uint64_t)llround(obfuscate_round_real((double)value, s));
    return is_near(rounded, value, s->step) ? rounded : value;
}
