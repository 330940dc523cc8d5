/*
 * hw/levels.c - the levels view. Level 0 is the node, and outer[i] is level i + 1. If a
 * network is described by dimensions, the levels are made from these. A dimension of size
 * 1 connects nothing and makes no level.
 */
#include "hw/levels.h"

#include "base/number/whole.h"
#include "hw/npu.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static halley_all_to_all all_to_all_over(cluster_topology topology)
{
    switch (topology) {
    case CLUSTER_RING:
        return HALLEY_A2A_ROUND;
    case CLUSTER_FULLY_CONNECTED:
        return HALLEY_A2A_AT_ONCE;
    case CLUSTER_SWITCH:
    case CLUSTER_N_TOPOLOGIES:
        break;
    }
    return HALLEY_A2A_IN_TURN;
}

/* The number of links that a step crosses: two through a switch. */
static uint32_t links_of_step(const cluster_dim *dim)
{
    return dim->topology == CLUSTER_SWITCH ? 2 : 1;
}

static void make_node_level(halley_cluster *c, bool queues)
{
    const cluster_dim *dim = &c->dims[0];
    const uint32_t links = links_of_step(dim);
    const uint64_t splits = c->system.splits > 0 ? c->system.splits : 1;
    const uint64_t active =
        c->system.active_chunks < splits && c->system.active_chunks > 0
            ? c->system.active_chunks
            : splits;
    c->nodes.npus = dim->n;
    c->nodes.up = (halley_link){
        .bandwidth_Bps = dim->bw_Bps,
        .simple = {.hop_s = links * (dim->latency_ns / 1e9), .share = 1},
        .all_to_all = all_to_all_over(dim->topology),
        .reduce_Bps = c->npu.n_tiers > 0 ? c->npu.tiers[0].bandwidth_Bps : 0,
        .pieces = (uint32_t)active,
        .rounds = (uint32_t)(splits / active),
        .stored = queues ? links : 0,
        .torus = true};
}

static void add_outer_level(halley_cluster *c, uint32_t d, uint64_t npus, bool queues)
{
    const cluster_dim *dim = &c->dims[d];
    const uint32_t links = links_of_step(dim);
    const double step_s = links * (dim->latency_ns / 1e9);
    assert(c->n_outer < HW_MAX_OUTER);
    c->outer[c->n_outer++] = (hw_outer){.name = dim->name,
                                        .npus = npus < c->n_npus ? (uint32_t)npus : 0,
                                        .oversubscription = 1,
                                        .fabric = {.bandwidth_Bps = dim->bw_Bps,
                                                   .hop_s = {step_s, step_s, step_s},
                                                   .share = 1,
                                                   .stored = queues ? links : 0}};
}

void hw_levels_from_dims(halley_cluster *c)
{
    if (c->network != HW_NETWORK_DIMS || c->n_dims == 0) {
        hw_levels_order(c);
        return;
    }
    const bool queues = c->model == HW_MODEL_QUEUE;
    uint64_t npus = c->dims[0].n;
    make_node_level(c, queues);
    c->n_outer = 0;
    c->plain = true;
    for (uint32_t d = 1; d < c->n_dims; d++) {
        npus *= c->dims[d].n;
        add_outer_level(c, d, npus, queues);
    }
    hw_levels_order(c);
}

void hw_dims_follow(halley_cluster *c)
{
    if (c->network != HW_NETWORK_DIMS)
        return;
    assert(c->n_outer + 1 == c->n_dims);
    c->dims[0].n = c->nodes.npus;
    c->dims[0].bw_Bps = c->nodes.up.bandwidth_Bps;
    for (uint32_t i = 0; i < c->n_outer; i++)
        c->dims[i + 1].bw_Bps = c->outer[i].fabric.bandwidth_Bps;
}

void hw_levels_order(halley_cluster *c)
{
    c->narrowest = 0;
    for (uint32_t i = 1; i < c->n_outer; i++)
        if (c->outer[i].fabric.bandwidth_Bps <
            c->outer[c->narrowest].fabric.bandwidth_Bps)
            c->narrowest = i;
    if (c->n_outer == 0) /* no outer level: never used, but must exist */
        c->outer[0] = (hw_outer){
            .name = "",
            .oversubscription = 1,
            .fabric = {.bandwidth_Bps = c->nodes.up.bandwidth_Bps, .share = 1}};
}

void hw_levels_make_plain(halley_cluster *c)
{
    halley_link *up = &c->nodes.up;
    halley_link plain = {.bandwidth_Bps = up->bandwidth_Bps,
                         .simple = {.hop_s = up->simple.hop_s,
                                    .share = up->simple.share > 0 ? up->simple.share : 1},
                         .all_to_all = up->all_to_all,
                         .reduce_Bps =
                             c->npu.n_tiers > 0 ? c->npu.tiers[0].bandwidth_Bps : 0,
                         .torus = true};
    memcpy(plain.name, up->name, sizeof plain.name);
    *up = plain;
    c->plain = true;
    for (uint32_t i = 0; i < c->n_outer; i++) {
        halley_fabric *f = &c->outer[i].fabric;
        f->hop_s[0] = f->hop_s[1] = f->hop_s[2];
    }
}

static void fill_node_level(halley_level *out, const halley_cluster *c)
{
    const halley_link *up = &c->nodes.up;
    *out = (halley_level){.npus = c->nodes.npus,
                          .bandwidth_Bps = up->bandwidth_Bps,
                          .latency_s = up->simple.hop_s,
                          .oversubscription = 1,
                          .share = up->simple.share > 0 ? up->simple.share : 1};
    snprintf(out->name, sizeof out->name, "%s",
             c->network == HW_NETWORK_DIMS && c->dims[0].name[0] != '\0' ? c->dims[0].name
                                                                         : "node");
    if (!c->plain)
        memcpy(out->library, up->name, sizeof out->library);
}

bool halley_cluster_level(halley_level *out, const halley_cluster *cluster, uint32_t i)
{
    if (i > cluster->n_outer)
        return false;
    if (i == 0) {
        fill_node_level(out, cluster);
        return true;
    }
    const hw_outer *level = &cluster->outer[i - 1];
    *out = (halley_level){.npus = level->npus,
                          .bandwidth_Bps =
                              level->fabric.bandwidth_Bps * level->oversubscription,
                          .latency_s = level->fabric.hop_s[2],
                          .oversubscription = level->oversubscription,
                          .share = level->fabric.share > 0 ? level->fabric.share : 1};
    if (level->name[0] != '\0')
        snprintf(out->name, sizeof out->name, "%s", level->name);
    else
        snprintf(out->name, sizeof out->name, "level %u", i);
    if (!cluster->plain)
        memcpy(out->library, level->fabric.name, sizeof out->library);
    return true;
}

static const struct {
    halley_tier_kind tier;
    cluster_memory_kind remote;
} kinds[] = {{HALLEY_TIER_PER_NPU, CLUSTER_MEMORY_PER_NPU},
             {HALLEY_TIER_PER_NODE, CLUSTER_MEMORY_PER_NODE},
             {HALLEY_TIER_POOL, CLUSTER_MEMORY_POOL},
             {HALLEY_TIER_HIERARCHICAL, CLUSTER_MEMORY_HIERARCHICAL}};

void hw_npu_follow(halley_cluster *c)
{
    const halley_npu *npu = &c->npu;
    cluster_system *s = &c->system;
    s->peak_flops = halley_npu_wide_peak(npu);
    for (int i = 0; i < HALLEY_N_DTYPES && !(s->peak_flops > 0); i++)
        s->peak_flops = npu->peak_flops[i];
    s->mem_Bps = npu->n_tiers > 0 ? npu->tiers[0].bandwidth_Bps : 0;
    if (c->remote_given)
        return;
    c->remote = (cluster_memory){.kind = CLUSTER_MEMORY_NONE};
    const halley_tier *tier = hw_npu_outer_tier(npu);
    if (tier == NULL)
        return;
    assert((size_t)tier->kind < sizeof kinds / sizeof *kinds);
    c->remote = (cluster_memory){
        .kind = kinds[tier->kind].remote,
        .latency_ns = whole_ns(tier->latency_s),
        .bytes_per_ns = tier->bandwidth_Bps / 1e9,
        .npus_per_node = c->nodes.npus > 0 ? c->nodes.npus : 1,
        .n_groups = 1,
        .node_bytes_per_ns = 1e9,
        .npu_bytes_per_ns = 1e9,
        .piece_bytes = 1000000,
    };
}
