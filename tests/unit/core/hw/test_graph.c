/* Generators of networks against graphs that were written out by an independent program
 * (tests/data/generators.json), the published counts, and networks that are wrong. */
#include "base/array.h"
#include "base/conf/conf.h"
#include "base/number/number.h"
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A graph from the text of its parameters; NULL with the sentence in `err`. */
static hw_graph *make_graph(const char *text, halley_error *err)
{
    conf_file file;
    arena memory = {0};
    hw_generator_params p;
    hw_graph *graph = NULL;
    memset(err, 0, sizeof *err);
    if (conf_parse(&file, str_from(text), "net.yaml", err) != HALLEY_OK)
        return NULL;
    if (hw_generator_read(&p, &memory, &file, file.root, err) == HALLEY_OK &&
        hw_graph_generate(&graph, &p, err) != HALLEY_OK)
        assert_null(graph);
    arena_fini(&memory);
    conf_fini(&file);
    return graph;
}

static hw_graph *must_make(const char *text)
{
    halley_error err;
    hw_graph *graph = make_graph(text, &err);
    if (graph == NULL)
        fail_msg("%s: %s", text, err.text);
    return graph;
}

static hw_counts must_count(const char *text)
{
    conf_file file;
    arena memory = {0};
    hw_generator_params p;
    hw_counts counts;
    halley_error err;
    assert_int_equal(conf_parse(&file, str_from(text), "net.yaml", &err), HALLEY_OK);
    assert_int_equal(hw_generator_read(&p, &memory, &file, file.root, &err), HALLEY_OK);
    assert_int_equal(hw_graph_count(&counts, &p, &err), HALLEY_OK);
    arena_fini(&memory);
    conf_fini(&file);
    return counts;
}

/* The instance's parameters with its generator as `topology`. */
static hw_graph *make_instance(const conf_file *file, const conf_node *instance)
{
    const conf_node *parameters = conf_find(instance, "parameters");
    str keys[16] = {STR("topology"), STR("link")};
    conf_node link = {.kind = CONF_SCALAR, .text = STR("1 GB/s")};
    conf_node *items[16] = {(conf_node *)(uintptr_t)conf_find(instance, "generator"),
                            &link};
    conf_node map = {
        .kind = CONF_MAP, .n = parameters->n + 2, .keys = keys, .items = items};
    arena memory = {0};
    hw_generator_params p;
    hw_graph *graph = NULL;
    halley_error err;
    for (uint32_t i = 0; i < parameters->n; i++) {
        keys[i + 2] = parameters->keys[i];
        items[i + 2] = parameters->items[i];
        if (str_eq(parameters->keys[i], STR("planes")) &&
            str_eq(parameters->items[i]->text, STR("2")))
            link.text = STR("2 GB/s"); /* one unit for each plane */
    }
    if (hw_generator_read(&p, &memory, file, &map, &err) != HALLEY_OK ||
        hw_graph_generate(&graph, &p, &err) != HALLEY_OK)
        fail_msg("%.*s: %s", STR_ARG(items[0]->text), err.text);
    arena_fini(&memory);
    return graph;
}

static int64_t get_number(const conf_node *map, const char *key)
{
    int64_t value = -1;
    const conf_node *node = conf_find(map, key);
    if (node != NULL)
        assert_true(str_to_i64(node->text, &value));
    return value;
}

typedef struct edge {
    uint32_t a, b, n;
} edge;

static int compare_edges(const void *x, const void *y)
{
    const edge *p = x, *q = y;
    if (p->a != q->a)
        return p->a < q->a ? -1 : 1;
    return (p->b > q->b) - (p->b < q->b);
}

static void check_edges(const hw_graph *g, const conf_node *list)
{
    edge *edges = mem_array(g->n_cables + 1, sizeof *edges);
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->n_cables; i++) {
        const uint32_t a = g->link_from[2 * i], b = g->link_to[2 * i];
        edges[i] = (edge){a < b ? a : b, a < b ? b : a, 1};
    }
    qsort(edges, g->n_cables, sizeof *edges, compare_edges);
    for (uint32_t i = 0; i < g->n_cables; i++) {
        if (n > 0 && compare_edges(&edges[n - 1], &edges[i]) == 0)
            edges[n - 1].n++;
        else
            edges[n++] = edges[i];
    }
    assert_int_equal(n, list->n);
    for (uint32_t i = 0; i < n; i++) {
        int64_t want[3] = {0, 0, 1};
        for (uint32_t k = 0; k < list->items[i]->n; k++)
            assert_true(str_to_i64(list->items[i]->items[k]->text, &want[k]));
        assert_int_equal(edges[i].a, want[0]);
        assert_int_equal(edges[i].b, want[1]);
        assert_int_equal(edges[i].n, want[2]);
    }
    free(edges);
}

static void check_distances(const hw_graph *g, const conf_node *instance)
{
    hw_distances d;
    double mean;
    assert_int_equal(hw_graph_distances(&d, g, NULL), HALLEY_OK);
    assert_true(d.connected);
    assert_int_equal(d.components, 1);
    assert_int_equal(d.diameter, get_number(instance, "diameter"));
    const conf_node *node = conf_find(instance, "mean_distance");
    if (node != NULL) {
        assert_true(number_read(node->text, &mean));
        assert_true(fabs(d.mean - mean) < 1e-9);
    }
    free(d.by_hops);
}

/* 28 instances state the bisection; where a formula exists it must give the same. */
static uint32_t check_bisection(const hw_graph *g, const conf_node *instance)
{
    const int64_t want = get_number(instance, "bisection_links");
    double found;
    hw_endpoints ends;
    if (want < 0)
        return 0;
    assert_int_equal(hw_graph_endpoints(&ends, g, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_min_bisection(&found, g, &ends, NULL), HALLEY_OK);
    assert_true(found == (double)want * 1e9);
    if (g->bisection_Bps > 0 && !g->bisection_is_bound)
        assert_true(g->bisection_Bps == found);
    if (g->bisection_is_bound)
        assert_true(g->bisection_Bps >= found);
    free(ends.at);
    return 1;
}

static void check_coordinates(const hw_graph *g)
{
    uint64_t n = 1;
    assert_true(g->n_dims > 0);
    for (uint32_t i = 0; i < g->n_dims; i++)
        n *= g->dims[i];
    assert_int_equal(n, g->n_npus);
}

static void generators_give_the_graphs_that_were_written_out(void **state)
{
    (void)state;
    char path[512];
    conf_file file;
    halley_error err;
    uint32_t n_bisections = 0;
    snprintf(path, sizeof path, "%s/tests/data/generators.json",
             getenv("HALLEY_SOURCE_ROOT"));
    if (conf_load(&file, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    const conf_node *list = conf_find(file.root, "instances");
    assert_int_equal(list->n, 58);
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *instance = list->items[i];
        hw_graph *g = make_instance(&file, instance);
        assert_int_equal(g->n_npus, get_number(instance, "npus"));
        assert_int_equal(g->n_switches, get_number(instance, "switches"));
        assert_int_equal(g->n_cables, get_number(instance, "cables"));
        if (conf_find(instance, "edges") != NULL)
            check_edges(g, conf_find(instance, "edges"));
        check_distances(g, instance);
        check_coordinates(g);
        n_bisections += check_bisection(g, instance);
        hw_graph_free(g);
    }
    assert_int_equal(n_bisections, 28);
    conf_fini(&file);
}

/* Instances of the specification with their counts; mean 0 = not stated. */
typedef struct expected {
    const char *text;
    uint32_t npus, switches, cables, diameter;
    double mean;
} expected;
static const expected table[] = {
    {"{topology: torus, dims: [8, 8]}", 64, 0, 128, 8, 4.0635},
    {"{topology: torus, dims: [16, 16, 16]}", 4096, 0, 12288, 24, 12.0029},
    {"{topology: torus, dims: [4, 4, 8]}", 128, 0, 384, 8, 4.0315},
    {"{topology: twisted-torus, dims: [4, 4, 8], twist: yes}", 128, 0, 384, 6, 3.4646},
    {"{topology: torus, dims: [4, 8, 8]}", 256, 0, 768, 10, 5.0196},
    {"{topology: ocs-torus, dims: [4, 8, 8], twist: yes}", 256, 0, 768, 6, 4.3294},
    {"{topology: torus, dims: [8, 16, 16]}", 2048, 0, 6144, 20, 10.0049},
    {"{topology: twisted-torus, dims: [8, 16, 16], twist: yes}", 2048, 0, 6144, 12,
     8.7230},
    {"{topology: leaf-spine, npus: 8, leaves: 16, spines: 4}", 128, 20, 192, 4, 3.8898},
    {"{topology: fat-tree, tiers: [{radix: 64}, {radix: 64}]}", 2048, 96, 4096, 4,
     3.9697},
    {"{topology: fat-tree, tiers: [{radix: 64}, {radix: 64}], planes: 8}", 2048, 768,
     32768, 4, 3.9697},
    {"{topology: fat-tree, tiers: [{radix: 4}, {radix: 4}, {radix: 4}]}", 16, 20, 48, 6,
     5.4667},
    {"{topology: fat-tree, tiers: [{radix: 8}, {radix: 8}, {radix: 8}]}", 128, 80, 384, 6,
     5.7165},
    {"{topology: fat-tree, tiers: [{radix: 16}, {radix: 16}, {radix: 16}]}", 1024, 320,
     3072, 6, 5.8631},
    {"{topology: rail-optimized, nodes: 128, npus: 8, nodes-per-leaf: 32, spines: 16, "
     "cables: 2}",
     1024, 176, 3072, 4, 0},
    {"{topology: rail-only, nodes: 128, npus: 8}", 1024, 136, 2048, 4, 0},
    {"{topology: dragonfly, p: 2, a: 4, h: 2, G: 9}", 72, 36, 162, 5, 4.3099},
    {"{topology: dragonfly, p: 4, a: 8, h: 4, G: 33}", 1056, 264, 2508, 5, 4.6787},
    {"{topology: dragonfly, p: 4, a: 8, h: 4, G: 16}", 512, 128, 1216, 5,
     4.3718}, /* over all sources; a second program gives the same */
    {"{topology: dragonfly+, p: 4, l: 4, s: 4, h: 4, G: 17}", 272, 136, 680, 5, 4.9225},
    {"{topology: hyperx, S: [8, 8], T: 8}", 512, 64, 960, 4, 3.7534},
};

static void counts_and_distances_are_those_of_the_specification(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const expected *e = &table[i];
        hw_graph *g = must_make(e->text);
        hw_distances d;
        assert_int_equal(g->n_npus, e->npus);
        assert_int_equal(g->n_switches, e->switches);
        assert_int_equal(g->n_cables, e->cables);
        assert_int_equal(hw_graph_distances(&d, g, NULL), HALLEY_OK);
        assert_int_equal(d.diameter, e->diameter);
        if (e->mean > 0 && fabs(d.mean - e->mean) > 5.1e-5)
            fail_msg("%s: mean distance %.6f, not %.4f", e->text, d.mean, e->mean);
        free(d.by_hops);
        check_coordinates(g);
        hw_graph_free(g);
    }
}

/* Table 3 of arXiv 2505.09343: endpoints, switches, cables between switches, and with
 * 25,000 USD a switch, 900 USD a copper cable and 1,160 USD an optical end M$. */
typedef struct published {
    const char *name, *text;
    uint64_t endpoints, switches, links;
    double cost_musd;
} published;
#define PRICES "cost: {switch: 25000 USD, copper: 900 USD, optical: 1160 USD}"
static const published deepseek[] = {
    {"FT2", "{topology: fat-tree, m: [32, 64], w: [1, 32], " PRICES "}", 2048, 96, 2048,
     9.0},
    {"MPFT",
     "{topology: fat-tree, m: [32, 64], w: [1, 32], planes: 8, plane-wiring: one, " PRICES
     "}",
     16384, 768, 16384, 72.0},
    {"FT3", "{topology: fat-tree, m: [32, 32, 64], w: [1, 32, 32], " PRICES "}", 65536,
     5120, 131072, 491.1},
    {"SF", "{topology: slim-fly, q: 28}", 32928, 1568, 32928, 0},
    {"DF", "{topology: dragonfly, p: 16, a: 32, h: 16, G: 511, " PRICES "}", 261632,
     16352, 384272, 1535.8},
};

static void published_networks_have_their_published_counts_and_cost(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof deepseek / sizeof *deepseek; i++) {
        const published *e = &deepseek[i];
        const hw_counts c = must_count(e->text);
        assert_int_equal(c.npus, e->endpoints);
        assert_int_equal(c.switches - c.node_switches, e->switches);
        assert_int_equal(c.switch_cables, e->links);
        if (e->cost_musd == 0)
            continue;
        hw_graph *g = must_make(e->text);
        const hw_bill bill = hw_graph_bill(g);
        assert_true(fabs((bill.devices_usd + bill.cables_usd) / 1e6 - e->cost_musd) <
                    0.051);
        hw_graph_free(g);
    }
}

static void slim_fly_is_counted_and_not_built(void **state)
{
    (void)state;
    halley_error err;
    assert_null(make_graph("{topology: slim-fly, q: 28}", &err));
    assert_non_null(strstr(err.text, "counted"));
}

static void cables_of_tpu_pods_are_copper_inside_cubes(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: ocs-torus, dims: [8, 12, 4]}");
    const uint32_t cubes = 2 * 3;
    uint32_t n[HW_MEDIUM_N] = {0};
    for (uint32_t i = 0; i < g->n_links; i += 2)
        n[g->kinds[g->link_kind[i]].medium]++;
    assert_int_equal(n[HW_MEDIUM_COPPER], 144 * cubes);
    assert_int_equal(n[HW_MEDIUM_CIRCUIT], 48 * cubes);
    hw_graph_free(g);
}

/* Meta's Llama-3 network: 16 NPUs a rack, pods of 3,072 and a core of 1:7. */
static void a_ratio_without_whole_cables_is_rounded_up_and_said(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: fat-tree, n: 24576, link: 50 GB/s, tiers: ["
                            "{name: tor, npus: 16}, {name: spine, npus: 3072, "
                            "oversubscription: 7}, {name: core}]}");
    assert_int_equal(g->n_npus, 24576);
    double up = 0; /* capacity from one pod to the core */
    for (uint32_t i = 0; i < g->n_links; i += 2)
        if (strcmp(g->kinds[g->link_kind[i]].name, "spine-core") == 0)
            up += g->link_Bps[i] / 8;
    assert_true(fabs(up - 3072 * 50e9 / 7) < 1e-3 * up);
    assert_true(fabs(up * 8 / 1e12 - 175.5) < 0.1); /* published: 175.5 Tb/s */
    assert_non_null(g->note);
    assert_non_null(strstr(g->note, "27.4286"));
    hw_graph_free(g);
}

static void planes_share_the_rate_of_a_port(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: leaf-spine, npus: 2, leaves: 4, spines: 2, "
                            "planes: 4, link: 40 GB/s}");
    for (uint32_t i = 0; i < g->n_links; i++)
        assert_true(g->link_Bps[i] == 10e9);
    char name[64];
    assert_string_equal(hw_graph_name(g, g->n_devices - 1, name, sizeof name),
                        "p3-spine1");
    assert_int_equal(hw_graph_find(g, STR("p3-spine1")), g->n_devices - 1);
    assert_int_equal(hw_graph_find(g, STR("p3-spine2")), HW_NONE);
    assert_int_equal(hw_graph_find(g, STR("npu07")), HW_NONE);
    hw_graph_free(g);
}

static void nics_are_own_shared_or_several(void **state)
{
    (void)state;
    hw_graph *own = must_make("{topology: rail-only, nodes: 4, npus: 8, nics: 8}");
    hw_graph *shared = must_make("{topology: rail-only, nodes: 4, npus: 8, nics: 2}");
    hw_graph *several = must_make("{topology: rail-only, nodes: 4, npus: 8, nics: 16}");
    assert_int_equal(own->n_nics, 0);
    assert_int_equal(shared->n_nics, 8);
    assert_int_equal(several->n_nics, 0);
    assert_int_equal(several->n_switches, 4 + 16);
    /* NPU 5 of node 1 uses NIC floor(5 * 2 / 8) = 1 of its node */
    const uint32_t npu = 8 + 5, nic = shared->n_npus + 2 + 1;
    bool found = false;
    for (uint32_t i = shared->dev_first[npu]; i < shared->dev_first[npu + 1]; i++)
        found |= shared->link_to[shared->adj_link[i]] == nic;
    assert_true(found);
    assert_int_equal(shared->dev_node[nic], 1);
    assert_int_equal(several->dev_first[1] - several->dev_first[0], 3); /* NVSwitch, 2 */
    hw_graph_free(own);
    hw_graph_free(shared);
    hw_graph_free(several);
}

static void merged_switches_keep_the_rate(void **state)
{
    (void)state;
    hw_graph *one = must_make("{topology: nvl, n: 72, s: 18, link: 50 GB/s}");
    hw_graph *all = must_make("{topology: nvl, n: 72, s: 18, link: 50 GB/s, merge: no}");
    hw_endpoints ends;
    double merged, apart;
    assert_int_equal(one->n_cables, 72);
    assert_int_equal(all->n_cables, 1296);
    assert_int_equal(hw_graph_endpoints(&ends, one, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_half_cut(&merged, one, &ends, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_half_cut(&apart, all, &ends, NULL), HALLEY_OK);
    assert_true(merged == 36 * 900e9 && apart == merged && one->bisection_Bps == merged);
    free(ends.at);
    hw_graph_free(one);
    hw_graph_free(all);
}

static void a_large_graph_has_the_size_that_was_promised(void **state)
{
    (void)state;
    hw_graph *g = must_make("{topology: fat-tree, m: [32, 32, 64], w: [1, 32, 32]}");
    assert_int_equal(g->n_devices, 70656);
    assert_int_equal(g->n_links, 393216);
    assert_true(hw_graph_size_bytes(g) < 12500000);
    hw_graph_free(g);
}

static void npus_of_written_networks_forward_only_if_they_must(void **state)
{
    (void)state;
    hw_graph *star = must_make("{topology: edges, npus: 3, switches: [hub], edges: "
                               "[[npu0, hub], [npu1, hub], [2, 3]]}");
    hw_graph *line =
        must_make("{topology: edges, npus: 3, edges: [[0, 1], [1, 2, 25 GB/s, "
                  "1 us]]}");
    assert_false(hw_graph_group(star, 0)->forwards);
    assert_true(hw_graph_group(line, 0)->forwards);
    assert_true(line->link_Bps[2] == 25e9 && line->link_latency_s[2] == 1e-6);
    hw_graph_free(star);
    hw_graph_free(line);
}

typedef struct wrong {
    const char *text, *says;
} wrong;
static const wrong wrongs[] = {
    {"{topology: edges, npus: 4, edges: [[0, 1], [2, 3]]}", "npu0 cannot reach npu2"},
    {"{topology: edges, npus: 2, edges: [{from: 0, to: 1, one-way: yes}]}",
     "npu1 cannot reach npu0"},
    {"{topology: edges, npus: 2, edges: [[npu0, leaf7]]}", "leaf7, which is no device"},
    {"{topology: edges, npus: 2, edges: [[0, 2]]}", "2, which is no device"},
    {"{topology: edges, npus: 2, edges: [[0, 1, 0 GB/s]]}", "must be positive"},
    {"{topology: edges, npus: 2, edges: [[0, 1, -5 GB/s]]}",
     "must be positive, is -5e+09"},
    {"{topology: edges, npus: 2, edges: [[0, 1, 5 GB/s, -1 us]]}",
     "must not be negative"},
    {"{topology: edges, npus: 2, edges: [[1, 1]]}", "joins 1 to itself"},
    {"{topology: edges, edges: [[a, b]], devices: [{name: a, kind: npu, id: 0}, {name: "
     "b, "
     "kind: npu, id: 0}]}",
     "two NPUs have id 0: a and b"},
    {"{topology: edges, edges: [[a, b]], devices: [{name: a, kind: npu, id: 0}, {name: "
     "b, "
     "kind: npu, id: 2}]}",
     "no NPU has id 1"},
    {"{topology: edges, npus: 2, switches: [npu1], edges: [[0, 1]]}",
     "two devices are called npu1"},
    {"{topology: fat-tree, n: 100, tiers: [{npus: 16}, {name: core}]}",
     "100 NPUs are not a multiple of the 16"},
    {"{topology: fat-tree, n: 64, tiers: [{radix: 8}, {radix: 8}]}", "cannot have 16"},
    {"{topology: fat-tree, tiers: [{radix: 64, oversubscription: 2}, {radix: 64}]}",
     "42 down and 22 up"},
    {"{topology: fat-tree, tiers: [{radix: 8}, {radix: 8, oversubscription: 3}]}",
     "no uplinks"},
    {"{topology: fat-tree, m: [2, 2], w: [1]}", "same length"},
    {"{topology: torus, dims: [4, 0]}", "at least 1"},
    {"{topology: torus}", "needs dims"},
    {"{topology: ring, n: 8, link: 0 GB/s}", "link"},
    {"{topology: ring, n: 8, link: -1 GB/s}", "link"},
    {"{topology: ring, n: 8, spines: 2}", "ring takes no key \"spines\""},
    {"{topology: ring, m: 8}", "ring takes no key"},
    {"{topology: rinq, n: 8}", "did you mean ring"},
    {"{topology: rail-only, nodes: 8, npus: 8, nodes-per-leaf: 4}", "use rail-optimised"},
    {"{topology: rail-only, nodes: 8, npus: 8, nics: 3}", "cannot be shared evenly"},
    {"{topology: ocs-torus, dims: [4, 4, 6]}", "multiple of 4"},
    {"{topology: twisted-torus, dims: [4, 4, 6], twist: yes}", "n and 2n"},
    {"{topology: twisted-torus, dims: [4, 4], shifts: [[0, 2, 1]]}", "two different"},
    {"{topology: fully-connected, n: 4000000000}", "too large"},
    {"{topology: torus, dims: [65536, 65536, 65536, 65536, 65536]}", "too large"},
    {"{topology: fat-tree, m: [4294967295, 4294967295], w: [4294967295, 4294967295]}",
     "too large"},
    {"{topology: dragonfly, p: 4, a: 8, h: 4}", "needs G"},
    {"[1, 2]", "must be a map"},
};

static void wrong_networks_are_refused_with_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        halley_error err;
        hw_graph *g = make_graph(wrongs[i].text, &err);
        if (g != NULL)
            fail_msg("%s: was accepted", wrongs[i].text);
        if (strstr(err.text, wrongs[i].says) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", wrongs[i].text, err.text,
                     wrongs[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generators_give_the_graphs_that_were_written_out),
        cmocka_unit_test(counts_and_distances_are_those_of_the_specification),
        cmocka_unit_test(published_networks_have_their_published_counts_and_cost),
        cmocka_unit_test(slim_fly_is_counted_and_not_built),
        cmocka_unit_test(cables_of_tpu_pods_are_copper_inside_cubes),
        cmocka_unit_test(a_ratio_without_whole_cables_is_rounded_up_and_said),
        cmocka_unit_test(planes_share_the_rate_of_a_port),
        cmocka_unit_test(nics_are_own_shared_or_several),
        cmocka_unit_test(merged_switches_keep_the_rate),
        cmocka_unit_test(a_large_graph_has_the_size_that_was_promised),
        cmocka_unit_test(npus_of_written_networks_forward_only_if_they_must),
        cmocka_unit_test(wrong_networks_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
