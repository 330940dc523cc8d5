/*
 * recording/host.h - a PyTorch execution trace (the host half of a recording),
 * schemas 1.0.1 to 1.1.1.
 *
 * Columns that the linker uses are kept as numbers. The values, shapes and types of a
 * node's inputs and outputs are kept as the text that Chakra keeps (Python's repr). These
 * texts are stored in blocks, which are freed one by one while the result is written.
 */
#ifndef RECORDING_HOST_H
#define RECORDING_HOST_H

#include "base/array.h"
#include "base/hash.h"
#include "recording/pull.h"

#define HOST_NONE UINT32_MAX

/* The attributes of record_param_comms since schema 1.1.0. Texts are interned, HOST_NONE
 * = absent; numbers: PULL_NONE = absent. */
typedef struct host_comm {
    uint32_t node; /* index */
    uint32_t collective, dtype, pg_name, pg_desc;
    uint64_t in_elements, out_elements;
} host_comm;

/* Where a node ran, in files that Chakra's trace_link wrote. */
typedef enum host_place {
    HOST_ON_HOST,
    HOST_ON_KERNEL,
    HOST_ON_COPY,
    HOST_ON_SET
} host_place;

/* When a node ran, if the file has times. Device work is listed only here. */
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

/* The six texts of a node's inputs and outputs. */
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
    uint64_t n_unknown_keys; /* keys and attributes that are not kept */
} host_trace;

/* Read the file. `host` is {0} before; call host_fini after, also on failure. */
halley_status host_read(host_trace *host, const char *path, halley_error *err);
halley_status host_read_stream(host_trace *host, file_stream *file, const char *path,
                               halley_error *err);
void host_fini(host_trace *host);

/* The texts of a node, lent until it is released. */
host_io host_io_get(const host_trace *host, uint32_t node);
/* Release the texts of a node. A block is freed when all its nodes are released. */
void host_io_release(host_trace *host, uint32_t node);
uint32_t host_find(const host_trace *host, uint64_t id); /* index or HOST_NONE */

#endif
