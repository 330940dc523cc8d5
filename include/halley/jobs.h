/*
 * halley/jobs.h - several jobs on one cluster: each by itself, then all at once, and how
 * much they slow each other down.
 */
#ifndef HALLEY_JOBS_H
#define HALLEY_JOBS_H

#include "halley/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A job: one trace per rank. Collectives without a group are those of all its ranks. */
typedef struct halley_sim_job {
    const char *name;
    const halley_trace_set *traces;
    const char *groups; /* its comm_group.json; NULL = none */
} halley_sim_job;

typedef enum halley_placement {
    HALLEY_PLACEMENT_PACKED, /* whole nodes one after the other, job by job */
    HALLEY_PLACEMENT_SPREAD, /* the nodes of each job dealt out over the blocks of the
                              * network's lowest level (leaves), in turn */
    HALLEY_PLACEMENT_RANDOM, /* whole nodes in random order */
} halley_placement;

/*
 * The NPUs of jobs with that many ranks each: those of the first job by rank, then those
 * of the second, and so on. A job has nodes of its own; where all NPUs are one node
 * (tori), NPUs of its own. On success *npus is the caller's, to free(). HALLEY_EINVAL:
 * they do not fit.
 */
halley_status halley_jobs_place(uint32_t **npus, const halley_cluster *cluster,
                                const uint32_t *n_ranks, uint32_t n_jobs,
                                halley_placement placement, uint64_t seed,
                                halley_error *err);

typedef struct halley_jobs_result halley_jobs_result; /* owns all it hands out */

/* One job of a run. */
typedef struct halley_job_result {
    const char *name;
    uint32_t n_ranks;
    const uint32_t *npus;       /* by rank */
    double alone_s;             /* its time on these NPUs when nobody else runs */
    double together_s;          /* its time when all jobs run */
    double slowdown;            /* together / alone; 1 for a job that takes no time */
    uint32_t n_shared_links;    /* links that it and another job use */
    const char *busiest_shared; /* of these; NULL = there is none */
    double busiest_use;         /* its use while all jobs run */
} halley_job_result;

/* Simulate each job alone, then all together. `npus` as above; no NPU may have two
 * ranks. The cluster must have no groups of its own and native rules. */
halley_status halley_jobs_run(halley_jobs_result **out, const halley_sim_job *jobs,
                              uint32_t n_jobs, const uint32_t *npus,
                              const halley_cluster *cluster, const halley_sim_opts *opts,
                              halley_error *err);
void halley_jobs_result_free(halley_jobs_result *result); /* NULL is allowed */
uint32_t halley_jobs_count(const halley_jobs_result *result);
halley_job_result halley_jobs_get(const halley_jobs_result *result, uint32_t job);
/* The run of all jobs; its ranks are NPUs, those without a job do nothing. Lent. */
const halley_result *halley_jobs_together(const halley_jobs_result *result);

#ifdef __cplusplus
}
#endif
#endif
