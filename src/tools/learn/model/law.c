/*
 * Laws. In training, sizes are monomials such as tokens x hidden / tensor-parallel
 * ranks. So the logarithm of a number is a linear function of the logarithms of the
 * conditions. Least squares finds the exponents from sums over sets, so sets are added
 * one at a time and none is kept. The fit adds conditions one by one, the one that
 * explains most first.
 *
 * A loop count has an exact law where a sum of monomials fits every sampled count
 * (law_exact.c). Otherwise it has the least-squares fit, limited to the range seen.
 */
#include "learn/model/law.h"

#include <assert.h>
#include <math.h>
#include <string.h>

void law_point_add(law_point *p, uint32_t feature, double value)
{
    assert(feature < MODEL_FEATURES && p->n < MODEL_FEATURES);
    assert(isfinite(value));
    if (p->n == MODEL_FEATURES || value == 0)
        return;
    p->feature[p->n] = feature;
    p->value[p->n++] = value;
}

/* The sums that a fit uses. */
typedef struct model_sums {
    const double *xx, *xy;
    double yy, n;
} model_sums;

static void sum_products(double *xx, const law_point *p)
{
    assert(p->n <= MODEL_FEATURES);
    for (uint32_t i = 0; i < p->n; i++)
        for (uint32_t j = 0; j <= i; j++)
            xx[model_pair_index(p->feature[i], p->feature[j])] +=
                p->value[i] * p->value[j];
}

void law_sum_add(model_sum *s, const law_point *p, double y)
{
    assert(isfinite(y));
    sum_products(s->xx, p);
    for (uint32_t i = 0; i < p->n; i++)
        s->xy[p->feature[i]] += p->value[i] * y;
    s->yy += y * y;
    s->n++;
}

void law_sum_nodes(model_sum *s, double n, double variance, double zeros)
{
    assert(n > 0 && variance >= 0);
    s->noise += variance / n;
    s->n_single += n == 1;
    s->n_nodes += n + zeros;
    s->n_none += zeros;
}

/* Keeps the smallest MODEL_ENDS values in ascending order. */
static void keep_smallest(float *ends, uint32_t *n, double value)
{
    assert(*n <= MODEL_ENDS);
    uint32_t at = *n;
    while (at > 0 && (double)ends[at - 1] > value)
        at--;
    if (at == MODEL_ENDS)
        return;
    *n += *n < MODEL_ENDS;
    for (uint32_t i = *n - 1; i > at; i--)
        ends[i] = ends[i - 1];
    ends[at] = (float)value;
}

void law_sum_ends(model_sum *s, double mean, double least, double most)
{
    assert(least <= most);
    const double at[] = {mean, -mean, least, -most};
    for (int i = 0; i < 4; i++)
        keep_smallest(s->ends[i], &s->n_ends[i], at[i]);
}

void law_sum_deviation(model_sum *s, double deviation)
{
    const double at = deviation / MODEL_WIDTH + MODEL_BUCKETS / 2.0;
    const int last = MODEL_BUCKETS - 1;
    s->hist[at < 0 ? 0 : at > last ? last : (int)at]++;
    s->within += deviation * deviation;
    s->n_within++;
}

/* The bucket of a logarithm modulo MODEL_WIDTH * MODEL_CIRCLE. The origin is fixed, so
 * it reveals nothing about any set. A law whose numbers span less than one turn
 * determines which turn is meant. */
uint32_t law_circle_at(double y)
{
    const double turn = y / (MODEL_WIDTH * MODEL_CIRCLE);
    const uint32_t at = (uint32_t)((turn - floor(turn)) * MODEL_CIRCLE);
    assert(at < MODEL_CIRCLE);
    return at < MODEL_CIRCLE ? at : MODEL_CIRCLE - 1;
}

uint32_t law_plain_bucket(const model_law *law, uint32_t in_circle)
{
    assert(in_circle < MODEL_CIRCLE);
    const uint32_t mean = law_circle_at(law->coefficient[FEATURE_ONE] + MODEL_WIDTH / 2);
    const uint32_t at =
        (in_circle + MODEL_CIRCLE - mean + MODEL_CIRCLE / 2) % MODEL_CIRCLE;
    const uint32_t first = (MODEL_CIRCLE - MODEL_BUCKETS) / 2;
    return at < first ? 0 : at - first < MODEL_BUCKETS ? at - first : MODEL_BUCKETS - 1;
}

/* The normal equations with the logarithms as last row and column, for the sweep
 * operator. */
enum { TABLE = MODEL_FEATURES + 1, OF_Y = MODEL_FEATURES };
typedef struct table {
    double at[TABLE][TABLE];
    double start[MODEL_FEATURES]; /* diagonal before any sweep */
    bool in[MODEL_FEATURES];
} table;

static void fill_table(table *t, const double *xx, const double *xy, double yy)
{
    memset(t->in, 0, sizeof t->in);
    for (uint32_t i = 0; i < MODEL_FEATURES; i++) {
        for (uint32_t j = 0; j < MODEL_FEATURES; j++)
            t->at[i][j] = xx[model_pair_index(i, j)];
        t->at[i][OF_Y] = t->at[OF_Y][i] = xy[i];
        t->start[i] = t->at[i][i];
    }
    t->at[OF_Y][OF_Y] = yy;
}

/* Sweeps in a feature: removes its part from the other features and from the
 * logarithms. */
static void sweep_feature(table *t, uint32_t k)
{
    assert(k < MODEL_FEATURES);
    const double pivot = t->at[k][k];
    for (uint32_t i = 0; i < TABLE; i++) {
        const double f = t->at[i][k] / pivot;
        if (i == k || f == 0)
            continue;
        for (uint32_t j = 0; j < TABLE; j++)
            if (j != k)
                t->at[i][j] -= f * t->at[k][j];
        t->at[i][k] = -f;
    }
    for (uint32_t j = 0; j < TABLE; j++)
        if (j != k)
            t->at[k][j] /= pivot;
    t->at[k][k] = 1 / pivot;
    t->in[k] = true;
}

/* The feature that explains most of the residual, or MODEL_NONE. Features that are
 * almost linearly dependent on those already used are skipped. */
static uint32_t best_feature(const table *t, double *gain)
{
    uint32_t best = MODEL_NONE;
    *gain = 0;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++) {
        if (t->in[i] || t->start[i] <= 0 || t->at[i][i] < 1e-7 * t->start[i])
            continue;
        const double g = t->at[i][OF_Y] * t->at[i][OF_Y] / t->at[i][i];
        if (g > *gain * (1 + 1e-9)) {
            *gain = g;
            best = i;
        }
    }
    return best;
}

/* The extended Bayesian information criterion of a fit; smaller is better. It adds a
 * penalty per feature to the log-likelihood of the residuals. The penalty grows with the
 * number of candidates. */
static double weigh_fit(const table *t, double n, double used, double n_features)
{
    const double left = fmax(t->at[OF_Y][OF_Y], 0) / n + 1e-10;
    return n * log(left) + used * (log(n) + 2 * log(n_features));
}

static uint32_t count_features(const table *t)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        n += t->start[i] > 0;
    return n;
}

static void take_coefficients(double *c, const table *t)
{
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        c[i] = t->in[i] ? t->at[i][OF_Y] : 0;
}

/* Forward selection: adds features one by one, the most explanatory first. Keeps the
 * number of features with the best criterion, so that few sets are explained by few
 * conditions. */
static void solve_law(double *c, const model_sums *s)
{
    enum { PATIENCE = 4 }; /* features in a row that may fail to improve the criterion */
    table t;
    fill_table(&t, s->xx, s->xy, s->yy);
    memset(c, 0, MODEL_FEATURES * sizeof *c);
    if (t.at[0][0] <= 0)
        return;
    sweep_feature(&t, FEATURE_ONE);
    take_coefficients(c, &t);
    const double n_features = count_features(&t);
    double best = weigh_fit(&t, s->n, 1, n_features);
    uint32_t since = 0;
    for (double n = 1; n < MODEL_FEATURES && 3 * n < s->n && since < PATIENCE; n++) {
        double gain;
        const uint32_t next = best_feature(&t, &gain);
        if (next == MODEL_NONE || t.at[OF_Y][OF_Y] < 1e-12 * s->n)
            break;
        sweep_feature(&t, next);
        const double now = weigh_fit(&t, s->n, n + 1, n_features);
        since = now < best ? 0 : since + 1;
        if (since > 0)
            continue;
        best = now;
        take_coefficients(c, &t);
    }
}

double law_left_over(const double *c, const double *xx, const double *xy, double yy)
{
    assert(yy >= 0);
    double sum = yy;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++) {
        double row = 0;
        for (uint32_t j = 0; j < MODEL_FEATURES; j++)
            row += xx[model_pair_index(i, j)] * c[j];
        sum += c[i] * (row - 2 * xy[i]);
    }
    return sum > 0 ? sum : 0;
}

void law_fit_ends(model_law *law, const model_sum *s, uint32_t k)
{
    assert(k > 0);
    float *const to[] = {&law->low, &law->high, &law->least, &law->most};
    for (int i = 0; i < 4; i++) {
        const uint32_t n = s->n_ends[i];
        if (n == 0)
            continue;
        const float end = s->ends[i][(k < n ? k : n) - 1];
        if (law->plain != 0 && i < 2) /* sets have no means of their own */
            continue;
        *to[i] = floorf(end * 8) / 8 * (i % 2 == 0 ? 1 : -1);
    }
}

/* True if sets differ by chance alone and the numbers span less than one turn of the
 * circle. */
static bool is_plain_law(const model_law *law, const model_sum *s)
{
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        if (i != FEATURE_ONE && law->coefficient[i] != 0)
            return false;
    const double range = -(double)s->ends[3][0] - (double)s->ends[2][0];
    return law->within > 1e-3F && s->n_ends[2] > 0 && s->n_ends[3] > 0 &&
           range < (MODEL_CIRCLE - 8) * MODEL_WIDTH && law->spread <= 0.2F * law->within;
}

/* Fits a plain law. Deviations from the means of sets are inaccurate where sets have few
 * nodes. Where all means are equal, the distribution of the nodes themselves is more
 * accurate. */
static void fit_plain(model_law *law, const model_sum *s)
{
    assert(law->plain == 0);
    double n = 0;
    law->plain = 1;
    law->coefficient[FEATURE_ONE] =
        floor(law->coefficient[FEATURE_ONE] / MODEL_WIDTH) * MODEL_WIDTH;
    memset(law->hist, 0, sizeof law->hist);
    for (uint32_t i = 0; i < MODEL_CIRCLE; i++)
        n += s->circle[i];
    for (uint32_t i = 0; i < MODEL_CIRCLE; i++)
        law->hist[law_plain_bucket(law, i)] += (float)(s->circle[i] / n);
}

void law_fit(model_law *law, const model_sum *s)
{
    assert(s->n >= 0);
    const double n = s->n + s->zeros;
    law->zero = n > 0 ? (float)(s->zeros / n) : 0;
    if (s->n == 0)
        return;
    solve_law(law->coefficient, &(model_sums){s->xx, s->xy, s->yy, s->n});
    /* The mean of few nodes has a sampling error, which is not a difference between
     * sets. */
    const double rest = law_left_over(law->coefficient, s->xx, s->xy, s->yy) / s->n;
    const double single = s->n_within > 0 ? s->within / s->n_within : 0;
    const double noise = (s->noise + s->n_single * single) / s->n;
    const double spread = rest > noise ? sqrt(rest - noise) : 0;
    law->spread = spread < 1e-4 ? 0 : (float)spread;
    law->none = s->n_nodes > 0 ? (float)(s->n_none / s->n_nodes) : 0;
    if (s->n_within == 0)
        return;
    law->within = (float)sqrt(s->within / s->n_within);
    for (int i = 0; i < MODEL_BUCKETS; i++)
        law->hist[i] = (float)(s->hist[i] / s->n_within);
    if (is_plain_law(law, s))
        fit_plain(law, s);
    assert(law->spread >= 0 && law->within >= 0);
}

void law_fit_feature(model_law *law, const model_sum *s, uint32_t feature, uint64_t from)
{
    assert(feature < MODEL_FEATURES);
    model_sum own = {.n = s->n, .yy = s->xx[model_pair_index(feature, feature)]};
    for (uint32_t i = 0; i < MODEL_FEATURES; i++) {
        if ((from >> i & 1) == 0)
            continue;
        own.xy[i] = s->xx[model_pair_index(feature, i)];
        for (uint32_t j = 0; j <= i; j++)
            if ((from >> j & 1) != 0)
                own.xx[model_pair_index(i, j)] = s->xx[model_pair_index(i, j)];
    }
    law_fit(law, &own);
}

double law_log(const double *coefficient, const law_point *p)
{
    assert(p->n <= MODEL_FEATURES);
    double y = 0;
    for (uint32_t i = 0; i < p->n; i++)
        y += coefficient[p->feature[i]] * p->value[i];
    return y;
}

void law_loop_add(model_loop_sum *s, const law_point *p, uint32_t count, uint32_t stage,
                  uint32_t n_stages)
{
    assert(count > 0 && stage < n_stages);
    const double y = log(count);
    sum_products(s->xx, p);
    for (uint32_t i = 0; i < p->n; i++)
        s->xy[p->feature[i]] += p->value[i] * y;
    s->yy += y * y;
    s->n++;
    s->total += count;
    s->low = s->high == 0 || count < s->low ? count : s->low;
    s->high = count > s->high ? count : s->high;
    law_samples_add(&s->samples, p, count, stage, n_stages);
}

void law_loop_fit(model_loop *loop, const model_loop_sum *s)
{
    if (s->n == 0 || law_exact_fit(loop, &s->samples))
        return;
    solve_law(loop->coefficient, &(model_sums){s->xx, s->xy, s->yy, s->n});
    const double left = law_left_over(loop->coefficient, s->xx, s->xy, s->yy) / s->n;
    loop->error = (float)(sqrt(left) * s->total / s->n);
    loop->low = (uint32_t)exp2(floor(log2(fmax(s->low, 1))));
    loop->high = (uint32_t)exp2(ceil(log2(fmax(s->high, 1))));
}

double law_loop_count(const model_loop *loop, const law_point *p, uint32_t stage,
                      uint32_t n_stages)
{
    assert(stage < n_stages);
    if (loop->exact.is_found)
        return law_exact_count(&loop->exact, p, stage, n_stages);
    /* An exact law may extrapolate. A least-squares fit may not. */
    return fmin(fmax(exp(law_log(loop->coefficient, p)), loop->low), loop->high);
}
