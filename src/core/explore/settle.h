/* explore/settle.h - compute exactly what an exploration reports. */
#ifndef EXPLORE_SETTLE_H
#define EXPLORE_SETTLE_H

#include "explore/run_state.h"

/* Evaluate again, with schedules pass by pass: the designs that may be the best, the
 * front, and the best of every value and pair of values. Lists, sums and the store (if
 * there is one) then hold these rows. *n is their number. */
halley_status explore_settle(uint32_t *n, explore_run *r, halley_error *err);
/* Restore the row that a search had before it was settled; for stores that are read
 * again. */
void explore_unsettle(explore_row *row, explore_worker *w);

#endif
