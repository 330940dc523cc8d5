/* Depth, width, critical path and cycles against a slow obvious reference, and the sums.
 */
#include "alloc_fail.h"
#include "base/rng.h"
#include "halley/trace_stats.h"
#include "make_trace.h"
#include "trace/core/levels.h"

#include <stdlib.h>

enum { MAX_NODES = 40 };

/* The graph as a matrix, and what the reference finds. */
typedef struct graph {
    uint32_t n;
    bool dep[MAX_NODES][MAX_NODES]; /* [v][u]: v depends on u */
    uint64_t duration_us[MAX_NODES];
    bool cyclic[MAX_NODES];
    uint32_t level[MAX_NODES];
    uint64_t end_us[MAX_NODES];
} graph;

static void make_random(graph *g, rng *r, bool acyclic)
{
    memset(g, 0, sizeof *g);
    g->n = 1 + (uint32_t)rng_below(r, MAX_NODES);
    const uint64_t density = 1 + rng_below(r, 12);
    for (uint32_t v = 0; v < g->n; v++) {
        g->duration_us[v] = rng_below(r, 20);
        for (uint32_t u = 0; u < g->n; u++)
            if ((!acyclic || u < v) && rng_below(r, 4 * g->n) < density)
                g->dep[v][u] = true;
    }
}

/* Take away nodes whose dependencies are all taken, until nothing changes. */
static void solve(graph *g)
{
    for (uint32_t v = 0; v < g->n; v++)
        g->cyclic[v] = true;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t v = 0; v < g->n; v++) {
            bool ready = g->cyclic[v];
            uint32_t level = 0;
            uint64_t end_us = 0;
            for (uint32_t u = 0; u < g->n; u++) {
                if (!g->dep[v][u])
                    continue;
                ready &= !g->cyclic[u];
                level = g->level[u] > level ? g->level[u] : level;
                end_us = g->end_us[u] > end_us ? g->end_us[u] : end_us;
            }
            if (!ready)
                continue;
            g->cyclic[v] = false;
            g->level[v] = level + 1;
            g->end_us[v] = end_us + g->duration_us[v];
            changed = true;
        }
    }
}

/* Written in a random order, ids not in order either. */
static halley_trace *to_trace(const graph *g, rng *r)
{
    uint32_t order[MAX_NODES];
    for (uint32_t i = 0; i < g->n; i++)
        order[i] = i;
    for (uint32_t i = g->n; i > 1; i--) {
        const uint64_t j = rng_below(r, i);
        const uint32_t swap = order[i - 1];
        order[i - 1] = order[j];
        order[j] = swap;
    }
    halley_builder *b = make_start();
    for (uint32_t i = 0; i < g->n; i++) {
        const uint32_t v = order[i];
        halley_builder_node(b, 1000 - v, HALLEY_NODE_COMP, text("n"));
        halley_builder_time(b, 0, g->duration_us[v]);
        for (uint32_t u = 0; u < g->n; u++) {
            if (!g->dep[v][u])
                continue;
            if (rng_below(r, 2))
                halley_builder_data(b, 1000 - u);
            else
                halley_builder_ctrl(b, 1000 - u);
        }
    }
    return make_finish(b);
}

static uint32_t number_of(const halley_trace *t, uint32_t node)
{
    return 1000 - (uint32_t)halley_node_id(t, node);
}

static void check_path(const graph *g, const halley_trace *t, const halley_trace_stats *s)
{
    uint64_t sum_us = 0;
    for (uint32_t i = 0; i < s->n_critical; i++) {
        const uint32_t v = number_of(t, s->critical_path[i]);
        sum_us += g->duration_us[v];
        if (i > 0)
            assert_true(g->dep[v][number_of(t, s->critical_path[i - 1])]);
    }
    assert_int_equal(sum_us, s->critical_us);
}

static void compare(const graph *g, const halley_trace *t)
{
    uint64_t n_cyclic = 0, depth = 0, width = 0, critical_us = 0;
    uint64_t n_at[MAX_NODES + 1] = {0};
    for (uint32_t v = 0; v < g->n; v++) {
        if (g->cyclic[v]) {
            n_cyclic++;
            continue;
        }
        n_at[g->level[v]]++;
        depth = g->level[v] > depth ? g->level[v] : depth;
        width = n_at[g->level[v]] > width ? n_at[g->level[v]] : width;
        critical_us = g->end_us[v] > critical_us ? g->end_us[v] : critical_us;
    }
    halley_trace_stats *s = NULL;
    assert_int_equal(halley_trace_stats_new(&s, t, NULL), HALLEY_OK);
    assert_int_equal(s->n_cyclic, n_cyclic);
    assert_int_equal(s->depth, depth);
    assert_int_equal(s->width, width);
    assert_int_equal(s->critical_us, critical_us);
    check_path(g, t, s);
    halley_trace_stats_free(s);
}

/* Shortest cycle through `from`, by trying lengths; 0 = none. */
static uint32_t shortest_cycle(const graph *g, uint32_t from)
{
    bool at[MAX_NODES] = {0};
    at[from] = true;
    for (uint32_t length = 1; length <= g->n; length++) {
        bool next[MAX_NODES] = {0};
        for (uint32_t v = 0; v < g->n; v++)
            for (uint32_t u = 0; at[v] && u < g->n; u++)
                next[u] |= g->dep[v][u];
        if (next[from])
            return length;
        memcpy(at, next, sizeof at);
    }
    return 0;
}

static void compare_cycle(const graph *g, const halley_trace *t)
{
    trace_levels levels;
    uint32_t *cycle = NULL, n = 0;
    assert_int_equal(trace_levels_init(&levels, t, &(trace_levels_opts){0}, NULL),
                     HALLEY_OK);
    assert_int_equal(trace_cycle_find(&cycle, &n, t, &levels, false, NULL), HALLEY_OK);
    assert_int_equal(n > 0, levels.n_cyclic > 0);
    for (uint32_t i = 0; i < n; i++)
        assert_true(g->dep[number_of(t, cycle[i])][number_of(t, cycle[(i + 1) % n])]);
    if (n > 0)
        assert_int_equal(n, shortest_cycle(g, number_of(t, cycle[0])));
    free(cycle);
    trace_levels_fini(&levels);
}

static void levels_paths_and_cycles_equal_those_of_the_slow_reference(void **state)
{
    (void)state;
    rng r = rng_seed(1);
    static graph g;
    for (uint32_t i = 0; i < 600; i++) {
        make_random(&g, &r, i % 2 == 0);
        solve(&g);
        halley_trace *t = to_trace(&g, &r);
        compare(&g, t);
        compare_cycle(&g, t);
        halley_trace_free(t);
    }
}

static void a_chain_of_three_million_nodes_needs_no_recursion(void **state)
{
    (void)state;
    const uint32_t n = 3000000;
    halley_builder *b = make_start();
    for (uint32_t i = 0; i < n; i++) {
        halley_builder_node(b, i, HALLEY_NODE_COMP, text(""));
        halley_builder_time(b, 0, 1);
        if (i + 1 < n)
            halley_builder_data(b, i + 1); /* against file order: the deepest search */
    }
    halley_trace *t = make_finish(b);
    halley_trace_stats *s = NULL;
    assert_int_equal(halley_trace_stats_new(&s, t, NULL), HALLEY_OK);
    assert_int_equal(s->depth, n);
    assert_int_equal(s->width, 1);
    assert_int_equal(s->critical_us, n);
    assert_int_equal(s->critical_path[0], n - 1);
    halley_trace_stats_free(s);
    halley_trace_free(t);
}

static halley_trace *make_mixed(void)
{
    halley_builder *b = make_start();
    make_comp(b, 1, 7);
    make_comp(b, 2, 5);
    halley_builder_data(b, 1);
    halley_builder_data(b, 77);
    make_coll(b, 3, HALLEY_COLL_ALL_REDUCE, 64, "2");
    halley_builder_data(b, 2);
    make_coll(b, 4, HALLEY_COLL_ALL_REDUCE, 64, "2");
    make_coll(b, 5, HALLEY_COLL_ALL_REDUCE, 32, "0");
    make_coll(b, 6, HALLEY_COLL_ALL_REDUCE, 32, NULL);
    make_p2p(b, 7, true, 1, 3, 11);
    make_p2p(b, 8, false, 1, 4, 12);
    halley_builder_node(b, 9, HALLEY_NODE_MEM_LOAD, text("load"));
    halley_builder_attr_u64(b, "tensor_size", 5);
    halley_builder_node(b, 10, HALLEY_NODE_COMP, text("host"));
    halley_builder_attr_bool(b, "is_cpu_op", true);
    halley_builder_time(b, 100, 3);
    return make_finish(b);
}

static void sums_are_those_of_the_nodes(void **state)
{
    (void)state;
    halley_trace *t = make_mixed();
    halley_trace_stats *s = NULL;
    assert_int_equal(halley_trace_stats_new(&s, t, NULL), HALLEY_OK);
    assert_int_equal(s->n_nodes, 10);
    assert_int_equal(s->n_by_type[HALLEY_NODE_COMP], 3);
    assert_int_equal(s->n_by_type[HALLEY_NODE_COLL], 4);
    assert_int_equal(s->n_data_deps, 3);
    assert_int_equal(s->n_dangling, 1);
    assert_int_equal(s->cpu_us, 3);
    assert_int_equal(s->n_cpu, 1);
    assert_int_equal(s->device_us, 12);
    assert_int_equal(s->n_device, 9);
    assert_true(s->flops == 200 && s->tensor_bytes == 20 && s->load_bytes == 5);
    assert_true(s->coll_bytes == 192 && s->send_bytes == 11 && s->recv_bytes == 12);
    assert_int_equal(s->first_start_us, 100);
    assert_int_equal(s->last_end_us, 103);
    assert_int_equal(s->depth, 3);
    assert_int_equal(s->critical_us, 12);
    assert_int_equal(s->n_colls, 2);
    assert_int_equal(s->colls[0].n, 2); /* "" and "0" are one group */
    assert_int_equal(s->colls[0].group.n, 0);
    assert_int_equal(s->colls[0].size_bytes, 32);
    assert_int_equal(s->colls[1].n, 2);
    assert_memory_equal(s->colls[1].group.at, "2", 1);
    halley_trace_stats_free(s);
    halley_trace_free(t);
}

static void attributes_are_counted_by_name_and_kind(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 7);
    make_comp(b, 2, 7);
    halley_builder_attr_i32(b, "num_ops", 3);
    halley_trace *t = make_finish(b);
    halley_trace_stats *s = NULL;
    assert_int_equal(halley_trace_stats_new(&s, t, NULL), HALLEY_OK);
    static const struct {
        const char *name;
        halley_attr_kind kind;
        uint64_t n;
    } wanted[] = {{"is_cpu_op", HALLEY_ATTR_BOOL, 2},
                  {"num_ops", HALLEY_ATTR_INT32, 1},
                  {"num_ops", HALLEY_ATTR_INT64, 2},
                  {"tensor_size", HALLEY_ATTR_UINT64, 2}};
    assert_int_equal(s->n_attrs, 4);
    for (uint32_t i = 0; i < 4; i++) {
        assert_int_equal(s->attrs[i].name.n, strlen(wanted[i].name));
        assert_memory_equal(s->attrs[i].name.at, wanted[i].name, s->attrs[i].name.n);
        assert_int_equal(s->attrs[i].kind, wanted[i].kind);
        assert_int_equal(s->attrs[i].n, wanted[i].n);
    }
    halley_trace_stats_free(s);
    halley_trace_free(t);
}

static void a_set_sums_its_ranks_and_analyses_equal_ones_once(void **state)
{
    (void)state;
    halley_builder *b = make_start();
    make_comp(b, 1, 30);
    halley_trace *mixed = make_mixed(), *small = make_finish(b);
    halley_trace *ranks[] = {mixed, halley_trace_keep(mixed), small,
                             halley_trace_keep(mixed)};
    halley_trace_set *set = make_set(ranks, 4);
    halley_set_stats *s = NULL;
    assert_int_equal(halley_set_stats_new(&s, set, 2, NULL), HALLEY_OK);
    assert_int_equal(s->n_ranks, 4);
    assert_int_equal(s->n_distinct, 2);
    assert_int_equal(s->which[2], 1);
    assert_int_equal(s->first_rank[1], 2);
    assert_int_equal(s->total->n_nodes, 31);
    assert_int_equal(s->total->n_by_type[HALLEY_NODE_COLL], 12);
    assert_int_equal(s->total->colls[0].n, 6);
    assert_true(s->total->flops == 700);
    assert_int_equal(s->total->critical_us, 30);
    assert_int_equal(s->total->critical_rank, 2);
    assert_int_equal(s->total->depth, 3);
    halley_set_stats_free(s);
    halley_trace_set_free(set);
}

static void an_empty_trace_has_no_depth(void **state)
{
    (void)state;
    halley_trace *t = make_finish(make_start());
    halley_trace_stats *s = NULL;
    assert_int_equal(halley_trace_stats_new(&s, t, NULL), HALLEY_OK);
    assert_int_equal(s->n_nodes + s->depth + s->width + s->n_critical, 0);
    halley_trace_stats_free(s);
    halley_trace_free(t);
}

static halley_status describe_set(void *context, halley_error *err)
{
    halley_set_stats *s = NULL;
    const halley_status status = halley_set_stats_new(&s, context, 1, err);
    halley_set_stats_free(s);
    return status;
}

static void running_out_of_memory_while_describing_is_an_error(void **state)
{
    (void)state;
    halley_trace *traces[] = {make_mixed(), make_mixed()};
    halley_trace_set *set = make_set(traces, 2);
    assert_true(alloc_fail_everywhere(describe_set, set) > 10);
    halley_trace_set_free(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_paths_and_cycles_equal_those_of_the_slow_reference),
        cmocka_unit_test(a_chain_of_three_million_nodes_needs_no_recursion),
        cmocka_unit_test(sums_are_those_of_the_nodes),
        cmocka_unit_test(attributes_are_counted_by_name_and_kind),
        cmocka_unit_test(a_set_sums_its_ranks_and_analyses_equal_ones_once),
        cmocka_unit_test(an_empty_trace_has_no_depth),
        cmocka_unit_test(running_out_of_memory_while_describing_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
