/* request/sim/sim_untimed.h - execution traces without times in `halley sim`. */
#ifndef REQUEST_SIM_UNTIMED_H
#define REQUEST_SIM_UNTIMED_H

#include "halley/cluster.h"
#include "halley/trace.h"
#include "request/verb.h"

/* Handle an execution trace alone, which has no times. Compute is timed by the model of
 * the NPU; if there is none, the result states what is missing. A replay (cluster is
 * NULL) would take 0 s and is refused. Sets with times are not changed. */
halley_status sim_time_untimed(request_call *call, halley_cluster *cluster,
                               const halley_trace_set *set, halley_error *err);

#endif
