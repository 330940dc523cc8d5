/*
 * hw/cluster.h - the one description of hardware, as the engines see it: plain numbers in
 * base units. Presets, halley's own files and ASTRA-sim's files all become this struct.
 *
 * The network is described in one of two ways. Code derives the other view from it:
 *
 *   levels      nodes.up and outer[], from the node outwards: the closed forms use these
 *   dimensions  dims[]: the simulator builds its network from these
 *
 * To add a key: add a row to the table of its part (hw/read_*.c), its meaning here, and a
 * case in tests/unit/core/hw/test_hw.c. If saving must keep it, add a line in hw/save.c.
 */
#ifndef HW_CLUSTER_H
#define HW_CLUSTER_H

#include "base/arena.h"
#include "base/array.h"
#include "base/error.h"
#include "base/str.h"
#include "halley/cluster.h"
#include "halley/link.h"
#include "halley/npu.h"
#include "halley/topology.h"
#include "hw/direct.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

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
    const char *name;  /* "" if it has none */
    uint32_t n;        /* NPUs along it */
    double bw_Bps;     /* of one link */
    double latency_ns; /* of one hop */
    /* A switch that takes part in collectives: bit c = it executes collective c
     * (cluster_coll). */
    uint32_t in_network;
    double in_network_ns;  /* its processing time */
    double in_network_Bps; /* its throughput; 0 = no limit */
} cluster_dim;

typedef enum cluster_algo {
    CLUSTER_ALGO_RING,
    CLUSTER_ALGO_DIRECT,
    CLUSTER_ALGO_HALVING_DOUBLING,
    CLUSTER_ALGO_TREE,      /* double binary tree */
    CLUSTER_ALGO_IN_SWITCH, /* the switch reduces and multicasts; not allowed in lists */
    CLUSTER_ALGO_ROOTED, /* a rooted tree shaped like the listed algorithm; not in lists
                          */
    CLUSTER_ALGO_CUSTOM, /* a trace; not allowed in lists */
    CLUSTER_ALGO_BUNDLE, /* the library's algorithm as one flow; not allowed in lists */
    CLUSTER_N_ALGOS
} cluster_algo;

/* How a collective crosses one dimension. */
typedef struct cluster_impl {
    cluster_algo algo;
    bool flat;       /* one logical dimension over all NPUs; the list ends with it */
    uint32_t window; /* direct: messages at a time; 0 = all */
} cluster_impl;

/* The four collectives that have their own algorithms. */
typedef enum cluster_coll {
    CLUSTER_ALL_REDUCE,
    CLUSTER_ALL_GATHER,
    CLUSTER_REDUCE_SCATTER,
    CLUSTER_ALL_TO_ALL,
    CLUSTER_N_COLLS
} cluster_coll;

typedef struct cluster_coll_impl {
    uint32_t n;        /* entries of the list, up to the first flat one; 0 = not given */
    uint32_t n_listed; /* all entries; ASTRA-sim's rules differ if there is only one */
    bool is_default; /* the file names none: n rings, or what is fastest (coll/dims.h) */
    cluster_impl dims[CLUSTER_MAX_DIMS];
    const char *custom; /* prefix of the traces that define the algorithm, or NULL */
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

/* Classes of kernels that communication slows down. */
typedef enum cluster_kernel {
    CLUSTER_KERNEL_MATMUL,
    CLUSTER_KERNEL_ATTENTION,
    CLUSTER_KERNEL_MEMORY, /* memory-bound */
    CLUSTER_N_KERNELS
} cluster_kernel;

typedef struct cluster_system {
    uint64_t splits;            /* pieces of a collective; 0 = not given */
    uint64_t active_chunks;     /* pieces at a time in a dimension */
    uint32_t queues;            /* per dimension */
    uint64_t endpoint_ns;       /* before every step of a collective */
    uint64_t group_endpoint_ns; /* the same for groups smaller than the world */
    bool hierarchical; /* all-reduce as RS up, AR, AG down; else AR in every dimension */
    bool no_optimization, no_policy; /* not given, and there is no default */
    bool themis;      /* chunks choose dimensions by load, smallest chunk first */
    uint32_t streams; /* compute nodes at a time; 0 = 1 */
    bool one_channel; /* an NPU's communication is serialized */
    bool rendezvous;
    bool steps; /* simulate collectives message by message, even where the network could
                   carry each as a whole */
    bool roofline, replay_only;
    bool modelled;     /* native rules: compute times from cost/, not as recorded */
    bool track_memory; /* ASTRA-sim then needs an attribute "inputs" on every node */
    const char *memory_trace; /* ASTRA-sim: prefix of its memory trace; NULL = default */
    bool trace_nodes;         /* ASTRA-sim: its log contains every node */
    bool reads_ns;            /* read durations in ns under ASTRA-sim's rules, too */
    double *slow;   /* by NPU: factor on its compute times; NULL = 1 everywhere */
    double *late_s; /* by NPU: its start time; NULL = all start at 0 */
    double interference[CLUSTER_N_KERNELS]; /* factor 1 + it during messages */
    /* Collectives during kernels of their members run at 1 - it of their full rate. */
    double network_interference[CLUSTER_N_KERNELS];
    double jitter;     /* standard deviation of a random factor on every compute time */
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
    /* hierarchical: bytes_per_ns is the rate of one of n_groups memories */
    uint32_t n_groups;
    double node_bytes_per_ns; /* from the pool's switches into a node */
    double npu_bytes_per_ns;  /* from the node's switch into an NPU */
    uint64_t piece_bytes;
    bool in_switch; /* the node's switch gathers loads and reduces stores */
} cluster_memory;

/* A set of ranks that communicate among themselves, in the order of the file. */
typedef struct cluster_group {
    int64_t id; /* > 0 */
    uint32_t n;
    uint32_t *ranks;
} cluster_group;

/* The topology inside a node, as named in nodes.shape. Tori come last. */
typedef enum hw_node_shape {
    HW_SHAPE_SWITCH,
    HW_SHAPE_FULL,
    HW_SHAPE_RING,
    HW_SHAPE_DGX_1,
    HW_SHAPE_TORUS_2D,
    HW_SHAPE_TORUS_3D,
    HW_SHAPE_MESH_2D,
} hw_node_shape;
extern const char *const hw_shapes[];

/* Nodes: the units that are built, bought and connected. */
typedef struct hw_nodes {
    uint32_t npus; /* NPUs in one scale-up domain */
    hw_node_shape shape;
    uint32_t host;  /* NPUs of a host, as given; 0 = npus */
    uint32_t nics;  /* network cards per node; 0 = not given */
    uint32_t rack;  /* nodes per rack; 0 = not given */
    bool by_domain; /* whole domains are sold, else whole hosts */
    /* What does not follow when a study changes `npus`: NPUs and network cards of a host
     * as its file describes it. 0 = npus; one card per NPU. */
    uint32_t host_npus;
    double nics_per_npu;
    double stated_w; /* nameplate power of a host as stated; hw_read_cost splits it */
    halley_link up;  /* link inside a node, with its library constants */
} hw_nodes;

/* Parts of a network. Cables are counted with both ends. */
typedef struct hw_network_count {
    double switches, copper, optical, nics;
    double link_Bps;      /* rate of its links */
    bool priced, powered; /* the network states its own prices, its own power: */
    double own_usd, own_w;
} hw_network_count;

/* A level of the network beyond the node. */
typedef struct hw_outer {
    const char *name;        /* "" if it has none */
    uint32_t npus;           /* NPUs below one block of this level; 0 = all */
    double oversubscription; /* of the tiers below; 1 = not oversubscribed */
    halley_fabric fabric;    /* bandwidth per NPU after oversubscription, steps, share */
    struct {                 /* as stated in a file with tiers */
        double link_Bps, latency_s, oversubscription;
    } tier;
} hw_outer;

/* Which description of the network the file contains. */
typedef enum hw_network_kind {
    HW_NETWORK_DIMS,   /* a list of dimensions */
    HW_NETWORK_FABRIC, /* one level between nodes */
    HW_NETWORK_TIERS,  /* a fat tree, described by its tiers */
    HW_NETWORK_GRAPH,  /* any other generator */
} hw_network_kind;

/* Route selection beyond `routing`. */
typedef struct hw_wiring {
    bool routing_given, no_pxn, split_ties, weighted, polarised;
    uint64_t seed;
} hw_wiring;

/* Nodes first to last (inclusive) have NPUs of this kind. */
typedef struct hw_kind_run {
    uint32_t first, last, kind;
} hw_kind_run;

/* Words of network.routing, "spray" first. */
extern const char *const hw_routings[];

/* The network model that a file selects. Under ASTRA-sim's rules, `unaware` and `aware`
 * are the first two. */
typedef enum hw_network_model {
    HW_MODEL_FREE,  /* no contention */
    HW_MODEL_QUEUE, /* queues on every link */
    HW_MODEL_FLOW,  /* links are shared fairly */
} hw_network_model;

enum { HW_MAX_OUTER = CLUSTER_MAX_DIMS - 1, HW_MOST_NPUS = 100000000 };

typedef struct hw_measured hw_measured;
struct halley_cluster {
    arena memory;
    const halley_cluster *origin; /* the cluster as loaded; its copies share this */
    const char *name;             /* "" if it has none */
    uint32_t n_npus;              /* 0: not known yet (a preset without a count) */

    const hw_measured *measured; /* measured times of collectives; NULL = none */

    /* Device kinds. Most clusters have one, which is `npu`. */
    halley_npu npu;          /* kind 0; n_tiers and peaks may be 0: not described */
    uint32_t n_kinds;        /* 0 or 1: only `npu` */
    halley_npu *other_kinds; /* kinds 1 ... n_kinds - 1 */
    uint32_t n_kind_runs;
    hw_kind_run *kind_runs; /* by ascending node; empty if there is only one kind */

    /* Levels. */
    hw_nodes nodes;
    uint32_t n_outer;
    uint32_t narrowest; /* index of the outer level with the least bandwidth */
    hw_network_kind network;
    uint32_t routing; /* word of hw_routings */
    hw_wiring wiring;
    const char *graph_text; /* HW_NETWORK_GRAPH: the part `network` of the file */
    bool graph_joins_nodes; /* it connects nodes that have their own link inside */
    const halley_topology_ops *generator; /* by a program; NULL = by graph_text */
    bool has_events;            /* links of the network change during a simulation */
    halley_fabric graph_fabric; /* its library constants; bandwidth by level */
    bool plain;                 /* library: plain, only bandwidth and latency */
    /* HW_NETWORK_GRAPH: sizes of a network that is itself a grid of NPUs; 0 = it is none.
     */
    uint32_t n_grid_dims, grid_dims[HW_MAX_DIMS];
    bool grid_wraps;
    hw_network_count counted; /* of a network with a known topology, for n_npus */
    double host_factor;       /* host time of a step relative to the reference host */
    halley_cost cost;
    halley_failures failures;
    hw_outer outer[HW_MAX_OUTER]; /* last of the members that hw_cluster_assign copies */

    /* Simulator. */
    hw_direct_numbering mesh; /* of the NPUs of a grid, as a plan places its ranks */
    bool astra;               /* ASTRA-sim's rules: its clock, its slots, its quirks */
    hw_network_model model;
    uint32_t n_dims; /* 0: no such structure; hw_structure_check reports why */
    cluster_dim dims[CLUSTER_MAX_DIMS];
    cluster_system system;
    cluster_memory remote;
    bool remote_given; /* the file describes it, but not as the NPU's second memory */
    uint32_t n_groups;
    cluster_group *groups; /* by ascending id */
    const char *idle;      /* a note about partly idle nodes; NULL = there are none */
    ARRAY(const char *) warnings;
    ARRAY(const char *) notes;
};

/* The level between nodes that closed forms use: the narrowest one. Never NULL. */
static inline const halley_fabric *hw_outer_fabric(const halley_cluster *c)
{
    assert(c->narrowest < HW_MAX_OUTER);
    return &c->outer[c->narrowest].fabric;
}

/*
 * *to = *from, for sweeps over shallow copies. Such sweeps change levels, devices and
 * cost, but not the simulator's part. Between copies of one cluster, only the former are
 * copied: a third of the bytes. *to must be zeroed or a shallow copy.
 */
static inline void hw_cluster_assign(halley_cluster *to, const halley_cluster *from)
{
    const size_t levels = offsetof(halley_cluster, outer) +
                          (from->n_outer > 0 ? from->n_outer : 1) * sizeof *from->outer;
    memcpy(to, from, to->origin == from->origin ? levels : sizeof *to);
}

/* An empty cluster; NULL if memory ran out. */
halley_cluster *cluster_new(void);
/* A copy that borrows the original's texts and tables, without groups, stragglers and
 * notes. Its dimensions follow changed levels. NULL if memory ran out. */
halley_cluster *hw_cluster_copy(const halley_cluster *c);
/* Parse the name of an algorithm in halley's files ("direct-4", "flat-ring"), or print
 * it. */
bool cluster_impl_parse(cluster_impl *out, str text);
void cluster_impl_print(strbuf *to, const cluster_impl *impl);
/* Keep a warning; it is lost if memory runs out. */
void cluster_warn(halley_cluster *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void hw_note(halley_cluster *c, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Index of the group with this id, or UINT32_MAX. */
uint32_t cluster_find_group(const halley_cluster *c, int64_t id);

#endif
