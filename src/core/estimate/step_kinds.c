/*
 * The kinds of layers of a model and their costs. With fully sharded weights, the gather
 * of every layer runs concurrently with the compute of its neighbour, one layer ahead:
 *
 *   t = max(compute + drag min(messages, bytes / scale-up bandwidth), messages)
 *
 * Network cards do not slow down compute, but bytes that move through the device do. On
 * torus networks, the full message time slows down compute.
 */
#include "estimate/step.h"

#include <assert.h>
#include <math.h>

/* The time of a pass with the gathers and reductions of one layer or stage next to it, or
 * after it if nothing overlaps. */
static double compute_beside(const step *s, double pass_s, double messages_s,
                             double bytes)
{
    assert(pass_s >= 0 && messages_s >= 0);
    const halley_plan *plan = s->c.plan;
    if (plan->no_overlap || plan->expose & HALLEY_EXPOSE_DP)
        return pass_s + messages_s;
    const double beside = fmax(pass_s + price_drag(&s->c, messages_s, bytes), messages_s);
    return fmin(beside, pass_s + messages_s); /* at worst one after the other */
}

static void gather_layer(step *s, kind_cost *k)
{
    const price_shards t = price_shards_make(&s->c, k->weights, k->expert_weights);
    const bool again = !s->c.plan->fsdp_keep;
    const double all = k->weights + k->expert_weights;
    const double trained = /* frozen weights have no gradients */
        all > 0 ? 1 - (k->frozen + k->frozen_experts) / all : 1;
    const double back = (again ? t.gather_s : 0) + trained * t.reduce_s;
    const double bytes = (again ? t.gather_bytes : 0) + trained * t.reduce_bytes;
    const double f = k->forward_s, b = k->backward_s, plain = k->plain_s;
    k->forward_s = compute_beside(s, f, t.gather_s, t.gather_bytes);
    k->backward_s = compute_beside(s, b, back, bytes);
    k->plain_s = compute_beside(s, plain, back, bytes);
    k->fsdp_f_s = k->forward_s - f;
    k->fsdp_b_s = k->backward_s - b;
    k->fsdp_plain_s = k->plain_s - plain;
}

const workload_layer *step_find_layer(const workload_parts *p, estimate_kind kind)
{
    assert(kind < ESTIMATE_N_KINDS);
    switch (kind) {
    case ESTIMATE_DENSE:
    case ESTIMATE_DENSE_WIDE:
        return p->has_dense ? &p->dense : NULL;
    case ESTIMATE_EXPERTS:
    case ESTIMATE_EXPERTS_WIDE:
        return p->has_moe ? &p->moe : NULL;
    case ESTIMATE_EMBEDDING:
        return &p->embedding;
    case ESTIMATE_HEAD:
        return &p->head;
    case ESTIMATE_N_KINDS:
        break;
    }
    return NULL;
}

static bool is_wide_kind(estimate_kind kind)
{
    return kind == ESTIMATE_DENSE_WIDE || kind == ESTIMATE_EXPERTS_WIDE;
}

/* True if the host issues the kind's operators and its weights are gathered per layer. */
static bool has_floor(const step *s, estimate_kind kind)
{
    assert(kind < ESTIMATE_N_KINDS);
    if (kind == ESTIMATE_EMBEDDING || kind == ESTIMATE_HEAD)
        return false;
    return s->c.model->kind == HALLEY_TRANSFORMER || kind == ESTIMATE_EXPERTS;
}

static void set_kind(step *s, kind_cost *k, const price_layer *price,
                     const workload_layer *layer, bool floor)
{
    assert(price != NULL && layer != NULL);
    *k = (kind_cost){.price = price,
                     .weights = layer->weights,
                     .expert_weights = layer->expert_weights,
                     .touched = layer->updated ? 0 : layer->touched,
                     .frozen = layer->frozen,
                     .frozen_experts = layer->frozen_experts,
                     .forward_s = price->forward_s,
                     .backward_s = price->backward_s,
                     .plain_s = price->plain_b_s};
    if (s->fsdp_each && floor)
        gather_layer(s, k);
    assert(k->forward_s >= 0 && k->backward_s >= 0);
}

void step_price_kinds(step *s, estimate_layers *layers)
{
    static const price_layer nothing;
    for (int i = 0; i < ESTIMATE_N_KINDS; i++) {
        const estimate_kind kind = (estimate_kind)i;
        const workload_layer *layer = step_find_layer(&layers->parts, kind);
        price_layer *price = &layers->prices[i];
        if (layer == NULL || (is_wide_kind(kind) && s->c.plan->bf16_layers == 0)) {
            s->kinds[i] = (kind_cost){.price = &nothing};
            continue;
        }
        const bool floor = has_floor(s, kind);
        s->c.only_wide = is_wide_kind(kind);
        if (!layers->priced)
            price_layer_make(price, &s->c, layer, floor);
        set_kind(s, &s->kinds[i], price, layer, floor);
    }
    s->c.only_wide = false;
    layers->priced = !s->c.plan->spread; /* else prices depend on the memory footprint */
}
