/* halley/spread.h - the ranks of a job from the recording of one of them. */
#ifndef HALLEY_SPREAD_H
#define HALLEY_SPREAD_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How the job is divided. Ranks count tensor-parallel ones first, then data-parallel
 * ones, then stages: rank = t + tp * (d + dp * p). 0 = 1. */
typedef struct halley_spread_opts {
    uint32_t tp, dp, pp;
    uint32_t rank;           /* the recorded one, where the trace does not say; 0 */
    const char *groups_path; /* ASTRA-sim's {"1": [0, 1]}; NULL = as the trace says */
} halley_spread_opts;

typedef struct halley_spread_report {
    uint32_t n_ranks, recorded_rank;
    uint32_t n_groups_before, n_groups; /* of the recorded rank; of all ranks */
    uint64_t n_collectives;             /* of each rank */
    uint64_t n_messages; /* sends and receives of each rank, matched between stages */
    uint64_t n_lone;     /* of them kept as work of recorded length */
    bool has_embedding;  /* the recorded rank looks up an embedding */
} halley_spread_report;

/*
 * A set of tp * dp * pp ranks, each doing what the recorded one did, in groups of its
 * own: a group that varies along some axes of the layout varies along the same for every
 * rank. Messages to neighbouring stages are matched where the recorded stage has as many
 * sends forward as receives, both ways; the first stage then has no receives from before,
 * the last no sends. HALLEY_EINVAL: the job has another size than was recorded, or a
 * group does not fit the layout. On success *out is the caller's.
 */
halley_status halley_trace_spread(halley_trace_set **out, halley_spread_report *report,
                                  const halley_trace *trace,
                                  const halley_spread_opts *opts, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
