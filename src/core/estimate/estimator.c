/*
 * Runs many estimates of one model on one cluster. Making the operators of the layers and
 * pricing them takes most of the time of an estimate. Both are the same for designs that
 * differ only in how they shard states, where they store them, and in which order the
 * pipeline runs. These keys are removed from two plans before the plans are compared.
 */
#include "base/array.h"
#include "base/error.h"
#include "estimate/run.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct halley_estimator {
    const halley_model *model;
    const halley_cluster *cluster;
    const halley_stack *stack;
    halley_plan same; /* the plan of `layers`: only the keys that affect prices */
    bool has_layers;
    estimate_layers layers;
};

/* True if the messages inside layers depend on tp and cp alone, not on the number of
 * stages. Expert groups span data-parallel ranks, DualPipe hides their messages, and rank
 * orders other than the first may put stages or copies between the members of a group. */
static bool is_apart_from_stages(const halley_plan *p)
{
    return p->ep <= 1 && p->etp <= 1 && p->rank_order == 0 &&
           p->schedule != HALLEY_SCHEDULE_DUALPIPE;
}

/* The plan without the keys that affect neither the operators nor the prices of
 * layers. */
static halley_plan keep_layer_keys(const halley_plan *plan)
{
    halley_plan p = *plan;
    p.zero = p.fsdp = p.zero_group = 0;
    p.zero_owner = p.fsdp_keep = false;
    p.gather = (halley_gather)0;
    p.gradient_bytes = 0;
    p.gradient_memory = p.optimizer_memory = 0;
    p.optimizer = (halley_optimizer)0;
    p.table_optimizer = (halley_table_optimizer)0;
    p.fp8_params = (halley_choice)0;
    p.offload = p.offload_tier = p.offload_layers = 0;
    p.virtual_stages = p.n_stage_layers = 0;
    p.recompute_every = p.recompute_layers = 0;
    memset(p.stage_layers, 0, sizeof p.stage_layers);
    p.embeddings_as_layers = false;
    p.given = 0;
    if (p.schedule != HALLEY_SCHEDULE_DUALPIPE)
        p.schedule = HALLEY_SCHEDULE_1F1B;
    if (is_apart_from_stages(plan)) { /* the host serves the NPUs in use of a node */
        p.dp = plan->dp * plan->pp;
        p.pp = 0;
    }
    return p;
}

halley_status halley_estimator_new(halley_estimator **out, const halley_model *model,
                                   const halley_cluster *cluster,
                                   const halley_stack *stack, halley_error *err)
{
    assert(model != NULL && cluster != NULL && stack != NULL);
    halley_estimator *e = mem_array_zero(1, sizeof *e);
    if (e == NULL)
        return error_nomem(err);
    e->model = model;
    e->cluster = cluster;
    e->stack = stack;
    *out = e;
    return HALLEY_OK;
}

void halley_estimator_free(halley_estimator *estimator)
{
    free(estimator);
}

void halley_estimator_run(halley_estimator *e, halley_estimate *out,
                          const halley_plan *plan)
{
    assert(plan->tp > 0 && plan->pp > 0 && plan->dp > 0);
    const halley_plan same = keep_layer_keys(plan);
    /* If only the padding differs, the layers are made again: this costs time only. */
    if (!e->has_layers ||
        memcmp((const char *)&same, (const char *)&e->same, sizeof same) != 0) {
        estimate_layers_make(&e->layers, e->model, plan, e->stack);
        e->same = same;
        e->has_layers = true;
    }
    estimate_run_walked(out, &e->layers, e->model, plan, e->cluster, e->stack);
}
