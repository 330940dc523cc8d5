/* report/recorded.h - when the nodes of recordings ran, as a timeline. */
#ifndef REPORT_RECORDED_H
#define REPORT_RECORDED_H

#include "base/error.h"
#include "base/file.h"
#include "halley/trace.h"

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
