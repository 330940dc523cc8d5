/* hw/cluster.h - the cluster as the engines see it: plain numbers in base units. */
#ifndef HW_CLUSTER_H
#define HW_CLUSTER_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "halley/cluster.h"
#include "halley/npu.h"

#include <stdbool.h>
#include <stdint.h>

enum { CLUSTER_MAX_DIMS = 16, CLUSTER_MAX_NPUS = 1 << 20 };

typedef enum cluster_topology {
    CLUSTER_RING,
    CLUSTER_FULLY_CONNECTED,
    CLUSTER_SWITCH,
    CLUSTER_N_TOPOLOGIES
} cluster_topology;
extern const char *const cluster_coll_names[];
extern const char *const cluster_topology_names[CLUSTER_N_TOPOLOGIES + 1];

typedef struct cluster_dim {
    cluster_topology topology;
    const char *name;  /* "" when it has none */
    uint32_t n;        /* NPUs along it */
    double bw_Bps;     /* of one link */
    double latency_ns; /* of one hop */
    /* A switch that takes part: bit c = it does collective c (cluster_coll) itself. */
    uint32_t in_network;
    double in_network_ns;  /* of its processing */
    double in_network_Bps; /* its throughput; 0 = no limit */
} cluster_dim;

typedef enum cluster_algo {
    CLUSTER_ALGO_RING,
    CLUSTER_ALGO_DIRECT,
    CLUSTER_ALGO_HALVING_DOUBLING,
    CLUSTER_ALGO_TREE,      /* double binary tree */
    CLUSTER_ALGO_IN_SWITCH, /* the switch reduces and multicasts; not for lists */
    CLUSTER_ALGO_ROOTED, /* a tree with a root, of the listed one's shape; not either */
    CLUSTER_ALGO_CUSTOM, /* a trace; not either */
    CLUSTER_N_ALGOS
} cluster_algo;

/* How a collective crosses one dimension. */
typedef struct cluster_impl {
    cluster_algo algo;
    bool flat;       /* one logical dimension over all NPUs; ends the list */
    uint32_t window; /* direct: messages at a time; 0 = all */
} cluster_impl;

/* The four collectives that have algorithms of their own. */
typedef enum cluster_coll {
    CLUSTER_ALL_REDUCE,
    CLUSTER_ALL_GATHER,
    CLUSTER_REDUCE_SCATTER,
    CLUSTER_ALL_TO_ALL,
    CLUSTER_N_COLLS
} cluster_coll;

typedef struct cluster_coll_impl {
    uint32_t n;        /* entries of the list, to the first flat one; 0 = not given */
    uint32_t n_listed; /* all entries; ASTRA-sim's rules ask whether there is just one */
    cluster_impl dims[CLUSTER_MAX_DIMS];
    const char *custom; /* prefix of traces that are the algorithm, or NULL */
} cluster_coll_impl;

/* A trace prefix for one node, instead of the collective's own algorithm. */
typedef struct cluster_node_impl {
    uint64_t node;
    const char *custom;
} cluster_node_impl;

/* LogGP parameters of the shared bus at an NPU's end of the network. */
typedef struct cluster_bus {
    bool on;
    uint64_t L_ns, o_ns, g_ns;
    double G_ns;             /* per byte */
    int64_t reduction_delay; /* ns per 100 bytes */
} cluster_bus;

typedef struct cluster_system {
    uint64_t splits;            /* pieces of a collective; 0 = not given */
    uint64_t active_chunks;     /* pieces at a time in a dimension */
    uint32_t queues;            /* per dimension */
    uint64_t endpoint_ns;       /* before every step of a collective */
    uint64_t group_endpoint_ns; /* the same for groups smaller than the world */
    bool hierarchical; /* all-reduce as RS up, AR, AG down; else AR in every dim */
    bool no_optimization, no_policy; /* not given, and there is no default */
    bool themis;      /* chunks take the dimensions by load, smallest chunk first */
    uint32_t streams; /* compute nodes at a time; 0 = 1 */
    bool one_channel; /* all communication of an NPU one after the other */
    bool rendezvous;
    bool roofline, replay_only;
    bool modelled;     /* native rules: compute times by cost/, not as recorded */
    bool track_memory; /* ASTRA-sim then needs an attribute "inputs" on every node */
    double *slow;      /* by NPU: factor of its compute times; NULL = 1 everywhere */
    double jitter;     /* standard deviation of a factor of every compute time */
    uint64_t seed;     /* of the jitter */
    double peak_flops; /* 0 = not given */
    double mem_Bps;    /* local memory; 0 = not given */
    cluster_bus bus;
    cluster_coll_impl colls[CLUSTER_N_COLLS];
    cluster_node_impl *node_impls; /* by ascending node id */
    uint32_t n_node_impls;
} cluster_system;

typedef enum cluster_memory_kind {
    CLUSTER_MEMORY_NONE,
    CLUSTER_MEMORY_PER_NPU,
    CLUSTER_MEMORY_PER_NODE,
    CLUSTER_MEMORY_POOL,
    CLUSTER_MEMORY_HIERARCHICAL, /* a pool behind switches, in pipelined pieces */
} cluster_memory_kind;

typedef struct cluster_memory {
    cluster_memory_kind kind;
    uint64_t latency_ns;
    double bytes_per_ns;
    uint32_t npus_per_node;
    /* hierarchical: bytes_per_ns is that of one of n_groups memories */
    uint32_t n_groups;
    double node_bytes_per_ns; /* from the pool's switches into a node */
    double npu_bytes_per_ns;  /* from the node's switch into an NPU */
    uint64_t piece_bytes;
    bool in_switch; /* loads are gathered and stores reduced in the node's switch */
} cluster_memory;

/* A set of ranks that communicate among themselves, in the order of the file. */
typedef struct cluster_group {
    int64_t id; /* > 0 */
    uint32_t n;
    uint32_t *ranks;
} cluster_group;

struct halley_cluster {
    arena memory;
    const char *name; /* "" when it has none */
    bool astra;       /* ASTRA-sim's rules: its clock, its slots, its quirks */
    bool link_queues; /* the network model that the file chose */
    uint32_t n_npus, n_dims;
    cluster_dim dims[CLUSTER_MAX_DIMS];
    halley_npu npu; /* for cost/; peak_flops[HALLEY_BF16] = 0: not described */
    cluster_system system;
    cluster_memory remote;
    uint32_t n_groups;
    cluster_group *groups; /* by ascending id */
    ARRAY(const char *) warnings;
};

/* An empty cluster; NULL when memory ran out. */
halley_cluster *cluster_new(void);
/* An algorithm by its name in our files ("direct-4", "flat-ring"), and the other way. */
bool cluster_impl_parse(cluster_impl *out, str text);
void cluster_impl_print(strbuf *to, const cluster_impl *impl);
/* Remember a sentence; when memory runs out it is lost. */
void cluster_warn(halley_cluster *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Index of the group with this id, or UINT32_MAX. */
uint32_t cluster_find_group(const halley_cluster *c, int64_t id);

#endif
