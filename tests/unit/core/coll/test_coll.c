/* Laws of collective plans: who sends meets who awaits, and how much goes over. */
#include "base/arena.h"
#include "coll/algo.h"
#include "unit.h"

#include <string.h>

static coll_plan *make(arena *memory, cluster_coll coll, uint64_t bytes,
                       const cluster_impl *impls, const uint32_t *sizes, uint32_t n_dims)
{
    uint32_t n = 1;
    for (uint32_t d = 0; d < n_dims; d++)
        n *= sizes[d];
    const coll_request r = {.coll = coll,
                            .bytes = bytes,
                            .n_members = n,
                            .n_impls = n_dims,
                            .impls = impls,
                            .sizes = sizes,
                            .n_sizes = n_dims,
                            .order = COLL_IN_ORDER,
                            .involved = UINT32_MAX,
                            .hierarchical = true};
    coll_plan *plan = NULL;
    halley_error err = {0};
    if (coll_plan_new(&plan, &r, memory, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return plan;
}

static const cluster_algo algos[] = {CLUSTER_ALGO_RING, CLUSTER_ALGO_DIRECT,
                                     CLUSTER_ALGO_HALVING_DOUBLING};

static void every_send_is_awaited_by_its_receiver(void **state)
{
    (void)state;
    arena memory = {0};
    const uint32_t sizes[] = {4, 8, 2};
    for (size_t a = 0; a < 3; a++) {
        const cluster_impl impls[] = {
            {.algo = algos[a]}, {.algo = algos[a]}, {.algo = algos[a]}};
        for (int coll = 0; coll < CLUSTER_ALL_TO_ALL; coll++) {
            const coll_plan *plan =
                make(&memory, (cluster_coll)coll, 1 << 20, impls, sizes, 3);
            for (uint32_t i = 0; i < plan->n_phases; i++) {
                const coll_phase *p = &plan->phases[i];
                for (uint32_t member = 0; member < 64; member++)
                    for (uint32_t k = 0; k < p->n_sends; k++) {
                        const uint32_t to = coll_packet_to(p, member, k);
                        assert_int_not_equal(to, member);
                        assert_int_equal(coll_packet_from(p, to, k), member);
                    }
            }
        }
    }
    arena_fini(&memory);
}

static uint64_t bytes_sent(const coll_plan *plan)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < plan->n_phases; i++)
        for (uint32_t k = 0; k < plan->phases[i].n_sends; k++)
            total += coll_packet_bytes(&plan->phases[i], k);
    return total;
}

static void an_all_reduce_sends_two_times_n_minus_one_nth(void **state)
{
    (void)state;
    arena memory = {0};
    const uint64_t bytes = 1 << 20;
    for (size_t a = 0; a < 3; a++) {
        const cluster_impl impl = {.algo = algos[a]};
        for (uint32_t n = 2; n <= 64; n *= 2)
            assert_int_equal(
                bytes_sent(make(&memory, CLUSTER_ALL_REDUCE, bytes, &impl, &n, 1)),
                2 * (n - 1) * (bytes / n));
    }
    arena_fini(&memory);
}

static void a_hierarchical_all_reduce_shrinks_and_grows(void **state)
{
    (void)state;
    arena memory = {0};
    const uint32_t sizes[] = {4, 1, 8, 2};
    const cluster_impl impls[4] = {0};
    const coll_plan *plan = make(&memory, CLUSTER_ALL_REDUCE, 6400, impls, sizes, 4);
    const uint32_t levels[] = {0, 2, 3, 2, 0};
    const uint64_t data[] = {6400, 1600, 200, 200, 1600};
    assert_int_equal(plan->n_phases, 5); /* the dimension of one NPU is left out */
    for (uint32_t i = 0; i < 5; i++) {
        assert_int_equal(plan->phases[i].level, levels[i]);
        assert_int_equal(plan->phases[i].data_bytes, data[i]);
    }
    assert_int_equal(plan->phases[4].out_bytes, 6400);
    assert_int_equal(plan->phases[2].coll, CLUSTER_ALL_REDUCE);
    arena_fini(&memory);
}

static void an_odd_halving_loses_a_byte_at_the_turn(void **state)
{
    (void)state;
    arena memory = {0};
    const uint32_t n = 4;
    const cluster_impl impl = {.algo = CLUSTER_ALGO_HALVING_DOUBLING};
    const coll_phase *p = make(&memory, CLUSTER_ALL_REDUCE, 1003, &impl, &n, 1)->phases;
    const uint64_t bytes[] = {501, 250, 250, 500};
    assert_int_equal(p->n_sends, 4);
    for (uint32_t k = 0; k < 4; k++)
        assert_int_equal(p->bytes[k], bytes[k]);
    arena_fini(&memory);
}

static void halving_doubling_refuses_odd_sizes(void **state)
{
    (void)state;
    arena memory = {0};
    const uint32_t n = 6;
    const cluster_impl impl = {.algo = CLUSTER_ALGO_HALVING_DOUBLING};
    const coll_request r = {.coll = CLUSTER_ALL_REDUCE,
                            .bytes = 600,
                            .n_members = n,
                            .n_impls = 1,
                            .impls = &impl,
                            .sizes = &n,
                            .n_sizes = 1,
                            .order = COLL_IN_ORDER,
                            .involved = 1};
    coll_plan *plan;
    halley_error err = {0};
    assert_int_equal(coll_plan_new(&plan, &r, &memory, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "power of two"));
    arena_fini(&memory);
}

/* Every place but the root has a parent that has it as a child; all hang together. */
static void a_tree_is_a_tree(void **state)
{
    (void)state;
    arena memory = {0};
    const uint32_t sizes[] = {4, 16};
    const cluster_impl impls[] = {{.algo = CLUSTER_ALGO_RING},
                                  {.algo = CLUSTER_ALGO_TREE}};
    const coll_plan *plan = make(&memory, CLUSTER_ALL_REDUCE, 1 << 20, impls, sizes, 2);
    for (int min = 0; min < 2; min++) {
        coll_phase p = plan->phases[1];
        p.root_is_first = min;
        uint32_t n_roots = 0;
        for (uint32_t m = 0; m < 64; m++) {
            uint32_t at = m, depth = 0;
            const uint32_t parent = coll_tree_find(&p, m).parent;
            n_roots += parent == COLL_NONE;
            if (parent != COLL_NONE) {
                const coll_tree_place up = coll_tree_find(&p, parent);
                assert_true(up.left == m || up.right == m);
                assert_int_equal(parent % 4, m % 4);
            }
            while (coll_tree_find(&p, at).parent != COLL_NONE && depth++ < 16)
                at = coll_tree_find(&p, at).parent;
            assert_int_equal(at, min ? m % 4 : 60 + m % 4);
        }
        assert_int_equal(n_roots, 4);
    }
    arena_fini(&memory);
}

static void rows_have_the_names_of_cluster_files(void **state)
{
    (void)state;
    for (int i = 0; i < CLUSTER_N_ALGOS; i++) {
        const cluster_impl impl = {.algo = (cluster_algo)i};
        strbuf name = {0};
        cluster_impl_print(&name, &impl);
        assert_true(str_eq(strbuf_str(&name), str_from(coll_algos[i].name)));
        assert_int_equal(coll_algos[i].fill == NULL,
                         i == CLUSTER_ALGO_CUSTOM || i == CLUSTER_ALGO_BUNDLE);
        assert_int_equal(coll_algos[i].time == NULL, coll_algos[i].load == NULL);
        assert_int_equal(coll_algos[i].to == NULL, coll_algos[i].from == NULL);
        strbuf_fini(&name);
    }
}

/* What a row calls applicable can be planned over eight members, and what it does not is
 * refused or done by something else. */
static void a_row_fills_what_it_calls_applicable(void **state)
{
    (void)state;
    arena memory = {0};
    for (int i = CLUSTER_ALGO_RING; i <= CLUSTER_ALGO_IN_SWITCH; i++) {
        for (int coll = 0; coll < CLUSTER_N_COLLS; coll++) {
            const cluster_impl impl = {.algo = (cluster_algo)i};
            const coll_fill_options options = {.impl = &impl, .memory = &memory};
            coll_phase p = {.algo = impl.algo,
                            .coll = (cluster_coll)coll,
                            .n = 8,
                            .stride = 1,
                            .data_bytes = 1 << 20};
            halley_error err = {0};
            const halley_status status =
                coll_algo_get(impl.algo)->fill(&p, &options, &err);
            if (coll_algo_can(impl.algo, (cluster_coll)coll)) {
                assert_int_equal(status, HALLEY_OK);
                assert_false(p.is_substitute);
                assert_true(p.n_steps > 0 && p.n_sends > 0);
            } else {
                assert_true(status != HALLEY_OK || p.is_substitute);
            }
        }
    }
    arena_fini(&memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_send_is_awaited_by_its_receiver),
        cmocka_unit_test(rows_have_the_names_of_cluster_files),
        cmocka_unit_test(a_row_fills_what_it_calls_applicable),
        cmocka_unit_test(an_all_reduce_sends_two_times_n_minus_one_nth),
        cmocka_unit_test(a_hierarchical_all_reduce_shrinks_and_grows),
        cmocka_unit_test(an_odd_halving_loses_a_byte_at_the_turn),
        cmocka_unit_test(halving_doubling_refuses_odd_sizes),
        cmocka_unit_test(a_tree_is_a_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
