/* edit/passes.h - does a set that was made pass `trace check`? */
#ifndef EDIT_PASSES_H
#define EDIT_PASSES_H

#include "halley/trace.h"
#include "trace/core/groups.h"
#include "trace/core/twins.h"

/* HALLEY_EINVAL, with the first of its errors, when it does not. `twins` are those of
 * the set, when they are known; NULL: not. */
halley_status synth_passes(const halley_trace_set *set, const trace_groups *groups,
                           const trace_twins *twins, halley_error *err);
/* The same with a file of groups (NULL: what the traces say) and a number of threads, for
 * callers that check sets side by side. */
halley_status synth_passes_alone(const halley_trace_set *set, const char *groups_path,
                                 uint32_t n_threads, halley_error *err);

#endif
