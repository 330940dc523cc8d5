/*
 * Print quantities with three digits and a suitable prefix. Long times are in minutes to
 * years, large energies in watt hours.
 */
#include "base/number/number.h"
#include "base/number/units.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>

/* The unit of kinds whose prefixes rise by factors of a thousand from 1. */
static const char *const decimal_units[UNITS_N_KINDS] = {
    [UNITS_COUNT] = "",       [UNITS_BYTES] = "B", [UNITS_BANDWIDTH] = "B/s",
    [UNITS_FLOPS] = "FLOP/s", [UNITS_POWER] = "W", [UNITS_FREQUENCY] = "Hz",
};

/* A step of the other scales: values of at least `from` are divided by `per`. */
typedef struct step {
    double from, per;
    const char *text;
} step;

static const step time_steps[] = {
    {0, 1e-12, "ps"},
    {1e-9, 1e-9, "ns"},
    {1e-6, 1e-6, "us"},
    {1e-3, 1e-3, "ms"},
    {1, 1, "s"},
    {120, 60, "min"},
    {7200, 3600, "h"},
    {172800, 86400, "days"},
    {63115200, 31557600, "years"},
    {INFINITY, 1, NULL},
};
static const step energy_steps[] = {
    {0, 1e-12, "pJ"},        {1e-9, 1e-9, "nJ"},    {1e-6, 1e-6, "uJ"},
    {1e-3, 1e-3, "mJ"},      {1, 1, "J"},           {1e3, 1e3, "kJ"},
    {3.6e5, 3.6e6, "kWh"},   {3.6e9, 3.6e9, "MWh"}, {3.6e12, 3.6e12, "GWh"},
    {3.6e15, 3.6e15, "TWh"}, {INFINITY, 1, NULL},
};
static const step money_steps[] = {
    {0, 1, "USD"}, {1e6, 1e6, "MUSD"}, {1e9, 1e9, "GUSD"}, {INFINITY, 1, NULL}};
static const step price_steps[] = {{0, 1 / 3.6e6, "USD/kWh"}, {INFINITY, 1, NULL}};
static const step rent_steps[] = {{0, 1 / 3600.0, "USD/h"}, {INFINITY, 1, NULL}};
static const step share_steps[] = {{0, 1e-2, "%"}, {INFINITY, 1, NULL}};

static const step *const scales[UNITS_N_KINDS] = {
    [UNITS_TIME] = time_steps,   [UNITS_ENERGY] = energy_steps,
    [UNITS_MONEY] = money_steps, [UNITS_PRICE] = price_steps,
    [UNITS_RENT] = rent_steps,   [UNITS_SHARE] = share_steps,
};

/* Three digits; more only if there is no larger unit. */
static void print_number(char *to, size_t size, double value)
{
    assert(size > 0);
    const double magnitude = fabs(value);
    const int n_decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
    if (magnitude == 0)
        snprintf(to, size, "0");
    else if (magnitude >= 1e6 || magnitude < 0.9995)
        snprintf(to, size, "%s", number_digits(value, 3).at);
    else
        snprintf(to, size, "%s", number_fixed(value, n_decimals).at);
}

static void format_decimal(char *to, size_t size, double value, units_kind kind)
{
    assert(size > 0);
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    const double largest_whole = kind == UNITS_COUNT   ? 1e4
                                 : kind == UNITS_BYTES ? 1e3
                                                       : 0;
    const bool whole = fabs(value) < largest_whole && value == floor(value);
    char number[40];
    double per = 1;
    size_t k = 0;
    for (; !whole && isfinite(value) && k < 6 && fabs(value) >= 999.5 * per; k++)
        per *= 1e3;
    if (whole)
        snprintf(number, sizeof number, "%s", number_fixed(value + 0.0, 0).at);
    else
        print_number(number, sizeof number, value / per);
    snprintf(to, size, "%s%s%s%s", number, kind == UNITS_COUNT ? "" : " ", prefixes[k],
             decimal_units[kind]);
}

const char *units_format(char *to, size_t size, double value, units_kind kind)
{
    assert(size > 0 && kind < UNITS_N_KINDS);
    if (decimal_units[kind] != NULL) {
        format_decimal(to, size, value, kind);
        return to;
    }
    const step *s = scales[kind];
    const double magnitude = fabs(value) * 1.0005; /* 999.6 ns is 1.00 us */
    if (isfinite(value) && value != 0)
        while (magnitude >= s[1].from)
            s++;
    else
        while (s->per != 1 && s[1].text != NULL)
            s++;
    char number[40];
    print_number(number, sizeof number, value / s->per);
    snprintf(to, size, "%s %s", number, s->text);
    return to;
}
