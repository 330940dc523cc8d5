/* request/trace/recordings.h - which files a command names, what they are, and linking
 * them. */
#ifndef REQUEST_RECORDINGS_H
#define REQUEST_RECORDINGS_H

#include "halley/recording.h"

typedef struct recordings_input {
    const char *const *paths; /* files and folders */
    size_t n_paths;
    bool is_pattern; /* %d in the paths represents the rank */
    const halley_link_opts *pairs;
    const halley_recording_opts *alone;
} recordings_input;

/* Link what the files are: recordings alone, or execution traces with theirs. *set and
 * *reports are the caller's. */
halley_status recordings_link(halley_trace_set **set, halley_link_report **reports,
                              const recordings_input *in, halley_error *err);

#endif
