/* request/trace/roles.h - sets written as roles, for the commands that read traces. */
#ifndef REQUEST_ROLES_H
#define REQUEST_ROLES_H

#include "report/table.h"
#include "request/verbs.h"

/* The index that the only argument of the command names: the file itself, or
 * PREFIX.roles.yaml where there is no PREFIX.0.et. NULL when it names none. The caller's,
 * to free(). */
char *roles_find(const request_call *call);

/* `trace info` and `trace check` of such a set. */
halley_status roles_describe(request_call *call, const char *index, report_form form,
                             halley_error *err);
halley_status roles_check(request_call *call, const char *index, report_form form,
                          halley_error *err);

#endif
