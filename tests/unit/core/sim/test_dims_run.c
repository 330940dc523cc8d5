/* Simulations on random lists of dimensions: collectives that are alone take the time of
 * their closed form, and folded runs are equal to those of all ranks. */
#include "cases.h"
#include "coll/dims.h"
#include "halley/sim.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static halley_bytes bytes_of(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

static uint32_t draw(uint64_t *seed, uint32_t n)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33) % n;
}

static halley_cluster *cluster_of(const char *text)
{
    halley_cluster *c = NULL;
    halley_error err = {0};
    if (halley_cluster_parse(&c, text, strlen(text), "n.yaml", &err) != HALLEY_OK)
        fail_msg("%s: %s", err.text, text);
    return c;
}

/* Up to three dimensions of up to 8 NPUs each. */
static halley_cluster *draw_cluster(uint64_t *seed)
{
    static const char *const topologies[] = {"ring", "fully-connected", "switch"};
    char text[1024];
    int n = snprintf(text, sizeof text, "name: n\nnpu: h100-sxm-80gb\nnetwork: [");
    const uint32_t n_dims = 1 + draw(seed, 3);
    for (uint32_t d = 0; d < n_dims; d++) {
        const uint32_t topology = draw(seed, 3);
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s{topology: %s, size: %u, bandwidth: %u GB/s, latency: %u ns%s}",
                      d > 0 ? ", " : "", topologies[topology], 2 + draw(seed, 7),
                      10 + draw(seed, 500), draw(seed, 2000),
                      topology == 2 && draw(seed, 2)
                          ? ", in-network: [all-reduce, all-gather], in-network-delay: "
                            "200 ns"
                          : "");
    }
    const uint32_t chunks = 1 + draw(seed, 8);
    snprintf(text + n, sizeof text - (size_t)n,
             "]\nsystem: {chunks: %u, active-chunks: %u%s}\n", chunks,
             1 + draw(seed, chunks),
             draw(seed, 2) ? ", all-reduce-plan: every-dimension" : "");
    return cluster_of(text);
}

/* The ticks of one collective of all NPUs. */
static uint64_t run(halley_cluster *c, int64_t coll, uint64_t bytes, bool folds)
{
    halley_builder *b;
    halley_trace *t;
    halley_trace_set *set;
    halley_result *r;
    halley_error err = {0};
    const uint32_t n = halley_cluster_npus(c);
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_node(b, 1, HALLEY_NODE_COLL, bytes_of("x"));
    halley_builder_attr_i64(b, "comm_type", coll);
    halley_builder_attr_u64(b, "comm_size", bytes);
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    halley_trace **all = malloc(n * sizeof *all);
    assert_non_null(all);
    for (uint32_t i = 0; i < n; i++)
        all[i] = i == 0 ? t : halley_trace_keep(t);
    assert_int_equal(halley_trace_set_new(&set, all, n, NULL), HALLEY_OK);
    free(all);
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_AS_CLUSTER,
                                  .no_fold = !folds};
    if (halley_sim_run(&r, set, c, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    const uint64_t finish = halley_result_rank(r, n - 1).finish;
    halley_result_free(r);
    halley_trace_set_free(set);
    return finish;
}

static void a_collective_alone_takes_its_closed_form(void **state)
{
    static const struct {
        int64_t type;
        coll_kind kind;
    } colls[] = {{HALLEY_COLL_ALL_REDUCE, COLL_ALL_REDUCE},
                 {HALLEY_COLL_REDUCE_SCATTER, COLL_REDUCE_SCATTER},
                 {HALLEY_COLL_ALL_GATHER, COLL_ALL_GATHER},
                 {HALLEY_COLL_ALL_TO_ALL, COLL_ALL_TO_ALL}};
    uint64_t seed = 7;
    (void)state;
    for (uint32_t i = 0; i < cases_count(300); i++) {
        halley_cluster *c = draw_cluster(&seed);
        const uint32_t k = draw(&seed, 4);
        const uint64_t bytes = 1 + draw(&seed, 1u << (10 + draw(&seed, 16)));
        const coll_dims d = coll_dims_all(c);
        coll_call call = {.kind = colls[k].kind, .bytes = (double)bytes, .n = c->n_npus};
        if (call.kind == COLL_ALL_GATHER)
            call.bytes *= call.n;
        const double form_ticks = coll_dims_time(&d, &call) * 1e12;
        const uint64_t folded = run(c, colls[k].type, bytes, true);
        const uint64_t unfolded = run(c, colls[k].type, bytes, false);
        assert_int_equal(folded, unfolded);
        if (fabs((double)folded - form_ticks) > 3 + 1e-9 * form_ticks)
            fail_msg("case %u: %llu ticks, form %.0f", i, (unsigned long long)folded,
                     form_ticks);
        halley_cluster_free(c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_collective_alone_takes_its_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
