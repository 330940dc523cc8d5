/* The table of verbs; its order is that of the help. */
#include "request/verbs.h"

/* One a line, so that a new one is one line. */
/* clang-format off */
const request_verb *const request_verbs[] = {
    &request_verb_estimate,
    &request_verb_plan,
    &request_verb_version,
    NULL,
};
/* clang-format on */
