/*
 * Write .et as protobuf does: fields in the order of their numbers, zeros left out, lists
 * packed, unknown fields last.
 *
 * Lengths come before what they measure. Each length gets the number of bytes that it
 * usually needs. In the rare case that it needs another number, what follows is moved. So
 * this takes one pass where protobuf needs two.
 */
#include "trace/format/et.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { FLUSH_BYTES = 1 << 20 };

typedef struct et_writer {
    u8_array buf;
    file_output *to; /* NULL: keep everything in buf */
    const halley_trace *t;
    bool unfinished; /* dependencies of t's store are still ids */
} et_writer;

/* Reserve n more bytes. Returns where they go, or NULL if memory ran out. */
static uint8_t *make_output_room(et_writer *w, size_t n)
{
    return array_reserve(&w->buf, n) ? w->buf.at + w->buf.n : NULL;
}

static void advance_output(et_writer *w, const uint8_t *to)
{
    w->buf.n = (size_t)(to - w->buf.at);
}

/* Begin a length-delimited field: leave `guess` bytes for its length. */
static size_t open_length(et_writer *w, uint32_t guess)
{
    w->buf.n += guess;
    return w->buf.n;
}

/* Write the length of everything since `start` into the bytes left for it. */
static bool close_length(et_writer *w, size_t start, uint32_t guess)
{
    const size_t n = w->buf.n - start;
    const uint32_t need = wire_varint_size(n);
    if (need != guess) {
        if (!array_reserve(&w->buf, 10))
            return false;
        memmove(w->buf.at + start + need - guess, w->buf.at + start, n);
        w->buf.n += need;
        w->buf.n -= guess;
    }
    wire_put_varint(w->buf.at + start - guess, n);
    return true;
}

static bool put_bytes(et_writer *w, uint8_t tag, const char *at, size_t n)
{
    uint8_t *to = make_output_room(w, n + 11);
    if (!to)
        return false;
    *to++ = tag;
    to = wire_put_varint(to, n);
    if (n)
        memcpy(to, at, n);
    advance_output(w, to + n);
    return true;
}

static bool put_raw(et_writer *w, halley_bytes bytes)
{
    uint8_t *const to = make_output_room(w, bytes.n + 1);
    if (!to)
        return false;
    if (bytes.n)
        memcpy(to, bytes.at, bytes.n);
    advance_output(w, to + bytes.n);
    return true;
}

static bool put_number(et_writer *w, uint8_t tag, uint64_t value)
{
    if (value == 0)
        return true;
    uint8_t *to = make_output_room(w, 11);
    if (!to)
        return false;
    *to++ = tag;
    advance_output(w, wire_put_varint(to, value));
    return true;
}

/* The id of dependency k: from `ids` while unfinished, otherwise of the node in
 * `deps`. */
static uint64_t get_dep_id(const et_writer *w, const uint32_t *deps, const u64_array *ids,
                           uint32_t k)
{
    const halley_trace *const t = w->t;
    if (w->unfinished)
        return ids->at[k];
    return deps[k] < t->s.n ? halley_node_id(t, deps[k])
                            : t->dangling.at[deps[k] - t->s.n];
}

/* Write the dependencies [first, first + n) of all. */
static bool put_deps(et_writer *w, uint8_t tag, const uint32_t *deps,
                     const u64_array *ids, uint32_t first, uint32_t n)
{
    if (n == 0)
        return true;
    const uint32_t guess = n < 25 ? 1 : 2;
    uint8_t *to = make_output_room(w, (size_t)n * 10 + 16);
    if (!to)
        return false;
    *to++ = tag;
    advance_output(w, to);
    const size_t start = open_length(w, guess);
    to = w->buf.at + start;
    for (uint32_t i = 0; i < n; i++)
        to = wire_put_varint(to, get_dep_id(w, deps, ids, first + i));
    advance_output(w, to);
    return close_length(w, start, guess);
}

static uint8_t *put_scalar(uint8_t *to, halley_attr_kind kind, uint64_t bits)
{
    const wire_type type = et_wire_type(kind);
    if (type == WIRE_VARINT)
        return wire_put_varint(to, et_to_varint(kind, bits));
    const size_t n = type == WIRE_FIXED64 ? 8 : 4;
    memcpy(to, &bits, n);
    return to + n;
}

/* Write an attribute without a stored header: long name, doc, unknown fields or no
 * value. */
static bool put_rare_attr(et_writer *w, const attr_slot *slot, const uint64_t *values)
{
    const halley_attr a = trace_attr_view(&w->t->s, slot, values);
    if (a.name.n && !put_bytes(w, 1 << 3 | WIRE_LEN, a.name.at, a.name.n))
        return false;
    if (a.doc.n && !put_bytes(w, 2 << 3 | WIRE_LEN, a.doc.at, a.doc.n))
        return false;
    if (a.kind != HALLEY_ATTR_NONE) {
        uint8_t *to = make_output_room(w, a.bytes.n + 24);
        if (!to)
            return false;
        to = wire_put_varint(to, (uint64_t)a.kind << 3 | et_wire_type(a.kind));
        if (et_wire_type(a.kind) == WIRE_LEN) {
            to = wire_put_varint(to, a.bytes.n);
            if (a.bytes.n)
                memcpy(to, a.bytes.at, a.bytes.n);
            to += a.bytes.n;
        } else {
            to = put_scalar(to, a.kind, a.bits);
        }
        advance_output(w, to);
    }
    return put_raw(w, a.unknown);
}

static bool put_attr(et_writer *w, uint8_t tag, const attr_slot *slot,
                     const uint64_t *values)
{
    const trace_store *const s = &w->t->s;
    const attr_desc *const d = &s->shapes.descs.at[slot->desc];
    const halley_attr_kind kind = (halley_attr_kind)d->kind;
    uint8_t *to = make_output_room(w, 160);
    if (!to)
        return false;
    *to++ = tag;
    advance_output(w, to);
    const size_t start = open_length(w, 1);
    if (d->n_header == UINT32_MAX)
        return put_rare_attr(w, slot, values) && close_length(w, start, 1);
    to++;
    memcpy(to, s->shapes.headers.at + d->header_at, d->n_header);
    to += d->n_header;
    if (et_wire_type(kind) != WIRE_LEN) {
        advance_output(w, put_scalar(to, kind, values[slot->slot]));
        return close_length(w, start, 1);
    }
    const str text = trace_text(s, values[slot->slot]);
    advance_output(w, wire_put_varint(to, text.n));
    return put_raw(w, (halley_bytes){text.at, text.n}) && close_length(w, start, 1);
}

static bool put_attrs(et_writer *w, uint8_t tag, uint32_t shape, const uint64_t *values)
{
    const attr_shapes *const shapes = &w->t->s.shapes;
    const attr_shape *const a = &shapes->shapes.at[shape];
    for (uint32_t i = 0; i < a->n; i++)
        if (!put_attr(w, tag, &shapes->flat.at[a->first + i], values))
            return false;
    return true;
}

static bool put_io(et_writer *w, uint8_t tag, text_ref ref)
{
    const str text = trace_text(&w->t->s, ref);
    return ref == 0 || put_bytes(w, tag, text.at, text.n);
}

static bool put_name(et_writer *w, uint32_t i)
{
    const str name = trace_text(&w->t->s, column_get(&w->t->s.names, i));
    return name.n == 0 || put_bytes(w, 2 << 3 | WIRE_LEN, name.at, name.n);
}

static bool put_node(et_writer *w, uint32_t i)
{
    const halley_trace *const t = w->t;
    const trace_store *const s = &t->s;
    const uint32_t data_at = s->data_at.n ? s->data_at.at[i] : 0;
    const uint32_t ctrl_at = s->ctrl_at.n ? s->ctrl_at.at[i] : 0;
    const uint64_t *const values = s->values.n ? s->values.at + s->value_at.at[i] : NULL;
    const uint64_t type = (uint64_t)(int64_t)(int32_t)halley_node_type_of(t, i);
    return put_number(w, 1 << 3, halley_node_id(t, i)) && put_name(w, i) &&
           put_number(w, 3 << 3, type) &&
           put_deps(w, 4 << 3 | WIRE_LEN, t->ctrl, &s->ctrl_ids, ctrl_at,
                    halley_node_ctrl_count(t, i)) &&
           put_deps(w, 5 << 3 | WIRE_LEN, t->data, &s->data_ids, data_at,
                    halley_node_data_count(t, i)) &&
           put_number(w, 6 << 3, column_get(&s->starts, i)) &&
           put_number(w, 7 << 3, column_get(&s->durations, i)) &&
           put_io(w, 8 << 3 | WIRE_LEN, column_get(&s->inputs, i)) &&
           put_io(w, 9 << 3 | WIRE_LEN, column_get(&s->outputs, i)) &&
           put_attrs(w, 10 << 3 | WIRE_LEN, s->shape.at[i], values) &&
           put_raw(w, s->extras.n ? halley_node_unknown(t, i) : (halley_bytes){"", 0});
}

static bool put_meta(et_writer *w)
{
    const trace_meta *const m = &w->t->s.meta;
    const str version = trace_text(&w->t->s, m->version);
    if (version.n && !put_bytes(w, 1 << 3 | WIRE_LEN, version.at, version.n))
        return false;
    if (m->present && !put_attrs(w, 2 << 3 | WIRE_LEN, m->shape, m->values))
        return false;
    return put_raw(w, halley_trace_metadata_unknown(w->t));
}

/*
 * Without metadata, or with empty metadata, unknown fields can make the first nodes look
 * like an old schema. Writing empty metadata rules that out in most cases, and writing an
 * explicit empty version in all cases.
 */
static halley_status rule_out_old(et_writer *w, bool has_meta, halley_error *err)
{
    static const uint8_t empty[] = {0}, versioned[] = {2, 1 << 3 | WIRE_LEN, 0};
    if (!array_reserve(&w->buf, FILE_PAD + sizeof versioned))
        return error_nomem(err);
    for (size_t step = has_meta ? 1 : 0; step < 2; step++) {
        const et_old_schema *old;
        TRY(et_old_recognise(&old, w->buf.at, w->buf.n, err));
        if (!old)
            break;
        const size_t n_new = step == 0 ? sizeof empty : sizeof versioned;
        memmove(w->buf.at + n_new, w->buf.at + step, w->buf.n - step);
        memcpy(w->buf.at, step == 0 ? empty : versioned, n_new);
        w->buf.n += n_new - step;
    }
    return HALLEY_OK;
}

/*
 * Unknown fields can make metadata look like a node, and a node without metadata before
 * it look like metadata. An explicit empty version marks the former as metadata. Empty
 * metadata before the latter marks it as a node. *start is where the first message
 * begins, after the room for its length.
 */
static halley_status settle_first(et_writer *w, size_t *start, bool *has_meta,
                                  halley_error *err)
{
    static const uint8_t version[] = {1 << 3 | WIRE_LEN, 0}, empty[] = {0};
    bool is_meta = false;
    if (*has_meta && w->t->s.meta.unknown == 0)
        return HALLEY_OK;
    if (!array_reserve(&w->buf, FILE_PAD))
        return error_nomem(err);
    memset(w->buf.at + w->buf.n, 0, FILE_PAD);
    TRY(et_first_is_meta(&is_meta, w->buf.at + *start, w->buf.n - *start, err));
    if (is_meta == *has_meta)
        return HALLEY_OK;
    const size_t at = *has_meta ? *start : 0;
    const size_t n_new = *has_meta ? sizeof version : sizeof empty;
    memmove(w->buf.at + at + n_new, w->buf.at + at, w->buf.n - at);
    memcpy(w->buf.at + at, *has_meta ? version : empty, n_new);
    w->buf.n += n_new;
    *start += *has_meta ? 0 : n_new;
    *has_meta = true;
    return HALLEY_OK;
}

static halley_status write_all(et_writer *w, halley_error *err)
{
    const uint32_t n = w->t->s.n;
    const uint32_t n_sample = n < ET_OLD_SAMPLE ? n : ET_OLD_SAMPLE;
    uint32_t guess = 1;
    /* A trace that was read without metadata is written without it. */
    bool has_meta = w->t->s.meta.present;
    const uint64_t first = has_meta ? 0 : 1;
    bool doubtful = true;
    for (uint64_t i = first; i <= n; i++) {
        if (!make_output_room(w, 16))
            return error_nomem(err);
        size_t start = open_length(w, guess);
        if (!(i == 0 ? put_meta(w) : put_node(w, (uint32_t)(i - 1))))
            return error_nomem(err);
        const size_t length = w->buf.n - start;
        if (i > 0 && length == 0) {
            error_set(
                err, HALLEY_EINVAL,
                "a node with id 0, type 0 and nothing else has no bytes in an .et file; "
                "give it a name or another id");
            error_at_node(err, 0);
            return HALLEY_EINVAL;
        }
        if (i == first)
            TRY(settle_first(w, &start, &has_meta, err));
        if (!close_length(w, start, guess))
            return error_nomem(err);
        guess = wire_varint_size(length);
        doubtful &= i > 0 || length == 0;
        if (doubtful && i == n_sample) {
            TRY(rule_out_old(w, has_meta, err));
            doubtful = false;
        }
        if (w->to && w->buf.n >= FLUSH_BYTES && !doubtful) {
            file_output_write(w->to, w->buf.at, w->buf.n);
            w->buf.n = 0;
        }
    }
    return HALLEY_OK;
}

halley_status halley_trace_encode_et(uint8_t **out, size_t *n, const halley_trace *trace,
                                     halley_error *err)
{
    et_writer w = {.t = trace};
    if (trace->lender && trace->lender->layout)
        return et_encode_twin(out, n, trace, err);
    const halley_status status = write_all(&w, err);
    if (status) {
        array_fini(&w.buf);
        return status;
    }
    *out = w.buf.at;
    *n = w.buf.n;
    return HALLEY_OK;
}

void et_keep_encoded(halley_trace *trace, uint8_t *bytes, size_t n)
{
    array_fini(&trace->encoded);
    trace->encoded.at = bytes;
    trace->encoded.n = trace->encoded.cap = n;
}

halley_status halley_trace_save_et(const halley_trace *trace, const char *path,
                                   halley_error *err)
{
    et_writer w = {.t = trace};
    TRY(file_output_open(&w.to, path, err));
    if (trace->encoded.n > 0) {
        file_output_write(w.to, trace->encoded.at, trace->encoded.n);
        return file_output_commit(w.to, err);
    }
    halley_status status = trace->lender && trace->lender->layout
                               ? et_encode_twin(&w.buf.at, &w.buf.n, trace, err)
                               : write_all(&w, err);
    if (status) {
        file_output_abort(w.to);
        error_at_file(err, path);
    } else {
        file_output_write(w.to, w.buf.at, w.buf.n);
        status = file_output_commit(w.to, err);
    }
    array_fini(&w.buf);
    return status;
}

struct et_stream {
    et_writer w;
    uint32_t guess; /* bytes of the previous length */
    bool has_meta;  /* the metadata has been written */
};

halley_status et_stream_open(et_stream **out, const char *path, halley_error *err)
{
    et_stream *const stream = mem_array_zero(1, sizeof *stream);
    if (stream == NULL)
        return error_nomem(err);
    stream->guess = 1;
    stream->w.unfinished = true;
    const halley_status status = file_output_open(&stream->w.to, path, err);
    if (status != HALLEY_OK)
        free(stream);
    else
        *out = stream;
    return status;
}

/* Write one message with its length before it: the metadata, or node `i`. */
static bool put_message(et_stream *stream, bool is_meta, uint32_t i)
{
    et_writer *const w = &stream->w;
    if (make_output_room(w, 16) == NULL)
        return false;
    const size_t start = open_length(w, stream->guess);
    if (!(is_meta ? put_meta(w) : put_node(w, i)))
        return false;
    const size_t length = w->buf.n - start;
    assert(length > 0); /* otherwise the file would need the checks of write_all */
    if (!close_length(w, start, stream->guess))
        return false;
    stream->guess = wire_varint_size(length);
    return true;
}

halley_status et_stream_put(et_stream *stream, const trace_store *s, halley_error *err)
{
    const halley_trace view = {.s = *s}; /* lent: nothing of it is freed */
    et_writer *const w = &stream->w;
    assert(s->meta.present && s->meta.unknown == 0);
    w->t = &view;
    bool ok = stream->has_meta || put_message(stream, true, 0);
    for (uint32_t i = 0; ok && i < s->n; i++)
        ok = put_message(stream, false, i);
    w->t = NULL;
    stream->has_meta = true;
    if (!ok)
        return error_nomem(err);
    file_output_write(w->to, w->buf.at, w->buf.n);
    w->buf.n = 0;
    return HALLEY_OK;
}

halley_status et_stream_commit(et_stream *stream, halley_error *err)
{
    const halley_status status = file_output_commit(stream->w.to, err);
    array_fini(&stream->w.buf);
    free(stream);
    return status;
}

void et_stream_abort(et_stream *stream)
{
    if (stream == NULL)
        return;
    file_output_abort(stream->w.to);
    array_fini(&stream->w.buf);
    free(stream);
}
