/* request/sim/sim_plan.h - `sim` of a model and a plan, without writing traces. */
#ifndef REQUEST_SIM_PLAN_H
#define REQUEST_SIM_PLAN_H

#include "halley/sim.h"
#include "request/design.h"

/* Options of `sim` in addition to the design. */
typedef struct sim_plan_options {
    const design_options *design;
    bool json, csv, per_rank, explain;
    bool all_ranks;                                           /* in `columns` */
    const char *timeline, *columns, *per_node, *heat, *links; /* files; NULL = none */
    const char *report;                                       /* the same */
    const char *expand; /* ranks of the timeline; NULL = one per class */
    halley_sim_opts run;
} sim_plan_options;

/* `set_up` applies other options to the cluster; may be NULL. */
halley_status sim_plan_run(request_call *call, const sim_plan_options *o,
                           halley_status (*set_up)(request_call *, halley_cluster *,
                                                   halley_error *),
                           halley_error *err);

/* Check that --expand is a list of ranks, and that there is a timeline for it. */
halley_status sim_plan_check_expand(request_call *call, const char *expand,
                                    const char *timeline, uint32_t n_ranks,
                                    halley_error *err);

#endif
