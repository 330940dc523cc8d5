/*
 * ingest/mscclpp/plan.h - an execution plan of MSCCL++ (JSON) as messages and what waits
 * for them.
 *
 * Plans are one-sided: a thread block puts data into another GPU's buffer and signals,
 * the other waits for the signal, or polls for packets whose flags say that they are
 * there. Each put becomes a send and a receive; a signal and its wait a message of eight
 * bytes; a get a request and its answer. read.c and ops.c make nodes of the operations,
 * match.c finds which signal a wait waits for, which packets a read polls, and whether
 * the plan can end; traces.c writes traces.
 */
#ifndef INGEST_MSCCLPP_PLAN_H
#define INGEST_MSCCLPP_PLAN_H

#include "base/array.h"
#include "base/conf/conf.h"
#include "base/hash.h"
#include "halley/trace.h"

#include <assert.h>

#define MPP_NONE UINT32_MAX
enum {
    MPP_SIGNAL_BYTES = 8,    /* a semaphore's counter */
    MPP_PACKET_FACTOR = 2,   /* as many bytes of flags as of data */
    MPP_MAX_NODES = 1 << 23, /* of one plan */
    MPP_MAX_EDGES = 1 << 26,
    MPP_MAX_GPUS = 1 << 16,
    MPP_MAX_CHUNKS = 1 << 24
};

typedef enum mpp_kind { MPP_COMPUTE, MPP_SEND, MPP_RECEIVE } mpp_kind;

typedef struct mpp_node {
    uint64_t n_bytes;   /* of a message on the wire, or of one input of a computation */
    uint32_t gpu;       /* index */
    uint32_t peer, tag; /* of messages */
    uint32_t partner;   /* messages: the node of the other end */
    uint32_t block, op; /* place in the plan */
    uint32_t n_inputs;  /* of computations; 0 = it only waits */
    const char *what;   /* static */
    mpp_kind kind;
    bool is_signal;  /* a message that only says that something is done */
    bool is_passive; /* the GPU's memory does it for a block of the peer */
} mpp_node;

/* `to` runs after `from`; both are of one GPU. */
typedef struct mpp_edge {
    uint32_t from, to;
} mpp_edge;

/* A stretch of a GPU's scratch buffer that packets are written to or read from. */
typedef struct mpp_packets {
    uint64_t from, to; /* bytes of data */
    uint32_t gpu, node;
} mpp_packets;

/* Something that has a counterpart elsewhere: the k-th of one side belongs to the k-th of
 * the other. */
typedef struct mpp_sync {
    uint64_t key; /* signals and waits: connection; else GPU and number */
    uint32_t block;
    uint32_t k;    /* how many of that key this block had before */
    uint32_t node; /* that arrives */
    uint32_t then; /* barriers: the node that goes on */
} mpp_sync;
typedef ARRAY(mpp_sync) mpp_syncs;

typedef struct mpp_plan {
    conf_file file;
    str name, collective;
    uint32_t n_gpus;
    uint64_t chunk_bytes;
    ARRAY(mpp_node) nodes; /* of GPU after GPU and block after block, as far as known */
    ARRAY(mpp_edge) edges;
    ARRAY(mpp_packets) written, read;
    mpp_syncs signals, waits, barriers, releases, acquires;
    map64 n_messages; /* sender << 32 | receiver -> messages so far */
    map64 initial;    /* semaphore -> its value at first, if that is not 0 */
} mpp_plan;

/* {0} before; mpp_fini after, also when this fails. The plan for `n_bytes` of data. */
halley_status mpp_parse(mpp_plan *p, str text, const char *path, uint64_t n_bytes,
                        halley_error *err);
void mpp_fini(mpp_plan *p);

/* A node, and an edge; MPP_NONE and false: no memory. */
uint32_t mpp_add_node(mpp_plan *p, mpp_node node);
bool mpp_add_edge(mpp_plan *p, uint32_t from, uint32_t to);
/* Both ends of a message get a tag of their own. False: no memory. */
bool mpp_pair(mpp_plan *p, uint32_t send, uint32_t receive);
/* Find all counterparts; the plan runs to its end then. */
halley_status mpp_match(mpp_plan *p, halley_error *err);
halley_status mpp_make_traces(halley_trace_set **out, const mpp_plan *p,
                              halley_error *err);
/* Are these the first bytes of a plan? */
bool mpp_recognise(str head);

#endif
