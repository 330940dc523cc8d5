/* How long messages are under way. */
#include "hw/cluster.h"
#include "net/net.h"
#include "unit.h"

enum { MOST = 64 };
typedef struct log {
    net *n;
    uint64_t at[MOST], what[MOST];
    uint32_t count;
} log;

static void note(void *context, uint64_t what)
{
    log *l = context;
    l->at[l->count] = l->n->queue->now;
    l->what[l->count++] = what;
}

/* Send each (from, to, bytes) at time 0 and run the queue dry. */
static void run(log *l, halley_cluster *c, bool links, const uint32_t (*messages)[3],
                uint32_t n_messages)
{
    des_queue q = {0};
    net n;
    des_event e;
    c->n_npus = 1;
    for (uint32_t d = 0; d < c->n_dims; d++)
        c->n_npus *= c->dims[d].n;
    assert_int_equal(net_init(&n, c, links, 1e9, &q, NULL), HALLEY_OK);
    *l = (log){.n = &n};
    n.deliver = note;
    n.context = l;
    for (uint32_t i = 0; i < n_messages; i++)
        net_send(&n, messages[i][0], messages[i][1], messages[i][2], (uint64_t)i << 4);
    while (des_queue_pop(&q, &e)) {
        if ((e.event & NET_KIND_MASK) >= NET_KIND_ARRIVE)
            net_handle(&n, e.event);
        else
            note(l, e.event);
    }
    assert_false(q.failed);
    net_fini(&n);
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
    run(&l, &c, false, messages, 5);
    assert_int_equal(l.count, 5);
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(l.at[i], at[i]);
    assert_int_equal(l.what[2] >> 4,
                     4); /* both dimensions differ: the first one counts */
}

static void a_link_sends_one_message_at_a_time(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 1, .dims = {dim(CLUSTER_SWITCH, 4)}};
    const uint32_t messages[][3] = {{0, 1, 50}, {0, 2, 50}, {3, 2, 50}};
    const uint64_t at[] = {300, 300, 350};
    const uint32_t who[] = {0, 2, 1};
    log l;
    run(&l, &c, true, messages, 3);
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
    run(&l, &c, true, messages, 3);
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
    run(&l, &c, true, messages, 1);
    assert_int_equal(l.at[0], 3 * 110); /* 0 -> 3 at once, then two steps of the ring */
}

static void heat_is_kept_when_bins_are_joined(void **state)
{
    (void)state;
    net_heat h;
    float total = 0;
    assert_true(net_heat_init(&h, 2, 10));
    net_heat_add(&h, 1, 5, 10); /* half in the first bin, half in the second */
    assert_true(h.busy[NET_HEAT_BINS] == 5 && h.busy[NET_HEAT_BINS + 1] == 5);
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
        cmocka_unit_test(a_link_sends_one_message_at_a_time),
        cmocka_unit_test(a_ring_takes_the_shorter_way_and_up_at_a_tie),
        cmocka_unit_test(heat_is_kept_when_bins_are_joined),
        cmocka_unit_test(several_dimensions_are_crossed_innermost_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
