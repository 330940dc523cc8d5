/* request/sim/sim_untimed.h - execution traces without times in `halley sim`. */
#ifndef REQUEST_SIM_UNTIMED_H
#define REQUEST_SIM_UNTIMED_H

#include "halley/cluster.h"
#include "halley/trace.h"
#include "request/verb.h"

/* An execution trace alone has no times: compute is timed by the model of the NPU; where
 * there is none, the result says what it leaves out. A replay (cluster is NULL) would
 * take 0 s and is refused. Sets with times are left alone. */
halley_status sim_time_untimed(request_call *call, halley_cluster *cluster,
                               const halley_trace_set *set, halley_error *err);

#endif
