/*
 * ingest/record/rebuild.h - the dependencies of a recording, and its replay.
 *
 * A node is a stretch of time that one thing runs: a piece of a host thread, cut at every
 * begin and end of an event, or something on a device. start(n) = max over its
 * predecessors p of end(p) + lag(p, n); lags are set so that this gives the recorded
 * start of every node. No edge leads back in time: end(p) <= begin(n).
 */
#ifndef INGEST_RECORD_REBUILD_H
#define INGEST_RECORD_REBUILD_H

#include "ingest/record/record.h"

typedef enum rec_node_kind {
    REC_NODE_RUN,    /* the first piece of a host event */
    REC_NODE_REST,   /* a later piece of it, after one of its children */
    REC_NODE_GAP,    /* a thread outside every event */
    REC_NODE_HANDED, /* such a gap that another thread explains: it takes no time */
    REC_NODE_DEVICE
} rec_node_kind;

typedef struct rec_node {
    int64_t begin_ns, end_ns;
    uint32_t owner;  /* RUN, REST: host event; GAP: thread; DEVICE: work; HANDED: the
                        node that handed over */
    uint32_t before; /* the node before it on its thread; REC_NONE */
    rec_node_kind kind;
    bool waits;    /* it begins when something on a device ends */
    bool overlaps; /* DEVICE: what came before it on its stream still ran */
} rec_node;

typedef enum rec_edge_kind {
    REC_EDGE_CHAIN, /* program order; kept in rec_node.before */
    REC_EDGE_LAUNCH,
    REC_EDGE_STREAM,
    REC_EDGE_EVENT,   /* between streams, as recorded */
    REC_EDGE_GUESSED, /* between streams, inferred from a late start */
    REC_EDGE_WAIT,    /* the host waits for a device */
    REC_EDGE_HAND_OVER,
    REC_EDGE_BACKWARD, /* autograd: backward after forward */
    REC_N_EDGE_KINDS
} rec_edge_kind;

typedef struct rec_edge {
    int64_t lag_ns;
    uint32_t from, to;
    rec_edge_kind kind;
} rec_edge;

typedef struct rec_graph {
    const record *rec;
    ARRAY(rec_node) nodes;
    ARRAY(rec_edge) edges;  /* by `to` once rec_set_lags has run */
    uint32_t *edge_at;      /* by node, n + 1: its edges */
    int64_t *chain_lag_ns;  /* by node: the lag from `before`; mostly 0 */
    uint32_t *node_of_host; /* by host event: its RUN node */
    uint32_t *node_of_work; /* by work */
    uint32_t *order;        /* nodes so that predecessors come first */
    int64_t from_ns, to_ns; /* the recorded window */
    int64_t replayed_ns;
    int64_t replay_error_ns; /* largest difference of a start to the recorded one */
    uint64_t n_by_kind[REC_N_EDGE_KINDS];
    uint64_t n_overlapping; /* device events that overlap on their stream: no edge */
    uint64_t n_late_launch; /* device events that begin before their launch */
    uint64_t n_ties;        /* edges left out among events of no length */
    int64_t late_ns, late_unexplained_ns; /* starts > 30 us after all predecessors */
    int64_t wait_ns, wait_explained_ns;   /* time in blocking calls */
} rec_graph;

/* All of it: cut, edges, lags, replay. rec_graph_fini also after a failure. */
halley_status rec_rebuild(rec_graph *g, const record *rec, halley_error *err);
void rec_graph_fini(rec_graph *g);

/* The parts. False: no memory. */
bool rec_cut_threads(rec_graph *g);
bool rec_add_devices(rec_graph *g);
bool rec_add_waits(rec_graph *g);
bool rec_add_stream_events(rec_graph *g);
bool rec_add_hand_overs(rec_graph *g);
bool rec_add_backward(rec_graph *g);
bool rec_set_lags(rec_graph *g);
void rec_replay(rec_graph *g);
/* When the graph runs with device work and host work scaled; for what-if checks. */
int64_t rec_replay_scaled(const rec_graph *g, double device, double host, bool *ok);

/* An edge if it leads forward in time. False: no memory. */
bool rec_add_edge(rec_graph *g, uint32_t from, uint32_t to, rec_edge_kind kind);
static inline bool rec_node_on_device(const rec_node *n)
{
    return n->kind == REC_NODE_DEVICE;
}
/* The node before it on its thread that takes time of its own; REC_NONE. */
uint32_t rec_chain_before(const rec_graph *g, uint32_t node);

#endif
