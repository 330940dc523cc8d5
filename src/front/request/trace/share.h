/* request/trace/share.h - code for commands that make traces to share with others. */
#ifndef REQUEST_SHARE_H
#define REQUEST_SHARE_H

#include "request/trace/traces.h"
#include "request/verbs.h"

/* HALLEY_EINVAL, with the first of its errors, if the set does not pass `halley trace
 * check`. */
halley_status share_check(const halley_trace_set *set, const char *path,
                          const char *groups_path, halley_error *err);

/* HALLEY_EINVAL if OUT is not given (NULL) or is no place for traces. Without `force`,
 * also if the folder OUT is not empty, or if files OUT, OUT.0.et and so on exist. */
halley_status share_target(request_call *call, const char *out, bool force,
                           halley_error *err);

/* Save the whole set to OUT, as .et, with its groups. */
halley_status share_save(const halley_trace_set *set, const char *out, request_call *call,
                         traces_groups_saver *save_groups, const void *groups,
                         const traces_extra *extra, halley_error *err);

#endif
