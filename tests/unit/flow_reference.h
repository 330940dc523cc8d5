/* flow_reference.h - max-min sharing, slow and obvious: one flow at a time, everything
 * solved from nothing at every event, in the same integers and ticks as net/flow. */
#ifndef FLOW_REFERENCE_H
#define FLOW_REFERENCE_H

#include "net/flow/cases.h"
#include "net/flow/state.h"

#include <math.h>
#include <stdlib.h>

typedef struct slow_flow {
    const net_case_flow *flow;
    uint64_t start, drain; /* ticks */
    net_u128 rest;         /* volume */
    uint64_t level, bound;
    bool active, fixed;
} slow_flow;

static uint64_t slow_bound(const net_case_flow *flow, const net_u128 *caps)
{
    uint64_t bound = flow->cap_Bps > 0 ? flow_level_from(flow->cap_Bps) : MAX_LEVEL;
    for (uint32_t h = 0; h < flow->n_hops; h++) {
        const net_u128 level = caps[flow->hops[h].link] / flow->hops[h].coefficient;
        if (level < bound)
            bound = (uint64_t)level;
    }
    return bound;
}

/* The level at which a link is full, MAX_LEVEL + 1 when no flow on it rises. */
static uint64_t slow_key(const slow_flow *flows, uint32_t n, uint32_t link, net_u128 cap)
{
    net_u128 fixed = 0, rising = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t h = 0; flows[i].active && h < flows[i].flow->n_hops; h++) {
            const net_flow_hop hop = flows[i].flow->hops[h];
            if (hop.link != link)
                continue;
            if (flows[i].fixed)
                fixed += (net_u128)hop.coefficient * flows[i].level;
            else
                rising += hop.coefficient;
        }
    if (rising == 0)
        return MAX_LEVEL + 1;
    const net_u128 level = (cap - fixed) / rising;
    return level < MAX_LEVEL ? (uint64_t)level : MAX_LEVEL;
}

static bool slow_crosses(const slow_flow *f, const bool *full)
{
    for (uint32_t h = 0; h < f->flow->n_hops; h++)
        if (full[f->flow->hops[h].link])
            return true;
    return false;
}

static void slow_solve(slow_flow *flows, uint32_t n, const net_u128 *caps,
                       uint32_t n_links)
{
    bool *full = calloc(n_links + 1, sizeof *full);
    for (uint32_t i = 0; i < n; i++)
        flows[i].fixed = false;
    for (;;) {
        uint64_t least = MAX_LEVEL + 1;
        for (uint32_t l = 0; l < n_links; l++) {
            const uint64_t key = slow_key(flows, n, l, caps[l]);
            least = key < least ? key : least;
        }
        for (uint32_t i = 0; i < n; i++)
            if (flows[i].active && !flows[i].fixed && flows[i].bound < least)
                least = flows[i].bound;
        if (least == MAX_LEVEL + 1)
            break;
        for (uint32_t l = 0; l < n_links; l++)
            full[l] = slow_key(flows, n, l, caps[l]) == least;
        for (uint32_t i = 0; i < n; i++)
            if (flows[i].active && !flows[i].fixed &&
                (flows[i].bound == least || slow_crosses(&flows[i], full))) {
                flows[i].fixed = true;
                flows[i].level = least;
            }
    }
    free(full);
}

static uint64_t slow_ticks(const slow_flow *f)
{
    const net_u128 slack = f->level >> 10;
    const net_u128 rest = f->rest > slack ? f->rest - slack : 0;
    if (f->level == 0)
        return NET_FLOW_NEVER;
    const net_u128 ticks = rest / f->level + (rest % f->level != 0);
    return ticks < NET_FLOW_NEVER ? (uint64_t)ticks : NET_FLOW_NEVER;
}

/* The next instant at which anything happens. */
static uint64_t slow_next(const slow_flow *flows, uint32_t n, const net_flow_case *c,
                          uint64_t now, bool first)
{
    uint64_t next = NET_FLOW_NEVER;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t ticks = flows[i].active ? slow_ticks(&flows[i]) : NET_FLOW_NEVER;
        if (ticks < NET_FLOW_NEVER - now && now + ticks < next)
            next = now + ticks;
        if ((flows[i].start > now || first) && flows[i].start < next)
            next = flows[i].start;
    }
    for (uint32_t i = 0; i < c->n_changes; i++) {
        const uint64_t at = (uint64_t)llround(c->changes[i].at_s * 1e12);
        if ((at > now || first) && at < next)
            next = at;
    }
    return next;
}

static void slow_instant(slow_flow *flows, uint32_t n, const net_flow_case *c,
                         net_u128 *caps, uint64_t now)
{
    for (uint32_t i = 0; i < n; i++) {
        if (flows[i].active && slow_ticks(&flows[i]) == 0) {
            flows[i].active = false;
            flows[i].drain = now;
        }
        if (flows[i].start == now && flows[i].drain == NET_FLOW_NEVER) {
            flows[i].active = flows[i].rest > 0;
            if (!flows[i].active)
                flows[i].drain = now;
        }
    }
    for (uint32_t i = 0; i < c->n_changes; i++)
        if ((uint64_t)llround(c->changes[i].at_s * 1e12) == now)
            caps[c->changes[i].link] = flow_capacity_from(c->changes[i].bw_Bps);
    for (uint32_t i = 0; i < n; i++)
        flows[i].bound = slow_bound(flows[i].flow, caps);
    slow_solve(flows, n, caps, c->n_links);
}

/* Drain ticks of all flows of a case. */
static void slow_run(uint64_t *drains, const net_flow_case *c)
{
    slow_flow *flows = calloc(c->n_flows + 1, sizeof *flows);
    net_u128 *caps = calloc(c->n_links + 1, sizeof *caps);
    for (uint32_t i = 0; i < c->n_links; i++)
        caps[i] = flow_capacity_from(c->link_Bps[i]);
    for (uint32_t i = 0; i < c->n_flows; i++)
        flows[i] = (slow_flow){.flow = &c->flows[i],
                               .start = (uint64_t)llround(c->flows[i].start_s * 1e12),
                               .drain = NET_FLOW_NEVER,
                               .rest = (net_u128)(uint64_t)c->flows[i].bytes << 56};
    uint64_t now = 0;
    for (bool first = true;; first = false) {
        const uint64_t next = slow_next(flows, c->n_flows, c, now, first);
        if (next == NET_FLOW_NEVER)
            break;
        for (uint32_t i = 0; i < c->n_flows; i++) {
            const net_u128 moved = (net_u128)flows[i].level * (next - now);
            if (flows[i].active)
                flows[i].rest = flows[i].rest > moved ? flows[i].rest - moved : 0;
        }
        now = next;
        slow_instant(flows, c->n_flows, c, caps, now);
    }
    for (uint32_t i = 0; i < c->n_flows; i++)
        drains[i] = flows[i].drain;
    free(flows);
    free(caps);
}

#endif
