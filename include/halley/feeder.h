/*
 * halley/feeder.h - hand out the nodes of a trace in dependency order, for simulators and
 * replayers that have their own engine.
 *
 * A node is free once everything that it depends on is finished. take returns the free
 * node with the lowest id. finish frees its dependants. put_back undoes a take. The order
 * is the same whether the trace is in memory or streamed from a file larger than memory.
 */
#ifndef HALLEY_FEEDER_H
#define HALLEY_FEEDER_H

#include "halley/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct halley_feeder halley_feeder; /* for one thread at a time */

/* Which dependencies hold a node back. */
typedef enum halley_feed_deps {
    HALLEY_FEED_DATA = 0, /* data only, as Chakra's feeder */
    HALLEY_FEED_BOTH,     /* data and control */
    HALLEY_FEED_CTRL
} halley_feed_deps;

/* {0} is the default. */
typedef struct halley_feeder_opts {
    halley_feed_deps deps;
    bool ignore_missing;   /* treat dependencies on ids that are not in the trace as
                              finished (streaming: once reading has passed that id); else
                              their nodes never become free */
    uint32_t max_resident; /* streaming: unfinished nodes held at once; 0 = 1048576 */
    uint32_t chunk_nodes;  /* streaming: nodes read at a time; 0 = 4096 */
} halley_feeder_opts;

/*
 * Feed a loaded trace and keep one reference to it. EINVAL: two nodes have the same id.
 */
halley_status halley_feeder_new(halley_feeder **out, halley_trace *trace,
                                const halley_feeder_opts *opts, halley_error *err);

/*
 * Feed a file. An uncompressed .et file of the current schema with ascending ids is
 * streamed. Memory then grows with the unfinished nodes between the first unfinished and
 * the last read node. Each irregular jump in the ids takes another 24 bytes. Other
 * formats (gzip, JSON, older schemas, pipes) are loaded whole. If ids stop ascending
 * half-way, the take that finds this returns EINVAL; its sentence says to load the trace
 * instead.
 */
halley_status halley_feeder_open(halley_feeder **out, const char *path,
                                 const halley_feeder_opts *opts, halley_error *err);
void halley_feeder_free(halley_feeder *feeder); /* NULL is fine */
bool halley_feeder_streams(const halley_feeder *feeder);

/* A node that was handed out; read its contents with halley_node_*(trace, node). It is
 * valid until the node is finished or put back. `trace` may hold only a part of the file,
 * so dependencies of the node may have no index there. */
typedef struct halley_feed_node {
    uint64_t id;
    const halley_trace *trace;
    uint32_t node;
} halley_feed_node;

/*
 * Take the free node with the lowest id. *found is false if none is free: others must be
 * finished first, all are finished, or the rest can never start (see
 * halley_feeder_stuck). Only streaming can fail: read errors, format errors, or
 * HALLEY_ELIMIT when max_resident is reached (finish some nodes and try again, or raise
 * it).
 */
halley_status halley_feeder_take(halley_feeder *feeder, halley_feed_node *out,
                                 bool *found, halley_error *err);
/* EINVAL if no node with that id is taken. */
halley_status halley_feeder_finish(halley_feeder *feeder, uint64_t id, halley_error *err);
halley_status halley_feeder_put_back(halley_feeder *feeder, uint64_t id,
                                     halley_error *err);

typedef struct halley_feed_counts {
    uint64_t seen;     /* nodes read so far; all of them when in memory */
    uint64_t free;     /* can be taken now, of those seen */
    uint64_t taken;    /* out, not finished */
    uint64_t waiting;  /* seen, held back by dependencies */
    uint64_t finished; /* seen = free + taken + waiting + finished */
    bool all_seen;     /* nothing is left to read */
} halley_feed_counts;
halley_feed_counts halley_feeder_counts(const halley_feeder *feeder);
/* Every node is finished. */
bool halley_feeder_done(const halley_feeder *feeder);
/* Nodes are left, none is free or taken, and nothing is left to read. */
bool halley_feeder_stuck(const halley_feeder *feeder);

/* A node held back, and the first of its dependencies that is not finished. */
typedef struct halley_feed_wait {
    uint64_t id;
    uint64_t waits_for;
    bool missing; /* no node has the id waits_for, as far as was read */
} halley_feed_wait;
/* The waiting node of the lowest id that is at least `from`; false when there is none. */
bool halley_feeder_wait(const halley_feeder *feeder, uint64_t from,
                        halley_feed_wait *out);
/* Explain in one sentence why a feeder is stuck; it names a missing node or a cycle.
 * Returns HALLEY_EDEADLOCK, or HALLEY_OK if the feeder is not stuck. */
halley_status halley_feeder_explain(const halley_feeder *feeder, halley_error *err);

#ifdef __cplusplus
}
#endif
#endif
