/*
 * hw/graph/graph.c - the arrays of a graph, and how they are built and named.
 *
 * A builder collects groups of devices and a list of cables. Finishing writes the arrays
 * in one pass (a counting sort of the links by source device) and returns the graph.
 * Memory: 9 bytes per device, 30 bytes per directed link.
 */
#include "hw/graph/graph.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[HW_DEVICE_N_KINDS] = {
    "npu", "nic", "switch", "cpu", "host", "memory", "other"};

const char *hw_device_kind_name(hw_device_kind kind)
{
    assert(kind < HW_DEVICE_N_KINDS);
    return kind_names[kind];
}

void hw_graph_free(hw_graph *graph)
{
    if (graph == NULL)
        return;
    free(graph->dev_kind);
    free(graph->dev_node);
    free(graph->dev_first);
    free(graph->adj_link);
    free(graph->link_from);
    free(graph->link_to);
    free(graph->link_kind);
    free(graph->link_Bps);
    free(graph->link_latency_s);
    arena_fini(&graph->memory);
    free(graph);
}

size_t hw_graph_size_bytes(const hw_graph *graph)
{
    const size_t per_device = sizeof(uint8_t) + 2 * sizeof(uint32_t);
    const size_t per_link = 3 * sizeof(uint32_t) + sizeof(uint16_t) + 2 * sizeof(double);
    return graph->n_devices * per_device + graph->n_links * per_link;
}

const hw_device_group *hw_graph_group(const hw_graph *graph, uint32_t device)
{
    assert(device < graph->n_devices && graph->n_groups > 0);
    uint32_t low = 0, high = graph->n_groups;
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (graph->groups[middle].first <= device)
            low = middle;
        else
            high = middle;
    }
    assert(device - graph->groups[low].first < graph->groups[low].n);
    return &graph->groups[low];
}

const char *hw_graph_name(const hw_graph *graph, uint32_t device, char *to, size_t size)
{
    if (graph->names != NULL) {
        snprintf(to, size, "%s", graph->names[device]);
        return to;
    }
    const hw_device_group *group = hw_graph_group(graph, device);
    snprintf(to, size, "%s%u", group->name, device - group->first);
    return to;
}

/* The number of links between the same two devices with a lower id. */
static uint32_t count_parallel_before(const hw_graph *graph, uint32_t link)
{
    const uint32_t from = graph->link_from[link];
    uint32_t n = 0;
    for (uint32_t i = graph->dev_first[from]; i < graph->dev_first[from + 1]; i++)
        if (graph->adj_link[i] < link &&
            graph->link_to[graph->adj_link[i]] == graph->link_to[link])
            n++;
    return n;
}

const char *hw_graph_link_name(const hw_graph *graph, uint32_t link, char *to,
                               size_t size)
{
    assert(link < graph->n_links);
    char from[128], onto[128];
    hw_graph_name(graph, graph->link_from[link], from, sizeof from);
    hw_graph_name(graph, graph->link_to[link], onto, sizeof onto);
    const uint32_t n_before = count_parallel_before(graph, link);
    if (n_before == 0)
        snprintf(to, size, "%s-%s", from, onto);
    else
        snprintf(to, size, "%s-%s#%u", from, onto, n_before);
    return to;
}

static uint32_t find_stored_name(const hw_graph *graph, str name)
{
    for (uint32_t i = 0; i < graph->n_devices; i++)
        if (str_eq(str_from(graph->names[i]), name))
            return i;
    return HW_NONE;
}

uint32_t hw_graph_find(const hw_graph *graph, str name)
{
    if (graph->names != NULL)
        return find_stored_name(graph, name);
    for (uint32_t i = 0; i < graph->n_groups; i++) {
        const hw_device_group *group = &graph->groups[i];
        const str prefix = str_from(group->name);
        uint64_t number;
        if (!str_starts(name, prefix) || name.n == prefix.n)
            continue;
        const str digits = {name.at + prefix.n, name.n - prefix.n};
        if (str_to_u64(digits, &number) && number < group->n &&
            (digits.n == 1 || digits.at[0] != '0'))
            return group->first + (uint32_t)number;
    }
    return HW_NONE;
}

void hw_builder_init(hw_builder *b, const char *generator)
{
    memset(b, 0, sizeof *b);
    b->graph = mem_array_zero(1, sizeof *b->graph);
    if (b->graph == NULL)
        b->failed = HALLEY_ENOMEM;
    else
        b->graph->generator = generator;
}

uint32_t hw_builder_add_group(hw_builder *b, const hw_device_group *group)
{
    const uint32_t first = b->n_devices;
    if (b->failed != HALLEY_OK || group->n == 0)
        return first;
    if (group->n > HW_MAX_DEVICES - first) {
        b->failed = HALLEY_ELIMIT;
        return first;
    }
    hw_device_group copy = *group;
    copy.first = first;
    copy.name = arena_copy(&b->graph->memory, str_from(group->name));
    if (copy.name == NULL || !array_push(&b->groups, copy))
        b->failed = HALLEY_ENOMEM;
    else
        b->n_devices += group->n;
    return first;
}

uint32_t hw_builder_add_device(hw_builder *b, hw_device_kind kind, str name)
{
    const uint32_t id = b->n_devices;
    hw_device_group *last = b->groups.n == 0 ? NULL : &b->groups.at[b->groups.n - 1];
    assert(b->names.n == b->n_devices);
    if (last != NULL && last->kind == kind && id < HW_MAX_DEVICES) {
        last->n++;
        b->n_devices++;
    } else {
        hw_builder_add_group(b, &(hw_device_group){.name = kind_names[kind],
                                                   .kind = kind,
                                                   .n = 1,
                                                   .tier = kind == HW_DEVICE_SWITCH,
                                                   .forwards = kind != HW_DEVICE_NPU});
    }
    const char *copy =
        b->failed == HALLEY_OK ? arena_copy(&b->graph->memory, name) : NULL;
    if (b->failed == HALLEY_OK && (copy == NULL || !array_push(&b->names, copy)))
        b->failed = HALLEY_ENOMEM;
    return id;
}

static bool is_same_kind(const hw_link_kind *a, const hw_link_kind *b)
{
    return strcmp(a->name, b->name) == 0 && a->medium == b->medium &&
           a->tier == b->tier && a->bw_Bps == b->bw_Bps && a->latency_s == b->latency_s &&
           a->cost_usd == b->cost_usd && a->power_w == b->power_w;
}

uint16_t hw_builder_add_kind(hw_builder *b, const hw_link_kind *kind)
{
    for (size_t i = 0; i < b->kinds.n; i++)
        if (is_same_kind(&b->kinds.at[i], kind))
            return (uint16_t)i;
    if (b->failed != HALLEY_OK)
        return 0;
    hw_link_kind copy = *kind;
    copy.name = arena_copy(&b->graph->memory, str_from(kind->name));
    if (b->kinds.n >= UINT16_MAX)
        b->failed = HALLEY_ELIMIT;
    else if (copy.name == NULL || !array_push(&b->kinds, copy))
        b->failed = HALLEY_ENOMEM;
    return b->failed == HALLEY_OK ? (uint16_t)(b->kinds.n - 1) : 0;
}

void hw_builder_add_link(hw_builder *b, const hw_raw_link *link)
{
    if (b->failed != HALLEY_OK)
        return;
    assert(link->from < b->n_devices && link->to < b->n_devices);
    assert(link->from != link->to && link->kind < b->kinds.n);
    if (b->links.n >= HW_MAX_LINKS / 2)
        b->failed = HALLEY_ELIMIT;
    else if (!array_push(&b->links, *link))
        b->failed = HALLEY_ENOMEM;
    else
        b->n_one_way += link->one_way;
}

void hw_builder_add_cable(hw_builder *b, uint32_t from, uint32_t to, uint16_t kind)
{
    if (b->failed != HALLEY_OK)
        return;
    hw_builder_add_link(b, &(hw_raw_link){.from = from,
                                          .to = to,
                                          .kind = kind,
                                          .bw_Bps = b->kinds.at[kind].bw_Bps,
                                          .latency_s = b->kinds.at[kind].latency_s});
}

void hw_builder_note(hw_builder *b, const char *format, ...)
{
    if (b->failed != HALLEY_OK)
        return;
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *old = b->graph->note;
    b->graph->note = old == NULL ? arena_copy(&b->graph->memory, str_from(text))
                                 : arena_printf(&b->graph->memory, "%s; %s", old, text);
    if (b->graph->note == NULL)
        b->failed = HALLEY_ENOMEM;
}

static bool allocate_arrays(hw_graph *g)
{
    g->dev_kind = mem_array(g->n_devices, sizeof *g->dev_kind);
    g->dev_node = mem_array(g->n_devices, sizeof *g->dev_node);
    g->dev_first = mem_array_zero((size_t)g->n_devices + 1, sizeof *g->dev_first);
    g->adj_link = mem_array(g->n_links, sizeof *g->adj_link);
    g->link_from = mem_array(g->n_links, sizeof *g->link_from);
    g->link_to = mem_array(g->n_links, sizeof *g->link_to);
    g->link_kind = mem_array(g->n_links, sizeof *g->link_kind);
    g->link_Bps = mem_array(g->n_links, sizeof *g->link_Bps);
    g->link_latency_s = mem_array(g->n_links, sizeof *g->link_latency_s);
    return g->dev_kind != NULL && g->dev_node != NULL && g->dev_first != NULL &&
           g->adj_link != NULL && g->link_from != NULL && g->link_to != NULL &&
           g->link_kind != NULL && g->link_Bps != NULL && g->link_latency_s != NULL;
}

static void write_link(hw_graph *g, uint32_t id, const hw_raw_link *raw, bool back)
{
    g->link_from[id] = back ? raw->to : raw->from;
    g->link_to[id] = back ? raw->from : raw->to;
    g->link_kind[id] = raw->kind;
    g->link_Bps[id] = raw->bw_Bps;
    g->link_latency_s[id] = raw->latency_s;
}

/* Cables first, then one-way links, each in the order of the builder. */
static void write_links(hw_graph *g, const hw_builder *b)
{
    uint32_t cable = 0, one_way = 2 * g->n_cables;
    for (size_t i = 0; i < b->links.n; i++) {
        const hw_raw_link *raw = &b->links.at[i];
        if (raw->one_way) {
            write_link(g, one_way++, raw, false);
            continue;
        }
        write_link(g, 2 * cable, raw, false);
        write_link(g, 2 * cable + 1, raw, true);
        cable++;
    }
    assert(cable == g->n_cables && one_way == g->n_links);
}

static void write_adjacency(hw_graph *g)
{
    for (uint32_t i = 0; i < g->n_links; i++)
        g->dev_first[g->link_from[i] + 1]++;
    for (uint32_t i = 0; i < g->n_devices; i++)
        g->dev_first[i + 1] += g->dev_first[i];
    for (uint32_t i = 0; i < g->n_links; i++) /* advances dev_first, */
        g->adj_link[g->dev_first[g->link_from[i]]++] = i;
    for (uint32_t i = g->n_devices; i > 0; i--) /* restores it */
        g->dev_first[i] = g->dev_first[i - 1];
    g->dev_first[0] = 0;
    assert(g->dev_first[g->n_devices] == g->n_links);
}

static void write_devices(hw_graph *g)
{
    for (uint32_t i = 0; i < g->n_groups; i++) {
        const hw_device_group *group = &g->groups[i];
        for (uint32_t k = 0; k < group->n; k++) {
            g->dev_kind[group->first + k] = (uint8_t)group->kind;
            g->dev_node[group->first + k] =
                group->per_node > 0 ? k / group->per_node : HW_NONE;
        }
        g->n_npus += group->kind == HW_DEVICE_NPU ? group->n : 0;
        g->n_nics += group->kind == HW_DEVICE_NIC ? group->n : 0;
        g->n_switches += group->kind == HW_DEVICE_SWITCH ? group->n : 0;
    }
}

static void *copy_to_arena(arena *a, const void *from, size_t n, size_t size)
{
    void *to = arena_array(a, n == 0 ? 1 : n, size);
    if (to != NULL && n > 0)
        memcpy(to, from, n * size);
    return to;
}

static bool freeze_graph(hw_builder *b)
{
    hw_graph *g = b->graph;
    g->n_devices = b->n_devices;
    g->n_cables = (uint32_t)b->links.n - b->n_one_way;
    g->n_links = 2 * g->n_cables + b->n_one_way;
    g->n_groups = (uint32_t)b->groups.n;
    g->n_kinds = (uint32_t)b->kinds.n;
    g->groups = copy_to_arena(&g->memory, b->groups.at, b->groups.n, sizeof *g->groups);
    g->kinds = copy_to_arena(&g->memory, b->kinds.at, b->kinds.n, sizeof *g->kinds);
    if (b->names.n > 0)
        g->names = copy_to_arena(&g->memory, b->names.at, b->names.n, sizeof *g->names);
    if (g->groups == NULL || g->kinds == NULL || (b->names.n > 0 && g->names == NULL) ||
        !allocate_arrays(g))
        return false;
    write_devices(g);
    write_links(g, b);
    write_adjacency(g);
    return true;
}

halley_status hw_builder_finish(hw_graph **out, hw_builder *b, halley_error *err)
{
    halley_status status = b->failed;
    if (status == HALLEY_OK && !freeze_graph(b))
        status = HALLEY_ENOMEM;
    if (status == HALLEY_OK) {
        *out = b->graph;
        b->graph = NULL;
    }
    hw_builder_fini(b);
    if (status == HALLEY_ELIMIT)
        return error_set(err, status,
                         "the network is too large: at most %d devices, %d links and "
                         "%d kinds of links are supported",
                         HW_MAX_DEVICES, HW_MAX_LINKS, UINT16_MAX);
    return status == HALLEY_OK ? HALLEY_OK : error_nomem(err);
}

void hw_builder_fini(hw_builder *b)
{
    array_fini(&b->groups);
    array_fini(&b->kinds);
    array_fini(&b->links);
    array_fini(&b->names);
    hw_graph_free(b->graph);
    b->graph = NULL;
}
