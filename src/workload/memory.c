/*
 * The footprint of a pipeline stage.
 *
 * Model states: bytes per parameter for weights, gradients and optimizer, divided by the
 * ranks that share them (ZeRO, Rajbhandari et al. 2020). Activations: the tensors every
 * operator keeps for its backward pass, times the micro-batches in flight: pp - i under
 * 1F1B for stage i, (pp-1)/v more when interleaved (Korthikanti et al. 2022, whose
 * 34 + 5as/h bytes per element these counts reproduce), all of them under GPipe. Full
 * recomputation keeps the input of every k-th layer and needs the tensors of k layers
 * while it repeats them.
 */
#include "workload/memory.h"

#include "hw/cluster.h"
#include "workload/stages.h"

#include <assert.h>
#include <math.h>

typedef struct layer_bytes {
    double kept, all; /* for the backward pass, with and without recomputation */
    double working;   /* while a layer is computed again */
    double weights, expert_weights, touched;
} layer_bytes;

static layer_bytes count(const workload_layer *l, const halley_plan *plan,
                         const workload_shape *s)
{
    layer_bytes b = {.weights = l->weights,
                     .expert_weights = l->expert_weights,
                     .touched = l->touched};
    double all = 0, core = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const workload_op *op = &l->ops[i];
        all += op->saved;
        if (op->class == WORKLOAD_ATTENTION && plan->unfused_attention)
            core += op->kind == WORKLOAD_BATCHED && op->n == s->seq ? 0 : op->saved;
    }
    const double every = plan->recompute_every > 1 ? plan->recompute_every : 1;
    b.all = all;
    switch (plan->recompute) {
    case HALLEY_RECOMPUTE_FULL:
    case HALLEY_RECOMPUTE_QKV:
        b.kept = 2 * s->shard_tokens * s->hidden / every;
        b.working = every * all;
        break;
    case HALLEY_RECOMPUTE_SELECTIVE:
        b.kept = all - core + (core > 0 ? 2 * s->tokens * s->heads * s->dim_v : 0);
        b.working = core;
        break;
    case HALLEY_RECOMPUTE_SELECTIVE_OP:
    case HALLEY_RECOMPUTE_MINIMAL:
        b.kept = 0.52 * all; /* measured on torchtitan's runs */
        b.working = all - b.kept;
        break;
    case HALLEY_RECOMPUTE_NONE:
    case HALLEY_N_RECOMPUTE:
        b.kept = all;
        break;
    }
    return b;
}

static double in_flight(const halley_plan *plan, uint32_t i)
{
    const double m = halley_plan_micro_batches(plan);
    if (plan->schedule == HALLEY_SCHEDULE_GPIPE)
        return m;
    const double depth = plan->pp - i;
    if (plan->virtual_stages > 1)
        return fmin(m, depth + (plan->pp - 1.0) / plan->virtual_stages);
    return fmin(m, depth);
}

/* Weights, gradients and optimizer of one set of parameters shared by `ranks`; only
 * those touched have a gradient. */
static void add_states(double bytes[HALLEY_N_MEMORY], const halley_plan *plan,
                       const halley_stack *stack, double params, double touched,
                       double ranks)
{
    const double *k = stack->k;
    const double sharded = plan->fsdp ? 3 : plan->zero;
    const double shards = plan->fsdp ? fmin(plan->fsdp, ranks) : ranks;
    double grad = k[HALLEY_K_MEM_GRAD];
    if (plan->gradient_bytes > grad) /* accumulated apart, in the wider type */
        grad += plan->gradient_bytes;
    else if (sharded < 1 && grad < 4) /* a wide copy for the update, not shared out */
        grad += 4;
    bytes[HALLEY_MEMORY_WEIGHTS] +=
        params * k[HALLEY_K_MEM_WEIGHT] / (sharded >= 3 ? shards : 1);
    bytes[HALLEY_MEMORY_GRADIENTS] += touched * grad / (sharded >= 2 ? shards : 1);
    bytes[HALLEY_MEMORY_OPTIMIZER] +=
        params * k[HALLEY_K_MEM_OPTIM] / (sharded >= 1 ? shards : 1);
}

typedef struct kinds {
    layer_bytes dense, moe, embedding, head;
    workload_shape shape;
} kinds;

static void make_kinds(kinds *out, const workload_parts *parts, const halley_plan *plan)
{
    *out = (kinds){.shape = parts->shape};
    if (parts->has_dense)
        out->dense = count(&parts->dense, plan, &parts->shape);
    if (parts->has_moe)
        out->moe = count(&parts->moe, plan, &parts->shape);
    out->embedding.weights = parts->embedding.weights;
    out->head.weights = parts->head.weights;
}

static void stage_bytes(double bytes[HALLEY_N_MEMORY], const kinds *k,
                        const halley_model *model, const halley_plan *plan,
                        const halley_stack *stack, uint32_t i)
{
    const workload_stage st = workload_stage_make(model, plan, i);
    const double *c = stack->k, flight = in_flight(plan, i);
    double weights = st.n_dense * k->dense.weights + st.n_moe * k->moe.weights;
    if (st.first)
        weights += k->embedding.weights;
    if (st.last && !(model->tied && plan->pp == 1))
        weights += k->head.weights;
    const double experts =
        st.n_moe * k->moe.expert_weights + st.n_dense * k->dense.expert_weights;
    for (int j = 0; j < HALLEY_N_MEMORY; j++)
        bytes[j] = 0;
    add_states(bytes, plan, stack, weights, weights, (double)plan->dp * plan->cp);
    if (experts > 0)
        add_states(bytes, plan, stack, experts,
                   st.n_moe * k->moe.touched + st.n_dense * k->dense.touched,
                   (double)plan->tp * plan->cp * plan->dp / plan->ep);
    const double kept =
        st.again_dense * k->dense.kept + (st.n_dense - st.again_dense) * k->dense.all +
        st.again_moe * k->moe.kept + (st.n_moe - st.again_moe) * k->moe.all;
    const double working = fmax(k->dense.working, k->moe.working);
    bytes[HALLEY_MEMORY_ACTIVATIONS] = c[HALLEY_K_MEM_ACT] * (kept * flight + working);
    if (st.last) {
        bytes[HALLEY_MEMORY_LOGITS] = c[HALLEY_K_MEM_ACT] * k->shape.tokens *
                                      k->shape.vocab * c[HALLEY_K_MEM_LOGIT];
        if (!plan->fsdp)
            bytes[HALLEY_MEMORY_LOGITS] += c[HALLEY_K_MEM_HEAD] * 2 * k->head.weights;
    }
    bytes[HALLEY_MEMORY_CONTEXT] = c[HALLEY_K_MEM_CONTEXT];
    bytes[HALLEY_MEMORY_BUFFERS] = c[HALLEY_K_MEM_FIXED];
    if (plan->fsdp) {
        const double one = fmax(k->dense.weights, k->moe.weights + k->moe.expert_weights);
        bytes[HALLEY_MEMORY_BUFFERS] += plan->pp > 1
                                            ? c[HALLEY_K_MEM_GATHERED] * weights
                                            : 2 * one * (2 + plan->gradient_bytes);
    }
}

void workload_memory_stage(double bytes[HALLEY_N_MEMORY], const halley_model *model,
                           const halley_plan *plan, const halley_stack *stack, uint32_t i)
{
    workload_parts parts;
    kinds k;
    workload_parts_make(&parts, model, plan, stack);
    make_kinds(&k, &parts, plan);
    stage_bytes(bytes, &k, model, plan, stack, i);
}

/* Move the plan's classes out; returns what moved. */
static double offload(double bytes[HALLEY_N_MEMORY], double outer[HALLEY_N_MEMORY],
                      const halley_plan *plan)
{
    static const struct {
        uint32_t bit;
        halley_memory class;
    } classes[] = {{HALLEY_OFFLOAD_OPTIMIZER, HALLEY_MEMORY_OPTIMIZER},
                   {HALLEY_OFFLOAD_GRADIENTS, HALLEY_MEMORY_GRADIENTS},
                   {HALLEY_OFFLOAD_WEIGHTS, HALLEY_MEMORY_WEIGHTS},
                   {HALLEY_OFFLOAD_ACTIVATIONS, HALLEY_MEMORY_ACTIVATIONS}};
    double moved = 0;
    for (int i = 0; i < HALLEY_N_MEMORY; i++)
        outer[i] = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (!(plan->offload & classes[i].bit))
            continue;
        moved += bytes[classes[i].class];
        outer[classes[i].class] = bytes[classes[i].class];
        bytes[classes[i].class] = 0;
    }
    return moved;
}

const halley_tier *workload_outer_tier(const halley_plan *plan,
                                       const halley_cluster *cluster)
{
    const halley_npu *npu = &cluster->npu;
    const uint32_t i = plan->offload_tier ? plan->offload_tier : 1;
    return i < npu->n_tiers ? &npu->tiers[i] : NULL;
}

/* What one NPU may use of it. A pool's size stands for the whole machine. */
static double outer_capacity(const halley_tier *tier, const halley_cluster *cluster)
{
    return tier->kind == HALLEY_TIER_PER_NODE ? tier->capacity_bytes / cluster->nodes.npus
                                              : tier->capacity_bytes;
}

/*
 * Fits: within the headroom. The limits come from 1,465 runs that ran: the fullest
 * reached 95.5 % by these forms with the constants of their software, 115 % with
 * defaults; TPU runs up to 150 % ran because XLA offloads to the host.
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
    const halley_tier *tier = workload_outer_tier(plan, cluster);
    const double room = (tier ? outer_capacity(tier, cluster) : 0) - out->offloaded_bytes;
    const double excess = out->peak_bytes - (1 - out->headroom) * out->capacity_bytes;
    if (room < 0)
        out->fit = HALLEY_FIT_NOT;
    else if (plan->spread && excess > 0)
        out->fit = excess <= room ? HALLEY_FIT_FITS : HALLEY_FIT_NOT;
    else
        out->fit = find_fit(out, cluster, stack);
    out->fits = out->fit <= HALLEY_FIT_TIGHT;
}

void workload_memory_fill(halley_estimate *out, const workload_parts *parts,
                          const halley_model *model, const halley_plan *plan,
                          const halley_cluster *cluster, const halley_stack *stack)
{
    kinds k;
    make_kinds(&k, parts, plan);
    out->capacity_bytes = cluster->npu.tiers[0].capacity_bytes;
    out->peak_bytes = -1;
    for (uint32_t i = 0, next, times; i < plan->pp; i = next) {
        next = workload_stage_next(model, plan, i,
                                   &times); /* the first of them is fullest */
        double bytes[HALLEY_N_MEMORY], outer[HALLEY_N_MEMORY], sum = 0;
        stage_bytes(bytes, &k, model, plan, stack, i);
        const double moved = offload(bytes, outer, plan);
        for (int j = 0; j < HALLEY_N_MEMORY; j++)
            sum += bytes[j];
        if (sum <= out->peak_bytes)
            continue;
        out->peak_bytes = sum;
        out->full_stage = i;
        out->offloaded_bytes = moved;
        for (int j = 0; j < HALLEY_N_MEMORY; j++) {
            out->memory_bytes[j] = bytes[j];
            out->outer_bytes[j] = outer[j];
        }
    }
    out->allocated_bytes = out->peak_bytes - out->memory_bytes[HALLEY_MEMORY_CONTEXT];
    judge_fit(out, plan, cluster, stack);
}

void halley_estimate_stage(halley_stage_memory *out, const halley_model *model,
                           const halley_plan *plan, const halley_cluster *cluster,
                           const halley_stack *stack, uint32_t i)
{
    assert(i < plan->pp);
    (void)cluster;
    *out = (halley_stage_memory){0};
    workload_memory_stage(out->memory_bytes, model, plan, stack, i);
    offload(out->memory_bytes, out->outer_bytes, plan);
    for (int j = 0; j < HALLEY_N_MEMORY; j++)
        out->device_bytes += out->memory_bytes[j];
    out->allocated_bytes = out->device_bytes - out->memory_bytes[HALLEY_MEMORY_CONTEXT];
}
