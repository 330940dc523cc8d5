/* Collectives as bundles: alone they take their closed form, together they share links.
 */
#include "base/rng.h"
#include "coll/load.h"
#include "hw/network.h"
#include "net/net.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static halley_cluster *load(const char *name)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_load(&c, name, &err) != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return c;
}

typedef struct run {
    des_queue q;
    net *n;
} run;

static void ignore(void *context, uint64_t event)
{
    (void)context, (void)event;
}

static void run_open(run *r, const halley_cluster *c)
{
    halley_error err = {0};
    const net_options o = {.ticks_per_s = 1e12, .deliver = ignore, .err = &err};
    *r = (run){0};
    if (net_new(&r->n, net_model_find("flow"), c, &r->q, &o, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
}

/* When the last of the collectives ends, and (at) each of them. */
static uint64_t run_dry(run *r, uint64_t *at)
{
    des_event e;
    uint64_t last = 0;
    while (des_queue_pop(&r->q, &e)) {
        if ((e.event & NET_KIND_MASK) >= NET_KIND_ARRIVE) {
            net_event(r->n, e.event);
            continue;
        }
        last = e.at;
        if (at != NULL)
            at[e.event >> 4] = e.at;
    }
    assert_false(r->q.failed);
    return last;
}

static void run_close(run *r)
{
    net_free(r->n);
    des_queue_fini(&r->q);
}

/* Some NPUs, in rising order; by node alike when `even`. */
static uint32_t choose_members(uint32_t *ranks, const halley_cluster *c, rng *r)
{
    const uint32_t g = c->nodes.npus < c->n_npus ? c->nodes.npus : c->n_npus;
    const uint32_t nodes = (c->n_npus - 1) / g + 1;
    uint32_t n = 0;
    const uint32_t per = 1 + (uint32_t)rng_below(r, g),
                   skip = (uint32_t)rng_below(r, g - per + 1);
    const uint32_t spread = nodes > 1 ? 1 + (uint32_t)rng_below(r, nodes) : 1;
    for (uint32_t x = 0; x < spread; x++)
        for (uint32_t i = 0; i < per && x * g + skip + i < c->n_npus; i++)
            ranks[n++] = x * g + skip + i;
    return n;
}

static const char *const presets[] = {
    "dgx-h100:8",      "dgx-h100:64",    "dgx-a100:32",       "dgx-b200:16",
    "gb200-nvl72:144", "mi300x:24",      "dgx-1:16",          "tpu-v4-pod:64",
    "trn2:32",         "tpu-v5e-pod:16", "comet-baseline:64", "gh200:8"};
enum { N_PRESETS = sizeof presets / sizeof *presets };
static const coll_kind kinds[] = {COLL_ALL_REDUCE, COLL_ALL_GATHER, COLL_REDUCE_SCATTER,
                                  COLL_ALL_TO_ALL, COLL_BROADCAST,  COLL_GATHER};

static coll_call make_call(const halley_cluster *c, coll_kind kind, double bytes,
                           const uint32_t *ranks, uint32_t n)
{
    uint32_t in_first = 0;
    for (uint32_t i = 0; i < n; i++)
        in_first += ranks[i] / c->nodes.npus == ranks[0] / c->nodes.npus;
    return (coll_call){.kind = kind, .bytes = bytes, .n = n, .per_node = in_first};
}

/* The box of a group in the grid inside one node; NULL: it forms none. */
static const hw_box *find_box(hw_box *box, const halley_cluster *c, const uint32_t *ranks,
                              uint32_t n)
{
    hw_direct grid;
    hw_direct_make(&grid, c);
    return grid.n_axes > 0 && hw_box_find(box, &grid, ranks, n) ? box : NULL;
}

static void alone_a_bundle_takes_its_closed_form(void **state)
{
    (void)state;
    rng random = rng_seed(7);
    uint32_t ranks[256], n_checked = 0;
    for (int p = 0; p < N_PRESETS; p++) {
        halley_cluster *c = load(presets[p]);
        for (int i = 0; i < 60; i++) {
            const uint32_t n = choose_members(ranks, c, &random);
            const double bytes = floor(exp2(rng_unit(&random) * 20 + 10));
            const coll_kind kind = kinds[i % 6];
            run r;
            if (n < 2)
                continue;
            run_open(&r, c);
            net_start_bundle(r.n, &(net_bundle){.kind = kind,
                                                .bytes = bytes,
                                                .ranks = ranks,
                                                .n = n,
                                                .root = ranks[0]});
            hw_box box;
            coll_call call = make_call(c, kind, bytes, ranks, n);
            call.box = find_box(&box, c, ranks, n);
            if (c->nodes.shape >= HW_SHAPE_TORUS_2D && call.box == NULL) {
                run_close(&r); /* its schedule is synthesised */
                continue;
            }
            const double want =
                coll_call_time(&c->nodes.up, hw_outer_fabric(c), &call) * 1e12;
            const double got = (double)run_dry(&r, NULL);
            if (fabs(got - want) > 2.5)
                fail_msg("%s, kind %d, %u ranks, %.0f bytes: %.1f ticks, not %.1f",
                         presets[p], (int)kind, n, bytes, got, want);
            n_checked++;
            run_close(&r);
        }
        halley_cluster_free(c);
    }
    assert_true(n_checked > 400);
}

/* Networks that are graphs, none of them oversubscribed. */
static const char *const graphs[] = {
    "network: {topology: torus, dims: [4, 4], link: 50 GB/s, latency: 1 us}\n",
    "network: {topology: switch, n: 12, link: 50 GB/s, latency: 1 us}\n",
    "network: {topology: fully-connected, n: 8, link: 20 GB/s, latency: 1 us}\n",
    "network: {topology: leaf-spine, npus: 4, leaves: 4, spines: 4, link: 50 GB/s}\n",
    "npus: 32\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: rail-optimised, "
    "nodes-per-leaf: 2, spines: 2, link: 50 GB/s, fabric: ib-ndr}\n",
    "npus: 32\nnodes: {npus: 8, up: nvlink3-a100, nics: 4}\nnetwork: {topology: "
    "rail-only, link: 25 GB/s, fabric: ib-hdr}\n",
    "npus: 64\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: fat-tree, fabric: "
    "roce, tiers: [{npus: 16, link: 50 GB/s}, {npus: 32}, {}]}\n",
    "network: {topology: rail-only, npus: 8, nodes: 2, node-link: 400 GB/s, link: 50 "
    "GB/s, "
    "latency: 1 us}\n",
};

static void alone_on_a_graph_a_bundle_takes_its_closed_form(void **state)
{
    (void)state;
    for (size_t p = 0; p < sizeof graphs / sizeof *graphs; p++) {
        halley_cluster *c = NULL;
        halley_error err = {0};
        if (halley_cluster_parse(&c, graphs[p], strlen(graphs[p]), "c", &err) !=
            HALLEY_OK)
            fail_msg("%s: %s", graphs[p], err.text);
        for (int i = 0; i < 3; i++) {
            run r;
            const double bytes = 1 << 26;
            const uint32_t n = c->n_npus, g = c->nodes.npus < n ? c->nodes.npus : n;
            hw_box box;
            const coll_call call = {.kind = kinds[i],
                                    .bytes = bytes,
                                    .n = n,
                                    .per_node = g,
                                    .box = find_box(&box, c, NULL, n)};
            run_open(&r, c);
            net_start_bundle(r.n,
                             &(net_bundle){.kind = kinds[i], .bytes = bytes, .n = n});
            const double want =
                coll_call_time(&c->nodes.up, hw_outer_fabric(c), &call) * 1e12;
            const double got = (double)run_dry(&r, NULL);
            if (fabs(got - want) > 3)
                fail_msg("%s, kind %d: %.1f ticks, not %.1f", graphs[p], i, got, want);
            run_close(&r);
        }
        halley_cluster_free(c);
    }
}

/* Eight rings of one member per node over leaves of two nodes, 2:1: the spine halves the
 * rate of those that cross it. */
static void an_oversubscribed_spine_slows_what_crosses_it(void **state)
{
    (void)state;
    halley_cluster *c = NULL;
    halley_error err = {0};
    static const char text[] =
        "npus: 32\nnodes: {npus: 8, up: nvlink4-h100}\nnetwork: {topology: "
        "rail-optimised, nodes-per-leaf: 2, spines: 1, link: 50 GB/s, fabric: ib-ndr}\n";
    assert_int_equal(halley_cluster_parse(&c, text, strlen(text), "c", &err), HALLEY_OK);
    const uint32_t far[] = {0, 16}, near[] = {0, 8};
    run r;
    uint64_t at[2];
    for (int k = 0; k < 2; k++) {
        run_open(&r, c);
        for (uint32_t i = 0; i < 2; i++) { /* the two nodes of a leaf send at once */
            const uint32_t ranks[] = {(k == 0 ? near : far)[0] + 8 * i,
                                      (k == 0 ? near : far)[1] + 8 * i};
            if (k == 0 && i == 1)
                break;
            net_send(r.n, ranks[0], ranks[1], 100000000, (uint64_t)i << 4);
        }
        run_dry(&r, at);
        const double wire = 1e8 / (hw_outer_fabric(c)->share * 50e9);
        const double fixed = (double)at[0] * 1e-12 - (k == 0 ? 1 : 2) * wire;
        assert_true(fixed > 0 && fixed < 30e-6);
        run_close(&r);
    }
    halley_cluster_free(c);
}

static void two_bundles_share_their_links(void **state)
{
    (void)state;
    for (int p = 0; p < N_PRESETS; p++) {
        halley_cluster *c = load(presets[p]);
        const uint32_t n = c->n_npus;
        for (int i = 0; i < 4; i++) {
            run r;
            coll_load load;
            uint64_t at[2];
            const uint32_t g = c->nodes.npus < n ? c->nodes.npus : n;
            hw_box box;
            const coll_call call = {.kind = kinds[i],
                                    .bytes = 256 << 20,
                                    .n = n,
                                    .per_node = g,
                                    .box = find_box(&box, c, NULL, n)};
            if (n % g != 0)
                continue;
            coll_call_load(&load, &c->nodes.up, hw_outer_fabric(c), &call);
            run_open(&r, c);
            for (uint64_t k = 0; k < 2; k++)
                net_start_bundle(r.n, &(net_bundle){.kind = kinds[i],
                                                    .bytes = 256 << 20,
                                                    .n = n,
                                                    .event = k << 4});
            run_dry(&r, at);
            const double busiest = fmax(load.up_s, load.out_s);
            const double want =
                load.time_s - load.wire_s + fmax(load.wire_s, 2 * busiest);
            for (int k = 0; k < 2; k++)
                if (fabs((double)at[k] * 1e-12 - want) > 1e-8 * want)
                    fail_msg("%s, kind %d: %.9g s, not %.9g", presets[p], i,
                             (double)at[k] * 1e-12, want);
            run_close(&r);
        }
        halley_cluster_free(c);
    }
}

/* An 8 x 8 torus drawn link by link, without its first `left_out` links. */
static halley_cluster *draw_torus(uint32_t left_out)
{
    char text[4096] = "network: {topology: edges, npus: 64, link: 50 GB/s, latency: 500 "
                      "ns, edges: [";
    halley_cluster *c = NULL;
    halley_error err = {0};
    uint32_t n = 0;
    for (uint32_t i = 0; i < 128; i++) {
        const uint32_t x = i / 2 % 8, y = i / 16;
        const uint32_t to = i % 2 ? (y + 1) % 8 * 8 + x : y * 8 + (x + 1) % 8;
        if (i >= left_out)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s[%u, %u]",
                     n++ > 0 ? ", " : "", y * 8 + x, to);
    }
    snprintf(text + strlen(text), sizeof text - strlen(text), "]}\n");
    if (halley_cluster_parse(&c, text, strlen(text), "c", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return c;
}

static double time_all_reduce(const halley_cluster *c)
{
    run r;
    run_open(&r, c);
    net_start_bundle(
        r.n, &(net_bundle){.kind = COLL_ALL_REDUCE, .bytes = 1 << 26, .n = c->n_npus});
    const double seconds = (double)run_dry(&r, NULL) * 1e-12;
    run_close(&r);
    return seconds;
}

static void a_failed_link_costs_an_all_reduce_a_third(void **state)
{
    (void)state;
    halley_cluster *whole = draw_torus(0), *broken = draw_torus(1);
    const double bound_s = 2 * 63.0 / 64 * (1 << 26) / 200e9; /* four links into an NPU */
    const double whole_s = time_all_reduce(whole), broken_s = time_all_reduce(broken);
    assert_true(whole_s > bound_s && whole_s < 1.04 * bound_s);
    assert_true(broken_s > 4.0 / 3 * bound_s && broken_s < 1.4 * whole_s);
    halley_cluster_free(whole);
    halley_cluster_free(broken);
}

static void sends_take_their_closed_form_and_share(void **state)
{
    (void)state;
    halley_cluster *c = load("dgx-h100:16");
    run r;
    uint64_t at[2];
    const coll_call inside = {.kind = COLL_SEND, .bytes = 1e8, .n = 2, .per_node = 2};
    const coll_call across = {.kind = COLL_SEND, .bytes = 1e8, .n = 2, .per_node = 1};
    run_open(&r, c);
    net_send(r.n, 0, 1, 100000000, 0);
    net_send(r.n, 2, 10, 100000000, 1 << 4);
    run_dry(&r, at);
    assert_true(fabs((double)at[0] * 1e-12 -
                     coll_call_time(&c->nodes.up, hw_outer_fabric(c), &inside)) < 3e-12);
    assert_true(fabs((double)at[1] * 1e-12 -
                     coll_call_time(&c->nodes.up, hw_outer_fabric(c), &across)) < 3e-12);
    run_close(&r);
    /* Both leave through the card of NPU 2: each takes twice as long on the wire. */
    run_open(&r, c);
    net_send(r.n, 2, 10, 100000000, 0);
    net_send(r.n, 2, 10, 100000000, 1 << 4);
    run_dry(&r, at);
    const double wire = 1e8 / (hw_outer_fabric(c)->share * 50e9);
    assert_true(fabs((double)at[1] * 1e-12 -
                     coll_call_time(&c->nodes.up, hw_outer_fabric(c), &across) - wire) <
                1e-9 * wire);
    run_close(&r);
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alone_a_bundle_takes_its_closed_form),
        cmocka_unit_test(alone_on_a_graph_a_bundle_takes_its_closed_form),
        cmocka_unit_test(an_oversubscribed_spine_slows_what_crosses_it),
        cmocka_unit_test(two_bundles_share_their_links),
        cmocka_unit_test(a_failed_link_costs_an_all_reduce_a_third),
        cmocka_unit_test(sends_take_their_closed_form_and_share),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
