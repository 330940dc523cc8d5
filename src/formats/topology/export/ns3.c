/*
 * topology/export/ns3.c - the topology text of ASTRA-sim's ns-3 back end: NPUs first,
 * then switches. A pair of opposite one-way links becomes one line with the reverse
 * direction ("@RATE/DELAY").
 */
#include "topology/export/export.h"

#include <stdlib.h>
#include <string.h>

/* The device of the file that a device of the graph is merged into; HW_NONE: none. */
typedef struct ns3_places {
    uint32_t *at;
    uint32_t n_npus, n_switches;
} ns3_places;

static halley_status refuse_kind(const hw_graph *g, uint32_t device, halley_error *err)
{
    char name[200];
    return hw_refuse_export(err,
                            "ns-3 text knows NPUs and switches, not %s (%s); --flatten "
                            "makes NICs part of their NPUs and leaves the rest out",
                            hw_graph_name(g, device, name, sizeof name),
                            hw_device_kind_name((hw_device_kind)g->dev_kind[device]));
}

/* The NPU nearest to a NIC, by breadth-first search through devices that are not switches
 * of the fabric. Ties go to the first in link order. */
static uint32_t find_nearest_npu(const hw_graph *g, uint32_t nic, uint32_t *queue,
                                 uint8_t *seen)
{
    uint32_t n = 0, found = HW_NONE;
    queue[n++] = nic;
    seen[nic] = 1;
    for (uint32_t i = 0; i < n && found == HW_NONE; i++)
        for (uint32_t k = g->dev_first[queue[i]];
             found == HW_NONE && k < g->dev_first[queue[i] + 1]; k++) {
            const uint32_t to = g->link_to[g->adj_link[k]];
            if (seen[to] || g->dev_kind[to] == HW_DEVICE_NIC ||
                g->dev_node[to] != g->dev_node[nic])
                continue;
            if (g->dev_kind[to] == HW_DEVICE_NPU)
                found = to;
            seen[to] = 1;
            queue[n++] = to;
        }
    for (uint32_t i = 0; i < n; i++)
        seen[queue[i]] = 0;
    return found;
}

static halley_status place_devices(ns3_places *p, const hw_graph *g, bool flatten,
                                   halley_error *err)
{
    uint32_t *queue = mem_array(g->n_devices, sizeof *queue);
    uint8_t *seen = mem_array_zero(g->n_devices, 1);
    halley_status status = queue == NULL || seen == NULL ? error_nomem(err) : HALLEY_OK;
    p->n_npus = g->n_npus;
    for (uint32_t i = 0; status == HALLEY_OK && i < g->n_devices; i++) {
        p->at[i] = HW_NONE;
        if (g->dev_kind[i] == HW_DEVICE_NPU)
            p->at[i] = i;
        else if (g->dev_kind[i] == HW_DEVICE_SWITCH)
            p->at[i] = g->n_npus + p->n_switches++;
        else if (!flatten)
            status = refuse_kind(g, i, err);
        else if (g->dev_kind[i] == HW_DEVICE_NIC)
            p->at[i] = find_nearest_npu(g, i, queue, seen);
    }
    free(queue);
    free(seen);
    return status;
}

static void write_ns3_file_rate(strbuf *to, const hw_graph *g, uint32_t link)
{
    hw_add_gbps(to, g->link_Bps[link]);
    strbuf_add(to, STR("Gbps"));
}

/* The opposite one-way link that no earlier link has used; HW_NONE: none. */
static uint32_t find_way_back(const hw_graph *g, uint32_t link, const uint8_t *taken)
{
    const uint32_t from = g->link_to[link];
    for (uint32_t i = g->dev_first[from]; i < g->dev_first[from + 1]; i++) {
        const uint32_t other = g->adj_link[i];
        if (other >= 2 * g->n_cables && !taken[other] &&
            g->link_to[other] == g->link_from[link])
            return other;
    }
    return HW_NONE;
}

static halley_status write_ns3_link(strbuf *to, const hw_graph *g, const ns3_places *p,
                                    uint32_t link, uint8_t *taken, halley_error *err)
{
    uint32_t back = HW_NONE;
    if (link >= 2 * g->n_cables) {
        char name[300];
        taken[link] = 1;
        back = find_way_back(g, link, taken);
        if (back == HW_NONE)
            return hw_refuse_export(err,
                                    "ns-3 text cannot hold %s, a link in one direction",
                                    hw_graph_link_name(g, link, name, sizeof name));
        taken[back] = 1;
    }
    strbuf_printf(to, "%u %u ", p->at[g->link_from[link]], p->at[g->link_to[link]]);
    write_ns3_file_rate(to, g, link);
    strbuf_add_char(to, ' ');
    hw_add_ns(to, g->link_latency_s[link]);
    strbuf_add(to, STR("ns 0"));
    if (back != HW_NONE) {
        strbuf_add(to, STR(" @"));
        write_ns3_file_rate(to, g, back);
        strbuf_add_char(to, '/');
        hw_add_ns(to, g->link_latency_s[back]);
        strbuf_add(to, STR("ns"));
    }
    strbuf_add_char(to, '\n');
    return HALLEY_OK;
}

static bool is_ns3_file_written(const hw_graph *g, const ns3_places *p, uint32_t link)
{
    const uint32_t from = p->at[g->link_from[link]], to = p->at[g->link_to[link]];
    return from != HW_NONE && to != HW_NONE && from != to;
}

static halley_status write_placed(strbuf *to, const hw_graph *g, const ns3_places *p,
                                  halley_error *err)
{
    uint8_t *taken = mem_array_zero(g->n_links, 1);
    strbuf lines = {0};
    uint32_t n = 0;
    halley_status status = taken == NULL ? error_nomem(err) : HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < g->n_links; i = hw_next_cable(g, i))
        if (is_ns3_file_written(g, p, i) && !taken[i]) {
            status = write_ns3_link(&lines, g, p, i, taken, err);
            n++;
        }
    if (status == HALLEY_OK && n == 0)
        status = hw_refuse_export(err, "ns-3 text cannot hold a network without links");
    if (status == HALLEY_OK) {
        strbuf_printf(to, "%u %u %u\n", p->n_npus + p->n_switches, p->n_switches, n);
        for (uint32_t i = 0; i < p->n_switches; i++)
            strbuf_printf(to, "%s%u", i == 0 ? "" : " ", p->n_npus + i);
        strbuf_add_char(to, '\n');
        strbuf_add(to, strbuf_str(&lines));
        to->failed |= lines.failed;
    }
    strbuf_fini(&lines);
    free(taken);
    return status;
}

static halley_status write_ns3(strbuf *to, const void *from, const void *options,
                               halley_error *err)
{
    const hw_graph *const g = from;
    const hw_export_options *const o = options;
    ns3_places p = {.at = mem_array(g->n_devices, sizeof *p.at)};
    if (p.at == NULL)
        return error_nomem(err);
    halley_status status = place_devices(&p, g, o->flatten, err);
    if (status == HALLEY_OK)
        status = hw_require_known(g, "ns-3 text", err);
    if (status == HALLEY_OK)
        status = write_placed(to, g, &p, err);
    free(p.at);
    return status;
}

const format_row topology_export_ns3 = {
    .name = "ns3", .doc = "text of ASTRA-sim's ns-3 back end", .write = write_ns3};
