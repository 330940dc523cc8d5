/*
 * A direct all-to-all as one bundle takes the time of its pairs as flows, on any network:
 * pairs have equal bytes, so the link that has the most to carry for its capacity gives
 * its flows the least fair share of all links. They are held back there and nowhere else,
 * keep that rate to their end, and end together, last of all. So the rule by which a
 * collective is simulated flow by flow where that differs from the bundle by more than
 * 1 % never applies to equal bytes; unequal ones are messages of their own in sim.
 */
#include "base/rng.h"
#include "base/str.h"
#include "coll/load.h"
#include "hw/network.h"
#include "net/flow/flow.h"
#include "net/net.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct run {
    des_queue q;
    net *n;
} run;

static void ignore_delivery(void *context, uint64_t event)
{
    (void)context, (void)event;
}

/* When a collective of all NPUs ends, in ticks. */
static uint64_t run_collective(const halley_cluster *c, coll_kind kind, double bytes,
                               uint32_t n_times)
{
    run r = {0};
    halley_error err = {0};
    des_event e;
    const net_options o = {.ticks_per_s = 1e12, .deliver = ignore_delivery, .err = &err};
    if (net_new(&r.n, net_model_find("flow"), c, &r.q, &o, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    for (uint32_t i = 0; i < n_times; i++)
        net_start_bundle(r.n, &(net_bundle){.kind = kind,
                                            .bytes = bytes,
                                            .n = c->n_npus,
                                            .event = UINT64_C(1) << 8});
    uint64_t last = 0;
    while (des_queue_pop(&r.q, &e)) {
        last = e.at;
        if ((e.event & NET_KIND_MASK) >= NET_KIND_ARRIVE)
            net_event(r.n, e.event);
    }
    if (net_certify(r.n, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    net_free(r.n);
    des_queue_fini(&r.q);
    return last;
}

/* The slow obvious way: every pair is a flow on the links of its route. `share`: of a
 * link that payload can fill. */
static double time_flows(const halley_cluster *c, double bytes_per_pair, double share,
                         uint32_t n_times)
{
    hw_network *network;
    net_flow *flow;
    halley_error err = {0};
    assert_int_equal(hw_network_new(&network, c, &err), HALLEY_OK);
    const hw_graph *g = network->graph;
    assert_int_equal(net_flow_new(&flow, g->link_Bps, g->n_links,
                                  &(net_flow_options){.full = true}, &err),
                     HALLEY_OK);
    for (uint32_t i = 0; i < g->n_npus; i++)
        for (uint32_t k = 0; k < g->n_npus; k++) {
            hw_route route;
            net_flow_hop hops[64];
            if (i == k)
                continue;
            assert_int_equal(hw_network_find(&route, network, i, k, &err), HALLEY_OK);
            for (uint32_t h = 0; h < route.n; h++)
                hops[h] = (net_flow_hop){route.hops[h].link,
                                         (uint64_t)((double)route.hops[h].share / share)};
            for (uint32_t t = 0; t < n_times; t++)
                net_flow_start(flow, net_flow_class(flow, hops, route.n, 0),
                               bytes_per_pair, 0);
        }
    const net_flow_end *ends;
    for (;;) {
        assert_true(net_flow_settle(flow));
        const uint64_t next = net_flow_next(flow);
        if (next == NET_FLOW_NEVER)
            break;
        net_flow_advance(flow, next, &ends);
    }
    const double s = (double)net_flow_now(flow) * 1e-12;
    net_flow_free(flow);
    hw_network_free(network);
    return s;
}

/* Switches in a random graph, two NPUs each, cables of random rates. */
static halley_cluster *make_random_cluster(rng *r)
{
    strbuf text = {0};
    halley_cluster *c = NULL;
    halley_error err = {0};
    const uint32_t n = 4 + (uint32_t)rng_below(r, 4);
    strbuf_printf(&text,
                  "npus: %u\nnetwork: {topology: edges, npus: %u, switches: %u, latency: "
                  "1 us, routing: ecmp, seed: %u, edges: [",
                  2 * n, 2 * n, n, (uint32_t)rng_below(r, 1000));
    for (uint32_t i = 0; i < 2 * n; i++)
        strbuf_printf(&text, "[npu%u, switch%u, 50 GB/s],", i, i / 2);
    for (uint32_t i = 0; i < n; i++) {
        strbuf_printf(&text, "[switch%u, switch%u, %u GB/s],", i, (i + 1) % n,
                      20 + (uint32_t)rng_below(r, 80));
        const uint32_t k = (i + 2 + (uint32_t)rng_below(r, n - 3)) % n;
        strbuf_printf(&text, "[switch%u, switch%u, %u GB/s],", i, k,
                      20 + (uint32_t)rng_below(r, 80));
    }
    text.at[text.n - 1] = ']';
    strbuf_add(&text, STR("}\n"));
    if (halley_cluster_parse(&c, text.at, text.n, "c", &err) != HALLEY_OK)
        fail_msg("%s: %s", text.at, err.text);
    strbuf_fini(&text);
    return c;
}

/* The latency of the longest way from an NPU to the next: a step of the library. */
static double find_longest_step(const halley_cluster *c)
{
    hw_network *network;
    double most_s = 0;
    assert_int_equal(hw_network_new(&network, c, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < c->n_npus; i++) {
        hw_route route;
        assert_int_equal(hw_network_find(&route, network, i, (i + 1) % c->n_npus, NULL),
                         HALLEY_OK);
        most_s = fmax(most_s, route.latency_s);
    }
    hw_network_free(network);
    return most_s;
}

/* The fixed part of an all-to-all by the closed form, and the share of links. */
static void find_fixed(double *fixed_s, double *share, double *wire_s,
                       const halley_cluster *c, double bytes)
{
    coll_load load;
    halley_fabric out = c->outer[0].fabric;
    out.bandwidth_Bps = 50e9;
    for (int i = 0; i < 3; i++)
        out.hop_s[i] = find_longest_step(c);
    coll_call_load(
        &load, &c->nodes.up, &out,
        &(coll_call){
            .kind = COLL_ALL_TO_ALL, .bytes = bytes, .n = c->n_npus, .per_node = 1});
    *fixed_s = load.time_s - load.wire_s;
    *wire_s = load.wire_s;
    *share = load.out_bytes / 50e9 / load.out_s;
}

static void an_all_to_all_takes_the_time_of_its_flows(void **state)
{
    (void)state;
    rng random = rng_seed(5);
    uint32_t n_slower = 0; /* than the closed form, which knows the ports only */
    for (int i = 0; i < 300; i++) {
        halley_cluster *c = make_random_cluster(&random);
        const double bytes = 64e6, pair = bytes / c->n_npus;
        double fixed_s, share, wire_s;
        find_fixed(&fixed_s, &share, &wire_s, c, bytes);
        for (uint32_t n = 1; n < 3; n++) { /* alone, and two at a time */
            const double flows_s = fmax(time_flows(c, pair, share, n), wire_s);
            const double got =
                (double)run_collective(c, COLL_ALL_TO_ALL, bytes, n) * 1e-12;
            if (fabs(got - fixed_s - flows_s) > 1e-8 * got)
                fail_msg("%d: %.9g s, not %.9g + %.9g", i, got, fixed_s, flows_s);
            n_slower += flows_s > 1.01 * wire_s;
        }
        halley_cluster_free(c);
    }
    assert_true(n_slower > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_all_to_all_takes_the_time_of_its_flows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
