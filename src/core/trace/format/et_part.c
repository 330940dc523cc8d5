/*
 * The sub-messages of a node: IOInfo, attributes, lists. Each is checked completely here,
 * once. So code that reads a trace later never sees malformed bytes.
 */
#include "trace/format/et.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_names[HALLEY_ATTR_END] = {
    [HALLEY_ATTR_DOUBLE] = "double_val",
    [HALLEY_ATTR_DOUBLE_LIST] = "double_list",
    [HALLEY_ATTR_FLOAT] = "float_val",
    [HALLEY_ATTR_FLOAT_LIST] = "float_list",
    [HALLEY_ATTR_INT32] = "int32_val",
    [HALLEY_ATTR_INT32_LIST] = "int32_list",
    [HALLEY_ATTR_INT64] = "int64_val",
    [HALLEY_ATTR_INT64_LIST] = "int64_list",
    [HALLEY_ATTR_UINT32] = "uint32_val",
    [HALLEY_ATTR_UINT32_LIST] = "uint32_list",
    [HALLEY_ATTR_UINT64] = "uint64_val",
    [HALLEY_ATTR_UINT64_LIST] = "uint64_list",
    [HALLEY_ATTR_SINT32] = "sint32_val",
    [HALLEY_ATTR_SINT32_LIST] = "sint32_list",
    [HALLEY_ATTR_SINT64] = "sint64_val",
    [HALLEY_ATTR_SINT64_LIST] = "sint64_list",
    [HALLEY_ATTR_FIXED32] = "fixed32_val",
    [HALLEY_ATTR_FIXED32_LIST] = "fixed32_list",
    [HALLEY_ATTR_FIXED64] = "fixed64_val",
    [HALLEY_ATTR_FIXED64_LIST] = "fixed64_list",
    [HALLEY_ATTR_SFIXED32] = "sfixed32_val",
    [HALLEY_ATTR_SFIXED32_LIST] = "sfixed32_list",
    [HALLEY_ATTR_SFIXED64] = "sfixed64_val",
    [HALLEY_ATTR_SFIXED64_LIST] = "sfixed64_list",
    [HALLEY_ATTR_BOOL] = "bool_val",
    [HALLEY_ATTR_BOOL_LIST] = "bool_list",
    [HALLEY_ATTR_STRING] = "string_val",
    [HALLEY_ATTR_STRING_LIST] = "string_list",
    [HALLEY_ATTR_BYTES] = "bytes_val",
    [HALLEY_ATTR_BYTES_LIST] = "bytes_list",
};

const char *halley_attr_kind_name(halley_attr_kind kind)
{
    const char *const name = kind < HALLEY_ATTR_END ? kind_names[kind] : NULL;
    return name ? name : "none";
}

halley_status et_bad(const et_decoder *d, const uint8_t *at, const char *format, ...)
{
    if (!d->err)
        return HALLEY_EFORMAT;
    char text[HALLEY_ERROR_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    error_set(d->err, HALLEY_EFORMAT, "%s", text);
    if (!d->foreign) /* otherwise the caller knows a position in the file */
        error_at_offset(d->err, et_offset(d, at));
    return HALLEY_EFORMAT;
}

halley_status et_text(const et_decoder *d, text_ref *out, const uint8_t *at, size_t n)
{
    const uint64_t offset = d->copies ? d->s->own.n : et_offset(d, at);
    if (offset > TEXT_MAX_OFFSET)
        return error_set(
            d->err, HALLEY_ELIMIT,
            "the file is too large: text beyond 512 GiB cannot be addressed");
    const text_ref ref = d->copies
                             ? trace_text_copy(d->s, (str){(const char *)at, n}, (str){0})
                             : trace_text_ref(d->s, offset, n, false);
    if (ref == 0)
        return error_nomem(d->err);
    *out = ref;
    return HALLEY_OK;
}

bool byte_run_add(byte_run *run, const uint8_t *at, size_t n)
{
    if (run->joined.n == 0) {
        if (run->n == 0 || run->at + run->n == at) {
            run->at = run->n ? run->at : at;
            run->n += n;
            return true;
        }
        if (!array_reserve(&run->joined, run->n))
            return false;
        memcpy(run->joined.at, run->at, run->n);
        run->joined.n = run->n;
    }
    if (!array_reserve(&run->joined, n))
        return false;
    memcpy(run->joined.at + run->joined.n, at, n);
    run->joined.n += n;
    run->at = run->joined.at;
    run->n = run->joined.n;
    return true;
}

void byte_run_fini(byte_run *run)
{
    array_fini(&run->joined);
    *run = (byte_run){0};
}

halley_status et_keep(const et_decoder *d, text_ref *out, const byte_run *run)
{
    if (run->n == 0)
        return HALLEY_OK;
    if (run->joined.n == 0 && !d->foreign)
        return et_text(d, out, run->at, run->n);
    const str bytes = {(const char *)run->at, run->n};
    *out = trace_text_copy(d->s, bytes, (str){0});
    return *out ? HALLEY_OK : error_nomem(d->err);
}

wire_type et_wire_type(halley_attr_kind kind)
{
    switch (kind) {
    case HALLEY_ATTR_DOUBLE:
    case HALLEY_ATTR_FIXED64:
    case HALLEY_ATTR_SFIXED64:
        return WIRE_FIXED64;
    case HALLEY_ATTR_FLOAT:
    case HALLEY_ATTR_FIXED32:
    case HALLEY_ATTR_SFIXED32:
        return WIRE_FIXED32;
    case HALLEY_ATTR_STRING:
    case HALLEY_ATTR_BYTES:
        return WIRE_LEN;
    default:
        return halley_attr_is_list(kind) ? WIRE_LEN : WIRE_VARINT;
    }
}

/* The fields of an IOInfo: by number, and the rest. */
typedef struct io_fields {
    const uint8_t *at[4];
    size_t n[4];
    byte_run unknown;
    bool tidy; /* exactly as protobuf writes it */
} io_fields;

static halley_status walk_io(const et_decoder *d, io_fields *f, const uint8_t *at,
                             const uint8_t *end)
{
    uint32_t last = 0;
    f->tidy = true;
    while (at < end) {
        const uint8_t *const start = at;
        uint32_t field;
        wire_type type;
        if (!wire_tag(&at, end, &field, &type))
            return et_bad(d, start, "inputs or outputs: malformed field");
        if (field <= 3 && type != WIRE_LEN)
            return et_bad(d, start,
                          "inputs or outputs: field %u has wire type %d, must be 2",
                          field, (int)type);
        if (field <= 3 && !wire_len(&at, end, &f->at[field], &f->n[field]))
            return et_bad(d, start, "inputs or outputs: field %u runs beyond its message",
                          field);
        if (field > 3 && !wire_skip(&at, end, field, type))
            return et_bad(d, start, "inputs or outputs: unknown field %u is cut", field);
        if (field > 3 && !byte_run_add(&f->unknown, start, (size_t)(at - start)))
            return error_nomem(d->err);
        if (field <= 3) {
            const size_t shortest = 1 + wire_varint_size(f->n[field]) + f->n[field];
            f->tidy &=
                field > last && f->n[field] > 0 && (size_t)(at - start) == shortest;
        }
        f->tidy &= field >= last;
        last = field;
    }
    return HALLEY_OK;
}

static halley_status rewrite_io(const et_decoder *d, text_ref *ref, const io_fields *f)
{
    u8_array out = {0};
    if (!array_reserve(&out, f->n[1] + f->n[2] + f->n[3] + 40))
        return error_nomem(d->err);
    uint8_t *to = out.at;
    for (uint32_t field = 1; field <= 3; field++) {
        if (f->n[field] == 0)
            continue;
        *to++ = (uint8_t)(field << 3 | WIRE_LEN);
        to = wire_put_varint(to, f->n[field]);
        memcpy(to, f->at[field], f->n[field]);
        to += f->n[field];
    }
    const str known = {(const char *)out.at, (size_t)(to - out.at)};
    *ref = trace_text_copy(d->s, known, (str){(const char *)f->unknown.at, f->unknown.n});
    array_fini(&out);
    return *ref ? HALLEY_OK : error_nomem(d->err);
}

halley_status et_read_io(const et_decoder *d, text_ref *ref, const uint8_t *at, size_t n)
{
    io_fields f = {0};
    halley_status status = walk_io(d, &f, at, at + n);
    if (!status)
        status = f.tidy && !d->foreign ? et_text(d, ref, at, n) : rewrite_io(d, ref, &f);
    byte_run_fini(&f.unknown);
    return status;
}

/* Read one element of a list of numbers. */
static bool next_number(halley_attr_kind scalar, const uint8_t **at, const uint8_t *end,
                        uint64_t *bits)
{
    uint32_t low;
    switch (et_wire_type(scalar)) {
    case WIRE_FIXED64:
        return wire_fixed64(at, end, bits);
    case WIRE_FIXED32:
        if (!wire_fixed32(at, end, &low))
            return false;
        *bits = scalar == HALLEY_ATTR_SFIXED32 ? (uint64_t)(int64_t)(int32_t)low : low;
        return true;
    default:
        if (!wire_varint(at, end, bits))
            return false;
        *bits = et_from_varint(scalar, *bits);
        return true;
    }
}

bool halley_attr_list_next(const halley_attr *attr, size_t *cursor,
                           halley_attr_item *item)
{
    const halley_attr_kind scalar = (halley_attr_kind)(attr->kind - 1);
    const uint8_t *const start = (const uint8_t *)attr->bytes.at;
    const uint8_t *at = start, *end = start + attr->bytes.n;
    const uint8_t *bytes;
    size_t n;
    *item = (halley_attr_item){0};
    if (!halley_attr_is_list(attr->kind))
        return false;
    if (scalar == HALLEY_ATTR_STRING || scalar == HALLEY_ATTR_BYTES) {
        at += *cursor;
        if (at >= end || *at != 0x0a)
            return false;
        at++;
        if (!wire_len(&at, end, &bytes, &item->bytes.n))
            return false;
        item->bytes.at = (const char *)bytes;
        *cursor = (size_t)(at - start);
        return true;
    }
    /* A tidy list of numbers is one packed field, followed by unknown fields only. */
    if (at >= end || *at != 0x0a)
        return false;
    at++;
    if (!wire_len(&at, end, &bytes, &n))
        return false;
    end = bytes + n;
    at = *cursor ? start + *cursor : bytes;
    if (at >= end || !next_number(scalar, &at, end, &item->bits))
        return false;
    *cursor = (size_t)(at - start);
    return true;
}

bool et_list_add(et_list_writer *w, const halley_attr_item *item)
{
    const halley_attr_kind scalar = (halley_attr_kind)(w->kind - 1);
    if (!array_reserve(&w->bytes, item->bytes.n + 16))
        return false;
    uint8_t *const start = w->bytes.at + w->bytes.n;
    uint8_t *to = start;
    const wire_type type = et_wire_type(scalar);
    if (type == WIRE_LEN) {
        *to++ = 1 << 3 | WIRE_LEN;
        to = wire_put_varint(to, item->bytes.n);
        if (item->bytes.n)
            memcpy(to, item->bytes.at, item->bytes.n);
        to += item->bytes.n;
    } else if (type == WIRE_VARINT) {
        to = wire_put_varint(to, et_to_varint(scalar, item->bits));
    } else {
        const size_t n = type == WIRE_FIXED64 ? 8 : 4;
        memcpy(to, &item->bits, n);
        to += n;
    }
    w->bytes.n += (size_t)(to - start);
    return true;
}

bool et_list_finish(et_list_writer *w)
{
    if (et_wire_type((halley_attr_kind)(w->kind - 1)) == WIRE_LEN || w->bytes.n == 0)
        return true;
    if (!array_reserve(&w->bytes, 12))
        return false;
    uint8_t header[12] = {1 << 3 | WIRE_LEN};
    const size_t n = (size_t)(wire_put_varint(header + 1, w->bytes.n) - header);
    memmove(w->bytes.at + n, w->bytes.at, w->bytes.n);
    memcpy(w->bytes.at, header, n);
    w->bytes.n += n;
    return true;
}

/* Iterate over the elements of field 1, packed or single. */
static halley_status walk_elements(const et_decoder *d, et_list_writer *w, wire_type type,
                                   const uint8_t **at, const uint8_t *end)
{
    const halley_attr_kind scalar = (halley_attr_kind)(w->kind - 1);
    const uint8_t *const start = *at;
    const wire_type wanted = et_wire_type(scalar);
    halley_attr_item item = {0};
    const uint8_t *bytes = start, *stop = end;
    size_t n;
    if (type == WIRE_LEN) {
        if (!wire_len(at, end, &bytes, &n))
            return et_bad(d, start, "%s runs beyond its message",
                          halley_attr_kind_name(w->kind));
        stop = bytes + n;
        if (wanted == WIRE_LEN) {
            item.bytes = (halley_bytes){(const char *)bytes, n};
            return et_list_add(w, &item) ? HALLEY_OK : error_nomem(d->err);
        }
    } else if (type != wanted) {
        return et_bad(d, start, "%s has elements of wire type %d, must be %d",
                      halley_attr_kind_name(w->kind), (int)type, (int)wanted);
    }
    do {
        if (bytes >= stop && type == WIRE_LEN)
            break;
        if (!next_number(scalar, &bytes, stop, &item.bits))
            return et_bad(d, bytes, "%s has a malformed or cut element",
                          halley_attr_kind_name(w->kind));
        if (!et_list_add(w, &item))
            return error_nomem(d->err);
    } while (type == WIRE_LEN);
    if (type != WIRE_LEN)
        *at = bytes;
    return HALLEY_OK;
}

static halley_status walk_list(const et_decoder *d, et_list_writer *w, byte_run *unknown,
                               const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const uint8_t *const start = at;
        uint32_t field;
        wire_type type;
        if (!wire_tag(&at, end, &field, &type))
            return et_bad(d, start, "%s: malformed field",
                          halley_attr_kind_name(w->kind));
        if (field == 1) {
            TRY(walk_elements(d, w, type, &at, end));
            continue;
        }
        if (!wire_skip(&at, end, field, type))
            return et_bad(d, start, "%s: unknown field %u is cut",
                          halley_attr_kind_name(w->kind), field);
        if (!byte_run_add(unknown, start, (size_t)(at - start)))
            return error_nomem(d->err);
    }
    return HALLEY_OK;
}

halley_status et_read_list(const et_decoder *d, text_ref *ref, halley_attr_kind kind,
                           const uint8_t *at, size_t n)
{
    et_list_writer w = {.kind = kind};
    byte_run unknown = {0};
    halley_status status = walk_list(d, &w, &unknown, at, at + n);
    if (!status && !et_list_finish(&w))
        status = error_nomem(d->err);
    if (!status && !d->foreign && w.bytes.n + unknown.n == n &&
        (w.bytes.n == 0 || memcmp(w.bytes.at, at, w.bytes.n) == 0)) {
        status = et_text(d, ref, at, n);
    } else if (!status) {
        *ref = trace_text_copy(d->s, (str){(const char *)w.bytes.at, w.bytes.n},
                               (str){(const char *)unknown.at, unknown.n});
        status = *ref ? HALLEY_OK : error_nomem(d->err);
    }
    array_fini(&w.bytes);
    byte_run_fini(&unknown);
    return status;
}
