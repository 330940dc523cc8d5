/*
 * Gradients are reduced bucket by bucket as soon as the last backward pass of a chunk has
 * computed them. A bucket holds whole layers. Weights are gathered layer by layer, from
 * the beginning of the step on. The messages come one after the other, next to the
 * passes. The update waits for all reductions, and the first forward pass of a
 * layer for its weights.
 *
 * Where a stack states which share of these messages is hidden, the others follow the
 * last pass: reductions before the update, gathers after it. With ZeRO 2, reductions are
 * a part of every backward pass.
 */
#include "estimate/plan_reduce.h"

#include <assert.h>
#include <math.h>

bool plan_reduces_each(const halley_plan *plan)
{
    assert(plan != NULL);
    return plan->zero == 2 && !plan->fsdp;
}

void plan_reduce_init(plan_reduce *r, plan_nodes *n, const step *s,
                      const stage_cost *stage, plan_params total)
{
    *r = (plan_reduce){
        .n = n, .s = s, .total = total, .before = {PLAN_NO_NODE, PLAN_NO_NODE}};
    r->all = step_reduction_make(s, stage);
    r->shown = r->all.by_chunk ? 0 : price_exposed(&s->c, WORKLOAD_DP);
}

void plan_reduce_fini(plan_reduce *r)
{
    array_fini(&r->gathers);
    array_fini(&r->deferred);
}

static int find_set(workload_group group)
{
    return group == WORKLOAD_XP || group == WORKLOAD_XFSDP || group == WORKLOAD_XOUTER
               ? PLAN_EXPERTS
               : PLAN_DENSE;
}

static double sum_params(plan_params p)
{
    return p.of[PLAN_DENSE] + p.of[PLAN_EXPERTS];
}

static bool is_full(const plan_reduce *r, int set, double params)
{
    assert(r != NULL);
    const step *s = r->s;
    return params >= step_bucket_params(s, set == PLAN_DENSE ? WORKLOAD_DP : WORKLOAD_XP);
}

static plan_message make_part(const step_message *m, double share)
{
    assert(m != NULL);
    return (plan_message){.name = m->gathers ? "weight gather" : "gradient reduction",
                          .kind = m->kind,
                          .group = m->group,
                          .bytes = m->bytes * share,
                          .seconds = m->all_s * share};
}

typedef enum send_mode {
    SEND_BESIDE,  /* the end of the step waits */
    SEND_IN_PASS, /* the end of the pass waits */
    SEND_IN_CHAIN
} send_mode;

static bool is_outer(workload_group group)
{
    return group == WORKLOAD_OUTER || group == WORKLOAD_XOUTER;
}

/* Send a message next to the chain. Ranks with the same shard reduce it after their shard
 * group, while that one goes on with the next bucket. */
static uint64_t send_beside(plan_reduce *r, const plan_message *m, uint64_t awaits)
{
    uint64_t *before = &r->before[is_outer(m->group)];
    if (is_outer(m->group))
        awaits = r->before[0];
    *before = plan_message_beside(r->n, m, awaits, *before);
    return *before;
}

static void send_part(plan_reduce *r, const plan_message *m, send_mode mode)
{
    assert(r != NULL && m != NULL);
    plan_message own = *m;
    if (mode == SEND_BESIDE) {
        plan_await_late(r->n, send_beside(r, m, r->n->last));
        return;
    }
    own.hidden_s = mode == SEND_IN_PASS ? HUGE_VAL : 0;
    plan_message_chain(r->n, &own);
    if (mode == SEND_IN_CHAIN &&
        m->kind != COLL_ALL_GATHER) /* the update uses them all */
        plan_await_late(r->n, r->n->last);
}

/* Send the messages of some parameters: inside a shard group, then across. */
static void send_params(plan_reduce *r, int set, double params, bool gathers,
                        send_mode mode)
{
    for (uint32_t i = 0; i < r->all.n && params > 0; i++) {
        const step_message *m = &r->all.messages[i];
        if (m->gathers != gathers || find_set(m->group) != set)
            continue;
        const plan_message part = make_part(m, params / r->total.of[set]);
        send_part(r, &part, mode);
    }
}

static void defer(plan_reduce *r, int set, double params, bool gathers)
{
    r->n->failed |= !array_push(&r->deferred, ((plan_deferred){set, params, gathers}));
}

/* Send a bucket now, or after the last pass if it belongs to the exposed share: those
 * that are ready last. */
static void reduce_bucket(plan_reduce *r, int set)
{
    const double params = r->pending.of[set];
    const bool hides = r->left - params / 2 >= r->shown * sum_params(r->total);
    r->pending.of[set] = 0;
    r->left -= params;
    if (hides)
        send_params(r, set, params, false,
                    plan_reduces_each(r->s->c.plan) ? SEND_IN_PASS : SEND_BESIDE);
    else
        defer(r, set, params, false);
}

void plan_reduce_add(plan_reduce *r, plan_params ready, bool ends)
{
    if (r->left <= 1e-9 * sum_params(r->total))
        r->left = sum_params(r->total);
    for (int set = 0; set < PLAN_N_SETS; set++) {
        r->pending.of[set] += ready.of[set];
        if (r->pending.of[set] > 0 && (ends || is_full(r, set, r->pending.of[set])))
            reduce_bucket(r, set);
    }
}

void plan_reduce_whole(plan_reduce *r, bool gathers)
{
    for (uint32_t i = 0; i < r->all.n; i++) {
        plan_message m = make_part(&r->all.messages[i], 1);
        m.hidden_s = (1 - r->shown) * m.seconds;
        if (r->all.messages[i].gathers == gathers)
            plan_message_chain(r->n, &m);
    }
}

static bool has_gathers(const plan_reduce *r)
{
    assert(r != NULL);
    for (uint32_t i = 0; i < r->all.n; i++)
        if (r->all.messages[i].gathers)
            return true;
    return false;
}

static void gather_place(plan_reduce *r, const plan_gather *of, int set, double params)
{
    const bool hides = r->left - params / 2 >= r->shown * sum_params(r->total);
    r->left -= params;
    if (!hides) {
        defer(r, set, params, true);
        return;
    }
    for (uint32_t i = 0; i < r->all.n && params > 0; i++) {
        const step_message *m = &r->all.messages[i];
        if (!m->gathers || find_set(m->group) != set)
            continue;
        const plan_message part = make_part(m, params / r->total.of[set]);
        plan_gather at = *of;
        at.id = send_beside(r, &part, PLAN_NO_NODE);
        r->n->failed |= !array_push(&r->gathers, at);
    }
}

void plan_gather_add(plan_reduce *r, plan_gather at, plan_params needed)
{
    if (!has_gathers(r))
        return;
    if (r->left <= 1e-9 * sum_params(r->total))
        r->left = sum_params(r->total);
    for (int set = 0; set < PLAN_N_SETS; set++)
        if (needed.of[set] > 0)
            gather_place(r, &at, set, needed.of[set]);
}

void plan_gather_await(plan_reduce *r, uint32_t chunk, uint32_t place)
{
    assert(r != NULL);
    for (size_t i = 0; i < r->gathers.n; i++) {
        const plan_gather *g = &r->gathers.at[i];
        if (g->chunk == chunk && g->place == place)
            plan_await(r->n, g->id);
    }
}

void plan_deferred_send(plan_reduce *r, bool gathers)
{
    assert(r != NULL);
    size_t n = 0;
    for (size_t i = 0; i < r->deferred.n; i++) {
        const plan_deferred d = r->deferred.at[i];
        if (d.gathers == gathers)
            send_params(r, d.set, d.params, gathers, SEND_IN_CHAIN);
        else
            r->deferred.at[n++] = d;
    }
    r->deferred.n = n;
}
