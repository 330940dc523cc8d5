/*
 * ingest/host.h - a PyTorch execution trace (the host half of a recording), schemas 1.0.1
 * to 1.1.1.
 *
 * Columns that the linker walks are kept as numbers; the values, shapes and types of a
 * node's inputs and outputs as the text Chakra keeps (Python's repr), in blocks that are
 * given back one by one as the result is written.
 */
#ifndef INGEST_HOST_H
#define INGEST_HOST_H

#include "base/array.h"
#include "base/hash.h"
#include "ingest/pull.h"

#define HOST_NONE UINT32_MAX

/* What record_param_comms says in its attributes since schema 1.1.0. Texts are interned,
 * HOST_NONE = absent; numbers PULL_NONE = absent. */
typedef struct host_comm {
    uint32_t node; /* index */
    uint32_t collective, dtype, pg_name, pg_desc;
    uint64_t in_elements, out_elements;
} host_comm;

/* Where something ran, in what Chakra's trace_link writes. */
typedef enum host_place {
    HOST_ON_HOST,
    HOST_ON_KERNEL,
    HOST_ON_COPY,
    HOST_ON_SET
} host_place;

/* When a node ran, where its file says so; what ran on devices is only here. */
typedef struct host_timing {
    uint64_t id, parent, rf_id, tid, stream;
    int64_t start_ns, duration_ns;
    uint32_t name; /* interned */
    host_place place;
} host_timing;

typedef struct host_node {
    uint64_t id, parent;
    uint64_t rf_id, fw_parent, scope, tid, fw_tid;
    int64_t seq_id;
    uint32_t name, op_schema; /* interned */
    uint32_t io_block, io_at; /* where its texts are; io_block HOST_NONE = nowhere */
} host_node;

/* The six texts of a node. */
typedef struct host_io {
    str values, shapes, types, out_values, out_shapes, out_types;
} host_io;

typedef struct host_block host_block;

typedef struct host_trace {
    intern texts;
    ARRAY(host_node) nodes; /* by id once read */
    ARRAY(host_comm) comms;
    ARRAY(host_timing) timings; /* of a file that Chakra's trace_link wrote */
    ARRAY(host_block *) blocks;
    uint32_t schema, time; /* interned; HOST_NONE = absent */
    uint64_t pid, start_ts, finish_ts;
    uint64_t n_duplicates;   /* nodes dropped because a later one has their id */
    uint64_t n_no_id;        /* nodes without an id, dropped */
    uint64_t n_unknown_keys; /* keys and attributes that nobody keeps */
} host_trace;

/* {0} before; host_fini after, also when this fails. */
halley_status host_read(host_trace *host, const char *path, halley_error *err);
halley_status host_read_stream(host_trace *host, file_stream *file, const char *path,
                               halley_error *err);
void host_fini(host_trace *host);

/* Texts of a node; lent until it is released. */
host_io host_io_get(const host_trace *host, uint32_t node);
/* The node's texts are no longer needed. A block goes when all its nodes have. */
void host_io_release(host_trace *host, uint32_t node);
uint32_t host_find(const host_trace *host, uint64_t id); /* index or HOST_NONE */

#endif
