/*
 * Doubles as text and back, against the C library: snprintf and strtod in the "C" locale
 * are the slow, obvious reference. The seeded sample here is small; the same comparison
 * was made once with 12 million random bit patterns.
 */
#include "base/number/number.h"
#include "base/number/number_exact.h"
#include "base/number/whole.h"
#include "base/rng.h"
#include "unit.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_RANDOM = 30000 };

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check_read(const char *text)
{
    const double expected = strtod(text, NULL);
    double value = 7;
    const bool ok = number_read(str_from(text), &value);
    if (isinf(expected) ? ok : !ok || memcmp(&expected, &value, sizeof value) != 0)
        fail_msg("\"%s\" is read as %a, is %a", text, value, expected);
}

static void check_same(const char *form, double value, const char *seen,
                       const char *expected)
{
    if (strcmp(seen, expected) != 0)
        fail_msg("%s of %a gives \"%s\", must be \"%s\"", form, value, seen, expected);
}

static void check_shortest(double value)
{
    char text[40];
    for (int n = fabs(value) < DBL_MIN ? 1 : 15; n <= 17; n++) {
        snprintf(text, sizeof text, "%.*g", n, value);
        if (strtod(text, NULL) == value)
            break;
    }
    check_same("shortest", value, number_shortest(value).at, text);
    check_read(text);
    double back = 7;
    assert_true(number_read(str_from(number_repr(value).at), &back));
    assert_memory_equal(&back, &value, sizeof value);
}

static void check_all(double value, rng *r)
{
    char text[64];
    const int n = (int)rng_below(r, 20), decimals = n % (NUMBER_MAX_DECIMALS + 1);
    if (!isfinite(value))
        return;
    check_shortest(value);
    snprintf(text, sizeof text, "%.*g", n, value);
    check_same("digits", value, number_digits(value, n).at, text);
    check_read(text);
    snprintf(text, sizeof text, "%.*e", n, value);
    check_same("exponent", value, number_exponent(value, n).at, text);
    check_read(text);
    if (fabs(value) >= 1e22)
        return;
    snprintf(text, sizeof text, "%+.*f", decimals, value);
    check_same("signed", value, number_signed(value, decimals).at, text);
    check_same("fixed", value, number_fixed(value, decimals).at,
               text + (text[0] == '+' ? 1 : 0));
    check_read(text);
}

static void random_bit_patterns_agree_with_the_c_library(void **state)
{
    (void)state;
    rng r = rng_seed(17);
    for (int i = 0; i < N_RANDOM; i++)
        check_all(double_of(rng_u64(&r)), &r);
}

static void everyday_numbers_agree_with_the_c_library(void **state)
{
    (void)state;
    rng r = rng_seed(18);
    for (int i = 0; i < N_RANDOM / 4; i++) {
        const double whole = (double)(rng_u64(&r) >> rng_below(&r, 64));
        check_all(whole, &r);
        check_all(whole / pow(10, (double)rng_below(&r, 12)), &r);
        /* Sums of few powers of two end in 5: ties of rounding. */
        check_all(ldexp((double)rng_below(&r, 1 << 20), -(int)rng_below(&r, 40)), &r);
        check_all(double_of(rng_u64(&r) >> (12 + rng_below(&r, 52))), &r); /* subnormal */
    }
}

static void borders_of_binary_and_decimal_exponents_agree(void **state)
{
    (void)state;
    rng r = rng_seed(19);
    for (int e = -1074; e < 1024; e++) {
        const double value = ldexp(1, e);
        check_all(value, &r);
        check_all(nextafter(value, 0), &r);
        check_all(-nextafter(value, INFINITY), &r);
    }
    for (int e = -345; e < 312; e++) {
        char text[32];
        for (int i = 0; i < 8; i++) {
            snprintf(text, sizeof text, "%ue%d", 1 + (unsigned)rng_below(&r, 99), e);
            check_read(text);
            check_all(strtod(text, NULL), &r);
        }
    }
}

/* Texts that lie between two doubles, exactly in the middle or next to it, are the ones
 * that need the exact comparison. */
static void midpoints_of_doubles_are_read_to_even(void **state)
{
    (void)state;
    rng r = rng_seed(20);
    for (int i = 0; i < 500; i++) {
        char text[1100];
        const uint64_t bits = rng_u64(&r) >> 1;
        const double low = double_of(bits), high = double_of(bits + 1);
        if (!isfinite(low) || !isfinite(high))
            continue;
        /* The mantissa of a long double on x86 holds the middle, subnormals included. */
        const long double middle = ((long double)low + (long double)high) / 2;
        snprintf(text, sizeof text, "%.800Le", middle);
        check_read(text);
        strchr(text, 'e')[-1] = '1';
        check_read(text);
    }
}

static void texts_of_any_length_agree(void **state)
{
    (void)state;
    rng r = rng_seed(21);
    for (int i = 0; i < 10000; i++) {
        char text[1000];
        const size_t n = 1 + (size_t)rng_below(&r, i % 50 == 0 ? 900 : 40);
        const size_t point = (size_t)rng_below(&r, 60);
        size_t used = 0;
        for (size_t k = 0; k < n; k++) {
            if (k == point)
                text[used++] = '.';
            text[used++] = (char)('0' + rng_below(&r, 10));
        }
        snprintf(text + used, sizeof text - used, "e%d", (int)rng_below(&r, 700) - 350);
        check_read(text);
    }
}

static void special_values_have_their_words(void **state)
{
    (void)state;
    static const struct {
        double value;
        const char *shortest, *repr, *fixed;
    } rows[] = {
        {0.0, "0", "0.0", "0.0"},
        {-0.0, "-0", "-0.0", "-0.0"},
        {1, "1", "1.0", "1.0"},
        {100, "100", "100.0", "100.0"},
        {-2.5, "-2.5", "-2.5", "-2.5"},
        {0.25, "0.25", "0.25", "0.2"},
        {0.0001, "0.0001", "0.0001", "0.0"},
        {0.00001, "1e-05", "1e-05", "0.0"},
        {1e15, "1e+15", "1000000000000000.0", "1000000000000000.0"},
        {1e16, "1e+16", "1e+16", "10000000000000000.0"},
        {9007199254740993.0, "9007199254740992", "9007199254740992.0",
         "9007199254740992.0"},
        {1e22, "1e+22", "1e+22", "1e+22"},
        {5e-324, "5e-324", "5e-324", "0.0"},
        {DBL_MAX, "1.7976931348623157e+308", "1.7976931348623157e+308",
         "1.7976931348623157e+308"},
        {INFINITY, "inf", "inf", "inf"},
        {-INFINITY, "-inf", "-inf", "-inf"},
        {NAN, "nan", "nan", "nan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(number_shortest(rows[i].value).at, rows[i].shortest);
        assert_string_equal(number_repr(rows[i].value).at, rows[i].repr);
        assert_string_equal(number_fixed(rows[i].value, 1).at, rows[i].fixed);
    }
}

static void other_texts_are_no_numbers(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",    "-",   ".",   "e5",    "1e",  "1e+",   "1,5",           "1 ", " 1",
        "0x1", "inf", "nan", "1.2.3", "--1", "1e400", "1e99999999999", "1_0"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double value = 7;
        assert_false(number_read(str_from(wrong[i]), &value));
        assert_true(value == 7);
    }
    double value = 7;
    assert_true(number_read(STR("-1e-99999999999"), &value));
    assert_true(value == 0 && signbit(value));
}

/* A natural number in base 2^32, only for the next test. */
typedef struct natural {
    uint32_t digit[80];
} natural;

static void multiply_natural(natural *a, uint32_t by)
{
    uint64_t carry = 0;
    for (size_t i = 0; i < 80; i++) {
        carry += (uint64_t)a->digit[i] * by;
        a->digit[i] = (uint32_t)carry;
        carry >>= 32;
    }
    assert_true(carry == 0);
}

static natural natural_of(number_u128 value, uint32_t tens, uint32_t twos)
{
    natural a = {{0}};
    for (size_t i = 0; i < 5; i++, value >>= 32)
        a.digit[i] = (uint32_t)value;
    for (; tens > 0; tens--)
        multiply_natural(&a, 10);
    for (; twos > 0; twos--)
        multiply_natural(&a, 2);
    return a;
}

static int compare_naturals(const natural *a, const natural *b)
{
    for (size_t i = 80; i-- > 0;)
        if (a->digit[i] != b->digit[i])
            return a->digit[i] < b->digit[i] ? -1 : 1;
    return 0;
}

/* The sign of bits * 2^e - 10^k. */
static int compare_power(number_u128 bits, int32_t e, int32_t k)
{
    const natural left =
        natural_of(bits, k < 0 ? (uint32_t)-k : 0, e > 0 ? (uint32_t)e : 0);
    const natural right =
        natural_of(1, k > 0 ? (uint32_t)k : 0, e < 0 ? (uint32_t)-e : 0);
    return compare_naturals(&left, &right);
}

static void powers_of_ten_are_right_within_their_error(void **state)
{
    (void)state;
    for (int32_t k = NUMBER_MIN_POWER; k <= NUMBER_MAX_POWER; k++) {
        const number_power p = number_power_get(k);
        assert_true(p.bits >> 127 == 1);
        const int low = compare_power(p.bits, p.exponent, k);
        assert_true(p.exact ? low == 0 : low < 0);
        if (!p.exact && p.bits < p.bits + 3)
            assert_true(compare_power(p.bits + 3, p.exponent, k) > 0);
    }
}

static void whole_numbers_take_the_nearest_that_fits(void **state)
{
    (void)state;
    static const struct {
        double value;
        uint64_t u64;
        int64_t i64;
        uint32_t u32;
    } cases[] = {
        {0, 0, 0, 0},
        {0.99, 0, 0, 0},
        {1, 1, 1, 1},
        {-1.5, 0, -1, 0},
        {4294967295.0, UINT32_MAX, UINT32_MAX, UINT32_MAX},
        {4294967296.0, 1ull << 32, 1ll << 32, UINT32_MAX},
        {0x1p63, 1ull << 63, INT64_MAX, UINT32_MAX},
        {0x1p64, UINT64_MAX, INT64_MAX, UINT32_MAX},
        {-0x1p63, 0, INT64_MIN, 0},
        {1e308, UINT64_MAX, INT64_MAX, UINT32_MAX},
        {-1e308, 0, INT64_MIN, 0},
        {INFINITY, UINT64_MAX, INT64_MAX, UINT32_MAX},
        {-INFINITY, 0, INT64_MIN, 0},
        {NAN, 0, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(whole_u64(cases[i].value) == cases[i].u64);
        assert_true(whole_i64(cases[i].value) == cases[i].i64);
        assert_true(whole_u32(cases[i].value) == cases[i].u32);
    }
    assert_true(whole_ns(1.4999e-9) == 1 && whole_ns(1.5e-9) == 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_bit_patterns_agree_with_the_c_library),
        cmocka_unit_test(everyday_numbers_agree_with_the_c_library),
        cmocka_unit_test(borders_of_binary_and_decimal_exponents_agree),
        cmocka_unit_test(midpoints_of_doubles_are_read_to_even),
        cmocka_unit_test(texts_of_any_length_agree),
        cmocka_unit_test(special_values_have_their_words),
        cmocka_unit_test(other_texts_are_no_numbers),
        cmocka_unit_test(powers_of_ten_are_right_within_their_error),
        cmocka_unit_test(whole_numbers_take_the_nearest_that_fits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
