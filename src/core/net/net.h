/*
 * net/net.h - network models on the event loop: how long a message is in flight.
 *
 * A network carries messages between NPUs. A message is a number of bytes and a word,
 * `event`, that is handed back on arrival. Some models also carry a whole collective as
 * one request (NET_CAN_BUNDLES).
 *
 * Models are rows of one table, net_models:
 *
 *     unaware  ASTRA-sim's congestion-unaware model. Every message has its route to
 *              itself. It pays hops and bytes in the first dimension in which the two
 *              ends differ.
 *     aware    ASTRA-sim's congestion-aware model, with links as in `queue`.
 *     free     Every message has its route to itself. Its delay is hops * latency, summed
 *              over the dimensions in which the ends differ, plus
 *              bytes / the smallest bandwidth of these dimensions.
 *     queue    Every link sends one message at a time, first come, first served.
 *              Every device stores a message before it forwards it.
 *              Dimensions are crossed one after the other, the innermost first.
 *     flow     Messages share the links of a graph by max-min fairness (flow/model.c).
 *
 * Code outside this folder asks a model only for its capabilities (net_can).
 *
 * To add a model: a file with its functions, its row, the row in net.c's table, a test in
 * tests/unit/core/net/test_net.c, and its name in doc/ and the manual pages.
 *
 * To add a topology: a row in cluster_topology, its hops in route.c, its links in
 * queue.c, and a test.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "coll/time.h"
#include "des/queue.h"
#include "halley/network.h"
#include "hw/cluster.h"
#include "net/heat.h"

#include <assert.h>

/* Events of the network have one of these two kinds in their low bits. Other events must
 * not. */
enum { NET_KIND_BITS = 4, NET_KIND_ARRIVE = 14, NET_KIND_FREE = 15, NET_KIND_MASK = 15 };

#define NET_NONE UINT32_MAX

/* The sum is exact, whatever the order of its terms. */
__extension__ typedef __int128 net_sum;

typedef struct net net;
typedef uint32_t net_id; /* a request in flight; NET_NONE: it has no number */

/* What a model can do. */
typedef enum net_capability {
    NET_CAN_BUNDLES = 1, /* a whole collective as one request */
    NET_CAN_CANCEL = 2,  /* take a request back */
    NET_CAN_CHANGE = 4,  /* change a link's bandwidth during the run */
    /* The delay of a message depends on its route and size only. A caller that sends many
     * equal messages may ask for the delay once, count the messages (net_count) and
     * schedule their arrivals itself. Not available while heat is kept. */
    NET_CAN_FIX_DELAY = 8,
    NET_CAN_SEND_HALF = 16, /* from an NPU to a dimension's switch, and back */
    /* A message pays only for the first dimension that differs (ASTRA-sim). */
    NET_PAYS_ONE_DIM = 32,
    NET_CAN_FOLD = 64,   /* identical ranks may be simulated once */
    NET_CAN_PARTS = 128, /* start a direct collective in parts, as its members arrive */
    NET_CAN_SLOW = 256,  /* run a collective below its undisturbed rate */
} net_capability;

/* The part of a route that a message takes. */
typedef enum net_part { NET_WHOLE, NET_UP, NET_DOWN } net_part;

typedef struct net_request {
    uint64_t bytes;
    uint64_t event; /* handed back on arrival */
    uint32_t from, to;
    uint32_t dim; /* dimension of the switch, if only a part of the route is taken */
    net_part part;
} net_request;

/* How a collective differs from the library's table on this network. */
typedef struct net_price {
    double rate;    /* factor on its bandwidth; above 1, as many fewer bytes cross the
                       links; 0 = 1 */
    double fixed_s; /* seconds added to the latency of the table; may be negative */
} net_price;

/* A whole collective, as the communication library would do it. */
typedef struct net_bundle {
    coll_kind kind;
    double bytes;          /* as in coll_call */
    const uint32_t *ranks; /* members; NULL: NPUs 0 ... n - 1 */
    uint32_t n;
    uint32_t root;  /* NPU, for kinds with a root */
    uint64_t group; /* equal for equal members */
    int64_t id;     /* of the group, for reports */
    uint64_t event; /* handed back at its end */
    net_price price;
    /* For a part of it (start_part), by member: 0 absent, 1 in an earlier part, 2 new.
     * The part has the messages between present members of which at least one is new.
     * NULL: all of it. */
    const uint8_t *states;
} net_bundle;

/* A message by the communication library, as a collective of two. */
static inline net_bundle net_message_bundle(const uint32_t pair[2], uint64_t bytes,
                                            uint64_t event)
{
    return (net_bundle){.kind = COLL_SEND,
                        .bytes = bytes > 0 ? (double)bytes : 1,
                        .ranks = pair,
                        .n = 2,
                        .group = UINT64_C(1) << 63 | (uint64_t)pair[0] << 32 | pair[1],
                        .event = event};
}

/* A link that a collective uses, and the coefficient of the collective's rate on it, in
 * units of 2^-40. */
typedef struct net_hop {
    uint32_t link;
    uint64_t coefficient;
} net_hop;

/* The properties of a collective that has not started. */
typedef struct net_shape {
    uint64_t key; /* calls of a group with equal kind, root and key use the same links */
    uint64_t fixed_ticks;
    double volume_bytes, cap_Bps;
    double payload, payload_out; /* payload per byte on links inside and outside nodes */
    const net_hop *hops;         /* prepare_hops only; lent until the next call */
    uint32_t n_hops;
} net_shape;

/* Classes of equivalent links, of which one is simulated for all. */
typedef struct net_link_classes {
    uint32_t n;
    const uint32_t *first;  /* by class: its first link */
    const uint32_t *counts; /* by class: number of its links */
} net_link_classes;

/* What all collectives of a class put on one link of a class. */
typedef struct net_fold_hop {
    uint32_t link; /* class */
    uint32_t n;    /* collectives */
    uint64_t coefficient;
} net_fold_hop;

/* How a message leaves its sender, relative to the sender. Ranks with equal values are in
 * equivalent positions. */
typedef struct net_way {
    uint32_t dim;
    uint32_t link;    /* which of the sender's links; 0 where links do not matter */
    uint32_t crossed; /* bit d: it crosses dimension d */
    double latency_ticks, bytes_per_tick;
} net_way;

typedef struct net_options net_options;
typedef struct net_part_use net_part_use;
typedef struct net_link_list net_link_list;

typedef struct net_model {
    const char *name;     /* the name in files and on the command line */
    const char *old_name; /* the name in version 1; NULL = the same */
    bool astra;           /* belongs to ASTRA-sim's rules; else to the native ones */
    uint32_t can;         /* bits of net_capability */
    size_t size;          /* bytes of its state, which begins with struct net */
    halley_status (*open)(net *n, const halley_cluster *c, const net_options *o,
                          halley_error *err);
    void (*close)(net *n);
    net_id (*start)(net *n, const net_request *r);
    net_id (*start_bundle)(net *n, const net_bundle *b); /* NULL: it cannot */
    net_id (*start_part)(net *n, const net_bundle *b);   /* NULL: it cannot */
    /* Run the collective that was started as `id` with `event` at this fraction of its
     * undisturbed rate from now on. Has no effect after its last byte has left. NULL: not
     * available. */
    void (*slow)(net *n, net_id id, uint64_t event, double share);
    /*
     * Folding; NULL: not available. `prepare` computes how long a collective takes;
     * prepare_hops also computes which links it uses. Neither changes the network.
     *
     * `fold` sets the classes of links before the first request (NULL: each link is its
     * own class). Then set_hops sets the load that a representative collective and those
     * it represents put on classes of links. It applies to all requests of that group,
     * kind, root and key.
     */
    halley_status (*prepare)(net_shape *out, net *n, const net_bundle *b);
    halley_status (*prepare_hops)(net_shape *out, net *n, const net_bundle *b);
    halley_status (*fold)(net *n, const net_link_classes *links, halley_error *err);
    halley_status (*set_hops)(net *n, const net_bundle *b, const net_fold_hop *hops,
                              uint32_t n_hops, uint32_t n_alike);
    uint32_t (*count_links)(const net *n);
    /* Equal for links of equal capacity, kind and level. */
    uint64_t (*colour_link)(const net *n, uint32_t link);
    void (*cancel)(net *n, net_id id);                 /* NULL: it cannot */
    void (*change)(net *n, uint32_t link, double Bps); /* NULL: it cannot */
    void (*event)(net *n, uint64_t event); /* NULL: the model schedules no events */
    bool (*flush)(
        net *n); /* as des_flush; NULL: nothing to do at the end of an instant */
    uint64_t (*delay)(net *n, uint32_t from, uint32_t to, uint64_t bytes);
    /* False: the message crosses links of other ranks. */
    bool (*find_way)(net_way *out, const net *n, uint32_t from, uint32_t to);
    /* Count messages that the caller schedules itself; NULL: delays are not fixed. */
    void (*count)(net *n, const net_request *r, uint32_t n_messages);
    uint32_t (*count_differing)(const net *n, uint32_t a, uint32_t b); /* dimensions */
    /* The i-th part of the network; false: there are no more. */
    bool (*describe)(net_part_use *out, const net *n, uint32_t i);
    net_heat (*take_heat)(net *n); /* NULL: no heat is kept */
    /* List the links that carried something, in the list's memory. False: no memory.
     * NULL: single links are not known. */
    bool (*list_links)(net_link_list *to, const net *n);
    /* Name a failed link that something waits for. NULL or false: there is none. */
    bool (*find_stalled)(char *to, size_t size, const net *n);
    /* Verify that the rates of the run were right; NULL: not available. */
    halley_status (*certify)(const net *n, halley_error *err);
} net_model;

/* The model that a calling program supplies: net_options.ops. */
extern const net_model net_model_own;
/* The model with this name, of the present version or of version 1; NULL: there is none.
 */
const net_model *net_model_find(const char *word);

typedef void net_deliver(void *context, uint64_t event);
/* Called when an event for an NPU is scheduled: by itself (event = 0), or a message by
 * another. */
typedef void net_watch(void *context, uint32_t npu, uint64_t at, uint64_t event);

/* For runs in which one rank represents several. All NULL: every rank is simulated. */
typedef struct net_folding {
    const uint32_t *representative; /* by NPU: the NPU that is simulated for it */
    const uint32_t *n_alike;        /* by NPU: number of NPUs it represents */
    net_watch *watch;
} net_folding;

struct net_options {
    double ticks_per_s;   /* the run's clock */
    net_deliver *deliver; /* called when a message has arrived */
    void *context;        /* passed to deliver, watch and fail */
    bool keep_heat;       /* record how busy links are over time */
    bool folds;           /* `fold` will be called before the first request */
    net_folding folding;
    /* Called when a message cannot be sent (no route, no memory); `err` has the message.
     * NULL: the queue is marked as failed. */
    void (*fail)(void *context, halley_status status);
    halley_error *err; /* where the message for `fail` is written; may be NULL */
    const halley_network_ops *ops; /* for net_model_own; else NULL */
    void *ops_context;
};

/* The caller frees *out with net_free. The cluster is read only during this call. */
halley_status net_new(net **out, const net_model *model, const halley_cluster *cluster,
                      des_queue *queue, const net_options *o, halley_error *err);
void net_free(net *n);

/* The state of every model begins with this. */
struct net {
    const net_model *model;
    uint32_t can; /* capabilities of the model, less those that the options exclude */
    uint32_t n_npus;
    des_queue *queue;
    net_deliver *deliver;
    void *context;
    net_folding folding;
};

static inline bool net_can(const net *n, net_capability capability)
{
    return (n->can & (uint32_t)capability) != 0;
}

/* Start a message now. `event` is handed to deliver. Models without events of their own
 * put it into the queue instead. */
static inline net_id net_start(net *n, const net_request *r)
{
    assert(r->part == NET_WHOLE || net_can(n, NET_CAN_SEND_HALF));
    return n->model->start(n, r);
}
static inline void net_send(net *n, uint32_t from, uint32_t to, uint64_t bytes,
                            uint64_t event)
{
    net_start(n, &(net_request){.from = from, .to = to, .bytes = bytes, .event = event});
}
/* Start a collective of two or more members now. The last of them has arrived. */
static inline net_id net_start_bundle(net *n, const net_bundle *b)
{
    assert(net_can(n, NET_CAN_BUNDLES) && b->n > 1 && b->bytes > 0);
    return n->model->start_bundle(n, b);
}
/* Start a part of an all-to-all, gather or scatter now. */
static inline net_id net_start_part(net *n, const net_bundle *b)
{
    assert(net_can(n, NET_CAN_PARTS) && b->n > 2 && b->states != NULL);
    return n->model->start_part(n, b);
}
/* Send from an NPU to the switch of a dimension, and from the switch to an NPU. */
static inline void net_send_up(net *n, uint32_t from, uint32_t dim, uint64_t bytes,
                               uint64_t event)
{
    net_start(n, &(net_request){bytes, event, from, from, dim, NET_UP});
}
static inline void net_send_down(net *n, uint32_t to, uint32_t dim, uint64_t bytes,
                                 uint64_t event)
{
    net_start(n, &(net_request){bytes, event, to, to, dim, NET_DOWN});
}
/* Handle an event of one of the two kinds above: advance, deliver. */
static inline void net_event(net *n, uint64_t event)
{
    assert(n->model->event != NULL && (event & NET_KIND_MASK) >= NET_KIND_ARRIVE);
    n->model->event(n, event);
}

/* Time of a message between two different NPUs without other traffic. */
static inline uint64_t net_delay(net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    assert(from != to);
    return n->model->delay(n, from, to, bytes);
}
static inline bool net_find_way(net_way *out, const net *n, uint32_t from, uint32_t to)
{
    return n->model->find_way(out, n, from, to);
}
/* The number of dimensions in which two NPUs differ. */
static inline uint32_t net_count_differing_dims(const net *n, uint32_t a, uint32_t b)
{
    return n->model->count_differing(n, a, b);
}

/* Count messages that the caller schedules itself with a known delay. */
static inline void net_count(net *n, uint32_t from, uint32_t to, uint64_t bytes,
                             uint32_t n_messages)
{
    n->model->count(n, &(net_request){.from = from, .to = to, .bytes = bytes},
                    n_messages);
}

/* What crossed a part of the network: a dimension, or the links of one kind. */
struct net_part_use {
    const char *name;    /* "Ring"; lent */
    uint32_t n;          /* NPUs along it; links of the kind */
    double bw_Bps;       /* of one link */
    double capacity_Bps; /* of all its links, or of all NPUs' */
    uint64_t n_messages;
    double bytes;
};
/* False: there is no such part. */
static inline bool net_describe_part(net_part_use *out, const net *n, uint32_t i)
{
    return n->model->describe(out, n, i);
}
/* What crossed one link, in one direction. */
typedef struct net_link_use {
    const char *name; /* "npu3 -> leaf0" */
    const char *kind; /* "npu-leaf" */
    double bw_Bps;
    double bytes;      /* payload */
    double wire_bytes; /* including protocol overhead of the library */
    uint64_t n_messages;
    uint32_t n_alike;      /* links that it represents, including itself; 0 = 1 */
    const char *users[2];  /* main users: "ALL_REDUCE of group 3"; NULL = none */
    double user_shares[2]; /* of wire_bytes */
} net_link_use;
struct net_link_list {
    arena memory; /* of texts */
    bool every;   /* list every link; else one per class */
    /* By link: its class, to list every link of a folded run. */
    const uint32_t *class_of;
    ARRAY(net_link_use) links;
};
static inline bool net_list_links(net_link_list *to, const net *n)
{
    return n->model->list_links == NULL || n->model->list_links(to, n);
}
static inline bool net_find_stalled(char *to, size_t size, const net *n)
{
    return n->model->find_stalled != NULL && n->model->find_stalled(to, size, n);
}
static inline halley_status net_certify(const net *n, halley_error *err)
{
    return n->model->certify == NULL ? HALLEY_OK : n->model->certify(n, err);
}
/* How busy the links were, by dimension and NPU. The caller owns it and frees it with
 * net_heat_fini. It has no bins if heat was not requested. */
net_heat net_take_heat(net *n);

#endif
