/* One description of hardware: what is saved is loaded again, older names are read,
 * counts fill nodes, and engines refuse what they cannot answer. */
#include "alloc_fail.h"
#include "halley/estimate.h"
#include "halley/sim.h"
#include "hw/cluster.h"
#include "hw/count.h"
#include "hw/embedded.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/save.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static halley_cluster *load(const char *name)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_load(&c, name, &err) != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return c;
}

static halley_cluster *parse(const char *text)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_parse(&c, text, strlen(text), "c.yaml", &err) != HALLEY_OK)
        fail_msg("%s\n%s", err.text, text);
    return c;
}

static void check_near(double is, double wanted, double within)
{
    if (!(fabs(is - wanted) <= within))
        fail_msg("%.17g is not %.17g", is, wanted);
}

static char *print(const halley_cluster *c)
{
    char *text = NULL;
    halley_error err = {0};
    assert_int_equal(halley_cluster_print(&text, c, &err), HALLEY_OK);
    return text;
}

/* The sentence with which a text is refused. */
static void check_refused(const char *text, const char *part)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    assert_int_not_equal(halley_cluster_parse(&c, text, strlen(text), "c.yaml", &err),
                         HALLEY_OK);
    assert_null(c);
    if (strstr(err.text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", err.text, part);
}

/* A step in closed form, 0 where the cluster cannot be estimated. */
static halley_estimate estimate(const halley_cluster *c)
{
    halley_estimate e = {0};
    halley_error err = {0};
    halley_model model;
    halley_stack stack;
    halley_plan plan = {.tp = 2, .dp = 8, .global_batch = 16, .zero = 1};
    if (halley_cluster_check_estimate(c, NULL) != HALLEY_OK)
        return e;
    assert_int_equal(halley_model_load(&model, "gpt-3.6b", &err), HALLEY_OK);
    halley_stack_default(&stack);
    assert_int_equal(halley_plan_check(&plan, &model, 0, &err), HALLEY_OK);
    halley_estimate_run(&e, &model, &plan, c, &stack);
    halley_model_fini(&model);
    return e;
}

static void check_same(const halley_cluster *a, const halley_cluster *b)
{
    const halley_estimate x = estimate(a), y = estimate(b);
    halley_level one, other;
    assert_true(x.step_s == y.step_s && x.cost_usd == y.cost_usd);
    assert_true(x.energy_J == y.energy_J && x.peak_bytes == y.peak_bytes);
    assert_int_equal(a->n_npus, b->n_npus);
    assert_int_equal(a->n_dims, b->n_dims);
    for (uint32_t d = 0; d < a->n_dims; d++) {
        assert_int_equal(a->dims[d].n, b->dims[d].n);
        assert_int_equal(a->dims[d].topology, b->dims[d].topology);
        assert_true(a->dims[d].bw_Bps == b->dims[d].bw_Bps);
        assert_true(a->dims[d].latency_ns == b->dims[d].latency_ns);
    }
    for (uint32_t i = 0; halley_cluster_level(&one, a, i); i++) {
        assert_true(halley_cluster_level(&other, b, i));
        assert_int_equal(one.npus, other.npus);
        assert_true(one.bandwidth_Bps == other.bandwidth_Bps);
        assert_true(one.latency_s == other.latency_s && one.share == other.share);
        assert_true(one.oversubscription == other.oversubscription);
    }
    assert_int_equal(a->remote.kind, b->remote.kind);
    assert_true(a->remote.bytes_per_ns == b->remote.bytes_per_ns);
    assert_int_equal(a->remote.latency_ns, b->remote.latency_ns);
}

/* print(c) = print(parse(print(c))), and both answer the same. */
static void check_round_trip(const halley_cluster *c)
{
    char *once = print(c);
    halley_cluster *again = parse(once);
    char *twice = print(again);
    assert_string_equal(once, twice);
    check_same(c, again);
    assert_int_equal(halley_cluster_note_count(again), 0);
    halley_cluster_free(again);
    free(once);
    free(twice);
}

static void every_preset_is_saved_and_loaded_as_it_was(void **state)
{
    (void)state;
    char name[HALLEY_NAME];
    static const char *const counts[] = {"", ":1", ":16", ":12", ":2048"};
    for (size_t i = 0; halley_preset_name(name, sizeof name, "clusters", i); i++) {
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            char counted[HALLEY_NAME + 8];
            snprintf(counted, sizeof counted, "%s%s", name, counts[k]);
            halley_cluster *c = load(counted);
            assert_int_equal(halley_cluster_note_count(c), 0); /* present names only */
            assert_int_equal(halley_cluster_check_estimate(c, NULL), HALLEY_OK);
            check_round_trip(c);
            halley_cluster_free(c);
        }
    }
}

static const char design_example[] =
    "name: roce-24k\n"
    "npus: 24576\n"
    "npu: h100-sxm-80gb\n"
    "nodes: {npus: 8, up: nvlink4-h100, nics: 8, rack: 2 nodes, power: 10.2 kW}\n"
    "network:\n"
    "  topology: fat-tree\n"
    "  tiers:\n"
    "    - {name: leaf, npus: 16, oversubscription: 1, link: 400 Gb/s, latency: 700 ns}\n"
    "    - {name: spine, npus: 3072, oversubscription: 7, link: 400 Gb/s}\n"
    "    - {name: core}\n"
    "  rail-optimised: no\n"
    "  routing: spray\n"
    "library: nccl\n"
    "system: {network-model: flow, scheduling: fifo}\n"
    "cost: {npu: 28000 USD, node: 60000 USD, switch: 25000 USD, link: {copper: 100 USD, "
    "optical: 900 USD}, energy: 0.1 USD/kWh, pue: 1.2, years: 4, rent: 2.5 USD/h}\n"
    "failures: {npu-mtbf: 50000 h, checkpoint: 60 s, restart: 10 min}\n";

static const char dimensions[] =
    "name: d\n"
    "npu: {name: mine, peak: {bf16: 300 TFLOP/s, fp8: 600 TFLOP/s}, memory: [{name: hbm, "
    "capacity: 80 GB, bandwidth: 2 TB/s}, {name: cxl, kind: hierarchical, capacity: 1 "
    "TB, "
    "bandwidth: 60 GB/s, latency: 400 ns, groups: 2, piece: 2 MB}], gemm: {efficiency: "
    "0.7}, price: 9000 USD}\n"
    "network:\n"
    "  - {name: a, topology: switch, size: 4, bandwidth: 300 GB/s, latency: 700 ns, "
    "in-network: [all-reduce, broadcast], in-network-delay: 30 ns}\n"
    "  - {topology: switch, size: 2, bandwidth: 50 GB/s, latency: 1.25 us}\n"
    "  - {topology: switch, size: 2, bandwidth: 5 GB/s, latency: 5 us}\n"
    "system: {network-model: queue, chunks: 4, active-chunks: 2, scheduling: themis, "
    "algorithms: [ring, direct-2, halving-doubling], slow: {3: 1.5}, jitter: 2 %}\n"
    "cost: {node: 1234.5 USD, rent: 1.7 USD/h, network-per-gbps: 7.3 USD}\n"
    "groups: {2: [0, 1], 5: [2, 3]}\n";

static const char two_kinds[] =
    "npus: 32\n"
    "kinds: [{npu: h100-sxm-80gb, nodes: [0-1, 3]}, {npu: b200-sxm-180gb, nodes: 2}]\n"
    "nodes: {npus: 8, up: {link: nvlink4-h100, bandwidth: 400 GB/s}}\n"
    "network: {fabric: ib-ndr}\n";

static const char plain[] = "npus: 16\nnpu: h100-sxm-80gb\n"
                            "nodes: {npus: 8, up: nvlink4-h100, host: 4}\n"
                            "network: ib-ndr\nlibrary: plain\nhost-factor: 0.5\n";

static void every_form_of_a_file_is_saved_and_loaded_as_it_was(void **state)
{
    (void)state;
    static const char *const texts[] = {
        design_example,
        dimensions,
        two_kinds,
        plain,
        "network: {topology: torus, dims: [4, 4, 2], link: 50 GB/s, latency: 1 us, "
        "ties: split}\n",
        "npus: 64\nnodes: {npus: 8, up: nvlink4-h100, shape: fully-connected}\n"
        "network: {topology: rail-optimised, nodes-per-leaf: 4, spines: 4, "
        "link: 400 Gb/s, fabric: ib-ndr, pxn: no}\n",
        "network: {topology: edges, npus: 2, edges: [[0, 1, 50 GB/s, 1 us]]}\n"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        halley_cluster *c = parse(texts[i]);
        char *once = print(c);
        halley_cluster *again = parse(once);
        char *twice = print(again);
        assert_string_equal(once, twice);
        check_same(c, again);
        halley_cluster_free(c);
        halley_cluster_free(again);
        free(once);
        free(twice);
    }
}

/* Blocks of a graph are levels: bandwidth per NPU, and what leaves a block. */
static void graphs_have_levels(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t node, n_outer;
        double up_GBps, over[3], out_GBps[3];
    } rows[] = {
        {"network: {topology: torus, dims: [4, 4], link: 50 GB/s}\n",
         16,
         0,
         100,
         {0},
         {0}},
        {"network: {topology: switch, n: 8, link: 50 GB/s}\n", 8, 0, 50, {0}, {0}},
        {"network: {topology: leaf-spine, npus: 8, leaves: 4, spines: 2, link: 50 "
         "GB/s}\n",
         1,
         2,
         50,
         {1, 4},
         {50, 12.5}},
        {"npus: 64\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: "
         "rail-optimised, nodes-per-leaf: 4, spines: 2, link: 50 GB/s}\n",
         8,
         2,
         450,
         {1, 2},
         {50, 25}},
        {"network: {topology: dragonfly, p: 4, a: 4, h: 2, G: 9, link: 25 GB/s}\n",
         1,
         2,
         25,
         {1, 2},
         {25, 12.5}},
        {"network: {topology: fat-tree, m: [4, 4, 4], w: [1, 2, 2], link: 10 GB/s}\n",
         1,
         3,
         10,
         {1, 2, 4},
         {10, 5, 2.5}},
        {"network: {topology: rail-only, npus: 8, nodes: 4, node-link: 400 GB/s, link: "
         "50 "
         "GB/s}\n",
         8,
         1,
         400,
         {1},
         {50}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_cluster *c = parse(rows[i].text);
        assert_int_equal(c->nodes.npus, rows[i].node);
        assert_int_equal(c->n_outer, rows[i].n_outer);
        check_near(c->nodes.up.bandwidth_Bps, rows[i].up_GBps * 1e9, 1e-9);
        for (uint32_t k = 0; k < c->n_outer; k++) {
            check_near(c->outer[k].oversubscription, rows[i].over[k], 1e-9);
            check_near(c->outer[k].fabric.bandwidth_Bps, rows[i].out_GBps[k] * 1e9, 1e-9);
        }
        halley_cluster_free(c);
    }
}

/* Written in full, under a name that no preset has, every preset still is the same. */
static void devices_links_and_fabrics_are_written_in_full(void **state)
{
    (void)state;
    char name[HALLEY_NAME];
    for (size_t i = 0; halley_preset_name(name, sizeof name, "npus", i); i++) {
        halley_npu npu, again;
        strbuf once = {0}, twice = {0};
        conf_file file;
        assert_int_equal(cluster_npu_load(&npu, name, NULL), HALLEY_OK);
        snprintf(npu.name, sizeof npu.name, "my own: %zu", i);
        hw_npu_print(&once, &npu, true);
        assert_int_equal(conf_parse(&file, strbuf_str(&once), "n.yaml", NULL), HALLEY_OK);
        assert_int_equal(cluster_npu_read(&again, &file, file.root, NULL), HALLEY_OK);
        hw_npu_print(&twice, &again, true);
        assert_string_equal(once.at, twice.at);
        assert_true(memcmp(&npu.gemm_fp8.launch_s, &again.gemm_fp8.launch_s,
                           sizeof(double)) == 0);
        conf_fini(&file);
        strbuf_fini(&once);
        strbuf_fini(&twice);
    }
    for (size_t i = 0; halley_preset_name(name, sizeof name, "links", i); i++) {
        halley_link link, again;
        strbuf once = {0}, twice = {0};
        conf_file file;
        assert_int_equal(cluster_link_load(&link, name, NULL), HALLEY_OK);
        snprintf(link.name, sizeof link.name, "wire-%zu", i);
        hw_link_print(&once, &link);
        assert_int_equal(conf_parse(&file, strbuf_str(&once), "l.yaml", NULL), HALLEY_OK);
        assert_int_equal(cluster_link_read(&again, &file, file.root, NULL), HALLEY_OK);
        hw_link_print(&twice, &again);
        assert_string_equal(once.at, twice.at);
        conf_fini(&file);
        strbuf_fini(&once);
        strbuf_fini(&twice);
    }
    for (size_t i = 0; halley_preset_name(name, sizeof name, "fabrics", i); i++) {
        halley_fabric fabric, again;
        strbuf once = {0}, twice = {0};
        conf_file file;
        assert_int_equal(cluster_fabric_load(&fabric, name, NULL), HALLEY_OK);
        snprintf(fabric.name, sizeof fabric.name, "net-%zu", i);
        hw_fabric_print(&once, &fabric);
        assert_int_equal(conf_parse(&file, strbuf_str(&once), "f.yaml", NULL), HALLEY_OK);
        assert_int_equal(cluster_fabric_read(&again, &file, file.root, NULL), HALLEY_OK);
        hw_fabric_print(&twice, &again);
        assert_string_equal(once.at, twice.at);
        conf_fini(&file);
        strbuf_fini(&once);
        strbuf_fini(&twice);
    }
}

static void older_names_are_read_with_a_note_and_saved_under_the_new_ones(void **state)
{
    (void)state;
    halley_cluster *before = parse("name: x\nnpu: h100-sxm-80gb\nper-node: 8\n"
                                   "up: {link: nvlink4-h100}\nout: {fabric: ib-ndr, "
                                   "bandwidth: 50 GB/s}\ncost: {per-node: 60000 USD}\n"
                                   "system: {model: link-queue}\n");
    halley_cluster *now = parse("name: x\nnpu: h100-sxm-80gb\n"
                                "nodes: {npus: 8, up: nvlink4-h100}\n"
                                "network: {fabric: ib-ndr, bandwidth: 50 GB/s}\n"
                                "cost: {node: 60000 USD}\nsystem: {network-model: "
                                "queue}\n");
    char *old_text = print(before), *new_text = print(now);
    assert_string_equal(old_text, new_text);
    assert_int_equal(halley_cluster_note_count(now), 0);
    assert_int_equal(halley_cluster_note_count(before), 6);
    const char *notes[] = {"out is now called network",
                           "per-node is now called nodes.npus",
                           "up is now called nodes.up",
                           "system.model is now called system.network-model",
                           "link-queue is now called queue",
                           "cost.per-node is now called cost.node"};
    for (uint32_t i = 0; i < 6; i++)
        assert_non_null(strstr(halley_cluster_note(before, i), notes[i]));
    check_same(before, now);
    free(old_text);
    free(new_text);
    halley_cluster_free(before);
    halley_cluster_free(now);
    /* Under ASTRA-sim's rules the old pair meant its own two models. */
    before = parse("network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n"
                   "system: {rules: astra-sim, model: link-queue}\n");
    assert_int_equal(halley_cluster_network_model(before), HALLEY_NETWORK_LINKS);
    halley_cluster_free(before);
    check_refused("network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n"
                  "system: {rules: astra-sim, network-model: queue}\n",
                  "needs rules: native");
    check_refused("per-node: 8\nnodes: {npus: 8}\nnetwork: ib-ndr\n",
                  "older name of nodes.npus, which is given too");
}

static void counts_fill_nodes_and_say_what_stays_idle(void **state)
{
    (void)state;
    static const struct {
        const char *name, *idle;
        double paid;
    } rows[] = {
        {"dgx-h100:12", "12 is 1.5 nodes of 8: 2 nodes are paid for, 4 GPUs idle", 16},
        {"dgx-h100:16", NULL, 16},
        {"dgx-h100:7", "7 is 0.9 nodes of 8: 1 node is paid for, 1 GPU idle", 8},
        {"gb200-nvl72:2048",
         "2048 is 28.4 racks of 72: 29 racks are paid for, 40 GPUs idle", 2088},
        {"tpu-v5p-pod:64", NULL, 64},
        {"tpu-v5e-pod:4", "4 is 0.5 hosts of 8: 1 host is paid for, 4 chips idle", 8},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        halley_cluster *c = load(rows[i].name);
        const char *idle = halley_cluster_idle(c);
        if (rows[i].idle == NULL)
            assert_null(idle);
        else
            assert_string_equal(idle, rows[i].idle);
        assert_true(hw_count_paid(c, c->n_npus) == rows[i].paid);
        halley_cluster_free(c);
    }
}

static void whole_nodes_are_paid_for(void **state)
{
    (void)state;
    halley_cluster *c = load("dgx-h100");
    halley_error err = {0};
    halley_model model;
    halley_stack stack;
    halley_estimate half, full;
    halley_plan plan = {.dp = 12, .global_batch = 12};
    assert_int_equal(halley_model_load(&model, "gpt-126m", &err), HALLEY_OK);
    halley_stack_default(&stack);
    assert_int_equal(halley_plan_check(&plan, &model, 0, &err), HALLEY_OK);
    c->cost.network_usd_per_gbps = 8;
    c->cost.switch_w = c->cost.optics_w = c->cost.nic_w = 0;
    halley_estimate_run(&half, &model, &plan, c, &stack);
    c->nodes.host_npus = 4; /* three hosts of four: nothing idles */
    c->cost.host_usd /= 2;
    c->cost.host_w /= 2;
    halley_estimate_run(&full, &model, &plan, c, &stack);
    const double idle_J = 4 * 700 * 0.3 * 1.47 * 1.2 * half.step_s;
    assert_true(half.step_s == full.step_s);
    check_near(half.energy_J - full.energy_J, idle_J, 1e-9 * half.energy_J);
    const double capital = half.cost_usd - half.energy_J * c->cost.energy_usd_per_J;
    const double less = full.cost_usd - full.energy_J * c->cost.energy_usd_per_J;
    check_near(capital / less, 16.0 / 12, 1e-9);
    c->cost.rent_usd_per_s = 3.6 / 3600;
    halley_estimate_run(&full, &model, &plan, c, &stack);
    check_near(full.cost_usd - full.energy_J * c->cost.energy_usd_per_J,
               12 * 1e-3 * full.step_s, 1e-12);
    halley_model_fini(&model);
    halley_cluster_free(c);
}

static void check_structure(const char *name, const char *part)
{
    halley_cluster *c = load(name);
    halley_error err = {0};
    const halley_status status = hw_structure_check(c, &err);
    if (part == NULL)
        assert_int_equal(status, HALLEY_OK);
    else if (status == HALLEY_OK || strstr(err.text, part) == NULL)
        fail_msg("%s: \"%s\" does not say \"%s\"", name, err.text, part);
    halley_cluster_free(c);
}

static void the_simulator_gets_whole_nodes_or_a_sentence(void **state)
{
    (void)state;
    check_structure("dgx-h100:4", NULL);
    check_structure("dgx-h100:16", NULL);
    check_structure("dgx-h100:12", NULL); /* flow: the last node is partly idle */
    check_structure("gb200-nvl72:64", NULL);
    check_structure("dgx-h100", "say how many NPUs it has, such as dgx-h100:8");
    halley_error err = {0};
    halley_cluster *c = parse(design_example);
    assert_int_equal(hw_structure_check(c, &err), HALLEY_OK);
    c->model = HW_MODEL_FREE;
    assert_int_not_equal(hw_structure_check(c, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "fat tree"));
    halley_cluster_free(c);
    c = load("dgx-h100:12");
    c->model = HW_MODEL_QUEUE;
    assert_int_not_equal(hw_structure_check(c, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "12 is 1.5 nodes of 8"));
    assert_non_null(strstr(err.text, "8 or 16"));
    halley_cluster_free(c);
}

static void dimensions_of_a_file_are_cut_and_filled(void **state)
{
    (void)state;
    static const char text[] =
        "network: [{topology: switch, size: 8, bandwidth: 1 GB/s}, {topology: switch, "
        "size: 4, bandwidth: 1 GB/s}]\n";
    static const uint32_t rows[][3] = {{32, 8, 4}, {64, 8, 8}, {8, 8, 1}, {4, 4, 1}};
    halley_error err = {0};
    for (size_t i = 0; i < 4; i++) {
        halley_cluster *c = parse(text);
        assert_int_equal(hw_count_set(c, rows[i][0], HW_COUNT_AS_NODES, &err), HALLEY_OK);
        assert_int_equal(c->n_npus, rows[i][0]);
        assert_int_equal(c->dims[0].n, rows[i][1]);
        assert_int_equal(c->dims[1].n, rows[i][2]);
        halley_cluster_free(c);
    }
    halley_cluster *c = parse(text);
    assert_int_not_equal(hw_count_set(c, 12, HW_COUNT_AS_NODES, &err), HALLEY_OK);
    halley_cluster_free(c);
    c = parse("network: [{topology: ring, size: 8, bandwidth: 1 GB/s}]\n");
    assert_int_not_equal(hw_count_set(c, 4, HW_COUNT_AS_NODES, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "fixes its size"));
    halley_cluster_free(c);
}

static void a_fat_tree_has_a_level_for_every_tier(void **state)
{
    (void)state;
    halley_cluster *c = parse(design_example);
    static const struct {
        const char *name;
        uint32_t npus;
        double bandwidth, oversubscription;
    } rows[] = {{"node", 8, 450e9, 1},
                {"leaf", 16, 50e9, 1},
                {"spine", 3072, 50e9, 1},
                {"core", 0, 50e9, 7}};
    halley_level level;
    for (uint32_t i = 0; i < 4; i++) {
        assert_true(halley_cluster_level(&level, c, i));
        assert_string_equal(level.name, rows[i].name);
        assert_int_equal(level.npus, rows[i].npus);
        check_near(level.bandwidth_Bps, rows[i].bandwidth, 1);
        assert_true(level.oversubscription == rows[i].oversubscription);
    }
    assert_false(halley_cluster_level(&level, c, 4));
    check_near(hw_outer_fabric(c)->bandwidth_Bps, 50e9 / 7, 1);
    check_near(c->outer[2].fabric.hop_s[2], 6 * 700e-9, 1e-15);
    assert_int_equal(halley_cluster_check_estimate(c, NULL), HALLEY_OK);
    assert_true(estimate(c).step_s > 0);
    halley_cluster_free(c);
}

static void nodes_have_kinds_and_estimate_refuses_more_than_one(void **state)
{
    (void)state;
    halley_cluster *c = parse(two_kinds);
    halley_error err = {0};
    assert_int_equal(halley_cluster_kind_count(c), 2);
    static const uint32_t kinds[] = {0, 0, 1, 0};
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(halley_cluster_kind_of(c, i), kinds[i / 8]);
    assert_string_equal(halley_cluster_npu(c, 1)->name, "B200-SXM-180GB");
    assert_null(halley_cluster_npu(c, 2));
    assert_int_not_equal(halley_cluster_check_estimate(c, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "2 kinds of NPU"));
    assert_int_equal(hw_structure_check(c, &err), HALLEY_OK);
    assert_string_equal(hw_npu_word(c), "accelerator");
    halley_cluster_free(c);
    check_refused("npus: 32\nkinds: [{npu: h100-sxm-80gb, nodes: 0-1}]\nnodes: {npus: 8, "
                  "up: nvlink4-h100}\nnetwork: ib-ndr\n",
                  "node 2 has no kind");
    check_refused(
        "npus: 16\nkinds: [{npu: h100-sxm-80gb, nodes: 0-1}, {npu: mi300x, nodes: "
        "1}]\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: ib-ndr\n",
        "node 1 has two kinds");
}

static void bad_files_are_refused_with_what_to_do(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"nodez: {npus: 8}\nnetwork: ib-ndr\n", "did you mean \"nodes\"?"},
        {"nodes: {npus: 8}\nnetwork: ib-ndr\n", "nodes needs up"},
        {"network: ib-ndr\n", "nodes needs npus"},
        {"nodes: {npus: 8, up: nvlink9}\nnetwork: ib-ndr\n", "no link \"nvlink9\""},
        {"nodes: {npus: 8, up: nvlink4-h100}\nnetwork: ib-ndrr\n", "ib-ndr"},
        {"nodes: {npus: 8, up: nvlink4-h100, rack: two}\nnetwork: ib-ndr\n",
         "number of nodes"},
        {"nodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: dragonfly}\n",
         "dragonfly needs a"},
        {"network: {topology: torus, dims: [4, 4]}\nnpus: 17\n",
         "the network has 16 NPUs, and 17 are asked for"},
        {"network: {topology: torus, dims: [4, 4], spines: 3}\n",
         "torus takes no key \"spines\""},
        {"network: {topology: ring, n: 8, link: -1 GB/s}\n", "link must be"},
        {"network: {topology: ring, n: 8, ties: down}\n", "ties must be up or split"},
        {"nodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: fat-tee}\n",
         "did you mean \"fat-tree\"?"},
        {"nodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: fat-tree, tiers: "
         "[{npus: "
         "12, link: 400 Gb/s}, {name: top}]}\n",
         "12 is no multiple of 8"},
        {"nodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: fat-tree, tiers: "
         "[{npus: "
         "16}]}\n",
         "link is missing"},
        {"library: nccl\nnetwork: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n",
         "library: nccl needs"},
        {"cost: {pue: 0.5}\nnetwork: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n",
         "pue must be at least 1"},
        {"failures: {restart: -1 s}\nnetwork: [{topology: ring, size: 4, bandwidth: 1 "
         "GB/s}]\n",
         "restart must be at least 0"},
        {"npu: h100-sxm-80gb\nkinds: []\nnetwork: [{topology: ring, size: 4, bandwidth: "
         "1 "
         "GB/s}]\n",
         "exclude each other"},
        {"nodes: {npus: 2}\nnetwork: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n",
         "the first dimension of network has 4"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        check_refused(rows[i][0], rows[i][1]);
}

static void an_npu_without_memory_can_be_simulated_but_not_estimated(void **state)
{
    (void)state;
    halley_error err = {0};
    halley_cluster *c =
        parse("network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n");
    assert_int_equal(hw_structure_check(c, &err), HALLEY_OK);
    assert_int_not_equal(halley_cluster_check_estimate(c, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "does not say the peak of its NPU"));
    halley_cluster_free(c);
    c = parse("npu: {peak: 1 TFLOP/s, memory: [{bandwidth: 1 TB/s}]}\n"
              "network: [{topology: ring, size: 4, bandwidth: 1 GB/s}]\n");
    assert_int_not_equal(halley_cluster_check_estimate(c, &err), HALLEY_OK);
    assert_non_null(strstr(err.text, "does not say how much memory"));
    halley_cluster_free(c);
}

static halley_status load_and_print(void *context, halley_error *err)
{
    const char *text = context;
    halley_cluster *c = NULL;
    char *printed = NULL;
    halley_status status = halley_cluster_parse(&c, text, strlen(text), "c.yaml", err);
    if (status == HALLEY_OK)
        status = halley_cluster_print(&printed, c, err);
    free(printed);
    halley_cluster_free(c);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(alloc_fail_everywhere(load_and_print, (void *)(uintptr_t)dimensions) >
                10);
    assert_true(alloc_fail_everywhere(load_and_print, (void *)(uintptr_t)two_kinds) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_preset_is_saved_and_loaded_as_it_was),
        cmocka_unit_test(every_form_of_a_file_is_saved_and_loaded_as_it_was),
        cmocka_unit_test(devices_links_and_fabrics_are_written_in_full),
        cmocka_unit_test(older_names_are_read_with_a_note_and_saved_under_the_new_ones),
        cmocka_unit_test(counts_fill_nodes_and_say_what_stays_idle),
        cmocka_unit_test(whole_nodes_are_paid_for),
        cmocka_unit_test(the_simulator_gets_whole_nodes_or_a_sentence),
        cmocka_unit_test(dimensions_of_a_file_are_cut_and_filled),
        cmocka_unit_test(a_fat_tree_has_a_level_for_every_tier),
        cmocka_unit_test(nodes_have_kinds_and_estimate_refuses_more_than_one),
        cmocka_unit_test(graphs_have_levels),
        cmocka_unit_test(bad_files_are_refused_with_what_to_do),
        cmocka_unit_test(an_npu_without_memory_can_be_simulated_but_not_estimated),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
