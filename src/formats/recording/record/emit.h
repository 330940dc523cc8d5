/* recording/record/emit.h - write a rebuilt recording as a trace. */
#ifndef RECORDING_RECORD_EMIT_H
#define RECORDING_RECORD_EMIT_H

#include "recording/record/comms.h"
#include "recording/record/rebuild.h"

typedef struct rec_emit_opts {
    const rec_rules *rules;
    const rec_groups *groups;
    uint64_t n_ranks; /* recorded ranks; a message to another one stays work */
    int64_t zero_ns;  /* the time written as 0 */
    str facts;        /* JSON about the recording as a whole, kept as metadata */
    str recorded_on;  /* the device; "" = not known */
    const char *path; /* write the nodes to this .et file; NULL = into the trace */
} rec_emit_opts;

/* How the communication was written. */
typedef struct rec_emit_counts {
    uint64_t n_nodes, n_data_edges, n_ctrl_edges;
    uint64_t n_collectives, n_sends, n_recvs;
    uint64_t n_no_size, n_no_group, n_lonely, n_with_work;
} rec_emit_counts;

/* With a path, *out has only the metadata and the groups. */
halley_status rec_emit(halley_trace **out, rec_emit_counts *counts, const rec_graph *g,
                       const rec_emit_opts *opts, halley_error *err);

#endif
