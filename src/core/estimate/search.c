/*
 * Plan search: tries every combination of parallel degrees that divide evenly. Memory
 * comes first; only plans that fit are timed.
 *
 * Each combination of tp, pp, cp and ep (a cut) is a task. Each task keeps its own best
 * designs in order. The lists are merged in the order of the tasks, so the result does
 * not depend on the number of threads. Ties go to the plan that comes first.
 *
 * Designs are ranked with the closed form of the schedule. Those within its worst error
 * of the best, and at least 200, are then estimated pass by pass. The result is the best
 * of these. Designs that differ only in interleaving, schedule, recomputed layers,
 * sharding or offload share the operators of their layers and the prices. This makes it
 * possible to search millions of plans quickly.
 *
 * To find out whether any plan fits, the search first tries the smallest designs of each
 * cut. Everything they leave out adds memory: more sequences at a time, more chunks,
 * fewer recomputed layers, less sharding. If one of the smallest designs of a cut fits,
 * all designs of the cut are tried.
 */
#include "halley/search.h"

#include "base/array.h"
#include "base/number/number.h"
#include "base/pool.h"
#include "base/watch.h"
#include "estimate/groups.h"
#include "estimate/run.h"
#include "hw/cluster.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct cut {
    uint32_t tp, pp, cp, ep;
} cut;
typedef ARRAY(cut) cut_array;

typedef struct task_result {
    uint64_t n_designs, n_feasible, n_may, n_left_out;
    uint32_t n;
    bool is_hopeful;    /* one of its smallest designs fits or may fit */
    halley_found *best; /* room for `top` */
} task_result;

typedef struct searching {
    const halley_model *model;
    const halley_cluster *cluster;
    const halley_stack *stack;
    halley_search_opts o;
    cut_array cuts;
    task_result *results;
    watcher watcher; /* counts cuts */
    uint32_t n_kept; /* number of designs that every task keeps */
    bool first;      /* stop at the first plan that fits */
    bool smallest;   /* try only the designs of a cut with the least memory */
} searching;

/* The next divisor of n above d, or 0. */
static uint32_t next_divisor(uint32_t n, uint32_t d)
{
    assert(d > 0 && d <= n);
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

/* True if a key may have this value, given the value `wanted` in the plan of the
 * options. */
static bool is_allowed_value(const searching *s, halley_plan_key key, uint32_t value,
                             uint32_t wanted)
{
    return !is_fixed(s, key) || value == wanted;
}

static halley_status add_cuts(searching *s, uint32_t tp, uint32_t pp, halley_error *err)
{
    assert(tp > 0 && pp > 0);
    const halley_model *m = s->model;
    const uint32_t rest = s->o.n_npus / tp / pp;
    const halley_plan *p = &s->o.plan;
    uint32_t max_cp = s->o.max_cp ? s->o.max_cp : s->o.all ? rest : 1;
    if (is_fixed(s, HALLEY_KEY_CP))
        max_cp = p->cp;
    for (uint32_t cp = 1; cp && cp <= max_cp; cp = next_divisor(rest, cp)) {
        if (!is_allowed_value(s, HALLEY_KEY_CP, cp, p->cp) ||
            !is_allowed_value(s, HALLEY_KEY_DP, rest / cp, p->dp))
            continue;
        const uint32_t experts = m->experts ? m->experts : 1;
        for (uint32_t ep = 1; ep; ep = next_divisor(experts, ep)) {
            if (!is_allowed_value(s, HALLEY_KEY_EP, ep, p->ep) || tp * rest % ep)
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
    uint32_t most = s->o.max_tp ? s->o.max_tp : 4 * s->cluster->nodes.npus;
    if (is_fixed(s, HALLEY_KEY_TP))
        most = p->tp;
    for (uint32_t tp = 1; tp; tp = next_divisor(s->o.n_npus, tp)) {
        if (!is_allowed_value(s, HALLEY_KEY_TP, tp, p->tp) || tp > most ||
            (flat && tp > 1) || (!flat && (m->heads % tp || m->recurrent.heads % tp)))
            continue;
        for (uint32_t pp = 1; pp; pp = next_divisor(s->o.n_npus / tp, pp)) {
            if (!is_allowed_value(s, HALLEY_KEY_PP, pp, p->pp) || pp > m->layers ||
                pp > HALLEY_MAX_STAGES)
                continue;
            TRY(add_cuts(s, tp, pp, err));
        }
    }
    return HALLEY_OK;
}

/* Plans that fit rank before plans that may fit. */
static bool is_better(const halley_estimate *a, const halley_estimate *b)
{
    return a->fits != b->fits ? a->fits : a->step_s < b->step_s;
}

static void keep_plan(task_result *r, uint32_t top, const halley_plan *plan,
                      const halley_estimate *e)
{
    assert(r->n <= top);
    uint32_t at = r->n;
    while (at > 0 && is_better(e, &r->best[at - 1].estimate))
        at--;
    if (at >= top)
        return;
    const uint32_t last = r->n < top ? r->n++ : top - 1;
    for (uint32_t i = last; i > at; i--)
        r->best[i] = r->best[i - 1];
    r->best[at].plan = *plan;
    r->best[at].estimate = *e;
}

/* The state that the loops below pass down: the current plan and its layers. */
typedef struct trying {
    searching *s;
    task_result *r;
    halley_plan p;
    estimate_layers *layers;
    bool any; /* a variant of this cut and micro-batch fits; the best one is: */
    halley_plan best;
    halley_estimate estimate;
} trying;

static void try_plan(trying *t)
{
    const searching *s = t->s;
    halley_estimate e;
    if (s->o.allows != NULL && !s->o.allows(&t->p, s->o.context)) {
        t->r->n_left_out++;
        return;
    }
    t->r->n_designs++;
    if (!estimate_run_with(&e, t->layers, s->model, &t->p, s->cluster, s->stack,
                           s->o.all ? ESTIMATE_MAY_FIT : ESTIMATE_FITS))
        return;
    t->r->n_feasible += e.fits;
    t->r->n_may += !e.fits;
    if (s->o.variants) {
        keep_plan(t->r, s->n_kept, &t->p, &e);
    } else if (!t->any || is_better(&e, &t->estimate)) {
        t->any = true;
        t->best = t->p;
        t->estimate = e;
    }
}

static void try_offload(trying *t)
{
    const searching *s = t->s;
    const uint32_t given = t->p.offload;
    try_plan(t);
    if (!s->o.all || is_fixed(s, HALLEY_KEY_OFFLOAD) || s->cluster->npu.n_tiers < 2)
        return;
    for (uint32_t bits = 1; bits < 16; bits++) {
        t->p.offload = bits;
        try_plan(t);
    }
    t->p.offload = given;
}

/* Try ZeRO 0 to 2, weights sharded over all copies, and over a part (hybrid shard). */
static void try_sharding(trying *t)
{
    const searching *s = t->s;
    halley_plan *p = &t->p;
    const uint32_t copies = p->dp * p->cp;
    if (is_fixed(s, HALLEY_KEY_ZERO) || is_fixed(s, HALLEY_KEY_FSDP)) {
        try_offload(t);
        return;
    }
    for (uint32_t zero = s->smallest && copies > 1 ? 2 : 0; zero < 3; zero++) {
        p->zero = zero;
        p->fsdp = 0;
        if (zero == 0 || copies > 1)
            try_offload(t);
    }
    p->zero = copies > 1 ? 3 : 1;
    const bool parts = s->o.all && !s->smallest; /* hybrid shard */
    for (uint32_t n = parts || copies == 1 ? 1 : copies - 1; n < copies;) {
        n = parts ? next_divisor(copies, n) : copies;
        p->fsdp = n;
        try_offload(t);
    }
    p->zero = 1;
    p->fsdp = 0;
}

/* Try full recomputation that keeps the input of every k-th layer, or of some layers
 * only. */
static void try_again(trying *t, uint32_t layers)
{
    const searching *s = t->s;
    halley_plan *p = &t->p;
    try_sharding(t);
    if (p->recompute != HALLEY_RECOMPUTE_FULL)
        return;
    for (uint32_t k = 2; !is_fixed(s, HALLEY_KEY_RECOMPUTE_EVERY) && k <= layers; k++) {
        p->recompute_every = layers % k ? 0 : k;
        if (p->recompute_every)
            try_sharding(t);
    }
    p->recompute_every = s->o.plan.recompute_every;
    if (s->smallest)
        return;
    for (uint32_t n = 1; !is_fixed(s, HALLEY_KEY_RECOMPUTE_LAYERS) && n < layers; n++) {
        p->recompute_layers = n;
        try_sharding(t);
    }
    p->recompute_layers = s->o.plan.recompute_layers;
}

static void try_schedule(trying *t)
{
    const searching *s = t->s;
    halley_plan *p = &t->p;
    const uint32_t layers = s->model->layers / p->pp;
    const bool both = s->o.all && !s->smallest && p->pp > 1 && p->virtual_stages == 1 &&
                      !is_fixed(s, HALLEY_KEY_SCHEDULE);
    try_again(t, layers);
    if (!both)
        return;
    p->schedule = HALLEY_SCHEDULE_GPIPE;
    try_again(t, layers);
    p->schedule = s->o.plan.schedule;
}

static void try_recompute(trying *t)
{
    static const halley_recompute kinds[] = {
        HALLEY_RECOMPUTE_NONE, HALLEY_RECOMPUTE_SELECTIVE,    HALLEY_RECOMPUTE_FULL,
        HALLEY_RECOMPUTE_QKV,  HALLEY_RECOMPUTE_SELECTIVE_OP, HALLEY_RECOMPUTE_MINIMAL};
    const searching *s = t->s;
    halley_plan *p = &t->p;
    const halley_plan *given = &s->o.plan;
    const bool one = is_fixed(s, HALLEY_KEY_RECOMPUTE);
    for (int i = 0; i < (one ? 1 : s->o.all ? 6 : 3); i++) {
        p->recompute = one ? given->recompute : kinds[i];
        p->recompute_every =
            p->recompute == HALLEY_RECOMPUTE_FULL ? given->recompute_every : 0;
        p->recompute_layers = p->recompute ? given->recompute_layers : 0;
        for (int split = p->tp > 1; split >= 0; split--) {
            if (!is_allowed_value(s, HALLEY_KEY_SEQUENCE_PARALLEL, (uint32_t)split,
                                  given->sequence_parallel && p->tp > 1))
                continue;
            p->sequence_parallel = split;
            estimate_layers_make(t->layers, s->model, p, s->stack);
            try_schedule(t);
        }
    }
}

/* Try all variants of a cut, micro-batch and interleaving. */
static void try_variants(trying *t)
{
    const searching *s = t->s;
    const halley_plan before = t->p;
    t->any = false;
    if (halley_plan_check(&t->p, s->model, s->o.n_npus, NULL) == HALLEY_OK)
        try_recompute(t);
    if (t->any)
        keep_plan(t->r, s->n_kept, &t->best, &t->estimate);
    t->p = before;
}

/* One sequence at a time needs the least activation memory. A single micro-batch may need
 * no gradient memory (workload/states.c). */
static bool may_be_smallest(const searching *s, uint32_t micro_batch, uint32_t local)
{
    return !s->smallest || is_fixed(s, HALLEY_KEY_MICRO_BATCH) || micro_batch == 1 ||
           micro_batch == local;
}

static void try_micro_batches(trying *t)
{
    const searching *s = t->s;
    halley_plan *p = &t->p;
    const uint32_t local = p->global_batch / p->dp;
    const uint32_t with = s->model->layers + 2; /* embeddings as layers */
    const bool as_layers = s->model->layers % p->pp != 0 && with % p->pp == 0;
    const uint32_t each = (as_layers ? with : s->model->layers) / p->pp;
    for (uint32_t mb = 1; mb; mb = next_divisor(local, mb)) {
        if (!is_allowed_value(s, HALLEY_KEY_MICRO_BATCH, mb, s->o.plan.micro_batch) ||
            !may_be_smallest(s, mb, local))
            continue;
        p->micro_batch = mb;
        for (uint32_t v = 1; v; v = next_divisor(each, v)) {
            if (v > 1 && (p->pp == 1 || local / mb % p->pp))
                break; /* interleaving needs full rounds */
            if (!is_allowed_value(s, HALLEY_KEY_VIRTUAL, v, s->o.plan.virtual_stages) ||
                (s->smallest && v > 1 && !is_fixed(s, HALLEY_KEY_VIRTUAL)))
                continue;
            p->virtual_stages = v;
            try_variants(t);
        }
    }
}

/* Rank orders that put the same groups into a node are equivalent. */
static bool is_new_order(const searching *s, const halley_plan *p)
{
    uint32_t n[WORKLOAD_N_GROUPS], mine[WORKLOAD_N_GROUPS], other[WORKLOAD_N_GROUPS];
    plan_group_sizes(n, mine, p, plan_ranks_per_node(p, s->cluster));
    for (uint32_t i = 0; i < p->rank_order; i++) {
        halley_plan q = *p;
        q.rank_order = i;
        plan_group_sizes(n, other, &q, plan_ranks_per_node(&q, s->cluster));
        if (memcmp(mine, other, sizeof mine) == 0)
            return false;
    }
    return true;
}

static void try_cut(searching *s, task_result *r, const cut *c, estimate_layers *layers)
{
    trying t = {.s = s, .r = r, .p = s->o.plan, .layers = layers};
    halley_plan *p = &t.p;
    p->tp = c->tp;
    p->pp = c->pp;
    p->cp = c->cp;
    p->ep = c->ep;
    p->etp = p->etp ? p->etp : 1;
    p->dp = s->o.n_npus / (c->tp * c->pp * c->cp);
    if (p->global_batch % p->dp)
        return;
    const bool orders = s->o.all && !s->smallest && !is_fixed(s, HALLEY_KEY_RANK_ORDER);
    for (uint32_t i = 0; i < (orders ? HALLEY_RANK_ORDERS : 1u); i++) {
        p->rank_order = orders ? i : s->o.plan.rank_order;
        if (!orders || is_new_order(s, p))
            try_micro_batches(&t);
    }
}

static halley_status run_task(void *context, size_t i, uint32_t worker, halley_error *err)
{
    (void)worker;
    searching *s = context;
    task_result *r = &s->results[i];
    if (!watcher_add(&s->watcher, 1))
        return watcher_error(&s->watcher, err);
    estimate_layers *layers = malloc(sizeof *layers);
    r->best = mem_array(s->n_kept, sizeof *r->best);
    if (r->best && layers)
        try_cut(s, r, &s->cuts.at[i], layers);
    const bool ok = r->best && layers;
    free(layers);
    return ok ? HALLEY_OK : error_nomem(err);
}

/* The worst error of the closed form, and the minimum number of designs estimated
 * exactly. */
static const double form_error = 0.12;
enum { MOST_KEPT = 24000, FEWEST_WALKED = 200 };

/* One of the designs that the closed form ranks first. */
typedef struct contender {
    halley_found found;
    size_t order; /* for ties */
} contender;
typedef ARRAY(contender) contender_array;

static int compare_contenders(const void *a, const void *b)
{
    const contender *x = a, *y = b;
    if (is_better(&x->found.estimate, &y->found.estimate))
        return -1;
    if (is_better(&y->found.estimate, &x->found.estimate))
        return 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* List the designs near the best, in order. Returns false if memory ran out. */
static bool list_contenders(contender_array *out, const searching *s)
{
    size_t order = 0;
    bool ok = true;
    for (size_t i = 0; i < s->cuts.n; i++)
        for (uint32_t j = 0; j < s->results[i].n; j++)
            ok = ok && array_push(out, ((contender){s->results[i].best[j], order++}));
    if (!ok || out->n == 0)
        return ok;
    qsort(out->at, out->n, sizeof *out->at, compare_contenders);
    const double limit = out->at[0].found.estimate.step_s * (1 + form_error);
    const size_t least = s->o.top > FEWEST_WALKED ? s->o.top : FEWEST_WALKED;
    size_t n = out->n < least ? out->n : least;
    while (n < out->n && out->at[n].found.estimate.step_s <= limit)
        n++;
    out->n = n;
    return true;
}

typedef struct walking {
    const searching *s;
    contender *at;
} walking;

static halley_status walk_contender(void *context, size_t i, uint32_t worker,
                                    halley_error *err)
{
    const walking *w = context;
    halley_found *f = &w->at[i].found;
    (void)worker;
    (void)err;
    halley_estimate_run(&f->estimate, w->s->model, &f->plan, w->s->cluster, w->s->stack);
    return HALLEY_OK;
}

/* Merge the lists of all tasks and estimate the best designs pass by pass. */
static halley_status merge_tasks(halley_search **out, searching *s, halley_error *err)
{
    contender_array all = {0};
    halley_search *found = calloc(1, sizeof *found);
    halley_found *best = mem_array(s->o.top, sizeof *best);
    bool ok = found != NULL && best != NULL && list_contenders(&all, s);
    ok = ok && pool_run(s->o.threads, all.n, walk_contender, &(walking){s, all.at},
                        err) == HALLEY_OK;
    if (!ok) {
        free(found);
        free(best);
        array_fini(&all);
        return error_nomem(err);
    }
    if (all.n > 0)
        qsort(all.at, all.n, sizeof *all.at, compare_contenders);
    for (size_t i = 0; i < s->cuts.n; i++) {
        found->n_designs += s->results[i].n_designs;
        found->n_feasible += s->results[i].n_feasible;
        found->n_may += s->results[i].n_may;
        found->n_left_out += s->results[i].n_left_out;
    }
    found->size = sizeof *found;
    found->n_found = all.n < s->o.top ? (uint32_t)all.n : s->o.top;
    for (uint32_t i = 0; i < found->n_found; i++)
        best[i] = all.at[i].found;
    found->found = best;
    array_fini(&all);
    *out = found;
    return HALLEY_OK;
}

/* The number of designs that each task keeps, limited by the memory for all tasks. */
static uint32_t count_kept(const searching *s)
{
    const size_t n = s->cuts.n > 0 ? MOST_KEPT / s->cuts.n : 0;
    const uint32_t each = n < 32 ? 32 : n > 400 ? 400 : (uint32_t)n;
    return each > s->o.top ? each : s->o.top;
}

/* All threads try the smallest designs of the cuts. Then one thread tries all designs of
 * the cuts where a small one fits or may fit, cut by cut, until a design fits. Only one
 * thread does this, so that every run finds the same plan. */
static halley_status run_until_found(searching *s, halley_error *err)
{
    s->smallest = true;
    TRY(pool_run(s->o.threads, s->cuts.n, run_task, s, err));
    s->smallest = false;
    for (size_t i = 0; i < s->cuts.n; i++) {
        task_result *const r = &s->results[i];
        free(r->best);
        *r = (task_result){.is_hopeful = r->n > 0};
    }
    for (size_t i = 0; i < s->cuts.n; i++) {
        const task_result *const r = &s->results[i];
        if (r->is_hopeful)
            TRY(run_task(s, i, 0, err));
        if (r->n > 0 && r->best[0].estimate.fits)
            break;
    }
    return HALLEY_OK;
}

static halley_status run_search(halley_search **out, const halley_model *model,
                                const halley_cluster *cluster, const halley_stack *stack,
                                const halley_search_opts *opts, bool first,
                                halley_error *err)
{
    assert(opts != NULL);
    assert(opts->n_npus > 0);
    searching s = {
        .model = model, .cluster = cluster, .stack = stack, .o = *opts, .first = first};
    if (!s.o.n_npus || !s.o.plan.global_batch)
        return error_set(err, HALLEY_EINVAL,
                         "a search needs the number of NPUs and the global batch");
    if (!s.o.top)
        s.o.top = 10;
    TRY(halley_plan_check_npu(&s.o.plan, &cluster->npu, err));
    halley_status status = list_cuts(&s, err);
    s.n_kept = count_kept(&s);
    if (status == HALLEY_OK) {
        s.results = mem_array_zero(s.cuts.n, sizeof *s.results);
        status = s.results ? HALLEY_OK : error_nomem(err);
    }
    watcher_init(&s.watcher, s.o.watch, "searching plans", "cuts", (double)s.cuts.n);
    if (status == HALLEY_OK)
        status = s.first ? run_until_found(&s, err)
                         : pool_run(s.o.threads, s.cuts.n, run_task, &s, err);
    if (status == HALLEY_OK)
        status = merge_tasks(out, &s, err);
    for (size_t i = 0; s.results && i < s.cuts.n; i++)
        free(s.results[i].best);
    free(s.results);
    array_fini(&s.cuts);
    return status;
}

halley_status halley_search_run(halley_search **out, const halley_model *model,
                                const halley_cluster *cluster, const halley_stack *stack,
                                const halley_search_opts *opts, halley_error *err)
{
    return run_search(out, model, cluster, stack, opts, false, err);
}

halley_search_answer halley_search_any(halley_found *best, const halley_model *model,
                                       const halley_cluster *cluster,
                                       const halley_stack *stack,
                                       const halley_search_opts *opts)
{
    halley_search_opts o = *opts;
    halley_search_answer answer = HALLEY_SEARCH_NONE;
    for (int all = o.all; all < 2 && answer != HALLEY_SEARCH_FITS; all++) {
        halley_search *s = NULL;
        o.all = all;
        o.top = 1;
        if (run_search(&s, model, cluster, stack, &o, true, NULL) != HALLEY_OK)
            continue;
        if (s->n_found > 0) {
            *best = s->found[0];
            answer = best->estimate.fits ? HALLEY_SEARCH_FITS : HALLEY_SEARCH_MAY_FIT;
        }
        halley_search_free(s);
    }
    return answer;
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
    assert(size > 0);
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
        snprintf(to, size, "%s +%s %%", halley_part_name((halley_part)most),
                 number_fixed(100 * gap / better->estimate.step_s, 1).at);
    return to;
}
