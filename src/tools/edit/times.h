/* edit/times.h - the simulated time of a set on the reference clusters. */
#ifndef EDIT_TIMES_H
#define EDIT_TIMES_H

#include "halley/cluster.h"
#include "halley/synth.h"
#include "trace/core/groups.h"
#include "trace/core/twins.h"

/* The groups of a set: those of the file or, if it is NULL, those that the traces
 * declare. */
halley_status synth_groups_of(trace_groups *out, const halley_trace_set *set,
                              const char *groups_path, halley_error *err);

/* How the compute nodes of a set can be timed. */
typedef struct synth_timing {
    bool has_work;      /* all nodes on the device have num_ops and tensor_size */
    bool has_durations; /* some have a duration */
} synth_timing;

/* What is timed. */
typedef struct synth_timed {
    const halley_trace_set *set;
    const trace_groups *groups;
    const synth_timing *how;
    const trace_twins *twins; /* of the set */
} synth_timed;

/* `twins` are those of the set if known, else NULL. */
halley_status synth_timing_of(synth_timing *out, const halley_trace_set *set,
                              const trace_twins *twins, halley_error *err);

/* The simulated time of the set on the i-th reference cluster, or on each, in seconds.
 * Compute nodes with work but without durations are timed by the roofline everywhere. */
halley_status synth_time(double *seconds, uint32_t i, const synth_timed *what,
                         halley_error *err);
halley_status synth_times(double seconds[HALLEY_N_REFERENCES],
                          const halley_trace_set *set, const trace_groups *groups,
                          const synth_timing *how, halley_error *err);

/* The critical path: the longest chain of durations over all ranks, in seconds. */
halley_status synth_critical_s(double *out, const halley_trace_set *set,
                               halley_error *err);

#endif
