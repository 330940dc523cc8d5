/* sim/coll/job.h - a collective node while it is turned into streams; for collective.c
 * and stream.c. */
#ifndef SIM_JOB_H
#define SIM_JOB_H

#include "sim/engine.h"

/* A collective node as its rank sees it. */
typedef struct sim_job {
    uint32_t rank, node, group;
    uint32_t place;  /* of the rank in the group */
    uint32_t member; /* index of the rank as a member: place, or rank if all take part */
    uint32_t set;    /* of queues */
    bool local;      /* a group smaller than the world */
    bool uneven;     /* an all-to-all of unequal sizes */
    bool bundle;     /* the network carries it as a whole */
    const char *custom;
    net_price price; /* of a bundle */
    coll_request request;
    coll_outline outlines[COLL_MAX_PHASES];
    uint32_t n_phases;
    uint32_t queues[COLL_MAX_PHASES];
    uint32_t directions; /* bit p: its phase p goes down */
    cluster_impl impls[CLUSTER_MAX_DIMS];
    uint32_t sizes[CLUSTER_MAX_DIMS];
    uint32_t in_network[CLUSTER_MAX_DIMS];
} sim_job;

/* Report what is wrong with the node and end the run. */
void sim_job_fail(sim *s, const sim_job *j, halley_status status, const char *text);
/* Find or make the plan of a chunk. NULL: the run has failed. */
const sim_plan *sim_job_plan(sim *s, const sim_job *j);
/* The number of the next chunk of the job's group. */
uint32_t sim_group_stream_next(sim *s, const sim_job *j);

/* stream.c: the pool of blocks of this size for the members of an op; SIM_NONE: no
 * memory. */
uint32_t sim_pool_find(sim_streams *t, size_t bytes);
/* One chunk joins (or opens) its stream and enters its first queue; false if the run has
 * failed. */
bool sim_stream_join(sim *s, sim_job *j, const sim_plan *plan, uint32_t stream,
                     uint32_t dataset);

#endif
