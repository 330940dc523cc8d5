/* request/trace/fidelity.h - whether what a command writes still means the recording. */
#ifndef REQUEST_FIDELITY_H
#define REQUEST_FIDELITY_H

#include "halley/trace.h"
#include "request/verbs.h"

/* The simulators that a recording may be written for, for REQUEST_CHOICE. */
typedef enum fidelity_reader { FIDELITY_HALLEY, FIDELITY_ASTRA_SIM } fidelity_reader;
extern const char *const fidelity_readers[]; /* ends with NULL */
#define FIDELITY_FOR_OPTION(type, member)                                                \
    {                                                                                    \
        .name = "for", .kind = REQUEST_CHOICE, .choices = fidelity_readers,              \
        .offset = offsetof(type, member),                                                \
        .doc = "simulator that reads a recording: astra-sim has one lane for the host, " \
               "one for compute and one for communication",                              \
        .by_default = "halley"                                                           \
    }

/*
 * Replay a recording before and after a change that should not change its time. *ratio is
 * the time of `to` over that of `from`. If it is off by more than 1 %, a note says so.
 * *ratio is -1 if `from` is no recording that can be replayed.
 */
halley_status fidelity_check(double *ratio, const request_call *call,
                             const halley_trace_set *from, const halley_trace_set *to,
                             halley_error *err);
/* The key replay_ratio, unless it is unknown. */
void fidelity_write_json(report_json *j, double ratio);

/* After a run under ASTRA-sim's rules that took `seconds`: note how far that is off if
 * the set is a recording with lanes and lags that only halley has. */
halley_status fidelity_note_lanes(const request_call *call, const halley_trace_set *set,
                                  double seconds, halley_error *err);

/* Make the form of a set for ASTRA-sim, and note what it lost. The caller owns *out. */
halley_status fidelity_make_portable(halley_trace_set **out, const request_call *call,
                                     const halley_trace_set *set, halley_error *err);

#endif
