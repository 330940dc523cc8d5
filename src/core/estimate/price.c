/*
 * Prices of a plan on a cluster: the data that all operators and messages of one design
 * share. Matmuls run at the clocks that training sustains. Matmuls in the plan's own data
 * type use the rates of that type. For every group, the context has the number of ranks
 * that each level of the network connects.
 */
#include "estimate/price.h"

#include "coll/load.h"
#include "estimate/groups.h"
#include "estimate/outer.h"
#include "workload/memory.h"
#include "workload/schedule.h"

#include <assert.h>
#include <math.h>

/* Costs of casts and matmuls in 8-bit types, by the granularity of the scales. */
static void set_recipe(price_context *c)
{
    const double *k = c->stack->k;
    switch (c->plan->recipe) {
    case HALLEY_FP8_ROW:
        c->cast_bytes = k[HALLEY_K_CAST] * k[HALLEY_K_CAST_ROW];
        break;
    case HALLEY_FP8_BLOCK:
        c->cast_bytes = k[HALLEY_K_CAST_MX] * k[HALLEY_K_CAST_BLOCK];
        c->low_factor *= k[HALLEY_K_GEMM_BLOCK];
        break;
    case HALLEY_FP8_MX:
    case HALLEY_FP8_NV:
        c->cast_bytes = k[HALLEY_K_CAST_MX];
        break;
    case HALLEY_FP8_TENSOR:
    case HALLEY_N_RECIPES:
        c->cast_bytes = k[HALLEY_K_CAST];
        break;
    }
}

static void set_low(price_context *c)
{
    const halley_npu *npu = &c->cluster->npu;
    const double *k = c->stack->k;
    const halley_dtype type = c->plan->dtype;
    c->low = c->wide;
    c->low_factor = c->wide_factor;
    c->cast_bytes = 0;
    if (type == HALLEY_FP32 || type == HALLEY_TF32) {
        c->low = cost_gemm_make(npu, &npu->gemm, npu->peak_flops[type], 4);
        c->wide = c->low;
        return;
    }
    if (type != HALLEY_FP8 && type != HALLEY_FP4 && type != HALLEY_INT8)
        return;
    const halley_dtype eight = type == HALLEY_INT8 ? HALLEY_INT8 : HALLEY_FP8;
    c->low = cost_gemm_make(npu, &npu->gemm_fp8, npu->peak_flops[eight], 1);
    c->low_factor = k[HALLEY_K_GEMM] * k[HALLEY_K_GEMM_FP8];
    set_recipe(c);
    if (type == HALLEY_FP4) {
        c->low_factor *= k[HALLEY_K_GEMM_FP4];
        c->low.flop_s = 1 / npu->peak_flops[HALLEY_FP4];
        c->cast_bytes = k[HALLEY_K_CAST_FP4];
    }
}

/* A fraction of all traffic goes to the outer tier: one effective bandwidth as in
 * COMET. */
static void spread_to_tier(price_context *c, double share, const halley_tier *tier)
{
    assert(share >= 0 && share <= 1);
    if (!tier || share <= 0)
        return;
    const double local = c->cluster->npu.tiers[0].bandwidth_Bps;
    const double outer = workload_outer_rate_find(tier, c->plan, c->cluster).Bps;
    const double slower = 1 - share + share * local / outer;
    c->stream_s *= slower;
    c->wide.memory_s *= slower;
    c->low.memory_s *= slower;
}

/* The number of ranks in a block of `npus` NPUs of the network. */
static uint32_t count_ranks(const price_context *c, uint32_t npus)
{
    const uint32_t each = c->cluster->nodes.npus;
    assert(c->ranks_per_node <= each);
    return npus % each == 0 ? npus / each * c->ranks_per_node : npus;
}

/* The number of ranks of every group that each level of the network connects. */
static void set_levels(price_context *c)
{
    const halley_cluster *cluster = c->cluster;
    uint32_t n[WORKLOAD_N_GROUPS], below[WORKLOAD_N_GROUPS], in[WORKLOAD_N_GROUPS];
    c->n_levels = cluster->n_outer;
    assert(c->n_levels <= COLL_MAX_LEVELS);
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++) {
        below[g] = c->per_node[g];
        c->out[g] = hw_outer_fabric(cluster);
    }
    if (c->n_levels < 2) { /* the usual case: one level joins all nodes */
        c->n_levels = 0;
        return;
    }
    for (uint32_t i = 0; i < c->n_levels; i++) {
        const hw_outer *level = &cluster->outer[i];
        const bool all = level->npus == 0 || i + 1 == c->n_levels;
        if (!all)
            plan_group_sizes(n, in, c->plan, count_ranks(c, level->npus));
        for (int g = 0; g < WORKLOAD_N_GROUPS; g++) {
            const uint32_t here = all ? c->n[g] : in[g] > below[g] ? in[g] : below[g];
            c->levels[g][i] = (coll_level){here / below[g], &level->fabric};
            below[g] = here;
        }
    }
    assert(c->n_levels <= COLL_MAX_LEVELS);
}

/*
 * The bandwidth of a group on the levels that it crosses, per member that sends. The NPUs
 * of a block share its uplink: each has `Bps` if all of them send through it at once.
 *
 * Rings and trees go from node to node. They leave a block of m members with one stream
 * for each of the `per_node` members of a node. These streams have the uplink bandwidth
 * of m / per_node nodes to themselves. In an all-to-all, only data for members in other
 * blocks crosses the uplink. Steps are as long as those of the outermost level. The
 * simulator puts the same streams on individual links.
 */
static void set_crossings(price_context *c)
{
    for (int g = 0; g < WORKLOAD_N_GROUPS && c->n_levels > 0; g++) {
        const double n = c->n[g], per_node = c->per_node[g];
        double members = per_node;
        c->ring_Bps[g] = c->pairs_Bps[g] = c->cluster->outer[0].fabric.bandwidth_Bps;
        for (uint32_t i = 0; i < c->n_levels; i++) {
            const coll_level *l = &c->levels[g][i];
            const double Bps = l->fabric->bandwidth_Bps;
            if (l->n < 2)
                continue;
            assert(members < n && members >= per_node);
            c->ring_Bps[g] = fmin(c->ring_Bps[g], Bps * members / per_node);
            c->pairs_Bps[g] = fmin(c->pairs_Bps[g], Bps * (n - per_node) / (n - members));
            c->out[g] = l->fabric;
            members *= l->n;
        }
    }
}

/* The boxes of all groups on a list of dimensions. Neighbours of a group are as far apart
 * as the digits inside it have values. Groups in between use the same rings. */
static void set_dims(price_context *c)
{
    const halley_cluster *cluster = c->cluster;
    c->has_dims = cluster->model == HW_MODEL_FLOW && coll_dims_can(cluster);
    for (int g = 0; c->has_dims && g < WORKLOAD_N_GROUPS; g++) {
        coll_dims *d = &c->dims[g];
        *d = coll_dims_all(cluster);
        uint32_t below = 1, left = c->n[g];
        const uint32_t apart = plan_group_distance(c->plan, (workload_group)g);
        for (uint32_t i = 0; i < d->n; below *= d->dims[i++].n) {
            const uint32_t steps = apart > below ? apart / below : 1;
            const uint32_t room =
                apart > below ? (d->dims[i].n - 1) / steps + 1 : d->dims[i].n;
            uint32_t extent = room < left ? room : left;
            while (extent > 1 && left % extent != 0)
                extent--;
            assert(extent > 0);
            d->extent[i] = extent;
            d->stride[i] = extent > 1 && left == c->n[g] ? steps : 1;
            d->sharing[i] = d->stride[i];
            left /= extent;
        }
        c->per_node[g] = d->extent[0];
    }
}

/* The boxes that groups form in the grid inside a node. */
static void set_boxes(price_context *c)
{
    const uint32_t used = c->plan->tp * c->plan->cp * c->plan->dp * c->plan->pp;
    plan_grid_make(&c->grid, c->plan, c->cluster);
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        c->boxes[g].n = 0;
    if (c->grid.n_axes == 0 || c->cluster->nodes.up.stored ||
        (c->ranks_per_node != hw_direct_count(&c->grid) && used > c->ranks_per_node))
        return;
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++) {
        hw_box_digit digits[PLAN_GROUP_DIGITS];
        if (c->n[g] < 2 || g == WORKLOAD_PP)
            continue;
        const uint32_t n = plan_group_digits(digits, c->plan, (workload_group)g,
                                             hw_direct_count(&c->grid));
        if (n > PLAN_GROUP_DIGITS ||
            !hw_box_of_digits(&c->boxes[g], &c->grid, digits, n) ||
            c->boxes[g].n != c->per_node[g])
            c->boxes[g].n = 0;
    }
}

/* DualPipe reserves 20 of 132 multiprocessors for its messages, whether hidden or not. */
static double lent_units(const halley_plan *plan)
{
    const bool lends =
        plan->schedule == HALLEY_SCHEDULE_DUALPIPE && plan->pp > 1 && plan->ep > 1;
    return lends ? 132.0 / 112 : 1;
}

void price_context_make(price_context *out, const halley_model *model,
                        const halley_plan *plan, const halley_cluster *cluster,
                        const halley_stack *stack, const halley_estimate *e)
{
    assert(plan->tp > 0);
    assert(plan->dp > 0);
    const halley_npu *npu = &cluster->npu;
    price_context *c = out;
    c->model = model;
    c->plan = plan;
    c->cluster = cluster;
    c->stack = stack;
    c->only_wide = false;
    c->busy = lent_units(plan);
    c->wide = cost_gemm_make(npu, &npu->gemm, halley_npu_wide_peak(npu), 2);
    c->wide_factor = stack->k[HALLEY_K_GEMM];
    set_low(c);
    c->stream_s = 1 / (npu->memory_share * npu->tiers[0].bandwidth_Bps);
    if (plan->spread)
        spread_to_tier(c, estimate_outer_share(e), workload_outer_tier(plan, cluster));
    c->ranks_per_node = plan_ranks_per_node(plan, cluster);
    plan_group_sizes(c->n, c->per_node, plan, c->ranks_per_node);
    set_levels(c);
    set_crossings(c);
    set_dims(c);
    set_boxes(c);
    const uint32_t used = plan->tp * plan->cp * plan->dp * plan->pp;
    const uint32_t near = used < c->ranks_per_node ? used : c->ranks_per_node;
    const double busy = cluster->nodes.npus > 1 ? (near - 1.0) / 7.0 : 0;
    c->host = cluster->host_factor *
              (1 + stack->k[HALLEY_K_HOST_SHARE] * (busy > 1 ? 1 : busy));
}

double price_library(const price_context *c, halley_constant constant)
{
    return c->cluster->plain ? 1 : c->stack->k[constant];
}

coll_call price_call(const price_context *c, coll_kind kind, workload_group group,
                     double bytes)
{
    assert(group < WORKLOAD_N_GROUPS);
    assert(c->n[group] > 0);
    assert(bytes >= 0);
    return (coll_call){.kind = kind,
                       .bytes = bytes,
                       .n = c->n[group],
                       .per_node = c->per_node[group],
                       .box = c->boxes[group].n > 0 ? &c->boxes[group] : NULL,
                       .n_levels = c->n_levels,
                       .levels = c->n_levels > 0 ? c->levels[group] : NULL,
                       .dims = c->has_dims ? &c->dims[group] : NULL};
}

/* The network between nodes as a call of the group sees it. */
static halley_fabric see_fabric(const price_context *c, workload_group group,
                                const coll_call *call)
{
    halley_fabric out = *c->out[group];
    if (c->n_levels > 0 && !c->has_dims)
        out.bandwidth_Bps =
            call->kind == COLL_ALL_TO_ALL ? c->pairs_Bps[group] : c->ring_Bps[group];
    return out;
}

double price_call_time(const price_context *c, workload_group group,
                       const coll_call *call)
{
    const halley_fabric out = see_fabric(c, group, call);
    return coll_call_time(&c->cluster->nodes.up, &out, call);
}

double price_call_wire(const price_context *c, workload_group group,
                       const coll_call *call)
{
    coll_load load;
    const halley_fabric out = see_fabric(c, group, call);
    if (c->has_dims) /* chunks share the dimensions: all of it depends on bandwidth */
        return price_call_time(c, group, call);
    coll_call_load(&load, &c->cluster->nodes.up, &out, call);
    return load.wire_s;
}

double price_coll(const price_context *c, coll_kind kind, workload_group group,
                  double bytes)
{
    assert(group < WORKLOAD_N_GROUPS);
    const coll_call call = price_call(c, kind, group, bytes);
    const double t = price_call_time(c, group, &call);
    return call.per_node < call.n ? t * price_library(c, HALLEY_K_NETWORK) : t;
}

/* The lowest level at which two ranks are in the same block: 0 = the node, n_outer = the
 * top. */
static uint32_t shared_level(const price_context *c, uint32_t a, uint32_t b)
{
    const halley_cluster *cluster = c->cluster;
    assert(a != b);
    if (a / c->ranks_per_node == b / c->ranks_per_node)
        return 0;
    for (uint32_t i = 0; i + 1 < cluster->n_outer; i++) {
        const uint32_t ranks = count_ranks(c, cluster->outer[i].npus);
        if (ranks == 0 || a / ranks == b / ranks)
            return i + 1;
    }
    return cluster->n_outer > 0 ? cluster->n_outer : 1;
}

uint32_t price_stages_level(const price_context *c, uint32_t a, uint32_t b)
{
    const plan_place from = {.pp = a}, to = {.pp = b};
    return shared_level(c, plan_rank_at(c->plan, from), plan_rank_at(c->plan, to));
}

static uint32_t find_stage_rank(const price_context *c, uint32_t stage)
{
    return plan_rank_at(c->plan, (plan_place){.pp = stage}) % hw_direct_count(&c->grid);
}

/* All ranks of a stage send at once: this many messages share a link. */
static double find_widest(const hw_box *path)
{
    double most = 1;
    for (uint32_t i = 0; i < path->n_axes; i++)
        most = fmax(most, path->axes[i].stride);
    return most;
}

double price_send_alone(const price_context *c, double bytes, uint32_t a, uint32_t b)
{
    assert(bytes >= 0);
    const halley_cluster *cluster = c->cluster;
    const uint32_t level = price_stages_level(c, a, b);
    coll_call call = {
        .kind = COLL_SEND, .bytes = bytes, .n = 2, .per_node = level == 0 ? 2 : 1};
    hw_box path;
    if (level == 0 && c->grid.n_axes > 0 && !cluster->nodes.up.stored) {
        hw_box_of_pair(&path, &c->grid, find_stage_rank(c, a), find_stage_rank(c, b));
        call.box = &path;
        call.bytes *= find_widest(&path);
    }
    const halley_fabric *out = level > 0 && cluster->n_outer > 0
                                   ? &cluster->outer[level - 1].fabric
                                   : hw_outer_fabric(cluster);
    return coll_call_time(&cluster->nodes.up, out, &call);
}

double price_send(const price_context *c, double bytes, uint32_t a, uint32_t b)
{
    const double t = price_send_alone(c, bytes, a, b);
    return price_stages_level(c, a, b) > 0 ? t * price_library(c, HALLEY_K_NETWORK) : t;
}

/* Bytes that pass through one rank of a ring of n ranks. */
static double through_rank(double n, double bytes)
{
    return n > 1 ? (n - 1) / n * bytes : 0;
}

price_shards price_shards_make(const price_context *c, double weights,
                               double expert_weights)
{
    assert(weights >= 0 && expert_weights >= 0);
    const double gb = c->plan->gradient_bytes, n = c->n[WORKLOAD_FSDP];
    price_shards s = {
        .gather_s = price_coll(c, COLL_ALL_GATHER, WORKLOAD_FSDP, 2 * weights),
        .reduce_s = price_coll(c, COLL_REDUCE_SCATTER, WORKLOAD_FSDP, gb * weights),
        .gather_bytes = through_rank(n, 2 * weights),
        .reduce_bytes = through_rank(n, gb * weights)};
    if (expert_weights > 0) {
        const double x = c->n[WORKLOAD_XFSDP];
        s.gather_s += price_coll(c, COLL_ALL_GATHER, WORKLOAD_XFSDP, 2 * expert_weights);
        s.reduce_s +=
            price_coll(c, COLL_REDUCE_SCATTER, WORKLOAD_XFSDP, gb * expert_weights);
        s.gather_bytes += through_rank(x, 2 * expert_weights);
        s.reduce_bytes += through_rank(x, gb * expert_weights);
    }
    return s;
}

double price_drag(const price_context *c, double messages_s, double bytes)
{
    assert(messages_s >= 0);
    const halley_link *up = &c->cluster->nodes.up;
    const double moved =
        up->torus ? messages_s : fmin(messages_s, bytes / up->bandwidth_Bps);
    return c->stack->k[HALLEY_K_FSDP_DRAG] * moved;
}

double price_side_by_side(double a, double b)
{
    assert(a >= 0 && b >= 0);
    const double big = a > b ? a : b, small = a > b ? b : a;
    if (!(big > 0))
        return 0;
    const double r = small / big, r3 = r * r * r;
    return r < 0.2 ? big : big * sqrt(cbrt(1 + r3 * r3));
}

static bool hides_traffic(const halley_plan *plan, uint32_t bit)
{
    return !plan->no_overlap && !(plan->expose & bit);
}

/* Expert dispatch overlaps with the compute of another micro-batch if the schedule has
 * one. */
static double hidden_dispatch(const price_context *c)
{
    const halley_plan *plan = c->plan;
    const bool overlaps =
        plan->overlap_ep || (plan->schedule == HALLEY_SCHEDULE_DUALPIPE && plan->pp > 1);
    const double *k = c->stack->k;
    return overlaps ? fmax(k[HALLEY_K_EP_OVERLAP], k[HALLEY_K_EP_HIDDEN])
                    : k[HALLEY_K_EP_HIDDEN];
}

double price_exposed(const price_context *c, workload_group group)
{
    assert(group < WORKLOAD_N_GROUPS);
    const double *k = c->stack->k;
    const halley_plan *plan = c->plan;
    switch (group) {
    case WORKLOAD_TP:
    case WORKLOAD_ETP:
        /* Overlap needs sequence parallelism: some tokens are sent while others are
         * computed. */
        if (group == WORKLOAD_ETP ||
            (!plan->sequence_parallel && c->cluster->npu.round_to <= 1))
            return 1;
        return hides_traffic(plan, HALLEY_EXPOSE_TP) ? 1 - k[HALLEY_K_TP_HIDDEN] : 1;
    case WORKLOAD_CP:
        return hides_traffic(plan, HALLEY_EXPOSE_CP) ? 1 - k[HALLEY_K_CP_HIDDEN] : 1;
    case WORKLOAD_EP:
        return hides_traffic(plan, HALLEY_EXPOSE_EP) ? 1 - hidden_dispatch(c) : 1;
    case WORKLOAD_PP:
        return hides_traffic(plan, HALLEY_EXPOSE_PP) ? 1 - k[HALLEY_K_PP_HIDDEN] : 1;
    case WORKLOAD_DP:
    case WORKLOAD_XP:
    case WORKLOAD_FSDP:
    case WORKLOAD_OUTER:
    case WORKLOAD_XFSDP:
    case WORKLOAD_XOUTER:
        return hides_traffic(plan, HALLEY_EXPOSE_DP) ? 1 - k[HALLEY_K_DP_HIDDEN] : 1;
    case WORKLOAD_N_GROUPS:
        break;
    }
    return 1;
}
