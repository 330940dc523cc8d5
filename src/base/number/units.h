/* base/number/units.h - parse and print numbers with units. */
#ifndef BASE_UNITS_H
#define BASE_UNITS_H

#include "base/error.h"
#include "base/str.h"

/* What a number measures. Values are in the unit given here. */
typedef enum units_kind {
    UNITS_COUNT,     /* plain number; k, M, G, T accepted: "1.5M" */
    UNITS_BYTES,     /* B: "80 GB" = 8e10, "80 GiB" = 80 * 2^30 */
    UNITS_BANDWIDTH, /* B/s: "900 GB/s", "400 Gb/s" = 5e10, "4 GiB/s" */
    UNITS_FLOPS,     /* FLOP/s: "312 TFLOP/s", "1 PFLOP/s", "312 TFLOPS" */
    UNITS_TIME,      /* s: "1.5 us", "700 ns", "10 min", "50000 h", "4 years" */
    UNITS_POWER,     /* W: "400 W", "1.2 MW" */
    UNITS_ENERGY,    /* J: "1 kWh", "3 MJ" */
    UNITS_MONEY,     /* USD: "12000 USD" */
    UNITS_PRICE,     /* USD per J: "0.1 USD/kWh" */
    UNITS_RENT,      /* USD per s: "2.5 USD/h" */
    UNITS_FREQUENCY, /* Hz: "1.41 GHz" */
    UNITS_SHARE,     /* 1: "85 %" = 0.85, "0.85" */
    UNITS_N_KINDS
} units_kind;

/*
 * Parse a number in the kind's unit. A missing, unknown or wrong unit is an error that
 * says what is expected ("bandwidth needs a unit, such as \"900 GB/s\"; is \"900\"").
 * COUNT, SHARE and zero need no unit. The result is always finite. It may be negative:
 * the caller checks the range.
 */
halley_status units_parse(double *out, str text, units_kind kind, halley_error *err);

/* "312 TFLOP/s", "1.50 us", "80.0 GB": three to four digits and a suitable prefix.
 * Returns `to`. */
const char *units_format(char *to, size_t size, double value, units_kind kind);
/* The same number with all its digits, so that units_parse gives the same bits: "39.5
 * GB/s", "700 ns". The unit with the shortest text is used. */
void units_write(strbuf *to, double value, units_kind kind);
const char *units_name(units_kind kind); /* "bandwidth" */

#endif
