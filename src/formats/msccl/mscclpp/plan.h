/*
 * msccl/mscclpp/plan.h - an MSCCL++ execution plan (JSON) as messages and their
 * dependencies.
 *
 * Plans are one-sided. A thread block puts data into another GPU's buffer and signals.
 * The other side waits for the signal, or polls for packets whose flags show that they
 * have arrived. Each put becomes a send and a receive. A signal and its wait become a
 * message of eight bytes. A get becomes a request and its answer.
 *
 * The readers (read.c, ops.c) turn operations into nodes. The file match.c finds which
 * signal a wait waits for and which packets a read polls. It also checks that the plan
 * can run to its end. The file traces.c writes traces.
 */
#ifndef MSCCL_MSCCLPP_PLAN_H
#define MSCCL_MSCCLPP_PLAN_H

#include "base/array.h"
#include "base/conf/conf.h"
#include "base/hash.h"
#include "halley/trace.h"

#include <assert.h>

#define MPP_NONE UINT32_MAX
enum {
    MPP_SIGNAL_BYTES = 8,    /* a semaphore's counter */
    MPP_PACKET_FACTOR = 2,   /* packets: as many bytes of flags as of data */
    MPP_MAX_NODES = 1 << 23, /* maximum of one plan */
    MPP_MAX_EDGES = 1 << 26,
    MPP_MAX_GPUS = 1 << 16,
    MPP_MAX_CHUNKS = 1 << 24
};

typedef enum mpp_kind { MPP_COMPUTE, MPP_SEND, MPP_RECEIVE } mpp_kind;

typedef struct mpp_node {
    uint64_t n_bytes;   /* message: on the wire; computation: of one input */
    uint32_t gpu;       /* index */
    uint32_t peer, tag; /* messages */
    uint32_t partner;   /* messages: the node at the other end */
    uint32_t block, op; /* place in the plan */
    uint32_t n_inputs;  /* computations; 0 = it only waits */
    const char *what;   /* static text */
    mpp_kind kind;
    bool is_signal;  /* a message that carries no data */
    bool is_passive; /* done by the GPU's memory for a block of the peer */
} mpp_node;

/* `to` runs after `from`; both are on the same GPU. */
typedef struct mpp_edge {
    uint32_t from, to;
} mpp_edge;

/* A range of a GPU's scratch buffer that packets are written to or read from. */
typedef struct mpp_packets {
    uint64_t from, to; /* bytes of data */
    uint32_t gpu, node;
} mpp_packets;

/* One side of a synchronization. The k-th of one side matches the k-th of the other. */
typedef struct mpp_sync {
    uint64_t key; /* signals and waits: connection; else GPU and number */
    uint32_t block;
    uint32_t k;    /* how many of that key this block had before */
    uint32_t node; /* the node that arrives */
    uint32_t then; /* barriers: the node that continues */
} mpp_sync;
typedef ARRAY(mpp_sync) mpp_syncs;

typedef struct mpp_plan {
    conf_file file;
    str name, collective;
    uint32_t n_gpus;
    uint64_t chunk_bytes;
    ARRAY(mpp_node) nodes; /* by GPU, then block, as far as known */
    ARRAY(mpp_edge) edges;
    ARRAY(mpp_packets) written, read;
    mpp_syncs signals, waits, barriers, releases, acquires;
    map64 n_messages; /* sender << 32 | receiver -> messages so far */
    map64 initial;    /* semaphore -> its initial value, if not 0 */
} mpp_plan;

/* Parse the plan for `n_bytes` of data. `p` is {0} before; call mpp_fini after, also on
 * failure. */
halley_status mpp_parse(mpp_plan *p, str text, const char *path, uint64_t n_bytes,
                        halley_error *err);
void mpp_fini(mpp_plan *p);

/* Add a node, or an edge. MPP_NONE or false: no memory. */
uint32_t mpp_add_node(mpp_plan *p, mpp_node node);
bool mpp_add_edge(mpp_plan *p, uint32_t from, uint32_t to);
/* Pair two nodes as a message with a new tag. False: no memory. */
bool mpp_pair(mpp_plan *p, uint32_t send, uint32_t receive);
/* Find all counterparts. On success the plan can run to its end. */
halley_status mpp_match(mpp_plan *p, halley_error *err);
halley_status mpp_make_traces(halley_trace_set **out, const mpp_plan *p,
                              halley_error *err);
/* Are these the first bytes of a plan? */
bool mpp_recognise(str head);

#endif
