/*
 * Distances between sets, and what an attacker can infer from them.
 *
 * Sets are compared in two ways. The first uses features: logarithms of counts and sums,
 * in standard deviations. The second uses runs: the share of all runs of four exact
 * nodes that both sets have, estimated from samples. The attack takes each known set,
 * finds the nearest synthesized set, and calls the known set a member if that distance
 * is small.
 */
#include "base/error.h"
#include "compare/compare.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NEAREST = 20 };

/* The scale of the distances: the standard deviation of each feature. */
static void find_scale(double scale[COMPARE_FEATURES], const halley_profile *p)
{
    const double n = (double)p->sets.n;
    for (int f = 0; f < COMPARE_FEATURES; f++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; i < p->sets.n; i++)
            sum += p->sets.at[i].features[f];
        for (size_t i = 0; i < p->sets.n; i++) {
            const double d = p->sets.at[i].features[f] - sum / n;
            squares += d * d;
        }
        const double deviation = sqrt(squares / n);
        scale[f] = deviation > 1e-9 ? deviation : 1;
    }
}

static double measure_distance_between(const compare_set *a, const compare_set *b,
                                       const double scale[COMPARE_FEATURES])
{
    double sum = 0;
    for (int f = 0; f < COMPARE_FEATURES; f++) {
        const double d = (a->features[f] - b->features[f]) / scale[f];
        sum += d * d;
    }
    return sqrt(sum / COMPARE_FEATURES);
}

static double count_shared(const compare_set *a, const compare_set *b)
{
    uint32_t i = 0, k = 0, n_both = 0, n_all = 0;
    while (n_all < COMPARE_SKETCH && (i < a->n_sketch || k < b->n_sketch)) {
        const uint64_t x = i < a->n_sketch ? a->sketch[i] : UINT64_MAX;
        const uint64_t y = k < b->n_sketch ? b->sketch[k] : UINT64_MAX;
        n_both += x == y;
        n_all++;
        i += x <= y;
        k += y <= x;
    }
    return n_all ? (double)n_both / n_all : 0;
}

/* The nearest set of p, except the one with index `but` (SIZE_MAX: no exception). */
static size_t find_nearest_set(double *distance, const halley_profile *p,
                               const compare_set *to, size_t but,
                               const double scale[COMPARE_FEATURES])
{
    assert(p->sets.n > 0);
    size_t best = SIZE_MAX;
    *distance = INFINITY;
    for (size_t i = 0; i < p->sets.n; i++) {
        const double d =
            i == but ? INFINITY : measure_distance_between(&p->sets.at[i], to, scale);
        if (d < *distance) {
            *distance = d;
            best = i;
        }
    }
    return best;
}

static double most_shared(const halley_profile *p, const compare_set *to)
{
    double most = 0;
    for (size_t i = 0; i < p->sets.n; i++)
        most = fmax(most, count_shared(&p->sets.at[i], to));
    return most;
}

static double take_median(double *values, size_t n)
{
    assert(n > 0);
    if (n == 0)
        return (double)NAN;
    mem_sort_doubles(values, n);
    return n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

static int by_distance(const void *a, const void *b)
{
    const halley_neighbour *const x = a, *const y = b;
    if (x->distance != y->distance)
        return x->distance < y->distance ? -1 : 1;
    return strcmp(x->synth, y->synth);
}

halley_status compare_near(halley_comparison *out, arena *memory,
                           const halley_profile *real, const halley_profile *synth,
                           halley_error *err)
{
    assert(real->sets.n > 0 && synth->sets.n > 0);
    double scale[COMPARE_FEATURES];
    const size_t most = real->sets.n > synth->sets.n ? real->sets.n : synth->sets.n;
    double *const distances = mem_array(most, sizeof *distances);
    halley_neighbour *const all = arena_array(memory, synth->sets.n, sizeof *all);
    if (!distances || !all) {
        free(distances);
        return error_nomem(err);
    }
    find_scale(scale, real);
    for (size_t i = 0; i < synth->sets.n; i++) {
        const compare_set *const s = &synth->sets.at[i];
        const size_t at = find_nearest_set(&distances[i], real, s, SIZE_MAX, scale);
        all[i] = (halley_neighbour){s->name, real->sets.at[at].name, distances[i],
                                    count_shared(s, &real->sets.at[at])};
    }
    out->nearest_median = take_median(distances, synth->sets.n);
    qsort(all, synth->sets.n, sizeof *all, by_distance);
    out->nearest = all;
    out->n_nearest = synth->sets.n < MOST_NEAREST ? synth->sets.n : MOST_NEAREST;
    for (size_t i = 0; i < real->sets.n; i++)
        (void)find_nearest_set(&distances[i], real, &real->sets.at[i], i, scale);
    out->nearest_real_median =
        real->sets.n > 1 ? take_median(distances, real->sets.n) : (double)NAN;
    free(distances);
    return HALLEY_OK;
}

/* 1 if x is above y, 1/2 for a tie, else 0. */
static double count_above(double x, double y)
{
    return x > y ? 1 : x == y ? 0.5 : 0;
}

/* The variance of the mean placement of a's scores among b's. */
static double placement_variance(const double *a, size_t n_a, const double *b, size_t n_b,
                                 double auc, bool flipped)
{
    assert(n_a > 0 && n_b > 0);
    assert(auc >= 0 && auc <= 1);
    double squares = 0;
    for (size_t i = 0; i < n_a; i++) {
        double sum = 0;
        for (size_t k = 0; k < n_b; k++)
            sum += flipped ? count_above(b[k], a[i]) : count_above(a[i], b[k]);
        const double d = sum / (double)n_b - auc;
        squares += d * d;
    }
    return n_a > 1 ? squares / (double)(n_a - 1) / (double)n_a : 0;
}

halley_status halley_auc_of(halley_auc *out, const double *members, size_t n_members,
                            const double *others, size_t n_others, halley_error *err)
{
    assert((members != NULL || n_members == 0) && (others != NULL || n_others == 0));
    if (n_members == 0 || n_others == 0)
        return error_set(err, HALLEY_EINVAL,
                         "an attack needs scores of members and of others; there are %zu "
                         "and %zu",
                         n_members, n_others);
    double sum = 0;
    for (size_t i = 0; i < n_members; i++)
        for (size_t k = 0; k < n_others; k++)
            sum += count_above(members[i], others[k]);
    const double auc = sum / (double)n_members / (double)n_others;
    const double variance =
        placement_variance(members, n_members, others, n_others, auc, false) +
        placement_variance(others, n_others, members, n_members, auc, true);
    const double half = 1.959964 * sqrt(variance);
    *out = (halley_auc){(uint32_t)n_members, (uint32_t)n_others, auc, fmax(0, auc - half),
                        fmin(1, auc + half)};
    assert(out->low <= out->auc && out->auc <= out->high);
    return HALLEY_OK;
}

static void score_nearness(double *features, double *runs, const halley_profile *of,
                           const halley_profile *synth,
                           const double scale[COMPARE_FEATURES])
{
    for (size_t i = 0; i < of->sets.n; i++) {
        double distance;
        (void)find_nearest_set(&distance, synth, &of->sets.at[i], SIZE_MAX, scale);
        features[i] = -distance;
        runs[i] = most_shared(synth, &of->sets.at[i]);
    }
}

halley_status compare_attack(halley_comparison *out, const halley_profile *synth,
                             const halley_profile *train, const halley_profile *holdout,
                             halley_error *err)
{
    assert(train->sets.n > 0 && holdout->sets.n > 0);
    const size_t n = train->sets.n, m = holdout->sets.n;
    double scale[COMPARE_FEATURES];
    double *const scores = mem_array(2 * (n + m), sizeof *scores);
    if (!scores)
        return error_nomem(err);
    double *const runs = scores + n + m;
    find_scale(scale, train);
    score_nearness(scores, runs, train, synth, scale);
    score_nearness(scores + n, runs + n, holdout, synth, scale);
    halley_status status =
        halley_auc_of(&out->by_features, scores, n, scores + n, m, err);
    if (status == HALLEY_OK)
        status = halley_auc_of(&out->by_runs, runs, n, runs + n, m, err);
    out->attacked = status == HALLEY_OK;
    free(scores);
    return status;
}
