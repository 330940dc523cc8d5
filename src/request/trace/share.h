/* request/trace/share.h - what the commands share that make traces to hand on. */
#ifndef REQUEST_SHARE_H
#define REQUEST_SHARE_H

#include "request/trace/traces.h"
#include "request/verbs.h"

/* HALLEY_EINVAL, with the first of its errors, when the set does not pass
 * `halley trace check`. */
halley_status share_check(const halley_trace_set *set, const char *path,
                          const char *groups_path, halley_error *err);

/* HALLEY_EINVAL when OUT is not given (NULL) or no place for traces or, without `force`,
 * when the folder OUT holds anything, or files OUT, OUT.0.et and so on are there. */
halley_status share_target(request_call *call, const char *out, bool force,
                           halley_error *err);

/* The whole set to OUT, as .et, with its groups. */
halley_status share_save(const halley_trace_set *set, const char *out, request_call *call,
                         traces_groups_saver *save_groups, const void *groups,
                         const traces_extra *extra, halley_error *err);

#endif
