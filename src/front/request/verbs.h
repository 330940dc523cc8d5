/* request/verbs.h - every verb, each defined in its verb/verb_<name>.c. */
#ifndef REQUEST_VERBS_H
#define REQUEST_VERBS_H

#include "request/verb.h"

/* The verbs that are also commands, in the order of the help. There is one per line, so
 * that a new one adds one line. Commands that are no requests come between the two lists
 * and after them (cli/commands.c). */
/* clang-format off */
#define REQUEST_TRACE_VERBS(ROW)                                                         \
    ROW(trace_info)                                                                      \
    ROW(trace_check)                                                                     \
    ROW(trace_convert)                                                                   \
    ROW(trace_diff)                                                                      \
    ROW(trace_slice)                                                                     \
    ROW(trace_merge)                                                                     \
    ROW(trace_gen)                                                                       \
    ROW(trace_link)                                                                      \
    ROW(trace_view)                                                                      \
    ROW(trace_timeline)                                                                  \
    ROW(trace_obfuscate)                                                                 \
    ROW(trace_scale)                                                                     \
    ROW(trace_spread)                                                                    \
    ROW(trace_fit)                                                                       \
    ROW(trace_compare)
#define REQUEST_OTHER_VERBS(ROW)                                                         \
    ROW(estimate)                                                                        \
    ROW(plan)                                                                            \
    ROW(explore)                                                                         \
    ROW(results)                                                                         \
    ROW(sim)                                                                             \
    ROW(topology_show)                                                                   \
    ROW(topology_list)                                                                   \
    ROW(topology_check)                                                                  \
    ROW(topology_convert)                                                                \
    ROW(topology_compare)                                                                \
    ROW(topology_flows)                                                                  \
    ROW(collective)                                                                      \
    ROW(score)                                                                           \
    ROW(cases)                                                                           \
    ROW(calibrate)                                                                       \
    ROW(presets)
/* clang-format on */

#define REQUEST_DECLARE_VERB(name) extern const request_verb request_verb_##name;
REQUEST_TRACE_VERBS(REQUEST_DECLARE_VERB)
REQUEST_OTHER_VERBS(REQUEST_DECLARE_VERB)
REQUEST_DECLARE_VERB(schema)
REQUEST_DECLARE_VERB(version)
#undef REQUEST_DECLARE_VERB

#define REQUEST_VERB_ROW(name) &request_verb_##name,

/* All verbs that a request may name, in the order of the help; ends with NULL. */
extern const request_verb *const request_verbs[];

#endif
