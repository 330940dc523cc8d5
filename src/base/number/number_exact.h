/*
 * base/number/number_exact.h - shared by the writers and the reader of numbers: powers of
 * ten in 128 bits, and an exact comparison for the few numbers that 128 bits cannot
 * decide.
 */
#ifndef BASE_NUMBER_EXACT_H
#define BASE_NUMBER_EXACT_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 number_u128;

/* The range of number_power_get. */
enum { NUMBER_MIN_POWER = -351, NUMBER_MAX_POWER = 350 };

/* 10^k = (bits + error) * 2^exponent with 2^127 <= bits < 2^128 and 0 <= error < 3. */
typedef struct number_power {
    number_u128 bits;
    int32_t exponent;
    bool exact; /* error is 0 */
} number_power;

number_power number_power_get(int32_t k);

/* The 192 bits of a * b; a has 64, b has 128. */
typedef struct number_product {
    uint64_t high, mid, low;
} number_product;

number_product number_product_of(uint64_t a, number_u128 b);

/* More digits than any double or midpoint of two doubles has (767), and one digit that
 * marks further ones. */
enum { NUMBER_EXACT_DIGITS = 780 };

/* digits * 10^exponent, exactly. */
typedef struct number_decimal {
    const char *digits; /* '0' to '9', the first of them not '0' */
    uint32_t n;         /* 1 to NUMBER_EXACT_DIGITS */
    int32_t exponent;
} number_decimal;

/* The sign of d - m * 2^e: -1, 0, 1. Both are above 0, and d between 1e-330 and 1e330. */
int number_compare(const number_decimal *d, uint64_t m, int32_t e);

/* The double nearest to digits * 10^exponent; infinity beyond the largest. */
double number_from_digits(uint64_t digits, int32_t exponent);

#endif
