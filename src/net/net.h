/*
 * net/net.h - networks on the event loop: how long a message is under way.
 *
 * A network carries messages between NPUs and knows nothing of groups or collectives. A
 * message is a number of bytes and one word, `what`, that is handed back on arrival.
 *
 * Two models. Contention-free: every message has its route to itself; the delay is
 * hops * latency, summed over the dimensions in which the two addresses differ, plus
 * bytes / the least of their bandwidths; under ASTRA-sim's rules only the first such
 * dimension counts. Link-queue: every link is a server that sends one message at a time,
 * first come first served, and every device stores a message before it passes it on;
 * several dimensions are crossed one after the other, the innermost first.
 *
 * To add a topology: a row in cluster_topology, its hops in hops(), its links in
 * next_link(), a test.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include "base/error.h"
#include "base/hash.h"
#include "des/queue.h"
#include "hw/cluster.h"
#include "net/heat.h"

/* Events of the network carry this in the low bits of `what`; others must not. */
enum { NET_KIND_BITS = 4, NET_KIND_ARRIVE = 14, NET_KIND_FREE = 15, NET_KIND_MASK = 15 };

/* Exact, whatever the order in which it is added up. */
__extension__ typedef __int128 net_sum;

typedef struct net_dim {
    cluster_topology topology;
    uint32_t n, stride;    /* NPUs in this dimension; distance of neighbours' ids */
    double latency_ticks;  /* of one hop */
    double bytes_per_tick; /* of one link */
    uint32_t first_link;   /* number of its first link */
} net_dim;

typedef struct net_message {
    uint64_t what, bytes;
    uint32_t at, to; /* NPU (or the switch beyond it, see `dim`) it is at; destination */
    uint32_t next;   /* in the queue of a link, or of free messages */
    uint32_t dim; /* dimension being crossed; the top bit: at that dimension's switch */
} net_message;

typedef struct net_link {
    uint32_t head, tail; /* waiting messages; NET_NONE = none */
    uint32_t dim;
    uint32_t from; /* the NPU that sends on it; NET_NONE = a switch */
    bool busy;
} net_link;

#define NET_NONE UINT32_MAX

typedef void net_deliver(void *context, uint64_t what);
/* An event for an NPU is scheduled: by itself (what = 0), or a message by another. */
typedef void net_watch(void *context, uint32_t npu, uint64_t at, uint64_t what);

typedef struct net {
    des_queue *queue;
    net_deliver *deliver;
    void *context;
    bool link_queues;
    bool first_dim_only; /* contention-free: as ASTRA-sim charges a message */
    uint32_t n_dims, n_npus;
    /* When one NPU stands for several (NULL otherwise), by NPU: who that is; how many. */
    const uint32_t *stand_in, *n_alike;
    net_watch *watch;
    net_dim dims[CLUSTER_MAX_DIMS];
    /* link-queue only */
    net_message *messages;
    uint32_t n_messages, cap_messages, free_message;
    net_link *links;
    uint32_t n_links, cap_links;
    map64 pairs;   /* links of fully connected dimensions, made when first used */
    net_heat heat; /* by dimension, NPU; without bins when nobody asked */
    /* what went over each dimension */
    uint64_t n_sent[CLUSTER_MAX_DIMS];
    net_sum sent_bytes[CLUSTER_MAX_DIMS];
} net;

/* `ticks_per_s` is the run's clock; `deliver` is called when a message has arrived. */
halley_status net_init(net *out, const halley_cluster *cluster, bool link_queues,
                       double ticks_per_s, des_queue *queue, halley_error *err);
void net_fini(net *n);

/* Contention-free time of a message between two different NPUs. */
uint64_t net_delay(const net *n, uint32_t from, uint32_t to, uint64_t bytes);
/* What that is made of: its latency, and the least bandwidth on the way. */
void net_route(const net *n, uint32_t from, uint32_t to, double *latency_ticks,
               double *bytes_per_tick);
/* In how many dimensions two NPUs differ. */
uint32_t net_differ(const net *n, uint32_t a, uint32_t b);
/* The dimension that is charged for it. */
uint32_t net_first_dim(const net *n, uint32_t from, uint32_t to);

/* Count messages that the caller schedules itself, knowing their delay. */
void net_count(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint32_t messages);

/* Start a message now: in the contention-free model `what` becomes an event of the queue,
 * in the link-queue model deliver is called from net_handle. */
void net_send(net *n, uint32_t from, uint32_t to, uint64_t bytes, uint64_t what);
/* The same from an NPU to the switch of a dimension, and from the switch to an NPU. */
void net_send_up(net *n, uint32_t from, uint32_t dim, uint64_t bytes, uint64_t what);
void net_send_down(net *n, uint32_t to, uint32_t dim, uint64_t bytes, uint64_t what);
/* An event of one of the two kinds above. */
void net_handle(net *n, uint64_t what);

#endif
