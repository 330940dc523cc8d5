/* report/job.h - the ranks of a job, seen together, for people and programs. */
#ifndef REPORT_JOB_H
#define REPORT_JOB_H

#include "halley/recording_job.h"
#include "report/table.h"

/* Write tables for people (`all`: every collective), or the ranks as CSV. */
halley_status report_job_write(const halley_job *job, bool all, report_form form,
                               FILE *to, halley_error *err);
/* Write everything as members of the open object. */
void report_job_json(report_json *j, const halley_job *job);

#endif
