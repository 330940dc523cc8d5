/*
 * sim/load/program.h - a trace prepared for a run. It has the numbers that the engine
 * needs of every node, in the order in which nodes are examined (ascending id), and the
 * dependencies. Ranks with the same trace share one program.
 */
#ifndef SIM_PROGRAM_H
#define SIM_PROGRAM_H

#include "base/error.h"
#include "halley/trace.h"
#include "hw/cluster.h"
#include "net/net.h"
#include "sim/retime.h"
#include "sim/tensors.h"

/* The slot that a node occupies while it runs. Each except FREE holds at most one. */
typedef enum sim_slot {
    SIM_SLOT_CPU,
    SIM_SLOT_COMP,
    SIM_SLOT_COMM,
    SIM_SLOT_FREE,
    SIM_N_SLOTS
} sim_slot;

enum {
    SIM_NODE_SKIP = 1,  /* takes no time and is done when issued */
    SIM_NODE_TIMED = 2, /* takes `amount` ticks whatever its type */
    SIM_NODE_CPU = 4,
    SIM_NODE_UNEVEN = 16, /* an all-to-all that lists what each member gets */
    SIM_NODE_CHUNKS = 32, /* custom message: `amount` holds chunks, not bytes */
};

typedef struct sim_node {
    uint64_t amount;      /* ticks of a timed node; bytes of the others */
    uint32_t trace_index; /* its index in the trace */
    uint32_t first_child; /* in children; the next node's first_child ends them */
    /* The object that the node names, as an index into the program's names (sim_name):
     * the peer of a message, the group of a collective (SIM_NO_NAME = all ranks). Nodes
     * of a custom algorithm hold the peer itself. */
    uint32_t a;
    /* Message: index of its tag. Collective of a group: index of its price, or
     * SIM_NO_NAME. Collective of all ranks: involved dimensions. */
    uint32_t b;
    /* message: the rank that the node claims to belong to; collective: its root. A name,
     * or SIM_NO_NAME. */
    uint32_t self;
    uint8_t type : 4, coll : 4; /* halley_node_type, halley_coll_type */
    uint8_t flags;
    uint16_t slot; /* the sim_slot that it occupies, or a lane of the native rules */
} sim_node;

/* The chunks that a message of an algorithm moves, packed: count, first chunk, total. */
enum { SIM_MAX_CHUNKS = (1 << 21) - 1 };
static inline uint64_t sim_chunks_pack(uint32_t n, uint32_t first, uint32_t total)
{
    return (uint64_t)n << 42 | (uint64_t)first << 21 | total;
}
/* The bytes of such a message when the collective has `bytes` of data. */
static inline uint64_t sim_chunks_bytes(uint64_t chunks, uint64_t bytes)
{
    const uint64_t n = chunks >> 42, first = chunks >> 21 & SIM_MAX_CHUNKS;
    const uint64_t total = chunks & SIM_MAX_CHUNKS;
    const uint64_t rest = first + n >= total ? bytes % total : 0;
    return bytes / total * n + rest;
}

/*
 * Native rules: a node occupies a lane. The first four lanes are those of sim_slot (COMM
 * is remote memory). Then come those of groups and of peers that are sent to, and of
 * recorded host threads and streams.
 */
typedef struct sim_lane {
    uint32_t capacity; /* nodes that may run at the same time */
    uint32_t set;      /* a group's lane: number of its set of queues; else 0 */
} sim_lane;

/*
 * Programs of ranks that do the same differ only in what they name: groups, peers, tags
 * and roots. A program numbers its names by first use; each rank binds them (sim_bind).
 */
#define SIM_NO_NAME UINT32_MAX
typedef enum sim_name_kind {
    SIM_NAME_GROUP,
    SIM_NAME_OUT,  /* receiver of messages */
    SIM_NAME_IN,   /* sender of messages */
    SIM_NAME_ROOT, /* of a rooted collective */
    SIM_NAME_SELF, /* the rank that a message claims to belong to */
} sim_name_kind;

typedef struct sim_name {
    sim_name_kind kind;
    uint32_t of; /* root: the name of its group, or SIM_NO_NAME */
} sim_name;

/* What the names of one trace refer to. */
typedef struct sim_names {
    uint32_t *values; /* by name: index of the group; rank */
    uint32_t *tags;   /* by place */
} sim_names;

struct sim_program {
    const halley_trace *trace;
    uint32_t n;
    sim_name *names;
    uint32_t *tag_names; /* by index of a tag: the peer it belongs to */
    uint32_t n_names, n_tags, n_prices;
    net_price *prices;  /* of collectives that differ from the library's table */
    sim_names own;      /* of `trace` */
    sim_node *nodes;    /* n + 1: the last only ends the children of the one before */
    uint32_t *children; /* by place in `nodes` */
    sim_lane *lanes;    /* native rules; else NULL */
    uint32_t n_lanes, n_sets;
    /* Sums over the GPU's compute nodes, for the roofline's statistics. */
    uint64_t compute_bound_ticks, compute_ticks;
    double compute_use, memory_use, intensity; /* each times ticks */
    bool wrapped;                              /* a time is longer than TICKS_LONGEST */
    bool dangling;          /* native rules: dependencies on missing nodes were ignored */
    bool has_unknown_types; /* nodes have types that the schema does not define */
    bool has_uncounted;     /* native roofline: some nodes keep their recorded time */
    sim_retime_state retime; /* native rules: recorded kernels on another device */
    sim_tensors tensors;     /* in the NPU's own memory; native rules, or when tracked */
};

/* The options by which nodes are timed and groups are found. */
typedef struct sim_program_opts {
    const halley_cluster *cluster;
    const halley_npu *npu;      /* the rank's kind of NPU */
    double peak_flops, mem_Bps; /* of that NPU, for the roofline */
    double ticks_per_s;
    bool custom;     /* the trace is a collective's algorithm: no groups, no roofline */
    bool times_only; /* do not track the tensors in the NPU's memory */
    const char *recorded_on; /* the device of recordings; NULL = as they state */
} sim_program_opts;

halley_status sim_program_init(sim_program *out, const halley_trace *trace,
                               const sim_program_opts *opts, halley_error *err);
void sim_program_fini(sim_program *p);
/* The price of a collective node. */
static inline net_price sim_program_price(const sim_program *p, const sim_node *n)
{
    return n->a != SIM_NO_NAME && n->b < p->n_prices ? p->prices[n->b] : (net_price){0};
}
/* The id that the trace gives to a node of the program. */
static inline uint64_t sim_program_id(const sim_program *p, uint32_t node)
{
    return halley_node_id(p->trace, p->nodes[node].trace_index);
}

#endif
