/* The flow solver against flows that were computed in 50-digit decimals
 * (tests/data/flow-oracle.json.gz), a slow solver on random networks, and the contention
 * scenarios (tests/data/contention-scenarios.json.gz). */
#include "base/conf/conf.h"
#include "base/file/file.h"
#include "base/number/number.h"
#include "base/pool.h"
#include "base/rng.h"
#include "flow_reference.h"
#include "net/flow/cases.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const char *data_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/data/%s", getenv("HALLEY_SOURCE_ROOT"), name);
    return path;
}

static void check_oracle_flow(const net_flow_case *c, uint32_t i,
                              const net_case_result *r)
{
    const net_case_flow *f = &c->flows[i];
    const double tolerance =
        1e-9 * (f->want_drain_s - f->start_s) + ((double)f->want_events + 1) * 1e-12;
    if (f->want_rate_Bps >= 0 &&
        fabs(r->rate_Bps - f->want_rate_Bps) > 1e-9 * f->want_rate_Bps)
        fail_msg("%s flow %u: rate %.12g, not %.12g B/s", c->id, i, r->rate_Bps,
                 f->want_rate_Bps);
    if (!(fabs(r->drain_s - f->want_drain_s) <= tolerance) ||
        !(fabs(r->finish_s - f->want_finish_s) <= tolerance))
        fail_msg("%s flow %u: drain %.15g, not %.15g s", c->id, i, r->drain_s,
                 f->want_drain_s);
}

static void all_cases_of_the_oracle_are_met(void **state)
{
    (void)state;
    net_flow_cases *cases;
    halley_error err = {0};
    uint32_t n_flows = 0;
    if (net_flow_cases_load(&cases, data_path("flow-oracle.json.gz"), &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_int_equal(cases->n, 400);
    for (uint32_t i = 0; i < cases->n; i++) {
        const net_flow_case *c = &cases->at[i];
        net_case_result *results = calloc(c->n_flows + 1, sizeof *results);
        if (net_flow_case_run(results, c, &(net_flow_options){0}, &err) != HALLEY_OK)
            fail_msg("%s: %s", c->id, err.text);
        for (uint32_t k = 0; k < c->n_flows; k++)
            check_oracle_flow(c, k, &results[k]);
        n_flows += c->n_flows;
        free(results);
    }
    assert_int_equal(n_flows, 12981);
    net_flow_cases_free(cases);
}

/* A random case: few links, so that flows meet; routes, coefficients, caps, sizes, starts
 * and changes of every kind, with many ties. */
typedef struct random_case {
    net_flow_case c;
    double caps[64];
    net_case_flow flows[64];
    net_flow_hop hops[64][16];
    net_case_change changes[4];
} random_case;

static double random_rate(rng *r, uint32_t kind)
{
    if (kind == 0)
        return 1e9 * (double)(1 + rng_below(r, 4));
    return floor(exp(log(1e6) + rng_unit(r) * log(1e5)));
}

static void make_route(random_case *x, rng *r, uint32_t i, bool odd)
{
    static const uint64_t coefficients[] = {NET_FLOW_ONE / 2, NET_FLOW_ONE / 3,
                                            NET_FLOW_ONE,     3 * NET_FLOW_ONE,
                                            NET_FLOW_ONE / 7, NET_FLOW_ONE / 4};
    bool used[64] = {false};
    const uint32_t n = 1 + (uint32_t)rng_below(r, x->c.n_links < 6 ? x->c.n_links : 6);
    for (uint32_t k = 0; k < n; k++) {
        const uint32_t link = (uint32_t)rng_below(r, x->c.n_links);
        if (used[link])
            continue;
        used[link] = true;
        x->hops[i][x->flows[i].n_hops++] =
            (net_flow_hop){link, odd ? coefficients[rng_below(r, 6)] : NET_FLOW_ONE};
    }
    x->flows[i].hops = x->hops[i];
}

static void make_case(random_case *x, rng *r)
{
    memset(x, 0, sizeof *x);
    const uint32_t kind = (uint32_t)rng_below(r, 2), when = (uint32_t)rng_below(r, 3);
    const bool odd = rng_below(r, 2) == 0, capped = rng_below(r, 3) == 0;
    x->c = (net_flow_case){.id = "random",
                           .n_links = 1 + (uint32_t)rng_below(r, 12),
                           .n_flows = 1 + (uint32_t)rng_below(r, 40),
                           .link_Bps = x->caps,
                           .flows = x->flows,
                           .changes = x->changes,
                           .n_changes = rng_below(r, 4) == 0 ? 3 : 0};
    for (uint32_t i = 0; i < x->c.n_links; i++)
        x->caps[i] = random_rate(r, kind);
    for (uint32_t i = 0; i < x->c.n_flows; i++) {
        net_case_flow *f = &x->flows[i];
        make_route(x, r, i, odd);
        f->bytes = kind == 0 ? 1e6 * (double)(1 + rng_below(r, 3))
                             : (double)(1 + rng_below(r, 50000000));
        f->start_s = when == 0 ? 0 : (double)rng_below(r, when == 1 ? 4 : 1000000) * 1e-6;
        if (capped && rng_below(r, 2) == 0)
            f->cap_Bps = random_rate(r, kind);
    }
    for (uint32_t i = 0; i < x->c.n_changes; i++) {
        x->changes[i].at_s = (double)rng_below(r, 5000) * 1e-6;
        x->changes[i].link = (uint32_t)rng_below(r, x->c.n_links);
        x->changes[i].bw_Bps = i == 0 ? 0 : random_rate(r, kind);
    }
    if (x->c.n_changes > 0) /* nothing stays broken */
        x->changes[2] = (net_case_change){1e-2, x->caps[0], x->changes[0].link};
}

static uint32_t count_random_cases(void)
{
    const char *text = getenv("HALLEY_FLOW_CASES");
    return text != NULL ? (uint32_t)atoi(text) : 10000;
}

static void run_all(net_case_result *results, const net_flow_case *c, bool full)
{
    halley_error err;
    if (net_flow_case_run(results, c, &(net_flow_options){.full = full}, &err) !=
        HALLEY_OK)
        fail_msg("%s", err.text);
}

static void shuffle_flows(uint32_t *order, uint32_t n, rng *r)
{
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (uint32_t i = n; i > 1; i--) {
        const uint32_t j = (uint32_t)rng_below(r, i), t = order[i - 1];
        order[i - 1] = order[j];
        order[j] = t;
    }
}

/* The same flows in another order, with their routes backwards. */
static void check_order(random_case *x, const net_case_result *results, rng *r)
{
    static random_case y;
    uint32_t order[64];
    net_case_result again[64];
    y = *x;
    y.c.link_Bps = y.caps;
    y.c.flows = y.flows;
    y.c.changes = y.changes;
    shuffle_flows(order, x->c.n_flows, r);
    for (uint32_t i = 0; i < x->c.n_flows; i++) {
        y.flows[i] = x->flows[order[i]];
        y.flows[i].hops = y.hops[i];
        for (uint32_t h = 0; h < y.flows[i].n_hops; h++)
            y.hops[i][h] = x->hops[order[i]][y.flows[i].n_hops - 1 - h];
    }
    run_all(again, &y.c, false);
    for (uint32_t i = 0; i < x->c.n_flows; i++)
        if (again[i].drain_tick != results[order[i]].drain_tick ||
            again[i].rate_Bps != results[order[i]].rate_Bps)
            fail_msg("another order gives another end of flow %u", order[i]);
}

static void random_networks_agree_with_the_slow_solver(void **state)
{
    (void)state;
    static random_case x;
    const uint32_t n = count_random_cases();
    for (uint32_t seed = 0; seed < n; seed++) {
        rng r = rng_seed(seed);
        net_case_result results[64], full[64];
        uint64_t drains[64];
        make_case(&x, &r);
        run_all(results, &x.c, false);
        run_all(full, &x.c, true);
        slow_run(drains, &x.c);
        for (uint32_t i = 0; i < x.c.n_flows; i++) {
            if (results[i].drain_tick != full[i].drain_tick ||
                results[i].rate_Bps != full[i].rate_Bps)
                fail_msg("seed %u flow %u: local and full solve differ", seed, i);
            if (results[i].drain_tick != drains[i])
                fail_msg("seed %u flow %u: ends at %llu, not %llu", seed, i,
                         (unsigned long long)results[i].drain_tick,
                         (unsigned long long)drains[i]);
        }
        check_order(&x, results, &r);
    }
}

enum { THREAD_CASES = 200 };

/* Runs a random case, and compares it with what one thread found. */
typedef struct thread_job {
    net_case_result (*first)[64]; /* by case */
    bool is_first;
} thread_job;

static halley_status run_on_thread(void *context, size_t i, uint32_t worker,
                                   halley_error *err)
{
    (void)worker;
    const thread_job *const j = context;
    random_case *x = malloc(sizeof *x);
    rng r = rng_seed(i);
    net_case_result results[64] = {0};
    make_case(x, &r);
    halley_status status = net_flow_case_run(results, &x->c, &(net_flow_options){0}, err);
    for (uint32_t k = 0; status == HALLEY_OK && k < x->c.n_flows; k++) {
        if (j->is_first)
            j->first[i][k] = results[k];
        else if (memcmp(&j->first[i][k].drain_tick, &results[k].drain_tick,
                        sizeof results[k].drain_tick) != 0 ||
                 memcmp(&j->first[i][k].rate_Bps, &results[k].rate_Bps,
                        sizeof results[k].rate_Bps) != 0)
            status = HALLEY_EINVAL;
    }
    free(x);
    return status;
}

static void any_number_of_threads_gives_the_same_bytes(void **state)
{
    (void)state;
    static net_case_result first[THREAD_CASES][64];
    thread_job j = {first, true};
    assert_int_equal(pool_run(1, THREAD_CASES, run_on_thread, &j, NULL), HALLEY_OK);
    j.is_first = false;
    for (uint32_t n = 1; n <= 4; n *= 2)
        assert_int_equal(pool_run(n, THREAD_CASES, run_on_thread, &j, NULL), HALLEY_OK);
}

/* One scenario: messages that start when those they depend on have arrived. */
typedef struct scenario {
    const conf_node *messages;
    uint32_t n;
    uint32_t *n_waiting; /* dependencies that have not arrived */
    uint64_t *ready, *arrival;
    net_flow *solver;
} scenario;

static double number_or(const conf_node *map, const char *key, double other)
{
    const conf_node *node = conf_find(map, key);
    double value = other;
    if (node != NULL && node->kind == CONF_SCALAR)
        assert_true(number_read(node->text, &value));
    return value;
}

static uint32_t index_at(const conf_node *list, uint32_t i)
{
    uint64_t value;
    assert_true(str_to_u64(list->items[i]->text, &value));
    return (uint32_t)value;
}

/* The longest way over the links of a route, which is no path when it is sprayed. */
static double longest_way(const conf_node *links, const net_flow_hop *hops, uint32_t n)
{
    static double far[65536];
    double longest = 0;
    memset(far, 0, sizeof far);
    for (uint32_t pass = 0; pass < n; pass++)
        for (uint32_t h = 0; h < n; h++) {
            const conf_node *link = links->items[hops[h].link];
            double link_s;
            assert_true(number_read(link->items[3]->text, &link_s));
            const uint32_t from = index_at(link, 0), to = index_at(link, 1);
            far[to] = fmax(far[to], far[from] + link_s);
            longest = fmax(longest, far[to]);
        }
    return longest;
}

static void start_message(scenario *s, const conf_node *links, uint32_t i)
{
    const conf_node *m = s->messages->items[i], *route = conf_find(m, "route");
    net_flow_hop hops[256];
    for (uint32_t h = 0; h < route->n; h++) {
        const conf_node *hop = route->items[h];
        const bool split = hop->kind == CONF_LIST;
        uint64_t link, num = 1, den = 1;
        assert_true(str_to_u64(split ? hop->items[0]->text : hop->text, &link));
        if (split) {
            num = index_at(hop, 1);
            den = index_at(hop, 2);
        }
        hops[h] = (net_flow_hop){(uint32_t)link, num * NET_FLOW_ONE / den};
    }
    const double latency = number_or(m, "latency", longest_way(links, hops, route->n));
    s->arrival[i] = (uint64_t)llround(latency * 1e12); /* added to the drain later */
    const uint32_t id = net_flow_class(s->solver, hops, route->n, number_or(m, "cap", 0));
    assert_true(net_flow_start(s->solver, id, number_or(m, "bytes", 0), i) !=
                NET_FLOW_NONE);
}

static uint64_t run_scenario(const conf_node *c)
{
    const conf_node *links = conf_find(c, "links"), *changes = conf_find(c, "changes");
    scenario s = {.messages = conf_find(c, "messages")};
    double caps[4096];
    uint64_t last = 0;
    s.n = s.messages->n;
    s.n_waiting = calloc(s.n, sizeof *s.n_waiting);
    s.ready = calloc(s.n, sizeof *s.ready);
    s.arrival = calloc(s.n, sizeof *s.arrival);
    uint64_t *arrived = calloc(s.n, sizeof *arrived); /* tick, 0 = not yet */
    bool *started = calloc(s.n, sizeof *started), *counted = calloc(s.n, sizeof *counted);
    for (uint32_t i = 0; i < links->n; i++)
        assert_true(number_read(links->items[i]->items[2]->text, &caps[i]));
    assert_int_equal(
        net_flow_new(&s.solver, caps, links->n, &(net_flow_options){0}, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < s.n; i++) {
        const conf_node *deps = conf_find(s.messages->items[i], "deps");
        s.n_waiting[i] = deps != NULL ? deps->n : 0;
        s.ready[i] =
            (uint64_t)llround(number_or(s.messages->items[i], "delay", 0) * 1e12);
    }
    uint32_t next_change = 0;
    for (;;) {
        /* the next start, arrival, end or change */
        uint64_t now = net_flow_next(s.solver);
        for (uint32_t i = 0; i < s.n; i++) {
            if (!started[i] && s.n_waiting[i] == 0 && s.ready[i] < now)
                now = s.ready[i];
            if (arrived[i] > 0 && !counted[i] && arrived[i] < now)
                now = arrived[i];
        }
        double change_s = 0;
        if (changes != NULL && next_change < changes->n) {
            assert_true(
                number_read(changes->items[next_change]->items[0]->text, &change_s));
            if ((uint64_t)llround(change_s * 1e12) < now)
                now = (uint64_t)llround(change_s * 1e12);
        }
        if (now == NET_FLOW_NEVER)
            break;
        const net_flow_end *ends;
        const uint32_t n_ends = net_flow_advance(s.solver, now, &ends);
        for (uint32_t i = 0; i < n_ends; i++) {
            const uint32_t m = (uint32_t)ends[i].context;
            arrived[m] = now + s.arrival[m];
            last = arrived[m] > last ? arrived[m] : last;
        }
        for (uint32_t i = 0; i < s.n; i++) {
            const conf_node *deps = conf_find(s.messages->items[i], "deps");
            for (uint32_t d = 0; !started[i] && deps != NULL && d < deps->n; d++) {
                const uint32_t on = index_at(deps, d);
                if (arrived[on] > 0 && arrived[on] == now && !counted[on] &&
                    --s.n_waiting[i] == 0)
                    s.ready[i] += now;
            }
        }
        for (uint32_t i = 0; i < s.n; i++)
            counted[i] |= arrived[i] > 0 && arrived[i] == now;
        for (uint32_t i = 0; i < s.n; i++)
            if (!started[i] && s.n_waiting[i] == 0 && s.ready[i] == now) {
                started[i] = true;
                start_message(&s, links, i);
            }
        while (changes != NULL && next_change < changes->n &&
               (uint64_t)llround(change_s * 1e12) == now) {
            double bw;
            assert_true(number_read(changes->items[next_change]->items[2]->text, &bw));
            assert_true(
                net_flow_change(s.solver, index_at(changes->items[next_change], 1), bw));
            if (++next_change < changes->n)
                assert_true(
                    number_read(changes->items[next_change]->items[0]->text, &change_s));
        }
        assert_true(net_flow_settle(s.solver));
        assert_int_equal(net_flow_certify(s.solver, NULL), HALLEY_OK);
    }
    for (uint32_t i = 0; i < s.n; i++)
        assert_true(arrived[i] > 0);
    net_flow_free(s.solver);
    free(s.n_waiting);
    free(s.ready);
    free(s.arrival);
    free(arrived);
    free(started);
    free(counted);
    return last;
}

static void thirty_contention_scenarios_take_their_time(void **state)
{
    (void)state;
    file_input in;
    conf_file file;
    halley_error err;
    assert_int_equal(
        file_input_open(&in, data_path("contention-scenarios.json.gz"), &err), HALLEY_OK);
    if (conf_parse(&file, (str){(const char *)in.at, in.n}, "scenarios.json", &err) !=
        HALLEY_OK)
        fail_msg("%s", err.text);
    const conf_node *list = conf_find(file.root, "scenarios");
    assert_int_equal(list->n, 30);
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *c = list->items[i], *expect = conf_find(c, "expect");
        const double want = number_or(expect, "flow_s", -1);
        const double events = number_or(expect, "events", 0);
        const double got = (double)run_scenario(c) / 1e12;
        if (!(fabs(got - want) <= 1e-9 * want + (events + 1) * 1e-12))
            fail_msg("%s: %.12g s, not %.12g s", conf_find(c, "id")->text.at, got, want);
    }
    conf_fini(&file);
    file_input_close(&in);
}

/* One link, flows of one class. */
static net_flow *one_link(double bw_Bps)
{
    net_flow *f;
    assert_int_equal(net_flow_new(&f, &bw_Bps, 1, &(net_flow_options){0}, NULL),
                     HALLEY_OK);
    return f;
}

static void a_million_flows_on_one_link_end_together(void **state)
{
    (void)state;
    net_flow *f = one_link(50e9);
    const net_flow_hop hop = {0, NET_FLOW_ONE};
    const uint32_t id = net_flow_class(f, &hop, 1, 0);
    const net_flow_end *ends;
    for (uint32_t i = 0; i < 1000000; i++)
        assert_true(net_flow_start(f, id, 1000, i) != NET_FLOW_NONE);
    assert_true(net_flow_settle(f));
    assert_int_equal(net_flow_certify(f, NULL), HALLEY_OK);
    const uint64_t tick = net_flow_next(f);
    assert_true(fabs((double)tick - 1e9 / 50e9 * 1e12) <= 1e-9 * (double)tick);
    assert_int_equal(net_flow_advance(f, tick, &ends), 1000000);
    assert_true(net_flow_settle(f));
    assert_int_equal(net_flow_count(f), 0);
    assert_true(fabs(net_flow_link_bytes(f, 0) - 1e9) < 1e-3);
    net_flow_free(f);
}

static void very_slow_and_very_fast_links_keep_their_rates(void **state)
{
    (void)state;
    static const double rates[] = {1e3, 1e6, 50e9, 100e12, 128e12};
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        net_flow *f = one_link(rates[i]);
        const net_flow_hop hop = {0, NET_FLOW_ONE};
        const uint32_t id = net_flow_class(f, &hop, 1, 0);
        net_flow_start(f, id, 1e6, 0);
        assert_true(net_flow_settle(f));
        assert_true(fabs(net_flow_rate_Bps(f, id) - rates[i]) < 1e-8 * rates[i]);
        net_flow_free(f);
    }
    net_flow *f;
    halley_error err;
    const double slow = 10;
    assert_int_equal(net_flow_new(&f, &slow, 1, &(net_flow_options){0}, &err),
                     HALLEY_EINVAL);
    assert_non_null(strstr(err.text, "link 0"));
}

static void coefficients_from_small_to_large_share_a_link(void **state)
{
    (void)state;
    net_flow *f = one_link(50e9);
    const net_flow_hop small = {0, NET_FLOW_ONE >> 20}, large = {0, NET_FLOW_ONE << 17};
    const uint32_t a = net_flow_class(f, &small, 1, 0),
                   b = net_flow_class(f, &large, 1, 0);
    for (uint32_t i = 0; i < 1000; i++)
        net_flow_start(f, i % 2 == 0 ? a : b, 1e6, i);
    assert_true(net_flow_settle(f));
    assert_int_equal(net_flow_certify(f, NULL), HALLEY_OK);
    assert_true(net_flow_level(f, a) == net_flow_level(f, b));
    const double want = 50e9 / (500 * (0x1p17 + 0x1p-20));
    assert_true(fabs(net_flow_rate_Bps(f, a) - want) < 1e-8 * want);
    net_flow_free(f);
}

static void a_link_without_capacity_stalls_and_is_named(void **state)
{
    (void)state;
    const double caps[] = {1e9, 0};
    net_flow *f;
    assert_int_equal(net_flow_new(&f, caps, 2, &(net_flow_options){0}, NULL), HALLEY_OK);
    const net_flow_hop hops[] = {{0, NET_FLOW_ONE}, {1, NET_FLOW_ONE}};
    const uint32_t id = net_flow_class(f, hops, 2, 0);
    const net_flow_end *ends;
    net_flow_start(f, id, 1e6, 7);
    assert_true(net_flow_settle(f));
    assert_true(net_flow_next(f) == NET_FLOW_NEVER);
    assert_int_equal(net_flow_stalled_link(f), 1);
    net_flow_advance(f, 1000, &ends);
    assert_true(net_flow_change(f, 1, 1e9));
    assert_true(net_flow_settle(f));
    assert_int_equal(net_flow_next(f), 1000 + 1000000000);
    net_flow_free(f);
}

static void a_canceled_flow_leaves_its_share_to_the_others(void **state)
{
    (void)state;
    net_flow *f = one_link(1e9);
    const net_flow_hop hop = {0, NET_FLOW_ONE};
    const uint32_t id = net_flow_class(f, &hop, 1, 0);
    const net_flow_end *ends;
    const uint32_t first = net_flow_start(f, id, 1e6, 0);
    const uint32_t other = net_flow_start(f, id, 2e6, 1);
    (void)first;
    assert_true(net_flow_settle(f));
    net_flow_advance(f, 1000000000, &ends); /* 1 ms: half a megabyte each */
    net_flow_cancel(f, other);
    assert_true(net_flow_settle(f));
    assert_int_equal(net_flow_next(f), 1500000000);
    assert_int_equal(net_flow_advance(f, 1500000000, &ends), 1);
    assert_int_equal(ends[0].context, 0);
    assert_true(net_flow_settle(f));
    assert_true(fabs(net_flow_link_bytes(f, 0) - 1.5e6) < 1);
    net_flow_free(f);
}

static void quantum_rounds_ends_up(void **state)
{
    (void)state;
    net_flow *f;
    const double cap = 1e9;
    assert_int_equal(
        net_flow_new(&f, &cap, 1, &(net_flow_options){.quantum = 1000000}, NULL),
        HALLEY_OK);
    const net_flow_hop hop = {0, NET_FLOW_ONE};
    net_flow_start(f, net_flow_class(f, &hop, 1, 0), 1e6 + 1, 0);
    assert_true(net_flow_settle(f));
    assert_int_equal(net_flow_next(f), 1001000000);
    net_flow_free(f);
}

typedef struct wrong {
    const char *text, *says;
} wrong;
static const wrong wrongs[] = {
    {"[]", "object with cases"},
    {"{}", "no \"cases\""},
    {"{\"cases\": [{\"links\": [[0, 1, 5, 0]]}]}", "1 kB/s"},
    {"{\"cases\": [{\"links\": [[0, 1, -5e9, 0]]}]}", "1 kB/s"},
    {"{\"cases\": [{\"links\": [[0, 1]]}]}", "[from, to, B/s, s]"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]], \"flows\": [{\"bytes\": 1, \"route\": "
     "[1]}]}]}",
     "does not exist"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]], \"flows\": [{\"bytes\": -1, \"route\": "
     "[0]}]}]}",
     "bytes must be"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]], \"flows\": [{\"bytes\": 1}]}]}",
     "needs a route"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]], \"flows\": [{\"bytes\": 1, \"route\": "
     "[]}]}]}",
     "needs a cap"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]], \"flows\": [{\"bytes\": 1, \"route\": "
     "[[0, 1, 0]]}]}]}",
     "coefficient"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]], \"changes\": [[0, 1, 1e9]]}]}",
     "does not exist"},
    {"{\"cases\": [{\"links\": [[0,1,1e9,0]]}", ""},
    {"{\"cases\": [{}]} x", ""},
};

static void wrong_flow_files_are_refused_with_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof wrongs / sizeof *wrongs; i++) {
        net_flow_cases *cases;
        halley_error err = {0};
        const str text = str_from(wrongs[i].text);
        if (net_flow_cases_parse(&cases, text, &err) == HALLEY_OK)
            fail_msg("%s: was accepted", wrongs[i].text);
        if (strstr(err.text, wrongs[i].says) == NULL || err.text[0] == '\0')
            fail_msg("%s: \"%s\" does not say \"%s\"", wrongs[i].text, err.text,
                     wrongs[i].says);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_cases_of_the_oracle_are_met),
        cmocka_unit_test(random_networks_agree_with_the_slow_solver),
        cmocka_unit_test(any_number_of_threads_gives_the_same_bytes),
        cmocka_unit_test(thirty_contention_scenarios_take_their_time),
        cmocka_unit_test(a_million_flows_on_one_link_end_together),
        cmocka_unit_test(very_slow_and_very_fast_links_keep_their_rates),
        cmocka_unit_test(coefficients_from_small_to_large_share_a_link),
        cmocka_unit_test(a_link_without_capacity_stalls_and_is_named),
        cmocka_unit_test(a_canceled_flow_leaves_its_share_to_the_others),
        cmocka_unit_test(quantum_rounds_ends_up),
        cmocka_unit_test(wrong_flow_files_are_refused_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
