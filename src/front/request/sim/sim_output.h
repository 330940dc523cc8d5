/* request/sim/sim_output.h - writes the result of `sim` as its options request. */
#ifndef REQUEST_SIM_OUTPUT_H
#define REQUEST_SIM_OUTPUT_H

#include "halley/sim.h"
#include "report/sim.h"
#include "request/verb.h"

/* Write text, CSV, JSON or ASTRA-sim's log, then the files of the options. No file may
 * appear if the result itself cannot be written. */
halley_status sim_output_write(request_call *call, const halley_result *result,
                               const report_traces *traces, const halley_cluster *cluster,
                               halley_error *err);

#endif
