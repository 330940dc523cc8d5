/*
 * Convert decimal text to the nearest double. The first of three steps that is certain
 * gives the result:
 *
 * 1. Integers up to 2^53 and powers of ten up to 10^22 are exact doubles. One operation
 * suffices, which IEEE 754 rounds correctly (W. Clinger, PLDI 1990).
 *
 * 2. The first 19 digits are multiplied by 10^k in 192 bits, with a known error bound.
 * The result is certain unless a midpoint of two doubles is within the error (the idea of
 * D. Lemire, Software: Practice and Experience 51(8), 2021).
 *
 * 3. Otherwise the exact decimal is compared with the midpoints next to the guess.
 */
#include "base/number/number.h"
#include "base/number/number_exact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum {
    MOST_SHORT_DIGITS = 19, /* that fit 64 bits */
    MANTISSA_BITS = 53,
    MIN_EXPONENT = -1074, /* binary exponent of the last bit of a subnormal */
    MAX_DECIMAL_EXPONENT = 100000,
};
static const uint64_t infinity_bits = 0x7ffull << 52;

/* A decimal number as scanned: 0.DIGITS * 10^point. */
typedef struct scanned {
    const char *first, *end; /* from the first digit that is not 0 to after the last */
    uint64_t digits;         /* the first 19 of them */
    uint32_t n_digits;       /* total, without the point and leading zeros */
    int32_t point;           /* decimal exponent of the number if it is 0.DIGITS */
    bool negative;
} scanned;

static bool is_number_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool scan_exponent(const char *at, const char *end, scanned *s)
{
    const bool negative = at < end && *at == '-';
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    if (at == end)
        return false;
    int32_t exponent = 0;
    for (; at < end; at++) {
        if (!is_number_digit(*at))
            return false;
        if (exponent < MAX_DECIMAL_EXPONENT)
            exponent = 10 * exponent + (*at - '0');
    }
    s->point += negative ? -exponent : exponent;
    return true;
}

/* Digits and at most one point; at least one digit. */
static const char *scan_digits(const char *at, const char *end, scanned *s)
{
    bool has_digit = false, has_point = false;
    for (; at < end && (is_number_digit(*at) || (*at == '.' && !has_point)); at++) {
        if (*at == '.') {
            has_point = true;
            continue;
        }
        has_digit = true;
        if (s->n_digits == 0 && *at == '0') {
            s->point -= has_point;
            continue;
        }
        if (s->n_digits == 0)
            s->first = at;
        if (s->n_digits < MOST_SHORT_DIGITS)
            s->digits = 10 * s->digits + (uint64_t)(*at - '0');
        s->n_digits++;
        s->point += !has_point;
    }
    s->end = at;
    return has_digit ? at : NULL;
}

static bool scan_number(str text, scanned *s)
{
    assert(text.n == 0 || text.at != NULL);
    const char *at = text.at, *end = text.at + text.n;
    *s = (scanned){.negative = at < end && *at == '-'};
    if (at < end && (*at == '-' || *at == '+'))
        at++;
    at = scan_digits(at, end, s);
    if (at == NULL || at == end)
        return at != NULL;
    return (*at == 'e' || *at == 'E') && scan_exponent(at + 1, end, s);
}

/* A double guessed from digits times power: its bits, truncated or rounded, and whether
 * they are certain. Without the sign. */
typedef struct guess {
    uint64_t bits;
    bool certain;
} guess;

/* The double with this mantissa, whose last bit has the weight 2^exponent. */
static uint64_t pack_double(uint64_t mantissa, int32_t exponent)
{
    if (mantissa == 1ull << MANTISSA_BITS) {
        mantissa >>= 1;
        exponent++;
    }
    if (exponent > 1023 - 52)
        return infinity_bits;
    if (mantissa < 1ull << 52)
        return mantissa;
    return ((uint64_t)(exponent - MIN_EXPONENT) << 52) + mantissa; /* bit 52 adds one */
}

/* Round mantissa + rest / 2^(drop + 64) to nearest. The exact value is larger by less
 * than 4 units of `rest`, or equal if !has_error. */
static guess round_product(uint64_t mantissa, number_u128 rest, int drop, bool has_error)
{
    const number_u128 half = (number_u128)1 << (drop + 63), one = half << 1;
    const number_u128 error = has_error ? 4 : 0;
    const bool certain = !has_error || rest > half || rest + error < half;
    const bool near_next = has_error && rest >= one - error;
    const bool up = rest > half || (rest == half && (mantissa & 1) != 0);
    return (guess){mantissa + up, certain && !near_next};
}

/* digits * 10^k, where the true value of the digits is between `digits` and `digits` +
 * 1. */
static guess guess_double(uint64_t digits, int32_t k)
{
    assert(digits != 0);
    if (k > 310)
        return (guess){infinity_bits, true};
    if (k < NUMBER_MIN_POWER + 8) /* 19 digits below: under 1e-324 */
        return (guess){0, true};
    const number_power power = number_power_get(k);
    const int shift = __builtin_clzll(digits);
    const number_product p = number_product_of(digits << shift, power.bits);
    /* The number is p.high * 2^exponent, and p.high has 63 or 64 bits. */
    const int32_t exponent = power.exponent - shift + 128;
    const int bits = 64 - (p.high >> 63 == 0);
    int32_t drop = bits - MANTISSA_BITS;
    if (exponent + drop < MIN_EXPONENT)
        drop = MIN_EXPONENT - exponent;
    if (drop > 62)
        return (guess){drop > 64 ? 0 : 1, drop > 64};
    const uint64_t kept = p.high >> drop;
    const number_u128 rest = (number_u128)(p.high - (kept << drop)) << 64 | p.mid;
    /* Bits in p.low only matter where the power is exact: they break a tie. */
    const bool has_error = !power.exact || p.low != 0;
    guess g = round_product(kept, rest, drop, has_error);
    g.bits = pack_double(g.bits, exponent + drop);
    return g;
}

/* True if the decimal is above the midpoint of this double and the next one; at the
 * midpoint, if the next one is even. */
static bool is_beyond_midpoint(const number_decimal *d, uint64_t bits)
{
    const uint64_t field = bits >> 52, low = bits & ((1ull << 52) - 1);
    const uint64_t mantissa = field != 0 ? low | 1ull << 52 : low;
    const int32_t exponent = (int32_t)(field != 0 ? field - 1 : 0) + MIN_EXPONENT;
    const int order = number_compare(d, 2 * mantissa + 1, exponent - 1);
    return order > 0 || (order == 0 && (mantissa & 1) != 0);
}

/* Copy the digits without the point. If some were cut off, the last digit is not 0. */
static uint32_t copy_digits(char *to, const scanned *s)
{
    uint32_t n = 0;
    bool more = false;
    for (const char *at = s->first; at < s->end; at++) {
        if (*at == '.')
            continue;
        if (n < NUMBER_EXACT_DIGITS - 1)
            to[n++] = *at;
        else
            more |= *at != '0';
    }
    if (more)
        to[n++] = '1';
    return n;
}

static uint64_t decide_exactly(const scanned *s, uint64_t bits)
{
    char digits[NUMBER_EXACT_DIGITS];
    number_decimal d = {.digits = digits, .n = copy_digits(digits, s)};
    d.exponent = s->point - (int32_t)d.n;
    if (bits >= infinity_bits)
        bits = infinity_bits - 1;
    while (bits < infinity_bits && is_beyond_midpoint(&d, bits))
        bits++;
    while (bits > 0 && !is_beyond_midpoint(&d, bits - 1))
        bits--;
    return bits;
}

static uint64_t read_bits(const scanned *s)
{
    /* Outside the range of the exact comparison, and of all doubles. */
    if (s->point > 310 || s->point < -330)
        return s->point > 0 ? infinity_bits : 0;
    const uint32_t n = s->n_digits < MOST_SHORT_DIGITS ? s->n_digits : MOST_SHORT_DIGITS;
    const int32_t k = s->point - (int32_t)n;
    const guess g = guess_double(s->digits, k);
    if (s->n_digits > MOST_SHORT_DIGITS) {
        const guess above = guess_double(s->digits + 1, k);
        if (g.certain && above.certain && g.bits == above.bits)
            return g.bits;
    } else if (g.certain) {
        return g.bits;
    }
    return decide_exactly(s, g.bits);
}

/* Digits and power of ten are both exact doubles: one operation, one rounding. */
static bool read_short(double *out, uint64_t digits, int32_t k)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (digits > 1ull << MANTISSA_BITS || k < -22 || k > 22)
        return false;
    *out = k < 0 ? (double)digits / powers[-k] : (double)digits * powers[k];
    return true;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double number_from_digits(uint64_t digits, int32_t exponent)
{
    double value;
    if (digits == 0)
        return 0;
    if (read_short(&value, digits, exponent))
        return value;
    const guess g = guess_double(digits, exponent);
    if (g.certain)
        return double_of(g.bits);
    char text[MOST_SHORT_DIGITS + 1];
    char *first = text + sizeof text;
    for (uint64_t rest = digits; rest != 0; rest /= 10)
        *--first = (char)('0' + rest % 10);
    scanned s = {.first = first, .end = text + sizeof text};
    s.point = exponent + (int32_t)(s.end - s.first);
    assert(digits != 0 || value == 0);
    return double_of(decide_exactly(&s, g.bits));
}

bool number_read(str text, double *out)
{
    enum { LONGEST = 1 << 20 }; /* limits the counters above */
    scanned s;
    if (text.n == 0 || text.n > LONGEST || !scan_number(text, &s))
        return false;
    double value = 0;
    if (s.n_digits != 0 && (s.n_digits > MOST_SHORT_DIGITS ||
                            !read_short(&value, s.digits, s.point - (int32_t)s.n_digits)))
        value = double_of(read_bits(&s));
    if (isinf(value))
        return false;
    *out = s.negative ? -value : value;
    return true;
}
