/* Recordings rebuilt into dependencies: laws that hold whatever was recorded. */
#include "base/rng.h"
#include "recording/record/rebuild.h"
#include "recording/record/rules.h"
#include "recording/record/spans.h"
#include "unit.h"

static void add_host(record *r, rng *random, int64_t begin_ns, int64_t length_ns,
                     rec_host_kind kind, const char *name)
{
    char tid[2] = {(char)('1' + rng_below(random, 3)), '\0'};
    rec_host event = {.begin_ns = begin_ns,
                      .end_ns = begin_ns + length_ns,
                      .detail = REC_NONE,
                      .kind = kind & 3u};
    if (kind == REC_CALL)
        event.correlation = r->hosts.n;
    assert_true(rec_add_host(r, event, intern_add(&r->texts, str_from(name)),
                             rec_add_thread(r, STR("1"), str_from(tid))));
}

static void add_work(record *r, rng *random, int64_t begin_ns, uint64_t correlation)
{
    const rec_work work = {.begin_ns = begin_ns,
                           .end_ns = begin_ns + (int64_t)rng_below(random, 40000),
                           .correlation = correlation,
                           .n_bytes = REC_NO_ID,
                           .name = intern_add(&r->texts, STR("ampere_sgemm")),
                           .row =
                               rec_add_row(r, 0, (int64_t)rng_below(random, 3), STR("")),
                           .comm = REC_NONE,
                           .launch = REC_NONE,
                           .op = REC_NONE,
                           .class_id = REC_NONE,
                           .hint = REC_NONE,
                           .seq = (uint32_t)r->works.n};
    assert_true(array_push(&r->works, work));
}

/* Threads, calls that launch or wait, kernels that overlap, start early or were launched
 * by nobody: events without any order. */
static void make_random_record(record *r, uint64_t seed)
{
    static const char *const calls[] = {"cudaLaunchKernel", "cudaStreamSynchronize",
                                        "cudaDeviceSynchronize", "cudaMemcpy"};
    rng random = rng_seed(seed);
    rec_init(r);
    const uint64_t n = 1 + rng_below(&random, 60);
    for (uint64_t i = 0; i < n; i++) {
        const int64_t begin_ns = (int64_t)rng_below(&random, 300000);
        const int64_t length_ns = (int64_t)rng_below(&random, 50000);
        if (rng_below(&random, 2) == 0) {
            add_host(r, &random, begin_ns, length_ns, REC_OP, "aten::mm");
            continue;
        }
        add_host(r, &random, begin_ns, length_ns, REC_CALL, calls[rng_below(&random, 4)]);
        const uint64_t id = rng_below(&random, 5) == 0 ? REC_NO_ID : r->hosts.n - 1;
        add_work(r, &random, begin_ns + (int64_t)rng_below(&random, 30000) - 2000, id);
    }
    assert_int_equal(rec_finish(r, NULL), HALLEY_OK);
}

static void the_replay_is_the_recording_and_no_edge_leads_back(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        record r;
        rec_graph g;
        make_random_record(&r, seed);
        assert_int_equal(rec_rebuild(&g, &r, NULL), HALLEY_OK);
        assert_int_equal(g.replay_error_ns, 0);
        for (size_t i = 0; i < g.edges.n; i++) {
            const rec_edge *const e = &g.edges.at[i];
            const int64_t binding_ns = rec_binding_end(&g, e->to);
            assert_true(rec_node_end(&g, e->from) <= rec_node_begin(&g, e->to));
            assert_true(rec_find_lag(&g, e->from, e->to, binding_ns) >= 0);
        }
        rec_graph_fini(&g);
        rec_fini(&r);
    }
}

static void faster_work_never_makes_the_replay_longer(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        record r;
        rec_graph g;
        bool ok = true;
        make_random_record(&r, seed);
        assert_int_equal(rec_rebuild(&g, &r, NULL), HALLEY_OK);
        const int64_t whole = rec_replay_scaled(&g, 1, 1, &ok);
        assert_int_equal(whole, g.replayed_ns);
        assert_true(rec_replay_scaled(&g, 0.5, 1, &ok) <= whole);
        assert_true(rec_replay_scaled(&g, 1, 0.5, &ok) <= whole);
        assert_true(ok);
        rec_graph_fini(&g);
        rec_fini(&r);
    }
}

/* Pieces of a thread follow each other without holes, but for waits. */
static void pieces_cover_their_thread(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        record r;
        rec_graph g;
        make_random_record(&r, seed);
        assert_int_equal(rec_rebuild(&g, &r, NULL), HALLEY_OK);
        for (uint32_t i = 0; i < g.n_pieces; i++) {
            const rec_node n = rec_node_get(&g, i);
            assert_true(n.begin_ns <= n.end_ns);
            if (n.before == REC_NONE)
                continue;
            const int64_t end_ns = rec_node_end(&g, n.before);
            assert_true(n.waits ? end_ns <= n.begin_ns : end_ns == n.begin_ns);
        }
        rec_graph_fini(&g);
        rec_fini(&r);
    }
}

static void kernels_have_the_class_of_their_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *class_name;
    } kernels[] = {
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "comm.all_reduce"},
        {"Cijk_Alik_Bljk_BBS_BH_MT256x128x64", "matmul"},
        {"triton_poi_fused_addmm_gelu_3", "elementwise"},
        {"triton_tem_fused_mm_0", "matmul"},
        {"Memcpy HtoD (Pinned -> Device)", "copy_h2d"},
        {"deep_ep::internode::dispatch<8>", "comm.dispatch"},
        {"void flash::flash_fwd_kernel<x>", "attention"},
    };
    rec_rules rules;
    assert_int_equal(rec_rules_init(&rules, NULL, NULL), HALLEY_OK);
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const uint32_t id = rec_rules_kernel(&rules, str_from(kernels[i].name));
        assert_int_not_equal(id, REC_NONE);
        assert_string_equal(rec_class_name(&rules, id).at, kernels[i].class_name);
    }
    assert_int_equal(rec_rules_kernel(&rules, STR("xyzzy")), REC_NONE);
    rec_rules_fini(&rules);
}

static void spans_are_sets_of_time(void **state)
{
    (void)state;
    rec_spans a = {0}, b = {0};
    assert_true(array_push(&a, (rec_span){5, 9}) && array_push(&a, (rec_span){0, 4}) &&
                array_push(&a, (rec_span){3, 6}) && array_push(&b, (rec_span){8, 20}));
    rec_spans_merge(&a);
    rec_spans_merge(&b);
    assert_int_equal(a.n, 1);
    assert_int_equal(rec_spans_length(&a), 9);
    assert_int_equal(rec_spans_common(&a, &b), 1);
    array_fini(&a);
    array_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_replay_is_the_recording_and_no_edge_leads_back),
        cmocka_unit_test(faster_work_never_makes_the_replay_longer),
        cmocka_unit_test(pieces_cover_their_thread),
        cmocka_unit_test(kernels_have_the_class_of_their_name),
        cmocka_unit_test(spans_are_sets_of_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
