/* The table of verbs. */
#include "request/verbs.h"

/* clang-format off */
const request_verb *const request_verbs[] = {
    REQUEST_TRACE_VERBS(REQUEST_VERB_ROW)
    REQUEST_OTHER_VERBS(REQUEST_VERB_ROW)
    &request_verb_schema,
    &request_verb_version,
    NULL,
};
/* clang-format on */
