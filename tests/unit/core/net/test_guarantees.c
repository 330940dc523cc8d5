/*
 * What symmetry classes rest on, one test for each: the order inside an instant does not
 * count, ties inside a rank go by the program, arithmetic depends neither on order nor on
 * folding, totals are those of all ranks, and ranks with times of their own are not
 * folded.
 */
#include "halley/cluster.h"
#include "halley/sim.h"
#include "make_trace.h"
#include "net/flow/flow.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

enum { N_RANKS = 16 };

static const char fabric[] =
    "npus: 16\nnodes: {npus: 4, up: nvlink4-h100}\n"
    "network: {topology: fat-tree, fabric: roce, tiers: [{name: leaf, npus: 8, "
    "oversubscription: 1, link: 400 Gb/s, latency: 700 ns}, {name: spine}]}\n"
    "groups: {1: [0, 1, 2, 3, 4, 5, 6, 7], 2: [0, 1, 2, 3, 4, 5, 6, 7], 3: [8, 9, 10, "
    "11, "
    "12, 13, 14, 15], 4: [8, 9, 10, 11, 12, 13, 14, 15]}\n";

static halley_cluster *parse_cluster(const char *more)
{
    char all[1024];
    halley_cluster *c = NULL;
    halley_error err = {0};
    snprintf(all, sizeof all, "%s%s", fabric, more);
    if (halley_cluster_parse(&c, all, strlen(all), "c.yaml", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return c;
}

/*
 * Two collectives of one size in two groups of the same members end at one instant. The
 * nodes that each lets go need the same GPU, and their order in the program is not that
 * of the collectives.
 */
static halley_trace *make_tied_trace(const char *first, const char *second)
{
    halley_builder *b = make_start();
    make_comp(b, 1, 10);
    make_coll(b, 20, HALLEY_COLL_ALL_REDUCE, 3000000, first);
    halley_builder_data(b, 1);
    make_coll(b, 21, HALLEY_COLL_ALL_REDUCE, 3000000, second);
    halley_builder_data(b, 1);
    for (uint64_t id = 2; id < 6; id++) {
        make_comp(b, id, 3 + id);
        halley_builder_data(b, id % 2 == 0 ? 21 : 20);
    }
    make_coll(b, 30, HALLEY_COLL_ALL_REDUCE, 1000000, NULL);
    halley_builder_data(b, 3);
    halley_builder_data(b, 5);
    return make_finish(b);
}

static halley_trace_set *make_tied_set(void)
{
    halley_trace *all[N_RANKS];
    for (uint32_t i = 0; i < N_RANKS; i++)
        all[i] = i % 8 != 0 ? halley_trace_keep(all[i - 1])
                 : i < 8    ? make_tied_trace("1", "2")
                            : make_tied_trace("3", "4");
    return make_set(all, N_RANKS);
}

static halley_result *run_set(const halley_trace_set *set, const halley_cluster *c,
                              const halley_sim_opts *opts)
{
    halley_result *r = NULL;
    halley_error err = {0};
    if (halley_sim_run(&r, set, c, opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return r;
}

static void assert_same_times(const halley_result *a, const halley_result *b,
                              const halley_trace_set *set)
{
    for (uint32_t i = 0; i < N_RANKS; i++)
        for (uint32_t k = 0; k < halley_trace_count(halley_trace_set_get(set, i)); k++) {
            const halley_node_times x = halley_result_node(a, i, k);
            const halley_node_times y = halley_result_node(b, i, k);
            assert_true(x.ran && x.begin == y.begin && x.end == y.end);
        }
}

/* 1: phases of an instant. */
static void the_order_inside_an_instant_changes_nothing(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster("system: {slow: {5: 1.5}}\n");
    halley_trace_set *set = make_tied_set();
    halley_result *plain =
        run_set(set, c, &(halley_sim_opts){.record = true, .no_fold = true});
    for (uint64_t seed = 1; seed <= 50; seed++) {
        halley_result *r = run_set(
            set, c,
            &(halley_sim_opts){.record = true, .no_fold = seed % 2, .shuffle = seed});
        assert_same_times(r, plain, set);
        halley_result_free(r);
    }
    halley_result_free(plain);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

static uint64_t end_of(const halley_result *r, const halley_trace *t, uint64_t id)
{
    return halley_result_node(r, 7, halley_trace_find(t, id)).end;
}

/* 2: ties. */
static void ties_inside_a_rank_go_by_the_program(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster("");
    halley_trace_set *set = make_tied_set();
    const halley_trace *t = halley_trace_set_get(set, 0);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        halley_result *r = run_set(
            set, c, &(halley_sim_opts){.record = true, .no_fold = true, .shuffle = seed});
        assert_true(end_of(r, t, 20) == end_of(r, t, 21));
        for (uint64_t id = 3; id < 6; id++) {
            const uint32_t now = halley_trace_find(t, id);
            assert_true(halley_result_node(r, 7, now).begin == end_of(r, t, id - 1));
        }
        halley_result_free(r);
    }
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

/* 2, between ranks: a memory serves those that ask at one instant by their places. */
static void ties_at_a_memory_go_by_the_places_of_its_ranks(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster("remote-memory: {kind: per-node, npus-per-node: 4, "
                                      "bandwidth: 1 GB/s}\n");
    halley_builder *b = make_start();
    halley_builder_node(b, 1, HALLEY_NODE_MEM_LOAD, text("load"));
    halley_builder_attr_u64(b, "tensor_size", 1000);
    halley_trace *t = make_finish(b), *all[N_RANKS];
    for (uint32_t i = 0; i < N_RANKS; i++)
        all[i] = i == 0 ? t : halley_trace_keep(t);
    halley_trace_set *set = make_set(all, N_RANKS);
    for (uint64_t seed = 0; seed < 20; seed++) {
        halley_result *r = run_set(
            set, c,
            &(halley_sim_opts){.record = true, .no_fold = seed % 2, .shuffle = seed});
        for (uint32_t i = 0; i < N_RANKS; i++)
            assert_int_equal(halley_result_node(r, i, 0).end, 1000000 * (i % 4 + 1));
        if (seed % 2 == 0)
            assert_int_equal(halley_result_symmetry(r).n_ranks, 4);
        assert_int_equal(halley_result_events_represented(r), N_RANKS);
        halley_result_free(r);
    }
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

/* When the flows of a class with that coefficient on a link of 3 GB/s end, n of them. */
static uint64_t find_end(uint64_t coefficient, uint32_t n, bool reversed)
{
    const double capacities[] = {3e9, 1e12};
    net_flow *f = NULL;
    const net_flow_end *ends;
    assert_int_equal(net_flow_new(&f, capacities, 2, &(net_flow_options){0}, NULL),
                     HALLEY_OK);
    for (uint32_t i = 0; i < n; i++) {
        const net_flow_hop hops[] = {{reversed, coefficient}, {!reversed, coefficient}};
        const net_flow_hop in_order[] = {{0, coefficient}, {1, coefficient}};
        const uint32_t id = net_flow_class_new(f, reversed ? hops : in_order, 2, 0);
        assert_true(net_flow_start(f, id, 1e6 + 0.1, i) != NET_FLOW_NONE);
    }
    assert_true(net_flow_settle(f));
    const uint64_t end = net_flow_next(f);
    assert_int_equal(net_flow_advance(f, end, &ends), n);
    net_flow_free(f);
    return end;
}

/* 3: a class of n flows is one whose coefficient is n times the rounded one. */
static void arithmetic_depends_neither_on_order_nor_on_folding(void **state)
{
    (void)state;
    const uint64_t third = NET_FLOW_ONE / 3; /* rounded */
    for (uint32_t n = 1; n <= 24; n++) {
        const uint64_t all = find_end(third, n, false);
        assert_true(all == find_end(third, n, true));
        assert_true(all == find_end(third * n, 1, false));
    }
}

/* 4: totals. */
static void totals_are_those_of_all_ranks(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster("");
    halley_trace_set *set = make_tied_set();
    halley_result *full = run_set(set, c, &(halley_sim_opts){.no_fold = true});
    halley_result *folded = run_set(set, c, NULL);
    assert_int_equal(halley_result_symmetry(folded).n_ranks, 1);
    assert_int_equal(halley_result_events_represented(folded),
                     halley_result_events(full));
    assert_int_equal(halley_result_dims(folded), halley_result_dims(full));
    for (uint32_t i = 0; i < halley_result_dims(full); i++) {
        const halley_dim_result x = halley_result_dim(folded, i);
        const halley_dim_result y = halley_result_dim(full, i);
        assert_true(x.messages == y.messages && x.bytes == y.bytes && x.use == y.use);
    }
    assert_int_equal(halley_result_traffic_count(folded),
                     halley_result_traffic_count(full));
    for (uint32_t i = 0; i < halley_result_traffic_count(full); i++) {
        const halley_traffic x = halley_result_traffic(folded, i);
        const halley_traffic y = halley_result_traffic(full, i);
        assert_true(x.count == y.count && x.bytes == y.bytes && x.ticks == y.ticks);
    }
    halley_result_free(folded);
    halley_result_free(full);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

/* 5: times of their own. */
static void jitter_gives_every_rank_its_own_class(void **state)
{
    (void)state;
    halley_cluster *c = parse_cluster("system: {jitter: 5 %, seed: 3}\n");
    halley_trace_set *set = make_tied_set();
    halley_result *r = run_set(set, c, NULL);
    const halley_symmetry y = halley_result_symmetry(r);
    assert_non_null(y.unfolded);
    assert_non_null(strstr(y.unfolded, "jitter"));
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_order_inside_an_instant_changes_nothing),
        cmocka_unit_test(ties_inside_a_rank_go_by_the_program),
        cmocka_unit_test(ties_at_a_memory_go_by_the_places_of_its_ranks),
        cmocka_unit_test(arithmetic_depends_neither_on_order_nor_on_folding),
        cmocka_unit_test(totals_are_those_of_all_ranks),
        cmocka_unit_test(jitter_gives_every_rank_its_own_class),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
