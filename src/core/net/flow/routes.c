/*
 * net/flow/routes.c - finds the class of a route: a hash table of class ids with linear
 * probing, at most half full. A slot holds 32 bits of the hash next to the id. So a route
 * that is not in the table yet costs one cache miss. Only routes with the same bits are
 * compared hop by hop.
 */
#include "net/flow/state.h"

#include <assert.h>
#include <string.h>

#define FREE_SLOT UINT64_MAX

static size_t find_place(const flow_routes *t, uint64_t slot)
{
    assert(t->n_slots > 0 && (t->n_slots & (t->n_slots - 1)) == 0);
    return (size_t)(slot >> 32) & (t->n_slots - 1);
}

static void enter_slot(flow_routes *t, uint64_t slot)
{
    size_t place = find_place(t, slot);
    assert(slot != FREE_SLOT && t->n < t->n_slots); /* the search ends */
    while (t->slots[place] != FREE_SLOT)
        place = (place + 1) & (t->n_slots - 1);
    t->slots[place] = slot;
}

bool flow_routes_reserve(flow_routes *t, size_t n)
{
    size_t n_slots = t->n_slots > 0 ? t->n_slots : 16;
    while (n_slots / 2 < n)
        n_slots *= 2;
    if (n_slots == t->n_slots)
        return true;
    assert(t->n <= t->n_slots / 2 && n_slots > t->n_slots);
    flow_routes grown = {mem_array(n_slots, sizeof *grown.slots), t->n, n_slots};
    if (grown.slots == NULL)
        return false;
    mem_prefer_large_pages(grown.slots, n_slots * sizeof *grown.slots);
    memset(grown.slots, 0xff, n_slots * sizeof *grown.slots);
    for (size_t i = 0; i < t->n_slots; i++)
        if (t->slots[i] != FREE_SLOT)
            enter_slot(&grown, t->slots[i]);
    flow_routes_fini(t);
    *t = grown;
    return true;
}

void flow_routes_fini(flow_routes *t)
{
    free(t->slots);
    *t = (flow_routes){0};
}

static uint64_t hash_route(const net_flow_hop *hops, uint32_t n, uint64_t cap_level)
{
    uint64_t h = hash_u64(cap_level + n);
    for (uint32_t i = 0; i < n; i++)
        h = (h ^ (hops[i].link + hops[i].coefficient)) * UINT64_C(0x9e3779b97f4a7c15) +
            (h >> 29);
    return hash_u64(h);
}

static bool is_same_route(const net_flow *f, uint32_t class_id, const net_flow_hop *hops,
                          uint32_t n, uint64_t cap_level)
{
    assert(class_id < f->classes.n);
    const flow_class *k = &f->classes.at[class_id];
    if (k->n_hops != n || f->cold.at[class_id].cap_level != cap_level)
        return false;
    for (uint32_t i = 0; i < n; i++)
        if (f->hop_link.at[k->first_hop + i] != hops[i].link ||
            f->hop_coefficient.at[k->first_hop + i] != hops[i].coefficient)
            return false;
    return true;
}

uint32_t net_flow_class(net_flow *f, const net_flow_hop *hops, uint32_t n, double cap_Bps)
{
    flow_routes *const t = &f->by_route;
    const uint64_t cap_level = cap_Bps > 0 ? flow_level_from(cap_Bps) : MAX_LEVEL;
    const uint64_t tag = hash_route(hops, n, cap_level) & ~(uint64_t)UINT32_MAX;
    if (!flow_routes_reserve(t, t->n + 1))
        return NET_FLOW_NONE;
    size_t place = find_place(t, tag);
    for (; t->slots[place] != FREE_SLOT; place = (place + 1) & (t->n_slots - 1)) {
        const uint32_t id = (uint32_t)t->slots[place];
        if ((t->slots[place] ^ tag) >> 32 == 0 &&
            is_same_route(f, id, hops, n, cap_level))
            return id;
    }
    const uint32_t id = net_flow_class_new(f, hops, n, cap_Bps);
    if (id == NET_FLOW_NONE)
        return id;
    t->slots[place] = tag | id;
    t->n++;
    return id;
}
