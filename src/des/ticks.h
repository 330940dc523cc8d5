/* des/ticks.h - from real numbers to ticks, one way everywhere. */
#ifndef DES_TICKS_H
#define DES_TICKS_H

#include <stdbool.h>
#include <stdint.h>

/* The last tick of a clock, and the longest single step, that no sum of a few can wrap:
 * 53 and 26 days of picoseconds. Native rules refuse what is longer; under ASTRA-sim's
 * rules time wraps as it does there, and the run warns. */
#define TICKS_LAST (UINT64_C(1) << 62)
#define TICKS_LONGEST (UINT64_C(1) << 61)

static inline bool ticks_hold(double x)
{
    return x >= 0 && x < (double)TICKS_LONGEST;
}

/*
 * The whole ticks of x. Beyond what 64 bits hold, and for what is not a number, the
 * result is what x86-64's conversion gives (2^63 for NaN and negative overflow, 0 for
 * infinity), because that is what ASTRA-sim's users see; portable C leaves it undefined.
 */
static inline uint64_t ticks_from(double x)
{
    const double half = 9223372036854775808.0;
    if (x >= 0 && x < half)
        return (uint64_t)x;
    if (x >= half && x < 2 * half)
        return (uint64_t)(x - half) ^ UINT64_C(0x8000000000000000);
    if (x < 0 && x > -half)
        return (uint64_t)(int64_t)x;
    return x >= half ? 0 : UINT64_C(0x8000000000000000);
}

#endif
