/* Topology files of other tools: what they mean, and the code word of each mistake. */
#include "base/conf/conf.h"
#include "base/file/file.h"
#include "halley/topology.h"
#include "hw/graph/measure.h"
#include "topology/import/import.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const hw_import_options by_content = {0};

static hw_graph *import_text(const char *text)
{
    hw_graph *g = NULL;
    halley_error err = {0};
    if (hw_graph_import(&g, str_from(text), "file", &by_content, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return g;
}

static void expect_graph(const char *text, const char *format, uint32_t npus,
                         uint32_t switches, uint32_t cables, double half_cut_gbps)
{
    hw_graph *g = import_text(text);
    assert_string_equal(g->generator, format);
    assert_int_equal(g->n_npus, npus);
    assert_int_equal(g->n_switches, switches);
    assert_int_equal(g->n_cables, cables);
    hw_endpoints ends;
    double cut;
    assert_int_equal(hw_graph_endpoints(&ends, g, NULL), HALLEY_OK);
    assert_int_equal(hw_graph_half_cut(&cut, g, &ends, NULL), HALLEY_OK);
    assert_true(fabs(cut * 8e-9 - half_cut_gbps) < 1e-6);
    free(ends.at);
    hw_graph_free(g);
}

static const char ns3[] = "5 1 4\n2\n0 2 100Gbps 500ns 0\n1 2 25GBps 0.0005ms 0\n"
                          "3 2 2e5Mbps 1us 0\n4 2 100Gbps 500 0";
static const char htsim[] = "# tiny\nNodes 8\nTiers 2\nPodsize 8\nTier 0\n"
                            "Downlink_speed_Gbps 100\nRadix_Down 4\nRadix_Up 2\n"
                            "Oversubscribed 2\nDownlink_Latency_ns 500\n\nTier 1\n"
                            "Downlink_speed_Gbps\t100\nRadix_Down 2\n"
                            "Downlink_Latency_ns 500";
static const char node_link[] =
    "{\"directed\": false, \"multigraph\": false, \"nodes\": [{\"id\": 0, \"kind\": "
    "\"gpu\"}, {\"id\": [0, 1], \"type\": \"GPU\"}, {\"id\": \"s\", \"kind\": "
    "\"switch\"}], \"links\": [{\"source\": 0, \"target\": \"s\", \"bandwidth\": \"400 "
    "Gbps\", \"latency_us\": 1}, {\"source\": \"s\", \"target\": [0, 1], \"bandwidth\": "
    "4e11}]}";
static const char simgrid[] =
    "<?xml version='1.0'?><platform version=\"4.1\"><zone id=\"w\" routing=\"Floyd\">"
    "<host id=\"a\" speed=\"1Gf\"/><host id='b' speed=\"1Gf\"/><router id=\"s\"/>"
    "<link id=\"l0\" bandwidth=\"50GBps\" latency=\"500ns\" "
    "sharing_policy=\"SPLITDUPLEX\"/>"
    "<link id=\"l1\" bandwidth=\"400Gbps\" latency=\"500ns\" "
    "sharing_policy=\"SPLITDUPLEX\"/>"
    "<route src=\"a\" dst=\"s\"><link_ctn id=\"l0\" direction=\"UP\"/></route>"
    "<route src=\"s\" dst=\"b\"><link_ctn id=\"l1\" direction=\"UP\"/></route>"
    "</zone></platform>";
static const char infragraph[] =
    "name: two\ndevices:\n"
    "- {name: cx, components: [{name: port, count: 2, choice: port}]}\n"
    "- name: box\n  components: [{name: x, count: 4, choice: xpu}, {name: n, count: 4, "
    "choice: nic}]\n  links: [{name: pci}]\n"
    "  edges: [{scheme: one2one, link: pci, ep1: {component: x}, ep2: {component: n}}]\n"
    "- name: sw\n  components: [{name: chip, count: 1, choice: cpu}, {name: port, count: "
    "8, choice: port}]\n  links: [{name: inside}]\n"
    "  edges: [{scheme: many2many, link: inside, ep1: {component: chip}, ep2: "
    "{component: "
    "port}}]\n"
    "links: [{name: eth, physical: {bandwidth: {gigabits_per_second: 400}, latency: {ns: "
    "500}}}]\n"
    "instances: [{name: box, device: box, count: 2}, {name: sw, device: sw, count: 1}]\n"
    "edges: [{scheme: one2one, link: eth, ep1: {instance: 'box[0:2]', component: n}, "
    "ep2: "
    "{instance: sw, component: 'port[0:8:1]'}}]\n";
static const char nccl[] =
    "<!-- dump --><system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" "
    "vendor=\"GenuineIntel\" modelid=\"143\">"
    "<pci busid=\"0000:01:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><gpu dev=\"0\" sm=\"90\" rank=\"1\"><nvlink "
    "target=\"0000:02:00.0\" count=\"2\" tclass=\"0x030200\"/></gpu></pci>"
    "<pci busid=\"0000:02:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" "
    "link_width=\"16\"><gpu dev=\"1\" sm=\"90\" rank=\"0\"><nvlink "
    "target=\"0000:01:00.0\" count=\"2\" "
    "tclass=\"0x030200\"/></gpu></pci></cpu></system>";
static const char ib[] = "# Topology file: generated\nvendid=0x2c9\nswitchguid=0x1(1)\n"
                         "Switch\t4 \"S-1\"\t\t# \"leaf\" base port 0 lid 1 lmc 0\n"
                         "[1]\t\"H-a\"[1](a1) \t\t# \"host1 mlx5_0\" lid 3 4xHDR\n"
                         "[2]\t\"H-b\"[1](b1) \t\t# \"host2 4xEDR\" lid 4 2xHDR\n\n"
                         "caguid=0xa\nCa\t1 \"H-a\"\t\t# \"host1 mlx5_0\"\n"
                         "[1](a1) \t\"S-1\"[1]\t\t# lid 3 lmc 0 \"leaf\" lid 1 4xHDR\n\n"
                         "caguid=0xb\nCa\t1 \"H-b\"\t\t# \"host2 mlx5_0\"\n"
                         "[1](b1) \t\"S-1\"[2]\t\t# lid 4 lmc 0 \"leaf\" lid 1 2xHDR\n";
static const char slurm[] = "SwitchName=top Switches=leaf[1-2]\n"
                            "SwitchName=leaf1 Nodes=n[01-03],x\\\n\n"
                            "switchname=leaf2 nodes=n04 # comment\n";
static const char slurm_yaml[] =
    "- topology: a\n  cluster_default: true\n  block:\n    block_sizes: [2, 4]\n"
    "    blocks:\n    - {block: b1, nodes: 'n[1-2]'}\n    - {block: b2, nodes: "
    "'n[3-4]'}\n"
    "- topology: b\n  flat: true\n";

static void every_format_is_recognised_and_read(void **state)
{
    (void)state;
    expect_graph(ns3, "ns3", 4, 1, 4, 300);
    expect_graph(htsim, "htsim", 8, 4, 12, 200);
    expect_graph(node_link, "node-link", 2, 1, 2, 400);
    expect_graph(simgrid, "simgrid", 2, 1, 2, 400);
    expect_graph(infragraph, "infragraph", 8, 1, 16, 1600);
    expect_graph(ib, "ibnetdiscover", 0, 1, 2, 100);
}

static void nccl_ranks_number_the_gpus_and_both_ends_are_one_link(void **state)
{
    (void)state;
    hw_graph *g = import_text(nccl);
    char name[64];
    assert_int_equal(g->n_npus, 2);
    assert_string_equal(hw_graph_name(g, 0, name, sizeof name), "0000:02:00.0");
    assert_int_equal(g->n_cables, 3); /* two to the processor, one NVLink */
    assert_int_equal(g->n_links, 6);
    assert_true(fabs(g->link_Bps[4] - 41.2e9) < 1);
    assert_true(fabs(g->link_Bps[0] - 24e9) < 1);
    hw_graph_free(g);
}

static void what_a_file_does_not_state_is_unknown(void **state)
{
    (void)state;
    hw_graph *g = import_text(slurm);
    assert_string_equal(g->generator, "slurm-conf");
    assert_int_equal(g->n_switches, 3);
    assert_int_equal(g->n_devices, 8);
    assert_int_equal(g->n_cables, 7);
    for (uint32_t i = 0; i < g->n_links; i++) {
        assert_true(g->link_Bps[i] == HW_UNKNOWN);
        assert_true(g->link_latency_s[i] == HW_UNKNOWN);
    }
    hw_graph_free(g);
    g = import_text(slurm_yaml);
    assert_string_equal(g->generator, "slurm-yaml");
    assert_int_equal(g->n_switches, 3);
    assert_int_equal(g->n_warnings, 1);
    hw_graph_free(g);
}

static void npus_forward_only_where_they_must(void **state)
{
    (void)state;
    hw_graph *ring = import_text("3 0 3\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n2 0 1Gbps "
                                 "1us 0\n");
    assert_false(ring->groups[0].forwards);
    hw_graph_free(ring);
    hw_graph *line = import_text("3 0 2\n\n0 1 1Gbps 1us 0\n1 2 1Gbps 1us 0\n");
    assert_true(line->groups[0].forwards);
    hw_graph_free(line);
    hw_graph *star = import_text(ns3);
    assert_false(star->groups[0].forwards);
    hw_graph_free(star);
}

static void the_way_back_may_have_another_rate(void **state)
{
    (void)state;
    hw_graph *g = import_text("2 0 1\n\n# a comment\n0 1 400Gbps 1us 0 wan "
                              "@100Gb/s/2us\n");
    assert_int_equal(g->n_cables, 0);
    assert_int_equal(g->n_links, 2);
    assert_true(g->link_Bps[1] == 100e9 / 8 && g->link_from[1] == 1);
    hw_graph_free(g);
}

static void npus_can_be_added_to_a_fabric_of_nics(void **state)
{
    (void)state;
    hw_graph *g;
    const hw_import_options o = {.npus_per_nic = 2};
    assert_int_equal(hw_graph_import(&g, str_from(ib), "f", &o, NULL), HALLEY_OK);
    assert_int_equal(g->n_npus, 4);
    assert_int_equal(g->n_nics, 2);
    hw_graph_free(g);
    assert_int_equal(hw_graph_import(&g, str_from(ns3), "f", &o, NULL), HALLEY_EFORMAT);
}

static const struct bad_file {
    const char *text, *code, *format;
    uint32_t line;
} bad_files[] = {
    {"5 1 4\n2\n0 2 100Gbps 500ns 0\n", "truncated", "ns3", 4},
    {"3 1\n", "bad-header", "ns3", 1},
    {"2 3 1\n0 1 2\n0 1 1Gbps 1us 0\n", "bad-header", "ns3", 1},
    {"x 0 1\n\n0 1 1Gbps 1us 0\n", "bad-number", "ns3", 1},
    {"2 0 1\n\n0 7 1Gbps 1us 0\n", "dangling-link", "ns3", 3},
    {"3 1 1\n9\n0 1 1Gbps 1us 0\n", "dangling-id", "ns3", 2},
    {"3 2 1\n2 2\n0 1 1Gbps 1us 0\n", "duplicate-id", "ns3", 2},
    {"2 0 1\n\n1 1 1Gbps 1us 0\n", "self-loop", "ns3", 3},
    {"2 0 1\n\n0 1 0Gbps 1us 0\n", "bad-rate", "ns3", 3},
    {"2 0 1\n\n0 1 -5Gbps 1us 0\n", "bad-rate", "ns3", 3},
    {"2 0 1\n\n0 1 1Gb 1us 0\n", "bad-rate", "ns3", 3},
    {"2 0 1\n\n0 1 1Gbps 1lightyear 0\n", "bad-delay", "ns3", 3},
    {"2 0 1\n\n0 1 1Gbps -1us 0\n", "bad-delay", "ns3", 3},
    {"2 0 1\n\n0 1 1Gbps 1us 1.5\n", "bad-error-rate", "ns3", 3},
    {"2 0 1\n\n0 1 1Gbps 1us 0 what\n", "bad-line", "ns3", 3},
    {"900000000 0 1\n\n0 1 1Gbps 1us 0\n", "bad-header", "ns3", 1},
    {"Nodes 8\nTiers 2\nPodsize 8\n", "truncated", "htsim", 0},
    {"Nodes 8\nTiers 9\nPodsize 8\nTier 0\n", "bad-tier", "htsim", 0},
    {"Nodes 8\nTier 0\n", "missing-key", "htsim", 0},
    {"Nodes 8\nTiers 2\nPodsize 8\nTier 7\n", "bad-tier", "htsim", 4},
    {"Nodes 8\nTiers\n", "truncated", "htsim", 2},
    {"Nodes eight\n", "bad-number", "htsim", 1},
    {"Nodes 8\nColour 3\n", "unknown-key", "htsim", 2},
    {"Nodes 8\nTiers 2\nPodsize 8\nTier 0\nBundle 1\nBundle 1\n", "duplicate-key",
     "htsim", 6},
    {"Nodes 8\nTiers 2\nPodsize 8\nTier 0\nDownlink_speed_Gbps 0\n", "bad-rate", "htsim",
     5},
    {"<system><cpu numaid=\"0\"><pci ", "truncated", "nccl", 1},
    {"<system><cpu numaid=\"0\">", "truncated", "nccl", 1},
    {"<system><cpu numaid=\"0\"></gpu></system>", "bad-xml", "nccl", 1},
    {"<sytem></sytem>", "bad-root", "nccl", 1},
    {"<system></system>", "missing-key", "nccl", 1},
    {"<system><cpu numaid=\"zero\"/></system>", "bad-number", "nccl", 1},
    {"<system><cpu numaid=\"0\"><pci busid=\"1\"/></cpu></system>", "no-npu", "nccl", 0},
    {"<system><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x030000\"/><pci busid=\"1\" "
     "class=\"0x030000\"/></cpu></system>",
     "duplicate-id", "nccl", 1},
    {"<system><cpu numaid=\"0\"><pci busid=\"1\" class=\"0x030000\"><gpu "
     "sm=\"80\"><nvlink "
     "target=\"9\" count=\"1\" tclass=\"0x030200\"/></gpu></pci></cpu></system>",
     "dangling-link", "nccl", 1},
    {"<platform><host id=\"a\"/><host id=\"a\"/></platform>", "duplicate-id", "simgrid",
     1},
    {"<platform><cluster/></platform>", "unsupported", "simgrid", 1},
    {"<platform><host id=\"a\"/><link id=\"l\" bandwidth=\"0Bps\"/></platform>",
     "bad-rate", "simgrid", 1},
    {"<platform><host id=\"a\"/><route src=\"a\" dst=\"b\"><link_ctn "
     "id=\"l\"/></route></platform>",
     "dangling-link", "simgrid", 1},
    {"{\"nodes\": [{\"id\": 1}], \"edges\": [", "truncated", "node-link", 1},
    {"{\"nodes\": [{\"id\": 1, \"id\": 2}], \"edges\": []}", "duplicate-key", "node-link",
     1},
    {"{\"nodes\": [{\"id\": 1}, {\"id\": 1}], \"edges\": []}", "duplicate-id",
     "node-link", 0},
    {"{\"nodes\": [{\"id\": 1}], \"edges\": [{\"source\": 1, \"target\": 99}]}",
     "dangling-link", "node-link", 0},
    {"{\"nodes\": [{\"id\": 1}], \"edges\": [{\"source\": 1, \"target\": 1}]}",
     "self-loop", "node-link", 0},
    {"{\"nodes\": [{\"id\": 1}, {\"id\": 2}], \"edges\": [{\"source\": 1, \"target\": 2, "
     "\"gbps\": 0}]}",
     "bad-rate", "node-link", 0},
    {"{\"nodes\": [{\"id\": 1}, {\"id\": 2}], \"edges\": [{\"source\": 1, \"target\": "
     "2}, "
     "{\"source\": 2, \"target\": 1}]}",
     "duplicate-id", "node-link", 0},
    {"{\"nodes\": [{\"kind\": \"gpu\"}], \"edges\": []}", "missing-key", "node-link", 0},
    {"{\"nodes\": [{\"id\": 1, \"kind\": \"switch\"}], \"edges\": []}", "no-npu",
     "node-link", 0},
    {"SwitchName=a Switches=b\n", "dangling-link", "slurm-conf", 1},
    {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "loop", "slurm-conf", 1},
    {"SwitchName=a Switches=a\n", "loop", "slurm-conf", 1},
    {"SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "duplicate-id", "slurm-conf", 2},
    {"SwitchName=a\n", "missing-key", "slurm-conf", 1},
    {"SwitchName=a Nodes=n[1-\n", "bad-hostlist", "slurm-conf", 1},
    {"SwitchName=a Nodes=n[3-1]\n", "bad-hostlist", "slurm-conf", 1},
    {"SwitchName=a Colour=red\n", "unknown-key", "slurm-conf", 1},
    {"SwitchName=a Nodes=n Nodes=m\n", "duplicate-key", "slurm-conf", 1},
    {"BlockName=a Nodes=n\nBlockName=b Nodes=n\n", "duplicate-id", "slurm-conf", 2},
    {"BlockName=a Nodes=n\nBlockSizes=2,3\n", "bad-number", "slurm-conf", 0},
    {"- topology: a\n  flat: true\n", "unsupported", "slurm-yaml", 1},
    {"- topology: a\n", "missing-key", "slurm-yaml", 1},
    {"# Topology file\nSwitch 4 \"S-1\"\n[1] \"H-9\"[1]\n", "dangling-link",
     "ibnetdiscover", 3},
    {"# Topology file\nSwitch 4 \"S-1\"\n", "no-links", "ibnetdiscover", 0},
    {"# Topology file\n[1] \"H-9\"[1]\n", "bad-line", "ibnetdiscover", 2},
    {"# Topology file\nSwitch 4 \"S-1\"\n[1] \"H-9\"[1", "truncated", "ibnetdiscover", 3},
    {"# Topology file\nCa 4 \"S-1\"\n", "bad-id", "ibnetdiscover", 2},
    {"devices: [{name: d, components: []}]\n", "missing-key", "infragraph", 0},
    {"devices: []\nconnections: [a.0.b]\n", "unsupported", "infragraph", 1},
    {"devices: []\ncolour: red\ninstances: [{name: a, device: b}]\n", "unknown-key",
     "infragraph", 2},
    {"devices: []\ninstances: [{name: a, device: b}]\n", "dangling-id", "infragraph", 2},
    {"devices: [{name: a, components: [{name: a, choice: device}]}]\ninstances: [{name: "
     "i, device: a}]\n",
     "loop", "infragraph", 1},
    {"devices: [{name: a, components: [{name: x, count: 2, choice: xpu}], links: [{name: "
     "l}], edges: [{link: l, ep1: {component: 'x[0:3]'}, ep2: {component: x}}]}]\n"
     "instances: [{name: i, device: a}]\n",
     "slice-out-of-range", "infragraph", 0},
    {"devices: [{name: a, components: [{name: x, count: 2, choice: xpu}], links: [{name: "
     "l}], edges: [{link: l, ep1: {component: 'x[0:b]'}, ep2: {component: x}}]}]\n"
     "instances: [{name: i, device: a}]\n",
     "bad-slice", "infragraph", 0},
    {"devices: [{name: a, components: [{name: x, count: 2, choice: xpu}], links: [{name: "
     "l}], edges: [{scheme: star, link: l, ep1: {component: x}, ep2: {component: x}}]}]\n"
     "instances: [{name: i, device: a}]\n",
     "bad-scheme", "infragraph", 1},
};

static void every_mistake_has_its_code_and_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_files / sizeof *bad_files; i++) {
        const struct bad_file *bad = &bad_files[i];
        hw_graph *g = NULL;
        halley_error err = {0};
        char code[64];
        const hw_import_options o = {.format = str_from(bad->format)};
        const halley_status status =
            hw_graph_import(&g, str_from(bad->text), "f", &o, &err);
        if (status == HALLEY_OK ||
            halley_topology_error_code(&err, code, sizeof code) == NULL ||
            strcmp(code, bad->code) != 0 || (bad->line > 0 && err.line != bad->line))
            fail_msg("%s: \"%s\" gives line %u \"%s\", not %s at %u", bad->format,
                     bad->text, err.line, err.text, bad->code, bad->line);
        assert_null(g);
    }
}

/* Formats with a closing mark must notice every cut; all must survive it. */
static void a_cut_file_never_passes_for_a_whole_one(void **state)
{
    (void)state;
    static const struct {
        const char *text, *format;
        bool closes;
    } rows[] = {{ns3, "ns3", true},
                {htsim, "htsim", false},
                {node_link, "node-link", true},
                {simgrid, "simgrid", true},
                {infragraph, "infragraph", false},
                {nccl, "nccl", true},
                {ib, "ibnetdiscover", false},
                {slurm, "slurm-conf", false},
                {slurm_yaml, "slurm-yaml", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n = strlen(rows[i].text);
        for (size_t cut = 0; cut < n; cut++) {
            char *part = malloc(cut + 1);
            memcpy(part, rows[i].text, cut);
            hw_graph *g = NULL;
            halley_error err = {0};
            const hw_import_options o = {.format = str_from(rows[i].format)};
            const halley_status status =
                hw_graph_import(&g, (str){part, cut}, "f", &o, &err);
            if (status == HALLEY_OK)
                hw_graph_free(g);
            else
                assert_true(err.text[0] != '\0');
            if (rows[i].closes && cut + 1 < n)
                assert_true(status != HALLEY_OK);
            free(part);
        }
    }
}

/* The shared set of public files, where it is there. */
static char *shared_path(const char *name)
{
    const char *root = getenv("HALLEY_SOURCE_ROOT");
    char *path = malloc(1000);
    snprintf(path, 1000, "%s/../shared/data/topologies/%s", root != NULL ? root : ".",
             name);
    return path;
}

static double get_number(const conf_node *map, const char *key, double otherwise)
{
    const conf_node *node = conf_find(map, key);
    double value = otherwise;
    if (node != NULL && node->kind == CONF_SCALAR)
        assert_int_equal(
            conf_to_double(&value, &(conf_file){.path = "index"}, node, key, NULL),
            HALLEY_OK);
    return value;
}

static void expect_report(const char *path, const conf_node *expect)
{
    halley_topology *t;
    halley_topology_report *r;
    halley_error err = {0};
    if (halley_topology_load(&t, path, NULL, &err) != HALLEY_OK)
        fail_msg("%s: %s", path, err.text);
    assert_int_equal(halley_topology_measure(&r, t, HALLEY_TOPOLOGY_CUTS, &err),
                     HALLEY_OK);
    const conf_node *devices = conf_find(expect, "devices");
    for (int i = 0; i < HALLEY_TOPOLOGY_KINDS; i++)
        assert_int_equal(r->devices[i],
                         (uint64_t)get_number(devices, r->kind_names[i], 0));
    assert_int_equal(r->links, (uint32_t)get_number(expect, "links", 0));
    assert_int_equal(r->one_way_links, (uint32_t)get_number(expect, "one_way_links", 0));
    assert_int_equal(r->components, (uint32_t)get_number(expect, "components", 0));
    assert_int_equal(r->endpoints, (uint32_t)get_number(expect, "endpoints", 0));
    if (r->connected)
        assert_int_equal(r->diameter_hops,
                         (uint32_t)get_number(expect, "diameter_hops", 0));
    const double cut = get_number(
        expect,
        r->some_rates_unknown ? "half_cut_gbps_unknown_rates_unlimited" : "half_cut_gbps",
        -8e-9);
    if (fabs(r->half_cut_Bps * 8e-9 - cut) > 1e-6)
        fail_msg("%s: half cut %.9g, not %.9g", path, r->half_cut_Bps * 8e-9, cut);
    halley_topology_report_free(r);
    halley_topology_free(t);
}

static void expect_failure(const char *path, str code)
{
    halley_topology *t;
    halley_error err = {0};
    char found[64];
    assert_int_not_equal(halley_topology_load(&t, path, NULL, &err), HALLEY_OK);
    assert_non_null(halley_topology_error_code(&err, found, sizeof found));
    if (!str_eq(str_from(found), code))
        fail_msg("%s: %s, not %.*s", path, err.text, STR_ARG(code));
}

static void public_files_report_what_their_index_says(void **state)
{
    (void)state;
    conf_file index;
    char *path = shared_path("index.json");
    if (!file_exists(path)) {
        free(path);
        print_message("skipped: needs ../shared/data/topologies\n");
        skip();
    }
    assert_int_equal(conf_load(&index, path, NULL), HALLEY_OK);
    free(path);
    const conf_node *files = conf_find(index.root, "files");
    for (uint32_t i = 0; i < files->n; i++) {
        const conf_node *entry = files->items[i];
        char name[200];
        snprintf(name, sizeof name, "%.*s", STR_ARG(conf_find(entry, "file")->text));
        path = shared_path(name);
        if (conf_find(entry, "error") != NULL)
            expect_failure(path, conf_find(entry, "error")->text);
        else
            expect_report(path, conf_find(entry, "expect"));
        free(path);
    }
    conf_fini(&index);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_is_recognised_and_read),
        cmocka_unit_test(nccl_ranks_number_the_gpus_and_both_ends_are_one_link),
        cmocka_unit_test(what_a_file_does_not_state_is_unknown),
        cmocka_unit_test(npus_forward_only_where_they_must),
        cmocka_unit_test(the_way_back_may_have_another_rate),
        cmocka_unit_test(npus_can_be_added_to_a_fabric_of_nics),
        cmocka_unit_test(every_mistake_has_its_code_and_line),
        cmocka_unit_test(a_cut_file_never_passes_for_a_whole_one),
        cmocka_unit_test(public_files_report_what_their_index_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
