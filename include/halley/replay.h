/*
 * halley/replay.h - run a trace set on the current machine, one MPI process per rank.
 * Collectives and messages run as MPI calls; compute runs as spinning, matmuls or sleep;
 * memory nodes run as copies. Every process of the job (mpirun) must call each of these
 * functions.
 */
#ifndef HALLEY_REPLAY_H
#define HALLEY_REPLAY_H

#include "halley/cluster.h"
#include "halley/sim.h"
#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_replay_compute {
    HALLEY_REPLAY_SPIN,   /* busy for the recorded time */
    HALLEY_REPLAY_MATMUL, /* OpenBLAS matmuls sized so that they take the recorded time
                             when run alone */
    HALLEY_REPLAY_SLEEP,  /* idle for the recorded time */
} halley_replay_compute;

typedef enum halley_replay_progress {
    HALLEY_REPLAY_POLL,   /* communication advances between pieces of compute */
    HALLEY_REPLAY_THREAD, /* a second thread advances it */
} halley_replay_progress;

/* Zero in every field is the default. */
typedef struct halley_replay_opts {
    uint32_t n_repeats; /* 0 = 5 */
    uint32_t
        n_warm_ups; /* runs before them that do not count; UINT32_MAX = none, 0 = 1 */
    bool only_comm, only_compute;
    double size_scale, compute_scale; /* factors of sizes and times; 0 = 1 */
    bool shrink;    /* fewer processes than ranks: run the first ranks, with groups
                       reduced to them */
    bool one_trace; /* every process runs the trace of rank 0 */
    bool dry_run;   /* check and count; run nothing */
    uint64_t seed;  /* of the data that is sent and multiplied */
    halley_replay_compute compute;
    halley_replay_progress progress;
    double time_limit_s;  /* of the whole job; 0 = none */
    double stall_limit_s; /* without progress, or without a heartbeat of a process; 0 =
                             8 */
    const char *groups;   /* file of communicator groups; NULL = the one next to the
                             traces */
    const char *repeats_file; /* CSV of step times, written after every repeat; or NULL */
} halley_replay_opts;

typedef struct halley_replay halley_replay; /* a finished replay; opaque */

/*
 * Replay `traces`, one per process. On success the caller owns *out; only the first
 * process (halley_replay_is_first) has results. A process that dies, or ranks whose
 * communication does not match, end the job with HALLEY_EDEADLOCK. *out then holds the
 * repeats that were finished; after other errors it is NULL.
 */
halley_status halley_replay_run(halley_replay **out, const halley_trace_set *traces,
                                const halley_replay_opts *opts, halley_error *err);
void halley_replay_free(halley_replay *r);
bool halley_replay_is_first(const halley_replay *r);
uint32_t halley_replay_ranks(const halley_replay *r);
/* The step times of the finished repeats, in seconds. Returns their number. Lent. */
uint32_t halley_replay_steps(const double **out, const halley_replay *r);
/* The median of them; 0 when there is none. */
double halley_replay_step_s(const halley_replay *r);
/* What was left out or changed, as sentences; lent. */
uint32_t halley_replay_note_count(const halley_replay *r);
const char *halley_replay_note(const halley_replay *r, uint32_t i);

/* All collectives of one kind, size and group size; messages have type SEND. */
typedef struct halley_replay_row {
    uint32_t type; /* halley_node_type: COLL or SEND */
    uint32_t coll; /* halley_coll_type */
    uint32_t n_members;
    uint64_t bytes;     /* as the nodes give them, scaled */
    uint64_t count;     /* in one step, over all groups */
    double measured_s;  /* mean over the nodes of the median over the repeats, of the
                           member that arrived last, so without waiting */
    double recorded_s;  /* the same for the times recorded in the trace; 0 = none */
    double simulated_s; /* the same for `simulated`; 0 = not simulated */
    double alg_Bps;     /* larger buffer of one rank / measured_s */
    double bus_Bps;     /* alg_Bps times the share of the buffer that a ring sends */
} halley_replay_row;
/* List the rows. `simulated` is a result of the same traces with recorded nodes, or NULL.
 * The caller owns *out and must free() it. */
halley_status halley_replay_rows(halley_replay_row **out, size_t *n,
                                 const halley_replay *r, const halley_result *simulated,
                                 halley_error *err);
/* The traces as they were run, with the measured times of the median repeat. The caller
 * owns *out. */
halley_status halley_replay_traces(halley_trace_set **out, const halley_replay *r,
                                   halley_error *err);

/*
 * Measure collectives and messages of many sizes on this machine and describe it as a
 * cluster file. On the first process *out is its text, which the caller must free(); on
 * others it is NULL. n_samples is per size, 0 = 20. Sizes go up to largest_bytes (0 = 16
 * MiB).
 */
typedef struct halley_replay_fit_opts {
    uint32_t n_samples;
    double largest_bytes;
    double time_limit_s; /* 0 = none */
    uint64_t seed;
} halley_replay_fit_opts;
halley_status halley_replay_fit(char **out, const halley_replay_fit_opts *opts,
                                halley_error *err);
/* End MPI in this process; call this once, at the end. */
void halley_replay_finish(void);

#ifdef __cplusplus
}
#endif
#endif
