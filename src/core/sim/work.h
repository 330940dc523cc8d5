/* sim/work.h - the duration of a compute node by the model of the NPU. */
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include "halley/cluster.h"
#include "halley/trace.h"

/* Seconds on an NPU of the cluster; false if the node does not state its work. */
bool sim_work_time(double *seconds, const halley_cluster *cluster, const halley_npu *npu,
                   const halley_trace *trace, uint32_t node);

#endif
