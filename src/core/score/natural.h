/* score/natural.h - runs as users ask about them, without their settings. */
#ifndef SCORE_NATURAL_H
#define SCORE_NATURAL_H

#include "halley/error_bar.h"
#include "score/record.h"

typedef struct score_natural {
    bool degrees;      /* the degrees are stated, too */
    bool without_chip; /* recipes of the row's device are left out */
} score_natural;

/* Replace the plan of every row by what the recipes of its framework make of its
 * workload. The stacks of the rows must be assigned. */
halley_status score_rows_ask(score_rows *rows, const score_natural *how,
                             halley_error *err);
/* The error bar of a row. Settings that neither the row nor a near recipe states widen
 * it. */
halley_status score_row_bar(halley_error_bar *out, const halley_estimate *e,
                            const score_row *row, const halley_cluster *cluster,
                            const halley_stack *stack, halley_error *err);

#endif
