/*
 * net/flow/flow.h - exact max-min fair sharing of links among flows, in integers.
 *
 * Links have a capacity. A flow has a route, a number of bytes and possibly a rate cap.
 * Each link of the route has a coefficient: the fraction of the flow's rate that loads
 * the link. At every instant the rates are max-min fair: no rate can be raised without
 * lowering one that is not higher. Flows with the same route and cap form a class, which
 * has one rate and one event, whatever its number of flows.
 *
 * Time is in ticks of 1 ps. Use:
 *
 *   1. start, cancel and change whatever happens at one instant;
 *   2. settle: solve once for all of it;
 *   3. next: get the tick at which the next flows end;
 *   4. advance to that tick, which reports the flows that end; go back to 1.
 *
 * All arithmetic is exact and in integers. So rates and times do not depend on the order
 * of calls at one instant, on addresses or on threads.
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
    bool full;        /* solve for all classes at every settle: slow, for tests */
    bool certify;     /* keep what net_flow_certify_bytes needs */
} net_flow_options;

typedef struct net_flow net_flow;

/* Capacities in B/s, one per link: 0, or 1 kB/s to 128 TB/s. */
halley_status net_flow_new(net_flow **out, const double *capacity_Bps, uint32_t n_links,
                           const net_flow_options *options, halley_error *err);
void net_flow_free(net_flow *f);

/* Make room for that many further classes with that many hops in total, which is faster
 * than growing. False: no memory. */
bool net_flow_reserve(net_flow *f, uint32_t n_classes, uint32_t n_hops);
/*
 * The class of a route. Equal routes with equal caps give the same class. No link may
 * occur twice; coefficients are positive. cap_Bps 0 = no cap. NET_FLOW_NONE: no memory.
 */
uint32_t net_flow_class(net_flow *f, const net_flow_hop *hops, uint32_t n,
                        double cap_Bps);
/* As net_flow_class, but always a new class. */
uint32_t net_flow_class_new(net_flow *f, const net_flow_hop *hops, uint32_t n,
                            double cap_Bps);
/* Start a flow now. `context` is returned when it ends. NET_FLOW_NONE: no memory, or too
 * many flows. `bytes` must be positive; fractions are kept to 2^-56. */
uint32_t net_flow_start(net_flow *f, uint32_t class_id, double bytes, uint64_t context);
/* End a flow early. The bytes it has moved stay in the statistics. */
void net_flow_cancel(net_flow *f, uint32_t flow_id);
/* Move the rest of a flow to another class. It still counts as the same flow. False: no
 * memory. */
bool net_flow_move(net_flow *f, uint32_t flow_id, uint32_t class_id);
/* Remaining bytes of a flow. */
double net_flow_left(net_flow *f, uint32_t flow_id);
/* Set a new capacity from now on; false: no memory. */
bool net_flow_change(net_flow *f, uint32_t link, double capacity_Bps);
/* Solve for all that happened at this instant. False: no memory. */
bool net_flow_settle(net_flow *f);
/* When the next flows end; NET_FLOW_NEVER if none will. Call it after settle. */
uint64_t net_flow_next(net_flow *f);
/* Move the clock, at most to net_flow_next. Flows that end then are collected, sorted by
 * context, and lent until the next call. Returns their number. */
typedef struct net_flow_end {
    uint32_t flow;
    uint64_t context;
} net_flow_end;
uint32_t net_flow_advance(net_flow *f, uint64_t to_tick, const net_flow_end **ends);

uint64_t net_flow_now(const net_flow *f);
uint32_t net_flow_count(const net_flow *f);   /* flows in flight */
uint64_t net_flow_settles(const net_flow *f); /* settles that solved something */
double net_flow_rate_Bps(const net_flow *f, uint32_t class_id);
uint64_t net_flow_level(const net_flow *f, uint32_t class_id); /* in 2^-56 B/tick */
/* Bytes that have crossed a link so far: payload times coefficient. */
double net_flow_link_bytes(const net_flow *f, uint32_t link);
/* The same for all links at once, `bytes` by link. */
void net_flow_sum_links(const net_flow *f, double *bytes);
/* What the flows of a class have moved. Arrays are lent until the next class is made. */
typedef struct net_flow_class_use {
    uint64_t n_flows; /* flows that were ever started */
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
 * Certificates, after settle. They return HALLEY_OK, or an internal error that names a
 * link or class. Checked: no link is above its capacity. Every class is at its bound, or
 * on a full link on which no class is faster. The sums that are kept are those of the
 * classes.
 */
halley_status net_flow_certify(const net_flow *f, halley_error *err);
/* Check that the bytes that flows asked for are the integral of their rates, up to one
 * tick per flow. Needs options.certify. */
halley_status net_flow_certify_bytes(const net_flow *f, halley_error *err);

#endif
