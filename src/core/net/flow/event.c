/*
 * net/flow/event.c - when flows end: a 4-ary heap over classes.
 *
 * A class ends its first flow at at + ceil((target - served) / level), minus the slack of
 * state.h. Keys are lazy. When a level falls, the end moves later. The old key stays as a
 * lower bound until it reaches the top. Only ends that move earlier change the heap at
 * once; if many do, the heap is rebuilt.
 */
#include "net/flow/state.h"

#include <assert.h>

/* ceil(rest / level), at most NET_FLOW_NEVER. */
static uint64_t divide_up(net_flow *f, net_u128 rest, uint64_t level)
{
    if (f->last.rest == rest && f->last.level == level)
        return f->last.ticks;
    assert(level > 0);
    const net_u128 ticks = rest / level + (rest % level != 0);
    f->last.rest = rest;
    f->last.level = level;
    f->last.ticks = ticks < NET_FLOW_NEVER ? (uint64_t)ticks : NET_FLOW_NEVER;
    return f->last.ticks;
}

uint64_t flow_event_tick(net_flow *f, uint32_t class_id)
{
    const flow_class *k = &f->classes.at[class_id];
    if (k->n == 0 || k->level == 0)
        return NET_FLOW_NEVER;
    const net_u128 target = f->cold.at[class_id].first.target;
    const net_u128 enough = k->served + flow_slack(k);
    const net_u128 rest = target > enough ? target - enough : 0;
    const uint64_t ticks = divide_up(f, rest, k->level);
    if (ticks >= NET_FLOW_NEVER - k->at)
        return NET_FLOW_NEVER;
    uint64_t end = k->at + ticks;
    const uint64_t quantum = f->options.quantum;
    if (quantum > 1 && end % quantum != 0)
        end += quantum - end % quantum;
    return end > f->now ? end : f->now;
}

static void place_event(net_flow *f, uint32_t i, flow_event e)
{
    assert(i < f->events.n && e.class_id < f->classes.n);
    f->events.at[i] = e;
    f->classes.at[e.class_id].event = i;
}

static void sift_event_up(net_flow *f, uint32_t i)
{
    const flow_event e = f->events.at[i];
    while (i > 0) {
        const uint32_t parent = (i - 1) / 4;
        if (f->events.at[parent].tick <= e.tick)
            break;
        place_event(f, i, f->events.at[parent]);
        i = parent;
    }
    place_event(f, i, e);
}

static void sift_event_down(net_flow *f, uint32_t i)
{
    const flow_event e = f->events.at[i];
    const uint32_t n = (uint32_t)f->events.n;
    for (;;) {
        const uint32_t first = 4 * i + 1;
        if (first >= n)
            break;
        const uint32_t end = first + 4 < n ? first + 4 : n;
        uint32_t least = first;
        for (uint32_t child = first + 1; child < end; child++)
            if (f->events.at[child].tick < f->events.at[least].tick)
                least = child;
        if (f->events.at[least].tick >= e.tick)
            break;
        place_event(f, i, f->events.at[least]);
        i = least;
    }
    place_event(f, i, e);
}

static void remove_event(net_flow *f, uint32_t i)
{
    assert(i < f->events.n && f->classes.at[f->events.at[i].class_id].event == i);
    f->classes.at[f->events.at[i].class_id].event = NET_FLOW_NONE;
    const flow_event last = f->events.at[--f->events.n];
    if (i == f->events.n)
        return;
    place_event(f, i, last);
    sift_event_up(f, i);
    sift_event_down(f, f->classes.at[last.class_id].event);
}

/* Make room for an event of every class, so that updates cannot fail. */
bool flow_event_reserve(net_flow *f)
{
    return array_reserve(&f->events, f->classes.n - f->events.n);
}

void flow_event_update(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    const uint64_t tick = flow_event_tick(f, class_id);
    if (tick == NET_FLOW_NEVER) {
        if (k->event != NET_FLOW_NONE)
            remove_event(f, k->event);
        return;
    }
    if (k->event == NET_FLOW_NONE) {
        assert(f->events.n < f->events.cap);
        f->events.at[f->events.n++] = (flow_event){tick, class_id};
        sift_event_up(f, (uint32_t)f->events.n - 1);
        return;
    }
    const uint64_t old = f->events.at[k->event].tick;
    f->events.at[k->event].tick = tick;
    if (tick < old)
        sift_event_up(f, k->event);
    else
        sift_event_down(f, k->event);
}

/* Write all keys, then build the heap once. */
static void rebuild_events(net_flow *f, const id_array *classes)
{
    for (size_t i = 0; i < classes->n; i++) {
        const uint32_t id = classes->at[i];
        flow_class *k = &f->classes.at[id];
        const uint64_t tick = flow_event_tick(f, id);
        if (k->event == NET_FLOW_NONE && tick != NET_FLOW_NEVER) {
            k->event = (uint32_t)f->events.n;
            f->events.at[f->events.n++] = (flow_event){tick, id};
        } else if (k->event != NET_FLOW_NONE) {
            f->events.at[k->event].tick = tick;
        }
    }
    uint32_t n = 0;
    for (uint32_t i = 0; i < f->events.n; i++) {
        const flow_event e = f->events.at[i];
        if (e.tick == NET_FLOW_NEVER)
            f->classes.at[e.class_id].event = NET_FLOW_NONE;
        else
            place_event(f, n++, e);
    }
    f->events.n = n;
    for (uint32_t i = n / 4 + 1; i-- > 0;)
        if (i < n)
            sift_event_down(f, i);
}

void flow_event_update_many(net_flow *f, const id_array *classes)
{
    if (classes->n > 64 && classes->n > f->events.n / 8) {
        rebuild_events(f, classes);
        return;
    }
    for (size_t i = 0; i < classes->n; i++)
        flow_event_update(f, classes->at[i]);
}

/* Due classes are at the top of the heap: a place is examined if its parent is due. They
 * are collected in the order of places. If all classes are equal, that is the order of
 * ids. */
bool flow_event_collect(net_flow *f, uint64_t tick)
{
    id_array *places = &f->stack; /* free between settles */
    f->due.n = places->n = 0;
    if (f->events.n > 0 && f->events.at[0].tick <= tick && !array_push(places, 0))
        return false;
    for (size_t i = 0; i < places->n; i++) {
        const uint32_t first = 4 * places->at[i] + 1;
        if (!array_reserve(places, 4))
            return false;
        for (uint32_t child = first; child < first + 4 && child < f->events.n; child++)
            if (f->events.at[child].tick <= tick)
                places->at[places->n++] = child;
    }
    if (!array_reserve(&f->due, places->n))
        return false;
    for (size_t i = 0; i < places->n; i++)
        f->due.at[f->due.n++] = f->events.at[places->at[i]].class_id;
    return true;
}

uint64_t net_flow_next(net_flow *f)
{
    while (f->events.n > 0) {
        const flow_event top = f->events.at[0];
        const uint64_t tick = flow_event_tick(f, top.class_id);
        assert(tick >= top.tick);
        if (tick == top.tick)
            return tick;
        if (tick == NET_FLOW_NEVER) {
            remove_event(f, 0);
            continue;
        }
        f->events.at[0].tick = tick;
        sift_event_down(f, 0);
    }
    return NET_FLOW_NEVER;
}
