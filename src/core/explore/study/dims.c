/* Dimensional analysis: a vector of exponents per value (Bridgman 1922). */
#include "explore/study/dims.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BYTES, SECONDS, FLOP, JOULES, USD };

const explore_dims explore_dims_any = {.any = true};

explore_dims explore_dims_of(units_kind kind)
{
    assert(kind < UNITS_N_KINDS);
    static const explore_dims rows[UNITS_N_KINDS] = {
        [UNITS_BYTES] = {.power = {[BYTES] = 1}},
        [UNITS_BANDWIDTH] = {.power = {[BYTES] = 1, [SECONDS] = -1}},
        [UNITS_FLOPS] = {.power = {[FLOP] = 1, [SECONDS] = -1}},
        [UNITS_TIME] = {.power = {[SECONDS] = 1}},
        [UNITS_POWER] = {.power = {[JOULES] = 1, [SECONDS] = -1}},
        [UNITS_ENERGY] = {.power = {[JOULES] = 1}},
        [UNITS_MONEY] = {.power = {[USD] = 1}},
        [UNITS_PRICE] = {.power = {[USD] = 1, [JOULES] = -1}},
        [UNITS_RENT] = {.power = {[USD] = 1, [SECONDS] = -1}},
        [UNITS_FREQUENCY] = {.power = {[SECONDS] = -1}},
    };
    assert((unsigned)kind < UNITS_N_KINDS);
    return rows[kind];
}

explore_dims explore_dims_multiply(explore_dims a, explore_dims b, double sign)
{
    explore_dims out = {.any = a.any && b.any};
    for (int i = 0; i < EXPLORE_N_DIMS; i++)
        out.power[i] = a.power[i] + sign * b.power[i];
    return out;
}

explore_dims explore_dims_power(explore_dims a, double exponent)
{
    explore_dims out = {.any = a.any};
    for (int i = 0; i < EXPLORE_N_DIMS; i++)
        out.power[i] = a.power[i] * exponent;
    return out;
}

bool explore_dims_join(explore_dims *out, explore_dims a, explore_dims b)
{
    *out = a.any ? b : a;
    for (int i = 0; i < EXPLORE_N_DIMS && !a.any && !b.any; i++) {
        if (fabs(a.power[i] - b.power[i]) > 1e-9)
            return false;
    }
    return true;
}

/* The kind of unit with these dimensions; UNITS_N_KINDS: none has a name. */
static units_kind find_kind(explore_dims a)
{
    explore_dims same;
    for (int kind = UNITS_BYTES; kind < UNITS_N_KINDS; kind++) {
        if (kind != UNITS_SHARE &&
            explore_dims_join(&same, a, explore_dims_of((units_kind)kind)))
            return (units_kind)kind;
    }
    return UNITS_N_KINDS;
}

/* "power" for J/s; NULL: it has no name. */
static const char *find_name(explore_dims a)
{
    const units_kind kind = find_kind(a);
    return kind == UNITS_N_KINDS ? NULL : units_name(kind);
}

static size_t add_factor(char *to, size_t size, size_t n, const char *name, double power,
                         bool below)
{
    assert(n < size);
    const char *join = below ? (n > 0 ? "/" : "1/") : (n > 0 ? " " : "");
    int length = power == 1
                     ? snprintf(to + n, size - n, "%s%s", join, name)
                     : snprintf(to + n, size - n, "%s%s^%d", join, name, (int)power);
    return length > 0 && n + (size_t)length < size ? n + (size_t)length : n;
}

const char *explore_dims_format(char *to, size_t size, explore_dims a)
{
    assert(size > 0);
    static const char *const names[EXPLORE_N_DIMS] = {"B", "s", "FLOP", "J", "USD"};
    size_t n = 0;
    assert(size > 0 && !a.any);
    const char *name = find_name(a);
    to[0] = '\0';
    for (int sign = 1; name == NULL && sign >= -1; sign -= 2) {
        for (int i = 0; i < EXPLORE_N_DIMS; i++) {
            if (a.power[i] * sign > 0)
                n = add_factor(to, size, n, names[i], a.power[i] * sign, sign < 0);
        }
    }
    if (n == 0)
        snprintf(to, size, "%s", name != NULL ? name : "a plain number");
    return to;
}

const char *explore_dims_unit(char *to, size_t size, explore_dims a)
{
    const units_kind kind = find_kind(a);
    char one[40], name[48];
    explore_dims_format(name, sizeof name, a);
    if (kind == UNITS_N_KINDS) {
        snprintf(to, size, "%s", name);
        return to;
    }
    units_format(one, sizeof one, 1, kind);
    const char *unit = strchr(one, ' ');
    if (unit != NULL)
        snprintf(to, size, "in %s (%s)", unit + 1, name);
    else
        snprintf(to, size, "%s", name);
    return to;
}
