/*
 * hw/graph/route/route_load.c - the load of an all-to-all on every link, with even
 * spraying over shortest paths.
 *
 * For every destination class, the messages of all sources are put on the graph of
 * shortest paths. They are split evenly, from far to near. This takes O(classes * links)
 * instead of a route for each pair. NPUs with a single cable need no search: their
 * messages start at their switch, and their cable carries n - 1 messages in each
 * direction.
 */
#include "hw/graph/route/route_table.h"

#include <assert.h>
#include <stdlib.h>

/* A link between devices other than NPUs with a single cable. */
typedef struct core_link {
    uint32_t to, link;
} core_link;

typedef struct all_to_all {
    hw_router *r;
    double *load;
    uint32_t *first;              /* n_devices + 1 */
    core_link *out;               /* links that leave a device */
    uint32_t *in_first, *in_from; /* sources of incoming links */
    uint32_t *starts;             /* messages to one destination that start at a device */
    uint32_t *hops, *queue;
    double *passing;
    uint32_t n; /* devices in the queue */
} all_to_all;

/* True if an NPU has one cable, to a device that forwards and is not such an NPU itself
 * (as in a ring of two). */
static bool is_leaf_npu(const hw_router *r, uint32_t device)
{
    const hw_graph *g = r->graph;
    if (device >= g->n_npus || r->port[device] == HW_NONE)
        return false;
    const uint32_t above = g->link_from[r->port[device]];
    assert(above < g->n_devices && above != device);
    if (above < g->n_npus && r->port[above] != HW_NONE)
        return false;
    const uint32_t out = g->adj_link[g->dev_first[device]];
    return g->dev_first[device + 1] - g->dev_first[device] == 1 &&
           g->link_Bps[out] != 0 && g->link_to[out] == g->link_from[r->port[device]];
}

static bool is_core_link(const hw_router *r, uint32_t link)
{
    const hw_graph *g = r->graph;
    return g->link_Bps[link] != 0 && !is_leaf_npu(r, g->link_from[link]) &&
           !is_leaf_npu(r, g->link_to[link]);
}

static bool init_core(all_to_all *a)
{
    const hw_graph *g = a->r->graph;
    const size_t n = (size_t)g->n_devices + 1;
    a->first = mem_array_zero(n, sizeof *a->first);
    a->out = mem_array(g->n_links, sizeof *a->out);
    a->in_first = mem_array_zero(n, sizeof *a->in_first);
    a->in_from = mem_array(g->n_links, sizeof *a->in_from);
    a->starts = mem_array_zero(n, sizeof *a->starts);
    a->hops = mem_array(n, sizeof *a->hops);
    a->queue = mem_array(n, sizeof *a->queue);
    a->passing = mem_array_zero(n, sizeof *a->passing);
    return a->first != NULL && a->out != NULL && a->in_first != NULL &&
           a->in_from != NULL && a->starts != NULL && a->hops != NULL &&
           a->queue != NULL && a->passing != NULL;
}

static void collect_core(all_to_all *a)
{
    const hw_router *r = a->r;
    const hw_graph *g = r->graph;
    uint32_t n_out = 0, n_in = 0;
    for (uint32_t d = 0; d < g->n_devices; d++) {
        for (uint32_t i = g->dev_first[d]; i < g->dev_first[d + 1]; i++)
            if (is_core_link(r, g->adj_link[i]))
                a->out[n_out++] = (core_link){g->link_to[g->adj_link[i]], g->adj_link[i]};
        for (uint32_t i = r->in_first[d]; i < r->in_first[d + 1]; i++)
            if (is_core_link(r, r->in_link[i]))
                a->in_from[n_in++] = g->link_from[r->in_link[i]];
        a->first[d + 1] = n_out;
        a->in_first[d + 1] = n_in;
        a->hops[d] = HW_NONE;
    }
    for (uint32_t i = 0; i < g->n_npus; i++) {
        const bool leaf = is_leaf_npu(r, i);
        a->starts[leaf ? g->link_from[r->port[i]] : i]++;
    }
}

/* Compute distances to a device; the queue has the nearest first. */
static void search_core(all_to_all *a, uint32_t target)
{
    a->n = 1;
    a->queue[0] = target;
    a->hops[target] = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        const uint32_t d = a->queue[i];
        if (i > 0 && a->r->forwards[d] == 0)
            continue;
        for (uint32_t k = a->in_first[d]; k < a->in_first[d + 1]; k++) {
            const uint32_t from = a->in_from[k];
            if (a->hops[from] == HW_NONE) {
                a->hops[from] = a->hops[d] + 1;
                a->queue[a->n++] = from;
            }
        }
    }
}

static bool leads_on(const all_to_all *a, uint32_t from, uint32_t to)
{
    return a->hops[to] + 1 == a->hops[from] &&
           (a->hops[to] == 0 || a->r->forwards[to] != 0);
}

/* Forward the load of a device to all links that lead closer. */
static void split_device(all_to_all *a, uint32_t d)
{
    uint32_t n = 0;
    for (uint32_t k = a->first[d]; k < a->first[d + 1]; k++)
        n += leads_on(a, d, a->out[k].to);
    assert(n > 0);
    const double share = a->passing[d] / n;
    for (uint32_t k = a->first[d]; k < a->first[d + 1]; k++)
        if (leads_on(a, d, a->out[k].to)) {
            a->load[a->out[k].link] += share;
            a->passing[a->out[k].to] += share;
        }
}

/* Add all messages to the `members` NPUs of one device; false: some cannot reach it. */
static bool load_target(all_to_all *a, uint32_t target, double members)
{
    double reached = 0;
    search_core(a, target);
    for (uint32_t i = 0; i < a->n; i++) {
        a->passing[a->queue[i]] = members * a->starts[a->queue[i]];
        reached += a->starts[a->queue[i]];
    }
    for (uint32_t i = a->n; i-- > 1;)
        if (a->passing[a->queue[i]] > 0)
            split_device(a, a->queue[i]);
    for (uint32_t i = 0; i < a->n; i++)
        a->hops[a->queue[i]] = HW_NONE;
    return reached == a->r->graph->n_npus;
}

static halley_status load_targets(all_to_all *a, halley_error *err)
{
    const hw_router *r = a->r;
    const hw_graph *g = r->graph;
    collect_core(a);
    for (uint32_t d = 0; d < g->n_devices; d++)
        if (a->starts[d] > 0 && !load_target(a, d, a->starts[d])) {
            char name[128];
            return error_set(err, HALLEY_EINVAL, "not every NPU can reach %s",
                             hw_graph_name(g, d, name, sizeof name));
        }
    for (uint32_t i = 0; i < g->n_npus; i++)
        if (is_leaf_npu(r, i)) {
            a->load[r->port[i]] = g->n_npus - 1;
            a->load[g->adj_link[g->dev_first[i]]] = g->n_npus - 1;
        }
    return HALLEY_OK;
}

halley_status hw_router_load_all_to_all(double *load, hw_router *r, halley_error *err)
{
    all_to_all a = {.r = r, .load = load};
    if (r->graph->has_rails && !r->options.no_pxn)
        return error_set(err, HALLEY_EINVAL,
                         "the load of an all-to-all is known for shortest paths only; "
                         "rails need pxn: no");
    for (uint32_t i = 0; i < r->graph->n_links; i++)
        load[i] = 0;
    const halley_status status = init_core(&a) ? load_targets(&a, err) : error_nomem(err);
    free(a.first);
    free(a.out);
    free(a.in_first);
    free(a.in_from);
    free(a.starts);
    free(a.hops);
    free(a.queue);
    free(a.passing);
    return status;
}
