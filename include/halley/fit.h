/* halley/fit.h - the model and the parallelization that a recording shows. */
#ifndef HALLEY_FIT_H
#define HALLEY_FIT_H

#include "halley/recording.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernels and operators of one rank say; 0 = cannot be told. Sizes are those of
 * the rank: with tensor parallelism heads, ffn and vocabulary are a rank's share. */
typedef struct halley_recorded_model {
    size_t size; /* filled by the library, see error.h */
    uint32_t layers;
    uint32_t kernels_per_period; /* of the sequence that repeats */
    uint32_t layers_per_period;
    uint64_t hidden, ffn, vocab;
    uint64_t heads, kv_heads, head_dim;
    uint64_t tokens;     /* rows of a layer's matmuls */
    uint64_t batch, seq; /* tokens = batch x seq */
    uint64_t experts;
    uint32_t tp, dp;
    bool has_backward;
    double step_s;              /* recorded; of the step that was looked at */
    double period_s;            /* device time of one period, mean */
    double covered_share;       /* of the kernels of the main stream, in the repeats */
    uint64_t room[HALLEY_ROOM]; /* for members to come; 0 */
} halley_recorded_model;

/*
 * Find the period of the kernels of the busiest stream (of one step where steps are
 * known), and what its matmuls, attention and collectives say. EINVAL: the trace is no
 * recording, or nothing repeats in it.
 */
halley_status halley_recording_fit(halley_recorded_model *out, const halley_trace *trace,
                                   halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
