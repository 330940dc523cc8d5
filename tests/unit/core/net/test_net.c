/* How long messages are under way. */
#include "hw/cluster.h"
#include "net/net.h"
#include "unit.h"

enum { MOST = 64 };
typedef struct log {
    const des_queue *q;
    uint64_t at[MOST], what[MOST];
    uint32_t count;
} log;

static void note(void *context, uint64_t what)
{
    log *l = context;
    l->at[l->count] = l->q->now;
    l->what[l->count++] = what;
}

/* Send each (from, to, bytes) at time 0 and run the queue dry. */
static void run_messages(log *l, halley_cluster *c, const char *model,
                         const uint32_t (*messages)[3], uint32_t n_messages)
{
    des_queue q = {0};
    net *n;
    des_event e;
    const net_options o = {.ticks_per_s = 1e9, .deliver = note, .context = l};
    c->n_npus = 1;
    for (uint32_t d = 0; d < c->n_dims; d++)
        c->n_npus *= c->dims[d].n;
    *l = (log){.q = &q};
    assert_int_equal(net_new(&n, net_model_find(model), c, &q, &o, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < n_messages; i++)
        net_send(n, messages[i][0], messages[i][1], messages[i][2], (uint64_t)i << 4);
    while (des_queue_pop(&q, &e)) {
        if ((e.event & NET_KIND_MASK) >= NET_KIND_ARRIVE)
            net_event(n, e.event);
        else
            note(l, e.event);
    }
    assert_false(q.failed);
    net_free(n);
    des_queue_fini(&q);
}

static cluster_dim dim(cluster_topology topology, uint32_t n)
{
    return (cluster_dim){.topology = topology, .n = n, .bw_Bps = 1e9, .latency_ns = 100};
}

static void a_free_message_pays_hops_and_bytes_once(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 2,
                        .astra = true,
                        .dims = {dim(CLUSTER_RING, 6), dim(CLUSTER_SWITCH, 4)}};
    const uint32_t messages[][3] = {
        {0, 1, 50}, {0, 3, 50}, {0, 5, 50}, {0, 6, 50}, {0, 7, 50}};
    const uint64_t at[] = {150, 150, 150, 250, 350}; /* in order of arrival */
    log l;
    run_messages(&l, &c, "unaware", messages, 5);
    assert_int_equal(l.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(l.at[i], at[i]);
    assert_int_equal(l.what[2] >> 4,
                     4); /* both dimensions differ: the first one counts */
    run_messages(&l, &c, "free", messages, 5);
    assert_int_equal(l.at[4], 350); /* the native model counts both */
    assert_int_equal(l.what[4] >> 4, 4);
}

static void models_are_found_by_their_words_old_and_new(void **state)
{
    (void)state;
    assert_string_equal(net_model_find("contention-free")->name, "free");
    assert_string_equal(net_model_find("link-queue")->name, "queue");
    assert_true(net_model_find("free") == net_model_find("contention-free"));
    assert_true(net_model_find("unaware")->astra && net_model_find("aware")->astra);
    assert_false(net_model_find("free")->astra || net_model_find("queue")->astra);
    assert_null(net_model_find("packets"));
}

/* What a model offers it must do: the delay it fixes is the delay it takes, unless heat
 * is kept, which needs every message. */
static uint64_t count_part(const net *n, uint32_t i)
{
    net_part_use part;
    assert_true(net_describe_part(&part, n, i));
    return part.n_messages;
}

static void a_fixed_delay_is_the_delay_of_a_message(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 2,
                        .n_npus = 24,
                        .dims = {dim(CLUSTER_RING, 6), dim(CLUSTER_SWITCH, 4)}};
    const char *const words[] = {"unaware", "free"};
    for (int i = 0; i < 2; i++) {
        for (int heat = 0; heat < 2; heat++) {
            des_queue q = {0};
            des_event e;
            net *n;
            log l = {.q = &q};
            const net_options o = {
                .ticks_per_s = 1e9, .deliver = note, .context = &l, .keep_heat = heat};
            assert_int_equal(net_new(&n, net_model_find(words[i]), &c, &q, &o, NULL),
                             HALLEY_OK);
            assert_int_equal(net_can(n, NET_CAN_FIX_DELAY), !heat);
            for (uint32_t to = 1; to < c.n_npus; to++) {
                const uint64_t at = q.now + net_delay(n, 0, to, 1000);
                net_send(n, 0, to, 1000, to << 4);
                assert_true(des_queue_pop(&q, &e));
                assert_int_equal(e.at, at);
            }
            /* ASTRA-sim's counts in the first dimension only, the native one in all. */
            assert_int_equal(count_part(n, 0) + count_part(n, 1),
                             i == 0 ? c.n_npus - 1 : c.n_npus - 1 + 5 * 3);
            net_heat kept = net_take_heat(n);
            assert_int_equal(net_heat_count(&kept, q.now) > 0, heat);
            net_heat_fini(&kept);
            net_free(n);
            des_queue_fini(&q);
        }
    }
}

/* Send each (from, to, bytes) at time 0 with picoseconds as ticks. */
static void run_flows(log *l, halley_cluster *c, const uint32_t (*messages)[3],
                      uint32_t n_messages)
{
    des_queue q = {0};
    net *n;
    des_event e;
    const net_options o = {.ticks_per_s = 1e12, .deliver = note, .context = l};
    c->n_npus = 1;
    for (uint32_t d = 0; d < c->n_dims; d++)
        c->n_npus *= c->dims[d].n;
    *l = (log){.q = &q};
    assert_int_equal(net_new(&n, net_model_find("flow"), c, &q, &o, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < n_messages; i++)
        net_send(n, messages[i][0], messages[i][1], messages[i][2], (uint64_t)i << 4);
    while (des_queue_pop(&q, &e)) {
        if ((e.event & NET_KIND_MASK) >= NET_KIND_ARRIVE)
            net_event(n, e.event);
        else
            note(l, e.event);
    }
    assert_false(q.failed);
    net_free(n);
    des_queue_fini(&q);
}

static void flows_share_links_and_cut_through(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 1, .dims = {dim(CLUSTER_SWITCH, 4)}};
    /* Two into NPU 2 share its link; the third has its links to itself. */
    const uint32_t messages[][3] = {{0, 2, 50000}, {1, 2, 50000}, {2, 3, 50000}};
    log l;
    run_flows(&l, &c, messages, 3);
    assert_int_equal(l.count, 3);
    assert_int_equal(l.what[0] >> 4, 2);
    assert_int_equal(l.at[0], 50000 * 1000 + 200 * 1000);
    for (uint32_t i = 1; i < 3; i++)
        assert_int_equal(l.at[i], 100000 * 1000 + 200 * 1000);
    /* Over two dimensions: the latencies of all hops, the bytes once. */
    halley_cluster two = {.n_dims = 2,
                          .dims = {dim(CLUSTER_RING, 6), dim(CLUSTER_SWITCH, 4)}};
    const uint32_t far[][3] = {{0, 8, 50000}, {1, 1 + 6, 0}};
    run_flows(&l, &two, far, 2);
    assert_int_equal(l.at[0], 2 * 100000); /* no bytes: latency alone */
    assert_int_equal(l.at[1], 50000 * 1000 + 4 * 100 * 1000);
}

static void a_link_sends_one_message_at_a_time(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 1, .dims = {dim(CLUSTER_SWITCH, 4)}};
    const uint32_t messages[][3] = {{0, 1, 50}, {0, 2, 50}, {3, 2, 50}};
    const uint64_t at[] = {300, 300, 350};
    const uint32_t who[] = {0, 2, 1};
    log l;
    run_messages(&l, &c, "queue", messages, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(l.at[i], at[i]);
        assert_int_equal(l.what[i] >> 4, who[i]);
    }
}

static void a_ring_takes_the_shorter_way_and_up_at_a_tie(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 1, .dims = {dim(CLUSTER_RING, 4)}};
    const uint32_t messages[][3] = {{0, 2, 50}, {0, 1, 50}, {0, 3, 50}};
    log l;
    run_messages(&l, &c, "queue", messages, 3);
    assert_int_equal(l.what[0] >> 4, 2);
    assert_int_equal(l.at[0], 150); /* the other way: nobody before it */
    assert_int_equal(l.at[1], 200); /* behind the one that goes up */
    assert_int_equal(l.at[2], 300);
}

static void several_dimensions_are_crossed_innermost_first(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 2,
                        .dims = {dim(CLUSTER_FULLY_CONNECTED, 4), dim(CLUSTER_RING, 5)}};
    const uint32_t messages[][3] = {{0, 11, 10}};
    log l;
    run_messages(&l, &c, "queue", messages, 1);
    assert_int_equal(l.at[0], 3 * 110); /* 0 -> 3 at once, then two steps of the ring */
}

static void heat_is_kept_when_bins_are_joined(void **state)
{
    (void)state;
    net_heat h;
    float total = 0;
    assert_true(net_heat_init(&h, 2, 10));
    net_heat_add(&h, 1, 5, 10); /* half in the first bin, half in the second */
    assert_true(net_heat_get(&h, 1, 0) == 0.5 && net_heat_get(&h, 1, 1) == 0.5);
    net_heat_add(&h, 1, 10 * NET_HEAT_BINS, 7);
    assert_int_equal(h.bin_ticks, 20);
    assert_true(h.busy[NET_HEAT_BINS] == 10);
    assert_true(h.busy[NET_HEAT_BINS + NET_HEAT_BINS / 2] == 7);
    for (uint32_t i = 0; i < NET_HEAT_BINS; i++)
        total += h.busy[i];
    assert_true(total == 0);
    net_heat_fini(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_free_message_pays_hops_and_bytes_once),
        cmocka_unit_test(models_are_found_by_their_words_old_and_new),
        cmocka_unit_test(a_fixed_delay_is_the_delay_of_a_message),
        cmocka_unit_test(flows_share_links_and_cut_through),
        cmocka_unit_test(a_link_sends_one_message_at_a_time),
        cmocka_unit_test(a_ring_takes_the_shorter_way_and_up_at_a_tie),
        cmocka_unit_test(heat_is_kept_when_bins_are_joined),
        cmocka_unit_test(several_dimensions_are_crossed_innermost_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
