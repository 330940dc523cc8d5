/*
 * Plan search: every combination that divides, memory first and time only for what fits.
 * Combinations of tp, pp, cp and ep are the tasks; each keeps its own best few in order,
 * and the lists are merged in the order of the tasks, so that threads change nothing.
 * Ties go to the plan that comes first.
 */
#include "halley/search.h"

#include "base/array.h"
#include "base/pool.h"
#include "estimate/run.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cut {
    uint32_t tp, pp, cp, ep;
} cut;
typedef ARRAY(cut) cut_array;

typedef struct task_result {
    uint64_t n_designs, n_feasible;
    uint32_t n;
    halley_found *best; /* room for `top` */
} task_result;

typedef struct searching {
    const halley_model *model;
    const halley_platform *platform;
    const halley_stack *stack;
    halley_search_opts o;
    cut_array cuts;
    task_result *results;
} searching;

/* The next divisor of n above d, or 0. */
static uint32_t next_divisor(uint32_t n, uint32_t d)
{
    for (d++; d <= n; d++) {
        if (n % d == 0)
            return d;
    }
    return 0;
}

static bool is_fixed(const searching *s, halley_plan_key key)
{
    return s->o.fixed >> key & 1;
}

/* May a key have this value, when the plan of the options has that one? */
static bool allowed(const searching *s, halley_plan_key key, uint32_t value,
                    uint32_t wanted)
{
    return !is_fixed(s, key) || value == wanted;
}

static halley_status add_cuts(searching *s, uint32_t tp, uint32_t pp, halley_error *err)
{
    const halley_model *m = s->model;
    const uint32_t rest = s->o.n_npus / tp / pp;
    const halley_plan *p = &s->o.plan;
    uint32_t max_cp = s->o.max_cp ? s->o.max_cp : 1;
    if (is_fixed(s, HALLEY_KEY_CP))
        max_cp = p->cp;
    for (uint32_t cp = 1; cp && cp <= max_cp; cp = next_divisor(rest, cp)) {
        if (!allowed(s, HALLEY_KEY_CP, cp, p->cp) ||
            !allowed(s, HALLEY_KEY_DP, rest / cp, p->dp))
            continue;
        const uint32_t experts = m->experts ? m->experts : 1;
        for (uint32_t ep = 1; ep; ep = next_divisor(experts, ep)) {
            if (!allowed(s, HALLEY_KEY_EP, ep, p->ep) || tp * rest % ep)
                continue;
            if (!array_push(&s->cuts, (cut){tp, pp, cp, ep}))
                return error_nomem(err);
        }
    }
    return HALLEY_OK;
}

static halley_status list_cuts(searching *s, halley_error *err)
{
    const halley_model *m = s->model;
    const bool flat = m->kind != HALLEY_TRANSFORMER;
    const halley_plan *p = &s->o.plan;
    uint32_t most = s->o.max_tp ? s->o.max_tp : 4 * s->platform->per_node;
    if (is_fixed(s, HALLEY_KEY_TP))
        most = p->tp;
    for (uint32_t tp = 1; tp; tp = next_divisor(s->o.n_npus, tp)) {
        if (!allowed(s, HALLEY_KEY_TP, tp, p->tp) || tp > most || (flat && tp > 1) ||
            (!flat && m->heads % tp))
            continue;
        for (uint32_t pp = 1; pp; pp = next_divisor(s->o.n_npus / tp, pp)) {
            if (!allowed(s, HALLEY_KEY_PP, pp, p->pp) || pp > m->layers ||
                pp > HALLEY_MAX_STAGES)
                continue;
            TRY(add_cuts(s, tp, pp, err));
        }
    }
    return HALLEY_OK;
}

static void keep(task_result *r, uint32_t top, const halley_plan *plan,
                 const halley_estimate *e)
{
    uint32_t at = r->n;
    while (at > 0 && e->step_s < r->best[at - 1].estimate.step_s)
        at--;
    if (at >= top)
        return;
    const uint32_t last = r->n < top ? r->n++ : top - 1;
    for (uint32_t i = last; i > at; i--)
        r->best[i] = r->best[i - 1];
    r->best[at].plan = *plan;
    r->best[at].estimate = *e;
}

static void try_plan(searching *s, task_result *r, const halley_plan *plan)
{
    halley_estimate e;
    r->n_designs++;
    if (!estimate_run(&e, s->model, plan, s->platform, s->stack, true))
        return;
    r->n_feasible++;
    keep(r, s->o.top, plan, &e);
}

/* ZeRO stages and sharding of one cut and micro-batch. */
static void try_sharding(searching *s, task_result *r, halley_plan *p)
{
    const bool whole = is_fixed(s, HALLEY_KEY_ZERO),
               sharded = is_fixed(s, HALLEY_KEY_FSDP);
    if (whole || sharded) {
        try_plan(s, r, p);
        return;
    }
    for (uint32_t zero = 0; zero < 3; zero++) {
        if (zero != 1 && !s->o.all_zero)
            continue; /* 3 is fsdp, below */
        p->zero = zero;
        p->fsdp = 0;
        try_plan(s, r, p);
    }
    p->zero = 1;
    if ((s->o.fsdp || s->o.all_zero) && p->dp * p->cp > 1) {
        p->fsdp = p->dp * p->cp;
        try_plan(s, r, p);
        p->fsdp = 0;
    }
}

static void try_recompute(searching *s, task_result *r, halley_plan *p)
{
    static const halley_recompute kinds[] = {
        HALLEY_RECOMPUTE_NONE, HALLEY_RECOMPUTE_SELECTIVE, HALLEY_RECOMPUTE_FULL};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!allowed(s, HALLEY_KEY_RECOMPUTE, kinds[i], s->o.plan.recompute))
            continue;
        p->recompute = kinds[i];
        for (int split = p->tp > 1; split >= 0; split--) {
            if (!allowed(s, HALLEY_KEY_SEQUENCE_PARALLEL, (uint32_t)split,
                         s->o.plan.sequence_parallel && p->tp > 1))
                continue;
            p->sequence_parallel = split;
            try_sharding(s, r, p);
        }
    }
}

static void try_cut(searching *s, task_result *r, const cut *c)
{
    halley_plan p = s->o.plan;
    p.tp = c->tp;
    p.pp = c->pp;
    p.cp = c->cp;
    p.ep = c->ep;
    p.dp = s->o.n_npus / (c->tp * c->pp * c->cp);
    if (p.global_batch % p.dp)
        return;
    const uint32_t local = p.global_batch / p.dp, each = s->model->layers / c->pp;
    for (uint32_t mb = 1; mb; mb = next_divisor(local, mb)) {
        if (!allowed(s, HALLEY_KEY_MICRO_BATCH, mb, s->o.plan.micro_batch))
            continue;
        p.micro_batch = mb;
        for (uint32_t v = 1; v; v = next_divisor(each, v)) {
            if (v > 1 && (c->pp == 1 || s->model->layers % c->pp || local / mb % c->pp))
                break; /* interleaving wants equal chunks and full rounds */
            if (!allowed(s, HALLEY_KEY_VIRTUAL, v, s->o.plan.virtual_stages))
                continue;
            p.virtual_stages = v;
            halley_plan checked = p;
            if (halley_plan_check(&checked, s->model, s->o.n_npus, NULL) == HALLEY_OK)
                try_recompute(s, r, &checked);
        }
    }
}

static halley_status run_task(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    searching *s = context;
    task_result *r = &s->results[i];
    r->best = mem_array(s->o.top, sizeof *r->best);
    if (!r->best)
        return error_nomem(err);
    try_cut(s, r, &s->cuts.at[i]);
    return HALLEY_OK;
}

/* All tasks' lists into one, in the order of the tasks. */
static halley_status merge(halley_search **out, searching *s, halley_error *err)
{
    halley_search *found = calloc(1, sizeof *found);
    task_result all = {.best = mem_array(s->o.top, sizeof *all.best)};
    if (!found || !all.best) {
        free(found);
        free(all.best);
        return error_nomem(err);
    }
    for (size_t i = 0; i < s->cuts.n; i++) {
        const task_result *r = &s->results[i];
        found->n_designs += r->n_designs;
        found->n_feasible += r->n_feasible;
        for (uint32_t j = 0; j < r->n; j++)
            keep(&all, s->o.top, &r->best[j].plan, &r->best[j].estimate);
    }
    found->n_found = all.n;
    found->found = all.best;
    *out = found;
    return HALLEY_OK;
}

halley_status halley_search_run(halley_search **out, const halley_model *model,
                                const halley_platform *platform,
                                const halley_stack *stack, const halley_search_opts *opts,
                                halley_error *err)
{
    searching s = {.model = model, .platform = platform, .stack = stack, .o = *opts};
    if (!s.o.n_npus || !s.o.plan.global_batch)
        return error_set(err, HALLEY_EINVAL,
                         "a search wants the number of NPUs and the global batch");
    if (!s.o.top)
        s.o.top = 10;
    halley_status status = list_cuts(&s, err);
    if (status == HALLEY_OK) {
        s.results = mem_array_zero(s.cuts.n, sizeof *s.results);
        status = s.results ? HALLEY_OK : error_nomem(err);
    }
    if (status == HALLEY_OK)
        status = pool_run(s.o.threads, s.cuts.n, run_task, &s, err);
    if (status == HALLEY_OK)
        status = merge(out, &s, err);
    for (size_t i = 0; s.results && i < s.cuts.n; i++)
        free(s.results[i].best);
    free(s.results);
    array_fini(&s.cuts);
    return status;
}

void halley_search_free(halley_search *search)
{
    if (!search)
        return;
    free(search->found);
    free(search);
}

const char *halley_search_reason(char *to, size_t size, const halley_found *better,
                                 const halley_found *worse)
{
    int most = 0;
    double gap = -HUGE_VAL;
    for (int i = 0; i < HALLEY_N_PARTS; i++) {
        const double d = worse->estimate.part_s[i] - better->estimate.part_s[i];
        if (d > gap) {
            gap = d;
            most = i;
        }
    }
    if (gap <= 0)
        snprintf(to, size, "a tie");
    else
        snprintf(to, size, "%s +%.1f %%", halley_part_name((halley_part)most),
                 100 * gap / better->estimate.step_s);
    return to;
}
