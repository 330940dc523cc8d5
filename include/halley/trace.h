/*
 * halley/trace.h - Chakra execution traces: one graph per rank, stored in columns.
 *
 * A trace is immutable once made and may be read by many threads. It is made by loading a
 * file, by a builder, or by a function that derives one trace from another. Nodes are
 * addressed by index, 0 … n-1 in file order; `id` is the node's id in the file.
 */
#ifndef HALLEY_TRACE_H
#define HALLEY_TRACE_H

#include "halley/error.h"
#include "halley/trace_attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum halley_node_type {
    HALLEY_NODE_INVALID = 0,
    HALLEY_NODE_METADATA,
    HALLEY_NODE_MEM_LOAD,
    HALLEY_NODE_MEM_STORE,
    HALLEY_NODE_COMP,
    HALLEY_NODE_SEND,
    HALLEY_NODE_RECV,
    HALLEY_NODE_COLL,
    HALLEY_N_NODE_TYPES
} halley_node_type;

typedef enum halley_coll_type {
    HALLEY_COLL_ALL_REDUCE = 0,
    HALLEY_COLL_REDUCE,
    HALLEY_COLL_ALL_GATHER,
    HALLEY_COLL_GATHER,
    HALLEY_COLL_SCATTER,
    HALLEY_COLL_BROADCAST,
    HALLEY_COLL_ALL_TO_ALL,
    HALLEY_COLL_REDUCE_SCATTER,
    HALLEY_COLL_REDUCE_SCATTER_BLOCK,
    HALLEY_COLL_BARRIER,
    HALLEY_N_COLL_TYPES
} halley_coll_type;

/* Chakra's names ("COMP_NODE", "ALL_REDUCE"); "UNKNOWN" for other values. Lent,
 * static. */
const char *halley_node_type_name(uint32_t type);
const char *halley_coll_type_name(uint64_t type);

/* The member of AttributeProto's oneof that is set, as its field number in the encoding;
 * 0 = none. */
typedef enum halley_attr_kind {
    HALLEY_ATTR_NONE = 0,
    HALLEY_ATTR_DOUBLE = 3,
    HALLEY_ATTR_DOUBLE_LIST,
    HALLEY_ATTR_FLOAT,
    HALLEY_ATTR_FLOAT_LIST,
    HALLEY_ATTR_INT32,
    HALLEY_ATTR_INT32_LIST,
    HALLEY_ATTR_INT64,
    HALLEY_ATTR_INT64_LIST,
    HALLEY_ATTR_UINT32,
    HALLEY_ATTR_UINT32_LIST,
    HALLEY_ATTR_UINT64,
    HALLEY_ATTR_UINT64_LIST,
    HALLEY_ATTR_SINT32,
    HALLEY_ATTR_SINT32_LIST,
    HALLEY_ATTR_SINT64,
    HALLEY_ATTR_SINT64_LIST,
    HALLEY_ATTR_FIXED32,
    HALLEY_ATTR_FIXED32_LIST,
    HALLEY_ATTR_FIXED64,
    HALLEY_ATTR_FIXED64_LIST,
    HALLEY_ATTR_SFIXED32,
    HALLEY_ATTR_SFIXED32_LIST,
    HALLEY_ATTR_SFIXED64,
    HALLEY_ATTR_SFIXED64_LIST,
    HALLEY_ATTR_BOOL,
    HALLEY_ATTR_BOOL_LIST,
    HALLEY_ATTR_STRING,
    HALLEY_ATTR_STRING_LIST,
    HALLEY_ATTR_BYTES,
    HALLEY_ATTR_BYTES_LIST,
    HALLEY_ATTR_END /* one past the last */
} halley_attr_kind;

/* Lists are the even kinds; the scalar kind of a list is one less. */
static inline bool halley_attr_is_list(halley_attr_kind kind)
{
    return kind >= HALLEY_ATTR_DOUBLE_LIST && kind % 2 == 0;
}

/* The schema's names ("int64_val", "bool_list"); "none" for 0. Lent, static. */
const char *halley_attr_kind_name(halley_attr_kind kind);

/* Bytes lent by the trace; not terminated. */
typedef struct halley_bytes {
    const char *at;
    size_t n;
} halley_bytes;

/*
 * One attribute, as a view into the trace.
 *
 * `bits`: integers, sign- or zero-extended to 64 bits according to their type; bool as 0
 * or 1; double and float as their bit pattern (float in the low 32 bits).
 *
 * `bytes`: the text of STRING and BYTES. For a list, the encoded XxxList message, to be
 * read with halley_attr_list_next.
 *
 * `unknown`: fields of the attribute that are not in the schema, as encoded.
 */
typedef struct halley_attr {
    halley_bytes name, doc;
    halley_attr_kind kind;
    uint64_t bits;
    halley_bytes bytes;
    halley_bytes unknown;
} halley_attr;

/* A value as double or integer, whatever its number type. Returns false if it is not a
 * number or, for integers, does not fit or has a fraction. BOOL counts as 0 or 1. */
bool halley_attr_to_double(const halley_attr *attr, double *out);
bool halley_attr_to_i64(const halley_attr *attr, int64_t *out);
bool halley_attr_to_u64(const halley_attr *attr, uint64_t *out);

/* One element of a list attribute: `bits` or `bytes` as above. */
typedef struct halley_attr_item {
    uint64_t bits;
    halley_bytes bytes;
} halley_attr_item;
/* Walk a list: set *cursor to 0 first; false at the end. */
bool halley_attr_list_next(const halley_attr *attr, size_t *cursor,
                           halley_attr_item *item);

/* IOInfo, decoded. `present` is false when the node has none. */
typedef struct halley_io {
    bool present;
    halley_bytes values, shapes, types, unknown;
} halley_io;

/* A dependency as written in the file; `index` is the node's index, or HALLEY_NO_NODE if
 * no node has that id. */
#define HALLEY_NO_NODE UINT32_MAX
typedef struct halley_dep {
    uint64_t id;
    uint32_t index;
} halley_dep;

typedef struct halley_trace halley_trace; /* reference counted */

/* How to load; {0} is the default. */
typedef struct halley_load_opts {
    uint32_t n_threads; /* 0 = one per core, for large files */
    uint32_t max_nodes; /* refuse more; 0 = 4294967294 */
    bool frees_bytes;   /* copy texts and free the bytes of an .et file. This saves
                           memory if texts are the smaller part; it uses one thread per
                           file, and halley_node_offset returns 0 */
    /* Keep one trace and the differences if the files of a set differ only in names of
     * groups, peers, roots and tags. This suffices for halley_sim_run. Then
     * halley_trace_set_get returns the trace of the file that is kept. */
    bool differences_only;
} halley_load_opts;

/* Load one file in any supported format: .et, .et.gz, old schemas, protobuf-JSON
 * (concatenated, array, lines), workload_graph JSON. The format is recognised by content.
 * On success the caller owns *out and frees it with halley_trace_free. */
halley_status halley_trace_load(halley_trace **out, const char *path,
                                const halley_load_opts *opts, halley_error *err);
/* The same from memory; the bytes are copied. `name` replaces the path. */
halley_status halley_trace_parse(halley_trace **out, const void *at, size_t n,
                                 const char *name, const halley_load_opts *opts,
                                 halley_error *err);
halley_trace *halley_trace_keep(halley_trace *trace); /* one more owner; returns trace */
void halley_trace_free(halley_trace *trace);          /* NULL is fine */

/* The format of the file. */
typedef enum halley_trace_form {
    HALLEY_FORM_ET,    /* schema v0.0.4 / 1.0.0 */
    HALLEY_FORM_ET_V1, /* v0.0.1, converted */
    HALLEY_FORM_ET_V2, /* v0.0.2, converted */
    HALLEY_FORM_ET_V3, /* v0.0.3, converted */
    HALLEY_FORM_JSON,  /* protobuf-JSON: a document, lines, or concatenated objects */
    HALLEY_FORM_GRAPH_JSON, /* {"workload_graph": …} */
    HALLEY_FORM_BUILT       /* made in memory */
} halley_trace_form;
const char *halley_trace_form_name(halley_trace_form form);
halley_trace_form halley_trace_form_of(const halley_trace *trace);
const char *halley_trace_path(const halley_trace *trace); /* lent; "" when built */
uint64_t halley_trace_memory(const halley_trace *trace);  /* anonymous bytes held */

/*
 * GlobalMetadata: whether the file has one, its version, attributes and unknown fields.
 */
bool halley_trace_has_metadata(const halley_trace *trace);
halley_bytes halley_trace_version(const halley_trace *trace);
uint32_t halley_trace_metadata_count(const halley_trace *trace);
halley_attr halley_trace_metadata(const halley_trace *trace, uint32_t i);
halley_bytes halley_trace_metadata_unknown(const halley_trace *trace);

uint32_t halley_trace_count(const halley_trace *trace);
uint64_t halley_trace_dep_count(const halley_trace *trace); /* data and control */
uint64_t
halley_trace_dangling_count(const halley_trace *trace); /* of those, to missing ids */

/* In all functions below, node < halley_trace_count(trace). */
uint64_t halley_node_id(const halley_trace *trace, uint32_t node);
uint32_t halley_node_type_of(const halley_trace *trace,
                             uint32_t node); /* as on the wire */
halley_bytes halley_node_name(const halley_trace *trace, uint32_t node);
uint64_t halley_node_start_us(const halley_trace *trace, uint32_t node);
uint64_t halley_node_duration_us(const halley_trace *trace, uint32_t node);
uint32_t halley_node_data_count(const halley_trace *trace, uint32_t node);
halley_dep halley_node_data(const halley_trace *trace, uint32_t node, uint32_t i);
uint32_t halley_node_ctrl_count(const halley_trace *trace, uint32_t node);
halley_dep halley_node_ctrl(const halley_trace *trace, uint32_t node, uint32_t i);
halley_io halley_node_inputs(const halley_trace *trace, uint32_t node);
halley_io halley_node_outputs(const halley_trace *trace, uint32_t node);
uint32_t halley_node_attr_count(const halley_trace *trace, uint32_t node);
halley_attr halley_node_attr(const halley_trace *trace, uint32_t node, uint32_t i);
/* The first attribute of that name; false when there is none. */
bool halley_node_find_attr(halley_attr *out, const halley_trace *trace, uint32_t node,
                           const char *name);
halley_bytes halley_node_unknown(const halley_trace *trace, uint32_t node);
/* Byte offset of the node's message in the file; 0 if the trace was built. */
uint64_t halley_node_offset(const halley_trace *trace, uint32_t node);
/*
 * Index of the node with this id (the last one if there are several), or HALLEY_NO_NODE.
 */
uint32_t halley_trace_find(const halley_trace *trace, uint64_t id);

/*
 * Whole columns as arrays, lent by the trace until it is freed. A column is stored up to
 * its last non-zero element: element i >= its count is 0. Ids that rise by one are not
 * stored: `ids` is then NULL and node i has the id first_id + i. Type 255 means a type
 * that Chakra does not define: use halley_node_type_of.
 */
typedef struct halley_column {
    const uint64_t *at; /* NULL when all are zero */
    uint32_t n;
} halley_column;
typedef struct halley_columns {
    size_t size; /* set by the caller: sizeof(halley_columns) */
    uint32_t n;  /* nodes */
    uint64_t first_id;
    const uint64_t *ids;  /* n of them, or NULL */
    const uint8_t *types; /* n of them */
    halley_column starts_us, durations_us;
    /*
     * Dependencies of node i are at[first[i]] ... at[first[i + 1] - 1], as node indexes.
     * An index >= n is a dependency on an id that no node has. NULL if no node has any.
     */
    const uint32_t *data_first, *data;
    const uint32_t *ctrl_first, *ctrl;
} halley_columns;
/* HALLEY_EINVAL if the library does not know out->size. */
halley_status halley_trace_columns(halley_columns *out, const halley_trace *trace,
                                   halley_error *err);

/*
 * Builder: add a node, then what belongs to it. All strings are copied. Errors are out of
 * memory, limits, a call before the first node, and bytes that are no list or no unknown
 * fields. After an error every call returns the same status until finish. finish hands
 * the trace to the caller and frees the builder, also on failure. A second call replaces
 * times, inputs or outputs; unknown fields are appended.
 */
typedef struct halley_builder halley_builder;
halley_status halley_builder_new(halley_builder **out, halley_error *err);
halley_status halley_builder_version(halley_builder *b, halley_bytes version);
halley_status halley_builder_metadata(halley_builder *b, const halley_attr *attr);
halley_status halley_builder_metadata_unknown(halley_builder *b, halley_bytes unknown);
halley_status halley_builder_node(halley_builder *b, uint64_t id, uint32_t type,
                                  halley_bytes name);
halley_status halley_builder_time(halley_builder *b, uint64_t start_us,
                                  uint64_t duration_us);
halley_status halley_builder_data(halley_builder *b, uint64_t id);
halley_status halley_builder_ctrl(halley_builder *b, uint64_t id);
halley_status halley_builder_inputs(halley_builder *b, const halley_io *io);
halley_status halley_builder_outputs(halley_builder *b, const halley_io *io);
halley_status halley_builder_attr(halley_builder *b, const halley_attr *attr);
halley_status halley_builder_attr_i64(halley_builder *b, const char *name, int64_t value);
halley_status halley_builder_attr_u64(halley_builder *b, const char *name,
                                      uint64_t value);
halley_status halley_builder_attr_i32(halley_builder *b, const char *name, int32_t value);
halley_status halley_builder_attr_bool(halley_builder *b, const char *name, bool value);
halley_status halley_builder_attr_text(halley_builder *b, const char *name,
                                       halley_bytes value);
halley_status halley_builder_unknown(halley_builder *b, halley_bytes unknown);
/* Copy a node of another trace with everything it has. */
halley_status halley_builder_copy(halley_builder *b, const halley_trace *from,
                                  uint32_t node);
/* Copy everything but id, type, name and dependencies from another trace's node to the
 * current node. */
halley_status halley_builder_copy_rest(halley_builder *b, const halley_trace *from,
                                       uint32_t node);
halley_status halley_builder_finish(halley_trace **out, halley_builder *b,
                                    halley_error *err);

/*
 * Write .et (gzip if the path ends in .gz). The file is written completely or not at all.
 */
halley_status halley_trace_save_et(const halley_trace *trace, const char *path,
                                   halley_error *err);
/* The same into memory; the caller must free() *out. */
halley_status halley_trace_encode_et(uint8_t **out, size_t *n, const halley_trace *trace,
                                     halley_error *err);
/* Write protobuf-JSON. Unknown fields and invalid UTF-8 cannot be represented in JSON and
 * are EINVAL. With `lossy` they are left out and counted in *n_dropped (may be NULL). */
typedef enum halley_json_style {
    HALLEY_JSON_DOCUMENT, /* {"metadata": {…}, "nodes": [ … ]}: one valid document */
    HALLEY_JSON_LINES,    /* one object per line, metadata first */
    HALLEY_JSON_CHAKRA    /* concatenated indented objects, byte for byte as Chakra's
                             jsonizer */
} halley_json_style;
halley_status halley_trace_save_json(const halley_trace *trace, const char *path,
                                     halley_json_style style, bool lossy,
                                     uint64_t *n_dropped, halley_error *err);

/* A set of ranks. Equal files are stored once. */
typedef struct halley_trace_set halley_trace_set;
/*
 * Load a set named by n_paths paths. This is one prefix ("dir/name" for name.0.et …, also
 * .et.gz, .json, .jsonl), one folder that holds one such set, or files. The rank of a
 * file is the number before its extension if all files have distinct ones, else its
 * position. HALLEY_ENOTFOUND: a rank between 0 and the largest is missing; the error
 * names it.
 */
halley_status halley_trace_set_load(halley_trace_set **out, const char *const *paths,
                                    size_t n_paths, const halley_load_opts *opts,
                                    halley_error *err);
/* For a set that does not load: list what is wrong with each of its files, by rank. Fails
 * like halley_trace_set_load if the files cannot be found. On success the caller must
 * free() *out; *n is 0 if all files can be read. */
halley_status halley_trace_set_errors(halley_error **out, uint32_t *n,
                                      const char *const *paths, size_t n_paths,
                                      const halley_load_opts *opts, halley_error *err);
/* A set of built traces, rank i = traces[i]. On success the set takes over the caller's
 * reference to each. */
halley_status halley_trace_set_new(halley_trace_set **out, halley_trace *const *traces,
                                   uint32_t n, halley_error *err);
void halley_trace_set_free(halley_trace_set *set);
uint32_t halley_trace_set_count(const halley_trace_set *set);
/* The trace of a rank; lent. Equal ranks give the same pointer. */
const halley_trace *halley_trace_set_get(const halley_trace_set *set, uint32_t rank);
const char *halley_trace_set_path(const halley_trace_set *set, uint32_t rank);
/* The path of the file that lists the groups of the set in ASTRA-sim's format, {"1": [0,
 * 1], …}. It is PREFIX.comm_group.json next to PREFIX.0.et, else comm_group.json in that
 * folder. The caller must free() it; NULL if there is none. */
char *halley_trace_set_groups(const halley_trace_set *set);
/* The text of such a file for the groups that the set's process_group:init nodes declare.
 * It includes groups whose name is a number and whose ranks are all in the set. The
 * caller must free() *out; it is NULL if there are none. */
halley_status halley_trace_set_declared_groups(char **out, const halley_trace_set *set,
                                               halley_error *err);
uint32_t
halley_trace_set_distinct(const halley_trace_set *set); /* different traces held */

#ifdef __cplusplus
}
#endif
#endif
