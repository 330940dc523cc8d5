/*
 * Verification: the traces of a plan (estimate/plan_trace.c) on the simulator, message by
 * message, against the estimate of the same plan. The network is the platform's: a switch
 * for the scale-up domain, one between them, at the bandwidth large messages reach. Only
 * compute durations are shared. A plan with more than MOST_RANKS ranks is simulated with
 * fewer data-parallel replicas, each with the same work, and both figures are of that
 * smaller run.
 */
#include "explore/verify.h"

#include "base/array.h"
#include "base/str.h"
#include "cluster/astra.h"
#include "cluster/cluster.h"
#include "estimate/groups.h"
#include "halley/plan_trace.h"
#include "halley/sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 128 };

static uint32_t ranks_of(const halley_plan *p)
{
    return p->tp * p->cp * p->pp * p->dp;
}

/* Fewer replicas, each with the batch it had. */
static bool shrink(explore_design *d)
{
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

static void add_groups(strbuf *to, const halley_plan *p, uint32_t *members)
{
    const uint32_t n = plan_group_count(p);
    if (n == 0)
        return;
    strbuf_add(to, STR("groups:\n"));
    for (uint32_t g = 1; g <= n; g++) {
        const uint32_t m = plan_group_members(members, p, g);
        strbuf_printf(to, "  %u: [", g);
        for (uint32_t i = 0; i < m; i++)
            strbuf_printf(to, "%s%u", i ? ", " : "", members[i]);
        strbuf_add(to, STR("]\n"));
    }
}

/* The platform as a cluster file. */
static void describe(strbuf *to, const explore_design *d, uint32_t *members)
{
    const halley_platform *p = &d->platform;
    const uint32_t n = ranks_of(&d->plan);
    uint32_t near = p->per_node < n ? p->per_node : n;
    while (n % near)
        near--;
    const double share = p->up.simple.share > 0 ? p->up.simple.share : 1;
    const double far = p->out.share > 0 ? p->out.share : 1;
    strbuf_printf(
        to, "name: verify\nnpus: %u\nnpu:\n  peak: {bf16: %.6g FLOP/s}\n  memory:\n", n,
        p->npu.peak_flops[HALLEY_BF16]);
    for (uint32_t i = 0; i < p->npu.n_tiers && i < 2; i++)
        strbuf_printf(to, "    - {name: m%u, capacity: %.6g B, bandwidth: %.6g B/s}\n", i,
                      p->npu.tiers[i].capacity_bytes, p->npu.tiers[i].bandwidth_Bps);
    strbuf_printf(to,
                  "network:\n  - {name: up, topology: switch, size: %u, bandwidth: %.6g "
                  "B/s, latency: %.6g s}\n",
                  near, p->up.bandwidth_Bps * share, p->up.simple.hop_s / 2);
    if (n / near > 1)
        strbuf_printf(to,
                      "  - {name: out, topology: switch, size: %u, bandwidth: %.6g B/s, "
                      "latency: %.6g s}\n",
                      n / near, p->out.bandwidth_Bps * far, p->out.hop_s[2] / 2);
    add_groups(to, &d->plan, members);
}

static halley_status make_cluster(halley_cluster **out, const explore_design *d,
                                  halley_error *err)
{
    strbuf text = {0};
    conf_file file;
    uint32_t *members = mem_array(ranks_of(&d->plan), sizeof *members);
    halley_cluster *c = cluster_new();
    if (members)
        describe(&text, d, members);
    halley_status status = !members || text.failed || !c ? error_nomem(err) : HALLEY_OK;
    free(members);
    if (status == HALLEY_OK)
        status = conf_parse(&file, strbuf_str(&text), "verify.yaml", err);
    if (status == HALLEY_OK) {
        status = cluster_own_from(c, &file, err);
        conf_fini(&file);
    }
    strbuf_fini(&text);
    if (status == HALLEY_OK)
        *out = c;
    else
        halley_cluster_free(c);
    return status;
}

static halley_status make_traces(halley_trace_set **out, const explore_design *d,
                                 halley_error *err)
{
    const uint32_t n = ranks_of(&d->plan);
    halley_trace **list = mem_array_zero(n, sizeof *list);
    halley_status status = list ? HALLEY_OK : error_nomem(err);
    for (uint32_t i = 0; i < n && status == HALLEY_OK; i++)
        status = halley_plan_trace(&list[i], &d->model, &d->plan, &d->platform, &d->stack,
                                   i, err);
    if (status == HALLEY_OK)
        status = halley_trace_set_new(out, list, n, err);
    for (uint32_t i = 0; status != HALLEY_OK && list && i < n; i++)
        halley_trace_free(list[i]); /* else they are the set's */
    free(list);
    return status;
}

static halley_status simulate(double *out_s, const explore_design *d, halley_error *err)
{
    halley_trace_set *traces = NULL;
    halley_cluster *cluster = NULL;
    halley_result *result = NULL;
    halley_status status = make_traces(&traces, d, err);
    if (status == HALLEY_OK)
        status = make_cluster(&cluster, d, err);
    if (status == HALLEY_OK)
        status = halley_sim_run(&result, traces, cluster, NULL, err);
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
    halley_trace_set_free(traces);
    return status;
}

static halley_status verify_one(halley_verification *v, explore_worker *w,
                                const halley_candidate *c, halley_error *err)
{
    explore_row row;
    halley_error why = {0};
    explore_worker_move(w, c->id);
    explore_worker_try(w, &row);
    explore_design d = w->design;
    v->dp = d.plan.dp;
    if (!shrink(&d)) {
        snprintf(v->note, sizeof v->note, "one replica has more than %d ranks",
                 MOST_RANKS);
        return HALLEY_OK;
    }
    v->simulated_dp = d.plan.dp;
    if (halley_plan_check(&d.plan, &d.model, d.n_npus, &why) != HALLEY_OK) {
        snprintf(v->note, sizeof v->note, "%.120s", why.text);
        return HALLEY_OK;
    }
    halley_estimate_run(&w->estimate, &d.model, &d.plan, &d.platform, &d.stack);
    v->estimated_s = w->estimate.step_s;
    const halley_status status = simulate(&v->simulated_s, &d, &why);
    if (status == HALLEY_ENOMEM) {
        if (err)
            *err = why;
        return status;
    }
    v->done = status == HALLEY_OK;
    if (!v->done)
        snprintf(v->note, sizeof v->note, "%.120s", why.text);
    else if (v->simulated_dp < v->dp)
        snprintf(v->note, sizeof v->note, "%u of %u data-parallel replicas",
                 v->simulated_dp, v->dp);
    return HALLEY_OK;
}

halley_status explore_verify(halley_exploration *e, const halley_study *s,
                             explore_worker *w, halley_error *err)
{
    const uint32_t n = s->verify < e->n_best ? s->verify : e->n_best;
    e->verified = mem_array_zero(n, sizeof *e->verified);
    if (!e->verified)
        return error_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        TRY(verify_one(&e->verified[e->n_verified++], w, &e->best[i], err));
    return HALLEY_OK;
}
