/* Events as words: every field comes back, at its limits, too; and the tables of rows
 * that a run is made of are complete. */
#include "coll/algo.h"
#include "sim/coll/phases.h"
#include "sim/event.h"
#include "unit.h"

static const uint32_t fields[] = {0, 1, 77, SIM_FIELD_END / 2, SIM_FIELD_END - 1};
static const uint32_t wide[] = {0, 1, SIM_FIELD_END, UINT32_MAX - 1, UINT32_MAX};
enum { N = 5 };

static void packets_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < N * N * N; i++) {
        const uint32_t a = fields[i % N], b = fields[i / N % N], c = fields[i / N / N];
        const uint64_t events[] = {sim_event_arrival(a, b, c),
                                   sim_event_reduction(a, b, c), sim_event_received(a, b),
                                   sim_event_token(a, b)};
        const sim_kind kinds[] = {SIM_ARRIVE, SIM_REDUCE, SIM_RECEIVED, SIM_TOKEN};
        for (int k = 0; k < 4; k++) {
            const sim_packet_event e = sim_event_read_packet(events[k]);
            assert_int_equal(sim_event_kind(events[k]), kinds[k]);
            assert_int_equal(e.op, a);
            assert_int_equal(e.member, b);
            assert_int_equal(e.step, k < 2 ? c : 0);
        }
        const sim_bus_event bus = sim_event_read_bus(sim_event_bus(a, b, c));
        assert_true(bus.npu == a && bus.unit == b && bus.step == c);
    }
}

static void nodes_and_indexes_come_back(void **state)
{
    (void)state;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < N; k++) {
            const uint64_t events[] = {sim_event_node(fields[i], wide[k]),
                                       sim_event_custom(fields[i], wide[k])};
            for (int j = 0; j < 2; j++) {
                const sim_node_event e = sim_event_read_node(events[j]);
                assert_int_equal(sim_event_kind(events[j]),
                                 j == 0 ? SIM_NODE : SIM_CUSTOM);
                assert_int_equal(e.owner, fields[i]);
                assert_int_equal(e.node, wide[k]);
            }
        }
        const uint64_t events[] = {
            sim_event_transfer(wide[i]), sim_event_send_later(wide[i]),
            sim_event_recv_later(wide[i]), sim_event_start(wide[i])};
        const sim_kind kinds[] = {SIM_TRANSFER, SIM_SEND_LATER, SIM_RECV_LATER,
                                  SIM_START};
        for (int j = 0; j < 4; j++) {
            assert_int_equal(sim_event_kind(events[j]), kinds[j]);
            assert_int_equal(sim_event_read_index(events[j]), wide[i]);
        }
        assert_int_equal(sim_event_read_calls(sim_event_calls(fields[i])), fields[i]);
        assert_int_equal(sim_event_read_memory(sim_event_memory(fields[i])), fields[i]);
    }
}

static void no_event_is_the_network_s(void **state)
{
    (void)state;
    assert_true((SIM_EVENT_NONE & NET_KIND_MASK) < NET_KIND_ARRIVE);
    assert_true((sim_event_start(UINT32_MAX) & NET_KIND_MASK) < NET_KIND_ARRIVE);
    /* The largest event of all leaves no bit for another field. */
    assert_int_equal(
        sim_event_arrival(SIM_FIELD_END - 1, SIM_FIELD_END - 1, SIM_FIELD_END - 1) >> 4,
        UINT64_MAX >> 4);
}

/* Every algorithm has what the simulator calls, however messages find their receivers. */
static void every_algorithm_has_its_row(void **state)
{
    (void)state;
    halley_cluster c = {.n_dims = 1, .n_npus = 2};
    c.dims[0] =
        (cluster_dim){.topology = CLUSTER_SWITCH, .n = 2, .bw_Bps = 1e9, .latency_ns = 1};
    static const char *const models[] = {"free", "queue"};
    for (int i = 0; i < 4; i++) {
        sim s = {.cluster = &c};
        const net_options o = {.ticks_per_s = 1e9};
        assert_int_equal(
            net_new(&s.net, net_model_find(models[i % 2]), &c, &s.queue, &o, NULL),
            HALLEY_OK);
        sim_phases_init(&s, i >= 2);
        for (int a = 0; a < CLUSTER_N_ALGOS; a++) {
            const bool plays_a_trace = a == CLUSTER_ALGO_CUSTOM;
            const bool has_no_messages = plays_a_trace || a == CLUSTER_ALGO_BUNDLE;
            assert_non_null(s.phases[a].start);
            assert_non_null(s.phases[a].is_called);
            assert_int_equal(s.phases[a].fire == NULL, plays_a_trace);
            assert_int_equal(s.phases[a].receive == NULL, has_no_messages);
        }
        assert_true((s.phases[CLUSTER_ALGO_RING].start == sim_ring_fixed_ops.start) ==
                    (i == 0));
        net_free(s.net);
        des_queue_fini(&s.queue);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packets_come_back),
        cmocka_unit_test(nodes_and_indexes_come_back),
        cmocka_unit_test(no_event_is_the_network_s),
        cmocka_unit_test(every_algorithm_has_its_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
