/*
 * Decode one AttributeProto: name, doc, and one member of the oneof.
 *
 * Nearly every attribute has the same bytes before its value as the attribute at this
 * position of an earlier node. `guess` compares with those bytes and decodes the value.
 * What it does not recognise goes through `parse`, which reads field by field and accepts
 * all that protobuf accepts.
 */
#include "trace/format/et.h"

#include <string.h>

/* Decode a text. This is a separate function, because taking the address of a local adds
 * a stack check to the function that contains it. */
static __attribute__((noinline)) bool guess_text(const et_decoder *d, const uint8_t *p,
                                                 const uint8_t *end)
{
    const uint8_t *bytes;
    size_t length;
    text_ref ref;
    return wire_len(&p, end, &bytes, &length) && p == end &&
           et_text(d, &ref, bytes, length) == HALLEY_OK && array_push(&d->s->values, ref);
}

static bool guess_kind(const et_decoder *d, uint32_t *state, const uint8_t *at, size_t n)
{
    attr_shapes *const shapes = &d->s->shapes;
    const attr_state *const from = &shapes->states.at[*state];
    const attr_desc *const desc = &shapes->descs.at[from->next_desc];
    if (n <= desc->n_header ||
        memcmp(at, shapes->headers.at + desc->header_at, desc->n_header))
        return false;
    const uint8_t *p = at + desc->n_header, *const end = at + n;
    const halley_attr_kind kind = (halley_attr_kind)desc->kind;
    uint64_t bits = 0;
    if (kind == HALLEY_ATTR_STRING || kind == HALLEY_ATTR_BYTES) {
        if (!guess_text(d, p, end))
            return false;
        *state = from->next_state;
        return true;
    } else if (halley_attr_is_list(kind)) {
        return false;
    } else if (kind == HALLEY_ATTR_DOUBLE || kind == HALLEY_ATTR_FIXED64 ||
               kind == HALLEY_ATTR_SFIXED64) {
        if (!wire_fixed64(&p, end, &bits))
            return false;
    } else if (kind == HALLEY_ATTR_FLOAT || kind == HALLEY_ATTR_FIXED32 ||
               kind == HALLEY_ATTR_SFIXED32) {
        uint32_t low;
        if (!wire_fixed32(&p, end, &low))
            return false;
        bits = kind == HALLEY_ATTR_SFIXED32 ? (uint64_t)(int64_t)(int32_t)low : low;
    } else {
        if (!wire_varint(&p, end, &bits))
            return false;
        bits = et_from_varint(kind, bits);
    }
    if (p != end || !array_push(&d->s->values, bits))
        return false;
    *state = from->next_state;
    return true;
}

/* The values of the fields of an attribute. */
typedef struct attr_fields {
    str name, doc;
    halley_attr_kind kind;
    uint64_t bits;  /* of a number */
    byte_run bytes; /* a text, or a list in one or several pieces */
    byte_run unknown;
} attr_fields;

static halley_status take_value(const et_decoder *d, attr_fields *f,
                                halley_attr_kind kind, const uint8_t **at,
                                const uint8_t *end)
{
    const uint8_t *const start = *at;
    const uint8_t *bytes;
    size_t n;
    uint32_t low;
    bool fine;
    /* A list that occurs twice is merged; anything else is replaced. */
    if (!(halley_attr_is_list(kind) && f->kind == kind))
        byte_run_fini(&f->bytes);
    f->kind = kind;
    switch (et_wire_type(kind)) {
    case WIRE_FIXED64:
        fine = wire_fixed64(at, end, &f->bits);
        break;
    case WIRE_FIXED32:
        fine = wire_fixed32(at, end, &low);
        f->bits = !fine                          ? 0
                  : kind == HALLEY_ATTR_SFIXED32 ? (uint64_t)(int64_t)(int32_t)low
                                                 : low;
        break;
    case WIRE_LEN:
        fine = wire_len(at, end, &bytes, &n);
        if (fine && !byte_run_add(&f->bytes, bytes, n))
            return error_nomem(d->err);
        break;
    default:
        fine = wire_varint(at, end, &f->bits);
        f->bits = fine ? et_from_varint(kind, f->bits) : 0;
    }
    return fine ? HALLEY_OK
                : et_bad(d, start, "attribute \"%.*s\": its %s is malformed or cut",
                         STR_ARG(f->name), halley_attr_kind_name(kind));
}

static halley_status take_field(const et_decoder *d, attr_fields *f, const uint8_t **at,
                                const uint8_t *end)
{
    const uint8_t *const start = *at;
    const uint8_t *bytes;
    size_t n;
    uint32_t field;
    wire_type type;
    if (!wire_tag(at, end, &field, &type))
        return et_bad(d, start, "attribute \"%.*s\": malformed field", STR_ARG(f->name));
    if (field >= HALLEY_ATTR_END) {
        if (!wire_skip(at, end, field, type))
            return et_bad(d, start, "attribute \"%.*s\": unknown field %u is cut",
                          STR_ARG(f->name), field);
        return byte_run_add(&f->unknown, start, (size_t)(*at - start))
                   ? HALLEY_OK
                   : error_nomem(d->err);
    }
    const wire_type wanted =
        field <= 2 ? WIRE_LEN : et_wire_type((halley_attr_kind)field);
    if (type != wanted)
        return et_bad(d, start,
                      "attribute \"%.*s\": field %u has wire type %d, must be %d",
                      STR_ARG(f->name), field, (int)type, (int)wanted);
    if (field > 2)
        return take_value(d, f, (halley_attr_kind)field, at, end);
    if (!wire_len(at, end, &bytes, &n))
        return et_bad(d, start, "attribute \"%.*s\": its %s runs beyond its message",
                      STR_ARG(f->name), field == 1 ? "name" : "doc_string");
    *(field == 1 ? &f->name : &f->doc) = (str){(const char *)bytes, n};
    return HALLEY_OK;
}

static halley_status take_text(const et_decoder *d, attr_fields *f)
{
    text_ref ref = 0;
    et_decoder inner = *d;
    if (f->bytes.joined.n)
        inner.foreign = true;
    if (halley_attr_is_list(f->kind))
        TRY(et_read_list(&inner, &ref, f->kind, f->bytes.at, f->bytes.n));
    else if (inner.foreign)
        ref =
            trace_text_copy(d->s, (str){(const char *)f->bytes.at, f->bytes.n}, (str){0});
    else
        TRY(et_text(d, &ref, f->bytes.at, f->bytes.n));
    f->bits = ref;
    return ref ? HALLEY_OK : error_nomem(d->err);
}

static halley_status keep_fields(const et_decoder *d, attr_fields *f, uint32_t *state)
{
    if (f->kind != HALLEY_ATTR_NONE && et_wire_type(f->kind) == WIRE_LEN)
        TRY(take_text(d, f));
    text_ref unknown = 0;
    TRY(et_keep(d, &unknown, &f->unknown));
    const uint32_t desc =
        attr_shapes_desc(&d->s->shapes, f->name, f->doc, (uint8_t)f->kind, unknown != 0);
    const uint32_t next =
        desc == HASH_NONE ? HASH_NONE : attr_shapes_step(&d->s->shapes, *state, desc);
    if (next == HASH_NONE || !array_push(&d->s->values, f->bits) ||
        (unknown && !array_push(&d->s->values, unknown)))
        return error_nomem(d->err);
    *state = next;
    return HALLEY_OK;
}

static __attribute__((noinline)) halley_status
parse_attr(const et_decoder *d, uint32_t *state, const uint8_t *at, size_t n)
{
    attr_fields f = {0};
    const uint8_t *const start = at, *const end = at + n;
    halley_status status = HALLEY_OK;
    while (at < end && !status)
        status = take_field(d, &f, &at, end);
    if (!status)
        status = keep_fields(d, &f, state);
    if (status == HALLEY_EFORMAT) /* a merged list has no position in the file */
        error_at_offset(d->err, et_offset(d, start));
    byte_run_fini(&f.bytes);
    byte_run_fini(&f.unknown);
    return status;
}

halley_status et_read_attr(const et_decoder *d, uint32_t *state, const uint8_t *at,
                           size_t n)
{
    if (!d->foreign && guess_kind(d, state, at, n))
        return HALLEY_OK;
    return parse_attr(d, state, at, n);
}
