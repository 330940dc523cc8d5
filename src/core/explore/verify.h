/* explore/verify.h - verify the best designs by simulation. */
#ifndef EXPLORE_VERIFY_H
#define EXPLORE_VERIFY_H

#include "explore/worker.h"

/* Simulate the first designs of `e` and record the gap to their estimates. A design that
 * cannot be simulated is listed with the reason and is no failure. Each thread has a
 * worker like `w`. */
halley_status explore_verify(halley_exploration *e, const explore_worker *w,
                             uint32_t threads, const halley_watch *watch,
                             halley_error *err);

#endif
