/* request/verbs.h - every verb, each defined in its verb/verb_<name>.c. */
#ifndef REQUEST_VERBS_H
#define REQUEST_VERBS_H

#include "request/verb.h"

extern const request_verb request_verb_calibrate;
extern const request_verb request_verb_estimate;
extern const request_verb request_verb_explore;
extern const request_verb request_verb_plan;
extern const request_verb request_verb_presets;
extern const request_verb request_verb_results;
extern const request_verb request_verb_schema;
extern const request_verb request_verb_score;
extern const request_verb request_verb_sim;
extern const request_verb request_verb_topology_check;
extern const request_verb request_verb_topology_compare;
extern const request_verb request_verb_topology_convert;
extern const request_verb request_verb_topology_flows;
extern const request_verb request_verb_topology_show;
extern const request_verb request_verb_trace_check;
extern const request_verb request_verb_trace_compare;
extern const request_verb request_verb_trace_convert;
extern const request_verb request_verb_trace_diff;
extern const request_verb request_verb_trace_fit;
extern const request_verb request_verb_trace_gen;
extern const request_verb request_verb_trace_info;
extern const request_verb request_verb_trace_link;
extern const request_verb request_verb_trace_merge;
extern const request_verb request_verb_trace_obfuscate;
extern const request_verb request_verb_trace_scale;
extern const request_verb request_verb_trace_slice;
extern const request_verb request_verb_trace_spread;
extern const request_verb request_verb_trace_timeline;
extern const request_verb request_verb_trace_view;
extern const request_verb request_verb_version;

/* All of them that a request may name, in the order of the help; ends with NULL. */
extern const request_verb *const request_verbs[];

#endif
