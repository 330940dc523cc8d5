/* The table of verbs; its order is that of the help. */
#include "request/verbs.h"

/* One a line, so that a new one is one line. */
/* clang-format off */
const request_verb *const request_verbs[] = {
    &request_verb_trace_info,
    &request_verb_trace_check,
    &request_verb_trace_convert,
    &request_verb_trace_diff,
    &request_verb_trace_slice,
    &request_verb_trace_merge,
    &request_verb_trace_gen,
    &request_verb_trace_link,
    &request_verb_trace_view,
    &request_verb_trace_timeline,
    &request_verb_trace_obfuscate,
    &request_verb_trace_scale,
    &request_verb_trace_spread,
    &request_verb_trace_fit,
    &request_verb_trace_compare,
    &request_verb_estimate,
    &request_verb_plan,
    &request_verb_explore,
    &request_verb_results,
    &request_verb_sim,
    &request_verb_topology_show,
    &request_verb_topology_check,
    &request_verb_topology_convert,
    &request_verb_topology_compare,
    &request_verb_topology_flows,
    &request_verb_score,
    &request_verb_calibrate,
    &request_verb_presets,
    &request_verb_schema,
    &request_verb_version,
    NULL,
};
/* clang-format on */
