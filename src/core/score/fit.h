/* score/fit.h - fits a few constants of a stack to measured runs. */
#ifndef SCORE_FIT_H
#define SCORE_FIT_H

#include "score/rows.h"

/*
 * Fit the constants stack->fit (n_fit of them) to the rows listed in `at`. These are
 * indexes into rows->rows, and this stack serves all of them. The search starts at the
 * present values. The priors are the values in `prior`, with the spreads of the table.
 */
halley_status score_fit(halley_stack *stack, const halley_stack *prior,
                        const score_rows *rows, const uint32_t *at, size_t n,
                        halley_error *err);

/* The predicted step time of one row. */
double score_predict(const score_rows *rows, const score_row *row,
                     const halley_stack *stack);

/* The cross-validation fold of a layout: the same on every machine. */
uint32_t score_fold(const char *layout, uint32_t n_folds);

#endif
