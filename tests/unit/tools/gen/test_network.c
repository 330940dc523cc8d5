/* Network models and topology generators that a program brings. */
#include "halley/network.h"
#include "halley/sim.h"
#include "halley/topology.h"
#include "halley/trace_gen.h"
#include "unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static halley_cluster *parse(const char *text)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_parse(&c, text, strlen(text), "c", &err) != HALLEY_OK)
        fail_msg("%s: %s", text, err.text);
    return c;
}

static halley_trace_set *generate(const char *pattern, uint32_t n, const char *size)
{
    halley_gen *gen = NULL;
    halley_trace_set *set = NULL;
    assert_int_equal(halley_gen_new(&gen, pattern, n, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_set(gen, "size", size, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_traces(&set, gen, NULL), HALLEY_OK);
    halley_gen_free(gen);
    return set;
}

static halley_status run(uint64_t *finish, const char *cluster, const char *pattern,
                         uint32_t n, const halley_sim_opts *opts, halley_error *err)
{
    halley_cluster *c = parse(cluster);
    halley_trace_set *set = generate(pattern, n, "8 MB");
    halley_result *result;
    const halley_status status = halley_sim_run(&result, set, c, opts, err);
    if (status == HALLEY_OK) {
        *finish = 0;
        for (uint32_t i = 0; i < n; i++)
            if (halley_result_rank(result, i).finish > *finish)
                *finish = halley_result_rank(result, i).finish;
        halley_result_free(result);
    }
    halley_trace_set_free(set);
    halley_cluster_free(c);
    return status;
}

/* ---- a model: routes without contention, the arrivals by wake-ups ---- */

typedef struct lone {
    halley_network *run;
    int *n_calls; /* of open, start, event, flush, close */
    int wrong;    /* which mistake it makes */
    uint64_t at[64];
} lone;
enum { OPEN, START, EVENT, FLUSH, CLOSE, N_CALLS };
typedef struct lone_context {
    int n_calls[N_CALLS];
    int wrong;
} lone_context;

static halley_status lone_open(void **state, halley_network *r, void *context,
                               halley_error *err)
{
    lone_context *c = context;
    lone *l = calloc(1, sizeof *l);
    (void)err;
    *l = (lone){.run = r, .n_calls = c->n_calls, .wrong = c->wrong};
    l->n_calls[OPEN]++;
    *state = l;
    return HALLEY_OK;
}

static double least_Bps(lone *l, const halley_network_hop *hops, size_t n)
{
    double least = HUGE_VAL;
    for (size_t i = 0; i < n; i++) {
        halley_topology_link link;
        halley_topology_get_link(&link, halley_network_graph(l->run), hops[i].link);
        least = fmin(least, link.bw_Bps / hops[i].share);
    }
    return least;
}

static void lone_start(void *state, const halley_network_request *r)
{
    lone *l = state;
    const halley_network_hop *hops;
    size_t n;
    double latency_s;
    const uint64_t now = halley_network_now(l->run);
    l->n_calls[START]++;
    if (l->wrong == 1)
        halley_network_arrive(l->run, r->id + 1000, now);
    if (l->wrong == 2)
        halley_network_wake(l->run, now, UINT64_MAX);
    if (l->wrong == 3)
        return;             /* it never arrives */
    if (r->n_members > 0) { /* a collective: a microsecond */
        halley_network_arrive(l->run, r->id, now + 1000000);
        return;
    }
    assert_int_equal(
        halley_network_route(&hops, &n, &latency_s, l->run, r->from, r->to, NULL),
        HALLEY_OK);
    const double s = latency_s + r->bytes / least_Bps(l, hops, n);
    assert_true(r->id < 64);
    halley_network_wake(l->run, now + (uint64_t)floor(s * 1e12 + 0.5), r->id);
}

static void lone_event(void *state, uint64_t word)
{
    lone *l = state;
    l->n_calls[EVENT]++;
    halley_network_arrive(l->run, (uint32_t)word, halley_network_now(l->run));
}

static void lone_flush(void *state)
{
    ((lone *)state)->n_calls[FLUSH]++;
}

static void lone_close(void *state)
{
    ((lone *)state)->n_calls[CLOSE]++;
    free(state);
}

static const halley_network_ops lone_model = {.name = "lone",
                                              .open = lone_open,
                                              .start = lone_start,
                                              .event = lone_event,
                                              .flush = lone_flush,
                                              .close = lone_close};

static const char switch_text[] = "npus: 8\nnetwork: [{topology: switch, size: 8, "
                                  "bandwidth: 50 GB/s, latency: 700 ns}]\n";

static void an_own_model_without_contention_equals_free(void **state)
{
    (void)state;
    static const char *const patterns[] = {"all-reduce", "all-to-all", "all-gather"};
    for (int i = 0; i < 3; i++) {
        uint64_t want = 0, got = 0;
        lone_context context = {0};
        assert_int_equal(run(&want, switch_text, patterns[i], 8,
                             &(halley_sim_opts){.network = HALLEY_NETWORK_FREE}, NULL),
                         HALLEY_OK);
        assert_int_equal(run(&got, switch_text, patterns[i], 8,
                             &(halley_sim_opts){.network_ops = &lone_model,
                                                .network_context = &context},
                             NULL),
                         HALLEY_OK);
        assert_true(llabs((long long)(got - want)) <= 16); /* a tick for each step */
        assert_int_equal(context.n_calls[OPEN], 1);
        assert_int_equal(context.n_calls[CLOSE], 1);
        assert_int_equal(context.n_calls[START], context.n_calls[EVENT]);
        assert_true(context.n_calls[START] >= 8 * 7 && context.n_calls[FLUSH] > 0);
    }
}

static void a_model_that_can_gets_whole_collectives(void **state)
{
    (void)state;
    lone_context context = {0};
    uint64_t finish;
    halley_network_ops whole = lone_model;
    whole.capabilities = HALLEY_NETWORK_CAN_BUNDLES;
    assert_int_equal(
        run(&finish, switch_text, "all-reduce", 8,
            &(halley_sim_opts){.network_ops = &whole, .network_context = &context}, NULL),
        HALLEY_OK);
    assert_int_equal(finish, 1000000);
    assert_int_equal(context.n_calls[START], 1);
}

static void mistakes_of_a_model_end_the_run_with_a_sentence(void **state)
{
    (void)state;
    static const struct {
        int wrong;
        const char *text;
    } cases[] = {{1, "network model lone: it reports the arrival of a message that is "
                     "not under way"},
                 {2, "network model lone: it asks to be woken with a word above 2^60"},
                 {3, "the simulation cannot finish"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lone_context context = {.wrong = cases[i].wrong};
        halley_error err = {0};
        uint64_t finish;
        assert_true(run(&finish, switch_text, "all-reduce", 8,
                        &(halley_sim_opts){.network_ops = &lone_model,
                                           .network_context = &context},
                        &err) != HALLEY_OK);
        if (strstr(err.text, cases[i].text) == NULL)
            fail_msg("%s", err.text);
        assert_int_equal(context.n_calls[CLOSE], 1);
    }
    halley_error err = {0};
    uint64_t finish;
    assert_int_equal(run(&finish, switch_text, "all-reduce", 8,
                         &(halley_sim_opts){.network_ops = &(halley_network_ops){0}},
                         &err),
                     HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "needs name, open and start"));
}

/* ---- a generator ---- */

static halley_status build_cube(halley_topology_builder *b, uint32_t n, void *context,
                                halley_error *err)
{
    const int wrong = *(const int *)context;
    (void)err;
    halley_topology_add_devices(
        b, &(halley_topology_devices){.name = "npu",
                                      .kind = wrong == 1 ? "gpu" : "npu",
                                      .n = wrong == 2 ? n + 1 : n,
                                      .forwards = true});
    const uint32_t kind = halley_topology_add_kind(
        b, &(halley_topology_cables){
               .name = "edge", .bw_Bps = wrong == 3 ? 0 : 50e9, .latency_s = 500e-9});
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t bit = 1; bit < n; bit <<= 1)
            if ((i & bit) == 0 && !(wrong == 4 && bit == 1))
                halley_topology_add_cable(b, i, wrong == 5 ? i : i | bit, kind);
    return HALLEY_OK;
}

static void a_generator_of_ones_own_is_a_network(void **state)
{
    (void)state;
    int right = 0;
    const halley_topology_ops cube = {"hypercube", build_cube, &right};
    halley_topology *t;
    halley_topology_report *report;
    assert_int_equal(halley_topology_generate(&t, &cube, 16, NULL), HALLEY_OK);
    assert_int_equal(halley_topology_measure(&report, t, HALLEY_TOPOLOGY_CUTS, NULL),
                     HALLEY_OK);
    assert_int_equal(report->links, 32);
    assert_int_equal(report->diameter_hops, 4);
    assert_true(fabs(report->half_cut_Bps - 8 * 50e9) < 1);
    halley_topology_report_free(report);
    halley_topology_free(t);
}

/* Each pair of 16 NPUs exchanges 0.5 MB over 32/15 links in the mean: 8 pairs use a link
 * in each direction. */
static void no_collective_moves_more_than_its_links_can(void **state)
{
    (void)state;
    int right = 0;
    const halley_topology_ops cube = {"hypercube", build_cube, &right};
    halley_cluster *c = parse("npus: 16\nnetwork: [{topology: ring, size: 16, "
                              "bandwidth: 50 GB/s}]\n");
    halley_trace_set *set = generate("all-to-all", 16, "8 MB");
    halley_result *result;
    assert_int_equal(halley_cluster_set_topology(c, &cube, NULL), HALLEY_OK);
    assert_int_equal(halley_sim_run(&result, set, c, NULL, NULL), HALLEY_OK);
    const double s =
        (double)halley_result_rank(result, 0).finish / halley_result_ticks_per_s(result);
    const double least = 8 * 0.5e6 / 50e9;
    assert_true(s >= least && s < 1.2 * least);
    assert_true(halley_result_links(result) == 64);
    for (uint32_t i = 0; i < 64; i++)
        assert_true(fabs(halley_result_link(result, i).bytes - 4e6) < 1);
    halley_result_free(result);
    char *text = NULL;
    halley_error err = {0};
    assert_int_equal(halley_cluster_print(&text, c, &err), HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "made by a program (topology hypercube)"));
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

static void mistakes_of_a_generator_are_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        NULL,
        "topology hypercube: devices \"npu\": kind must be npu, nic, switch",
        "16 NPUs were asked for, and it has 17",
        "cables \"edge\" need a name, a positive bandwidth (0 B/s given)",
        "npu0 cannot reach npu1",
        "a cable of kind 0 joins devices 0 and 0",
    };
    for (int wrong = 1; wrong < 6; wrong++) {
        const halley_topology_ops cube = {"hypercube", build_cube, &wrong};
        halley_topology *t;
        halley_error err = {0};
        assert_true(halley_topology_generate(&t, &cube, 16, &err) != HALLEY_OK);
        if (strstr(err.text, texts[wrong]) == NULL)
            fail_msg("%d: %s", wrong, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_own_model_without_contention_equals_free),
        cmocka_unit_test(a_model_that_can_gets_whole_collectives),
        cmocka_unit_test(mistakes_of_a_model_end_the_run_with_a_sentence),
        cmocka_unit_test(a_generator_of_ones_own_is_a_network),
        cmocka_unit_test(no_collective_moves_more_than_its_links_can),
        cmocka_unit_test(mistakes_of_a_generator_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
