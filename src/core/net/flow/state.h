/*
 * net/flow/state.h - the state of the solver, shared by the files of this folder.
 *
 * Units. Level (a rate): 2^-56 B/tick in 64 bits, at most 2^63 (128 TB/s). Coefficient:
 * 2^-40. Capacity, load: level times coefficient, 2^-96 B/tick in 128 bits. Volume: level
 * times ticks, 2^-56 B in 128 bits.
 */
#ifndef NET_FLOW_STATE_H
#define NET_FLOW_STATE_H

#include "base/array.h"
#include "base/hash.h"
#include "net/flow/flow.h"

__extension__ typedef unsigned __int128 net_u128;

#define MAX_LEVEL (UINT64_C(1) << 63)

/* A class on a link. */
typedef struct flow_incidence {
    uint32_t class_id;
    uint32_t hop; /* index in the hops of all classes */
} flow_incidence;

typedef struct flow_link {
    net_u128 cap, used; /* used = sum of n * c * level over its classes */
    net_u128 weight;    /* sum of n * c */
    net_u128 pot;       /* sum of n * c * bound: what its classes could take at most */
    net_u128 need;      /* during a settle: what new classes would take */
    net_u128 fixed, rising; /* during a solve: load of those below, weight of the free */
    uint64_t level;         /* level at which it filled, if it limits classes */
    uint64_t key;           /* in the heap of a solve: lower bound of its level */
    uint64_t alone;         /* cap / 1.0: the level of one flow alone */
    flow_incidence *at;     /* classes, including some that have ended */
    uint32_t n, capacity;   /* of that list */
    uint32_t n_routes;      /* classes that were ever created on it */
    uint32_t n_live;        /* classes in the list with flows */
    uint32_t n_held;        /* classes that it limits */
    uint32_t n_odd;         /* listed classes with a coefficient other than 1 */
    uint32_t touched, active, queued, based; /* stamp of the settle in which it was so */
    bool binding;                            /* pot > cap: it may become full */
    bool seeded;                             /* in this settle */
} flow_link;

enum class_state { CLASS_FIXED, CLASS_FREE };

typedef struct flow_class {
    uint64_t level;    /* rate of each of its flows */
    uint64_t bound;    /* level it would have alone, from its cap and its links */
    net_u128 served;   /* volume that each flow has received, until `at` */
    uint64_t at;       /* tick */
    uint32_t n;        /* flows */
    uint32_t n_solved; /* flows at the last settle */
    uint32_t first_hop, n_hops;
    uint32_t held_by; /* link; NET_FLOW_NONE = at its bound */
    uint32_t event;   /* place in the heap of events; NET_FLOW_NONE = none */
    uint8_t state;    /* class_state */
    bool unit;        /* all coefficients are one */
    bool dirty;       /* in the list of changed classes */
    bool forced;      /* its bound changed: it must be solved */
} flow_class;

/* A flow of a class. It ends when the class's served volume reaches the target. */
typedef struct flow_target {
    net_u128 target;
    uint32_t flow;
} flow_target;

typedef struct flow_class_cold {
    flow_target first; /* the earliest target, when n > 0 */
    flow_target *more; /* the others, a binary heap */
    uint32_t n_more, cap_more;
    uint64_t cap_level;
    uint64_t most_bound; /* largest bound it ever had: ends round to a tick of it */
    net_u128 done;       /* volume of flows that have ended */
    uint64_t n_started;  /* flows */
    net_u128 moved;      /* with options.certify: integral of n * level */
} flow_class_cold;

typedef struct flow_record {
    net_u128 volume; /* of the flow */
    uint64_t context;
    uint32_t class_id; /* NET_FLOW_NONE: free */
    uint32_t next_free;
} flow_record;

typedef struct flow_event {
    uint64_t tick; /* at or before the true end */
    uint32_t class_id;
} flow_event;

typedef struct flow_change {
    uint32_t link;
    net_u128 cap;
} flow_change;

typedef ARRAY(uint32_t) id_array;

/* Classes by their routes (routes.c). */
typedef struct flow_routes {
    uint64_t *slots; /* bits of the hash above the id of the class */
    size_t n, n_slots;
} flow_routes;

struct net_flow {
    net_flow_options options;
    uint64_t now;
    uint32_t n_links;
    flow_link *links;
    ARRAY(flow_class) classes;
    ARRAY(flow_class_cold) cold;
    /* Hops of all classes, consecutively. */
    id_array hop_link;
    ARRAY(uint64_t) hop_coefficient;
    ARRAY(uint8_t) hop_listed;
    flow_routes by_route;
    ARRAY(flow_record) flows;
    uint32_t free_flow, n_flows;
    ARRAY(flow_event) events; /* 4-ary heap */
    ARRAY(net_flow_end) ends;
    ARRAY(flow_change) changes;
    id_array dirty;   /* classes whose n or first target changed */
    id_array touched; /* links of this settle */
    id_array seeds, stack, active, freed, late, ties, raised;
    id_array due;     /* for one instant: classes whose flows may end */
    id_array heap;    /* for one solve: active links by key */
    id_array bounded; /* for one solve: free classes by bound, a heap */
    /* The last division of event.c, because equal classes have equal ends. */
    struct {
        net_u128 rest;
        uint64_t level, ticks;
    } last;
    uint32_t stamp; /* number of the settle */
    uint64_t n_settles;
    bool failed; /* memory ran out when flows ended; it no longer settles */
};

/* routes.c: make room for n routes in total; false: no memory. */
bool flow_routes_reserve(flow_routes *t, size_t n);
void flow_routes_fini(flow_routes *t);
/* class.c */
net_u128 flow_capacity_from(double bw_Bps);
uint64_t flow_level_from(double bw_Bps);
void flow_set_bound(net_flow *f, uint32_t class_id);
static inline net_u128 flow_served_now(const net_flow *f, const flow_class *k)
{
    return k->served + (net_u128)k->level * (f->now - k->at);
}
/* Bring a class up to date; call it before its level or its number of flows changes. */
static inline void flow_catch_up(net_flow *f, uint32_t class_id)
{
    flow_class *k = &f->classes.at[class_id];
    const net_u128 step = (net_u128)k->level * (f->now - k->at);
    if (f->options.certify)
        f->cold.at[class_id].moved += step * k->n;
    k->served += step;
    k->at = f->now;
}
/*
 * Levels are rounded down by less than one unit. So a flow that should end at a tick has
 * a little left there, one unit per tick of its lifetime. A flow with less than 1/1024 of
 * a tick left therefore counts as ended. Otherwise ends that coincide with a start would
 * come one tick after it.
 */
static inline net_u128 flow_slack(const flow_class *k)
{
    return k->level >> 10;
}
/* Load of n flows at a level on the link of a hop. */
static inline net_u128 flow_load(const net_flow *f, uint32_t hop, uint64_t n,
                                 uint64_t level)
{
    return (net_u128)f->hop_coefficient.at[hop] * level * n;
}
/* solve.c: compute the levels of everything that the seeds and late classes can affect,
 * from `base` up. False: no memory. */
bool flow_solve(net_flow *f, uint64_t base);
/* event.c: update after the class's first target, its level or both have changed. */
bool flow_event_reserve(net_flow *f);
void flow_event_update(net_flow *f, uint32_t class_id);
/* Collect the classes whose key is at most `tick` in f->due. False: no memory. */
bool flow_event_collect(net_flow *f, uint64_t tick);
uint64_t flow_event_tick(net_flow *f, uint32_t class_id); /* the true one */
void flow_event_update_many(net_flow *f, const id_array *classes);

#endif
