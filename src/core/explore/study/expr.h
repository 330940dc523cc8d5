/*
 * explore/study/expr.h - small expressions over parameters and results of a design:
 *
 *   plan.tp <= 256 and memory < 70 GB or plan.recompute == full
 *
 * Numbers may have a unit and are then converted to its base unit. Operators, loosest
 * first: or, and, not, comparisons, + -, * / %, ^, unary minus. Functions: min max abs
 * sqrt log log2 floor ceil. Evaluation uses no recursion and no allocation.
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
    bool uses_results; /* uses results of the estimate; else it is known before the
                          estimate */
} explore_expr;

/* Errors contain no place; the caller adds the file. */
halley_status explore_expr_compile(explore_expr *out, arena *memory, str text,
                                   halley_error *err);
/* Both sides of a comparison. */
typedef struct explore_comparison {
    double got, limit;
    uint32_t metric; /* of the left side; HALLEY_N_METRICS if it is no plain result */
} explore_comparison;
/* False if the expression is no comparison, or has no value. */
bool explore_expr_compare(explore_comparison *out, const explore_expr *expr,
                          const explore_design *design, const double *metrics);
/* True if its value depends on a price. */
bool explore_expr_uses_money(const explore_expr *expr);
/* Returns false if there is no value: a division by zero, or a root or logarithm out of
 * range. `metrics` may be NULL if it uses no results. True is 1, false is 0. */
bool explore_expr_eval(double *out, const explore_expr *expr,
                       const explore_design *design, const double *metrics);

#endif
