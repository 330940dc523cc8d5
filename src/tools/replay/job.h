/*
 * replay/job.h - the processes of a job: heartbeats, progress, and what each waits for. A
 * dead or stuck process ends the job with an error that explains it.
 */
#ifndef REPLAY_JOB_H
#define REPLAY_JOB_H

#include "halley/error.h"
#include "mpi/plugin.h"

#include <stdbool.h>
#include <stdint.h>

/* The heartbeat of a process, sent several times per second. */
typedef struct replay_sign {
    uint64_t n_done; /* operations ended since the start */
    uint64_t node;   /* id of a node that it waits for */
    uint64_t bytes;
    uint32_t is_idle; /* it waits for others and has nothing to compute */
    uint32_t type;    /* of that node; coll */
    uint32_t coll;
    int32_t peer; /* -1 = none */
} replay_sign;

typedef struct replay_job {
    const mpi_plugin *mpi;
    int rank, n_ranks;
    bool yields;                 /* more ranks on this host than processors */
    double stall_limit_s, end_s; /* end_s: by clock_s; 0 = never */
    replay_sign own;             /* kept up to date by the owner */
    replay_sign *signs;          /* by rank, on the first process */
    double *seen_s;              /* by rank: when its last heartbeat arrived */
    double sent_s;               /* when the last heartbeat was sent */
    uint64_t n_done;             /* total, and when it last rose */
    double moved_s;
    mpi_request *sending; /* by rank */
    replay_sign *out;     /* by rank: what is being sent */
    char sentence[512];   /* why the job must end; "" = it need not */
} replay_job;

halley_status replay_job_init(replay_job *j, const mpi_plugin *mpi, int rank, int n_ranks,
                              halley_error *err);
/* Call this often. False: the job must end; `sentence` has the reason. */
bool replay_job_poll(replay_job *j);
/* Call between two polls: others may need the processor. */
void replay_job_pause(const replay_job *j);
void replay_job_fini(replay_job *j);
/* A barrier of all ranks; false as for replay_job_poll. */
bool replay_job_meet(replay_job *j);
/* Send `n` bytes to the first process, which receives those of all ranks in `all`
 * (sizes[i] each). */
bool replay_job_gather(replay_job *j, const void *bytes, size_t n, void *const *all,
                       const size_t *sizes);

#endif
