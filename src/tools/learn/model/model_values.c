/*
 * What a template stores about a condition of its sets. Most templates cover few sets,
 * and the exact values of these would identify them. But most conditions are independent
 * of the template. So the counts of a template come from the most general of three
 * distributions that is accurate enough:
 *
 *   1. The distribution over all sets.
 *   2. Classes (0, 1, more; each text) in the template's own shares, and values within a
 *      class as in all sets. A template is typical of tensor parallelism, for example,
 *      whatever its degree.
 *   3. Every value in the template's own share.
 *
 * The Bayesian information criterion decides: the log-likelihood of the template's own
 * sets, minus half the logarithm of their number for each stored share. A group that
 * fewer than k of its sets have counts as if none had it. Counts are whole sets;
 * rounding assigns the rest to the largest remainders.
 */
#include "learn/model/model_values.h"

#include <assert.h>
#include <math.h>
#include <string.h>

typedef struct shares {
    double p[MODEL_VALUES];
} shares;

/* The shares over all sets. */
static shares of_all(const model_condition *of, uint32_t n_sets)
{
    assert(n_sets > 0);
    shares s = {{0}};
    double left = n_sets;
    for (uint32_t v = 0; v < of->n_values && v < MODEL_ABSENT; v++) {
        s.p[v] = (double)of->values[v].n_sets / n_sets;
        left -= of->values[v].n_sets;
    }
    s.p[MODEL_ABSENT] = fmax(0, left) / n_sets;
    return s;
}

/* The groups (classes, or values) in the shares of the template, if at least k sets have
 * them. Within a group the shares are those of `general`. */
static shares refine_shares(const shares *general, const uint32_t *values,
                            const uint32_t *group, uint32_t k)
{
    double own[CONDITION_KINDS] = {0}, all[CONDITION_KINDS] = {0}, kept = 0;
    shares s = {{0}};
    for (uint32_t v = 0; v < MODEL_VALUES; v++) {
        own[group[v]] += values[v];
        all[group[v]] += general->p[v];
    }
    for (uint32_t g = 0; g < CONDITION_KINDS; g++) {
        own[g] = own[g] >= k ? own[g] : 0;
        kept += own[g];
    }
    for (uint32_t v = 0; v < MODEL_VALUES && kept > 0; v++)
        if (all[group[v]] > 0)
            s.p[v] = general->p[v] / all[group[v]] * own[group[v]] / kept;
    return kept > 0 ? s : *general;
}

/* The number of shares to store: one less than the number of groups that occur. */
static double count_told(const shares *general, const uint32_t *group)
{
    bool seen[CONDITION_KINDS] = {0};
    double n = -1;
    for (uint32_t v = 0; v < MODEL_VALUES; v++) {
        n += general->p[v] > 0 && !seen[group[v]];
        seen[group[v]] |= general->p[v] > 0;
    }
    return fmax(0, n);
}

/* The log-likelihood of the template's own sets. No value has less than probability 1 /
 * (2 n). */
static double measure_likelihood(const shares *s, const uint32_t *values, double n)
{
    assert(n > 0);
    double sum = 0;
    for (uint32_t v = 0; v < MODEL_VALUES; v++)
        if (values[v] > 0)
            sum += values[v] * log(fmax(s->p[v], 0.5 / n));
    return sum;
}

/* Rounds the shares of n sets to whole sets. */
static void to_counts(uint32_t *values, const shares *s, uint32_t n)
{
    assert(n > 0);
    double rest[MODEL_VALUES];
    uint32_t left = n;
    for (uint32_t v = 0; v < MODEL_VALUES; v++) {
        values[v] = (uint32_t)(s->p[v] * n + 1e-9);
        values[v] = values[v] < left ? values[v] : left;
        rest[v] = s->p[v] * n - values[v];
        left -= values[v];
    }
    for (; left > 0; left--) {
        uint32_t most = 0;
        for (uint32_t v = 1; v < MODEL_VALUES; v++)
            most = rest[v] > rest[most] + 1e-9 ? v : most;
        values[most]++;
        rest[most]--;
    }
}

void model_values_keep(uint32_t values[MODEL_VALUES], const model_condition *of,
                       uint32_t n_sets, uint32_t k)
{
    assert(k > 0);
    uint32_t kind[MODEL_VALUES], each[MODEL_VALUES], n = 0;
    for (uint32_t v = 0; v < MODEL_VALUES; v++) {
        const bool is_value = v < of->n_values || v == MODEL_ABSENT;
        kind[v] = is_value ? conditions_kind(of, v) : v;
        each[v] = v;
        n += values[v];
    }
    if (n == 0 || k < 2) /* everything may be stored */
        return;
    const shares all = of_all(of, n_sets);
    const shares kinds = refine_shares(&all, values, kind, k);
    const shares own = refine_shares(&kinds, values, each, k);
    const struct {
        const shares *s;
        double cost;
    } ways[] = {
        {&all, 0}, {&kinds, count_told(&all, kind)}, {&own, count_told(&all, each)}};
    const shares *best = ways[0].s;
    double most = measure_likelihood(best, values, n) - 0.5 * ways[0].cost * log(n);
    for (uint32_t i = 1; i < sizeof ways / sizeof *ways; i++) {
        const double score =
            measure_likelihood(ways[i].s, values, n) - 0.5 * ways[i].cost * log(n);
        if (score > most) {
            most = score;
            best = ways[i].s;
        }
    }
    to_counts(values, best, n);
}
