/*
 * halley/recording_diff.h - find what got slower from one recording to another.
 *
 * The call trees of two linked recordings (threads, ranges, operators, kernels) are
 * aligned, and times are added up by operator. The times of all rows add up exactly to
 * those of the recordings.
 */
#ifndef HALLEY_RECORDING_DIFF_H
#define HALLEY_RECORDING_DIFF_H

#include "halley/recording.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How often something ran, its self time on the host, and the time of the kernels that it
 * launched. */
typedef struct halley_run_sum {
    uint64_t n;
    int64_t host_ns, device_ns;
} halley_run_sum;

/* An operator. If only one recording has it, its name in the other is "". The names
 * differ where a kernel was replaced by another of the same class. */
typedef struct halley_operator_row {
    const char *name_a, *name_b;
    halley_run_sum a, b;
} halley_operator_row;

/* A class of kernels. */
typedef struct halley_class_row {
    const char *name;
    halley_run_sum a, b;
} halley_class_row;

typedef struct halley_recording_diff {
    halley_operator_row *operators; /* by largest difference, then name */
    size_t n_operators;
    halley_class_row *classes;
    size_t n_classes;
    halley_run_sum a, b; /* everything */
    uint64_t n_aligned;  /* nodes of the trees that correspond */
    uint64_t n_only_a, n_only_b;
    bool equal; /* the same tree with the same times */
    void *memory;
} halley_recording_diff;

/* True if both were linked from recordings of profilers, so that they can be aligned. */
bool halley_recordings_can_align(const halley_trace_set *a, const halley_trace_set *b);
/* Align rank by rank. A rank that only one set has counts as present in that set alone.
 * On success the caller owns *out and frees it with halley_recording_diff_free; it may
 * outlive the sets. */
halley_status halley_recordings_diff(halley_recording_diff **out,
                                     const halley_trace_set *a, const halley_trace_set *b,
                                     halley_error *err);
void halley_recording_diff_free(halley_recording_diff *diff); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif
