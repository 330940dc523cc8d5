/*
 * sim/calls.c - what an NPU does after a delay of its own: endpoint delays, reductions,
 * and the end of compute and memory nodes.
 *
 * All calls of an NPU for one time share one event, which the first of these calls
 * scheduled. Later calls join that event, even while it is being dispatched. This fixes
 * the order among NPUs at one instant, and so which NPU gets a link or a memory first.
 *
 * An NPU has few pending times, usually one or two, and most new calls are for the latest
 * of them. A sorted list that is searched from its end is therefore fast enough.
 */
#include "sim/fold.h"

halley_status sim_calls_init(sim *s)
{
    sim_calls *c = &s->calls;
    c->free_group = c->free_item = SIM_NONE;
    c->heads = mem_array(s->n_ranks, sizeof *c->heads);
    c->tails = mem_array(s->n_ranks, sizeof *c->tails);
    if (c->heads == NULL || c->tails == NULL)
        return error_nomem(s->err);
    for (uint32_t i = 0; i < s->n_ranks; i++)
        c->heads[i] = c->tails[i] = SIM_NONE;
    return HALLEY_OK;
}

void sim_calls_fini(sim *s)
{
    free(s->calls.heads);
    free(s->calls.tails);
    array_fini(&s->calls.groups);
    array_fini(&s->calls.items);
}

static uint32_t new_call_group(sim *s)
{
    sim_calls *c = &s->calls;
    const uint32_t id = c->free_group;
    assert(id == SIM_NONE || id < c->groups.n);
    if (id != SIM_NONE) {
        c->free_group = c->groups.at[id].next;
        return id;
    }
    if (!array_push(&c->groups, (sim_call_group){0})) {
        sim_fail_memory(s);
        return SIM_NONE;
    }
    return (uint32_t)c->groups.n - 1;
}

static void join_group(sim *s, uint32_t group, uint64_t event)
{
    sim_calls *c = &s->calls;
    uint32_t id = c->free_item;
    assert(id == SIM_NONE || id < c->items.n);
    if (id != SIM_NONE) {
        c->free_item = c->items.at[id].next;
    } else {
        if (!array_push(&c->items, (sim_call_item){0})) {
            sim_fail_memory(s);
            return;
        }
        id = (uint32_t)c->items.n - 1;
    }
    c->items.at[id] = (sim_call_item){event, SIM_NONE};
    sim_call_group *g = &c->groups.at[group];
    assert(group < c->groups.n);
    if (g->more == SIM_NONE)
        g->more = id;
    else
        c->items.at[g->last].next = id;
    g->last = id;
}

void sim_call_after(sim *s, uint32_t npu, uint64_t delay, uint64_t event)
{
    sim_calls *c = &s->calls;
    const uint64_t at = s->queue.now + delay;
    const uint32_t tail = c->tails[npu];
    assert(npu < s->n_ranks);
    uint32_t before = tail, after = SIM_NONE;
    if (tail != SIM_NONE && at <= c->groups.at[tail].at) {
        before = SIM_NONE;
        after = c->heads[npu];
        while (c->groups.at[after].at < at) {
            assert(c->groups.at[after].next != SIM_NONE); /* the last one is later */
            before = after;
            after = c->groups.at[after].next;
        }
        if (c->groups.at[after].at == at) {
            join_group(s, after, event);
            return;
        }
    }
    const uint32_t id = new_call_group(s);
    if (id == SIM_NONE)
        return;
    c->groups.at[id] = (sim_call_group){at, event, SIM_NONE, SIM_NONE, after};
    assert(before == SIM_NONE || c->groups.at[before].at < at);
    assert(after == SIM_NONE || c->groups.at[after].at > at);
    if (before == SIM_NONE)
        c->heads[npu] = id;
    else
        c->groups.at[before].next = id;
    if (after == SIM_NONE)
        c->tails[npu] = id;
    if (s->fold != NULL && delay > 0)
        sim_fold_note(s, npu, at, 0);
    des_queue_push(&s->queue, at, sim_event_calls(npu));
}

void sim_calls_run(sim *s, uint32_t npu)
{
    sim_calls *c = &s->calls;
    const uint32_t id = c->heads[npu];
    assert(npu < s->n_ranks && id != SIM_NONE && c->groups.at[id].at == s->queue.now);
    sim_dispatch(s, c->groups.at[id].first);
    uint32_t item = c->groups.at[id].more;
    while (item != SIM_NONE) {
        const uint64_t event = c->items.at[item].event;
        sim_dispatch(s, event); /* may join further calls to this group */
        const uint32_t next = c->items.at[item].next;
        c->items.at[item].next = c->free_item;
        c->free_item = item;
        item = next;
        if (item == SIM_NONE)
            c->groups.at[id].more = SIM_NONE;
    }
    assert(c->heads[npu] == id); /* nothing earlier was added meanwhile */
    c->heads[npu] = c->groups.at[id].next;
    if (c->heads[npu] == SIM_NONE)
        c->tails[npu] = SIM_NONE;
    c->groups.at[id].next = c->free_group;
    c->free_group = id;
}
