/* Making a trace node by node. Everything is copied into the trace's own text. */
#include "trace/et.h"

#include <string.h>

struct halley_builder {
    trace_store s;
    halley_status failed; /* the first failure, kept until finish */
    halley_error err;
    bool open; /* a node has been started and not closed */
    uint64_t id;
    uint32_t type;
    uint32_t state, first_value;
    uint32_t meta_state;
    u64_array meta_values;
    uint32_t max_nodes;
};

halley_status halley_builder_new(halley_builder **out, halley_error *err)
{
    halley_builder *const b = mem_array_zero(1, sizeof *b);
    if (!b)
        return error_nomem(err);
    if (!trace_store_init(&b->s)) {
        trace_store_fini(&b->s);
        free(b);
        return error_nomem(err);
    }
    b->s.meta.present = true;
    b->max_nodes = UINT32_MAX - 1;
    *out = b;
    return HALLEY_OK;
}

static halley_status fail(halley_builder *b, halley_status status)
{
    if (!b->failed) {
        b->failed = status;
        if (!b->err.code)
            error_set(&b->err, status, "%s", halley_status_text(status));
    }
    return b->failed;
}

static halley_status nomem(halley_builder *b)
{
    return fail(b, HALLEY_ENOMEM);
}

static text_ref copy(halley_builder *b, halley_bytes bytes)
{
    return trace_text_copy(&b->s, (str){bytes.at, bytes.n}, (str){0});
}

halley_status halley_builder_version(halley_builder *b, halley_bytes version)
{
    if (b->failed || version.n == 0)
        return b->failed;
    b->s.meta.version = copy(b, version);
    return b->s.meta.version ? HALLEY_OK : nomem(b);
}

halley_status halley_builder_metadata_unknown(halley_builder *b, halley_bytes unknown)
{
    if (b->failed || unknown.n == 0)
        return b->failed;
    b->s.meta.unknown = copy(b, unknown);
    return b->s.meta.unknown ? HALLEY_OK : nomem(b);
}

/* Append an attribute to a sequence: its value(s) and the next state. */
static halley_status add_attr(halley_builder *b, uint32_t *state, u64_array *values,
                              const halley_attr *attr)
{
    uint64_t bits = attr->bits;
    if (attr->kind != HALLEY_ATTR_NONE && et_wire_type(attr->kind) == WIRE_LEN) {
        bits = copy(b, attr->bytes);
        if (bits == 0)
            return nomem(b);
    }
    const uint32_t desc = attr_shapes_desc(
        &b->s.shapes, (str){attr->name.at, attr->name.n},
        (str){attr->doc.at, attr->doc.n}, (uint8_t)attr->kind, attr->unknown.n > 0);
    const uint32_t next =
        desc == HASH_NONE ? HASH_NONE : attr_shapes_step(&b->s.shapes, *state, desc);
    if (next == HASH_NONE || !array_push(values, bits))
        return nomem(b);
    if (attr->unknown.n) {
        const text_ref unknown = copy(b, attr->unknown);
        if (unknown == 0 || !array_push(values, unknown))
            return nomem(b);
    }
    *state = next;
    return HALLEY_OK;
}

halley_status halley_builder_metadata(halley_builder *b, const halley_attr *attr)
{
    return b->failed ? b->failed : add_attr(b, &b->meta_state, &b->meta_values, attr);
}

static halley_status close_node(halley_builder *b)
{
    if (b->failed || !b->open)
        return b->failed;
    b->open = false;
    const halley_status status = trace_store_close_node(
        &b->s, b->id, (int32_t)b->type, b->state, b->first_value, &b->err);
    return status ? fail(b, status) : HALLEY_OK;
}

halley_status halley_builder_node(halley_builder *b, uint64_t id, uint32_t type,
                                  halley_bytes name)
{
    TRY(close_node(b));
    if (b->s.n >= b->max_nodes)
        return fail(b, error_set(&b->err, HALLEY_ELIMIT,
                                 "more than %u nodes in one trace", b->max_nodes));
    text_ref ref = 0;
    if (name.n && (ref = copy(b, name)) == 0)
        return nomem(b);
    if (!column_put(&b->s.names, b->s.n, ref))
        return nomem(b);
    b->open = true;
    b->id = id;
    b->type = type;
    b->state = 0;
    b->first_value = (uint32_t)b->s.values.n;
    return HALLEY_OK;
}

halley_status halley_builder_time(halley_builder *b, uint64_t start_us,
                                  uint64_t duration_us)
{
    if (b->failed)
        return b->failed;
    return column_put(&b->s.starts, b->s.n, start_us) &&
                   column_put(&b->s.durations, b->s.n, duration_us)
               ? HALLEY_OK
               : nomem(b);
}

halley_status halley_builder_data(halley_builder *b, uint64_t id)
{
    if (b->failed)
        return b->failed;
    return array_push(&b->s.data_ids, id) ? HALLEY_OK : nomem(b);
}

halley_status halley_builder_ctrl(halley_builder *b, uint64_t id)
{
    if (b->failed)
        return b->failed;
    return array_push(&b->s.ctrl_ids, id) ? HALLEY_OK : nomem(b);
}

static bool put_field(u8_array *to, uint8_t tag, halley_bytes bytes)
{
    if (bytes.n == 0)
        return true;
    if (!array_reserve(to, bytes.n + 11))
        return false;
    uint8_t *at = to->at + to->n;
    *at++ = tag;
    at = wire_put_varint(at, bytes.n);
    memcpy(at, bytes.at, bytes.n);
    to->n = (size_t)(at - to->at) + bytes.n;
    return true;
}

static halley_status put_io(halley_builder *b, u64_array *column, const halley_io *io)
{
    if (b->failed || !io->present)
        return b->failed;
    u8_array message = {0};
    text_ref ref = 0;
    if (put_field(&message, 1 << 3 | WIRE_LEN, io->values) &&
        put_field(&message, 2 << 3 | WIRE_LEN, io->shapes) &&
        put_field(&message, 3 << 3 | WIRE_LEN, io->types))
        ref = trace_text_copy(&b->s, (str){(const char *)message.at, message.n},
                              (str){io->unknown.at, io->unknown.n});
    array_fini(&message);
    return ref && column_put(column, b->s.n, ref) ? HALLEY_OK : nomem(b);
}

halley_status halley_builder_inputs(halley_builder *b, const halley_io *io)
{
    return put_io(b, &b->s.inputs, io);
}

halley_status halley_builder_outputs(halley_builder *b, const halley_io *io)
{
    return put_io(b, &b->s.outputs, io);
}

halley_status halley_builder_attr(halley_builder *b, const halley_attr *attr)
{
    return b->failed ? b->failed : add_attr(b, &b->state, &b->s.values, attr);
}

static halley_status add_number(halley_builder *b, const char *name,
                                halley_attr_kind kind, uint64_t bits)
{
    const halley_attr attr = {.name = {name, strlen(name)}, .kind = kind, .bits = bits};
    return halley_builder_attr(b, &attr);
}

halley_status halley_builder_attr_i64(halley_builder *b, const char *name, int64_t value)
{
    return add_number(b, name, HALLEY_ATTR_INT64, (uint64_t)value);
}

halley_status halley_builder_attr_u64(halley_builder *b, const char *name, uint64_t value)
{
    return add_number(b, name, HALLEY_ATTR_UINT64, value);
}

halley_status halley_builder_attr_i32(halley_builder *b, const char *name, int32_t value)
{
    return add_number(b, name, HALLEY_ATTR_INT32, (uint64_t)(int64_t)value);
}

halley_status halley_builder_attr_bool(halley_builder *b, const char *name, bool value)
{
    return add_number(b, name, HALLEY_ATTR_BOOL, value);
}

halley_status halley_builder_attr_text(halley_builder *b, const char *name,
                                       halley_bytes value)
{
    const halley_attr attr = {
        .name = {name, strlen(name)}, .kind = HALLEY_ATTR_STRING, .bytes = value};
    return halley_builder_attr(b, &attr);
}

halley_status halley_builder_unknown(halley_builder *b, halley_bytes unknown)
{
    if (b->failed || unknown.n == 0)
        return b->failed;
    const node_extra extra = {copy(b, unknown), b->s.n, EXTRA_UNKNOWN};
    return extra.value && array_push(&b->s.extras, extra) ? HALLEY_OK : nomem(b);
}

halley_status halley_builder_copy(halley_builder *b, const halley_trace *from,
                                  uint32_t node)
{
    TRY(halley_builder_node(b, halley_node_id(from, node),
                            halley_node_type_of(from, node),
                            halley_node_name(from, node)));
    for (uint32_t i = 0; i < halley_node_ctrl_count(from, node); i++)
        TRY(halley_builder_ctrl(b, halley_node_ctrl(from, node, i).id));
    for (uint32_t i = 0; i < halley_node_data_count(from, node); i++)
        TRY(halley_builder_data(b, halley_node_data(from, node, i).id));
    return halley_builder_copy_rest(b, from, node);
}

halley_status halley_builder_copy_rest(halley_builder *b, const halley_trace *from,
                                       uint32_t node)
{
    TRY(halley_builder_time(b, halley_node_start_us(from, node),
                            halley_node_duration_us(from, node)));
    const halley_io inputs = halley_node_inputs(from, node);
    const halley_io outputs = halley_node_outputs(from, node);
    TRY(halley_builder_inputs(b, &inputs));
    TRY(halley_builder_outputs(b, &outputs));
    for (uint32_t i = 0; i < halley_node_attr_count(from, node); i++) {
        const halley_attr attr = halley_node_attr(from, node, i);
        TRY(halley_builder_attr(b, &attr));
    }
    return halley_builder_unknown(b, halley_node_unknown(from, node));
}

void builder_set_max_nodes(halley_builder *b, uint32_t n)
{
    b->max_nodes = n ? n : UINT32_MAX - 1;
}

void builder_set_metadata(halley_builder *b, bool present)
{
    b->s.meta.present = present;
}

halley_status halley_builder_finish(halley_trace **out, halley_builder *b,
                                    halley_error *err)
{
    return builder_finish_as(out, b, "", HALLEY_FORM_BUILT, err);
}

halley_status builder_finish_as(halley_trace **out, halley_builder *b, const char *path,
                                halley_trace_form form, halley_error *err)
{
    halley_status status = close_node(b);
    if (!status) {
        b->s.meta.shape = attr_shapes_end(&b->s.shapes, b->meta_state);
        b->s.meta.values = b->meta_values.at;
        b->meta_values.at = NULL;
        if (b->s.meta.shape == HASH_NONE)
            status = nomem(b);
    }
    if (!status) {
        file_input none = {0};
        status = trace_finish(out, &b->s, &none, path, form, err);
    } else if (err) {
        *err = b->err;
    }
    trace_store_fini(&b->s);
    array_fini(&b->meta_values);
    free(b);
    return status;
}
