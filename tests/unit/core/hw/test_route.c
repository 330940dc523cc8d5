/* Routes between all pairs: they arrive, are as long as they should be, and split
 * evenly; the hash is the one that the contention scenarios were made with. */
#include "base/conf/conf.h"
#include "base/rng.h"
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "hw/graph/route.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static hw_graph *must_make(const char *text)
{
    conf_file file;
    arena memory = {0};
    hw_generator_params p;
    hw_graph *graph = NULL;
    halley_error err = {0};
    if (conf_parse(&file, str_from(text), "net.yaml", &err) != HALLEY_OK ||
        hw_generator_read(&p, &memory, &file, file.root, &err) != HALLEY_OK ||
        hw_graph_generate(&graph, &p, &err) != HALLEY_OK)
        fail_msg("%s: %s", text, err.text);
    arena_fini(&memory);
    conf_fini(&file);
    return graph;
}

static hw_router *must_route(const hw_graph *g, hw_route_options o)
{
    hw_router *router;
    halley_error err;
    if (hw_router_new(&router, g, &o, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return router;
}

/* Distances from one NPU by a plain search through devices that forward. */
static void search_plain(uint32_t *hops, const hw_graph *g, uint32_t from)
{
    uint32_t *queue = calloc(g->n_devices, sizeof *queue), n = 0;
    for (uint32_t i = 0; i < g->n_devices; i++)
        hops[i] = HW_NONE;
    hops[from] = 0;
    queue[n++] = from;
    for (uint32_t i = 0; i < n; i++) {
        if (queue[i] != from && !hw_graph_group(g, queue[i])->forwards)
            continue;
        for (uint32_t k = g->dev_first[queue[i]]; k < g->dev_first[queue[i] + 1]; k++) {
            const uint32_t to = g->link_to[g->adj_link[k]];
            if (g->link_Bps[g->adj_link[k]] != 0 && hops[to] == HW_NONE) {
                hops[to] = hops[queue[i]] + 1;
                queue[n++] = to;
            }
        }
    }
    free(queue);
}

/* What leaves a device is what arrives there, but for the rounding of a few 2^-40; the
 * sum over the source's links and over the destination's is one. */
static void check_conservation(const hw_graph *g, const hw_route *route, uint32_t src,
                               uint32_t dst, int64_t *balance)
{
    for (uint32_t i = 0; i < route->n; i++) {
        assert_true(route->hops[i].share > 0 && route->hops[i].share <= HW_ROUTE_ONE);
        balance[g->link_from[route->hops[i].link]] -= (int64_t)route->hops[i].share;
        balance[g->link_to[route->hops[i].link]] += (int64_t)route->hops[i].share;
    }
    balance[src] += (int64_t)HW_ROUTE_ONE;
    balance[dst] -= (int64_t)HW_ROUTE_ONE;
    for (uint32_t i = 0; i < route->n; i++)
        for (int end = 0; end < 2; end++) {
            const uint32_t link = route->hops[i].link;
            const uint32_t d = end == 0 ? g->link_from[link] : g->link_to[link];
            const uint32_t n = g->dev_first[d + 1] - g->dev_first[d];
            assert_true(llabs(balance[d]) <= (int64_t)(n + 1) * 64);
        }
    for (uint32_t i = 0; i < route->n; i++)
        balance[g->link_from[route->hops[i].link]] =
            balance[g->link_to[route->hops[i].link]] = 0;
    balance[src] = balance[dst] = 0;
}

static void check_path(const hw_graph *g, const hw_route *route, uint32_t src,
                       uint32_t dst)
{
    uint32_t at = src;
    for (uint32_t i = 0; i < route->n; i++) {
        assert_int_equal(g->link_from[route->hops[i].link], at);
        assert_true(route->hops[i].share == HW_ROUTE_ONE);
        at = g->link_to[route->hops[i].link];
    }
    assert_int_equal(at, dst);
}

/* Sum of shares = number of links of the average path = distance, where minimal. */
static double total_share(const hw_route *route)
{
    double sum = 0;
    for (uint32_t i = 0; i < route->n; i++)
        sum += (double)route->hops[i].share / (double)HW_ROUTE_ONE;
    return sum;
}

static void check_all_pairs(const char *text, hw_route_options o, bool minimal)
{
    hw_graph *g = must_make(text);
    hw_router *router = must_route(g, o);
    uint32_t *hops = calloc(g->n_devices, sizeof *hops);
    int64_t *balance = calloc(g->n_devices, sizeof *balance);
    const uint32_t step = g->n_npus > 300 ? 61 : 1; /* some sources of the large ones */
    for (uint32_t src = 0; src < g->n_npus; src += step) {
        search_plain(hops, g, src);
        for (uint32_t dst = 0; dst < g->n_npus; dst++) {
            hw_route route;
            halley_error err;
            if (hw_router_find(&route, router, src, dst, 0, &err) != HALLEY_OK)
                fail_msg("%s: %s", text, err.text);
            if (route.is_path)
                check_path(g, &route, src, dst);
            check_conservation(g, &route, src, dst, balance);
            if (minimal)
                if (fabs(total_share(&route) - hops[dst]) > 1e-8)
                    fail_msg("%s: %u to %u takes %.12g links, not %u", text, src, dst,
                             total_share(&route), hops[dst]);
        }
    }
    free(balance);
    free(hops);
    hw_router_free(router);
    hw_graph_free(g);
}

static const char *const graphs[] = {
    "{topology: torus, dims: [8, 8]}",
    "{topology: twisted-torus, dims: [4, 4, 8], twist: yes}",
    "{topology: torus, dims: [4, 8, 8]}",
    "{topology: leaf-spine, npus: 8, leaves: 16, spines: 4}",
    "{topology: fat-tree, tiers: [{radix: 4}, {radix: 4}, {radix: 4}]}",
    "{topology: fat-tree, tiers: [{radix: 8}, {radix: 8}, {radix: 8}]}",
    "{topology: fat-tree, tiers: [{radix: 16}, {radix: 16}, {radix: 16}]}",
    "{topology: fat-tree, m: [4, 3, 2], w: [1, 2, 3], p: [1, 2, 1]}",
    "{topology: fat-tree, m: [2, 3], w: [1, 2], planes: 2}",
    "{topology: dragonfly, p: 2, a: 4, h: 2, G: 9}",
    "{topology: dragonfly, p: 4, a: 8, h: 4, G: 33}",
    "{topology: dragonfly+, p: 4, l: 4, s: 4, h: 4, G: 17}",
    "{topology: hyperx, S: [8, 8], T: 8}",
    "{topology: dgx-1}",
    "{topology: dims, dims: [[ring, 4], [fully-connected, 4], [switch, 4]]}",
    "{topology: ring, n: 2}",
    "{topology: mesh, dims: [3]}",
};

static void every_rule_takes_shortest_paths_between_all_pairs(void **state)
{
    (void)state;
    static const hw_routing rules[] = {HW_ROUTING_SHORTEST, HW_ROUTING_ECMP,
                                       HW_ROUTING_SPRAY, HW_ROUTING_MINIMAL};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
            check_all_pairs(graphs[i], (hw_route_options){.routing = rules[k], .seed = i},
                            true);
}

static void up_down_is_minimal_on_whole_trees(void **state)
{
    (void)state;
    for (size_t i = 3; i < 9; i++)
        for (hw_spread spread = HW_SPREAD_EVEN; spread <= HW_SPREAD_DESTINATION; spread++)
            check_all_pairs(
                graphs[i],
                (hw_route_options){.routing = HW_ROUTING_UP_DOWN, .spread = spread},
                true);
}

static void dimension_order_is_minimal_on_grids(void **state)
{
    (void)state;
    static const char *const grids[] = {
        "{topology: ring, n: 8}", "{topology: torus, dims: [4, 6, 3]}",
        "{topology: mesh, dims: [5, 4]}", "{topology: torus, dims: [2, 4]}",
        "{topology: dims, dims: [[ring, 4], [fully-connected, 4], [switch, 4]]}"};
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++)
        for (int split = 0; split < 2; split++)
            check_all_pairs(grids[i],
                            (hw_route_options){.routing = HW_ROUTING_DIMENSION_ORDER,
                                               .split_ties = split == 1},
                            true);
}

static void half_way_round_goes_up_or_both_ways(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: ring, n: 8, latency: 1 us}");
    hw_router *up = must_route(g, (hw_route_options){0});
    hw_router *both = must_route(g, (hw_route_options){.split_ties = true});
    hw_route route;
    assert_int_equal(hw_router_find(&route, up, 1, 5, 0, NULL), HALLEY_OK);
    assert_int_equal(route.n, 4);
    assert_int_equal(g->link_to[route.hops[0].link], 2);
    assert_int_equal(hw_router_find(&route, both, 1, 5, 0, NULL), HALLEY_OK);
    assert_int_equal(route.n, 8);
    assert_true(route.hops[7].share == HW_ROUTE_ONE / 2);
    assert_true(fabs(route.latency_s - 4e-6) < 1e-18);
    hw_router_free(up);
    hw_router_free(both);
    hw_graph_free(g);
}

static void valiant_goes_through_a_third_group(void **state)
{
    (void)state;
    static const char text[] = "{topology: dragonfly, p: 2, a: 4, h: 2, G: 9}";
    check_all_pairs(text, (hw_route_options){.routing = HW_ROUTING_VALIANT}, false);
    check_all_pairs(
        text, (hw_route_options){.routing = HW_ROUTING_VALIANT, .spread = HW_SPREAD_HASH},
        false);
    hw_graph *g = must_make(text);
    hw_router *router = must_route(g, (hw_route_options){.routing = HW_ROUTING_VALIANT});
    hw_route route;
    assert_int_equal(hw_router_find(&route, router, 0, 71, 0, NULL), HALLEY_OK);
    /* two global links for every fraction of the message: none goes straight */
    double global = 0;
    for (uint32_t i = 0; i < route.n; i++)
        if (strcmp(g->kinds[g->link_kind[route.hops[i].link]].name, "global") == 0)
            global += (double)route.hops[i].share / (double)HW_ROUTE_ONE;
    assert_true(fabs(global - 2) < 1e-9);
    hw_router_free(router);
    hw_graph_free(g);
}

static void weighted_spray_follows_the_rates(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: leaf-spine, npus: 2, leaves: 2, spines: 4}");
    const uint32_t slow = hw_graph_find(g, STR("spine0"));
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_from[i] == slow || g->link_to[i] == slow)
            g->link_Bps[i] /= 2;
    hw_router *even = must_route(g, (hw_route_options){.routing = HW_ROUTING_SPRAY});
    hw_router *told =
        must_route(g, (hw_route_options){.routing = HW_ROUTING_SPRAY, .weighted = true});
    hw_route route;
    assert_int_equal(hw_router_find(&route, even, 0, 3, 0, NULL), HALLEY_OK);
    assert_true(route.hops[1].share == HW_ROUTE_ONE / 4);
    assert_int_equal(hw_router_find(&route, told, 0, 3, 0, NULL), HALLEY_OK);
    const double share = (double)route.hops[1].share / (double)HW_ROUTE_ONE;
    assert_true(fabs(share - 0.5 / 3.5) < 1e-11);
    hw_router_free(even);
    hw_router_free(told);
    hw_graph_free(g);
}

static void failed_links_are_avoided_and_who_is_cut_off_is_named(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: leaf-spine, npus: 2, leaves: 2, spines: 2}");
    const uint32_t spine = hw_graph_find(g, STR("spine0"));
    const uint32_t leaf = hw_graph_find(g, STR("leaf1"));
    hw_route route;
    halley_error err;
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_from[i] == spine || g->link_to[i] == spine)
            g->link_Bps[i] = 0;
    for (int rule = 0; rule < 2; rule++) {
        hw_router *r =
            must_route(g, (hw_route_options){.routing = rule == 0 ? HW_ROUTING_ECMP
                                                                  : HW_ROUTING_UP_DOWN});
        assert_int_equal(hw_router_find(&route, r, 0, 3, 0, &err), HALLEY_OK);
        for (uint32_t i = 0; i < route.n; i++)
            assert_true(g->link_Bps[route.hops[i].link] > 0);
        hw_router_free(r);
    }
    for (uint32_t i = 0; i < g->n_links; i++)
        if (g->link_from[i] == leaf && g->link_to[i] >= g->n_npus)
            g->link_Bps[i] = 0;
    hw_router *r = must_route(g, (hw_route_options){.routing = HW_ROUTING_SPRAY});
    assert_int_equal(hw_router_find(&route, r, 0, 3, 0, &err), HALLEY_OK);
    assert_int_equal(hw_router_find(&route, r, 3, 0, 0, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "no way from npu3 to npu0"));
    hw_router_free(r);
    hw_graph_free(g);
}

static void messages_between_rails_cross_inside_the_node(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: rail-optimised, nodes: 4, npus: 8, spines: 4, "
                            "nodes-per-leaf: 2}");
    hw_graph *only = must_make("{topology: rail-only, nodes: 4, npus: 8}");
    hw_router *pxn = must_route(g, (hw_route_options){0});
    hw_router *fabric = must_route(g, (hw_route_options){.no_pxn = true});
    hw_router *must_pxn = must_route(only, (hw_route_options){0});
    hw_router *cannot = must_route(only, (hw_route_options){.no_pxn = true});
    hw_route route;
    halley_error err;
    /* node 0, place 1 to node 1, place 5: NVSwitch, NPU 5, leaf, NPU 13 */
    assert_int_equal(hw_router_find(&route, pxn, 1, 13, 0, NULL), HALLEY_OK);
    assert_true(route.is_path && route.n == 4);
    assert_int_equal(g->link_to[route.hops[1].link], 5);
    assert_int_equal(hw_router_find(&route, fabric, 1, 13, 0, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < route.n; i++)
        assert_true(g->link_to[route.hops[i].link] != 5);
    assert_int_equal(hw_router_find(&route, must_pxn, 1, 13, 0, NULL), HALLEY_OK);
    assert_int_equal(hw_router_find(&route, cannot, 1, 13, 0, &err), HALLEY_EINVAL);
    /* the same rail, and the same node, need no relay */
    assert_int_equal(hw_router_find(&route, pxn, 1, 9, 0, NULL), HALLEY_OK);
    assert_int_equal(route.n, 2);
    assert_int_equal(hw_router_find(&route, pxn, 1, 6, 0, NULL), HALLEY_OK);
    assert_int_equal(route.n, 2);
    hw_router_free(pxn);
    hw_router_free(fabric);
    hw_router_free(must_pxn);
    hw_router_free(cannot);
    hw_graph_free(g);
    hw_graph_free(only);
}

/* A line of three: 0 - 1 - 2, links 0: 0>1, 1: 1>0, 2: 1>2, 3: 2>1. */
static void tables_with_loops_and_dead_ends_are_refused(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: edges, npus: 3, edges: [[0, 1], [1, 2]]}");
    const uint32_t links[] = {0, 1, 2, 3};
    hw_table_entry good[] = {{0, 0, 2, &links[0], 1},
                             {1, 0, 0, &links[1], 1},
                             {1, 1, 2, &links[2], 1},
                             {2, 0, 2, &links[3], 1}};
    hw_router *r;
    hw_route route;
    halley_error err;
    hw_route_options o = {.routing = HW_ROUTING_TABLE, .table = good, .n_table = 4};
    assert_int_equal(hw_router_new(&r, g, &o, &err), HALLEY_OK);
    assert_int_equal(hw_router_find(&route, r, 0, 2, 0, NULL), HALLEY_OK);
    check_path(g, &route, 0, 2);
    hw_router_free(r);
    good[2].links = &links[1]; /* 1 sends what is for 2 back to 0 */
    assert_int_equal(hw_router_new(&r, g, &o, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "a loop on the way from npu0 to npu2, at npu0"));
    good[2].last = 1; /* 1 knows no way to 2 */
    assert_int_equal(hw_router_new(&r, g, &o, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "a dead end on the way from npu0 to npu2, at npu1"));
    hw_graph_free(g);
}

/* Loads of the specification, in pairs per link from the NPU to the core. */
static void loads_of_all_to_alls_are_those_of_the_pairs(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: fat-tree, m: [8, 8, 16], w: [1, 8, 8]}");
    hw_router *r = must_route(g, (hw_route_options){.routing = HW_ROUTING_SPRAY});
    static const double want[] = {1023, 1016, 960};
    double *load = calloc(g->n_links, sizeof *load);
    assert_int_equal(hw_router_load_all_to_all(load, r, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < g->n_links; i++)
        assert_true(fabs(load[i] - want[g->kinds[g->link_kind[i]].tier - 1]) < 1e-6);
    free(load);
    hw_router_free(r);
    hw_graph_free(g);
    /* and on small graphs they are the sums of the routes */
    for (size_t k = 0; k < sizeof graphs / sizeof *graphs; k++) {
        g = must_make(graphs[k]);
        if (g->n_npus > 130) {
            hw_graph_free(g);
            continue;
        }
        r = must_route(g, (hw_route_options){.routing = HW_ROUTING_SPRAY});
        load = calloc(g->n_links, sizeof *load);
        assert_int_equal(hw_router_load_all_to_all(load, r, NULL), HALLEY_OK);
        for (uint32_t i = 0; i < g->n_npus * g->n_npus; i++) {
            hw_route route;
            assert_int_equal(
                hw_router_find(&route, r, i / g->n_npus, i % g->n_npus, 0, NULL),
                HALLEY_OK);
            for (uint32_t h = 0; h < route.n; h++)
                load[route.hops[h].link] -=
                    (double)route.hops[h].share / (double)HW_ROUTE_ONE;
        }
        for (uint32_t i = 0; i < g->n_links; i++)
            assert_true(fabs(load[i]) < 1e-6);
        free(load);
        hw_router_free(r);
        hw_graph_free(g);
    }
}

/* The hash as the specification writes it. */
static void ecmp_takes_the_candidate_of_the_stated_hash(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: leaf-spine, npus: 4, leaves: 4, spines: 4}");
    hw_router *r =
        must_route(g, (hw_route_options){.routing = HW_ROUTING_ECMP, .seed = 5});
    for (uint32_t src = 0; src < 16; src++)
        for (uint32_t dst = 0; dst < 16; dst++) {
            if (src / 4 == dst / 4)
                continue;
            hw_route route;
            uint64_t h = src * 1000003ULL + dst * 7919ULL + 3 * 104729ULL + 5;
            for (int device = 0; device < 2; device++)
                h = h * 6364136223846793005ULL + 1442695040888963407ULL;
            assert_int_equal(hw_router_find(&route, r, src, dst, 3, NULL), HALLEY_OK);
            assert_int_equal(g->link_to[route.hops[1].link], 16 + 4 + (h >> 33) % 4);
        }
    hw_router_free(r);
    hw_graph_free(g);
}

static void d_mod_k_uses_the_digits_of_the_destination(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: fat-tree, m: [4, 4, 8], w: [1, 4, 4]}");
    hw_router *r = must_route(g, (hw_route_options){.routing = HW_ROUTING_UP_DOWN,
                                                    .spread = HW_SPREAD_DESTINATION});
    hw_route route;
    const uint32_t dst = 119, first_spine = 128 + 32, first_core = 128 + 64;
    assert_int_equal(hw_router_find(&route, r, 0, dst, 0, NULL), HALLEY_OK);
    assert_int_equal(route.n, 6);
    const uint32_t b2 = dst % 4, b3 = dst / 4 % 4;
    assert_int_equal(g->link_to[route.hops[1].link], first_spine + b2);
    assert_int_equal(g->link_to[route.hops[2].link], first_core + b2 + 4 * b3);
    hw_router_free(r);
    hw_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rule_takes_shortest_paths_between_all_pairs),
        cmocka_unit_test(up_down_is_minimal_on_whole_trees),
        cmocka_unit_test(dimension_order_is_minimal_on_grids),
        cmocka_unit_test(half_way_round_goes_up_or_both_ways),
        cmocka_unit_test(valiant_goes_through_a_third_group),
        cmocka_unit_test(weighted_spray_follows_the_rates),
        cmocka_unit_test(failed_links_are_avoided_and_who_is_cut_off_is_named),
        cmocka_unit_test(messages_between_rails_cross_inside_the_node),
        cmocka_unit_test(tables_with_loops_and_dead_ends_are_refused),
        cmocka_unit_test(loads_of_all_to_alls_are_those_of_the_pairs),
        cmocka_unit_test(ecmp_takes_the_candidate_of_the_stated_hash),
        cmocka_unit_test(d_mod_k_uses_the_digits_of_the_destination),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
