/*
 * hw/graph/import/import.h - imports topology files of other tools as graphs.
 *
 * Each format is a row: a name, a detection function, and a reader that fills a draft. To
 * add one, add a file here, a row in the table of import.c, and a fuzz target. Also add a
 * test of good and bad files in tests/unit/hw/test_import.c, and a row in
 * doc/reference/topology.md.
 */
#ifndef HW_GRAPH_IMPORT_IMPORT_H
#define HW_GRAPH_IMPORT_IMPORT_H

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

typedef struct hw_draft hw_draft;

typedef struct hw_import_format {
    const char *name;
    /* Reads draft->text; reports failures with hw_draft_fail. */
    halley_status (*read)(hw_draft *draft);
    const char *doc; /* one sentence */
} hw_import_format;

/*
 * Parse `text`, the (uncompressed) content of `path`, which messages name. Errors end in
 * a code word of doc/reference/topology.md in brackets: "... [dangling-link]".
 */
halley_status hw_graph_import(hw_graph **out, str text, const char *path,
                              const hw_import_options *options, halley_error *err);
/* Detect the format of a text from its content; NULL: none (perhaps a file of
 * halley's). */
const hw_import_format *hw_import_detect(str text, const char *path);
const hw_import_format *hw_import_find(str name); /* NULL when unknown */
const hw_import_format *hw_import_get(size_t i);  /* NULL past the last */

extern const hw_import_format hw_import_ns3, hw_import_htsim, hw_import_infragraph,
    hw_import_nccl, hw_import_ibnetdiscover, hw_import_slurm_conf, hw_import_slurm_yaml,
    hw_import_node_link, hw_import_simgrid;

#endif
