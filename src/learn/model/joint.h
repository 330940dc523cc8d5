/* learn/model/joint.h - which conditions, and which template, go together. */
#ifndef LEARN_MODEL_JOINT_H
#define LEARN_MODEL_JOINT_H

#include "learn/model/conditions.h"

/* Values of a set by condition (MODEL_ABSENT: it has none), last its template (as many as
 * there are: none that is kept). MODEL_NONE: not known yet. */
enum { JOINT_TEMPLATE = MODEL_CONDITIONS, JOINT_COLUMNS = MODEL_CONDITIONS + 1 };
typedef struct joint_row {
    uint32_t value[JOINT_COLUMNS];
} joint_row;

/* One set more while learning; of too many, some are forgotten. `values` as
 * conditions_learn gives them. */
bool joint_remember(synth_model *m, const conditions *c, const uint32_t *values,
                    uint32_t template);

/* Trees over rows whose conditions are those of the model, for all its conditions and,
 * with_template, its template first. False: no memory. */
bool joint_grow(synth_model *m, const joint_row *rows, uint32_t n, uint32_t k,
                bool with_template);

/* Where a row's values of those before lead to: rows with the same leaf have the same
 * probabilities. */
uint32_t joint_leaf(const synth_model *m, const model_root *tree, const joint_row *given);
/* The value of the tree's column that stands at `u` of [0, 1), given the row's values of
 * those before it; and how likely one is. */
uint32_t joint_draw(const synth_model *m, const model_root *tree, const joint_row *given,
                    double u);
double joint_share(const synth_model *m, const model_root *tree, const joint_row *given,
                   uint32_t value);
/* joint_draw in two steps, for many rows of one leaf; not for JOINT_TEMPLATE. */
void joint_shares(double p[MODEL_VALUES], const synth_model *m, const model_root *tree,
                  const joint_row *given);
uint32_t joint_pick(const double p[MODEL_VALUES], double u);

#endif
