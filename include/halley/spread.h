/* halley/spread.h - construct all ranks of a job from the recording of one of them. */
#ifndef HALLEY_SPREAD_H
#define HALLEY_SPREAD_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the job is parallelized. Ranks count tensor parallel first, then data parallel,
 * then stages: rank = t + tp * (d + dp * p). 0 = 1. */
typedef struct halley_spread_opts {
    uint32_t tp, dp, pp;
    uint32_t rank;           /* the recorded rank, if the trace does not say; default 0 */
    const char *groups_path; /* ASTRA-sim's {"1": [0, 1]}; NULL = as the trace says */
} halley_spread_opts;

typedef struct halley_spread_report {
    uint32_t n_ranks, recorded_rank;
    uint32_t n_groups_before, n_groups; /* of the recorded rank; of all ranks */
    uint64_t n_collectives;             /* of each rank */
    uint64_t n_messages; /* sends and receives of each rank, matched between stages */
    uint64_t n_lone;     /* those of them that are kept as work of recorded length */
    bool has_embedding;  /* the recorded rank looks up an embedding */
} halley_spread_report;

/*
 * Make a set of tp * dp * pp ranks that all do what the recorded one did, each in its own
 * groups. A group that extends along some axes of the layout extends along the same axes
 * for every rank.
 *
 * Messages to neighbouring stages are matched if the recorded stage has as many sends as
 * receives in each direction. The first stage then has no receives from a previous stage,
 * and the last has no sends to a next one.
 *
 * HALLEY_EINVAL: the job has another size than was recorded, or a group does not fit the
 * layout. On success the caller owns *out.
 */
halley_status halley_trace_spread(halley_trace_set **out, halley_spread_report *report,
                                  const halley_trace *trace,
                                  const halley_spread_opts *opts, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
