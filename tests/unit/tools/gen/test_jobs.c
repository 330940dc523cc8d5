/* Several jobs on one cluster. */
#include "folder.h"
#include "halley/jobs.h"
#include "halley/trace_gen.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static halley_cluster *load(const char *name)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    const halley_status status =
        strstr(name, ": ") == NULL
            ? halley_cluster_load(&c, name, &err)
            : halley_cluster_parse(&c, name, strlen(name), "c", &err);
    if (status != HALLEY_OK)
        fail_msg("%s: %s", name, err.text);
    return c;
}

/* A job as files: traces and groups. */
typedef struct files {
    char prefix[256];
    halley_trace_set *traces;
    char *groups;
} files;

static files make_job(const char *name, const char *pattern, uint32_t n,
                      const char *const (*params)[2], size_t n_params)
{
    files f = {0};
    halley_gen *gen = NULL;
    halley_gen_summary summary;
    halley_error err = {0};
    snprintf(f.prefix, sizeof f.prefix, "%s", name);
    assert_int_equal(halley_gen_new(&gen, pattern, n, NULL), HALLEY_OK);
    for (size_t i = 0; i < n_params; i++)
        if (halley_gen_set(gen, params[i][0], params[i][1], &err) != HALLEY_OK)
            fail_msg("%s: %s", params[i][0], err.text);
    assert_int_equal(halley_gen_save(gen, f.prefix, &summary, NULL), HALLEY_OK);
    halley_gen_free(gen);
    const char *path = f.prefix;
    assert_int_equal(halley_trace_set_load(&f.traces, &path, 1, NULL, NULL), HALLEY_OK);
    f.groups = halley_trace_set_groups(f.traces);
    return f;
}

static void free_job(files *f)
{
    halley_trace_set_free(f->traces);
    free(f->groups);
}

static double simulate(const files *f, const char *cluster)
{
    halley_cluster *c = load(cluster);
    halley_result *result;
    halley_error err = {0};
    if (f->groups != NULL)
        assert_int_equal(halley_cluster_load_groups(c, f->groups, NULL), HALLEY_OK);
    if (halley_sim_run(&result, f->traces, c, NULL, &err) != HALLEY_OK)
        fail_msg("%s: %s", f->prefix, err.text);
    uint64_t last = 0;
    for (uint32_t i = 0; i < halley_result_ranks(result); i++)
        if (halley_result_rank(result, i).finish > last)
            last = halley_result_rank(result, i).finish;
    const double s = (double)last / halley_result_ticks_per_s(result);
    halley_result_free(result);
    halley_cluster_free(c);
    return s;
}

/* On nodes of its own behind a switch that is not the bottleneck a job takes as long as
 * on a cluster of its own: messages, groups and roots name the right ones. */
static void a_job_alone_takes_its_own_time_wherever_it_is(void **state)
{
    (void)state;
    static const char *const groups[][2] = {
        {"group", "0,2,4,6"}, {"group", "1,3,5,7"}, {"size", "4 MB"}};
    static const char *const random[][2] = {
        {"nodes", "200"}, {"seed", "7"}, {"mem-weight", "0"}};
    files jobs[] = {
        make_job("a", "all-reduce", 8, groups, 3), make_job("b", "pipeline", 8, NULL, 0),
        make_job("c", "random", 8, random, 3), make_job("d", "all-to-all", 8, NULL, 0)};
    halley_sim_job list[4];
    uint32_t n_ranks[4], *npus;
    for (int i = 0; i < 4; i++) {
        list[i] = (halley_sim_job){jobs[i].prefix, jobs[i].traces, jobs[i].groups};
        n_ranks[i] = 8;
    }
    halley_cluster *c = load("dgx-h100:48");
    for (int how = 0; how < 3; how++) {
        halley_jobs_result *result;
        halley_error err = {0};
        assert_int_equal(
            halley_jobs_place(&npus, c, n_ranks, 4, (halley_placement)how, 5, NULL),
            HALLEY_OK);
        if (halley_jobs_run(&result, list, 4, npus, c, NULL, &err) != HALLEY_OK)
            fail_msg("%s", err.text);
        for (uint32_t i = 0; i < 4; i++) {
            const halley_job_result r = halley_jobs_get(result, i);
            const double want = simulate(&jobs[i], "dgx-h100:8");
            if (fabs(r.alone_s - want) > 1e-11)
                fail_msg("%s, placement %d: %.12g s, not %.12g", jobs[i].prefix, how,
                         r.alone_s, want);
            assert_true(fabs(r.slowdown - 1) < 1e-9); /* nothing is shared */
            assert_int_equal(r.n_shared_links, 0);
            assert_int_equal(r.npus[0] % 8, 0);
        }
        halley_jobs_result_free(result);
        free(npus);
    }
    halley_cluster_free(c);
    for (int i = 0; i < 4; i++)
        free_job(&jobs[i]);
}

static const char two_leaves[] =
    "npus: 8\nnetwork: {topology: leaf-spine, npus: 4, leaves: 2, spines: 2, link: 50 "
    "GB/s, latency: 1 us}\n";

/* Scenario 29 of the contention scenarios: two rings of 4 over two leaves, 2:1.
 * Interleaved they take twice the wire time, each under its own leaf they do not meet. */
static void interleaved_jobs_share_the_spine_and_packed_ones_do_not(void **state)
{
    (void)state;
    static const char *const size[][2] = {{"size", "64 MB"}};
    files jobs[] = {make_job("a", "all-reduce", 4, size, 1),
                    make_job("b", "all-reduce", 4, size, 1)};
    const halley_sim_job list[] = {{"a", jobs[0].traces, NULL},
                                   {"b", jobs[1].traces, NULL}};
    const uint32_t n_ranks[] = {4, 4};
    halley_cluster *c = load(two_leaves);
    for (int how = 0; how < 2; how++) {
        uint32_t *npus;
        halley_jobs_result *result;
        assert_int_equal(
            halley_jobs_place(&npus, c, n_ranks, 2, (halley_placement)how, 0, NULL),
            HALLEY_OK);
        assert_int_equal(halley_jobs_run(&result, list, 2, npus, c, NULL, NULL),
                         HALLEY_OK);
        for (uint32_t i = 0; i < 2; i++) {
            const halley_job_result r = halley_jobs_get(result, i);
            const double wire_s = 1.5 * 64e6 / (0.9 * 50e9); /* 2 (n - 1) / n */
            const double more_s = how == 0 ? 0 : wire_s;
            assert_true(fabs(r.together_s - r.alone_s - more_s) < 1e-9);
            assert_int_equal(r.n_shared_links, how == 0 ? 0 : 8);
            assert_true((r.busiest_shared != NULL) == (how == 1));
        }
        halley_jobs_result_free(result);
        free(npus);
    }
    halley_cluster_free(c);
    free_job(&jobs[0]);
    free_job(&jobs[1]);
}

static void placements_are_what_they_say(void **state)
{
    (void)state;
    const uint32_t n_ranks[] = {3, 2};
    static const uint32_t want[][5] = {{0, 1, 2, 3, 4}, {0, 4, 2, 1, 5}};
    halley_cluster *c = load(two_leaves);
    uint32_t *npus, *again;
    for (int how = 0; how < 2; how++) {
        assert_int_equal(
            halley_jobs_place(&npus, c, n_ranks, 2, (halley_placement)how, 0, NULL),
            HALLEY_OK);
        assert_memory_equal(npus, want[how], sizeof want[how]);
        free(npus);
    }
    assert_int_equal(
        halley_jobs_place(&npus, c, n_ranks, 2, HALLEY_PLACEMENT_RANDOM, 9, NULL),
        HALLEY_OK);
    assert_int_equal(
        halley_jobs_place(&again, c, n_ranks, 2, HALLEY_PLACEMENT_RANDOM, 9, NULL),
        HALLEY_OK);
    assert_memory_equal(npus, again, 5 * sizeof *npus);
    free(npus);
    free(again);
    halley_cluster_free(c);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    const uint32_t n_ranks[] = {9, 9};
    halley_cluster *c = load("dgx-h100:24");
    halley_error err = {0};
    uint32_t *npus;
    assert_int_equal(
        halley_jobs_place(&npus, c, n_ranks, 2, HALLEY_PLACEMENT_PACKED, 0, &err),
        HALLEY_EINVAL);
    assert_non_null(
        strstr(err.text, "the jobs need 4 nodes of 8, and the cluster has 24"));
    files job = make_job("a", "all-reduce", 4, NULL, 0);
    const halley_sim_job list[] = {{"a", job.traces, NULL}, {"b", job.traces, NULL}};
    static const struct {
        uint32_t npus[8];
        const char *text;
    } cases[] = {
        {{0, 1, 2, 3, 3, 4, 5, 6}, "job b: rank 0 is placed on NPU 3, which job a has"},
        {{0, 1, 2, 99, 4, 5, 6, 7},
         "job a: rank 3 is placed on NPU 99, and the cluster"}};
    for (int i = 0; i < 2; i++) {
        halley_jobs_result *result;
        assert_int_equal(halley_jobs_run(&result, list, 2, cases[i].npus, c, NULL, &err),
                         HALLEY_EINVAL);
        assert_non_null(strstr(err.text, cases[i].text));
    }
    free_job(&job);
    halley_cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_job_alone_takes_its_own_time_wherever_it_is,
                                        folder_enter, folder_leave),
        cmocka_unit_test_setup_teardown(
            interleaved_jobs_share_the_spine_and_packed_ones_do_not, folder_enter,
            folder_leave),
        cmocka_unit_test_setup_teardown(placements_are_what_they_say, folder_enter,
                                        folder_leave),
        cmocka_unit_test_setup_teardown(what_does_not_fit_is_refused, folder_enter,
                                        folder_leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
