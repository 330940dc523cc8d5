/*
 * A training step in closed form.
 *
 *   step = (schedule of m micro-batches + exposed gradient reduction + update + offload)
 *          (1 + e log2 nodes)
 *
 * The schedule consists of the passes of every stage (step_stages.c). A pass consists of
 * the layers of a stage (step_kinds.c), and a layer consists of operators
 * (price_layer.c). The last factor is the time that ranks wait for the slowest rank they
 * communicate with. It grows with every doubling of the number of nodes. It grows faster
 * where all nodes communicate in every layer.
 */
#include "halley/estimate.h"

#include "base/error.h"
#include "estimate/outer.h"
#include "estimate/run.h"
#include "estimate/step.h"
#include "workload/family.h"
#include "workload/memory.h"

#include <assert.h>
#include <math.h>

double step_meeting_share(const step *s)
{
    const halley_plan *plan = s->c.plan;
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    const double nodes = ceil(npus / s->c.ranks_per_node);
    const bool all = s->fsdp_each;
    const double share = s->c.stack->k[all ? HALLEY_K_MEETING_FSDP : HALLEY_K_MEETING];
    return nodes > 1 ? share * log2(nodes) : 0;
}

static void add_meeting(step *s)
{
    s->out->part_s[HALLEY_PART_MEETING] = s->out->step_s * step_meeting_share(s);
    s->out->step_s += s->out->part_s[HALLEY_PART_MEETING];
}

static void sum_parts(step *s)
{
    s->out->step_s = 0;
    for (int i = 0; i < HALLEY_N_PARTS; i++)
        s->out->step_s += s->out->part_s[i];
}

/* Model FLOPs that a step really executes. Frozen weights have no gradient (4 instead of
 * 6 FLOPs per parameter and token), and tokens above the capacity of an expert are
 * dropped. */
static double count_model_flops(const halley_model *model, const halley_plan *plan)
{
    const double samples = plan->global_batch, tokens = samples * plan->seq;
    const double each = plan->lora > 0 ? 4 : 6;
    const double params = halley_model_token_params(model);
    double flops = halley_model_step_flops(model, samples, plan->seq);
    if (plan->lora > 0)
        flops -= 2 * tokens * params;
    if (model->experts > 0 && plan->capacity > 0 && plan->capacity < 1) {
        halley_model rest = *model;
        rest.top_k = 0;
        const double routed = params - halley_model_token_params(&rest);
        flops -= each * tokens * routed * (1 - plan->capacity);
    }
    return flops;
}

static void add_rates(step *s)
{
    assert(s->out->step_s > 0);
    halley_estimate *out = s->out;
    const halley_plan *plan = s->c.plan;
    const halley_npu *npu = &s->c.cluster->npu;
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    const double samples = plan->global_batch;
    out->tokens_per_s = samples * plan->seq / out->step_s;
    out->model_flops = count_model_flops(s->c.model, plan);
    const double peak = npu->peak_flops[plan->dtype] * npus;
    out->mfu = peak > 0 ? out->model_flops / (out->step_s * peak) : 0;
    const double again = out->hfu; /* relative to the forward pass, a third of the step */
    out->hfu = out->mfu * (1 + again / 3);
    assert(again >= 0);
}

void estimate_layers_make(estimate_layers *out, const halley_model *model,
                          const halley_plan *plan, const halley_stack *stack)
{
    assert(plan->tp > 0 && plan->pp > 0 && plan->dp > 0);
    halley_stack own;
    out->priced = false;
    workload_parts_make(&out->parts, model, plan,
                        workload_family_stack(&own, model, plan, stack));
}

void step_make(step *s, halley_estimate *out, estimate_layers *layers,
               const halley_model *model, const halley_plan *plan,
               const halley_cluster *cluster, const halley_stack *stack)
{
    *s = (step){.out = out};
    price_context_make(&s->c, model, plan, cluster, stack, out);
    s->micro_batches = halley_plan_micro_batches(plan);
    s->fsdp_each =
        plan->fsdp > 1 && (plan->pp == 1 || plan->gather == HALLEY_GATHER_MICRO_BATCH);
    step_price_kinds(s, layers);
}

/* A design: the inputs of an estimate and the way it is computed. */
typedef struct design {
    const halley_model *model;
    const halley_plan *plan;
    const halley_cluster *cluster;
    const halley_stack *stack;
    estimate_which which;
    bool walk; /* walk the schedule pass by pass instead of using its closed form */
} design;

static bool time_design(halley_estimate *out, estimate_layers *layers, const design *d)
{
    assert(d->plan->micro_batch > 0);
    halley_stack own;
    const halley_stack *stack = workload_family_stack(&own, d->model, d->plan, d->stack);
    *out = (halley_estimate){.size = sizeof *out};
    workload_memory_fill(out, &layers->parts, d->model, d->plan, d->cluster, stack);
    if ((d->which == ESTIMATE_FITS && !out->fits) ||
        (d->which == ESTIMATE_MAY_FIT && out->fit == HALLEY_FIT_NOT))
        return false;
    step s;
    step_make(&s, out, layers, d->model, d->plan, d->cluster, stack);
    const stage_cost full = step_add_pipeline(&s, d->walk);
    step_add_reduction(&s, &full);
    step_add_update(&s, &full);
    estimate_offload(out, d->plan, d->cluster, s.micro_batches);
    sum_parts(&s);
    add_meeting(&s);
    add_rates(&s);
    estimate_money(out, d->plan, d->cluster);
    return true;
}

bool estimate_run_with(halley_estimate *out, estimate_layers *layers,
                       const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster, const halley_stack *stack,
                       estimate_which which)
{
    return time_design(out, layers, &(design){model, plan, cluster, stack, which, false});
}

void estimate_run_walked(halley_estimate *out, estimate_layers *layers,
                         const halley_model *model, const halley_plan *plan,
                         const halley_cluster *cluster, const halley_stack *stack)
{
    (void)time_design(out, layers,
                      &(design){model, plan, cluster, stack, ESTIMATE_ALL, true});
}

static bool is_finite_all(const double *values, int n)
{
    for (int i = 0; i < n; i++) {
        if (!isfinite(values[i]))
            return false;
    }
    return true;
}

halley_status halley_estimate_check(const halley_estimate *e, halley_error *err)
{
    const double single[] = {
        e->step_s,     e->tokens_per_s,   e->model_flops,     e->mfu,      e->hfu,
        e->peak_bytes, e->capacity_bytes, e->offloaded_bytes, e->energy_J, e->cost_usd};
    const bool finite = is_finite_all(single, sizeof single / sizeof *single) &&
                        is_finite_all(e->part_s, HALLEY_N_PARTS) &&
                        is_finite_all(e->class_s, HALLEY_N_CLASSES) &&
                        is_finite_all(e->memory_bytes, HALLEY_N_MEMORY);
    if (e->out_of_memory)
        return error_nomem(err);
    if (finite && e->step_s > 0 && e->mfu > 0)
        return HALLEY_OK;
    return error_set(
        err, HALLEY_ELIMIT,
        "internal error: the estimate of this design is not a finite number; "
        "please report the model, the cluster and the plan");
}

bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_cluster *cluster,
                  const halley_stack *stack, estimate_which which)
{
    assert(plan->tp > 0 && plan->pp > 0);
    assert(plan->dp > 0);
    estimate_layers layers;
    estimate_layers_make(&layers, model, plan, stack);
    return estimate_run_with(out, &layers, model, plan, cluster, stack, which);
}

void halley_estimate_run(halley_estimate *out, const halley_model *model,
                         const halley_plan *plan, const halley_cluster *cluster,
                         const halley_stack *stack)
{
    assert(out != NULL && stack != NULL);
    estimate_layers layers;
    estimate_layers_make(&layers, model, plan, stack);
    estimate_run_walked(out, &layers, model, plan, cluster, stack);
}
