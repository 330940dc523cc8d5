/*
 * halley/recording_tree.h - the call tree of a recording as an HTML page whose rows
 * unfold.
 */
#ifndef HALLEY_RECORDING_TREE_H
#define HALLEY_RECORDING_TREE_H

#include "halley/recording.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_tree_summary {
    uint64_t n_nodes; /* operators, ranges and kernels */
    uint64_t n_rows;  /* of the page: calls of one name by one caller are one row */
} halley_tree_summary;

/*
 * True if the trace was linked from a profiler's recording, so that it has a call tree.
 */
bool halley_recording_has_tree(const halley_trace *trace);
/*
 * Write the page to `path` ("-" = stdout). It lists threads, ranges, operators and
 * kernels with their number of calls and their time on host and device, callees included.
 */
halley_status halley_recording_tree_save(const halley_trace *trace, const char *path,
                                         const char *title, halley_tree_summary *summary,
                                         halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
