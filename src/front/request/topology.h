/* request/topology.h - code that the commands on networks share. */
#ifndef REQUEST_TOPOLOGY_H
#define REQUEST_TOPOLOGY_H

#include "halley/topology.h"
#include "request/verbs.h"

/* How files of other tools are read. */
typedef struct request_topology_source {
    const char *format, *topology, *plugin;
    uint32_t npus_per_nic;
    request_texts links; /* NAME=RATE,LATENCY */
} request_topology_source;
#define REQUEST_TOPOLOGY_SOURCE(type, member)                                            \
    {.name = "format",                                                                   \
     .kind = REQUEST_TEXT,                                                               \
     .offset = offsetof(type, member.format),                                            \
     .metavar = "NAME",                                                                  \
     .doc = "format of the file",                                                        \
     .by_default = "found by content",                                                   \
     .example = "infragraph"},                                                           \
        {.name = "link",                                                                 \
         .kind = REQUEST_TEXTS,                                                          \
         .offset = offsetof(type, member.links),                                         \
         .metavar = "NAME=RATE,LATENCY",                                                 \
         .doc = "rate and latency of links of that kind (* for all), where the file "    \
                "states none",                                                           \
         .by_default = "as in the file",                                                 \
         .example = "*=400 Gb/s,1 us"},                                                  \
        {.name = "npus-per-nic",                                                         \
         .kind = REQUEST_U32,                                                            \
         .offset = offsetof(type, member.npus_per_nic),                                  \
         .max = 1024,                                                                    \
         .metavar = "N",                                                                 \
         .doc = "NPUs to add to each NIC of a fabric without any",                       \
         .by_default = "none",                                                           \
         .example = "1"},                                                                \
        {.name = "topology",                                                             \
         .kind = REQUEST_TEXT,                                                           \
         .offset = offsetof(type, member.topology),                                      \
         .metavar = "NAME",                                                              \
         .doc = "which topology of a Slurm YAML file",                                   \
         .by_default = "the file's default",                                             \
         .example = "gpus"},                                                             \
    {                                                                                    \
        .name = "plugin", .kind = REQUEST_TEXT, .offset = offsetof(type, member.plugin), \
        .metavar = "NAME",                                                               \
        .doc = "which of the two, of a Slurm topology.conf with both: tree or block",    \
        .by_default = "tree", .example = "block"                                         \
    }

typedef struct request_topology_choice {
    bool no_cuts, no_times;
    request_topology_source source;
    request_output output;
} request_topology_choice;
extern const request_option request_topology_options[];

/* Gb/s, rounded to 1e-6, so that sums of doubles print as round numbers. */
double request_round_gbps(double bw_Bps);

/* Load a file, or the description itself, and apply the links that the user set. */
halley_status request_topology_load(halley_topology **out, request_call *call,
                                    const request_topology_source *source,
                                    const char *path, halley_error *err);
/* Report warnings about an imported file as notes. */
void request_topology_warn(const request_call *call, const halley_topology *topology);
/* Load and measure; the caller owns both. Warnings become notes. */
halley_status request_topology_measure(halley_topology_report **out,
                                       halley_topology **topology, request_call *call,
                                       const request_topology_choice *choice,
                                       bool with_cuts, halley_error *err);
/* What `topology show` may add to a report. Valid when zeroed. */
typedef struct request_topology_extra {
    const double *sizes; /* sizes of collectives, B per NPU */
    size_t n_sizes;
    const halley_topology_drawing *drawing; /* NULL: none */
} request_topology_extra;
halley_status request_topology_json(const request_call *call,
                                    const halley_topology_report *r,
                                    const request_topology_extra *extra,
                                    halley_error *err);
halley_status request_topology_table(const request_call *call,
                                     const halley_topology_report *r,
                                     const request_topology_extra *extra,
                                     report_form form, halley_error *err);

/* "0,63" */
halley_status request_topology_read_path(halley_topology_drawing_options *to,
                                         const char *text, halley_error *err);
halley_status request_topology_read_sizes(double *to, const request_texts *sizes,
                                          halley_error *err);
void request_topology_write_drawing(report_json *j, const halley_topology_drawing *d);
void request_topology_write_times(report_json *j, const halley_topology_report *r,
                                  const double *sizes, size_t n);
/* Lines of the table of a report. */
void request_topology_add_times(report_table *t, const halley_topology_report *r,
                                const double *sizes, size_t n);
void request_topology_add_path(report_table *t, const halley_topology_drawing *d);

#define REQUEST_TOPOLOGY_FILE                                                            \
    "CLUSTER is a cluster file or preset with its number of NPUs "                       \
    "(dgx-h100:64). The network consists of its fabric and the inside of its "           \
    "nodes. FILE may be compressed with gzip, zstd or xz. Files of other tools are "     \
    "recognised by content; halley topology convert --help lists them. A FILE "          \
    "of halley is YAML or JSON: {topology: NAME, ...} with the keys of that "            \
    "topology, or a file with the same under network. An example is {topology: "         \
    "fat-tree, n: 1024, tiers: [{name: leaf, npus: 16}, {name: spine, npus: "            \
    "256, oversubscription: 2}, {name: core}], link: 400 Gb/s, latency: 500 "            \
    "ns}. The manual page lists all topologies and keys."

#endif
