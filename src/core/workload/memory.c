/*
 * The memory footprint of a pipeline stage.
 *
 *   allocated = weights + gradients + optimizer
 *             + factor (sum over chunks of in flight x kept, + working set)
 *             + logits + gathered weights + fixed buffers
 *   device    = allocated + context
 *
 * Model states (workload/states.c) are divided by the ranks that shard them: ZeRO 1
 * shards the optimizer, 2 also gradients, 3 and FSDP also weights (Rajbhandari et al.
 * 2020). dp x cp ranks shard dense weights. The ranks that hold copies of the same
 * experts shard these: tp x cp x dp / (ep x etp).
 *
 * With FSDP, two layers are gathered at a time. With pipeline stages, the whole stage
 * stays gathered for the step, unless the plan gathers in every micro-batch. Activations
 * (workload/kept.c) are multiplied by the micro-batches in flight, which follow from the
 * schedule (workload/schedule.h). The peak is that of the fullest stage.
 */
#include "workload/memory.h"

#include "hw/cluster.h"
#include "hw/npu.h"
#include "workload/kept.h"
#include "workload/schedule.h"
#include "workload/stages.h"

#include <assert.h>
#include <math.h>

/* The data that the stages of one plan share. */
typedef struct footprint {
    const halley_model *model;
    const halley_plan *plan;
    const halley_stack *stack;
    const workload_parts *parts;
    workload_states states;
    workload_schedule schedule;
    workload_kept dense, moe;
    double dense_shards, expert_shards; /* ranks that shard a parameter */
    bool gathers_step;                  /* FSDP: the whole stage stays gathered */
} footprint;

static double count_expert_shards(const halley_plan *p)
{
    const double etp = p->etp > 1 ? p->etp : 1;
    const double copies = (double)p->tp * p->cp * p->dp / (p->ep * etp);
    const uint32_t group = p->fsdp ? p->fsdp : p->zero_group;
    const double most = fmax(1, (double)group * p->tp / p->ep);
    return group > 0 ? fmin(copies, most) : copies;
}

static void make_footprint(footprint *out, const workload_parts *parts,
                           const halley_model *model, const halley_plan *plan,
                           const halley_cluster *cluster, const halley_stack *stack)
{
    const uint32_t group = plan->fsdp ? plan->fsdp : plan->zero_group;
    *out = (footprint){
        .model = model,
        .plan = plan,
        .stack = stack,
        .parts = parts,
        .states = workload_states_make(model, plan, stack, &cluster->npu),
        .schedule = workload_schedule_make(plan),
        .dense_shards = group ? group : (double)plan->dp * plan->cp,
        .expert_shards = count_expert_shards(plan),
        .gathers_step =
            plan->gather == HALLEY_GATHER_STEP ||
            (plan->gather == HALLEY_GATHER_DEFAULT && (plan->pp > 1 || plan->fsdp_keep)),
    };
    const workload_shape *s = &parts->shape;
    if (parts->has_dense)
        workload_kept_make(&out->dense, model, plan, &out->states, s, &parts->dense);
    if (parts->has_moe)
        workload_kept_make(&out->moe, model, plan, &out->states, s, &parts->moe);
    assert(out->dense_shards >= 1 && out->expert_shards >= 1);
}

/* Parameters of a stage on one rank; all its chunks. */
typedef struct stage_params {
    double dense, experts, touched;
    double frozen, frozen_experts; /* the part of them that is never updated */
    double largest;                /* largest layer, gathered for its pass */
    bool last;
} stage_params;

static void add_chunk_params(stage_params *to, const footprint *f,
                             const workload_stage *chunk)
{
    const workload_parts *p = f->parts;
    const bool shared_head = f->model->tied && f->plan->pp == 1;
    to->dense += chunk->n_dense * p->dense.weights * p->has_dense +
                 chunk->n_moe * p->moe.weights * p->has_moe;
    to->frozen += chunk->n_dense * p->dense.frozen * p->has_dense +
                  chunk->n_moe * p->moe.frozen * p->has_moe;
    if (chunk->first) {
        to->dense += p->embedding.weights;
        to->frozen += p->embedding.frozen;
    }
    if (chunk->last && !shared_head) {
        to->dense += p->head.weights;
        to->frozen += p->head.frozen;
    }
    to->last = to->last || chunk->last;
    if (p->has_dense) {
        to->experts += chunk->n_dense * p->dense.expert_weights;
        to->touched += chunk->n_dense * p->dense.touched;
    }
    if (p->has_moe) {
        to->experts += chunk->n_moe * p->moe.expert_weights;
        to->frozen_experts += chunk->n_moe * p->moe.frozen_experts;
        to->touched += chunk->n_moe * p->moe.touched;
    }
    if (chunk->n_dense > 0 && p->has_dense)
        to->largest = fmax(to->largest, p->dense.weights);
    if (chunk->n_moe > 0 && p->has_moe)
        to->largest =
            fmax(to->largest,
                 p->moe.weights + (f->expert_shards > 1 ? p->moe.expert_weights : 0));
}

/* One set of parameters. */
typedef struct param_set {
    double all, updated;        /* all: held; updated: with optimizer states */
    double touched;             /* with a gradient */
    double shards;              /* ranks that shard them */
    double gradient, optimizer; /* bytes of each */
} param_set;

static void add_states(double bytes[HALLEY_N_MEMORY], const footprint *f,
                       const param_set *set)
{
    const uint32_t sharded = f->plan->fsdp ? 3 : f->plan->zero;
    const workload_states *s = &f->states;
    assert(set->updated <= set->all && set->shards >= 1);
    bytes[HALLEY_MEMORY_WEIGHTS] +=
        set->all * s->weight / (sharded >= 3 ? set->shards : 1);
    bytes[HALLEY_MEMORY_GRADIENTS] +=
        set->touched * set->gradient / (sharded >= 2 ? set->shards : 1);
    bytes[HALLEY_MEMORY_OPTIMIZER] +=
        set->updated * set->optimizer / (sharded >= 1 ? set->shards : 1);
}

/* Bytes of the layers of one kind in a chunk; some are recomputed. */
static double sum_kept(const workload_kept *k, double n, double again)
{
    return again * k->kept + (n - again) * k->all;
}

/* The working set of recomputation, limited by the number of recomputed layers, and the
 * states of a recurrent layer while its gradients are computed. */
static double find_working(const workload_kept *k, double again)
{
    return (again > 0 ? fmin(k->working, again * k->all - k->kept) : 0) + k->states;
}

typedef struct stage_activations {
    double held, working; /* bytes before the stack's factor */
    double offloaded;     /* the part of held that recompute-offload moves */
    double layers;
} stage_activations;

static void add_chunk_activations(stage_activations *to, const footprint *f,
                                  const workload_stage *c, double flight)
{
    to->held += flight * (sum_kept(&f->dense, c->n_dense, c->again_dense) +
                          sum_kept(&f->moe, c->n_moe, c->again_moe));
    to->offloaded +=
        flight * (c->again_dense * f->dense.offloaded + c->again_moe * f->moe.offloaded);
    to->working = fmax(to->working, find_working(&f->dense, c->again_dense));
    to->working = fmax(to->working, find_working(&f->moe, c->again_moe));
    to->layers += c->n_dense + c->n_moe;
}

/* Add activations on the device, and those in the outer tier. */
static void add_activations(double bytes[HALLEY_N_MEMORY], double outer[HALLEY_N_MEMORY],
                            const footprint *f, const stage_activations *a)
{
    const halley_plan *p = f->plan;
    const double factor = f->stack->k[HALLEY_K_MEM_ACT];
    double share = 0;
    if (p->offload & HALLEY_OFFLOAD_ACTIVATIONS)
        share = p->offload_layers > 0 && a->layers > 0
                    ? fmin(1, p->offload_layers / a->layers)
                    : 1;
    const double moved = a->offloaded + share * (a->held - a->offloaded);
    outer[HALLEY_MEMORY_ACTIVATIONS] = factor * moved;
    bytes[HALLEY_MEMORY_ACTIVATIONS] = factor * (a->held - moved + a->working);
}

static void add_rest(double bytes[HALLEY_N_MEMORY], const footprint *f,
                     const stage_params *params)
{
    const double *k = f->stack->k;
    const workload_shape *s = &f->parts->shape;
    if (params->last) {
        bytes[HALLEY_MEMORY_LOGITS] =
            s->tokens * s->vocab * k[HALLEY_K_MEM_LOGIT] * (1 + f->model->mtp) *
            (f->model->head_share > 0 ? f->model->head_share : 1);
        if (f->plan->fsdp == 0 && f->plan->lora == 0)
            bytes[HALLEY_MEMORY_LOGITS] +=
                k[HALLEY_K_MEM_HEAD] * 2 * f->parts->head.weights;
    }
    bytes[HALLEY_MEMORY_CONTEXT] = k[HALLEY_K_MEM_CONTEXT];
    bytes[HALLEY_MEMORY_BUFFERS] = k[HALLEY_K_MEM_FIXED];
    if (f->plan->fsdp < 2)
        return;
    const double whole = params->dense + (f->expert_shards > 1 ? params->experts : 0);
    bytes[HALLEY_MEMORY_GATHERED] = f->gathers_step
                                        ? k[HALLEY_K_MEM_GATHERED] * whole
                                        : 2 * params->largest * f->states.gathered;
}

/* Move the classes that the plan offloads as a whole. */
static void offload_states(double bytes[HALLEY_N_MEMORY], double outer[HALLEY_N_MEMORY],
                           const halley_plan *plan)
{
    static const struct {
        uint32_t bit;
        halley_memory class;
    } classes[] = {{HALLEY_OFFLOAD_OPTIMIZER, HALLEY_MEMORY_OPTIMIZER},
                   {HALLEY_OFFLOAD_GRADIENTS, HALLEY_MEMORY_GRADIENTS},
                   {HALLEY_OFFLOAD_WEIGHTS, HALLEY_MEMORY_WEIGHTS}};
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if ((plan->offload & classes[i].bit) == 0)
            continue;
        outer[classes[i].class] = bytes[classes[i].class];
        bytes[classes[i].class] = 0;
    }
}

static void fill_stage(halley_stage_memory *out, const footprint *f, uint32_t i)
{
    uint32_t flights[HALLEY_MAX_STAGES];
    stage_params params = {0};
    stage_activations act = {0};
    *out = (halley_stage_memory){.size = sizeof *out};
    assert(i < f->schedule.stages && f->schedule.chunks <= HALLEY_MAX_STAGES);
    workload_schedule_flights(flights, &f->schedule, i);
    for (uint32_t c = 0; c < f->schedule.chunks; c++) {
        const workload_stage chunk = workload_chunk_make(f->model, f->plan, i, c);
        add_chunk_params(&params, f, &chunk);
        add_chunk_activations(&act, f, &chunk, flights[c]);
    }
    const double trained = params.dense - params.frozen;
    const workload_states *s = &f->states;
    add_states(out->memory_bytes, f,
               &(param_set){params.dense, trained, trained, f->dense_shards, s->gradient,
                            s->optimizer});
    if (params.experts > 0)
        add_states(out->memory_bytes, f,
                   &(param_set){params.experts, params.experts - params.frozen_experts,
                                params.touched, f->expert_shards, s->expert_gradient,
                                s->expert_optimizer});
    add_activations(out->memory_bytes, out->outer_bytes, f, &act);
    add_rest(out->memory_bytes, f, &params);
    offload_states(out->memory_bytes, out->outer_bytes, f->plan);
    for (int j = 0; j < HALLEY_N_MEMORY; j++) {
        assert(out->memory_bytes[j] >= 0 && out->outer_bytes[j] >= 0);
        out->device_bytes += out->memory_bytes[j];
    }
    out->allocated_bytes = out->device_bytes - out->memory_bytes[HALLEY_MEMORY_CONTEXT];
}

void halley_estimate_stage(halley_stage_memory *out, const halley_model *model,
                           const halley_plan *plan, const halley_cluster *cluster,
                           const halley_stack *stack, uint32_t i)
{
    workload_parts parts;
    footprint f;
    workload_parts_make(&parts, model, plan, stack);
    make_footprint(&f, &parts, model, plan, cluster, stack);
    fill_stage(out, &f, i);
}

const halley_tier *workload_outer_tier(const halley_plan *plan,
                                       const halley_cluster *cluster)
{
    const halley_npu *npu = &cluster->npu;
    if (plan->offload_tier == 0)
        return hw_npu_outer_tier(npu);
    return plan->offload_tier < npu->n_tiers ? &npu->tiers[plan->offload_tier] : NULL;
}

/* The number of NPUs of the plan that share one such memory: its capacity and
 * bandwidth. */
static double count_outer_users(const halley_tier *tier, const halley_plan *plan,
                                const halley_cluster *cluster)
{
    const double npus = (double)plan->tp * plan->cp * plan->pp * plan->dp;
    switch (tier->kind) {
    case HALLEY_TIER_PER_NPU:
        return 1;
    case HALLEY_TIER_PER_NODE:
        return fmin(npus, cluster->nodes.npus);
    case HALLEY_TIER_POOL:
    case HALLEY_TIER_HIERARCHICAL:
        break;
    }
    return npus;
}

/*
 * A pool behind switches has three stages: its groups, the links into nodes, and those
 * into NPUs. Transfers are cut into pieces, so the slowest stage sets the rate, and one
 * piece passes each of the others first. With `in_switch` a node's NPUs cross pool and
 * node link once.
 */
static workload_outer_rate find_pool_rate(const halley_tier *tier, double npus,
                                          const halley_cluster *cluster)
{
    const cluster_memory *pool = &cluster->remote;
    const bool known = pool->kind == CLUSTER_MEMORY_HIERARCHICAL;
    const double node = known ? fmin(pool->npus_per_node, npus) : 1;
    const double carried = known && pool->in_switch ? 1 / node : 1;
    const double groups = known ? pool->n_groups : 1;
    const double stages_Bps[] = {groups * tier->bandwidth_Bps / (npus * carried),
                                 known ? pool->node_bytes_per_ns * 1e9 / (node * carried)
                                       : INFINITY,
                                 known ? pool->npu_bytes_per_ns * 1e9 : INFINITY};
    const double piece = known ? (double)pool->piece_bytes : 0;
    workload_outer_rate out = {.all_Bps = stages_Bps[0],
                               .own_Bps = fmin(stages_Bps[1], stages_Bps[2])};
    out.Bps = fmin(out.all_Bps, out.own_Bps);
    out.latency_s = tier->latency_s - piece / out.Bps;
    for (int i = 0; i < 3; i++)
        out.latency_s += piece / stages_Bps[i];
    return out;
}

workload_outer_rate workload_outer_rate_find(const halley_tier *tier,
                                             const halley_plan *plan,
                                             const halley_cluster *cluster)
{
    const double users = count_outer_users(tier, plan, cluster);
    const double Bps = tier->bandwidth_Bps / users;
    const bool is_pool = tier->kind == HALLEY_TIER_POOL;
    assert(users > 0 && tier->bandwidth_Bps > 0);
    if (tier->kind == HALLEY_TIER_HIERARCHICAL)
        return find_pool_rate(tier, users, cluster);
    return (workload_outer_rate){.Bps = Bps,
                                 .all_Bps = is_pool ? Bps : INFINITY,
                                 .own_Bps = is_pool ? INFINITY : Bps,
                                 .latency_s = users * tier->latency_s};
}

/*
 * A design fits if it leaves the headroom free. The limits come from 1,465 real runs that
 * did not run out of memory. By these formulas, the fullest reached 95.5 % with the
 * constants of their software, and 115 % with defaults. TPU runs ran at up to 150 %,
 * because XLA offloads to the host.
 */
static halley_memory_fit find_fit(const halley_estimate *e, const halley_cluster *cluster,
                                  const halley_stack *stack)
{
    static const double tight_above = 0.94, may_fit_below = 1.15, offload_below = 1.5;
    const double full = e->peak_bytes / e->capacity_bytes;
    if (full <= 1 - e->headroom)
        return full > tight_above - e->headroom ? HALLEY_FIT_TIGHT : HALLEY_FIT_FITS;
    if (cluster->npu.type == HALLEY_NPU_TPU && full < offload_below)
        return HALLEY_FIT_MAY_NEED_OFFLOAD;
    return full <= may_fit_below && !stack->known ? HALLEY_FIT_MAY : HALLEY_FIT_NOT;
}

static void judge_fit(halley_estimate *out, const halley_plan *plan,
                      const halley_cluster *cluster, const halley_stack *stack)
{
    assert(out->capacity_bytes > 0 && stack->headroom >= 0 && stack->headroom < 1);
    out->headroom = stack->headroom;
    const double room =
        out->outer_capacity_bytes / out->outer_users - out->outer_need_bytes;
    const double excess = out->peak_bytes - (1 - out->headroom) * out->capacity_bytes;
    if (room < 0)
        out->fit = HALLEY_FIT_NOT;
    else if (plan->spread && excess > 0)
        out->fit = excess <= room ? HALLEY_FIT_FITS : HALLEY_FIT_NOT;
    else
        out->fit = find_fit(out, cluster, stack);
    out->fits = out->fit <= HALLEY_FIT_TIGHT;
}

static void take_stage(halley_estimate *out, const halley_stage_memory *m,
                       double offloaded_bytes, uint32_t i)
{
    out->full_stage = i;
    out->peak_bytes = m->device_bytes;
    out->allocated_bytes = m->allocated_bytes;
    out->offloaded_bytes = offloaded_bytes;
    for (int j = 0; j < HALLEY_N_MEMORY; j++) {
        out->memory_bytes[j] = m->memory_bytes[j];
        out->outer_bytes[j] = m->outer_bytes[j];
    }
}

/* The sums of what the stages offload. */
typedef struct outer_use {
    double most_bytes, all_bytes; /* of the stage that offloads most; of all stages */
    uint32_t most_stage;
} outer_use;

/* Add one stage, and the stages equal to it. Returns the bytes that one of its NPUs
 * offloads. */
static double add_outer_use(outer_use *to, const halley_stage_memory *m, uint32_t i,
                            uint32_t times)
{
    double bytes = 0;
    for (int j = 0; j < HALLEY_N_MEMORY; j++)
        bytes += m->outer_bytes[j];
    to->all_bytes += times * bytes;
    if (bytes > to->most_bytes) {
        to->most_bytes = bytes;
        to->most_stage = i;
    }
    return bytes;
}

/* A memory that all NPUs share must hold the average of what they offload. Any other
 * memory must have room for the stage that offloads most. */
static void take_outer_use(halley_estimate *out, const outer_use *use,
                           const halley_plan *plan, const halley_cluster *cluster)
{
    const halley_tier *tier = workload_outer_tier(plan, cluster);
    const bool is_shared = tier != NULL && (tier->kind == HALLEY_TIER_POOL ||
                                            tier->kind == HALLEY_TIER_HIERARCHICAL);
    out->outer_capacity_bytes = tier != NULL ? tier->capacity_bytes : 0;
    out->outer_users = tier != NULL ? count_outer_users(tier, plan, cluster) : 1;
    out->outer_stage = use->most_stage;
    out->outer_need_bytes = is_shared ? use->all_bytes / plan->pp : use->most_bytes;
    assert(out->outer_need_bytes >= 0 && out->outer_stage < plan->pp);
}

void workload_memory_fill(halley_estimate *out, const workload_parts *parts,
                          const halley_model *model, const halley_plan *plan,
                          const halley_cluster *cluster, const halley_stack *stack)
{
    footprint f;
    outer_use use = {0};
    make_footprint(&f, parts, model, plan, cluster, stack);
    out->capacity_bytes = cluster->npu.tiers[0].capacity_bytes;
    out->peak_bytes = -1;
    for (uint32_t i = 0, next, times; i < plan->pp; i = next) {
        /* Of equal stages, the first has the most micro-batches in flight. */
        next = workload_stage_next(model, plan, i, &times);
        halley_stage_memory m;
        fill_stage(&m, &f, i);
        const double offloaded_bytes = add_outer_use(&use, &m, i, times);
        if (m.device_bytes > out->peak_bytes)
            take_stage(out, &m, offloaded_bytes, i);
    }
    take_outer_use(out, &use, plan, cluster);
    judge_fit(out, plan, cluster, stack);
}
