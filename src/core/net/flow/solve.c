/*
 * net/flow/solve.c - progressive filling by levels, over the part of the network that a
 * settle can change.
 *
 * All free classes rise together. A link is full at level floor((cap - fixed) / rising).
 * Here `fixed` is the load of its classes that have stopped below, and `rising` is the
 * weight of the free ones. Keys only rise while classes stop, so a heap may hold old keys
 * as lower bounds.
 *
 * In every round, all links with the smallest key stop their classes, and all classes
 * with that bound stop, too. All links with equal keys are taken before any class stops.
 * The reason is that stopping the classes of the first link changes the remainder of the
 * division of the second.
 *
 * The division leaves less than one unit of level per unit of weight. No class gets this
 * remainder.
 */
#include "net/flow/state.h"

#include <assert.h>

/* Make a class free, so that it gets a new level. Its links that can be full are queued.
 */
static bool free_class(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    k->forced = false;
    if (k->state == CLASS_FREE || k->n == 0)
        return true;
    k->state = CLASS_FREE;
    if (k->held_by != NET_FLOW_NONE)
        f->links[k->held_by].n_held--;
    k->held_by = NET_FLOW_NONE;
    bool has_limit = false; /* a binding link stops it no later than its bound would */
    for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++) {
        const uint32_t link = f->hop_link.at[h];
        flow_link *l = &f->links[link];
        if (!l->binding)
            continue;
        has_limit |= f->hop_coefficient.at[h] == NET_FLOW_ONE && l->alone == k->bound;
        if (l->queued != f->stamp) {
            l->queued = f->stamp;
            if (!array_push(&f->stack, link))
                return false;
        }
    }
    return array_push(&f->freed, class_id) &&
           (has_limit || array_push(&f->bounded, class_id));
}

/* Remove classes that have ended from the list of a link. */
static void compact_link(net_flow *f, flow_link *l)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const flow_incidence at = l->at[i];
        if (f->classes.at[at.class_id].n > 0) {
            l->at[n++] = at;
            continue;
        }
        f->hop_listed.at[at.hop] = 0;
        l->n_odd -= f->hop_coefficient.at[at.hop] != NET_FLOW_ONE;
    }
    assert(n == l->n_live);
    l->n = n;
}

/* Free all classes on the link from the base up; the others are its fixed load. */
static bool scan_link(net_flow *f, uint32_t link, uint64_t base)
{
    flow_link *l = &f->links[link];
    if (l->n > 2 * l->n_live)
        compact_link(f, l);
    l->fixed = l->rising = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        const flow_incidence at = l->at[i];
        const flow_class *k = &f->classes.at[at.class_id];
        if (k->n == 0)
            continue;
        if (k->level >= base && !free_class(f, at.class_id))
            return false;
        if (k->state == CLASS_FREE)
            l->rising += (net_u128)f->hop_coefficient.at[at.hop] * k->n;
        else
            l->fixed += flow_load(f, at.hop, k->n, k->level);
    }
    l->active = f->stamp;
    return array_push(&f->active, link);
}

/* Free the classes that this link limited; it can no longer be full. */
static bool release_link(net_flow *f, uint32_t link)
{
    const flow_link *l = &f->links[link];
    for (uint32_t i = 0; i < l->n; i++)
        if (f->classes.at[l->at[i].class_id].held_by == link &&
            !free_class(f, l->at[i].class_id))
            return false;
    return true;
}

static bool collect_region(net_flow *f, uint64_t base)
{
    f->stack.n = f->active.n = f->freed.n = f->bounded.n = 0;
    for (uint32_t id = 0; f->options.full && id < f->classes.n; id++)
        if (!free_class(f, id))
            return false;
    for (size_t i = 0; i < f->late.n; i++)
        if (!free_class(f, f->late.at[i]))
            return false;
    for (size_t i = 0; i < f->seeds.n; i++) {
        flow_link *l = &f->links[f->seeds.at[i]];
        if (!l->binding) {
            if (!release_link(f, f->seeds.at[i]))
                return false;
        } else if (l->queued != f->stamp) {
            l->queued = f->stamp;
            if (!array_push(&f->stack, f->seeds.at[i]))
                return false;
        }
    }
    while (f->stack.n > 0)
        if (!scan_link(f, f->stack.at[--f->stack.n], base))
            return false;
    return true;
}

/* The level at which a link is full, given which of its classes are free and which fixed.
 */
static uint64_t compute_key(const flow_link *l)
{
    assert(l->rising > 0 && l->fixed <= l->cap);
    if (l->n_odd == 0)
        return (uint64_t)((l->cap - l->fixed) >> 40) / (uint64_t)(l->rising >> 40);
    const net_u128 level = (l->cap - l->fixed) / l->rising;
    return level < MAX_LEVEL ? (uint64_t)level : MAX_LEVEL;
}

static void sift_link_down(net_flow *f, uint32_t i)
{
    const uint32_t n = (uint32_t)f->heap.n, link = f->heap.at[i];
    const uint64_t key = f->links[link].key;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n &&
            f->links[f->heap.at[child + 1]].key < f->links[f->heap.at[child]].key)
            child++;
        if (f->links[f->heap.at[child]].key >= key)
            break;
        f->heap.at[i] = f->heap.at[child];
        i = child;
    }
    f->heap.at[i] = link;
}

static bool build_link_heap(net_flow *f)
{
    f->heap.n = 0;
    if (!array_reserve(&f->heap, f->active.n) || !array_reserve(&f->ties, f->active.n))
        return false;
    for (size_t i = 0; i < f->active.n; i++) {
        flow_link *l = &f->links[f->active.at[i]];
        if (l->rising == 0)
            continue;
        l->key = compute_key(l);
        f->heap.at[f->heap.n++] = f->active.at[i];
    }
    for (size_t i = f->heap.n / 2; i-- > 0;)
        sift_link_down(f, (uint32_t)i);
    return true;
}

static void sift_bound_down(net_flow *f, uint32_t i)
{
    const uint32_t n = (uint32_t)f->bounded.n, id = f->bounded.at[i];
    const uint64_t bound = f->classes.at[id].bound;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        if (child + 1 < n && f->classes.at[f->bounded.at[child + 1]].bound <
                                 f->classes.at[f->bounded.at[child]].bound)
            child++;
        if (f->classes.at[f->bounded.at[child]].bound >= bound)
            break;
        f->bounded.at[i] = f->bounded.at[child];
        i = child;
    }
    f->bounded.at[i] = id;
}

static void pop_bounded(net_flow *f)
{
    f->bounded.at[0] = f->bounded.at[--f->bounded.n];
    if (f->bounded.n > 0)
        sift_bound_down(f, 0);
}

static void pop_link(net_flow *f)
{
    f->heap.at[0] = f->heap.at[--f->heap.n];
    if (f->heap.n > 0)
        sift_link_down(f, 0);
}

/* The smallest true key; UINT64_MAX if no link has free classes. */
static uint64_t find_least_key(net_flow *f)
{
    while (f->heap.n > 0) {
        flow_link *l = &f->links[f->heap.at[0]];
        if (l->rising == 0) {
            pop_link(f);
            continue;
        }
        const uint64_t key = compute_key(l);
        assert(key >= l->key);
        if (key == l->key)
            return key;
        l->key = key;
        sift_link_down(f, 0);
    }
    return UINT64_MAX;
}

/* The smallest bound of a free class. */
static uint64_t find_least_bound(net_flow *f)
{
    while (f->bounded.n > 0) {
        const flow_class *k = &f->classes.at[f->bounded.at[0]];
        if (k->state == CLASS_FREE)
            return k->bound;
        pop_bounded(f);
    }
    return UINT64_MAX;
}

/* Stop a class at a level, limited by a link or by its bound. */
static void stop_class(net_flow *f, uint32_t class_id, uint64_t level, uint32_t link)
{
    flow_class *k = &f->classes.at[class_id];
    const uint64_t old = k->level;
    assert(k->state == CLASS_FREE && level <= k->bound);
    k->state = CLASS_FIXED;
    k->held_by = link;
    if (link != NET_FLOW_NONE)
        f->links[link].n_held++;
    if (level != old) {
        flow_catch_up(f, class_id);
        k->level = level;
        if (level > old) /* there is room: see flow_solve */
            f->raised.at[f->raised.n++] = class_id;
    }
    for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++) {
        flow_link *l = &f->links[f->hop_link.at[h]];
        const net_u128 load = flow_load(f, h, k->n, level);
        if (level != old)
            l->used += load - flow_load(f, h, k->n, old);
        if (l->active == f->stamp) {
            l->fixed += load;
            l->rising -= (net_u128)f->hop_coefficient.at[h] * k->n;
        }
    }
}

static void stop_link(net_flow *f, uint32_t link, uint64_t level)
{
    flow_link *l = &f->links[link];
    l->level = level;
    for (uint32_t i = 0; i < l->n && l->rising > 0; i++) {
        const uint32_t id = l->at[i].class_id;
        if (f->classes.at[id].state == CLASS_FREE)
            stop_class(f, id, level, link);
    }
    assert(l->rising == 0);
}

/* One round: stop all links that are full at the level, and all classes with that bound.
 */
static void stop_level(net_flow *f, uint64_t level)
{
    f->ties.n = 0;
    while (find_least_key(f) == level) {
        f->ties.at[f->ties.n++] = f->heap.at[0];
        pop_link(f);
    }
    while (find_least_bound(f) == level) {
        const uint32_t id = f->bounded.at[0];
        pop_bounded(f);
        stop_class(f, id, level, NET_FLOW_NONE);
    }
    for (size_t i = 0; i < f->ties.n; i++)
        stop_link(f, f->ties.at[i], level);
}

bool flow_solve(net_flow *f, uint64_t base)
{
    if (!collect_region(f, base) || !build_link_heap(f) ||
        !array_reserve(&f->raised, f->freed.n + f->dirty.n))
        return false;
    for (size_t i = f->bounded.n / 2; i-- > 0;)
        sift_bound_down(f, (uint32_t)i);
    uint64_t last = 0;
    for (;;) {
        const uint64_t key = find_least_key(f), bound = find_least_bound(f);
        const uint64_t level = key < bound ? key : bound;
        if (level == UINT64_MAX)
            break;
        assert(level >= last);
        last = level;
        (void)last; /* without assertions */
        stop_level(f, level);
    }
    for (size_t i = 0; i < f->freed.n; i++)
        assert(f->classes.at[f->freed.at[i]].state == CLASS_FIXED);
    return true;
}
