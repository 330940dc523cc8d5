/* learn/source.h - a set of traces and what is next to it. */
#ifndef LEARN_SOURCE_H
#define LEARN_SOURCE_H

#include "learn/model/conditions.h"
#include "trace/core/set_files.h"

typedef struct synth_source {
    halley_trace_set *set;
    conditions conditions; /* of the file next to it, else of its metadata */
    strbuf groups;         /* path; n 0 = none */
} synth_source;

/* The i-th set of those found, on that many threads (0 = one per core). EINVAL and the
 * like: it is not sound, and why. */
halley_status synth_source_open(synth_source *s, const trace_found *found, size_t i,
                                uint32_t n_threads, halley_error *err);
void synth_source_close(synth_source *s);
/* Whether a set with that status could not be read; a set that is wrong could. */
static inline bool synth_source_is_unread(halley_status status)
{
    return status == HALLEY_ENOMEM || status == HALLEY_EIO;
}
/* NULL: none. */
const char *synth_source_groups(const synth_source *s);

#endif
