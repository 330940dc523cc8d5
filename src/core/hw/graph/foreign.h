/* hw/graph/foreign.h - networks in files of other programs: what a reader and a writer of
 * such a format (base/format.h) is given. */
#ifndef HW_GRAPH_FOREIGN_H
#define HW_GRAPH_FOREIGN_H

#include "hw/graph/graph.h"

/* Valid when zeroed. Texts are not owned. */
typedef struct hw_import_options {
    str format;            /* "ns3"; empty: detect from content */
    str topology;          /* Slurm YAML: which one; empty: the default one */
    str plugin;            /* Slurm conf: "block" or "tree"; empty: the tree, if any */
    uint32_t npus_per_nic; /* fabrics of NICs without NPUs: NPUs to add per NIC */
    uint32_t n_used; /* only the first n_used NPUs take part; others are hosts; 0 = all */
    uint32_t most_devices; /* larger files are refused; 0 = HW_MAX_DEVICES */
} hw_import_options;

/*
 * Parse `text`, the (uncompressed) content of `path`, which messages name. Errors end in
 * a code word of doc/reference/topology.md in brackets: "... [dangling-link]".
 */
halley_status hw_graph_import(hw_graph **out, str text, const char *path,
                              const hw_import_options *options, halley_error *err);

/* Valid when zeroed. */
typedef struct hw_export_options {
    bool flatten; /* ns3: merge NICs into their NPUs, drop processors and other devices */
} hw_export_options;

/* Append the text. A graph that the format cannot express is refused with an error that
 * ends in "[unsupported]". */
halley_status hw_graph_export(strbuf *to, const hw_graph *g, str format,
                              const hw_export_options *options, halley_error *err);

#endif
