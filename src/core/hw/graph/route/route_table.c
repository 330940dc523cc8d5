/*
 * hw/graph/route/route_table.c - next links by breadth-first search from the destination.
 *
 * The search passes only through devices that forward, over links that are up. With the
 * rule up-down, a path must first go up and then down. A device above the destination
 * uses only links down. Any other device uses only links up.
 */
#include "hw/graph/route/route_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Tables beyond this size are dropped and recomputed when needed. */
static const size_t most_table_bytes = (size_t)512 << 20;
#define GROUP_KEY (UINT64_C(1) << 32)

static void free_next(next_links *next)
{
    free(next->hops);
    free(next->first);
    free(next->links);
}

static bool init_next(next_links *next, const hw_graph *g)
{
    next->hops = mem_array(g->n_devices, sizeof *next->hops);
    next->first = mem_array((size_t)g->n_devices + 1, sizeof *next->first);
    next->links = mem_array(g->n_links, sizeof *next->links);
    if (next->hops != NULL)
        memset(next->hops, 0xff, g->n_devices * sizeof *next->hops);
    return next->hops != NULL && next->first != NULL && next->links != NULL;
}

static uint32_t tier_of(const hw_router *r, uint32_t device)
{
    return hw_graph_group(r->graph, device)->tier;
}

/* Compute distances from the devices that are already in the queue. */
static void search_back(hw_router *r, next_links *next, uint32_t n)
{
    const hw_graph *g = r->graph;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t d = r->queue[i];
        if (next->hops[d] > 0 && r->forwards[d] == 0)
            continue;
        for (uint32_t k = r->in_first[d]; k < r->in_first[d + 1]; k++) {
            const uint32_t link = r->in_link[k], from = g->link_from[link];
            if (g->link_Bps[link] != 0 && next->hops[from] == HW_NONE) {
                next->hops[from] = next->hops[d] + 1;
                r->queue[n++] = from;
            }
        }
    }
}

/* Up-down: first everything above the destination, by links down; then the rest, by links
 * up, nearest first. */
static void search_up_down(hw_router *r, next_links *next, uint32_t n)
{
    const hw_graph *g = r->graph;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = r->in_first[r->queue[i]]; k < r->in_first[r->queue[i] + 1];
             k++) {
            const uint32_t link = r->in_link[k], from = g->link_from[link];
            if (g->link_Bps[link] != 0 && next->hops[from] == HW_NONE &&
                tier_of(r, from) > tier_of(r, r->queue[i])) {
                next->hops[from] = next->hops[r->queue[i]] + 1;
                r->queue[n++] = from;
            }
        }
    /* From the highest tier down, a device that is not above the destination uses the
     * nearest of its parents. */
    uint32_t highest = 0;
    for (uint32_t i = 0; i < g->n_groups; i++)
        highest = g->groups[i].tier > highest ? g->groups[i].tier : highest;
    for (uint32_t tier = highest; tier-- > 0;)
        for (uint32_t d = 0; d < g->n_devices; d++) {
            if (next->hops[d] != HW_NONE || tier_of(r, d) != tier)
                continue;
            for (uint32_t k = g->dev_first[d]; k < g->dev_first[d + 1]; k++) {
                const uint32_t link = g->adj_link[k], to = g->link_to[link];
                if (g->link_Bps[link] != 0 && tier_of(r, to) > tier &&
                    next->hops[to] < HW_NONE && next->hops[to] + 1 < next->hops[d])
                    next->hops[d] = next->hops[to] + 1;
            }
        }
}

/* True if a link leads one step closer. */
static bool leads_closer(const hw_router *r, const next_links *next, uint32_t link,
                         bool is_above)
{
    const hw_graph *g = r->graph;
    const uint32_t from = g->link_from[link], to = g->link_to[link];
    if (g->link_Bps[link] == 0 || next->hops[to] == HW_NONE ||
        next->hops[to] + 1 != next->hops[from])
        return false;
    if (r->options.routing == HW_ROUTING_UP_DOWN)
        return is_above ? tier_of(r, to) < tier_of(r, from)
                        : tier_of(r, to) > tier_of(r, from);
    return next->hops[to] == 0 || r->forwards[to] != 0;
}

/* True if the destination is below the device: some link down leads closer. */
static bool is_above_target(const hw_router *r, const next_links *next, uint32_t device)
{
    const hw_graph *g = r->graph;
    if (r->options.routing != HW_ROUTING_UP_DOWN)
        return false;
    for (uint32_t k = g->dev_first[device]; k < g->dev_first[device + 1]; k++)
        if (leads_closer(r, next, g->adj_link[k], true))
            return true;
    return false;
}

static void collect_links(hw_router *r, next_links *next)
{
    const hw_graph *g = r->graph;
    uint32_t n = 0;
    for (uint32_t d = 0; d < g->n_devices; d++) {
        next->first[d] = n;
        if (next->hops[d] == HW_NONE || next->hops[d] == 0)
            continue;
        const bool is_above = is_above_target(r, next, d);
        for (uint32_t k = g->dev_first[d]; k < g->dev_first[d + 1]; k++)
            if (leads_closer(r, next, g->adj_link[k], is_above))
                next->links[n++] = g->adj_link[k];
    }
    next->first[g->n_devices] = n;
    uint32_t *fitting = realloc(next->links, (n + 1) * sizeof *fitting);
    if (fitting != NULL)
        next->links = fitting;
}

static void drop_tables(hw_router *r)
{
    for (size_t i = 0; i < r->tables.n; i++)
        free_next(&r->tables.at[i]);
    r->tables.n = 0;
    r->table_bytes = 0;
    r->last_class = HW_NONE;
    map64_fini(&r->classes);
}

/* The table of a class, looked up or made from the n devices in the queue. */
static const next_links *make_next(hw_router *r, uint64_t key, uint32_t n)
{
    if (r->table_bytes > most_table_bytes)
        drop_tables(r);
    next_links next = {0};
    if (!init_next(&next, r->graph) || !array_reserve(&r->tables, 1) ||
        !map64_set(&r->classes, key, (uint32_t)r->tables.n)) {
        free_next(&next);
        return NULL;
    }
    for (uint32_t i = 0; i < n; i++)
        next.hops[r->queue[i]] = 0;
    if (r->options.routing == HW_ROUTING_UP_DOWN)
        search_up_down(r, &next, n);
    else
        search_back(r, &next, n);
    collect_links(r, &next);
    r->table_bytes +=
        (size_t)r->graph->n_devices * 8 + (size_t)next.first[r->graph->n_devices] * 4;
    r->tables.at[r->tables.n++] = next;
    return &r->tables.at[r->tables.n - 1];
}

const next_links *hw_next_links(hw_router *r, uint32_t device)
{
    assert(device < r->graph->n_devices);
    if (device == r->last_class && r->tables.n > r->last_table)
        return &r->tables.at[r->last_table];
    const uint32_t found = map64_find(&r->classes, device);
    if (found != HASH_NONE) {
        r->last_class = device;
        r->last_table = found;
        return &r->tables.at[found];
    }
    r->queue[0] = device;
    return make_next(r, device, 1);
}

const next_links *hw_next_links_group(hw_router *r, uint32_t group)
{
    const hw_graph *g = r->graph;
    const uint32_t found = map64_find(&r->classes, GROUP_KEY + group);
    if (found != HASH_NONE)
        return &r->tables.at[found];
    uint32_t n = 0;
    const uint32_t per_group = g->dims[0] * g->dims[1];
    for (uint32_t i = group * per_group; i < (group + 1) * per_group; i++) {
        const uint32_t router = g->link_to[g->adj_link[g->dev_first[i]]];
        if (n == 0 || r->queue[n - 1] != router)
            r->queue[n++] = router;
    }
    return make_next(r, GROUP_KEY + group, n);
}

uint32_t hw_class_of(const hw_router *r, uint32_t npu, uint32_t *last)
{
    assert(npu < r->graph->n_npus);
    *last = r->port[npu];
    if (*last == HW_NONE)
        return npu;
    return r->graph->link_from[*last];
}

static bool index_arrivals(hw_router *r)
{
    const hw_graph *g = r->graph;
    r->in_first = mem_array_zero((size_t)g->n_devices + 1, sizeof *r->in_first);
    r->in_link = mem_array(g->n_links, sizeof *r->in_link);
    r->port = mem_array(g->n_npus, sizeof *r->port);
    if (r->in_first == NULL || r->in_link == NULL || r->port == NULL)
        return false;
    for (uint32_t i = 0; i < g->n_links; i++)
        r->in_first[g->link_to[i] + 1]++;
    for (uint32_t i = 0; i < g->n_devices; i++)
        r->in_first[i + 1] += r->in_first[i];
    for (uint32_t i = 0; i < g->n_links; i++)
        r->in_link[r->in_first[g->link_to[i]]++] = i;
    for (uint32_t i = g->n_devices; i > 0; i--)
        r->in_first[i] = r->in_first[i - 1];
    r->in_first[0] = 0;
    for (uint32_t i = 0; i < g->n_npus; i++) {
        r->port[i] = HW_NONE;
        if (r->in_first[i + 1] - r->in_first[i] != 1)
            continue;
        const uint32_t link = r->in_link[r->in_first[i]];
        const bool single =
            g->link_Bps[link] != 0 && r->forwards[g->link_from[link]] != 0;
        if (single)
            r->port[i] = link;
    }
    return true;
}

static bool init_router(hw_router *r)
{
    const hw_graph *g = r->graph;
    r->forwards = mem_array(g->n_devices, 1);
    r->passing_s = mem_array(g->n_devices, sizeof *r->passing_s);
    r->last_class = HW_NONE;
    r->share = mem_array_zero(g->n_devices, sizeof *r->share);
    r->far_s = mem_array(g->n_devices, sizeof *r->far_s);
    r->front = mem_array(g->n_devices, sizeof *r->front);
    r->next_front = mem_array(g->n_devices, sizeof *r->next_front);
    r->link_share = mem_array_zero(g->n_links, sizeof *r->link_share);
    r->queue = mem_array(g->n_devices, sizeof *r->queue);
    if (r->forwards == NULL || r->passing_s == NULL || r->share == NULL ||
        r->far_s == NULL || r->front == NULL || r->next_front == NULL ||
        r->link_share == NULL || r->queue == NULL)
        return false;
    for (uint32_t i = 0; i < g->n_groups; i++)
        for (uint32_t k = 0; k < g->groups[i].n; k++)
            r->passing_s[g->groups[i].first + k] = g->groups[i].latency_s;
    for (uint32_t i = 0; i < g->n_groups; i++)
        memset(&r->forwards[g->groups[i].first], g->groups[i].forwards, g->groups[i].n);
    return index_arrivals(r);
}

static bool has_axes(const hw_graph *g)
{
    for (uint32_t i = 0; i < g->n_dims; i++)
        if (g->axes[i] == HW_AXIS_NONE)
            return false;
    return g->n_dims > 0;
}

static halley_status check_options(hw_router *r, halley_error *err)
{
    const bool axes = has_axes(r->graph);
    hw_route_options *o = &r->options;
    if (o->routing == HW_ROUTING_DEFAULT)
        o->routing = axes ? HW_ROUTING_DIMENSION_ORDER : HW_ROUTING_SPRAY;
    if (o->routing == HW_ROUTING_DIMENSION_ORDER && !axes) {
        if (strcmp(r->graph->generator, "twisted-torus") != 0 &&
            strcmp(r->graph->generator, "ocs-torus") != 0)
            return error_set(err, HALLEY_EINVAL,
                             "routing dimension-order needs a torus, mesh or dims; use "
                             "spray for a %s",
                             r->graph->generator);
        o->routing = HW_ROUTING_SPRAY; /* dimension order is not minimal on a twist */
    }
    if (o->routing == HW_ROUTING_VALIANT &&
        strncmp(r->graph->generator, "dragonfly", 9) != 0)
        return error_set(err, HALLEY_EINVAL,
                         "routing valiant needs a dragonfly, not a %s",
                         r->graph->generator);
    return o->routing == HW_ROUTING_TABLE ? hw_check_table(r, err) : HALLEY_OK;
}

bool hw_router_sprays(const hw_router *router)
{
    const hw_route_options *o = &router->options;
    return (o->routing == HW_ROUTING_SPRAY || o->routing == HW_ROUTING_MINIMAL) &&
           !o->weighted;
}

halley_status hw_router_new(hw_router **out, const hw_graph *graph,
                            const hw_route_options *options, halley_error *err)
{
    hw_router *r = mem_array_zero(1, sizeof *r);
    if (r == NULL)
        return error_nomem(err);
    r->graph = graph;
    r->options = *options;
    halley_status status = init_router(r) ? HALLEY_OK : error_nomem(err);
    if (status == HALLEY_OK)
        status = check_options(r, err);
    if (status == HALLEY_OK)
        *out = r;
    else
        hw_router_free(r);
    return status;
}

void hw_router_free(hw_router *r)
{
    if (r == NULL)
        return;
    drop_tables(r);
    array_fini(&r->tables);
    free(r->forwards);
    free(r->passing_s);
    free(r->in_first);
    free(r->in_link);
    free(r->port);
    free(r->hops.at);
    free(r->share);
    free(r->far_s);
    free(r->front);
    free(r->next_front);
    free(r->link_share);
    free(r->queue);
    free(r);
}
