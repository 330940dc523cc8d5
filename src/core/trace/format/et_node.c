/* Decode one Node message, field by field, into the columns. */
#include "trace/format/et.h"

#include <string.h>

/* Fields of a node that cannot go into a column at once. */
typedef struct node_fields {
    uint64_t id;
    int32_t type;
    uint32_t state;       /* of its attributes so far */
    uint32_t first_value; /* in s->values */
    text_ref name;
    uint64_t start, duration;
    byte_run inputs, outputs; /* if a field occurs twice, its bytes are joined */
    bool has_inputs, has_outputs;
    byte_run unknown;
} node_fields;

static const struct node_field {
    const char *name;
    wire_type type;
} fields[] = {
    [1] = {"id", WIRE_VARINT},
    [2] = {"name", WIRE_LEN},
    [3] = {"type", WIRE_VARINT},
    [4] = {"ctrl_deps", WIRE_VARINT},
    [5] = {"data_deps", WIRE_VARINT},
    [6] = {"start_time_micros", WIRE_VARINT},
    [7] = {"duration_micros", WIRE_VARINT},
    [8] = {"inputs", WIRE_LEN},
    [9] = {"outputs", WIRE_LEN},
    [10] = {"attr", WIRE_LEN},
};

static halley_status report_cut_node(const et_decoder *d, const uint8_t *at,
                                     uint32_t field)
{
    return et_bad(d, at, "field %s is malformed or runs beyond its node",
                  fields[field].name);
}

static halley_status take_packed(const et_decoder *d, u64_array *to, uint32_t field,
                                 const uint8_t *at, const uint8_t *end)
{
    if (!array_reserve(to, (size_t)(end - at)))
        return error_nomem(d->err);
    while (at < end)
        if (!wire_varint(&at, end, &to->at[to->n++]))
            return report_cut_node(d, at, field);
    return HALLEY_OK;
}

/* Read a field that is not in the usual wire form. Unpacked lists are handled in the
 * switch instead. */
static halley_status take_other(const et_decoder *d, node_fields *f, const uint8_t **at,
                                const uint8_t *end)
{
    const uint8_t *const start = *at;
    uint32_t field;
    wire_type type;
    if (!wire_tag(at, end, &field, &type))
        return et_bad(d, start,
                      "node with a malformed field; the file is damaged or no .et");
    if (field < sizeof fields / sizeof *fields)
        return et_bad(d, start, "node field %s has wire type %d, must be %d",
                      fields[field].name, (int)type, (int)fields[field].type);
    if (!wire_skip(at, end, field, type))
        return et_bad(d, start, "unknown field %u of a node is malformed or cut", field);
    return byte_run_add(&f->unknown, start, (size_t)(*at - start)) ? HALLEY_OK
                                                                   : error_nomem(d->err);
}

/* If a known field has an overlong tag at *at, skip it and return the one-byte tag that
 * it represents; otherwise 0. */
static uint8_t shorten_tag(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *p = *at;
    uint32_t field;
    wire_type type;
    if (!wire_tag(&p, end, &field, &type) || field >= sizeof fields / sizeof *fields)
        return 0;
    *at = p;
    return (uint8_t)(field << 3 | type);
}

static halley_status take_fields(const et_decoder *d, node_fields *f, const uint8_t *at,
                                 const uint8_t *end)
{
    trace_store *const s = d->s;
    while (at < end) {
        const uint8_t *const start = at;
        const uint8_t tag = *at < 0x80 ? *at++ : shorten_tag(&at, end);
        const uint8_t *bytes;
        size_t n;
        uint64_t value;
        switch (tag) {
        case 1 << 3 | WIRE_VARINT:
        case 3 << 3 | WIRE_VARINT:
        case 4 << 3 | WIRE_VARINT:
        case 5 << 3 | WIRE_VARINT:
        case 6 << 3 | WIRE_VARINT:
        case 7 << 3 | WIRE_VARINT:
            if (!wire_varint(&at, end, &value))
                return report_cut_node(d, start, tag >> 3);
            if (tag >> 3 == 1)
                f->id = value;
            else if (tag >> 3 == 3)
                f->type = (int32_t)(uint32_t)value;
            else if (tag >> 3 == 6)
                f->start = value;
            else if (tag >> 3 == 7)
                f->duration = value;
            else if (!array_push(tag >> 3 == 4 ? &s->ctrl_ids : &s->data_ids, value))
                return error_nomem(d->err);
            break;
        case 2 << 3 | WIRE_LEN:
        case 4 << 3 | WIRE_LEN:
        case 5 << 3 | WIRE_LEN:
        case 8 << 3 | WIRE_LEN:
        case 9 << 3 | WIRE_LEN:
        case 10 << 3 | WIRE_LEN:
            if (!wire_len(&at, end, &bytes, &n))
                return report_cut_node(d, start, tag >> 3);
            if (tag >> 3 == 10) {
                TRY(et_read_attr(d, &f->state, bytes, n));
            } else if (tag >> 3 == 2) {
                f->name = 0;
                if (n)
                    TRY(et_text(d, &f->name, bytes, n));
            } else if (tag >> 3 == 4) {
                TRY(take_packed(d, &s->ctrl_ids, 4, bytes, bytes + n));
            } else if (tag >> 3 == 5) {
                TRY(take_packed(d, &s->data_ids, 5, bytes, bytes + n));
            } else {
                byte_run *const run = tag >> 3 == 8 ? &f->inputs : &f->outputs;
                *(tag >> 3 == 8 ? &f->has_inputs : &f->has_outputs) = true;
                if (!byte_run_add(run, bytes, n))
                    return error_nomem(d->err);
            }
            break;
        default:
            at = start;
            TRY(take_other(d, f, &at, end));
        }
    }
    return HALLEY_OK;
}

static halley_status take_io(const et_decoder *d, u64_array *column, const byte_run *run)
{
    et_decoder inner = *d;
    inner.foreign |= run->joined.n > 0;
    text_ref ref = 0;
    TRY(et_read_io(&inner, &ref, run->at, run->n));
    return column_put(column, d->s->n, ref) ? HALLEY_OK : error_nomem(d->err);
}

static halley_status keep_node(const et_decoder *d, const node_fields *f)
{
    trace_store *const s = d->s;
    const uint32_t i = s->n;
    if (f->has_inputs)
        TRY(take_io(d, &s->inputs, &f->inputs));
    if (f->has_outputs)
        TRY(take_io(d, &s->outputs, &f->outputs));
    if (f->unknown.n) {
        node_extra extra = {.node = i, .kind = EXTRA_UNKNOWN};
        TRY(et_keep(d, &extra.value, &f->unknown));
        if (!array_push(&s->extras, extra))
            return error_nomem(d->err);
    }
    if (!column_put(&s->names, i, f->name) || !column_put(&s->starts, i, f->start) ||
        !column_put(&s->durations, i, f->duration))
        return error_nomem(d->err);
    return trace_store_close_node(s, f->id, f->type, f->state, f->first_value, d->err);
}

halley_status et_read_node(const et_decoder *d, const uint8_t *at, size_t n)
{
    if (d->s->values.n > UINT32_MAX)
        return error_set(d->err, HALLEY_ELIMIT,
                         "more than 4294967295 attributes; split the trace");
    node_fields f = {.first_value = (uint32_t)d->s->values.n};
    halley_status status = take_fields(d, &f, at, at + n);
    if (!status)
        status = keep_node(d, &f);
    if (status == HALLEY_EFORMAT) /* a merged message has no position in the file */
        error_at_offset(d->err, et_offset(d, at));
    if (status && f.id)
        error_at_node(d->err, f.id);
    byte_run_fini(&f.inputs);
    byte_run_fini(&f.outputs);
    byte_run_fini(&f.unknown);
    return status;
}

/* GlobalMetadata { version = 1, attr = 2 }. */
static halley_status take_meta(const et_decoder *d, uint32_t *state, byte_run *unknown,
                               const uint8_t *at, const uint8_t *end)
{
    while (at < end) {
        const uint8_t *const start = at;
        const uint8_t *bytes;
        size_t n;
        uint32_t field;
        wire_type type;
        if (!wire_tag(&at, end, &field, &type))
            return et_bad(d, start,
                          "malformed field in the metadata; this is no Chakra trace");
        if (field <= 2 && (type != WIRE_LEN || !wire_len(&at, end, &bytes, &n)))
            return et_bad(d, start,
                          "metadata field %u is malformed; this is no Chakra trace",
                          field);
        if (field == 1) {
            d->s->meta.version = 0;
            if (n)
                TRY(et_text(d, &d->s->meta.version, bytes, n));
        } else if (field == 2) {
            TRY(et_read_attr(d, state, bytes, n));
        } else if (!wire_skip(&at, end, field, type)) {
            return et_bad(d, start, "unknown metadata field %u is malformed or cut",
                          field);
        } else if (!byte_run_add(unknown, start, (size_t)(at - start))) {
            return error_nomem(d->err);
        }
    }
    return HALLEY_OK;
}

halley_status et_read_meta(const et_decoder *d, const uint8_t *at, size_t n)
{
    trace_store *const s = d->s;
    byte_run unknown = {0};
    uint32_t state = 0;
    halley_status status = take_meta(d, &state, &unknown, at, at + n);
    if (!status)
        status = et_keep(d, &s->meta.unknown, &unknown);
    byte_run_fini(&unknown);
    if (status)
        return status;
    s->meta.present = true;
    s->meta.shape = attr_shapes_end(&s->shapes, state);
    s->meta.values = s->values.at; /* all values so far are the metadata's */
    s->values = (u64_array){0};
    return s->meta.shape == HASH_NONE ? error_nomem(d->err) : HALLEY_OK;
}
