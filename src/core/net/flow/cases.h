/*
 * net/flow/cases.h - flow files: networks with flows, run by the solver.
 *
 * A file is JSON: {"cases": [{"id", "links": [[from, to, B/s, s], ...], "flows":
 * [{"start", "bytes", "route": [link | [link, num, den], ...], "cap", "latency"}, ...],
 * "changes": [[s, link, B/s], ...]}, ...]}. The keys "rate", "drain", "finish" and
 * "events" of a flow are expected results from another program. Other keys are ignored.
 */
#ifndef NET_FLOW_CASES_H
#define NET_FLOW_CASES_H

#include "base/arena.h"
#include "net/flow/flow.h"

typedef struct net_case_flow {
    double start_s, bytes, cap_Bps, latency_s;
    net_flow_hop *hops;
    uint32_t n_hops;
    /* The results that the file expects; negative: none. */
    double want_rate_Bps, want_drain_s, want_finish_s;
    uint64_t want_events;
} net_case_flow;

typedef struct net_case_change {
    double at_s, bw_Bps;
    uint32_t link;
} net_case_change;

typedef struct net_flow_case {
    const char *id;
    uint32_t n_links, n_flows, n_changes;
    double *link_Bps;
    net_case_flow *flows;
    net_case_change *changes;
} net_flow_case;

typedef struct net_flow_cases {
    arena memory;
    net_flow_case *at;
    uint32_t n;
} net_flow_cases;

/* Plain or gzip. */
halley_status net_flow_cases_load(net_flow_cases **out, const char *path,
                                  halley_error *err);
halley_status net_flow_cases_parse(net_flow_cases **out, str text, halley_error *err);
void net_flow_cases_free(net_flow_cases *cases);

/* Result of one flow. A flow that waits for ever for a link without capacity never ends:
 * its drain and finish are negative. rate < 0: it has no rate (0 bytes). */
typedef struct net_case_result {
    double rate_Bps, drain_s, finish_s;
    uint64_t drain_tick;
} net_case_result;
/* `results` has n_flows elements. */
halley_status net_flow_case_run(net_case_result *results, const net_flow_case *c,
                                const net_flow_options *options, halley_error *err);

#endif
