/*
 * recording/link.h - the graph that linking builds, and the steps that build it.
 *
 * Node i < host->nodes.n is host node i. After these come device nodes, then waits and
 * gaps. Every node has a place in time, (at_ns, index). An edge is added only if it leads
 * forward in time. So the result has no cycle, whatever the recordings contain.
 */
#ifndef RECORDING_LINK_H
#define RECORDING_LINK_H

#include "base/watch.h"
#include "halley/ingest.h"
#include "recording/device.h"
#include "recording/host.h"

#define LINK_NONE UINT32_MAX

/* A node's communication. Texts are lent by the host trace. */
typedef struct comm_info {
    halley_node_type type; /* COLL, SEND, RECV; INVALID = no communication */
    uint32_t coll;         /* halley_coll_type */
    bool has_size;
    uint64_t n_bytes;
    str dtype, group;                  /* "" = unknown */
    uint64_t source, destination, tag; /* PULL_NONE = unknown */
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
    int64_t duration_ns; /* replayed duration at its own place in the order */
    int64_t split_ns;    /* HOST: self time that is in later gap nodes */
    uint32_t ref;        /* HOST: node; GPU, WAIT: event; GAP: thread, or LINK_NONE */
    uint32_t parent;     /* node, or LINK_NONE */
    uint32_t order;      /* among nodes at one time */
    uint32_t stream;     /* GAP of a stream: which */
    link_kind kind;
    uint32_t says; /* GPU: 1 + the host node that describes its message */
    bool timed;    /* it was found in the device trace */
    bool is_twin;  /* GPU: a further message of a batched kernel */
    bool is_split; /* GAP: self time of its parent */
} link_node;

typedef struct link_edge {
    uint32_t from, to;
} link_edge;

/* A node in the program order of a thread, and its recorded time. */
typedef struct link_step {
    int64_t at_ns, end_ns;
    uint32_t node;
} link_step;

/* A period in which a thread has no operator. */
typedef struct link_quiet {
    int64_t from_ns, to_ns;
} link_quiet;

typedef struct link_thread {
    uint32_t first, n; /* its events, in link_graph.by_thread */
    bool used;         /* some of its operators are linked */
    ARRAY(link_step) steps;
    ARRAY(link_quiet) quiet;
} link_thread;

/* Names of process groups that are not numbers, and the numbers assigned to them; {0} is
 * empty. */
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

/* One rank's recordings and the linked result. */
typedef struct link_job {
    const char *host_path, *device_path; /* device_path NULL = none */
    const halley_link_opts *opts;        /* may be NULL */
    watcher *look;                       /* lent; NULL = no progress reports */
    host_trace host;
    device_trace device;
    link_graph graph;
    halley_link_report report;
} link_job;
/* Read and link. Then call link_job_emit once, or link_emit for one of many ranks. Call
 * link_job_fini also on failure. */
halley_status link_job_run(link_job *job, halley_error *err);
/* The second half of link_job_run: link what has been read. */
halley_status link_job_build(link_job *job, halley_error *err);
/* The result of one rank alone. */
halley_status link_job_emit(halley_trace **out, link_job *job, halley_error *err);
void link_job_fini(link_job *job);

/* Extract the device half of a file that Chakra's trace_link wrote. `d` is {0} before. */
halley_status link_take_apart(device_trace *d, const host_trace *h, halley_error *err);
/* Match host nodes with events. EINVAL: nothing matches. */
halley_status link_match(link_graph *g, const char *host_path, const char *device_path,
                         halley_error *err);
/* Add device nodes under the operators that launched them. */
halley_status link_launches(link_graph *g, halley_error *err);
/* Add program order, self times, waits, gaps and hand-overs of all threads. */
halley_status link_threads(link_graph *g, halley_error *err);
/* Add program order for a host trace without a device trace. */
halley_status link_untimed(link_graph *g, halley_error *err);
/* Add launch, stream and event edges, and what waiting calls wait for. */
halley_status link_streams(link_graph *g, halley_error *err);
/* If one kernel does several sends and receives, add a node for each. */
halley_status link_batches(link_graph *g, halley_error *err);
/* Find nodes that communicate, and order them within their groups. */
halley_status link_comms(link_graph *g, halley_error *err);
/* The collective of a node with recorded times; NULL = it is not one. */
const comm_info *link_timed_collective(const link_graph *g, uint32_t node);
/* Replay the graph with recorded durations: sets report->replayed_ns. */
halley_status link_replay(link_graph *g, halley_error *err);
/* Write the nodes: ids, attributes, edges. Times count from zero_ns. */
halley_status link_emit(halley_trace **out, link_graph *g, int64_t zero_ns,
                        halley_error *err);

/* Collect the names of a rank's groups. After all ranks, number them. */
halley_status link_names_add(link_names *names, const link_graph *g, halley_error *err);
halley_status link_names_finish(link_names *names, halley_error *err);
/* The name of a group in the result. */
str link_names_get(const link_names *names, str name, char number[24]);
/* Write the text of a node that declares groups, with the new names. */
void link_names_rewrite(strbuf *to, const link_names *names, str values);
void link_names_fini(link_names *names);
/* Is this PyTorch's "## process_group:init ##"? */
bool link_declares_groups(const link_graph *g, uint32_t node);

str link_name(const link_graph *g, uint32_t node);
/* Add a node. LINK_NONE: no memory. */
uint32_t link_add_node(link_graph *g, link_node node);
/* Add an edge if it leads forward in time. False: no memory. `count` may be NULL. */
bool link_add_edge(link_graph *g, uint32_t from, uint32_t to, uint64_t *count);
bool link_before(const link_graph *g, uint32_t a, uint32_t b);
static inline int64_t device_end(const device_event *e)
{
    return e->start_ns + e->duration_ns;
}

#endif
