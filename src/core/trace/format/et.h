/*
 * trace/format/et.h - the parts of the .et reader and writer.
 *
 * A file is a sequence of (varint length, message): one GlobalMetadata, then Nodes.
 * Readers normalise what they accept, so that writers can copy it. A sub-message in a
 * form that protobuf would not write is encoded anew, in the trace's own text.
 */
#ifndef TRACE_FORMAT_ET_H
#define TRACE_FORMAT_ET_H

#include "trace/core/store.h"
#include "trace/format/wire.h"

/* The state of decoding: the destination, and the start of the file, for offsets in
 * errors. */
typedef struct et_decoder {
    trace_store *s;
    const uint8_t *base; /* of the bytes in memory */
    uint64_t skipped;    /* bytes of the file before them */
    halley_error *err;
    bool foreign; /* the bytes are not in the input: copy, do not refer */
    bool copies;  /* the bytes are freed after decoding: copy text, keep no positions */
} et_decoder;

static inline uint64_t et_offset(const et_decoder *d, const uint8_t *at)
{
    return d->skipped + (uint64_t)(at - d->base);
}

/* Bytes that are usually contiguous, and are joined if not. {0} is empty. */
typedef struct byte_run {
    const uint8_t *at;
    size_t n;
    u8_array joined;
} byte_run;
bool byte_run_add(byte_run *run, const uint8_t *at, size_t n); /* false: no memory */
void byte_run_fini(byte_run *run);

/* Report an error at byte `at` of the input. */
halley_status et_bad(const et_decoder *d, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Make a reference to bytes of the input. 0 and an error on failure. */
halley_status et_text(const et_decoder *d, text_ref *out, const uint8_t *at, size_t n);
/* Refer to or copy the bytes of a run. *out does not change if there are none. */
halley_status et_keep(const et_decoder *d, text_ref *out, const byte_run *run);

/* Check and normalise an IOInfo message. */
halley_status et_read_io(const et_decoder *d, text_ref *ref, const uint8_t *at, size_t n);

/* Read an AttributeProto message: appends its value(s) to s->values and advances
 * *state. */
halley_status et_read_attr(const et_decoder *d, uint32_t *state, const uint8_t *at,
                           size_t n);

/* Check and normalise a list message of this kind. */
halley_status et_read_list(const et_decoder *d, text_ref *ref, halley_attr_kind kind,
                           const uint8_t *at, size_t n);

/* Read one Node message of `n` bytes: appends a node. */
halley_status et_read_node(const et_decoder *d, const uint8_t *at, size_t n);
/* Read the first message, GlobalMetadata. EFORMAT: it is something else. */
halley_status et_read_meta(const et_decoder *d, const uint8_t *at, size_t n);

/* Would a reader take these bytes, the first message of a file, for its metadata? They
 * are followed by FILE_PAD bytes. */
halley_status et_first_is_meta(bool *out, const uint8_t *at, size_t n, halley_error *err);

/* Read the length before a message at *at, checked against the end of the file. */
halley_status et_read_length(const et_decoder *d, const uint8_t **at, const uint8_t *end,
                             size_t *n);

/* Read the metadata, if the file has any; then *at advances. *why: if the first message
 * is not a valid node either, the reason why it is not metadata. */
halley_status et_read_first(const et_decoder *d, const uint8_t **at, const uint8_t *end,
                            halley_error *why);
/* Decode nodes from *at until it reaches or passes `stop`, at most to the end of the
 * file. The columns reserve room for the nodes in `n_room` bytes from *at on. */
halley_status et_read_nodes(const et_decoder *d, const uint8_t **at, const uint8_t *stop,
                            const uint8_t *end, size_t n_room, uint32_t max_nodes);

/* What the first bytes of a file show: JSON, or the program that compressed it (NULL:
 * none that is known). */
bool et_looks_like_json(const file_input *in);
const char *et_packer_of(const file_input *in);
/* Read a file in pieces and copy its text; needs no more memory than the columns. *out is
 * NULL if the file is not an .et of the present schema, or if that cannot be
 * determined. */
halley_status et_read_stream(halley_trace **out, const char *path,
                             const halley_load_opts *opts, halley_error *err);
/* Read whole files. Takes `in`, also on failure. */
halley_status et_read(halley_trace **out, file_input *in, const char *path,
                      const halley_load_opts *opts, halley_error *err);
/* The older schemas, which are recognised and converted (old.c). */
typedef struct et_old_schema et_old_schema;
enum { ET_OLD_SAMPLE = 32 }; /* messages looked at to recognise a schema */
/* *out is NULL if the file has none of them. */
halley_status et_old_recognise(const et_old_schema **out, const uint8_t *at, size_t n,
                               halley_error *err);
halley_status et_old_read(halley_trace **out, const et_old_schema *schema, file_input *in,
                          const char *path, const halley_load_opts *opts,
                          halley_error *err);
/* JSON forms (json_read.c). */
halley_status json_trace_read(halley_trace **out, file_input *in, const char *path,
                              const halley_load_opts *opts, halley_error *err);
/* halley_trace_save_json into memory. The caller must strbuf_fini *out. */
halley_status json_trace_encode(strbuf *out, const halley_trace *trace,
                                halley_json_style style, bool lossy, uint64_t *n_dropped,
                                halley_error *err);

/* Give a trace, which no other thread has yet, the bytes that halley_trace_encode_et made
 * of it. Saving it then writes these. Takes `bytes`. */
void et_keep_encoded(halley_trace *trace, uint8_t *bytes, size_t n);

/* Where nodes and the names of their groups are in the encoded trace. */
struct et_layout {
    uint32_t *group;   /* by shape: flat entry of its pg_name, or HASH_NONE */
    uint64_t *node_at; /* n + 1 */
    uint64_t *attr_at; /* by node: its pg_name; 0 = it has none */
};
void et_layout_free(et_layout *l);
/* Encode a trace, which no other thread has yet, and keep the bytes and their layout. Its
 * twins (regroup.h) are then encoded faster. Nothing is kept if it takes more than `most`
 * bytes or the trace is unusual. */
halley_status et_keep_layout(halley_trace *trace, size_t most, halley_error *err);
/* halley_trace_encode_et for a twin of a trace with a layout. */
halley_status et_encode_twin(uint8_t **out, size_t *n, const halley_trace *trace,
                             halley_error *err);

/*
 * An .et file that is written while its nodes are built. The dependencies of the store
 * are still ids, and its shapes are flattened. Its metadata has an attribute and no
 * unknown fields. Both ends free the stream; abort also takes NULL.
 */
typedef struct et_stream et_stream;
halley_status et_stream_open(et_stream **out, const char *path, halley_error *err);
/* Write all nodes of the store, and its metadata before the first of them. */
halley_status et_stream_put(et_stream *stream, const trace_store *s, halley_error *err);
halley_status et_stream_commit(et_stream *stream, halley_error *err);
void et_stream_abort(et_stream *stream);
/* From here on the builder's nodes are written to a file, a few thousand at a time, and
 * are not part of the trace. The metadata must be complete and is part of both. */
halley_status builder_stream_begin(halley_builder *b, const char *path,
                                   halley_error *err);
/* Complete the file. Nodes that are built after this belong to the trace. */
halley_status builder_stream_end(halley_builder *b, halley_error *err);

/* Copy the attributes of a node at once, if their kinds allow it. *values are their
 * values in order, which may be changed until the next call. NULL: nothing was copied. */
halley_status builder_copy_attrs(uint64_t **values, halley_builder *b,
                                 const halley_trace *from, uint32_t node);
/* Set whether the trace will have a metadata message (default for builders: yes). */
void builder_set_metadata(halley_builder *b, bool present);
/* Refuse more nodes than this; 0 = only the format's limit. */
void builder_set_max_nodes(halley_builder *b, uint32_t n);
/* halley_builder_finish for a trace that was read from somewhere. */
halley_status builder_finish_as(halley_trace **out, halley_builder *b, const char *path,
                                halley_trace_form form, halley_error *err);

/* The wire type of a kind's values. */
wire_type et_wire_type(halley_attr_kind kind);
/* Convert a varint to the 64-bit value of the kind. */
static inline uint64_t et_from_varint(halley_attr_kind kind, uint64_t value)
{
    switch (kind) {
    case HALLEY_ATTR_INT32:
        return (uint64_t)(int64_t)(int32_t)(uint32_t)value;
    case HALLEY_ATTR_UINT32:
        return (uint32_t)value;
    case HALLEY_ATTR_SINT32:
        return (uint64_t)(int64_t)(int32_t)wire_unzigzag((uint32_t)value);
    case HALLEY_ATTR_SINT64:
        return (uint64_t)wire_unzigzag(value);
    case HALLEY_ATTR_BOOL:
        return value != 0;
    default:
        return value;
    }
}
/* The reverse: the varint that protobuf writes. */
static inline uint64_t et_to_varint(halley_attr_kind kind, uint64_t bits)
{
    if (kind == HALLEY_ATTR_SINT32)
        return (uint32_t)wire_zigzag((int32_t)bits);
    return kind == HALLEY_ATTR_SINT64 ? wire_zigzag((int64_t)bits) : bits;
}

/* Encodes a list message from items as the API gives them (for the builder and JSON). */
typedef struct et_list_writer {
    u8_array bytes; /* numbers: elements without the field header; text: whole fields */
    halley_attr_kind kind;
} et_list_writer;
bool et_list_add(et_list_writer *w, const halley_attr_item *item); /* false: no memory */
/* Complete the message, header included. False: no memory. */
bool et_list_finish(et_list_writer *w);

#endif
