/* sim/run.h - a run for callers that know which ranks do the same. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "halley/sim.h"
#include "trace/core/twins.h"

/* As halley_sim_run, with the twins of the traces, which halley_sim_run would search for.
 * NULL: every rank is simulated. opts must not be NULL. */
halley_status sim_run(halley_result **out, const halley_trace_set *traces,
                      const halley_cluster *cluster, const halley_sim_opts *opts,
                      const trace_twins *twins, halley_error *err);

typedef struct trace_template trace_template;
/* Run a set that is stored as roles; the cluster has the groups of its rules. */
halley_status sim_run_roles(halley_result **out, const trace_template *roles,
                            const halley_cluster *cluster, const halley_sim_opts *opts,
                            halley_error *err);

#endif
