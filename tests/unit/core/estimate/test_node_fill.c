/*
 * How ranks fill nodes, and how many members of a group share one. The oracle puts every
 * rank on its node and counts.
 */
#include "base/rng.h"
#include "estimate/groups.h"
#include "halley/estimate.h"
#include "unit.h"

#include <stdio.h>

static uint32_t n_ranks(const halley_plan *p)
{
    return p->tp * p->cp * p->dp * p->pp;
}

static halley_cluster *load_cluster(const char *name, uint32_t n)
{
    char text[64];
    halley_cluster *c;
    halley_error err = {0};
    snprintf(text, sizeof text, "%s:%u", name, n);
    if (halley_cluster_load(&c, text, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return c;
}

typedef struct fill_case {
    const char *cluster;
    halley_plan plan;
    halley_node_fill fill;
} fill_case;

static const fill_case cases[] = {
    /* groups of 64 fit into racks of 72 without a further rack */
    {"gb200-nvl72", {.tp = 1, .dp = 256, .ep = 64, .has_experts = true}, {64, 0, 64}},
    {"gb200-nvl72", {.tp = 16, .dp = 8}, {64, 0, 16}},
    {"gb200-nvl72", {.tp = 4, .dp = 40, .ep = 32, .has_experts = true}, {64, 0, 32}},
    /* 1,024 ranks would need a sixteenth rack */
    {"gb200-nvl72", {.tp = 1, .dp = 1024, .ep = 64, .has_experts = true}, {72, 64, 0}},
    /* a last rack with 8 ranks only is avoided */
    {"gb200-nvl72", {.tp = 2, .cp = 4, .dp = 64}, {64, 0, 0}},
    /* nothing is gained: nodes are full, or hold whole groups */
    {"gb200-nvl72", {.tp = 8, .dp = 18}, {72, 0, 0}},
    {"dgx-h100", {.tp = 4, .dp = 3}, {8, 0, 0}},
    {"dgx-h100", {.tp = 6, .dp = 4}, {8, 6, 0}},
    {"dgx-h100", {.tp = 8, .dp = 4, .pp = 2}, {8, 0, 0}},
    /* a slice of a torus has its own shape */
    {"tpu-v5p-pod", {.tp = 1, .dp = 48}, {0, 0, 0}},
};

static void ranks_leave_places_free_where_that_keeps_groups_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        halley_plan p = cases[i].plan;
        p.cp = p.cp > 0 ? p.cp : 1;
        p.pp = p.pp > 0 ? p.pp : 1;
        p.ep = p.ep > 0 ? p.ep : 1;
        halley_cluster *c = load_cluster(cases[i].cluster, n_ranks(&p));
        const uint32_t each = halley_cluster_npus_per_node(c);
        const halley_node_fill want = cases[i].fill;
        const halley_node_fill fill = halley_estimate_node_fill(&p, c);
        assert_int_equal(fill.npus_per_node,
                         want.npus_per_node > 0 ? want.npus_per_node : each);
        assert_int_equal(fill.split_ranks, want.split_ranks);
        assert_int_equal(fill.saved_ranks, want.saved_ranks);
        halley_cluster_free(c);
    }
}

/* The fewest members of a group of this kind that share a node with a member. */
static uint32_t count_smallest_piece(const halley_plan *p, workload_group kind,
                                     uint32_t per_node)
{
    uint32_t members[4096], least = UINT32_MAX;
    for (uint32_t r = 0; r < n_ranks(p); r++) {
        const uint32_t g = plan_group_of(p, kind, r);
        const uint32_t n = g > 0 ? plan_group_members(members, p, g) : 0;
        uint32_t together = g > 0 ? 0 : 1;
        for (uint32_t i = 0; i < n; i++)
            together += members[i] / per_node == r / per_node;
        least = together < least ? together : least;
    }
    return least;
}

static halley_plan draw_plan(rng *random)
{
    static const uint32_t degrees[] = {1, 2, 3, 4, 5, 6, 8, 12, 16};
    halley_plan p = {.tp = degrees[rng_below(random, 9)],
                     .cp = degrees[rng_below(random, 4)],
                     .dp = degrees[rng_below(random, 9)],
                     .pp = degrees[rng_below(random, 4)],
                     .ep = 1,
                     .has_experts = true};
    const uint32_t stage = p.tp * p.cp * p.dp, ep = degrees[rng_below(random, 9)];
    p.ep = stage % ep == 0 ? ep : 1;
    return p;
}

/* Where a node holds whole blocks of the ranks inside the group; elsewhere the closed
 * form is an approximation. */
static void the_worst_cut_of_a_group_is_what_counting_finds(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {6, 8, 12, 16, 18, 24, 64, 72};
    rng random = rng_seed(17);
    uint32_t n_split = 0;
    for (int i = 0; i < 2000; i++) {
        const halley_plan p = draw_plan(&random);
        const uint32_t per_node = sizes[rng_below(&random, 8)];
        uint32_t n[WORKLOAD_N_GROUPS], near[WORKLOAD_N_GROUPS];
        plan_group_sizes(n, near, &p, per_node);
        assert_int_equal(near[WORKLOAD_TP],
                         count_smallest_piece(&p, WORKLOAD_TP, per_node));
        assert_int_equal(near[WORKLOAD_EP],
                         count_smallest_piece(&p, WORKLOAD_EP, per_node));
        if (per_node % p.tp == 0)
            assert_int_equal(near[WORKLOAD_DP],
                             count_smallest_piece(&p, WORKLOAD_DP, per_node));
        n_split += near[WORKLOAD_EP] < n[WORKLOAD_EP] && n[WORKLOAD_EP] < per_node;
    }
    assert_true(n_split > 100);
}

/* Whatever the plan: no further node, and no group of a node split that was not. */
static void places_left_free_cost_no_node(void **state)
{
    (void)state;
    rng random = rng_seed(3);
    uint32_t n_filled = 0;
    for (int i = 0; i < 300; i++) {
        const halley_plan p = draw_plan(&random);
        const uint32_t all = n_ranks(&p);
        halley_cluster *c = load_cluster(i % 2 ? "gb200-nvl72" : "dgx-h100", all);
        const uint32_t each = halley_cluster_npus_per_node(c);
        const halley_node_fill fill = halley_estimate_node_fill(&p, c);
        halley_error err = {0};
        assert_int_equal((all - 1) / fill.npus_per_node, (all - 1) / each);
        assert_true(fill.npus_per_node == each || fill.split_ranks == 0);
        assert_int_equal(halley_estimate_fill_nodes(c, &p, &err), HALLEY_OK);
        assert_int_equal(halley_cluster_npus_per_node(c), fill.npus_per_node);
        assert_int_equal(halley_cluster_npus(c), all);
        n_filled += fill.npus_per_node < each;
        halley_cluster_free(c);
    }
    assert_true(n_filled > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_leave_places_free_where_that_keeps_groups_whole),
        cmocka_unit_test(the_worst_cut_of_a_group_is_what_counting_finds),
        cmocka_unit_test(places_left_free_cost_no_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
