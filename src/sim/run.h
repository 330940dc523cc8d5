/* sim/run.h - a run for callers that know which ranks do the same. */
#ifndef SIM_RUN_H
#define SIM_RUN_H

#include "halley/sim.h"
#include "trace/core/twins.h"

/* halley_sim_run with the twins of the traces, which it looks for otherwise; NULL: every
 * rank is run. opts must not be NULL. */
halley_status sim_run(halley_result **out, const halley_trace_set *traces,
                      const halley_cluster *cluster, const halley_sim_opts *opts,
                      const trace_twins *twins, halley_error *err);

typedef struct trace_template trace_template;
/* The run of a set that is written as roles; the cluster has the groups of its rules. */
halley_status sim_run_roles(halley_result **out, const trace_template *roles,
                            const halley_cluster *cluster, const halley_sim_opts *opts,
                            halley_error *err);

#endif
