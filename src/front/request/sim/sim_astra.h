/* request/sim/sim_astra.h - ASTRA-sim's options of `halley sim`, and the files they name.
 */
#ifndef REQUEST_SIM_ASTRA_H
#define REQUEST_SIM_ASTRA_H

#include "halley/cluster.h"
#include "halley/trace.h"
#include "report/sim.h"
#include "request/verb.h"

/* As given on the command line; NULL or 0 if not given. Lent. */
typedef struct sim_astra_files {
    const char *workload, *system, *network, *memory, *group;
    const char *rendezvous; /* true or false */
    const char *logical_topology, *htsim_topology;
    uint32_t queues, passes;
    double injection, comm_scale, compute_scale;
} sim_astra_files;

/* Load the cluster of the files; adds a note if flows replace packets. */
halley_status sim_astra_load_cluster(halley_cluster **out, request_call *call,
                                     const sim_astra_files *files, halley_error *err);
/* True if the workload is a text of ASTRA-sim 1.0, not the prefix of traces. False for
 * NULL. */
bool sim_astra_has_text(const char *workload);
/* Load such a text as traces for the cluster's NPUs; its groups become those of the
 * cluster. */
halley_status sim_astra_load_text(halley_trace_set **out, const sim_astra_files *files,
                                  halley_cluster *cluster, halley_error *err);
/* Write ASTRA-sim's log of a run, which covers every trace; folder as in halley/astra.h.
 */
halley_status sim_astra_write_log(FILE *to, const halley_result *result,
                                  const report_traces *traces,
                                  const halley_cluster *cluster, const char *folder,
                                  halley_error *err);

#endif
