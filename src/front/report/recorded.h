/* report/recorded.h - when the nodes of recordings ran, as a timeline. */
#ifndef REPORT_RECORDED_H
#define REPORT_RECORDED_H

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "halley/trace.h"

/* When a node ran, and its row (report/tracks.h). */
typedef struct report_slice {
    uint64_t start_ns, duration_ns, track;
    uint32_t node;
} report_slice;
typedef ARRAY(report_slice) report_slices;
/* List by row, then by start, containing slices first. False: no memory. */
bool report_recorded_list(report_slices *out, const halley_trace *trace);
/* The error of a set without recorded times. */
halley_status report_recorded_refuse(halley_error *err);

/* True if the trace states when its nodes ran. */
bool report_recorded_has(const halley_trace *trace);
/* Write the events of one rank as process `pid`. Each has a comma before it, except for
 * the first of the file; *first is true until that one is written. */
halley_status report_recorded_rank(file_output *to, const halley_trace *trace,
                                   uint64_t pid, str process, bool *first,
                                   halley_error *err);
/* Write all ranks to a file that Perfetto and chrome://tracing open. HALLEY_EINVAL: no
 * rank has recorded times. */
halley_status report_recorded_timeline(const halley_trace_set *traces, const char *path,
                                       halley_error *err);

#endif
