/*
 * That k sets have something in common does not hide who they are: a law fitted to few
 * sets fits those better than others, and who holds the model can tell (likelihood.c).
 * What one set can change about a number of the model is about 1/n of what sets differ
 * by; what chance makes of n sets is 1/sqrt(n) of it. So noise of NOISE times what chance
 * does anyway hides a set among the others, and costs little beside what is not known in
 * the first place:
 *
 * - coefficients of a law: as if each set's number had been off by NOISE times the law's
 *   spread, which has the covariance spread^2 (X'X)^-1; exact laws stay exact;
 * - spreads by NOISE/sqrt(2n); shares of a histogram by NOISE/sqrt(n), with a little of a
 *   normal distribution so that no deviation is impossible;
 * - ranges wider, by what one more set would have widened them, a few times over;
 * - counts of contexts, templates, values and branches by NOISE times their root; values
 *   that fewer than k sets of a template have are not told.
 *
 * Laws that are not exact need SURE times as many sets as what is kept otherwise (but no
 * more than one in SURE of all), exact ones two sets more for every condition in them:
 * with fewer, a law says what those few sets are and not what holds. This bounds what is
 * measured (doc/synthesis.md), it is no proof of differential privacy. The seed is a hash
 * of all that was summed up: nobody can take the noise away who does not have all the
 * traces.
 */
#include "synth/blur.h"

#include "base/rng.h"
#include "synth/law.h"

#include <math.h>
#include <stdlib.h>

#define NOISE 2.0
enum { SURE = 4, WIDER = 3, MAX_P = MODEL_FEATURES };

/* The lower triangle G of G G' = X'X over the features in use; false: not definite. */
static bool split(double g[MAX_P][MAX_P], const double *xx, const uint32_t *in,
                  uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0; j <= i; j++) {
            double sum = xx[model_pair_index(in[i], in[j])];
            const double whole = sum;
            for (uint32_t k = 0; k < j; k++)
                sum -= g[i][k] * g[j][k];
            if (i == j && !(sum > 1e-9 * whole))
                return false;
            g[i][j] = i == j ? sqrt(sum) : sum / g[j][j];
        }
    return true;
}

/* Adds noise with the covariance scale^2 (X'X)^-1: solves G' x = noise. */
static void blur_coefficients(model_law *law, const model_sum *s, double scale,
                              rng *random)
{
    double g[MAX_P][MAX_P], x[MAX_P];
    uint32_t in[MAX_P], n = 0;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        if (law->coefficient[i] != 0)
            in[n++] = i;
    if (!split(g, s->xx, in, n))
        return;
    for (uint32_t i = n; i-- > 0;) {
        x[i] = rng_normal(random);
        for (uint32_t k = i + 1; k < n; k++)
            x[i] -= g[k][i] * x[k];
        x[i] /= g[i][i];
        law->coefficient[in[i]] += scale * x[i];
    }
}

static void blur_hist(model_law *law, double noise, rng *random)
{
    double sum = 0, normal[MODEL_BUCKETS], all = 0;
    const double within = fmax((double)law->within, MODEL_WIDTH);
    for (int i = 0; i < MODEL_BUCKETS; i++) {
        const double at = (i + 0.5 - MODEL_BUCKETS / 2.0) * MODEL_WIDTH / within;
        normal[i] = exp(-0.5 * at * at);
        all += normal[i];
        law->hist[i] *= (float)exp(noise * rng_normal(random));
        sum += (double)law->hist[i];
    }
    for (int i = 0; i < MODEL_BUCKETS && sum > 0; i++)
        law->hist[i] =
            (float)(0.99 * (double)law->hist[i] / sum + 0.01 * normal[i] / all);
}

static uint32_t conditions_in(const model_law *law)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < MODEL_FEATURES; i++)
        n += law->coefficient[i] != 0;
    return n;
}

/* `most`: sets that are asked for at most, so that little can be learned of few, too. */
static bool is_sure(const model_law *law, uint32_t k, uint32_t most)
{
    const bool exact = law->spread == 0 && law->within <= 1e-3F;
    const uint32_t wanted =
        exact ? k + 2 * (conditions_in(law) - (law->coefficient[FEATURE_ONE] != 0))
              : SURE * k;
    return law->n_sets >= (wanted < most ? wanted : most);
}

static void blur_law(model_law *law, const model_sum *s, rng *random)
{
    const double n = law->n_sets;
    const float wider =
        isfinite(law->high - law->low) ? WIDER * (law->high - law->low) / (float)n : 0;
    if (law->spread > 0) {
        const double scale = NOISE * (double)law->spread * sqrt(s->n / n);
        blur_coefficients(law, s, scale, random);
        law->spread *= (float)exp(NOISE / sqrt(2 * n) * rng_normal(random));
    }
    if (law->zero > 0 && law->zero < 1) {
        const double z = (double)law->zero;
        law->zero = (float)fmin(
            fmax(z + NOISE * sqrt(z * (1 - z) / n) * rng_normal(random), 0), 1);
    }
    if (law->within > 1e-3F)
        blur_hist(law, NOISE / sqrt(n), random);
    law->low -= wider;
    law->high += wider;
}

static void blur_laws(synth_model *m, const synth_model *from, uint32_t k, rng *random)
{
    const uint32_t part = m->head.at[0].n_sets / SURE, most = part > k ? part : k;
    size_t n = 0;
    for (size_t i = 0; i < m->laws.n; i++) {
        model_law law = m->laws.at[i];
        const uint32_t id = map64_find(&from->law_of, law.key);
        if (id != HASH_NONE) {
            if (!is_sure(&law, k, most))
                continue;
            blur_law(&law, &from->sums.at[id], random);
        }
        m->laws.at[n++] = law;
    }
    m->laws.n = n;
}

/* A count of `n` things in `sets` sets; at least `least`. */
static uint32_t blur_count(uint32_t n, double sets, uint32_t least, rng *random)
{
    const double to = round(n * exp(NOISE / sqrt(sets) * rng_normal(random)));
    return to < least ? least : to > 4e9 ? n : (uint32_t)to;
}

static void blur_counts(synth_model *m, uint32_t k, rng *random)
{
    for (size_t i = 0; i < m->next.n; i++)
        m->next.at[i].n = blur_count(m->next.at[i].n, m->next.at[i].n_sets, 1, random);
    for (size_t i = 0; i < m->templates.n; i++) {
        model_template *const t = &m->templates.at[i];
        t->n_sets = blur_count(t->n_sets, t->n_sets, k, random);
        for (size_t c = 0; c < m->conditions.n; c++)
            for (uint32_t v = 0; v < MODEL_VALUES; v++) {
                uint32_t *const n = &t->values[c][v];
                *n = *n < k ? 0 : blur_count(*n, *n, k, random);
            }
    }
    for (size_t i = 0; i < m->branches.n; i++) {
        model_branch *const b = &m->branches.at[i];
        for (uint32_t j = 0; j < b->n; j++) {
            model_share *const s = &m->shares.at[b->first + j];
            const uint32_t to = blur_count(s->n_sets, s->n_sets, k, random);
            b->n_sets += to - s->n_sets;
            s->n_sets = to;
        }
    }
}

void model_blur(synth_model *m, const synth_model *from)
{
    const uint32_t k = m->head.at[0].min_support;
    if (k < 2) /* all may be known */
        return;
    const uint64_t seed =
        hash_bytes(from->sums.at, from->sums.n * sizeof *from->sums.at, 1);
    rng random = rng_seed(seed);
    blur_laws(m, from, k, &random);
    blur_counts(m, k, &random);
}
