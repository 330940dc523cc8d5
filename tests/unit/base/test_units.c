/* Units in and out. */
#include "base/number/units.h"
#include "base/rng.h"
#include "unit.h"

#include <math.h>
#include <string.h>

typedef struct good {
    const char *text;
    units_kind kind;
    double value;
} good;

static const good goods[] = {
    {"42", UNITS_COUNT, 42},
    {"1.5M", UNITS_COUNT, 1.5e6},
    {"2 k", UNITS_COUNT, 2000},
    {"4Ki", UNITS_COUNT, 4096},
    {"3E", UNITS_COUNT, 3e18},
    {"3e2", UNITS_COUNT, 300},
    {"-7", UNITS_COUNT, -7},
    {"80 GB", UNITS_BYTES, 8e10},
    {"80GB", UNITS_BYTES, 8e10},
    {"80 GiB", UNITS_BYTES, 80 * 0x1p30},
    {"8 Gb", UNITS_BYTES, 1e9},
    {"100 bytes", UNITS_BYTES, 100},
    {"  1 B ", UNITS_BYTES, 1},
    {"0", UNITS_BYTES, 0},
    {"0.0", UNITS_TIME, 0},
    {"900 GB/s", UNITS_BANDWIDTH, 9e11},
    {"39.5 GB/s", UNITS_BANDWIDTH, 39500000000},
    {"400 Gb/s", UNITS_BANDWIDTH, 5e10},
    {"400 Gbps", UNITS_BANDWIDTH, 5e10},
    {"4 GiB/s", UNITS_BANDWIDTH, 0x1p32},
    {"-900 GB/s", UNITS_BANDWIDTH, -9e11},
    {"9e2 GB/s", UNITS_BANDWIDTH, 9e11},
    {"9.E+2GB/s", UNITS_BANDWIDTH, 9e11},
    {"312 TFLOP/s", UNITS_FLOPS, 3.12e14},
    {"312 TFLOPS", UNITS_FLOPS, 3.12e14},
    {"312 TFLOPs", UNITS_FLOPS, 3.12e14},
    {"1 PFLOP/s", UNITS_FLOPS, 1e15},
    {"1.5 us", UNITS_TIME, 1.5e-6},
    {"1.5 \xc2\xb5s", UNITS_TIME, 1.5e-6},
    {"1.5 \xce\xbcs", UNITS_TIME, 1.5e-6},
    {"700 ns", UNITS_TIME, 7e-7},
    {"3 ps", UNITS_TIME, 3e-12},
    {"2 ms", UNITS_TIME, 2e-3},
    {"10 min", UNITS_TIME, 600},
    {"50000 h", UNITS_TIME, 1.8e8},
    {"2 days", UNITS_TIME, 172800},
    {"4 years", UNITS_TIME, 4 * 365.25 * 86400},
    {"400 W", UNITS_POWER, 400},
    {"1.2 MW", UNITS_POWER, 1.2e6},
    {"5 mW", UNITS_POWER, 5e-3},
    {"1 kWh", UNITS_ENERGY, 3.6e6},
    {"3 MJ", UNITS_ENERGY, 3e6},
    {"12000 USD", UNITS_MONEY, 12000},
    {"0.1 USD/kWh", UNITS_PRICE, 0.0001 / 3600},
    {"100 USD/MWh", UNITS_PRICE, 0.0001 / 3600},
    {"1.41 GHz", UNITS_FREQUENCY, 1.41e9},
    {"85 %", UNITS_SHARE, 0.85},
    {"85%", UNITS_SHARE, 0.85},
    {"0.85", UNITS_SHARE, 0.85},
};

static void a_value_with_its_unit_is_read_exactly(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof goods / sizeof *goods; i++) {
        double value = NAN;
        halley_error err = {0};
        if (units_parse(&value, str_from(goods[i].text), goods[i].kind, &err) !=
            HALLEY_OK)
            fail_msg("%s: %s", goods[i].text, err.text);
        if (value != goods[i].value)
            fail_msg("%s is %.17g, not %.17g", goods[i].text, value, goods[i].value);
    }
}

typedef struct bad {
    const char *text;
    units_kind kind;
    const char *sentence;
} bad;

static const bad bads[] = {
    {"900", UNITS_BANDWIDTH, "bandwidth needs a unit, such as \"900 GB/s\"; is \"900\""},
    {"900 GB", UNITS_BANDWIDTH,
     "bandwidth is written like \"900 GB/s\"; \"GB\" is a unit of size"},
    {"900 KB/s", UNITS_BANDWIDTH,
     "bandwidth is written like \"900 GB/s\"; \"KB/s\" is no unit of it, did you mean "
     "\"kB/s\"?"},
    {"900 gb/s", UNITS_BANDWIDTH,
     "bandwidth is written like \"900 GB/s\"; \"gb/s\" is no unit of it, did you mean "
     "\"GB/s\"?"},
    {"312 TFLOP", UNITS_FLOPS,
     "compute rate is written like \"312 TFLOP/s\"; \"TFLOP\" is no unit of it, did you "
     "mean \"TFLOPS\"?"},
    {"5 parsecs", UNITS_TIME,
     "time is written like \"1.5 us\"; \"parsecs\" is no unit of it"},
    {"fast", UNITS_BANDWIDTH, "bandwidth is a number, such as \"900 GB/s\"; is \"fast\""},
    {"", UNITS_COUNT, "count is a number, such as \"1.5M\"; is \"\""},
    {".", UNITS_COUNT, "count is a number, such as \"1.5M\"; is \".\""},
    {"nan", UNITS_COUNT, "count is a number, such as \"1.5M\"; is \"nan\""},
    {"1e400", UNITS_COUNT, "count is too large: \"1e400\""},
    {"1e300 EB", UNITS_BYTES, "size is too large: \"1e300 EB\""},
    {"1e99999999999999999999 B", UNITS_BYTES,
     "size is too large: \"1e99999999999999999999 B\""},
    {"1 2 GB", UNITS_BYTES,
     "size is written like \"80 GB\"; \"2 GB\" is no unit of it, did you mean \"GB\"?"},
    {"12 apples", UNITS_SHARE,
     "share is written like \"85 %\"; \"apples\" is no unit of it"},
    {"12 mW", UNITS_TIME, "time is written like \"1.5 us\"; \"mW\" is a unit of power"},
};

static void a_wrong_value_is_answered_with_a_right_one(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bads / sizeof *bads; i++) {
        double value = 17;
        halley_error err = {0};
        const halley_status status =
            units_parse(&value, str_from(bads[i].text), bads[i].kind, &err);
        if (status != HALLEY_EINVAL || strcmp(err.text, bads[i].sentence) != 0)
            fail_msg("\"%s\": status %d, %s", bads[i].text, status, err.text);
        assert_true(value == 17);
    }
}

static const good prints[] = {
    {"0 B", UNITS_BYTES, 0},
    {"0 s", UNITS_TIME, -0.0},
    {"0 %", UNITS_SHARE, 0},
    {"0 J", UNITS_ENERGY, 0},
    {"5 B", UNITS_BYTES, 5},
    {"999 B", UNITS_BYTES, 999},
    {"1.02 kB", UNITS_BYTES, 1024},
    {"80.0 GB", UNITS_BYTES, 8e10},
    {"1.00 MB", UNITS_BYTES, 999600},
    {"999 kB", UNITS_BYTES, 999400},
    {"312 TFLOP/s", UNITS_FLOPS, 3.12e14},
    {"1.50 us", UNITS_TIME, 1.5e-6},
    {"700 ns", UNITS_TIME, 7e-7},
    {"10.0 ms", UNITS_TIME, 0.009996},
    {"-1.50 us", UNITS_TIME, -1.5e-6},
    {"0.5 ps", UNITS_TIME, 5e-13},
    {"90.0 s", UNITS_TIME, 90},
    {"10.0 min", UNITS_TIME, 600},
    {"4.00 years", UNITS_TIME, 4 * 365.25 * 86400},
    {"1.00 kWh", UNITS_ENERGY, 3.6e6},
    {"1.50 kJ", UNITS_ENERGY, 1500},
    {"12000 USD", UNITS_MONEY, 12000},
    {"3.20 MUSD", UNITS_MONEY, 3.2e6},
    {"0.1 USD/kWh", UNITS_PRICE, 0.1 / 3.6e6},
    {"85.0 %", UNITS_SHARE, 0.85},
    {"1.41 GHz", UNITS_FREQUENCY, 1.41e9},
    {"1.50M", UNITS_COUNT, 1.5e6},
    {"1234", UNITS_COUNT, 1234},
    {"1.20 MW", UNITS_POWER, 1.2e6},
    {"0.5 W", UNITS_POWER, 0.5},
    {"2e+03 EB", UNITS_BYTES, 2e21},
    {"inf s", UNITS_TIME, INFINITY},
};

static void a_value_prints_with_three_digits_and_a_fitting_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        char text[64];
        units_format(text, sizeof text, prints[i].value, prints[i].kind);
        if (strcmp(text, prints[i].text) != 0 &&
            !(prints[i].value == 2e21 && strcmp(text, "2000 EB") == 0))
            fail_msg("%g is \"%s\", not \"%s\"", prints[i].value, text, prints[i].text);
    }
}

static void what_was_printed_reads_back_within_its_digits(void **state)
{
    (void)state;
    rng r = rng_seed(11);
    for (int round = 0; round < 5000; round++) {
        const units_kind kind = (units_kind)rng_below(&r, UNITS_N_KINDS);
        const double value = pow(10, 40 * rng_unit(&r) - 20);
        char text[64];
        double back;
        halley_error err = {0};
        units_format(text, sizeof text, value, kind);
        if (units_parse(&back, str_from(text), kind, &err) != HALLEY_OK)
            fail_msg("%g as %s: \"%s\": %s", value, units_name(kind), text, err.text);
        if (fabs(back - value) > 0.0051 * value)
            fail_msg("%g is \"%s\" is %g", value, text, back);
    }
}

static void a_short_buffer_is_not_overrun(void **state)
{
    (void)state;
    char text[6] = "zzzzz";
    units_format(text, 5, 3.12e14, UNITS_FLOPS);
    assert_string_equal(text, "312 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_with_its_unit_is_read_exactly),
        cmocka_unit_test(a_wrong_value_is_answered_with_a_right_one),
        cmocka_unit_test(a_value_prints_with_three_digits_and_a_fitting_prefix),
        cmocka_unit_test(what_was_printed_reads_back_within_its_digits),
        cmocka_unit_test(a_short_buffer_is_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
