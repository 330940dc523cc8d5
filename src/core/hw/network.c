/*
 * hw/network.c - makes the graph of a cluster from its description, and finds routes.
 *
 * The graph for each kind of description:
 *
 *   `dimensions`  the generator `dims`.
 *   `{fabric}`    nodes of the stated shape, and one switch per rail.
 *   `tiers`       nodes, connected by a fat tree of these tiers.
 *   `topology`    nodes, connected by the generator; if the cluster has no link inside
 *                 nodes, the generator alone.
 */
#include "hw/network.h"

#include "hw/count.h"
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "hw/graph/topology.h"
#include "hw/read/read_graph.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* ---- one node ---- */

static void set_torus(hw_generator_params *p, uint32_t n_dims, uint32_t n,
                      double axis_Bps)
{
    p->n_dims = n_dims;
    hw_direct_sizes(p->dims, n_dims, n);
    p->link_Bps = axis_Bps / 2; /* a link's bandwidth counts both directions of an axis */
}

/* The number of NPUs in one node of the graph. A slice of a torus is itself a torus. */
static uint32_t count_node_npus(const halley_cluster *c)
{
    const bool sliced = c->nodes.shape >= HW_SHAPE_TORUS_2D;
    return sliced && c->n_npus < c->nodes.npus ? c->n_npus : c->nodes.npus;
}

static halley_status generate_node(hw_graph **out, const halley_cluster *c,
                                   halley_error *err)
{
    static const char *const words[] = {
        [HW_SHAPE_SWITCH] = "nvl",     [HW_SHAPE_FULL] = "fully-connected",
        [HW_SHAPE_RING] = "ring",      [HW_SHAPE_DGX_1] = "dgx-1",
        [HW_SHAPE_TORUS_2D] = "torus", [HW_SHAPE_TORUS_3D] = "torus",
        [HW_SHAPE_MESH_2D] = "mesh"};
    const uint32_t n = count_node_npus(c);
    const halley_link *up = &c->nodes.up;
    hw_generator_params p = {.topology = str_from(words[c->nodes.shape]),
                             .n = n,
                             .s = 1,
                             .link_Bps = up->bandwidth_Bps,
                             .latency_s = up->simple.hop_s / 2};
    if (c->nodes.shape == HW_SHAPE_FULL && n > 1)
        p.link_Bps /= n - 1;
    if (c->nodes.shape == HW_SHAPE_RING)
        p.link_Bps /= 2;
    if (c->nodes.shape == HW_SHAPE_TORUS_2D || c->nodes.shape == HW_SHAPE_MESH_2D)
        set_torus(&p, 2, n, up->bandwidth_Bps);
    if (c->nodes.shape == HW_SHAPE_TORUS_3D)
        set_torus(&p, 3, n, up->bandwidth_Bps);
    if (c->nodes.shape >= HW_SHAPE_TORUS_2D)
        p.latency_s = up->simple.hop_s; /* a step has one link, and no switch */
    return hw_graph_generate(out, &p, err);
}

/* ---- what joins nodes ---- */

static uint32_t count_nics(const halley_cluster *c)
{
    return c->nodes.nics != 0 ? c->nodes.nics : c->nodes.npus;
}

/* Build one switch for each network card of a node. If there are fewer cards than NPUs,
 * the cards are devices that NPUs share. */
static halley_status build_rail_switches(hw_graph **out, const halley_cluster *c,
                                         uint32_t n_nodes, halley_error *err)
{
    const uint32_t g = c->nodes.npus, cards = count_nics(c);
    const bool shared = cards < g;
    const uint32_t rails = shared ? cards : g;
    const halley_fabric *f = hw_outer_fabric(c);
    const double card_Bps = f->bandwidth_Bps * g / rails;
    hw_builder b;
    hw_builder_init(&b, "rails");
    hw_builder_add_group(
        &b, &(hw_device_group){
                .name = "npu", .kind = HW_DEVICE_NPU, .n = n_nodes * g, .per_node = g});
    uint32_t nic = 0;
    if (shared)
        nic = hw_builder_add_group(&b, &(hw_device_group){.name = "nic",
                                                          .kind = HW_DEVICE_NIC,
                                                          .n = n_nodes * cards,
                                                          .per_node = cards,
                                                          .forwards = true});
    const uint32_t rail =
        hw_builder_add_group(&b, &(hw_device_group){.name = "rail",
                                                    .kind = HW_DEVICE_SWITCH,
                                                    .n = rails,
                                                    .tier = 1,
                                                    .forwards = true});
    const uint16_t board = hw_builder_add_kind(
        &b, &(hw_link_kind){
                .name = "npu-nic", .medium = HW_MEDIUM_BOARD, .bw_Bps = card_Bps});
    const uint16_t cable =
        hw_builder_add_kind(&b, &(hw_link_kind){.name = "node-rail",
                                                .medium = HW_MEDIUM_OPTICAL,
                                                .tier = 1,
                                                .bw_Bps = card_Bps,
                                                .latency_s = f->hop_s[2] / 2});
    for (uint32_t i = 0; i < n_nodes * rails; i++)
        hw_builder_add_cable(&b, (shared ? nic : 0) + i, rail + i % rails, cable);
    for (uint32_t i = 0; shared && i < n_nodes * g; i++)
        hw_builder_add_cable(&b, i, nic + i / g * cards + i % g * cards / g, board);
    if (b.graph != NULL) {
        b.graph->n_dims = 2;
        b.graph->dims[0] = g;
        b.graph->dims[1] = n_nodes;
    }
    return hw_builder_finish(out, &b, err);
}

/* Convert tiers that a file states as levels into parameters of a generator. */
static void take_tiers(hw_generator_params *p, const halley_cluster *c, uint32_t n_npus)
{
    p->topology = STR("fat-tree");
    for (uint32_t i = 0, below = 1; i < c->n_outer && below < n_npus; i++) {
        const hw_outer *o = &c->outer[i];
        const bool top = o->npus == 0 || o->npus >= n_npus;
        below = top ? n_npus : o->npus;
        p->tiers[p->n_tiers++] =
            (hw_tier_params){.name = str_from(o->name),
                             .npus = below,
                             .oversubscription = top ? 1 : o->tier.oversubscription,
                             .link_Bps = o->tier.link_Bps,
                             .latency_s = o->tier.latency_s};
    }
    p->n = n_npus;
}

/* Round up to whole blocks of the largest tier block that is smaller than n_npus. */
static uint32_t fill_blocks(const halley_cluster *c, uint32_t n_npus)
{
    uint32_t block = c->nodes.npus;
    for (uint32_t i = 0; i < c->n_outer; i++)
        if (c->outer[i].npus != 0 && c->outer[i].npus < n_npus)
            block = c->outer[i].npus;
    return (n_npus - 1) / block * block + block;
}

static halley_status build_fabric(hw_graph **out, const halley_cluster *c,
                                  uint32_t n_nodes, halley_error *err)
{
    const uint32_t n_per_node = c->nodes.npus;
    if (c->network == HW_NETWORK_FABRIC)
        return build_rail_switches(out, c, n_nodes, err);
    hw_generator_params p = {0};
    if (c->n_outer > HW_MAX_TIERS)
        return error_set(err, HALLEY_ELIMIT, "a fat tree can have %d tiers, not %u",
                         HW_MAX_TIERS, c->n_outer);
    take_tiers(&p, c, n_nodes * n_per_node);
    return hw_graph_generate(out, &p, err);
}

static bool is_priced(const hw_price_params *p)
{
    return p->network_switch > 0 || p->copper > 0 || p->nic > 0 || p->optical_end > 0 ||
           p->node_switch > 0;
}

static halley_status count_network(hw_counts *counts, hw_generator_params *out,
                                   const halley_cluster *c)
{
    arena memory = {0};
    conf_file file;
    hw_generator_params p = {0};
    halley_error err;
    const bool tiers = c->network == HW_NETWORK_TIERS;
    if (tiers)
        take_tiers(&p, c, fill_blocks(c, c->n_npus));
    else
        TRY(hw_graph_params_get(&p, &file, &memory, c, c->n_npus, &err));
    const halley_status status = hw_graph_count(counts, &p, &err);
    *out = p;
    if (!tiers)
        conf_fini(&file);
    arena_fini(&memory);
    return status;
}

/* Network cards of hosts, where the graph does not count them itself. */
static double count_host_nics(const halley_cluster *c, const hw_counts *counts)
{
    const bool hosts = c->network == HW_NETWORK_TIERS || c->graph_joins_nodes;
    const double of_hosts = hosts ? c->n_npus * hw_count_nics(c) : 0;
    return counts->nics > 0 ? (double)counts->nics : of_hosts;
}

void hw_network_price(halley_cluster *c)
{
    hw_counts counts = {0};
    hw_generator_params p;
    c->counted = (hw_network_count){0};
    if (c->n_npus == 0 || c->generator != NULL ||
        (c->network != HW_NETWORK_TIERS && c->network != HW_NETWORK_GRAPH) ||
        count_network(&counts, &p, c) != HALLEY_OK)
        return;
    p.cost.npu = p.power.npu = 0; /* priced with the hosts */
    const double cables = (double)(counts.cables - counts.switch_cables);
    c->counted = (hw_network_count){
        .switches = (double)(counts.switches - counts.node_switches),
        .optical = (double)counts.switch_cables,
        .copper = cables - (double)hw_counts_node_links(&counts),
        .nics = count_host_nics(c, &counts),
        .link_Bps =
            c->network == HW_NETWORK_TIERS ? c->outer[0].tier.link_Bps : p.link_Bps,
        .priced = is_priced(&p.cost),
        .powered = is_priced(&p.power),
        .own_usd = hw_counts_price(&counts, &p.cost),
        .own_w = hw_counts_price(&counts, &p.power)};
}

static halley_status generate_dims(hw_graph **out, const halley_cluster *c,
                                   halley_error *err)
{
    static const uint32_t kinds[] = {[CLUSTER_RING] = HW_DIM_RING,
                                     [CLUSTER_FULLY_CONNECTED] = HW_DIM_FULL,
                                     [CLUSTER_SWITCH] = HW_DIM_SWITCH};
    hw_generator_params p = {.topology = STR("dims"), .n_dims = c->n_dims};
    if (c->n_dims > HW_MAX_DIMS)
        return error_set(err, HALLEY_ELIMIT,
                         "network-model flow handles %d dimensions, not %u; use free or "
                         "queue",
                         HW_MAX_DIMS, c->n_dims);
    for (uint32_t d = 0; d < c->n_dims; d++) {
        p.dims[d] = c->dims[d].n;
        p.dim_kinds[d] = kinds[c->dims[d].topology];
        p.dim_Bps[d] = c->dims[d].bw_Bps;
        p.dim_latency_s[d] = c->dims[d].latency_ns / 1e9;
    }
    return hw_graph_generate(out, &p, err);
}

/* ---- both together ---- */

static void copy_groups(hw_builder *b, const hw_graph *from, uint32_t n_copies,
                        bool is_node)
{
    for (uint32_t i = 0; i < from->n_groups; i++) {
        hw_device_group group = from->groups[i];
        if (is_node && group.kind == HW_DEVICE_NPU)
            continue; /* the fabric has the NPUs */
        if (is_node)
            group.per_node = group.n;
        group.n *= n_copies;
        hw_builder_add_group(b, &group);
    }
}

/* The index in the joined graph of a device in copy `copy` of a node. */
static uint32_t join_device(const hw_graph *fabric, const hw_graph *node, uint32_t copy,
                            uint32_t device)
{
    const uint32_t others = node->n_devices - node->n_npus;
    return device < node->n_npus
               ? copy * node->n_npus + device
               : fabric->n_devices + copy * others + (device - node->n_npus);
}

static void copy_links(hw_builder *b, const hw_graph *from, const hw_graph *fabric,
                       uint32_t copy, bool is_node)
{
    for (uint32_t i = 0; i < from->n_links; i += i < 2 * from->n_cables ? 2 : 1) {
        const uint16_t kind = hw_builder_add_kind(b, &from->kinds[from->link_kind[i]]);
        hw_raw_link raw = {.from = from->link_from[i],
                           .to = from->link_to[i],
                           .bw_Bps = from->link_Bps[i],
                           .latency_s = from->link_latency_s[i],
                           .kind = kind,
                           .one_way = i >= 2 * from->n_cables};
        if (is_node) {
            raw.from = join_device(fabric, from, copy, raw.from);
            raw.to = join_device(fabric, from, copy, raw.to);
        }
        hw_builder_add_link(b, &raw);
    }
}

/* Join both graphs into one, with n_nodes copies of `node`. */
static halley_status join_graphs(hw_graph **out, const hw_graph *fabric,
                                 const hw_graph *node, uint32_t n_nodes,
                                 halley_error *err)
{
    hw_builder b;
    assert(fabric->n_npus == n_nodes * node->n_npus && node->names == NULL);
    if (fabric->n_links > 2 * fabric->n_cables || fabric->names != NULL ||
        node->n_links > 2 * node->n_cables)
        return error_set(err, HALLEY_EINVAL,
                         "a network with one-way links or names of its own cannot join "
                         "nodes that have a link inside; leave out nodes.up");
    hw_builder_init(&b, fabric->generator);
    copy_groups(&b, fabric, 1, false);
    /* Devices of one node are consecutive: each of its groups has one device kind. */
    copy_groups(&b, node, n_nodes, true);
    copy_links(&b, fabric, fabric, 0, false);
    for (uint32_t i = 0; i < n_nodes; i++)
        copy_links(&b, node, fabric, i, true);
    if (b.graph != NULL) {
        b.graph->n_dims = fabric->n_dims;
        for (uint32_t d = 0; d < fabric->n_dims; d++)
            b.graph->dims[d] = fabric->dims[d];
        if (fabric->note != NULL)
            hw_builder_note(&b, "%s", fabric->note);
    }
    return hw_builder_finish(out, &b, err);
}

static bool is_endpoint(const hw_graph *g, uint32_t device)
{
    return g->dev_kind[device] == HW_DEVICE_NPU || g->dev_kind[device] == HW_DEVICE_NIC;
}

/* True if a link connects two NPUs of one node and the network consists of `graph`
 * alone. */
static bool is_inside_node(const hw_network *n, uint32_t link)
{
    const hw_graph *g = n->graph;
    const uint32_t from = g->link_from[link], to = g->link_to[link];
    return !n->joins_nodes && g->dev_kind[from] == HW_DEVICE_NPU &&
           g->dev_kind[to] == HW_DEVICE_NPU && from / n->per_node == to / n->per_node;
}

static bool set_levels(hw_network *n)
{
    const hw_graph *g = n->graph;
    assert(n->per_node > 0);
    n->level = mem_array(g->n_links, 1);
    for (uint32_t i = 0; n->level != NULL && i < g->n_links; i++)
        n->level[i] = i >= n->first_node_link || is_inside_node(n, i) ? HW_LEVEL_NODE
                      : is_endpoint(g, g->link_from[i]) || is_endpoint(g, g->link_to[i])
                          ? HW_LEVEL_PORT
                          : HW_LEVEL_FABRIC;
    return n->level != NULL;
}

/* Make a generator's graph. Rails have no switch inside nodes here: the nodes have it. */
static halley_status build_generated(hw_graph **out, hw_network *n,
                                     const halley_cluster *c, halley_error *err)
{
    arena memory = {0};
    conf_file file;
    hw_generator_params p;
    hw_counts counts;
    if (c->generator != NULL)
        return hw_own_generate(out, c->generator,
                               c->graph_joins_nodes
                                   ? (c->n_npus - 1) / c->nodes.npus * c->nodes.npus +
                                         c->nodes.npus
                                   : c->n_npus,
                               err);
    TRY(hw_graph_params_get(&p, &file, &memory, c, c->n_npus, err));
    n->rails = str_starts(p.topology, STR("rail-"));
    halley_status status =
        n->rails ? hw_graph_complete(&counts, &p, err) : hw_graph_generate(out, &p, err);
    if (status == HALLEY_OK && n->rails) {
        hw_builder b;
        hw_builder_init(&b, "rails");
        p.no_node_switch = true;
        if (b.failed == HALLEY_OK)
            hw_generator_find(p.topology)->build(&b, &p);
        status = hw_builder_finish(out, &b, err);
        if (status == HALLEY_OK)
            status = hw_faults_apply(*out, p.faults, p.n_faults, err);
    }
    if (status == HALLEY_OK)
        status = hw_graph_check_known(*out, err);
    if (status == HALLEY_OK)
        status = hw_events_list(&n->changes, *out, p.events, p.n_events, err);
    n->reroute_s = p.reroute_s;
    if (status != HALLEY_OK) {
        hw_graph_free(*out);
        *out = NULL;
    }
    conf_fini(&file);
    arena_fini(&memory);
    return status;
}

static halley_status join_nodes(hw_network *n, uint32_t n_nodes, halley_error *err)
{
    n->joins_nodes = true;
    n->first_node_link = 2 * n->fabric->n_cables;
    return join_graphs(&n->graph, n->fabric, n->node, n_nodes, err);
}

/* Make a network from a generator. */
static halley_status make_generated(hw_network *n, const halley_cluster *c,
                                    halley_error *err)
{
    hw_graph *made = NULL;
    n->per_node = c->nodes.npus;
    const halley_status status = build_generated(&made, n, c, err);
    if (status != HALLEY_OK) {
        hw_graph_free(made);
        return status;
    }
    if (!c->graph_joins_nodes && !n->rails) {
        n->graph = made;
        if (n->per_node >= c->n_npus)
            n->first_node_link = 0;
        return HALLEY_OK;
    }
    n->fabric = made;
    const uint32_t n_nodes = made->n_npus / n->per_node;
    if (made->n_npus % n->per_node != 0)
        return error_set(err, HALLEY_EINVAL,
                         "the network joins %u NPUs, which are no whole nodes of %u",
                         made->n_npus, n->per_node);
    TRY(generate_node(&n->node, c, err));
    return join_nodes(n, n_nodes, err);
}

static halley_status make_graphs(hw_network *n, const halley_cluster *c,
                                 halley_error *err)
{
    n->per_node = c->n_npus;
    n->first_node_link = UINT32_MAX;
    if (c->network == HW_NETWORK_DIMS)
        return generate_dims(&n->graph, c, err);
    if (c->network == HW_NETWORK_GRAPH)
        return make_generated(n, c, err);
    n->per_node = count_node_npus(c);
    uint32_t n_nodes = (c->n_npus - 1) / n->per_node + 1;
    if (c->network == HW_NETWORK_TIERS && n_nodes > 1)
        n_nodes = fill_blocks(c, c->n_npus) / n->per_node;
    TRY(generate_node(&n->node, c, err));
    if (n->node->n_npus != n->per_node)
        return error_set(
            err, HALLEY_EINVAL,
            "nodes.shape: a node of this shape has %u NPUs, and nodes.npus is "
            "%u",
            n->node->n_npus, n->per_node);
    if (n_nodes == 1) { /* a single node is the whole network */
        n->graph = n->node;
        n->node = NULL;
        n->first_node_link = 0;
        return HALLEY_OK;
    }
    TRY(build_fabric(&n->fabric, c, n_nodes, err));
    n->rails = c->network == HW_NETWORK_FABRIC;
    return join_nodes(n, n_nodes, err);
}

/* In the order of the words in hw_routings. */
static const hw_routing routings[] = {HW_ROUTING_SPRAY,           HW_ROUTING_ECMP,
                                      HW_ROUTING_SHORTEST,        HW_ROUTING_UP_DOWN,
                                      HW_ROUTING_DIMENSION_ORDER, HW_ROUTING_TABLE,
                                      HW_ROUTING_MINIMAL,         HW_ROUTING_VALIANT};

static halley_status make_routers(hw_network *n, const halley_cluster *c,
                                  halley_error *err)
{
    assert(c->routing < sizeof routings / sizeof *routings);
    const hw_routing chosen =
        c->network == HW_NETWORK_GRAPH && !c->wiring.routing_given ? HW_ROUTING_DEFAULT
        : c->network == HW_NETWORK_GRAPH || n->joins_nodes         ? routings[c->routing]
                                                                   : HW_ROUTING_DEFAULT;
    const hw_route_options o = {.routing = chosen,
                                .spread = chosen == HW_ROUTING_ECMP ? HW_SPREAD_HASH
                                                                    : HW_SPREAD_EVEN,
                                .seed = c->wiring.seed,
                                .polarised = c->wiring.polarised,
                                .weighted = c->wiring.weighted,
                                .split_ties = c->wiring.split_ties || c->nodes.up.torus,
                                .no_pxn = true}; /* this file finds relays */
    n->no_pxn = c->wiring.no_pxn;
    if (!n->joins_nodes)
        return hw_router_new(&n->whole, n->graph, &o, err);
    TRY(hw_router_new(&n->inside, n->node,
                      &(hw_route_options){.split_ties = o.split_ties}, err));
    return hw_router_new(&n->across, n->fabric, &o, err);
}

/* Closed forms of the grid hold while all its links are as they should be. */
static void set_direct(hw_network *n, const halley_cluster *c)
{
    const hw_graph *g = n->node != NULL ? n->node : n->graph;
    hw_direct made;
    hw_direct_make(&n->direct, c);
    n->is_regular = n->direct.n_axes > 0 && n->direct.n_axes == g->n_dims &&
                    hw_direct_of_graph(&made, g);
    n->is_grid = n->is_regular;
    if (n->direct.n_axes > 0 && hw_direct_count(&n->direct) != g->n_npus)
        n->direct.n_axes = n->is_regular = n->is_grid = 0;
}

bool hw_network_box(hw_box *out, const hw_network *n, const uint32_t *npus,
                    uint32_t count)
{
    return n->is_regular && hw_box_find(out, &n->direct, npus, count);
}

halley_status hw_network_new(hw_network **out, const halley_cluster *c, halley_error *err)
{
    assert(c->n_npus > 0);
    hw_network *n = mem_array_zero(1, sizeof *n);
    if (n == NULL)
        return error_nomem(err);
    halley_status status = make_graphs(n, c, err);
    if (status == HALLEY_OK) {
        set_direct(n, c);
        status = set_levels(n) ? make_routers(n, c, err) : error_nomem(err);
    }
    if (status == HALLEY_OK)
        *out = n;
    else
        hw_network_free(n);
    return status;
}

void hw_network_set_rate(hw_network *n, uint32_t link, double bw_Bps)
{
    assert(link < n->graph->n_links && bw_Bps >= 0);
    const double usual_Bps = n->graph->kinds[n->graph->link_kind[link]].bw_Bps;
    if (n->is_grid && n->level[link] == HW_LEVEL_NODE) {
        n->n_changed -= n->graph->link_Bps[link] != usual_Bps;
        n->n_changed += bw_Bps != usual_Bps;
        n->is_regular = n->n_changed == 0;
    }
    n->graph->link_Bps[link] = bw_Bps;
    if (n->fabric != NULL && link < n->fabric->n_links)
        n->fabric->link_Bps[link] = bw_Bps;
}

halley_status hw_network_reroute(hw_network *n, const halley_cluster *c,
                                 halley_error *err)
{
    assert(n->planes == NULL); /* parallel links may differ from now on */
    hw_router_free(n->whole);
    hw_router_free(n->across);
    hw_router_free(n->inside);
    n->whole = n->across = n->inside = NULL;
    return make_routers(n, c, err);
}

void hw_network_free(hw_network *n)
{
    if (n == NULL)
        return;
    hw_router_free(n->whole);
    hw_router_free(n->across);
    hw_router_free(n->inside);
    hw_graph_free(n->graph);
    hw_graph_free(n->fabric);
    hw_graph_free(n->node);
    hw_planes_free(n->planes);
    free(n->level);
    array_fini(&n->changes);
    array_fini(&n->hops);
    free(n);
}

halley_status hw_network_merge_planes(hw_network *n, halley_error *err)
{
    assert(n->planes == NULL);
    if (!n->joins_nodes || !hw_router_sprays(n->across))
        return HALLEY_OK;
    TRY(hw_planes_new(&n->planes, n->fabric, err));
    if (n->planes == NULL)
        return HALLEY_OK;
    /* Routes no longer need the router and the fabric: for a million NPUs these take 250
     * MB. */
    hw_planes_move(n->planes, n->graph);
    hw_router_free(n->across);
    hw_graph_free(n->fabric);
    n->across = NULL;
    n->fabric = NULL;
    return HALLEY_OK;
}

/* ---- routes ---- */

static halley_status add_hops(hw_network *n, const hw_route *r, uint32_t first_link,
                              halley_error *err)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (!array_push(&n->hops,
                        (hw_hop){first_link + r->hops[i].link, r->hops[i].share}))
            return error_nomem(err);
    return HALLEY_OK;
}

static halley_status walk_inside(hw_network *n, uint32_t src, uint32_t dst,
                                 double *latency_s, halley_error *err)
{
    hw_route r;
    const uint32_t node = hw_network_node_of(n, src);
    assert(node == hw_network_node_of(n, dst));
    TRY(hw_router_find(&r, n->inside, hw_direct_device(&n->direct, src % n->per_node),
                       hw_direct_device(&n->direct, dst % n->per_node), 0, err));
    *latency_s += r.latency_s;
    return add_hops(n, &r, n->first_node_link + node * n->node->n_links, err);
}

static halley_status walk_across(hw_network *n, uint32_t src, uint32_t dst,
                                 double *latency_s, halley_error *err)
{
    hw_route r;
    TRY(n->planes != NULL ? hw_planes_find(&r, n->planes, src, dst, err)
                          : hw_router_find(&r, n->across, src, dst, 0, err));
    *latency_s += r.latency_s;
    return add_hops(n, &r, 0, err);
}

/* The NPU in the sender's node that is on the receiver's rail. It is the sender if no
 * relay is needed. */
static uint32_t find_relay_npu(const hw_network *n, uint32_t src, uint32_t dst)
{
    if (!n->rails || n->no_pxn)
        return src;
    return src / n->per_node * n->per_node + dst % n->per_node;
}

halley_status hw_network_find(hw_route *out, hw_network *n, uint32_t src, uint32_t dst,
                              halley_error *err)
{
    double latency_s = 0;
    if (!n->joins_nodes)
        return hw_router_find(out, n->whole, hw_direct_device(&n->direct, src),
                              hw_direct_device(&n->direct, dst), 0, err);
    n->hops.n = 0;
    if (hw_network_node_of(n, src) == hw_network_node_of(n, dst)) {
        TRY(walk_inside(n, src, dst, &latency_s, err));
    } else {
        const uint32_t relay = find_relay_npu(n, src, dst);
        if (relay != src)
            TRY(walk_inside(n, src, relay, &latency_s, err));
        TRY(walk_across(n, relay, dst, &latency_s, err));
    }
    *out = (hw_route){n->hops.at, (uint32_t)n->hops.n, false, latency_s};
    return HALLEY_OK;
}
