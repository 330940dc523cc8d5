/* score/fit.h - a few constants of a stack fitted to measured runs. */
#ifndef SCORE_FIT_H
#define SCORE_FIT_H

#include "score/rows.h"

/*
 * Move the constants stack->fit (n_fit of them) to fit the rows listed in `at` (indexes
 * into rows->rows, all served by this stack), starting from their present values. Priors:
 * the values in `prior`, with the spreads of the table.
 */
halley_status score_fit(halley_stack *stack, const halley_stack *prior,
                        const score_rows *rows, const uint32_t *at, size_t n,
                        halley_error *err);

/* The predicted step time of one row. */
double score_predict(const score_rows *rows, const score_row *row,
                     const halley_stack *stack);

/* Which fold a layout falls in: the same on every machine. */
uint32_t score_fold(const char *layout, uint32_t n_folds);

#endif
