/*
 * recording/record/rebuild.h - the dependencies of a recording, and its replay.
 *
 * A node is either a piece of a host thread, cut at every begin and end of an event, or
 * one event on a device. A node starts at max over its predecessors p of end(p) + lag(p,
 * n). Lags are set so that this gives the recorded start of every node. No edge leads
 * back in time: end(p) <= begin(n).
 */
#ifndef RECORDING_RECORD_REBUILD_H
#define RECORDING_RECORD_REBUILD_H

#include "recording/record/record.h"

typedef enum rec_node_kind {
    REC_NODE_RUN,    /* the first piece of a host event */
    REC_NODE_REST,   /* a later piece of it, after one of its children */
    REC_NODE_GAP,    /* a thread outside every event */
    REC_NODE_HANDED, /* a gap that another thread explains: it takes no time */
    REC_NODE_DEVICE
} rec_node_kind;

/* An unpacked node: made by rec_node_get, never stored. */
typedef struct rec_node {
    int64_t begin_ns, end_ns;
    uint32_t owner;  /* RUN, REST: host event; GAP: thread; DEVICE: work; HANDED: the
                        node that handed over */
    uint32_t before; /* the node before it on its thread; REC_NONE */
    rec_node_kind kind;
    bool waits;    /* it begins when work on a device ends */
    bool overlaps; /* DEVICE: the previous work of its stream was still running */
} rec_node;

/* What is stored of a piece of a host thread in addition to its owner: the kind in the
 * lowest three bits, and these flags. */
enum {
    REC_MARK_KIND = 7,
    REC_MARK_WAITS = 8,
    REC_MARK_FIRST = 16, /* first piece of its thread */
    REC_MARK_EDGES = 32  /* it has incoming edges other than program order */
};

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
    uint32_t from, to;
    rec_edge_kind kind;
} rec_edge;

/* A piece that waits begins later than the piece before it ends. */
typedef struct rec_wait {
    int64_t begin_ns;
    uint32_t node;
} rec_wait;

/*
 * Recordings have millions of events, so nodes are stored in compact form.
 *
 * The pieces of host threads come first, thread by thread, with five bytes each. Their
 * times are not stored. A piece begins with its event, or where the event of the previous
 * piece ends; it ends where the next piece begins. Node n_pieces + i is work i. Lags
 * follow from the times of two nodes.
 */
typedef struct rec_graph {
    const record *rec;
    ARRAY(uint32_t) owners; /* by piece */
    ARRAY(uint8_t) marks;   /* by piece */
    uint32_t n_pieces, n_nodes;
    uint32_t *piece_at;     /* by thread, n + 1: its first piece */
    uint32_t *node_of_host; /* by host event: its RUN node */
    bool *overlaps;         /* by work */
    ARRAY(rec_wait) waits;
    map64 wait_of;           /* piece -> its wait */
    ARRAY(rec_edge) edges;   /* by `to`, then `from`, once rec_set_lags has run */
    int64_t usual_lag_ns[4]; /* median by type of edge: from device 2 + to device 1 */
    int64_t from_ns, to_ns;  /* the recorded window */
    int64_t replayed_ns;
    int64_t replay_error_ns; /* largest difference between replayed and recorded start */
    uint64_t n_by_kind[REC_N_EDGE_KINDS];
    uint64_t n_late_launch; /* device events that begin before their launch */
    uint64_t n_ties;        /* edges dropped among events of zero length */
    int64_t late_ns, late_unexplained_ns; /* starts > 30 us after all predecessors */
    int64_t wait_ns, wait_explained_ns;   /* time in blocking calls */
} rec_graph;

/* Run all parts: cut, edges, lags, replay. Call rec_graph_fini also after a failure. */
halley_status rec_rebuild(rec_graph *g, const record *rec, halley_error *err);
void rec_graph_fini(rec_graph *g);

/* The parts of rec_rebuild. False: no memory. */
bool rec_cut_threads(rec_graph *g);
bool rec_add_devices(rec_graph *g);
bool rec_add_waits(rec_graph *g);
bool rec_add_stream_events(rec_graph *g);
bool rec_add_hand_overs(rec_graph *g);
bool rec_add_backward(rec_graph *g);
/* The replayed time with device and host durations scaled; for what-if checks. */
int64_t rec_replay_scaled(const rec_graph *g, double device, double host, bool *ok);

/* Add an edge if it leads forward in time. False: no memory. */
bool rec_add_edge(rec_graph *g, uint32_t from, uint32_t to, rec_edge_kind kind);
/* The previous node of its thread that takes time; REC_NONE = none. */
uint32_t rec_chain_before(const rec_graph *g, uint32_t node);
/* The incoming edges of a node other than program order: [*first, end). */
size_t rec_find_edges(size_t *first, const rec_graph *g, uint32_t node);
/* When the last predecessor of a node ends; INT64_MIN = it has none. */
int64_t rec_binding_end(const rec_graph *g, uint32_t node);
/* The lag from the end of `from` to the start of `to`, given the binding end of `to`. */
int64_t rec_find_lag(const rec_graph *g, uint32_t from, uint32_t to, int64_t binding_ns);

static inline bool rec_node_on_device(const rec_graph *g, uint32_t node)
{
    return node >= g->n_pieces;
}

static inline rec_node_kind rec_node_get_kind(const rec_graph *g, uint32_t node)
{
    return node >= g->n_pieces ? REC_NODE_DEVICE
                               : (rec_node_kind)(g->marks.at[node] & REC_MARK_KIND);
}

static inline uint32_t rec_node_of_work(const rec_graph *g, uint32_t work)
{
    return g->n_pieces + work;
}

static inline int64_t rec_node_begin(const rec_graph *g, uint32_t node)
{
    assert(node < g->n_nodes);
    if (node >= g->n_pieces)
        return g->rec->works.at[node - g->n_pieces].begin_ns;
    const unsigned mark = g->marks.at[node];
    if (mark & REC_MARK_WAITS)
        return g->waits.at[map64_find(&g->wait_of, node)].begin_ns;
    return (mark & REC_MARK_KIND) == REC_NODE_RUN
               ? g->rec->hosts.at[g->owners.at[node]].begin_ns
               : g->rec->hosts.at[g->owners.at[node - 1]].end_ns;
}

/* A piece ends where the next event begins in it, otherwise with its own event. */
static inline int64_t rec_node_end(const rec_graph *g, uint32_t node)
{
    assert(node < g->n_nodes);
    if (node >= g->n_pieces)
        return g->rec->works.at[node - g->n_pieces].end_ns;
    const unsigned next = node + 1 < g->n_pieces ? g->marks.at[node + 1] : REC_MARK_FIRST;
    return (next & REC_MARK_FIRST) == 0 && (next & REC_MARK_KIND) == REC_NODE_RUN
               ? g->rec->hosts.at[g->owners.at[node + 1]].begin_ns
               : g->rec->hosts.at[g->owners.at[node]].end_ns;
}

static inline rec_node rec_node_get(const rec_graph *g, uint32_t node)
{
    const bool on_device = node >= g->n_pieces;
    const unsigned mark = on_device ? 0 : g->marks.at[node];
    return (rec_node){
        .begin_ns = rec_node_begin(g, node),
        .end_ns = rec_node_end(g, node),
        .owner = on_device ? node - g->n_pieces : g->owners.at[node],
        .before = on_device || (mark & REC_MARK_FIRST) ? REC_NONE : node - 1,
        .kind = rec_node_get_kind(g, node),
        .waits = (mark & REC_MARK_WAITS) != 0,
        .overlaps = on_device && g->overlaps[node - g->n_pieces],
    };
}

/* Iterate over nodes by begin, end and number, so that predecessors come first. */
typedef struct rec_walk {
    const rec_graph *g;
    struct rec_walk_row {
        int64_t begin_ns, end_ns;
        uint32_t node, end; /* next node of a thread, or work, and the end of its range */
    } * rows;               /* a heap */
    size_t n_rows;
} rec_walk;
bool rec_walk_init(rec_walk *w, const rec_graph *g); /* false: no memory */
uint32_t rec_walk_next(rec_walk *w);                 /* REC_NONE: no more nodes */
void rec_walk_fini(rec_walk *w);

#endif
