/* Makes a template of a plan: its roles, and the rules for its ranks
 * (estimate/groups.c). */
#include "estimate/plan_roles.h"

#include "base/error.h"
#include "estimate/groups.h"
#include "halley/plan_trace.h"
#include "workload/family.h"
#include "workload/memory.h"
#include "workload/plan_file.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* With one stage there is no pipeline: micro-batches run one after the other. */
static void set_schedule(plan_scene *s)
{
    if (s->plan.pp == 1) { /* the chunks of a single stage are merged */
        s->plan.virtual_stages = 1;
        s->plan.schedule = HALLEY_SCHEDULE_1F1B;
    }
    s->schedule = workload_schedule_make(&s->plan);
}

static double boundary_bytes(const plan_scene *s)
{
    const workload_shape *shape = &s->layers.parts.shape;
    const double bytes = shape->tokens * shape->hidden * 2;
    return s->plan.sequence_parallel || s->step.c.stack->scatter_stages
               ? bytes / s->plan.tp
               : bytes;
}

/* Messages between each stage and the next. Priced time beyond that of an idle network is
 * added as delay at the receiver. */
static void set_hops(plan_scene *s)
{
    s->hop_bytes = boundary_bytes(s);
    for (uint32_t i = 0; i < s->plan.pp && s->plan.pp > 1; i++) {
        const uint32_t next = (i + 1) % s->plan.pp;
        const double alone_s = price_send_alone(&s->step.c, s->hop_bytes, i, next);
        s->hop_s[i] = price_send(&s->step.c, s->hop_bytes, i, next);
        s->hop_late_s[i] = fmax(0, s->hop_s[i] - alone_s);
        assert(s->hop_s[i] > 0);
    }
}

static halley_status make_scene(plan_scene *s, const halley_model *model,
                                const halley_plan *plan, const halley_cluster *cluster,
                                const halley_stack *stack, halley_error *err)
{
    *s = (plan_scene){.plan = *plan};
    set_schedule(s);
    stack = workload_family_stack(&s->own, model, plan, stack);
    halley_estimate_run(&s->e, model, plan, cluster, stack);
    estimate_layers_make(&s->layers, model, plan, stack);
    step_make(&s->step, &s->e, &s->layers, model, &s->plan, cluster, stack);
    set_hops(s);
    return plan_scripts_init(&s->scripts, &s->step, &s->layers.parts) ? HALLEY_OK
                                                                      : error_nomem(err);
}

enum { TP, CP, DP, PP, N_AXES };

/* The position of each axis of the plan in the template, in the plan's rank order. */
static halley_status add_axes(trace_template *t, uint32_t at[N_AXES],
                              const halley_plan *plan, halley_error *err)
{
    const char *order = workload_order_names[plan->rank_order];
    for (uint32_t i = 0; i < N_AXES; i++) { /* "tp-cp-dp-pp" */
        const str name = {order + 3 * (size_t)i, 2};
        const char c = name.at[0];
        const uint32_t axis = c == 't' ? TP : c == 'c' ? CP : c == 'd' ? DP : PP;
        const uint32_t sizes[N_AXES] = {plan->tp, plan->cp, plan->dp, plan->pp};
        TRY(trace_template_add_axis(t, name, sizes[axis], err));
        at[axis] = i;
    }
    t->n_ranks = plan->tp * plan->cp * plan->dp * plan->pp;
    return HALLEY_OK;
}

static halley_status add_group(trace_template *t, const halley_plan *plan,
                               workload_group kind, const uint32_t at[N_AXES],
                               halley_error *err)
{
    const plan_cut cut = plan_group_cut(plan, kind);
    const uint32_t of_copies = 1u << at[CP] | 1u << at[DP];
    const uint32_t axes = kind == WORKLOAD_TP   ? 1u << at[TP]
                          : kind == WORKLOAD_CP ? 1u << at[CP]
                          : cut.of_stage        ? of_copies | 1u << at[TP]
                                                : of_copies;
    const trace_template_group g = {.name = str_from(plan_group_name(kind)),
                                    .axes = axes,
                                    .block = cut.block,
                                    .every = cut.every};
    return cut.size < 2 ? HALLEY_OK : trace_template_add_group(t, &g, err);
}

static halley_status add_rules(trace_template *t, const plan_scene *s,
                               uint32_t at[N_AXES], halley_error *err)
{
    static const workload_group kinds[] = {
        WORKLOAD_TP,    WORKLOAD_CP, WORKLOAD_EP,  WORKLOAD_DP,    WORKLOAD_FSDP,
        WORKLOAD_OUTER, WORKLOAD_XP, WORKLOAD_ETP, WORKLOAD_XFSDP, WORKLOAD_XOUTER};
    TRY(add_axes(t, at, &s->plan, err));
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        TRY(add_group(t, &s->plan, kinds[i], at, err));
    for (int i = 0; i < 2 && s->plan.pp > 1; i++) {
        const trace_template_peer p = {.name =
                                           str_from(i ? PLAN_PEER_PREV : PLAN_PEER_NEXT),
                                       .axis = at[PP],
                                       .distance = i ? -1 : 1,
                                       .wrap = true};
        TRY(trace_template_add_peer(t, &p, err));
    }
    return HALLEY_OK;
}

static halley_status add_roles(trace_template *t, const plan_scene *s, uint32_t axis,
                               halley_error *err)
{
    for (uint32_t stage = 0; stage < s->plan.pp; stage++) {
        const trace_range range = {stage, stage};
        const trace_when when = {axis, 1, &range};
        char file[32];
        snprintf(file, sizeof file, "role%u.et", stage);
        trace_template_role role = {.file = str_from(file),
                                    .when = &when,
                                    .n_when = s->plan.pp > 1,
                                    .rank = TRACE_TEMPLATE_NONE};
        TRY(plan_role_write(&role.trace, s, stage, NULL, err));
        TRY(trace_template_add_role(t, &role, err));
    }
    return HALLEY_OK;
}

static halley_status fill_template(trace_template *t, const plan_scene *s,
                                   halley_error *err)
{
    uint32_t at[N_AXES];
    TRY(add_rules(t, s, at, err));
    TRY(add_roles(t, s, at[PP], err));
    return trace_template_end(t, err);
}

static halley_status make_template(halley_template **out, const halley_model *model,
                                   const halley_plan *plan, const halley_cluster *cluster,
                                   const halley_stack *stack, halley_trace_prices prices,
                                   bool is_labelled, halley_error *err)
{
    plan_scene *s = calloc(1, sizeof *s);
    trace_template *t = calloc(1, sizeof *t);
    halley_status status = s != NULL && t != NULL
                               ? make_scene(s, model, plan, cluster, stack, err)
                               : error_nomem(err);
    if (status == HALLEY_OK) {
        s->plain = prices == HALLEY_PRICES_PLAIN;
        s->is_labelled = is_labelled;
        status = fill_template(t, s, err);
    }
    if (s != NULL)
        plan_scripts_fini(&s->scripts);
    free(s);
    if (status == HALLEY_OK)
        *out = t;
    else
        halley_template_free(t);
    return status;
}

halley_status halley_plan_template(halley_template **out, const halley_model *model,
                                   const halley_plan *plan, const halley_cluster *cluster,
                                   const halley_stack *stack, halley_trace_prices prices,
                                   halley_error *err)
{
    return make_template(out, model, plan, cluster, stack, prices, false, err);
}

halley_status halley_plan_template_labelled(halley_template **out,
                                            const halley_model *model,
                                            const halley_plan *plan,
                                            const halley_cluster *cluster,
                                            const halley_stack *stack,
                                            halley_trace_prices prices, halley_error *err)
{
    return make_template(out, model, plan, cluster, stack, prices, true, err);
}

halley_status halley_plan_passes(halley_plan_pass **out, size_t *n,
                                 const halley_model *model, const halley_plan *plan,
                                 const halley_cluster *cluster, const halley_stack *stack,
                                 uint32_t stage, halley_error *err)
{
    plan_scene *s = calloc(1, sizeof *s);
    plan_passes passes = {0};
    halley_trace *trace = NULL;
    assert(stage < plan->pp);
    halley_status status =
        s != NULL ? make_scene(s, model, plan, cluster, stack, err) : error_nomem(err);
    if (status == HALLEY_OK)
        status = plan_role_write(&trace, s, stage, &passes, err);
    if (s != NULL)
        plan_scripts_fini(&s->scripts);
    free(s);
    halley_trace_free(trace);
    if (status == HALLEY_OK) {
        *out = passes.at;
        *n = passes.n;
    } else {
        array_fini(&passes);
    }
    return status;
}
