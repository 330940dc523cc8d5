/* A folded run against the run of all ranks, on random sets whose ranks do the same, on
 * random clusters. HALLEY_FOLD_CASES asks for more of them. */
#include "alloc_fail.h"
#include "base/rng.h"
#include "base/str.h"
#include "halley/cluster.h"
#include "halley/sim.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIMS = 3,
    MOST_RANKS = 64,
    MOST_FAMILIES = 4,
    MOST_NODES = 40,
    MOST_KINDS = 2
};

/* Groups that every rank is in one of. */
typedef struct family {
    uint32_t size;                 /* of a group */
    uint32_t group_of[MOST_RANKS]; /* number among the family's groups */
} family;

typedef struct node {
    uint32_t type;
    uint64_t us, bytes;
    int64_t coll;
    int32_t family; /* of its group; -1 = all ranks */
    uint32_t deps[2], n_deps;
} node;

typedef struct world {
    rng random;
    uint32_t n_dims, sizes[MOST_DIMS], n_ranks;
    family families[MOST_FAMILIES];
    uint32_t n_families;
    uint32_t n_kinds;
    node nodes[MOST_KINDS][MOST_NODES];
    uint32_t n_nodes[MOST_KINDS];
} world;

static uint32_t below(world *w, uint32_t n)
{
    return (uint32_t)rng_below(&w->random, n);
}

#define one_of(w, list) (list)[below(w, sizeof(list) / sizeof *(list))]

/* Ranks that agree in all dimensions but some: boxes of the network. */
static void fill_boxes(world *w, family *f)
{
    const uint32_t along = 1 + below(w, (1u << w->n_dims) - 1);
    f->size = 1;
    for (uint32_t d = 0; d < w->n_dims; d++)
        f->size *= along >> d & 1 ? w->sizes[d] : 1;
    for (uint32_t r = 0; r < w->n_ranks; r++) {
        uint32_t rest = r, group = 0, factor = 1;
        for (uint32_t d = 0; d < w->n_dims; rest /= w->sizes[d++]) {
            if (along >> d & 1)
                continue;
            group += rest % w->sizes[d] * factor;
            factor *= w->sizes[d];
        }
        f->group_of[r] = group;
    }
}

/* Rows of neighbours, or ranks at a distance, whatever the dimensions. */
static void fill_rows(world *w, family *f)
{
    const uint32_t halves = w->n_ranks % 8 == 0   ? below(w, 3)
                            : w->n_ranks % 4 == 0 ? below(w, 2)
                                                  : 0;
    f->size = w->n_ranks >> halves;
    const uint32_t n_groups = w->n_ranks / f->size;
    const bool apart = below(w, 2) == 0;
    for (uint32_t r = 0; r < w->n_ranks; r++)
        f->group_of[r] = apart ? r % n_groups : r / f->size;
}

/* Any ranks: looks alike from none. */
static void fill_mixed(world *w, family *f)
{
    fill_rows(w, f);
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t a = below(w, w->n_ranks), b = below(w, w->n_ranks);
        const uint32_t was = f->group_of[a];
        f->group_of[a] = f->group_of[b];
        f->group_of[b] = was;
    }
}

static node draw_node(world *w, uint32_t i)
{
    static const uint64_t times[] = {0, 1, 1, 2, 5, 20};
    static const uint64_t sizes[] = {1, 1000, 4096, 4096, 100000, 1 << 20};
    static const int64_t colls[] = {0, 0, 0, 2, 2, 6, 6, 7, 7, 9, 5};
    node n = {.type = below(w, 2) == 0 ? HALLEY_NODE_COMP : HALLEY_NODE_COLL,
              .us = one_of(w, times),
              .bytes = one_of(w, sizes),
              .coll = one_of(w, colls),
              .family = (int32_t)below(w, w->n_families + 1) - 1};
    if (below(w, 5) > 0 && n.coll == 5)
        n.coll = 0;
    if (below(w, 30) == 0)
        n.type = HALLEY_NODE_MEM_LOAD;
    for (uint32_t k = 0; k < 2 && i > 0; k++)
        if (below(w, 3) > 0)
            n.deps[n.n_deps++] = below(w, 2) == 0 ? i - 1 : below(w, i);
    return n;
}

static world draw_world(uint64_t seed)
{
    static const uint32_t sizes[] = {2, 2, 3, 4, 4, 8};
    world w = {.random = rng_seed(seed), .n_ranks = 1};
    w.n_dims = 1 + below(&w, MOST_DIMS);
    for (uint32_t d = 0; d < w.n_dims; d++) {
        w.sizes[d] = one_of(&w, sizes);
        if (w.n_ranks * w.sizes[d] > MOST_RANKS)
            w.n_dims = d;
        else
            w.n_ranks *= w.sizes[d];
    }
    w.n_families = below(&w, MOST_FAMILIES + 1);
    for (uint32_t i = 0; i < w.n_families; i++) {
        const uint32_t how = below(&w, 8);
        (how < 5 ? fill_boxes : how < 7 ? fill_rows : fill_mixed)(&w, &w.families[i]);
    }
    w.n_kinds = below(&w, 4) == 0 ? 2 : 1;
    const uint32_t n = 1 + below(&w, MOST_NODES);
    for (uint32_t k = 0; k < w.n_kinds; k++) {
        w.n_nodes[k] = n;
        for (uint32_t i = 0; i < n; i++)
            w.nodes[k][i] = draw_node(&w, i);
    }
    for (uint32_t i = 0; w.n_kinds == 2 && i < n; i++) { /* so that collectives meet */
        const node was = w.nodes[1][i];
        w.nodes[1][i] = w.nodes[0][i];
        if (was.type != HALLEY_NODE_COLL && w.nodes[0][i].type != HALLEY_NODE_COLL)
            w.nodes[1][i] = was;
    }
    return w;
}

/* Of the family: families count their groups on from each other. */
static uint32_t group_id(const world *w, uint32_t family_id, uint32_t rank)
{
    uint32_t before = 1;
    for (uint32_t i = 0; i < family_id; i++)
        before += w->n_ranks / w->families[i].size;
    return before + w->families[family_id].group_of[rank];
}

static halley_trace *make_trace(const world *w, uint32_t rank)
{
    const uint32_t kind = w->n_kinds == 2 && rank >= w->n_ranks / 2;
    halley_builder *b;
    halley_trace *t;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    for (uint32_t i = 0; i < w->n_nodes[kind]; i++) {
        const node *n = &w->nodes[kind][i];
        halley_builder_node(b, i, n->type, (halley_bytes){"x", 1});
        halley_builder_time(b, 0, n->type == HALLEY_NODE_COMP ? n->us : 0);
        for (uint32_t k = 0; k < n->n_deps; k++)
            halley_builder_data(b, n->deps[k]);
        halley_builder_attr_bool(b, "is_cpu_op", false);
        if (n->type == HALLEY_NODE_MEM_LOAD)
            halley_builder_attr_u64(b, "tensor_size", n->bytes);
        if (n->type != HALLEY_NODE_COLL)
            continue;
        char name[16] = "";
        if (n->family >= 0)
            snprintf(name, sizeof name, "%" PRIu32,
                     group_id(w, (uint32_t)n->family, rank));
        halley_builder_attr_i64(b, "comm_type", n->coll);
        halley_builder_attr_i64(b, "comm_size", (int64_t)n->bytes);
        if (n->family >= 0)
            halley_builder_attr_text(b, "pg_name", (halley_bytes){name, strlen(name)});
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    return t;
}

static halley_trace_set *make_set(const world *w)
{
    halley_trace *traces[MOST_RANKS];
    halley_trace_set *set;
    for (uint32_t r = 0; r < w->n_ranks; r++)
        traces[r] = make_trace(w, r);
    assert_int_equal(halley_trace_set_new(&set, traces, w->n_ranks, NULL), HALLEY_OK);
    return set;
}

static void describe_network(strbuf *to, world *w)
{
    static const char *const topologies[] = {"ring", "fully-connected", "switch",
                                             "switch"};
    static const uint32_t bandwidths[] = {10, 25, 100, 300};
    static const uint32_t latencies[] = {0, 1, 500, 500, 700};
    static const char *const in_network[] = {
        ", in-network: [all-reduce]", "", "", "", "", "", "", ""};
    strbuf_add(to, STR("network:\n"));
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const char *const topology = one_of(w, topologies);
        strbuf_printf(
            to, "  - {topology: %s, size: %u, bandwidth: %u GB/s, latency: %u ns%s}\n",
            topology, w->sizes[d], one_of(w, bandwidths), one_of(w, latencies),
            strcmp(topology, "switch") == 0 ? one_of(w, in_network) : "");
    }
}

static void describe_system(strbuf *to, world *w)
{
    static const char *const algorithms[] = {"ring",
                                             "ring",
                                             "ring",
                                             "direct",
                                             "direct-2",
                                             "halving-doubling",
                                             "double-binary-tree"};
    static const char *const models[] = {"contention-free", "link-queue"};
    static const char *const plans[] = {"hierarchical", "hierarchical",
                                        "every-dimension"};
    static const uint32_t endpoints[] = {0, 0, 10};
    strbuf_printf(to,
                  "system: {model: %s, chunks: %u, active-chunks: %u, queues: %u, "
                  "scheduling: %s, all-reduce-plan: %s, channels: %s, streams: %u, "
                  "endpoint-delay: %u ns, algorithms: [",
                  one_of(w, models), 1 + below(w, 4), 1 + below(w, 3), 1 + below(w, 3),
                  below(w, 4) == 0 ? "themis" : "fifo", one_of(w, plans),
                  below(w, 4) == 0 ? "one" : "per-group", 1 + below(w, 2),
                  one_of(w, endpoints));
    for (uint32_t d = 0; d < w->n_dims; d++) {
        const char *algorithm = one_of(w, algorithms);
        const bool power = (w->sizes[d] & (w->sizes[d] - 1)) == 0;
        if (!power && strchr(algorithm, 'b') != NULL)
            algorithm = "ring";
        if (!power && strcmp(algorithm, "halving-doubling") == 0)
            algorithm = "direct";
        strbuf_printf(to, "%s%s", d == 0 ? "" : ", ", algorithm);
    }
    strbuf_add(to, STR("]}\n"));
}

static void describe_groups(strbuf *to, const world *w)
{
    strbuf_add(to, w->n_families > 0 ? STR("groups:\n") : STR(""));
    for (uint32_t f = 0; f < w->n_families; f++)
        for (uint32_t g = 0; g < w->n_ranks / w->families[f].size; g++) {
            uint32_t n = 0, id = 0;
            for (uint32_t r = 0; r < w->n_ranks; r++) {
                if (w->families[f].group_of[r] != g)
                    continue;
                id = group_id(w, f, r);
                if (n++ == 0)
                    strbuf_printf(to, "  %u: [", id);
                strbuf_printf(to, "%s%u", n == 1 ? "" : ", ", r);
            }
            strbuf_add(to, STR("]\n"));
        }
}

static halley_cluster *make_cluster(world *w)
{
    strbuf text = {0};
    halley_cluster *c;
    halley_error err = {0};
    strbuf_printf(&text,
                  "npus: %u\nnpu: {peak: {bf16: 300 TFLOP/s}, memory: [{name: hbm, "
                  "capacity: 80 GB, bandwidth: 2000 GB/s}, {name: cxl, kind: %s, "
                  "capacity: 512 GB, bandwidth: 64 GB/s, latency: 400 ns}]}\n",
                  w->n_ranks, below(w, 3) == 0 ? "pool" : "per-npu");
    describe_network(&text, w);
    describe_system(&text, w);
    describe_groups(&text, w);
    if (halley_cluster_parse(&c, text.at, text.n, "random", &err) != HALLEY_OK)
        fail_msg("%s\n%.*s", err.text, STR_ARG(strbuf_str(&text)));
    strbuf_fini(&text);
    return c;
}

static void assert_same_rank(const halley_result *a, const halley_result *b, uint32_t i)
{
    const halley_rank_result x = halley_result_rank(a, i), y = halley_result_rank(b, i);
    assert_int_equal(x.finish, y.finish);
    assert_int_equal(x.compute, y.compute);
    assert_int_equal(x.exposed, y.exposed);
    assert_int_equal(x.wall, y.wall);
    assert_int_equal(x.gpu, y.gpu);
    assert_int_equal(x.comm, y.comm);
    assert_int_equal(x.cpu, y.cpu);
    assert_int_equal(x.memory, y.memory);
    assert_int_equal(x.overlap, y.overlap);
    assert_int_equal(x.busy, y.busy);
    assert_int_equal(x.bare_comm, y.bare_comm);
    assert_int_equal(x.has_gpu, y.has_gpu);
    assert_int_equal(x.has_comm, y.has_comm);
    assert_int_equal(x.has_memory, y.has_memory);
    assert_int_equal(x.local_peak_bytes, y.local_peak_bytes);
    assert_int_equal(halley_result_finisher(a, i), halley_result_finisher(b, i));
}

static void assert_same(const halley_result *a, const halley_result *b)
{
    assert_int_equal(halley_result_ranks(a), halley_result_ranks(b));
    for (uint32_t i = 0; i < halley_result_ranks(a); i++)
        assert_same_rank(a, b, i);
    assert_int_equal(halley_result_traffic_count(a), halley_result_traffic_count(b));
    for (uint32_t i = 0; i < halley_result_traffic_count(a); i++) {
        const halley_traffic x = halley_result_traffic(a, i);
        const halley_traffic y = halley_result_traffic(b, i);
        assert_true(x.type == y.type && x.coll == y.coll && x.group == y.group &&
                    x.n_members == y.n_members && x.count == y.count &&
                    x.bytes == y.bytes && x.ticks == y.ticks);
    }
    assert_int_equal(halley_result_dims(a), halley_result_dims(b));
    for (uint32_t i = 0; i < halley_result_dims(a); i++) {
        const halley_dim_result x = halley_result_dim(a, i), y = halley_result_dim(b, i);
        assert_int_equal(x.messages, y.messages);
        assert_true(x.bytes == y.bytes && x.use == y.use);
    }
    assert_int_equal(halley_result_warning_count(a), halley_result_warning_count(b));
}

/* What came of a random case. */
typedef enum outcome { FAILED, FULL, FOLDED } outcome;

static outcome compare(uint64_t seed)
{
    world w = draw_world(seed);
    halley_cluster *const cluster = make_cluster(&w);
    halley_trace_set *const set = make_set(&w);
    halley_sim_opts opts = {.network = HALLEY_NETWORK_AS_CLUSTER};
    halley_result *folded, *full;
    halley_error err = {0}, other = {0};
    outcome result = FAILED;
    const halley_status status = halley_sim_run(&folded, set, cluster, &opts, &err);
    opts.no_fold = true;
    assert_int_equal(halley_sim_run(&full, set, cluster, &opts, &other), status);
    assert_string_equal(err.text, other.text);
    if (status == HALLEY_OK) {
        assert_same(folded, full);
        result =
            halley_result_events(folded) < halley_result_events(full) ? FOLDED : FULL;
        halley_result_free(folded);
        halley_result_free(full);
    }
    halley_trace_set_free(set);
    halley_cluster_free(cluster);
    return result;
}

static void a_folded_run_is_the_run_of_all_ranks(void **state)
{
    (void)state;
    const char *const asked = getenv("HALLEY_FOLD_CASES");
    const uint64_t n = asked != NULL ? strtoull(asked, NULL, 10) : 500;
    uint32_t count[3] = {0};
    for (uint64_t seed = 1; seed <= n; seed++) {
        print_message("seed %" PRIu64 "\r", seed);
        count[compare(seed)]++;
    }
    print_message("%u folded, %u in full, %u failed\n", count[FOLDED], count[FULL],
                  count[FAILED]);
    assert_true(count[FOLDED] * 10 > n);
    assert_true(count[FULL] * 20 > n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folded_run_is_the_run_of_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
