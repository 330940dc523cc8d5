/* trace/edit.h - pieces shared by the functions that make traces from traces. */
#ifndef TRACE_EDIT_H
#define TRACE_EDIT_H

#include "halley/trace_edit.h"

/* Start a builder with the metadata of a trace. */
halley_status edit_start(halley_builder **out, const halley_trace *like,
                         halley_error *err);
/* Finish, or drop the builder if `status` is a failure; returns what happened. */
halley_status edit_finish(halley_trace **out, halley_builder *b, halley_status status,
                          halley_error *err);
/* A node that does nothing: COMP without duration, to hang dependencies on. */
halley_status edit_joint(halley_builder *b, uint64_t id);

/* New numbers of ranks; n = 0 changes nothing. */
typedef struct edit_ranks {
    const uint32_t *to;
    uint32_t n;
    bool strict; /* a message from or to a rank without a number is EINVAL */
} edit_ranks;
/* The open node gets all but id, type, name and dependencies of `node`, with new ranks.
 */
halley_status edit_copy_rest(halley_builder *b, const halley_trace *from, uint32_t node,
                             const edit_ranks *ranks, halley_error *err);

#endif
