/* request/trace/recordings.h - finds out which files a command names and what they are,
 * and links them. */
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

/* Link the files by their type: recordings alone, or execution traces with theirs. The
 * caller owns *set and *reports. */
halley_status recordings_link(halley_trace_set **set, halley_link_report **reports,
                              const recordings_input *in, halley_error *err);

#endif
