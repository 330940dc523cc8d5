/* explore/search.h - functions that the searches share. */
#ifndef EXPLORE_SEARCH_H
#define EXPLORE_SEARCH_H

#include "base/hash.h"
#include "base/rng.h"
#include "explore/run.h"

/* True if the run of this study tries every design, in the order of their numbers. */
bool explore_search_is_exhaustive(const halley_study *s);
void explore_draw(uint32_t *digits, const halley_study *s, rng *random);
/* The number of an outer design; its first plan is that times inner_size. */
uint64_t explore_outer_id(const halley_study *s, const uint32_t *digits);
/* True if `id` is not in `seen` yet. *memory becomes false if it could not be added. */
bool explore_first_time(map64 *seen, uint64_t id, bool *memory);

/* One answer, for searches that choose designs by earlier answers. */
typedef struct explore_answered {
    bool feasible;
    double objective[HALLEY_MAX_OBJECTIVES];
} explore_answered;

/* Evaluate outer designs, none twice; results in a resumed store are reused. n is at most
 * a wave. */
halley_status explore_ask(explore_answered *out, explore_run *r, const uint64_t *ids,
                          uint64_t n, halley_error *err);

halley_status explore_evolve(explore_run *r, halley_error *err);
halley_status explore_descend(explore_run *r, halley_error *err);

#endif
