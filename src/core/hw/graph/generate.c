/*
 * hw/graph/generate.c - the table of generators, and code that they share.
 *
 * A generator counts before it builds. Sizes are computed in saturating 64-bit
 * arithmetic, so that a description of 10^12 devices is refused before anything is
 * allocated.
 */
#include "hw/graph/generate.h"

#include "base/number/number.h"
#include "hw/graph/measure.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const hw_generator *const generators[] = {
    &hw_gen_ring,           &hw_gen_torus,     &hw_gen_mesh,
    &hw_gen_twisted_torus,  &hw_gen_ocs_torus, &hw_gen_fully_connected,
    &hw_gen_switch,         &hw_gen_nvl,       &hw_gen_dgx1,
    &hw_gen_dims,           &hw_gen_fat_tree,  &hw_gen_leaf_spine,
    &hw_gen_rail_optimised, &hw_gen_rail_only, &hw_gen_dragonfly,
    &hw_gen_dragonfly_plus, &hw_gen_hyperx,    &hw_gen_slim_fly,
    &hw_gen_edges,          &hw_gen_file,
};
enum { N_GENERATORS = sizeof generators / sizeof *generators };

/* Alternative spellings of generator names. */
static const struct {
    const char *other, *name;
} aliases[] = {
    {"rail-optimized", "rail-optimised"},
    {"wafer", "mesh"},
    {"dragonfly-plus", "dragonfly+"},
};

const hw_generator *hw_generator_get(size_t i)
{
    return i < N_GENERATORS ? generators[i] : NULL;
}

const hw_generator *hw_generator_find(str name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (str_eq(name, str_from(aliases[i].other)))
            name = str_from(aliases[i].name);
    for (size_t i = 0; i < N_GENERATORS; i++)
        if (str_eq(name, str_from(generators[i]->name)))
            return generators[i];
    return NULL;
}

static halley_status refuse_generator(str name, halley_error *err)
{
    const char *names[N_GENERATORS];
    for (size_t i = 0; i < N_GENERATORS; i++)
        names[i] = generators[i]->name;
    const char *near = str_nearest(name, names, N_GENERATORS);
    if (near != NULL)
        return error_set(err, HALLEY_ENOTFOUND,
                         "unknown topology \"%.*s\"; did you mean %s?", STR_ARG(name),
                         near);
    return error_set(err, HALLEY_ENOTFOUND,
                     "unknown topology \"%.*s\"; known are ring, torus, fat-tree, "
                     "rail-optimised, dragonfly and others (halley help topology show)",
                     STR_ARG(name));
}

uint64_t hw_count_times(uint64_t a, uint64_t b)
{
    uint64_t product;
    if (a == UINT64_MAX || b == UINT64_MAX || __builtin_mul_overflow(a, b, &product))
        return a == 0 || b == 0 ? 0 : UINT64_MAX;
    return product;
}

uint64_t hw_count_plus(uint64_t a, uint64_t b)
{
    uint64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

halley_status hw_require_count(uint32_t value, const char *generator, const char *key,
                               halley_error *err)
{
    if (value > 0)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL, "%s needs %s, a whole number of at least 1",
                     generator, key);
}

static halley_status check_rate(double value, const char *key, halley_error *err)
{
    if (isfinite(value) && value > 0)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL, "%s must be positive, is %s B/s", key,
                     number_digits(value, 6).at);
}

static halley_status check_latency(double value, const char *key, halley_error *err)
{
    if (isfinite(value) && value >= 0)
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL, "%s must not be negative, is %s s", key,
                     number_digits(value, 6).at);
}

/* Defaults that all generators share: a 400 Gb/s cable without latency. */
static halley_status complete_links(hw_generator_params *p, halley_error *err)
{
    if (p->link_Bps == 0)
        p->link_Bps = 50e9;
    if (p->node_link_Bps == 0)
        p->node_link_Bps = p->link_Bps;
    if (p->nic_link_Bps == 0)
        p->nic_link_Bps = p->link_Bps;
    TRY(check_rate(p->link_Bps, "link", err));
    TRY(check_rate(p->node_link_Bps, "node-link", err));
    TRY(check_rate(p->nic_link_Bps, "nic-link", err));
    TRY(check_latency(p->latency_s, "latency", err));
    TRY(check_latency(p->node_latency_s, "node-latency", err));
    return check_latency(p->switch_latency_s, "switch-latency", err);
}

static halley_status count_graph(hw_counts *out, const hw_generator **row,
                                 hw_generator_params *p, halley_error *err)
{
    *row = hw_generator_find(p->topology);
    if (*row == NULL)
        return refuse_generator(p->topology, err);
    TRY(complete_links(p, err));
    memset(out, 0, sizeof *out);
    return (*row)->count(out, p, err);
}

halley_status hw_graph_complete(hw_counts *out, hw_generator_params *p, halley_error *err)
{
    const hw_generator *row;
    return count_graph(out, &row, p, err);
}

halley_status hw_graph_count(hw_counts *out, const hw_generator_params *p,
                             halley_error *err)
{
    hw_generator_params copy = *p;
    const hw_generator *row;
    return count_graph(out, &row, &copy, err);
}

uint64_t hw_counts_node_links(const hw_counts *c)
{
    const uint64_t others = c->cables - c->switch_cables;
    return c->node_switches == 0 ? 0 : others < c->npus ? others : c->npus;
}

double hw_counts_price(const hw_counts *c, const hw_price_params *price)
{
    assert(c->switches >= c->node_switches && c->cables >= c->switch_cables);
    return (double)c->npus * price->npu + (double)c->nics * price->nic +
           (double)c->node_switches * price->node_switch +
           (double)(c->switches - c->node_switches) * price->network_switch +
           (double)c->switch_cables * 2 * price->optical_end +
           (double)(c->cables - c->switch_cables - hw_counts_node_links(c)) *
               price->copper;
}

static halley_status check_size(const hw_counts *counts, halley_error *err)
{
    const uint64_t devices =
        hw_count_plus(hw_count_plus(counts->npus, counts->nics), counts->switches);
    if (devices <= HW_MAX_DEVICES && counts->cables <= HW_MAX_LINKS / 2)
        return HALLEY_OK;
    return error_set(err, HALLEY_ELIMIT,
                     "the network is too large to build: %s devices and %s cables, "
                     "at most %d and %d are supported",
                     number_digits((double)devices, 4).at,
                     number_digits((double)counts->cables, 4).at, HW_MAX_DEVICES,
                     HW_MAX_LINKS / 2);
}

/* Explicit networks do not state whether NPUs forward traffic. NPUs forward if they could
 * not reach each other otherwise. */
static halley_status give_connected(hw_graph **out, hw_graph *graph, halley_error *err)
{
    halley_status status = hw_graph_check_connected(graph, err);
    if (status == HALLEY_EINVAL && graph->names != NULL && !graph->is_imported) {
        for (uint32_t i = 0; i < graph->n_groups; i++)
            graph->groups[i].forwards = true;
        status = hw_graph_check_connected(graph, err);
    }
    if (status == HALLEY_OK)
        *out = graph;
    else
        hw_graph_free(graph);
    return status;
}

static halley_status build_row(hw_graph **out, const hw_generator *row,
                               const hw_generator_params *p, const hw_counts *counts,
                               halley_error *err)
{
    hw_builder b;
    (void)counts; /* used only by assert */
    if (row->make != NULL)
        return row->make(out, p, err);
    if (row->build == NULL)
        return error_set(err, HALLEY_EINVAL,
                         "%s can be counted, but halley does not know its cables",
                         row->name);
    hw_builder_init(&b, row->name);
    if (b.failed == HALLEY_OK)
        row->build(&b, p);
    assert(b.failed != HALLEY_OK || b.links.n == counts->cables);
    TRY(hw_builder_finish(out, &b, err));
    assert((*out)->n_npus == counts->npus && (*out)->n_switches == counts->switches);
    return HALLEY_OK;
}

halley_status hw_graph_generate(hw_graph **out, const hw_generator_params *p,
                                halley_error *err)
{
    hw_generator_params copy = *p;
    const hw_generator *row;
    hw_counts counts = {0};
    hw_graph *graph = NULL;
    TRY(count_graph(&counts, &row, &copy, err));
    TRY(check_size(&counts, err));
    TRY(build_row(&graph, row, &copy, &counts, err));
    const halley_status status = hw_faults_apply(graph, p->faults, p->n_faults, err);
    if (status == HALLEY_OK)
        return give_connected(out, graph, err);
    hw_graph_free(graph);
    return status;
}

uint32_t hw_add_npus(hw_builder *b, const hw_generator_params *p, uint32_t n,
                     uint32_t per_node, bool forwards)
{
    return hw_builder_add_group(b, &(hw_device_group){.name = "npu",
                                                      .kind = HW_DEVICE_NPU,
                                                      .n = n,
                                                      .per_node = per_node,
                                                      .forwards = forwards,
                                                      .cost_usd = p->cost.npu,
                                                      .power_w = p->power.npu});
}

uint32_t hw_add_switches(hw_builder *b, const hw_generator_params *p, const char *name,
                         uint32_t n, uint32_t tier)
{
    return hw_builder_add_group(b,
                                &(hw_device_group){.name = name,
                                                   .kind = HW_DEVICE_SWITCH,
                                                   .n = n,
                                                   .tier = tier,
                                                   .forwards = true,
                                                   .latency_s = p->switch_latency_s,
                                                   .cost_usd = p->cost.network_switch,
                                                   .power_w = p->power.network_switch});
}

uint32_t hw_add_node_switches(hw_builder *b, const hw_generator_params *p, uint32_t n,
                              uint32_t chips)
{
    return hw_builder_add_group(
        b, &(hw_device_group){.name = "nvswitch",
                              .kind = HW_DEVICE_SWITCH,
                              .n = n,
                              .tier = 1,
                              .per_node = 1,
                              .forwards = true,
                              .cost_usd = chips * p->cost.node_switch,
                              .power_w = chips * p->power.node_switch});
}

static double price_of_medium(const hw_price_params *price, hw_medium medium)
{
    if (medium == HW_MEDIUM_BOARD)
        return 0;
    return medium == HW_MEDIUM_COPPER ? price->copper : 2 * price->optical_end;
}

uint16_t hw_add_kind(hw_builder *b, const hw_generator_params *p, const char *name,
                     hw_medium medium, uint32_t tier, double bw_Bps, double latency_s)
{
    return hw_builder_add_kind(
        b, &(hw_link_kind){.name = name,
                           .medium = medium,
                           .tier = tier,
                           .bw_Bps = bw_Bps,
                           .latency_s = latency_s,
                           .cost_usd = price_of_medium(&p->cost, medium),
                           .power_w = price_of_medium(&p->power, medium)});
}
