/*
 * net/flow/class.c - links, classes of flows and the flows themselves.
 */
#include "base/number/number.h"
#include "net/flow/state.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A second has 10^12 = 2^12 * 5^12 ticks. */
enum { FIVE_12 = 244140625 };

/* B/s in units of 2^-96 B/tick: x * 2^84 / 5^12, exact for whole numbers, rounded down.
 */
net_u128 flow_capacity_from(double bw_Bps)
{
    assert(bw_Bps >= 0 && bw_Bps <= 0x1p47);
    const uint64_t whole = (uint64_t)bw_Bps;
    const double fraction = bw_Bps - (double)whole;
    const net_u128 high = (net_u128)(whole / FIVE_12) << 84;
    const net_u128 low = ((net_u128)(whole % FIVE_12) << 84) / FIVE_12;
    const net_u128 most = (net_u128)MAX_LEVEL << 40;
    const net_u128 sum = high + low + (net_u128)(fraction * (0x1p84 / FIVE_12));
    return sum < most ? sum : most;
}

uint64_t flow_level_from(double bw_Bps)
{
    return (uint64_t)(flow_capacity_from(fmin(bw_Bps, 0x1p47)) >> 40);
}

static double rate_from_level(double level)
{
    return level * 0x1p-56 * 1e12;
}

static halley_status check_capacity(double bw_Bps, uint32_t link, halley_error *err)
{
    if (bw_Bps == 0 || (bw_Bps >= 1e3 && bw_Bps <= 128e12))
        return HALLEY_OK;
    return error_set(err, HALLEY_EINVAL,
                     "link %u has a capacity of %s B/s; 0, or 1 kB/s to 128 TB/s are "
                     "supported",
                     link, number_digits(bw_Bps, 6).at);
}

halley_status net_flow_new(net_flow **out, const double *capacity_Bps, uint32_t n_links,
                           const net_flow_options *options, halley_error *err)
{
    for (uint32_t i = 0; i < n_links; i++)
        TRY(check_capacity(capacity_Bps[i], i, err));
    net_flow *f = mem_array_zero(1, sizeof *f);
    if (f == NULL)
        return error_nomem(err);
    f->options = *options;
    f->n_links = n_links;
    f->free_flow = NET_FLOW_NONE;
    f->stamp = 1;
    f->links = mem_array_zero(n_links, sizeof *f->links);
    if (f->links == NULL) {
        net_flow_free(f);
        return error_nomem(err);
    }
    for (uint32_t i = 0; i < n_links; i++) {
        f->links[i].cap = flow_capacity_from(capacity_Bps[i]);
        f->links[i].alone = (uint64_t)(f->links[i].cap >> 40);
    }
    *out = f;
    return HALLEY_OK;
}

void net_flow_free(net_flow *f)
{
    if (f == NULL)
        return;
    for (uint32_t i = 0; f->links != NULL && i < f->n_links; i++)
        free(f->links[i].at);
    for (size_t i = 0; i < f->cold.n; i++)
        free(f->cold.at[i].more);
    free(f->links);
    array_fini(&f->classes);
    array_fini(&f->cold);
    array_fini(&f->hop_link);
    array_fini(&f->hop_coefficient);
    array_fini(&f->hop_listed);
    flow_routes_fini(&f->by_route);
    array_fini(&f->flows);
    array_fini(&f->events);
    array_fini(&f->ends);
    array_fini(&f->changes);
    array_fini(&f->dirty);
    array_fini(&f->touched);
    array_fini(&f->seeds);
    array_fini(&f->stack);
    array_fini(&f->active);
    array_fini(&f->freed);
    array_fini(&f->late);
    array_fini(&f->ties);
    array_fini(&f->raised);
    array_fini(&f->due);
    array_fini(&f->heap);
    array_fini(&f->bounded);
    free(f);
}

/* Set the level that a class would have alone. */
void flow_set_bound(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    uint64_t least = f->cold.at[class_id].cap_level;
    for (uint32_t i = k->first_hop; i < k->first_hop + k->n_hops; i++) {
        const flow_link *l = &f->links[f->hop_link.at[i]];
        uint64_t alone = l->alone;
        if (!k->unit && f->hop_coefficient.at[i] != NET_FLOW_ONE) {
            const net_u128 level = l->cap / f->hop_coefficient.at[i];
            alone = level < MAX_LEVEL ? (uint64_t)level : MAX_LEVEL;
        }
        least = alone < least ? alone : least;
    }
    k->bound = least;
    if (f->cold.at[class_id].most_bound < least)
        f->cold.at[class_id].most_bound = least;
}

static bool reserve_hops(net_flow *f, uint32_t n)
{
    return f->hop_link.n + n < UINT32_MAX && array_reserve(&f->hop_link, n) &&
           array_reserve(&f->hop_coefficient, n) && array_reserve(&f->hop_listed, n);
}

/* Make room for more elements, in an array that is large from the start. */
#define reserve_long(a, more)                                                            \
    (array_reserve(a, more) &&                                                           \
     (mem_prefer_large_pages((a)->at, (a)->cap * sizeof *(a)->at), true))

bool net_flow_reserve(net_flow *f, uint32_t n_classes, uint32_t n_hops)
{
    return f->hop_link.n + n_hops < UINT32_MAX && reserve_long(&f->hop_link, n_hops) &&
           reserve_long(&f->hop_coefficient, n_hops) &&
           reserve_long(&f->hop_listed, n_hops) && reserve_long(&f->classes, n_classes) &&
           reserve_long(&f->cold, n_classes) && reserve_long(&f->flows, n_classes) &&
           reserve_long(&f->events, n_classes) && reserve_long(&f->dirty, n_classes) &&
           flow_routes_reserve(&f->by_route, f->by_route.n + n_classes);
}

/* Add a class; there is room for it. */
static void add_class(net_flow *f, const net_flow_hop *hops, uint32_t n,
                      uint64_t cap_level)
{
    const uint32_t id = (uint32_t)f->classes.n;
    flow_class k = {.first_hop = (uint32_t)f->hop_link.n,
                    .n_hops = n,
                    .held_by = NET_FLOW_NONE,
                    .event = NET_FLOW_NONE,
                    .unit = true};
    for (uint32_t i = 0; i < n; i++) {
        assert(hops[i].link < f->n_links && hops[i].coefficient > 0);
        k.unit &= hops[i].coefficient == NET_FLOW_ONE;
        f->hop_link.at[f->hop_link.n++] = hops[i].link;
        f->hop_coefficient.at[f->hop_coefficient.n++] = hops[i].coefficient;
        f->hop_listed.at[f->hop_listed.n++] = 0;
        f->links[hops[i].link].n_routes++;
    }
    f->classes.at[f->classes.n++] = k;
    f->cold.at[f->cold.n++] = (flow_class_cold){.cap_level = cap_level};
    flow_set_bound(f, id);
}

uint32_t net_flow_class_new(net_flow *f, const net_flow_hop *hops, uint32_t n,
                            double cap_Bps)
{
    if (!array_reserve(&f->classes, 1) || !array_reserve(&f->cold, 1) ||
        !reserve_hops(f, n))
        return NET_FLOW_NONE;
    add_class(f, hops, n, cap_Bps > 0 ? flow_level_from(cap_Bps) : MAX_LEVEL);
    return (uint32_t)f->classes.n - 1;
}

/* The targets of a class: the first is in place, the others are in a heap. */
static void sift_target_up(flow_target *at, uint32_t i)
{
    while (i > 0 && at[i].target < at[(i - 1) / 2].target) {
        const flow_target t = at[i];
        at[i] = at[(i - 1) / 2];
        at[(i - 1) / 2] = t;
        i = (i - 1) / 2;
    }
}

static void sift_target_down(flow_target *at, uint32_t n, uint32_t i)
{
    for (;;) {
        uint32_t least = i;
        for (uint32_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
            if (at[child].target < at[least].target)
                least = child;
        if (least == i)
            return;
        const flow_target t = at[i];
        at[i] = at[least];
        at[least] = t;
        i = least;
    }
}

static bool push_target(flow_class_cold *c, uint32_t n, flow_target t)
{
    assert(n == 0 ? c->n_more == 0 : c->n_more == n - 1);
    if (n == 0) {
        c->first = t;
        return true;
    }
    if (c->n_more == c->cap_more) {
        const uint32_t cap = c->cap_more == 0 ? 4 : 2 * c->cap_more;
        flow_target *more = realloc(c->more, cap * sizeof *more);
        if (more == NULL)
            return false;
        c->more = more;
        c->cap_more = cap;
    }
    if (t.target < c->first.target) {
        const flow_target old = c->first;
        c->first = t;
        t = old;
    }
    c->more[c->n_more++] = t;
    sift_target_up(c->more, c->n_more - 1);
    return true;
}

static void remove_more(flow_class_cold *c, uint32_t i)
{
    assert(i < c->n_more);
    c->more[i] = c->more[--c->n_more];
    if (i < c->n_more) {
        sift_target_up(c->more, i);
        sift_target_down(c->more, c->n_more, i);
    }
}

static void pop_target(flow_class_cold *c)
{
    if (c->n_more > 0) {
        c->first = c->more[0];
        remove_more(c, 0);
    }
}

static bool mark_dirty(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    if (k->dirty)
        return true;
    if (!array_push(&f->dirty, class_id))
        return false;
    k->dirty = true;
    return true;
}

static uint32_t take_record(net_flow *f)
{
    const uint32_t id = f->free_flow;
    if (id != NET_FLOW_NONE) {
        f->free_flow = f->flows.at[id].next_free;
        return id;
    }
    if (f->flows.n >= NET_FLOW_MAX_FLOWS || !array_reserve(&f->flows, 1))
        return NET_FLOW_NONE;
    return (uint32_t)f->flows.n++;
}

static void give_record(net_flow *f, uint32_t id)
{
    assert(f->n_flows > 0 && f->flows.at[id].class_id != NET_FLOW_NONE);
    f->flows.at[id].class_id = NET_FLOW_NONE;
    f->flows.at[id].next_free = f->free_flow;
    f->free_flow = id;
    f->n_flows--;
}

/* Convert bytes to a volume: the whole part exactly, the fraction to 2^-56. */
static net_u128 volume_from(double bytes)
{
    assert(bytes > 0 && bytes < 0x1p63);
    const uint64_t whole = (uint64_t)bytes;
    const net_u128 volume =
        ((net_u128)whole << 56) + (net_u128)((bytes - (double)whole) * 0x1p56);
    return volume > 0 ? volume : 1;
}

uint32_t net_flow_start(net_flow *f, uint32_t class_id, double bytes, uint64_t context)
{
    assert(class_id < f->classes.n);
    if (!mark_dirty(f, class_id))
        return NET_FLOW_NONE;
    const uint32_t id = take_record(f);
    if (id == NET_FLOW_NONE)
        return id;
    flow_class *k = &f->classes.at[class_id];
    const net_u128 volume = volume_from(bytes);
    flow_catch_up(f, class_id);
    f->flows.at[id] = (flow_record){volume, context, class_id, NET_FLOW_NONE};
    f->n_flows++;
    const flow_target t = {flow_served_now(f, k) + volume, id};
    if (!push_target(&f->cold.at[class_id], k->n, t)) {
        give_record(f, id);
        return NET_FLOW_NONE;
    }
    k->n++;
    f->cold.at[class_id].n_started++;
    return id;
}

/* Remove a flow from its class; returns its remaining volume. */
static net_u128 take_from_class(net_flow *f, uint32_t flow_id)
{
    assert(flow_id < f->flows.n && f->flows.at[flow_id].class_id != NET_FLOW_NONE);
    const uint32_t class_id = f->flows.at[flow_id].class_id;
    flow_class *k = &f->classes.at[class_id];
    flow_class_cold *c = &f->cold.at[class_id];
    net_u128 target = c->first.target;
    if (c->first.flow == flow_id) {
        pop_target(c);
    } else {
        uint32_t i = 0;
        while (c->more[i].flow != flow_id)
            i++;
        assert(i < c->n_more);
        target = c->more[i].target;
        remove_more(c, i);
    }
    flow_catch_up(f, class_id);
    const net_u128 served = k->served;
    const net_u128 rest = target > served ? target - served : 0;
    assert(k->n > 0 && rest <= f->flows.at[flow_id].volume);
    c->done += f->flows.at[flow_id].volume - rest;
    k->n--;
    /* The list of dirty classes has room for every class. So mark_dirty cannot fail after
     * the start of the flow, unless a settle came in between. */
    if (!k->dirty && array_push(&f->dirty, class_id))
        k->dirty = true;
    return rest;
}

void net_flow_cancel(net_flow *f, uint32_t flow_id)
{
    (void)take_from_class(f, flow_id);
    give_record(f, flow_id);
}

bool net_flow_move(net_flow *f, uint32_t flow_id, uint32_t class_id)
{
    const uint32_t old = f->flows.at[flow_id].class_id;
    assert(class_id < f->classes.n);
    if (old == class_id)
        return true;
    if (!mark_dirty(f, class_id))
        return false;
    const net_u128 rest = take_from_class(f, flow_id);
    flow_class *k = &f->classes.at[class_id];
    flow_catch_up(f, class_id);
    f->flows.at[flow_id].volume = rest > 0 ? rest : 1;
    f->flows.at[flow_id].class_id = class_id;
    const flow_target t = {k->served + f->flows.at[flow_id].volume, flow_id};
    if (!push_target(&f->cold.at[class_id], k->n, t)) {
        give_record(f, flow_id);
        return false;
    }
    k->n++;
    assert(f->cold.at[old].n_started > 0);
    f->cold.at[old].n_started--;
    f->cold.at[class_id].n_started++;
    return true;
}

double net_flow_left(net_flow *f, uint32_t flow_id)
{
    assert(flow_id < f->flows.n && f->flows.at[flow_id].class_id != NET_FLOW_NONE);
    const uint32_t class_id = f->flows.at[flow_id].class_id;
    const flow_class_cold *c = &f->cold.at[class_id];
    net_u128 target = c->first.target;
    for (uint32_t i = 0; c->first.flow != flow_id; i++) {
        assert(i < c->n_more);
        target = c->more[i].target;
        if (c->more[i].flow == flow_id)
            break;
    }
    flow_catch_up(f, class_id);
    const net_u128 served = f->classes.at[class_id].served;
    return target > served ? ldexp((double)(target - served), -56) : 0;
}

bool net_flow_change(net_flow *f, uint32_t link, double capacity_Bps)
{
    assert(link < f->n_links);
    return array_push(&f->changes, (flow_change){link, flow_capacity_from(capacity_Bps)});
}

static int compare_ends(const void *a, const void *b)
{
    const net_flow_end *x = a, *y = b;
    if (x->context != y->context)
        return x->context < y->context ? -1 : 1;
    return (x->flow > y->flow) - (x->flow < y->flow);
}

/* End the flows of a class that have reached their target. */
static void end_flows(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    flow_class_cold *c = &f->cold.at[class_id];
    flow_catch_up(f, class_id);
    while (k->n > 0 && c->first.target <= k->served + flow_slack(k)) {
        const uint32_t id = c->first.flow;
        c->done += f->flows.at[id].volume;
        f->ends.at[f->ends.n++] = (net_flow_end){id, f->flows.at[id].context};
        give_record(f, id);
        pop_target(c);
        k->n--;
    }
}

static bool are_sorted(const net_flow *f)
{
    for (size_t i = 1; i < f->ends.n; i++)
        if (compare_ends(&f->ends.at[i - 1], &f->ends.at[i]) > 0)
            return false;
    return true;
}

uint32_t net_flow_advance(net_flow *f, uint64_t to_tick, const net_flow_end **ends)
{
    assert(to_tick >= f->now && to_tick <= net_flow_next(f));
    f->now = to_tick;
    f->ends.n = 0;
    *ends = NULL;
    f->failed |= !flow_event_collect(f, to_tick);
    if (f->failed) /* otherwise they would end at this tick for ever */
        return 0;
    for (size_t i = 0; i < f->due.n; i++) {
        const uint32_t class_id = f->due.at[i];
        if (flow_event_tick(f, class_id) != to_tick)
            continue;
        f->failed |= !array_reserve(&f->ends, f->classes.at[class_id].n) ||
                     !mark_dirty(f, class_id);
        if (f->failed)
            break;
        end_flows(f, class_id);
    }
    flow_event_update_many(f, &f->due);
    if (!are_sorted(f))
        qsort(f->ends.at, f->ends.n, sizeof *f->ends.at, compare_ends);
    *ends = f->ends.at;
    return (uint32_t)f->ends.n;
}

uint64_t net_flow_now(const net_flow *f)
{
    return f->now;
}

uint32_t net_flow_count(const net_flow *f)
{
    return f->n_flows;
}

uint64_t net_flow_settles(const net_flow *f)
{
    return f->n_settles;
}

uint64_t net_flow_level(const net_flow *f, uint32_t class_id)
{
    return f->classes.at[class_id].level;
}

double net_flow_rate_Bps(const net_flow *f, uint32_t class_id)
{
    return rate_from_level((double)f->classes.at[class_id].level);
}

double net_flow_link_used_Bps(const net_flow *f, uint32_t link)
{
    return rate_from_level((double)f->links[link].used * 0x1p-40);
}

uint32_t net_flow_stalled_link(const net_flow *f)
{
    for (uint32_t id = 0; id < f->classes.n; id++) {
        const flow_class *k = &f->classes.at[id];
        for (uint32_t i = k->first_hop;
             k->n > 0 && k->level == 0 && i < k->first_hop + k->n_hops; i++)
            if (f->links[f->hop_link.at[i]].cap == 0)
                return f->hop_link.at[i];
    }
    return NET_FLOW_NONE;
}
