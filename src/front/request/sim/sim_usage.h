/* request/sim/sim_usage.h - which options of `sim` can be combined. */
#ifndef REQUEST_SIM_USAGE_H
#define REQUEST_SIM_USAGE_H

#include "request/verb.h"

/* Check traces, cluster and ASTRA-sim's files, and what each of them needs or excludes.
 */
halley_status sim_usage_check(request_call *call, halley_error *err);
/* Check options that need a plan, or need traces. */
halley_status sim_usage_check_plan(request_call *call, halley_error *err);
/* Warn about options that ASTRA-sim accepts and then ignores. */
void sim_usage_warn(const request_call *call);

#endif
