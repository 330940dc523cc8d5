/*
 * explore/job.h - the processes that share a run, and whether rank 0 is alive; see job.c.
 */
#ifndef EXPLORE_JOB_H
#define EXPLORE_JOB_H

#include "halley/explore.h"
#include "mpi/plugin.h"

#include <stdbool.h>

/* On rank 0, this starts the heartbeat. `threads`: several threads may call MPI.
 * Otherwise there is no heartbeat, and no rank is ever assumed lost. */
halley_status explore_job_new(struct halley_job **out, const mpi_plugin *mpi,
                              uint32_t rank, uint32_t n_ranks, bool threads,
                              halley_error *err);
const mpi_plugin *explore_job_mpi(const struct halley_job *job); /* lent */
/* On other ranks: true if rank 0 has been silent for too long. */
bool explore_job_is_lost(struct halley_job *job);
void explore_job_free(struct halley_job *job); /* NULL is allowed */

#endif
