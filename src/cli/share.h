/* cli/share.h - what the commands share that make traces to hand on. */
#ifndef CLI_SHARE_H
#define CLI_SHARE_H

#include "cli/cli.h"
#include "cli/traces.h"

/* HALLEY_EINVAL, with the first of its errors, when the set does not pass
 * `halley trace check`. */
halley_status share_check(const halley_trace_set *set, const char *path,
                          const char *groups_path, halley_error *err);

/* HALLEY_EINVAL when the folder OUT holds anything, or files OUT, OUT.0.et and so on are
 * there. */
halley_status share_fresh(const char *out, halley_error *err);

/* The whole set to OUT, as .et, with its groups from `save_groups` (may be NULL). */
typedef halley_status share_groups_saver(const void *context, const char *path,
                                         halley_error *err);
halley_status share_save(const halley_trace_set *set, const char *out, cli_call *call,
                         share_groups_saver *save_groups, const void *context,
                         halley_error *err);

#endif
