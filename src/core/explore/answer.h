/* explore/answer.h - baseline, sensitivities and break-even points of an exploration. */
#ifndef EXPLORE_ANSWER_H
#define EXPLORE_ANSWER_H

#include "explore/bars.h"

/* Fill in everything that is requested in addition to the best designs. */
halley_status explore_answer(halley_exploration *e, const halley_study *s,
                             explore_worker *w, explore_bars *bars, halley_error *err);

#endif
