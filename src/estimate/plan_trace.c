/*
 * A training step of one rank as a Chakra graph.
 *
 * Passes follow the list of their stage (workload/schedule.h). Compute stands in a chain.
 * A collective that its layer needs at once stands in that chain; of one that the stack
 * hides in part, the hidden part of the bytes runs beside the compute that follows.
 * Weights are gathered one layer ahead, gradients reduced behind a layer's last backward
 * pass, offloaded weights and activations moved likewise. What of the step's gathers and
 * reductions the stack cannot hide stands before the first pass and after the last one,
 * so that no stage waits for the reduction of another; of those of every micro-batch,
 * after its pass. As many sends as the stack cannot hide block the chain. So a simulator
 * hides what the estimate says the software can hide, as far as there is compute to hide
 * it behind.
 *
 * Recomputation repeats the forward pass of k layers before their backward passes. Work
 * that is slowed by gathering (the stack's drag), or that waits for the host, is compute.
 */
#include "halley/plan_trace.h"

#include "base/array.h"
#include "base/error.h"
#include "estimate/plan_nodes.h"
#include "estimate/price.h"
#include "workload/family.h"
#include "workload/memory.h"
#include "workload/schedule.h"
#include "workload/stages.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* What passes of a rank are made of. */
typedef struct scene {
    price_context c, wide; /* of the plan's type, and of layers that stay in bf16 */
    workload_parts parts;
    halley_estimate e;
    workload_schedule schedule;
    bool each; /* weights are gathered for every micro-batch */
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
    double left[WORKLOAD_N_GROUPS]; /* bytes whose reduction nothing hides */
    double debt;                    /* of sends: those to be exposed */
} writer;

/* The times out of many that a share stands for, evenly: every third for 1/3. */
static bool due(double *debt, double share)
{
    assert(share >= 0 && share <= 1);
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
    assert(bytes >= 0);
    assert(share >= 0);
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

/* INPUT and WEIGHT are the halves of a backward pass. */
typedef enum pass_kind { FORWARD, AGAIN, BACKWARD, INPUT, WEIGHT } pass_kind;

static double traffic(const workload_op *op, bool backward)
{
    if (op->bytes_f > 0)
        return backward ? op->bytes_b : op->bytes_f;
    const double once = op->m * op->k + op->k * op->n + op->m * op->n;
    return (backward ? 4 : 2) * op->groups * once;
}

/* The compute of an operator in a pass: seconds, and their share of a forward pass. */
static void compute_node(writer *w, const price_context *c, const workload_op *op,
                         pass_kind kind)
{
    const price_op t = price_op_make(c, op);
    const double again = t.forward_s > 0 ? t.again_s / t.forward_s : 0;
    const double moved = traffic(op, kind >= BACKWARD);
    switch (kind) {
    case FORWARD:
        plan_compute_chain(&w->n, op->name, t.forward_s, op->flops, moved);
        return;
    case AGAIN:
        if (t.again_s > 0)
            plan_compute_chain(&w->n, op->name, t.again_s, again * op->flops,
                               again * moved);
        return;
    case BACKWARD:
        plan_compute_chain(&w->n, op->name, t.backward_s, 2 * op->flops, moved);
        return;
    case INPUT:
        plan_compute_chain(&w->n, op->name, t.backward_s - t.weight_s,
                           (t.weight_s > 0 ? 1 : 2) * op->flops, moved / 2);
        return;
    case WEIGHT:
        if (t.weight_s > 0)
            plan_compute_chain(&w->n, op->name, t.weight_s, op->flops, moved / 2);
        return;
    }
}

/* One pass over the operators of a layer, backward in reverse order. */
static void operators(writer *w, const price_context *c, const workload_layer *layer,
                      pass_kind kind)
{
    const bool back = kind >= BACKWARD;
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[back ? layer->n - 1 - i : i];
        if (op->kind != WORKLOAD_COLL)
            compute_node(w, c, op, kind);
        else if (kind != WEIGHT && (kind != AGAIN || price_repeats_messages(w->plan)))
            layer_message(w, op, back);
    }
}

/* Groups of one set of weights. */
typedef struct owners {
    workload_group all, shard, outer;
} owners;
static const owners dense_owners = {WORKLOAD_DP, WORKLOAD_FSDP, WORKLOAD_OUTER};
static const owners expert_owners = {WORKLOAD_XP, WORKLOAD_XFSDP, WORKLOAD_XOUTER};

static bool some_share(const halley_plan *plan)
{
    return plan->fsdp > 0 || (plan->zero > 0 && plan->zero_group > 0);
}

static bool is_exposed(const halley_plan *plan)
{
    return plan->no_overlap || plan->expose & HALLEY_EXPOSE_DP;
}

/* One reduction: what hides runs beside the chain, what does not is left for later. */
static uint64_t reduce_among(writer *w, workload_group group, halley_coll_type type,
                             double bytes, uint64_t after)
{
    assert(group < WORKLOAD_N_GROUPS);
    plan_nodes *n = &w->n;
    /* Beside compute anyway where weights are shared: the drag stands for its price. */
    const bool all = w->s->each && !is_exposed(w->plan) && group != WORKLOAD_OUTER &&
                     group != WORKLOAD_XOUTER;
    const double shown = all ? 0 : price_exposed(&w->s->c, WORKLOAD_DP);
    if (bytes < 1 || plan_group_of(w->plan, group, n->rank) == 0)
        return after;
    w->left[group] += shown * bytes;
    if ((1 - shown) * bytes < 1)
        return after;
    return plan_coll(n, "gradient reduction", type, group, (1 - shown) * bytes, after);
}

static halley_coll_type reduction_type(const halley_plan *plan, workload_group group)
{
    const bool whole = (!plan->zero && !plan->fsdp) || group == WORKLOAD_OUTER ||
                       group == WORKLOAD_XOUTER;
    return whole ? HALLEY_COLL_ALL_REDUCE : HALLEY_COLL_REDUCE_SCATTER;
}

/* Gradients of one set of weights to their owners. */
static void reduce_in(writer *w, owners who, double weights, bool last)
{
    assert(weights >= 0);
    const halley_plan *plan = w->plan;
    const double bytes = plan->gradient_bytes * weights;
    const workload_group group = some_share(plan) ? who.shard : who.all;
    const uint64_t start = w->n.last;
    uint64_t id = reduce_among(w, group, reduction_type(plan, group), bytes, start);
    if (some_share(plan) && last)
        id = reduce_among(w, who.outer, HALLEY_COLL_ALL_REDUCE,
                          bytes / w->s->c.n[who.shard], id);
    w->failed |= id != start && !array_push(&w->reduced, id);
}

static void reduce_gradients(writer *w, const workload_layer *layer, bool last)
{
    reduce_in(w, dense_owners, layer->weights, last);
    if (w->plan->has_experts)
        reduce_in(w, expert_owners, layer->expert_weights, last);
}

/* What could not hide, in the chain. */
static void reduce_left(writer *w)
{
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++) {
        const workload_group group = (workload_group)g;
        if (w->left[g] >= 1)
            plan_coll_chain(&w->n, "gradient reduction", reduction_type(w->plan, group),
                            group, w->left[g]);
        w->left[g] = 0;
    }
}

/* A gather of weights about to be used, one layer ahead or in the chain. */
static void gather_in(writer *w, owners who, double weights)
{
    assert(weights >= 0);
    plan_nodes *n = &w->n;
    const workload_group group = some_share(w->plan) ? who.shard : who.all;
    if (weights <= 0 || !plan_group_of(w->plan, group, n->rank))
        return;
    /* With every micro-batch all of it runs ahead; once a step the hidden share does. */
    const double shown =
        w->s->each ? is_exposed(w->plan) : price_exposed(&w->s->c, WORKLOAD_DP);
    if (w->s->each && shown > 0)
        plan_coll_chain(n, "weight gather", HALLEY_COLL_ALL_GATHER, group, 2 * weights);
    else if ((1 - shown) * weights >= 1)
        plan_await(n, plan_coll(n, "weight gather", HALLEY_COLL_ALL_GATHER, group,
                                2 * (1 - shown) * weights, w->ahead));
}

static void gather_weights(writer *w, const workload_layer *layer)
{
    if (w->plan->has_experts)
        gather_in(w, expert_owners, layer->expert_weights);
    gather_in(w, dense_owners, layer->weights);
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
    workload_stage stage;
    uint32_t n_again;                   /* the first of them are computed again */
    uint32_t n_wide_first, n_wide_last; /* layers at its ends that stay in bf16 */
} chunk;

static chunk chunk_of(const writer *w, uint32_t c)
{
    const workload_stage st = workload_chunk_make(w->s->c.model, w->plan, w->at.pp, c);
    const uint32_t wide = w->plan->bf16_layers;
    return (chunk){.stage = st,
                   .n_again = st.again_dense + st.again_moe,
                   .n_wide_first = st.first ? (wide + 1) / 2 : 0,
                   .n_wide_last = st.last ? wide / 2 : 0};
}

static uint32_t count_layers(const chunk *c)
{
    return c->stage.n_dense + c->stage.n_moe;
}

/* What one pass of the schedule does beside computing. */
typedef struct pass_work {
    pass_kind kind;
    bool gather, reduce, last;
} pass_work;

static bool is_backward(const pass_work *p)
{
    return p->kind == BACKWARD || p->kind == INPUT;
}

/* What a layer's pass waits for its host, and loses to gathers beside it. */
static void waits(writer *w, const price_context *c, const workload_layer *layer,
                  const pass_work *work, bool again)
{
    price_layer p;
    const bool back = is_backward(work);
    if (c->model->kind != HALLEY_TRANSFORMER)
        return;
    price_layer_make(&p, c, layer, true);
    double host = !back ? p.host_f_s : again ? p.host_b_s : p.host_plain_s;
    if (work->kind == INPUT)
        host -= p.host_w_s;
    if (work->kind == WEIGHT)
        host = p.host_w_s;
    if (host > 1e-9)
        plan_compute_chain(&w->n, "host", host, 0, 0);
    if (work->kind == WEIGHT || !w->s->each || is_exposed(w->plan))
        return;
    const price_shards t = price_shards_make(c, layer->weights, layer->expert_weights);
    const bool gathers = !(back && w->plan->fsdp_keep);
    const double messages = (gathers ? t.gather_s : 0) + (back ? t.reduce_s : 0);
    const double bytes = (gathers ? t.gather_bytes : 0) + (back ? t.reduce_bytes : 0);
    const double drag = price_drag(c, messages, bytes);
    if (drag > 1e-9)
        plan_compute_chain(&w->n, "slowed by gathering", drag, 0, 0);
}

static const workload_layer *layer_at(const writer *w, const chunk *c, uint32_t i)
{
    return i < c->stage.n_dense ? &w->s->parts.dense : &w->s->parts.moe;
}

static const price_context *context_at(const writer *w, const chunk *c, uint32_t i)
{
    const bool wide = i < c->n_wide_first || i + c->n_wide_last >= count_layers(c);
    return wide ? &w->s->wide : &w->s->c;
}

static void layer_pass(writer *w, const chunk *c, uint32_t i, const pass_work *p)
{
    const workload_layer *layer = layer_at(w, c, i);
    const price_context *prices = context_at(w, c, i);
    const uint64_t start = w->n.last;
    if (p->gather)
        gather_weights(w, layer);
    if (p->kind != WEIGHT)
        fetch(w, is_backward(p));
    w->ahead = start; /* what the next layer needs may come while this one computes */
    const uint32_t every = w->plan->recompute_every > 1 ? w->plan->recompute_every : 1;
    if (is_backward(p) && i < c->n_again && w->plan->recompute &&
        (i % every == every - 1 || i + 1 == c->n_again)) {
        for (uint32_t j = i / every * every; j <= i; j++)
            operators(w, context_at(w, c, j), layer_at(w, c, j), AGAIN);
    }
    operators(w, prices, layer, p->kind);
    waits(w, prices, layer, p, i < c->n_again);
    if (p->reduce)
        reduce_gradients(w, layer, p->last);
}

static void layers_pass(writer *w, const chunk *c, const pass_work *p)
{
    const uint32_t n = count_layers(c);
    w->ahead = w->n.last;
    for (uint32_t i = 0; i < n; i++)
        layer_pass(w, c, p->kind == FORWARD ? i : n - 1 - i, p);
}

/* The other end of a message: `step` places along the flow of a micro-batch. */
typedef struct other_end {
    uint32_t rank, place;
    bool same; /* stage: nothing is sent */
} other_end;

static other_end other_end_of(const writer *w, const workload_pass *p, int step)
{
    const workload_schedule *s = &w->s->schedule;
    const workload_seat seat = {w->at.pp, p->chunk};
    const uint32_t place = (uint32_t)((int)workload_schedule_place(s, seat) + step);
    plan_place at = w->at;
    at.pp = workload_schedule_seat(s, place, p->micro_batch).stage;
    return (other_end){plan_rank_at(w->plan, at), place, at.pp == w->at.pp};
}

/* Tags tell micro-batch, the place that produced the tensor, and direction apart. */
static uint32_t tag_of(const writer *w, const workload_pass *p, uint32_t producer)
{
    const uint32_t places = workload_schedule_places(&w->s->schedule);
    return 2 * (p->micro_batch * places + producer) + (p->kind != WORKLOAD_PASS_FORWARD);
}

static double boundary_bytes(const writer *w)
{
    const workload_shape *shape = &w->s->parts.shape;
    const double bytes = shape->tokens * shape->hidden * 2;
    return w->plan->sequence_parallel || w->s->c.stack->scatter_stages
               ? bytes / w->plan->tp
               : bytes;
}

/* Is it the first, or the last, of the micro-batches that pass through the chunk? */
static bool is_first(const writer *w, const workload_pass *p)
{
    return p->micro_batch == workload_schedule_first(&w->s->schedule, p->chunk);
}

static bool is_last(const writer *w, const workload_pass *p)
{
    const workload_schedule *s = &w->s->schedule;
    return p->micro_batch + 1 ==
           workload_schedule_first(s, p->chunk) + workload_schedule_each(s);
}

/* Shared weights are gathered for every pass (with stages: once); weights that only the
 * optimizer shares, for the first pass of a step. */
static bool gathers(const writer *w, const workload_pass *p)
{
    const halley_plan *plan = w->plan;
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    if (p->kind == WORKLOAD_PASS_WEIGHT)
        return false;
    if (w->s->each)
        return forward || !plan->fsdp_keep;
    return (plan->zero || plan->fsdp > 1) && forward && is_first(w, p);
}

/* Gradients leave after the last micro-batch; shared ones after each. */
static pass_work work_of(const writer *w, const workload_pass *p)
{
    static const pass_kind kinds[WORKLOAD_N_PASSES] = {FORWARD, BACKWARD, INPUT, WEIGHT};
    const halley_plan *plan = w->plan;
    const bool last = is_last(w, p);
    const bool each = w->s->each || (plan->zero == 2 && !plan->fsdp);
    const bool makes =
        p->kind == WORKLOAD_PASS_BACKWARD || p->kind == WORKLOAD_PASS_WEIGHT;
    return (pass_work){.kind = kinds[p->kind],
                       .gather = gathers(w, p),
                       .reduce = makes && (last || each),
                       .last = last};
}

static void ends_of_model(writer *w, const chunk *c, const pass_work *p, bool before)
{
    const workload_parts *parts = &w->s->parts;
    const bool first = c->stage.first, last = c->stage.last;
    const bool back = p->kind != FORWARD;
    if (first && back != before)
        operators(w, &w->s->c, &parts->embedding, p->kind);
    if (last && back == before)
        operators(w, &w->s->c, &parts->head, p->kind);
    if (before || !p->reduce)
        return;
    if (first)
        reduce_gradients(w, &parts->embedding, p->last);
    if (last && !(w->s->c.model->tied && first))
        reduce_gradients(w, &parts->head, p->last);
}

/* Weights of a chunk whose gradients are added up. */
static double accumulated(const writer *w, const chunk *c)
{
    const workload_parts *parts = &w->s->parts;
    const uint32_t d = c->stage.n_dense, m = c->stage.n_moe;
    double weights = 0, touched = 0;
    if (d > 0) {
        weights += d * parts->dense.weights;
        touched += d * parts->dense.touched;
    }
    if (m > 0) {
        weights += m * parts->moe.weights;
        touched += m * parts->moe.touched;
    }
    weights += c->stage.first ? parts->embedding.weights : 0;
    if (c->stage.last && !(w->s->c.model->tied && c->stage.first))
        weights += parts->head.weights;
    return (w->s->each ? weights / w->plan->fsdp : weights) + touched;
}

static void accumulate(writer *w, const chunk *c)
{
    const price_context *prices = &w->s->c;
    const double *k = prices->stack->k;
    const workload_schedule *s = &w->s->schedule;
    const double parts = workload_schedule_is_bidirectional(s->kind) ? 1 : s->chunks;
    plan_compute_chain(&w->n, "gradient accumulation",
                       k[HALLEY_K_ACCUMULATE] * accumulated(w, c) * prices->stream_s +
                           k[HALLEY_K_MICRO] / parts,
                       0, 0);
}

static void receive_input(writer *w, const workload_pass *p)
{
    const chunk c = chunk_of(w, p->chunk);
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    if (p->kind == WORKLOAD_PASS_WEIGHT || (forward ? c.stage.first : c.stage.last))
        return;
    const other_end from = other_end_of(w, p, forward ? -1 : 1);
    if (!from.same)
        plan_receive(&w->n, from.rank, tag_of(w, p, from.place), boundary_bytes(w));
}

static void send_output(writer *w, const workload_pass *p)
{
    const chunk c = chunk_of(w, p->chunk);
    const bool forward = p->kind == WORKLOAD_PASS_FORWARD;
    if (p->kind == WORKLOAD_PASS_WEIGHT || (forward ? c.stage.last : c.stage.first))
        return;
    const other_end to = other_end_of(w, p, forward ? 1 : -1);
    const workload_seat seat = {w->at.pp, p->chunk};
    if (!to.same)
        plan_send(&w->n, to.rank,
                  tag_of(w, p, workload_schedule_place(&w->s->schedule, seat)),
                  boundary_bytes(w), due(&w->debt, price_exposed(&w->s->c, WORKLOAD_PP)));
}

static void run_pass(writer *w, const workload_pass *p)
{
    assert(p->kind < WORKLOAD_N_PASSES);
    const chunk c = chunk_of(w, p->chunk);
    const pass_work work = work_of(w, p);
    ends_of_model(w, &c, &work, true);
    layers_pass(w, &c, &work);
    ends_of_model(w, &c, &work, false);
    if (is_backward(&work))
        accumulate(w, &c);
}

/* One pass of the list, or two that run as one: both inputs first, both results last. */
static uint32_t write_pass(writer *w, const workload_pass *p)
{
    const uint32_t n = p->joint ? 2 : 1;
    for (uint32_t i = 0; i < n; i++)
        receive_input(w, p + i);
    for (uint32_t i = 0; i < n; i++)
        run_pass(w, p + i);
    for (uint32_t i = 0; i < n; i++)
        send_output(w, p + i);
    if (w->plan->zero == 2 && !w->plan->fsdp)
        reduce_left(w);
    return n;
}

/* What of the step's gathers hides behind nothing. */
static void gather_first(writer *w)
{
    static const owners *const sets[] = {&dense_owners, &expert_owners};
    double weights[2] = {0};
    const workload_parts *parts = &w->s->parts;
    if (w->s->each || !(w->plan->zero || w->plan->fsdp > 1))
        return;
    for (uint32_t i = 0; i < w->s->schedule.chunks; i++) {
        const chunk c = chunk_of(w, i);
        weights[0] += c.stage.n_dense > 0 ? c.stage.n_dense * parts->dense.weights : 0;
        weights[0] += c.stage.n_moe > 0 ? c.stage.n_moe * parts->moe.weights : 0;
        weights[1] += c.stage.n_moe > 0 ? c.stage.n_moe * parts->moe.expert_weights : 0;
    }
    const double shown = price_exposed(&w->s->c, WORKLOAD_DP);
    for (int i = 0; i < 2; i++) {
        const workload_group group = some_share(w->plan) ? sets[i]->shard : sets[i]->all;
        if (shown * weights[i] >= 1 && plan_group_of(w->plan, group, w->n.rank) &&
            (i == 0 || w->plan->has_experts))
            plan_coll_chain(&w->n, "weight gather", HALLEY_COLL_ALL_GATHER, group,
                            2 * shown * weights[i]);
    }
}

/* Owner-wise ZeRO 1: whole tensors, rank after rank. */
static double owner_time(const writer *w)
{
    const halley_plan *plan = w->plan;
    const uint32_t ranks = plan->zero_group ? plan->zero_group : plan->dp * plan->cp;
    return plan->zero_owner && ranks > 1 ? ranks * w->s->c.stack->k[HALLEY_K_OWNER] : 0;
}

/* The update, after all reductions; the next step gathers what it needs. */
static void update(writer *w)
{
    const halley_estimate *e = &w->s->e;
    const double outer =
        e->outer_bytes[HALLEY_MEMORY_OPTIMIZER] + e->outer_bytes[HALLEY_MEMORY_GRADIENTS];
    reduce_left(w);
    if (outer > 0)
        plan_memory_chain(&w->n, false, "optimizer states in", outer);
    plan_compute_chain(&w->n, "update",
                       e->part_s[HALLEY_PART_OPTIMIZER] + e->part_s[HALLEY_PART_MEETING] +
                           owner_time(w) + w->s->c.stack->k[HALLEY_K_STEP],
                       0, e->memory_bytes[HALLEY_MEMORY_OPTIMIZER] * 2);
    for (size_t i = 0; i < w->reduced.n; i++)
        plan_after(&w->n, w->reduced.at[i]);
    if (outer > 0)
        plan_memory_chain(&w->n, true, "optimizer states out", outer);
}

/* All passes of the rank's stage; false when memory ran out. */
static bool write_passes(writer *w)
{
    const workload_schedule *s = &w->s->schedule;
    workload_pass *list = calloc(workload_schedule_room(s), sizeof *list);
    if (list == NULL)
        return false;
    const size_t n = workload_schedule_list(list, s, w->at.pp);
    gather_first(w);
    for (size_t k = 0; k < n;)
        k += write_pass(w, &list[k]);
    free(list);
    return true;
}

static halley_status write_rank(halley_trace **out, writer *w, halley_error *err)
{
    assert(w->n.b == NULL);
    TRY(halley_builder_new(&w->n.b, err));
    (void)halley_builder_version(w->n.b, (halley_bytes){"1.0.0", 5});
    w->failed |= !write_passes(w);
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

/* With one stage there is no pipeline: micro-batches one after the other. */
static workload_schedule schedule_of(const halley_plan *plan)
{
    workload_schedule s = workload_schedule_make(plan);
    if (plan->pp == 1) {
        s.kind = HALLEY_SCHEDULE_1F1B;
        s.chunks = 1;
    }
    return s;
}

halley_status halley_plan_trace(halley_trace **out, const halley_model *model,
                                const halley_plan *plan, const halley_cluster *cluster,
                                const halley_stack *stack, uint32_t rank,
                                halley_error *err)
{
    assert(rank < plan->tp * plan->cp * plan->dp * plan->pp);
    scene s = {.schedule = schedule_of(plan), .each = plan->fsdp > 1 && plan->pp == 1};
    halley_plan alone = *plan;
    halley_stack own;
    stack = workload_family_stack(&own, model, plan, stack);
    if (plan->pp == 1) { /* chunks of the only stage are one */
        alone.virtual_stages = 1;
        alone.schedule = HALLEY_SCHEDULE_1F1B;
    }
    halley_estimate_run(&s.e, model, plan, cluster, stack);
    price_context_make(&s.c, model, &alone, cluster, stack, &s.e);
    s.wide = s.c;
    s.wide.only_wide = true;
    workload_parts_make(&s.parts, model, plan, stack);
    writer w = {.n = {.plan = &alone, .rank = rank, .last = PLAN_NO_NODE},
                .s = &s,
                .plan = &alone,
                .at = plan_place_of(&alone, rank)};
    const workload_stage st = workload_stage_make(model, &alone, w.at.pp);
    w.n_layers = st.n_dense + st.n_moe;
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        w.n.n_members[g] = s.c.n[g];
    return write_rank(out, &w, err);
}
