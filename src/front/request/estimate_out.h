/* request/estimate_out.h - what several verbs say about an estimate. */
#ifndef REQUEST_ESTIMATE_OUT_H
#define REQUEST_ESTIMATE_OUT_H

#include "halley/estimate.h"
#include "report/losses.h"

/* Where the step loses time, in a sentence. */
void request_estimate_losses(char to[REPORT_LOSSES_TEXT], const halley_estimate *e,
                             const halley_model *model);
/* The part of device_bytes that is in the outer memory if the plan spreads classes over
 * two memories; NaN if there is none. */
double request_spilled_bytes(const halley_plan *plan, double device_bytes,
                             double capacity_bytes, double headroom);

#endif
