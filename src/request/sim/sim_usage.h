/* request/sim/sim_usage.h - which options of `sim` go together. */
#ifndef REQUEST_SIM_USAGE_H
#define REQUEST_SIM_USAGE_H

#include "request/verb.h"

/* Traces, a cluster or ASTRA-sim's files, and what each of them needs or excludes. */
halley_status sim_usage_check(request_call *call, halley_error *err);
/* Options that only a plan, or only traces, can have; `options` are all of the verb. */
halley_status sim_usage_check_plan(request_call *call, const request_option *options,
                                   halley_error *err);
/* Warn about what ASTRA-sim takes and then forgets. */
void sim_usage_warn(const request_call *call);

#endif
