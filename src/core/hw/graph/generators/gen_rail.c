/*
 * hw/graph/generators/gen_rail.c - rails: NPU r of every node is wired to the leaves of
 * rail r.
 *
 * NPU (node x, place r) has id x * npus + r. It is connected to leaf (r, x /
 * nodes-per-leaf), whose number is r * ceil(nodes / nodes-per-leaf) + x / nodes-per-leaf.
 * Rail-optimised: every leaf is connected to every spine. Rail-only (Wang et al., arXiv
 * 2307.12169): there are no spines, and traffic between rails goes through the switch
 * inside the node.
 *
 * If there are as many NICs as NPUs, each NPU has its own, which needs no device. If
 * there are k times as many, an NPU has k cables, into k rails. If there are fewer, NPUs
 * share NICs, which are devices with a link to each of their NPUs.
 */
#include "hw/graph/generate.h"

#include <assert.h>
#include <math.h>

static uint32_t count_leaves_of_rail(const hw_generator_params *p)
{
    return (p->nodes + p->nodes_per_leaf - 1) / p->nodes_per_leaf;
}

static bool has_shared_nics(const hw_generator_params *p)
{
    return p->nics < p->npus;
}

static halley_status check_nics(hw_generator_params *p, const char *name,
                                halley_error *err)
{
    if (p->nics == 0)
        p->nics = p->npus;
    const bool fits = p->nics > p->npus ? p->nics % p->npus == 0 : p->npus % p->nics == 0;
    if (!fits)
        return error_set(err, HALLEY_EINVAL,
                         "%s: %u NICs cannot be shared evenly by the %u NPUs of a node",
                         name, p->nics, p->npus);
    return HALLEY_OK;
}

static halley_status count_rails(hw_counts *out, hw_generator_params *p, const char *name,
                                 halley_error *err)
{
    TRY(hw_require_count(p->nodes, name, "nodes", err));
    TRY(hw_require_count(p->npus, name, "npus (of one node)", err));
    TRY(check_nics(p, name, err));
    if (p->nodes_per_leaf == 0)
        p->nodes_per_leaf = p->nodes;
    if (p->cables == 0)
        p->cables = 1;
    const uint64_t rails = p->nics, leaves = rails * count_leaves_of_rail(p);
    out->npus = hw_count_times(p->nodes, p->npus);
    out->nics = has_shared_nics(p) ? hw_count_times(p->nodes, p->nics) : 0;
    out->node_switches = p->no_node_switch ? 0 : p->nodes;
    out->switches = hw_count_plus(out->node_switches, hw_count_plus(leaves, p->spines));
    out->switch_cables = hw_count_times(leaves, hw_count_times(p->spines, p->cables));
    out->cables = hw_count_plus(hw_count_times(p->nodes, rails), out->switch_cables);
    out->cables = hw_count_plus(out->cables, has_shared_nics(p) ? out->npus : 0);
    out->cables = hw_count_plus(out->cables, p->no_node_switch ? 0 : out->npus);
    return HALLEY_OK;
}

static halley_status count_rail_optimised(hw_counts *out, hw_generator_params *p,
                                          halley_error *err)
{
    TRY(hw_require_count(p->spines, "rail-optimised", "spines", err));
    return count_rails(out, p, "rail-optimised", err);
}

static halley_status count_rail_only(hw_counts *out, hw_generator_params *p,
                                     halley_error *err)
{
    p->spines = 0;
    TRY(count_rails(out, p, "rail-only", err));
    if (p->nodes_per_leaf < p->nodes)
        return error_set(err, HALLEY_EINVAL,
                         "rail-only: a leaf of %u nodes cannot join %u nodes, and there "
                         "are no spines; use rail-optimised",
                         p->nodes_per_leaf, p->nodes);
    if (p->no_node_switch)
        return error_set(err, HALLEY_EINVAL,
                         "rail-only needs node-switch: yes, because nothing else joins "
                         "the rails");
    return HALLEY_OK;
}

static void add_node_links(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t first = hw_add_node_switches(b, p, p->nodes, 1);
    const uint16_t kind = hw_add_kind(b, p, "npu-nvswitch", HW_MEDIUM_BOARD, 1,
                                      p->node_link_Bps, p->node_latency_s);
    for (uint32_t i = 0; i < p->nodes * p->npus; i++)
        hw_builder_add_cable(b, i, first + i / p->npus, kind);
}

static uint32_t add_nics(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t first =
        hw_builder_add_group(b, &(hw_device_group){.name = "nic",
                                                   .kind = HW_DEVICE_NIC,
                                                   .n = p->nodes * p->nics,
                                                   .per_node = p->nics,
                                                   .forwards = true,
                                                   .cost_usd = p->cost.nic,
                                                   .power_w = p->power.nic});
    const uint16_t kind =
        hw_add_kind(b, p, "npu-nic", HW_MEDIUM_BOARD, 0, p->nic_link_Bps, 0);
    for (uint32_t i = 0; i < p->nodes * p->npus; i++) {
        const uint32_t nic = i % p->npus * p->nics / p->npus;
        hw_builder_add_cable(b, i, first + i / p->npus * p->nics + nic, kind);
    }
    return first;
}

/* Add one cable from every port of a node to the leaf of its rail. */
static void add_ports(hw_builder *b, const hw_generator_params *p, uint32_t first_nic,
                      uint32_t first_leaf)
{
    const uint32_t per_rail = count_leaves_of_rail(p);
    const uint16_t kind =
        hw_add_kind(b, p, "npu-leaf", HW_MEDIUM_COPPER, 1, p->link_Bps, p->latency_s);
    for (uint32_t x = 0; x < p->nodes; x++)
        for (uint32_t r = 0; r < p->nics; r++) {
            const uint32_t leaf = first_leaf + r * per_rail + x / p->nodes_per_leaf;
            const uint32_t from = has_shared_nics(p)
                                      ? first_nic + x * p->nics + r
                                      : x * p->npus + r / (p->nics / p->npus);
            hw_builder_add_cable(b, from, leaf, kind);
        }
}

static void add_spine_links(hw_builder *b, const hw_generator_params *p, uint32_t leaf,
                            uint32_t n_leaves)
{
    const uint32_t spine = hw_add_switches(b, p, "spine", p->spines, 2);
    const uint16_t kind =
        hw_add_kind(b, p, "leaf-spine", HW_MEDIUM_OPTICAL, 2, p->link_Bps, p->latency_s);
    for (uint32_t i = 0; i < n_leaves; i++)
        for (uint32_t j = 0; j < p->spines; j++)
            for (uint32_t k = 0; k < p->cables; k++)
                hw_builder_add_cable(b, leaf + i, spine + j, kind);
}

static void set_rail_bisection(hw_builder *b, const hw_generator_params *p,
                               uint32_t n_leaves)
{
    const double half = (double)p->nodes * p->nics / 2;
    const double spines = (double)n_leaves / 2 * p->spines * p->cables;
    const uint32_t per_rail = count_leaves_of_rail(p);
    if (p->nodes % 2 != 0 || has_shared_nics(p))
        return;
    if (p->spines == 0)
        b->graph->bisection_Bps = fmin(p->link_Bps, p->node_link_Bps) * half;
    else
        b->graph->bisection_Bps =
            p->link_Bps * (per_rail > 1 ? fmin(half, spines) : half);
    b->graph->bisection_is_bound =
        p->spines > 0 && (per_rail % 2 != 0 || p->nodes % p->nodes_per_leaf != 0);
}

static void build_rails(hw_builder *b, const hw_generator_params *p)
{
    const uint32_t n_leaves = p->nics * count_leaves_of_rail(p);
    uint32_t first_nic = 0;
    hw_add_npus(b, p, p->nodes * p->npus, p->npus, false);
    if (has_shared_nics(p))
        first_nic = add_nics(b, p);
    if (!p->no_node_switch)
        add_node_links(b, p);
    const uint32_t leaf = hw_add_switches(b, p, "leaf", n_leaves, 1);
    add_ports(b, p, first_nic, leaf);
    if (p->spines > 0)
        add_spine_links(b, p, leaf, n_leaves);
    b->graph->n_dims = 2;
    b->graph->dims[0] = p->npus;
    b->graph->dims[1] = p->nodes;
    b->graph->has_rails = !p->no_node_switch && p->npus > 1;
    set_rail_bisection(b, p, n_leaves);
}

#define RAIL_KEYS "nodes npus nics nic-link nodes-per-leaf node-switch "
const hw_generator hw_gen_rail_optimised = {
    "rail-optimised",
    RAIL_KEYS "spines cables",
    count_rail_optimised,
    build_rails,
    "NPU i of every node goes to leaf i; spines join the leaves",
    NULL,
    "{topology: rail-optimised, nodes: 64, npus: 8, nodes-per-leaf: 32, spines: 8, "
    "cables: 4, link: 400 Gb/s, latency: 500 ns, node-link: 450 GB/s, node-latency: 250 "
    "ns}"};
const hw_generator hw_gen_rail_only = {
    "rail-only",
    RAIL_KEYS,
    count_rail_only,
    build_rails,
    "NPU i of every node goes to leaf i; only the nodes join the rails",
    NULL,
    "{topology: rail-only, nodes: 64, npus: 8, link: 400 Gb/s, latency: 500 ns, "
    "node-link: 450 GB/s, node-latency: 250 ns}"};
