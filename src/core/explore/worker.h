/* explore/worker.h - one thread's position in the space: move to a design, try it. */
#ifndef EXPLORE_WORKER_H
#define EXPLORE_WORKER_H

#include "explore/study/study.h"

enum { EXPLORE_MAX_REASONS = 48 };

typedef struct explore_reasons {
    uint32_t n;
    struct {
        uint64_t key;
        halley_refusal seen;
    } at[EXPLORE_MAX_REASONS];
} explore_reasons;

/* Add `designs` to a reason; beyond EXPLORE_MAX_REASONS they are added to the last. */
void explore_reasons_add(explore_reasons *r, const char *reason, uint64_t designs);

/* A feasible design. */
typedef struct explore_row {
    uint64_t id;
    uint64_t key; /* explore_design_key */
    double objective[HALLEY_MAX_OBJECTIVES];
    double metrics[HALLEY_N_METRICS];
    bool walked;  /* its schedule was evaluated pass by pass, or it has none; else in
                     closed form */
    bool settled; /* evaluated again, exactly (explore/settle.h) */
} explore_row;

typedef struct explore_worker {
    const halley_study *study;
    explore_design raw;    /* as the axes set it */
    explore_design design; /* after a try: checked, with the values that follow */
    halley_estimate estimate;
    uint32_t digits[HALLEY_MAX_AXES];
    bool placed;
    bool relaxed; /* do not check constraints, only arithmetic */
    bool no_fill; /* the degree that fills the NPUs was set */
    bool exact;   /* evaluate schedules pass by pass; else by their closed form */
    explore_reasons reasons;
} explore_worker;

void explore_worker_init(explore_worker *w, const halley_study *study);
/* Digits of a number and back. */
void explore_digits(uint32_t *digits, const halley_study *study, uint64_t id);
uint64_t explore_id(const halley_study *study, const uint32_t *digits);
void explore_worker_move(explore_worker *w, uint64_t id);
/* Set dependent values, check, estimate. Returns false if refused; the refusal is
 * counted. */
bool explore_worker_try(explore_worker *w, explore_row *row);
/* How many bytes the fullest memory of the last design lacks. */
double explore_worker_excess(const explore_worker *w);
/* The best of n plans of an outer design, from number `first` on. Adds the number of
 * feasible ones to *n_feasible. */
bool explore_worker_best(explore_worker *w, explore_row *row, uint64_t *n_feasible,
                         uint64_t first, uint64_t n);

/* The same, but evaluates schedules pass by pass for the plans that the closed form ranks
 * first. */
bool explore_worker_best_exact(explore_worker *w, explore_row *row, uint64_t first,
                               uint64_t n);

/* Start from the study's base with these values; the axes are not set. */
void explore_worker_place(explore_worker *w, const explore_fixed *list, uint32_t n);
/* The same for a whole design, then try it; the plan is searched if it is `best`. */
bool explore_worker_try_fixed(explore_worker *w, explore_row *row,
                              const explore_fixed *list, uint32_t n,
                              const explore_ref *turned, double to);
/* The result of a try, for reports. */
void explore_candidate_fill(halley_candidate *out, const explore_worker *w,
                            const explore_row *row);

/* True if the design may be the best, given the error of the closed form. */
bool explore_is_near(const halley_study *s, double objective, double best);
/* Negative if a is better in this objective, positive if b is. Money that is only a lower
 * bound is worse than any that is known. */
int explore_goal_compare(const halley_study *s, uint32_t goal, const explore_row *a,
                         const explore_row *b);
/* True if a is better than b, by the first objective, then by number. */
bool explore_better(const halley_study *s, const explore_row *a, const explore_row *b);

#endif
