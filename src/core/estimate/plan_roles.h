/* estimate/plan_roles.h - a plan as programs: one trace per pipeline stage, and the rules
 * that bind it to ranks. */
#ifndef ESTIMATE_PLAN_ROLES_H
#define ESTIMATE_PLAN_ROLES_H

#include "estimate/plan_script.h"
#include "halley/plan_trace.h"
#include "trace/core/template.h"
#include "workload/schedule.h"

/* The data that the roles of a plan share. */
typedef struct plan_scene {
    halley_plan plan; /* with one stage: without virtual stages */
    halley_stack own; /* the stack for this kind of model */
    halley_estimate e;
    estimate_layers layers;
    step step;
    plan_scripts scripts;
    bool plain; /* HALLEY_PRICES_PLAIN */
    workload_schedule schedule;
    bool is_labelled; /* names of nodes contain layer and pass */
    double hop_bytes; /* size of a message between two stages */
    /* From stage i to the next: the priced time, and the part of it that the stack adds
     * to the time on an idle network. */
    double hop_s[HALLEY_MAX_STAGES], hop_late_s[HALLEY_MAX_STAGES];
} plan_scene;

typedef ARRAY(halley_plan_pass) plan_passes;

/* Write the trace of a stage. If `passes` is not NULL, record which nodes its passes
 * consist of. On success the caller owns *out. */
halley_status plan_role_write(halley_trace **out, const plan_scene *scene, uint32_t stage,
                              plan_passes *passes, halley_error *err);

#endif
