/*
 * explore/state.h - what a run keeps of the designs that it has seen, as bytes.
 *
 * The best rows and the front (number, key and objectives of each: nothing else is read
 * before they are settled) and the sums by axis. A run that goes on from these bytes ends
 * with the same answer as one that was never stopped.
 */
#ifndef EXPLORE_STATE_H
#define EXPLORE_STATE_H

#include "explore/run_state.h"

/* Can a run of this study go on from its state? Searches that go by answers cannot: they
 * need every row. */
bool explore_state_suffices(const halley_study *s);
/* In place of what `out` holds; out->failed when memory runs out. */
void explore_state_save(strbuf *out, const explore_run *r);
/* False: these are not the bytes of this study, or memory ran out. */
bool explore_state_load(explore_run *r, str bytes);

#endif
