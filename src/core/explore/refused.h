/* explore/refused.h - why no design is feasible with some values of an axis. */
#ifndef EXPLORE_REFUSED_H
#define EXPLORE_REFUSED_H

#include "explore/worker.h"

/* Fill e->refused_values, after the best designs and the marginals are known. */
halley_status explore_refused(halley_exploration *e, const halley_study *s,
                              explore_worker *w, halley_error *err);

#endif
