/*
 * hw/graph/route/route_rules.c - routing rules with their own walks: up-down by
 * destination, dimension order, tables and Valiant's detour.
 */
#include "hw/graph/route/route_table.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/*
 * D-mod-K, InfiniBand's usual table. Going up from tier i - 1, the parent is digit (dst /
 * W) mod w_i. Here w_i is the number of parents, and W is that of all tiers below
 * multiplied. Parallel cables follow as the next digit. Failed parents are not counted in
 * w_i, so destinations are redistributed over the remaining ones.
 */
static uint32_t choose_by_destination(const hw_router *r, const uint32_t *links,
                                      uint32_t n, uint32_t dst, uint64_t *product)
{
    uint32_t n_parents = 1;
    for (uint32_t i = 1; i < n; i++)
        n_parents += r->graph->link_to[links[i]] != r->graph->link_to[links[i - 1]];
    const uint32_t digit = (uint32_t)(dst / *product % n_parents);
    *product *= n_parents;
    uint32_t first = 0;
    for (uint32_t parent = 0; parent < digit; parent++)
        do
            first++;
        while (r->graph->link_to[links[first]] == r->graph->link_to[links[first - 1]]);
    uint32_t n_parallel = 1;
    while (first + n_parallel < n && r->graph->link_to[links[first + n_parallel]] ==
                                         r->graph->link_to[links[first]])
        n_parallel++;
    const uint32_t copy = (uint32_t)(dst / *product % n_parallel);
    return first + copy;
}

static halley_status walk_by_destination(hw_router *r, route_walk *w, halley_error *err)
{
    uint32_t last;
    const uint32_t target = hw_class_of(r, w->dst, &last);
    const next_links *next = hw_next_links(r, target);
    uint64_t product = 1;
    if (next == NULL)
        return error_nomem(err);
    for (uint32_t d = w->src; d != target;) {
        const uint32_t n = next->first[d + 1] - next->first[d];
        const uint32_t *links = &next->links[next->first[d]];
        if (n == 0)
            return hw_refuse_route(r, w->src, w->dst, err);
        const uint32_t link = links[choose_by_destination(r, links, n, w->dst, &product)];
        if (!hw_add_hop(r, link, HW_ROUTE_ONE))
            return error_nomem(err);
        w->latency_s += hw_hop_latency(r, link, w->src);
        d = r->graph->link_to[link];
    }
    if (last != HW_NONE) {
        w->latency_s += hw_hop_latency(r, last, w->src);
        if (!hw_add_hop(r, last, HW_ROUTE_ONE))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

halley_status hw_walk_up_down(hw_router *r, route_walk *w, halley_error *err)
{
    if (r->options.spread == HW_SPREAD_HASH)
        return hw_walk_path(r, w, true, err);
    if (r->options.spread == HW_SPREAD_DESTINATION)
        return walk_by_destination(r, w, err);
    return hw_walk_spray(r, w, err);
}

/* The first link between two devices that is up; HW_NONE if there is none. */
static uint32_t find_link(const hw_graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t i = g->dev_first[from]; i < g->dev_first[from + 1]; i++) {
        const uint32_t link = g->adj_link[i];
        if (g->link_to[link] == to && g->link_Bps[link] != 0)
            return link;
    }
    return HW_NONE;
}

/* Cross the switch of a dimension. */
static bool cross_switch(hw_router *r, route_walk *w, const uint32_t ends[2],
                         uint32_t dim)
{
    const hw_graph *g = r->graph;
    for (uint32_t i = g->dev_first[ends[0]]; i < g->dev_first[ends[0] + 1]; i++) {
        const uint32_t up = g->adj_link[i], hub = g->link_to[up];
        if (g->dev_kind[hub] != HW_DEVICE_SWITCH ||
            hw_graph_group(g, hub)->tier != dim + 1 || g->link_Bps[up] == 0)
            continue;
        const uint32_t down = find_link(g, hub, ends[1]);
        if (down == HW_NONE)
            continue;
        w->latency_s += hw_hop_latency(r, up, w->src) + hw_hop_latency(r, down, w->src);
        return hw_add_hop(r, up, HW_ROUTE_ONE) && hw_add_hop(r, down, HW_ROUTE_ONE);
    }
    return false;
}

/* The walk of a message along one dimension. */
typedef struct dim_walk {
    uint32_t at, stride, size, steps;
    bool up;
    uint64_t share;
} dim_walk;

/* Walk from NPU to NPU. The latency is added once, because both directions are equally
 * long. */
static bool walk_steps(hw_router *r, route_walk *w, const dim_walk *s, bool adds_latency)
{
    const uint32_t c = s->at / s->stride % s->size, base = s->at - c * s->stride;
    for (uint32_t i = 0; i < s->steps; i++) {
        const uint32_t from = s->up ? (c + i) % s->size : (c + s->size - i) % s->size;
        const uint32_t to = s->up ? (from + 1) % s->size : (from + s->size - 1) % s->size;
        const uint32_t link =
            find_link(r->graph, base + from * s->stride, base + to * s->stride);
        if (link == HW_NONE || !hw_add_hop(r, link, s->share))
            return false;
        if (adds_latency)
            w->latency_s += hw_hop_latency(r, link, w->src);
    }
    return true;
}

/* Take the shorter direction. At equal distance, go up, or half in each direction. */
static bool cross_ring(hw_router *r, route_walk *w, dim_walk s, uint32_t distance_up)
{
    const uint32_t down = s.size - distance_up;
    s.up = distance_up <= down;
    s.steps = s.up ? distance_up : down;
    if (distance_up != down || !r->options.split_ties || s.size == 2)
        return walk_steps(r, w, &s, true);
    w->is_path = false;
    s.share = HW_ROUTE_ONE / 2;
    if (!walk_steps(r, w, &s, true))
        return false;
    s.up = false;
    return walk_steps(r, w, &s, false);
}

static bool cross_dimension(hw_router *r, route_walk *w, uint32_t dim, dim_walk s,
                            uint32_t target)
{
    const uint32_t from = s.at / s.stride % s.size;
    const uint32_t next = s.at + (target - from) * s.stride; /* wraps as intended */
    uint32_t link;
    switch (r->graph->axes[dim]) {
    case HW_AXIS_RING:
        return cross_ring(r, w, s, (target + s.size - from) % s.size);
    case HW_AXIS_LINE:
        s.up = target > from;
        s.steps = s.up ? target - from : from - target;
        return walk_steps(r, w, &s, true);
    case HW_AXIS_SWITCH:
        return cross_switch(r, w, (const uint32_t[2]){s.at, next}, dim);
    default:
        link = find_link(r->graph, s.at, next);
        if (link == HW_NONE)
            return false;
        w->latency_s += hw_hop_latency(r, link, w->src);
        return hw_add_hop(r, link, HW_ROUTE_ONE);
    }
}

halley_status hw_walk_dims(hw_router *r, route_walk *w, halley_error *err)
{
    const hw_graph *g = r->graph;
    dim_walk s = {.at = w->src, .stride = 1, .share = HW_ROUTE_ONE};
    for (uint32_t dim = 0; dim < g->n_dims; dim++) {
        s.size = g->dims[dim];
        const uint32_t from = s.at / s.stride % s.size;
        const uint32_t target = w->dst / s.stride % s.size;
        if (from != target && !cross_dimension(r, w, dim, s, target))
            return hw_refuse_route(r, w->src, w->dst, err);
        s.at += (target - from) * s.stride;
        s.stride *= s.size;
    }
    assert(s.at == w->dst);
    return HALLEY_OK;
}

/* The entry for the fewest NPUs that include dst; NULL if there is none. */
static const hw_table_entry *find_entry(const hw_router *r, uint32_t device, uint32_t dst)
{
    const hw_table_entry *best = NULL;
    for (uint32_t i = 0; i < r->options.n_table; i++) {
        const hw_table_entry *e = &r->options.table[i];
        if (e->device == device && e->first <= dst && dst <= e->last && e->n_links > 0 &&
            (best == NULL || e->last - e->first < best->last - best->first))
            best = e;
    }
    return best;
}

halley_status hw_walk_table(hw_router *r, route_walk *w, halley_error *err)
{
    route_hash hash = hw_hash_start(r, w->src, w->dst, w->label);
    for (uint32_t d = w->src, steps = 0; d != w->dst; steps++) {
        const hw_table_entry *e = find_entry(r, d, w->dst);
        if (e == NULL || steps > r->graph->n_devices)
            return hw_refuse_route(r, w->src, w->dst, err);
        const bool hashed = r->options.spread == HW_SPREAD_HASH;
        const uint32_t link = e->links[hashed ? hw_hash_choose(&hash, e->n_links) : 0];
        if (!hw_add_hop(r, link, HW_ROUTE_ONE))
            return error_nomem(err);
        w->latency_s += hw_hop_latency(r, link, w->src);
        d = r->graph->link_to[link];
    }
    return HALLEY_OK;
}

/* Towards one NPU, every link of every reachable entry must lead on without a loop. The
 * check is depth-first; state 1 = on the current path, 2 = known to arrive. */
typedef struct table_check {
    hw_router *r;
    uint8_t *state;
    uint32_t *stack, *link; /* devices on the current path, and their next link to try */
} table_check;

static halley_status refuse_table(const table_check *c, uint32_t at,
                                  const uint32_t ends[2], const char *what,
                                  halley_error *err)
{
    char from[128], to[128], where[128];
    const hw_graph *g = c->r->graph;
    return error_set(err, HALLEY_EINVAL,
                     "the route table has %s on the way from %s to %s, at %s", what,
                     hw_graph_name(g, ends[0], from, sizeof from),
                     hw_graph_name(g, ends[1], to, sizeof to),
                     hw_graph_name(g, at, where, sizeof where));
}

static halley_status check_pair(table_check *c, uint32_t src, uint32_t dst,
                                halley_error *err)
{
    const uint32_t ends[2] = {src, dst};
    uint32_t n = 1;
    c->stack[0] = src;
    c->link[0] = 0;
    if (c->state[src] == 2)
        return HALLEY_OK;
    c->state[src] = 1;
    while (n > 0) {
        const uint32_t d = c->stack[n - 1];
        const hw_table_entry *e = find_entry(c->r, d, dst);
        if (e == NULL)
            return refuse_table(c, d, ends, "a dead end", err);
        if (c->link[n - 1] == e->n_links) {
            c->state[d] = 2;
            n--;
            continue;
        }
        const uint32_t link = e->links[c->link[n - 1]++];
        if (link >= c->r->graph->n_links || c->r->graph->link_from[link] != d)
            return refuse_table(c, d, ends, "a link of another device", err);
        if (c->r->graph->link_Bps[link] == 0)
            return refuse_table(c, d, ends, "a failed link", err);
        const uint32_t to = c->r->graph->link_to[link];
        if (c->state[to] == 1)
            return refuse_table(c, to, ends, "a loop", err);
        if (c->state[to] == 0) {
            c->state[to] = 1;
            c->stack[n] = to;
            c->link[n++] = 0;
        }
    }
    return HALLEY_OK;
}

halley_status hw_check_table(hw_router *r, halley_error *err)
{
    const hw_graph *g = r->graph;
    table_check c = {.r = r,
                     .state = mem_array(g->n_devices, 1),
                     .stack = mem_array(g->n_devices, sizeof(uint32_t)),
                     .link = mem_array(g->n_devices, sizeof(uint32_t))};
    halley_status status = c.state != NULL && c.stack != NULL && c.link != NULL
                               ? HALLEY_OK
                               : error_nomem(err);
    for (uint32_t dst = 0; status == HALLEY_OK && dst < g->n_npus; dst++) {
        memset(c.state, 0, g->n_devices);
        c.state[dst] = 2;
        for (uint32_t src = 0; status == HALLEY_OK && src < g->n_npus; src++)
            status = check_pair(&c, src, dst, err);
    }
    free(c.state);
    free(c.stack);
    free(c.link);
    return status;
}

/*
 * Valiant: take minimal routes to a group that is neither the sender's nor the
 * receiver's, then minimal routes from the switch where the message arrived. The hash
 * with label 1 chooses the group, or the message is split evenly over all of them.
 */
static halley_status spray_through(hw_router *r, const route_walk *w, uint32_t group,
                                   uint64_t share, double *latency_s)
{
    const next_links *next = hw_next_links_group(r, group);
    if (next == NULL)
        return HALLEY_ENOMEM;
    const size_t start = r->hops.n;
    double first_s = 0;
    if (hw_spray_from(r, next, w->src, share, &first_s, w->src) != HALLEY_OK)
        return HALLEY_ENOMEM;
    /* The arrival switches: the ends of hops that lead into the group. */
    uint32_t last;
    const uint32_t target = hw_class_of(r, w->dst, &last);
    const size_t end = r->hops.n;
    double longest = 0;
    for (size_t i = start; i < end; i++) {
        const uint32_t entry = r->graph->link_to[r->hops.at[i].link];
        next = hw_next_links_group(r, group);
        if (next == NULL || next->hops[entry] != 0)
            continue;
        const next_links *on = hw_next_links(r, target);
        double on_s = first_s;
        if (on == NULL || hw_spray_from(r, on, entry, r->hops.at[i].share, &on_s, w->src))
            return HALLEY_ENOMEM;
        longest = on_s > longest ? on_s : longest;
    }
    if (longest > *latency_s)
        *latency_s = longest;
    return HALLEY_OK;
}

/* The same link may occur on several paths: add its shares up. */
static void merge_hops(hw_router *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->hops.n; i++)
        r->link_share[r->hops.at[i].link] += r->hops.at[i].share;
    for (size_t i = 0; i < r->hops.n; i++) {
        uint64_t *share = &r->link_share[r->hops.at[i].link];
        if (*share > 0)
            r->hops.at[n++] = (hw_hop){r->hops.at[i].link, *share};
        *share = 0;
    }
    r->hops.n = n;
}

halley_status hw_walk_valiant(hw_router *r, route_walk *w, halley_error *err)
{
    const hw_graph *g = r->graph;
    const uint32_t per_group = g->dims[0] * g->dims[1], n_groups = g->dims[2];
    const uint32_t from = w->src / per_group, to = w->dst / per_group;
    if (from == to || n_groups < 3)
        return hw_walk_spray(r, w, err);
    const bool hashed = r->options.spread == HW_SPREAD_HASH;
    route_hash hash = hw_hash_start(r, w->src, w->dst, 1);
    uint32_t chosen = hashed ? hw_hash_choose(&hash, n_groups - 2) : 0;
    double longest = 0;
    for (uint32_t group = 0, i = 0; group < n_groups; group++) {
        if (group == from || group == to)
            continue;
        if (!hashed || i == chosen)
            if (spray_through(r, w, group,
                              hashed ? HW_ROUTE_ONE : HW_ROUTE_ONE / (n_groups - 2),
                              &longest) != HALLEY_OK)
                return error_nomem(err);
        i++;
    }
    uint32_t last;
    hw_class_of(r, w->dst, &last);
    if (last != HW_NONE && !hw_add_hop(r, last, HW_ROUTE_ONE))
        return error_nomem(err);
    merge_hops(r);
    w->is_path = false;
    w->latency_s += longest + (last != HW_NONE ? hw_hop_latency(r, last, w->src) : 0);
    return HALLEY_OK;
}
