/* request/topology.h - what the commands on networks share. */
#ifndef REQUEST_TOPOLOGY_H
#define REQUEST_TOPOLOGY_H

#include "halley/topology.h"
#include "request/verbs.h"

typedef struct request_topology_choice {
    bool no_cuts;
    request_output output;
} request_topology_choice;
extern const request_option request_topology_options[];

/* Load and measure; both are the caller's. */
halley_status request_topology_measure(halley_topology_report **out,
                                       halley_topology **topology, const char *path,
                                       bool with_cuts, halley_error *err);
halley_status request_topology_json(const request_call *call,
                                    const halley_topology_report *r, halley_error *err);
halley_status request_topology_table(const request_call *call,
                                     const halley_topology_report *r, report_form form,
                                     halley_error *err);

#define REQUEST_TOPOLOGY_FILE                                                            \
    "FILE is YAML or JSON: {topology: NAME, ...} with the keys of that topology, or a "  \
    "file with the same under network. For example {topology: fat-tree, n: 1024, "       \
    "tiers: "                                                                            \
    "[{name: leaf, npus: 16}, {name: spine, npus: 256, oversubscription: 2}, {name: "    \
    "core}], link: 400 Gb/s, latency: 500 ns}. The manual page lists all topologies "    \
    "and "                                                                               \
    "keys."

#endif
