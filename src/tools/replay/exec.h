/* replay/exec.h - execute the operations of one process. */
#ifndef REPLAY_EXEC_H
#define REPLAY_EXEC_H

#include "replay/job.h"
#include "replay/plan.h"
#include "replay/work.h"

#include <pthread.h>

typedef struct replay_buffer {
    char *at;
    size_t size;
    bool used;
} replay_buffer;

typedef struct replay_flight {
    mpi_request request;
    uint32_t op;
    uint32_t buffers[2]; /* + 1; 0 = none */
    int *parts;          /* of an uneven all-to-all: counts and offsets, both ways */
} replay_flight;

typedef struct replay_exec {
    replay_job *job;
    const replay_plan *plan;
    const replay_program *program;
    replay_work work;
    mpi_comm *comms; /* by group; 0 = not a member */
    int tag_limit;
    uint32_t *waits, *heap, *next_ordinal, *stack;
    uint32_t n_heap, n_done;
    uint64_t *begins, *ends; /* by operation, ns since the start of the repeat */
    uint64_t start_ns;
    ARRAY(uint32_t) held; /* collectives that became ready before their turn */
    ARRAY(replay_flight) flights;
    ARRAY(replay_buffer) buffers;
    uint32_t *own;        /* by operation, two each: index of its buffer + 1; 0 = none
                             yet */
    uint64_t n_own_bytes; /* of all of them */
    char *evicted;        /* written before a repeat, so that caches are cold */
    uint64_t seed;
    bool has_thread, failed, out_of_memory;
    volatile bool ends_thread;
    pthread_t thread;
    pthread_mutex_t lock; /* protects everything here while there is a thread */
} replay_exec;

halley_status replay_exec_init(replay_exec *e, replay_job *job, const replay_plan *plan,
                               const halley_replay_opts *opts, halley_error *err);
/* Run all operations once, after a barrier of all ranks. False: the job must end; `job`
 * has the reason. */
bool replay_exec_run(replay_exec *e);
void replay_exec_fini(replay_exec *e);

#endif
