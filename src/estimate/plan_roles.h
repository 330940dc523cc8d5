/* estimate/plan_roles.h - a plan as programs: one trace per pipeline stage, and the rules
 * that bind it to ranks. */
#ifndef ESTIMATE_PLAN_ROLES_H
#define ESTIMATE_PLAN_ROLES_H

#include "estimate/plan_script.h"
#include "halley/plan_trace.h"
#include "trace/core/template.h"
#include "workload/schedule.h"

/* What the roles of a plan share. */
typedef struct plan_scene {
    halley_plan plan; /* with one stage: without virtual stages */
    halley_stack own; /* of the model's kind */
    halley_estimate e;
    estimate_layers layers;
    step step;
    plan_scripts scripts;
    workload_schedule schedule;
    double hop_bytes; /* of a message between two stages */
    /* From stage i to the next: its priced time, and what of it the stack adds to that of
     * an idle network. */
    double hop_s[HALLEY_MAX_STAGES], hop_late_s[HALLEY_MAX_STAGES];
} plan_scene;

typedef ARRAY(halley_plan_pass) plan_passes;

/* The trace of a stage, and (passes not NULL) which nodes its passes are. On success *out
 * is the caller's. */
halley_status plan_role_write(halley_trace **out, const plan_scene *scene, uint32_t stage,
                              plan_passes *passes, halley_error *err);

#endif
