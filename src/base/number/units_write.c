/*
 * Write quantities to files with all digits. All common units are tried, and the shortest
 * text that reads back as the same bits is used. The base unit always works.
 */
#include "base/number/number.h"
#include "base/number/units.h"

#include <assert.h>
#include <string.h>

typedef struct file_unit {
    const char *text;
    double per; /* value of one unit in the kind's base unit */
} file_unit;

enum { MOST_UNITS = 6 };

/* The base unit is the last of each row. */
static const file_unit units[UNITS_N_KINDS][MOST_UNITS] = {
    [UNITS_COUNT] = {{"", 1}},
    [UNITS_BYTES] =
        {{" GB", 1e9}, {" GiB", 0x1p30}, {" MB", 1e6}, {" TB", 1e12}, {" B", 1}},
    [UNITS_BANDWIDTH] = {{" GB/s", 1e9},
                         {" GiB/s", 0x1p30},
                         {" TB/s", 1e12},
                         {" B/s", 1}},
    [UNITS_FLOPS] = {{" TFLOP/s", 1e12}, {" PFLOP/s", 1e15}, {" FLOP/s", 1}},
    [UNITS_TIME] = {{" us", 1e-6}, {" ns", 1e-9}, {" ms", 1e-3}, {" h", 3600}, {" s", 1}},
    [UNITS_POWER] = {{" kW", 1e3}, {" W", 1}},
    [UNITS_ENERGY] = {{" kWh", 3.6e6}, {" J", 1}},
    [UNITS_MONEY] = {{" USD", 1}},
    [UNITS_PRICE] = {{" USD/kWh", 1 / 3.6e6}, {" USD/J", 1}},
    [UNITS_RENT] = {{" USD/h", 1 / 3600.0}, {" USD/s", 1}},
    [UNITS_FREQUENCY] = {{" GHz", 1e9}, {" Hz", 1}},
    [UNITS_SHARE] = {{"", 1}},
};

/* Fifteen digits turn a quotient such as 0.012400000000000001 into 0.0124. */
static bool write_in(strbuf *to, double value, const file_unit *unit, units_kind kind)
{
    assert(unit != NULL);
    double rounded, back;
    if (!number_read(str_from(number_digits(value / unit->per, 15).at), &rounded))
        return false;
    to->n = 0;
    strbuf_double(to, rounded);
    strbuf_add(to, str_from(unit->text));
    return !to->failed && units_parse(&back, strbuf_str(to), kind, NULL) == HALLEY_OK &&
           number_is_same(back, value);
}

void units_write(strbuf *to, double value, units_kind kind)
{
    assert(kind < UNITS_N_KINDS);
    strbuf best = {0}, one = {0};
    for (int i = 0; i < MOST_UNITS && units[kind][i].text != NULL; i++) {
        if (!write_in(&one, value, &units[kind][i], kind) ||
            (best.n > 0 && one.n >= best.n))
            continue;
        best.n = 0;
        strbuf_add(&best, strbuf_str(&one));
    }
    if (best.n == 0) { /* no unit gives it in 15 digits: all 17 in the base unit */
        int last = 0;
        while (last + 1 < MOST_UNITS && units[kind][last + 1].text != NULL)
            last++;
        strbuf_double(&best, value);
        strbuf_add(&best, str_from(units[kind][last].text));
    }
    to->failed = to->failed || best.failed || one.failed;
    strbuf_add(to, strbuf_str(&best));
    strbuf_fini(&best);
    strbuf_fini(&one);
}
