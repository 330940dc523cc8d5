/*
 * base/number/whole.h - convert doubles to whole numbers. In C, casting a double that the
 * type cannot represent is undefined. These functions return the nearest representable
 * number, and 0 for NaN. Readers of input use them: values out of range are refused later
 * and never become another number.
 */
#ifndef BASE_NUMBER_WHOLE_H
#define BASE_NUMBER_WHOLE_H

#include <stdint.h>

/* Truncate towards zero. */
static inline uint64_t whole_u64(double value)
{
    if (!(value >= 1)) /* NaN, too */
        return 0;
    return value < 0x1p64 ? (uint64_t)value : UINT64_MAX;
}

static inline int64_t whole_i64(double value)
{
    if (value != value)
        return 0;
    if (value <= -0x1p63)
        return INT64_MIN;
    return value < 0x1p63 ? (int64_t)value : INT64_MAX;
}

static inline uint32_t whole_u32(double value)
{
    const uint64_t wide = whole_u64(value);
    return wide < UINT32_MAX ? (uint32_t)wide : UINT32_MAX;
}

/* Seconds as nanoseconds, rounded. */
static inline uint64_t whole_ns(double seconds)
{
    return whole_u64(seconds * 1e9 + 0.5);
}

#endif
