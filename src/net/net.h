/*
 * net/net.h - networks on the event loop: how long a message is under way.
 *
 * A network carries messages between NPUs and knows nothing of groups or collectives. A
 * message is a number of bytes and one word, `event`, that is handed back on arrival.
 *
 * Models are rows of one table, net_models:
 *   unaware  ASTRA-sim's congestion-unaware model: every message has its route to itself,
 *            and pays hops and bytes in the first dimension in which the two ends differ
 *   aware    ASTRA-sim's congestion-aware model: links as in `queue`
 *   free     every message has its route to itself; its delay is hops * latency, summed
 *            over the dimensions in which the ends differ, plus bytes / the least of
 * their bandwidths queue    every link is a server that sends one message at a time,
 * first come first served, and every device stores a message before it passes it on;
 * several dimensions are crossed one after the other, the innermost first What is outside
 * this folder asks a model only for its capabilities (net_can).
 *
 * To add a model: a file with its functions, its row, the row in net.c's table, a test in
 * tests/unit/net/test_net.c, its word in doc/ and the manual pages.
 * To add a topology: a row in cluster_topology, its hops in route.c, its links in
 * queue.c, a test.
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

/* Events of the network carry one of these two in their low bits; others must not. */
enum { NET_KIND_BITS = 4, NET_KIND_ARRIVE = 14, NET_KIND_FREE = 15, NET_KIND_MASK = 15 };

#define NET_NONE UINT32_MAX

/* Exact, whatever the order in which it is added up. */
__extension__ typedef __int128 net_sum;

typedef struct net net;
typedef uint32_t net_id; /* a request under way; NET_NONE: it cannot be named */

/* What a model can do. */
typedef enum net_capability {
    NET_CAN_BUNDLES = 1, /* a whole collective as one request */
    NET_CAN_CANCEL = 2,  /* take a request back */
    NET_CAN_CHANGE = 4,  /* change a link's bandwidth during the run */
    /* The delay of a message depends on its route and size alone: a caller that sends
     * many alike may ask for the delay once, count them (net_count) and schedule their
     * arrivals itself. Withdrawn while heat is kept. */
    NET_CAN_FIX_DELAY = 8,
    NET_CAN_SEND_HALF = 16, /* from an NPU to a dimension's switch, and back */
    /* Only the first dimension that differs is paid for (ASTRA-sim). */
    NET_PAYS_ONE_DIM = 32,
    NET_CAN_FOLD = 64,   /* ranks that do the same may be run once */
    NET_CAN_PARTS = 128, /* a direct collective in parts, as its members come to it */
    NET_CAN_SLOW = 256,  /* a collective under way, by a share of its rate alone */
} net_capability;

/* Which part of a route a message takes. */
typedef enum net_part { NET_WHOLE, NET_UP, NET_DOWN } net_part;

typedef struct net_request {
    uint64_t bytes;
    uint64_t event; /* handed back on arrival */
    uint32_t from, to;
    uint32_t dim; /* of the switch, when only a part of the route is taken */
    net_part part;
} net_request;

/* A whole collective, as the communication library would do it. */
typedef struct net_bundle {
    coll_kind kind;
    double bytes;          /* as coll_call has it */
    const uint32_t *ranks; /* members; NULL: NPUs 0 ... n - 1 */
    uint32_t n;
    uint32_t root;  /* NPU, of kinds that have one */
    uint64_t group; /* equal for equal members */
    int64_t id;     /* of the group, for reports */
    uint64_t event; /* handed back at its end */
    /* A part of it (start_part); by member: 0 has not come, 1 was in an earlier part, 2
     * is new. Messages are those between members that have come, one of them new. NULL:
     * all of it. */
    const uint8_t *states;
} net_bundle;

/* The bundle of a message by the communication library: a collective of the pair. */
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

/* A link that a collective uses; the coefficient of its rate, in 2^-40. */
typedef struct net_hop {
    uint32_t link;
    uint64_t coefficient;
} net_hop;

/* What a collective would be, before it starts. */
typedef struct net_shape {
    uint64_t key; /* calls of a group of equal kind, root and key use the same links */
    uint64_t fixed_ticks;
    double volume_bytes, cap_Bps;
    double payload, payload_out; /* of a byte on links inside and outside nodes */
    const net_hop *hops;         /* prepare_hops only; lent until the next call */
    uint32_t n_hops;
} net_shape;

/* Links that are alike, and one is simulated for all. */
typedef struct net_link_classes {
    uint32_t n;
    const uint32_t *first;  /* by class: its first link */
    const uint32_t *counts; /* by class: how many links it has */
} net_link_classes;

/* What all collectives of a class put on one link of a class. */
typedef struct net_fold_hop {
    uint32_t link; /* class */
    uint32_t n;    /* collectives */
    uint64_t coefficient;
} net_fold_hop;

/* How a message leaves its sender, seen from there: equal for two ranks when they stand
 * alike. */
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
    const char *name;     /* the word in files and on the command line */
    const char *old_name; /* the word of version 1; NULL = the same */
    bool astra;           /* belongs to ASTRA-sim's rules; else to the native ones */
    uint32_t can;         /* bits of net_capability */
    size_t size;          /* bytes of its state, which begins with struct net */
    halley_status (*open)(net *n, const halley_cluster *c, const net_options *o,
                          halley_error *err);
    void (*close)(net *n);
    net_id (*start)(net *n, const net_request *r);
    net_id (*start_bundle)(net *n, const net_bundle *b); /* NULL: it cannot */
    net_id (*start_part)(net *n, const net_bundle *b);   /* NULL: it cannot */
    /* From now on the collective that was started as `id` with `event` has that share of
     * the rate that it has alone; nothing happens if it has drained. NULL: it cannot. */
    void (*slow)(net *n, net_id id, uint64_t event, double share);
    /*
     * Folding; NULL: it cannot. `prepare` says how long a collective takes, prepare_hops
     * also which links it uses; nothing of it is kept. `fold` fixes the classes of links
     * (NULL: each its own) before the first request; then set_hops says what a
     * representative collective and the others like it put on classes of links, for all
     * requests of that group, kind, root and key.
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
    void (*event)(net *n, uint64_t event);             /* NULL: it schedules none */
    bool (*flush)(
        net *n); /* as des_flush; NULL: nothing waits for the end of an instant */
    uint64_t (*delay)(net *n, uint32_t from, uint32_t to, uint64_t bytes);
    /* False: the message crosses links of other ranks. */
    bool (*find_way)(net_way *out, const net *n, uint32_t from, uint32_t to);
    /* Count messages that the caller schedules itself; NULL: it cannot fix delays. */
    void (*count)(net *n, const net_request *r, uint32_t n_messages);
    uint32_t (*count_differing)(const net *n, uint32_t a, uint32_t b); /* dimensions */
    /* The i-th part of the network; false: there are no more. */
    bool (*describe)(net_part_use *out, const net *n, uint32_t i);
    net_heat (*take_heat)(net *n); /* NULL: none is kept */
    /* Links that carried something, in the list's memory; NULL: they are not known one by
     * one. False: no memory. */
    bool (*list_links)(net_link_list *to, const net *n);
    /* A link that has failed and on which something waits, by name; NULL or false: there
     * is none. */
    bool (*find_stalled)(char *to, size_t size, const net *n);
    /* Proofs that the run was right; NULL: there are none. */
    halley_status (*certify)(const net *n, halley_error *err);
} net_model;

/* The model that a program brings: net_options.ops. */
extern const net_model net_model_own;
/* The model by its word, the present one or that of version 1; NULL: there is none. */
const net_model *net_model_find(const char *word);

typedef void net_deliver(void *context, uint64_t event);
/* An event for an NPU is scheduled: by itself (event = 0), or a message by another. */
typedef void net_watch(void *context, uint32_t npu, uint64_t at, uint64_t event);

/* When one rank represents several. All NULL: every rank is run. */
typedef struct net_folding {
    const uint32_t *representative; /* by NPU: who is run for it */
    const uint32_t *n_alike;        /* by NPU: how many it represents */
    net_watch *watch;
} net_folding;

struct net_options {
    double ticks_per_s;   /* the run's clock */
    net_deliver *deliver; /* called when a message has arrived */
    void *context;        /* of deliver, watch and fail */
    bool keep_heat;       /* how busy links are over time */
    bool folds;           /* `fold` will be called before the first request */
    net_folding folding;
    /* Called when a message cannot be sent (no way, no memory); `err` has the sentence.
     * NULL: the queue is marked as failed. */
    void (*fail)(void *context, halley_status status);
    halley_error *err;             /* where fail's sentence is written; may be NULL */
    const halley_network_ops *ops; /* of net_model_own; else NULL */
    void *ops_context;
};

/* *out is the caller's, to free with net_free; the cluster is read only here. */
halley_status net_new(net **out, const net_model *model, const halley_cluster *cluster,
                      des_queue *queue, const net_options *o, halley_error *err);
void net_free(net *n);

/* The head of every network. */
struct net {
    const net_model *model;
    uint32_t can; /* of the model, as long as the options leave it */
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

/* Start a message now. `event` is handed to deliver, or, by models without events of
 * their own, put into the queue. */
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
/* Start a collective now, of two or more members: the last of them has come to it. */
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
/* The same from an NPU to the switch of a dimension, and from the switch to an NPU. */
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
/* An event of one of the two kinds above: advance, deliver. */
static inline void net_event(net *n, uint64_t event)
{
    assert(n->model->event != NULL && (event & NET_KIND_MASK) >= NET_KIND_ARRIVE);
    n->model->event(n, event);
}

/* Time of a message between two different NPUs that is alone on the network. */
static inline uint64_t net_delay(net *n, uint32_t from, uint32_t to, uint64_t bytes)
{
    assert(from != to);
    return n->model->delay(n, from, to, bytes);
}
static inline bool net_find_way(net_way *out, const net *n, uint32_t from, uint32_t to)
{
    return n->model->find_way(out, n, from, to);
}
/* In how many dimensions two NPUs differ. */
static inline uint32_t net_count_differing_dims(const net *n, uint32_t a, uint32_t b)
{
    return n->model->count_differing(n, a, b);
}

/* Count messages that the caller schedules itself, knowing their delay. */
static inline void net_count(net *n, uint32_t from, uint32_t to, uint64_t bytes,
                             uint32_t n_messages)
{
    n->model->count(n, &(net_request){.from = from, .to = to, .bytes = bytes},
                    n_messages);
}

/* What went over a part of the network: a dimension, or links of one kind. */
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
    double wire_bytes; /* with what the library's protocols add */
    uint64_t n_messages;
    uint32_t n_alike;      /* links that it represents, itself included; 0 = 1 */
    const char *users[2];  /* who used it most: "ALL_REDUCE of group 3"; NULL = nobody */
    double user_shares[2]; /* of wire_bytes */
} net_link_use;
struct net_link_list {
    arena memory; /* of texts */
    bool every;   /* list every link; else those that are alike once */
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
/* How busy the links were, by dimension and NPU; the caller's from now on, to end with
 * net_heat_fini. Without bins when nobody asked for it. */
net_heat net_take_heat(net *n);

#endif
