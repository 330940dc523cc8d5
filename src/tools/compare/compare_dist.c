/*
 * Distributions as weighted values. Two of them are compared by the largest distance
 * between their distribution functions (Kolmogorov-Smirnov) and by the area between them
 * (first Wasserstein distance).
 */
#include "base/error.h"
#include "compare/compare.h"

#include <assert.h>
#include <math.h>
#include <string.h>

bool compare_dist_add(compare_dist *d, double value, double weight)
{
    assert(weight > 0);
    assert(!isnan(value));
    uint64_t bits;
    uint32_t at = (uint32_t)d->points.n;
    bool fresh;
    memcpy(&bits, &value, sizeof bits);
    if (!array_reserve(&d->points, 1) || !map64_put(&d->index, bits, &at, &fresh))
        return false;
    if (fresh)
        return array_push(&d->points, (compare_point){value, weight});
    d->points.at[at].weight += weight;
    return true;
}

void compare_dist_fini(compare_dist *d)
{
    map64_fini(&d->index);
    array_fini(&d->points);
}

static int order_points(const void *a, const void *b)
{
    const double x = ((const compare_point *)a)->value;
    const double y = ((const compare_point *)b)->value;
    return x < y ? -1 : x > y;
}

/* Makes a copy that is sorted by value. Nothing can be added to it. False: no memory. */
static bool sort_into(compare_dist *to, const compare_dist *d)
{
    *to = (compare_dist){0};
    if (!array_reserve(&to->points, d->points.n + 1))
        return false;
    to->points.n = d->points.n;
    if (d->points.n > 0) {
        memcpy(to->points.at, d->points.at, d->points.n * sizeof *d->points.at);
        qsort(to->points.at, to->points.n, sizeof *to->points.at, order_points);
    }
    return true;
}

static double sum_weights(const compare_dist *d, double *mean)
{
    double total = 0, sum = 0;
    for (size_t i = 0; i < d->points.n; i++) {
        total += d->points.at[i].weight;
        sum += d->points.at[i].weight * d->points.at[i].value;
    }
    *mean = total > 0 ? sum / total : (double)NAN;
    return total;
}

static void fill_quantiles(double out[HALLEY_N_QUANTILES], const compare_dist *d,
                           double total)
{
    assert(total >= 0);
    size_t at = 0;
    double below = 0;
    for (int q = 0; q < HALLEY_N_QUANTILES; q++) {
        const double want = total * q / (HALLEY_N_QUANTILES - 1);
        while (at + 1 < d->points.n && below + d->points.at[at].weight < want)
            below += d->points.at[at++].weight;
        out[q] = d->points.n ? d->points.at[at].value : (double)NAN;
    }
}

static void measure_spread(halley_spread *out, const compare_dist *real,
                           const compare_dist *synth)
{
    *out = (halley_spread){0};
    out->n_real = sum_weights(real, &out->mean_real);
    out->n_synth = sum_weights(synth, &out->mean_synth);
    fill_quantiles(out->real, real, out->n_real);
    fill_quantiles(out->synth, synth, out->n_synth);
    if (real->points.n == 0 || synth->points.n == 0) {
        out->ks = real->points.n == synth->points.n ? 0 : 1;
        out->wasserstein = real->points.n == synth->points.n ? 0 : (double)NAN;
        return;
    }
    double f = 0, g = 0, area = 0, last = 0;
    for (size_t i = 0, k = 0; i < real->points.n || k < synth->points.n;) {
        const double x = i < real->points.n ? real->points.at[i].value : INFINITY;
        const double y = k < synth->points.n ? synth->points.at[k].value : INFINITY;
        const double at = x < y ? x : y;
        area += i + k > 0 ? fabs(f - g) * (at - last) : 0;
        if (x <= at)
            f += real->points.at[i++].weight / out->n_real;
        if (y <= at)
            g += synth->points.at[k++].weight / out->n_synth;
        out->ks = fmax(out->ks, fabs(f - g));
        last = at;
    }
    if (out->ks < 1e-12) /* rounding errors of the sums */
        out->ks = area = 0;
    out->wasserstein =
        out->mean_real != 0 ? area / fabs(out->mean_real) : (area == 0 ? 0 : (double)NAN);
    assert(out->ks >= 0 && out->ks <= 1 + 1e-9);
    assert(out->wasserstein >= 0);
}

halley_status compare_dist_spread(halley_spread *out, const compare_dist *real,
                                  const compare_dist *synth, halley_error *err)
{
    compare_dist a = {0}, b = {0};
    const bool fine = sort_into(&a, real) && sort_into(&b, synth);
    if (fine)
        measure_spread(out, &a, &b);
    compare_dist_fini(&a);
    compare_dist_fini(&b);
    return fine ? HALLEY_OK : error_nomem(err);
}

bool compare_mix_add(compare_mix *m, str label, double weight)
{
    assert(weight >= 0);
    const uint32_t id =
        array_reserve(&m->weights, 1) ? intern_add(&m->labels, label) : HASH_NONE;
    if (id == HASH_NONE || (id >= m->weights.n && !array_push(&m->weights, 0)))
        return false;
    m->weights.at[id] += weight;
    return true;
}

void compare_mix_fini(compare_mix *m)
{
    intern_fini(&m->labels);
    array_fini(&m->weights);
}
