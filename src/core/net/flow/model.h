/*
 * net/flow/model.h - the state of the model `flow`, shared by the files of this folder.
 */
#ifndef NET_FLOW_MODEL_H
#define NET_FLOW_MODEL_H

#include "base/hash.h"
#include "coll/dims.h"
#include "des/ticks.h"
#include "hw/network.h"
#include "net/flow/flow.h"
#include "net/flow/shape.h"
#include "net/models.h"

#include <math.h>

/* The route of messages between two NPUs. */
typedef struct flow_way {
    uint32_t class_id;      /* NET_FLOW_NONE: no links */
    uint64_t latency_ticks; /* of all links and devices on the route */
    double rate_Bps;        /* of a message without other traffic */
} flow_way;

/* A message or collective in flight. */
typedef struct flow_transfer {
    uint64_t event;         /* handed back on arrival */
    uint64_t latency_ticks; /* from the last byte sent to its arrival */
    uint32_t class_id;
    uint32_t next_free;
    uint64_t start; /* tick */
    double bytes;
    /* If links may change: what is being sent, so that its rest can take another route.
     */
    uint32_t flow;
    bool is_moving;  /* it is in flight, and is a collective */
    double rate_Bps; /* undisturbed rate of the collective; 0: it cannot be slowed */
    uint32_t root;
    coll_kind kind;
    uint64_t group;
    int64_t group_id;
    double call_bytes, volume_bytes; /* of the whole collective */
    net_price price;
} flow_transfer;

/* A link that changes during a run: the bytes it could have carried until `since`. */
typedef struct flow_offer {
    uint32_t link;
    uint64_t since; /* tick */
    double bytes;
    double bw_Bps; /* from then on; the graph has what routes are computed from */
} flow_offer;

typedef struct flow_found flow_found;

/* Members of a group, computed once. */
typedef struct flow_group {
    flow_members members;
    halley_fabric out; /* as the group sees it: bandwidth of its cards, its steps */
    coll_dims box;     /* on a list of dimensions: the part of it that the group is */
    bool is_box;
    flow_found *found; /* if no closed form fits; NULL = one does */
} flow_group;

/* The load of a call, and that of the canonical call from which its links are computed.
 */
typedef struct bundle_loads {
    coll_load own, canonical;
    double canonical_bytes;
    double volume_bytes; /* of the canonical call: payload of the busiest level */
    double rate_Bps;     /* of that volume, without other traffic */
} bundle_loads;

/* The last loads that were computed. see_fabric changes only these values of a fabric. */
typedef struct flow_loads_memo {
    coll_kind kind;
    double bytes;
    uint32_t n, per_node; /* n 0: none */
    double bandwidth_Bps, hop_s[3];
    hw_box box; /* if the call has one */
    bool has_box;
    net_price price;
    bundle_loads loads;
} flow_loads_memo;

/* A collective of a group by one algorithm: its links. */
typedef struct flow_shape {
    uint64_t group;
    double canonical_bytes;
    double rate; /* of its price */
    coll_kind kind;
    uint32_t root, variant;
    uint32_t class_id;
} flow_shape;

/* A collective of a group with its bytes: how long it takes without other traffic. */
typedef struct flow_call {
    uint64_t group;
    double bytes;
    net_price price;
    coll_kind kind;
    uint32_t root;
    uint32_t class_id;
    uint64_t fixed_ticks; /* time that does not depend on other traffic */
    double rate_Bps;      /* of its volume, without other traffic */
    double volume_bytes;
} flow_call;

/* The collective or messages that the flows of a class belong to. */
typedef struct flow_owner {
    coll_kind kind;
    uint32_t group;       /* index + 1; 0 = all NPUs */
    int64_t id;           /* of the group */
    double payload;       /* payload per byte on links inside nodes */
    double payload_out;   /* the same outside */
    uint32_t n_alike;     /* collectives or pairs that the class represents */
    uint32_t first_count; /* in `counts`; NET_NONE = one flow on each of its links */
    uint32_t size;        /* members of the group */
} flow_owner;

typedef struct flow_net {
    net head;
    hw_network *network;
    const halley_cluster *cluster; /* lent */
    map64 groups_by_key, shapes_by_key, calls_by_key;
    ARRAY(flow_group) groups;
    ARRAY(flow_shape) shapes;
    ARRAY(flow_call) calls;
    ARRAY(uint32_t) counts; /* by hop of folded classes: flows of the class on the link */
    /* The group that is being prepared. */
    flow_group prepared;
    flow_loads_memo memo;
    uint64_t prepared_key;
    bool has_prepared;
    bool has_dims; /* collectives cross a list of dimensions (boxes.c) */
    /* Links by class, when folded: the first link and the number of each; else NULL. */
    uint32_t *first_links, *n_links;
    uint32_t n_link_classes;
    flow_loads loads;
    net_flow *flow;
    double ticks_per_s;
    des_timer timer; /* the next end of a flow */
    uint64_t timer_at;
    map64 ways_by_pair;
    ARRAY(flow_way) ways;
    ARRAY(net_flow_hop) hops; /* of the route being made */
    ARRAY(flow_transfer) transfers;
    uint32_t free_transfer;
    uint64_t n_messages;
    net_heat heat;            /* by kind of link, NPU that sends */
    ARRAY(flow_owner) owners; /* by class */
    uint64_t n_flushes;
    /* Links that change (changes.c). */
    uint32_t next_change, next_reroute; /* of network->changes */
    hw_network *intact;       /* the network before all changes; NULL: no link changes */
    ARRAY(flow_offer) offers; /* by link */
    void (*fail)(void *context, halley_status status);
    halley_error *err;
} flow_net;

static inline flow_net *flow_net_of(net *n)
{
    return (flow_net *)(void *)n;
}

static inline const flow_net *flow_net_of_const(const net *n)
{
    return (const flow_net *)(const void *)n;
}

/* model.c */
void flow_net_fail(flow_net *f, halley_status status);
/* Move the solver's clock to the queue's. */
void flow_net_catch_up(flow_net *f);
/* The link from an NPU to the switch of a dimension; HW_NONE: it has none. */
uint32_t flow_net_find_up(const flow_net *f, uint32_t npu, uint32_t dim);
/* Start a flow of a class now. */
net_id flow_net_start(flow_net *f, const flow_transfer *t);
static inline uint64_t flow_net_ticks(const flow_net *f, double seconds)
{
    return des_queue_ticks(f->head.queue, round(seconds * f->ticks_per_s));
}
/* The first link of a class of links; the link itself if there are no classes. */
static inline uint32_t flow_net_first_link(const flow_net *f, uint32_t link)
{
    return f->first_links == NULL ? link : f->first_links[link];
}
static inline uint32_t flow_net_count_alike(const flow_net *f, uint32_t link)
{
    return f->first_links == NULL ? 1 : f->n_links[link];
}

/* bundles.c */
net_id flow_net_start_bundle(net *n, const net_bundle *b);
/* Start the part of a direct collective that b->states selects. */
net_id flow_net_start_part(net *n, const net_bundle *b);
/* Run a collective in flight at a fraction of its undisturbed rate from now on. */
void flow_net_slow(net *n, net_id id, uint64_t event, double share);
/* Start a message by the communication library: a collective of two. */
net_id flow_net_start_message(flow_net *f, const net_request *r);
halley_status flow_net_prepare(net_shape *out, net *n, const net_bundle *b);
halley_status flow_net_prepare_hops(net_shape *out, net *n, const net_bundle *b);
halley_status flow_net_fold(net *n, const net_link_classes *links, halley_error *err);
halley_status flow_net_set_hops(net *n, const net_bundle *b, const net_fold_hop *hops,
                                uint32_t n_hops, uint32_t n_alike);
uint32_t flow_net_count_links(const net *n);
uint64_t flow_net_colour_link(const net *n, uint32_t link);
void flow_net_fini_bundles(flow_net *f);
/* The latency of the longest route from a member to the next. */
double flow_net_longest_step(const flow_net *f, const flow_members *m);

/* boxes.c: collectives and messages on a list of dimensions. The second function adds the
 * loads of the canonical call to f->loads. */
halley_status flow_boxes_find_loads(bundle_loads *out, flow_net *f,
                                    const flow_group *group, const net_bundle *b);
halley_status flow_boxes_add(flow_net *f, const flow_group *group, const net_bundle *b,
                             const bundle_loads *loads);
/* Any group: its bytes by routes between its members (boxes.c). */
halley_status flow_any_add(flow_net *f, const flow_members *m, coll_kind kind,
                           double bytes);
halley_status flow_any_time(coll_load *out, flow_net *f, const flow_group *group,
                            coll_kind kind, double bytes);
/* Seconds of the busiest link that has been added. */
double flow_any_busiest_s(const flow_net *f);
/* Groups whose schedules are synthesised (found.c). */
bool flow_found_can(const flow_net *f, const flow_members *m);
halley_status flow_found_new(flow_found **out, const flow_net *f, const flow_members *m,
                             halley_error *err);
void flow_found_free(flow_found *found); /* NULL is allowed */
halley_status flow_found_find_loads(bundle_loads *out, flow_net *f,
                                    const flow_group *group, const net_bundle *b);
halley_status flow_found_add(flow_net *f, const flow_group *group, const net_bundle *b,
                             const bundle_loads *loads);

/* changes.c: links that change during a run. */
halley_status flow_net_init_changes(flow_net *f, const halley_cluster *c,
                                    halley_error *err);
void flow_net_fini_changes(flow_net *f);
/* The tick of the next change or reroute; NET_FLOW_NEVER: none is left. */
uint64_t flow_net_next_change(const flow_net *f);
/* Apply the changes that are due at a tick, which the solver's clock has reached. */
void flow_net_make_changes(flow_net *f, uint64_t tick);
/* Name a failed link that something waits for. */
bool flow_net_find_stalled(char *to, size_t size, const net *n);
/* The bytes that a link could have carried until now. */
double flow_net_offered_bytes(const flow_net *f, uint32_t link);
/* bundles.c: discard the links of all collectives, so that they are computed again. */
void flow_net_forget_shapes(flow_net *f);
/* Start the rest of a transfer on its present links. False: it has no route, and stays
 * where it is. */
bool flow_net_move_transfer(flow_net *f, uint32_t transfer);

/* report.c: functions of the model's row. */
bool flow_net_describe(net_part_use *out, const net *n, uint32_t i);
bool flow_net_list_links(net_link_list *to, const net *n);
halley_status flow_net_certify(const net *n, halley_error *err);

#endif
