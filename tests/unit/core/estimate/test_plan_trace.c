/* A plan as traces: the same work as the estimate, and messages that meet. */
#include "alloc_fail.h"
#include "estimate/groups.h"
#include "halley/plan_trace.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *model;
    halley_plan plan;
} cases[] = {
    {"gpt-3.6b", {.tp = 2, .pp = 4, .dp = 2, .virtual_stages = 2, .global_batch = 16}},
    {"gpt-3.6b",
     {.tp = 8,
      .sequence_parallel = true,
      .recompute = HALLEY_RECOMPUTE_FULL,
      .global_batch = 4}},
    {"gpt-3.6b",
     {.pp = 2, .dp = 2, .schedule = HALLEY_SCHEDULE_GPIPE, .global_batch = 8}},
    {"llama3-8b", {.dp = 4, .fsdp = 4, .global_batch = 8}},
    {"llama3-8b", {.tp = 2, .cp = 4, .global_batch = 2}},
    {"qwen3-30b-a3b", {.pp = 3, .dp = 8, .ep = 8, .global_batch = 16}},
    {"gpt-3.6b", {.pp = 3, .virtual_stages = 2, .global_batch = 6}},
    {"gpt-3.6b", /* hybrid shard */
     {.dp = 8, .fsdp = 4, .global_batch = 16, .recompute = HALLEY_RECOMPUTE_SELECTIVE}},
    {"gpt-3.6b", /* uneven stages, recomputation of four layers at a time */
     {.pp = 3,
      .dp = 2,
      .n_stage_layers = 3,
      .stage_layers = {11, 12, 7},
      .recompute = HALLEY_RECOMPUTE_FULL,
      .recompute_every = 4,
      .global_batch = 8}},
    {"gpt-3.6b", /* another numbering of ranks, some layers recomputed */
     {.tp = 2,
      .cp = 2,
      .dp = 2,
      .pp = 2,
      .rank_order = 13,
      .recompute = HALLEY_RECOMPUTE_MINIMAL,
      .recompute_layers = 4,
      .global_batch = 8}},
    {"qwen3-30b-a3b", /* each expert on two ranks, optimizer shared by pairs */
     {.tp = 2,
      .dp = 8,
      .ep = 4,
      .etp = 2,
      .zero = 1,
      .zero_group = 2,
      .global_batch = 16}},
    {"qwen3-30b-a3b", /* hybrid shard of experts */
     {.dp = 16, .ep = 4, .fsdp = 8, .global_batch = 16}},
    {"gpt-3.6b",
     {.pp = 4,
      .schedule = HALLEY_SCHEDULE_ZB_H1,
      .zero = 1,
      .dp = 2,
      .global_batch = 16}},
    {"gpt-3.6b",
     {.pp = 4,
      .schedule = HALLEY_SCHEDULE_ZB_H2,
      .zero = 1,
      .dp = 2,
      .global_batch = 16}},
    {"gpt-3.6b",
     {.pp = 2, .schedule = HALLEY_SCHEDULE_ZBV, .virtual_stages = 2, .global_batch = 8}},
    {"gpt-3.6b",
     {.pp = 2,
      .schedule = HALLEY_SCHEDULE_BREADTH_FIRST,
      .virtual_stages = 3,
      .global_batch = 8}},
    {"gpt-3.6b",
     {.pp = 4,
      .schedule = HALLEY_SCHEDULE_DUALPIPE,
      .zero = 1,
      .dp = 2,
      .global_batch = 32}},
    {"qwen3-30b-a3b", /* experts on every rank of a stage, in another order */
     {.tp = 2, .dp = 4, .rank_order = 23, .zero = 1, .global_batch = 8}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

typedef struct world {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan;
} world;

/* Clusters of all tests, freed at the end. */
static struct {
    char name[HALLEY_NAME];
    halley_cluster *cluster;
} kept[64];

static halley_cluster *cluster_of(const char *name)
{
    halley_error err = {0};
    size_t i = 0;
    while (kept[i].cluster != NULL && strcmp(kept[i].name, name) != 0)
        i++;
    assert_true(i < sizeof kept / sizeof *kept);
    if (kept[i].cluster == NULL &&
        halley_cluster_load(&kept[i].cluster, name, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    snprintf(kept[i].name, sizeof kept[i].name, "%s", name);
    return kept[i].cluster;
}

static int free_clusters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        halley_cluster_free(kept[i].cluster);
    return 0;
}

static world load(size_t i)
{
    world w;
    halley_error err = {0};
    halley_stack_default(&w.stack);
    w.plan = cases[i].plan;
    if (halley_model_load(&w.model, cases[i].model, &err) != HALLEY_OK ||
        halley_plan_check(&w.plan, &w.model, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    w.cluster = cluster_of("dgx-a100");
    return w;
}

static halley_trace *trace(const world *w, uint32_t rank)
{
    halley_trace *t = NULL;
    halley_error err = {0};
    if (halley_plan_trace(&t, &w->model, &w->plan, w->cluster, &w->stack, rank, &err) !=
        HALLEY_OK)
        fail_msg("%s", err.text);
    return t;
}

static uint32_t n_ranks(const halley_plan *p)
{
    return p->tp * p->cp * p->dp * p->pp;
}

static void every_rank_is_in_the_groups_it_names(void **state)
{
    (void)state;
    static const workload_group kinds[] = {
        WORKLOAD_TP,    WORKLOAD_CP, WORKLOAD_EP,  WORKLOAD_DP,    WORKLOAD_FSDP,
        WORKLOAD_OUTER, WORKLOAD_XP, WORKLOAD_ETP, WORKLOAD_XFSDP, WORKLOAD_XOUTER};
    for (size_t i = 0; i < N_CASES; i++) {
        const world w = load(i);
        uint32_t members[64], sizes[WORKLOAD_N_GROUPS], near[WORKLOAD_N_GROUPS];
        plan_group_sizes(sizes, near, &w.plan, 8);
        for (uint32_t r = 0; r < n_ranks(&w.plan); r++)
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                const uint32_t g = plan_group_of(&w.plan, kinds[k], r);
                if (!g)
                    continue;
                assert_true(g <= plan_group_count(&w.plan));
                const uint32_t n = plan_group_members(members, &w.plan, g);
                bool in = false;
                assert_int_equal(n, sizes[kinds[k]]);
                for (uint32_t j = 0; j < n; j++) {
                    in |= members[j] == r;
                    assert_int_equal(plan_group_of(&w.plan, kinds[k], members[j]), g);
                }
                assert_true(in);
            }
    }
}

static void every_place_has_one_rank_in_any_order(void **state)
{
    (void)state;
    for (uint32_t order = 0; order < HALLEY_RANK_ORDERS; order++) {
        const halley_plan p = {.tp = 2, .cp = 3, .dp = 4, .pp = 5, .rank_order = order};
        for (uint32_t r = 0; r < n_ranks(&p); r++) {
            const plan_place at = plan_place_of(&p, r);
            assert_true(at.tp < 2 && at.cp < 3 && at.dp < 4 && at.pp < 5);
            assert_int_equal(plan_rank_at(&p, at), r);
        }
    }
}

/* Members of each group that share a node, by counting, against the closed form. */
static void as_many_of_a_group_share_a_node_as_is_said(void **state)
{
    (void)state;
    static const workload_group kinds[] = {WORKLOAD_TP, WORKLOAD_CP, WORKLOAD_DP};
    for (uint32_t order = 0; order < HALLEY_RANK_ORDERS; order++) {
        const halley_plan p = {
            .tp = 2, .cp = 2, .dp = 4, .pp = 2, .ep = 1, .rank_order = order};
        uint32_t sizes[WORKLOAD_N_GROUPS], near[WORKLOAD_N_GROUPS], members[32];
        plan_group_sizes(sizes, near, &p, 8);
        for (int k = 0; k < 3; k++) {
            const uint32_t n =
                plan_group_members(members, &p, plan_group_of(&p, kinds[k], 0));
            uint32_t together = 0;
            for (uint32_t i = 0; i < n; i++)
                together += members[i] < 8;
            assert_int_equal(near[kinds[k]], together);
        }
    }
}

static uint64_t number(const halley_trace *t, uint32_t node, const char *name)
{
    halley_attr a;
    uint64_t value = 0;
    if (halley_node_find_attr(&a, t, node, name))
        assert_true(halley_attr_to_u64(&a, &value));
    return value;
}

static void the_slowest_rank_computes_as_long_as_the_estimate(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        const world w = load(i);
        halley_estimate e;
        halley_estimate_run(&e, &w.model, &w.plan, w.cluster, &w.stack);
        const uint32_t rank = plan_rank_at(&w.plan, (plan_place){.pp = e.slow_stage});
        halley_trace *t = trace(&w, rank);
        double sum = 0;
        for (uint32_t k = 0; k < halley_trace_count(t); k++)
            sum += (double)number(t, k, "duration_ns") * 1e-9;
        halley_trace_free(t);
        const double least =
            e.part_s[HALLEY_PART_FORWARD] + e.part_s[HALLEY_PART_BACKWARD] +
            e.part_s[HALLEY_PART_HOST] + e.part_s[HALLEY_PART_ACCUMULATE] +
            e.part_s[HALLEY_PART_OPTIMIZER] + e.part_s[HALLEY_PART_OTHER] +
            e.part_s[HALLEY_PART_RECOMPUTE];
        /* What gathers slow down and what senders and the slowest wait is compute, too.
         */
        const double most = least + e.part_s[HALLEY_PART_DP] + e.part_s[HALLEY_PART_PP] +
                            e.part_s[HALLEY_PART_MEETING];
        /* With tensor parallelism recomputed messages are collectives in the trace. */
        const double slack =
            w.plan.recompute == HALLEY_RECOMPUTE_FULL && w.plan.tp > 1 ? 0.15 : 0.01;
        if (!(sum > least * (1 - slack) && sum < most * (1 + slack)))
            fail_msg("case %zu: %g s in the trace, %g to %g s estimated", i, sum, least,
                     most);
    }
}

static void what_is_sent_is_received(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        const world w = load(i);
        int64_t balance = 0;
        for (uint32_t r = 0; r < n_ranks(&w.plan); r++) {
            halley_trace *t = trace(&w, r);
            for (uint32_t k = 0; k < halley_trace_count(t); k++) {
                const uint32_t type = halley_node_type_of(t, k);
                if (type != HALLEY_NODE_SEND && type != HALLEY_NODE_RECV)
                    continue;
                const uint64_t key = number(t, k, "comm_tag") * 1000003 +
                                     number(t, k, "comm_src") * 1009 +
                                     number(t, k, "comm_dst");
                balance += type == HALLEY_NODE_SEND ? (int64_t)key : -(int64_t)key;
            }
            halley_trace_free(t);
        }
        assert_true(balance == 0);
    }
}

/* Whatever a stack says of the time that they take. */
static void messages_between_stages_have_the_bytes_of_their_activations(void **state)
{
    static const double factors[] = {0.5, 1, 1.2, 4};
    (void)state;
    for (size_t i = 0; i < 4 * N_CASES; i++) {
        world w = load(i / 4);
        if (w.plan.pp == 1)
            continue;
        w.stack.k[HALLEY_K_NETWORK] = factors[i % 4];
        halley_trace *t = trace(&w, n_ranks(&w.plan) - 1);
        const uint64_t bytes = (uint64_t)w.plan.micro_batch * w.plan.seq / w.plan.cp *
                               w.model.hidden * 2 / w.plan.tp;
        uint32_t n_messages = 0;
        for (uint32_t k = 0; k < halley_trace_count(t); k++) {
            const uint32_t type = halley_node_type_of(t, k);
            if (type != HALLEY_NODE_SEND && type != HALLEY_NODE_RECV)
                continue;
            assert_int_equal(number(t, k, "comm_size"), bytes);
            n_messages++;
        }
        assert_true(n_messages > 0);
        halley_trace_free(t);
    }
}

/* Bytes and messages of a rank, by group and kind of collective. */
typedef struct traffic {
    uint64_t bytes[WORKLOAD_N_GROUPS][HALLEY_N_COLL_TYPES];
    uint64_t n[WORKLOAD_N_GROUPS][HALLEY_N_COLL_TYPES];
} traffic;

static workload_group group_of_number(const halley_plan *p, uint32_t rank, uint32_t id)
{
    for (int g = 0; g < WORKLOAD_N_GROUPS; g++)
        if (g != WORKLOAD_PP && plan_group_of(p, (workload_group)g, rank) == id)
            return (workload_group)g;
    fail_msg("rank %u is not in group %u", rank, id);
    return WORKLOAD_N_GROUPS;
}

static traffic sum_traffic(const world *w, uint32_t rank)
{
    traffic sum = {0};
    halley_trace *t = trace(w, rank);
    for (uint32_t k = 0; k < halley_trace_count(t); k++) {
        halley_attr a;
        char name[16];
        if (halley_node_type_of(t, k) != HALLEY_NODE_COLL)
            continue;
        assert_true(halley_node_find_attr(&a, t, k, "pg_name"));
        snprintf(name, sizeof name, "%.*s", (int)a.bytes.n, a.bytes.at);
        const workload_group g =
            group_of_number(&w->plan, rank, (uint32_t)strtoul(name, NULL, 10));
        const uint64_t kind = number(t, k, "comm_type");
        assert_true(kind < HALLEY_N_COLL_TYPES);
        sum.bytes[g][kind] += number(t, k, "comm_size");
        sum.n[g][kind]++;
    }
    halley_trace_free(t);
    return sum;
}

static void the_bytes_of_a_plan_are_the_same_on_every_cluster(void **state)
{
    static const char *const clusters[] = {"dgx-h100", "gb200-nvl72", "mi300x"};
    static const char *const stacks[] = {NULL, "megatron-bridge", "nemo-25"};
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        world w = load(i);
        const traffic first = sum_traffic(&w, n_ranks(&w.plan) - 1);
        for (int k = 0; k < 3; k++) {
            w.cluster = cluster_of(clusters[k]);
            if (stacks[k] != NULL)
                assert_int_equal(halley_stack_load(&w.stack, stacks[k], NULL), HALLEY_OK);
            const traffic other = sum_traffic(&w, n_ranks(&w.plan) - 1);
            if (stacks[k] == NULL) {
                assert_memory_equal(&first, &other, sizeof first);
                continue;
            }
            assert_memory_equal(first.bytes, other.bytes, sizeof first.bytes);
        }
    }
}

static world make_world(const char *model, const halley_plan *plan)
{
    world w = {.plan = *plan};
    halley_error err = {0};
    halley_stack_default(&w.stack);
    if (halley_model_load(&w.model, model, &err) != HALLEY_OK ||
        halley_plan_check(&w.plan, &w.model, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    w.cluster = cluster_of("dgx-a100");
    return w;
}

/* Tokens x width x bytes of an element, counted by hand. */
static void tensor_parallel_messages_have_the_bytes_of_their_activations(void **state)
{
    (void)state;
    const world w = make_world("llama3-8b", &(halley_plan){.tp = 8,
                                                           .dp = 2,
                                                           .zero = 1,
                                                           .seq = 8192,
                                                           .sequence_parallel = true,
                                                           .gradient_bytes = 4,
                                                           .global_batch = 4});
    const traffic t = sum_traffic(&w, 0);
    const uint64_t micro_batches = 2, blocks = 2 * 32, all = 8192ull * 4096 * 2;
    /* Forward a gather and a scatter; backward both, and a gather for the weights. */
    assert_int_equal(t.n[WORKLOAD_TP][HALLEY_COLL_ALL_GATHER],
                     micro_batches * blocks * 3);
    assert_int_equal(t.bytes[WORKLOAD_TP][HALLEY_COLL_ALL_GATHER],
                     micro_batches * blocks * 3 * all / 8);
    assert_int_equal(t.n[WORKLOAD_TP][HALLEY_COLL_REDUCE_SCATTER],
                     micro_batches * blocks * 2);
    assert_int_equal(t.bytes[WORKLOAD_TP][HALLEY_COLL_REDUCE_SCATTER],
                     micro_batches * blocks * 2 * all);
    /* Every parameter of the rank once: four bytes reduced, two gathered. */
    const double h = 4096, layer = h * h * 2 + h * 1024 * 2 + 3 * h * 14336;
    const double params = (32 * layer + 2 * h * 128256) / 8;
    const double norms = 32 * 4 * h;
    const double reduced = (double)t.bytes[WORKLOAD_DP][HALLEY_COLL_REDUCE_SCATTER];
    const double gathered = 2 * (double)t.bytes[WORKLOAD_DP][HALLEY_COLL_ALL_GATHER];
    assert_true(fabs(reduced - 4 * (params + norms)) < 1e-3 * reduced);
    assert_true(fabs(gathered - 2 * (params + norms)) < 1e-3 * gathered);
}

static void expert_messages_have_the_bytes_of_routed_tokens(void **state)
{
    (void)state;
    for (int fp8 = 0; fp8 < 2; fp8++) {
        const world w = make_world(
            "qwen3-30b-a3b",
            &(halley_plan){
                .dp = 8, .ep = 8, .seq = 4096, .fp8_dispatch = fp8, .global_batch = 8});
        const traffic t = sum_traffic(&w, 0);
        const uint64_t rows = 4096ull * 8, layers = 48;
        /* Dispatch and combine, forward and backward. */
        assert_int_equal(t.n[WORKLOAD_EP][HALLEY_COLL_ALL_TO_ALL], layers * 4);
        assert_int_equal(t.bytes[WORKLOAD_EP][HALLEY_COLL_ALL_TO_ALL],
                         layers * 2 * rows * 2048 * (fp8 ? 3 : 4));
    }
}

static void keys_and_values_go_around_the_ring(void **state)
{
    (void)state;
    const world w =
        make_world("llama3-8b", &(halley_plan){.cp = 4, .seq = 8192, .global_batch = 1});
    const traffic t = sum_traffic(&w, 0);
    /* Forward once, backward twice; 8 heads of 128 for keys and for values. */
    assert_int_equal(t.bytes[WORKLOAD_CP][HALLEY_COLL_ALL_GATHER],
                     32 * 3 * 2048ull * 8 * 128 * 2 * 2);
}

static void all_reduced_gradients_have_the_bytes_of_the_parameters(void **state)
{
    (void)state;
    const world w = make_world("llama3-8b", &(halley_plan){.dp = 8, .global_batch = 8});
    const traffic t = sum_traffic(&w, 0);
    const double params = halley_model_params(&w.model);
    const double bytes = (double)t.bytes[WORKLOAD_DP][HALLEY_COLL_ALL_REDUCE];
    assert_true(fabs(bytes / (params * w.plan.gradient_bytes) - 1) < 1e-3);
}

static void fully_sharded_weights_are_gathered_for_both_passes(void **state)
{
    (void)state;
    const world w =
        make_world("llama3-8b", &(halley_plan){.dp = 8, .fsdp = 8, .global_batch = 16});
    const traffic t = sum_traffic(&w, 0);
    const double h = 4096, layer = h * h * 2 + h * 1024 * 2 + 3 * h * 14336 + 4 * h;
    const double gathered = 8 * (double)t.bytes[WORKLOAD_FSDP][HALLEY_COLL_ALL_GATHER];
    const double reduced = (double)t.bytes[WORKLOAD_FSDP][HALLEY_COLL_REDUCE_SCATTER];
    assert_true(fabs(gathered / (2 * 2 * 32 * layer * 2) - 1) < 1e-3);
    assert_true(fabs(reduced / (2 * 32 * layer * (double)w.plan.gradient_bytes) - 1) <
                1e-3);
}

static void plain_traces_have_the_same_bytes_and_no_attributes_of_ours(void **state)
{
    (void)state;
    world w = load(5);
    halley_template *t[2];
    assert_int_equal(halley_stack_load(&w.stack, "megatron-bridge", NULL), HALLEY_OK);
    for (int k = 0; k < 2; k++)
        assert_int_equal(halley_plan_template(
                             &t[k], &w.model, &w.plan, w.cluster, &w.stack,
                             k == 0 ? HALLEY_PRICES_STACK : HALLEY_PRICES_PLAIN, NULL),
                         HALLEY_OK);
    uint64_t bytes[2] = {0}, n_priced[2] = {0};
    for (int k = 0; k < 2; k++) {
        const halley_trace *role = halley_template_trace(t[k], 0);
        for (uint32_t i = 0; i < halley_trace_count(role); i++) {
            halley_attr a;
            bytes[k] += halley_node_type_of(role, i) == HALLEY_NODE_COLL
                            ? number(role, i, "comm_size")
                            : 0;
            n_priced[k] += halley_node_find_attr(&a, role, i, "halley_rate") ||
                           halley_node_find_attr(&a, role, i, "halley_fixed_ns");
        }
        halley_template_free(t[k]);
    }
    assert_int_equal(bytes[0], bytes[1]);
    assert_true(n_priced[0] > 0);
    assert_int_equal(n_priced[1], 0);
}

static halley_plan_pass *list_passes(const world *w, uint32_t stage, size_t *n)
{
    halley_plan_pass *passes = NULL;
    halley_error err = {0};
    if (halley_plan_passes(&passes, n, &w->model, &w->plan, w->cluster, &w->stack, stage,
                           &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return passes;
}

/* Passes come one after the other, hold no message between stages, and every micro-batch
 * that goes forward through a chunk comes back. */
static void every_node_is_in_at_most_one_pass_and_micro_batches_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < N_CASES; i++) {
        const world w = load(i);
        for (uint32_t stage = 0; stage < w.plan.pp; stage++) {
            size_t n;
            halley_plan_pass *passes = list_passes(&w, stage, &n);
            halley_trace *t = trace(&w, plan_rank_at(&w.plan, (plan_place){.pp = stage}));
            uint32_t next = 0;
            int64_t balance = 0;
            for (size_t k = 0; k < n; k++) {
                const halley_plan_pass *p = &passes[k];
                assert_true(p->first_node >= next && p->n_nodes > 0);
                next = p->first_node + p->n_nodes;
                assert_true(next <= halley_trace_count(t));
                for (uint32_t j = p->first_node; j < next; j++)
                    assert_true(halley_node_type_of(t, j) != HALLEY_NODE_RECV &&
                                halley_node_type_of(t, j) != HALLEY_NODE_SEND);
                const int64_t key = 1 + p->chunk + 1009 * (int64_t)p->micro_batch;
                balance += p->kind == HALLEY_PASS_FORWARD    ? key
                           : p->kind == HALLEY_PASS_BACKWARD ? -key
                           : p->kind == HALLEY_PASS_WEIGHT   ? -key
                                                             : 0;
            }
            assert_true(n > 0 && balance == 0);
            halley_trace_free(t);
            free(passes);
        }
    }
}

static halley_status make_one(void *context, halley_error *err)
{
    const world *w = context;
    halley_trace *t = NULL;
    const halley_status status =
        halley_plan_trace(&t, &w->model, &w->plan, w->cluster, &w->stack, 0, err);
    if (status == HALLEY_OK)
        halley_trace_free(t);
    return status;
}

static void running_out_of_memory_is_reported(void **state)
{
    (void)state;
    world w = load(4);
    assert_true(alloc_fail_everywhere(make_one, &w) > 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_rank_is_in_the_groups_it_names),
        cmocka_unit_test(every_place_has_one_rank_in_any_order),
        cmocka_unit_test(as_many_of_a_group_share_a_node_as_is_said),
        cmocka_unit_test(the_slowest_rank_computes_as_long_as_the_estimate),
        cmocka_unit_test(what_is_sent_is_received),
        cmocka_unit_test(messages_between_stages_have_the_bytes_of_their_activations),
        cmocka_unit_test(the_bytes_of_a_plan_are_the_same_on_every_cluster),
        cmocka_unit_test(tensor_parallel_messages_have_the_bytes_of_their_activations),
        cmocka_unit_test(expert_messages_have_the_bytes_of_routed_tokens),
        cmocka_unit_test(keys_and_values_go_around_the_ring),
        cmocka_unit_test(all_reduced_gradients_have_the_bytes_of_the_parameters),
        cmocka_unit_test(fully_sharded_weights_are_gathered_for_both_passes),
        cmocka_unit_test(plain_traces_have_the_same_bytes_and_no_attributes_of_ours),
        cmocka_unit_test(every_node_is_in_at_most_one_pass_and_micro_batches_come_back),
        cmocka_unit_test(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, free_clusters);
}
