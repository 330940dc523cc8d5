/*
 * explore/state.h - serialize what a run keeps of the designs that it has evaluated.
 *
 * These are the best rows, the front and the sums by axis. Only the number, key and
 * objectives of a row are saved, because nothing else is read before rows are settled. A
 * run that continues from these bytes ends with the same answer as one that was never
 * stopped.
 */
#ifndef EXPLORE_STATE_H
#define EXPLORE_STATE_H

#include "explore/run_state.h"

/* True if a run of this study can continue from its state. Searches that choose designs
 * by earlier answers cannot: they need every row. */
bool explore_state_suffices(const halley_study *s);
/* Replaces the contents of `out`; sets out->failed if memory ran out. */
void explore_state_save(strbuf *out, const explore_run *r);
/* Returns false if the bytes do not belong to this study, or if memory ran out. */
bool explore_state_load(explore_run *r, str bytes);

#endif
