/* Direct networks: positions, boxes, and what enters a box. */
#include "base/rng.h"
#include "hw/cluster.h"
#include "hw/direct.h"
#include "hw/network.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A grid with unit links; negative sizes are lines. */
static hw_direct make_grid(int x, int y, int z)
{
    const int sizes[] = {x, y, z};
    hw_direct d = {.link_Bps = 1, .hop_s = 1};
    for (int i = 0; i < 3 && sizes[i] != 0; i++)
        d.axes[d.n_axes++] = (hw_direct_axis){(uint32_t)abs(sizes[i]), sizes[i] > 2};
    return d;
}

static void all_npus_of_a_grid_receive_through_every_link(void **state)
{
    (void)state;
    static const struct {
        int x, y, z;
        double rate, hops;
    } cases[] = {{8, 8, 0, 4, 8},    {4, 4, 4, 6, 6},    {-8, -8, 0, 2, 14},
                 {-8, 0, 0, 1, 7},   {8, -8, 0, 3, 11},  {2, 2, 2, 3, 3},
                 {2, 4, 0, 3, 3},    {16, -4, 0, 3, 11}, {7, 5, 0, 4, 5},
                 {16, 16, -2, 5, 17}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hw_direct d = make_grid(cases[i].x, cases[i].y, cases[i].z);
        hw_box box;
        assert_true(hw_box_find(&box, &d, NULL, hw_direct_count(&d)));
        assert_true(fabs(hw_box_rate(&box) - cases[i].rate) < 1e-12);
        assert_true(fabs(hw_box_latency(&box) - cases[i].hops) < 1e-12);
        assert_true(hw_box_rounding(&box) >= 1 && hw_box_rounding(&box) < 1.1);
    }
}

/* The load of an all-to-all on the links of an axis, pair by pair. */
static double count_pairs(uint32_t m, bool wraps)
{
    double load[64] = {0}, most = 0; /* of the links upwards */
    for (uint32_t a = 0; a < m; a++)
        for (uint32_t b = 0; b < m; b++) {
            const uint32_t up = (b + m - a) % m;
            const double share = !wraps ? a < b : 2 * up < m ? 1 : 2 * up == m ? 0.5 : 0;
            for (uint32_t i = 0; i < up && share > 0; i++)
                load[(a + i) % m] += share / m;
        }
    for (uint32_t i = 0; i < m; i++)
        most = fmax(most, load[i]);
    return most;
}

static void an_all_to_all_loads_rings_and_lines_as_its_pairs_do(void **state)
{
    (void)state;
    for (uint32_t m = 3; m < 40; m++)
        for (int wraps = 0; wraps < 2; wraps++) {
            const hw_box_axis a = {.members = m, .stride = 1, .wraps = wraps};
            const double got = hw_box_pair_bytes(&a, (m - 1) / 2);
            assert_true(fabs(got - count_pairs(m, wraps)) < 1e-9);
        }
}

static void groups_that_interleave_share_the_links(void **state)
{
    (void)state;
    const hw_direct d = make_grid(16, 16, 0);
    const uint32_t every_4th[] = {0, 4, 8, 12}, line[] = {0, 1, 2, 3};
    const uint32_t pairs[] = {0, 1, 4, 5, 8, 9, 12, 13}, odd[] = {0, 1, 3};
    const uint32_t corner[] = {0, 1, 16, 17}, around[] = {15, 0};
    hw_box box;
    assert_true(hw_box_find(&box, &d, every_4th, 4) && box.axes[0].wraps);
    assert_true(hw_box_rate(&box) == 0.5 && hw_box_latency(&box) == 8);
    assert_true(hw_box_find(&box, &d, line, 4) && !box.axes[0].wraps);
    assert_true(hw_box_rate(&box) == 1 && hw_box_latency(&box) == 3);
    assert_true(hw_box_find(&box, &d, pairs, 8) && box.axes[0].wraps);
    assert_true(hw_box_rate(&box) == 1); /* two such groups fill the ring */
    assert_true(hw_box_find(&box, &d, corner, 4));
    assert_true(hw_box_rate(&box) == 2);
    assert_true(hw_box_find(&box, &d, around, 2));
    assert_true(hw_box_latency(&box) == 1);
    assert_false(hw_box_find(&box, &d, odd, 3));
    const uint32_t triangle[] = {0, 1, 16};
    assert_false(hw_box_find(&box, &d, triangle, 3));
}

static void digits_and_members_give_the_same_box(void **state)
{
    (void)state;
    rng random = rng_seed(3);
    uint32_t n_boxes = 0;
    for (int i = 0; i < 400; i++) {
        hw_direct d = make_grid(8, rng_below(&random, 2) ? 16 : -4, 8);
        const uint32_t all = hw_direct_count(&d);
        const hw_box_digit digits[] = {
            {1ull << rng_below(&random, 4), 1ull << rng_below(&random, 3)},
            {1ull << rng_below(&random, 3), 32ull << rng_below(&random, 3)}};
        uint32_t members[2048], n = 0;
        for (uint32_t b = 0; b < digits[1].radix; b++)
            for (uint32_t a = 0; a < digits[0].radix; a++)
                members[n++] = (uint32_t)(a * digits[0].stride + b * digits[1].stride);
        hw_box one, other;
        if (members[n - 1] >= all || n < 2)
            continue;
        const bool found = hw_box_find(&one, &d, members, n);
        if (!hw_box_of_digits(&other, &d, digits, 2))
            continue;
        assert_true(found && hw_box_equal(&one, &other));
        n_boxes++;
    }
    assert_true(n_boxes > 100);
}

static void a_message_crosses_each_axis_the_short_way(void **state)
{
    (void)state;
    const hw_direct d = make_grid(8, -8, 0);
    hw_box path;
    hw_box_of_pair(&path, &d, 0, 7 + 8 * 7);
    assert_true(hw_box_latency(&path) == 1 + 7);
    hw_box_of_pair(&path, &d, 3, 3);
    assert_int_equal(path.n_axes, 0);
}

static void a_failed_link_ends_the_closed_forms(void **state)
{
    (void)state;
    static const char text[] =
        "network: {topology: torus, dims: [4, 4], link: 50 GB/s, latency: 1 us}\n";
    halley_cluster *c = NULL;
    hw_network *net = NULL;
    hw_box box;
    assert_int_equal(halley_cluster_parse(&c, text, strlen(text), "c", NULL), HALLEY_OK);
    assert_int_equal(hw_network_new(&net, c, NULL), HALLEY_OK);
    assert_true(hw_network_box(&box, net, NULL, 16));
    hw_network_set_rate(net, 3, 0);
    assert_false(hw_network_box(&box, net, NULL, 16));
    hw_network_free(net);
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_npus_of_a_grid_receive_through_every_link),
        cmocka_unit_test(an_all_to_all_loads_rings_and_lines_as_its_pairs_do),
        cmocka_unit_test(groups_that_interleave_share_the_links),
        cmocka_unit_test(digits_and_members_give_the_same_box),
        cmocka_unit_test(a_message_crosses_each_axis_the_short_way),
        cmocka_unit_test(a_failed_link_ends_the_closed_forms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
