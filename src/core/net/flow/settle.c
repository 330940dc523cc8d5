/*
 * net/flow/settle.c - applies all changes of one instant, then solves once for what they
 * can affect.
 *
 * Levels are found in rising order, so a change matters only from some level up, the
 * base:
 *
 *   - A class lost flows: a link that limits classes may fill later than at its level.
 *     Links that limit no class are not affected.
 *   - A class gained flows, or is new: its links may fill earlier, but never below
 *     capacity / weight, the level at which all their classes would be equal.
 *   - A capacity changed: everything on the link may change.
 *
 * Classes below the base keep their level. The others are solved again only if they are
 * connected with a change. The connection may use links that can be full (binding) and
 * classes at or above the base; solve.c collects them. The result equals that of a full
 * solve to the last unit.
 *
 * Quick accept: a new class gets its bound at once if all its links have room for it,
 * with two units to spare per unit of weight. Then no link can fill, because the rounding
 * of the division is below one unit of level per unit of weight.
 */
#include "net/flow/state.h"

#include <assert.h>
#include <stdlib.h>

static bool touch_link(net_flow *f, uint32_t link)
{
    assert(link < f->n_links);
    flow_link *l = &f->links[link];
    if (l->touched == f->stamp)
        return true;
    l->touched = f->stamp;
    l->need = 0;
    l->seeded = false;
    return array_push(&f->touched, link);
}

static bool seed_link(net_flow *f, uint32_t link, uint64_t *base, uint64_t level)
{
    flow_link *l = &f->links[link];
    assert(l->touched == f->stamp); /* else `seeded` belongs to an earlier settle */
    *base = level < *base ? level : *base;
    if (l->seeded)
        return true;
    l->seeded = true;
    return array_push(&f->seeds, link);
}

/* Add a hop to the list of its link. */
static bool list_hop(net_flow *f, uint32_t class_id, uint32_t hop)
{
    flow_link *l = &f->links[f->hop_link.at[hop]];
    assert(f->hop_listed.at[hop] == 0 && l->n <= l->capacity);
    if (l->n == l->capacity) {
        const uint32_t more = l->n + l->n / 2 + 4;
        const uint32_t capacity = l->n_routes > more ? l->n_routes : more;
        flow_incidence *at = realloc(l->at, capacity * sizeof *at);
        if (at == NULL)
            return false;
        l->at = at;
        l->capacity = capacity;
    }
    l->at[l->n++] = (flow_incidence){class_id, hop};
    l->n_odd += f->hop_coefficient.at[hop] != NET_FLOW_ONE;
    f->hop_listed.at[hop] = 1;
    return true;
}

/* A class gets flows again: list its hops and update its bound. */
static bool revive_class(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    bool was_off = false;
    assert(k->n > 0 && k->n_solved == 0 && k->level == 0);
    for (uint32_t i = k->first_hop; i < k->first_hop + k->n_hops; i++) {
        if (f->hop_listed.at[i] == 0) {
            was_off = true;
            if (!list_hop(f, class_id, i))
                return false;
        }
        f->links[f->hop_link.at[i]].n_live++;
    }
    if (was_off)
        flow_set_bound(f, class_id);
    return true;
}

static void end_class(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    assert(k->n == 0);
    for (uint32_t i = k->first_hop; i < k->first_hop + k->n_hops; i++) {
        assert(f->links[f->hop_link.at[i]].n_live > 0);
        f->links[f->hop_link.at[i]].n_live--;
    }
    assert(k->held_by == NET_FLOW_NONE || f->links[k->held_by].n_held > 0);
    if (k->held_by != NET_FLOW_NONE)
        f->links[k->held_by].n_held--;
    k->held_by = NET_FLOW_NONE;
    flow_catch_up(f, class_id);
    k->level = 0;
}

/* Update the sums of a class's links after its number of flows has changed. */
static bool apply_count(net_flow *f, uint32_t class_id, uint64_t *base)
{
    flow_class *k = &f->classes.at[class_id];
    if (k->n_solved == 0 && !revive_class(f, class_id))
        return false;
    const bool shrinks = k->n < k->n_solved;
    const uint64_t d = shrinks ? k->n_solved - k->n : k->n - k->n_solved;
    for (uint32_t i = k->first_hop; i < k->first_hop + k->n_hops; i++) {
        flow_link *l = &f->links[f->hop_link.at[i]];
        const net_u128 weight = (net_u128)d * f->hop_coefficient.at[i];
        const net_u128 pot = flow_load(f, i, d, k->bound);
        const net_u128 used = k->level == 0 ? 0 : flow_load(f, i, d, k->level);
        if (!touch_link(f, f->hop_link.at[i]))
            return false;
        assert(!shrinks || (l->weight >= weight && l->pot >= pot && l->used >= used));
        l->weight += shrinks ? -weight : weight;
        l->pot += shrinks ? -pot : pot;
        l->used += shrinks ? -used : used;
        if (!shrinks)
            l->need += flow_load(f, i, k->n, k->bound - k->level);
    }
    k->n_solved = k->n;
    if (k->n == 0)
        end_class(f, class_id);
    for (uint32_t i = k->first_hop; shrinks && i < k->first_hop + k->n_hops; i++) {
        flow_link *l = &f->links[f->hop_link.at[i]];
        if (l->n_held > 0 && !seed_link(f, f->hop_link.at[i], base, l->level))
            return false;
    }
    return shrinks || array_push(&f->late, class_id);
}

/* Update the bound of a class on a link whose capacity changed. */
static bool change_bound(net_flow *f, uint32_t class_id, uint64_t *base)
{
    flow_class *k = &f->classes.at[class_id];
    const uint64_t old = k->bound;
    flow_set_bound(f, class_id);
    if (k->n_solved == 0)
        return true;
    for (uint32_t i = k->first_hop; i < k->first_hop + k->n_hops; i++) {
        flow_link *l = &f->links[f->hop_link.at[i]];
        if (!touch_link(f, f->hop_link.at[i]))
            return false;
        l->pot +=
            flow_load(f, i, k->n_solved, k->bound) - flow_load(f, i, k->n_solved, old);
        if (l->n_held > 0 && !seed_link(f, f->hop_link.at[i], base, 0))
            return false;
    }
    *base = 0;
    if (k->forced)
        return true;
    k->forced = true;
    return array_push(&f->late, class_id);
}

static bool apply_change(net_flow *f, const flow_change *change, uint64_t *base)
{
    flow_link *l = &f->links[change->link];
    if (l->cap == change->cap)
        return true;
    l->cap = change->cap;
    l->alone = (uint64_t)(l->cap >> 40);
    if (!touch_link(f, change->link))
        return false;
    for (uint32_t i = 0; i < l->n; i++)
        if (!change_bound(f, l->at[i].class_id, base))
            return false;
    return true;
}

static bool fits_at_bound(const net_flow *f, const flow_class *k)
{
    if (k->forced || k->held_by != NET_FLOW_NONE || f->options.full)
        return false;
    for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++) {
        const flow_link *l = &f->links[f->hop_link.at[h]];
        if (l->binding && (l->seeded || l->used + l->need + 2 * l->weight > l->cap))
            return false;
    }
    return true;
}

static void accept_class(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    assert(k->level <= k->bound && k->held_by == NET_FLOW_NONE);
    if (k->level != k->bound) {
        flow_catch_up(f, class_id);
        for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++)
            f->links[f->hop_link.at[h]].used +=
                flow_load(f, h, k->n, k->bound) - flow_load(f, h, k->n, k->level);
        k->level = k->bound;
    }
}

/* The level at which all classes of a link would be equal. */
static uint64_t equal_level(const flow_link *l)
{
    assert(l->weight > 0);
    const net_u128 level = l->cap / l->weight;
    return level < MAX_LEVEL ? (uint64_t)level : MAX_LEVEL;
}

/* Separate the late classes that fit, which go to `ties`, from the others. All are tested
 * before any is accepted, because acceptance changes what is used. */
static bool judge_late(net_flow *f)
{
    size_t n = 0;
    f->ties.n = 0;
    for (size_t i = 0; i < f->late.n; i++) {
        const uint32_t id = f->late.at[i];
        if (f->classes.at[id].n > 0 && fits_at_bound(f, &f->classes.at[id])) {
            if (!array_push(&f->ties, id))
                return false;
        } else {
            f->late.at[n++] = id;
        }
    }
    f->late.n = n;
    return true;
}

/* Lower the base to the lowest level at which the classes that do not fit can matter. */
static uint64_t lower_base(net_flow *f, uint64_t base)
{
    for (size_t i = 0; i < f->late.n; i++) {
        const flow_class *k = &f->classes.at[f->late.at[i]];
        for (uint32_t h = k->first_hop; h < k->first_hop + k->n_hops; h++) {
            flow_link *l = &f->links[f->hop_link.at[h]];
            if (!l->binding || l->based == f->stamp)
                continue;
            l->based = f->stamp;
            const uint64_t level = equal_level(l);
            base = level < base ? level : base;
        }
    }
    return base;
}

static bool apply_all(net_flow *f, uint64_t *base)
{
    for (size_t i = 0; i < f->changes.n; i++)
        if (!apply_change(f, &f->changes.at[i], base))
            return false;
    f->changes.n = 0;
    for (size_t i = 0; i < f->dirty.n; i++) {
        const uint32_t id = f->dirty.at[i];
        const flow_class *k = &f->classes.at[id];
        if (k->n != k->n_solved && !apply_count(f, id, base))
            return false;
    }
    for (size_t i = 0; i < f->touched.n; i++) {
        flow_link *l = &f->links[f->touched.at[i]];
        l->binding = l->pot > l->cap;
    }
    return true;
}

bool net_flow_settle(net_flow *f)
{
    uint64_t base = UINT64_MAX;
    if (f->failed)
        return false;
    if (f->dirty.n == 0 && f->changes.n == 0)
        return true;
    f->stamp++;
    f->n_settles++;
    f->touched.n = f->seeds.n = f->late.n = f->raised.n = 0;
    if (!flow_event_reserve(f) || !apply_all(f, &base))
        return false;
    if (!judge_late(f))
        return false;
    for (size_t i = 0; i < f->ties.n; i++)
        accept_class(f, f->ties.at[i]);
    base = lower_base(f, base);
    if ((f->late.n > 0 || f->seeds.n > 0) && !flow_solve(f, f->options.full ? 0 : base))
        return false;
    for (size_t i = 0; i < f->dirty.n; i++) {
        f->classes.at[f->dirty.at[i]].dirty = false;
        if (!array_push(&f->raised, f->dirty.at[i]))
            return false;
    }
    flow_event_update_many(f, &f->raised);
    f->dirty.n = 0;
    return true;
}
