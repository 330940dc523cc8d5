/*
 * net/flow/shape.c - the links of a collective.
 *
 * The closed form of a collective gives the time for which links inside nodes and network
 * cards are busy without other traffic (up_s, out_s). The link of a level with the
 * largest load per capacity is full for that time. The other links are proportionally
 * less busy. So a collective alone takes the time of its closed form on any wiring of a
 * node. Two that share a link take what the link needs for both. Links between switches
 * are not part of closed forms: they carry the payload at the fraction of their capacity
 * that the fabric reaches.
 *
 * Capacities are those of healthy links. A link that is slower than others of its kind
 * slows the collective down, as in a real ring.
 */
#include "net/flow/shape.h"

#include "base/array.h"
#include "base/hash.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint32_t get_member_npu(const uint32_t *ranks, uint32_t i)
{
    return ranks == NULL ? i : ranks[i];
}

/* The bandwidth of its node's network cards that each member may use. If each NPU has its
 * own card, that is the card's bandwidth. */
static double share_cards(const hw_network *net, const uint32_t *npus, uint32_t n)
{
    const hw_graph *g = net->graph;
    double sum = 0;
    uint32_t last = HW_NONE;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = g->dev_first[npus[i]]; k < g->dev_first[npus[i] + 1]; k++) {
            const uint32_t to = g->link_to[g->adj_link[k]];
            if (net->level[g->adj_link[k]] == HW_LEVEL_NODE)
                continue;
            const bool is_card = g->dev_kind[to] == HW_DEVICE_NIC;
            if (is_card && to == last)
                continue; /* shared with the previous member */
            last = is_card ? to : HW_NONE;
            sum += hw_network_nominal_Bps(net, g->adj_link[k]);
        }
    assert(n > 0 && sum >= 0);
    return sum / n;
}

/* Number nodes in the order in which members first occur in them; *place is by member. */
static bool number_nodes(uint32_t *place, uint32_t *n_nodes, const hw_network *net,
                         const uint32_t *ranks, uint32_t n)
{
    map64 seen = {0};
    uint32_t last = UINT32_MAX, last_place = 0;
    bool room = true;
    *n_nodes = 0;
    for (uint32_t i = 0; room && i < n; i++) {
        const uint32_t node = hw_network_node_of(net, get_member_npu(ranks, i));
        bool fresh = false;
        if (node != last) { /* members of one node are mostly consecutive */
            last_place = *n_nodes;
            room = map64_put(&seen, node, &last_place, &fresh);
            last = node;
        }
        *n_nodes += fresh;
        place[i] = last_place;
    }
    map64_fini(&seen);
    return room;
}

/* Sort members by node: count, sum up, fill. */
static void sort_members(flow_members *m, const uint32_t *place, const uint32_t *ranks)
{
    for (uint32_t k = 0; k <= m->n_nodes; k++)
        m->first[k] = 0;
    for (uint32_t i = 0; i < m->n_members; i++)
        m->first[place[i] + 1]++;
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        m->least = m->first[k + 1] < m->least ? m->first[k + 1] : m->least;
        m->first[k + 1] += m->first[k];
    }
    for (uint32_t i = 0; i < m->n_members; i++)
        m->npus[m->first[place[i]]++] = get_member_npu(ranks, i);
    for (uint32_t k = m->n_nodes; k > 0; k--) /* each has moved to its end */
        m->first[k] = m->first[k - 1];
    m->first[0] = 0;
    assert(m->first[m->n_nodes] == m->n_members && m->least > 0);
}

/* The members of every node form the same box. */
void flow_members_find_box(flow_members *m, const hw_network *net)
{
    hw_box other;
    m->has_box = false;
    if (!net->is_regular)
        return;
    const uint32_t n = m->first[1];
    m->has_box = n > 1 ? hw_network_box(&m->box, net, m->npus, n) : net->is_regular;
    if (n == 1)
        m->box = (hw_box){.n = 1, .link_Bps = net->direct.link_Bps};
    for (uint32_t k = 1; k < m->n_nodes && m->has_box; k++) {
        const uint32_t from = m->first[k], count = m->first[k + 1] - from;
        m->has_box = count == n &&
                     (n == 1 || (hw_network_box(&other, net, &m->npus[from], count) &&
                                 hw_box_equal(&other, &m->box)));
    }
}

bool flow_members_init(flow_members *m, const hw_network *net, const uint32_t *ranks,
                       uint32_t n)
{
    assert(n > 0);
    *m = (flow_members){.n_members = n, .least = n};
    m->npus = mem_array(n, sizeof *m->npus);
    m->first = mem_array((size_t)n + 1, sizeof *m->first);
    uint32_t *place = mem_array(n, sizeof *place);
    if (m->npus == NULL || m->first == NULL || place == NULL ||
        !number_nodes(place, &m->n_nodes, net, ranks, n)) {
        free(place);
        flow_members_fini(m);
        return false;
    }
    sort_members(m, place, ranks);
    free(place);
    flow_members_find_box(m, net);
    m->card_Bps = HUGE_VAL;
    for (uint32_t k = 0; k < m->n_nodes; k++)
        m->card_Bps = fmin(m->card_Bps, share_cards(net, &m->npus[m->first[k]],
                                                    m->first[k + 1] - m->first[k]));
    return true;
}

void flow_members_fini(flow_members *m)
{
    free(m->npus);
    free(m->first);
    *m = (flow_members){0};
}

bool flow_loads_init(flow_loads *l, const hw_network *net)
{
    *l = (flow_loads){.bytes = mem_array_zero(net->graph->n_links, sizeof *l->bytes)};
    return l->bytes != NULL;
}

void flow_loads_fini(flow_loads *l)
{
    free(l->bytes);
    array_fini(&l->links);
}

bool flow_loads_add_link(flow_loads *l, uint32_t link, double bytes)
{
    if (l->bytes[link] == 0 && !array_push(&l->links, link))
        return false;
    l->bytes[link] += bytes;
    return true;
}

halley_status flow_loads_add_edge(flow_loads *l, hw_network *net, uint32_t from,
                                  uint32_t to, double bytes, halley_error *err)
{
    hw_route route;
    if (from == to || !(bytes > 0))
        return HALLEY_OK;
    TRY(hw_network_find(&route, net, from, to, err));
    assert(route.n > 0 && isfinite(bytes));
    for (uint32_t i = 0; i < route.n; i++) {
        const double share = (double)route.hops[i].share / (double)HW_ROUTE_ONE;
        assert(route.hops[i].share <= HW_ROUTE_ONE);
        if (!flow_loads_add_link(l, route.hops[i].link, bytes * share))
            return error_nomem(err);
    }
    return HALLEY_OK;
}

/* True if NPUs of a node are wired directly to each other, to all or to some. Then
 * several rings use all the cables. */
static bool has_mesh(const hw_network *net)
{
    const hw_graph *g = net->node != NULL ? net->node : net->graph;
    return g->n_switches == 0 && g->axes[0] != HW_AXIS_RING && g->axes[0] != HW_AXIS_LINE;
}

static bool has_torus(const hw_network *net)
{
    const hw_graph *g = net->node != NULL ? net->node : net->graph;
    return g->n_switches == 0 && !has_mesh(net);
}

static halley_status add_pairs(flow_loads *l, hw_network *net, const uint32_t *npus,
                               uint32_t n, double bytes, halley_error *err)
{
    assert(n > 1);
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < n; k++)
            TRY(flow_loads_add_edge(l, net, npus[i], npus[k], bytes / (n - 1), err));
    return HALLEY_OK;
}

/* Each member sends to the next. In a torus, half goes each way round. */
static halley_status add_ring(flow_loads *l, hw_network *net, const uint32_t *npus,
                              uint32_t n, double bytes, halley_error *err)
{
    const bool torus = has_torus(net);
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t next = npus[(i + 1) % n];
        TRY(flow_loads_add_edge(l, net, npus[i], next, torus ? bytes / 2 : bytes, err));
        if (torus)
            TRY(flow_loads_add_edge(l, net, next, npus[i], bytes / 2, err));
    }
    return HALLEY_OK;
}

/* The positions of a node's members along an axis of their box, in ascending order, each
 * with the next one. */
typedef struct axis_places {
    uint32_t *at; /* by position: its place among them */
    uint32_t *next;
    bool *used;
} axis_places;

/* Where a walk along an axis is. */
typedef struct grid_walk {
    const hw_network *net;
    uint32_t node;
    uint32_t at[HW_MAX_DIMS];
} grid_walk;

static uint32_t get_walk_device(const grid_walk *w)
{
    uint32_t device = 0;
    for (uint32_t i = w->net->direct.n_axes; i-- > 0;)
        device = device * w->net->direct.axes[i].n + w->at[i];
    return device;
}

/* Step to the next NPU along an axis, and find the link to it. */
static uint32_t step_along(grid_walk *w, uint32_t axis)
{
    const hw_network *net = w->net;
    const hw_graph *g = net->node != NULL ? net->node : net->graph;
    const uint32_t from = get_walk_device(w);
    w->at[axis] = (w->at[axis] + 1) % net->direct.axes[axis].n;
    const uint32_t to = get_walk_device(w);
    for (uint32_t k = g->dev_first[from]; k < g->dev_first[from + 1]; k++)
        if (g->link_to[g->adj_link[k]] == to)
            return (net->node != NULL ? net->first_node_link + w->node * g->n_links : 0) +
                   g->adj_link[k];
    assert(false && "neighbours of a grid have a link");
    return HW_NONE;
}

/* Mark the positions of a node's members along an axis. */
static void list_places(axis_places *p, const hw_network *net, const uint32_t *npus,
                        uint32_t n, uint32_t axis)
{
    uint32_t at[HW_MAX_DIMS], m = 0, last = HW_NONE, widest = 0;
    const hw_direct_axis *a = &net->direct.axes[axis];
    memset(p->used, 0, a->n * sizeof *p->used);
    for (uint32_t i = 0; i < n; i++) {
        hw_direct_locate(at, &net->direct, npus[i] % net->per_node);
        p->used[at[axis]] = true;
    }
    for (uint32_t i = 2 * a->n; i-- > 0;) { /* each sees the one after it */
        if (i < a->n)
            p->next[i] = last;
        if (p->used[i % a->n])
            last = i % a->n;
    }
    uint32_t first = 0; /* the position after the widest gap */
    for (uint32_t i = 0; i < a->n; i++) {
        const uint32_t gap = !p->used[i] ? 0 : (p->next[i] + a->n - i - 1) % a->n + 1;
        if (gap > widest || (!a->wraps && p->used[i] && p->next[i] <= i)) {
            widest = a->wraps ? gap : a->n + 1;
            first = p->next[i];
        }
    }
    for (uint32_t i = 0; i < a->n; i++)
        if (p->used[(first + i) % a->n])
            p->at[(first + i) % a->n] = m++;
}

/* Add what a box puts on the links of one of its axes: between each member and the next,
 * in both directions. */
static bool add_box_axis(flow_loads *l, const hw_network *net, const flow_members *m,
                         uint32_t node, const hw_box_axis *a, const axis_places *p,
                         bool pairs, double bytes)
{
    const double n = m->box.n, rate = hw_box_rate(&m->box);
    bool room = true;
    for (uint32_t i = m->first[node]; room && i < m->first[node + 1]; i++) {
        grid_walk w = {.net = net, .node = hw_network_node_of(net, m->npus[i])};
        hw_direct_locate(w.at, &net->direct, m->npus[i] % net->per_node);
        const uint32_t place = p->at[w.at[a->axis]], next = p->next[w.at[a->axis]];
        if (place + 1 == a->members && !a->wraps)
            continue;
        const double load = pairs ? bytes * n / (n - 1) * hw_box_pair_bytes(a, place)
                                  : bytes * m->box.link_Bps / a->stride / rate;
        do {
            const uint32_t link = step_along(&w, a->axis);
            room = flow_loads_add_link(l, link, load) &&
                   flow_loads_add_link(l, link ^ 1, load);
        } while (room && w.at[a->axis] != next);
    }
    return room;
}

static halley_status add_box(flow_loads *l, const hw_network *net, const flow_members *m,
                             uint32_t node, bool pairs, double bytes, halley_error *err)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < net->direct.n_axes; i++)
        most = net->direct.axes[i].n > most ? net->direct.axes[i].n : most;
    axis_places p = {.at = mem_array(most, sizeof *p.at),
                     .next = mem_array(most, sizeof *p.next),
                     .used = mem_array(most, sizeof *p.used)};
    bool room = p.at != NULL && p.next != NULL && p.used != NULL;
    for (uint32_t i = 0; room && i < m->box.n_axes; i++) {
        list_places(&p, net, &m->npus[m->first[node]], m->box.n, m->box.axes[i].axis);
        room = add_box_axis(l, net, m, node, &m->box.axes[i], &p, pairs, bytes);
    }
    free(p.at);
    free(p.next);
    free(p.used);
    return room ? HALLEY_OK : error_nomem(err);
}

enum { MOST_PAIR_MEMBERS = 1024 }; /* in a torus: a million routes */

static halley_status add_inside(flow_loads *l, hw_network *net, const flow_members *m,
                                const coll_load *load, halley_error *err)
{
    for (uint32_t k = 0; k < m->n_nodes; k++) {
        const uint32_t *npus = &m->npus[m->first[k]];
        const uint32_t n = m->first[k + 1] - m->first[k];
        const bool pairs = has_mesh(net) || (load->pattern == COLL_PATTERN_PAIRS &&
                                             has_torus(net) && n <= MOST_PAIR_MEMBERS);
        if (n < 2)
            continue;
        if (m->has_box) {
            TRY(add_box(l, net, m, k, load->pattern == COLL_PATTERN_PAIRS, load->up_bytes,
                        err));
            continue;
        }
        TRY(pairs ? add_pairs(l, net, npus, n, load->up_bytes, err)
                  : add_ring(l, net, npus, n, load->up_bytes, err));
    }
    return HALLEY_OK;
}

/* Add `bytes` between each pair of cards of two nodes. */
static halley_status join_nodes(flow_loads *l, hw_network *net, const flow_members *m,
                                uint32_t a, uint32_t b, double bytes, halley_error *err)
{
    for (uint32_t j = 0; j < m->least; j++)
        TRY(flow_loads_add_edge(l, net, m->npus[m->first[a] + j],
                                m->npus[m->first[b] + j], bytes, err));
    return HALLEY_OK;
}

/* The parent of a place in a binary tree whose places are numbered in order. The root is
 * 0; the height of place i is that of its lowest bit. */
static uint32_t find_tree_parent(uint32_t i, uint32_t n)
{
    const uint32_t bit = i & (0 - i);
    assert(i > 0 && i < n);
    const uint32_t parent = (i ^ bit) | bit << 1;
    return parent < n ? parent : i ^ bit;
}

/* Add two trees over the nodes. Inner places of one are leaves of the other, and each
 * carries half of the data up and down. */
static halley_status add_trees(flow_loads *l, hw_network *net, const flow_members *m,
                               double bytes, halley_error *err)
{
    const uint32_t n = m->n_nodes;
    const double edge = n > 2 ? bytes / 4 : bytes / 2;
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t p = find_tree_parent(i, n);
        for (uint32_t tree = 0; tree < 2; tree++) {
            const uint32_t shift = n % 2, a = tree == 0 ? i
                                              : shift   ? (i + 1) % n
                                                        : n - 1 - i;
            const uint32_t b = tree == 0 ? p : shift ? (p + 1) % n : n - 1 - p;
            TRY(join_nodes(l, net, m, a, b, edge, err));
            TRY(join_nodes(l, net, m, b, a, edge, err));
        }
    }
    return HALLEY_OK;
}

static halley_status add_across(flow_loads *l, hw_network *net, const flow_members *m,
                                const coll_load *load, halley_error *err)
{
    const uint32_t n = m->n_nodes;
    if (load->pattern == COLL_PATTERN_TREE)
        return add_trees(l, net, m, load->out_bytes, err);
    for (uint32_t a = 0; a < n && load->pattern == COLL_PATTERN_RING; a++)
        TRY(join_nodes(l, net, m, a, (a + 1) % n, load->out_bytes, err));
    for (uint32_t a = 0; a < n && load->pattern == COLL_PATTERN_PAIRS; a++)
        for (uint32_t b = 0; b < n; b++)
            if (a != b)
                TRY(join_nodes(l, net, m, a, b, load->out_bytes / (n - 1), err));
    return HALLEY_OK;
}

static halley_status add_star(flow_loads *l, hw_network *net, const flow_members *m,
                              const coll_load *load, uint32_t root, halley_error *err)
{
    assert(m->n_members > 1);
    const bool in = load->pattern == COLL_PATTERN_IN;
    const double bytes = fmax(load->up_bytes, load->out_bytes) / (m->n_members - 1);
    for (uint32_t i = 0; i < m->n_members; i++)
        TRY(flow_loads_add_edge(l, net, in ? m->npus[i] : root, in ? root : m->npus[i],
                                bytes, err));
    return HALLEY_OK;
}

static halley_status add_pattern(flow_loads *l, hw_network *net, const flow_members *m,
                                 const coll_load *load, uint32_t root, halley_error *err)
{
    if (load->pattern == COLL_PATTERN_SEND)
        return flow_loads_add_edge(l, net, m->npus[0], m->npus[1],
                                   fmax(load->up_bytes, load->out_bytes), err);
    if (load->pattern == COLL_PATTERN_IN || load->pattern == COLL_PATTERN_OUT)
        return add_star(l, net, m, load, root, err);
    TRY(add_inside(l, net, m, load, err));
    return m->n_nodes > 1 ? add_across(l, net, m, load, err) : HALLEY_OK;
}

halley_status flow_loads_add(flow_loads *l, hw_network *net, const flow_members *m,
                             const coll_load *load, uint32_t root, halley_error *err)
{
    assert(l->links.n == 0);
    const halley_status status = add_pattern(l, net, m, load, root, err);
    if (status != HALLEY_OK) /* a member has no route: discard the loads of the others */
        flow_loads_drop(l);
    return status;
}

void flow_loads_drop(flow_loads *l)
{
    for (size_t i = 0; i < l->links.n; i++)
        l->bytes[l->links.at[i]] = 0;
    l->links.n = 0;
}

/* Seconds for which the busiest link of a level would be busy at full capacity. */
static double find_busiest(const flow_loads *l, const hw_network *net,
                           hw_link_level level)
{
    double most = 0;
    for (size_t i = 0; i < l->links.n; i++) {
        const uint32_t link = l->links.at[i];
        if (net->level[link] == level)
            most = fmax(most, l->bytes[link] / hw_network_nominal_Bps(net, link));
    }
    return most;
}

void flow_loads_share(double shares[3], const flow_loads *l, const hw_network *net,
                      const coll_load *load)
{
    shares[HW_LEVEL_NODE] = find_busiest(l, net, HW_LEVEL_NODE) / load->up_s;
    shares[HW_LEVEL_PORT] = find_busiest(l, net, HW_LEVEL_PORT) / load->out_s;
    shares[HW_LEVEL_FABRIC] = load->above_share;
    /* If up_s is 0, links inside nodes carry only traffic that NPUs forward and that of
     * neighbours. They have no limit below their capacity. */
    if (!(load->up_s > 0))
        shares[HW_LEVEL_NODE] = 1;
    if (!(load->out_s > 0))
        shares[HW_LEVEL_PORT] = load->above_share;
    /* If NPUs forward traffic of others, a closed form that counts only their own bytes
     * is too short. Then the capacity of the links limits the rate. */
    shares[HW_LEVEL_PORT] = fmin(shares[HW_LEVEL_PORT], 1);
    if (l->most_share > 0)
        shares[HW_LEVEL_NODE] = fmin(shares[HW_LEVEL_NODE], l->most_share);
}

uint32_t flow_loads_take(net_flow_hop *hops, flow_loads *l, const hw_network *net,
                         double volume, const double shares[3])
{
    for (size_t i = 0; i < l->links.n; i++) {
        const uint32_t link = l->links.at[i];
        assert(shares[net->level[link]] > 0 && volume > 0);
        const double c = l->bytes[link] / (shares[net->level[link]] * volume);
        const double fixed = fmin(fmax(floor(c * (double)NET_FLOW_ONE), 1), 0x1p62);
        hops[i] = (net_flow_hop){link, (uint64_t)fixed};
        l->bytes[link] = 0;
    }
    const uint32_t n = (uint32_t)l->links.n;
    l->links.n = 0;
    return n;
}
