/*
 * The table of units. A value is number * 10^power * times / per, with the factors of its
 * row and prefix. Powers of ten are applied to the decimal text before it is converted.
 * So "39.5 GB/s" is exactly 39500000000 and "700 ns" is exactly what 7e-7 is in C.
 *
 * To add a unit, add a row. To add a kind, add it to units.h, to `kinds` and a row.
 */
#include "base/number/units.h"

#include "base/number/number.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum prefixes { NONE = 0, LARGE = 1, SMALL = 2, BINARY = 4 } prefixes;

typedef struct prefix {
    const char *text;
    prefixes group;
    int power;    /* of ten */
    double times; /* for binary prefixes, else 1 */
} prefix;

static const prefix prefix_table[] = {
    {"", NONE, 0, 1},           {"k", LARGE, 3, 1},        {"M", LARGE, 6, 1},
    {"G", LARGE, 9, 1},         {"T", LARGE, 12, 1},       {"P", LARGE, 15, 1},
    {"E", LARGE, 18, 1},        {"m", SMALL, -3, 1},       {"u", SMALL, -6, 1},
    {"\xc2\xb5", SMALL, -6, 1}, /* micro sign */
    {"\xce\xbc", SMALL, -6, 1}, /* Greek mu */
    {"n", SMALL, -9, 1},        {"p", SMALL, -12, 1},      {"f", SMALL, -15, 1},
    {"Ki", BINARY, 0, 0x1p10},  {"Mi", BINARY, 0, 0x1p20}, {"Gi", BINARY, 0, 0x1p30},
    {"Ti", BINARY, 0, 0x1p40},  {"Pi", BINARY, 0, 0x1p50}, {"Ei", BINARY, 0, 0x1p60},
};

typedef struct unit {
    const char *suffix;
    units_kind kind;
    int allowed; /* prefixes */
    int power;   /* of ten */
    double times, per;
} unit;

/* Bytes are listed before bits, so that the suggestion for "gb" is GB. */
static const unit unit_table[] = {
    {"", UNITS_COUNT, LARGE | BINARY, 0, 1, 1},
    {"B", UNITS_BYTES, LARGE | BINARY, 0, 1, 1},
    {"byte", UNITS_BYTES, NONE, 0, 1, 1},
    {"bytes", UNITS_BYTES, NONE, 0, 1, 1},
    {"b", UNITS_BYTES, LARGE | BINARY, 0, 1, 8},
    {"bit", UNITS_BYTES, LARGE | BINARY, 0, 1, 8},
    {"B/s", UNITS_BANDWIDTH, LARGE | BINARY, 0, 1, 1},
    {"Bps", UNITS_BANDWIDTH, LARGE | BINARY, 0, 1, 1},
    {"b/s", UNITS_BANDWIDTH, LARGE | BINARY, 0, 1, 8},
    {"bps", UNITS_BANDWIDTH, LARGE | BINARY, 0, 1, 8},
    {"bit/s", UNITS_BANDWIDTH, LARGE | BINARY, 0, 1, 8},
    {"FLOP/s", UNITS_FLOPS, LARGE, 0, 1, 1},
    {"FLOPS", UNITS_FLOPS, LARGE, 0, 1, 1},
    {"FLOPs", UNITS_FLOPS, LARGE, 0, 1, 1},
    {"FLOPs/s", UNITS_FLOPS, LARGE, 0, 1, 1},
    {"OP/s", UNITS_FLOPS, LARGE, 0, 1, 1},
    {"OPS", UNITS_FLOPS, LARGE, 0, 1, 1},
    {"s", UNITS_TIME, SMALL, 0, 1, 1},
    {"min", UNITS_TIME, NONE, 0, 60, 1},
    {"h", UNITS_TIME, NONE, 0, 3600, 1},
    {"hour", UNITS_TIME, NONE, 0, 3600, 1},
    {"hours", UNITS_TIME, NONE, 0, 3600, 1},
    {"d", UNITS_TIME, NONE, 0, 86400, 1},
    {"day", UNITS_TIME, NONE, 0, 86400, 1},
    {"days", UNITS_TIME, NONE, 0, 86400, 1},
    {"year", UNITS_TIME, NONE, 0, 31557600, 1}, /* of 365.25 days */
    {"years", UNITS_TIME, NONE, 0, 31557600, 1},
    {"W", UNITS_POWER, LARGE | SMALL, 0, 1, 1},
    {"J", UNITS_ENERGY, LARGE | SMALL, 0, 1, 1},
    {"Wh", UNITS_ENERGY, LARGE, 0, 3600, 1},
    {"USD", UNITS_MONEY, LARGE, 0, 1, 1},
    {"USD/J", UNITS_PRICE, NONE, 0, 1, 1},
    {"USD/Wh", UNITS_PRICE, NONE, 0, 1, 3600},
    {"USD/kWh", UNITS_PRICE, NONE, -3, 1, 3600},
    {"USD/MWh", UNITS_PRICE, NONE, -6, 1, 3600},
    {"USD/s", UNITS_RENT, NONE, 0, 1, 1},
    {"USD/h", UNITS_RENT, NONE, 0, 1, 3600},
    {"Hz", UNITS_FREQUENCY, LARGE, 0, 1, 1},
    {"", UNITS_SHARE, NONE, 0, 1, 1},
    {"%", UNITS_SHARE, NONE, -2, 1, 1},
};

typedef struct kind_info {
    const char *name, *example;
} kind_info;

static const kind_info kinds[UNITS_N_KINDS] = {
    [UNITS_COUNT] = {"count", "1.5M"},
    [UNITS_BYTES] = {"size", "80 GB"},
    [UNITS_BANDWIDTH] = {"bandwidth", "900 GB/s"},
    [UNITS_FLOPS] = {"compute rate", "312 TFLOP/s"},
    [UNITS_TIME] = {"time", "1.5 us"},
    [UNITS_POWER] = {"power", "400 W"},
    [UNITS_ENERGY] = {"energy", "1 kWh"},
    [UNITS_MONEY] = {"cost", "12000 USD"},
    [UNITS_PRICE] = {"energy price", "0.1 USD/kWh"},
    [UNITS_RENT] = {"rent", "2.5 USD/h"},
    [UNITS_FREQUENCY] = {"frequency", "1.41 GHz"},
    [UNITS_SHARE] = {"share", "85 %"},
};

enum {
    N_PREFIXES = sizeof prefix_table / sizeof *prefix_table,
    N_UNITS = sizeof unit_table / sizeof *unit_table,
};

static bool allows_unit(const unit *u, const prefix *p)
{
    return p->group == NONE || (u->allowed & (int)p->group) != 0;
}

/* The unit written as `text` of this kind, or of any when `kind` is UNITS_N_KINDS. */
static const unit *find_unit(str text, units_kind kind, const prefix **with)
{
    assert(kind <= UNITS_N_KINDS);
    for (size_t i = 0; i < N_UNITS; i++) {
        const unit *u = &unit_table[i];
        const str suffix = str_from(u->suffix);
        if ((kind != UNITS_N_KINDS && u->kind != kind) || !str_ends(text, suffix))
            continue;
        const str front = {text.at, text.n - suffix.n};
        for (size_t k = 0; k < N_PREFIXES; k++) {
            if (allows_unit(u, &prefix_table[k]) &&
                str_eq(front, str_from(prefix_table[k].text))) {
                *with = &prefix_table[k];
                return u;
            }
        }
    }
    return NULL;
}

enum { MOST_NAMES = 8 * N_PREFIXES, LONGEST_NAME = 16 };

/* Write the known unit of this kind that the user probably meant to `to`: the same except
 * for upper and lower case, else the nearest. False if there is none. */
static bool find_meant(char to[LONGEST_NAME], str wrong, units_kind kind)
{
    assert(kind < UNITS_N_KINDS);
    char names[MOST_NAMES][LONGEST_NAME];
    const char *list[MOST_NAMES] = {0};
    size_t n = 0;
    for (size_t i = 0; i < (size_t)N_UNITS * N_PREFIXES && n < MOST_NAMES; i++) {
        const unit *u = &unit_table[i / N_PREFIXES];
        const prefix *p = &prefix_table[i % N_PREFIXES];
        if (u->kind != kind || !allows_unit(u, p))
            continue;
        snprintf(names[n], LONGEST_NAME, "%s%s", p->text, u->suffix);
        list[n] = names[n];
        n++;
    }
    const char *meant = NULL;
    for (size_t i = 0; i < n && meant == NULL; i++)
        if (strlen(list[i]) == wrong.n && strncasecmp(list[i], wrong.at, wrong.n) == 0)
            meant = list[i];
    if (meant == NULL)
        meant = str_nearest(wrong, list, n);
    if (meant != NULL)
        memcpy(to, meant, strlen(meant) + 1);
    return meant != NULL;
}

static halley_status refuse_unit(str text, str written, units_kind kind,
                                 halley_error *err)
{
    assert(kind < UNITS_N_KINDS);
    const kind_info *info = &kinds[kind];
    const prefix *with;
    const unit *other = find_unit(written, UNITS_N_KINDS, &with);
    if (written.n == 0)
        return error_set(err, HALLEY_EINVAL,
                         "%s needs a unit, such as \"%s\"; is \"%.*s\"", info->name,
                         info->example, STR_ARG(text));
    if (other != NULL && other->suffix[0] != '\0')
        return error_set(
            err, HALLEY_EINVAL, "%s is written like \"%s\"; \"%.*s\" is a unit of %s",
            info->name, info->example, STR_ARG(written), kinds[other->kind].name);
    char meant[LONGEST_NAME];
    if (find_meant(meant, written, kind))
        return error_set(err, HALLEY_EINVAL,
                         "%s is written like \"%s\"; \"%.*s\" is no unit of it, did you "
                         "mean \"%s\"?",
                         info->name, info->example, STR_ARG(written), meant);
    return error_set(err, HALLEY_EINVAL,
                     "%s is written like \"%s\"; \"%.*s\" is no unit of it", info->name,
                     info->example, STR_ARG(written));
}

static size_t skip_digits(str s, size_t i)
{
    assert(i <= s.n);
    while (i < s.n && s.at[i] >= '0' && s.at[i] <= '9')
        i++;
    return i;
}

/* Bytes of the number at the start of s, without its exponent; 0 when there is none. */
static size_t mantissa_length(str s)
{
    size_t i = s.n > 0 && (s.at[0] == '-' || s.at[0] == '+') ? 1 : 0;
    const size_t first = i;
    i = skip_digits(s, i);
    size_t n_digits = i - first;
    if (i < s.n && s.at[i] == '.') {
        const size_t end = skip_digits(s, i + 1);
        n_digits += end - i - 1;
        i = end;
    }
    return n_digits > 0 ? i : 0;
}

/* Bytes of an exponent at the start of s, and its value. "E" alone is exa, not one. */
static size_t exponent_length(str s, int *power)
{
    if (s.n < 2 || (s.at[0] != 'e' && s.at[0] != 'E'))
        return 0;
    const size_t first = s.at[1] == '-' || s.at[1] == '+' ? 2 : 1;
    const size_t end = skip_digits(s, first);
    if (end == first)
        return 0;
    int value = 0;
    for (size_t i = first; i < end; i++)
        value = value < 10000 ? 10 * value + (s.at[i] - '0') : value;
    *power = s.at[1] == '-' ? -value : value;
    return end;
}

static bool find_unit_scale(double *out, str mantissa, int power, double times,
                            double per)
{
    assert(times > 0 && per > 0);
    char text[512];
    if (mantissa.n > sizeof text - 16)
        return false;
    const int n = snprintf(text, sizeof text, "%.*se%d", STR_ARG(mantissa), power);
    double value;
    if (!number_read((str){text, (size_t)n}, &value) || !isfinite(value * times / per))
        return false;
    *out = value * times / per;
    return true;
}

halley_status units_parse(double *out, str text, units_kind kind, halley_error *err)
{
    assert(kind < UNITS_N_KINDS);
    const str all = str_trim(text);
    const kind_info *info = &kinds[kind];
    const str mantissa = {all.at, mantissa_length(all)};
    if (mantissa.n == 0)
        return error_set(err, HALLEY_EINVAL,
                         "%s is a number, such as \"%s\"; is \"%.*s\"", info->name,
                         info->example, STR_ARG(text));
    str rest = {all.at + mantissa.n, all.n - mantissa.n};
    int power = 0;
    const size_t n = exponent_length(rest, &power);
    rest = str_trim((str){rest.at + n, rest.n - n});
    const prefix *with = &prefix_table[0];
    const unit *u = find_unit(rest, kind, &with);
    double value = 0;
    const bool is_zero =
        rest.n == 0 && find_unit_scale(&value, mantissa, power, 1, 1) && value == 0;
    if (u == NULL && !is_zero)
        return refuse_unit(all, rest, kind, err);
    if (u != NULL && !find_unit_scale(&value, mantissa, power + with->power + u->power,
                                      with->times * u->times, u->per))
        return error_set(err, HALLEY_EINVAL, "%s is too large: \"%.*s\"", info->name,
                         STR_ARG(all));
    *out = value;
    return HALLEY_OK;
}

const char *units_name(units_kind kind)
{
    return kinds[kind].name;
}
