/*
 * net/flow/flow.h - exact max-min sharing of links among flows, in integers.
 *
 * Links have a capacity; a flow has a route (links, each with the coefficient of the
 * flow's rate that loads it), a number of bytes and perhaps a rate cap. At every instant
 * the rates are the max-min fair ones: no rate can be raised without lowering one that is
 * not higher. Flows with the same route and cap form a class, which has one rate and one
 * event, whatever its number of flows.
 *
 * Time is in ticks of 1 ps. Use:
 *   1. start, cancel and change as much as happens at one instant,
 *   2. settle: one solve for all of it,
 *   3. next: the tick at which the next flows end,
 *   4. advance to that tick: the flows that end are reported; back to 1.
 *
 * Everything is exact integer arithmetic, so that rates and times do not depend on the
 * order of calls at one instant, on addresses or on threads.
 */
#ifndef NET_FLOW_FLOW_H
#define NET_FLOW_FLOW_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

#define NET_FLOW_NEVER UINT64_MAX
#define NET_FLOW_NONE UINT32_MAX
/* Coefficient 1.0 */
#define NET_FLOW_ONE (UINT64_C(1) << 40)
enum { NET_FLOW_MAX_HOPS = 1 << 20, NET_FLOW_MAX_FLOWS = 1 << 24 };

/* Bytes in units of 2^-56. */
__extension__ typedef unsigned __int128 net_flow_volume;

typedef struct net_flow_hop {
    uint32_t link;
    uint64_t coefficient; /* NET_FLOW_ONE = the whole rate */
} net_flow_hop;

/* Valid when zeroed. */
typedef struct net_flow_options {
    uint64_t quantum; /* ticks; ends are rounded up to a multiple (0 and 1: exact) */
    bool full;        /* solve everything at every settle: slow, for tests */
    bool certify;     /* keep what net_flow_certify_bytes needs */
} net_flow_options;

typedef struct net_flow net_flow;

/* Capacities in B/s, one for each link: 0, or 1 kB/s to 128 TB/s. */
halley_status net_flow_new(net_flow **out, const double *capacity_Bps, uint32_t n_links,
                           const net_flow_options *options, halley_error *err);
void net_flow_free(net_flow *f);

/* Room for that many further classes with that many hops in all: faster than growing.
 * False: no memory. */
bool net_flow_reserve(net_flow *f, uint32_t n_classes, uint32_t n_hops);
/*
 * The class of a route: equal routes with equal caps give the same one. No link may occur
 * twice, coefficients are positive. cap_Bps 0 = no cap. NET_FLOW_NONE: no memory.
 */
uint32_t net_flow_class(net_flow *f, const net_flow_hop *hops, uint32_t n,
                        double cap_Bps);
/* The same, a class of its own whatever the others are. */
uint32_t net_flow_class_new(net_flow *f, const net_flow_hop *hops, uint32_t n,
                            double cap_Bps);
/* Start a flow now. `context` comes back when it ends. NET_FLOW_NONE: no memory, or too
 * many flows. `bytes` must be positive; fractions are kept to 2^-56. */
uint32_t net_flow_start(net_flow *f, uint32_t class_id, double bytes, uint64_t context);
/* End a flow early. What it has moved so far stays in the statistics. */
void net_flow_cancel(net_flow *f, uint32_t flow_id);
/* What is left of a flow goes on in another class, in which it counts as the flow it was;
 * false: no memory. */
bool net_flow_move(net_flow *f, uint32_t flow_id, uint32_t class_id);
/* Bytes that a flow has still to move. */
double net_flow_left(net_flow *f, uint32_t flow_id);
/* A new capacity from now on; false: no memory. */
bool net_flow_change(net_flow *f, uint32_t link, double capacity_Bps);
/* Solve for all that happened at this instant. False: no memory. */
bool net_flow_settle(net_flow *f);
/* When the next flows end; NET_FLOW_NEVER when none will. Call after settle. */
uint64_t net_flow_next(net_flow *f);
/* Move the clock, at most to net_flow_next. Flows that end then are collected; lent until
 * the next call, sorted by context. Returns how many. */
typedef struct net_flow_end {
    uint32_t flow;
    uint64_t context;
} net_flow_end;
uint32_t net_flow_advance(net_flow *f, uint64_t to_tick, const net_flow_end **ends);

uint64_t net_flow_now(const net_flow *f);
uint32_t net_flow_count(const net_flow *f);   /* flows under way */
uint64_t net_flow_settles(const net_flow *f); /* settles that solved something */
double net_flow_rate_Bps(const net_flow *f, uint32_t class_id);
uint64_t net_flow_level(const net_flow *f, uint32_t class_id); /* in 2^-56 B/tick */
/* Bytes that have crossed a link until now, payload times coefficient. */
double net_flow_link_bytes(const net_flow *f, uint32_t link);
/* The same of all links at once, `bytes` by link. */
void net_flow_sum_links(const net_flow *f, double *bytes);
/* What the flows of a class have had. Arrays are lent until the next class is made. */
typedef struct net_flow_class_use {
    uint64_t n_flows; /* that were ever started */
    double bytes;
    net_flow_volume volume; /* the same, exact */
    const uint32_t *links;
    const uint64_t *coefficients;
    uint32_t n_links;
} net_flow_class_use;
uint32_t net_flow_count_classes(const net_flow *f);
net_flow_class_use net_flow_get_class_use(const net_flow *f, uint32_t class_id);
double net_flow_link_used_Bps(const net_flow *f, uint32_t link);
/* A link of zero capacity that flows wait for; NET_FLOW_NONE when there is none. */
uint32_t net_flow_stalled_link(const net_flow *f);

/*
 * Certificates, after settle. Each gives HALLEY_OK, or an internal error that names a
 * link or class: no link above its capacity; every class at its bound, or on a full link
 * on which nobody is faster; the kept sums are those of the classes.
 */
halley_status net_flow_certify(const net_flow *f, halley_error *err);
/* The bytes that flows asked for are the integral of their rates, up to a tick's worth
 * for each flow. Needs options.certify. */
halley_status net_flow_certify_bytes(const net_flow *f, halley_error *err);

#endif
