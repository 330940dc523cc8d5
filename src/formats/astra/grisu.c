/*
 * astra/grisu.c - the Grisu2 algorithm. The number and the midpoints to its two
 * neighbours are scaled by a cached power of ten. Their digits are then those of a
 * fixed-point number of 64 bits. Writing stops as soon as the digits written are between
 * the midpoints.
 */
#include "astra/grisu.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* f × 2^e. */
typedef struct wide {
    uint64_t f;
    int e;
} wide;

/* Powers of ten, rounded to 64 bits. */
static const struct {
    uint64_t f;
    int e, k;
} powers[] = {
    {UINT64_C(0xCDB02555653131B6), -263, -60}, {UINT64_C(0x993FE2C6D07B7FAC), -236, -52},
    {UINT64_C(0xE45C10C42A2B3B06), -210, -44}, {UINT64_C(0xAA242499697392D3), -183, -36},
    {UINT64_C(0xFD87B5F28300CA0E), -157, -28}, {UINT64_C(0xBCE5086492111AEB), -130, -20},
    {UINT64_C(0x8CBCCC096F5088CC), -103, -12}, {UINT64_C(0xD1B71758E219652C), -77, -4},
    {UINT64_C(0x9C40000000000000), -50, 4},    {UINT64_C(0xE8D4A51000000000), -24, 12},
    {UINT64_C(0xAD78EBC5AC620000), 3, 20},     {UINT64_C(0x813F3978F8940984), 30, 28},
    {UINT64_C(0xC097CE7BC90715B3), 56, 36},    {UINT64_C(0x8F7E32CE7BEA5C70), 83, 44},
    {UINT64_C(0xD5D238A4ABE98068), 109, 52},   {UINT64_C(0x9F4F2726179A2245), 136, 60},
    {UINT64_C(0xED63A231D4C4FB27), 162, 68},   {UINT64_C(0xB0DE65388CC8ADA8), 189, 76},
};
enum { FIRST_POWER = -60, POWER_STEP = 8 };

__extension__ typedef unsigned __int128 grisu_product;

typedef struct digits {
    char at[20];
    int n;
    int exponent; /* power of ten of the last digit */
} digits;

static wide multiply_wide(wide x, wide y)
{
    const grisu_product product = (grisu_product)x.f * y.f;
    return (wide){(uint64_t)((product + ((grisu_product)1 << 63)) >> 64), x.e + y.e + 64};
}

static wide normalize_wide(wide x)
{
    const int shift = __builtin_clzll(x.f);
    return (wide){x.f << shift, x.e - shift};
}

/* The power of ten that brings an exponent into -60 ... -32. */
static int choose_power(int e)
{
    const int f = -60 - e - 1;
    const int k = f * 78913 / (1 << 18) + (f > 0);
    return (-FIRST_POWER + k + POWER_STEP - 1) / POWER_STEP;
}

/* Lower the last digit while that brings the text nearer to the number. */
static void round_last(digits *d, uint64_t distance, uint64_t delta, uint64_t rest,
                       uint64_t unit)
{
    while (rest < distance && delta - rest >= unit &&
           (rest + unit < distance || distance - rest > rest + unit - distance)) {
        d->at[d->n - 1]--;
        rest += unit;
    }
}

static void write_fraction(digits *d, uint64_t rest, uint64_t delta, uint64_t distance,
                           int shift)
{
    const uint64_t one = UINT64_C(1) << shift;
    do {
        assert(d->n < (int)sizeof d->at);
        rest *= 10;
        d->at[d->n++] = (char)('0' + (rest >> shift));
        rest &= one - 1;
        delta *= 10;
        distance *= 10;
        d->exponent--;
    } while (rest > delta);
    round_last(d, distance, delta, rest, one);
}

/* Write digits of `high` until the rest is below high - low. */
static void write_digits(digits *d, wide low, wide w, wide high)
{
    const int shift = -high.e;
    const uint64_t delta = high.f - low.f, distance = high.f - w.f;
    const uint64_t fraction = high.f & ((UINT64_C(1) << shift) - 1);
    uint64_t whole = high.f >> shift, unit = 1;
    int n = 1;
    assert(shift >= 32 && shift <= 60);
    for (; unit * 10 <= whole; unit *= 10)
        n++;
    for (; n > 0; unit /= 10) {
        d->at[d->n++] = (char)('0' + whole / unit);
        whole %= unit;
        n--;
        const uint64_t rest = (whole << shift) + fraction;
        if (rest <= delta) {
            d->exponent += n;
            round_last(d, distance, delta, rest, unit << shift);
            return;
        }
    }
    write_fraction(d, fraction, delta, distance, shift);
}

static digits find_digits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int exponent = (int)(bits >> 52);
    const wide v = {fraction | UINT64_C(1) << 52, exponent - 1075};
    const wide above = normalize_wide((wide){2 * v.f + 1, v.e - 1});
    const wide near =
        fraction == 0 ? (wide){4 * v.f - 1, v.e - 2} : (wide){2 * v.f - 1, v.e - 1};
    const wide below = {near.f << (near.e - above.e), above.e};
    const int p = choose_power(above.e);
    assert(exponent > 0 && p >= 0 && p < (int)(sizeof powers / sizeof *powers));
    const wide power = {powers[p].f, powers[p].e};
    wide low = multiply_wide(below, power), high = multiply_wide(above, power);
    const wide w = multiply_wide(normalize_wide(v), power);
    low.f++;
    high.f--;
    digits d = {.exponent = -powers[p].k};
    write_digits(&d, low, w, high);
    return d;
}

number_text grisu_write(double value)
{
    number_text text;
    if (!(value >= 1e-12 && value < 1e15))
        return number_repr(value);
    const digits d = find_digits(value);
    const int point = d.n + d.exponent; /* digits before the point */
    if (point >= d.n)
        snprintf(text.at, sizeof text.at, "%.*s%.*s.0", d.n, d.at, point - d.n,
                 "000000000000000");
    else if (point > 0)
        snprintf(text.at, sizeof text.at, "%.*s.%.*s", point, d.at, d.n - point,
                 d.at + point);
    else if (point > -4)
        snprintf(text.at, sizeof text.at, "0.%.*s%.*s", -point, "000", d.n, d.at);
    else
        snprintf(text.at, sizeof text.at, "%.1s%s%.*se-%02d", d.at, d.n > 1 ? "." : "",
                 d.n - 1, d.at + 1, 1 - point);
    return text;
}
