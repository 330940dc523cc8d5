/* Plans on tori: where their ranks are, and estimates against simulations. */
#include "base/rng.h"
#include "estimate/groups.h"
#include "estimate/mesh.h"
#include "halley/estimate.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"
#include "hw/network.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void check(halley_status status, const halley_error *err)
{
    if (status != HALLEY_OK)
        fail_msg("%s", err->text);
}

typedef struct world {
    halley_model model;
    halley_cluster *cluster;
    halley_plan plan;
    halley_stack stack;
} world;

static bool open_world(world *w, const char *model, const char *cluster,
                       const halley_plan *plan)
{
    halley_error err = {0};
    *w = (world){.plan = *plan};
    halley_stack_default(&w->stack);
    check(halley_cluster_load(&w->cluster, cluster, &err), &err);
    check(halley_model_load(&w->model, model, &err), &err);
    halley_plan *const p = &w->plan;
    p->pp = p->pp > 0 ? p->pp : 1;
    p->cp = p->cp > 0 ? p->cp : 1;
    p->dp = halley_cluster_npus(w->cluster) / p->tp / p->pp / p->cp;
    p->sequence_parallel = p->tp > 1;
    return halley_plan_check(&w->plan, &w->model, halley_cluster_npus(w->cluster),
                             &err) == HALLEY_OK;
}

static void close_world(world *w)
{
    halley_model_fini(&w->model);
    halley_cluster_free(w->cluster);
}

static void tensor_parallel_ranks_form_a_cube(void **state)
{
    (void)state;
    world w;
    hw_direct grid;
    hw_box box;
    const uint32_t ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
    assert_true(open_world(&w, "llama3-70b", "tpu-v4-pod:4096",
                           &(halley_plan){.tp = 8, .global_batch = 512}));
    plan_grid_make(&grid, &w.plan, w.cluster);
    assert_true(hw_box_find(&box, &grid, ranks, 8));
    assert_int_equal(box.n_axes, 3); /* 2 x 2 x 2: three links enter a corner, not one */
    assert_true(hw_box_rate(&box) == 3 * grid.link_Bps);
    close_world(&w);
}

/* Every NPU has one rank. */
static void meshes_are_permutations(void **state)
{
    (void)state;
    rng random = rng_seed(11);
    for (int i = 0; i < 200; i++) {
        hw_direct grid = {.n_axes = 3,
                          .axes = {{4, true},
                                   {UINT32_C(1) << rng_below(&random, 4), false},
                                   {6, true}}};
        const uint32_t all = hw_direct_count(&grid);
        plan_mesh_dims dims = {.count = 3,
                               .hunger = {(uint32_t)rng_below(&random, 3), 1, 2}};
        dims.n[0] = UINT32_C(1) << rng_below(&random, 3);
        dims.n[1] = rng_below(&random, 2) ? 3 : 1;
        dims.n[2] = all / dims.n[0] / dims.n[1];
        bool seen[192] = {false};
        assert_true(plan_mesh_choose(&grid.numbering, &grid, &dims));
        for (uint32_t r = 0; r < all; r++) {
            const uint32_t device = hw_direct_device(&grid, r);
            assert_true(device < all && !seen[device]);
            seen[device] = true;
        }
    }
}

static halley_result *run_plan(world *w, bool no_fold)
{
    halley_error err = {0};
    halley_template *t = NULL;
    halley_result *result = NULL;
    const halley_sim_opts opts = {.no_fold = no_fold};
    check(halley_estimate_fill_nodes(w->cluster, &w->plan, &err), &err);
    check(halley_plan_template(&t, &w->model, &w->plan, w->cluster, &w->stack,
                               HALLEY_PRICES_STACK, &err),
          &err);
    check(halley_sim_run_template(&result, t, w->cluster, &opts, &err), &err);
    halley_template_free(t);
    return result;
}

static double simulate_plan(world *w)
{
    halley_result *result = run_plan(w, false);
    uint64_t last = 0;
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint64_t finish = halley_result_rank(result, i).finish;
        last = finish > last ? finish : last;
    }
    const double seconds = (double)last / halley_result_ticks_per_s(result);
    halley_result_free(result);
    return seconds;
}

/* Names of users may be NULL. */
static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static void expect_same_links(const halley_result *a, const halley_result *b)
{
    assert_int_equal(halley_result_links(a), halley_result_links(b));
    for (uint32_t i = 0; i < halley_result_links(a); i++) {
        const halley_link_result x = halley_result_link(a, i),
                                 y = halley_result_link(b, i);
        assert_string_equal(x.name, y.name);
        assert_true(x.bytes == y.bytes && x.wire_bytes == y.wire_bytes);
        assert_true(x.bytes <= x.wire_bytes * (1 + 1e-9));
        for (int k = 0; k < 2; k++) {
            assert_true(x.user_shares[k] == y.user_shares[k]);
            assert_true(is_same_text(x.users[k], y.users[k]));
        }
    }
}

static void folded_runs_list_the_links_of_unfolded_ones(void **state)
{
    (void)state;
    static const struct {
        const char *model, *cluster;
        halley_plan plan;
    } cases[] = {
        {"gpt3-175b", "tpu-v4-pod:96", {.tp = 8, .pp = 2, .global_batch = 96}},
        {"llama3-8b",
         "tpu-v5e-pod:64",
         {.tp = 4, .pp = 4, .global_batch = 96, .zero = 1}},
        {"gpt3-175b", "dgx-h100:32", {.tp = 4, .pp = 2, .global_batch = 96, .zero = 1}},
        {"mixtral-8x7b",
         "dgx-h100:16",
         {.tp = 2, .ep = 4, .global_batch = 32, .zero = 1}},
        {"llama3-8b", "dgx-a100:24", {.tp = 1, .pp = 1, .global_batch = 96, .zero = 3}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w;
        assert_true(open_world(&w, cases[i].model, cases[i].cluster, &cases[i].plan));
        halley_result *folded = run_plan(&w, false), *all = run_plan(&w, true);
        expect_same_links(folded, all);
        halley_result_free(folded);
        halley_result_free(all);
        close_world(&w);
    }
}

/* At least 19 of 20 random plans within 5 %, and all within 15 %. */
static void estimates_of_tpu_plans_are_what_simulations_take(void **state)
{
    (void)state;
    static const char *const models[] = {"llama3-8b", "llama3-70b", "gpt3-175b",
                                         "mixtral-8x7b"};
    static const char *const pods[] = {"tpu-v4-pod:64",   "tpu-v4-pod:512",
                                       "tpu-v5e-pod:64",  "tpu-v5e-pod:256",
                                       "tpu-v5p-pod:256", "tpu-7x-pod:128"};
    rng random = rng_seed(26);
    uint32_t n = 0, near = 0;
    for (int i = 0; i < 30; i++) {
        world w;
        halley_plan plan = {.tp = UINT32_C(1) << rng_below(&random, 4),
                            .pp = UINT32_C(1) << rng_below(&random, 3),
                            .cp = UINT32_C(1) << rng_below(&random, 2),
                            .zero = rng_below(&random, 2) ? 1 : 3};
        const char *model = models[rng_below(&random, 4)];
        if (strcmp(model, "mixtral-8x7b") == 0)
            plan.ep = UINT32_C(1) << rng_below(&random, 4);
        const char *pod = pods[rng_below(&random, 6)];
        plan.global_batch = 1024;
        if (open_world(&w, model, pod, &plan)) {
            halley_estimate e;
            halley_estimate_run(&e, &w.model, &w.plan, w.cluster, &w.stack);
            const double meeting = e.part_s[HALLEY_PART_MEETING];
            const double off = simulate_plan(&w) / (e.step_s - meeting) - 1;
            if (fabs(off) > 0.15)
                fail_msg("%s on %s, tp %u pp %u cp %u ep %u: %.1f %%", model, pod,
                         plan.tp, plan.pp, plan.cp, plan.ep, 100 * off);
            n++;
            near += fabs(off) <= 0.05;
        }
        close_world(&w);
    }
    assert_true(n >= 15);
    if (20 * near < 19 * n)
        fail_msg("%u of %u plans within 5 %%", near, n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensor_parallel_ranks_form_a_cube),
        cmocka_unit_test(meshes_are_permutations),
        cmocka_unit_test(folded_runs_list_the_links_of_unfolded_ones),
        cmocka_unit_test(estimates_of_tpu_plans_are_what_simulations_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
