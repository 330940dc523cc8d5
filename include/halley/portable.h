/*
 * halley/portable.h - recordings for simulators with one lane of each kind.
 *
 * A linked recording has one lane for each thread and stream, and lags between a cause
 * and its effect that occupy no lane (attribute free_lane). ASTRA-sim has one slot for
 * the host, one for compute and one for communication, and no lags. The portable form
 * means the same under these rules: it replays in the recorded time without any attribute
 * that only halley knows.
 */
#ifndef HALLEY_PORTABLE_H
#define HALLEY_PORTABLE_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the portable form of a set lost, over all ranks. */
typedef struct halley_portable {
    size_t size;         /* filled by the library, see error.h */
    uint64_t n_before;   /* nodes */
    uint64_t n_nodes;    /* nodes written */
    uint64_t n_covered;  /* nodes that run while another node has their lane */
    uint64_t n_gaps;     /* nodes added for time in which a lane waits */
    uint64_t n_lost;     /* dependencies that led back in time */
    uint64_t n_recoded;  /* communication that ASTRA-sim does not know, or whose group is
                            not  in the set; now a broadcast of the recorded duration */
    double device_s;     /* device time */
    double covered_s;    /* of this, the part that another stream covers; above 5 % of
                            device_s, ask what-if questions of the original */
    double device_gap_s; /* late starts without a recorded cause; they count as busy */
    double host_gap_s;
    double wall_s; /* the recorded time */
} halley_portable;

/* On success the caller owns *out. HALLEY_EINVAL: the set cannot be replayed. */
halley_status halley_trace_make_portable(halley_trace_set **out, halley_portable *report,
                                         const halley_trace_set *set, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
