/* The feeder hands out what a slow, obvious set simulation would, in memory and streamed.
 */
#include "alloc_fail.h"
#include "base/rng.h"
#include "halley/feeder.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_NODES = 400, MAX_DEPS = 6 };

/* A graph as plain as can be. */
typedef struct plain_node {
    uint64_t id, data[MAX_DEPS], ctrl[MAX_DEPS];
    uint32_t n_data, n_ctrl;
} plain_node;

typedef struct plain {
    plain_node at[MAX_NODES];
    uint32_t n;
} plain;

static halley_trace *build(const plain *g)
{
    halley_builder *b = NULL;
    halley_trace *trace = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    (void)halley_builder_version(b, (halley_bytes){"1.0.0", 5});
    for (uint32_t i = 0; i < g->n; i++) {
        const plain_node *node = &g->at[i];
        char name[32];
        const int n = snprintf(name, sizeof name, "node %u", i);
        (void)halley_builder_node(b, node->id, HALLEY_NODE_COMP,
                                  (halley_bytes){name, (size_t)n});
        for (uint32_t k = 0; k < node->n_data; k++)
            (void)halley_builder_data(b, node->data[k]);
        for (uint32_t k = 0; k < node->n_ctrl; k++)
            (void)halley_builder_ctrl(b, node->ctrl[k]);
        (void)halley_builder_attr_i64(b, "index", i);
    }
    assert_int_equal(halley_builder_finish(&trace, b, NULL), HALLEY_OK);
    return trace;
}

static char *temp_path(char *to, size_t size)
{
    snprintf(to, size, "feeder-%ld.et", (long)getpid());
    return to;
}

static halley_feeder *feed_memory(const plain *g, const halley_feeder_opts *opts)
{
    halley_trace *trace = build(g);
    halley_feeder *f = NULL;
    assert_int_equal(halley_feeder_new(&f, trace, opts, NULL), HALLEY_OK);
    halley_trace_free(trace);
    assert_false(halley_feeder_streams(f));
    return f;
}

static halley_feeder *feed_stream(const plain *g, const halley_feeder_opts *opts)
{
    char path[64];
    halley_error err = {0};
    halley_trace *trace = build(g);
    assert_int_equal(halley_trace_save_et(trace, temp_path(path, sizeof path), &err),
                     HALLEY_OK);
    halley_trace_free(trace);
    halley_feeder *f = NULL;
    assert_int_equal(halley_feeder_open(&f, path, opts, &err), HALLEY_OK);
    (void)unlink(path); /* the open file stays readable */
    return f;
}

/* What the reference knows: who is taken, who finished. */
typedef struct naive {
    const plain *g;
    const halley_feeder_opts *opts;
    bool taken[MAX_NODES], finished[MAX_NODES];
} naive;

static bool met(const naive *s, uint64_t id)
{
    for (uint32_t i = 0; i < s->g->n; i++)
        if (s->g->at[i].id == id)
            return s->finished[i];
    return s->opts->ignore_missing;
}

static bool is_free(const naive *s, uint32_t i)
{
    const plain_node *node = &s->g->at[i];
    if (s->taken[i] || s->finished[i])
        return false;
    for (uint32_t k = 0; s->opts->deps != HALLEY_FEED_CTRL && k < node->n_data; k++)
        if (!met(s, node->data[k]))
            return false;
    for (uint32_t k = 0; s->opts->deps != HALLEY_FEED_DATA && k < node->n_ctrl; k++)
        if (!met(s, node->ctrl[k]))
            return false;
    return true;
}

static int naive_lowest(const naive *s)
{
    int best = -1;
    for (uint32_t i = 0; i < s->g->n; i++)
        if (is_free(s, i) && (best < 0 || s->g->at[i].id < s->g->at[best].id))
            best = (int)i;
    return best;
}

static int taken_one(const naive *s, rng *r)
{
    uint32_t at[MAX_NODES], n = 0;
    for (uint32_t i = 0; i < s->g->n; i++)
        if (s->taken[i])
            at[n++] = i;
    return n ? (int)at[rng_below(r, n)] : -1;
}

static void check_taken_node(const halley_feed_node *got, uint32_t index)
{
    halley_attr attr;
    int64_t value = -1;
    assert_int_equal(halley_node_id(got->trace, got->node), got->id);
    assert_true(halley_node_find_attr(&attr, got->trace, got->node, "index"));
    assert_true(halley_attr_to_i64(&attr, &value));
    assert_int_equal(value, index);
}

/* Take, finish and put back at random, both the feeder and the reference. */
static void run_against_reference(halley_feeder *f, const plain *g,
                                  const halley_feeder_opts *opts, uint64_t seed)
{
    naive s = {.g = g, .opts = opts};
    rng r = rng_seed(seed);
    for (;;) {
        const uint64_t act = rng_below(&r, 8);
        const int some = taken_one(&s, &r);
        if (act < 4 || some < 0) {
            halley_feed_node got;
            bool found = false;
            halley_error err = {0};
            assert_int_equal(halley_feeder_take(f, &got, &found, &err), HALLEY_OK);
            const int want = naive_lowest(&s);
            assert_int_equal(found, want >= 0);
            if (want < 0 && some < 0)
                break;
            if (want < 0)
                continue;
            assert_int_equal(got.id, g->at[want].id);
            check_taken_node(&got, (uint32_t)want);
            s.taken[want] = true;
        } else if (act < 7) {
            assert_int_equal(halley_feeder_finish(f, g->at[some].id, NULL), HALLEY_OK);
            s.taken[some] = false;
            s.finished[some] = true;
        } else {
            assert_int_equal(halley_feeder_put_back(f, g->at[some].id, NULL), HALLEY_OK);
            s.taken[some] = false;
        }
    }
    uint64_t finished = 0;
    for (uint32_t i = 0; i < g->n; i++)
        finished += s.finished[i];
    const halley_feed_counts c = halley_feeder_counts(f);
    assert_true(c.all_seen);
    assert_int_equal(c.seen, g->n);
    assert_int_equal(c.finished, finished);
    assert_int_equal(halley_feeder_done(f), finished == g->n);
    assert_int_equal(halley_feeder_stuck(f), finished < g->n);
    assert_int_equal(halley_feeder_explain(f, NULL),
                     finished < g->n ? HALLEY_EDEADLOCK : HALLEY_OK);
}

/* `wild`: also self, forward (cyclic) and missing dependencies; `beyond`: missing ones
 * with ids above all others, of which a streaming feeder learns only at the end. */
static void draw(plain *g, rng *r, bool ascending, bool wild, bool beyond)
{
    memset(g, 0, sizeof *g);
    g->n = 1 + (uint32_t)rng_below(r, MAX_NODES - 1);
    const uint64_t gap = 1 + rng_below(r, 3);
    uint64_t id = rng_below(r, 10);
    for (uint32_t i = 0; i < g->n; i++) {
        g->at[i].id = id;
        id += gap == 3 ? 1 + rng_below(r, 5) : gap;
    }
    const uint64_t reach = 1 + rng_below(r, g->n);
    for (uint32_t i = 0; i < g->n; i++) {
        plain_node *node = &g->at[i];
        const uint32_t n = (uint32_t)rng_below(r, MAX_DEPS);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t to = i ? i - 1 - rng_below(r, i < reach ? i : reach) : g->n;
            const uint64_t odd = rng_below(r, 300);
            if (wild && odd == 0)
                to = i;
            if (wild && odd < 3)
                to = rng_below(r, g->n);
            if (to == g->n)
                continue;
            const uint64_t target = g->at[to].id + (!wild || odd != 3 ? 0
                                                    : gap > 1         ? 1
                                                    : beyond          ? 9999
                                                                      : 0);
            if (rng_below(r, 3))
                node->data[node->n_data++] = target;
            else
                node->ctrl[node->n_ctrl++] = target;
        }
    }
    for (uint32_t i = g->n; !ascending && i > 1; i--) {
        const uint32_t j = (uint32_t)rng_below(r, i);
        const plain_node keep = g->at[i - 1];
        g->at[i - 1] = g->at[j];
        g->at[j] = keep;
    }
}

static void random_graphs_are_fed_as_by_the_reference(void **state)
{
    (void)state;
    static plain g;
    rng r = rng_seed(7);
    for (uint64_t round = 0; round < 100; round++) {
        draw(&g, &r, round % 2, round % 3 == 0, true);
        const halley_feeder_opts opts = {.deps = (halley_feed_deps)rng_below(&r, 3),
                                         .ignore_missing = rng_below(&r, 2)};
        halley_feeder *f = feed_memory(&g, &opts);
        run_against_reference(f, &g, &opts, round);
        halley_feeder_free(f);
    }
}

static void random_files_are_streamed_as_by_the_reference(void **state)
{
    (void)state;
    static plain g;
    rng r = rng_seed(8);
    for (uint64_t round = 0; round < 100; round++) {
        const bool ignore = rng_below(&r, 2);
        draw(&g, &r, true, round % 3 == 0, !ignore);
        const halley_feeder_opts opts = {.deps = (halley_feed_deps)rng_below(&r, 3),
                                         .ignore_missing = ignore,
                                         .chunk_nodes = 1 + (uint32_t)rng_below(&r, 90),
                                         .max_resident = 100000};
        halley_feeder *f = feed_stream(&g, &opts);
        assert_true(halley_feeder_streams(f));
        run_against_reference(f, &g, &opts, round);
        halley_feeder_free(f);
    }
}

static void chain(plain *g, uint32_t n)
{
    memset(g, 0, sizeof *g);
    g->n = n;
    for (uint32_t i = 0; i < n; i++) {
        g->at[i].id = i;
        g->at[i].n_data = i > 0;
        g->at[i].data[0] = i - 1;
    }
}

/* Take and finish one at a time; the number of nodes fed. */
static uint64_t drain(halley_feeder *f)
{
    uint64_t n = 0;
    for (;;) {
        halley_feed_node got;
        bool found = false;
        assert_int_equal(halley_feeder_take(f, &got, &found, NULL), HALLEY_OK);
        if (!found)
            return n;
        assert_int_equal(halley_feeder_finish(f, got.id, NULL), HALLEY_OK);
        n++;
    }
}

static void a_chain_streams_in_a_window_of_a_few_nodes(void **state)
{
    (void)state;
    static plain g;
    chain(&g, MAX_NODES);
    halley_feeder *f = feed_stream(&g, &(halley_feeder_opts){.max_resident = 8});
    assert_true(halley_feeder_streams(f));
    assert_int_equal(drain(f), MAX_NODES);
    assert_true(halley_feeder_done(f));
    halley_feeder_free(f);
}

static void a_full_window_is_an_error_that_finishing_cures(void **state)
{
    (void)state;
    static plain g;
    memset(&g, 0, sizeof g);
    g.n = 20;
    for (uint32_t i = 0; i < g.n; i++)
        g.at[i].id = i;
    halley_feeder *f = feed_stream(&g, &(halley_feeder_opts){.max_resident = 8});
    halley_feed_node got;
    bool found = true;
    halley_error err = {0};
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(halley_feeder_take(f, &got, &found, &err), HALLEY_OK);
        assert_int_equal(got.id, i);
    }
    assert_int_equal(halley_feeder_take(f, &got, &found, &err), HALLEY_ELIMIT);
    assert_non_null(strstr(err.text, "more than 8 unfinished nodes"));
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(halley_feeder_finish(f, i, &err), HALLEY_OK);
    assert_int_equal(drain(f), 12);
    halley_feeder_free(f);
}

static void a_node_can_be_finished_only_while_taken(void **state)
{
    (void)state;
    static plain g;
    chain(&g, 3);
    halley_feeder *feeders[] = {feed_memory(&g, NULL), feed_stream(&g, NULL)};
    for (size_t i = 0; i < 2; i++) {
        halley_feeder *f = feeders[i];
        halley_feed_node got;
        bool found;
        halley_error err = {0};
        assert_int_equal(halley_feeder_finish(f, 0, &err), HALLEY_EINVAL);
        assert_int_equal(err.node, 0);
        assert_int_equal(halley_feeder_take(f, &got, &found, NULL), HALLEY_OK);
        assert_int_equal(halley_feeder_finish(f, 1, &err), HALLEY_EINVAL);
        assert_int_equal(halley_feeder_finish(f, 77, &err), HALLEY_EINVAL);
        assert_int_equal(halley_feeder_finish(f, 0, &err), HALLEY_OK);
        assert_int_equal(halley_feeder_finish(f, 0, &err), HALLEY_EINVAL);
        assert_int_equal(halley_feeder_put_back(f, 0, &err), HALLEY_EINVAL);
        halley_feeder_free(f);
    }
}

static void a_stuck_feeder_names_the_missing_node(void **state)
{
    (void)state;
    static plain g;
    chain(&g, 5);
    g.at[2].data[0] = 900;
    halley_feeder *feeders[] = {feed_memory(&g, NULL), feed_stream(&g, NULL)};
    for (size_t i = 0; i < 2; i++) {
        halley_error err = {0};
        halley_feed_wait wait;
        assert_int_equal(drain(feeders[i]), 2);
        assert_true(halley_feeder_stuck(feeders[i]));
        assert_true(halley_feeder_wait(feeders[i], 3, &wait));
        assert_int_equal(wait.id, 3);
        assert_int_equal(wait.waits_for, 2);
        assert_false(wait.missing);
        assert_int_equal(halley_feeder_explain(feeders[i], &err), HALLEY_EDEADLOCK);
        assert_string_equal(err.text, "3 nodes can never start: this one waits for node "
                                      "900, which is not in the trace");
        assert_int_equal(err.node, 2);
        halley_feeder_free(feeders[i]);
    }
}

static void a_stuck_feeder_names_a_cycle(void **state)
{
    (void)state;
    static plain g;
    chain(&g, 9); /* 3 … 6 in a circle, 7 and 8 behind it */
    g.at[3].data[0] = 6;
    g.at[3].ctrl[g.at[3].n_ctrl++] = 2;
    halley_feeder *feeders[] = {feed_memory(&g, NULL), feed_stream(&g, NULL)};
    for (size_t i = 0; i < 2; i++) {
        halley_error err = {0};
        assert_int_equal(drain(feeders[i]), 3);
        assert_int_equal(halley_feeder_explain(feeders[i], &err), HALLEY_EDEADLOCK);
        assert_non_null(strstr(err.text, "on a cycle of 4 nodes"));
        assert_in_range(err.node, 3, 6);
        halley_feeder_free(feeders[i]);
    }
}

static void a_node_that_waits_for_itself_is_named(void **state)
{
    (void)state;
    static plain g;
    chain(&g, 4);
    g.at[3].data[0] = 3;
    halley_feeder *feeders[] = {feed_memory(&g, NULL), feed_stream(&g, NULL)};
    for (size_t i = 0; i < 2; i++) {
        halley_error err = {0};
        assert_int_equal(drain(feeders[i]), 3);
        assert_int_equal(halley_feeder_explain(feeders[i], &err), HALLEY_EDEADLOCK);
        assert_string_equal(err.text,
                            "1 node can never start: this one waits for itself");
        halley_feeder_free(feeders[i]);
    }
}

static void two_nodes_of_one_id_are_refused(void **state)
{
    (void)state;
    static plain g;
    chain(&g, 4);
    g.at[3].id = 1;
    halley_trace *trace = build(&g);
    halley_feeder *f = NULL;
    halley_error err = {0};
    assert_int_equal(halley_feeder_new(&f, trace, NULL, &err), HALLEY_EINVAL);
    assert_int_equal(err.node, 1);
    halley_trace_free(trace);
}

static void ids_that_do_not_ascend_are_loaded_whole_or_refused(void **state)
{
    (void)state;
    static plain g;
    chain(&g, 40);
    g.at[2].id = 500; /* in the first chunk: seen at once */
    halley_feeder *f = feed_stream(&g, &(halley_feeder_opts){.ignore_missing = true});
    assert_false(halley_feeder_streams(f));
    assert_int_equal(drain(f), 40);
    halley_feeder_free(f);

    chain(&g, 40);
    g.at[30].id = 3; /* far behind: seen when reading gets there */
    f = feed_stream(&g, &(halley_feeder_opts){.chunk_nodes = 8});
    assert_true(halley_feeder_streams(f));
    halley_status status = HALLEY_OK;
    halley_error err = {0};
    while (status == HALLEY_OK) {
        halley_feed_node got;
        bool found = false;
        status = halley_feeder_take(f, &got, &found, &err);
        if (status == HALLEY_OK && found)
            status = halley_feeder_finish(f, got.id, &err);
    }
    assert_int_equal(status, HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "load the trace whole"));
    assert_int_equal(err.node, 3);
    halley_feeder_free(f);
}

static void a_file_cut_in_a_later_chunk_fails_there(void **state)
{
    (void)state;
    static plain g;
    char path[64];
    chain(&g, 300);
    halley_trace *trace = build(&g);
    uint8_t *bytes = NULL;
    size_t n = 0;
    assert_int_equal(halley_trace_encode_et(&bytes, &n, trace, NULL), HALLEY_OK);
    FILE *to = fopen(temp_path(path, sizeof path), "wb");
    assert_int_equal(fwrite(bytes, 1, n - 3, to), n - 3);
    fclose(to);
    free(bytes);
    halley_trace_free(trace);
    halley_feeder *f = NULL;
    const halley_feeder_opts opts = {.chunk_nodes = 16};
    halley_error err = {0};
    assert_int_equal(halley_feeder_open(&f, path, &opts, &err), HALLEY_OK);
    (void)unlink(path);
    halley_status status = HALLEY_OK;
    uint32_t n_fed = 0;
    for (bool found = true; status == HALLEY_OK && found;) {
        halley_feed_node got;
        status = halley_feeder_take(f, &got, &found, &err);
        if (status == HALLEY_OK && found) {
            assert_int_equal(halley_feeder_finish(f, got.id, &err), HALLEY_OK);
            n_fed++;
        }
    }
    assert_int_equal(status, HALLEY_EFORMAT);
    assert_true(err.has_offset && err.offset > n / 2 && err.offset < n);
    assert_in_range(n_fed, 200, 299);
    halley_feeder_free(f);
}

/* Drain, trying again once where memory ran out: a failed take changes nothing. */
static halley_status open_and_drain(void *context, halley_error *err)
{
    const char *path = context;
    const halley_feeder_opts opts = {.chunk_nodes = 70};
    halley_feeder *f = NULL;
    halley_status status = halley_feeder_open(&f, path, &opts, err);
    uint64_t n = 0;
    bool again = false;
    for (bool found = true; status == HALLEY_OK && found;) {
        halley_feed_node got;
        status = halley_feeder_take(f, &got, &found, err);
        if (status == HALLEY_ENOMEM && !again) {
            again = true;
            status = HALLEY_OK;
            continue;
        }
        if (status != HALLEY_OK || !found)
            break;
        assert_int_equal(halley_feeder_finish(f, got.id, NULL), HALLEY_OK);
        n++;
    }
    if (status == HALLEY_OK)
        assert_int_equal(n, 300);
    halley_feeder_free(f);
    return status;
}

static halley_status feed_whole(void *context, halley_error *err)
{
    halley_feeder *f = NULL;
    const halley_status status = halley_feeder_new(&f, context, NULL, err);
    halley_feeder_free(f);
    return status;
}

static void a_feeder_without_memory_says_so_and_loses_nothing(void **state)
{
    (void)state;
    static plain g;
    char path[64];
    chain(&g, 300);
    for (uint32_t i = 0; i + 200 < 300; i += 3) { /* waits far ahead, and sparse chunks */
        g.at[i + 200].ctrl[g.at[i + 200].n_ctrl++] = i;
        g.at[i].n_data = 0;
    }
    halley_trace *trace = build(&g);
    temp_path(path, sizeof path);
    assert_int_equal(halley_trace_save_et(trace, path, NULL), HALLEY_OK);
    assert_true(alloc_fail_everywhere(open_and_drain, path) > 20);
    (void)unlink(path);
    halley_trace_free(trace);

    for (uint32_t i = 0; i < 150; i++) { /* ids out of order: sorted */
        const plain_node keep = g.at[i];
        g.at[i] = g.at[299 - i];
        g.at[299 - i] = keep;
    }
    trace = build(&g);
    assert_true(alloc_fail_everywhere(feed_whole, trace) > 5);
    halley_trace_free(trace);
}

/* Feed in waves (take all that are free, then finish them) and print as the goldens do.
 */
static char *waves(halley_feeder *f, bool v3)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    uint64_t *ids = calloc(1 << 20, sizeof *ids);
    uint64_t total = 0, n_waves = 0;
    for (;;) {
        halley_feed_node got;
        bool found = true;
        uint32_t n = 0;
        while (halley_feeder_take(f, &got, &found, NULL) == HALLEY_OK && found) {
            fprintf(to, "%llu\n", (unsigned long long)got.id);
            ids[n++] = got.id;
        }
        if (n == 0)
            break;
        fprintf(to, "wave %u\n", n);
        for (uint32_t i = 0; i < n; i++)
            assert_int_equal(halley_feeder_finish(f, ids[i], NULL), HALLEY_OK);
        total += n;
        n_waves++;
    }
    fprintf(to, "total %llu", (unsigned long long)total);
    if (v3)
        fprintf(to, " waves %llu", (unsigned long long)n_waves);
    fputc('\n', to);
    fclose(to);
    free(ids);
    return text;
}

/* The whole output of a command; "" when it fails. */
static char *output_of(const char *command)
{
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size), *from = popen(command, "r");
    for (int c; from && (c = fgetc(from)) != EOF;)
        fputc(c, to);
    if (from)
        pclose(from);
    fclose(to);
    return text;
}

static const char *const recordings[] = {
    "chakra_unit_102", "param_pt2_et",  "torch113_cnn",         "torch113_ddp2",
    "torch113_dlrm",   "torch113_mlp",  "torch113_transformer", "resnet_ddp_103",
    "dlrm8_dev",       "rec_event_sync"};

static void real_traces_are_fed_in_the_waves_of_chakras_feeders(void **state)
{
    (void)state;
    char shared[400];
    const char *root = getenv("HALLEY_SOURCE_ROOT");
    snprintf(shared, sizeof shared, "%s/../shared", root ? root : ".");
    char path[512], command[1200];
    uint32_t n_compared = 0;
    for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++) {
        for (uint32_t v3 = 0; v3 < 2; v3++) {
            snprintf(command, sizeof command,
                     "xz -dc %s/data/chakra/%s/chakra.0.feed%s_wave.txt.xz 2>/dev/null",
                     shared, recordings[i], v3 ? "v3" : "");
            char *want = output_of(command);
            /* FeederV3 refuses traces with dangling control dependencies. */
            if (want[0] == 0 || strncmp(want, "EXC", 3) == 0) {
                free(want);
                continue;
            }
            snprintf(command, sizeof command,
                     "xz -dc %s/data/chakra/%s/chakra.0.et.xz > %s", shared,
                     recordings[i], temp_path(path, sizeof path));
            assert_int_equal(system(command), 0);
            const halley_feeder_opts opts = {
                .deps = v3 ? HALLEY_FEED_BOTH : HALLEY_FEED_DATA, .chunk_nodes = 1000};
            halley_feeder *f = NULL;
            assert_int_equal(halley_feeder_open(&f, path, &opts, NULL), HALLEY_OK);
            char *got = waves(f, v3);
            halley_feeder_free(f);
            (void)unlink(path);
            assert_string_equal(got, want);
            free(got);
            free(want);
            n_compared++;
        }
    }
    if (n_compared == 0) {
        print_message("no recordings beside the source tree: not compared\n");
        skip();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_graphs_are_fed_as_by_the_reference),
        cmocka_unit_test(random_files_are_streamed_as_by_the_reference),
        cmocka_unit_test(a_chain_streams_in_a_window_of_a_few_nodes),
        cmocka_unit_test(a_full_window_is_an_error_that_finishing_cures),
        cmocka_unit_test(a_node_can_be_finished_only_while_taken),
        cmocka_unit_test(a_stuck_feeder_names_the_missing_node),
        cmocka_unit_test(a_stuck_feeder_names_a_cycle),
        cmocka_unit_test(a_node_that_waits_for_itself_is_named),
        cmocka_unit_test(two_nodes_of_one_id_are_refused),
        cmocka_unit_test(ids_that_do_not_ascend_are_loaded_whole_or_refused),
        cmocka_unit_test(a_file_cut_in_a_later_chunk_fails_there),
        cmocka_unit_test(a_feeder_without_memory_says_so_and_loses_nothing),
        cmocka_unit_test(real_traces_are_fed_in_the_waves_of_chakras_feeders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
