/*
 * hw/graph/generators/gen_edges.c - an explicit network: devices and the cables between
 * them.
 *
 * NPUs have the first ids. They forward traffic only if the network would not be
 * connected otherwise; hw_graph_generate finds this out.
 */
#include "base/number/number.h"
#include "hw/graph/generate.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>

static const char *name_device(const hw_generator_params *p, uint32_t i, char *to,
                               size_t size)
{
    if (p->devices[i].name.n > 0)
        snprintf(to, size, "%.*s", STR_ARG(p->devices[i].name));
    else
        snprintf(to, size, "device %u", i);
    return to;
}

static halley_status check_edge(const hw_generator_params *p, uint32_t i,
                                halley_error *err)
{
    const hw_edge_params *e = &p->edges[i];
    char from[64], to[64];
    if (e->from >= p->n_devices || e->to >= p->n_devices)
        return error_set(err, HALLEY_EINVAL,
                         "edge %u leads to device %u, which does not exist: there are %u "
                         "devices",
                         i, e->from >= p->n_devices ? e->from : e->to, p->n_devices);
    name_device(p, e->from, from, sizeof from);
    name_device(p, e->to, to, sizeof to);
    if (e->from == e->to)
        return error_set(err, HALLEY_EINVAL, "edge %u joins %s to itself", i, from);
    if (e->bw_Bps != HW_UNKNOWN && !(isfinite(e->bw_Bps) && e->bw_Bps > 0))
        return error_set(err, HALLEY_EINVAL,
                         "edge %u, %s to %s: bandwidth must be positive, is %s B/s", i,
                         from, to, number_digits(e->bw_Bps, 6).at);
    if (e->latency_s != HW_UNKNOWN && !(isfinite(e->latency_s) && e->latency_s >= 0))
        return error_set(err, HALLEY_EINVAL,
                         "edge %u, %s to %s: latency must not be negative, is %s s", i,
                         from, to, number_digits(e->latency_s, 6).at);
    return HALLEY_OK;
}

static halley_status count_edges(hw_counts *out, hw_generator_params *p,
                                 halley_error *err)
{
    for (uint32_t i = 0; i < p->n_devices; i++) {
        out->npus += p->devices[i].kind == HW_DEVICE_NPU;
        out->nics += p->devices[i].kind == HW_DEVICE_NIC;
        out->switches += p->devices[i].kind == HW_DEVICE_SWITCH;
    }
    if (out->npus == 0)
        return error_set(err, HALLEY_EINVAL,
                         "a network of edges needs npus, the number of NPUs, or devices");
    for (uint32_t i = 0; i < p->n_edges; i++) {
        TRY(check_edge(p, i, err));
        out->cables = hw_count_plus(out->cables, p->edges[i].cables);
    }
    return HALLEY_OK;
}

static void build_edges(hw_builder *b, const hw_generator_params *p)
{
    for (uint32_t i = 0; i < p->n_devices; i++)
        hw_builder_add_device(b, (hw_device_kind)p->devices[i].kind, p->devices[i].name);
    for (uint32_t i = 0; i < p->n_edges; i++) {
        const hw_edge_params *e = &p->edges[i];
        const uint16_t kind =
            hw_add_kind(b, p, "edge", HW_MEDIUM_COPPER, 1, e->bw_Bps, e->latency_s);
        for (uint32_t k = 0; k < e->cables; k++)
            hw_builder_add_link(b, &(hw_raw_link){.from = e->from,
                                                  .to = e->to,
                                                  .kind = kind,
                                                  .bw_Bps = e->bw_Bps,
                                                  .latency_s = e->latency_s,
                                                  .one_way = e->one_way});
    }
    b->graph->n_dims = 1;
    for (uint32_t i = 0; i < p->n_devices; i++)
        b->graph->dims[0] += p->devices[i].kind == HW_DEVICE_NPU;
}

const hw_generator hw_gen_edges = {
    "edges",
    "edges npus switches devices",
    count_edges,
    build_edges,
    "devices and cables, written out",
    NULL,
    "{topology: edges, npus: 4, switches: 1, edges: [[0, 4], [1, 4], [2, 4], [3, 4]], "
    "link: 50 GB/s, latency: 500 ns}"};
