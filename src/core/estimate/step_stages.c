/*
 * Stages and the schedule that runs them.
 *
 * The time of a pass of a micro-batch through a stage is the sum of its layers. A
 * backward pass also includes gradient accumulation and the cost of a micro-batch beyond
 * its layers. The schedule determines the step from the passes: exactly, pass by pass
 * (workload/schedule_walk.c), or in closed form for searches. Its time beyond the passes
 * of the slowest stage is the bubble. Transfers are the time that it takes longer with
 * messages between stages than without.
 */
#include "base/array.h"
#include "estimate/step.h"
#include "workload/schedule.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The number of layers at the two ends of the model that stay in bf16. */
static double count_wide(const step *s, const workload_stage *st)
{
    const uint32_t n = s->c.plan->bf16_layers;
    const double here =
        (st->first ? (n + 1) / 2 : 0) + (st->last ? n / 2 : 0); /* the rest at the end */
    return fmin(here, st->n_dense + st->n_moe);
}

/* Move layers of a stage to the bf16 kinds, those without experts first. */
static void set_wide(stage_cost *c, double wide)
{
    assert(wide >= 0);
    static const estimate_kind from[] = {ESTIMATE_DENSE, ESTIMATE_EXPERTS};
    static const estimate_kind to[] = {ESTIMATE_DENSE_WIDE, ESTIMATE_EXPERTS_WIDE};
    for (int i = 0; i < 2 && wide > 0; i++) {
        kind_count *a = &c->kinds[from[i]], *b = &c->kinds[to[i]];
        if (!(a->n > 0))
            continue;
        b->n = fmin(a->n, wide);
        b->again = a->again * b->n / a->n;
        a->n -= b->n;
        a->again -= b->again;
        wide -= b->n;
    }
}

/* True if a stage holds a head with its own weights. */
static bool owns_head(const step *s, const workload_stage *st)
{
    return !(s->c.model->tied && st->first);
}

stage_cost step_stage_make(const step *s, const workload_stage *st)
{
    stage_cost c = {.kinds = {[ESTIMATE_DENSE] = {st->n_dense, st->again_dense},
                              [ESTIMATE_EXPERTS] = {st->n_moe, st->again_moe},
                              [ESTIMATE_EMBEDDING] = {st->first, st->first},
                              [ESTIMATE_HEAD] = {st->last, st->last}}};
    if (s->c.plan->bf16_layers > 0)
        set_wide(&c, count_wide(s, st));
    for (int i = 0; i < ESTIMATE_N_KINDS; i++) {
        const kind_count *n = &c.kinds[i];
        const kind_cost *k = &s->kinds[i];
        if (!(n->n > 0))
            continue;
        c.forward_s += n->n * k->forward_s;
        c.backward_s += n->again * k->backward_s + (n->n - n->again) * k->plain_s;
        c.weight_s += n->n * fmin(k->price->weight_s, 0.9 * k->plain_s);
        c.expert_weights += n->n * k->expert_weights;
        c.trained_experts += n->n * (k->expert_weights - k->frozen_experts);
        c.touched += n->n * k->touched;
        if (i == ESTIMATE_HEAD && !owns_head(s, st))
            continue;
        c.weights += n->n * k->weights;
        c.trained += n->n * (k->weights - k->frozen);
    }
    c.reduced_s = step_reduced_each(s, &c);
    c.added = (s->fsdp_each ? c.trained / s->c.plan->fsdp : c.trained) + c.touched;
    assert(c.forward_s >= 0 && c.backward_s >= 0);
    return c;
}

double step_accumulation_time(const step *s, const stage_cost *c)
{
    return s->c.stack->k[HALLEY_K_ACCUMULATE] * c->added * s->c.stream_s;
}

static workload_pass_times pass_times(const step *s, const stage_cost *c, double parts)
{
    assert(parts > 0);
    const double more =
        step_accumulation_time(s, c) + s->c.stack->k[HALLEY_K_MICRO] / parts;
    return (workload_pass_times){.forward_s = c->forward_s,
                                 .input_s = c->backward_s - c->weight_s + more,
                                 .weight_s = c->weight_s + c->reduced_s};
}

static double sum_passes(const workload_pass_times *p)
{
    return p->forward_s + p->input_s + p->weight_s;
}

/* The stages of a plan: the cost of one micro-batch in each of them. */
typedef struct stage_list {
    workload_schedule schedule;
    workload_pass_times stages[HALLEY_MAX_STAGES];
    double hops_s[HALLEY_MAX_STAGES];
    stage_cost slow, full; /* the slowest stage, and the one with the most parameters */
    uint32_t slow_stage;
} stage_list;

static double total_weights(const stage_cost *c)
{
    return c->weights + c->expert_weights;
}

static void scale_stage(stage_cost *c, double by)
{
    assert(by > 0);
    for (int i = 0; i < ESTIMATE_N_KINDS; i++) {
        c->kinds[i].n *= by;
        c->kinds[i].again *= by;
    }
    c->forward_s *= by;
    c->backward_s *= by;
    c->weight_s *= by;
    c->added *= by;
    c->reduced_s *= by;
}

/* Time of the messages between neighbouring stages. */
static void list_hops(step *s, stage_list *l)
{
    const halley_plan *plan = s->c.plan;
    const double tokens = (double)plan->micro_batch * plan->seq / plan->cp;
    double bytes = tokens * s->c.model->hidden * 2;
    if (plan->sequence_parallel || s->c.stack->scatter_stages)
        bytes /= plan->tp;
    double level_s[COLL_MAX_LEVELS + 1]; /* per level; negative = not computed yet */
    for (uint32_t i = 0; i <= COLL_MAX_LEVELS; i++)
        level_s[i] = -1;
    for (uint32_t i = 0; i < plan->pp; i++) {
        const uint32_t next = (i + 1) % plan->pp;
        const uint32_t level = price_stages_level(&s->c, i, next);
        assert(level <= COLL_MAX_LEVELS);
        if (level_s[level] < 0)
            level_s[level] = price_send(&s->c, bytes, i, next);
        l->hops_s[i] = level_s[level];
    }
}

static void list_stages(step *s, stage_list *l)
{
    const halley_plan *plan = s->c.plan;
    const bool two_ways = workload_schedule_is_bidirectional(plan->schedule);
    l->schedule = workload_schedule_make(plan);
    for (uint32_t i = 0, next, times; i < plan->pp; i = next) {
        next = workload_stage_next(s->c.model, plan, i, &times);
        const workload_stage st = workload_stage_make(s->c.model, plan, i);
        stage_cost c = step_stage_make(s, &st);
        if (two_ways) /* each of its two chunks handles half of the micro-batches */
            scale_stage(&c, 0.5);
        const workload_pass_times one = pass_times(s, &c, 1);
        for (uint32_t j = i; j < next; j++)
            l->stages[j] = one;
        if (i == 0 ||
            stage_time(&c) + c.reduced_s > stage_time(&l->slow) + l->slow.reduced_s) {
            l->slow = c;
            l->slow_stage = i;
        }
        if (i == 0 || total_weights(&c) > total_weights(&l->full))
            l->full = c;
    }
    if (plan->pp > 1)
        list_hops(s, l);
}

static double form_time(const stage_list *l, double blocked, bool hops)
{
    return workload_schedule_form(
        &l->schedule, &(workload_schedule_times){.passes = l->stages,
                                                 .hops_s = hops ? l->hops_s : NULL,
                                                 .blocked = blocked});
}

static bool is_same_stage(const workload_stage *a, const workload_stage *b)
{
    return a->n_dense == b->n_dense && a->n_moe == b->n_moe &&
           a->again_dense == b->again_dense && a->again_moe == b->again_moe &&
           a->first == b->first && a->last == b->last;
}

/* The passes of the chunks of stage i. */
static void list_stage_chunks(workload_pass_times *passes, const step *s,
                              const workload_schedule *schedule, uint32_t i)
{
    const uint32_t n = schedule->chunks;
    const double parts = workload_schedule_is_bidirectional(schedule->kind) ? 1 : n;
    workload_stage last = {0};
    for (uint32_t j = 0; j < n; j++) {
        const workload_stage st = workload_chunk_make(s->c.model, s->c.plan, i, j);
        if (j > 0 && is_same_stage(&st, &last)) {
            passes[j] = passes[j - 1];
            continue;
        }
        const stage_cost cost = step_stage_make(s, &st);
        passes[j] = pass_times(s, &cost, parts);
        last = st;
    }
}

/* The passes of every chunk, for the walk; NULL if memory ran out. */
static workload_pass_times *list_chunks(const step *s, const stage_list *l)
{
    const uint32_t n = l->schedule.chunks, p = l->schedule.stages;
    workload_pass_times *passes = mem_array((size_t)p * n, sizeof *passes);
    for (uint32_t i = 0, next, times; i < p && passes != NULL; i = next) {
        next = workload_stage_next(s->c.model, s->c.plan, i, &times);
        list_stage_chunks(passes + (size_t)i * n, s, &l->schedule, i);
        for (uint32_t j = i + 1; j < next; j++) /* equal stages, chunk by chunk */
            memcpy(passes + (size_t)j * n, passes + (size_t)i * n, n * sizeof *passes);
    }
    return passes;
}

/* The time with and without messages between stages; false if it cannot be walked. */
static bool walk_stages(const step *s, const stage_list *l, double blocked,
                        double *with_s, double *without_s)
{
    workload_pass_times *chunks = NULL;
    if (l->schedule.chunks > 1) { /* one chunk is the stage itself */
        chunks = list_chunks(s, l);
        if (chunks == NULL)
            return false;
    }
    const workload_schedule_times t = {.passes = chunks != NULL ? chunks : l->stages,
                                       .hops_s = l->hops_s,
                                       .blocked = blocked};
    const bool done =
        workload_schedule_walk(with_s, without_s, &l->schedule, &t, NULL) == HALLEY_OK;
    free(chunks);
    return done;
}

static void add_schedule(step *s, const stage_list *l, bool walk)
{
    double *part = s->out->part_s;
    const double blocked = price_exposed(&s->c, WORKLOAD_PP);
    const double busy = s->micro_batches * sum_passes(&l->stages[l->slow_stage]);
    double with_s, without_s;
    const uint64_t n_failures = mem_failure_count();
    s->out->schedule_walked = walk && walk_stages(s, l, blocked, &with_s, &without_s);
    s->out->out_of_memory |= n_failures != mem_failure_count();
    if (!s->out->schedule_walked) {
        with_s = form_time(l, blocked, true);
        without_s = form_time(l, blocked, false);
    }
    assert(with_s >= without_s * (1 - 1e-9));
    const double bubble = without_s - busy;
    part[HALLEY_PART_BUBBLE] = fabs(bubble) < 1e-12 * busy ? 0 : bubble; /* rounding */
    part[HALLEY_PART_PP] = with_s - without_s;
}

/* Add the time of one kind of layer in a stage to the parts of the step, `times`
 * times. */
static void add_parts(step *s, const kind_count *of, const kind_cost *k, double times)
{
    assert(times >= 0);
    static const halley_part messages[] = {[WORKLOAD_TP] = HALLEY_PART_TP,
                                           [WORKLOAD_CP] = HALLEY_PART_CP,
                                           [WORKLOAD_EP] = HALLEY_PART_EP};
    double *part = s->out->part_s;
    const price_layer *p = k->price;
    const double n = times * of->n, again = times * of->again, plain = n - again;
    for (int c = 0; c < WORKLOAD_MESSAGES; c++) {
        part[HALLEY_PART_FORWARD] += n * p->f[c];
        part[HALLEY_PART_BACKWARD] += n * p->b[c];
        part[HALLEY_PART_RECOMPUTE] += again * p->r[c];
        s->out->class_s[c] += n * (p->f[c] + p->b[c]);
    }
    double backward_s = 0;
    for (int c = 0; c < WORKLOAD_MESSAGES; c++)
        backward_s += n * p->b[c];
    s->out->weight_gradient_s += fmin(n * (p->weight_s - p->host_w_s), backward_s);
    for (int g = WORKLOAD_TP; g <= WORKLOAD_EP; g++) {
        part[messages[g]] += n * (p->comm_f[g] + p->comm_b[g]);
        part[HALLEY_PART_RECOMPUTE] += again * p->comm_r[g];
    }
    part[HALLEY_PART_EP] += n * (p->comm_f[WORKLOAD_ETP] + p->comm_b[WORKLOAD_ETP]);
    part[HALLEY_PART_RECOMPUTE] += again * p->comm_r[WORKLOAD_ETP];
    part[HALLEY_PART_HOST] +=
        n * p->host_f_s + again * p->host_b_s + plain * p->host_plain_s;
    part[HALLEY_PART_DP] +=
        n * k->fsdp_f_s + again * k->fsdp_b_s + plain * k->fsdp_plain_s;
}

/* Recomputed FLOPs relative to the whole forward pass. */
static double count_again(const step *s, const stage_cost *c)
{
    double all = 0, again = 0;
    for (int i = 0; i < ESTIMATE_N_KINDS; i++) {
        all += c->kinds[i].n * s->kinds[i].price->flops;
        again += c->kinds[i].again * s->kinds[i].price->again_flops;
    }
    return all > 0 ? again / all : 0;
}

stage_cost step_add_pipeline(step *s, bool walk)
{
    assert(s->micro_batches > 0);
    const double m = s->micro_batches;
    double *part = s->out->part_s;
    stage_list l;
    list_stages(s, &l);
    for (int i = 0; i < ESTIMATE_N_KINDS; i++)
        if (l.slow.kinds[i].n > 0)
            add_parts(s, &l.slow.kinds[i], &s->kinds[i], m);
    s->out->slow_stage = l.slow_stage;
    s->out->hfu = count_again(s, &l.slow); /* becomes a fraction of the peak */
    part[HALLEY_PART_ACCUMULATE] = m * step_accumulation_time(s, &l.slow);
    part[HALLEY_PART_DP] += m * l.slow.reduced_s;
    part[HALLEY_PART_OTHER] += m * s->c.stack->k[HALLEY_K_MICRO];
    if (s->c.plan->pp > 1)
        add_schedule(s, &l, walk);
    else
        s->out->schedule_walked = true; /* no stage waits for another one */
    return l.full;
}
