/* cli/topology.h - what the commands on networks share. */
#ifndef CLI_TOPOLOGY_H
#define CLI_TOPOLOGY_H

#include "cli/cli.h"
#include "halley/topology.h"

typedef struct cli_topology_choice {
    bool no_cuts;
    cli_output output;
} cli_topology_choice;
extern const cli_option cli_topology_options[];

/* Load and measure; both are the caller's. */
halley_status cli_topology_measure(halley_topology_report **out,
                                   halley_topology **topology, const char *path,
                                   bool with_cuts, halley_error *err);
halley_status cli_topology_json(const halley_topology_report *r, halley_error *err);
halley_status cli_topology_table(const halley_topology_report *r, report_form form,
                                 halley_error *err);

#define CLI_TOPOLOGY_FILE                                                                \
    "FILE is YAML or JSON: {topology: NAME, ...} with the keys of that topology, or a "  \
    "file with the same under network. For example {topology: fat-tree, n: 1024, "       \
    "tiers: "                                                                            \
    "[{name: leaf, npus: 16}, {name: spine, npus: 256, oversubscription: 2}, {name: "    \
    "core}], link: 400 Gb/s, latency: 500 ns}. The manual page lists all topologies "    \
    "and "                                                                               \
    "keys."

#endif
