/*
 * halley/request.h - all functions of halley as JSON requests with one vocabulary.
 *
 * A request names a verb and its options:
 *   {"do": "estimate", "model": "llama3-70b", "cluster": "dgx-h100:64",
 *    "plan": {"tp": 8, "pp": 2, "global_batch": 128}}
 * Verbs are the commands of the program with dots ("trace.info"). Keys are their options
 * with _ ("max_tp"). A model, cluster, plan, stack, study or trace is a preset's name, a
 * path, or the document itself: an object, or YAML text. An unknown key is an error.
 * {"do": "schema"} describes all requests and results as a JSON Schema.
 *
 * A reply is {"ok": true, "result": {...}} or {"ok": false, "error": {"code", "message",
 * "file", "line", "column", "hint"}}. Unknown members of the error are left out. "code"
 * is one of usage, not-found, bad-file, bad-value, infeasible, unsupported, cancelled,
 * limit, internal. The result is byte for byte what the command prints with --json.
 */
#ifndef HALLEY_REQUEST_H
#define HALLEY_REQUEST_H

#include "halley/error.h"
#include "halley/watch.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Carry out one request. *reply is a JSON document that the caller must free(). `watch`
 * (may be NULL) receives the progress and can cancel. Any thread may call this, also
 * several at a time. The status is HALLEY_OK whenever *reply was written, also for "ok":
 * false. Another status (with `err`, which may be NULL) means that no reply could be
 * made; *reply is then unchanged.
 */
halley_status halley_request(char **reply, const char *json, const halley_watch *watch,
                             halley_error *err);

/*
 * For programs whose requests come from others, such as assistants. From now on requests
 * of this process read files only below `folder`, which becomes the working directory.
 * With `read_only` != 0 they write none. Absolute paths, "..", hidden files and links
 * that lead out are refused. Call this once, before threads are started; it cannot be
 * undone.
 */
halley_status halley_request_confine(const char *folder, int read_only,
                                     halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
