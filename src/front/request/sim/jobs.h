/* request/sim/jobs.h - `sim` with several jobs. */
#ifndef REQUEST_JOBS_H
#define REQUEST_JOBS_H

#include "halley/jobs.h"
#include "request/verb.h"

/* Load the traces that each text names, place them ("packed", "spread", "random:SEED" or
 * a file; NULL = packed), run them and write the result. */
halley_status request_jobs_run(request_call *call, const halley_cluster *cluster,
                               request_texts jobs, const char *placement,
                               const request_output *output, const halley_sim_opts *opts,
                               halley_error *err);

#endif
