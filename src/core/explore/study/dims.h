/*
 * explore/study/dims.h - the physical dimension of an expression, so that power is not
 * compared with money.
 */
#ifndef EXPLORE_DIMS_H
#define EXPLORE_DIMS_H

#include "base/number/units.h"

enum { EXPLORE_N_DIMS = 5 }; /* bytes, seconds, FLOP, joules, USD */

/* Exponents of the base units. A number without a unit takes the unit of the other
 * operand. */
typedef struct explore_dims {
    double power[EXPLORE_N_DIMS];
    bool any; /* a plain number, or something whose unit is not known */
} explore_dims;

explore_dims explore_dims_of(units_kind kind);
extern const explore_dims explore_dims_any;

/* a * b, or with sign -1 a / b. */
explore_dims explore_dims_multiply(explore_dims a, explore_dims b, double sign);
explore_dims explore_dims_power(explore_dims a, double exponent);
/* The dimension of a + b or a < b; false if they differ. */
bool explore_dims_join(explore_dims *out, explore_dims a, explore_dims b);
/* "power", "USD/B"; "a plain number" for none. Returns `to`. */
const char *explore_dims_format(char *to, size_t size, explore_dims a);
/* "in W (power)", for errors about sides that do not match. */
const char *explore_dims_unit(char *to, size_t size, explore_dims a);

#endif
