/* Routes over planes against routes over all links: a set of parallel links carries what
 * its links carry together, and each of them its part of it. */
#include "base/str.h"
#include "hw/network.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static halley_cluster *load_cluster(const char *network, uint32_t n)
{
    char path[] = "/tmp/halley-test-XXXXXX";
    halley_cluster *c = NULL;
    halley_error err = {0};
    const int fd = mkstemp(path);
    dprintf(fd, "npus: %u\nnodes: {npus: 4, up: nvlink4-h100}\nnetwork: %s\n", n,
            network);
    close(fd);
    if (halley_cluster_load(&c, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    unlink(path);
    return c;
}

static void compare_route(hw_network *merged, hw_network *plain, double *load,
                          uint32_t src, uint32_t dst)
{
    hw_route a, b;
    assert_int_equal(hw_network_find(&b, plain, src, dst, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < b.n; i++)
        load[b.hops[i].link] += (double)b.hops[i].share;
    assert_int_equal(hw_network_find(&a, merged, src, dst, NULL), HALLEY_OK);
    assert_true(fabs(a.latency_s - b.latency_s) < 1e-12);
    for (uint32_t l = 0; l < merged->graph->n_links; l++) {
        const uint32_t first = hw_network_first_parallel(merged, l);
        double share = 0;
        for (uint32_t i = 0; i < a.n; i++)
            share += a.hops[i].link == first ? (double)a.hops[i].share : 0;
        share /= hw_network_count_parallel(merged, first);
        if (fabs(share - load[l]) > 1e-9 * (double)HW_ROUTE_ONE)
            fail_msg("from %u to %u, link %u: %.12g, not %.12g", src, dst, l,
                     share / (double)HW_ROUTE_ONE, load[l] / (double)HW_ROUTE_ONE);
    }
    for (uint32_t i = 0; i < b.n; i++)
        load[b.hops[i].link] = 0;
}

static void check_network(const char *network, uint32_t n, bool merges)
{
    halley_cluster *c = load_cluster(network, n);
    hw_network *merged, *plain;
    assert_int_equal(hw_network_new(&merged, c, NULL), HALLEY_OK);
    assert_int_equal(hw_network_new(&plain, c, NULL), HALLEY_OK);
    assert_int_equal(hw_network_merge_planes(merged, NULL), HALLEY_OK);
    assert_int_equal(merged->planes != NULL, merges);
    double *load = calloc(plain->graph->n_links, sizeof *load);
    for (uint32_t src = 0; src < n; src++)
        for (uint32_t dst = 0; dst < n; dst++)
            if (src != dst)
                compare_route(merged, plain, load, src, dst);
    free(load);
    hw_network_free(merged);
    hw_network_free(plain);
    halley_cluster_free(c);
}

#define TREE                                                                             \
    "{topology: fat-tree, fabric: roce, tiers: [{name: leaf, npus: 8, "                  \
    "oversubscription: 1, link: 400 Gb/s, latency: 700 ns}, {name: spine, npus: 16, "    \
    "oversubscription: 2}, {name: core}]"

static void sets_of_links_carry_what_their_links_carry(void **state)
{
    (void)state;
    check_network(TREE "}", 64, true);
    check_network(TREE ", links: [{between: leaf0 - spine0, bandwidth: x0.25}]}", 64,
                  true);
    check_network(TREE ", failed: [leaf1 - spine3]}", 64, true);
    check_network("{topology: rail-optimised, nodes-per-leaf: 4, spines: 4, link: 50 "
                  "GB/s, fabric: ib-ndr}",
                  32, true);
    check_network(TREE ", routing: ecmp}", 64, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_links_carry_what_their_links_carry),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
