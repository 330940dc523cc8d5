/*
 * Verification: simulate the roles of a plan (estimate/plan_roles.c) message by message,
 * and compare with the estimate of the same plan. The network is the cluster's.
 * Simulation and estimate share the prices and the factor by which ranks wait for each
 * other. Contention, and how stages wait for each other, is simulated. A plan with more
 * than MOST_RANKS ranks is simulated with fewer data-parallel replicas, each with the
 * same work. Both figures then refer to that smaller run.
 */
#include "explore/verify.h"

#include "base/array.h"
#include "base/pool.h"
#include "base/watch.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"
#include "hw/cluster.h"
#include "hw/count.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 4096 };

static uint32_t ranks_of(const halley_plan *p)
{
    return p->tp * p->cp * p->pp * p->dp;
}

/* Use fewer replicas, each with its original batch. */
static bool shrink_design(explore_design *d)
{
    assert(d->plan.dp > 0);
    halley_plan *p = &d->plan;
    const uint32_t one = p->tp * p->cp * p->pp;
    if (one > MOST_RANKS)
        return false;
    const uint32_t each = p->global_batch / p->dp;
    uint32_t dp = p->dp;
    while (one * dp > MOST_RANKS || (p->dp % dp && dp > 1))
        dp--;
    if (p->fsdp > dp * p->cp)
        p->fsdp = dp * p->cp;
    p->dp = dp;
    p->global_batch = each * dp;
    d->n_npus = one * dp;
    return true;
}

/* The design's cluster with one NPU per rank of the plan. */
static halley_status make_cluster(halley_cluster **out, const explore_design *d,
                                  halley_error *err)
{
    halley_cluster *c = hw_cluster_copy(&d->cluster);
    if (!c)
        return error_nomem(err);
    halley_status status = hw_count_set(c, ranks_of(&d->plan), HW_COUNT_AS_NODES, err);
    if (status == HALLEY_OK)
        status = halley_estimate_fill_nodes(c, &d->plan, err);
    if (status == HALLEY_OK)
        *out = c;
    else
        halley_cluster_free(c);
    return status;
}

/* The time of the plan's programs, without the factor by which ranks wait for each
 * other. */
static halley_status simulate_design(double *out_s, const explore_design *d,
                                     const halley_watch *watch, halley_error *err)
{
    halley_template *roles = NULL;
    halley_cluster *cluster = NULL;
    halley_result *result = NULL;
    halley_status status = halley_plan_template(&roles, &d->model, &d->plan, &d->cluster,
                                                &d->stack, HALLEY_PRICES_STACK, err);
    if (status == HALLEY_OK)
        status = make_cluster(&cluster, d, err);
    if (status == HALLEY_OK)
        status = halley_sim_run_template(&result, roles, cluster,
                                         &(halley_sim_opts){.watch = watch}, err);
    if (status == HALLEY_OK) {
        uint64_t last = 0;
        for (uint32_t i = 0; i < halley_result_ranks(result); i++) {
            const halley_rank_result r = halley_result_rank(result, i);
            last = r.finish > last ? r.finish : last;
        }
        *out_s = (double)last / halley_result_ticks_per_s(result);
    }
    halley_result_free(result);
    halley_cluster_free(cluster);
    halley_template_free(roles);
    return status;
}

static halley_status verify_one(halley_verification *v, explore_worker *w,
                                const halley_candidate *c, const halley_watch *watch,
                                halley_error *err)
{
    assert(c->plan.dp > 0);
    explore_row row;
    halley_error why = {0};
    explore_worker_move(w, c->id);
    explore_worker_try(w, &row);
    explore_design d = w->design;
    v->dp = d.plan.dp;
    if (!shrink_design(&d)) {
        snprintf(v->note, sizeof v->note, "one replica has more than %d ranks",
                 MOST_RANKS);
        return HALLEY_OK;
    }
    v->simulated_dp = d.plan.dp;
    if (halley_plan_check(&d.plan, &d.model, d.n_npus, &why) != HALLEY_OK) {
        snprintf(v->note, sizeof v->note, "%.120s", why.text);
        return HALLEY_OK;
    }
    halley_estimate_run(&w->estimate, &d.model, &d.plan, &d.cluster, &d.stack);
    v->estimated_s = w->estimate.step_s;
    const halley_status status = simulate_design(&v->simulated_s, &d, watch, &why);
    if (status == HALLEY_ENOMEM || status == HALLEY_ECANCELED) {
        if (err)
            *err = why;
        return status;
    }
    const double meeting = w->estimate.part_s[HALLEY_PART_MEETING];
    v->simulated_s *= v->estimated_s / (v->estimated_s - meeting);
    v->done = status == HALLEY_OK;
    if (!v->done)
        snprintf(v->note, sizeof v->note, "%.120s", why.text);
    else if (v->simulated_dp < v->dp)
        snprintf(v->note, sizeof v->note, "%u of %u data-parallel replicas",
                 v->simulated_dp, v->dp);
    return HALLEY_OK;
}

typedef struct verify_job {
    halley_exploration *e;
    explore_worker *workers;   /* by thread */
    const halley_watch *watch; /* the caller's; NULL = none */
    pthread_mutex_t lock;      /* one call of `look` at a time */
    uint32_t n, n_done;
} verify_job;

/* Report progress of one of several simulations as designs of the whole. */
static bool look_at_designs(void *context, const halley_progress *progress)
{
    verify_job *j = context;
    (void)progress;
    pthread_mutex_lock(&j->lock);
    const bool goes_on =
        watch_look(j->watch, "verifying", "designs", j->n_done, (double)j->n);
    pthread_mutex_unlock(&j->lock);
    return goes_on;
}

static halley_status verify_task(void *context, size_t i, uint32_t worker,
                                 halley_error *err)
{
    verify_job *j = context;
    const halley_watch watch = {look_at_designs, j};
    TRY(verify_one(&j->e->verified[i], &j->workers[worker], &j->e->best[i], &watch, err));
    pthread_mutex_lock(&j->lock);
    j->n_done++;
    pthread_mutex_unlock(&j->lock);
    return HALLEY_OK;
}

/* Simulations share nothing, so running several at a time changes no result. */
static halley_status verify_all(verify_job *j, const explore_worker *w, uint32_t threads,
                                halley_error *err)
{
    j->workers = mem_array(threads, sizeof *j->workers);
    if (j->workers == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < threads; i++) {
        explore_worker_init(&j->workers[i], w->study);
        j->workers[i].exact = w->exact;
        j->workers[i].relaxed = w->relaxed;
    }
    pthread_mutex_init(&j->lock, NULL);
    const halley_status status = pool_run(threads, j->n, verify_task, j, err);
    pthread_mutex_destroy(&j->lock);
    free(j->workers);
    return status;
}

halley_status explore_verify(halley_exploration *e, const explore_worker *w,
                             uint32_t threads, const halley_watch *watch,
                             halley_error *err)
{
    const uint32_t wanted = w->study->verify;
    assert(e->n_best > 0 || wanted == 0);
    verify_job j = {.e = e, .watch = watch, .n = wanted < e->n_best ? wanted : e->n_best};
    e->verified = mem_array_zero(j.n, sizeof *e->verified);
    if (!e->verified)
        return error_nomem(err);
    if (j.n > 0)
        TRY(verify_all(&j, w, threads < j.n ? threads : j.n, err));
    e->n_verified = j.n;
    return HALLEY_OK;
}
