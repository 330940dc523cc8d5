/* sim/work.h - how long a compute node takes by the model of the NPU. */
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include "halley/cluster.h"
#include "halley/trace.h"

/* Seconds on an NPU of the cluster; false when the node does not say what it computes. */
bool sim_work_time(double *seconds, const halley_cluster *cluster, const halley_npu *npu,
                   const halley_trace *trace, uint32_t node);

#endif
