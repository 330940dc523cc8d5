/*
 * Powers of ten, and the exact comparison of a decimal with a binary number.
 *
 * 10^k is computed as a power from the table, whose exponent is a multiple of 27, times
 * one of 10^0 ... 10^26, which fit 64 bits exactly. Both are truncated, never rounded up,
 * so the true value is never below the result. The table's error is less than one unit.
 * It becomes less than two units if the result is shifted by one bit, and truncating the
 * result adds less than one more.
 */
#include "base/number/number_exact.h"

#include <assert.h>
#include <string.h>

enum { STRIDE = 27, FIRST = -13, N_ROWS = 26 };

/*
 * floor(10^p / 2^exponent) in 128 bits, for p = -351, -324, ... 324. In Python:
 *   v = Fraction(10) ** p; e = the integer with 2**127 <= v / 2**e < 2**128;
 *   print(hex(int(v / Fraction(2) ** e)), e)
 * tests/unit/base/test_number.c compares every power with an exact computation.
 */
static const struct {
    uint64_t high, low;
    int32_t exponent;
} table[N_ROWS] = {
    {0x8049a4ac0c5811aeu, 0x205b896d777d6278u, -1293}, /* 1e-351 */
    {0xcf42894a5dce35eau, 0x52064cac828675b9u, -1204}, /* 1e-324 */
    {0xa76c582338ed2621u, 0xaf2af2b80af6f24eu, -1114}, /* 1e-297 */
    {0x873e4f75e2224e68u, 0x5a7744a6e804a291u, -1024}, /* 1e-270 */
    {0xda7f5bf590966848u, 0xaf39a475506a899eu, -935},  /* 1e-243 */
    {0xb080392cc4349decu, 0xbd8d794d96aacfb3u, -845},  /* 1e-216 */
    {0x8e938662882af53eu, 0x547eb47b7282ee9cu, -755},  /* 1e-189 */
    {0xe65829b3046b0afau, 0x0cb4a5a3112a5112u, -666},  /* 1e-162 */
    {0xba121a4650e4ddebu, 0x92f34d62616ce413u, -576},  /* 1e-135 */
    {0x964e858c91ba2655u, 0x3a6a07f8d510f86fu, -486},  /* 1e-108 */
    {0xf2d56790ab41c2a2u, 0xfae27299423fb9c3u, -397},  /* 1e-81 */
    {0xc428d05aa4751e4cu, 0xaa97e14c3c26b886u, -307},  /* 1e-54 */
    {0x9e74d1b791e07e48u, 0x775ea264cf55347du, -217},  /* 1e-27 */
    {0x8000000000000000u, 0x0000000000000000u, -127},  /* 1e0 */
    {0xcecb8f27f4200f3au, 0x0000000000000000u, -38},   /* 1e27 */
    {0xa70c3c40a64e6c51u, 0x999090b65f67d924u, 52},    /* 1e54 */
    {0x86f0ac99b4e8dafdu, 0x69a028bb3ded71a3u, 142},   /* 1e81 */
    {0xda01ee641a708de9u, 0xe80e6f4820cc9495u, 231},   /* 1e108 */
    {0xb01ae745b101e9e4u, 0x5ec05dcff72e7f8fu, 321},   /* 1e135 */
    {0x8e41ade9fbebc27du, 0x14588f13be847307u, 411},   /* 1e162 */
    {0xe5d3ef282a242e81u, 0x8f1668c8a86da5fau, 500},   /* 1e189 */
    {0xb9a74a0637ce2ee1u, 0x6d953e2bd7173692u, 590},   /* 1e216 */
    {0x95f83d0a1fb69cd9u, 0x4abdaf101564f98eu, 680},   /* 1e243 */
    {0xf24a01a73cf2dccfu, 0xbc633b39673c8cecu, 769},   /* 1e270 */
    {0xc3b8358109e84f07u, 0x0a862f80ec4700c8u, 859},   /* 1e297 */
    {0x9e19db92b4e31ba9u, 0x6c07a2c26a8346d1u, 949},   /* 1e324 */
};

static const uint64_t five_to[STRIDE] = {
    1u,
    5u,
    25u,
    125u,
    625u,
    3125u,
    15625u,
    78125u,
    390625u,
    1953125u,
    9765625u,
    48828125u,
    244140625u,
    1220703125u,
    6103515625u,
    30517578125u,
    152587890625u,
    762939453125u,
    3814697265625u,
    19073486328125u,
    95367431640625u,
    476837158203125u,
    2384185791015625u,
    11920928955078125u,
    59604644775390625u,
    298023223876953125u,
    1490116119384765625u,
};

number_product number_product_of(uint64_t a, number_u128 b)
{
    const number_u128 low = (number_u128)a * (uint64_t)b;
    const number_u128 high = (number_u128)a * (uint64_t)(b >> 64) + (uint64_t)(low >> 64);
    return (number_product){
        .high = (uint64_t)(high >> 64), .mid = (uint64_t)high, .low = (uint64_t)low};
}

number_power number_power_get(int32_t k)
{
    assert(k >= NUMBER_MIN_POWER && k <= NUMBER_MAX_POWER);
    const int32_t row = (k - NUMBER_MIN_POWER) / STRIDE;
    const int32_t rest = (k - NUMBER_MIN_POWER) % STRIDE;
    const number_u128 big = (number_u128)table[row].high << 64 | table[row].low;
    /* 5^55 < 2^128, and the zero bits that pad a shorter power are exact, too. */
    const bool exact = k >= 0 && k <= 55;
    if (rest == 0)
        return (number_power){big, table[row].exponent, exact};
    const int shift = __builtin_clzll(five_to[rest]);
    const number_product p = number_product_of(five_to[rest] << shift, big);
    const bool full = p.high >> 63 != 0;
    const number_u128 top = (number_u128)p.high << 64 | p.mid;
    return (number_power){.bits = full ? top : top << 1 | p.low >> 63,
                          .exponent =
                              table[row].exponent + rest - shift + (full ? 64 : 63),
                          .exact = exact};
}

/* A natural number of up to 4,096 bits. The largest needed: 780 digits times 2^1075, or
 * 54 bits times 10^1110. */
enum { N_LIMBS = 64 };

typedef struct big {
    uint64_t limb[N_LIMBS]; /* from the low end; only n of them are set */
    uint32_t n;             /* the highest is not 0 */
} big;

static void multiply_big(big *b, uint64_t by, uint64_t plus)
{
    uint64_t carry = plus;
    for (uint32_t i = 0; i < b->n; i++) {
        const number_u128 product = (number_u128)b->limb[i] * by + carry;
        b->limb[i] = (uint64_t)product;
        carry = (uint64_t)(product >> 64);
    }
    if (carry != 0) {
        assert(b->n < N_LIMBS);
        b->limb[b->n++] = carry;
    }
}

static void shift_big(big *b, uint32_t by)
{
    const uint32_t limbs = by / 64, bits = by % 64;
    multiply_big(b, 1ull << bits, 0);
    assert(b->n + limbs <= N_LIMBS);
    memmove(b->limb + limbs, b->limb, b->n * sizeof b->limb[0]);
    memset(b->limb, 0, limbs * sizeof b->limb[0]);
    b->n += limbs;
}

static void multiply_by_power_of_ten(big *b, uint32_t k)
{
    uint32_t left = k;
    for (; left >= STRIDE; left -= STRIDE - 1)
        multiply_big(b, five_to[STRIDE - 1], 0);
    multiply_big(b, five_to[left], 0);
    shift_big(b, k);
}

static int compare_big(const big *a, const big *b)
{
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (uint32_t i = a->n; i-- > 0;)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i] ? -1 : 1;
    return 0;
}

int number_compare(const number_decimal *d, uint64_t m, int32_t e)
{
    assert(d->n > 0 && d->n <= NUMBER_EXACT_DIGITS && d->digits[0] != '0' && m != 0);
    big left = {.n = 0}, right = {.limb = {m}, .n = 1};
    for (uint32_t i = 0; i < d->n; i++)
        multiply_big(&left, 10, (uint64_t)(d->digits[i] - '0'));
    /* Both sides are multiplied so that their exponents are not negative. */
    if (d->exponent > 0)
        multiply_by_power_of_ten(&left, (uint32_t)d->exponent);
    else
        multiply_by_power_of_ten(&right, (uint32_t)-d->exponent);
    if (e > 0)
        shift_big(&right, (uint32_t)e);
    else
        shift_big(&left, (uint32_t)-e);
    return compare_big(&left, &right);
}
