/*
 * A training step in closed form.
 *
 *   step = m (slowest stage + accumulation) + (sum of stages - slowest) / v
 *        + stage transfers + exposed gradient reduction + update
 *
 * for m micro-batches and v virtual stages (1F1B or GPipe; interleaving divides the
 * bubble, Narayanan et al. 2021). Gradient reduction hides behind the backward pass by
 * the stack's share, at most nine tenths of one pass. With fully sharded weights every
 * layer's gather runs beside the compute of its neighbour: per pass the longer of compute
 * + drag * messages and messages, every micro-batch (once per step with stages).
 */
#include "halley/estimate.h"

#include "base/error.h"
#include "estimate/outer.h"
#include "estimate/price.h"
#include "estimate/run.h"
#include "workload/family.h"
#include "workload/memory.h"
#include "workload/stages.h"

#include <math.h>

/* Everything about one kind of layer. */
typedef struct kind_cost {
    const price_layer *price;
    double weights, expert_weights, touched, frozen, frozen_experts;
    /* With FSDP messages where they run every micro-batch; plain: not recomputed. */
    double forward_s, backward_s, plain_s;
    double fsdp_f_s, fsdp_b_s, fsdp_plain_s; /* of them, exposed */
} kind_cost;

typedef struct step {
    price_context c;
    halley_estimate *out;
    kind_cost dense, moe, embedding, head;
    bool fsdp_each; /* weights are gathered every micro-batch */
    double micro_batches;
    double again; /* share of the slowest stage's layers that is computed again */
} step;

/* A pass with the messages of shared weights beside it, or behind it. */
static double beside(const step *s, double pass_s, double messages_s)
{
    const halley_plan *plan = s->c.plan;
    if (plan->no_overlap || plan->expose & HALLEY_EXPOSE_DP)
        return pass_s + messages_s;
    return fmax(pass_s + s->c.stack->k[HALLEY_K_FSDP_DRAG] * messages_s, messages_s);
}

static void fsdp_layer(step *s, kind_cost *k)
{
    const price_shards t = price_shards_make(&s->c, k->weights, k->expert_weights);
    const double all = k->weights + k->expert_weights;
    const double trained =
        all > 0 ? 1 - (k->frozen + k->frozen_experts) / all : 1; /* the rest stays */
    const double back = (s->c.plan->fsdp_keep ? 0 : t.gather_s) + trained * t.reduce_s;
    const double f = k->forward_s, b = k->backward_s, plain = k->plain_s;
    k->forward_s = beside(s, f, t.gather_s);
    k->backward_s = beside(s, b, back);
    k->plain_s = beside(s, plain, back);
    k->fsdp_f_s = k->forward_s - f;
    k->fsdp_b_s = k->backward_s - b;
    k->fsdp_plain_s = k->plain_s - plain;
}

static void price_kind(step *s, kind_cost *k, const price_layer *price,
                       const workload_layer *layer, bool floor)
{
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
        fsdp_layer(s, k);
}

static void price_kinds(step *s, estimate_layers *layers)
{
    const workload_parts *p = &layers->parts;
    const bool floor = s->c.model->kind == HALLEY_TRANSFORMER;
    static const price_layer nothing;
    const struct {
        kind_cost *kind;
        const workload_layer *layer;
        bool there, floor;
    } kinds[] = {{&s->dense, &p->dense, p->has_dense, floor},
                 {&s->moe, &p->moe, p->has_moe, true},
                 {&s->embedding, &p->embedding, true, false},
                 {&s->head, &p->head, true, false}};
    for (int i = 0; i < 4; i++) {
        price_layer *price = &layers->prices[i];
        if (!kinds[i].there) {
            *kinds[i].kind = (kind_cost){.price = &nothing};
            continue;
        }
        if (!layers->priced)
            price_layer_make(price, &s->c, kinds[i].layer, kinds[i].floor);
        price_kind(s, kinds[i].kind, price, kinds[i].layer, kinds[i].floor);
    }
    layers->priced = !s->c.plan->spread; /* else prices depend on the footprint */
}

/* Layers of one kind in a stage; some are computed again. */
typedef struct kind_count {
    const kind_cost *kind;
    double n, again;
} kind_count;

typedef struct stage_cost {
    kind_count kinds[4]; /* the head last */
    double time_s, weights, expert_weights, touched;
    double trained, trained_experts; /* of the weights, those that get gradients */
} stage_cost;

static stage_cost stage_make(const step *s, uint32_t i)
{
    const workload_stage st = workload_stage_make(s->c.model, s->c.plan, i);
    stage_cost c = {.kinds = {{&s->dense, st.n_dense, st.again_dense},
                              {&s->moe, st.n_moe, st.again_moe},
                              {&s->embedding, st.first, st.first},
                              {&s->head, st.last, st.last}}};
    for (int k = 0; k < 4; k++) {
        const kind_count *of = &c.kinds[k];
        c.time_s += of->n * of->kind->forward_s + of->again * of->kind->backward_s +
                    (of->n - of->again) * of->kind->plain_s;
        c.expert_weights += of->n * of->kind->expert_weights;
        c.touched += of->n * of->kind->touched;
        c.trained_experts +=
            of->n * (of->kind->expert_weights - of->kind->frozen_experts);
        if (k == 3 && s->c.model->tied && s->c.plan->pp == 1)
            continue;
        c.weights += of->n * of->kind->weights;
        c.trained += of->n * (of->kind->weights - of->kind->frozen);
    }
    return c;
}

/* Time of one stage into the parts of the step, `times` over. */
static void add_parts(step *s, const kind_count *of, double times)
{
    double *part = s->out->part_s;
    const price_layer *p = of->kind->price;
    const double n = times * of->n, again = times * of->again, plain = n - again;
    if (n <= 0)
        return;
    for (int c = 0; c < WORKLOAD_MESSAGES; c++) {
        part[HALLEY_PART_FORWARD] += n * p->f[c];
        part[HALLEY_PART_BACKWARD] += n * p->b[c];
        part[HALLEY_PART_RECOMPUTE] += again * p->r[c];
        s->out->class_s[c] += n * (p->f[c] + p->b[c]);
    }
    static const halley_part parts[] = {[WORKLOAD_TP] = HALLEY_PART_TP,
                                        [WORKLOAD_CP] = HALLEY_PART_CP,
                                        [WORKLOAD_EP] = HALLEY_PART_EP};
    for (int g = WORKLOAD_TP; g <= WORKLOAD_EP; g++) {
        part[parts[g]] += n * (p->comm_f[g] + p->comm_b[g]);
        part[HALLEY_PART_RECOMPUTE] += again * p->comm_r[g];
    }
    part[HALLEY_PART_HOST] +=
        n * p->host_f_s + again * p->host_b_s + plain * p->host_plain_s;
    part[HALLEY_PART_DP] += n * of->kind->fsdp_f_s + again * of->kind->fsdp_b_s +
                            plain * of->kind->fsdp_plain_s;
}

/* Gradients to their owners and weights back, once per step. */
static double reduction_time(const step *s, const stage_cost *st)
{
    const halley_plan *plan = s->c.plan;
    const price_context *c = &s->c;
    const double gb = plan->gradient_bytes;
    double t = 0;
    if (plan->fsdp) {
        if (!s->fsdp_each) {
            const price_shards w = price_shards_make(c, st->weights, st->expert_weights);
            t += w.gather_s + w.reduce_s;
        }
        /* Hybrid shard: those with the same share add theirs up. */
        return t + price_coll(c, COLL_ALL_REDUCE, WORKLOAD_OUTER,
                              gb * st->trained / plan->fsdp);
    }
    if (plan->zero == 0) {
        t = price_coll(c, COLL_ALL_REDUCE, WORKLOAD_DP, gb * st->trained);
    } else {
        /* Shared gradients leave after every micro-batch. */
        const double times = plan->zero == 2 ? s->micro_batches : 1;
        t = times * price_coll(c, COLL_REDUCE_SCATTER, WORKLOAD_DP, gb * st->trained) +
            price_coll(c, COLL_ALL_GATHER, WORKLOAD_DP, 2 * st->trained);
    }
    if (st->trained_experts > 0)
        t += price_coll(c, COLL_REDUCE_SCATTER, WORKLOAD_XP, gb * st->trained_experts) +
             price_coll(c, COLL_ALL_GATHER, WORKLOAD_XP, 2 * st->trained_experts);
    return t;
}

/*
 * Links with queues: what hides from compute does not hide from the messages of the
 * layers on the same links. Behind a pass of which a share talks, that share shows.
 */
static double delayed(const step *s, const stage_cost *st, double hidden)
{
    const price_context *c = &s->c;
    double talks = 0;
    if (!c->cluster->nodes.up.stored)
        return 0;
    const uint32_t near = c->per_node[WORKLOAD_DP];
    const coll_call inside = {
        .kind = COLL_ALL_REDUCE, .bytes = 2 * st->weights, .n = near, .per_node = near};
    const double most =
        coll_call_time(&c->cluster->nodes.up, hw_outer_fabric(c->cluster), &inside);
    for (int g = WORKLOAD_TP; g <= WORKLOAD_EP; g++) {
        if (c->per_node[g] < c->n[g])
            continue; /* the network between nodes is another dimension */
        for (int k = 0; k < 4; k++)
            talks += st->kinds[k].n * (st->kinds[k].kind->price->comm_f[g] +
                                       st->kinds[k].kind->price->comm_b[g]);
    }
    return fmin(hidden, most) * talks / st->time_s;
}

static void add_reduction(step *s, const stage_cost *st)
{
    const double total = reduction_time(s, st);
    const double passes = s->c.plan->zero == 2 && !s->c.plan->fsdp ? s->micro_batches : 1;
    const double hidden =
        fmin((1 - price_exposed(&s->c, WORKLOAD_DP)) * total, 0.9 * passes * st->time_s);
    s->out->part_s[HALLEY_PART_DP] += total - hidden + delayed(s, st, hidden);
}

static void add_transfers(step *s)
{
    const halley_plan *plan = s->c.plan;
    if (plan->pp < 2)
        return;
    const double tokens = (double)plan->micro_batch * plan->seq / plan->cp;
    double bytes = tokens * s->c.model->hidden * 2;
    if (plan->sequence_parallel || s->c.stack->scatter_stages)
        bytes /= plan->tp;
    /* Two neighbours talk, not the whole column of stages. */
    const uint32_t near = s->c.per_node[WORKLOAD_PP] > 1 ? 2 : 1;
    const coll_call call = {.kind = COLL_SEND, .bytes = bytes, .n = 2, .per_node = near};
    const halley_cluster *p = s->c.cluster;
    double one = coll_call_time(&p->nodes.up, hw_outer_fabric(p), &call);
    if (near < 2)
        one *= s->c.stack->k[HALLEY_K_NETWORK];
    const double m = s->micro_batches, v = plan->virtual_stages;
    s->out->part_s[HALLEY_PART_PP] +=
        (2 * v * m * price_exposed(&s->c, WORKLOAD_PP) + 2 * (plan->pp - 1.0)) * one;
}

static void add_update(step *s, const stage_cost *st)
{
    const halley_plan *plan = s->c.plan;
    const double *k = s->c.stack->k;
    const double ranks = s->c.n[WORKLOAD_DP];
    const double shards = plan->fsdp ? plan->fsdp : plan->zero ? ranks : 1;
    const double copies = (double)plan->tp * plan->cp * plan->dp / plan->ep;
    double mine = st->trained / shards;
    mine += st->touched / (plan->zero || plan->fsdp ? copies : 1);
    const double kept = plan->fsdp ? st->trained / shards : st->trained + st->touched;
    s->out->part_s[HALLEY_PART_OPTIMIZER] +=
        s->c.stream_s * (mine * k[HALLEY_K_OPTIMIZER] + kept * k[HALLEY_K_GRADIENTS]);
    s->out->part_s[HALLEY_PART_OTHER] += k[HALLEY_K_STEP];
}

/* Stages, bubble, accumulation; returns the slowest stage. */
static stage_cost add_pipeline(step *s)
{
    const halley_plan *plan = s->c.plan;
    const double *k = s->c.stack->k;
    stage_cost slow = {0};
    double sum = 0;
    for (uint32_t i = 0, next, times; i < plan->pp; i = next) {
        const stage_cost c = stage_make(s, i);
        next = workload_stage_next(s->c.model, plan, i, &times);
        sum += times * c.time_s;
        if (c.time_s > slow.time_s) {
            slow = c;
            s->out->slow_stage = i;
        }
    }
    const double m = s->micro_batches;
    for (int i = 0; i < 4; i++)
        add_parts(s, &slow.kinds[i], m);
    const double layers = slow.kinds[0].n + slow.kinds[1].n;
    s->again = layers > 0 ? (slow.kinds[0].again + slow.kinds[1].again) / layers : 0;
    double *part = s->out->part_s;
    part[HALLEY_PART_BUBBLE] = (sum - slow.time_s) / plan->virtual_stages;
    const double local = s->fsdp_each ? slow.trained / plan->fsdp : slow.trained;
    part[HALLEY_PART_ACCUMULATE] =
        m * k[HALLEY_K_ACCUMULATE] * (local + slow.touched) * s->c.stream_s;
    part[HALLEY_PART_OTHER] += m * k[HALLEY_K_MICRO];
    return slow;
}

static void finish(step *s)
{
    halley_estimate *out = s->out;
    const halley_plan *plan = s->c.plan;
    const halley_npu *npu = &s->c.cluster->npu;
    for (int i = 0; i < HALLEY_N_PARTS; i++)
        out->step_s += out->part_s[i];
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    const double samples = plan->global_batch;
    out->tokens_per_s = samples * plan->seq / out->step_s;
    out->model_flops = halley_model_step_flops(s->c.model, samples, plan->seq);
    const double peak = npu->peak_flops[plan->dtype] * npus;
    out->mfu = peak > 0 ? out->model_flops / (out->step_s * peak) : 0;
    out->hfu = out->mfu;
    if (plan->recompute == HALLEY_RECOMPUTE_FULL)
        out->hfu *= 1 + s->again / 3;
}

void estimate_layers_make(estimate_layers *out, const halley_model *model,
                          const halley_plan *plan, const halley_stack *stack)
{
    halley_stack own;
    out->priced = false;
    workload_parts_make(&out->parts, model, plan,
                        workload_family_stack(&own, model, plan, stack));
}

bool estimate_run_with(halley_estimate *out, estimate_layers *layers,
                       const halley_model *model, const halley_plan *plan,
                       const halley_cluster *cluster, const halley_stack *stack,
                       estimate_which which)
{
    halley_stack own;
    stack = workload_family_stack(&own, model, plan, stack);
    *out = (halley_estimate){0};
    workload_memory_fill(out, &layers->parts, model, plan, cluster, stack);
    if ((which == ESTIMATE_FITS && !out->fits) ||
        (which == ESTIMATE_MAY_FIT && out->fit == HALLEY_FIT_NOT))
        return false;
    step s = {.out = out};
    price_context_make(&s.c, model, plan, cluster, stack, out);
    s.micro_batches = halley_plan_micro_batches(plan);
    s.fsdp_each = plan->fsdp > 1 && plan->pp == 1;
    price_kinds(&s, layers);
    const stage_cost slow = add_pipeline(&s);
    add_transfers(&s);
    add_reduction(&s, &slow);
    add_update(&s, &slow);
    estimate_offload(out, plan, cluster, s.micro_batches);
    finish(&s);
    estimate_money(out, plan, cluster);
    return true;
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
    estimate_layers layers;
    estimate_layers_make(&layers, model, plan, stack);
    return estimate_run_with(out, &layers, model, plan, cluster, stack, which);
}

void halley_estimate_run(halley_estimate *out, const halley_model *model,
                         const halley_plan *plan, const halley_cluster *cluster,
                         const halley_stack *stack)
{
    estimate_run(out, model, plan, cluster, stack, ESTIMATE_ALL);
}
