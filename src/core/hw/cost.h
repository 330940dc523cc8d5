/* hw/cost.h - the defaults of cost and failures, and what a bill costs over time. */
#ifndef HW_COST_H
#define HW_COST_H

#include "halley/bill.h"

extern const halley_cost hw_cost_default;
extern const halley_failures hw_failures_default;

/* Set the price of hosts from that of a scale-up domain of the cluster as loaded. */
void hw_cost_set_node(halley_cluster *c, double node_usd);
/* Set the power of hosts from the nameplate power of one with its NPUs and switches. */
void hw_power_set_host(halley_cluster *c, double host_w);
/* Capital over its life and support, in USD per second. */
double hw_cost_usd_per_s(const halley_bill *bill, const halley_cluster *c);
/* Energy at this power, or what a data centre charges for the nameplate power. */
double hw_energy_usd_per_s(const halley_bill *bill, const halley_cluster *c,
                           double average_w);
/* Average power (W) if `n_npus` of the bill's NPUs compute for a fraction `busy` of the
 * time. The others idle. */
double hw_power_average(const halley_bill *bill, const halley_cluster *c, double n_npus,
                        double busy);
/* Carbon dioxide (kg) of this energy, and of making the hosts for their share of life. */
double hw_carbon_kg(const halley_bill *bill, const halley_cluster *c, double energy_J,
                    double seconds);

#endif
