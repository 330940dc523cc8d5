/* edit/passes.h - does a set pass `trace check`? */
#ifndef EDIT_PASSES_H
#define EDIT_PASSES_H

#include "halley/trace.h"
#include "trace/core/groups.h"
#include "trace/core/twins.h"

/* HALLEY_EINVAL, with the first error, if it does not. `twins` are those of the set if
 * known, else NULL. */
halley_status synth_passes(const halley_trace_set *set, const trace_groups *groups,
                           const trace_twins *twins, halley_error *err);
/* The same with a file of groups (NULL: those that the traces declare) and a number of
 * threads, for callers that check several sets in parallel. */
halley_status synth_passes_alone(const halley_trace_set *set, const char *groups_path,
                                 uint32_t n_threads, halley_error *err);

#endif
