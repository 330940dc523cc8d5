/*
 * learn/model/law.h - laws: monomials of the conditions, fitted by least squares to
 * sums.
 */
#ifndef LEARN_MODEL_LAW_H
#define LEARN_MODEL_LAW_H

#include "learn/model/model.h"

/* The feature values of a law for one stage of one set. Features that are not listed are
 * 0. */
typedef struct law_point {
    uint32_t n;
    uint32_t feature[MODEL_FEATURES];
    double value[MODEL_FEATURES];
} law_point;

void law_point_add(law_point *p, uint32_t feature, double value);

/* Adds a number of one set whose mean logarithm is y. */
void law_sum_add(model_sum *s, const law_point *p, double y);
/* Adds the nodes of which law_sum_add got the mean: n nodes with this variance of the
 * logarithm, and `zeros` nodes that are 0. */
void law_sum_nodes(model_sum *s, double n, double variance, double zeros);
/* Adds the mean, smallest and largest logarithm of a set. Call it at most once per
 * set. */
void law_sum_ends(model_sum *s, double mean, double least, double most);
/* Adds a node whose logarithm deviates from the mean of its set by this much. */
void law_sum_deviation(model_sum *s, double deviation);
/* The bucket of model_sum.circle that a node's logarithm falls into. */
uint32_t law_circle_at(double y);
/* The bucket of the histogram of a plain law that corresponds to a bucket of
 * model_sum.circle. */
uint32_t law_plain_bucket(const model_law *law, uint32_t in_circle);
void law_fit(model_law *law, const model_sum *s);
/* Sets the ranges of the law. Each end is the k-th most extreme value, so that it does
 * not reveal the extreme of a single set. */
void law_fit_ends(model_law *law, const model_sum *s, uint32_t k);
/* Fits the law of a feature itself, given the features in the bit mask `from`. */
void law_fit_feature(model_law *law, const model_sum *s, uint32_t feature, uint64_t from);
double law_log(const double *coefficient, const law_point *p);
/* The residual sum of squares of these coefficients. */
double law_left_over(const double *c, const double *xx, const double *xy, double yy);

/* Adds a loop that runs `count` iterations in stage `stage` of n_stages. */
void law_loop_add(model_loop_sum *s, const law_point *p, uint32_t count, uint32_t stage,
                  uint32_t n_stages);
void law_loop_fit(model_loop *loop, const model_loop_sum *s);
/* Laws that reproduce every sampled loop count exactly: see law_exact.c. law_exact_fit
 * returns false if there is none. */
void law_samples_add(model_samples *s, const law_point *p, uint32_t count, uint32_t stage,
                     uint32_t n_stages);
bool law_exact_fit(model_loop *loop, const model_samples *s);
double law_exact_count(const model_count_law *law, const law_point *p, uint32_t stage,
                       uint32_t n_stages);
/* The mean squared difference of the logarithms of predicted and sampled counts. */
double law_exact_left(const model_count_law *law, const model_samples *s);
/* The predicted number of iterations, not rounded. Below 0.5 the skeleton does not
 * fit. */
double law_loop_count(const model_loop *loop, const law_point *p, uint32_t stage,
                      uint32_t n_stages);

#endif
