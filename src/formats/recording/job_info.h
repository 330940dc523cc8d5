/*
 * recording/job_info.h - the job metadata of a Kineto trace: "distributedInfo" has this
 * rank, the number of ranks, and the process groups.
 */
#ifndef RECORDING_JOB_INFO_H
#define RECORDING_JOB_INFO_H

#include "base/array.h"
#include "recording/pull.h"

typedef struct job_group {
    uint32_t name, desc;     /* interned; HASH_NONE = absent */
    uint32_t first, n_ranks; /* in job_info.ranks */
} job_group;

typedef struct job_info {
    uint64_t rank, world; /* PULL_NONE = not in the trace */
    ARRAY(job_group) groups;
    ARRAY(uint64_t) ranks; /* of the groups, one group after the other */
} job_info;

#define JOB_INFO_UNKNOWN                                                                 \
    {                                                                                    \
        .rank = PULL_NONE, .world = PULL_NONE                                            \
    }

/* Read the object after its opening bracket. Texts are interned in `p`. */
halley_status job_info_read(job_info *info, pull_reader *p, halley_error *err);
void job_info_fini(job_info *info);

#endif
