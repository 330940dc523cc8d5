/* des/ticks.h - the only conversion from real numbers to ticks. */
#ifndef DES_TICKS_H
#define DES_TICKS_H

#include <stdbool.h>
#include <stdint.h>

/* The last tick of a clock and the longest single step, chosen so that a sum of a few
 * cannot wrap: 53 and 26 days in picoseconds. Native rules refuse longer times. Under
 * ASTRA-sim's rules time wraps as in ASTRA-sim, and the run warns. */
#define TICKS_LAST (UINT64_C(1) << 62)
#define TICKS_LONGEST (UINT64_C(1) << 61)

static inline bool ticks_hold(double x)
{
    return x >= 0 && x < (double)TICKS_LONGEST;
}

/* Convert x to whole ticks. For NaN and values beyond 64 bits, the result is that of
 * x86-64's conversion: 2^63 for NaN and negative overflow, 0 for infinity. This is what
 * users of ASTRA-sim see; in portable C it is undefined. */
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
