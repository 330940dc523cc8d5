/* learn/model/model_values.h - what a template may say about the conditions of its sets.
 */
#ifndef LEARN_MODEL_MODEL_VALUES_H
#define LEARN_MODEL_MODEL_VALUES_H

#include "learn/model/conditions.h"

/* Sets of a template by value of a condition, as they may be known; their sum stays. `of`
 * has counts of all n_sets sets. */
void model_values_keep(uint32_t values[MODEL_VALUES], const model_condition *of,
                       uint32_t n_sets, uint32_t k);

#endif
