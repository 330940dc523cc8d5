/*
 * recording/job/job.h - the parts of halley_job_analyse.
 *
 * job_match lists the communication of all ranks and matches it; job.c computes clocks,
 * waiting and own work from it; verdict.c names stragglers.
 */
#ifndef RECORDING_JOB_JOB_H
#define RECORDING_JOB_JOB_H

#include "base/arena.h"
#include "base/array.h"
#include "base/hash.h"
#include "halley/recording_job.h"

#define JOB_NONE UINT32_MAX

/* One kernel of communication on one rank. */
typedef struct job_event {
    int64_t begin_ns, end_ns;
    double bytes;
    uint32_t rank, node;
    uint32_t group, type; /* in the interned texts */
    uint32_t index;       /* on this rank within its group */
    uint32_t coll;        /* JOB_NONE: no other rank has it */
    int64_t own_ns;       /* work of the rank since its event before this one */
} job_event;

typedef struct job_coll {
    uint32_t first, n; /* in `members` */
    uint32_t group, index;
    int64_t begin_ns; /* of the first rank */
} job_coll;

/* The recorded window of a rank, and what its device does. */
typedef struct job_window {
    int64_t begin_ns, end_ns;
    int64_t compute_ns, copies_ns;
} job_window;

typedef struct job {
    halley_job j; /* first: what the caller sees */
    arena memory;
    const halley_trace_set *set;
    uint32_t n_ranks;
    intern texts;
    ARRAY(job_event) events; /* by rank, then by begin */
    uint32_t *event_at;      /* by rank, n + 1 */
    ARRAY(job_coll) colls;   /* by begin */
    ARRAY(uint32_t) members; /* events, by collective, then by rank */
    job_window *windows;     /* by rank */
    int64_t *offset_ns;      /* by rank: how far its clock is ahead */
} job;

/* Fill events, windows and steps, and match the events of all ranks. */
halley_status job_match(job *x, halley_error *err);
/* Name stragglers and write the verdict. */
halley_status job_judge(job *x, halley_error *err);

static inline int64_t job_begin(const job *x, const job_event *e)
{
    return e->begin_ns - x->offset_ns[e->rank];
}

#endif
