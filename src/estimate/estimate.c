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

#include "estimate/outer.h"
#include "estimate/price.h"
#include "estimate/run.h"
#include "workload/memory.h"
#include "workload/stages.h"

#include <math.h>

/* Everything about one kind of layer. */
typedef struct kind_cost {
    price_layer price;
    double weights, expert_weights;
    double forward_s,
        backward_s; /* with FSDP messages where they run every micro-batch */
    double fsdp_s;  /* of them, exposed */
} kind_cost;

typedef struct step {
    price_context c;
    halley_estimate *out;
    kind_cost dense, moe, embedding, head;
    bool fsdp_each; /* weights are gathered every micro-batch */
    double micro_batches;
} step;

/* Inside a node the tables hold; between nodes the fabric adds what the stack knows. */
static double cross_factor(const step *s, uint32_t n, uint32_t per_node)
{
    return per_node < n ? s->c.stack->k[HALLEY_K_NETWORK] : 1;
}

/* Gather (and scatter) time of a layer's weights over the ranks that share them. */
static double fsdp_coll(const step *s, cost_coll_kind kind, double bytes, uint32_t n)
{
    const halley_platform *p = s->c.platform;
    const uint32_t stride = s->c.plan->tp;
    uint32_t g = p->per_node / stride;
    g = g < 1 ? 1 : g > n ? n : g;
    const cost_coll call = {.kind = kind, .bytes = bytes, .n = n, .per_node = g};
    return cross_factor(s, n, g) * cost_coll_time(&p->up, &p->out, &call);
}

static void fsdp_layer(step *s, kind_cost *k)
{
    const halley_plan *plan = s->c.plan;
    const double drag = s->c.stack->k[HALLEY_K_FSDP_DRAG];
    const double gb = plan->gradient_bytes;
    const double gather = fsdp_coll(s, COST_ALL_GATHER, 2 * k->weights, plan->fsdp);
    const double back = (plan->fsdp_keep ? 0 : gather) +
                        fsdp_coll(s, COST_REDUCE_SCATTER, gb * k->weights, plan->fsdp);
    const double f = k->forward_s, b = k->backward_s;
    k->forward_s = fmax(f + drag * gather, gather);
    k->backward_s = fmax(b + drag * back, back);
    k->fsdp_s = k->forward_s - f + k->backward_s - b;
}

static void price_kind(step *s, kind_cost *k, const workload_layer *layer, bool floor)
{
    price_layer_make(&k->price, &s->c, layer, floor);
    k->weights = layer->weights;
    k->expert_weights = layer->expert_weights;
    k->forward_s = k->price.forward_s;
    k->backward_s = k->price.backward_s;
    k->fsdp_s = 0;
    if (s->fsdp_each && floor)
        fsdp_layer(s, k);
}

static void price_kinds(step *s, const workload_parts *parts)
{
    const bool layers = s->c.model->kind == HALLEY_TRANSFORMER;
    s->dense = s->moe = (kind_cost){0};
    if (parts->has_dense)
        price_kind(s, &s->dense, &parts->dense, layers);
    if (parts->has_moe)
        price_kind(s, &s->moe, &parts->moe, true);
    price_kind(s, &s->embedding, &parts->embedding, false);
    price_kind(s, &s->head, &parts->head, false);
}

typedef struct stage_cost {
    workload_stage stage;
    double time_s, backward_s, weights, expert_weights;
} stage_cost;

static stage_cost stage_make(const step *s, uint32_t i)
{
    stage_cost c = {.stage = workload_stage_make(s->c.model, s->c.plan, i)};
    const kind_cost *kinds[] = {&s->dense, &s->moe, &s->embedding, &s->head};
    const double times[] = {c.stage.n_dense, c.stage.n_moe, c.stage.first, c.stage.last};
    for (int k = 0; k < 4; k++) {
        c.time_s += times[k] * (kinds[k]->forward_s + kinds[k]->backward_s);
        c.backward_s += times[k] * kinds[k]->backward_s;
        c.expert_weights += times[k] * kinds[k]->expert_weights;
        if (k != 3 || !s->c.model->tied || s->c.plan->pp > 1)
            c.weights += times[k] * kinds[k]->weights;
    }
    return c;
}

/* Time of one stage into the parts of the step, `times` over. */
static void add_parts(step *s, const kind_cost *k, double times)
{
    double *part = s->out->part_s;
    if (times <= 0)
        return;
    const price_layer *p = &k->price;
    for (int c = 0; c < WORKLOAD_MESSAGES; c++) {
        part[HALLEY_PART_FORWARD] += times * p->f[c];
        part[HALLEY_PART_BACKWARD] += times * p->b[c];
        part[HALLEY_PART_RECOMPUTE] += times * p->r[c];
        s->out->class_s[c] += times * (p->f[c] + p->b[c] + p->r[c]);
    }
    static const halley_part parts[] = {[WORKLOAD_TP] = HALLEY_PART_TP,
                                        [WORKLOAD_CP] = HALLEY_PART_CP,
                                        [WORKLOAD_EP] = HALLEY_PART_EP};
    for (int g = WORKLOAD_TP; g <= WORKLOAD_EP; g++) {
        part[parts[g]] += times * (p->comm_f[g] + p->comm_b[g]);
        part[HALLEY_PART_RECOMPUTE] += times * p->comm_r[g];
    }
    part[HALLEY_PART_HOST] += times * (p->host_f_s + p->host_b_s);
    part[HALLEY_PART_DP] += times * k->fsdp_s;
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
            t += fsdp_coll(s, COST_ALL_GATHER, 2 * st->weights, plan->fsdp);
            t += fsdp_coll(s, COST_REDUCE_SCATTER, gb * st->weights, plan->fsdp);
        }
        const uint32_t outer = c->n[WORKLOAD_DP] / plan->fsdp;
        if (outer > 1) {
            const cost_coll call = {.kind = COST_ALL_REDUCE,
                                    .bytes = gb * st->weights / plan->fsdp,
                                    .n = outer,
                                    .per_node = 1};
            t += cross_factor(s, outer, 1) *
                 cost_coll_time(&c->platform->up, &c->platform->out, &call);
        }
        return t;
    }
    if (plan->zero == 0) {
        t = price_coll(c, COST_ALL_REDUCE, WORKLOAD_DP, gb * st->weights);
    } else {
        /* Shared gradients leave after every micro-batch. */
        const double times = plan->zero == 2 ? s->micro_batches : 1;
        t = times * price_coll(c, COST_REDUCE_SCATTER, WORKLOAD_DP, gb * st->weights) +
            price_coll(c, COST_ALL_GATHER, WORKLOAD_DP, 2 * st->weights);
    }
    if (st->expert_weights > 0)
        t += price_coll(c, COST_REDUCE_SCATTER, WORKLOAD_XP, gb * st->expert_weights) +
             price_coll(c, COST_ALL_GATHER, WORKLOAD_XP, 2 * st->expert_weights);
    return t * cross_factor(s, c->n[WORKLOAD_DP], c->per_node[WORKLOAD_DP]);
}

static void add_reduction(step *s, const stage_cost *st)
{
    const double total = reduction_time(s, st);
    double hidden = 0;
    /* Reduction starts before the backward pass ends where its owner is known: ZeRO. */
    if (!s->c.plan->no_overlap && (s->c.plan->zero || s->c.plan->fsdp))
        hidden = fmin(s->c.stack->k[HALLEY_K_DP_HIDDEN] * total, 0.9 * st->time_s);
    s->out->part_s[HALLEY_PART_DP] += total - hidden;
}

static void add_transfers(step *s)
{
    const halley_plan *plan = s->c.plan;
    if (plan->pp < 2)
        return;
    const double *k = s->c.stack->k;
    const double tokens = (double)plan->micro_batch * plan->seq / plan->cp;
    double bytes = tokens * s->c.model->hidden * 2;
    if (plan->sequence_parallel || s->c.stack->scatter_stages)
        bytes /= plan->tp;
    /* Two neighbours talk, not the whole column of stages. */
    const uint32_t near = s->c.per_node[WORKLOAD_PP] > 1 ? 2 : 1;
    const cost_coll call = {.kind = COST_SEND, .bytes = bytes, .n = 2, .per_node = near};
    const halley_platform *p = s->c.platform;
    const double one = cross_factor(s, 2, near) * cost_coll_time(&p->up, &p->out, &call);
    const double hide = plan->no_overlap ? 0 : k[HALLEY_K_PP_HIDDEN];
    const double m = s->micro_batches, v = plan->virtual_stages;
    s->out->part_s[HALLEY_PART_PP] +=
        (2 * v * m * (1 - hide) + 2 * (plan->pp - 1.0)) * one;
}

static void add_update(step *s, const stage_cost *st)
{
    const halley_plan *plan = s->c.plan;
    const double *k = s->c.stack->k;
    const double ranks = s->c.n[WORKLOAD_DP];
    const double shards = plan->fsdp ? plan->fsdp : plan->zero ? ranks : 1;
    const double copies = (double)plan->tp * plan->cp * plan->dp / plan->ep;
    double mine = st->weights / shards;
    mine += st->expert_weights / (plan->zero || plan->fsdp ? copies : 1);
    const double kept =
        plan->fsdp ? st->weights / shards : st->weights + st->expert_weights;
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
    add_parts(s, &s->dense, m * slow.stage.n_dense);
    add_parts(s, &s->moe, m * slow.stage.n_moe);
    add_parts(s, &s->embedding, slow.stage.first ? m : 0);
    add_parts(s, &s->head, slow.stage.last ? m : 0);
    double *part = s->out->part_s;
    part[HALLEY_PART_BUBBLE] = (sum - slow.time_s) / plan->virtual_stages;
    const double local = s->fsdp_each ? slow.weights / plan->fsdp : slow.weights;
    part[HALLEY_PART_ACCUMULATE] =
        m * k[HALLEY_K_ACCUMULATE] * (local + slow.expert_weights) * s->c.stream_s;
    part[HALLEY_PART_OTHER] += m * k[HALLEY_K_MICRO];
    return slow;
}

static void finish(step *s)
{
    halley_estimate *out = s->out;
    const halley_plan *plan = s->c.plan;
    const halley_npu *npu = &s->c.platform->npu;
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
        out->hfu *= 4.0 / 3;
}

bool estimate_run(halley_estimate *out, const halley_model *model,
                  const halley_plan *plan, const halley_platform *platform,
                  const halley_stack *stack, bool only_if_fits)
{
    *out = (halley_estimate){0};
    workload_parts parts;
    workload_parts_make(&parts, model, plan, stack);
    workload_memory_fill(out, &parts, model, plan, platform, stack);
    if (only_if_fits && !out->fits)
        return false;
    step s = {.out = out};
    price_context_make(&s.c, model, plan, platform, stack);
    if (plan->spread)
        price_spread(&s.c, estimate_outer_share(out),
                     workload_outer_tier(plan, platform));
    s.micro_batches = halley_plan_micro_batches(plan);
    s.fsdp_each = plan->fsdp > 1 && plan->pp == 1;
    price_kinds(&s, &parts);
    const stage_cost slow = add_pipeline(&s);
    add_transfers(&s);
    add_reduction(&s, &slow);
    add_update(&s, &slow);
    estimate_offload(out, plan, platform, s.micro_batches);
    finish(&s);
    estimate_money(out, plan, platform);
    return true;
}

void halley_estimate_run(halley_estimate *out, const halley_model *model,
                         const halley_plan *plan, const halley_platform *platform,
                         const halley_stack *stack)
{
    estimate_run(out, model, plan, platform, stack, false);
}
