/*
 * A training step of one rank as a Chakra graph.
 *
 * Compute stands in a chain. A collective that its layer needs at once stands in that
 * chain; of one that the stack hides in part, the hidden part of the bytes runs beside
 * the compute that follows. Weights are gathered one layer ahead, gradients
 * reduced behind a layer's last backward pass, offloaded weights and activations moved
 * likewise; of the layers' reductions and gathers, as many as the stack cannot hide stand
 * in the chain. A send blocks or follows by the same rule. So a simulator hides what the
 * estimate says the software can hide, as far as there is compute to hide it behind.
 *
 * Recomputation repeats the forward pass of k layers before their backward passes. Work
 * that is slowed by gathering (the stack's drag), or that waits for the host, is compute.
 */
#include "halley/plan_trace.h"

#include "base/array.h"
#include "base/error.h"
#include "estimate/plan_nodes.h"
#include "estimate/price.h"
#include "estimate/schedule.h"
#include "workload/family.h"
#include "workload/memory.h"
#include "workload/stages.h"

#include <math.h>
#include <stdlib.h>

/* What passes of a rank are made of. */
typedef struct scene {
    price_context c;
    workload_parts parts;
    halley_estimate e;
} scene;

typedef struct writer {
    plan_nodes n;
    const scene *s;
    const halley_plan *plan;
    plan_place at;
    uint32_t n_layers;       /* of this stage */
    uint64_t ahead;          /* what is fetched for the next layer may start after this */
    ARRAY(uint64_t) reduced; /* what the update awaits */
    bool failed;             /* no memory for them */
    double unreduced[2];     /* weights, experts: reduced when all passes are done */
    double debt[3];          /* of gathers, reductions, sends: those to be exposed */
} writer;
enum { GATHERS, REDUCTIONS, SENDS };

/* The times out of many that a share stands for, evenly: every third for 1/3. */
static bool due(double *debt, double share)
{
    *debt += share;
    if (*debt < 1 - 1e-9)
        return false;
    *debt -= 1;
    return true;
}

/* One message of a layer, of which `share` is exposed. */
static void partly_hidden(writer *w, const char *name, halley_coll_type type,
                          workload_group group, double bytes, double share)
{
    if (share * bytes >= 1)
        plan_coll_chain(&w->n, name, type, group, share * bytes);
    if ((1 - share) * bytes >= 1)
        plan_coll_hide(&w->n, &(plan_hiding){name, type, group, (1 - share) * bytes});
}

static void layer_message(writer *w, const workload_op *op, bool backward)
{
    static const halley_coll_type types[] = {
        [WORKLOAD_ALL_REDUCE] = HALLEY_COLL_ALL_REDUCE,
        [WORKLOAD_ALL_GATHER] = HALLEY_COLL_ALL_GATHER,
        [WORKLOAD_REDUCE_SCATTER] = HALLEY_COLL_REDUCE_SCATTER,
        [WORKLOAD_ALL_TO_ALL] = HALLEY_COLL_ALL_TO_ALL,
        [WORKLOAD_EXCHANGE] = HALLEY_COLL_ALL_GATHER,
    };
    const price_context *c = &w->s->c;
    const double bytes =
        op->coll == WORKLOAD_EXCHANGE ? op->bytes_f * c->n[op->group] : op->bytes_f;
    const double share = price_exposed(c, op->group);
    /* A broken number: one more, exposed by that much. */
    const double times = backward ? op->times_b : op->times_f;
    for (uint32_t i = 0; times - i > 1e-9; i++)
        partly_hidden(w, op->name, types[op->coll], op->group, bytes,
                      share * fmin(times - i, 1));
}

typedef enum pass_kind { FORWARD, AGAIN, BACKWARD } pass_kind;

static double traffic(const workload_op *op, bool backward)
{
    if (op->bytes_f > 0)
        return backward ? op->bytes_b : op->bytes_f;
    const double once = op->m * op->k + op->k * op->n + op->m * op->n;
    return (backward ? 4 : 2) * op->groups * once;
}

/* One pass over the operators of a layer, backward in reverse order. */
static void operators(writer *w, const workload_layer *layer, pass_kind kind)
{
    const bool back = kind == BACKWARD;
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[back ? layer->n - 1 - i : i];
        if (op->kind == WORKLOAD_COLL) {
            if (kind != AGAIN || w->plan->recompute == HALLEY_RECOMPUTE_FULL)
                layer_message(w, op, back);
            continue;
        }
        const price_op t = price_op_make(&w->s->c, op);
        const double share = t.forward_s > 0 ? t.again_s / t.forward_s : 0;
        if (kind == FORWARD)
            plan_compute_chain(&w->n, op->name, t.forward_s, op->flops,
                               traffic(op, false));
        else if (back)
            plan_compute_chain(&w->n, op->name, t.backward_s, 2 * op->flops,
                               traffic(op, true));
        else if (t.again_s > 0)
            plan_compute_chain(&w->n, op->name, t.again_s, share * op->flops,
                               share * traffic(op, false));
    }
}

/* Gradients of one set of weights: to their owners now, or later. */
static void reduce_in(writer *w, workload_group group, double weights, bool last)
{
    const halley_plan *plan = w->plan;
    plan_nodes *n = &w->n;
    const double bytes = plan->gradient_bytes * weights;
    if (!plan->zero && !plan->fsdp) {
        w->unreduced[group == WORKLOAD_XP] += weights;
        return;
    }
    if (weights <= 0)
        return;
    /* Beside compute anyway where weights are shared: the drag stands for its price. */
    const bool each = plan->fsdp > 1 && plan->pp == 1 && !plan->no_overlap &&
                      !(plan->expose & HALLEY_EXPOSE_DP);
    const bool in_chain =
        !each && due(&w->debt[REDUCTIONS], price_exposed(&w->s->c, WORKLOAD_DP));
    uint64_t id = n->last;
    if (plan_group_of(plan, group, n->rank)) {
        id = in_chain ? plan_coll_chain(n, "gradient reduction",
                                        HALLEY_COLL_REDUCE_SCATTER, group, bytes)
                      : plan_coll(n, "gradient reduction", HALLEY_COLL_REDUCE_SCATTER,
                                  group, bytes, n->last);
    }
    if (group == WORKLOAD_FSDP && last && plan_group_of(plan, WORKLOAD_OUTER, n->rank))
        id = plan_coll(n, "reduction of shares", HALLEY_COLL_ALL_REDUCE, WORKLOAD_OUTER,
                       bytes / plan->fsdp, id);
    w->failed |= id != n->last && !array_push(&w->reduced, id);
}

static void reduce_gradients(writer *w, const workload_layer *layer, bool last)
{
    reduce_in(w, w->plan->fsdp ? WORKLOAD_FSDP : WORKLOAD_DP, layer->weights, last);
    if (w->plan->has_experts)
        reduce_in(w, WORKLOAD_XP, layer->expert_weights, last);
}

/* A gather of weights about to be used, one layer ahead or in the chain. */
static void gather_in(writer *w, workload_group group, double weights)
{
    plan_nodes *n = &w->n;
    const halley_plan *plan = w->plan;
    const bool each = plan->fsdp > 1 && plan->pp == 1;
    if (weights <= 0 || !plan_group_of(plan, group, n->rank))
        return;
    const double share = !each || plan->no_overlap || plan->expose & HALLEY_EXPOSE_DP
                             ? price_exposed(&w->s->c, WORKLOAD_DP)
                             : 0;
    if (due(&w->debt[GATHERS], share))
        plan_coll_chain(n, "weight gather", HALLEY_COLL_ALL_GATHER, group, 2 * weights);
    else
        plan_await(n, plan_coll(n, "weight gather", HALLEY_COLL_ALL_GATHER, group,
                                2 * weights, w->ahead));
}

static void gather_weights(writer *w, const workload_layer *layer)
{
    if (w->plan->has_experts)
        gather_in(w, WORKLOAD_XP, layer->expert_weights);
    gather_in(w, w->plan->fsdp ? WORKLOAD_FSDP : WORKLOAD_DP, layer->weights);
}

/* What a pass over a layer moves to and from the outer tier, beside the chain. */
static void fetch(writer *w, bool backward)
{
    const double *outer = w->s->e.outer_bytes;
    const double m = halley_plan_micro_batches(w->plan), n = w->n_layers;
    const double weights = outer[HALLEY_MEMORY_WEIGHTS] / n;
    const double flights = w->plan->pp < m ? m / w->plan->pp : 1;
    const double activations = outer[HALLEY_MEMORY_ACTIVATIONS] * flights / m / n;
    if (weights >= 1)
        plan_await(&w->n, plan_memory(&w->n, false, "weights in", weights, w->ahead));
    if (activations >= 1 && backward)
        plan_await(&w->n,
                   plan_memory(&w->n, false, "activations in", activations, w->ahead));
    if (activations >= 1 && !backward)
        (void)plan_memory(&w->n, true, "activations out", activations, w->n.last);
}

typedef struct chunk {
    uint32_t n_dense, n_moe;
    uint32_t n_again; /* the first of them are computed again */
    bool first, last; /* of the whole model */
} chunk;

static uint32_t share_of(uint32_t total, uint32_t parts, uint32_t i)
{
    return total / parts + (i < total % parts); /* the rest goes to the first */
}

static chunk chunk_of(const writer *w, uint32_t c)
{
    const workload_stage st = workload_stage_make(w->s->c.model, w->plan, w->at.pp);
    const uint32_t v = w->plan->virtual_stages;
    return (chunk){.n_dense = share_of(st.n_dense, v, c),
                   .n_moe = share_of(st.n_moe, v, c),
                   .n_again = share_of(st.again_dense + st.again_moe, v, c),
                   .first = st.first && c == 0,
                   .last = st.last && c == v - 1};
}

/* What a layer's pass waits for its host, and loses to gathers beside it. */
static void waits(writer *w, const workload_layer *layer, bool backward, bool again,
                  bool each)
{
    const price_context *c = &w->s->c;
    price_layer p;
    if (c->model->kind != HALLEY_TRANSFORMER)
        return;
    price_layer_make(&p, c, layer, true);
    const double back = again ? p.host_b_s : p.host_plain_s;
    const double host = backward ? back : p.host_f_s;
    if (host > 1e-9)
        plan_compute_chain(&w->n, "host", host, 0, 0);
    if (!each || w->plan->no_overlap || w->plan->expose & HALLEY_EXPOSE_DP)
        return;
    const price_shards t = price_shards_make(c, layer->weights, layer->expert_weights);
    const double gather = backward && w->plan->fsdp_keep ? 0 : t.gather_s;
    const double drag =
        c->stack->k[HALLEY_K_FSDP_DRAG] * (gather + (backward ? t.reduce_s : 0));
    if (drag > 1e-9)
        plan_compute_chain(&w->n, "slowed by gathering", drag, 0, 0);
}

/* What one pass of the schedule does beside computing. */
typedef struct pass_work {
    bool backward, gather, reduce, last;
} pass_work;

static const workload_layer *layer_at(const writer *w, const chunk *c, uint32_t i)
{
    return i < c->n_dense ? &w->s->parts.dense : &w->s->parts.moe;
}

static void layer_pass(writer *w, const chunk *c, uint32_t i, const pass_work *p)
{
    const workload_layer *layer = layer_at(w, c, i);
    const bool each = w->plan->fsdp > 1 && w->plan->pp == 1;
    const uint64_t start = w->n.last;
    if (p->gather)
        gather_weights(w, layer);
    fetch(w, p->backward);
    w->ahead = start; /* what the next layer needs may come while this one computes */
    const uint32_t every = w->plan->recompute_every > 1 ? w->plan->recompute_every : 1;
    if (p->backward && i < c->n_again && w->plan->recompute &&
        (i % every == every - 1 || i + 1 == c->n_again)) {
        for (uint32_t j = i / every * every; j <= i; j++)
            operators(w, layer_at(w, c, j), AGAIN);
    }
    operators(w, layer, p->backward ? BACKWARD : FORWARD);
    waits(w, layer, p->backward, i < c->n_again, each);
    if (p->reduce)
        reduce_gradients(w, layer, p->last);
}

static void layers_pass(writer *w, const chunk *c, const pass_work *p)
{
    const uint32_t n = c->n_dense + c->n_moe;
    w->ahead = w->n.last;
    for (uint32_t i = 0; i < n; i++)
        layer_pass(w, c, p->backward ? n - 1 - i : i, p);
}

/* The rank before or after in the flow of a pass. */
static uint32_t neighbour(const writer *w, bool next, uint32_t c, uint32_t *its_chunk)
{
    plan_place at = w->at;
    *its_chunk = c;
    if (next) {
        *its_chunk += at.pp + 1 == w->plan->pp;
        at.pp = (at.pp + 1) % w->plan->pp;
    } else {
        *its_chunk -= at.pp == 0;
        at.pp = (at.pp + w->plan->pp - 1) % w->plan->pp;
    }
    return plan_rank_at(w->plan, at);
}

/* Tags tell micro-batch, the chunk that produced the tensor, and direction apart. */
static uint32_t tag_of(const writer *w, const plan_pass *p, uint32_t producer)
{
    return 2 * (p->micro_batch * w->plan->virtual_stages + producer) + p->backward;
}

static double boundary_bytes(const writer *w)
{
    const workload_shape *shape = &w->s->parts.shape;
    const double bytes = shape->tokens * shape->hidden * 2;
    return w->plan->sequence_parallel || w->s->c.stack->scatter_stages
               ? bytes / w->plan->tp
               : bytes;
}

/* Shared weights are gathered for every pass (with stages: once); weights that only the
 * optimizer shares, for the first pass of a step. */
static bool gathers(const halley_plan *plan, const plan_pass *p)
{
    if (plan->fsdp > 1 && plan->pp == 1)
        return !(p->backward && plan->fsdp_keep);
    return (plan->zero || plan->fsdp > 1) && !p->backward && p->micro_batch == 0;
}

/* Gradients leave after the last micro-batch; shared ones after each. */
static pass_work work_of(const halley_plan *plan, const plan_pass *p)
{
    const bool last = p->micro_batch + 1 == halley_plan_micro_batches(plan);
    const bool each = plan->fsdp > 1 ? plan->pp == 1 : plan->zero == 2 && !plan->fsdp;
    return (pass_work){.backward = p->backward,
                       .gather = gathers(plan, p),
                       .reduce = p->backward && (last || each),
                       .last = last};
}

static void ends_of_model(writer *w, const chunk *c, const pass_work *p, bool before)
{
    const workload_parts *parts = &w->s->parts;
    const pass_kind kind = p->backward ? BACKWARD : FORWARD;
    if (c->first && p->backward != before)
        operators(w, &parts->embedding, kind);
    if (c->last && p->backward == before)
        operators(w, &parts->head, kind);
    if (before || !p->reduce)
        return;
    if (c->first)
        reduce_gradients(w, &parts->embedding, p->last);
    if (c->last && !(w->s->c.model->tied && w->plan->pp == 1))
        reduce_gradients(w, &parts->head, p->last);
}

static void accumulate(writer *w)
{
    const double passes =
        (double)halley_plan_micro_batches(w->plan) * w->plan->virtual_stages;
    const double micro = w->s->c.stack->k[HALLEY_K_MICRO] / w->plan->virtual_stages;
    plan_compute_chain(&w->n, "gradient accumulation",
                       w->s->e.part_s[HALLEY_PART_ACCUMULATE] / passes + micro, 0, 0);
}

static void pass(writer *w, const plan_pass *p)
{
    const chunk c = chunk_of(w, p->chunk);
    const pass_work work = work_of(w->plan, p);
    const bool start = p->backward ? c.last : c.first,
               end = p->backward ? c.first : c.last;
    uint32_t other;
    if (!start && w->plan->pp > 1) {
        const uint32_t peer = neighbour(w, p->backward, p->chunk, &other);
        plan_receive(&w->n, peer, tag_of(w, p, other), boundary_bytes(w));
    }
    ends_of_model(w, &c, &work, true);
    layers_pass(w, &c, &work);
    ends_of_model(w, &c, &work, false);
    if (p->backward)
        accumulate(w);
    if (!end && w->plan->pp > 1) {
        const uint32_t peer = neighbour(w, !p->backward, p->chunk, &other);
        plan_send(&w->n, peer, tag_of(w, p, p->chunk), boundary_bytes(w),
                  due(&w->debt[SENDS], price_exposed(&w->s->c, WORKLOAD_PP)));
    }
}

/* The update, after all reductions; the next step gathers what it needs. */
static void update(writer *w)
{
    const halley_estimate *e = &w->s->e;
    const double outer =
        e->outer_bytes[HALLEY_MEMORY_OPTIMIZER] + e->outer_bytes[HALLEY_MEMORY_GRADIENTS];
    static const workload_group groups[] = {WORKLOAD_DP, WORKLOAD_XP};
    for (int i = 0; i < 2; i++) {
        if (w->unreduced[i] > 0 && plan_group_of(w->plan, groups[i], w->n.rank))
            plan_coll_chain(&w->n, "gradient reduction", HALLEY_COLL_ALL_REDUCE,
                            groups[i], w->plan->gradient_bytes * w->unreduced[i]);
    }
    if (outer > 0)
        plan_memory_chain(&w->n, false, "optimizer states in", outer);
    plan_compute_chain(&w->n, "update",
                       e->part_s[HALLEY_PART_OPTIMIZER] + w->s->c.stack->k[HALLEY_K_STEP],
                       0, e->memory_bytes[HALLEY_MEMORY_OPTIMIZER] * 2);
    for (size_t i = 0; i < w->reduced.n; i++)
        plan_after(&w->n, w->reduced.at[i]);
    if (outer > 0)
        plan_memory_chain(&w->n, true, "optimizer states out", outer);
}

static halley_status write_rank(halley_trace **out, writer *w, halley_error *err)
{
    TRY(halley_builder_new(&w->n.b, err));
    (void)halley_builder_version(w->n.b, (halley_bytes){"1.0.0", 5});
    for (uint32_t k = 0; k < plan_pass_count(w->plan); k++) {
        const plan_pass p = plan_pass_at(w->plan, w->at.pp, k);
        pass(w, &p);
    }
    update(w);
    array_fini(&w->reduced);
    plan_nodes_fini(&w->n);
    halley_trace *made = NULL;
    TRY(halley_builder_finish(&made, w->n.b, err));
    if (w->failed || w->n.failed) {
        halley_trace_free(made);
        return error_nomem(err);
    }
    *out = made;
    return HALLEY_OK;
}

halley_status halley_plan_trace(halley_trace **out, const halley_model *model,
                                const halley_plan *plan, const halley_cluster *cluster,
                                const halley_stack *stack, uint32_t rank,
                                halley_error *err)
{
    scene s;
    halley_stack own;
    stack = workload_family_stack(&own, model, plan, stack);
    halley_estimate_run(&s.e, model, plan, cluster, stack);
    price_context_make(&s.c, model, plan, cluster, stack, &s.e);
    workload_parts_make(&s.parts, model, plan, stack);
    writer w = {.n = {.plan = plan, .rank = rank, .last = PLAN_NO_NODE},
                .s = &s,
                .plan = plan,
                .at = plan_place_of(plan, rank)};
    const workload_stage st = workload_stage_make(model, plan, w.at.pp);
    w.n_layers = st.n_dense + st.n_moe;
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        w.n.n_members[g] = s.c.n[g];
    return write_rank(out, &w, err);
}
