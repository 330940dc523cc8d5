/*
 * xoshiro256** by Blackman and Vigna, seeded through splitmix64 as they recommend. Only
 * operations that IEEE 754 defines to the last bit are used, so a seed gives the same
 * numbers everywhere. The C library's log is not one of them.
 */
#include "base/rng.h"

#include <assert.h>
#include <math.h>

__extension__ typedef unsigned __int128 u128;

static uint64_t split_mix(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

rng rng_seed(uint64_t seed)
{
    rng r;
    for (int i = 0; i < 4; i++)
        r.s[i] = split_mix(&seed);
    return r;
}

uint64_t rng_u64(rng *r)
{
    assert((r->s[0] | r->s[1] | r->s[2] | r->s[3]) != 0);
    uint64_t *s = r->s;
    const uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    const uint64_t shifted = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= shifted;
    s[3] = rotate_left(s[3], 45);
    return result;
}

/* The upper word of x * n is uniform if some x are rejected and drawn again: those whose
 * lower word is among the 2^64 mod n surplus values. */
uint64_t rng_below(rng *r, uint64_t n)
{
    assert(n > 0);
    u128 product = (u128)rng_u64(r) * n;
    if ((uint64_t)product < n) {
        const uint64_t too_many = (0 - n) % n;
        while ((uint64_t)product < too_many)
            product = (u128)rng_u64(r) * n;
    }
    return (uint64_t)(product >> 64);
}

double rng_unit(rng *r)
{
    return (double)(rng_u64(r) >> 11) * 0x1p-53;
}

/* ln x for 0 < x < 1 by 2 atanh((m-1)/(m+1)) + e ln 2, m in [0.7, 1.4]; error < 1e-15. */
static double natural_log(double x)
{
    assert(x > 0);
    int e;
    double m = frexp(x, &e);
    if (m < 0.70710678118654752) {
        m *= 2;
        e--;
    }
    const double t = (m - 1) / (m + 1), t2 = t * t;
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = sum * t2 + 1.0 / k;
    return 2 * t * sum + e * 0.69314718055994531;
}

/* Marsaglia's polar method. The second number of each pair is discarded, so that the
 * struct holds only the generator's state and can be copied and compared. */
double rng_normal(rng *r)
{
    double x, square;
    do {
        x = 2 * rng_unit(r) - 1;
        const double y = 2 * rng_unit(r) - 1;
        square = x * x + y * y;
    } while (square >= 1 || square == 0);
    return x * sqrt(-2 * natural_log(square) / square);
}
