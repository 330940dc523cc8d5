/* Small changes to a plan: finds which single change would make the plan fit into
 * memory. */
#include "estimate/run.h"
#include "halley/search.h"
#include "hw/cluster.h"
#include "workload/memory.h"

#include <assert.h>
#include <stdio.h>

typedef struct trying {
    halley_change *out;
    uint32_t n, max, n_npus;
    const halley_model *model;
    const halley_cluster *cluster;
    const halley_stack *stack;
} trying;

static void insert_change(trying *t, const halley_change *c)
{
    assert(t->n <= t->max);
    uint32_t at = t->n;
    while (at > 0 && c->estimate.step_s < t->out[at - 1].estimate.step_s)
        at--;
    if (at >= t->max)
        return;
    const uint32_t last = t->n < t->max ? t->n++ : t->max - 1;
    for (uint32_t i = last; i > at; i--)
        t->out[i] = t->out[i - 1];
    t->out[at] = *c;
}

/* `value` is the new value of the key that changes. */
static void offer_change(trying *t, halley_change *c, halley_plan_key key,
                         const char *value)
{
    c->key = key;
    snprintf(c->value, sizeof c->value, "%s", value);
    c->plan.micro_batches = 0;
    if (halley_plan_check(&c->plan, t->model, t->n_npus, NULL) != HALLEY_OK)
        return;
    halley_estimate_run(&c->estimate, t->model, &c->plan, t->cluster, t->stack);
    if (c->estimate.fits)
        insert_change(t, c);
}

/* Multiply a parallel degree by k and divide data parallelism by k. */
static void offer_degree(trying *t, const halley_plan *plan, const char *name,
                         size_t offset, uint32_t k)
{
    assert(k > 0);
    halley_change c = {.plan = *plan};
    char value[16];
    const halley_plan_key key = offset == offsetof(halley_plan, tp)   ? HALLEY_KEY_TP
                                : offset == offsetof(halley_plan, pp) ? HALLEY_KEY_PP
                                                                      : HALLEY_KEY_CP;
    uint32_t *degree = (uint32_t *)(void *)((char *)&c.plan + offset);
    if (plan->dp % k)
        return;
    snprintf(c.what, sizeof c.what, "%s %u instead of %u", name, *degree * k, *degree);
    *degree *= k;
    c.plan.dp /= k;
    if (offset == offsetof(halley_plan, tp))
        c.plan.sequence_parallel = true;
    if (c.plan.fsdp > c.plan.dp * c.plan.cp)
        c.plan.fsdp = c.plan.dp * c.plan.cp;
    snprintf(value, sizeof value, "%u", *degree);
    offer_change(t, &c, key, value);
}

static void offer_recompute(trying *t, const halley_plan *plan, halley_recompute kind)
{
    halley_change c = {.plan = *plan};
    if (plan->recompute >= kind)
        return;
    snprintf(c.what, sizeof c.what, "%s recomputation instead of %s",
             halley_recompute_name(kind), halley_recompute_name(plan->recompute));
    c.plan.recompute = kind;
    offer_change(t, &c, HALLEY_KEY_RECOMPUTE, halley_recompute_name(kind));
}

static void offer_rest(trying *t, const halley_plan *plan)
{
    char value[16];
    for (uint32_t mb = plan->micro_batch / 2; mb > 0; mb /= 2) {
        halley_change c = {.plan = *plan};
        snprintf(c.what, sizeof c.what, "micro-batch %u instead of %u", mb,
                 plan->micro_batch);
        c.plan.micro_batch = mb;
        snprintf(value, sizeof value, "%u", mb);
        offer_change(t, &c, HALLEY_KEY_MICRO_BATCH, value);
    }
    for (uint32_t zero = plan->zero + 1; zero <= 2 && !plan->fsdp; zero++) {
        halley_change c = {.plan = *plan};
        snprintf(c.what, sizeof c.what, "ZeRO %u instead of %u", zero, plan->zero);
        c.plan.zero = zero;
        snprintf(value, sizeof value, "%u", zero);
        offer_change(t, &c, HALLEY_KEY_ZERO, value);
    }
    if (!plan->fsdp && plan->dp * plan->cp > 1) {
        halley_change c = {.plan = *plan};
        snprintf(c.what, sizeof c.what, "weights gathered layer by layer (FSDP)");
        c.plan.fsdp = plan->dp * plan->cp;
        offer_change(t, &c, HALLEY_KEY_FSDP, "all");
    }
    const halley_tier *outer = workload_outer_tier(plan, t->cluster);
    if (outer != NULL && !plan->offload) {
        halley_change c = {.plan = *plan};
        snprintf(c.what, sizeof c.what, "optimizer in %s", outer->name);
        c.plan.offload = HALLEY_OFFLOAD_OPTIMIZER;
        offer_change(t, &c, HALLEY_KEY_OFFLOAD, "optimizer");
    }
}

uint32_t halley_search_fitting(halley_change *out, uint32_t max,
                               const halley_model *model, const halley_plan *plan,
                               const halley_cluster *cluster, const halley_stack *stack)
{
    trying t = {.out = out,
                .max = max,
                .n_npus = plan->tp * plan->cp * plan->pp * plan->dp,
                .model = model,
                .cluster = cluster,
                .stack = stack};
    for (uint32_t k = 2; k <= 16; k *= 2) {
        offer_degree(&t, plan, "tensor parallelism", offsetof(halley_plan, tp), k);
        offer_degree(&t, plan, "pipeline stages", offsetof(halley_plan, pp), k);
        offer_degree(&t, plan, "context parallelism", offsetof(halley_plan, cp), k);
    }
    offer_recompute(&t, plan, HALLEY_RECOMPUTE_SELECTIVE);
    offer_recompute(&t, plan, HALLEY_RECOMPUTE_FULL);
    offer_rest(&t, plan);
    assert(t.n <= max);
    return t.n;
}
