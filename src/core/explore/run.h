/* explore/run.h - waves of designs on all cores; used by the searches. */
#ifndef EXPLORE_RUN_H
#define EXPLORE_RUN_H

#include "explore/store/store.h"

typedef struct explore_run explore_run;

halley_status explore_run_new(explore_run **out, const halley_study *study,
                              uint32_t threads, uint32_t top, halley_error *err);
void explore_run_free(explore_run *r);
uint64_t explore_run_wave_size(const explore_run *r); /* largest number of outer
                                                         designs in a wave */
/* Evaluate and merge the outer designs `ids`, or n from `first` on, and store them in the
 * background. */
halley_status explore_run_wave(explore_run *r, const uint64_t *ids, uint64_t first,
                               uint64_t n, halley_error *err);
/* The same for the outer designs `ids`, or the first n, wave after wave, except those
 * that are complete in the store. */
halley_status explore_run_waves(explore_run *r, const uint64_t *ids, uint64_t n,
                                halley_error *err);
/* Wait for the storing thread. */
halley_status explore_run_flush(explore_run *r, halley_error *err);
const halley_study *explore_run_study(const explore_run *r);
explore_reached *explore_run_reached(explore_run *r);

/* search.c: all searches except the exhaustive one. */
halley_status explore_search_run(explore_run *r, halley_error *err);

#endif
