/* Make a trace node by node. Everything is copied into the trace's own text. */
#include "base/call.h"
#include "trace/format/et.h"

#include <assert.h>
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
    et_stream *stream;               /* nodes are written there; NULL = into the trace */
    size_t n_meta_own, n_meta_longs; /* parts of the text that belong to the metadata */
    const halley_trace *copied;      /* the trace whose attributes were copied last */
    u32_array states;                /* by its shapes: the state here, or a mark below */
};

/* Nodes that are written at a time. */
enum { STREAM_NODES = 1024 };

/* Marks: the shape has not been met, or its attributes are copied one by one. */
static const uint32_t not_met = HASH_NONE, one_by_one = HASH_NONE - 1;

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

static halley_status fail_build(halley_builder *b, halley_status status)
{
    assert(status != HALLEY_OK);
    if (!b->failed) {
        b->failed = status;
        if (!b->err.code)
            error_set(&b->err, status, "%s", halley_status_text(status));
    }
    return b->failed;
}

static halley_status fail_for_memory(halley_builder *b)
{
    return fail_build(b, HALLEY_ENOMEM);
}

static text_ref copy_bytes(halley_builder *b, halley_bytes bytes)
{
    return trace_text_copy(&b->s, (str){bytes.at, bytes.n}, (str){0});
}

halley_status halley_builder_version(halley_builder *b, halley_bytes version)
{
    if (b->failed || version.n == 0)
        return b->failed;
    b->s.meta.version = copy_bytes(b, version);
    return b->s.meta.version ? HALLEY_OK : fail_for_memory(b);
}

/* Report an error if no node is open. */
static halley_status need_node(halley_builder *b)
{
    if (b->failed || b->open)
        return b->failed;
    return fail_build(b, error_set(&b->err, HALLEY_EINVAL,
                                   "there is no node yet to which this could belong"));
}

/* Check that unknown fields are complete and that the message does not define them. A
 * reader would accept only those. */
static halley_status check_unknown(halley_builder *b, halley_bytes unknown,
                                   uint32_t known)
{
    assert(unknown.n == 0 || unknown.at != NULL);
    const uint8_t *at = (const uint8_t *)(unknown.n ? unknown.at : "");
    const uint8_t *const end = at + unknown.n;
    while (at < end) {
        uint32_t field;
        wire_type type;
        if (!wire_tag(&at, end, &field, &type) || !wire_skip(&at, end, field, type) ||
            field <= known)
            return fail_build(
                b, error_set(&b->err, HALLEY_EINVAL,
                             "these bytes are no fields unknown to the schema"));
    }
    return HALLEY_OK;
}

halley_status halley_builder_metadata_unknown(halley_builder *b, halley_bytes unknown)
{
    if (b->failed || unknown.n == 0)
        return b->failed;
    TRY(check_unknown(b, unknown, 2));
    b->s.meta.unknown = copy_bytes(b, unknown);
    return b->s.meta.unknown ? HALLEY_OK : fail_for_memory(b);
}

/* The value as a reader would return it. */
static uint64_t tidy_bits(halley_attr_kind kind, uint64_t bits)
{
    if (kind == HALLEY_ATTR_NONE)
        return 0;
    switch (et_wire_type(kind)) {
    case WIRE_VARINT:
        return et_from_varint(kind, et_to_varint(kind, bits));
    case WIRE_FIXED32:
        return kind == HALLEY_ATTR_SFIXED32 ? (uint64_t)(int64_t)(int32_t)bits
                                            : (uint32_t)bits;
    default:
        return bits;
    }
}

/* The value of an attribute for the column: a number, or a reference to its text. */
static halley_status keep_value(halley_builder *b, const halley_attr *attr, uint64_t *out)
{
    assert(attr != NULL && out != NULL);
    const halley_attr_kind kind = attr->kind;
    if (kind >= HALLEY_ATTR_END || (kind > HALLEY_ATTR_NONE && kind < HALLEY_ATTR_DOUBLE))
        return fail_build(b, error_set(&b->err, HALLEY_EINVAL,
                                       "there is no attribute kind %d", (int)kind));
    if (halley_attr_is_list(kind)) {
        const uint8_t *const at = (const uint8_t *)(attr->bytes.n ? attr->bytes.at : "");
        const et_decoder d = {.s = &b->s, .base = at, .err = &b->err, .foreign = true};
        const halley_status status = et_read_list(&d, out, kind, at, attr->bytes.n);
        return status ? fail_build(b, status) : HALLEY_OK;
    }
    if (kind != HALLEY_ATTR_STRING && kind != HALLEY_ATTR_BYTES) {
        *out = tidy_bits(kind, attr->bits);
        return HALLEY_OK;
    }
    *out = copy_bytes(b, attr->bytes);
    return *out ? HALLEY_OK : fail_for_memory(b);
}

/* The next state, if the attribute is the one that followed last time; otherwise
 * HASH_NONE. */
static uint32_t as_predicted(const attr_shapes *s, uint32_t state,
                             const halley_attr *attr)
{
    assert(state < s->states.n);
    const attr_state *const at = &s->states.at[state];
    const attr_desc *const d = &s->descs.at[at->next_desc];
    if (at->next_desc == 0 || d->kind != attr->kind || d->has_doc || d->has_unknown ||
        attr->doc.n > 0 || attr->unknown.n > 0 ||
        !str_eq(attr_desc_name(s, d), (str){attr->name.at, attr->name.n}))
        return HASH_NONE;
    return at->next_state;
}

/* Append an attribute to a sequence: its value(s) and the next state. */
static halley_status add_attr(halley_builder *b, uint32_t *state, u64_array *values,
                              const halley_attr *attr)
{
    assert(*state < b->s.shapes.states.n);
    uint64_t bits = 0;
    TRY(check_unknown(b, attr->unknown, HALLEY_ATTR_END - 1));
    TRY(keep_value(b, attr, &bits));
    uint32_t next = as_predicted(&b->s.shapes, *state, attr);
    if (next == HASH_NONE) {
        const uint32_t desc = attr_shapes_desc(
            &b->s.shapes, (str){attr->name.at, attr->name.n},
            (str){attr->doc.at, attr->doc.n}, (uint8_t)attr->kind, attr->unknown.n > 0);
        if (desc != HASH_NONE)
            next = attr_shapes_step(&b->s.shapes, *state, desc);
    }
    if (next == HASH_NONE || !array_push(values, bits))
        return fail_for_memory(b);
    if (attr->unknown.n) {
        const text_ref unknown = copy_bytes(b, attr->unknown);
        if (unknown == 0 || !array_push(values, unknown))
            return fail_for_memory(b);
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
    return status ? fail_build(b, status) : HALLEY_OK;
}

/* Write the closed nodes and drop them. */
static halley_status flush_nodes(halley_builder *b)
{
    assert(b->stream != NULL && !b->open);
    b->s.meta.shape = attr_shapes_end(&b->s.shapes, b->meta_state);
    if (b->s.meta.shape == HASH_NONE || !attr_shapes_flatten(&b->s.shapes))
        return fail_for_memory(b);
    b->s.meta.values = b->meta_values.at; /* lent for the call */
    const halley_status status = et_stream_put(b->stream, &b->s, &b->err);
    b->s.meta.values = NULL;
    trace_store_drop_nodes(&b->s, b->n_meta_own, b->n_meta_longs);
    return status == HALLEY_OK ? HALLEY_OK : fail_build(b, status);
}

halley_status builder_stream_begin(halley_builder *b, const char *path, halley_error *err)
{
    if (b->failed) { /* the metadata that the stream needs may be missing */
        if (err != NULL)
            *err = b->err;
        return b->failed;
    }
    assert(b->s.n == 0 && !b->open && b->meta_values.n > 0);
    b->n_meta_own = b->s.own.n;
    b->n_meta_longs = b->s.longs.n;
    return et_stream_open(&b->stream, path, err);
}

halley_status builder_stream_end(halley_builder *b, halley_error *err)
{
    halley_status status = close_node(b);
    if (status == HALLEY_OK)
        status = flush_nodes(b);
    if (status != HALLEY_OK) {
        if (err != NULL)
            *err = b->err;
        return status;
    }
    et_stream *const stream = b->stream;
    b->stream = NULL;
    return et_stream_commit(stream, err);
}

halley_status halley_builder_node(halley_builder *b, uint64_t id, uint32_t type,
                                  halley_bytes name)
{
    TRY(close_node(b));
    if (!call_goes_on())
        return fail_build(b, call_check(&b->err));
    if (b->stream != NULL && b->s.n == STREAM_NODES)
        TRY(flush_nodes(b));
    if (b->s.n >= b->max_nodes)
        return fail_build(b, error_set(&b->err, HALLEY_ELIMIT,
                                       "more than %u nodes in one trace", b->max_nodes));
    text_ref ref = 0;
    if (name.n && (ref = copy_bytes(b, name)) == 0)
        return fail_for_memory(b);
    if (!column_put(&b->s.names, b->s.n, ref))
        return fail_for_memory(b);
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
    TRY(need_node(b));
    return column_put(&b->s.starts, b->s.n, start_us) &&
                   column_put(&b->s.durations, b->s.n, duration_us)
               ? HALLEY_OK
               : fail_for_memory(b);
}

halley_status halley_builder_data(halley_builder *b, uint64_t id)
{
    TRY(need_node(b));
    return array_push(&b->s.data_ids, id) ? HALLEY_OK : fail_for_memory(b);
}

halley_status halley_builder_ctrl(halley_builder *b, uint64_t id)
{
    TRY(need_node(b));
    return array_push(&b->s.ctrl_ids, id) ? HALLEY_OK : fail_for_memory(b);
}

static bool put_field(u8_array *to, uint8_t tag, halley_bytes bytes)
{
    assert(bytes.n == 0 || bytes.at != NULL);
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
    assert(io != NULL);
    TRY(need_node(b));
    if (!io->present)
        return HALLEY_OK;
    TRY(check_unknown(b, io->unknown, 3));
    u8_array message = {0};
    text_ref ref = 0;
    if (put_field(&message, 1 << 3 | WIRE_LEN, io->values) &&
        put_field(&message, 2 << 3 | WIRE_LEN, io->shapes) &&
        put_field(&message, 3 << 3 | WIRE_LEN, io->types))
        ref = trace_text_copy(&b->s, (str){(const char *)message.at, message.n},
                              (str){io->unknown.at, io->unknown.n});
    array_fini(&message);
    return ref && column_put(column, b->s.n, ref) ? HALLEY_OK : fail_for_memory(b);
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
    TRY(need_node(b));
    return add_attr(b, &b->state, &b->s.values, attr);
}

static halley_status add_number(halley_builder *b, const char *name,
                                halley_attr_kind kind, uint64_t bits)
{
    assert(name != NULL);
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

/* Append unknown fields to those that a node already has. */
static halley_status join_unknown(halley_builder *b, node_extra *extra,
                                  halley_bytes unknown)
{
    const str before = trace_text(&b->s, extra->value);
    /* The first text must not move while it is copied. */
    if (!array_reserve(&b->s.own, before.n + unknown.n + 1))
        return fail_for_memory(b);
    const text_ref joined = trace_text_copy(&b->s, trace_text(&b->s, extra->value),
                                            (str){unknown.at, unknown.n});
    if (!joined)
        return fail_for_memory(b);
    extra->value = joined;
    return HALLEY_OK;
}

halley_status halley_builder_unknown(halley_builder *b, halley_bytes unknown)
{
    TRY(need_node(b));
    if (unknown.n == 0)
        return HALLEY_OK;
    TRY(check_unknown(b, unknown, 10));
    node_extra *const last = b->s.extras.n ? &b->s.extras.at[b->s.extras.n - 1] : NULL;
    if (last && last->node == b->s.n) /* its type is added when it is closed */
        return join_unknown(b, last, unknown);
    const node_extra extra = {copy_bytes(b, unknown), b->s.n, EXTRA_UNKNOWN};
    return extra.value && array_push(&b->s.extras, extra) ? HALLEY_OK
                                                          : fail_for_memory(b);
}

halley_status halley_builder_copy(halley_builder *b, const halley_trace *from,
                                  uint32_t node)
{
    assert(node < from->s.n);
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
    assert(node < from->s.n);
    TRY(halley_builder_time(b, halley_node_start_us(from, node),
                            halley_node_duration_us(from, node)));
    const halley_io inputs = halley_node_inputs(from, node);
    const halley_io outputs = halley_node_outputs(from, node);
    TRY(halley_builder_inputs(b, &inputs));
    TRY(halley_builder_outputs(b, &outputs));
    uint64_t *values;
    TRY(builder_copy_attrs(&values, b, from, node));
    for (uint32_t i = 0; !values && i < halley_node_attr_count(from, node); i++) {
        const halley_attr attr = halley_node_attr(from, node, i);
        TRY(halley_builder_attr(b, &attr));
    }
    return halley_builder_unknown(b, halley_node_unknown(from, node));
}

/* Does the shape have only numbers, texts and bytes, without docs and unknown fields? */
static bool is_plain(const attr_shapes *s, const attr_shape *shape)
{
    for (uint32_t i = shape->first; i < shape->first + shape->n; i++) {
        const attr_desc *const d = &s->descs.at[s->flat.at[i].desc];
        if (d->has_doc || d->has_unknown || d->kind == HALLEY_ATTR_NONE ||
            halley_attr_is_list((halley_attr_kind)d->kind))
            return false;
    }
    return shape->n > 0;
}

/* The state here of a shape of another trace; HASH_NONE: no memory. */
static uint32_t state_of(halley_builder *b, const halley_trace *from, uint32_t shape)
{
    assert(shape < from->s.shapes.shapes.n);
    const attr_shapes *const s = &from->s.shapes;
    if (b->copied != from) {
        b->copied = NULL;
        b->states.n = 0;
        if (!array_reserve(&b->states, s->shapes.n))
            return HASH_NONE;
        for (size_t i = 0; i < s->shapes.n; i++)
            b->states.at[b->states.n++] = not_met;
        b->copied = from;
    }
    uint32_t *const state = &b->states.at[shape];
    if (*state == not_met && !is_plain(s, &s->shapes.at[shape]))
        *state = one_by_one;
    if (*state == not_met) {
        const uint32_t here = attr_shapes_import(&b->s.shapes, s, shape);
        *state = here == HASH_NONE ? not_met : b->s.shapes.shapes.at[here].state;
    }
    return *state;
}

halley_status builder_copy_attrs(uint64_t **values, halley_builder *b,
                                 const halley_trace *from, uint32_t node)
{
    assert(node < from->s.n);
    const trace_store *const s = &from->s;
    *values = NULL;
    TRY(need_node(b));
    const uint32_t state =
        b->state == 0 ? state_of(b, from, s->shape.at[node]) : one_by_one;
    if (state == one_by_one)
        return HALLEY_OK;
    const attr_shape *const shape = trace_shape_of(from, node);
    const uint64_t *const old = s->values.at + s->value_at.at[node];
    if (state == HASH_NONE || !array_reserve(&b->s.values, shape->n))
        return fail_for_memory(b);
    uint64_t *const to = b->s.values.at + b->s.values.n;
    for (uint32_t i = 0; i < shape->n; i++) {
        const attr_slot *const slot = &s->shapes.flat.at[shape->first + i];
        to[i] = old[slot->slot];
        if (s->shapes.descs.at[slot->desc].kind < HALLEY_ATTR_STRING)
            continue;
        to[i] = trace_text_copy(&b->s, trace_text(s, to[i]), (str){0});
        if (to[i] == 0)
            return fail_for_memory(b);
    }
    b->s.values.n += shape->n;
    b->state = state;
    *values = to;
    return HALLEY_OK;
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
    assert(out != NULL && path != NULL);
    halley_status status = close_node(b);
    if (!status) {
        b->s.meta.shape = attr_shapes_end(&b->s.shapes, b->meta_state);
        b->s.meta.values = b->meta_values.at;
        b->meta_values.at = NULL;
        if (b->s.meta.shape == HASH_NONE)
            status = fail_for_memory(b);
    }
    if (!status) {
        file_input none = {0};
        status = trace_finish(out, &b->s, &none, path, form, err);
    } else if (err) {
        *err = b->err;
    }
    et_stream_abort(b->stream);
    trace_store_fini(&b->s);
    array_fini(&b->meta_values);
    array_fini(&b->states);
    free(b);
    return status;
}
