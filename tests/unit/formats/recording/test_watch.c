/* Progress and cancellation of everything that takes long. */
#include "base/clock.h"
#include "base/watch.h"
#include "halley/explore.h"
#include "halley/ingest.h"
#include "halley/sim.h"
#include "make_trace.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/halley-watch-XXXXXX";

/* Cancels at the n-th look, or after some seconds; remembers when. */
typedef struct eye {
    uint64_t looks, stop_at_look; /* 0 = not by looks */
    double stop_at_s;             /* on the clock; 0 = not by time */
    double asked_s;               /* when it cancelled */
    halley_progress last;
} eye;

static bool look(void *context, const halley_progress *progress)
{
    eye *e = context;
    assert_non_null(progress->what);
    assert_non_null(progress->noun);
    assert_true(progress->done >= e->last.done);
    e->last = *progress;
    e->looks++;
    if ((e->stop_at_look == 0 || e->looks < e->stop_at_look) &&
        (e->stop_at_s == 0 || clock_s() < e->stop_at_s))
        return true;
    e->asked_s = e->asked_s > 0 ? e->asked_s : clock_s();
    return false;
}

static void a_watcher_that_nobody_looks_at_never_cancels(void **state)
{
    (void)state;
    watcher w;
    watcher_init(&w, NULL, "working", "things", 10);
    for (uint64_t i = 0; i < 100; i++)
        assert_true(watcher_add(&w, 1));
    assert_false(watcher_is_cancelled(&w));
    watcher_init(&w, &(halley_watch){0}, "working", "things", 10);
    assert_true(watcher_at(&w, 5));
}

static void cancelled_once_stays_cancelled(void **state)
{
    (void)state;
    eye e = {.stop_at_look = 1};
    const halley_watch watch = {look, &e};
    watcher w;
    halley_error err = {0};
    watcher_init(&w, &watch, "working", "things", 10);
    assert_true(watcher_is_cancelled(&w));
    assert_false(watcher_add(&w, 1));
    assert_false(watcher_at(&w, 7));
    assert_int_equal(e.looks, 1);
    assert_int_equal(watcher_error(&w, &err), HALLEY_ECANCELED);
    assert_string_equal(err.text, "working was cancelled");
}

static halley_study *load_study(const char *bandwidths, const char *objective)
{
    char path[128];
    halley_study *s = NULL;
    halley_error err = {0};
    snprintf(path, sizeof path, "%s/s.yaml", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "name: s\nmodel: gpt-7.5b\ncluster: dgx-a100:64\nplan: {global-batch: 512}\n"
            "vary:\n  plan.tp: powers-of-two\n  plan.pp: divisors\n"
            "  plan.micro-batch: [1, 2, 4, 8]\n  plan.zero: [0, 1, 2]\n"
            "  plan.recompute: [none, selective, full]\n"
            "%sobjective: %s\n",
            bandwidths, objective);
    fclose(f);
    if (halley_study_load(&s, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    unlink(path);
    return s;
}

static void remove_store(const char *db)
{
    char path[160];
    static const char *const ends[] = {"", "-wal", "-shm", "-lock", ".lock"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        snprintf(path, sizeof path, "%s%s", db, ends[i]);
        unlink(path);
    }
}

/* Seconds from the request to the end of an exploration of 2e8 designs. */
static double cancel_big_study(const halley_study *s, const char *db)
{
    eye e = {.stop_at_s = clock_s() + 0.6};
    const halley_watch watch = {look, &e};
    halley_exploration *x = NULL;
    halley_error err = {0};
    remove_store(db);
    assert_int_equal(
        halley_explore_run(&x, s, &(halley_explore_opts){.store = db, .watch = &watch},
                           &err),
        HALLEY_ECANCELED);
    const double took = clock_s() - e.asked_s;
    assert_null(x);
    assert_string_equal(err.text, "exploring was cancelled");
    assert_true(e.last.total > 1e8);
    assert_true(e.last.done > 0);
    return took;
}

/* The best of five: other programs may have the cores meanwhile. */
static void a_large_exploration_stops_within_a_fifth_of_a_second(void **state)
{
    (void)state;
    char db[128];
    double best = 1e9;
    snprintf(db, sizeof db, "%s/big.db", folder);
    halley_study *s = load_study(
        "  cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s, points: 1000}\n"
        "  cluster.up.bandwidth: {from: 100 GB/s, to: 900 GB/s, points: 100}\n",
        "[{minimize: step-time}, {minimize: memory}]");
    assert_true(halley_study_size(s) > 1e8);
    for (int i = 0; i < 5 && best > 0.2; i++) {
        const double took = cancel_big_study(s, db);
        best = took < best ? took : best;
    }
    print_message("an exploration stopped %.3f s after the request\n", best);
    assert_true(best <= 0.2);
    remove_store(db);
    halley_study_free(s);
}

static void a_cancelled_exploration_resumes_from_its_store(void **state)
{
    (void)state;
    char db[128];
    uint32_t n_cancelled = 0;
    halley_exploration *whole = NULL, *parts = NULL;
    snprintf(db, sizeof db, "%s/parts.db", folder);
    halley_study *s =
        load_study("  cluster.out.bandwidth: {from: 5 GB/s, to: 50 GB/s, points: 40}\n",
                   "[{minimize: step-time}, {minimize: memory}]");
    assert_int_equal(halley_explore_run(&whole, s, NULL, NULL), HALLEY_OK);
    for (uint64_t n = 4; parts == NULL; n += 2) {
        eye e = {.stop_at_look = n};
        const halley_watch watch = {look, &e};
        const halley_explore_opts opts = {
            .store = db, .resume = n_cancelled > 0, .watch = &watch};
        const halley_status status = halley_explore_run(&parts, s, &opts, NULL);
        assert_true(status == HALLEY_OK || status == HALLEY_ECANCELED);
        n_cancelled += status == HALLEY_ECANCELED;
    }
    assert_true(n_cancelled > 0);
    assert_true(parts->n_resumed > 0);
    assert_int_equal(parts->n_evaluated, whole->n_evaluated);
    assert_int_equal(parts->n_feasible, whole->n_feasible);
    assert_int_equal(parts->n_best, whole->n_best);
    assert_int_equal(parts->n_front, whole->n_front);
    for (uint32_t i = 0; i < whole->n_best; i++) {
        assert_int_equal(parts->best[i].id, whole->best[i].id);
        assert_true(parts->best[i].objective[0] == whole->best[i].objective[0]);
    }
    for (uint32_t i = 0; i < whole->n_front; i++)
        assert_int_equal(parts->front[i].id, whole->front[i].id);
    halley_exploration_free(whole);
    halley_exploration_free(parts);
    halley_study_free(s);
    remove_store(db);
}

static halley_trace_set *make_long_set(void)
{
    halley_builder *b = make_start();
    for (uint64_t i = 0; i < 200000; i++) {
        make_comp(b, i, 1);
        if (i > 0)
            halley_builder_data(b, i - 1);
    }
    halley_trace *t = make_finish(b);
    return make_set(&t, 1);
}

static void a_cancelled_simulation_gives_nothing_back(void **state)
{
    (void)state;
    halley_cluster *c = NULL;
    halley_error err = {0};
    halley_trace_set *set = make_long_set();
    if (halley_cluster_load(&c, "dgx-h100:1", &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    for (uint64_t n = 1; n < 3; n++) {
        eye e = {.stop_at_look = n};
        const halley_watch watch = {look, &e};
        halley_result *r = NULL;
        const halley_status status =
            halley_sim_run(&r, set, c, &(halley_sim_opts){.watch = &watch}, &err);
        if (n == 1) /* the second look comes after 20 ms: it may be done by then */
            assert_int_equal(status, HALLEY_ECANCELED);
        assert_true((status == HALLEY_OK) == (r != NULL));
        assert_string_equal(e.last.noun, "nodes");
        assert_true(e.last.total == 200000);
        halley_result_free(r);
    }
    halley_cluster_free(c);
    halley_trace_set_free(set);
}

static void a_cancelled_link_gives_nothing_back(void **state)
{
    (void)state;
    char host[512], device[512];
    eye e = {.stop_at_look = 1};
    const halley_watch watch = {look, &e};
    const halley_link_opts opts = {.watch = &watch};
    halley_trace *t = NULL;
    halley_trace_set *set = NULL;
    halley_link_report *reports = NULL;
    halley_error err = {0};
    const char *root = getenv("HALLEY_SOURCE_ROOT");
    snprintf(host, sizeof host, "%s/tests/data/recording/host.0.json", root);
    snprintf(device, sizeof device, "%s/tests/data/recording/device.0.json", root);
    assert_int_equal(halley_trace_link(&t, NULL, host, device, &opts, &err),
                     HALLEY_ECANCELED);
    assert_null(t);
    assert_string_equal(err.text, "linking was cancelled");
    snprintf(host, sizeof host, "%s/tests/data/recording/host.%%d.json", root);
    snprintf(device, sizeof device, "%s/tests/data/recording/device.%%d.json", root);
    e = (eye){.stop_at_look = 1};
    assert_int_equal(halley_trace_link_ranks(&set, &reports, host, device, &opts, &err),
                     HALLEY_ECANCELED);
    assert_null(set);
    assert_null(reports);
    e = (eye){0};
    assert_int_equal(halley_trace_link_ranks(&set, &reports, host, device, &opts, &err),
                     HALLEY_OK);
    assert_true(e.last.total == 4);
    free(reports);
    halley_trace_set_free(set);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_watcher_that_nobody_looks_at_never_cancels),
        cmocka_unit_test(cancelled_once_stays_cancelled),
        cmocka_unit_test(a_large_exploration_stops_within_a_fifth_of_a_second),
        cmocka_unit_test(a_cancelled_exploration_resumes_from_its_store),
        cmocka_unit_test(a_cancelled_simulation_gives_nothing_back),
        cmocka_unit_test(a_cancelled_link_gives_nothing_back),
    };
    const int failed = cmocka_run_group_tests_name("watch", tests, NULL, NULL);
    rmdir(folder);
    return failed;
}
