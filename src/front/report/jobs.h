/* report/jobs.h - several jobs on one cluster: tables, JSON, CSV. */
#ifndef REPORT_JOBS_H
#define REPORT_JOBS_H

#include "halley/jobs.h"
#include "report/json.h"

#include <stdio.h>

/* Write a row per job, then the network and the hottest links of the run of all jobs. */
halley_status report_jobs_text(const halley_jobs_result *jobs, FILE *to,
                               halley_error *err);
halley_status report_jobs_csv(const halley_jobs_result *jobs, FILE *to,
                              halley_error *err);
/* Write the member "jobs", and what report_sim_json writes for the run of all jobs. */
halley_status report_jobs_json(report_json *j, const halley_jobs_result *jobs,
                               halley_error *err);

#endif
