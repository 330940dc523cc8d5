/* Synthesised all-gathers: near the bound on whole and damaged networks. */
#include "coll/synth/synth.h"
#include "halley/schedule.h"
#include "hw/graph/generate.h"
#include "hw/graph/topology.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A grid of cables, x fastest; *Bps by axis; cable `cut` is left out. */
static hw_graph *make_grid(uint32_t nx, uint32_t ny, bool wraps, const double Bps[2],
                           uint32_t cut)
{
    hw_builder b;
    hw_graph *g = NULL;
    uint32_t n = 0;
    hw_builder_init(&b, "edges");
    hw_builder_add_group(
        &b, &(hw_device_group){
                .name = "npu", .kind = HW_DEVICE_NPU, .n = nx * ny, .forwards = true});
    for (uint32_t axis = 0; axis < 2; axis++) {
        const uint16_t kind = hw_builder_add_kind(
            &b, &(hw_link_kind){.name = "link", .bw_Bps = Bps[axis], .latency_s = 5e-7});
        for (uint32_t i = 0; i < nx * ny; i++) {
            const uint32_t x = i % nx, y = i / nx, size = axis == 0 ? nx : ny;
            const uint32_t at = axis == 0 ? x : y;
            if (at + 1 == size && (!wraps || size <= 2))
                continue;
            const uint32_t to = axis == 0 ? y * nx + (x + 1) % nx : (y + 1) % ny * nx + x;
            if (n++ != cut)
                hw_builder_add_cable(&b, i, to, kind);
        }
    }
    assert_int_equal(hw_builder_finish(&g, &b, NULL), HALLEY_OK);
    return g;
}

/* Microseconds of an all-gather of 1 MiB per NPU. */
static double gather_us(const hw_graph *g, bool reversed, double *bound_us)
{
    synth_graph edges;
    synth_gather s;
    const char *reason;
    halley_error err = {0};
    const double bytes = g->n_npus * 1048576.0;
    if (synth_graph_make(&edges, g, NULL, g->n_npus, reversed, &err) != HALLEY_OK ||
        synth_gather_find(&s, &edges, bytes, &(synth_options){.effort = 1}, &err) !=
            HALLEY_OK)
        fail_msg("%s", err.text);
    const double us = (double)s.time_ps * 1e-6;
    *bound_us = 1e6 * synth_gather_bound(&reason, &edges, bytes);
    assert_true(*bound_us > 0 && us >= *bound_us * (1 - 1e-9));
    synth_gather_fini(&s);
    synth_graph_fini(&edges);
    return us;
}

static void schedules_are_near_the_bound(void **state)
{
    (void)state;
    /* Times of TACOS 1.3.0 on the same graphs, in us. */
    static const struct {
        uint32_t x, y;
        bool wraps;
        double Bps[2];
        uint32_t cut;
        double tacos_us, most;
    } cases[] = {
        {8, 8, true, {50e9, 50e9}, UINT32_MAX, 365.0, 1.03},
        {8, 8, false, {50e9, 50e9}, UINT32_MAX, 687.1, 1.03},
        {8, 8, true, {50e9, 50e9}, 0, 450.9, 1.03},
        {8, 8, false, {200e9, 50e9}, UINT32_MAX, 1e9, 1.15},
        {4, 4, true, {50e9, 50e9}, UINT32_MAX, 1e9, 1.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hw_graph *g =
            make_grid(cases[i].x, cases[i].y, cases[i].wraps, cases[i].Bps, cases[i].cut);
        for (int reversed = 0; reversed < 2; reversed++) {
            double bound;
            const double us = gather_us(g, reversed, &bound);
            if (us > cases[i].most * bound || us > 1.001 * cases[i].tacos_us)
                fail_msg("case %zu: %.1f us, bound %.1f, TACOS %.1f", i, us, bound,
                         cases[i].tacos_us);
        }
        hw_graph_free(g);
    }
}

static void equal_seeds_give_equal_schedules(void **state)
{
    (void)state;
    hw_graph *g = make_grid(4, 4, true, (const double[2]){50e9, 20e9}, 3);
    synth_graph edges;
    synth_gather a, b;
    assert_int_equal(synth_graph_make(&edges, g, NULL, 16, false, NULL), HALLEY_OK);
    const synth_options o = {.effort = 2, .seed = 9};
    assert_int_equal(synth_gather_find(&a, &edges, 1e6, &o, NULL), HALLEY_OK);
    assert_int_equal(synth_gather_find(&b, &edges, 1e6, &o, NULL), HALLEY_OK);
    assert_int_equal(a.moves.n, b.moves.n);
    assert_int_equal(a.time_ps, b.time_ps);
    for (size_t i = 0; i < a.moves.n; i++)
        assert_true(a.moves.at[i].edge == b.moves.at[i].edge &&
                    a.moves.at[i].chunk == b.moves.at[i].chunk);
    synth_gather_fini(&a);
    synth_gather_fini(&b);
    synth_graph_fini(&edges);
    hw_graph_free(g);
}

static void a_group_sends_through_npus_outside_it(void **state)
{
    (void)state;
    hw_graph *g = make_grid(4, 4, true, (const double[2]){50e9, 50e9}, UINT32_MAX);
    const uint32_t corners[] = {0, 2, 8, 10};
    synth_graph edges;
    synth_gather s;
    assert_int_equal(synth_graph_make(&edges, g, corners, 4, false, NULL), HALLEY_OK);
    assert_int_equal(synth_gather_find(&s, &edges, 4e6, &(synth_options){0}, NULL),
                     HALLEY_OK);
    assert_true(s.time_ps > 0);
    synth_gather_fini(&s);
    synth_graph_fini(&edges);
    hw_graph_free(g);
}

static void the_verifier_finds_changed_moves(void **state)
{
    (void)state;
    hw_graph *g = make_grid(4, 4, true, (const double[2]){50e9, 50e9}, UINT32_MAX);
    synth_graph edges;
    synth_gather s;
    assert_int_equal(synth_graph_make(&edges, g, NULL, 16, false, NULL), HALLEY_OK);
    assert_int_equal(synth_gather_find(&s, &edges, 1e6, &(synth_options){0}, NULL),
                     HALLEY_OK);
    const synth_move last = s.moves.at[s.moves.n - 1];
    s.moves.at[s.moves.n - 1].chunk ^= 1;
    assert_int_not_equal(synth_gather_verify(&s, &edges, NULL), HALLEY_OK);
    s.moves.at[s.moves.n - 1] = last;
    s.moves.at[s.moves.n - 1].start -= 1000;
    assert_int_not_equal(synth_gather_verify(&s, &edges, NULL), HALLEY_OK);
    s.moves.at[s.moves.n - 1] = last;
    assert_int_equal(synth_gather_verify(&s, &edges, NULL), HALLEY_OK);
    s.moves.n--;
    assert_int_not_equal(synth_gather_verify(&s, &edges, NULL), HALLEY_OK);
    synth_gather_fini(&s);
    synth_graph_fini(&edges);
    hw_graph_free(g);
}

/* Play the moves of an all-reduce: every sum has every contribution once, and reaches
 * every NPU. */
static void an_all_reduce_adds_every_contribution_once(void **state)
{
    (void)state;
    hw_graph *g = make_grid(4, 4, true, (const double[2]){50e9, 20e9}, 5);
    const halley_topology t = {.graph = g};
    halley_collective_schedule *s = NULL;
    halley_schedule_summary sum;
    halley_schedule_move m;
    uint32_t has[16][128];
    double last_s = 0;
    assert_int_equal(
        halley_schedule_find(&s, &t, HALLEY_COLLECTIVE_ALL_REDUCE, 1e6, NULL, NULL),
        HALLEY_OK);
    halley_schedule_summarise(&sum, s);
    assert_true(sum.time_s >= sum.bound_s && 16 * sum.pieces <= 128);
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t c = 0; c < 16 * sum.pieces; c++)
            has[i][c] = UINT32_C(1) << i;
    for (uint64_t i = 0; halley_schedule_get_move(&m, s, i); i++) {
        const uint32_t sent = has[m.from][m.chunk];
        assert_true(m.start_s >= last_s);
        last_s = m.start_s;
        if (m.sums)
            assert_int_equal(has[m.to][m.chunk] & sent, 0);
        else
            assert_int_equal(sent, 0xffff);
        has[m.to][m.chunk] |= sent;
    }
    for (uint32_t i = 0; i < 16; i++)
        for (uint32_t c = 0; c < 16 * sum.pieces; c++)
            assert_int_equal(has[i][c], 0xffff);
    halley_schedule_free(s);
    hw_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_are_near_the_bound),
        cmocka_unit_test(equal_seeds_give_equal_schedules),
        cmocka_unit_test(a_group_sends_through_npus_outside_it),
        cmocka_unit_test(an_all_reduce_adds_every_contribution_once),
        cmocka_unit_test(the_verifier_finds_changed_moves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
