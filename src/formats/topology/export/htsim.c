/*
 * topology/export/htsim.c - fat trees as htsim's .topo. A graph is refused unless it is
 * wired as htsim would wire it (up to the numbering of switches).
 *
 * With two tiers, every leaf is connected to every spine. With three tiers, every leaf of
 * a pod is connected to every tier-1 switch of that pod. The core switches form classes,
 * one per tier-1 switch of a pod. A core switch is connected to the switches of its class
 * in all pods.
 */
#include "topology/export/export.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct tree_tier {
    uint32_t first, n;        /* switches of this tier */
    uint32_t down, up;        /* ports of one */
    uint32_t bundle;          /* parallel cables to one device below */
    double bw_Bps, latency_s; /* of a cable below */
} tree_tier;

typedef struct tree_shape {
    const hw_graph *g;
    uint32_t n_tiers;
    tree_tier tier[3];
    uint32_t podsize, agg_per_pod;
    uint32_t *tier_of; /* by device; 0 = NPU */
} tree_shape;

static halley_status refuse_tree(const char *why, halley_error *err)
{
    return hw_refuse_export(err, "htsim knows fat trees only, and %s", why);
}

static halley_status find_tree_tiers(tree_shape *t, halley_error *err)
{
    const hw_graph *g = t->g;
    for (uint32_t i = 0; i < g->n_groups; i++) {
        const hw_device_group *group = &g->groups[i];
        if (group->kind == HW_DEVICE_SWITCH && group->tier == t->n_tiers + 1 &&
            t->n_tiers < 3)
            t->tier[t->n_tiers++] = (tree_tier){.first = group->first, .n = group->n};
        else if (group->kind != HW_DEVICE_NPU)
            return refuse_tree("this network is not made of hosts and 2 or 3 tiers of "
                               "switches",
                               err);
        for (uint32_t k = 0; k < group->n; k++)
            t->tier_of[group->first + k] = group->kind == HW_DEVICE_NPU ? 0 : t->n_tiers;
    }
    if (t->n_tiers < 2 || g->n_links > 2 * g->n_cables)
        return refuse_tree("this network has not 2 or 3 tiers of switches", err);
    return HALLEY_OK;
}

/* The rate, latency and number of cables of a tier's switch; all must be equal. */
static halley_status measure_tier(tree_shape *t, uint32_t i, halley_error *err)
{
    const hw_graph *g = t->g;
    tree_tier *tier = &t->tier[i];
    for (uint32_t s = tier->first; s < tier->first + tier->n; s++) {
        uint32_t down = 0, up = 0;
        for (uint32_t k = g->dev_first[s]; k < g->dev_first[s + 1]; k++) {
            const uint32_t link = g->adj_link[k], other = t->tier_of[g->link_to[link]];
            if (other != i && other != i + 2)
                return refuse_tree("some cables skip a tier", err);
            up += other == i + 2;
            down += other == i;
            if (other != i)
                continue;
            if (tier->bw_Bps == 0) {
                tier->bw_Bps = g->link_Bps[link];
                tier->latency_s = g->link_latency_s[link];
            }
            if (g->link_Bps[link] != tier->bw_Bps ||
                g->link_latency_s[link] != tier->latency_s)
                return refuse_tree("the cables of one tier differ", err);
        }
        if (s == tier->first) {
            tier->down = down;
            tier->up = up;
        }
        if (down != tier->down || up != tier->up || down == 0)
            return refuse_tree("the switches of one tier differ", err);
    }
    return HALLEY_OK;
}

/* The number of cables from a to b. */
static uint32_t count_cables(const hw_graph *g, uint32_t a, uint32_t b)
{
    uint32_t n = 0;
    for (uint32_t k = g->dev_first[a]; k < g->dev_first[a + 1]; k++)
        n += g->link_to[g->adj_link[k]] == b;
    return n;
}

static halley_status check_hosts(tree_shape *t, halley_error *err)
{
    const hw_graph *g = t->g;
    uint32_t last = HW_NONE;
    assert(t->tier[0].down > 0);
    for (uint32_t h = 0; h < g->n_npus; h++) {
        if (g->dev_first[h + 1] - g->dev_first[h] != 1)
            return refuse_tree("here hosts have several cables", err);
        const uint32_t leaf = g->link_to[g->adj_link[g->dev_first[h]]];
        if ((h % t->tier[0].down == 0) == (leaf == last))
            return refuse_tree("hosts of one leaf do not follow each other", err);
        last = leaf;
    }
    return HALLEY_OK;
}

/* The leaf of block i of hosts: htsim numbers leaves by their hosts. */
static uint32_t get_htsim_file_leaf(const tree_shape *t, uint32_t i)
{
    const uint32_t host = i * t->tier[0].down;
    return t->g->link_to[t->g->adj_link[t->g->dev_first[host]]];
}

/* Check that the leaves i ... of one pod have the same parents, each with `bundle`
 * cables. */
static halley_status check_pods(tree_shape *t, halley_error *err)
{
    const hw_graph *g = t->g;
    const uint32_t first = get_htsim_file_leaf(t, 0);
    uint32_t parent = HW_NONE;
    for (uint32_t k = g->dev_first[first]; k < g->dev_first[first + 1]; k++)
        if (t->tier_of[g->link_to[g->adj_link[k]]] == 2)
            parent = g->link_to[g->adj_link[k]];
    t->tier[1].bundle = parent == HW_NONE ? 0 : count_cables(g, first, parent);
    if (t->tier[1].bundle == 0 || t->tier[1].down % t->tier[1].bundle != 0)
        return refuse_tree("leaves have no common switch above", err);
    const uint32_t leaves_per_pod = t->tier[1].down / t->tier[1].bundle;
    assert(leaves_per_pod > 0);
    if (t->tier[0].up % t->tier[1].bundle != 0 || t->tier[0].n % leaves_per_pod != 0)
        return refuse_tree("leaves do not fill pods", err);
    t->agg_per_pod = t->tier[0].up / t->tier[1].bundle;
    t->podsize = leaves_per_pod * t->tier[0].down;
    for (uint32_t i = 0; i < t->tier[0].n; i++) {
        const uint32_t leaf = get_htsim_file_leaf(t, i);
        const uint32_t model =
            get_htsim_file_leaf(t, i / leaves_per_pod * leaves_per_pod);
        for (uint32_t k = g->dev_first[leaf]; k < g->dev_first[leaf + 1]; k++) {
            const uint32_t up = g->link_to[g->adj_link[k]];
            if (t->tier_of[up] == 2 && (count_cables(g, leaf, up) != t->tier[1].bundle ||
                                        count_cables(g, model, up) != t->tier[1].bundle))
                return refuse_tree("the leaves of a pod differ", err);
        }
    }
    return HALLEY_OK;
}

/* Check that the core switches of one class have the same neighbours, and that every
 * aggregation switch is in one class. */
static halley_status check_core(tree_shape *t, halley_error *err)
{
    const hw_graph *g = t->g;
    const uint32_t pods = g->n_npus / t->podsize;
    tree_tier *top = &t->tier[2];
    if (top->down % pods != 0 || top->n % t->agg_per_pod != 0)
        return refuse_tree("the core does not reach every pod alike", err);
    top->bundle = top->down / pods;
    for (uint32_t a = t->tier[1].first; a < t->tier[1].first + t->tier[1].n; a++) {
        uint32_t model = HW_NONE;
        for (uint32_t k = g->dev_first[a]; k < g->dev_first[a + 1]; k++) {
            const uint32_t core = g->link_to[g->adj_link[k]];
            if (t->tier_of[core] != 3)
                continue;
            if (count_cables(g, a, core) != top->bundle)
                return refuse_tree("the core does not reach every pod alike", err);
            if (model == HW_NONE)
                model = core;
            for (uint32_t e = g->dev_first[core]; e < g->dev_first[core + 1]; e++)
                if (count_cables(g, model, g->link_to[g->adj_link[e]]) != top->bundle)
                    return refuse_tree("core switches of one class differ", err);
        }
    }
    return HALLEY_OK;
}

static bool is_whole_htsim_number(double value)
{
    return fabs(value - round(value)) < 1e-6 && value < 1e9;
}

static halley_status check_numbers(const tree_shape *t, halley_error *err)
{
    for (uint32_t i = 0; i < t->n_tiers; i++)
        if (!is_whole_htsim_number(t->tier[i].bw_Bps * 8e-9) ||
            !is_whole_htsim_number(t->tier[i].latency_s * 1e9))
            return refuse_tree("its file format has whole Gb/s and ns only", err);
    for (uint32_t i = 0; i + 1 < t->n_tiers; i++) {
        const double over =
            t->tier[i].down * t->tier[i].bw_Bps / (t->tier[i].up * t->tier[i + 1].bw_Bps);
        if (!is_whole_htsim_number(over) || (uint32_t)llround(over) == 0 ||
            (i == 0 && t->tier[i].down / t->tier[i].up != (uint32_t)llround(over)))
            return refuse_tree("its oversubscription is a whole number of equal cables",
                               err);
    }
    return HALLEY_OK;
}

static void write_tree(strbuf *to, const tree_shape *t)
{
    const uint32_t podsize = t->n_tiers == 2 ? t->g->n_npus : t->podsize;
    strbuf_printf(to, "Nodes %u\nTiers %u\nPodsize %u\n", t->g->n_npus, t->n_tiers,
                  podsize);
    for (uint32_t i = 0; i < t->n_tiers; i++) {
        const tree_tier *tier = &t->tier[i];
        strbuf_printf(to, "\nTier %u\nDownlink_speed_Gbps %lld\nRadix_Down %u\n", i,
                      llround(tier->bw_Bps * 8e-9), tier->down);
        if (i + 1 < t->n_tiers) {
            strbuf_printf(to, "Radix_Up %u\n", tier->up);
            const long long over =
                llround(tier->down * tier->bw_Bps / (tier->up * t->tier[i + 1].bw_Bps));
            if (over > 1)
                strbuf_printf(to, "Oversubscribed %lld\n", over);
        }
        if (i > 0 && tier->bundle > 1)
            strbuf_printf(to, "Bundle %u\n", tier->bundle);
        strbuf_printf(to, "Downlink_Latency_ns %lld\n", llround(tier->latency_s * 1e9));
    }
}

static halley_status shape_tree(tree_shape *t, halley_error *err)
{
    TRY(find_tree_tiers(t, err));
    for (uint32_t i = 0; i < t->n_tiers; i++)
        TRY(measure_tier(t, i, err));
    TRY(check_hosts(t, err));
    TRY(check_pods(t, err));
    if (t->n_tiers == 2 && t->podsize != t->g->n_npus)
        return refuse_tree("some leaves have no common spine", err);
    if (t->n_tiers == 3)
        TRY(check_core(t, err));
    return check_numbers(t, err);
}

static halley_status write_htsim(strbuf *to, const void *from, const void *options,
                                 halley_error *err)
{
    const hw_graph *const g = from;
    (void)options;
    TRY(hw_require_known(g, "htsim", err));
    tree_shape t = {.g = g, .tier_of = mem_array(g->n_devices, sizeof *t.tier_of)};
    if (t.tier_of == NULL)
        return error_nomem(err);
    const halley_status status = shape_tree(&t, err);
    if (status == HALLEY_OK)
        write_tree(to, &t);
    free(t.tier_of);
    return status;
}

const format_row topology_export_htsim = {
    .name = "htsim", .doc = "htsim's .topo, for fat trees", .write = write_htsim};
