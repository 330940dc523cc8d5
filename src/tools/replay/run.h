/* replay/run.h - the internals of a replay. */
#ifndef REPLAY_RUN_H
#define REPLAY_RUN_H

#include "replay/exec.h"

struct halley_replay {
    replay_plan plan;
    bool is_first;
    uint32_t n_repeats; /* finished */
    double *steps_s;    /* by repeat */
    uint64_t *
        *times; /* by repeat and rank: begins, then ends, ns; on the first process */
};

static inline const uint64_t *replay_times(const halley_replay *r, uint32_t repeat,
                                           uint32_t rank)
{
    return r->times[(size_t)repeat * r->plan.n_ranks + rank];
}
/* The repeat whose step time is the median. */
uint32_t replay_median_repeat(const halley_replay *r);

/* MPI in this process; started once and kept. */
typedef struct replay_mpi {
    const mpi_plugin *plugin;
    int rank, n_ranks;
    bool threads;
} replay_mpi;
halley_status replay_mpi_start(replay_mpi *out, halley_error *err);

#endif
