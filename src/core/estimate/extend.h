/* estimate/extend.h - operators as the calls that extensions of a cluster see. */
#ifndef ESTIMATE_EXTEND_H
#define ESTIMATE_EXTEND_H

#include "hw/cluster.h"
#include "workload/ops.h"

/* Seconds of one pass of a compute operator: from the cluster's extension if it has one,
 * else `standard_s`. */
double estimate_extended(const halley_cluster *cluster, const workload_op *op,
                         bool backward, double standard_s);

#endif
