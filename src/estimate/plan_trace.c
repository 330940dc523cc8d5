/*
 * A training step of one rank as a Chakra graph. Compute nodes stand in a chain, each
 * after the one before and after what it awaits; collectives of a layer stand in that
 * chain where their result is needed at once, and beside it where the stack can hide
 * them: weights gathered one layer ahead, gradients reduced after a layer's last backward
 * pass. Sends follow the pass they belong to and hold up nothing.
 */
#include "halley/plan_trace.h"

#include "base/error.h"
#include "estimate/groups.h"
#include "estimate/price.h"
#include "estimate/schedule.h"
#include "workload/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NODE UINT64_MAX

typedef struct writer {
    halley_builder *b;
    const halley_model *model;
    const halley_plan *plan;
    const price_context *c;
    const workload_parts *parts;
    const halley_estimate *e;
    uint32_t rank;
    plan_place at;
    uint64_t next_id;
    uint64_t last;     /* of the compute chain */
    uint64_t awaited;  /* what the next compute node awaits beside it */
    uint64_t *reduced; /* reductions the update awaits */
    uint32_t n_reduced, max_reduced;
    double
        unreduced[2]; /* weights, experts: to reduce when all backward passes are done */
} writer;

static uint64_t node(writer *w, uint32_t type, const char *name)
{
    (void)halley_builder_node(w->b, w->next_id, type, (halley_bytes){name, strlen(name)});
    (void)halley_builder_attr_bool(w->b, "is_cpu_op", false);
    return w->next_id++;
}

static void after(writer *w, uint64_t id)
{
    if (id != NO_NODE)
        (void)halley_builder_data(w->b, id);
}

static uint64_t compute(writer *w, const char *name, double seconds, double flops,
                        double bytes)
{
    const uint64_t id = node(w, HALLEY_NODE_COMP, name);
    (void)halley_builder_time(w->b, 0, (uint64_t)llround(seconds * 1e6));
    (void)halley_builder_attr_i64(w->b, "num_ops", (int64_t)llround(flops));
    (void)halley_builder_attr_u64(w->b, "tensor_size", (uint64_t)llround(bytes));
    (void)halley_builder_attr_u64(w->b, "duration_ns", (uint64_t)llround(seconds * 1e9));
    after(w, w->last);
    after(w, w->awaited);
    w->awaited = NO_NODE;
    return w->last = id;
}

static uint64_t collective(writer *w, const char *name, halley_coll_type type,
                           workload_group kind, double bytes, uint64_t awaits)
{
    char group[16];
    const uint32_t g = plan_group_of(w->plan, kind, w->rank);
    const uint64_t id = node(w, HALLEY_NODE_COLL, name);
    /* A trace counts what one rank puts into a gather, we what all get out. */
    if (type == HALLEY_COLL_ALL_GATHER && w->c->n[kind] > 0)
        bytes /= w->c->n[kind];
    (void)halley_builder_attr_i64(w->b, "comm_type", (int64_t)type);
    (void)halley_builder_attr_i64(w->b, "comm_size", (int64_t)llround(bytes));
    const int n = snprintf(group, sizeof group, "%u", g);
    (void)halley_builder_attr_text(w->b, "pg_name", (halley_bytes){group, (size_t)n});
    after(w, awaits);
    return id;
}

static void message(writer *w, bool send, uint32_t peer, uint32_t tag, double bytes)
{
    char name[48];
    const uint32_t src = send ? w->rank : peer, dst = send ? peer : w->rank;
    snprintf(name, sizeof name, "%s %u to %u", send ? "send" : "receive", src, dst);
    const uint64_t id = node(w, send ? HALLEY_NODE_SEND : HALLEY_NODE_RECV, name);
    (void)halley_builder_attr_i32(w->b, "comm_src", (int32_t)src);
    (void)halley_builder_attr_i32(w->b, "comm_dst", (int32_t)dst);
    (void)halley_builder_attr_i32(w->b, "comm_tag", (int32_t)tag);
    (void)halley_builder_attr_i64(w->b, "comm_size", (int64_t)llround(bytes));
    if (send)
        after(w, w->last);
    else
        w->awaited = id;
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
    const double bytes =
        op->coll == WORKLOAD_EXCHANGE ? op->bytes_f * w->c->n[op->group] : op->bytes_f;
    const long times = lround(backward ? op->times_b : op->times_f);
    for (long i = 0; i < times; i++)
        w->last = collective(w, op->name, types[op->coll], op->group, bytes, w->last);
}

/* One pass over a layer: products of the backward pass in reverse order. */
static void layer_pass(writer *w, const workload_layer *layer, bool backward)
{
    for (uint32_t i = 0; i < layer->n; i++) {
        const workload_op *op = &layer->ops[backward ? layer->n - 1 - i : i];
        if (op->kind == WORKLOAD_COLL) {
            layer_message(w, op, backward);
            continue;
        }
        workload_layer one = {.n = 1, .ops = {*op}};
        price_layer p;
        price_layer_make(&p, w->c, &one, false);
        const double t = backward ? p.backward_s : p.forward_s;
        const double times = backward ? 2 : 1;
        const double moved = op->bytes_f > 0
                                 ? (backward ? op->bytes_b : op->bytes_f)
                                 : 2 * times * op->groups *
                                       (op->m * op->k + op->k * op->n + op->m * op->n);
        compute(w, op->name, t, times * op->flops, moved);
    }
}

static void reduce_in(writer *w, workload_group group, double weights)
{
    const halley_plan *plan = w->plan;
    if (!plan->zero && !plan->fsdp) { /* in one piece, before the update */
        w->unreduced[group == WORKLOAD_XP] += weights;
        return;
    }
    if (plan_group_of(plan, group, w->rank) == 0 || w->n_reduced == w->max_reduced ||
        weights <= 0)
        return;
    const halley_coll_type type = HALLEY_COLL_REDUCE_SCATTER;
    w->reduced[w->n_reduced++] = collective(w, "gradient reduction", type, group,
                                            plan->gradient_bytes * weights, w->last);
}

static void reduce_gradients(writer *w, const workload_layer *layer)
{
    reduce_in(w, WORKLOAD_DP, layer->weights);
    if (w->plan->ep > 1)
        reduce_in(w, WORKLOAD_XP, layer->expert_weights);
}

/* Weights of the layer about to be used, when ranks share them or their optimizer. */
static void gather_weights(writer *w, const workload_layer *layer, uint64_t *ahead)
{
    const bool experts = layer->expert_weights > 0 && w->plan->ep > 1 &&
                         plan_group_of(w->plan, WORKLOAD_XP, w->rank) > 0;
    uint64_t before = *ahead;
    if (experts)
        before = collective(w, "expert gather", HALLEY_COLL_ALL_GATHER, WORKLOAD_XP,
                            2 * layer->expert_weights, before);
    if (plan_group_of(w->plan, WORKLOAD_DP, w->rank) == 0)
        return;
    const uint64_t id = collective(w, "weight gather", HALLEY_COLL_ALL_GATHER,
                                   WORKLOAD_DP, 2 * layer->weights, before);
    w->awaited = id;
    *ahead = w->last; /* the next gather may start when this layer's compute has */
}

typedef struct chunk {
    uint32_t n_dense, n_moe;
    bool first, last; /* of the whole model */
} chunk;

static chunk chunk_of(const writer *w, uint32_t c)
{
    const halley_plan *plan = w->plan;
    const workload_stage st = workload_stage_make(w->model, plan, w->at.pp);
    const uint32_t v = plan->virtual_stages;
    /* Equal shares; what does not divide goes to the first chunks. */
    return (chunk){.n_dense = st.n_dense / v + (c < st.n_dense % v),
                   .n_moe = st.n_moe / v + (c < st.n_moe % v),
                   .first = st.first && c == 0,
                   .last = st.last && c == v - 1};
}

/* What a layer's pass waits for its host, beyond its operators. */
static void host_wait(writer *w, const workload_layer *layer, bool backward)
{
    price_layer p;
    if (w->model->kind != HALLEY_TRANSFORMER)
        return;
    price_layer_make(&p, w->c, layer, true);
    const double wait = backward ? p.host_b_s : p.host_f_s;
    if (wait > 1e-9)
        compute(w, "host", wait, 0, 0);
}

static void layers_pass(writer *w, const chunk *c, bool backward, bool gather,
                        bool reduce)
{
    uint64_t ahead = w->last;
    const uint32_t n = c->n_dense + c->n_moe;
    for (uint32_t i = 0; i < n; i++) {
        const bool moe = backward ? i < c->n_moe : i >= c->n_dense;
        const workload_layer *layer = moe ? &w->parts->moe : &w->parts->dense;
        if (gather)
            gather_weights(w, layer, &ahead);
        if (backward && w->plan->recompute == HALLEY_RECOMPUTE_FULL)
            layer_pass(w, layer, false);
        layer_pass(w, layer, backward);
        host_wait(w, layer, backward);
        if (reduce)
            reduce_gradients(w, layer);
    }
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
    const double bytes = w->parts->shape.tokens * w->parts->shape.hidden * 2;
    return w->plan->sequence_parallel || w->c->stack->scatter_stages ? bytes / w->plan->tp
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

static void pass(writer *w, const plan_pass *p)
{
    const chunk c = chunk_of(w, p->chunk);
    const bool start = p->backward ? c.last : c.first,
               end = p->backward ? c.first : c.last;
    const bool reduce =
        p->backward && (p->micro_batch + 1 == halley_plan_micro_batches(w->plan) ||
                        (w->plan->fsdp && w->plan->pp == 1));
    uint32_t other;
    if (!start && w->plan->pp > 1) {
        const uint32_t peer = neighbour(w, p->backward, p->chunk, &other);
        message(w, false, peer, tag_of(w, p, other), boundary_bytes(w));
    }
    if (c.first && !p->backward)
        layer_pass(w, &w->parts->embedding, false);
    if (c.last && p->backward)
        layer_pass(w, &w->parts->head, true);
    layers_pass(w, &c, p->backward, gathers(w->plan, p), reduce);
    if (c.last && !p->backward)
        layer_pass(w, &w->parts->head, false);
    if (c.first && p->backward)
        layer_pass(w, &w->parts->embedding, true);
    if (reduce && c.first)
        reduce_gradients(w, &w->parts->embedding);
    if (reduce && c.last && !(w->model->tied && w->plan->pp == 1))
        reduce_gradients(w, &w->parts->head);
    if (p->backward) {
        const double share =
            1.0 / halley_plan_micro_batches(w->plan) / w->plan->virtual_stages;
        compute(w, "gradient accumulation",
                share * w->e->part_s[HALLEY_PART_ACCUMULATE] +
                    w->c->stack->k[HALLEY_K_MICRO] / w->plan->virtual_stages,
                0, 0);
    }
    if (!end && w->plan->pp > 1) {
        const uint32_t peer = neighbour(w, !p->backward, p->chunk, &other);
        message(w, true, peer, tag_of(w, p, p->chunk), boundary_bytes(w));
    }
}

static void memory_node(writer *w, bool store, const char *name, double bytes)
{
    const uint64_t id =
        node(w, store ? HALLEY_NODE_MEM_STORE : HALLEY_NODE_MEM_LOAD, name);
    (void)halley_builder_attr_u64(w->b, "tensor_size", (uint64_t)llround(bytes));
    after(w, w->last);
    w->last = id;
}

/* The update, after all reductions; the next step gathers what it needs. */
static void update(writer *w)
{
    const halley_estimate *e = w->e;
    const double outer = e->outer_bytes[HALLEY_MEMORY_OPTIMIZER];
    static const workload_group groups[] = {WORKLOAD_DP, WORKLOAD_XP};
    for (int i = 0; i < 2; i++) {
        if (w->unreduced[i] > 0 && plan_group_of(w->plan, groups[i], w->rank))
            w->last =
                collective(w, "gradient reduction", HALLEY_COLL_ALL_REDUCE, groups[i],
                           w->plan->gradient_bytes * w->unreduced[i], w->last);
    }
    if (outer > 0)
        memory_node(w, false, "optimizer states in", outer);
    compute(w, "update", e->part_s[HALLEY_PART_OPTIMIZER] + w->c->stack->k[HALLEY_K_STEP],
            0, e->memory_bytes[HALLEY_MEMORY_OPTIMIZER] * 2);
    for (uint32_t i = 0; i < w->n_reduced; i++)
        after(w, w->reduced[i]);
    if (outer > 0)
        memory_node(w, true, "optimizer states out", outer);
}

static halley_status write_rank(halley_trace **out, writer *w, halley_error *err)
{
    const halley_plan *plan = w->plan;
    const workload_stage st = workload_stage_make(w->model, plan, w->at.pp);
    const uint32_t times =
        plan->fsdp && plan->pp == 1 ? halley_plan_micro_batches(plan) : 1;
    w->max_reduced = 2 * (st.n_dense + st.n_moe + 2) * times;
    w->reduced = malloc((w->max_reduced + 1) * sizeof *w->reduced);
    if (!w->reduced)
        return error_nomem(err);
    halley_status status = halley_builder_new(&w->b, err);
    if (status == HALLEY_OK) {
        (void)halley_builder_version(w->b, (halley_bytes){"1.0.0", 5});
        for (uint32_t k = 0; k < plan_pass_count(plan); k++) {
            const plan_pass p = plan_pass_at(plan, w->at.pp, k);
            pass(w, &p);
        }
        update(w);
        status = halley_builder_finish(out, w->b, err);
    }
    free(w->reduced);
    return status;
}

typedef struct scene {
    price_context c;
    workload_parts parts;
    halley_estimate e;
} scene;

static void set_scene(scene *s, const halley_model *model, const halley_plan *plan,
                      const halley_platform *platform, const halley_stack *stack)
{
    price_context_make(&s->c, model, plan, platform, stack);
    workload_parts_make(&s->parts, model, plan, stack);
    halley_estimate_run(&s->e, model, plan, platform, stack);
}

static halley_status trace_of(halley_trace **out, const scene *s, uint32_t rank,
                              halley_error *err)
{
    writer w = {.model = s->c.model,
                .plan = s->c.plan,
                .c = &s->c,
                .parts = &s->parts,
                .e = &s->e,
                .rank = rank,
                .at = plan_place_of(s->c.plan, rank),
                .last = NO_NODE,
                .awaited = NO_NODE};
    return write_rank(out, &w, err);
}

halley_status halley_plan_trace(halley_trace **out, const halley_model *model,
                                const halley_plan *plan, const halley_platform *platform,
                                const halley_stack *stack, uint32_t rank,
                                halley_error *err)
{
    scene s;
    set_scene(&s, model, plan, platform, stack);
    return trace_of(out, &s, rank, err);
}
