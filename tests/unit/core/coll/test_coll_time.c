/* Laws and a few measured points of collectives in closed form. */
#include "coll/time.h"
#include "hw/link.h"
#include "unit.h"

#include <math.h>
#include <string.h>

static halley_link link_of(const char *name)
{
    halley_link up;
    halley_error err = {0};
    if (cluster_link_load(&up, name, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return up;
}

static halley_fabric fabric_of(const char *name)
{
    halley_fabric out;
    halley_error err = {0};
    if (cluster_fabric_load(&out, name, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return out;
}

static const halley_fabric none = {.bandwidth_Bps = 1, .share = 1};

static double bus(const halley_link *up, coll_kind kind, uint32_t n, double bytes)
{
    const coll_call c = {.kind = kind, .bytes = bytes, .n = n};
    const double factor = kind == COLL_ALL_REDUCE ? 2 : 1;
    return factor * (n - 1.0) / n * bytes / coll_call_time(up, &none, &c);
}

static void a_group_of_one_or_an_empty_message_is_free(void **state)
{
    (void)state;
    const halley_link up = link_of("nvlink3-a100");
    coll_call c = {.kind = COLL_ALL_REDUCE, .bytes = 1e6, .n = 1};
    assert_true(coll_call_time(&up, &none, &c) == 0);
    c = (coll_call){.kind = COLL_ALL_REDUCE, .bytes = 0, .n = 8};
    assert_true(coll_call_time(&up, &none, &c) == 0);
}

/* 8 GPUs, 512 MB, GB/s on the bus, as measured (aiconfigurator tables). */
static void bus_bandwidth_is_what_was_measured(void **state)
{
    (void)state;
    static const struct {
        const char *link;
        coll_kind kind;
        double GBps;
    } points[] = {
        {"nvlink3-a100", COLL_ALL_REDUCE, 222},
        {"nvlink3-a100", COLL_ALL_GATHER, 205},
        {"nvlink3-a100", COLL_ALL_TO_ALL, 203},
        {"nvlink4-h100", COLL_ALL_REDUCE, 445},
        {"nvlink4-h100", COLL_REDUCE_SCATTER, 336},
        {"nvlink5-b200", COLL_ALL_REDUCE, 704},
        {"nvlink5-b200", COLL_ALL_GATHER, 617},
    };
    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        const halley_link up = link_of(points[i].link);
        const double got = bus(&up, points[i].kind, 8, 512 * 1048576.0) / 1e9;
        assert_true(fabs(got / points[i].GBps - 1) < 0.07);
    }
}

static void the_switch_reduces_from_five_ranks_on(void **state)
{
    (void)state;
    const halley_link up = link_of("nvlink4-h100");
    for (uint32_t n = 2; n <= 8; n++) {
        const coll_call c = {.kind = COLL_ALL_REDUCE, .bytes = 1 << 30, .n = n};
        assert_int_equal(strcmp(coll_call_choice(&up, &c), "in-switch") == 0, n >= 5);
    }
}

static void integers_are_never_reduced_in_the_switch(void **state)
{
    (void)state;
    const halley_link up = link_of("nvlink4-h100");
    const coll_call c = {
        .kind = COLL_ALL_REDUCE, .bytes = 1 << 30, .n = 8, .integer = true};
    assert_string_not_equal(coll_call_choice(&up, &c), "in-switch");
}

static void larger_messages_take_longer(void **state)
{
    (void)state;
    const halley_link up = link_of("nvlink5-b200");
    const halley_fabric out = fabric_of("ib-ndr");
    for (int kind = COLL_ALL_REDUCE; kind <= COLL_SEND; kind++)
        for (uint32_t per_node = 1; per_node <= 8; per_node *= 8)
            for (double bytes = 1 << 20; bytes < 1e10; bytes *= 4) {
                coll_call c = {.kind = (coll_kind)kind,
                               .bytes = bytes,
                               .n = 8,
                               .per_node = per_node};
                const double t = coll_call_time(&up, &out, &c);
                c.bytes *= 4;
                assert_true(coll_call_time(&up, &out, &c) > t);
            }
}

static void between_nodes_the_cards_are_the_limit(void **state)
{
    (void)state;
    const halley_link up = link_of("nvlink4-h100");
    const halley_fabric out = fabric_of("ib-ndr");
    /* 32 ranks on 4 nodes: every node sends 2 (n-1)/n of the data through 8 cards */
    const coll_call c = {.kind = COLL_ALL_REDUCE, .bytes = 16e9, .n = 32, .per_node = 8};
    const double least = 2 * 31.0 / 32 * 16e9 / (8 * out.bandwidth_Bps * 1.06);
    assert_true(coll_call_time(&up, &out, &c) >= least);
    assert_true(coll_call_time(&up, &out, &c) < 1.5 * least);
}

static void copies_for_one_node_travel_once(void **state)
{
    (void)state;
    const halley_link up = link_of("nvlink4-h100");
    const halley_fabric out = fabric_of("ib-ndr");
    coll_call c = {.kind = COLL_ALL_TO_ALL, .bytes = 1e9, .n = 64, .per_node = 8};
    const double all = coll_call_time(&up, &out, &c);
    c.remote_share = 0.5;
    assert_true(coll_call_time(&up, &out, &c) < 0.6 * all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_of_one_or_an_empty_message_is_free),
        cmocka_unit_test(bus_bandwidth_is_what_was_measured),
        cmocka_unit_test(the_switch_reduces_from_five_ranks_on),
        cmocka_unit_test(integers_are_never_reduced_in_the_switch),
        cmocka_unit_test(larger_messages_take_longer),
        cmocka_unit_test(between_nodes_the_cards_are_the_limit),
        cmocka_unit_test(copies_for_one_node_travel_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
