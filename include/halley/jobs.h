/*
 * halley/jobs.h - simulate several jobs on one cluster, first each alone and then all at
 * once, to see how much they slow each other down.
 */
#ifndef HALLEY_JOBS_H
#define HALLEY_JOBS_H

#include "halley/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A job has one trace per rank. Collectives without a group include all ranks of the job.
 */
typedef struct halley_sim_job {
    const char *name;
    const halley_trace_set *traces;
    const char *groups; /* its comm_group.json; NULL = none */
} halley_sim_job;

typedef enum halley_placement {
    HALLEY_PLACEMENT_PACKED, /* whole nodes one after the other, job by job */
    HALLEY_PLACEMENT_SPREAD, /* the nodes of each job are distributed round-robin over the
                                blocks of the network's lowest level (leaves) */
    HALLEY_PLACEMENT_RANDOM, /* whole nodes in random order */
} halley_placement;

/*
 * Choose the NPUs of jobs with the given numbers of ranks. The result lists the NPUs of
 * the first job by rank, then those of the second, and so on. Jobs do not share nodes. If
 * all NPUs are one node (tori), jobs do not share NPUs. On success the caller owns *npus
 * and must free() it. HALLEY_EINVAL: the jobs do not fit.
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
    double alone_s;             /* its time on these NPUs when no other job runs */
    double together_s;          /* its time when all jobs run */
    double slowdown;            /* together / alone; 1 for a job that takes no time */
    uint32_t n_shared_links;    /* links that it and another job use */
    const char *busiest_shared; /* the busiest of them; NULL = there is none */
    double busiest_use;         /* utilization of that link while all jobs run */
} halley_job_result;

/* Simulate each job alone, then all together. `npus` is in the order of
 * halley_jobs_place; no NPU may have two ranks. The cluster must have native rules and no
 * groups of its own. */
halley_status halley_jobs_run(halley_jobs_result **out, const halley_sim_job *jobs,
                              uint32_t n_jobs, const uint32_t *npus,
                              const halley_cluster *cluster, const halley_sim_opts *opts,
                              halley_error *err);
void halley_jobs_result_free(halley_jobs_result *result); /* NULL is allowed */
uint32_t halley_jobs_count(const halley_jobs_result *result);
halley_job_result halley_jobs_get(const halley_jobs_result *result, uint32_t job);
/* The run of all jobs. Its ranks are NPUs; NPUs without a job do nothing. Lent. */
const halley_result *halley_jobs_together(const halley_jobs_result *result);

#ifdef __cplusplus
}
#endif
#endif
