/* Networks of several dimensions in one line: the same as lists and as the generator
 * `dims`; what cannot be read is refused in a sentence. */
#include "cases.h"
#include "hw/cluster.h"
#include "hw/notation.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static halley_cluster *parse(const char *network, halley_error *err)
{
    char text[4096];
    halley_cluster *c = NULL;
    snprintf(text, sizeof text, "name: n\nnpu: h100-sxm-80gb\nnetwork: %s\n", network);
    (void)halley_cluster_parse(&c, text, strlen(text), "n.yaml", err);
    return c;
}

static halley_cluster *read_network(const char *network)
{
    halley_error err = {0};
    halley_cluster *c = parse(network, &err);
    if (c == NULL)
        fail_msg("%s: %s", network, err.text);
    assert_int_equal(c->network, HW_NETWORK_DIMS);
    return c;
}

static void assert_same(const halley_cluster *a, const halley_cluster *b)
{
    assert_int_equal(a->n_dims, b->n_dims);
    assert_int_equal(a->n_npus, b->n_npus);
    assert_int_equal(a->nodes.npus, b->nodes.npus);
    for (uint32_t d = 0; d < a->n_dims; d++) {
        assert_int_equal(a->dims[d].topology, b->dims[d].topology);
        assert_int_equal(a->dims[d].n, b->dims[d].n);
        assert_true(a->dims[d].bw_Bps == b->dims[d].bw_Bps);
        assert_true(a->dims[d].latency_ns == b->dims[d].latency_ns);
    }
}

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

static void notation_list_and_generator_are_one_network(void **state)
{
    static const char *const shorts[] = {"Ring", "FC", "SW"};
    static const char *const longs[] = {"ring", "fully-connected", "switch"};
    uint64_t seed = 3;
    (void)state;
    for (uint32_t i = 0; i < cases_count(300); i++) {
        char sizes[128] = "", rates[128] = "", delays[128] = "", list[1024] = "[",
             dims[1024] = "{topology: dims, dims: [", line[512];
        const uint32_t n = 1 + draw(&seed, 5);
        for (uint32_t d = 0; d < n; d++) {
            const uint32_t kind = draw(&seed, 3), size = 1 + draw(&seed, 9);
            const uint32_t GBps = 1 + draw(&seed, 900), ns = draw(&seed, 3000);
            const char *by = d > 0 ? "_" : "", *comma = d > 0 ? ", " : "";
            char *at[] = {sizes, rates, delays, list, dims};
            size_t used[5];
            for (int k = 0; k < 5; k++)
                used[k] = strlen(at[k]);
            snprintf(sizes + used[0], 32, "%s%s(%u)", by, shorts[kind], size);
            snprintf(rates + used[1], 32, "%s%u", by, GBps);
            snprintf(delays + used[2], 32, "%s%u", by, ns);
            snprintf(list + used[3], 128,
                     "%s{topology: %s, size: %u, bandwidth: %u GB/s, latency: %u ns}",
                     comma, longs[kind], size, GBps, ns);
            snprintf(dims + used[4], 128,
                     "%s{kind: %s, n: %u, link: %u GB/s, latency: %u ns}", comma,
                     longs[kind], size, GBps, ns);
        }
        strcat(list, "]");
        strcat(dims, "]}");
        snprintf(line, sizeof line, "%s@%s GB/s/link@%s ns", sizes, rates, delays);
        halley_cluster *a = read_network(line), *b = read_network(list),
                       *c = read_network(dims);
        assert_same(a, b);
        assert_same(a, c);
        halley_cluster_free(a);
        halley_cluster_free(b);
        halley_cluster_free(c);
    }
}

/* 2 links of a ring, k - 1 of a full mesh, 1 to a switch. */
static void rates_are_those_of_an_npu_in_each_dimension(void **state)
{
    (void)state;
    halley_cluster *c =
        read_network("ring(4)_FullyConnected(3)_SWITCH(8)_Ring(2)@60 GB/s");
    const double Bps[] = {30e9, 30e9, 60e9, 60e9};
    for (uint32_t d = 0; d < 4; d++)
        assert_true(c->dims[d].bw_Bps == Bps[d]);
    assert_int_equal(halley_cluster_note_count(c), 1);
    halley_cluster_free(c);
}

static void what_is_no_network_is_refused(void **state)
{
    static const char *const wrong[] = {
        "Ring(4)_FC",
        "Ring(4)_SV(2)",
        "Ring(0)",
        "Ring(4)@1_2 GB/s",
        "Ring(4)@1 GB",
        "Ring(4)_SW(2)@1_2 GB/s@1_2_3 ns",
        "Ring(4)@1 GB/s@1 ns@2",
        "Ring(4)@-1 GB/s",
        "Ring(4)@0 GB/s",
        "Ring(1024)_SW(1024)_SW(1024)",
        "Ring(4)@",
        "Ring(4)_",
        ("Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_"
         "Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)_Ring(1)")};
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        halley_error err = {0};
        halley_cluster *c = parse(wrong[i], &err);
        if (c != NULL)
            fail_msg("%s is read", wrong[i]);
        assert_true(err.text[0] != '\0');
    }
    assert_false(hw_notation_is(STR("Ring")));
    assert_false(hw_notation_is(STR("dgx-h100:8")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notation_list_and_generator_are_one_network),
        cmocka_unit_test(rates_are_those_of_an_npu_in_each_dimension),
        cmocka_unit_test(what_is_no_network_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
