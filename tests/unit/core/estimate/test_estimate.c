/* Laws of an estimate, and of the search over plans. */
#include "alloc_fail.h"
#include "cases.h"
#include "halley/extend.h"
#include "halley/search.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct world {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
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

static world load(const char *model, const char *cluster)
{
    world w;
    halley_error err = {0};
    halley_stack_default(&w.stack);
    if (halley_model_load(&w.model, model, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    w.cluster = cluster_of(cluster);
    return w;
}

static halley_estimate estimate(const world *w, halley_plan plan)
{
    halley_error err = {0};
    if (halley_plan_check(&plan, &w->model, 0, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_estimate e;
    halley_estimate_run(&e, &w->model, &plan, w->cluster, &w->stack);
    return e;
}

static void parts_add_up_to_the_step(void **state)
{
    (void)state;
    static const struct {
        const char *model, *cluster;
        halley_plan plan;
    } cases[] = {
        {"gpt3-175b",
         "dgx-a100",
         {.tp = 8,
          .pp = 8,
          .dp = 16,
          .global_batch = 1536,
          .virtual_stages = 2,
          .sequence_parallel = true}},
        {"llama3-70b", "dgx-h100", {.dp = 64, .fsdp = 64, .global_batch = 64}},
        {"deepseek-v3",
         "gb200-nvl72",
         {.pp = 4, .dp = 64, .ep = 64, .global_batch = 1024, .dtype = HALLEY_FP8}},
        {"llama3-405b",
         "dgx-h100",
         {.tp = 8, .cp = 4, .pp = 2, .dp = 2, .global_batch = 8}},
        {"dlrm-1t", "dgx-h100", {.dp = 128, .global_batch = 65536, .micro_batch = 512}},
        {"transformer-1t",
         "comet-baseline",
         {.tp = 8,
          .dp = 128,
          .global_batch = 1024,
          .spread = true,
          .offload = HALLEY_OFFLOAD_OPTIMIZER}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world w = load(cases[i].model, cases[i].cluster);
        const halley_estimate e = estimate(&w, cases[i].plan);
        double sum = 0, bytes = 0;
        for (int k = 0; k < HALLEY_N_PARTS; k++) {
            assert_true(e.part_s[k] >= 0);
            sum += e.part_s[k];
        }
        for (int k = 0; k < HALLEY_N_MEMORY; k++)
            bytes += e.memory_bytes[k];
        assert_true(fabs(sum / e.step_s - 1) < 1e-9);
        assert_true(fabs(bytes / e.peak_bytes - 1) < 1e-9);
        assert_true(e.mfu > 0 && e.mfu < 1);
        halley_model_fini(&w.model);
    }
}

static void every_model_runs_on_every_cluster(void **state)
{
    (void)state;
    char model[HALLEY_NAME], cluster[HALLEY_NAME];
    const uint32_t every = cases_share() < 100 ? 10 : 1;
    for (size_t i = 0; halley_preset_name(model, sizeof model, "models", i); i++) {
        world w = load(model, "dgx-a100");
        for (size_t j = i % every;
             halley_preset_name(cluster, sizeof cluster, "clusters", j); j += every) {
            w.cluster = cluster_of(cluster);
            const halley_estimate e =
                estimate(&w, (halley_plan){.dp = 16, .global_batch = 64, .zero = 1});
            if (!(e.step_s > 0 && isfinite(e.step_s) && e.mfu < 1 && e.peak_bytes > 0 &&
                  e.cost_usd > 0))
                fail_msg("%s on %s: %g s", model, cluster, e.step_s);
        }
        halley_model_fini(&w.model);
    }
}

static void twice_the_npus_are_faster_and_not_more_than_twice(void **state)
{
    (void)state;
    const world w = load("gpt3-175b", "dgx-h100");
    halley_plan p = {.tp = 8, .pp = 8, .dp = 4, .global_batch = 2048, .zero = 1};
    double last = estimate(&w, p).step_s;
    for (p.dp = 8; p.dp <= 64; p.dp *= 2) {
        const double now = estimate(&w, p).step_s;
        assert_true(now < last && now > last / 2);
        last = now;
    }
}

static void interleaving_shrinks_the_bubble(void **state)
{
    (void)state;
    world w = load("gpt3-175b", "dgx-a100");
    /* The head lies in one chunk of the last stage: not quite a fourth with it, nearly
     * with a head that costs next to nothing. */
    for (int small = 0; small < 2; small++) {
        halley_plan p = {.tp = 8, .pp = 8, .global_batch = 32};
        w.model.vocab = small ? 128 : w.model.vocab;
        const double plain = estimate(&w, p).part_s[HALLEY_PART_BUBBLE];
        p.virtual_stages = 4;
        const double four = estimate(&w, p).part_s[HALLEY_PART_BUBBLE];
        if (!(fabs(plain / four - 4) < (small ? 0.06 : 0.4)))
            fail_msg("%g s, %g s with four chunks", plain, four);
    }
}

static void what_is_moved_out_leaves_room_and_costs_time(void **state)
{
    (void)state;
    const world w = load("gpt-18.4b", "comet-baseline");
    halley_plan p = {.tp = 2, .global_batch = 16, .recompute = HALLEY_RECOMPUTE_FULL};
    const halley_estimate in = estimate(&w, p);
    p.offload = HALLEY_OFFLOAD_OPTIMIZER;
    const halley_estimate out = estimate(&w, p);
    assert_true(out.peak_bytes < in.peak_bytes);
    assert_true(out.step_s > in.step_s);
    assert_true(fabs(out.peak_bytes + out.offloaded_bytes - in.peak_bytes) < 1);
}

static void expanded_memory_makes_a_large_model_fit(void **state)
{
    (void)state;
    const world w = load("transformer-1t", "comet-baseline");
    halley_plan p = {.tp = 8,
                     .dp = 128,
                     .zero = 2,
                     .global_batch = 1024,
                     .micro_batch = 8,
                     .sequence_parallel = true,
                     .recompute = HALLEY_RECOMPUTE_FULL};
    const halley_estimate local = estimate(&w, p);
    assert_false(local.fits);
    p.spread = true;
    const halley_estimate spread = estimate(&w, p);
    assert_true(spread.fits);
    assert_true(spread.step_s > local.step_s);
    p.spread = false;
    p.tp = 64;
    p.dp = 16;
    assert_true(estimate(&w, p).fits);
}

static void recomputing_some_layers_lies_between_none_and_all(void **state)
{
    (void)state;
    const world w = load("gpt-22b", "dgx-a100");
    halley_plan p = {.tp = 8, .global_batch = 4, .micro_batch = 4};
    const halley_estimate none = estimate(&w, p);
    p.recompute = HALLEY_RECOMPUTE_FULL;
    const halley_estimate all = estimate(&w, p);
    p.recompute_layers = 12; /* of 48 */
    const halley_estimate some = estimate(&w, p);
    const double extra = all.step_s - none.step_s;
    assert_true(fabs(some.step_s - none.step_s - extra / 4) < 0.02 * extra);
    assert_true(some.peak_bytes < none.peak_bytes && some.peak_bytes > all.peak_bytes);
    assert_true(all.hfu > all.mfu && some.hfu > some.mfu);
    assert_true(all.hfu / all.mfu > some.hfu / some.mfu);
}

static void keeping_fewer_inputs_costs_working_memory_and_no_time(void **state)
{
    (void)state;
    const world w = load("gpt-22b", "dgx-a100");
    halley_plan p = {.tp = 8,
                     .global_batch = 32,
                     .sequence_parallel = true,
                     .recompute = HALLEY_RECOMPUTE_FULL};
    const halley_estimate one = estimate(&w, p);
    p.recompute_every = 4;
    const halley_estimate four = estimate(&w, p);
    p.recompute_every = 24;
    const halley_estimate stage = estimate(&w, p);
    assert_true(four.step_s == one.step_s);
    assert_true(stage.memory_bytes[HALLEY_MEMORY_ACTIVATIONS] >
                four.memory_bytes[HALLEY_MEMORY_ACTIVATIONS]);
    /* 48 inputs and one layer's tensors, or 12 and four's. */
    const double per = 2.0 * 2048 * 6144 / 8 * w.stack.k[HALLEY_K_MEM_ACT];
    const double working = one.memory_bytes[HALLEY_MEMORY_ACTIVATIONS] - 48 * per;
    /* The input of the layers that are made again is kept anyway, and counted once. */
    assert_true(fabs(four.memory_bytes[HALLEY_MEMORY_ACTIVATIONS] -
                     (12 * per + 4 * (working + per) - per)) < 1e-6 * per);
}

static void the_longest_stage_sets_the_pace(void **state)
{
    (void)state;
    const world w = load("gpt-22b", "dgx-a100");
    halley_plan p = {.tp = 8, .pp = 4, .global_batch = 64, .zero = 1};
    const halley_estimate even = estimate(&w, p);
    p.n_stage_layers = 4;
    const uint8_t longer[] = {11, 15, 11, 11};
    memcpy(p.stage_layers, longer, sizeof longer);
    const halley_estimate uneven = estimate(&w, p);
    assert_int_equal(uneven.slow_stage, 1);
    assert_true(uneven.step_s > 1.15 * even.step_s && uneven.step_s < 1.25 * even.step_s);
    const uint8_t lighter[] = {12, 12, 13, 11}; /* the last stage has the head */
    memcpy(p.stage_layers, lighter, sizeof lighter);
    assert_true(estimate(&w, p).step_s < uneven.step_s);
}

static void model_parallel_ranks_that_are_no_neighbours_are_slower(void **state)
{
    (void)state;
    const world w = load("gpt-22b", "dgx-a100");
    halley_plan p = {.tp = 8, .dp = 8, .global_batch = 64, .zero = 1};
    const halley_estimate inside = estimate(&w, p);
    p.rank_order = 16; /* dp first */
    assert_string_equal(halley_rank_order_name(p.rank_order), "dp-pp-tp-cp");
    const halley_estimate across = estimate(&w, p);
    assert_true(across.part_s[HALLEY_PART_TP] > 4 * inside.part_s[HALLEY_PART_TP]);
    assert_true(across.part_s[HALLEY_PART_DP] < inside.part_s[HALLEY_PART_DP]);
    assert_true(across.peak_bytes == inside.peak_bytes);
}

static void a_hybrid_shard_keeps_gathers_in_the_node(void **state)
{
    (void)state;
    const world w = load("llama2-13b", "dgx-a100");
    halley_plan p = {.dp = 64, .fsdp = 64, .global_batch = 512};
    const halley_estimate all = estimate(&w, p);
    p.fsdp = 8;
    const halley_estimate hybrid = estimate(&w, p);
    assert_true(hybrid.step_s < all.step_s);
    assert_true(fabs(hybrid.memory_bytes[HALLEY_MEMORY_OPTIMIZER] /
                         all.memory_bytes[HALLEY_MEMORY_OPTIMIZER] -
                     8) < 1e-9);
}

static void what_may_not_hide_does_not(void **state)
{
    (void)state;
    const world w = load("gpt-22b", "dgx-a100");
    halley_plan p = {.tp = 8,
                     .pp = 2,
                     .dp = 4,
                     .global_batch = 64,
                     .zero = 1,
                     .sequence_parallel = true};
    const halley_estimate hidden = estimate(&w, p);
    p.expose = HALLEY_EXPOSE_TP;
    const halley_estimate tp = estimate(&w, p);
    p.expose |= HALLEY_EXPOSE_CP | HALLEY_EXPOSE_EP | HALLEY_EXPOSE_PP | HALLEY_EXPOSE_DP;
    const halley_estimate all = estimate(&w, p);
    p.expose = 0;
    p.no_overlap = true;
    assert_true(tp.part_s[HALLEY_PART_TP] > 1.4 * hidden.part_s[HALLEY_PART_TP]);
    assert_true(tp.part_s[HALLEY_PART_DP] <= hidden.part_s[HALLEY_PART_DP]);
    assert_true(all.part_s[HALLEY_PART_DP] > 1.5 * tp.part_s[HALLEY_PART_DP]);
    assert_true(estimate(&w, p).step_s == all.step_s);
}

/* A step of the terabyte model sees a small part of its tables. */
static void only_rows_that_were_looked_up_are_updated(void **state)
{
    (void)state;
    const world w = load("dlrm-1t", "dgx-h100");
    const halley_plan small = {.dp = 128, .global_batch = 16384, .micro_batch = 128};
    const halley_plan large = {.dp = 128, .global_batch = 65536, .micro_batch = 512};
    const halley_estimate a = estimate(&w, small), b = estimate(&w, large);
    /* Their update is among the passes over the rows: it grows with the batch, and the
     * optimizer's own time is that of the perceptrons. */
    const uint32_t tables = HALLEY_CLASS_MEMORY_BOUND;
    assert_true(b.class_s[tables] > 3 * a.class_s[tables]);
    const double at_most =
        halley_model_active_params(&w.model) *
        (w.stack.k[HALLEY_K_OPTIMIZER] + w.stack.k[HALLEY_K_GRADIENTS]) /
        (halley_cluster_npu(w.cluster, 0)->memory_share *
         halley_cluster_npu(w.cluster, 0)->tiers[0].bandwidth_Bps);
    assert_true(b.part_s[HALLEY_PART_OPTIMIZER] <= at_most);
    assert_true(b.memory_bytes[HALLEY_MEMORY_GRADIENTS] <
                0.5 * b.memory_bytes[HALLEY_MEMORY_WEIGHTS]);
}

static halley_search *search(const world *w, uint32_t threads)
{
    const halley_search_opts opts = {
        .n_npus = 128, .plan = {.global_batch = 512}, .max_cp = 2, .threads = threads};
    halley_search *s = NULL;
    halley_error err = {0};
    if (halley_search_run(&s, &w->model, w->cluster, &w->stack, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return s;
}

static void one_thread_finds_what_many_find(void **state)
{
    (void)state;
    const world w = load("gpt-39.1b", "dgx-a100");
    halley_search *one = search(&w, 1), *four = search(&w, 4);
    assert_int_equal(one->n_designs, four->n_designs);
    assert_int_equal(one->n_found, four->n_found);
    assert_true(one->n_found > 0);
    for (uint32_t i = 0; i < one->n_found; i++) {
        assert_memory_equal(&one->found[i].plan, &four->found[i].plan,
                            sizeof(halley_plan));
        assert_true(one->found[i].estimate.step_s == four->found[i].estimate.step_s);
        assert_true(one->found[i].estimate.fits);
        if (i > 0)
            assert_true(one->found[i].estimate.step_s >=
                        one->found[i - 1].estimate.step_s);
    }
    halley_search_free(one);
    halley_search_free(four);
}

/* The search shares prices between plans; alone, each takes the same time. */
static void what_is_found_is_what_an_estimate_says(void **state)
{
    (void)state;
    const world w = load("qwen3-30b-a3b", "dgx-h100");
    halley_search_opts opts = {.n_npus = 16,
                               .plan = {.global_batch = 16},
                               .all = true,
                               .variants = true,
                               .top = 200};
    halley_search *s = NULL;
    halley_error err = {0};
    if (cases_share() < 100) { /* one layout of many */
        opts.plan.tp = 2;
        opts.plan.pp = 2;
        opts.fixed = 1u << HALLEY_KEY_TP | 1u << HALLEY_KEY_PP;
    }
    assert_int_equal(halley_search_run(&s, &w.model, w.cluster, &w.stack, &opts, &err),
                     HALLEY_OK);
    assert_int_equal(s->n_found, 200);
    for (uint32_t i = 0; i < s->n_found; i++) {
        halley_plan p = s->found[i].plan;
        halley_estimate e;
        assert_int_equal(halley_plan_check(&p, &w.model, 16, &err), HALLEY_OK);
        halley_estimate_run(&e, &w.model, &p, w.cluster, &w.stack);
        assert_true(e.step_s == s->found[i].estimate.step_s && e.fits);
    }
    const double best = s->found[0].estimate.step_s;
    halley_search_free(s);
    opts.all = opts.variants = false;
    assert_int_equal(halley_search_run(&s, &w.model, w.cluster, &w.stack, &opts, &err),
                     HALLEY_OK);
    assert_true(s->found[0].estimate.step_s >= best);
    halley_search_free(s);
}

static void what_is_fixed_stays(void **state)
{
    (void)state;
    const world w = load("gpt-7.5b", "dgx-a100");
    const halley_search_opts opts = {
        .n_npus = 32,
        .plan = {.global_batch = 64,
                 .tp = 2,
                 .fsdp = 4,
                 .recompute = HALLEY_RECOMPUTE_FULL,
                 .recompute_every = 3,
                 .rank_order = 1},
        .fixed = 1u << HALLEY_KEY_TP | 1u << HALLEY_KEY_FSDP |
                 1u << HALLEY_KEY_RECOMPUTE | 1u << HALLEY_KEY_RECOMPUTE_EVERY |
                 1u << HALLEY_KEY_RANK_ORDER,
        .all = true,
        .top = 50};
    halley_search *s = NULL;
    halley_error err = {0};
    assert_int_equal(halley_search_run(&s, &w.model, w.cluster, &w.stack, &opts, &err),
                     HALLEY_OK);
    assert_true(s->n_found > 0);
    for (uint32_t i = 0; i < s->n_found; i++) {
        const halley_plan *p = &s->found[i].plan;
        assert_true(p->tp == 2 && p->fsdp == 4 && p->rank_order == 1);
        assert_true(p->recompute == HALLEY_RECOMPUTE_FULL && p->recompute_every == 3);
    }
    halley_search_free(s);
}

static void changes_that_are_offered_fit(void **state)
{
    (void)state;
    const world w = load("gpt3-175b", "dgx-a100");
    halley_plan p = {.tp = 4, .pp = 2, .dp = 64, .global_batch = 1024};
    assert_false(estimate(&w, p).fits);
    halley_error err = {0};
    assert_int_equal(halley_plan_check(&p, &w.model, 512, &err), HALLEY_OK);
    halley_change changes[3];
    const uint32_t n =
        halley_search_fitting(changes, 3, &w.model, &p, w.cluster, &w.stack);
    assert_true(n >= 2);
    for (uint32_t i = 0; i < n; i++)
        assert_true(changes[i].estimate.fits);
}

static double double_collective(void *context, const halley_collective_call *call,
                                double standard_s)
{
    uint32_t *n_calls = context;
    ++*n_calls;
    assert_true(call->n_ranks > 1 && call->per_node >= 1);
    return 2 * standard_s;
}

static double double_compute(void *context, const halley_compute_call *call,
                             double standard_s)
{
    (void)context;
    return call->kind == HALLEY_COMPUTE_MATMUL ? 2 * standard_s : NAN;
}

/* Twice the cost of one thing makes its part twice as long, and nothing else. */
static void extensions_take_the_place_of_costs(void **state)
{
    (void)state;
    world w = load("llama3-8b", "dgx-h100");
    uint32_t n_calls = 0;
    const halley_extensions slow_links = {.collective = double_collective,
                                          .context = &n_calls};
    const halley_extensions slow_matmuls = {.compute = double_compute};
    halley_plan p = {.tp = 8, .dp = 1, .global_batch = 8, .no_overlap = true};
    halley_error err = {0};
    halley_estimate own, links, matmuls, again;
    assert_int_equal(halley_plan_check(&p, &w.model, 8, &err), HALLEY_OK);
    halley_estimate_run(&own, &w.model, &p, w.cluster, &w.stack);
    halley_cluster_extend(w.cluster, &slow_links);
    halley_estimate_run(&links, &w.model, &p, w.cluster, &w.stack);
    halley_cluster_extend(w.cluster, &slow_matmuls);
    halley_estimate_run(&matmuls, &w.model, &p, w.cluster, &w.stack);
    halley_cluster_extend(w.cluster, NULL);
    halley_estimate_run(&again, &w.model, &p, w.cluster, &w.stack);
    assert_true(n_calls > 0);
    assert_true(fabs(links.part_s[HALLEY_PART_TP] - (2 * own.part_s[HALLEY_PART_TP])) <=
                1e-9 * own.step_s);
    assert_true(fabs(links.class_s[HALLEY_CLASS_MATMUL] -
                     (own.class_s[HALLEY_CLASS_MATMUL])) <= 0);
    assert_true(fabs(matmuls.class_s[HALLEY_CLASS_MATMUL] -
                     (2 * own.class_s[HALLEY_CLASS_MATMUL])) <= 1e-9 * own.step_s);
    assert_true(fabs(matmuls.class_s[HALLEY_CLASS_ATTENTION] -
                     (own.class_s[HALLEY_CLASS_ATTENTION])) <= 0);
    assert_true(fabs(again.step_s - (own.step_s)) <= 0);
}

static void an_explanation_names_operators_and_constants(void **state)
{
    (void)state;
    const world w = load("mixtral-8x7b", "dgx-h100");
    halley_plan p = {.tp = 2, .dp = 4, .ep = 8, .global_batch = 8};
    halley_error err = {0};
    char *text;
    assert_int_equal(halley_plan_check(&p, &w.model, 8, &err), HALLEY_OK);
    assert_int_equal(
        halley_estimate_explain(&text, &w.model, &p, w.cluster, &w.stack, &err),
        HALLEY_OK);
    assert_non_null(strstr(text, "experts in"));
    assert_non_null(strstr(text, "combine"));
    assert_non_null(strstr(text, "hidden-bytes"));
    free(text);
}

static halley_status search_small(void *context, halley_error *err)
{
    const world *w = context;
    const halley_search_opts opts = {.n_npus = 8,
                                     .plan = {.global_batch = 8, .tp = 8, .pp = 1},
                                     .fixed = 1u << HALLEY_KEY_TP | 1u << HALLEY_KEY_PP,
                                     .threads = 1};
    halley_search *s = NULL;
    const halley_status status =
        halley_search_run(&s, &w->model, w->cluster, &w->stack, &opts, err);
    if (status == HALLEY_OK)
        halley_search_free(s);
    return status;
}

static void a_search_reports_running_out_of_memory(void **state)
{
    (void)state;
    world w = load("gpt-7.5b", "dgx-a100");
    assert_true(alloc_fail_everywhere(search_small, &w) > 2);
}

/* Of matmuls, gradients of weights take about as long as those of inputs. */
static void backward_compute_is_for_inputs_and_for_weights(void **state)
{
    static const char *const models[] = {"llama3-8b", "dlrm-1t", "gpt-7.5b"};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const world w = load(models[i], "dgx-h100");
        halley_plan plan = {.dp = 8, .global_batch = 64, .micro_batch = 8};
        const halley_estimate e = estimate(&w, plan);
        const double backward_s = e.part_s[HALLEY_PART_BACKWARD];
        assert_true(e.weight_gradient_s > 0.02 * backward_s);
        assert_true(e.weight_gradient_s <= 0.5 * backward_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_add_up_to_the_step),
        cmocka_unit_test(every_model_runs_on_every_cluster),
        cmocka_unit_test(twice_the_npus_are_faster_and_not_more_than_twice),
        cmocka_unit_test(interleaving_shrinks_the_bubble),
        cmocka_unit_test(what_is_moved_out_leaves_room_and_costs_time),
        cmocka_unit_test(expanded_memory_makes_a_large_model_fit),
        cmocka_unit_test(recomputing_some_layers_lies_between_none_and_all),
        cmocka_unit_test(keeping_fewer_inputs_costs_working_memory_and_no_time),
        cmocka_unit_test(the_longest_stage_sets_the_pace),
        cmocka_unit_test(model_parallel_ranks_that_are_no_neighbours_are_slower),
        cmocka_unit_test(a_hybrid_shard_keeps_gathers_in_the_node),
        cmocka_unit_test(what_may_not_hide_does_not),
        cmocka_unit_test(only_rows_that_were_looked_up_are_updated),
        cmocka_unit_test(one_thread_finds_what_many_find),
        cmocka_unit_test(what_is_found_is_what_an_estimate_says),
        cmocka_unit_test(what_is_fixed_stays),
        cmocka_unit_test(changes_that_are_offered_fit),
        cmocka_unit_test(extensions_take_the_place_of_costs),
        cmocka_unit_test(an_explanation_names_operators_and_constants),
        cmocka_unit_test(a_search_reports_running_out_of_memory),
        cmocka_unit_test(backward_compute_is_for_inputs_and_for_weights),
    };
    return cmocka_run_group_tests(tests, NULL, free_clusters);
}
