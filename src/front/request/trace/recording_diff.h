/* request/trace/recording_diff.h - what became slower between two recordings, as text,
 * CSV or JSON. */
#ifndef REQUEST_RECORDING_DIFF_H
#define REQUEST_RECORDING_DIFF_H

#include "halley/recording_diff.h"
#include "request/verb.h"

/* `all`: every operator; else those that differ most. */
halley_status recording_diff_write(const request_call *call,
                                   const halley_recording_diff *d, report_form form,
                                   bool all, halley_error *err);

#endif
