/* explore/collect.h - the results that are kept from millions of designs. */
#ifndef EXPLORE_COLLECT_H
#define EXPLORE_COLLECT_H

#include "base/array.h"
#include "explore/worker.h"

enum {
    EXPLORE_MAX_HEATS = 6,
    EXPLORE_MAX_FRONT = 10000,
    EXPLORE_MOST_NEAR = 2000 /* best rows kept, for explore/settle.h to choose among */
};

typedef ARRAY(explore_row) explore_rows;

/* Best objective by value of each axis, and by pairs of values; independent of the
 * order. */
typedef struct explore_sums {
    halley_marginal *marginals[HALLEY_MAX_AXES]; /* into one block */
    uint32_t n_heats;
    halley_heat heats[EXPLORE_MAX_HEATS];
    void *memory;
} explore_sums;

halley_status explore_sums_init(explore_sums *sums, const halley_study *s,
                                halley_error *err);
void explore_sums_clear(explore_sums *sums, const halley_study *s);
void explore_sums_add(explore_sums *sums, const halley_study *s, const explore_row *row);
void explore_sums_merge(explore_sums *to, const explore_sums *from,
                        const halley_study *s);
/* Update with a row that was counted before and now has a better objective. */
void explore_sums_improve(explore_sums *sums, const halley_study *s,
                          const explore_row *row);
/* Size of the block `memory`. */
size_t explore_sums_bytes(const explore_sums *sums, const halley_study *s);
/* True if the design numbers in it are valid for this study. */
bool explore_sums_are_valid(const explore_sums *sums, const halley_study *s);
void explore_sums_fini(explore_sums *sums);

/* Add a row to the non-dominated rows; false if memory ran out. */
bool explore_front_add(explore_rows *front, const halley_study *s,
                       const explore_row *row);

/* The `most` best rows. They are collected in any order and sorted when twice as many
 * have been added. So adding one costs little, however many are kept. */
typedef struct explore_top {
    explore_rows rows;
    size_t most;    /* set by the caller, > 0 */
    size_t n_known; /* the first n_known rows are the best so far, best first */
} explore_top;
/* False when memory ran out. */
bool explore_top_add(explore_top *top, const halley_study *s, const explore_row *row);
/* Sort them, best first, each design once. */
void explore_top_sort(explore_top *top, const halley_study *s);

#endif
