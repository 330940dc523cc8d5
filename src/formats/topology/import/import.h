/*
 * topology/import/import.h - imports topology files of other tools as graphs.
 *
 * Each format is a row (base/format.h) and a reader that fills a draft. To
 * add one, add a file here, a row in the table of import.c, and a fuzz target. Also add a
 * test of good and bad files in tests/unit/formats/topology/test_import.c, and a row in
 * doc/reference/topology.md.
 */
#ifndef TOPOLOGY_IMPORT_IMPORT_H
#define TOPOLOGY_IMPORT_IMPORT_H

#include "base/format.h"
#include "hw/graph/foreign.h"

typedef struct hw_draft hw_draft;

typedef struct hw_import_format {
    format_row row; /* first, so that a row is its format */
    /* Reads draft->text; reports failures with hw_draft_fail. */
    halley_status (*read)(hw_draft *draft);
} hw_import_format;

/* `read` of all rows: makes the draft that the format's reader fills, and the graph. */
halley_status hw_import_read(void *out, const format_row *row, const format_source *from,
                             halley_error *err);

extern const hw_import_format hw_import_ns3, hw_import_htsim, hw_import_infragraph,
    hw_import_nccl, hw_import_ibnetdiscover, hw_import_slurm_conf, hw_import_slurm_yaml,
    hw_import_node_link, hw_import_simgrid;

/* Networks: formats that are read, then formats that are written. */
extern const format_set topology_formats;

#endif
