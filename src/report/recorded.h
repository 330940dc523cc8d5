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
/* By row, then by start, what contains others first. False: no memory. */
bool report_recorded_list(report_slices *out, const halley_trace *trace);
/* The error of a set without recorded times. */
halley_status report_recorded_refuse(halley_error *err);

/* Does the trace say when its nodes ran? */
bool report_recorded_has(const halley_trace *trace);
/* The events of one rank as process `pid`, each with a comma before it but for the first
 * of the file; *first says which that is. */
halley_status report_recorded_rank(file_output *to, const halley_trace *trace,
                                   uint64_t pid, str process, bool *first,
                                   halley_error *err);
/* All ranks, as a file that Perfetto and chrome://tracing open. HALLEY_EINVAL: no rank
 * has recorded times. */
halley_status report_recorded_timeline(const halley_trace_set *traces, const char *path,
                                       halley_error *err);

#endif
