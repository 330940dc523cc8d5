/* learn/model/joint.h - the joint distribution of conditions and templates. */
#ifndef LEARN_MODEL_JOINT_H
#define LEARN_MODEL_JOINT_H

#include "learn/model/conditions.h"

/* One row per set: the value of each condition (MODEL_ABSENT: the set does not have it),
 * then the template. The number of templates represents a template that is not kept.
 * MODEL_NONE: not known yet. */
enum { JOINT_TEMPLATE = MODEL_CONDITIONS, JOINT_COLUMNS = MODEL_CONDITIONS + 1 };
typedef struct joint_row {
    uint32_t value[JOINT_COLUMNS];
} joint_row;

/* Remembers the conditions of one more set during learning. With too many sets, a random
 * sample is kept. `values` are those of conditions_learn. */
bool joint_remember(synth_model *m, const conditions *c, const uint32_t *values,
                    uint32_t template);

/* Grows one tree per condition of the model and, with_template, first one for the
 * template. The rows use the model's own values. False: no memory. */
bool joint_grow(synth_model *m, const joint_row *rows, uint32_t n, uint32_t k,
                bool with_template);

/* The branch that the known values of a row lead to. Rows with the same leaf have the
 * same probabilities. */
uint32_t joint_leaf(const synth_model *m, const model_root *tree, const joint_row *given);
/* joint_draw returns the value of the tree's column at quantile `u` of [0, 1), given the
 * values of earlier columns. joint_share returns the probability of one value. */
uint32_t joint_draw(const synth_model *m, const model_root *tree, const joint_row *given,
                    double u);
double joint_share(const synth_model *m, const model_root *tree, const joint_row *given,
                   uint32_t value);
/* joint_draw in two steps, for many rows with the same leaf. Not for JOINT_TEMPLATE. */
void joint_shares(double p[MODEL_VALUES], const synth_model *m, const model_root *tree,
                  const joint_row *given);
uint32_t joint_pick(const double p[MODEL_VALUES], double u);

#endif
