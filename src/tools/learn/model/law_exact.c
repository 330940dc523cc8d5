/*
 * Exact laws of loop counts. In training, a loop count is a monomial (layers,
 * micro-batches) plus a small correction. The first pipeline stages run as many passes
 * ahead as there are later stages. A first layer that differs is not part of the loop.
 * If one loop holds the forward and backward passes of all micro-batches but the last,
 * it runs 4 x layers x micro-batches - 2 x layers times. So the search tries sums of up
 * to two monomials, a constant, and the numbers of stages before and after. It tries the
 * simplest sums first.
 *
 * Sums of squares for all monomials would need too much memory. Instead, each loop keeps
 * a few of its counts with the conditions of their sets. A hash selects them, so they
 * are a random sample of the different counts and do not depend on the order of the
 * sets. A law must hold in all samples. It must have fewer parameters than there are
 * different counts. Its coefficients must be simple fractions.
 */
#include "learn/model/law.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static double round_whole(double x)
{
    const double near = rint(x);
    return fabs(x - near) < 1e-6 * x ? near : x;
}

/* The factors at a point: 1, and the numeric conditions. */
static void fill_factors(float x[MODEL_FACTORS], const law_point *p)
{
    for (uint32_t i = 0; i < MODEL_FACTORS; i++)
        x[i] = 1;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->feature[i] >= FEATURE_CONDITIONS)
            x[p->feature[i] - FEATURE_CONDITIONS + 1] =
                (float)round_whole(exp(p->value[i]));
}

void law_samples_add(model_samples *s, const law_point *p, uint32_t count, uint32_t stage,
                     uint32_t n_stages)
{
    assert(stage < n_stages);
    const uint32_t place[] = {count, stage, n_stages, p->n};
    uint64_t hash = hash_bytes(place, sizeof place, 0);
    hash = hash_bytes(p->feature, p->n * sizeof *p->feature, hash);
    hash = hash_bytes(p->value, p->n * sizeof *p->value, hash);
    uint32_t at = s->n;
    while (at > 0 && s->at[at - 1].hash > hash)
        at--;
    if (at == MODEL_SAMPLES || (at > 0 && s->at[at - 1].hash == hash))
        return;
    s->n += s->n < MODEL_SAMPLES;
    memmove(&s->at[at + 1], &s->at[at], (s->n - 1 - at) * sizeof *s->at);
    s->at[at] = (model_sample){
        .hash = hash, .count = count, .stage = stage, .n_stages = n_stages};
    fill_factors(s->at[at].x, p);
    assert(s->n <= MODEL_SAMPLES);
}

static double term_of(const model_count_law *law, uint32_t term, const float *x)
{
    assert(term < 2);
    double product = 1;
    for (uint32_t i = 0; i < MODEL_TERM; i++) {
        const double f = (double)x[law->factor[term][i]];
        product = law->power[term][i] < 0 ? product / f : product * f;
    }
    return product;
}

static double evaluate_law(const model_count_law *law, const float *x, uint32_t stage,
                           uint32_t n_stages)
{
    assert(law->n_terms <= 2 && stage < n_stages);
    double count = law->plus - law->behind * ((double)n_stages - 1 - stage) -
                   law->before * (double)stage;
    for (uint32_t i = 0; i < 2 && i < law->n_terms; i++)
        count += law->times[i] * term_of(law, i, x);
    return count;
}

double law_exact_count(const model_count_law *law, const law_point *p, uint32_t stage,
                       uint32_t n_stages)
{
    float x[MODEL_FACTORS];
    fill_factors(x, p);
    return evaluate_law(law, x, stage, n_stages);
}

double law_exact_left(const model_count_law *law, const model_samples *s)
{
    double sum = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const model_sample *at = &s->at[i];
        const double n = evaluate_law(law, at->x, at->stage, at->n_stages);
        const double off = log(fmax(n, 0.5) / at->count);
        sum += off * off;
    }
    return s->n > 0 ? sum / s->n : 0;
}

/* A monomial of conditions, with its values in the samples minus their mean. */
typedef struct product {
    uint8_t factor[MODEL_TERM];
    int8_t power[MODEL_TERM];
    double mean, square, with_y;
    double at[MODEL_SAMPLES];
} product;

enum { MIN_SAMPLES = 3, MAX_FACTORS = 12, MAX_PRODUCTS = 1800 };
typedef struct search {
    const model_samples *s;
    uint8_t of[MAX_FACTORS]; /* factors that vary and are integers */
    uint32_t n_of, n_short;  /* monomials of one or two factors come first */
    uint32_t n_products;
    double y[MODEL_SAMPLES], mean, square; /* y: corrected counts, minus their mean */
    product *products;
} search;

static void list_product(search *f, const uint8_t *factor, const int8_t *power)
{
    assert(f->n_products <= MAX_PRODUCTS);
    if (f->n_products == MAX_PRODUCTS)
        return;
    product *p = &f->products[f->n_products++];
    model_count_law law = {0};
    memcpy(law.factor[0], factor, sizeof p->factor);
    memcpy(law.power[0], power, sizeof p->power);
    memcpy(p->factor, factor, sizeof p->factor);
    memcpy(p->power, power, sizeof p->power);
    p->mean = p->square = 0;
    for (uint32_t i = 0; i < f->s->n; i++) {
        p->at[i] = term_of(&law, 0, f->s->at[i].x);
        p->mean += p->at[i] / f->s->n;
    }
    for (uint32_t i = 0; i < f->s->n; i++) {
        p->at[i] -= p->mean;
        p->square += p->at[i] * p->at[i];
    }
}

/* Adds the monomial of n factors and its quotients. A single factor may be in the
 * denominator. Of two factors one may be, of three up to two. */
static void list_quotients(search *f, const uint8_t factor[MODEL_TERM], uint32_t n)
{
    assert(n <= MODEL_TERM);
    const uint32_t all = (1U << n) - 1;
    for (uint32_t below = 0; below <= all; below++) {
        int8_t power[MODEL_TERM] = {1, 1, 1};
        if (below == all && n > 1)
            continue;
        for (uint32_t i = 0; i < n; i++)
            power[i] = (below >> i & 1) != 0 ? -1 : 1;
        list_product(f, factor, power);
    }
}

static void list_products(search *f)
{
    const uint32_t n = f->n_of;
    for (uint32_t i = 0; i < n; i++)
        list_quotients(f, (uint8_t[]){f->of[i], 0, 0}, 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            list_quotients(f, (uint8_t[]){f->of[i], f->of[j], 0}, 2);
    f->n_short = f->n_products;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = i + 1; j < n; j++)
            for (uint32_t k = j + 1; k < n; k++)
                list_quotients(f, (uint8_t[]){f->of[i], f->of[j], f->of[k]}, 3);
    assert(f->n_short <= f->n_products && f->n_products <= MAX_PRODUCTS);
}

static void list_factors(search *f)
{
    for (uint32_t i = 1; i < MODEL_FACTORS && f->n_of < MAX_FACTORS; i++) {
        bool varies = false, are_whole = true;
        for (uint32_t k = 0; k < f->s->n; k++) {
            const float x = f->s->at[k].x[i];
            varies |= x != f->s->at[0].x[i];
            are_whole &= x == rintf(x);
        }
        if (varies && are_whole)
            f->of[f->n_of++] = (uint8_t)i;
    }
    assert(f->n_of <= MAX_FACTORS);
}

/* The left-hand side of the fit: the counts plus the law's corrections for later and
 * earlier stages. */
static void take_counts(search *f, const model_count_law *law)
{
    const model_samples *s = f->s;
    f->mean = f->square = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const model_sample *at = &s->at[i];
        f->y[i] = at->count + law->behind * ((double)at->n_stages - 1 - at->stage) +
                  law->before * (double)at->stage;
        f->mean += f->y[i] / s->n;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        f->y[i] -= f->mean;
        f->square += f->y[i] * f->y[i];
    }
    for (uint32_t p = 0; p < f->n_products; p++) {
        f->products[p].with_y = 0;
        for (uint32_t i = 0; i < s->n; i++)
            f->products[p].with_y += f->products[p].at[i] * f->y[i];
    }
}

/* The nearest simple fraction: a multiple of 1/12, or 1 over an integer. */
static double round_simply(double x)
{
    if (x == 0 || fabs(x) >= 1.0 / 12)
        return rint(12 * x) / 12;
    return 1 / rint(1 / x);
}

static bool is_simple(double x)
{
    return fabs(x) < 1000 && fabs(x) > 1e-5 &&
           fabs(x - round_simply(x)) < 1e-6 * (1 + fabs(x));
}

/* The number of parameters that are not simply 0 or 1. */
static uint32_t count_numbers(const model_count_law *law)
{
    uint32_t n = fabs(law->plus) > 1e-6;
    for (uint32_t i = 0; i < law->n_terms; i++)
        n += fabs(law->times[i] - 1) > 1e-6;
    return n;
}

/* True if the law holds in all samples and has fewer parameters than there are different
 * counts. */
static bool holds_in_samples(const search *f, const model_count_law *law)
{
    double seen[MODEL_SAMPLES];
    uint32_t n_seen = 0;
    for (uint32_t i = 0; i < law->n_terms; i++)
        if (!is_simple(law->times[i]))
            return false;
    for (uint32_t i = 0; i < f->s->n; i++) {
        const model_sample *at = &f->s->at[i];
        const double n = evaluate_law(law, at->x, at->stage, at->n_stages);
        if (fabs(n - at->count) > 1e-4)
            return false;
        uint32_t k = 0;
        while (k < n_seen && seen[k] != at->count)
            k++;
        if (k == n_seen)
            seen[n_seen++] = at->count;
    }
    return law->n_terms == 0 || n_seen > count_numbers(law);
}

static void take_term(model_count_law *law, uint32_t term, const product *p, double times)
{
    assert(term < 2);
    memcpy(law->factor[term], p->factor, sizeof p->factor);
    memcpy(law->power[term], p->power, sizeof p->power);
    law->times[term] = round_simply(times);
    law->plus -= law->times[term] * p->mean;
    law->n_terms = (uint8_t)(term + 1);
}

#define NEARLY_ALL 1e-9

/* Rounds the constant of a complete law, and replaces the old law if the new one
 * holds. */
static bool settle_law(const search *f, model_count_law *law, model_count_law new)
{
    new.plus = rint(12 * new.plus) / 12;
    new.is_found = true;
    if (!holds_in_samples(f, &new))
        return false;
    *law = new;
    return true;
}

static bool try_one(const search *f, model_count_law *law, const product *p)
{
    if (p->square <= 0 ||
        f->square - p->with_y * p->with_y / p->square > NEARLY_ALL * f->square)
        return false;
    model_count_law new = {.behind = law->behind, .before = law->before, .plus = f->mean};
    take_term(&new, 0, p, p->with_y / p->square);
    return settle_law(f, law, new);
}

static bool try_two(const search *f, model_count_law *law, const product *p,
                    const product *q)
{
    assert(p != q);
    double pq = 0;
    for (uint32_t i = 0; i < f->s->n; i++)
        pq += p->at[i] * q->at[i];
    const double det = p->square * q->square - pq * pq;
    if (det <= 1e-9 * p->square * q->square)
        return false;
    const double a = (p->with_y * q->square - q->with_y * pq) / det;
    const double b = (q->with_y * p->square - p->with_y * pq) / det;
    if (f->square - a * p->with_y - b * q->with_y > NEARLY_ALL * f->square)
        return false;
    model_count_law new = {.behind = law->behind, .before = law->before, .plus = f->mean};
    take_term(&new, 0, p, a);
    take_term(&new, 1, q, b);
    return settle_law(f, law, new);
}

static bool try_products(const search *f, model_count_law *law, uint32_t n_terms)
{
    assert(n_terms <= 2);
    model_count_law constant = *law;
    constant.plus = f->mean;
    if (n_terms == 0)
        return f->square < NEARLY_ALL * f->s->n && settle_law(f, law, constant);
    for (uint32_t i = 0; n_terms == 1 && i < f->n_products; i++)
        if (try_one(f, law, &f->products[i]))
            return true;
    for (uint32_t i = 1; n_terms == 2 && i < f->n_short; i++)
        for (uint32_t j = 0; j < i; j++)
            if (try_two(f, law, &f->products[i], &f->products[j]))
                return true;
    return false;
}

static bool search_law(model_count_law *law, const model_samples *s)
{
    assert(s->n > 0);
    static const int8_t of_stage[] = {0, 1, -1};
    search f = {.s = s, .products = mem_array(MAX_PRODUCTS, sizeof *f.products)};
    bool found = false, staged = false;
    if (!f.products)
        return false;
    for (uint32_t i = 0; i < s->n; i++)
        staged |= s->at[i].n_stages > 1;
    list_factors(&f);
    list_products(&f);
    for (uint32_t n = 0; !found && n <= 2; n++)
        for (uint32_t k = 0; !found && k < (staged ? 9U : 1U); k++) {
            *law =
                (model_count_law){.behind = of_stage[k % 3], .before = of_stage[k / 3]};
            take_counts(&f, law);
            found = try_products(&f, law, n);
        }
    free(f.products);
    return found;
}

bool law_exact_fit(model_loop *loop, const model_samples *s)
{
    model_count_law law;
    if (s->n < MIN_SAMPLES || !search_law(&law, s))
        return false;
    loop->exact = law;
    return true;
}
