/* Broadcast, reduce, gather and scatter: their trees, times and volumes. */
#include "base/arena.h"
#include "coll/algo.h"
#include "coll/rooted.h"
#include "halley/sim.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static halley_bytes text(const char *s)
{
    return (halley_bytes){s, strlen(s)};
}

static halley_cluster *cluster_of(const char *yaml)
{
    char path[] = "/tmp/halley-test-XXXXXX";
    const int fd = mkstemp(path);
    halley_cluster *c = NULL;
    halley_error err = {0};
    assert_true(write(fd, yaml, strlen(yaml)) > 0);
    close(fd);
    if (halley_cluster_load(&c, path, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    unlink(path);
    return c;
}

typedef struct outcome {
    halley_status status;
    double seconds, bytes;
    char error[HALLEY_ERROR_TEXT];
} outcome;

/* One collective on all ranks; root < 0: the attribute is absent. */
static outcome run(int64_t coll, uint64_t size, int64_t root, const char *group,
                   const char *yaml)
{
    halley_cluster *c = cluster_of(yaml);
    halley_builder *b;
    halley_trace *t, *all[64];
    halley_trace_set *set;
    halley_result *r;
    halley_error err = {0};
    outcome o = {0};
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_node(b, 1, HALLEY_NODE_COLL, text("x"));
    halley_builder_attr_i64(b, "comm_type", coll);
    halley_builder_attr_u64(b, "comm_size", size);
    halley_builder_attr_text(b, "pg_name", text(group));
    if (root >= 0)
        halley_builder_attr_i64(b, "root", root);
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    const uint32_t n = halley_cluster_npus(c);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i == 0 ? t : halley_trace_keep(t);
    assert_int_equal(halley_trace_set_new(&set, all, n, NULL), HALLEY_OK);
    const halley_sim_opts opts = {.network = halley_cluster_network_model(c) ==
                                                     HALLEY_NETWORK_FLOW
                                                 ? HALLEY_NETWORK_FREE
                                                 : HALLEY_NETWORK_AS_CLUSTER};
    o.status = halley_sim_run(&r, set, c, &opts, &err);
    memcpy(o.error, err.text, sizeof o.error);
    for (uint32_t i = 0; o.status == HALLEY_OK && i < n; i++) {
        const double s =
            (double)halley_result_rank(r, i).finish / halley_result_ticks_per_s(r);
        o.seconds = s > o.seconds ? s : o.seconds;
    }
    for (uint32_t i = 0; o.status == HALLEY_OK && i < halley_result_dims(r); i++)
        o.bytes += halley_result_dim(r, i).bytes;
    if (o.status == HALLEY_OK)
        halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
    return o;
}

static void assert_near(double value, double wanted)
{
    if (!(value > wanted - 2e-11 && value < wanted + 2e-11))
        fail_msg("%.17g is not %.17g", value, wanted);
}

enum { SIZE = 1000000 }; /* 10 us on a link of 100 GB/s */
#define RING "network: [{topology: ring, size: 8, bandwidth: 100 GB/s, latency: 1 us}]\n"
#define SWITCH                                                                           \
    "network: [{topology: switch, size: 8, bandwidth: 100 GB/s, latency: 500 ns}]\n"
#define BOX                                                                              \
    "network: [{topology: switch, size: 4, bandwidth: 100 GB/s, latency: 500 ns},"       \
    "{topology: switch, size: 2, bandwidth: 10 GB/s, latency: 1 us}]\n"

static void trees_have_their_closed_forms(void **state)
{
    (void)state;
    static const struct {
        int64_t coll;
        const char *yaml;
        double us;
    } rows[] = {
        /* a chain of seven; in ten pieces they follow each other */
        {HALLEY_COLL_BROADCAST, RING, 7 * 11},
        {HALLEY_COLL_BROADCAST, RING "system: {chunks: 10}\n", 7 * 2 + 9},
        {HALLEY_COLL_REDUCE, RING, 7 * 11},
        /* a star: one after the other, the nearest neighbour last */
        {HALLEY_COLL_BROADCAST, RING "system: {algorithms: [direct]}\n", 7 * 10 + 1},
        {HALLEY_COLL_SCATTER, SWITCH "system: {algorithms: [direct]}\n", 7 * 1.25 + 1},
        /* all at once to the root; with queues its link takes one at a time */
        {HALLEY_COLL_GATHER, SWITCH "system: {algorithms: [direct]}\n", 10 + 1},
        {HALLEY_COLL_GATHER, SWITCH "system: {algorithms: [direct], model: link-queue}\n",
         8 * 10 + 1},
        /* a binomial tree: three rounds; of a scatter 4/8, 2/8, 1/8 */
        {HALLEY_COLL_BROADCAST, SWITCH "system: {algorithms: [halving-doubling]}\n",
         3 * 11},
        {HALLEY_COLL_REDUCE, SWITCH "system: {algorithms: [halving-doubling]}\n", 3 * 11},
        {HALLEY_COLL_SCATTER, SWITCH "system: {algorithms: [halving-doubling]}\n",
         8.75 + 3},
        /* a binary tree: 0 to 2 to 6, second child both times; or 0, 1, 3, 7 */
        {HALLEY_COLL_BROADCAST, SWITCH "system: {algorithms: [double-binary-tree]}\n",
         4 * 10 + 2},
        /* the outer dimension first, 102 us, then a chain of three */
        {HALLEY_COLL_BROADCAST, BOX, 102 + 3 * 11},
        {HALLEY_COLL_REDUCE, BOX, 102 + 3 * 11},
        /* a switch that multicasts: one message up, one down */
        {HALLEY_COLL_BROADCAST,
         "network: [{topology: switch, size: 8, bandwidth: 100 GB/s, latency: 500 ns, "
         "in-network: [broadcast]}]\n",
         2 * 10.5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const outcome o = run(rows[i].coll, SIZE, -1, "", rows[i].yaml);
        assert_string_equal(o.error, "");
        assert_near(o.seconds, rows[i].us * 1e-6);
    }
}

static void any_root_takes_as_long_on_a_symmetric_network(void **state)
{
    (void)state;
    for (int64_t root = 0; root < 8; root++) {
        for (int64_t coll = 0; coll < HALLEY_N_COLL_TYPES; coll++) {
            const outcome first = run(coll, SIZE, 0, "", BOX),
                          other = run(coll, SIZE, root, "", BOX);
            assert_string_equal(other.error, "");
            assert_near(other.seconds, first.seconds);
        }
    }
}

/* Whatever the shape, every member but the root gets (or gives) the data once. */
static void broadcast_and_reduce_move_the_data_once_per_member(void **state)
{
    (void)state;
    static const char *const shapes[] = {"ring", "direct", "halving-doubling",
                                         "double-binary-tree"};
    for (int i = 0; i < 4; i++) {
        char yaml[256];
        snprintf(yaml, sizeof yaml,
                 "network: [{topology: switch, size: 7, bandwidth: 1 GB/s}]\n"
                 "system: {algorithms: [%s]}\n",
                 shapes[i]);
        const outcome down = run(HALLEY_COLL_BROADCAST, SIZE, 3, "", yaml);
        const outcome up = run(HALLEY_COLL_REDUCE, SIZE, 3, "", yaml);
        assert_true(down.status == HALLEY_OK && up.status == HALLEY_OK);
        assert_true(down.bytes == 6.0 * SIZE && up.bytes == 6.0 * SIZE);
    }
}

static void the_root_must_be_a_member(void **state)
{
    (void)state;
    const outcome o = run(HALLEY_COLL_BROADCAST, SIZE, 8, "", BOX);
    assert_int_equal(o.status, HALLEY_EINVAL);
    assert_non_null(strstr(o.error, "root does not name a member of the collective"));
    const outcome r =
        run(HALLEY_COLL_GATHER, SIZE, 2, "", BOX "system: {rendezvous: true}\n");
    assert_non_null(strstr(r.error, "cannot use the rendezvous protocol"));
}

static void groups_have_roots(void **state)
{
    (void)state;
    const outcome o = run(HALLEY_COLL_BROADCAST, SIZE, 5, "4",
                          RING "groups: {4: [0, 7, 1, 6, 5, 2, 3, 4]}\n");
    assert_string_equal(o.error, "");
}

/* A switch answers when it has the root's data, also those who come later. */
static void late_members_find_the_broadcast_done(void **state)
{
    (void)state;
    halley_cluster *c = cluster_of(
        "network: [{topology: switch, size: 2, bandwidth: 100 GB/s, latency: 500 ns},"
        "{topology: switch, size: 4, bandwidth: 100 GB/s, latency: 500 ns, in-network: "
        "[broadcast]}]\nsystem: {collectives: steps}\n");
    halley_trace *all[8];
    halley_trace_set *set;
    halley_result *r;
    halley_error err = {0};
    for (uint32_t i = 0; i < 8; i++) {
        halley_builder *b;
        assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
        halley_builder_node(b, 1, HALLEY_NODE_COMP, text("x"));
        halley_builder_time(b, 0, i < 2 ? 0 : 100 * i);
        halley_builder_node(b, 2, HALLEY_NODE_COLL, text("x"));
        halley_builder_data(b, 1);
        halley_builder_attr_i64(b, "comm_type", HALLEY_COLL_BROADCAST);
        halley_builder_attr_u64(b, "comm_size", SIZE);
        assert_int_equal(halley_builder_finish(&all[i], b, NULL), HALLEY_OK);
    }
    assert_int_equal(halley_trace_set_new(&set, all, 8, NULL), HALLEY_OK);
    if (halley_sim_run(&r, set, c, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    assert_near((double)halley_result_rank(r, 6).finish * 1e-12, 610e-6); /* sends on */
    assert_near((double)halley_result_rank(r, 7).finish * 1e-12, 700e-6);
    halley_result_free(r);
    halley_trace_set_free(set);
    halley_cluster_free(c);
}

/* Of any number of places: parents and children agree, and the trees have all of them. */
static void parents_and_children_agree(void **state)
{
    (void)state;
    static const cluster_algo shapes[] = {CLUSTER_ALGO_RING, CLUSTER_ALGO_DIRECT,
                                          CLUSTER_ALGO_HALVING_DOUBLING,
                                          CLUSTER_ALGO_TREE};
    for (uint32_t n = 2; n < 40; n++) {
        for (int i = 0; i < 4; i++) {
            coll_phase p = {.n = n,
                            .stride = 3,
                            .root = (n / 2) * 3 + 1,
                            .rooted = COLL_ROOTED_GATHER,
                            .data_bytes = 1};
            const cluster_impl impl = {.algo = shapes[i]};
            const coll_fill_options options = {.impl = &impl};
            uint32_t n_edges = 0;
            uint64_t bytes = 0;
            assert_int_equal(coll_algo_get(CLUSTER_ALGO_ROOTED)->fill(&p, &options, NULL),
                             HALLEY_OK);
            for (uint32_t v = 0; v < n; v++) {
                const uint32_t member = v * 3 + 1;
                const coll_rooted_place at = coll_rooted_find(&p, member);
                assert_true(at.takes_part);
                assert_true(at.n_children <= p.n_sends);
                n_edges += at.n_children;
                uint64_t below = 1;
                for (uint32_t k = 0; k < at.n_children; k++) {
                    const uint32_t child = coll_rooted_child(&p, member, k);
                    const coll_rooted_place its = coll_rooted_find(&p, child);
                    assert_int_equal(its.parent, member);
                    assert_int_equal(its.child_index, k);
                    below += its.bytes;
                }
                assert_int_equal(at.bytes, below);
                bytes += at.parent == COLL_NONE ? at.bytes : 0;
            }
            assert_int_equal(n_edges, n - 1);
            assert_int_equal(bytes, n);
            assert_false(coll_rooted_find(&p, 0).takes_part);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trees_have_their_closed_forms),
        cmocka_unit_test(any_root_takes_as_long_on_a_symmetric_network),
        cmocka_unit_test(broadcast_and_reduce_move_the_data_once_per_member),
        cmocka_unit_test(the_root_must_be_a_member),
        cmocka_unit_test(groups_have_roots),
        cmocka_unit_test(late_members_find_the_broadcast_done),
        cmocka_unit_test(parents_and_children_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
