/*
 * Runs of one rank of each symmetry class against runs of all ranks: random plans of
 * pipelines, tensor and data parallelism, with messages, rooted collectives, slow ranks
 * and slow links, on random networks. Every time of every node and the bytes of every
 * link must be equal. HALLEY_SYMMETRY_CASES asks for more plans, HALLEY_SYMMETRY_RANKS
 * for larger ones.
 */
#include "base/rng.h"
#include "base/str.h"
#include "halley/cluster.h"
#include "halley/sim.h"
#include "unit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TP, DP, PP, N_AXES };

typedef struct plan {
    rng random;
    uint32_t size[N_AXES], stride[N_AXES], n_ranks;
    uint32_t n_micro, n_layers;
    bool has_embedding, has_root, has_world, has_expert, has_ring, names_root;
    bool odd_tags, late_node, has_memory;
    uint32_t memory_npus; /* that share one */
    uint32_t expert_block;
    uint64_t bytes, us;
    uint32_t odd_rank;
} plan;

static uint32_t below(plan *p, uint32_t n)
{
    return (uint32_t)rng_below(&p->random, n);
}

static uint32_t digit(const plan *p, uint32_t rank, int axis)
{
    return rank / p->stride[axis] % p->size[axis];
}

static plan draw_plan(uint64_t seed, uint32_t most_ranks)
{
    static const uint32_t sizes[][3] = {{1, 2, 4}, {1, 2, 8}, {1, 2, 4}};
    static const int orders[][3] = {{TP, DP, PP}, {TP, PP, DP}, {DP, TP, PP}};
    plan p = {.random = rng_seed(seed)};
    do {
        p.n_ranks = 1;
        for (int i = 0; i < N_AXES; i++)
            p.n_ranks *= p.size[i] = sizes[i][below(&p, 3)];
        if (most_ranks > 64)
            p.n_ranks *= 1u << below(&p, 6),
                p.size[DP] = p.n_ranks / p.size[TP] / p.size[PP];
    } while (p.n_ranks < 2 || p.n_ranks > most_ranks);
    const int *order = orders[below(&p, 3)];
    for (uint32_t i = 0, stride = 1; i < N_AXES; stride *= p.size[order[i++]])
        p.stride[order[i]] = stride;
    p.n_micro = 1 + below(&p, 3);
    p.n_layers = 1 + below(&p, 2);
    p.has_embedding = p.size[PP] > 1 && below(&p, 2);
    p.has_root = below(&p, 3) == 0;
    p.names_root = below(&p, 2);
    p.has_world = below(&p, 3) == 0;
    p.has_ring = p.size[DP] > 1 && below(&p, 3) == 0;
    p.odd_tags = below(&p, 3) == 0;
    p.late_node = below(&p, 6) == 0;
    p.has_expert = p.size[DP] % 2 == 0 && below(&p, 3) == 0;
    p.expert_block = 2;
    p.bytes = (1 + below(&p, 64)) << 16;
    p.us = 1 + below(&p, 200);
    p.odd_rank = below(&p, p.n_ranks);
    p.has_memory = below(&p, 3) == 0;
    p.memory_npus = 1u << below(&p, 4);
    return p;
}

/* Groups: along an axis; the first and last stage; pairs of neighbours along dp. */
static int64_t group_id(const plan *p, uint32_t rank, int kind)
{
    uint32_t key = rank;
    if (kind < N_AXES)
        key -= digit(p, rank, kind) * p->stride[kind];
    else if (kind == N_AXES)
        key -= digit(p, rank, PP) * p->stride[PP];
    else
        key -= digit(p, rank, DP) % p->expert_block * p->stride[DP];
    return 1 + (int64_t)kind * p->n_ranks + key;
}

static bool is_in(const plan *p, uint32_t rank, int kind)
{
    const uint32_t stage = digit(p, rank, PP);
    return kind != N_AXES || stage == 0 || stage == p->size[PP] - 1;
}

static void print_groups(strbuf *to, const plan *p)
{
    strbuf_add(to, STR("groups:\n"));
    for (int kind = 0; kind < N_AXES + 2; kind++)
        for (uint32_t r = 0; r < p->n_ranks; r++) {
            if (!is_in(p, r, kind) ||
                group_id(p, r, kind) != 1 + kind * (int64_t)p->n_ranks + r)
                continue;
            strbuf_printf(to, "  %" PRId64 ": [", group_id(p, r, kind));
            const char *comma = "";
            for (uint32_t o = r; o < p->n_ranks; o++)
                if (is_in(p, o, kind) && group_id(p, o, kind) == group_id(p, r, kind)) {
                    strbuf_printf(to, "%s%u", comma, o);
                    comma = ", ";
                }
            strbuf_add(to, STR("]\n"));
        }
}

static halley_cluster *make_cluster(plan *p)
{
    static const char *const networks[] = {
        "{fabric: ib-ndr}",
        "{topology: rail-optimised, nodes-per-leaf: 2, spines: 2, link: 50 GB/s, fabric: "
        "ib-ndr%s}",
        "{topology: fat-tree, fabric: roce, tiers: [{name: leaf, npus: 8, "
        "oversubscription: 1, link: 400 Gb/s, latency: 700 ns}, {name: spine, npus: 16, "
        "oversubscription: 2}, {name: core}]%s}",
        "{topology: fat-tree, fabric: roce, routing: ecmp, tiers: [{name: leaf, npus: 8, "
        "oversubscription: 2, link: 400 Gb/s, latency: 700 ns}, {name: spine}]%s}"};
    static const uint32_t nodes[] = {2, 4, 8};
    const uint32_t which = below(p, 8);
    const uint32_t network = p->n_ranks % 16 != 0 ? 0 : which == 7 ? 3 : which % 3;
    const bool faulty = below(p, 4) == 0;
    strbuf text = {0};
    halley_error err = {0};
    halley_cluster *c = NULL;
    uint32_t per_node = nodes[below(p, 3)];
    while (p->n_ranks % per_node != 0)
        per_node /= 2;
    strbuf_printf(&text,
                  "npus: %u\nnodes: {npus: %u, up: nvlink4-h100}\nnetwork: ", p->n_ranks,
                  per_node);
    char line[1024];
    if (network == 0)
        snprintf(line, sizeof line, "%s", networks[0]);
    else /* a slow link next to the first leaf */
        snprintf(line, sizeof line, networks[network],
                 faulty ? ", links: [{between: leaf0 - spine0, bandwidth: x0.25}]" : "");
    strbuf_printf(&text, "%s\n", line);
    if (below(p, 3) == 0)
        strbuf_printf(&text, "system: {slow: {%u: 1.5}}\n", below(p, p->n_ranks));
    if (p->has_memory)
        strbuf_printf(&text,
                      "remote-memory: {kind: per-node, npus-per-node: %u, latency: 1 us, "
                      "bandwidth: 20 GB/s}\n",
                      p->memory_npus);
    print_groups(&text, p);
    char path[] = "/tmp/halley-test-XXXXXX";
    const int fd = mkstemp(path);
    const str all = strbuf_str(&text);
    assert_int_equal(write(fd, all.at, all.n), (ssize_t)all.n);
    close(fd);
    if (halley_cluster_load(&c, path, &err) != HALLEY_OK) {
        print_message("%s\n%.*s\n", err.text, STR_ARG(all));
        c = NULL;
    }
    unlink(path);
    strbuf_fini(&text);
    return c;
}

typedef struct writer {
    halley_builder *b;
    const plan *p;
    uint32_t rank;
    uint64_t n, last; /* nodes so far; the one to wait for */
} writer;

static void add_node(writer *w, uint32_t type, bool chained)
{
    halley_builder_node(w->b, w->n, type, (halley_bytes){"x", 1});
    if (chained && w->n > 0)
        halley_builder_data(w->b, w->last);
    w->last = chained || w->n == 0 ? w->n : w->last;
    w->n++;
}

static void add_compute(writer *w, uint64_t us)
{
    add_node(w, HALLEY_NODE_COMP, true);
    halley_builder_attr_u64(w->b, "duration_ns", us * 1000 + 7);
}

static void add_memory(writer *w, bool loads, uint64_t bytes, bool chained)
{
    add_node(w, loads ? HALLEY_NODE_MEM_LOAD : HALLEY_NODE_MEM_STORE, chained);
    halley_builder_attr_u64(w->b, "tensor_size", bytes);
}

static void add_coll(writer *w, int kind, halley_coll_type coll, uint64_t bytes,
                     bool chained)
{
    char name[32];
    add_node(w, HALLEY_NODE_COLL, chained);
    halley_builder_attr_i64(w->b, "comm_type", coll);
    halley_builder_attr_u64(w->b, "comm_size", bytes);
    if (kind < 0)
        return;
    snprintf(name, sizeof name, "%" PRId64, group_id(w->p, w->rank, kind));
    halley_builder_attr_text(w->b, "pg_name", (halley_bytes){name, strlen(name)});
}

static void add_message(writer *w, bool sends, uint32_t peer, uint32_t tag)
{
    const plan *p = w->p;
    const uint32_t from = sends ? w->rank : peer, to = sends ? peer : w->rank;
    add_node(w, sends ? HALLEY_NODE_SEND : HALLEY_NODE_RECV, !sends);
    if (sends && w->n > 1)
        halley_builder_data(w->b, w->last);
    halley_builder_attr_i32(w->b, sends ? "comm_dst" : "comm_src", (int32_t)peer);
    halley_builder_attr_u64(w->b, "comm_size", p->bytes);
    halley_builder_attr_i32(w->b, "comm_tag",
                            (int32_t)(p->odd_tags ? tag * 1000 + from * 7 + to : tag));
}

static uint32_t shift(const plan *p, uint32_t rank, int axis, uint32_t by)
{
    const uint32_t d = digit(p, rank, axis), n = p->size[axis];
    return rank - d * p->stride[axis] + (d + by) % n * p->stride[axis];
}

static void add_pass(writer *w, bool forward, uint32_t m)
{
    const plan *p = w->p;
    const uint32_t stage = digit(p, w->rank, PP), n = p->size[PP];
    const uint32_t before = shift(p, w->rank, PP, forward ? n - 1 : 1);
    const uint32_t after = shift(p, w->rank, PP, forward ? 1 : n - 1);
    const uint32_t tag = m * 2 + !forward;
    if (forward ? stage > 0 : stage + 1 < n)
        add_message(w, false, before, tag);
    if (p->has_memory && (stage + m) % 2 == 0) /* not by all ranks */
        add_memory(w, forward, p->bytes + stage, m % 2 == 0);
    for (uint32_t i = 0; i < p->n_layers; i++) {
        add_compute(w, p->us + stage);
        if (p->size[TP] > 1)
            add_coll(w, TP, HALLEY_COLL_ALL_REDUCE, p->bytes, true);
        if (p->has_expert)
            add_coll(w, N_AXES + 1, HALLEY_COLL_ALL_TO_ALL, p->bytes, true);
    }
    if (forward ? stage + 1 < n : stage > 0)
        add_message(w, true, after, tag);
}

static halley_trace *make_trace(const plan *p, uint32_t rank)
{
    writer w = {.p = p, .rank = rank};
    halley_trace *t;
    assert_int_equal(halley_builder_new(&w.b, NULL), HALLEY_OK);
    add_compute(&w, 1);
    if (p->late_node && rank == p->odd_rank)
        add_compute(&w, 50);
    if (p->has_root) {
        add_coll(&w, DP, HALLEY_COLL_BROADCAST, p->bytes * 3, true);
        if (p->names_root)
            halley_builder_attr_i32(
                w.b, "root",
                (int32_t)(rank + (p->size[DP] - 1 - digit(p, rank, DP)) * p->stride[DP]));
    }
    for (uint32_t m = 0; m < p->n_micro; m++)
        add_pass(&w, true, m);
    for (uint32_t m = 0; m < p->n_micro; m++)
        add_pass(&w, false, m);
    if (p->size[DP] > 1)
        add_coll(&w, DP, HALLEY_COLL_REDUCE_SCATTER, p->bytes * 8, false);
    if (p->has_ring) {
        add_message(&w, true, shift(p, rank, DP, 1), 900);
        add_message(&w, false, shift(p, rank, DP, p->size[DP] - 1), 900);
    }
    if (p->has_embedding && is_in(p, rank, N_AXES))
        add_coll(&w, N_AXES, HALLEY_COLL_ALL_REDUCE, p->bytes / 2, true);
    if (p->size[DP] > 1)
        add_coll(&w, DP, HALLEY_COLL_ALL_GATHER, p->bytes * 8 / p->size[DP], true);
    if (p->has_world)
        add_coll(&w, -1, HALLEY_COLL_ALL_REDUCE, 4, true);
    add_compute(&w, 3);
    assert_int_equal(halley_builder_finish(&t, w.b, NULL), HALLEY_OK);
    return t;
}

static halley_trace_set *make_set(const plan *p)
{
    halley_trace **all = malloc(p->n_ranks * sizeof *all);
    halley_trace_set *set;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        all[i] = make_trace(p, i);
    assert_int_equal(halley_trace_set_new(&set, all, p->n_ranks, NULL), HALLEY_OK);
    free(all);
    return set;
}

static void assert_same_rank(const halley_result *a, const halley_result *b,
                             const halley_trace_set *set, uint32_t i)
{
    const halley_rank_result x = halley_result_rank(a, i), y = halley_result_rank(b, i);
    assert_memory_equal(&x.finish, &y.finish, sizeof x.finish);
    assert_true(x.compute == y.compute && x.wall == y.wall && x.gpu == y.gpu &&
                x.comm == y.comm && x.busy == y.busy && x.bare_comm == y.bare_comm);
    assert_int_equal(halley_result_finisher(a, i), halley_result_finisher(b, i));
    for (uint32_t k = 0; k < halley_trace_count(halley_trace_set_get(set, i)); k++) {
        const halley_node_times s = halley_result_node(a, i, k);
        const halley_node_times t = halley_result_node(b, i, k);
        if (s.begin != t.begin || s.end != t.end)
            fail_msg("rank %u node %u: %" PRIu64 " to %" PRIu64 ", not %" PRIu64
                     " to %" PRIu64,
                     i, k, s.begin, s.end, t.begin, t.end);
    }
}

static int compare_link(const void *a, const void *b)
{
    const halley_link_result *x = a, *y = b;
    if (strcmp(x->kind, y->kind) != 0)
        return strcmp(x->kind, y->kind);
    if (x->wire_bytes != y->wire_bytes)
        return x->wire_bytes < y->wire_bytes ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    if (x->messages != y->messages)
        return x->messages < y->messages ? -1 : 1;
    return x->bw_Bps < y->bw_Bps ? -1 : x->bw_Bps > y->bw_Bps;
}

/* All links, each as often as there are such. */
static halley_link_result *list_links(const halley_result *r, uint32_t *n)
{
    halley_link_result *all = NULL;
    *n = 0;
    for (uint32_t i = 0; i < halley_result_links(r); i++) {
        const halley_link_result l = halley_result_link(r, i);
        all = realloc(all, (*n + l.n_alike) * sizeof *all);
        for (uint32_t k = 0; k < l.n_alike; k++)
            all[(*n)++] = l;
    }
    qsort(all, *n, sizeof *all, compare_link);
    return all;
}

static void assert_same_links(const halley_result *a, const halley_result *b)
{
    uint32_t n, m;
    halley_link_result *x = list_links(a, &n), *y = list_links(b, &m);
    assert_int_equal(n, m);
    for (uint32_t i = 0; i < n; i++)
        if (compare_link(&x[i], &y[i]) != 0)
            fail_msg("link %s: %.17g B, not %.17g B as %s", x[i].name, x[i].wire_bytes,
                     y[i].wire_bytes, y[i].name);
    free(x);
    free(y);
}

static void assert_same_sums(const halley_result *a, const halley_result *b)
{
    assert_int_equal(halley_result_traffic_count(a), halley_result_traffic_count(b));
    for (uint32_t i = 0; i < halley_result_traffic_count(a); i++) {
        const halley_traffic x = halley_result_traffic(a, i);
        const halley_traffic y = halley_result_traffic(b, i);
        assert_true(x.type == y.type && x.coll == y.coll && x.group == y.group &&
                    x.n_members == y.n_members && x.count == y.count &&
                    x.bytes == y.bytes && x.ticks == y.ticks);
    }
    for (uint32_t i = 0; i < halley_result_dims(a); i++) {
        const halley_dim_result x = halley_result_dim(a, i), y = halley_result_dim(b, i);
        assert_int_equal(x.messages, y.messages);
        assert_true(x.bytes == y.bytes && x.use == y.use);
    }
}

static bool names_group(const halley_trace *t, halley_bytes name)
{
    halley_attr attr;
    for (uint32_t i = 0; i < halley_trace_count(t); i++)
        if (halley_node_find_attr(&attr, t, i, "pg_name") && attr.bytes.n == name.n &&
            memcmp(attr.bytes.at, name.at, name.n) == 0)
            return true;
    return false;
}

/* A step on another rank than the one before it: that is who sent the message, or a
 * member of the group. */
static void assert_step_follows(const halley_path_step *step, const halley_trace_set *set)
{
    const halley_trace *t = halley_trace_set_get(set, step->rank);
    const uint32_t before = step[-1].rank;
    halley_attr attr;
    if (step->why == HALLEY_WHY_MESSAGE) {
        assert_true(halley_node_find_attr(&attr, t, step->node, "comm_src"));
        assert_int_equal(attr.bits, before);
    } else if (step->why == HALLEY_WHY_MEMBER &&
               halley_node_find_attr(&attr, t, step->node, "pg_name")) {
        assert_true(names_group(halley_trace_set_get(set, before), attr.bytes));
    } else if (step->why != HALLEY_WHY_MEMBER) {
        assert_int_equal(step->rank, before);
    }
}

/* The steps are those of ranks that met, at the times that `full`, the run of all ranks,
 * has. */
static void assert_path(const halley_result *r, const halley_result *full,
                        const halley_trace_set *set)
{
    halley_path_step *steps;
    size_t n;
    assert_int_equal(halley_result_path(&steps, &n, r, NULL), HALLEY_OK);
    for (size_t i = 0; i < n; i++) {
        const halley_node_times times =
            halley_result_node(full, steps[i].rank, steps[i].node);
        assert_true(times.begin <= steps[i].begin && steps[i].end <= times.end);
        if (i > 0)
            assert_step_follows(&steps[i], set);
    }
    free(steps);
}

static uint64_t path_length(const halley_result *r)
{
    halley_path_step *steps;
    size_t n;
    uint64_t length = 0;
    assert_int_equal(halley_result_path(&steps, &n, r, NULL), HALLEY_OK);
    for (size_t i = 0; i < n; i++)
        length += steps[i].end - steps[i].begin;
    free(steps);
    return length;
}

/* The same ranks from files of which only differences are kept. */
static void compare_files(const halley_result *folded, const halley_trace_set *set,
                          const halley_cluster *cluster, uint64_t seed)
{
    char folder[] = "/tmp/halley-test-XXXXXX", path[64];
    const uint32_t n = halley_trace_set_count(set);
    assert_non_null(mkdtemp(folder));
    for (uint32_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/t.%u.et", folder, i);
        assert_int_equal(halley_trace_save_et(halley_trace_set_get(set, i), path, NULL),
                         HALLEY_OK);
    }
    snprintf(path, sizeof path, "%s/t", folder);
    const char *prefix = path;
    halley_trace_set *read;
    halley_result *result;
    halley_error err = {0};
    const halley_load_opts opts = {.differences_only = true};
    assert_int_equal(halley_trace_set_load(&read, &prefix, 1, &opts, &err), HALLEY_OK);
    if (halley_sim_run(&result, read, cluster, &(halley_sim_opts){.record = true},
                       &err) != HALLEY_OK)
        fail_msg("seed %" PRIu64 ", files: %s", seed, err.text);
    for (uint32_t i = 0; i < n; i++)
        assert_same_rank(result, folded, set, i);
    assert_same_links(result, folded);
    assert_same_sums(result, folded);
    assert_int_equal(halley_result_symmetry(result).n_ranks,
                     halley_result_symmetry(folded).n_ranks);
    halley_result_free(result);
    halley_trace_set_free(read);
    for (uint32_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/t.%u.et", folder, i);
        unlink(path);
    }
    rmdir(folder);
}

/* What happens at one instant, in another order: of all ranks, and of classes. */
static void compare_shuffled(const halley_result *full, const halley_trace_set *set,
                             const halley_cluster *cluster, uint64_t seed)
{
    for (int folds = 0; folds < 2; folds++) {
        const halley_sim_opts opts = {
            .record = true, .no_fold = !folds, .shuffle = seed * 2 + 1};
        halley_result *result;
        halley_error err = {0};
        if (halley_sim_run(&result, set, cluster, &opts, &err) != HALLEY_OK)
            fail_msg("seed %" PRIu64 ", shuffled: %s", seed, err.text);
        for (uint32_t i = 0; i < halley_trace_set_count(set); i++)
            assert_same_rank(result, full, set, i);
        assert_same_links(result, full);
        assert_same_sums(result, full);
        halley_result_free(result);
    }
}

/* Classes of the folded run; 0 when every rank was run. */
static uint32_t compare(uint64_t seed, uint32_t most_ranks)
{
    plan p = draw_plan(seed, most_ranks);
    halley_cluster *cluster = make_cluster(&p);
    if (cluster == NULL)
        fail_msg("seed %" PRIu64 ": no cluster", seed);
    halley_trace_set *set = make_set(&p);
    halley_sim_opts opts = {.record = true};
    halley_result *folded, *full;
    halley_error err = {0};
    if (halley_sim_run(&folded, set, cluster, &opts, &err) != HALLEY_OK)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    opts.no_fold = true;
    if (halley_sim_run(&full, set, cluster, &opts, &err) != HALLEY_OK)
        fail_msg("seed %" PRIu64 ": %s", seed, err.text);
    const halley_symmetry y = halley_result_symmetry(folded);
    for (uint32_t i = 0; i < p.n_ranks; i++)
        assert_same_rank(folded, full, set, i);
    assert_same_links(folded, full);
    assert_same_sums(folded, full);
    assert_int_equal(halley_result_events_represented(folded),
                     halley_result_events(full));
    const halley_rank_result last =
        halley_result_rank(full, halley_result_finisher(full, p.n_ranks - 1));
    assert_int_equal(path_length(folded), last.finish);
    assert_int_equal(path_length(full), last.finish);
    assert_path(folded, full, set);
    assert_path(full, full, set);
    compare_shuffled(full, set, cluster, seed);
    if (seed % 5 == 0)
        compare_files(folded, set, cluster, seed);
    halley_result_free(folded);
    halley_result_free(full);
    halley_trace_set_free(set);
    halley_cluster_free(cluster);
    return y.unfolded == NULL ? y.n_ranks : 0;
}

static uint64_t read_number(const char *name, uint64_t otherwise)
{
    const char *text = getenv(name);
    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void a_run_of_classes_is_the_run_of_all_ranks(void **state)
{
    (void)state;
    const uint64_t n = read_number("HALLEY_SYMMETRY_CASES", 50);
    const uint32_t most = (uint32_t)read_number("HALLEY_SYMMETRY_RANKS", 64);
    uint32_t n_folded = 0;
    for (uint64_t seed = 1; seed <= n; seed++) {
        if (seed % 100 == 0)
            print_message("seed %" PRIu64 "\n", seed);
        n_folded += compare(seed, most) > 0;
    }
    print_message("%u of %" PRIu64 " plans folded\n", n_folded, n);
    assert_true((uint64_t)n_folded * 2 > n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_of_classes_is_the_run_of_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
