/* halley/fit.h - infer the model and the parallelization from a recording. */
#ifndef HALLEY_FIT_H
#define HALLEY_FIT_H

#include "halley/estimate.h"
#include "halley/recording.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the kernels and operators of one rank show; 0 = unknown. Sizes are those of the
 * rank: with tensor parallelism, heads, ffn and vocab are one rank's shard. */
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
    double step_s;          /* recorded time of the analysed step */
    double period_s;        /* device time of one period, mean */
    double covered_share;   /* of the main stream's kernels, that are in the repeats */
    uint32_t pp;            /* ranks of the group that sends and receives; 1 = none */
    uint32_t micro_batches; /* of the step: passes over the embedding */
    halley_dtype dtype;     /* of the matmuls' inputs; N_DTYPES = unknown */
    bool is_gated;          /* the feed-forward block of a layer has two input matmuls */
    bool has_head;          /* a matmul to the vocabulary was recorded */
    bool has_fused_attention;       /* attention is one kernel, not matmuls and softmax */
    bool has_sharded_optimizer;     /* gradients are reduce-scattered, not all-reduced */
    bool has_sequence_parallel;     /* activations of tensor-parallel ranks are
                                       reduce-scattered as well */
    uint64_t room[HALLEY_ROOM - 3]; /* reserved for new members; 0 */
} halley_recorded_model;

/* Where the time of that step goes on its busiest stream. The parts add up to step_s. */
typedef struct halley_recorded_times {
    size_t size; /* filled by the library, see error.h */
    double step_s;
    double class_s[HALLEY_MAX_CLASSES]; /* by HALLEY_CLASS_; the head counts as MATMUL */
    double optimizer_s, comm_s;
    double other_s; /* copies to and from the host, convolutions, unknown kernels */
    double idle_s;
    uint32_t n_passes;          /* over the layers, where the file has several; else 1 */
    char device[128];           /* as the recording names it; "" = not named */
    uint64_t room[HALLEY_ROOM]; /* reserved for new members; 0 */
} halley_recorded_times;

/* Find the period in the kernels of the busiest stream (of one step if steps are known).
 * Then derive sizes from its matmuls, attention and collectives. EINVAL: the trace is not
 * a recording, or nothing repeats in it. */
halley_status halley_recording_fit(halley_recorded_model *out, const halley_trace *trace,
                                   halley_error *err);
/* The times of the step that halley_recording_fit analyses; the errors are the same. */
halley_status halley_recording_times(halley_recorded_times *out,
                                     const halley_trace *trace, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
