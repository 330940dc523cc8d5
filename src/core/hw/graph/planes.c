/*
 * hw/graph/planes.c - finds planes by colouring. Switches are coloured by their
 * neighbours until no colour splits. Each leaf (a switch with NPUs) has its own colour.
 * Routes then go over leaves and colours.
 *
 * From leaf a to leaf b, every device spreads the message evenly over all links that lead
 * closer to b. Distances between colours are computed once, without passing through
 * leaves. If a path through a leaf would be as short, there are no planes.
 */
#include "hw/graph/planes.h"

#include "base/hash.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MOST_COLOURS = 2048, FAR = 255 };

/* Parallel links between two leaves or colours. */
typedef struct plane_edge {
    uint32_t to;     /* node: leaf, or n_leaves + colour */
    uint32_t first;  /* link */
    uint32_t weight; /* links of one device */
    double latency_s;
} plane_edge;

struct hw_planes {
    const hw_graph *g;
    uint32_t n_leaves, n_colours, n_types;
    uint32_t *node_of;   /* by device: leaf or n_leaves + colour; HW_NONE */
    uint32_t *n_devices; /* by node */
    double *passing_s;   /* by node: latency of passing one device */
    uint32_t *edges_at;  /* by node, and one more */
    plane_edge *edges;
    uint32_t *types;     /* by leaf; leaves with the same neighbours have the same type */
    uint32_t *type_leaf; /* by type: a leaf */
    uint8_t *hops;       /* by colour and type: number of links to such a leaf */
    uint32_t *next_at; /* by colour and type: start of its next edges in `next`, + 1; 0 =
                          not computed yet */
    ARRAY(uint32_t) next; /* edges, HW_NONE at the end of each list */
    uint32_t *down_at;    /* by leaf, and one more: edges that lead to it */
    uint32_t *down;
    uint32_t *first_of, *counts; /* by link */
    /* Work space for one route. */
    uint64_t *shares; /* by node */
    double *far_s;    /* by node */
    uint32_t *front, *next_front;
    ARRAY(hw_hop) route;
};

static bool is_up(const hw_graph *g, uint32_t link)
{
    return g->link_Bps[link] > 0;
}

/* True if every NPU has one link to a switch and one back, and links are up in both
 * directions or in none. */
static bool is_plain(const hw_graph *g)
{
    if (g->n_nics > 0 || g->n_links != 2 * g->n_cables ||
        g->n_npus + g->n_switches != g->n_devices)
        return false;
    for (uint32_t l = 0; l < g->n_links; l++)
        if (is_up(g, l) != is_up(g, l ^ 1) || !(g->link_latency_s[l] >= 0))
            return false;
    for (uint32_t i = 0; i < g->n_groups; i++)
        if (g->groups[i].kind == HW_DEVICE_SWITCH && !g->groups[i].forwards)
            return false;
    for (uint32_t i = 0; i < g->n_npus; i++)
        if (g->dev_first[i + 1] - g->dev_first[i] != 1 ||
            !is_up(g, g->adj_link[g->dev_first[i]]) ||
            g->dev_kind[g->link_to[g->adj_link[g->dev_first[i]]]] != HW_DEVICE_SWITCH)
            return false;
    return true;
}

static uint64_t mix_word(uint64_t h, uint64_t x)
{
    return hash_u64(h ^ x) + UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t mix_real(uint64_t h, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return mix_word(h, bits);
}

/* A hash of a switch's links and neighbours, independent of their order. */
static void sign_switch(uint64_t sign[2], const hw_planes *p, uint32_t device)
{
    const hw_graph *g = p->g;
    sign[0] = sign[1] = 0;
    for (uint32_t k = g->dev_first[device]; k < g->dev_first[device + 1]; k++) {
        const uint32_t link = g->adj_link[k];
        if (!is_up(g, link))
            continue;
        uint64_t h = mix_real(p->node_of[g->link_to[link]], g->link_Bps[link]);
        h = mix_real(mix_real(h, g->link_latency_s[link]), g->link_Bps[link ^ 1]);
        h = mix_word(mix_real(h, g->link_latency_s[link ^ 1]), g->link_kind[link]);
        sign[0] += h;
        sign[1] += hash_u64(h ^ UINT64_C(0x5851f42d4c957f2d));
    }
}

static void number_leaves(hw_planes *p)
{
    const hw_graph *g = p->g;
    for (uint32_t i = 0; i < g->n_devices; i++)
        p->node_of[i] = HW_NONE;
    for (uint32_t i = 0; i < g->n_npus; i++) {
        const uint32_t leaf = g->link_to[g->adj_link[g->dev_first[i]]];
        if (p->node_of[leaf] == HW_NONE)
            p->node_of[leaf] = p->n_leaves++;
    }
}

/* One round of colouring; false: no memory. */
static bool recolour_links(hw_planes *p, uint32_t *n_colours)
{
    const hw_graph *g = p->g;
    map64 seen = {0};
    uint32_t n = 0, *fresh_of = mem_array(g->n_devices, sizeof *fresh_of);
    bool room = fresh_of != NULL;
    for (uint32_t d = g->n_npus; room && d < g->n_devices; d++) {
        uint64_t sign[2];
        bool fresh;
        fresh_of[d] = p->node_of[d];
        if (p->node_of[d] < p->n_leaves)
            continue;
        const hw_device_group *group = hw_graph_group(g, d);
        sign_switch(sign, p, d);
        const uint64_t h = mix_real(
            mix_word(mix_word(mix_word(sign[0], sign[1]), p->node_of[d]), group->tier),
            group->latency_s);
        uint32_t colour = n;
        room = map64_put(&seen, h, &colour, &fresh);
        n += fresh;
        fresh_of[d] = p->n_leaves + colour;
    }
    for (uint32_t d = g->n_npus; room && d < g->n_devices; d++)
        p->node_of[d] = fresh_of[d];
    *n_colours = n;
    map64_fini(&seen);
    free(fresh_of);
    return room;
}

static halley_status colour_switches(hw_planes *p, halley_error *err)
{
    const hw_graph *g = p->g;
    for (uint32_t d = g->n_npus; d < g->n_devices; d++)
        if (p->node_of[d] == HW_NONE)
            p->node_of[d] = p->n_leaves;
    for (uint32_t before = 0;; before = p->n_colours) {
        if (!recolour_links(p, &p->n_colours))
            return error_nomem(err);
        if (p->n_colours == before)
            return HALLEY_OK;
    }
}

/* A set of parallel links during collection. */
typedef struct link_set {
    uint32_t from, to, first, n;
    uint64_t hash;
} link_set;

typedef ARRAY(link_set) link_sets;

static halley_status collect_sets(link_sets *sets, hw_planes *p, halley_error *err)
{
    const hw_graph *g = p->g;
    map64 seen = {0};
    bool room = true;
    for (uint32_t l = 0; room && l < g->n_links; l++) {
        const uint32_t from = p->node_of[g->link_from[l]], to = p->node_of[g->link_to[l]];
        p->first_of[l] = l;
        p->counts[l] = 1;
        if (from == HW_NONE || to == HW_NONE || !is_up(g, l))
            continue;
        const uint64_t h =
            mix_word(mix_real(mix_real((uint64_t)from << 32 | to, g->link_Bps[l]),
                              g->link_latency_s[l]),
                     g->link_kind[l]);
        uint32_t id = (uint32_t)sets->n;
        bool fresh;
        room = map64_put(&seen, h, &id, &fresh) &&
               (!fresh || array_push(sets, (link_set){from, to, l, 0, h}));
        if (!room)
            break;
        p->first_of[l] = sets->at[id].first;
        p->counts[sets->at[id].first] = ++sets->at[id].n;
    }
    map64_fini(&seen);
    return room ? HALLEY_OK : error_nomem(err);
}

static halley_status list_edges(hw_planes *p, const link_sets *sets, halley_error *err)
{
    const uint32_t n_nodes = p->n_leaves + p->n_colours;
    p->edges_at = mem_array_zero((size_t)n_nodes + 2, sizeof *p->edges_at);
    p->edges = mem_array(sets->n, sizeof *p->edges);
    if (p->edges_at == NULL || p->edges == NULL)
        return error_nomem(err);
    for (size_t i = 0; i < sets->n; i++)
        p->edges_at[sets->at[i].from + 2]++;
    for (uint32_t i = 0; i < n_nodes; i++)
        p->edges_at[i + 2] += p->edges_at[i + 1];
    for (size_t i = 0; i < sets->n; i++) {
        const link_set *s = &sets->at[i];
        assert(s->n % p->n_devices[s->from] == 0);
        p->edges[p->edges_at[s->from + 1]++] =
            (plane_edge){s->to, s->first, s->n / p->n_devices[s->from],
                         p->g->link_latency_s[s->first]};
    }
    return HALLEY_OK;
}

/* Edges that lead to each leaf: count, sum up, fill. */
static halley_status list_down(hw_planes *p, halley_error *err)
{
    const uint32_t n_nodes = p->n_leaves + p->n_colours;
    p->down_at = mem_array_zero((size_t)p->n_leaves + 2, sizeof *p->down_at);
    p->down = mem_array(p->edges_at[n_nodes], sizeof *p->down);
    if (p->down_at == NULL || p->down == NULL)
        return error_nomem(err);
    for (uint32_t k = 0; k < p->edges_at[n_nodes]; k++)
        if (p->edges[k].to < p->n_leaves)
            p->down_at[p->edges[k].to + 2]++;
    for (uint32_t i = 0; i < p->n_leaves; i++)
        p->down_at[i + 2] += p->down_at[i + 1];
    for (uint32_t k = 0; k < p->edges_at[n_nodes]; k++)
        if (p->edges[k].to < p->n_leaves)
            p->down[p->down_at[p->edges[k].to + 1]++] = k;
    return HALLEY_OK;
}

/* Find the leaves that are connected to the same colours. */
static halley_status find_types(hw_planes *p, halley_error *err)
{
    map64 seen = {0};
    bool room = true;
    for (uint32_t l = 0; room && l < p->n_leaves; l++) {
        uint64_t h = 0;
        bool fresh;
        for (uint32_t k = p->edges_at[l]; k < p->edges_at[l + 1]; k++)
            h += hash_u64(p->edges[k].to);
        p->types[l] = p->n_types;
        room = map64_put(&seen, h, &p->types[l], &fresh);
        if (room && fresh)
            p->type_leaf[p->n_types++] = l;
    }
    map64_fini(&seen);
    return room ? HALLEY_OK : error_nomem(err);
}

/* The number of links from every colour to leaves of a type, through colours only. */
static void find_hops(hw_planes *p, uint32_t type)
{
    uint8_t *hops = p->hops + type; /* by colour: stride n_types */
    const uint32_t leaf = p->type_leaf[type];
    uint32_t n = 0;
    for (uint32_t c = 0; c < p->n_colours; c++)
        hops[(size_t)c * p->n_types] = FAR;
    for (uint32_t k = p->edges_at[leaf]; k < p->edges_at[leaf + 1]; k++) {
        const uint32_t c = p->edges[k].to - p->n_leaves;
        if (p->edges[k].to < p->n_leaves || hops[(size_t)c * p->n_types] == 1)
            continue;
        hops[(size_t)c * p->n_types] = 1;
        p->front[n++] = c;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t at = p->front[i], node = p->n_leaves + at;
        const uint8_t far = hops[(size_t)at * p->n_types];
        for (uint32_t k = p->edges_at[node]; k < p->edges_at[node + 1]; k++) {
            if (p->edges[k].to < p->n_leaves)
                continue;
            const uint32_t c = p->edges[k].to - p->n_leaves;
            if (hops[(size_t)c * p->n_types] != FAR || far + 1 >= FAR)
                continue;
            hops[(size_t)c * p->n_types] = (uint8_t)(far + 1);
            p->front[n++] = c;
        }
    }
}

/* The number of links from a leaf of one type to another leaf of a type. */
static uint32_t count_hops(const hw_planes *p, uint32_t from, uint32_t to)
{
    uint32_t least = FAR;
    const uint32_t leaf = p->type_leaf[from];
    for (uint32_t k = p->edges_at[leaf]; k < p->edges_at[leaf + 1]; k++)
        if (p->edges[k].to >= p->n_leaves) {
            const uint32_t c = p->edges[k].to - p->n_leaves;
            const uint32_t far = p->hops[(size_t)c * p->n_types + to] + 1u;
            least = far < least ? far : least;
        }
    return least;
}

/* True if no path through a third leaf is as short as the path through colours. */
static bool avoids_leaves(const hw_planes *p, bool *room)
{
    const uint32_t n = p->n_types;
    uint8_t *far = mem_array((size_t)n * n, 1);
    bool avoids = far != NULL;
    *room = avoids;
    for (uint32_t a = 0; avoids && a < n; a++)
        for (uint32_t b = 0; b < n; b++)
            far[(size_t)a * n + b] = (uint8_t)count_hops(p, a, b);
    for (uint32_t l = 0; avoids && l < p->n_leaves; l++) /* leaf to leaf: none */
        for (uint32_t k = p->edges_at[l]; k < p->edges_at[l + 1]; k++)
            avoids = avoids && p->edges[k].to >= p->n_leaves;
    for (uint32_t a = 0; avoids && a < n; a++)
        for (uint32_t c = 0; avoids && c < n; c++)
            for (uint32_t b = 0; avoids && b < n; b++)
                avoids = far[(size_t)a * n + b] != FAR &&
                         far[(size_t)a * n + b] <
                             (uint32_t)far[(size_t)a * n + c] + far[(size_t)c * n + b];
    free(far);
    return avoids;
}

static bool init_nodes(hw_planes *p)
{
    const hw_graph *g = p->g;
    const uint32_t n = p->n_leaves + p->n_colours;
    p->n_devices = mem_array_zero(n, sizeof *p->n_devices);
    p->passing_s = mem_array_zero(n, sizeof *p->passing_s);
    p->first_of = mem_array(g->n_links, sizeof *p->first_of);
    p->counts = mem_array(g->n_links, sizeof *p->counts);
    p->types = mem_array(p->n_leaves, sizeof *p->types);
    p->type_leaf = mem_array(p->n_leaves, sizeof *p->type_leaf);
    p->shares = mem_array_zero(n, sizeof *p->shares);
    p->far_s = mem_array_zero(n, sizeof *p->far_s);
    p->front = mem_array(n, sizeof *p->front);
    p->next_front = mem_array(n, sizeof *p->next_front);
    if (p->n_devices == NULL || p->passing_s == NULL || p->first_of == NULL ||
        p->counts == NULL || p->types == NULL || p->type_leaf == NULL ||
        p->shares == NULL || p->far_s == NULL || p->front == NULL ||
        p->next_front == NULL)
        return false;
    for (uint32_t d = g->n_npus; d < g->n_devices; d++) {
        p->n_devices[p->node_of[d]]++;
        p->passing_s[p->node_of[d]] = hw_graph_group(g, d)->latency_s;
    }
    return true;
}

/* *merges is false if nothing is gained, or if routes could not be computed. */
static halley_status build_planes(bool *merges, hw_planes *p, halley_error *err)
{
    const hw_graph *g = p->g;
    link_sets sets = {0};
    *merges = false;
    p->node_of = mem_array(g->n_devices, sizeof *p->node_of);
    if (p->node_of == NULL)
        return error_nomem(err);
    number_leaves(p);
    TRY(colour_switches(p, err));
    if (p->n_colours == g->n_switches - p->n_leaves || p->n_colours > MOST_COLOURS)
        return HALLEY_OK;
    if (!init_nodes(p))
        return error_nomem(err);
    halley_status status = collect_sets(&sets, p, err);
    if (status == HALLEY_OK)
        status = list_edges(p, &sets, err);
    array_fini(&sets);
    TRY(status);
    TRY(list_down(p, err));
    TRY(find_types(p, err));
    if (p->n_types > MOST_COLOURS / 2)
        return HALLEY_OK;
    p->hops = mem_array((size_t)p->n_colours * p->n_types, 1);
    p->next_at = mem_array_zero((size_t)p->n_colours * p->n_types, sizeof *p->next_at);
    bool room = p->hops != NULL && p->next_at != NULL;
    for (uint32_t t = 0; room && t < p->n_types; t++)
        find_hops(p, t);
    *merges = room && avoids_leaves(p, &room);
    return room ? HALLEY_OK : error_nomem(err);
}

halley_status hw_planes_new(hw_planes **out, const hw_graph *graph, halley_error *err)
{
    bool merges;
    *out = NULL;
    if (!is_plain(graph))
        return HALLEY_OK;
    hw_planes *p = mem_array_zero(1, sizeof *p);
    if (p == NULL)
        return error_nomem(err);
    p->g = graph;
    const halley_status status = build_planes(&merges, p, err);
    if (status == HALLEY_OK && merges)
        *out = p;
    else
        hw_planes_free(p);
    return status;
}

void hw_planes_move(hw_planes *p, const hw_graph *graph)
{
    assert(graph->n_npus == p->g->n_npus && graph->n_links >= p->g->n_links);
    assert(graph->adj_link[graph->dev_first[0]] == p->g->adj_link[p->g->dev_first[0]]);
    p->g = graph;
}

void hw_planes_free(hw_planes *p)
{
    if (p == NULL)
        return;
    free(p->node_of);
    free(p->n_devices);
    free(p->passing_s);
    free(p->edges_at);
    free(p->edges);
    free(p->types);
    free(p->type_leaf);
    free(p->hops);
    free(p->next_at);
    array_fini(&p->next);
    free(p->down_at);
    free(p->down);
    free(p->first_of);
    free(p->counts);
    free(p->shares);
    free(p->far_s);
    free(p->front);
    free(p->next_front);
    array_fini(&p->route);
    free(p);
}

const uint32_t *hw_planes_first(const hw_planes *p)
{
    return p->first_of;
}

const uint32_t *hw_planes_counts(const hw_planes *p)
{
    return p->counts;
}

/* The number of links from a node to the leaf; other leaves are never passed. */
static uint32_t get_distance(const hw_planes *p, uint32_t node, uint32_t leaf)
{
    if (node == leaf)
        return 0;
    if (node < p->n_leaves)
        return FAR;
    return p->hops[(size_t)(node - p->n_leaves) * p->n_types + p->types[leaf]];
}

/* Forward a part of a node's share. A node reached for the first time joins the next
 * front. */
static bool follow_edge(hw_planes *p, uint32_t node, const plane_edge *e, uint64_t weight,
                        uint32_t *n_next)
{
    assert(weight > 0);
    const uint64_t share = p->shares[node] / weight * e->weight +
                           p->shares[node] % weight * e->weight / weight;
    const double far_s = p->far_s[node] + e->latency_s + p->passing_s[node];
    if (share == 0)
        return true;
    if (p->shares[e->to] == 0) {
        p->next_front[(*n_next)++] = e->to;
        p->far_s[e->to] = far_s;
    }
    p->shares[e->to] += share;
    p->far_s[e->to] = fmax(p->far_s[e->to], far_s);
    return array_push(&p->route, (hw_hop){e->first, share});
}

/* Collect the edges of a node that lead to the nearest nodes. */
static bool collect_next(hw_planes *p, uint32_t node, uint32_t to_leaf)
{
    uint32_t least = FAR;
    for (uint32_t k = p->edges_at[node]; k < p->edges_at[node + 1]; k++) {
        const uint32_t far = get_distance(p, p->edges[k].to, to_leaf);
        least = far < least ? far : least;
    }
    for (uint32_t k = p->edges_at[node]; k < p->edges_at[node + 1]; k++)
        if (get_distance(p, p->edges[k].to, to_leaf) == least && !array_push(&p->next, k))
            return false;
    return array_push(&p->next, HW_NONE);
}

static bool follow_list(hw_planes *p, uint32_t node, size_t list, uint32_t *n_next)
{
    uint64_t weight = 0;
    bool room = true;
    for (size_t i = list; p->next.at[i] != HW_NONE; i++)
        weight += p->edges[p->next.at[i]].weight;
    for (size_t i = list; room && p->next.at[i] != HW_NONE; i++)
        room = follow_edge(p, node, &p->edges[p->next.at[i]], weight, n_next);
    return room;
}

/* Forward from a colour that is connected to the leaf. */
static bool follow_down(hw_planes *p, uint32_t node, uint32_t leaf, uint32_t *n_next)
{
    uint64_t weight = 0;
    bool room = true;
    for (uint32_t i = p->down_at[leaf]; i < p->down_at[leaf + 1]; i++) {
        const uint32_t k = p->down[i];
        weight +=
            k >= p->edges_at[node] && k < p->edges_at[node + 1] ? p->edges[k].weight : 0;
    }
    for (uint32_t i = p->down_at[leaf]; room && i < p->down_at[leaf + 1]; i++) {
        const uint32_t k = p->down[i];
        if (k >= p->edges_at[node] && k < p->edges_at[node + 1])
            room = follow_edge(p, node, &p->edges[k], weight, n_next);
    }
    return room;
}

static bool spray_node(hw_planes *p, uint32_t node, uint32_t to_leaf, uint32_t *n_next)
{
    bool room;
    if (node < p->n_leaves) { /* the first leaf: its few edges are examined each time */
        const size_t list = p->next.n;
        room = collect_next(p, node, to_leaf) && follow_list(p, node, list, n_next);
        p->next.n = list;
    } else if (get_distance(p, node, to_leaf) == 1) {
        room = follow_down(p, node, to_leaf, n_next);
    } else { /* the same for all leaves of the type */
        uint32_t *at =
            &p->next_at[(size_t)(node - p->n_leaves) * p->n_types + p->types[to_leaf]];
        room = true;
        if (*at == 0) {
            *at = (uint32_t)p->next.n + 1;
            room = collect_next(p, node, to_leaf);
        }
        room = room && follow_list(p, node, *at - 1, n_next);
    }
    p->shares[node] = 0;
    return room;
}

halley_status hw_planes_find(hw_route *out, hw_planes *p, uint32_t src, uint32_t dst,
                             halley_error *err)
{
    const hw_graph *g = p->g;
    const uint32_t up = g->adj_link[g->dev_first[src]];
    const uint32_t down = g->adj_link[g->dev_first[dst]] ^ 1;
    const uint32_t to = p->node_of[g->link_from[down]];
    uint32_t n = 1, n_next = 0;
    bool room = true;
    assert(src != dst && src < g->n_npus && dst < g->n_npus);
    p->route.n = 0;
    room = array_push(&p->route, (hw_hop){up, HW_ROUTE_ONE});
    p->front[0] = p->node_of[g->link_to[up]];
    p->shares[p->front[0]] = HW_ROUTE_ONE;
    p->far_s[p->front[0]] = g->link_latency_s[up];
    while (room && p->front[0] != to) {
        for (uint32_t i = 0; room && i < n; i++)
            room = spray_node(p, p->front[i], to, &n_next);
        uint32_t *front = p->front;
        p->front = p->next_front;
        p->next_front = front;
        n = n_next;
        n_next = 0;
        assert(n > 0);
    }
    p->shares[to] = 0;
    room = room && array_push(&p->route, (hw_hop){down, HW_ROUTE_ONE});
    if (!room)
        return error_nomem(err);
    *out = (hw_route){.hops = p->route.at,
                      .n = (uint32_t)p->route.n,
                      .latency_s =
                          p->far_s[to] + g->link_latency_s[down] + p->passing_s[to]};
    return HALLEY_OK;
}
