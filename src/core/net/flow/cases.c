/*
 * net/flow/cases.c - runs the flows of one case, instant by instant.
 *
 * At each instant flows end, flows start and capacities change; then the rates are solved
 * once.
 */
#include "net/flow/cases.h"

#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static const double ticks_per_s = 1e12;

typedef struct case_run {
    const net_flow_case *c;
    net_case_result *results;
    net_flow *solver;
    uint32_t *by_start, *by_change; /* flows and changes in order of time */
    uint32_t *class_of;             /* by flow */
    uint32_t next_start, next_change;
} case_run;

static uint64_t tick_from(double seconds)
{
    return (uint64_t)llround(seconds * ticks_per_s);
}

/* Sorted by time, then by number, so that the order is defined. */
typedef struct time_entry {
    uint64_t tick;
    uint32_t id;
} time_entry;

static int compare_times(const void *a, const void *b)
{
    const time_entry *x = a, *y = b;
    if (x->tick != y->tick)
        return x->tick < y->tick ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static bool sort_ids(uint32_t **out, const net_flow_case *c, uint32_t n, bool flows)
{
    time_entry *entries = mem_array(n, sizeof *entries);
    *out = mem_array(n, sizeof **out);
    const bool has_memory = entries != NULL && *out != NULL;
    for (uint32_t i = 0; has_memory && i < n; i++)
        entries[i] =
            (time_entry){tick_from(flows ? c->flows[i].start_s : c->changes[i].at_s), i};
    if (has_memory)
        qsort(entries, n, sizeof *entries, compare_times);
    for (uint32_t i = 0; has_memory && i < n; i++)
        (*out)[i] = entries[i].id;
    free(entries);
    return has_memory;
}

static uint64_t start_tick(const case_run *r)
{
    if (r->next_start == r->c->n_flows)
        return NET_FLOW_NEVER;
    return tick_from(r->c->flows[r->by_start[r->next_start]].start_s);
}

static uint64_t change_tick(const case_run *r)
{
    if (r->next_change == r->c->n_changes)
        return NET_FLOW_NEVER;
    return tick_from(r->c->changes[r->by_change[r->next_change]].at_s);
}

static void end_flow(case_run *r, uint32_t i, uint64_t tick)
{
    net_case_result *out = &r->results[i];
    assert(i < r->c->n_flows && tick != NET_FLOW_NEVER);
    out->drain_tick = tick;
    out->drain_s = (double)tick / ticks_per_s;
    out->finish_s = out->drain_s + r->c->flows[i].latency_s;
}

static bool start_flow(case_run *r, uint32_t i, uint64_t now)
{
    const net_case_flow *flow = &r->c->flows[i];
    if (flow->bytes == 0) {
        end_flow(r, i, now);
        return true;
    }
    r->class_of[i] = net_flow_class(r->solver, flow->hops, flow->n_hops, flow->cap_Bps);
    return r->class_of[i] != NET_FLOW_NONE &&
           net_flow_start(r->solver, r->class_of[i], flow->bytes, i) != NET_FLOW_NONE;
}

static bool run_instant(case_run *r, uint64_t now)
{
    const net_flow_end *ends;
    const uint32_t n_ends = net_flow_advance(r->solver, now, &ends);
    for (uint32_t i = 0; i < n_ends; i++)
        end_flow(r, (uint32_t)ends[i].context, now);
    const uint32_t first = r->next_start;
    while (start_tick(r) == now)
        if (!start_flow(r, r->by_start[r->next_start++], now))
            return false;
    while (change_tick(r) == now) {
        const net_case_change *change = &r->c->changes[r->by_change[r->next_change++]];
        if (!net_flow_change(r->solver, change->link, change->bw_Bps))
            return false;
    }
    if (!net_flow_settle(r->solver))
        return false;
    for (uint32_t i = first; i < r->next_start; i++) {
        const uint32_t flow = r->by_start[i];
        if (r->c->flows[flow].bytes > 0)
            r->results[flow].rate_Bps = net_flow_rate_Bps(r->solver, r->class_of[flow]);
    }
    return true;
}

static bool run_instants(case_run *r)
{
    for (;;) {
        uint64_t now = net_flow_next(r->solver);
        now = start_tick(r) < now ? start_tick(r) : now;
        now = change_tick(r) < now ? change_tick(r) : now;
        if (now == NET_FLOW_NEVER)
            return true;
        if (!run_instant(r, now))
            return false;
    }
}

halley_status net_flow_case_run(net_case_result *results, const net_flow_case *c,
                                const net_flow_options *options, halley_error *err)
{
    case_run r = {.c = c, .results = results};
    for (uint32_t i = 0; i < c->n_flows; i++)
        results[i] = (net_case_result){-1, -1, -1, NET_FLOW_NEVER};
    TRY(net_flow_new(&r.solver, c->link_Bps, c->n_links, options, err));
    r.class_of = mem_array(c->n_flows, sizeof *r.class_of);
    const bool ok = r.class_of != NULL && sort_ids(&r.by_start, c, c->n_flows, true) &&
                    sort_ids(&r.by_change, c, c->n_changes, false) && run_instants(&r);
    halley_status status = ok ? HALLEY_OK : error_nomem(err);
    if (ok)
        status = net_flow_certify(r.solver, err);
    net_flow_free(r.solver);
    free(r.by_start);
    free(r.by_change);
    free(r.class_of);
    return status;
}
