/* Plans as roles: rules that give the plan's groups, the same simulation from memory,
 * from files of roles and from files of ranks, and the time of the estimate. */
#include "base/rng.h"
#include "estimate/groups.h"
#include "estimate/plan_nodes.h"
#include "halley/plan_keys.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"
#include "trace/core/template.h"
#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct world {
    halley_model model;
    halley_cluster *cluster;
    halley_stack stack;
    halley_plan plan;
    char text[160]; /* for messages */
} world;

static void free_world(world *w)
{
    halley_model_fini(&w->model);
    halley_cluster_free(w->cluster);
}

static bool load_world(world *w, const char *model, const char *cluster, uint32_t n,
                       const char *stack, const halley_plan *plan)
{
    char name[64];
    snprintf(name, sizeof name, "%s:%u", cluster, n);
    snprintf(w->text, sizeof w->text,
             "%s on %s, tp %u pp %u cp %u dp %u ep %u zero %u %s", model, name, plan->tp,
             plan->pp, plan->cp, plan->dp, plan->ep, plan->zero,
             stack != NULL ? stack : "");
    halley_stack_default(&w->stack);
    if (stack != NULL)
        assert_int_equal(halley_stack_load(&w->stack, stack, NULL), HALLEY_OK);
    assert_int_equal(halley_model_load(&w->model, model, NULL), HALLEY_OK);
    assert_int_equal(halley_cluster_load(&w->cluster, name, NULL), HALLEY_OK);
    w->plan = *plan;
    if (halley_plan_check(&w->plan, &w->model, n, NULL) == HALLEY_OK)
        return true;
    free_world(w);
    return false;
}

static uint32_t pick(rng *r, const uint32_t *from, uint32_t n)
{
    return from[rng_below(r, n)];
}

/* A plan that the checks accept. */
static void draw_world(world *w, rng *r)
{
    static const char *const models[] = {"gpt-3.6b", "llama3-8b", "mixtral-8x7b"};
    static const char *const clusters[] = {"dgx-h100", "dgx-a100", "mi300x"};
    static const char *const stacks[] = {NULL, "megatron-bridge", "nemo-25"};
    static const uint32_t degrees[] = {1, 2, 4, 8}, few[] = {1, 1, 2};
    for (;;) {
        halley_plan p;
        const uint32_t m = (uint32_t)rng_below(r, 3), n = rng_below(r, 2) ? 16 : 8;
        halley_plan_default(&p);
        p.tp = pick(r, degrees, 4);
        p.pp = pick(r, degrees, 3);
        p.cp = pick(r, few, 3);
        if (p.tp * p.pp * p.cp > n)
            continue;
        p.dp = n / (p.tp * p.pp * p.cp);
        p.ep = m == 2 ? pick(r, degrees, 3) : 1;
        p.virtual_stages = p.pp > 1 ? pick(r, few, 3) : 1;
        p.zero = p.pp == 1 ? (uint32_t)rng_below(r, 4) : 1;
        p.fsdp = p.zero == 3 ? p.dp * p.cp : 0;
        p.sequence_parallel = p.tp > 1;
        p.rank_order = (uint32_t)rng_below(r, HALLEY_RANK_ORDERS);
        p.global_batch = p.dp * p.pp * pick(r, few, 3);
        if (load_world(w, models[m], clusters[rng_below(r, 3)], n,
                       stacks[rng_below(r, 3)], &p))
            return;
    }
}

static void rules_give_the_groups_of_the_plan(void **state)
{
    (void)state;
    static const workload_group kinds[] = {
        WORKLOAD_TP,    WORKLOAD_CP, WORKLOAD_EP,  WORKLOAD_DP,    WORKLOAD_FSDP,
        WORKLOAD_OUTER, WORKLOAD_XP, WORKLOAD_ETP, WORKLOAD_XFSDP, WORKLOAD_XOUTER};
    rng r = rng_seed(3);
    for (int trial = 0; trial < 12; trial++) {
        world w;
        halley_template *t = NULL;
        uint32_t members[64];
        draw_world(&w, &r);
        assert_int_equal(halley_plan_template(&t, &w.model, &w.plan, w.cluster, &w.stack,
                                              HALLEY_PRICES_STACK, NULL),
                         HALLEY_OK);
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            const uint32_t rule =
                trace_template_find_group(t, str_from(plan_group_name(kinds[k])));
            for (uint32_t rank = 0; rank < t->n_ranks; rank++) {
                const uint32_t g = plan_group_of(&w.plan, kinds[k], rank);
                assert_int_equal(g != 0, rule != TRACE_TEMPLATE_NONE);
                if (g == 0)
                    continue;
                const uint32_t n = plan_group_members(members, &w.plan, g);
                const uint32_t key = trace_template_group_of(t, rule, rank);
                assert_int_equal(trace_template_group_size(t, rule, key), n);
                for (uint32_t i = 0; i < n; i++)
                    assert_int_equal(trace_template_member(t, rule, key, i), members[i]);
            }
        }
        assert_int_equal(trace_template_check(t, NULL), HALLEY_OK);
        halley_template_free(t);
        free_world(&w);
    }
}

static halley_result *run_roles(const halley_template *t, const halley_cluster *c,
                                bool fold)
{
    halley_result *result = NULL;
    halley_error err = {0};
    const halley_sim_opts opts = {.no_fold = !fold};
    if (halley_sim_run_template(&result, t, c, &opts, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    return result;
}

/* Files of ranks and their groups, as `trace gen` writes them. */
static halley_result *run_files(const char *prefix, const world *w)
{
    halley_trace_set *set = NULL;
    halley_result *result = NULL;
    halley_error err = {0};
    char groups[256];
    assert_int_equal(halley_plan_trace_save(prefix, &w->model, &w->plan, w->cluster,
                                            &w->stack, HALLEY_PRICES_STACK, NULL, NULL),
                     HALLEY_OK);
    assert_int_equal(halley_trace_set_load(&set, &prefix, 1, NULL, NULL), HALLEY_OK);
    snprintf(groups, sizeof groups, "%s.comm_group.json", prefix);
    if (access(groups, R_OK) == 0)
        assert_int_equal(halley_cluster_load_groups(w->cluster, groups, NULL), HALLEY_OK);
    if (halley_sim_run(&result, set, w->cluster, NULL, &err) != HALLEY_OK)
        fail_msg("%s", err.text);
    halley_trace_set_free(set);
    return result;
}

/* The same files, their ranks found to be roles. */
static halley_result *run_found(const char *prefix, const world *w)
{
    halley_trace_set *set = NULL;
    halley_template *t = NULL;
    halley_error err = {0};
    char groups[256];
    assert_int_equal(halley_trace_set_load(&set, &prefix, 1, NULL, NULL), HALLEY_OK);
    snprintf(groups, sizeof groups, "%s.comm_group.json", prefix);
    if (halley_template_of_set(&t, set, access(groups, R_OK) == 0 ? groups : NULL,
                               &err) != HALLEY_OK)
        fail_msg("%s: %s", w->text, err.text);
    assert_int_equal(halley_template_roles(t), w->plan.pp);
    if (t->role_table != NULL) /* a plan's ranks follow rules */
        fail_msg("%s: no rules were found", w->text);
    if (halley_template_check(t, &err) != HALLEY_OK)
        fail_msg("%s: %s", w->text, err.text);
    halley_result *result = run_roles(t, w->cluster, true);
    halley_template_free(t);
    halley_trace_set_free(set);
    return result;
}

static void compare_results(const halley_result *a, const halley_result *b,
                            const world *w, const char *what)
{
    assert_int_equal(halley_result_ranks(a), halley_result_ranks(b));
    for (uint32_t r = 0; r < halley_result_ranks(a); r++) {
        const halley_rank_result x = halley_result_rank(a, r),
                                 y = halley_result_rank(b, r);
        if (x.finish != y.finish || x.bare_comm != y.bare_comm)
            fail_msg("%s: rank %u ends at %llu from roles, at %llu from %s", w->text, r,
                     (unsigned long long)x.finish, (unsigned long long)y.finish, what);
    }
}

static void roles_files_and_plans_take_the_same_ticks(void **state)
{
    (void)state;
    rng r = rng_seed(11);
    char folder[] = "roles.XXXXXX", prefix[64], index[80], command[64];
    assert_non_null(mkdtemp(folder));
    for (int trial = 0; trial < 8; trial++) {
        world w;
        halley_template *t = NULL, *read = NULL;
        halley_error err = {0};
        draw_world(&w, &r);
        assert_int_equal(halley_plan_template(&t, &w.model, &w.plan, w.cluster, &w.stack,
                                              HALLEY_PRICES_STACK, NULL),
                         HALLEY_OK);
        snprintf(prefix, sizeof prefix, "%s/t%d", folder, trial);
        snprintf(index, sizeof index, "%s.roles.yaml", prefix);
        assert_int_equal(halley_template_save(t, prefix, NULL, NULL), HALLEY_OK);
        if (halley_template_load(&read, index, &err) != HALLEY_OK)
            fail_msg("%s", err.text);
        halley_result *folded = run_roles(t, w.cluster, true);
        halley_result *all = run_roles(t, w.cluster, false);
        halley_result *again = run_roles(read, w.cluster, true);
        snprintf(prefix, sizeof prefix, "%s/g%d", folder, trial);
        halley_result *files = run_files(prefix, &w);
        compare_results(folded, all, &w, "all ranks");
        compare_results(folded, again, &w, "the files of roles");
        halley_result *found = run_found(prefix, &w);
        compare_results(folded, files, &w, "the files of ranks");
        compare_results(folded, found, &w, "roles that were found");
        halley_result_free(found);
        halley_result_free(folded);
        halley_result_free(all);
        halley_result_free(again);
        halley_result_free(files);
        halley_template_free(t);
        halley_template_free(read);
        free_world(&w);
    }
    snprintf(command, sizeof command, "rm -rf %s", folder);
    assert_int_equal(system(command), 0);
}

/* The simulated step. */
static double simulate_step(const world *w, double *estimated)
{
    halley_template *t = NULL;
    halley_estimate e;
    uint64_t last = 0;
    halley_estimate_run(&e, &w->model, &w->plan, w->cluster, &w->stack);
    assert_int_equal(halley_plan_template(&t, &w->model, &w->plan, w->cluster, &w->stack,
                                          HALLEY_PRICES_STACK, NULL),
                     HALLEY_OK);
    halley_result *result = run_roles(t, w->cluster, true);
    for (uint32_t r = 0; r < halley_result_ranks(result); r++) {
        const uint64_t finish = halley_result_rank(result, r).finish;
        last = finish > last ? finish : last;
    }
    const double seconds = (double)last / halley_result_ticks_per_s(result);
    halley_result_free(result);
    halley_template_free(t);
    *estimated = e.step_s;
    return seconds;
}

static void simulation_takes_what_the_estimate_says(void **state)
{
    (void)state;
    rng r = rng_seed(29);
    double worst = 0;
    int n_far = 0;
    for (int trial = 0; trial < 40; trial++) {
        world w;
        double estimated;
        draw_world(&w, &r);
        const double off = simulate_step(&w, &estimated) / estimated - 1;
        if (fabs(off) > 0.06)
            fail_msg("%s: the simulation is %+.1f %% off", w.text, 100 * off);
        n_far += fabs(off) > 0.03;
        worst = fmax(worst, fabs(off));
        free_world(&w);
    }
    printf("40 plans, worst %.2f %%\n", 100 * worst);
    assert_true(n_far <= 3);
}

static void every_schedule_takes_what_its_walk_says(void **state)
{
    (void)state;
    for (int s = 0; s < HALLEY_N_SCHEDULES; s++)
        for (uint32_t chunks = 1; chunks <= 2; chunks++) {
            world w;
            halley_plan p;
            double estimated;
            halley_plan_default(&p);
            p.pp = 4, p.dp = 2, p.virtual_stages = chunks, p.global_batch = 32;
            p.schedule = (halley_schedule)s;
            if (!load_world(&w, "gpt-3.6b", "dgx-h100", 8, NULL, &p))
                continue; /* these chunks are not its */
            const double off = simulate_step(&w, &estimated) / estimated - 1;
            if (fabs(off) > 0.03)
                fail_msg("schedule %d with %u chunks: %+.1f %% off", s, chunks,
                         100 * off);
            free_world(&w);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_give_the_groups_of_the_plan),
        cmocka_unit_test(roles_files_and_plans_take_the_same_ticks),
        cmocka_unit_test(simulation_takes_what_the_estimate_says),
        cmocka_unit_test(every_schedule_takes_what_its_walk_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
