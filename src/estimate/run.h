/* estimate/run.h - an estimate that may stop early. */
#ifndef ESTIMATE_RUN_H
#define ESTIMATE_RUN_H

#include "halley/estimate.h"

/* halley_estimate_run; with only_if_fits, false and only the memory fields when the
 * design does not fit. */
bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_platform *platform,
                  const halley_stack *stack, bool only_if_fits);

#endif
