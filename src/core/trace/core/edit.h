/* trace/core/edit.h - helpers shared by the functions that make traces from traces. */
#ifndef TRACE_CORE_EDIT_H
#define TRACE_CORE_EDIT_H

#include "halley/trace_edit.h"

/* Start a builder with the metadata of a trace. */
halley_status edit_start(halley_builder **out, const halley_trace *like,
                         halley_error *err);
/* Finish, or drop the builder if `status` is a failure. Returns the first failure. */
halley_status edit_finish(halley_trace **out, halley_builder *b, halley_status status,
                          halley_error *err);
/* Add a node that does nothing (COMP without duration) to join dependencies. */
halley_status edit_joint(halley_builder *b, uint64_t id);

/* New rank numbers; n = 0 changes nothing. */
typedef struct edit_ranks {
    const uint32_t *to;
    uint32_t n;
    bool strict; /* a message from or to a rank without a number is EINVAL */
} edit_ranks;
/* Copy all of `node` except id, type, name and dependencies to the open node, with new
 * ranks. */
halley_status edit_copy_rest(halley_builder *b, const halley_trace *from, uint32_t node,
                             const edit_ranks *ranks, halley_error *err);

/* Set another value for a number, with a kind that can hold it. 32-bit integers that
 * cannot become 64-bit; reals become integers. */
void edit_set_u64(halley_attr *attr, uint64_t value);

/* Add a list of integers to the open node, each changed; kinds as above. */
typedef uint64_t edit_change(void *context, uint64_t value);
halley_status edit_put_list(halley_builder *b, halley_attr list, edit_change *change,
                            void *context, halley_error *err);

#endif
