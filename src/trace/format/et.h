/*
 * trace/format/et.h - the pieces of the .et reader and writer.
 *
 * A file is a sequence of (varint length, message): one GlobalMetadata, then Nodes.
 * Whatever a reader accepts is tidied on the way in, so that writers can copy it:
 * sub-messages that protobuf would have written in another way are written anew into the
 * trace's own text.
 */
#ifndef TRACE_FORMAT_ET_H
#define TRACE_FORMAT_ET_H

#include "trace/core/store.h"
#include "trace/format/wire.h"

/* One decoding in progress: where to, and where the file starts, for offsets in errors.
 */
typedef struct et_decoder {
    trace_store *s;
    const uint8_t *base; /* of the bytes in memory */
    uint64_t skipped;    /* bytes of the file before them */
    halley_error *err;
    bool foreign; /* the bytes are not the input's: copy, do not refer */
    bool copies;  /* the bytes go when they are decoded: copy text, keep no places */
} et_decoder;

static inline uint64_t et_offset(const et_decoder *d, const uint8_t *at)
{
    return d->skipped + (uint64_t)(at - d->base);
}

/* Bytes that usually stand together, and are joined when they do not. {0} is empty. */
typedef struct byte_run {
    const uint8_t *at;
    size_t n;
    u8_array joined;
} byte_run;
bool byte_run_add(byte_run *run, const uint8_t *at, size_t n); /* false: no memory */
void byte_run_fini(byte_run *run);

/* An error at byte `at` of the input. */
halley_status et_bad(const et_decoder *d, const uint8_t *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reference to bytes of the input; 0 and an error when that fails. */
halley_status et_text(const et_decoder *d, text_ref *out, const uint8_t *at, size_t n);
/* The bytes of a run, referred to or copied; *out stays as it is when there are none. */
halley_status et_keep(const et_decoder *d, text_ref *out, const byte_run *run);

/* An IOInfo message: checked and tidied. */
halley_status et_read_io(const et_decoder *d, text_ref *ref, const uint8_t *at, size_t n);

/* An AttributeProto message: appends its value(s) to s->values and moves *state on. */
halley_status et_read_attr(const et_decoder *d, uint32_t *state, const uint8_t *at,
                           size_t n);

/* A list message of this kind: checked and tidied. */
halley_status et_read_list(const et_decoder *d, text_ref *ref, halley_attr_kind kind,
                           const uint8_t *at, size_t n);

/* One Node message of `n` bytes: appends a node. */
halley_status et_read_node(const et_decoder *d, const uint8_t *at, size_t n);
/* The first message: GlobalMetadata. EFORMAT: it is something else. */
halley_status et_read_meta(const et_decoder *d, const uint8_t *at, size_t n);

/* Would a reader take these bytes, the first message of a file, for its metadata? They
 * have FILE_PAD bytes after them. */
halley_status et_first_is_meta(bool *out, const uint8_t *at, size_t n, halley_error *err);

/* The length in front of a message at *at: checked against the end of the file. */
halley_status et_read_length(const et_decoder *d, const uint8_t **at, const uint8_t *end,
                             size_t *n);

/* The metadata, if the file has them: then *at moves on. *why: what kept the first
 * message, which is no good node either, from being metadata. */
halley_status et_read_first(const et_decoder *d, const uint8_t **at, const uint8_t *end,
                            halley_error *why);
/* Decode nodes from *at until it reaches or passes `stop`, at most the file's end. The
 * columns will hold what is in `n_room` bytes from *at on. */
halley_status et_read_nodes(const et_decoder *d, const uint8_t **at, const uint8_t *stop,
                            const uint8_t *end, size_t n_room, uint32_t max_nodes);

/* What the first bytes of a file say: JSON, or packed by a program (NULL: by none that is
 * known). */
bool et_looks_like_json(const file_input *in);
const char *et_packer_of(const file_input *in);
/* A file in pieces, with a copy of its text: needs no more memory than the columns. *out
 * is NULL when the file is no .et of today's schema, or when that cannot be seen. */
halley_status et_read_stream(halley_trace **out, const char *path,
                             const halley_load_opts *opts, halley_error *err);
/* Whole files. `in` is taken, also on failure. */
halley_status et_read(halley_trace **out, file_input *in, const char *path,
                      const halley_load_opts *opts, halley_error *err);
/* The older schemas, recognised and converted (old.c). */
typedef struct et_old_schema et_old_schema;
enum { ET_OLD_SAMPLE = 32 }; /* messages looked at to recognise a schema */
/* *out is NULL when the file is of none of them. */
halley_status et_old_recognise(const et_old_schema **out, const uint8_t *at, size_t n,
                               halley_error *err);
halley_status et_old_read(halley_trace **out, const et_old_schema *schema, file_input *in,
                          const char *path, const halley_load_opts *opts,
                          halley_error *err);
/* JSON forms (json_read.c). */
halley_status json_trace_read(halley_trace **out, file_input *in, const char *path,
                              const halley_load_opts *opts, halley_error *err);
/* halley_trace_save_json into memory: *out is the caller's, to strbuf_fini. */
halley_status json_trace_encode(strbuf *out, const halley_trace *trace,
                                halley_json_style style, bool lossy, uint64_t *n_dropped,
                                halley_error *err);

/* Give a trace that no other thread has yet the bytes that halley_trace_encode_et made of
 * it: saving it writes these. Takes `bytes`. */
void et_keep_encoded(halley_trace *trace, uint8_t *bytes, size_t n);

/* Where nodes and the names of their groups stand in the bytes of a trace. */
struct et_layout {
    uint32_t *group;   /* by shape: flat entry of its pg_name, or HASH_NONE */
    uint64_t *node_at; /* n + 1 */
    uint64_t *attr_at; /* by node: its pg_name; 0 = it has none */
};
void et_layout_free(et_layout *l);
/* Encode a trace that no other thread has yet and keep the bytes and their layout, so
 * that its twins (regroup.h) are encoded faster; unless that is over `most` bytes or the
 * trace is an unusual one. */
halley_status et_keep_layout(halley_trace *trace, size_t most, halley_error *err);
/* halley_trace_encode_et of a twin of a trace with a layout. */
halley_status et_encode_twin(uint8_t **out, size_t *n, const halley_trace *trace,
                             halley_error *err);

/*
 * An .et file that is written while its nodes are built. The store, whose dependencies
 * are ids still and whose shapes are flattened, has metadata with an attribute and no
 * unknown fields. Both ends free the stream; abort takes NULL, too.
 */
typedef struct et_stream et_stream;
halley_status et_stream_open(et_stream **out, const char *path, halley_error *err);
/* All nodes of the store; before the first of them its metadata. */
halley_status et_stream_put(et_stream *stream, const trace_store *s, halley_error *err);
halley_status et_stream_commit(et_stream *stream, halley_error *err);
void et_stream_abort(et_stream *stream);
/* From here on the builder's nodes go to a file, a few thousand at a time, and are not
 * part of the trace; its metadata, which is complete, is part of both. */
halley_status builder_stream_begin(halley_builder *b, const char *path,
                                   halley_error *err);
/* The file is complete; nodes that are built after this are the trace's. */
halley_status builder_stream_end(halley_builder *b, halley_error *err);

/* Copy the attributes of a node whose kinds allow it, all at once: *values are theirs, in
 * their order, to be changed until the next call. NULL: nothing was copied. */
halley_status builder_copy_attrs(uint64_t **values, halley_builder *b,
                                 const halley_trace *from, uint32_t node);
/* Whether the trace will have a metadata message (builders: yes unless set otherwise).
 */
void builder_set_metadata(halley_builder *b, bool present);
/* Refuse more nodes than this; 0 = as many as there can be. */
void builder_set_max_nodes(halley_builder *b, uint32_t n);
/* halley_builder_finish for a trace that was read from somewhere. */
halley_status builder_finish_as(halley_trace **out, halley_builder *b, const char *path,
                                halley_trace_form form, halley_error *err);

/* How a kind's values look on the wire. */
wire_type et_wire_type(halley_attr_kind kind);
/* A varint as the kind means it, in 64 bits. */
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
/* And back: what protobuf writes for it. */
static inline uint64_t et_to_varint(halley_attr_kind kind, uint64_t bits)
{
    if (kind == HALLEY_ATTR_SINT32)
        return (uint32_t)wire_zigzag((int32_t)bits);
    return kind == HALLEY_ATTR_SINT64 ? wire_zigzag((int64_t)bits) : bits;
}

/* The encoded list message of items as the API gives them (for the builder and JSON). */
typedef struct et_list_writer {
    u8_array
        bytes; /* elements without the field header, for numbers; whole fields for text */
    halley_attr_kind kind;
} et_list_writer;
bool et_list_add(et_list_writer *w, const halley_attr_item *item); /* false: no memory */
/* The message, header included; false: no memory. */
bool et_list_finish(et_list_writer *w);

#endif
