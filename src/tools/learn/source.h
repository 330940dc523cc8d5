/* learn/source.h - a trace set with the files next to it. */
#ifndef LEARN_SOURCE_H
#define LEARN_SOURCE_H

#include "learn/model/conditions.h"
#include "trace/core/set_files.h"

typedef struct synth_source {
    halley_trace_set *set;
    conditions conditions; /* of the file next to the set, else of its metadata */
    strbuf groups;         /* path of the groups file; n 0 = none */
} synth_source;

/* Opens the i-th of the sets found, with that many threads (0 = one per core). EINVAL
 * and similar codes: the set is not valid; *err says why. */
halley_status synth_source_open(synth_source *s, const trace_found *found, size_t i,
                                uint32_t n_threads, halley_error *err);
void synth_source_close(synth_source *s);
/* True if a set with this status could not be read. An invalid set could be. */
static inline bool synth_source_is_unread(halley_status status)
{
    return status == HALLEY_ENOMEM || status == HALLEY_EIO;
}
/* The path of the groups file. NULL: none. */
const char *synth_source_groups(const synth_source *s);

#endif
