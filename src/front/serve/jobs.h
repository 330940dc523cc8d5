/*
 * serve/jobs.h - requests in progress: a bounded queue, workers, and the result of each
 * request for the connections that wait for it.
 *
 * There are two lanes. Quick verbs (an estimate takes a millisecond) have separate
 * workers, so that sliders respond while an exploration runs. Long ones run at a lower
 * priority. A long job without a waiting client is cancelled after SERVE_GRACE_S, a quick
 * one after SERVE_KEEP_S.
 */
#ifndef SERVE_JOBS_H
#define SERVE_JOBS_H

#include "base/error.h"
#include "serve/words.h"

#include <stdbool.h>
#include <stdint.h>

/* A request waits this long for its reply before the client gets a job id instead. */
#define SERVE_WAIT_S 0.2
/* A long job without a client is cancelled after this time. */
#define SERVE_GRACE_S 5.0
/* A finished job is kept this long, and a quick one waits this long for its client. */
#define SERVE_KEEP_S 60.0

typedef struct serve_jobs serve_jobs;
typedef struct serve_job serve_job;

typedef struct serve_jobs_options {
    uint64_t max_output; /* bytes that a request may write into files */
    bool read_only;      /* requests that write files are refused */
    double most_s;       /* a job is cancelled after this time; 0 = never */
    uint32_t n_quick;    /* workers; 0 = one per core, at least 2 */
    uint32_t n_long;     /* workers; 0 = 2 */
    uint32_t n_queued;   /* jobs that may wait in each lane; 0 = 512 and 32 */
} serve_jobs_options;

halley_status serve_jobs_open(serve_jobs **out, const serve_jobs_options *o,
                              halley_error *err);
/* Cancels everything and wakes all waiting clients; new jobs are refused. */
void serve_jobs_cancel(serve_jobs *jobs);
/* After serve_jobs_cancel, when no connection uses a job any more. */
void serve_jobs_close(serve_jobs *jobs);
/* Cancel jobs without clients and jobs that take too long, and drop old results; call
 * this regularly. */
void serve_jobs_tidy(serve_jobs *jobs, double now_s);

/* Queue a request: `json` is copied. *out is a reference, to be released. HALLEY_ELIMIT:
 * the queue is full. */
halley_status serve_job_start(serve_job **out, serve_jobs *jobs, const char *json,
                              halley_error *err);
/* A reference to the job for a client that follows it; NULL if there is none of that
 * id. */
serve_job *serve_job_find(serve_jobs *jobs, const char id[SERVE_TOKEN + 1]);
/* Release a client's reference. */
void serve_job_release(serve_job *job);
/* The same, and drop the job: its reply was delivered. */
void serve_job_forget(serve_job *job);
/* Make the job end soon; false if there is none of that id. */
bool serve_job_cancel(serve_jobs *jobs, const char id[SERVE_TOKEN + 1]);

const char *serve_job_id(const serve_job *job); /* lent by the job */
/* Wait up to `seconds` for the reply, which is lent by the job; NULL if there is none
 * yet. */
const char *serve_job_wait(serve_job *job, double seconds);

typedef struct serve_progress {
    char what[64], noun[32];
    uint64_t done, version; /* version: 0 = no progress yet */
    double total;           /* 0 = not known */
} serve_progress;
/* Wait up to `seconds` for the reply, or for progress of another version than *seen,
 * which is updated. Returns the same as serve_job_wait. */
const char *serve_job_watch(serve_job *job, serve_progress *seen, double seconds);

#endif
