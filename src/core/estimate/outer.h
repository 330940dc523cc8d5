/* estimate/outer.h - offload to outer memory tiers, and the energy and cost of a step. */
#ifndef ESTIMATE_OUTER_H
#define ESTIMATE_OUTER_H

#include "halley/estimate.h"

/* The fraction of the memory footprint that is beyond local memory. */
double estimate_outer_share(const halley_estimate *e);
/* Fill in the offload time of a step from the offloaded bytes. */
void estimate_offload(halley_estimate *e, const halley_plan *plan,
                      const halley_cluster *cluster, double micro_batches);
/* Fill in the energy and cost of a step. */
void estimate_money(halley_estimate *e, const halley_plan *plan,
                    const halley_cluster *cluster);

#endif
