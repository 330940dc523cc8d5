/* sim/load/jobs.h - traces of jobs as the whole cluster sees them; for the files jobs*.c.
 */
#ifndef SIM_JOBS_H
#define SIM_JOBS_H

#include "halley/jobs.h"
#include "hw/cluster.h"

/* A job's ranks and groups among those of all jobs. */
typedef struct sim_job_map {
    const char *name;
    uint32_t n_ranks;
    const uint32_t *npus; /* by rank */
    int64_t world;        /* group of all its ranks */
    int64_t first_group;  /* its i-th group has this number + i */
    uint32_t n_groups;
    const cluster_group *groups; /* of its ranks, as its file has them */
} sim_job_map;

/* Rewrite a rank's trace with the numbers of the cluster; the caller owns *out. */
halley_status sim_job_trace(halley_trace **out, const halley_trace *trace,
                            const sim_job_map *map, halley_error *err);
/* The trace of an NPU without a job. */
halley_status sim_idle_trace(halley_trace **out, halley_error *err);

#endif
