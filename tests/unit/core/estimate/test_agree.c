/*
 * Estimate and simulation of the same plan agree within 3 %: only compute durations are
 * shared; collectives and messages are simulated one by one on the network of the same
 * cluster file, contention-free and with link queues, whole and in pieces. With a stack
 * that hides all gradient and stage traffic and nothing else; within 5 % with the default
 * one, which hides a part of everything, as far as there is compute to hide it. What
 * remains apart: the bubble of uneven stages, the last layer's reduction, and what waits
 * behind other messages of the same link.
 */
#include "estimate/groups.h"
#include "halley/plan_keys.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct agree_case {
    const char *model, *topology;
    uint32_t n, domain;
    double up, out; /* GB/s */
    halley_plan plan;
} agree_case;

#define SP .sequence_parallel = true
static const agree_case cases[] = {
    {"gpt-3.6b",
     "switch",
     8,
     8,
     225,
     0,
     {.tp = 8, .global_batch = 8, .micro_batch = 4, SP}},
    {"gpt-3.6b",
     "switch",
     8,
     8,
     60,
     0,
     {.tp = 8, .global_batch = 8, .micro_batch = 4, SP}},
    {"gpt-3.6b",
     "switch",
     16,
     8,
     60,
     24,
     {.tp = 8, .dp = 2, .global_batch = 16, .micro_batch = 4, .zero = 1}},
    {"gpt-3.6b",
     "switch",
     8,
     8,
     225,
     0,
     {.dp = 8, .global_batch = 32, .micro_batch = 2, .zero = 1}},
    {"gpt-3.6b",
     "switch",
     8,
     8,
     10,
     0,
     {.dp = 8, .global_batch = 16, .micro_batch = 2, .zero = 3}},
    {"gpt-3.6b", "switch", 16, 8, 225, 3, {.dp = 16, .global_batch = 16, .zero = 3}},
    {"gpt-3.6b",
     "switch",
     16,
     8,
     225,
     24,
     {.pp = 2, .tp = 2, .dp = 4, .virtual_stages = 5, .global_batch = 32, .zero = 1, SP}},
    {"gpt-3.6b",
     "switch",
     16,
     8,
     20,
     24,
     {.pp = 2, .tp = 4, .dp = 2, .virtual_stages = 3, .global_batch = 32, .zero = 1, SP}},
    {"gpt-3.6b",
     "switch",
     16,
     8,
     225,
     24,
     {.pp = 8,
      .tp = 2,
      .global_batch = 32,
      .recompute = HALLEY_RECOMPUTE_FULL,
      SP,
      .given = 1ull << HALLEY_KEY_EMBEDDINGS_AS_LAYERS}},
    {"gpt-3.6b",
     "switch",
     16,
     8,
     20,
     24,
     {.pp = 4, .tp = 4, .global_batch = 32, .recompute = HALLEY_RECOMPUTE_FULL, SP}},
    {"gpt-3.6b", "switch", 16, 8, 40, 24, {.pp = 4, .tp = 4, .global_batch = 32, SP}},
    {"llama3-8b",
     "switch",
     16,
     8,
     20,
     24,
     {.cp = 8, .tp = 2, .global_batch = 8, .zero = 1, SP}},
    {"llama3-8b",
     "switch",
     16,
     8,
     225,
     24,
     {.cp = 4, .tp = 2, .dp = 2, .global_batch = 8, .zero = 1, SP}},
    {"qwen3-30b-a3b",
     "fully-connected",
     16,
     8,
     60,
     24,
     {.dp = 16, .ep = 8, .global_batch = 32, .zero = 1}},
    {"mixtral-8x7b",
     "fully-connected",
     8,
     8,
     5,
     0,
     {.dp = 8, .ep = 8, .global_batch = 16, .zero = 1}},
    {"mixtral-8x7b",
     "fully-connected",
     16,
     8,
     20,
     24,
     {.tp = 2, .dp = 8, .ep = 8, .global_batch = 16, .zero = 1, SP}},
    {"gpt-7.5b",
     "switch",
     32,
     8,
     225,
     24,
     {.tp = 4, .pp = 2, .dp = 4, .virtual_stages = 2, .global_batch = 64, .zero = 1, SP}},
    {"gpt-7.5b",
     "switch",
     32,
     8,
     225,
     24,
     {.tp = 4,
      .pp = 4,
      .dp = 2,
      .schedule = HALLEY_SCHEDULE_GPIPE,
      .global_batch = 64,
      .zero = 1,
      SP}},
    {"gpt-7.5b", "switch", 16, 8, 225, 24, {.tp = 16, .global_batch = 8, SP}},
    {"gpt-7.5b",
     "switch",
     16,
     8,
     225,
     1,
     {.tp = 8, .dp = 2, .global_batch = 8, .zero = 1, SP}},
    {"gpt-7.5b", "switch", 16, 8, 225, 2, {.tp = 8, .dp = 2, .global_batch = 8, SP}},
    {"gpt-3.6b",
     "switch",
     8,
     8,
     225,
     0,
     {.dp = 8, .global_batch = 16, .zero = 1, .offload = HALLEY_OFFLOAD_OPTIMIZER}},
};
enum { N_CASES = sizeof cases / sizeof *cases };

/* Every schedule, and the ways to share experts and optimizer. */
#define PIPE(kind, stages, v, batch)                                                     \
    {                                                                                    \
        "gpt-3.6b", "switch", 4 * (stages), 8, 225, 24,                                  \
        {                                                                                \
            .pp = stages, .tp = 2, .dp = 2, .virtual_stages = v,                         \
            .schedule = HALLEY_SCHEDULE_##kind, .global_batch = batch, .zero = 1, SP     \
        }                                                                                \
    }
static const agree_case wider_cases[] = {
    PIPE(1F1B, 6, 1, 24),
    PIPE(1F1B, 6, 1, 8), /* fewer micro-batches than stages */
    PIPE(1F1B, 6, 5, 24),
    PIPE(GPIPE, 6, 1, 24),
    PIPE(BREADTH_FIRST, 6, 5, 24),
    PIPE(ZB_H1, 6, 1, 24),
    PIPE(ZB_H2, 6, 1, 32),
    PIPE(ZBV, 2, 2, 24),
    PIPE(DUALPIPE, 6, 1, 32),
    PIPE(DUALPIPE, 2, 1, 16),
    {"qwen3-30b-a3b",
     "fully-connected",
     16,
     8,
     200,
     50,
     {.dp = 16, .ep = 8, .global_batch = 64, .zero = 2}},
    {"mixtral-8x7b",
     "fully-connected",
     16,
     8,
     60,
     24,
     {.dp = 16, .ep = 4, .etp = 2, .global_batch = 32, .zero = 1}},
    {"gpt-3.6b",
     "switch",
     32,
     8,
     225,
     5,
     {.dp = 32, .zero = 1, .zero_group = 8, .global_batch = 64}},
    {"gpt-3.6b", "switch", 32, 8, 225, 5, {.dp = 32, .fsdp = 8, .global_batch = 64}},
    {"gpt-3.6b", "switch", 16, 8, 225, 5, {.dp = 16, .zero = 0, .global_batch = 64}},
};
enum { N_WIDER_CASES = sizeof wider_cases / sizeof *wider_cases };

static void write_groups(FILE *f, const halley_plan *plan)
{
    uint32_t members[64];
    fprintf(f, "groups:\n");
    for (uint32_t g = 1; g <= plan_group_count(plan); g++) {
        const uint32_t n = plan_group_members(members, plan, g);
        fprintf(f, "  %u: [", g);
        for (uint32_t i = 0; i < n; i++)
            fprintf(f, "%s%u", i ? ", " : "", members[i]);
        fprintf(f, "]\n");
    }
}

static void write_cluster(const char *path, const agree_case *c, const char *system,
                          const halley_plan *plan)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f,
            "name: agree\nnpus: %u\nnpu:\n  name: plain\n  peak: {bf16: 312 TFLOP/s}\n"
            "  memory:\n    - {name: hbm, capacity: 80 GB, bandwidth: 2039 GB/s}\n"
            "    - {name: cxl, kind: per-npu, capacity: 512 GB, bandwidth: 64 GB/s}\n"
            "network:\n  - {topology: %s, size: %u, bandwidth: %g GB/s, latency: 1 us}\n",
            c->n, c->topology, c->domain, c->up);
    if (c->n > c->domain)
        fprintf(f,
                "  - {topology: switch, size: %u, bandwidth: %g GB/s, latency: 5 us}\n",
                c->n / c->domain, c->out);
    const bool one = c->n == c->domain;
    fprintf(f, "system: {%salgorithms: [%s], all-to-all: [%s]}\n", system,
            one ? "ring" : "ring, ring", one ? "direct" : "direct, direct");
    write_groups(f, plan);
    fclose(f);
}

/* Communication hides where the traces let it, and nowhere else. */
static halley_stack plain_stack(void)
{
    halley_stack s;
    halley_stack_default(&s);
    s.k[HALLEY_K_TP_HIDDEN] = s.k[HALLEY_K_CP_HIDDEN] = s.k[HALLEY_K_EP_HIDDEN] = 0;
    s.k[HALLEY_K_SP_EXTRA] = 0;
    s.k[HALLEY_K_EP_TIME] = s.k[HALLEY_K_NETWORK] = 1;
    s.k[HALLEY_K_PP_HIDDEN] = s.k[HALLEY_K_DP_HIDDEN] = 1;
    s.k[HALLEY_K_FSDP_DRAG] = 0;
    return s;
}

static void check(halley_status status, const halley_error *err)
{
    if (status != HALLEY_OK)
        fail_msg("%s", err->text);
}

typedef struct world {
    halley_model model;
    halley_cluster *cluster;
    halley_plan plan;
    halley_stack stack;
} world;

static double simulate(const world *w, const char *cluster_path, uint32_t n)
{
    halley_error err = {0};
    halley_cluster *cluster = NULL;
    halley_trace *list[64];
    halley_trace_set *traces = NULL;
    halley_result *result = NULL;
    assert_true(n <= 64);
    check(halley_cluster_load(&cluster, cluster_path, &err), &err);
    for (uint32_t i = 0; i < n; i++)
        check(halley_plan_trace(&list[i], &w->model, &w->plan, w->cluster, &w->stack, i,
                                &err),
              &err);
    check(halley_trace_set_new(&traces, list, n, &err), &err);
    const halley_sim_opts opts = {.network = HALLEY_NETWORK_AS_CLUSTER};
    check(halley_sim_run(&result, traces, cluster, &opts, &err), &err);
    uint64_t last = 0;
    for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
        const uint64_t finish = halley_result_rank(result, i).finish;
        last = finish > last ? finish : last;
    }
    const double seconds = (double)last / halley_result_ticks_per_s(result);
    halley_result_free(result);
    halley_trace_set_free(traces);
    halley_cluster_free(cluster);
    return seconds;
}

/* Estimated and simulated seconds, and the share of the first that is communication. */
static void both(const agree_case *c, const char *system, const halley_stack *stack,
                 double *estimated, double *simulated, double *comm)
{
    char path[] = "/tmp/halley-agree-XXXXXX.yaml";
    halley_error err = {0};
    world w = {.plan = c->plan, .stack = *stack};
    const int fd = mkstemps(path, 5);
    assert_true(fd >= 0);
    close(fd);
    check(halley_model_load(&w.model, c->model, &err), &err);
    check(halley_plan_check(&w.plan, &w.model, c->n, &err), &err);
    write_cluster(path, c, system, &w.plan);
    check(halley_cluster_load(&w.cluster, path, &err), &err);
    halley_estimate e;
    halley_estimate_run(&e, &w.model, &w.plan, w.cluster, &w.stack);
    *estimated = e.step_s;
    *simulated = simulate(&w, path, c->n);
    *comm = 0;
    for (int i = HALLEY_PART_TP; i <= HALLEY_PART_DP; i++)
        *comm += e.part_s[i] / e.step_s;
    halley_model_fini(&w.model);
    halley_cluster_free(w.cluster);
    unlink(path);
}

/* Returns how many of the cases spend their time on communication. The engines compute
 * windows and tails independently. One case of a list may differ by more than `within`:
 * gradients that meet other messages on a link, or hybrid ZeRO, whose messages the closed
 * form hides by a share. */
static uint32_t agree(const agree_case *list, size_t n, const char *system,
                      const halley_stack *stack, double within)
{
    static const double most = 0.16;
    uint32_t n_talking = 0, n_beyond = 0;
    for (size_t i = 0; i < n; i++) {
        double estimated, simulated, comm;
        both(&list[i], system, stack, &estimated, &simulated, &comm);
        n_talking += comm > 0.3;
        const double off = simulated / estimated - 1;
        printf("%2zu %-14s estimated %.4f s, simulated %.4f s: %+.1f %%, %.0f %% talk\n",
               i, list[i].model, estimated, simulated, 100 * off, 100 * comm);
        n_beyond += fabs(off) > within;
        assert_true(fabs(off) <= most);
    }
    assert_true(n_beyond <= 1);
    return n_talking;
}

static void estimate_and_simulation_agree_without_contention(void **state)
{
    (void)state;
    const halley_stack stack = plain_stack();
    assert_true(agree(cases, N_CASES, "network-model: free, ", &stack, 0.03) >= 10);
}

static void estimate_and_simulation_agree_where_links_are_shared(void **state)
{
    (void)state;
    const halley_stack stack = plain_stack();
    assert_true(agree(cases, N_CASES, "", &stack, 0.05) >= 10);
}

static void estimate_and_simulation_agree_on_every_schedule(void **state)
{
    (void)state;
    const halley_stack stack = plain_stack();
    (void)agree(wider_cases, N_WIDER_CASES, "network-model: free, ", &stack, 0.03);
    halley_stack usual;
    halley_stack_default(&usual);
    (void)agree(wider_cases, N_WIDER_CASES, "network-model: free, ", &usual, 0.05);
}

static void estimate_and_simulation_agree_with_link_queues(void **state)
{
    (void)state;
    const halley_stack stack = plain_stack();
    assert_true(agree(cases, N_CASES, "network-model: queue, ", &stack, 0.03) >= 10);
}

static void estimate_and_simulation_agree_on_collectives_in_pieces(void **state)
{
    (void)state;
    const halley_stack stack = plain_stack();
    assert_true(agree(cases, N_CASES,
                      "network-model: queue, chunks: 4, active-chunks: 4, ", &stack,
                      0.03) >= 10);
}

static void estimate_and_simulation_agree_where_a_part_hides(void **state)
{
    (void)state;
    halley_stack stack;
    halley_stack_default(&stack);
    /* What a collective takes beyond the links is the library's, not the network's. */
    stack.k[HALLEY_K_EP_TIME] = stack.k[HALLEY_K_NETWORK] = 1;
    assert_true(agree(cases, N_CASES, "network-model: free, ", &stack, 0.05) >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(estimate_and_simulation_agree_without_contention),
        cmocka_unit_test(estimate_and_simulation_agree_where_links_are_shared),
        cmocka_unit_test(estimate_and_simulation_agree_on_every_schedule),
        cmocka_unit_test(estimate_and_simulation_agree_with_link_queues),
        cmocka_unit_test(estimate_and_simulation_agree_on_collectives_in_pieces),
        cmocka_unit_test(estimate_and_simulation_agree_where_a_part_hides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
