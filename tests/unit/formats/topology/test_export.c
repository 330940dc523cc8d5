/* Networks written in the formats of other tools and read back are the same networks. */
#include "base/conf/conf.h"
#include "hw/graph/generate.h"
#include "hw/graph/measure.h"
#include "topology/export/export.h"
#include "topology/import/import.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static hw_graph *make_graph(const char *text)
{
    conf_file file;
    arena memory = {0};
    hw_generator_params p;
    hw_graph *g = NULL;
    assert_int_equal(conf_parse(&file, str_from(text), "n.yaml", NULL), HALLEY_OK);
    assert_int_equal(hw_generator_read(&p, &memory, &file, file.root, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_generate(&g, &p, NULL), HALLEY_OK);
    arena_fini(&memory);
    conf_fini(&file);
    return g;
}

static halley_status write_graph(strbuf *to, const hw_graph *g, const char *format,
                                 halley_error *err)
{
    return hw_graph_export(to, g, str_from(format), &(hw_export_options){0}, err);
}

/* Same devices, distances and cuts. */
static void expect_same(const hw_graph *a, const hw_graph *b)
{
    hw_distances da, db;
    hw_endpoints ea, eb;
    double ca, cb;
    assert_int_equal(a->n_npus, b->n_npus);
    assert_int_equal(a->n_devices, b->n_devices);
    assert_int_equal(a->n_cables, b->n_cables);
    assert_int_equal(a->n_links, b->n_links);
    assert_int_equal(hw_graph_distances(&da, a, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_distances(&db, b, NULL), HALLEY_OK);
    assert_int_equal(da.diameter, db.diameter);
    for (uint32_t i = 0; i <= da.diameter; i++)
        assert_int_equal(da.by_hops[i], db.by_hops[i]);
    assert_int_equal(hw_graph_endpoints(&ea, a, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_endpoints(&eb, b, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_half_cut(&ca, a, &ea, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_half_cut(&cb, b, &eb, NULL), HALLEY_OK);
    assert_true(fabs(ca - cb) <= 1e-6 * ca);
    free(da.by_hops);
    free(db.by_hops);
    free(ea.at);
    free(eb.at);
}

static const char *const networks[] = {
    "{topology: ring, n: 6, link: 100 Gb/s, latency: 1 us}",
    "{topology: torus, dims: [3, 4, 2], link: 400 Gb/s, latency: 500 ns}",
    "{topology: fat-tree, m: [4, 4], w: [1, 2], p: [1, 2], link: 400 Gb/s, latency: 500 "
    "ns}",
    "{topology: fat-tree, m: [4, 4, 8], w: [1, 4, 4], p: [1, 1, 1], link: 100 Gb/s, "
    "latency: 600 ns}",
    "{topology: rail-optimised, nodes: 8, npus: 4, nodes-per-leaf: 4, spines: 2, link: "
    "400 "
    "Gb/s, latency: 500 ns, node-link: 3600 Gb/s, node-latency: 25 ns}",
    "{topology: dragonfly, p: 2, a: 4, h: 2, G: 9, link: 200 Gb/s, latency: 1 us}",
};
enum { N_NETWORKS = sizeof networks / sizeof *networks };

static void generated_networks_come_back(void **state)
{
    (void)state;
    static const char *const formats[] = {"ns3", "node-link", "simgrid", "infragraph"};
    for (int i = 0; i < N_NETWORKS; i++) {
        hw_graph *g = make_graph(networks[i]), *back = NULL;
        for (int k = 0; k < 4; k++) {
            strbuf text = {0};
            halley_error err = {0};
            const hw_import_options o = {.format = str_from(formats[k])};
            if (write_graph(&text, g, formats[k], &err) != HALLEY_OK ||
                hw_graph_import(&back, strbuf_str(&text), "f", &o, &err) != HALLEY_OK)
                fail_msg("%s as %s: %s", networks[i], formats[k], err.text);
            const format_row *const found =
                format_detect(FORMAT_TOPOLOGY, strbuf_str(&text), "f");
            assert_non_null(found);
            assert_string_equal(found->name, formats[k]);
            expect_same(g, back);
            hw_graph_free(back);
            strbuf_fini(&text);
        }
        hw_graph_free(g);
    }
}

static void only_fat_trees_become_htsim_files(void **state)
{
    (void)state;
    for (int i = 0; i < N_NETWORKS; i++) {
        hw_graph *g = make_graph(networks[i]), *back = NULL;
        strbuf text = {0};
        halley_error err = {0};
        const hw_import_options o = {.format = STR("htsim")};
        const halley_status status = write_graph(&text, g, "htsim", &err);
        if (strstr(networks[i], "fat-tree") == NULL) {
            assert_int_equal(status, HALLEY_EINVAL);
            assert_non_null(strstr(err.text, "[unsupported]"));
        } else {
            if (status != HALLEY_OK ||
                hw_graph_import(&back, strbuf_str(&text), "f", &o, &err) != HALLEY_OK)
                fail_msg("%s: %s", networks[i], err.text);
            expect_same(g, back);
            hw_graph_free(back);
        }
        strbuf_fini(&text);
        hw_graph_free(g);
    }
}

static void what_a_format_cannot_hold_is_refused(void **state)
{
    (void)state;
    static const char slurm[] = "SwitchName=a Nodes=n[1-2]\n";
    hw_graph *g;
    strbuf text = {0};
    halley_error err = {0};
    assert_int_equal(
        hw_graph_import(&g, str_from(slurm), "f", &(hw_import_options){0}, NULL),
        HALLEY_OK);
    assert_int_equal(write_graph(&text, g, "ns3", &err), HALLEY_EINVAL);
    assert_int_equal(write_graph(&text, g, "infragraph", &err), HALLEY_EINVAL);
    assert_int_equal(write_graph(&text, g, "simgrid", &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "--link switch-host=RATE,LATENCY"));
    assert_int_equal(write_graph(&text, g, "paper", &err), HALLEY_ENOTFOUND);
    assert_int_equal(write_graph(&text, g, "node-link", &err), HALLEY_OK);
    strbuf_fini(&text);
    hw_graph_free(g);
}

static void names_with_quotes_survive(void **state)
{
    (void)state;
    static const char odd[] =
        "{\"nodes\": [{\"id\": \"a\\\"<&>'\", \"kind\": \"npu\"}, {\"id\": \"b\\\\c\", "
        "\"kind\": \"npu\"}], \"edges\": [{\"source\": \"a\\\"<&>'\", \"target\": "
        "\"b\\\\c\", \"gbps\": 10, \"latency_ns\": 5}]}";
    static const char *const formats[] = {"node-link", "simgrid"};
    for (int i = 0; i < 2; i++) {
        hw_graph *g, *back;
        strbuf text = {0};
        char name[64];
        assert_int_equal(
            hw_graph_import(&g, str_from(odd), "f", &(hw_import_options){0}, NULL),
            HALLEY_OK);
        assert_int_equal(write_graph(&text, g, formats[i], NULL), HALLEY_OK);
        assert_int_equal(
            hw_graph_import(&back, strbuf_str(&text), "f", &(hw_import_options){0}, NULL),
            HALLEY_OK);
        assert_string_equal(hw_graph_name(back, 0, name, sizeof name), "a\"<&>'");
        assert_string_equal(hw_graph_name(back, 1, name, sizeof name), "b\\c");
        hw_graph_free(g);
        hw_graph_free(back);
        strbuf_fini(&text);
    }
}

static void dot_counts_parallel_cables_and_merges_leaves(void **state)
{
    (void)state;
    hw_graph *g = make_graph(networks[2]);
    strbuf text = {0};
    assert_int_equal(write_graph(&text, g, "dot", NULL), HALLEY_OK);
    assert_non_null(strstr(text.at, "\"400G x2\""));
    hw_graph_free(g);
    text.n = 0;
    g = make_graph("{topology: leaf-spine, npus: 32, leaves: 64, spines: 4}");
    assert_int_equal(write_graph(&text, g, "dot", NULL), HALLEY_OK);
    assert_non_null(strstr(text.at, "npu0 ... x32"));
    assert_null(strstr(text.at, "\"npu1\""));
    hw_graph_free(g);
    strbuf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_networks_come_back),
        cmocka_unit_test(only_fat_trees_become_htsim_files),
        cmocka_unit_test(what_a_format_cannot_hold_is_refused),
        cmocka_unit_test(names_with_quotes_survive),
        cmocka_unit_test(dot_counts_parallel_cables_and_merges_leaves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
