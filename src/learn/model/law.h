/* learn/model/law.h - numbers as products of powers of conditions, fitted to sums. */
#ifndef LEARN_MODEL_LAW_H
#define LEARN_MODEL_LAW_H

#include "learn/model/model.h"

/* The values of a law's features for one stage of one set; those not listed are 0. */
typedef struct law_point {
    uint32_t n;
    uint32_t feature[MODEL_FEATURES];
    double value[MODEL_FEATURES];
} law_point;

void law_point_add(law_point *p, uint32_t feature, double value);

/* One set more: a number whose logarithm is y on average, or (zero) that is 0. */
void law_sum_add(model_sum *s, const law_point *p, double y);
/* Of how many nodes that mean was, how they vary, and how many others are 0. */
void law_sum_nodes(model_sum *s, double n, double variance, double zeros);
/* Of a set that was not looked at yet: its mean, smallest and largest logarithm. */
void law_sum_ends(model_sum *s, double mean, double least, double most);
/* Nodes of a set whose logarithm deviates from its mean by these. */
void law_sum_deviation(model_sum *s, double deviation);
/* The bucket of model_sum.circle that a node's logarithm falls into. */
uint32_t law_circle_at(double y);
/* The bucket of a plain law's histogram in which nodes of a sum's are. */
uint32_t law_plain_bucket(const model_law *law, uint32_t in_circle);
void law_fit(model_law *law, const model_sum *s);
/* Where numbers are: what k sets reach at both ends, so that it is no set's own. */
void law_fit_ends(model_law *law, const model_sum *s, uint32_t k);
/* The law of a feature itself from the conditions among `from` (bit: a feature). */
void law_fit_feature(model_law *law, const model_sum *s, uint32_t feature, uint64_t from);
double law_log(const double *coefficient, const law_point *p);
/* Sum of squares that coefficients leave of what was summed up. */
double law_left_over(const double *c, const double *xx, const double *xy, double yy);

/* Loops: `count` iterations in stage `stage` of n_stages. */
void law_loop_add(model_loop_sum *s, const law_point *p, uint32_t count, uint32_t stage,
                  uint32_t n_stages);
void law_loop_fit(model_loop *loop, const model_loop_sum *s);
/* Sums of products that fit to the last iteration: see law_exact.c. False: none does. */
void law_samples_add(model_samples *s, const law_point *p, uint32_t count, uint32_t stage,
                     uint32_t n_stages);
bool law_exact_fit(model_loop *loop, const model_samples *s);
double law_exact_count(const model_count_law *law, const law_point *p, uint32_t stage,
                       uint32_t n_stages);
/* Mean square of how far its logarithms are from the samples'. */
double law_exact_left(const model_count_law *law, const model_samples *s);
/* Iterations, not rounded; below 0.5 means that the skeleton does not fit. */
double law_loop_count(const model_loop *loop, const law_point *p, uint32_t stage,
                      uint32_t n_stages);

#endif
