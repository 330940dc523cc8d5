/*
 * Offload to outer memory tiers, energy and cost.
 *
 * NPUs that share a memory tier use it one after the other: its bandwidth is divided by
 * the number of its users. A pool behind switches has the rate of its slowest stage.
 *
 * Offload by class: optimizer states and gradients are read and written once per step,
 * and this time is exposed. Weights are fetched for both passes of every micro-batch, and
 * activations are written once and read once. These transfers overlap with up to nine
 * tenths of the passes, because they use neither the compute units nor the network.
 *
 * Offload that is spread proportionally over all classes (COMET): all traffic has one
 * effective bandwidth, total / (local / local bandwidth + outer / outer bandwidth).
 * estimate/price.c slows its memory down accordingly.
 *
 * Energy: the average power of the cluster's bill (hw/bill.c). Cost: the capital cost
 * over its lifetime, or rent, plus energy. Utilisation is the fraction of the step that
 * computes. NPUs of the last host that the plan does not use are paid for and idle.
 */
#include "estimate/outer.h"

#include "hw/cost.h"
#include "hw/count.h"
#include "workload/memory.h"

#include <assert.h>
#include <math.h>

double estimate_outer_share(const halley_estimate *e)
{
    const double excess = e->peak_bytes - (1 - e->headroom) * e->capacity_bytes;
    return excess > 0 ? excess / e->peak_bytes : 0;
}

static double compute_s(const halley_estimate *e)
{
    return e->part_s[HALLEY_PART_FORWARD] + e->part_s[HALLEY_PART_BACKWARD] +
           e->part_s[HALLEY_PART_RECOMPUTE];
}

/* The time of all passes of a step: compute, messages and waits for the host. */
static double passes_s(const halley_estimate *e)
{
    double sum = compute_s(e) + e->part_s[HALLEY_PART_HOST];
    for (int i = HALLEY_PART_TP; i <= HALLEY_PART_DP; i++)
        sum += e->part_s[i];
    return sum;
}

void estimate_offload(halley_estimate *e, const halley_plan *plan,
                      const halley_cluster *cluster, double micro_batches)
{
    assert(micro_batches > 0);
    assert(e->offloaded_bytes >= 0);
    const halley_tier *tier = workload_outer_tier(plan, cluster);
    if (!tier || e->offloaded_bytes <= 0)
        return;
    const workload_outer_rate rate = workload_outer_rate_find(tier, plan, cluster);
    /* What all NPUs share carries the mean of all pipeline stages, and what an NPU has
     * for itself the bytes of the fullest stage. */
    const double mean = e->outer_need_bytes / e->offloaded_bytes;
    const double byte_s = fmax(fmin(mean, 1) / rate.all_Bps, 1 / rate.own_Bps);
    const double *outer = e->outer_bytes;
    const double open =
        2 * byte_s * (outer[HALLEY_MEMORY_OPTIMIZER] + outer[HALLEY_MEMORY_GRADIENTS]);
    /* Activations of a step: those in flight, times the number of times they are
     * replaced. */
    const double flights = plan->pp < micro_batches ? micro_batches / plan->pp : 1;
    const double behind = 2 * byte_s *
                          (outer[HALLEY_MEMORY_WEIGHTS] * micro_batches +
                           outer[HALLEY_MEMORY_ACTIVATIONS] * flights);
    const double hidden = plan->no_overlap ? 0 : 0.9 * passes_s(e);
    e->part_s[HALLEY_PART_OFFLOAD] +=
        open + (behind > hidden ? behind - hidden : 0) + 4 * rate.latency_s;
    assert(e->part_s[HALLEY_PART_OFFLOAD] >= 0);
}

void estimate_money(halley_estimate *e, const halley_plan *plan,
                    const halley_cluster *cluster)
{
    assert(e->step_s > 0);
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    const double busy = e->step_s > 0 ? compute_s(e) / e->step_s : 0;
    halley_bill bill;
    halley_bill_make(&bill, cluster, npus);
    const double average_w = hw_power_average(&bill, cluster, npus, busy);
    const double rent_usd_per_s = bill.n_npus * cluster->cost.rent_usd_per_s;
    e->energy_J = average_w * e->step_s;
    e->cost_usd = e->step_s * (rent_usd_per_s + hw_cost_usd_per_s(&bill, cluster) +
                               hw_energy_usd_per_s(&bill, cluster, average_w));
    assert(e->energy_J >= 0 && e->cost_usd >= 0);
}
