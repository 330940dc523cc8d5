/*
 * learn/model/model_values.h - what a template may reveal about the conditions of its
 * sets.
 */
#ifndef LEARN_MODEL_MODEL_VALUES_H
#define LEARN_MODEL_MODEL_VALUES_H

#include "learn/model/conditions.h"

/* Replaces a template's numbers of sets by value of a condition with numbers that may be
 * stored. Their sum stays the same. `of` holds the counts over all n_sets sets. */
void model_values_keep(uint32_t values[MODEL_VALUES], const model_condition *of,
                       uint32_t n_sets, uint32_t k);

#endif
