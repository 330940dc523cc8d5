/*
 * serve/jobs.h - requests being carried out: a bounded queue, workers, and what became of
 * each, for the connections that wait for it.
 *
 * There are two lanes. Quick verbs (an estimate takes a millisecond) have workers of
 * their own, so that sliders answer while an exploration runs; long ones run at a lower
 * priority. A long job that nobody waits for is cancelled after SERVE_GRACE_S, a quick
 * one after SERVE_KEEP_S.
 */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include "base/error.h"
#include "serve/words.h"

#include <stdbool.h>
#include <stdint.h>

/* A request waits this long for its reply before it becomes a job to follow. */
#define SERVE_WAIT_S 0.2
/* A long job that nobody follows is cancelled after this time. */
#define SERVE_GRACE_S 5.0
/* A finished job is kept this long, and a quick one waits this long for its client. */
#define SERVE_KEEP_S 60.0

typedef struct serve_jobs serve_jobs;
typedef struct serve_job serve_job;

typedef struct serve_jobs_options {
    bool read_only;    /* requests that write files are refused */
    double most_s;     /* a job is cancelled after so long; 0 = never */
    uint32_t n_quick;  /* workers; 0 = one per core, at least 2 */
    uint32_t n_long;   /* workers; 0 = 2 */
    uint32_t n_queued; /* jobs that may wait in each lane; 0 = 512 and 32 */
} serve_jobs_options;

halley_status serve_jobs_open(serve_jobs **out, const serve_jobs_options *o,
                              halley_error *err);
/* Cancels everything and wakes those who wait; new jobs are refused. */
void serve_jobs_cancel(serve_jobs *jobs);
/* After serve_jobs_cancel, when no connection uses a job any more. */
void serve_jobs_close(serve_jobs *jobs);
/* Cancel what nobody waits for and what takes too long, forget what is old; now and then.
 */
void serve_jobs_tidy(serve_jobs *jobs, double now_s);

/* Queue a request: `json` is copied. *out is a reference, to be released. HALLEY_ELIMIT:
 * the queue is full. */
halley_status serve_job_start(serve_job **out, serve_jobs *jobs, const char *json,
                              halley_error *err);
/* NULL when there is none of that id; else a reference of one who follows the job. */
serve_job *serve_job_find(serve_jobs *jobs, const char id[SERVE_TOKEN + 1]);
/* One who waits less. */
void serve_job_release(serve_job *job);
/* The same, and nobody will ask for it again: its reply was delivered. */
void serve_job_forget(serve_job *job);
/* The job ends soon; false when there is none of that id. */
bool serve_job_cancel(serve_jobs *jobs, const char id[SERVE_TOKEN + 1]);

const char *serve_job_id(const serve_job *job); /* lent by the job */
/* Wait up to `seconds` for the reply: lent by the job, NULL when there is none yet. */
const char *serve_job_wait(serve_job *job, double seconds);

typedef struct serve_progress {
    char what[64], noun[32];
    uint64_t done, version; /* version: 0 = nothing is known yet */
    double total;           /* 0 = not known */
} serve_progress;
/* Wait up to `seconds` for the reply or for progress of another version than *seen, which
 * is filled. Returns as serve_job_wait. */
const char *serve_job_watch(serve_job *job, serve_progress *seen, double seconds);

#endif
