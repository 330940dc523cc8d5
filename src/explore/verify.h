/* explore/verify.h - the best designs once more, by simulation. */
#ifndef EXPLORE_VERIFY_H
#define EXPLORE_VERIFY_H

#include "explore/worker.h"

/* Simulate the first designs of `e` and write down the gap to their estimates. A design
 * that cannot be simulated is listed with the reason; it is no failure. Workers are like
 * `w`, one per thread. */
halley_status explore_verify(halley_exploration *e, const explore_worker *w,
                             uint32_t threads, const halley_watch *watch,
                             halley_error *err);

#endif
