/*
 * Losses and draws. A mixture of logistic distributions has the density
 *
 *     sum over k of weight_k z_k / (scale_k (1 + z_k)^2),
 *     z_k = exp(-|y - centre_k| / scale_k)
 *
 * Its logarithm is computed as a log-sum-exp: per component, relative to the largest
 * one.
 */
#include "learn/neural/nn.h"

#include <assert.h>
#include <math.h>

/* Softmax of the scores in place. Returns the logarithm of the sum of exponentials. */
static double apply_softmax(nn_real *score, uint32_t n)
{
    assert(n > 0);
    nn_real top = score[0];
    for (uint32_t i = 1; i < n; i++)
        top = score[i] > top ? score[i] : top;
    nn_real sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        score[i] = nn_exp(score[i] - top);
        sum += score[i];
    }
    for (uint32_t i = 0; i < n; i++)
        score[i] /= sum;
    return (double)top + log(sum > 0 ? (double)sum : 1);
}

double nn_softmax_loss(nn_real *score, const uint32_t *target, uint32_t n_rows,
                       uint32_t n_classes)
{
    assert(n_classes > 0);
    double loss = 0;
    for (uint32_t i = 0; i < n_rows; i++, score += n_classes) {
        if (target[i] == NN_NO_ROW) {
            for (uint32_t j = 0; j < n_classes; j++)
                score[j] = 0;
            continue;
        }
        const double wanted = (double)score[target[i]];
        loss += apply_softmax(score, n_classes) - wanted;
        score[target[i]] -= 1;
    }
    return loss;
}

double nn_bernoulli_loss(nn_real *score, const uint8_t *target, size_t n)
{
    double loss = 0;
    for (size_t i = 0; i < n; i++) {
        const double x = (double)score[i];
        loss += (x > 0 ? x : 0) - (target[i] ? x : 0) + log1p(exp(-fabs(x)));
        score[i] = nn_sigmoid(score[i]) - target[i];
    }
    return loss;
}

/* The scale of a component with a smooth lower bound, and the derivative of its
 * logarithm by the score. */
static double bound_scale(double score, double *growth)
{
    const double free = exp(score < 8 ? score : 8);
    const double scale = free + NN_SCALE_LOW;
    *growth = score < 8 ? free / scale : 0;
    return scale;
}

static double mixture_row(nn_real *score, double y)
{
    enum { N = NN_MIX_PARTS };
    nn_real *weight = score, *centre = score + N, *spread = centre + N;
    double part[N], by_centre[N], by_spread[N], top = -INFINITY, sum = 0;
    apply_softmax(weight, N);
    for (int k = 0; k < N; k++) {
        double growth;
        const double scale = bound_scale((double)spread[k], &growth);
        const double off = (y - (double)centre[k]) / scale, z = exp(-fabs(off));
        const double pull = (1 - z) / (1 + z); /* tanh(|off| / 2) */
        part[k] = log((double)weight[k] + 1e-30) - fabs(off) - 2 * log1p(z) - log(scale);
        by_centre[k] = (off > 0 ? -pull : pull) / scale;
        by_spread[k] = (1 - fabs(off) * pull) * growth;
        top = part[k] > top ? part[k] : top;
    }
    for (int k = 0; k < N; k++)
        sum += exp(part[k] - top);
    for (int k = 0; k < N; k++) {
        const double share = exp(part[k] - top) / sum;
        weight[k] -= (nn_real)share;
        centre[k] = (nn_real)(share * by_centre[k]);
        spread[k] = (nn_real)(share * by_spread[k]);
    }
    return -(top + log(sum));
}

double nn_mixture_loss(nn_real *score, const nn_real *target, uint32_t n_rows)
{
    double loss = 0;
    for (uint32_t i = 0; i < n_rows; i++)
        loss += mixture_row(score + (size_t)i * NN_MIX_WIDTH, (double)target[i]);
    return loss;
}

static uint32_t find_likeliest(const nn_real *score, uint32_t n)
{
    assert(n > 0);
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++)
        if (score[i] > score[best])
            best = i;
    return best;
}

/* The probability of a choice relative to that of the most likely one. */
static double find_odds(nn_real score, nn_real best, double temperature, double least)
{
    const double share = exp(((double)score - (double)best) / temperature);
    return share < least ? 0 : share;
}

uint32_t nn_softmax_draw(const nn_real *score, uint32_t n_classes, double temperature,
                         double least, rng *r)
{
    assert(n_classes > 0 && temperature >= 0);
    const uint32_t best = find_likeliest(score, n_classes);
    if (temperature <= 0)
        return best;
    double sum = 0;
    for (uint32_t i = 0; i < n_classes; i++)
        sum += find_odds(score[i], score[best], temperature, least);
    double left = rng_unit(r) * sum;
    for (uint32_t i = 0; i < n_classes; i++) {
        left -= find_odds(score[i], score[best], temperature, least);
        if (left < 0)
            return i;
    }
    return best;
}

bool nn_bernoulli_draw(nn_real score, double temperature, rng *r)
{
    if (temperature <= 0)
        return score > 0;
    return rng_unit(r) < 1 / (1 + exp(-(double)score / temperature));
}

double nn_mixture_draw(const nn_real score[NN_MIX_WIDTH], double temperature, rng *r)
{
    const uint32_t k = nn_softmax_draw(score, NN_MIX_PARTS, temperature, 0, r);
    const double centre = (double)score[NN_MIX_PARTS + k];
    if (temperature <= 0)
        return centre;
    double growth;
    const double scale = bound_scale((double)score[2 * NN_MIX_PARTS + k], &growth);
    const double u = rng_unit(r) * (1 - 2e-6) + 1e-6;
    return centre + temperature * scale * log(u / (1 - u));
}
