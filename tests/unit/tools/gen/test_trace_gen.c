/*
 * Generated traces: Chakra's cases to the byte, and everything else consistent over ranks
 * and free of deadlock on the strictest machine we can think of.
 */
#include "alloc_fail.h"
#include "base/rng.h"
#include "halley/feeder.h"
#include "halley/trace_gen.h"
#include "unit.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_RANKS = 16 };

/* One pattern with parameters: "name=value" up to NULL. */
typedef struct recipe {
    const char *pattern;
    uint32_t n_npus;
    const char *params[8];
} recipe;

static halley_status make(halley_gen **out, const recipe *r, halley_error *err)
{
    halley_gen *gen = NULL;
    halley_status status = halley_gen_new(&gen, r->pattern, r->n_npus, err);
    for (size_t i = 0; !status && r->params[i]; i++) {
        char name[64];
        const char *eq = strchr(r->params[i], '=');
        snprintf(name, sizeof name, "%.*s", (int)(eq - r->params[i]), r->params[i]);
        status = halley_gen_set(gen, name, eq + 1, err);
    }
    if (!status)
        status = halley_gen_check(gen, err);
    if (status) {
        halley_gen_free(gen);
        return status;
    }
    *out = gen;
    return HALLEY_OK;
}

static halley_trace_set *traces_of(const recipe *r)
{
    halley_error err = {0};
    halley_gen *gen = NULL;
    halley_trace_set *set = NULL;
    if (make(&gen, r, &err) != HALLEY_OK)
        fail_msg("%s: %s", r->pattern, err.text);
    assert_int_equal(halley_gen_traces(&set, gen, &err), HALLEY_OK);
    halley_gen_free(gen);
    return set;
}

static void chakras_cases_are_equal_to_the_byte(void **state)
{
    (void)state;
    const char *root = getenv("HALLEY_SOURCE_ROOT");
    uint32_t n_cases = 0;
    for (uint32_t p = 0; p < halley_gen_pattern_count(); p++) {
        if (!halley_gen_is_chakra(p))
            continue;
        n_cases++;
        halley_gen *gen = NULL;
        assert_int_equal(halley_gen_new(&gen, halley_gen_pattern(p).name, 2, NULL),
                         HALLEY_OK);
        assert_int_equal(halley_gen_exact(gen, NULL), HALLEY_OK);
        for (uint32_t rank = 0; rank < 2; rank++) {
            char path[512], want[2048];
            snprintf(path, sizeof path, "%s/tests/data/chakra-generator/%s.%u.et",
                     root ? root : ".", halley_gen_pattern(p).name, rank);
            FILE *from = fopen(path, "rb");
            assert_non_null(from);
            const size_t n_want = fread(want, 1, sizeof want, from);
            fclose(from);
            halley_trace *trace = NULL;
            uint8_t *got = NULL;
            size_t n_got = 0;
            assert_int_equal(halley_gen_trace(&trace, gen, rank, NULL), HALLEY_OK);
            assert_int_equal(halley_trace_encode_et(&got, &n_got, trace, NULL),
                             HALLEY_OK);
            assert_int_equal(n_got, n_want);
            assert_memory_equal(got, want, n_want);
            free(got);
            halley_trace_free(trace);
        }
        halley_gen_free(gen);
    }
    assert_int_equal(n_cases, 14);
}

static const recipe runnable[] = {
    {"one_metadata_node_all_types", 2, {NULL}},
    {"one_remote_mem_load_node", 3, {NULL}},
    {"one_comm_send_node", 4, {"tensor=4096", NULL}},
    {"one_comm_recv_node", 2, {NULL}},
    {"two_comp_nodes_dependent", 2, {NULL}},
    {"BARRIER", 4, {NULL}},
    {"all-reduce", 4, {"size=64 MiB", "repeat=5", NULL}},
    {"all-gather", 6, {"order=independent", "repeat=4", "compute=3 us", NULL}},
    {"reduce-scatter-block", 8, {"group=0,2,4,6", "group=1,3-5", "repeat=3", NULL}},
    {"all-to-all", 6, {"group=0-2", "group=2-4", "group=0,4", "repeat=3", NULL}},
    {"barrier", 5, {"repeat=2", NULL}},
    {"broadcast", 1, {NULL}},
    {"ring", 2, {"repeat=3", NULL}},
    {"ring", 5, {"repeat=4", "compute=2 us", NULL}},
    {"ring", 6, {"repeat=4", "order=independent", NULL}},
    {"all-pairs", 7, {"repeat=2", NULL}},
    {"all-pairs", 6, {"order=independent", NULL}},
    {"messages", 7, {"messages=100", "seed=3", NULL}},
    {"messages", 3, {"messages=40", "order=independent", NULL}},
    {"messages", 9, {"messages=2", NULL}},
    {"pipeline", 4, {"micro-batches=6", NULL}},
    {"pipeline", 3, {"micro-batches=1", "backward=no", "compute=0", NULL}},
    {"random", 1, {"nodes=300", NULL}},
    {"random", 4, {"nodes=300", "seed=2", NULL}},
    {"random", 5, {"nodes=300", "p2p-weight=9", "degree=3.5", NULL}},
    {"random", 6, {"nodes=300", "group=0-2", "group=3,5", "degree=0", NULL}},
    {"data-parallel", 4, {"layers=5", "repeat=3", NULL}},
    {"data-parallel", 4, {"layers=3", "repeat=3", "zero=yes", NULL}},
    {"transformer", 8, {"tp=2", "pp=2", "layers=4", "micro-batches=3", NULL}},
    {"transformer", 12, {"tp=2", "pp=3", "dp=2", "layers=3", "compute=0", NULL}},
    {"transformer", 8, {"tp=8", NULL}},
    {"transformer", 8, {NULL}},
    {"transformer", 8, {"pp=4", "layers=8", NULL}},
};
enum { N_RUNNABLE = sizeof runnable / sizeof *runnable };

static int64_t attr_of(const halley_trace *trace, uint32_t node, const char *name)
{
    halley_attr attr;
    int64_t value = -1;
    if (halley_node_find_attr(&attr, trace, node, name))
        assert_true(halley_attr_to_i64(&attr, &value));
    return value;
}

/*
 * The strictest machine: an NPU computes one thing and communicates one thing at a time,
 * takes the free node of the lowest id for each, and a send is not over before its
 * receive is there. With `loose`, receives do not occupy the NPU, as in ASTRA-sim.
 */
typedef struct npu {
    halley_feeder *feeder;
    halley_feed_node comp, comm, recv[64];
    bool has_comp, has_comm;
    uint32_t n_recv;
} npu;

static void start_nodes(npu *x, bool loose)
{
    uint64_t blocked[512];
    uint32_t n_blocked = 0;
    for (;;) {
        halley_feed_node got;
        bool found = false;
        assert_int_equal(halley_feeder_take(x->feeder, &got, &found, NULL), HALLEY_OK);
        if (!found)
            break;
        const uint32_t type = halley_node_type_of(got.trace, got.node);
        if (type == HALLEY_NODE_RECV && loose) {
            assert_in_range(x->n_recv, 0, 63);
            x->recv[x->n_recv++] = got;
        } else if (type == HALLEY_NODE_COMP && !x->has_comp) {
            x->comp = got;
            x->has_comp = true;
        } else if (type != HALLEY_NODE_COMP && !x->has_comm) {
            x->comm = got;
            x->has_comm = true;
        } else {
            assert_in_range(n_blocked, 0, 511);
            blocked[n_blocked++] = got.id;
        }
    }
    while (n_blocked > 0)
        assert_int_equal(halley_feeder_put_back(x->feeder, blocked[--n_blocked], NULL),
                         HALLEY_OK);
}

static bool same_message(const halley_feed_node *a, const halley_feed_node *b)
{
    static const char *const keys[] = {"comm_src", "comm_dst", "comm_tag", "comm_size"};
    for (size_t i = 0; i < 4; i++) {
        const int64_t x = attr_of(a->trace, a->node, keys[i]);
        if (x < 0 || x != attr_of(b->trace, b->node, keys[i]))
            return false;
    }
    return true;
}

static void finish(npu *x, const halley_feed_node *node)
{
    assert_int_equal(halley_feeder_finish(x->feeder, node->id, NULL), HALLEY_OK);
}

/* A message whose both ends are there is delivered. */
static bool try_send(npu *npus, uint32_t rank)
{
    npu *x = &npus[rank];
    assert_int_equal(attr_of(x->comm.trace, x->comm.node, "comm_src"), rank);
    npu *to = &npus[attr_of(x->comm.trace, x->comm.node, "comm_dst")];
    if (to->has_comm &&
        halley_node_type_of(to->comm.trace, to->comm.node) == HALLEY_NODE_RECV &&
        same_message(&x->comm, &to->comm)) {
        finish(to, &to->comm);
        to->has_comm = false;
    } else {
        uint32_t i = 0;
        while (i < to->n_recv && !same_message(&x->comm, &to->recv[i]))
            i++;
        if (i == to->n_recv)
            return false;
        finish(to, &to->recv[i]);
        to->recv[i] = to->recv[--to->n_recv];
    }
    finish(x, &x->comm);
    x->has_comm = false;
    return true;
}

/* Whether a rank takes part in a collective of the group of x, which has pg_name or not.
 */
static bool in_group(const recipe *r, const halley_trace_set *set, uint32_t rank,
                     halley_bytes group)
{
    if (group.n == 0)
        return true;
    (void)r;
    const halley_trace *trace = halley_trace_set_get(set, rank);
    for (uint32_t i = 0; i < halley_trace_count(trace); i++) {
        halley_attr attr;
        if (halley_node_find_attr(&attr, trace, i, "pg_name") &&
            attr.bytes.n == group.n && memcmp(attr.bytes.at, group.at, group.n) == 0)
            return true;
    }
    return false;
}

static halley_bytes group_of(const halley_feed_node *node)
{
    halley_attr attr;
    if (halley_node_find_attr(&attr, node->trace, node->node, "pg_name"))
        return attr.bytes;
    return (halley_bytes){"", 0};
}

/* A collective that all of its group have reached is done. Same type, size and group. */
static bool try_coll(const recipe *r, const halley_trace_set *set, npu *npus,
                     uint32_t rank)
{
    const halley_feed_node mine = npus[rank].comm;
    const halley_bytes group = group_of(&mine);
    bool member[MAX_RANKS];
    for (uint32_t k = 0; k < r->n_npus; k++) {
        member[k] = in_group(r, set, k, group);
        if (!member[k])
            continue;
        const npu *x = &npus[k];
        if (!x->has_comm ||
            halley_node_type_of(x->comm.trace, x->comm.node) != HALLEY_NODE_COLL)
            return false;
        const halley_bytes other = group_of(&x->comm);
        if (other.n != group.n || memcmp(other.at, group.at, group.n) != 0)
            return false;
        assert_int_equal(attr_of(x->comm.trace, x->comm.node, "comm_type"),
                         attr_of(mine.trace, mine.node, "comm_type"));
        assert_int_equal(attr_of(x->comm.trace, x->comm.node, "comm_size"),
                         attr_of(mine.trace, mine.node, "comm_size"));
    }
    for (uint32_t k = 0; k < r->n_npus; k++) {
        if (!member[k])
            continue;
        finish(&npus[k], &npus[k].comm);
        npus[k].has_comm = false;
    }
    return true;
}

static bool try_comm(const recipe *r, const halley_trace_set *set, npu *npus,
                     uint32_t rank)
{
    npu *x = &npus[rank];
    if (!x->has_comm)
        return false;
    switch (halley_node_type_of(x->comm.trace, x->comm.node)) {
    case HALLEY_NODE_SEND:
        return try_send(npus, rank);
    case HALLEY_NODE_RECV:
        return false;
    case HALLEY_NODE_COLL:
        return try_coll(r, set, npus, rank);
    default:
        finish(x, &x->comm);
        x->has_comm = false;
        return true;
    }
}

/* Run in random order of events; what can happen happens sooner or later. */
static void simulate(const recipe *r, const halley_trace_set *set, bool loose,
                     uint64_t seed)
{
    static npu npus[MAX_RANKS];
    memset(npus, 0, sizeof npus);
    rng random = rng_seed(seed);
    for (uint32_t k = 0; k < r->n_npus; k++) {
        halley_trace *trace = (halley_trace *)(uintptr_t)halley_trace_set_get(set, k);
        const halley_feeder_opts both = {.deps = HALLEY_FEED_BOTH};
        assert_int_equal(halley_feeder_new(&npus[k].feeder, trace, &both, NULL),
                         HALLEY_OK);
        start_nodes(&npus[k], loose);
    }
    for (uint32_t idle = 0; idle < 2 * r->n_npus;) {
        const uint32_t k = (uint32_t)rng_below(&random, r->n_npus);
        bool moved = false;
        for (uint32_t i = 0; i < r->n_npus && !moved; i++) {
            npu *x = &npus[(k + i) % r->n_npus];
            if (x->has_comp && rng_below(&random, 2)) {
                finish(x, &x->comp);
                x->has_comp = false;
                moved = true;
            } else if (try_comm(r, set, npus, (k + i) % r->n_npus)) {
                moved = true;
            } else if (x->has_comp) {
                idle = 0; /* unlucky, not stuck */
            }
        }
        for (uint32_t i = 0; moved && i < r->n_npus; i++)
            start_nodes(&npus[i], loose);
        idle = moved ? 0 : idle + 1;
    }
    for (uint32_t k = 0; k < r->n_npus; k++) {
        if (!halley_feeder_done(npus[k].feeder))
            fail_msg("%s on %u NPUs: rank %u is stuck", r->pattern, r->n_npus, k);
        halley_feeder_free(npus[k].feeder);
    }
}

static void every_pattern_runs_where_npus_do_one_thing_at_a_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_RUNNABLE; i++) {
        halley_trace_set *set = traces_of(&runnable[i]);
        assert_int_equal(halley_trace_set_count(set), runnable[i].n_npus);
        for (uint64_t seed = 0; seed < 4; seed++)
            simulate(&runnable[i], set, seed % 2, seed);
        halley_trace_set_free(set);
    }
}

/* Ranks called equal are equal, and those called different mostly are. */
static void equal_ranks_share_a_trace_and_have_the_same_bytes(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_RUNNABLE; i++) {
        halley_trace_set *set = traces_of(&runnable[i]);
        halley_gen *gen = NULL;
        assert_int_equal(make(&gen, &runnable[i], NULL), HALLEY_OK);
        for (uint32_t rank = 0; rank < runnable[i].n_npus; rank++) {
            halley_trace *alone = NULL;
            uint8_t *a = NULL, *b = NULL;
            size_t n_a = 0, n_b = 0;
            assert_int_equal(halley_gen_trace(&alone, gen, rank, NULL), HALLEY_OK);
            assert_int_equal(halley_trace_encode_et(&a, &n_a, alone, NULL), HALLEY_OK);
            assert_int_equal(
                halley_trace_encode_et(&b, &n_b, halley_trace_set_get(set, rank), NULL),
                HALLEY_OK);
            assert_int_equal(n_a, n_b);
            assert_memory_equal(a, b, n_a);
            free(a);
            free(b);
            halley_trace_free(alone);
        }
        halley_gen_free(gen);
        halley_trace_set_free(set);
    }
}

static const struct {
    recipe r;
    uint32_t n_distinct;
} sharing[] = {
    {{"all-reduce", 16, {NULL}}, 1},
    {{"all-reduce", 16, {"group=0-3", "group=4-7", NULL}}, 3},
    {{"all-reduce", 8, {"group=0-3", "group=0-3", "group=0,4", NULL}}, 4},
    {{"all-reduce", 4, {"group=0-3", "group=0-3", NULL}}, 1},
    {{"ring", 8, {NULL}}, 8},
    {{"data-parallel", 16, {NULL}}, 1},
    {{"transformer", 8, {"tp=4", "dp=1", "pp=2", NULL}}, 8},
    {{"transformer", 8, {"tp=8", NULL}}, 1},
    {{"transformer", 8, {"tp=2", NULL}}, 8},
};

static void ranks_are_told_apart_only_where_they_differ(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sharing / sizeof *sharing; i++) {
        halley_trace_set *set = traces_of(&sharing[i].r);
        assert_int_equal(halley_trace_set_distinct(set), sharing[i].n_distinct);
        halley_trace_set_free(set);
    }
}

static const struct {
    recipe r;
    halley_status status;
    const char *says;
} refused[] = {
    {{"all-reduce", 0, {NULL}}, HALLEY_EINVAL, "at least 1 NPU"},
    {{"all-reduce", 2000000, {NULL}}, HALLEY_ELIMIT, "more than the 1048576"},
    {{"allreduce", 2, {NULL}}, HALLEY_ENOTFOUND, "did you mean \"all-reduce\"?"},
    {{"all-reduce", 2, {"size=0", NULL}}, HALLEY_EINVAL, "size must be between 1"},
    {{"all-reduce", 2, {"size=-5 MB", NULL}}, HALLEY_EINVAL, "size must be between 1"},
    {{"all-reduce", 2, {"size=99999 PB", NULL}}, HALLEY_EINVAL, "size must be between"},
    {{"all-reduce", 2, {"size=0.5 B", NULL}}, HALLEY_EINVAL, "size must be"},
    {{"all-reduce", 2, {"size=much", NULL}}, HALLEY_EINVAL, "size"},
    {{"all-reduce", 2, {"repeat=0", NULL}}, HALLEY_EINVAL, "repeat must be between"},
    {{"all-reduce", 2, {"repeat=4000000000", NULL}}, HALLEY_ELIMIT, "nodes"},
    {{"all-reduce", 2, {"order=odd", NULL}}, HALLEY_EINVAL, "chained|independent"},
    {{"all-reduce", 2, {"compute=500 ns", NULL}}, HALLEY_EINVAL, "whole number of micro"},
    {{"all-reduce", 2, {"layers=3", NULL}}, HALLEY_EINVAL, "takes no layers"},
    {{"all-reduce", 2, {"wings=3", NULL}}, HALLEY_ENOTFOUND, "no parameter \"wings\""},
    {{"barrier", 2, {"size=4 MB", NULL}}, HALLEY_EINVAL, "takes no size"},
    {{"all-reduce", 4, {"group=0,4", NULL}}, HALLEY_EINVAL, "rank 4 does not exist"},
    {{"all-reduce", 4, {"group=0,1,0", NULL}}, HALLEY_EINVAL, "rank 0 is there twice"},
    {{"all-reduce", 4, {"group=1-2,2", NULL}}, HALLEY_EINVAL, "rank 2 is there twice"},
    {{"all-reduce", 4, {"group=", NULL}}, HALLEY_EINVAL, "ranks such as"},
    {{"all-reduce", 4, {"group=3-1", NULL}}, HALLEY_EINVAL, "ranks such as"},
    {{"all-reduce", 4, {"group=a", NULL}}, HALLEY_EINVAL, "ranks such as"},
    {{"ring", 1, {NULL}}, HALLEY_EINVAL, "at least 2 NPUs"},
    {{"ring", 2, {"repeat=4000000000", NULL}}, HALLEY_ELIMIT, "tags"},
    {{"one_comm_send_node", 3, {NULL}}, HALLEY_EINVAL, "must be even, is 3"},
    {{"random",
      2,
      {"comp-weight=0", "coll-weight=0", "p2p-weight=0", "mem-weight=0", NULL}},
     HALLEY_EINVAL,
     "all weights are 0"},
    {{"transformer", 8, {"tp=3", NULL}}, HALLEY_EINVAL, "must be the number of NPUs, 8"},
    {{"transformer", 8, {"tp=2", "dp=2", "pp=1", NULL}}, HALLEY_EINVAL, "NPUs, 8"},
    {{"transformer", 8, {"pp=8", "layers=12", NULL}}, HALLEY_EINVAL, "multiple of the 8"},
};

static void bad_parameters_are_refused_in_a_sentence(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        halley_gen *gen = NULL;
        halley_error err = {0};
        assert_int_equal(make(&gen, &refused[i].r, &err), refused[i].status);
        if (!strstr(err.text, refused[i].says))
            fail_msg("\"%s\" lacks \"%s\"", err.text, refused[i].says);
    }
}

static uint64_t edges_of(const recipe *r)
{
    halley_trace_set *set = traces_of(r);
    const uint64_t n = halley_trace_dep_count(halley_trace_set_get(set, 0));
    halley_trace_set_free(set);
    return n;
}

static void random_graphs_have_the_degree_asked_for(void **state)
{
    (void)state;
    const recipe two = {
        "random",
        1,
        {"nodes=20000", "degree=2.25", "coll-weight=0", "p2p-weight=0", NULL}};
    const uint64_t n = edges_of(&two);
    assert_in_range(n, 20000 * 2.2, 20000 * 2.3);
}

static void random_graphs_depend_on_the_seed_and_nothing_else(void **state)
{
    (void)state;
    const recipe recipes[] = {{"random", 4, {"seed=5", NULL}},
                              {"random", 4, {"seed=5", NULL}},
                              {"random", 4, {"seed=6", NULL}}};
    uint8_t *bytes[3];
    size_t n[3];
    for (size_t i = 0; i < 3; i++) {
        halley_trace_set *set = traces_of(&recipes[i]);
        assert_int_equal(
            halley_trace_encode_et(&bytes[i], &n[i], halley_trace_set_get(set, 3), NULL),
            HALLEY_OK);
        halley_trace_set_free(set);
    }
    assert_int_equal(n[0], n[1]);
    assert_memory_equal(bytes[0], bytes[1], n[0]);
    assert_true(n[0] != n[2] || memcmp(bytes[0], bytes[2], n[0]) != 0);
    for (size_t i = 0; i < 3; i++)
        free(bytes[i]);
}

static void a_set_is_written_whole_or_not_at_all(void **state)
{
    (void)state;
    char folder[] = "gen-XXXXXX", prefix[64], path[128], text[256] = "";
    assert_non_null(mkdtemp(folder));
    snprintf(prefix, sizeof prefix, "%s/ar", folder);
    const recipe r = {"all-reduce", 4, {"group=0,2", "group=1,3", NULL}};
    halley_gen *gen = NULL;
    halley_gen_summary sum;
    assert_int_equal(make(&gen, &r, NULL), HALLEY_OK);
    assert_int_equal(halley_gen_save(gen, prefix, &sum, NULL), HALLEY_OK);
    assert_int_equal(sum.n_files, 4);
    assert_int_equal(sum.n_distinct, 2);
    assert_int_equal(sum.n_groups, 2);
    assert_int_equal(sum.n_nodes, 4);
    snprintf(path, sizeof path, "%s.comm_group.json", prefix);
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    (void)!fread(text, 1, sizeof text - 1, from);
    fclose(from);
    assert_string_equal(text, "{\n  \"1\": [0, 2],\n  \"2\": [1, 3]\n}\n");
    (void)unlink(path);

    /* Rank 2 cannot be written: a folder has its name. */
    snprintf(path, sizeof path, "%s.0.et", prefix);
    assert_int_equal(truncate(path, 3), 0);
    snprintf(path, sizeof path, "%s.2.et", prefix);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    halley_error err = {0};
    assert_int_equal(halley_gen_save(gen, prefix, &sum, &err), HALLEY_EIO);
    assert_int_equal(rmdir(path), 0);
    struct stat st;
    snprintf(path, sizeof path, "%s.0.et", prefix);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, 3); /* the old one */
    for (uint32_t rank = 0; rank < 4; rank++) {
        snprintf(path, sizeof path, "%s.%u.et", prefix, rank);
        assert_int_equal(unlink(path), rank == 2 ? -1 : 0);
    }
    assert_int_equal(rmdir(folder), 0); /* nothing else was left */
    halley_gen_free(gen);
}

static halley_status make_all(void *context, halley_error *err)
{
    halley_gen *gen = NULL;
    halley_trace_set *set = NULL;
    halley_status status = make(&gen, context, err);
    if (status == HALLEY_OK)
        status = halley_gen_traces(&set, gen, err);
    halley_trace_set_free(set);
    halley_gen_free(gen);
    return status;
}

static halley_status save_all(void *context, halley_error *err)
{
    halley_gen *gen = context;
    const halley_status status = halley_gen_save(gen, "gen-memory", NULL, err);
    glob_t left;
    assert_int_equal(glob(".gen-memory*", 0, NULL, &left), GLOB_NOMATCH);
    return status;
}

static void a_generator_without_memory_says_so_and_leaves_nothing(void **state)
{
    (void)state;
    recipe recipes[] = {{"all-reduce", 4, {"group=0,2", "group=1-3", "repeat=3", NULL}},
                        {"transformer", 4, {"tp=2", "pp=2", "layers=2", NULL}},
                        {"one_metadata_node_all_types", 2, {NULL}}};
    for (size_t i = 0; i < 3; i++)
        assert_true(alloc_fail_everywhere(make_all, &recipes[i]) > 20);
    const recipe one = {"barrier", 1, {"group=0", NULL}};
    halley_gen *gen = NULL;
    assert_int_equal(make(&gen, &one, NULL), HALLEY_OK);
    assert_true(alloc_fail_everywhere(save_all, gen) > 5);
    halley_gen_free(gen);
    assert_int_equal(unlink("gen-memory.0.et"), 0); /* of the run that succeeds */
    assert_int_equal(unlink("gen-memory.comm_group.json"), 0);
}

/* A roofline looks at operations and bytes: no compute node may be without. */
static void compute_nodes_have_operations_bytes_and_time(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_RUNNABLE; i++) {
        bool timeless = false;
        for (size_t k = 0; runnable[i].params[k]; k++)
            timeless |= strcmp(runnable[i].params[k], "compute=0") == 0;
        halley_trace_set *set = traces_of(&runnable[i]);
        for (uint32_t rank = 0; rank < runnable[i].n_npus; rank++) {
            const halley_trace *trace = halley_trace_set_get(set, rank);
            for (uint32_t k = 0; k < halley_trace_count(trace); k++) {
                if (halley_node_type_of(trace, k) != HALLEY_NODE_COMP || timeless)
                    continue;
                assert_true(attr_of(trace, k, "num_ops") > 0);
                assert_true(attr_of(trace, k, "tensor_size") > 0);
                assert_true(halley_node_duration_us(trace, k) > 0);
            }
        }
        halley_trace_set_free(set);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chakras_cases_are_equal_to_the_byte),
        cmocka_unit_test(every_pattern_runs_where_npus_do_one_thing_at_a_time),
        cmocka_unit_test(equal_ranks_share_a_trace_and_have_the_same_bytes),
        cmocka_unit_test(ranks_are_told_apart_only_where_they_differ),
        cmocka_unit_test(bad_parameters_are_refused_in_a_sentence),
        cmocka_unit_test(random_graphs_have_the_degree_asked_for),
        cmocka_unit_test(random_graphs_depend_on_the_seed_and_nothing_else),
        cmocka_unit_test(a_set_is_written_whole_or_not_at_all),
        cmocka_unit_test(compute_nodes_have_operations_bytes_and_time),
        cmocka_unit_test(a_generator_without_memory_says_so_and_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
