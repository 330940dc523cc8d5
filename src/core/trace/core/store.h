/*
 * trace/core/store.h - the columns of a trace, and how they are filled.
 *
 * Node i of a trace is the i-th element of every column. A column of mostly zeros is
 * stored only up to its last non-zero element; all elements after its end are zero. Ids
 * that count up by one are not stored.
 *
 * Text is not copied. A text_ref points into the bytes of the input (read or
 * decompressed), or into `own`, which holds text that is not in the input.
 *
 * Attributes are split in two. A *shape* is the sequence of (name, kind) of a node's
 * attributes, shared by all nodes with the same sequence. The values are in one column, 8
 * bytes each. Traces have few shapes, so an attribute costs 8 bytes. Decoding one is a
 * comparison with what the last node had there.
 */
#ifndef TRACE_CORE_STORE_H
#define TRACE_CORE_STORE_H

#include "base/array.h"
#include "base/error.h"
#include "base/file/file.h"
#include "base/hash.h"
#include "halley/trace.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * Location of some bytes: bit 63 set = in `own`, otherwise in the input; 39 bits of
 * offset; 24 bits of length. If the length is TEXT_LONG, the offset is an index into
 * `longs`. 0 = absent.
 */
typedef uint64_t text_ref;
#define TEXT_OWN (UINT64_C(1) << 63)
#define TEXT_LONG UINT32_C(0xffffff)
#define TEXT_MAX_OFFSET ((UINT64_C(1) << 39) - 1)

typedef struct text_long {
    uint64_t offset, n;
    bool own;
} text_long;

typedef ARRAY(uint8_t) u8_array;
typedef ARRAY(uint32_t) u32_array;
typedef ARRAY(uint64_t) u64_array;

/* One (name, kind) of attributes. */
typedef struct attr_desc {
    uint32_t text;      /* interned: name, or length of name + name + doc */
    uint32_t header_at; /* in shapes.headers: the canonical bytes up to the value */
    uint32_t n_header;  /* UINT32_MAX = none kept: has a doc, unknown fields, no kind, or
                           is long */
    uint8_t kind;       /* halley_attr_kind */
    bool has_doc;
    bool has_unknown; /* a second value follows: text_ref of the unknown fields */
    uint8_t role;     /* trace_role of the name */
} attr_desc;

/* A prefix of an attribute sequence: a node of the trie. State 0 is the empty
 * sequence. */
typedef struct attr_state {
    uint32_t parent, desc;      /* how it was reached */
    uint32_t n_attrs, n_values; /* so far */
    uint32_t next_desc,
        next_state; /* what followed last: the prediction; desc 0 = none */
    uint32_t shape; /* its shape if a node ended here, otherwise HASH_NONE */
} attr_state;

/* A complete sequence. */
typedef struct attr_shape {
    uint32_t first, n; /* its descs in shapes.flat, once finished */
    uint32_t state;
} attr_shape;

/* The value of a flat entry is values[value_at[node] + slot]. */
typedef struct attr_slot {
    uint32_t desc, slot;
} attr_slot;

typedef struct attr_shapes {
    intern texts;
    ARRAY(attr_desc) descs; /* 0 is a sentinel that matches nothing */
    ARRAY(attr_state) states;
    ARRAY(attr_shape) shapes;
    ARRAY(attr_slot) flat;
    u8_array headers;
    map64 desc_of;  /* text | kind << 32 | flags → desc */
    map64 state_of; /* state << 32 | desc → state */
} attr_shapes;

bool attr_shapes_init(attr_shapes *s); /* false: no memory */
void attr_shapes_fini(attr_shapes *s);
/* Find or add the desc of (name, doc, kind, has_unknown). HASH_NONE: no memory. */
uint32_t attr_shapes_desc(attr_shapes *s, str name, str doc, uint8_t kind,
                          bool has_unknown);
/* The state after `state` when `desc` follows, which becomes the prediction. HASH_NONE:
 * no memory. */
uint32_t attr_shapes_step(attr_shapes *s, uint32_t state, uint32_t desc);
/* The shape of a sequence that ends in `state`. HASH_NONE: no memory. */
uint32_t attr_shapes_end(attr_shapes *s, uint32_t state);
/* Fill `flat` from the states. False: no memory. */
bool attr_shapes_flatten(attr_shapes *s);
/* Convert a shape of `from` to a shape of `to`. HASH_NONE: no memory. */
uint32_t attr_shapes_import(attr_shapes *to, const attr_shapes *from, uint32_t shape);
static inline str attr_desc_name(const attr_shapes *s, const attr_desc *d)
{
    const str text = intern_text(&s->texts, d->text);
    if (!d->has_doc)
        return text;
    uint64_t n_name;
    memcpy(&n_name, text.at, sizeof n_name);
    return (str){text.at + sizeof n_name, n_name};
}
static inline str attr_desc_doc(const attr_shapes *s, const attr_desc *d)
{
    if (!d->has_doc)
        return (str){NULL, 0};
    const str text = intern_text(&s->texts, d->text);
    const size_t before = sizeof(uint64_t) + attr_desc_name(s, d).n;
    return (str){text.at + before, text.n - before};
}

/* Properties that few nodes have. Sorted by node, then in order of arrival. */
typedef enum node_extra_kind { EXTRA_TYPE, EXTRA_UNKNOWN } node_extra_kind;
typedef struct node_extra {
    uint64_t value; /* TYPE: the enum as on the wire; UNKNOWN: text_ref */
    uint32_t node;
    node_extra_kind kind;
} node_extra;

enum { TYPE_IN_EXTRA = 255, MARK_EVERY = 64 };

/* Where a node's message starts in the input. Others are found by reading on from
 * there. */
typedef struct node_mark {
    uint64_t offset;
    uint32_t node;
} node_mark;

/* GlobalMetadata. */
typedef struct trace_meta {
    bool present;
    text_ref version, unknown;
    uint32_t shape;   /* of its attributes */
    uint64_t *values; /* of its attributes; owned */
} trace_meta;

typedef struct trace_store {
    const uint8_t *base; /* of the input */
    u8_array own;
    ARRAY(text_long) longs;
    attr_shapes shapes;
    uint32_t n; /* nodes */
    uint64_t first_id;
    u64_array ids; /* empty while ids are first_id + i */
    u8_array types;
    u64_array names, starts, durations, inputs, outputs; /* zero after the end */
    u32_array data_at,
        ctrl_at; /* n + 1 once finished: where a node's dependencies start */
    u64_array data_ids, ctrl_ids; /* while being filled: ids */
    u32_array shape, value_at;
    u64_array values;
    ARRAY(node_mark) marks; /* ascending; at most MARK_EVERY nodes apart, if any */
    ARRAY(node_extra) extras;
    trace_meta meta;
} trace_store;

typedef struct et_layout et_layout; /* et.h */

struct halley_trace {
    atomic_uint refs;
    halley_trace_form form;
    char *path;
    file_input in;
    trace_store s;
    uint32_t *data, *ctrl; /* node indexes; n + k = dangling[k] */
    u64_array dangling;    /* ids that no node has */
    bool ascending;        /* ids strictly rise */
    map64 index;           /* id → node, when not ascending */
    halley_trace *lender;  /* has all but s.own and s.values; NULL = none (regroup.h) */
    struct et_layout *layout; /* of `encoded`, if its twins will be saved too */
    u8_array encoded;         /* as .et, if it was needed before saving */
};

bool trace_store_init(trace_store *s);
void trace_store_fini(trace_store *s);
/* Drop all nodes of a store that is being filled, but keep shapes and metadata. The first
 * n_own bytes of `own` and n_longs entries of `longs` belong to the metadata. */
void trace_store_drop_nodes(trace_store *s, size_t n_own, size_t n_longs);
bool column_put_far(u64_array *column, uint32_t i, uint64_t value);
/* Set element i of a column, for the first time or again. All elements after i must be
 * zero so far. False: no memory. */
static inline bool column_put(u64_array *column, uint32_t i, uint64_t value)
{
    if (value == 0 && i >= column->n)
        return true;
    if (column->n == i)
        return array_push(column, value);
    return column_put_far(column, i, value);
}
static inline uint64_t column_get(const u64_array *column, uint32_t i)
{
    return i < column->n ? column->at[i] : 0;
}

/* Make a reference to n bytes at `offset` of the input (own = false) or of s->own. 0: no
 * memory, or beyond the limits. */
text_ref trace_text_ref(trace_store *s, uint64_t offset, uint64_t n, bool own);
/* Copy the bytes, or two pieces one after the other, into `own`. 0: no memory. */
text_ref trace_text_copy(trace_store *s, str a, str b);
/* The bytes of a reference; {NULL, 0} for 0. */
str trace_text(const trace_store *s, text_ref ref);

/* End node number s->n with its id, type and attribute state, and count it. */
halley_status trace_store_close_node(trace_store *s, uint64_t id, int32_t type,
                                     uint32_t state, uint32_t first_value,
                                     halley_error *err);

/*
 * Make the trace of a filled store. Takes the store and the input (both emptied), also on
 * failure. Resolves ids.
 */
halley_status trace_finish(halley_trace **out, trace_store *s, file_input *in,
                           const char *path, halley_trace_form form, halley_error *err);

/* halley_trace_load for bytes that have been read. Takes `in`, also on failure. */
halley_status trace_load_input(halley_trace **out, file_input *in, const char *path,
                               const halley_load_opts *opts, halley_error *err);

/* The shape of a node, for bulk readers that do not decode text. */
static inline const attr_shape *trace_shape_of(const halley_trace *t, uint32_t node)
{
    return &t->s.shapes.shapes.at[t->s.shape.at[node]];
}
halley_attr trace_attr_view(const trace_store *s, const attr_slot *slot,
                            const uint64_t *values);
/* The index of the flat slot of attribute `name` in a shape, or HASH_NONE. */
uint32_t trace_shape_find(const trace_store *s, uint32_t shape, str name);

#endif
