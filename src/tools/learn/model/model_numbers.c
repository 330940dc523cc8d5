/*
 * The values of a numeric condition. A number that at least k sets have is stored
 * exactly. The other numbers are sorted and cut into groups of neighbours. Each group is
 * stored as its mean, to three digits, and the standard deviation of its logarithms.
 * Numbers that are too few for a group join the group before them or, if there is none,
 * the nearest stored number.
 *
 * The numbers come from the portraits (joint.c): those of all sets, or of a random
 * sample.
 */
#include "learn/model/model_numbers.h"

#include "learn/model/conditions.h"

#include <assert.h>
#include <math.h>

/* If more than this many numbers are shared by k sets, only those of one in that many
 * sets are exact. */
enum { MAX_SINGLES = 20 };

/* The numbers of a condition in the portraits, in ascending order. NULL: no memory. */
static double *list_numbers(const synth_model *m, uint32_t id, uint32_t *n)
{
    assert(id < m->conditions.n);
    double *const out = mem_array(m->portraits.n, sizeof *out);
    *n = 0;
    for (size_t i = 0; out && i < m->portraits.n; i++)
        if (!isnan(m->portraits.at[i].number[id]))
            out[(*n)++] = m->portraits.at[i].number[id];
    if (out)
        mem_sort_doubles(out, *n);
    return out;
}

static double to_three_digits(double x)
{
    if (!(x > 0))
        return 0;
    const double unit = pow(10, floor(log10(x)) - 2);
    return round(x / unit) * unit;
}

/* The stored value of n numbers in ascending order. */
static model_value value_of_numbers(const double *x, uint32_t n)
{
    assert(n > 0 && x[0] <= x[n - 1]);
    model_value v = {.number = x[0],
                     .text = MODEL_NONE,
                     .n_sets = n,
                     .n_exact = n,
                     .feature = MODEL_NONE};
    double sum = 0, square = 0;
    if (x[0] == x[n - 1])
        return v;
    for (uint32_t i = 0; i < n; i++) {
        const double y = log(x[i] + 0.5);
        sum += y;
        square += y * y;
    }
    const double mean = sum / n, variance = square / n - mean * mean;
    v.n_exact = 0;
    v.number = to_three_digits(exp(mean) - 0.5);
    v.spread = variance > 0 ? sqrt(variance) : 0;
    return v;
}

/* Counts the numbers that at least `often` sets have. With `c`, moves them from the list
 * to its values. *left is the number of those left in the list. */
static uint32_t take_singles(model_condition *c, double *x, uint32_t *left,
                             uint32_t often)
{
    assert(often > 0);
    const uint32_t n = *left;
    uint32_t n_singles = 0, rest = 0;
    for (uint32_t i = 0, m; i < n; i += m) {
        for (m = 1; i + m < n && x[i + m] == x[i];)
            m++;
        n_singles += m >= often;
        if (c && m >= often)
            c->values[c->n_values++] = value_of_numbers(x + i, m);
        for (uint32_t k = 0; c && m < often && k < m; k++)
            x[rest++] = x[i];
    }
    *left = c ? rest : n;
    return n_singles;
}

static void take_number_groups(model_condition *c, const double *x, uint32_t n,
                               uint32_t each, uint32_t k)
{
    assert(each > 0);
    for (uint32_t i = 0, m; i < n; i += m) {
        m = n - i < 2 * each ? n - i : each;
        if (m >= each || (m >= k && i == 0))
            c->values[c->n_values++] = value_of_numbers(x + i, m);
        else if (c->n_values > 0) {
            const condition at = {.number = x[i]};
            c->values[conditions_value(NULL, c, &at)].n_sets += m;
        }
    }
}

static int order_values(const void *a, const void *b)
{
    const double x = ((const model_value *)a)->number;
    const double y = ((const model_value *)b)->number;
    return (x > y) - (x < y);
}

/* Scales counts of the portraits, which may cover only some sets, to all sets. */
static void scale_counts(model_condition *c, uint32_t n)
{
    for (uint32_t i = 0; n > 0 && c->n_sets > n && i < c->n_values; i++)
        c->values[i].n_sets =
            (uint32_t)round((double)c->values[i].n_sets * c->n_sets / n);
}

bool model_numbers_keep(model_condition *c, const synth_model *from, uint32_t id,
                        const model_numbers_opts *opts)
{
    uint32_t n, often = opts->k;
    double *const x = list_numbers(from, id, &n);
    assert(id < from->conditions.n && !from->conditions.at[id].is_text);
    if (!x)
        return false;
    const uint32_t n_all = n;
    c->n_values = 0;
    if (take_singles(NULL, x, &n, often) > MAX_SINGLES && n / MAX_SINGLES >= often)
        often = n / MAX_SINGLES + 1;
    (void)take_singles(c, x, &n, often);
    assert(c->n_values < MODEL_ABSENT);
    const uint32_t room = n / (MODEL_ABSENT - c->n_values) + 1;
    take_number_groups(c, x, n, room > opts->for_mean ? room : opts->for_mean, opts->k);
    free(x);
    if (c->n_values > 0)
        qsort(c->values, c->n_values, sizeof *c->values, order_values);
    scale_counts(c, n_all);
    return true;
}
