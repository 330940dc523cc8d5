/* request/trace/roles.h - sets stored as roles, for the commands that read traces. */
#ifndef REQUEST_ROLES_H
#define REQUEST_ROLES_H

#include "report/table.h"
#include "request/verbs.h"

/* The index file that the only argument of the command names: the file itself, or
 * PREFIX.roles.yaml if there is no PREFIX.0.et. NULL if it names none. The caller frees
 * it. */
char *roles_find(const request_call *call);

/* Run `trace info` and `trace check` on such a set. */
halley_status roles_describe(request_call *call, const char *index, report_form form,
                             halley_error *err);
halley_status roles_check(request_call *call, const char *index, report_form form,
                          halley_error *err);

#endif
