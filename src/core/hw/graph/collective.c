/*
 * hw/graph/collective.c - closed-form times of an all-reduce and an all-to-all of all
 * NPUs.
 *
 * Rings: ring r enters node 0 at NPU r and passes all NPUs of the node. It leaves through
 * the last and enters the next node at the same place, so it stays on its rail. Over all
 * rings, every NPU leaves and enters once per node. With load_l rings over link l,
 *
 *     t = 2 (n - 1) / n * bytes / rings * max_l(load_l / rate_l) + 2 (n - 1) * latency
 *
 * All-to-all: messages are sprayed over shortest paths. On rails, they change rails
 * inside nodes.
 *
 *     t = bytes / (n - 1) * max_l(load_l / rate_l) + latency of the longest path
 *
 * These are bounds for an idle network without start-up costs of a library. The simulator
 * and the estimate use the calibrated algorithms.
 */
#include "hw/graph/collective.h"

#include "hw/graph/measure.h"
#include "hw/graph/route.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_RAIL_ROUTES = 1 << 22 };

static halley_status require_times(const hw_graph *g, halley_error *err)
{
    if (g->n_npus < 2)
        return error_set(err, HALLEY_EINVAL, "a collective needs at least two NPUs");
    return hw_graph_check_known(g, err);
}

static double find_busiest(const hw_graph *g, const double *load, uint32_t *link)
{
    double most = 0;
    *link = HW_NONE;
    for (uint32_t i = 0; i < g->n_links; i++)
        if (load[i] > 0 && load[i] > most * g->link_Bps[i]) {
            most = load[i] / g->link_Bps[i];
            *link = i;
        }
    return most;
}

static bool is_direct(const hw_graph *g)
{
    bool all = g->n_dims > 0 && g->n_switches == 0;
    for (uint32_t i = 0; i < g->n_dims; i++)
        all &= g->axes[i] == HW_AXIS_RING || g->dims[i] == 1;
    return all;
}

/* Rings along every dimension, in both directions, at the same time: every link of an NPU
 * is used. */
static void time_direct(hw_collective_time *out, const hw_graph *g, double bytes)
{
    double least = INFINITY, latency = 0;
    uint32_t steps = 0;
    for (uint32_t i = 0; i < g->n_npus; i++) {
        double sum = 0;
        for (uint32_t k = g->dev_first[i]; k < g->dev_first[i + 1]; k++)
            sum += g->link_Bps[g->adj_link[k]];
        least = fmin(least, sum);
    }
    for (uint32_t i = 0; i < g->n_links; i++)
        latency = fmax(latency, g->link_latency_s[i]);
    for (uint32_t i = 0; i < g->n_dims; i++)
        steps += 2 * (g->dims[i] - 1);
    out->fixed_s = steps * latency;
    out->time_s = 2 * (g->n_npus - 1.0) / g->n_npus * bytes / least + out->fixed_s;
    out->method = "rings along all dimensions in both directions";
    out->busiest_link = HW_NONE;
}

/* The NPU at a position of a ring. */
static uint32_t get_member(uint32_t ring, uint32_t position, uint32_t per_node)
{
    const uint32_t node = position / per_node, step = position % per_node;
    const uint32_t entry = (ring + (per_node - 1) * (node % per_node)) % per_node;
    return node * per_node + (entry + step) % per_node;
}

/* The sums over routes. */
typedef struct route_sum {
    double *load;
    double latency_s; /* of the longest */
} route_sum;

static halley_status add_route(route_sum *sum, hw_router *router, uint32_t src,
                               uint32_t dst, double messages, halley_error *err)
{
    hw_route route;
    TRY(hw_router_find(&route, router, src, dst, 0, err));
    sum->latency_s = fmax(sum->latency_s, route.latency_s);
    for (uint32_t k = 0; k < route.n; k++)
        sum->load[route.hops[k].link] +=
            messages * (double)route.hops[k].share / (double)HW_ROUTE_ONE;
    return HALLEY_OK;
}

static halley_status load_rings(route_sum *sum, hw_router *router, const hw_graph *g,
                                uint32_t per_node, halley_error *err)
{
    for (uint32_t ring = 0; ring < per_node; ring++)
        for (uint32_t i = 0; i < g->n_npus; i++) {
            const uint32_t next = i + 1 == g->n_npus ? 0 : i + 1;
            TRY(add_route(sum, router, get_member(ring, i, per_node),
                          get_member(ring, next, per_node), 1, err));
        }
    return HALLEY_OK;
}

halley_status hw_graph_all_reduce(hw_collective_time *out, const hw_graph *g,
                                  double bytes, halley_error *err)
{
    TRY(require_times(g, err));
    if (is_direct(g)) {
        time_direct(out, g, bytes);
        return HALLEY_OK;
    }
    const bool has_nodes =
        g->groups[0].per_node > 1 && g->n_npus % g->groups[0].per_node == 0;
    const uint32_t per_node = has_nodes ? g->groups[0].per_node : 1;
    const double n = g->n_npus;
    hw_router *router;
    TRY(hw_router_new(&router, g, &(hw_route_options){0}, err));
    route_sum sum = {.load = mem_array_zero(g->n_links, sizeof *sum.load)};
    halley_status status =
        sum.load == NULL ? error_nomem(err) : load_rings(&sum, router, g, per_node, err);
    if (status == HALLEY_OK) {
        const double most = find_busiest(g, sum.load, &out->busiest_link);
        out->fixed_s = 2 * (n - 1) * sum.latency_s;
        out->time_s = 2 * (n - 1) / n * bytes / per_node * most + out->fixed_s;
        out->method = has_nodes ? "one ring per NPU of a node" : "one ring in NPU order";
    }
    free(sum.load);
    hw_router_free(router);
    return status;
}

/*
 * On rails, messages to another rail change rails inside the node (PXN). Every NPU
 * therefore sends all data of its node for its rail. Each pair of NPUs of one node
 * exchanges the data for all nodes.
 */
static halley_status load_rails(route_sum *sum, hw_router *router, const hw_graph *g,
                                halley_error *err)
{
    const uint32_t per_node = g->groups[0].per_node, nodes = g->n_npus / per_node;
    if ((uint64_t)nodes * g->n_npus > MOST_RAIL_ROUTES)
        return error_set(err, HALLEY_ELIMIT, "the network has too many pairs on a rail");
    for (uint32_t i = 0; i < g->n_npus; i++) {
        for (uint32_t y = 0; y < nodes; y++)
            if (y != i / per_node)
                TRY(add_route(sum, router, i, y * per_node + i % per_node, per_node,
                              err));
        for (uint32_t k = 0; k < per_node; k++)
            if (k != i % per_node)
                TRY(add_route(sum, router, i, i / per_node * per_node + k, nodes, err));
    }
    return HALLEY_OK;
}

static halley_status load_sprayed(route_sum *sum, hw_router *router, const hw_graph *g,
                                  halley_error *err)
{
    hw_route route;
    TRY(hw_router_load_all_to_all(sum->load, router, err));
    for (uint32_t i = 1; i < g->n_npus; i++) {
        TRY(hw_router_find(&route, router, 0, i, 0, err));
        sum->latency_s = fmax(sum->latency_s, route.latency_s);
    }
    return HALLEY_OK;
}

halley_status hw_graph_all_to_all(hw_collective_time *out, const hw_graph *g,
                                  double bytes, halley_error *err)
{
    hw_router *router;
    TRY(require_times(g, err));
    TRY(hw_router_new(&router, g, &(hw_route_options){.routing = HW_ROUTING_SPRAY}, err));
    route_sum sum = {.load = mem_array_zero(g->n_links, sizeof *sum.load)};
    halley_status status = sum.load == NULL ? error_nomem(err)
                           : g->has_rails   ? load_rails(&sum, router, g, err)
                                            : load_sprayed(&sum, router, g, err);
    if (status == HALLEY_OK) {
        const double most = find_busiest(g, sum.load, &out->busiest_link);
        out->fixed_s = sum.latency_s;
        out->time_s = bytes / (g->n_npus - 1.0) * most + out->fixed_s;
        out->method = g->has_rails ? "changing rails inside nodes"
                                   : "even spraying over shortest paths";
    }
    free(sum.load);
    hw_router_free(router);
    return status;
}

/* Sum a switch's capacity to tiers above and below; false: some rate is unknown. */
static bool sum_ports(const hw_graph *g, uint32_t device, uint32_t tier, double *up,
                      double *down)
{
    *up = *down = 0;
    for (uint32_t i = g->dev_first[device]; i < g->dev_first[device + 1]; i++) {
        const uint32_t link = g->adj_link[i];
        const uint32_t other = hw_graph_group(g, g->link_to[link])->tier;
        if (g->link_Bps[link] == HW_UNKNOWN)
            return false;
        if (other != tier)
            *(other > tier ? up : down) += g->link_Bps[link];
    }
    return true;
}

/* Switches without uplinks (those inside nodes, and the top) do not count. */
double hw_graph_oversubscription(const hw_graph *g, uint32_t tier)
{
    double all_down = 0, all_up = 0;
    for (uint32_t i = 0; i < g->n_groups; i++) {
        const hw_device_group *group = &g->groups[i];
        if (group->kind != HW_DEVICE_SWITCH || group->tier != tier)
            continue;
        for (uint32_t k = 0; k < group->n; k++) {
            double up, down;
            if (!sum_ports(g, group->first + k, tier, &up, &down))
                return -1;
            all_down += up > 0 ? down : 0;
            all_up += up;
        }
    }
    return all_up > 0 ? all_down / all_up : -1;
}
