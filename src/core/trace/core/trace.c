/* Access to a finished trace: nodes, dependencies, attributes. */
#include "trace/core/store.h"
#include "trace/format/et.h"
#include "trace/format/wire.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char *const node_types[HALLEY_N_NODE_TYPES] = {
    "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
    "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
static const char *const coll_types[HALLEY_N_COLL_TYPES] = {
    "ALL_REDUCE", "REDUCE",         "ALL_GATHER",
    "GATHER",     "SCATTER",        "BROADCAST",
    "ALL_TO_ALL", "REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK",
    "BARRIER"};
static const char *const forms[] = {
    "Chakra .et",    "Chakra .et v0.0.1",   "Chakra .et v0.0.2", "Chakra .et v0.0.3",
    "protobuf-JSON", "workload_graph JSON", "built in memory"};

const char *halley_node_type_name(uint32_t type)
{
    return type < HALLEY_N_NODE_TYPES ? node_types[type] : "UNKNOWN";
}

const char *halley_coll_type_name(uint64_t type)
{
    return type < HALLEY_N_COLL_TYPES ? coll_types[type] : "UNKNOWN";
}

const char *halley_trace_form_name(halley_trace_form form)
{
    return forms[form];
}

halley_trace *halley_trace_keep(halley_trace *trace)
{
    atomic_fetch_add_explicit(&trace->refs, 1, memory_order_relaxed);
    return trace;
}

void halley_trace_free(halley_trace *t)
{
    if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
        return;
    if (t->lender) {
        array_fini(&t->s.own);
        array_fini(&t->s.values);
        halley_trace_free(t->lender);
    } else {
        trace_store_fini(&t->s);
        file_input_close(&t->in);
        free(t->data);
        free(t->ctrl);
        array_fini(&t->dangling);
        map64_fini(&t->index);
    }
    et_layout_free(t->layout);
    array_fini(&t->encoded);
    free(t->path);
    free(t);
}

halley_trace_form halley_trace_form_of(const halley_trace *t)
{
    return t->form;
}

const char *halley_trace_path(const halley_trace *t)
{
    return t->path;
}

uint64_t halley_trace_memory(const halley_trace *t)
{
    const trace_store *const s = &t->s;
    const size_t n64 = s->ids.cap + s->names.cap + s->starts.cap + s->durations.cap +
                       s->inputs.cap + s->outputs.cap + s->values.cap + 2 * s->marks.cap +
                       t->dangling.cap;
    const size_t n32 = s->data_at.cap + s->ctrl_at.cap + s->shape.cap + s->value_at.cap +
                       halley_trace_dep_count(t);
    return n64 * 8 + n32 * 4 + s->types.cap + s->own.cap + t->index.n_slots * 12 +
           (t->in.owned ? t->in.n : 0);
}

static halley_bytes lend_bytes(str s)
{
    return (halley_bytes){s.at ? s.at : "", s.n};
}

bool halley_trace_has_metadata(const halley_trace *t)
{
    return t->s.meta.present;
}

halley_bytes halley_trace_version(const halley_trace *t)
{
    return lend_bytes(trace_text(&t->s, t->s.meta.version));
}

uint32_t halley_trace_metadata_count(const halley_trace *t)
{
    return t->s.meta.present ? t->s.shapes.shapes.at[t->s.meta.shape].n : 0;
}

halley_attr halley_trace_metadata(const halley_trace *t, uint32_t i)
{
    const uint32_t first = t->s.shapes.shapes.at[t->s.meta.shape].first;
    return trace_attr_view(&t->s, &t->s.shapes.flat.at[first + i], t->s.meta.values);
}

halley_bytes halley_trace_metadata_unknown(const halley_trace *t)
{
    return lend_bytes(trace_text(&t->s, t->s.meta.unknown));
}

uint32_t halley_trace_count(const halley_trace *t)
{
    return t->s.n;
}

uint64_t halley_trace_dep_count(const halley_trace *t)
{
    const trace_store *const s = &t->s;
    return (s->data_at.n ? (uint64_t)s->data_at.at[s->n] : 0) +
           (s->ctrl_at.n ? (uint64_t)s->ctrl_at.at[s->n] : 0);
}

uint64_t halley_trace_dangling_count(const halley_trace *t)
{
    return t->dangling.n;
}

uint64_t halley_node_id(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return t->s.ids.n ? t->s.ids.at[node] : t->s.first_id + node;
}

/* The first extra of that kind at the node, or NULL. */
static const node_extra *find_extra(const trace_store *s, uint32_t node,
                                    node_extra_kind kind)
{
    assert(node < s->n);
    size_t low = 0, high = s->extras.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->extras.at[middle].node < node)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < s->extras.n && s->extras.at[low].node == node; low++)
        if (s->extras.at[low].kind == kind)
            return &s->extras.at[low];
    return NULL;
}

uint32_t halley_node_type_of(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    const uint8_t type = t->s.types.at[node];
    return type == TYPE_IN_EXTRA ? (uint32_t)find_extra(&t->s, node, EXTRA_TYPE)->value
                                 : type;
}

halley_bytes halley_node_name(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return lend_bytes(trace_text(&t->s, column_get(&t->s.names, node)));
}

uint64_t halley_node_start_us(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return column_get(&t->s.starts, node);
}

uint64_t halley_node_duration_us(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return column_get(&t->s.durations, node);
}

static halley_dep get_dep(const halley_trace *t, uint32_t index)
{
    assert(index < t->s.n + t->dangling.n);
    if (index >= t->s.n)
        return (halley_dep){t->dangling.at[index - t->s.n], HALLEY_NO_NODE};
    return (halley_dep){halley_node_id(t, index), index};
}

uint32_t halley_node_data_count(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return t->s.data_at.n ? t->s.data_at.at[node + 1] - t->s.data_at.at[node] : 0;
}

halley_dep halley_node_data(const halley_trace *t, uint32_t node, uint32_t i)
{
    assert(node < t->s.n && i < halley_node_data_count(t, node));
    return get_dep(t, t->data[t->s.data_at.at[node] + i]);
}

uint32_t halley_node_ctrl_count(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return t->s.ctrl_at.n ? t->s.ctrl_at.at[node + 1] - t->s.ctrl_at.at[node] : 0;
}

halley_dep halley_node_ctrl(const halley_trace *t, uint32_t node, uint32_t i)
{
    assert(node < t->s.n && i < halley_node_ctrl_count(t, node));
    return get_dep(t, t->ctrl[t->s.ctrl_at.at[node] + i]);
}

/* The message was checked and normalised when it was read (et_part.c): each field occurs
 * at most once, unknown ones last. */
static halley_io decode_io(const trace_store *s, text_ref ref)
{
    const halley_bytes none = {"", 0};
    halley_io io = {ref != 0, none, none, none, none};
    const str text = trace_text(s, ref);
    if (text.n == 0)
        return io;
    const uint8_t *at = (const uint8_t *)text.at, *const end = at + text.n;
    while (at < end && (*at == 0x0a || *at == 0x12 || *at == 0x1a)) {
        halley_bytes *const to = *at == 0x0a   ? &io.values
                                 : *at == 0x12 ? &io.shapes
                                               : &io.types;
        const uint8_t *bytes = at++;
        wire_len(&at, end, &bytes, &to->n);
        to->at = (const char *)bytes;
    }
    io.unknown = (halley_bytes){(const char *)at, (size_t)(end - at)};
    return io;
}

halley_io halley_node_inputs(const halley_trace *t, uint32_t node)
{
    return decode_io(&t->s, column_get(&t->s.inputs, node));
}

halley_io halley_node_outputs(const halley_trace *t, uint32_t node)
{
    return decode_io(&t->s, column_get(&t->s.outputs, node));
}

uint32_t halley_node_attr_count(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    return trace_shape_of(t, node)->n;
}

halley_attr trace_attr_view(const trace_store *s, const attr_slot *slot,
                            const uint64_t *values)
{
    assert(slot->desc < s->shapes.descs.n);
    const attr_desc *const d = &s->shapes.descs.at[slot->desc];
    halley_attr a = {
        .name = lend_bytes(attr_desc_name(&s->shapes, d)),
        .doc = lend_bytes(attr_desc_doc(&s->shapes, d)),
        .kind = (halley_attr_kind)d->kind,
        .bits = values[slot->slot],
    };
    if (d->kind >= HALLEY_ATTR_STRING || halley_attr_is_list(a.kind)) {
        a.bytes = lend_bytes(trace_text(s, a.bits));
        a.bits = 0;
    }
    if (d->has_unknown)
        a.unknown = lend_bytes(trace_text(s, values[slot->slot + 1]));
    return a;
}

halley_attr halley_node_attr(const halley_trace *t, uint32_t node, uint32_t i)
{
    assert(i < halley_node_attr_count(t, node));
    const attr_slot *const slot =
        &t->s.shapes.flat.at[trace_shape_of(t, node)->first + i];
    return trace_attr_view(&t->s, slot, t->s.values.at + t->s.value_at.at[node]);
}

uint32_t trace_shape_find(const trace_store *s, uint32_t shape, str name)
{
    assert(shape < s->shapes.shapes.n);
    const attr_shape *const a = &s->shapes.shapes.at[shape];
    for (uint32_t i = 0; i < a->n; i++) {
        const attr_desc *const d =
            &s->shapes.descs.at[s->shapes.flat.at[a->first + i].desc];
        if (str_eq(attr_desc_name(&s->shapes, d), name))
            return a->first + i;
    }
    return HASH_NONE;
}

bool halley_node_find_attr(halley_attr *out, const halley_trace *t, uint32_t node,
                           const char *name)
{
    assert(node < t->s.n && name != NULL);
    const uint32_t at = trace_shape_find(&t->s, t->s.shape.at[node], str_from(name));
    if (at == HASH_NONE)
        return false;
    *out = trace_attr_view(&t->s, &t->s.shapes.flat.at[at],
                           t->s.values.at + t->s.value_at.at[node]);
    return true;
}

halley_bytes halley_node_unknown(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    const node_extra *const extra =
        t->s.extras.n ? find_extra(&t->s, node, EXTRA_UNKNOWN) : NULL;
    return lend_bytes(trace_text(&t->s, extra ? extra->value : 0));
}

uint64_t halley_node_offset(const halley_trace *t, uint32_t node)
{
    assert(node < t->s.n);
    if (t->s.marks.n == 0)
        return 0;
    const node_mark *mark = t->s.marks.at; /* find the last mark at or before the node */
    for (size_t n = t->s.marks.n; n > 1;) {
        const size_t half = n / 2;
        mark = mark[half].node <= node ? mark + half : mark;
        n -= half;
    }
    uint64_t offset = mark->offset;
    for (uint32_t i = mark->node; i < node; i++) {
        const uint8_t *at = t->in.at + offset;
        uint64_t n = 0;
        wire_varint(&at, t->in.at + t->in.n, &n);
        offset = (uint64_t)(at - t->in.at) + n;
    }
    return offset;
}

static bool is_signed(halley_attr_kind kind)
{
    return kind == HALLEY_ATTR_INT32 || kind == HALLEY_ATTR_INT64 ||
           kind == HALLEY_ATTR_SINT32 || kind == HALLEY_ATTR_SINT64 ||
           kind == HALLEY_ATTR_SFIXED32 || kind == HALLEY_ATTR_SFIXED64;
}

bool halley_attr_to_double(const halley_attr *attr, double *out)
{
    if (attr->kind == HALLEY_ATTR_DOUBLE) {
        memcpy(out, &attr->bits, sizeof *out);
        return true;
    }
    if (attr->kind == HALLEY_ATTR_FLOAT) {
        float f;
        const uint32_t low = (uint32_t)attr->bits;
        memcpy(&f, &low, sizeof f);
        *out = (double)f;
        return true;
    }
    if (attr->kind == HALLEY_ATTR_NONE || attr->kind >= HALLEY_ATTR_STRING ||
        halley_attr_is_list(attr->kind))
        return false;
    *out = is_signed(attr->kind) ? (double)(int64_t)attr->bits : (double)attr->bits;
    return true;
}

bool halley_attr_to_i64(const halley_attr *attr, int64_t *out)
{
    double value;
    if (!halley_attr_to_double(attr, &value))
        return false;
    if (attr->kind == HALLEY_ATTR_DOUBLE || attr->kind == HALLEY_ATTR_FLOAT) {
        if (!(value >= -0x1p63 && value < 0x1p63) || value != floor(value))
            return false;
        *out = (int64_t)value;
        return true;
    }
    if (!is_signed(attr->kind) && attr->bits > INT64_MAX)
        return false;
    *out = (int64_t)attr->bits;
    return true;
}

bool halley_attr_to_u64(const halley_attr *attr, uint64_t *out)
{
    double real;
    if (!halley_attr_to_double(attr, &real))
        return false;
    const bool is_real =
        attr->kind == HALLEY_ATTR_DOUBLE || attr->kind == HALLEY_ATTR_FLOAT;
    if (is_real) {
        if (!(real >= 0 && real < 0x1p64) || real != floor(real))
            return false;
        *out = (uint64_t)real;
        return true;
    }
    if (is_signed(attr->kind) && (int64_t)attr->bits < 0)
        return false;
    *out = attr->bits;
    return true;
}
