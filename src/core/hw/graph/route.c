/*
 * hw/graph/route.c - the routing rules, and the walks that most of them share.
 *
 * ECMP hashes use arithmetic mod 2^64. The start is h = src * 1000003 + dst * 7919 +
 * label * 104729 + seed. At every device, h = h * 6364136223846793005 +
 * 1442695040888963407, and candidate (h >> 33) mod n is taken, in the order of link ids.
 * The hash also advances if there is only one candidate.
 *
 * Spraying splits the share that arrives at a device evenly over all candidates. Shares
 * are rounded down to 2^-40, equally for all candidates, so that equivalent links carry
 * equal loads. The remainder (less than n * 2^-40 of a message) loads no link.
 */
#include "hw/graph/route.h"

#include "hw/graph/route/route_table.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const char *const routing_names[HW_ROUTING_N] = {
    "default",         "shortest", "ecmp",    "spray",  "up-down",
    "dimension-order", "table",    "minimal", "valiant"};

route_hash hw_hash_start(const hw_router *r, uint32_t src, uint32_t dst, uint64_t label)
{
    const uint64_t value = src * UINT64_C(1000003) + dst * UINT64_C(7919) +
                           label * UINT64_C(104729) + r->options.seed;
    return (route_hash){value, r->options.polarised};
}

uint32_t hw_hash_choose(route_hash *hash, uint32_t n)
{
    assert(n > 0);
    const uint64_t step =
        hash->value * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    if (!hash->polarised)
        hash->value = step;
    return (uint32_t)((step >> 33) % n);
}

bool hw_add_hop(hw_router *r, uint32_t link, uint64_t share)
{
    return array_push(&r->hops, (hw_hop){link, share});
}

double hw_hop_latency(const hw_router *r, uint32_t link, uint32_t src)
{
    const hw_graph *g = r->graph;
    const uint32_t from = g->link_from[link];
    return g->link_latency_s[link] + (from == src ? 0 : r->passing_s[from]);
}

halley_status hw_refuse_route(const hw_router *r, uint32_t src, uint32_t dst,
                              halley_error *err)
{
    char from[128], to[128];
    return error_set(err, HALLEY_EINVAL, "there is no way from %s to %s with routing %s",
                     hw_graph_name(r->graph, src, from, sizeof from),
                     hw_graph_name(r->graph, dst, to, sizeof to),
                     routing_names[r->options.routing]);
}

/* Walk one path: by hash, or the first candidate. */
halley_status hw_walk_path(hw_router *r, route_walk *w, bool hashed, halley_error *err)
{
    uint32_t last;
    const hw_graph *g = r->graph;
    const uint32_t target = hw_class_of(r, w->dst, &last);
    const next_links *next = hw_next_links(r, target);
    route_hash hash = hw_hash_start(r, w->src, w->dst, w->label);
    if (next == NULL || !array_reserve(&r->hops, 64))
        return error_nomem(err);
    for (uint32_t d = w->src; d != target;) {
        const uint32_t *links = &next->links[next->first[d]];
        const uint32_t n = next->first[d + 1] - next->first[d];
        if (n == 0)
            return hw_refuse_route(r, w->src, w->dst, err);
        const uint32_t link = links[hashed ? hw_hash_choose(&hash, n) : 0];
        if (!hw_add_hop(r, link, HW_ROUTE_ONE))
            return error_nomem(err);
        w->latency_s += hw_hop_latency(r, link, w->src);
        d = g->link_to[link];
    }
    if (last == HW_NONE)
        return HALLEY_OK;
    w->latency_s += hw_hop_latency(r, last, w->src);
    return hw_add_hop(r, last, HW_ROUTE_ONE) ? HALLEY_OK : error_nomem(err);
}

/* The part of a device's share that one candidate gets. */
static uint64_t share_of(const hw_router *r, const uint32_t *links, uint32_t n,
                         uint32_t i, uint64_t share)
{
    if (!r->options.weighted)
        return share / n;
    double sum = 0;
    for (uint32_t k = 0; k < n; k++)
        sum += r->graph->link_Bps[links[k]];
    return (uint64_t)floor((double)share * (r->graph->link_Bps[links[i]] / sum));
}

/* Forward the share at device d. Devices reached for the first time join the next
 * front. */
static bool spray_device(hw_router *r, const next_links *next, uint32_t d,
                         uint32_t *n_next, uint32_t src)
{
    const uint32_t *links = &next->links[next->first[d]];
    const uint32_t n = next->first[d + 1] - next->first[d];
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t to = r->graph->link_to[links[i]];
        const uint64_t share = share_of(r, links, n, i, r->share[d]);
        const double far = r->far_s[d] + hw_hop_latency(r, links[i], src);
        if (share == 0)
            continue;
        if (r->share[to] == 0) {
            r->next_front[(*n_next)++] = to;
            r->far_s[to] = far;
        }
        r->share[to] += share;
        r->far_s[to] = fmax(r->far_s[to], far);
        if (!hw_add_hop(r, links[i], share))
            return false;
    }
    r->share[d] = 0;
    return true;
}

halley_status hw_spray_from(hw_router *r, const next_links *next, uint32_t from,
                            uint64_t share, double *latency_s, uint32_t src)
{
    uint32_t n = 1, n_next = 0;
    bool has_memory = true;
    r->front[0] = from;
    r->share[from] = share;
    r->far_s[from] = *latency_s;
    while (n > 0 && next->hops[r->front[0]] > 0) {
        for (uint32_t i = 0; has_memory && i < n; i++)
            has_memory = spray_device(r, next, r->front[i], &n_next, src);
        if (!has_memory)
            return HALLEY_ENOMEM;
        uint32_t *front = r->front;
        r->front = r->next_front;
        r->next_front = front;
        n = n_next;
        n_next = 0;
    }
    *latency_s = r->far_s[r->front[0]];
    for (uint32_t i = 0; i < n; i++) /* the caller handles arrivals at several ends */
        r->share[r->front[i]] = 0;
    return HALLEY_OK;
}

halley_status hw_walk_spray(hw_router *r, route_walk *w, halley_error *err)
{
    uint32_t last;
    const uint32_t target = hw_class_of(r, w->dst, &last);
    const next_links *next = hw_next_links(r, target);
    if (next == NULL)
        return error_nomem(err);
    if (next->hops[w->src] == HW_NONE)
        return hw_refuse_route(r, w->src, w->dst, err);
    w->is_path = false;
    if (hw_spray_from(r, next, w->src, HW_ROUTE_ONE, &w->latency_s, w->src) != HALLEY_OK)
        return error_nomem(err);
    if (last == HW_NONE)
        return HALLEY_OK;
    w->latency_s += hw_hop_latency(r, last, w->src);
    return hw_add_hop(r, last, HW_ROUTE_ONE) ? HALLEY_OK : error_nomem(err);
}

static halley_status walk_rule(hw_router *r, route_walk *w, halley_error *err)
{
    switch (r->options.routing) {
    case HW_ROUTING_SHORTEST:
        return hw_walk_path(r, w, false, err);
    case HW_ROUTING_ECMP:
        return hw_walk_path(r, w, true, err);
    case HW_ROUTING_UP_DOWN:
        return hw_walk_up_down(r, w, err);
    case HW_ROUTING_DIMENSION_ORDER:
        return hw_walk_dims(r, w, err);
    case HW_ROUTING_TABLE:
        return hw_walk_table(r, w, err);
    case HW_ROUTING_VALIANT:
        return hw_walk_valiant(r, w, err);
    default: /* spray; minimal means spraying over shortest paths */
        return hw_walk_spray(r, w, err);
    }
}

/*
 * The NPU of the sender's node on the receiver's rail. A message between rails leaves
 * through it (PXN). HW_NONE if none is needed.
 */
static uint32_t find_relay(const hw_router *r, uint32_t src, uint32_t dst)
{
    const hw_graph *g = r->graph;
    const uint32_t per_node = g->dims[0];
    if (!g->has_rails || r->options.no_pxn || src / per_node == dst / per_node ||
        src % per_node == dst % per_node)
        return HW_NONE;
    return src / per_node * per_node + dst % per_node;
}

static bool all_shares_are_one(const hw_router *r)
{
    for (size_t i = 0; i < r->hops.n; i++)
        if (r->hops.at[i].share != HW_ROUTE_ONE)
            return false;
    return true;
}

/* Walk from one NPU over intermediate NPUs, in order; HW_NONE ends the list. */
static halley_status walk_stops(hw_router *r, route_walk *w, const uint32_t *stops,
                                halley_error *err)
{
    r->hops.n = 0;
    w->latency_s = 0;
    w->is_path = true;
    for (uint32_t i = 0; stops[i + 1] != HW_NONE; i++) {
        w->src = stops[i];
        w->dst = stops[i + 1];
        if (w->src != w->dst)
            TRY(walk_rule(r, w, err));
    }
    return HALLEY_OK;
}

/*
 * If a rail has failed, a message takes the first other rail that works. It goes inside
 * the sender's node to the NPU on rail k, over that rail, and inside the receiver's node
 * to the receiver.
 */
static halley_status walk_other_rail(hw_router *r, route_walk *w, uint32_t src,
                                     uint32_t dst, halley_error *err)
{
    const uint32_t per_node = r->graph->dims[0];
    const uint32_t from = src / per_node * per_node, to = dst / per_node * per_node;
    halley_status status = HALLEY_EINVAL;
    for (uint32_t k = 0; k < per_node && status != HALLEY_OK; k++) {
        const uint32_t stops[] = {src, from + k, to + k, dst, HW_NONE};
        status = walk_stops(r, w, stops, NULL);
    }
    return status == HALLEY_OK ? HALLEY_OK : hw_refuse_route(r, src, dst, err);
}

halley_status hw_router_find(hw_route *out, hw_router *r, uint32_t src, uint32_t dst,
                             uint64_t label, halley_error *err)
{
    assert(src < r->graph->n_npus && dst < r->graph->n_npus);
    route_walk w = {.label = label};
    const uint32_t relay = find_relay(r, src, dst);
    const uint32_t direct[] = {src, dst, HW_NONE}, relayed[] = {src, relay, dst, HW_NONE};
    halley_status status = walk_stops(r, &w, relay == HW_NONE ? direct : relayed, err);
    if (status == HALLEY_EINVAL && r->graph->has_rails && !r->options.no_pxn)
        status = walk_other_rail(r, &w, src, dst, err);
    TRY(status);
    *out = (hw_route){r->hops.at, (uint32_t)r->hops.n, w.is_path || all_shares_are_one(r),
                      w.latency_s};
    return HALLEY_OK;
}
