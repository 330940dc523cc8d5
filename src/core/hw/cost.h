/* hw/cost.h - the defaults of cost and failures. */
#ifndef HW_COST_H
#define HW_COST_H

#include "halley/cluster.h"

extern const halley_cost hw_cost_default;
extern const halley_failures hw_failures_default;

/* Price of the whole nodes that n NPUs need, with their share of the network; 0 if
 * rented. */
double hw_cost_capital(const halley_cluster *c, double n_npus);
/* Nameplate power (W) of the whole nodes that n NPUs need, including the building.
 * Includes switches and transceivers of the network if their power is known. */
double hw_power_nameplate(const halley_cluster *c, double n_npus);
/* Average power (W) if the NPUs compute for a fraction `busy` of the time. */
double hw_power_average(const halley_cluster *c, double n_npus, double busy);

#endif
