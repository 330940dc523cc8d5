/*
 * hw/count.c - sets the number of NPUs. N NPUs fill nodes of the stated size, starting
 * with the first. The last node may be partly idle. It is paid for as a whole, and a note
 * reports this.
 *
 * For a cluster described by levels, the dimensions are made here. They are a switch
 * inside the node and one for each level outside, at the bandwidth that large messages
 * reach. A step through a switch is two hops, so a hop has half of the step's latency.
 */
#include "hw/count.h"

#include "base/number/number.h"
#include "hw/levels.h"
#include "hw/network.h"
#include "hw/read/read_graph.h"
#include "hw/schema.h"

#include <assert.h>
#include <math.h>

const char *hw_npu_word(const halley_cluster *c)
{
    static const char *const words[] = {[HALLEY_NPU_OTHER] = "accelerator",
                                        [HALLEY_NPU_GPU] = "GPU",
                                        [HALLEY_NPU_TPU] = "chip"};
    return words[c->n_kinds > 1 ? HALLEY_NPU_OTHER : c->npu.type];
}

uint32_t hw_count_host(const halley_cluster *c)
{
    const uint32_t n = c->nodes.host_npus != 0 ? c->nodes.host_npus : c->nodes.npus;
    return n > 0 ? n : 1;
}

double hw_count_nics(const halley_cluster *c)
{
    return c->nodes.nics_per_npu > 0 ? c->nodes.nics_per_npu : 1;
}

uint32_t hw_count_together(const halley_cluster *c)
{
    return c->nodes.by_domain ? c->nodes.npus : hw_count_host(c);
}

double hw_count_paid(const halley_cluster *c, double n)
{
    const double each = hw_count_together(c);
    return ceil(n / each) * each;
}

const char *hw_count_unit(const halley_cluster *c)
{
    return c->nodes.host != 0 && !c->nodes.by_domain ? "host"
           : c->nodes.rack == 1                      ? "rack"
                                                     : "node";
}

/* "12 is 1.5 nodes of 8: 2 nodes are paid for, 4 GPUs idle". */
static void note_idle(halley_cluster *c, uint32_t n)
{
    const uint32_t each = hw_count_together(c);
    const uint32_t whole = (n - 1) / each + 1, idle = whole * each - n;
    const char *one = hw_count_unit(c);
    c->idle = NULL;
    if (idle == 0)
        return;
    const double nodes = (double)n / each;
    const number_text share =
        nodes < 0.1 ? number_digits(nodes, 2) : number_fixed(nodes, 1);
    c->idle =
        arena_printf(&c->memory, "%u is %s %ss of %u: %u %s%s paid for, %u %s%s idle", n,
                     share.at, one, each, whole, one, whole == 1 ? " is" : "s are", idle,
                     hw_npu_word(c), idle == 1 ? "" : "s");
}

static void add_dim(halley_cluster *c, const char *name, uint32_t n, double bandwidth,
                    double step_s)
{
    assert(c->n_dims < CLUSTER_MAX_DIMS);
    c->dims[c->n_dims++] = (cluster_dim){.topology = CLUSTER_SWITCH,
                                         .name = name,
                                         .n = n,
                                         .bw_Bps = bandwidth,
                                         .latency_ns = hw_ns_from(step_s / 2)};
}

static uint32_t largest_divisor(uint32_t n, uint32_t most)
{
    uint32_t d = most < n ? most : n;
    while (n % d != 0)
        d--;
    return d;
}

/* Leaves n_dims 0 if whole nodes cannot express the number. */
static void make_dims(halley_cluster *c, uint32_t n, hw_count_how how)
{
    const halley_link *up = &c->nodes.up;
    const halley_fabric *out = hw_outer_fabric(c);
    c->n_dims = 0;
    if (c->network != HW_NETWORK_FABRIC || n > CLUSTER_MAX_NPUS)
        return;
    const uint32_t near = how == HW_COUNT_EVENLY ? largest_divisor(n, c->nodes.npus)
                          : n < c->nodes.npus    ? n
                                                 : c->nodes.npus;
    if (n % near != 0)
        return;
    add_dim(c, "up", near,
            up->bandwidth_Bps * (up->simple.share > 0 ? up->simple.share : 1),
            up->simple.hop_s);
    if (n / near > 1)
        add_dim(c, "out", n / near,
                out->bandwidth_Bps * (out->share > 0 ? out->share : 1), out->hop_s[2]);
}

void hw_lists_cut(halley_cluster *c)
{
    if (c->network == HW_NETWORK_DIMS || c->n_dims == 0)
        return;
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        cluster_coll_impl *list = &c->system.colls[i];
        list->n = list->n_listed < c->n_dims ? list->n_listed : c->n_dims;
        for (uint32_t d = 0; d < list->n; d++)
            if (list->dims[d].flat)
                list->n = d + 1;
    }
}

/* Dimensions from a file: switches may have fewer or more ports. The outermost dimension
 * adapts. */
static halley_status resize_dims(halley_cluster *c, uint32_t n, halley_error *err)
{
    uint32_t left = n;
    for (uint32_t d = 0; d < c->n_dims; d++)
        if (c->dims[d].topology != CLUSTER_SWITCH)
            return error_set(
                err, HALLEY_EINVAL,
                "the network has %u NPUs, and a ring or mesh fixes its size: "
                "it cannot have %u",
                c->n_npus, n);
    if (n > CLUSTER_MAX_NPUS)
        return error_set(err, HALLEY_ELIMIT, "more than %d NPUs are not handled",
                         CLUSTER_MAX_NPUS);
    for (uint32_t d = 0; d < c->n_dims; d++) {
        const bool last = d + 1 == c->n_dims;
        const uint32_t size = last || left < c->dims[d].n ? left : c->dims[d].n;
        if (left % size != 0)
            return error_set(err, HALLEY_EINVAL,
                             "%u NPUs do not fill whole blocks of %u of this network", n,
                             n / left * c->dims[d].n);
        c->dims[d].n = size;
        left /= size;
    }
    c->n_npus = n;
    c->nodes.npus = c->dims[0].n;
    return HALLEY_OK;
}

/* A cluster whose file names ranks cannot change its size. */
static halley_status check_ranks(halley_cluster *c, uint32_t n, halley_error *err)
{
    if (c->system.slow != NULL || c->system.late_s != NULL || c->n_groups > 0)
        return error_set(
            err, HALLEY_EINVAL,
            "the cluster names ranks of %u NPUs (groups, slow, late); it cannot be "
            "cut or filled to %u",
            c->n_npus, n);
    return HALLEY_OK;
}

halley_status hw_count_set(halley_cluster *c, uint32_t n, hw_count_how how,
                           halley_error *err)
{
    assert(n > 0);
    if (n != c->n_npus)
        TRY(check_ranks(c, n, err));
    if (c->network == HW_NETWORK_DIMS)
        return n == c->n_npus ? HALLEY_OK : resize_dims(c, n, err);
    if (c->network == HW_NETWORK_GRAPH) {
        TRY(hw_graph_count_set(c, n, err));
        c->n_dims = 0;
        hw_levels_order(c);
        hw_network_price(c);
        if (how == HW_COUNT_AS_NODES && c->graph_joins_nodes)
            note_idle(c, n);
        return HALLEY_OK;
    }
    assert(c->nodes.npus > 0);
    hw_levels_order(c);
    c->n_npus = n;
    make_dims(c, n, how);
    hw_network_price(c);
    hw_lists_cut(c);
    if (how == HW_COUNT_AS_NODES)
        note_idle(c, n);
    return HALLEY_OK;
}

bool hw_nodes_may_idle(const halley_cluster *c)
{
    return (c->network == HW_NETWORK_FABRIC || c->network == HW_NETWORK_TIERS) &&
           c->nodes.shape == HW_SHAPE_SWITCH && c->nodes.nics == 0 && c->n_kinds <= 1;
}

halley_status hw_count_fill(halley_cluster *c, uint32_t npus, halley_error *err)
{
    const uint32_t each = c->nodes.npus;
    const char *const idle = c->idle;
    assert(npus > 0 && npus <= each && hw_nodes_may_idle(c));
    assert((c->n_npus - 1) / npus == (c->n_npus - 1) / each);
    for (uint32_t i = 0; i < c->n_outer; i++)
        if (c->outer[i].npus % each == 0)
            c->outer[i].npus = c->outer[i].npus / each * npus;
    c->nodes.npus = npus;
    TRY(hw_count_set(c, c->n_npus, HW_COUNT_AS_NODES, err));
    c->idle = idle;
    return HALLEY_OK;
}

halley_status hw_structure_check(const halley_cluster *c, halley_error *err)
{
    const uint32_t each = c->nodes.npus;
    const char *name = halley_cluster_name(c);
    if (c->n_dims > 0 ||
        (c->model == HW_MODEL_FLOW && c->n_npus > 0 && c->n_npus <= CLUSTER_MAX_NPUS))
        return HALLEY_OK;
    if (c->n_npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": say how many NPUs it has, such as %s:%u", name,
                         name, each);
    if (c->n_npus > CLUSTER_MAX_NPUS)
        return error_set(err, HALLEY_ELIMIT,
                         "more than %d NPUs are not handled by the simulator",
                         CLUSTER_MAX_NPUS);
    if (c->network == HW_NETWORK_TIERS || c->network == HW_NETWORK_GRAPH)
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": %s needs network-model: flow", name,
                         c->network == HW_NETWORK_TIERS ? "a fat tree by tiers"
                                                        : "a network that is a graph");
    return error_set(
        err, HALLEY_EINVAL,
        "cluster \"%s\": %u is %s nodes of %u, and network models other than flow need "
        "whole nodes: %u or %u",
        name, c->n_npus, number_digits((double)c->n_npus / each, 4).at, each,
        c->n_npus / each * each, (c->n_npus / each + 1) * each);
}

const char *halley_cluster_idle(const halley_cluster *cluster)
{
    return cluster->idle;
}
