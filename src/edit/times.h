/* edit/times.h - how long a set runs on the clusters that traces are compared on. */
#ifndef EDIT_TIMES_H
#define EDIT_TIMES_H

#include "halley/cluster.h"
#include "halley/synth.h"
#include "trace/core/groups.h"
#include "trace/core/twins.h"

/* The groups of a set: of the file, or (NULL) those that the traces declare. */
halley_status synth_groups_of(trace_groups *out, const halley_trace_set *set,
                              const char *groups_path, halley_error *err);

/* How compute nodes of a set can be timed. */
typedef struct synth_timing {
    bool has_work;      /* all on the device have num_ops and tensor_size */
    bool has_durations; /* some have a duration */
} synth_timing;

/* What is timed. */
typedef struct synth_timed {
    const halley_trace_set *set;
    const trace_groups *groups;
    const synth_timing *how;
    const trace_twins *twins; /* of the set */
} synth_timed;

/* `twins` are those of the set, when they are known; NULL: not. */
halley_status synth_timing_of(synth_timing *out, const halley_trace_set *set,
                              const trace_twins *twins, halley_error *err);

/* Simulated time of the set on the i-th reference cluster, or on each, in seconds.
 * Compute that has no durations but work is timed by the roofline everywhere. */
halley_status synth_time(double *seconds, uint32_t i, const synth_timed *what,
                         halley_error *err);
halley_status synth_times(double seconds[HALLEY_N_REFERENCES],
                          const halley_trace_set *set, const trace_groups *groups,
                          const synth_timing *how, halley_error *err);

/* Length of the heaviest chain of durations over all ranks, in seconds. */
halley_status synth_critical_s(double *out, const halley_trace_set *set,
                               halley_error *err);

#endif
