/* base/rng.h - seeded random numbers, the same on every machine. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* xoshiro256** seeded through splitmix64. Copy the struct to fork a stream. */
typedef struct rng {
    uint64_t s[4];
} rng;

rng rng_seed(uint64_t seed);
uint64_t rng_u64(rng *r);
uint64_t rng_below(rng *r, uint64_t n); /* uniform in [0, n), n > 0, without bias */
double rng_unit(rng *r);                /* uniform in [0, 1), 53 bits */
double rng_normal(rng *r);              /* mean 0, deviation 1 */

#endif
