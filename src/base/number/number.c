/*
 * Write doubles as text. All writers start from the first 18 digits of the exact decimal
 * expansion, and whether anything but zeros follows them. From that, every shorter text
 * can be rounded correctly (to nearest, ties to even, as printf does).
 *
 * These digits are the integer part of value * 10^k, computed in 192 bits with a known
 * error bound. If the error could change the integer part, or hide that the rest is zero,
 * an exact comparison decides. That happens about once in 2^60 random doubles, and always
 * for whole numbers of more than 18 digits.
 *
 * The shortest text is the first of 15, 16 and 17 digits that reads back as the same
 * double, without trailing zeros. This finds every shorter text, because decimals of up
 * to 15 digits survive conversion to a double and back. Subnormal doubles are an
 * exception and are tried from one digit on.
 */
#include "base/number/number.h"

#include "base/number/number_exact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { N_FIRST = 18, MOST_DIGITS = 22 + NUMBER_MAX_DECIMALS };

static const uint64_t ten_to[] = {1u,
                                  10u,
                                  100u,
                                  1000u,
                                  10000u,
                                  100000u,
                                  1000000u,
                                  10000000u,
                                  100000000u,
                                  1000000000u,
                                  10000000000u,
                                  100000000000u,
                                  1000000000000u,
                                  10000000000000u,
                                  100000000000000u,
                                  1000000000000000u,
                                  10000000000000000u,
                                  100000000000000000u,
                                  1000000000000000000u,
                                  10000000000000000000u};

/* A positive finite double: mantissa * 2^exponent. */
typedef struct binary {
    uint64_t mantissa;
    int32_t exponent;
    bool is_subnormal;
} binary;

/* The exact expansion starts with the 18 digits of `first`. The first of them has the
 * weight 10^point. `more`: something but zeros follows. */
typedef struct expansion {
    uint64_t first;
    int32_t point;
    bool more;
} expansion;

/* Rounded digits; the first one has the weight 10^point. */
typedef struct rounded {
    char digits[MOST_DIGITS + 2];
    int n; /* may be 0: the number rounds to zero */
    int32_t point;
} rounded;

static binary split_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint64_t field = bits >> 52 & 0x7ff, low = bits & ((1ull << 52) - 1);
    assert(field != 0x7ff && (bits << 1) != 0);
    if (field == 0)
        return (binary){low, -1074, true};
    return (binary){low | 1ull << 52, (int32_t)field - 1075, false};
}

/* Write n digits of value, with leading zeros. */
static void put_digits(char *to, uint64_t value, int n)
{
    for (; n >= 2; n -= 2) {
        const uint64_t rest = value / 100;
        const unsigned pair = (unsigned)(value - rest * 100);
        to[n - 1] = (char)('0' + pair % 10);
        to[n - 2] = (char)('0' + pair / 10);
        value = rest;
    }
    if (n == 1)
        to[0] = (char)('0' + value % 10);
}

/* The sign of whole * 10^-k - b. */
static int compare_whole(uint64_t whole, int32_t k, const binary *b)
{
    char digits[20];
    put_digits(digits, whole, 20);
    uint32_t zeros = 0;
    while (digits[zeros] == '0')
        zeros++;
    const number_decimal d = {digits + zeros, 20 - zeros, -k};
    return number_compare(&d, b->mantissa, b->exponent);
}

/* floor(b * 10^k) exactly, from a guess that is off by at most one. */
static uint64_t settle_whole(uint64_t whole, int32_t k, const binary *b, bool *more)
{
    int order = compare_whole(whole, k, b);
    if (order > 0) {
        whole--;
        order = compare_whole(whole, k, b);
    } else if (compare_whole(whole + 1, k, b) <= 0) {
        whole++;
        order = compare_whole(whole, k, b);
    }
    assert(order <= 0);
    *more = order != 0;
    return whole;
}

static expansion expand_double(const binary *b)
{
    const int shift = __builtin_clzll(b->mantissa);
    const int32_t log2 = b->exponent + 63 - shift; /* 2^log2 <= number */
    /* log10(2) = 0.30102999...; exact or one too low, because 2^log2 is no power of
     * ten. */
    const int32_t log10 = (int32_t)((int64_t)log2 * 1292913986 >> 32);
    const int32_t k = N_FIRST - 1 - log10;
    const number_power power = number_power_get(k);
    const number_product p = number_product_of(b->mantissa << shift, power.bits);
    /* The number times 10^k is `top` / 2^cut in 128 bits; the integer part takes 57 to 64
     * of them. */
    const number_u128 top = (number_u128)p.high << 64 | p.mid;
    const int cut = -(b->exponent - shift + power.exponent + 64);
    assert(cut >= 63 && cut < 80);
    uint64_t whole = (uint64_t)(top >> cut);
    const number_u128 one = (number_u128)1 << cut, rest = top & (one - 1);
    bool more = rest != 0 || p.low != 0;
    if (!power.exact && (!more || rest + 4 > one))
        whole = settle_whole(whole, k, b, &more);
    assert(whole >= ten_to[N_FIRST - 1]);
    if (whole < ten_to[N_FIRST])
        return (expansion){whole, log10, more};
    return (expansion){whole / 10, log10 + 1, more || whole % 10 != 0};
}

/* The expansion rounded to n digits, 0 to 17; 10^n if the rounding carries over. */
static uint64_t round_first(const expansion *x, int n)
{
    assert(n >= 0 && n < N_FIRST);
    const uint64_t unit = ten_to[N_FIRST - n];
    const uint64_t kept = x->first / unit, rest = x->first - kept * unit;
    const uint64_t half = unit / 2;
    const bool up = rest > half || (rest == half && (x->more || (kept & 1) != 0));
    return kept + up;
}

/* Compute the digits from `from` to `to`, each by comparison. */
static void extend_digits(char *digits, int from, int to, int32_t point, const binary *b)
{
    for (int i = from; i < to; i++) {
        for (digits[i] = '9'; digits[i] > '0'; digits[i]--) {
            const number_decimal d = {digits, (uint32_t)i + 1, point - i};
            if (number_compare(&d, b->mantissa, b->exponent) <= 0)
                break;
        }
    }
}

/* Add one to the last of n digits; "999" becomes "100" with point + 1. */
static void carry_digits(rounded *r)
{
    int i = r->n;
    while (i > 0 && r->digits[i - 1] == '9')
        r->digits[--i] = '0';
    if (i > 0) {
        r->digits[i - 1]++;
        return;
    }
    r->digits[0] = '1';
    r->point++;
}

static rounded round_long(const binary *b, const expansion *x, int n)
{
    rounded r = {.n = n, .point = x->point};
    put_digits(r.digits, x->first, N_FIRST);
    if (!x->more) {
        memset(r.digits + N_FIRST, '0', (size_t)(n - N_FIRST));
        return r;
    }
    extend_digits(r.digits, N_FIRST, n + 1, x->point, b);
    const char next = r.digits[n];
    const number_decimal d = {r.digits, (uint32_t)n + 1, x->point - n};
    const bool more = number_compare(&d, b->mantissa, b->exponent) != 0;
    const bool odd = (r.digits[n - 1] - '0') % 2 != 0;
    if (next > '5' || (next == '5' && (more || odd)))
        carry_digits(&r);
    return r;
}

/* Round correctly to n significant digits; for n < 1, to zero or the next power of
 * ten. */
static rounded round_double(double value, int n)
{
    assert(n <= MOST_DIGITS);
    const binary b = split_double(value);
    const expansion x = expand_double(&b);
    if (n < 0)
        return (rounded){.n = 0, .point = x.point};
    if (n >= N_FIRST)
        return round_long(&b, &x, n);
    rounded r = {.n = n, .point = x.point};
    uint64_t digits = round_first(&x, n);
    if (n == 0 && digits == 0)
        return r;
    if (digits == ten_to[n]) {
        r.point++;
        r.n = n > 0 ? n : 1;
        digits = ten_to[r.n - 1];
    }
    put_digits(r.digits, digits, r.n);
    return r;
}

/* Where text is written to. */
typedef struct cursor {
    char *at;
} cursor;

static void put_chars(cursor *c, const char *from, int n)
{
    assert(n >= 0);
    if (n > 0) {
        memcpy(c->at, from, (size_t)n);
        c->at += n;
    }
}

static void put_zeros(cursor *c, int n)
{
    for (; n > 0; n--)
        *c->at++ = '0';
}

static void put_exponent(cursor *c, int32_t exponent)
{
    const uint64_t size = (uint64_t)(exponent < 0 ? -exponent : exponent);
    const int n = size < 100 ? 2 : 3;
    *c->at++ = 'e';
    *c->at++ = exponent < 0 ? '-' : '+';
    put_digits(c->at, size, n);
    c->at += n;
}

static void put_scientific(cursor *c, const rounded *r)
{
    put_chars(c, r->digits, 1);
    if (r->n > 1) {
        *c->at++ = '.';
        put_chars(c, r->digits + 1, r->n - 1);
    }
    put_exponent(c, r->point);
}

/* Write digits around the decimal point, and zeros for missing digits before it. */
static void put_positional(cursor *c, const rounded *r)
{
    if (r->point < 0 || r->n == 0) {
        put_chars(c, "0", 1);
        if (r->n == 0)
            return;
        *c->at++ = '.';
        put_zeros(c, -1 - r->point);
        put_chars(c, r->digits, r->n);
        return;
    }
    const int n_whole = r->point + 1;
    put_chars(c, r->digits, r->n < n_whole ? r->n : n_whole);
    put_zeros(c, n_whole - r->n);
    if (r->n > n_whole) {
        *c->at++ = '.';
        put_chars(c, r->digits + n_whole, r->n - n_whole);
    }
}

static void strip_zeros(rounded *r)
{
    while (r->n > 1 && r->digits[r->n - 1] == '0')
        r->n--;
}

/* The fewest correctly rounded digits that read back as the double. */
static rounded find_shortest(double value)
{
    const binary b = split_double(value);
    const expansion x = expand_double(&b);
    for (int n = b.is_subnormal ? 1 : 15;; n++) {
        const uint64_t digits = round_first(&x, n);
        if (n < 17 && number_from_digits(digits, x.point - n + 1) != value)
            continue;
        assert(number_from_digits(digits, x.point - n + 1) == value);
        const bool carried = digits == ten_to[n];
        rounded r = {.n = n, .point = x.point + carried};
        put_digits(r.digits, carried ? ten_to[n - 1] : digits, n);
        strip_zeros(&r);
        return r;
    }
}

/* Whole numbers that a double represents exactly need no search. */
static rounded find_digits(double value)
{
    if (value >= 0x1p53 || value != (double)(uint64_t)value)
        return find_shortest(value);
    const uint64_t whole = (uint64_t)value;
    int n = 1;
    while (whole >= ten_to[n])
        n++;
    rounded r = {.n = n, .point = n - 1};
    put_digits(r.digits, whole, n);
    strip_zeros(&r);
    return r;
}

/* Write the sign, and the word for a non-finite value: true if that is the whole text. */
static bool put_special(cursor *c, double value)
{
    if (signbit(value) && !isnan(value))
        *c->at++ = '-';
    if (isnan(value) || isinf(value))
        put_chars(c, isnan(value) ? "nan" : "inf", 3);
    return !isfinite(value);
}

number_text number_shortest(double value)
{
    number_text t;
    cursor c = {t.at};
    if (!put_special(&c, value)) {
        const rounded r =
            value == 0 ? (rounded){.digits = "0", .n = 1} : find_digits(fabs(value));
        if (r.point < -4 || r.point >= (r.n > 15 ? r.n : 15))
            put_scientific(&c, &r);
        else
            put_positional(&c, &r);
    }
    *c.at = '\0';
    return t;
}

number_text number_repr(double value)
{
    number_text t;
    cursor c = {t.at};
    if (!put_special(&c, value)) {
        const rounded r =
            value == 0 ? (rounded){.digits = "0", .n = 1} : find_digits(fabs(value));
        if (r.point < -4 || r.point >= 16)
            put_scientific(&c, &r);
        else
            put_positional(&c, &r);
        if (r.point < 16 && r.n <= r.point + 1)
            put_chars(&c, ".0", 2);
    }
    *c.at = '\0';
    return t;
}

/* As "%.*f" of a positive number. */
static void put_fixed(cursor *c, double value, int decimals)
{
    assert(decimals >= 0);
    rounded r = {.n = 0};
    if (value != 0) {
        const binary b = split_double(value);
        r = round_double(value, expand_double(&b).point + 1 + decimals);
    }
    if (r.n > 0 && r.point >= 0) {
        const int n_whole = r.point + 1;
        /* A carry made the number one digit longer than requested. */
        put_chars(c, r.digits, r.n < n_whole ? r.n : n_whole);
        put_zeros(c, n_whole - r.n);
        if (decimals > 0)
            *c->at++ = '.';
        const int n = r.n > n_whole ? r.n - n_whole : 0;
        put_chars(c, r.digits + n_whole, n);
        put_zeros(c, decimals - n);
        return;
    }
    *c->at++ = '0';
    if (decimals > 0)
        *c->at++ = '.';
    const int zeros = r.n == 0 ? decimals : -1 - r.point;
    put_zeros(c, zeros);
    put_chars(c, r.digits, r.n);
    put_zeros(c, r.n == 0 ? 0 : decimals - zeros - r.n);
}

static number_text write_fixed(double value, int decimals, bool with_plus)
{
    assert(decimals >= 0);
    assert(decimals >= 0 && decimals <= NUMBER_MAX_DECIMALS);
    number_text t;
    cursor c = {t.at};
    if (with_plus && !signbit(value) && !isnan(value))
        *c.at++ = '+';
    if (fabs(value) >= 1e22 && isfinite(value)) {
        const number_text shortest = number_shortest(value);
        put_chars(&c, shortest.at, (int)strlen(shortest.at));
    } else if (!put_special(&c, value)) {
        put_fixed(&c, fabs(value), decimals);
    }
    *c.at = '\0';
    return t;
}

number_text number_fixed(double value, int decimals)
{
    return write_fixed(value, decimals, false);
}

number_text number_signed(double value, int decimals)
{
    return write_fixed(value, decimals, true);
}

number_text number_digits(double value, int digits)
{
    assert(digits >= 0);
    const int n = digits > 0 ? digits : 1;
    assert(n <= NUMBER_MAX_DIGITS);
    number_text t;
    cursor c = {t.at};
    if (!put_special(&c, value)) {
        rounded r =
            value == 0 ? (rounded){.digits = "0", .n = 1} : round_double(fabs(value), n);
        strip_zeros(&r);
        if (r.point < -4 || r.point >= n)
            put_scientific(&c, &r);
        else
            put_positional(&c, &r);
    }
    *c.at = '\0';
    return t;
}

number_text number_exponent(double value, int decimals)
{
    assert(decimals >= 0);
    assert(decimals >= 0 && decimals < NUMBER_MAX_DIGITS);
    number_text t;
    cursor c = {t.at};
    if (!put_special(&c, value)) {
        rounded r = {.n = decimals + 1};
        memset(r.digits, '0', sizeof r.digits);
        if (value != 0)
            r = round_double(fabs(value), decimals + 1);
        put_scientific(&c, &r);
    }
    *c.at = '\0';
    return t;
}
