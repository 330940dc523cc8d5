/*
 * explore/study/expr.h - small expressions over parameters and results of a design:
 *   plan.tp <= 256 and memory < 70 GB or plan.recompute == full
 * Numbers may carry a unit and are then in its base unit. Operators, loosest first: or,
 * and, not, comparisons, + -, * / %, ^, unary minus; functions min max abs sqrt log log2
 * floor ceil. No recursion, no allocation when evaluated.
 */
#ifndef EXPLORE_EXPR_H
#define EXPLORE_EXPR_H

#include "explore/study/param.h"

typedef struct expr_step {
    uint8_t op;
    double number;     /* constant */
    uint32_t metric;   /* result */
    explore_ref param; /* parameter */
} expr_step;

typedef struct explore_expr {
    const char *text; /* as written, lent */
    uint32_t n;
    expr_step *steps;  /* in reverse Polish order; from the study's arena */
    bool uses_results; /* of the estimate; else known before it */
} explore_expr;

/* Errors have no place; the caller knows the file. */
halley_status explore_expr_compile(explore_expr *out, arena *memory, str text,
                                   halley_error *err);
/* False when a division by zero (or a root or logarithm without value) makes it
 * meaningless. `metrics` may be NULL when it uses no results. Truth is 1 or 0. */
bool explore_expr_eval(double *out, const explore_expr *expr,
                       const explore_design *design, const double *metrics);

#endif
