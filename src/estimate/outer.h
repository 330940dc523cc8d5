/* estimate/outer.h - memory beyond the NPU, and what a step costs. */
#ifndef ESTIMATE_OUTER_H
#define ESTIMATE_OUTER_H

#include "halley/estimate.h"

/* Share of the footprint beyond local memory. */
double estimate_outer_share(const halley_estimate *e);
/* Fill the offload part of a step from what was moved out. */
void estimate_offload(halley_estimate *e, const halley_plan *plan,
                      const halley_cluster *cluster, double micro_batches);
/* Fill energy and cost of a step. */
void estimate_money(halley_estimate *e, const halley_plan *plan,
                    const halley_cluster *cluster);

#endif
