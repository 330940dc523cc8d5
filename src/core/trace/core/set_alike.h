/*
 * trace/core/set_alike.h - sets of which only differences are stored: a rank's file may
 * equal that of another except for names of groups, peers, roots and tags
 * (format/holes.h).
 */
#ifndef TRACE_CORE_SET_ALIKE_H
#define TRACE_CORE_SET_ALIKE_H

#include "trace/core/set_files.h"
#include "trace/format/holes.h"

typedef struct trace_alike trace_alike;

/*
 * Read the files on that many threads (0 = one per core). traces[i], one reference each,
 * is the trace of file i, or that of a similar file. In the latter case trace_alike_get
 * gives the differences.
 */
halley_status trace_alike_load(trace_alike **out, halley_trace **traces,
                               const trace_files *files, const halley_load_opts *opts,
                               halley_error *err);
void trace_alike_free(trace_alike *a);

/* A rank of a set whose trace is that of another rank with differences. */
typedef struct trace_alike_rank {
    const trace_holes *holes;
    const trace_differences *differences;
} trace_alike_rank;
bool trace_alike_get(trace_alike_rank *out, const trace_alike *a, uint32_t rank);
uint32_t trace_alike_count(const trace_alike *a); /* different files */

/* The same for a set. False for all ranks of sets that were loaded whole. */
bool trace_set_alike(trace_alike_rank *out, const halley_trace_set *set, uint32_t rank);
bool trace_set_is_whole(const halley_trace_set *set);

#endif
