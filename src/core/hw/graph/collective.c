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
 *     t = bytes / n * max_l(load_l / rate_l) + latency of the longest path
 *
 * These are bounds for an idle network without start-up costs of a library. The simulator
 * and the estimate use the calibrated algorithms.
 */
#include "hw/graph/collective.h"

#include "hw/direct.h"
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

/* Every NPU forwards data along all axes at once (hw/direct.h). */
static void time_box(hw_collective_time *out, const hw_box *box, double bytes)
{
    const double n = box->n;
    out->fixed_s = 2 * hw_box_latency(box);
    out->time_s =
        2 * hw_box_rounding(box) * (n - 1) / n * bytes / hw_box_rate(box) + out->fixed_s;
    out->method = "along all axes at once";
    out->busiest_link = HW_NONE;
}

/* The grid of a direct network as a box; false: it is none. */
static bool find_box(hw_box *out, const hw_graph *g)
{
    hw_direct grid;
    return hw_direct_of_graph(&grid, g) && hw_box_find(out, &grid, NULL, g->n_npus);
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
    hw_box box;
    if (find_box(&box, g)) {
        time_box(out, &box, bytes);
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
    hw_box box;
    TRY(require_times(g, err));
    if (find_box(&box, g)) {
        *out = (hw_collective_time){.time_s = bytes * hw_box_pair_time(&box) +
                                              hw_box_latency(&box),
                                    .fixed_s = hw_box_latency(&box),
                                    .method = "dimension order, ties split",
                                    .busiest_link = HW_NONE};
        return HALLEY_OK;
    }
    TRY(hw_router_new(&router, g, &(hw_route_options){.routing = HW_ROUTING_SPRAY}, err));
    route_sum sum = {.load = mem_array_zero(g->n_links, sizeof *sum.load)};
    halley_status status = sum.load == NULL ? error_nomem(err)
                           : g->has_rails   ? load_rails(&sum, router, g, err)
                                            : load_sprayed(&sum, router, g, err);
    if (status == HALLEY_OK) {
        const double most = find_busiest(g, sum.load, &out->busiest_link);
        out->fixed_s = sum.latency_s;
        out->time_s = bytes / g->n_npus * most + out->fixed_s;
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
