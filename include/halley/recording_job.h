/*
 * halley/recording_job.h - the recordings of all ranks of a job, seen together.
 *
 * A kernel of a collective runs from the moment its rank arrives to the moment the data
 * has been moved. So most of its time may be waiting for ranks that arrive later. The
 * collectives of all ranks are matched, clocks are compared, and each kernel's time is
 * divided into waiting and transfer.
 */
#ifndef HALLEY_RECORDING_JOB_H
#define HALLEY_RECORDING_JOB_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One rank. Own work is what it does between collectives. */
typedef struct halley_job_rank {
    double offset_s; /* its clock is ahead of the median rank's */
    double own_s, wait_s, transfer_s;
    double compute_s, copies_s,
        host_s;         /* parts of own_s; host_s: no work on the device */
    uint64_t n_last;    /* collectives for which it was the last to come */
    double last_wait_s; /* waiting of all ranks in these */
    double cost_s; /* how much later it came than the second last, over these; attributed
                      to the rank whose own work was the cause */
} halley_job_rank;

/* One collective, or one message from rank to rank. */
typedef struct halley_job_collective {
    const char *group, *type; /* "all_reduce" */
    uint64_t index;           /* within its group */
    uint32_t n_ranks, last_rank;
    double bytes;              /* as the kernel states; 0 = not known */
    double transfer_s, wait_s; /* of one rank; the sum over all ranks */
    double late_s;             /* the last rank begins this long after the median */
    double busbw_Bps;          /* 0 = not known */
} halley_job_collective;

typedef struct halley_job_step {
    int64_t number;
    double median_s, longest_s; /* over the ranks */
    uint32_t slowest_rank;
} halley_job_step;

typedef struct halley_job_straggler {
    uint32_t rank;
    double cost_s;
    const char
        *class_name; /* "compute", "host" or "copies": where it exceeds the median */
    double excess_s;
} halley_job_straggler;

/* Texts are lent until it is freed. */
typedef struct halley_job {
    size_t size; /* filled by the library, see error.h */
    halley_job_rank *ranks;
    uint32_t n_ranks;
    halley_job_collective *collectives; /* by time */
    size_t n_collectives;
    halley_job_step *steps;
    size_t n_steps;
    halley_job_straggler *stragglers;
    size_t n_stragglers;
    uint64_t
        n_unmatched; /* collectives that only one rank recorded, or of another type */
    double window_s; /* recorded time, mean over the ranks */
    double wait_share, transfer_share; /* of window_s, mean over the ranks */
    double
        as_recorded_s; /* the longest own work between two collectives, and transfers */
    uint32_t typical_rank; /* whose own work is nearest to the median of all ranks */
    bool has_clocks; /* the ends of collectives agree, so the last rank can be named */
    const char *verdict;
} halley_job;

/* HALLEY_EINVAL: fewer than two ranks, or no recordings. */
halley_status halley_job_analyse(halley_job **out, const halley_trace_set *set,
                                 halley_error *err);
void halley_job_free(halley_job *job);

#ifdef __cplusplus
}
#endif
#endif
