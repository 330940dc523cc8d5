/*
 * ingest/link.h - the graph that linking builds, and the steps that build it.
 *
 * Node i < host->nodes.n is host node i; behind them come device nodes, then waits and
 * gaps. Every node has a place in time, (at_ns, index): an edge is taken only when it
 * leads forward, so that the result cannot have a cycle whatever the recordings say.
 */
#ifndef INGEST_LINK_H
#define INGEST_LINK_H

#include "base/watch.h"
#include "halley/ingest.h"
#include "ingest/device.h"
#include "ingest/host.h"

#define LINK_NONE UINT32_MAX

/* What a node says about its communication; texts are lent by the host trace. */
typedef struct comm_info {
    halley_node_type type; /* COLL, SEND, RECV; INVALID = no communication */
    uint32_t coll;         /* halley_coll_type */
    bool has_size;
    uint64_t n_bytes;
    str dtype, group;                  /* "" = not said */
    uint64_t source, destination, tag; /* PULL_NONE = not said */
} comm_info;

typedef enum link_kind {
    LINK_HOST,
    LINK_GPU,
    LINK_WAIT, /* a call that waits for a device */
    LINK_GAP   /* time of a thread or stream that belongs to no node */
} link_kind;

typedef struct link_node {
    int64_t at_ns;       /* place in time, for the order of edges */
    int64_t start_ns;    /* as recorded */
    int64_t duration_ns; /* what it takes when replayed, where it stands */
    int64_t split_ns;    /* HOST: own time that stands further back, in nodes for it */
    uint32_t ref;        /* HOST: node; GPU, WAIT: event; GAP: thread, or LINK_NONE */
    uint32_t parent;     /* node, or LINK_NONE */
    uint32_t order;      /* among nodes at one time */
    uint32_t stream;     /* GAP of a stream: which */
    link_kind kind;
    uint32_t says; /* GPU: 1 + the host node that says what it sends or receives */
    bool timed;    /* was found in the device trace */
    bool is_twin;  /* GPU: stands beside a kernel that does several things */
    bool is_split; /* GAP: own time of its parent */
} link_node;

typedef struct link_edge {
    uint32_t from, to;
} link_edge;

/* A node in the program order of a thread, and when its turn came. */
typedef struct link_step {
    int64_t at_ns, end_ns;
    uint32_t node;
} link_step;

/* A stretch of time in which a thread shows nothing. */
typedef struct link_quiet {
    int64_t from_ns, to_ns;
} link_quiet;

typedef struct link_thread {
    uint32_t first, n; /* its events, in link_graph.by_thread */
    bool used;         /* some operator of it is linked */
    ARRAY(link_step) steps;
    ARRAY(link_quiet) quiet;
} link_thread;

/* Names of process groups that are no numbers, and the numbers they get; {0} is empty. */
typedef struct link_names {
    intern texts;
    uint64_t first;   /* no group has this number or a greater one */
    uint64_t *number; /* by text */
} link_names;

typedef struct link_graph {
    host_trace *host;
    const device_trace *device; /* NULL = none */
    const char *device_path;    /* of a Kineto file, for classes; NULL = none */
    halley_link_opts opts;
    halley_link_report *report;
    uint32_t *event_of; /* by host node: its event, or LINK_NONE */
    uint32_t *host_of;  /* by event: its host node, or LINK_NONE */
    uint32_t *node_of;  /* by event: its GPU node, or LINK_NONE */
    uint32_t *call_of;  /* by event: the call that launched it, or LINK_NONE */
    ARRAY(link_node) nodes;
    ARRAY(link_edge) edges;
    link_thread *threads;
    uint32_t n_threads;
    uint32_t *by_thread; /* host-side events, thread by thread in order of time */
    uint32_t *comm_of;   /* by node: index into comms, or LINK_NONE */
    ARRAY(comm_info) comms;
    int64_t from_ns, to_ns;  /* from the first start to the last end */
    const link_names *names; /* of all ranks; before link_emit */
} link_graph;

/* One rank's recordings and what becomes of them. */
typedef struct link_job {
    const char *host_path, *device_path; /* device_path NULL = none */
    const halley_link_opts *opts;        /* may be NULL */
    watcher *look;                       /* lent; NULL = nobody looks */
    host_trace host;
    device_trace device;
    link_graph graph;
    halley_link_report report;
} link_job;
/* Read and link; then, once, link_job_emit, or link_emit for one of many ranks.
 * link_job_fini also on failure. */
halley_status link_job_run(link_job *job, halley_error *err);
/* The second half of it: link what has been read. */
halley_status link_job_build(link_job *job, halley_error *err);
/* The result of one rank alone. */
halley_status link_job_emit(halley_trace **out, link_job *job, halley_error *err);
void link_job_fini(link_job *job);

/* The device half of a file that Chakra's trace_link wrote. `d` is {0} before. */
halley_status link_take_apart(device_trace *d, const host_trace *h, halley_error *err);
/* Which event is which host node's. EINVAL: nothing matches. */
halley_status link_match(link_graph *g, const char *host_path, const char *device_path,
                         halley_error *err);
/* Device nodes under the operators that launched them. */
halley_status link_launches(link_graph *g, halley_error *err);
/* Program order, own times, waits, gaps and hand-overs of all threads. */
halley_status link_threads(link_graph *g, halley_error *err);
/* Program order of a host trace alone. */
halley_status link_untimed(link_graph *g, halley_error *err);
/* Launch, stream and event edges, and what waiting calls wait for. */
halley_status link_streams(link_graph *g, halley_error *err);
/* Kernels that do several sends and receives: a node for each. */
halley_status link_batches(link_graph *g, halley_error *err);
/* Nodes that communicate, and their order in a group. */
halley_status link_comms(link_graph *g, halley_error *err);
/* The collective that a node with times is; NULL = it is none. */
const comm_info *link_timed_collective(const link_graph *g, uint32_t node);
/* How long the graph takes with recorded durations: report->replayed_ns. */
halley_status link_replay(link_graph *g, halley_error *err);
/* Write the nodes: ids, attributes, edges. Times count from zero_ns. */
halley_status link_emit(halley_trace **out, link_graph *g, int64_t zero_ns,
                        halley_error *err);

/* Collect the names of a rank's groups; when all are in, number them. */
halley_status link_names_add(link_names *names, const link_graph *g, halley_error *err);
halley_status link_names_finish(link_names *names, halley_error *err);
/* What a group is called in the result. */
str link_names_get(const link_names *names, str name, char number[24]);
/* The text of a node that declares groups, with those names. */
void link_names_rewrite(strbuf *to, const link_names *names, str values);
void link_names_fini(link_names *names);
/* Is this PyTorch's "## process_group:init ##"? */
bool link_declares_groups(const link_graph *g, uint32_t node);

str link_name(const link_graph *g, uint32_t node);
/* A new node; LINK_NONE: no memory. */
uint32_t link_add_node(link_graph *g, link_node node);
/* An edge, if it leads forward in time. False: no memory. `count` may be NULL. */
bool link_add_edge(link_graph *g, uint32_t from, uint32_t to, uint64_t *count);
bool link_before(const link_graph *g, uint32_t a, uint32_t b);
static inline int64_t device_end(const device_event *e)
{
    return e->start_ns + e->duration_ns;
}

#endif
