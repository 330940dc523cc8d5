/*
 * The schemas before v0.0.4, converted to it while they are read.
 *
 *   v0.0.1 (2023-01)  flat nodes: every property is a field; no metadata
 *   v0.0.2 (2023-06)  attributes with a type tag: float, int, string and lists of them
 *   v0.0.3 (2023-07)  bools too, METADATA_NODE; later (2023-08) unsigned integers and
 * GlobalMetadata
 *
 * None says which it is. A file is taken for one of them when its first messages are not
 * of the present schema and are all strictly of that one: every field known, of its wire
 * type, and each attribute's value in the field its type tag names. Sources: the history
 * of the schema in the public Chakra repository, listed by date above.
 *
 * Meaning: `parent` becomes data_deps. Node types and collective types are renumbered.
 * v0.0.1's simulated_run_time counts nanoseconds: it goes to duration_ns, and rounded to
 * duration_micros; later `runtime` attributes count microseconds and become
 * duration_micros.
 */
#include "trace/et.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE = 32 }; /* messages looked at to recognise a schema */

/* One value field of an old attribute: which type tag goes with it, and what it becomes.
 */
typedef struct old_value {
    uint32_t field;
    wire_type type;
    halley_attr_kind kind;
} old_value;

struct et_old_schema {
    halley_trace_form form;
    bool flat;               /* v0.0.1: no attributes */
    bool has_meta_type;      /* METADATA_NODE = 1 exists */
    const old_value *values; /* by type tag */
    uint32_t n_values;
};

static const old_value values_v2[] = {
    {4, WIRE_FIXED32, HALLEY_ATTR_FLOAT},     {5, WIRE_VARINT, HALLEY_ATTR_INT64},
    {6, WIRE_LEN, HALLEY_ATTR_STRING},        {7, WIRE_FIXED32, HALLEY_ATTR_FLOAT_LIST},
    {8, WIRE_VARINT, HALLEY_ATTR_INT64_LIST}, {9, WIRE_LEN, HALLEY_ATTR_STRING_LIST},
};
static const old_value values_v3[] = {
    {4, WIRE_VARINT, HALLEY_ATTR_BOOL},        {5, WIRE_FIXED32, HALLEY_ATTR_FLOAT},
    {6, WIRE_VARINT, HALLEY_ATTR_INT64},       {7, WIRE_LEN, HALLEY_ATTR_STRING},
    {8, WIRE_VARINT, HALLEY_ATTR_BOOL_LIST},   {9, WIRE_FIXED32, HALLEY_ATTR_FLOAT_LIST},
    {10, WIRE_VARINT, HALLEY_ATTR_INT64_LIST}, {11, WIRE_LEN, HALLEY_ATTR_STRING_LIST},
};
static const old_value values_v3_uint[] = {
    {4, WIRE_VARINT, HALLEY_ATTR_BOOL},
    {5, WIRE_FIXED32, HALLEY_ATTR_FLOAT},
    {6, WIRE_VARINT, HALLEY_ATTR_UINT64},
    {7, WIRE_VARINT, HALLEY_ATTR_INT64},
    {8, WIRE_LEN, HALLEY_ATTR_STRING},
    {9, WIRE_VARINT, HALLEY_ATTR_BOOL_LIST},
    {10, WIRE_FIXED32, HALLEY_ATTR_FLOAT_LIST},
    {11, WIRE_VARINT, HALLEY_ATTR_UINT64_LIST},
    {12, WIRE_VARINT, HALLEY_ATTR_INT64_LIST},
    {13, WIRE_LEN, HALLEY_ATTR_STRING_LIST},
};

/* Newest first: what fits several is taken for the newest, but flat nodes for the first.
 */
static const et_old_schema schemas[] = {
    {HALLEY_FORM_ET_V1, true, false, NULL, 0},
    {HALLEY_FORM_ET_V3, false, true, values_v3_uint, 10},
    {HALLEY_FORM_ET_V3, false, true, values_v3, 8},
    {HALLEY_FORM_ET_V2, false, false, values_v2, 6},
};

/* v0.0.1's fields from 5 on, and the attribute each becomes; kind NONE = handled by name
 * below. */
static const struct flat_field {
    const char *name;
    halley_attr_kind kind;
} flat_fields[] = {
    [5] = {"tensor_loc", HALLEY_ATTR_INT32},
    [6] = {"tensor_size", HALLEY_ATTR_UINT64},
    [7] = {"duration_ns", HALLEY_ATTR_UINT64},
    [8] = {"input_tensor_loc", HALLEY_ATTR_INT32},
    [9] = {"input_tensor_size", HALLEY_ATTR_UINT64},
    [10] = {"output_tensor_loc", HALLEY_ATTR_INT32},
    [11] = {"output_tensor_size", HALLEY_ATTR_UINT64},
    [12] = {"num_ops", HALLEY_ATTR_INT64},
    [13] = {"comm_type", HALLEY_ATTR_INT64},
    [14] = {"involved_dim", HALLEY_ATTR_BOOL_LIST},
    [15] = {"pg_name", HALLEY_ATTR_STRING},
    [16] = {"comm_src", HALLEY_ATTR_INT32},
    [17] = {"comm_dst", HALLEY_ATTR_INT32},
    [18] = {"comm_size", HALLEY_ATTR_INT64},
    [19] = {"comm_tag", HALLEY_ATTR_INT32},
    [20] = {"comm_priority", HALLEY_ATTR_INT32},
};

/* What one message said. */
typedef struct old_attr {
    halley_attr a;
    et_list_writer list;
    bool has_tag;
    uint32_t tag;
} old_attr;

typedef struct old_node {
    uint64_t id, type;
    bool has_id, has_name;
    halley_bytes name, io[6]; /* inputs, shapes, types, outputs, shapes, types */
    u64_array parents;
} old_node;

static bool take_len(const uint8_t **at, const uint8_t *end, halley_bytes *out)
{
    const uint8_t *bytes;
    if (!wire_len(at, end, &bytes, &out->n))
        return false;
    out->at = (const char *)bytes;
    return true;
}

/* One element or value in wire form `type` for this kind; lists may be packed. */
static bool take_value(const old_value *v, wire_type type, const uint8_t **at,
                       const uint8_t *end, old_attr *to)
{
    const bool list = halley_attr_is_list(v->kind);
    const uint8_t *stop = end;
    const uint8_t *p = *at;
    halley_attr_item item = {0};
    if (v->type == WIRE_LEN) {
        if (type != WIRE_LEN || !take_len(at, end, &item.bytes))
            return false;
        to->a.bytes = item.bytes;
        return !list || et_list_add(&to->list, &item);
    }
    const bool packed = list && type == WIRE_LEN;
    if (packed) {
        halley_bytes bytes;
        if (!take_len(at, end, &bytes))
            return false;
        p = (const uint8_t *)bytes.at;
        stop = p + bytes.n;
    } else if (type != v->type) {
        return false;
    }
    for (bool more = !packed || p < stop; more; more = packed && p < stop) {
        uint32_t low = 0;
        if (v->type == WIRE_FIXED32 ? !wire_fixed32(&p, stop, &low)
                                    : !wire_varint(&p, stop, &item.bits))
            return false;
        if (v->type == WIRE_FIXED32)
            item.bits = low;
        if (v->kind == HALLEY_ATTR_BOOL || v->kind == HALLEY_ATTR_BOOL_LIST)
            item.bits = item.bits != 0;
        if (list && !et_list_add(&to->list, &item))
            return false;
    }
    to->a.bits = item.bits;
    if (!packed)
        *at = p;
    return true;
}

/* Kind of an attribute from its type tag; the value field must be the tag's. */
static bool parse_attr(const et_old_schema *s, halley_bytes message, old_attr *out)
{
    const uint8_t *at = (const uint8_t *)message.at, *const end = at + message.n;
    bool has_name = false;
    out->a.name = out->a.doc = out->a.bytes = (halley_bytes){"", 0};
    while (at < end) {
        uint32_t field;
        wire_type type;
        uint64_t tag;
        if (!wire_tag(&at, end, &field, &type))
            return false;
        if (field == 1 && type == WIRE_LEN) {
            has_name = take_len(&at, end, &out->a.name);
            if (!has_name)
                return false;
        } else if (field == 2 && type == WIRE_VARINT) {
            if (!wire_varint(&at, end, &tag) || tag >= s->n_values)
                return false;
            out->has_tag = true;
            out->tag = (uint32_t)tag;
            out->a.kind = s->values[tag].kind;
            out->list.kind = out->a.kind;
        } else if (field == 3 && type == WIRE_LEN) {
            if (!take_len(&at, end, &out->a.doc))
                return false;
        } else if (!out->has_tag || field != s->values[out->tag].field ||
                   !take_value(&s->values[out->tag], type, &at, end, out)) {
            return false;
        }
    }
    if (!has_name || !out->has_tag)
        return false;
    if (halley_attr_is_list(out->a.kind)) {
        if (!et_list_finish(&out->list))
            return false;
        out->a.bytes =
            (halley_bytes){(const char *)out->list.bytes.at, out->list.bytes.n};
    }
    return true;
}

/* The renumbering of collectives: v0.0.1 starts at 1, the others at 0. */
static uint64_t coll_type(const et_old_schema *s, uint64_t old)
{
    static const uint64_t now[] = {HALLEY_COLL_ALL_REDUCE, HALLEY_COLL_ALL_TO_ALL,
                                   HALLEY_COLL_ALL_GATHER, HALLEY_COLL_REDUCE_SCATTER,
                                   HALLEY_COLL_BROADCAST};
    const uint64_t i = s->flat ? old - 1 : old;
    return i < sizeof now / sizeof *now ? now[i] : old;
}

static bool name_is(halley_bytes name, const char *what)
{
    return str_eq((str){name.at, name.n}, str_from(what));
}

/* An attribute message: checked, and added when there is a builder. */
static bool take_attr(const et_old_schema *s, halley_bytes message, halley_builder *b,
                      bool meta)
{
    old_attr attr = {0};
    bool fine = parse_attr(s, message, &attr);
    halley_attr *const a = &attr.a;
    if (fine && b && !meta && name_is(a->name, "runtime") &&
        (a->kind == HALLEY_ATTR_INT64 || a->kind == HALLEY_ATTR_UINT64)) {
        fine = halley_builder_time(b, 0, a->bits) == HALLEY_OK;
    } else if (fine && b) {
        if (!meta && name_is(a->name, "comm_type") &&
            et_wire_type(a->kind) == WIRE_VARINT) {
            a->kind = HALLEY_ATTR_INT64;
            a->bits = coll_type(s, a->bits);
        }
        fine = (meta ? halley_builder_metadata(b, a) : halley_builder_attr(b, a)) ==
               HALLEY_OK;
    }
    array_fini(&attr.list.bytes);
    return fine;
}

/* A property of a flat node. */
static bool take_flat(const et_old_schema *s, uint32_t field, wire_type type,
                      const uint8_t **at, const uint8_t *end, halley_builder *b)
{
    if (field < 5 || field >= sizeof flat_fields / sizeof *flat_fields)
        return false;
    const struct flat_field *const f = &flat_fields[field];
    old_attr attr = {.a = {.name = {f->name, strlen(f->name)}, .kind = f->kind}};
    const old_value v = {field, WIRE_VARINT,
                         f->kind == HALLEY_ATTR_STRING ? HALLEY_ATTR_UINT64 : f->kind};
    attr.list.kind = f->kind;
    char number[24];
    bool fine = take_value(&v, type, at, end, &attr);
    if (fine && f->kind == HALLEY_ATTR_BOOL_LIST) {
        /* One element a field: gathered by the caller would need state; the list is kept
         * per field run instead, which is how protobuf writes it. */
        while (fine && *at < end && **at == (14 << 3 | WIRE_VARINT)) {
            (*at)++;
            fine = take_value(&v, WIRE_VARINT, at, end, &attr);
        }
        fine = fine && et_list_finish(&attr.list);
        attr.a.bytes =
            (halley_bytes){(const char *)attr.list.bytes.at, attr.list.bytes.n};
    } else if (fine && f->kind == HALLEY_ATTR_STRING) {
        const int n =
            snprintf(number, sizeof number, "%llu", (unsigned long long)attr.a.bits);
        attr.a.bytes = (halley_bytes){number, (size_t)n};
    }
    if (field == 13)
        attr.a.bits = coll_type(s, attr.a.bits);
    if (fine && b && field == 7)
        fine = halley_builder_time(b, 0, (attr.a.bits + 500) / 1000) == HALLEY_OK;
    if (fine && b)
        fine = halley_builder_attr(b, &attr.a) == HALLEY_OK;
    array_fini(&attr.list.bytes);
    return fine;
}

/* The fields that come before the attributes: what the builder needs first. */
static bool parse_head(const et_old_schema *s, old_node *n, const uint8_t *at,
                       const uint8_t *end)
{
    while (at < end) {
        uint32_t field;
        wire_type type;
        uint64_t value;
        if (!wire_tag(&at, end, &field, &type))
            return false;
        if (field == 2 && type == WIRE_LEN) {
            n->has_name = take_len(&at, end, &n->name);
            if (!n->has_name)
                return false;
        } else if ((field == 1 || field == 3 || field == 4) && type == WIRE_VARINT) {
            if (!wire_varint(&at, end, &value))
                return false;
            if (field == 4 && !array_push(&n->parents, value))
                return false;
            n->has_id |= field == 1;
            *(field == 1 ? &n->id : field == 3 ? &n->type : &value) = value;
        } else if (field == 4 && type == WIRE_LEN) {
            halley_bytes packed;
            if (!take_len(&at, end, &packed))
                return false;
            for (const uint8_t *p = (const uint8_t *)packed.at, *stop = p + packed.n;
                 p < stop;)
                if (!wire_varint(&p, stop, &value) || !array_push(&n->parents, value))
                    return false;
        } else if (!s->flat && field >= 5 && field <= 10 && type == WIRE_LEN) {
            if (!take_len(&at, end, &n->io[field - 5]))
                return false;
        } else if (field < 5 || !wire_skip(&at, end, field, type)) {
            return false;
        }
    }
    return n->has_id && n->has_name && n->type <= (s->has_meta_type ? 7 : 6);
}

static bool walk_rest(const et_old_schema *s, const uint8_t *at, const uint8_t *end,
                      halley_builder *b)
{
    while (at < end) {
        uint32_t field;
        wire_type type;
        halley_bytes message;
        if (!wire_tag(&at, end, &field, &type))
            return false;
        if (field <= 4 || (!s->flat && field <= 10)) {
            if (!wire_skip(&at, end, field, type))
                return false;
        } else if (s->flat) {
            if (!take_flat(s, field, type, &at, end, b))
                return false;
        } else if (field != 11 || type != WIRE_LEN || !take_len(&at, end, &message) ||
                   !take_attr(s, message, b, false)) {
            return false;
        }
    }
    return true;
}

static halley_status open_node(const et_old_schema *s, const old_node *n,
                               halley_builder *b)
{
    const uint64_t type = n->type > 0 && !s->has_meta_type ? n->type + 1 : n->type;
    TRY(halley_builder_node(b, n->id, (uint32_t)type, n->name));
    for (size_t i = 0; i < n->parents.n; i++)
        TRY(halley_builder_data(b, n->parents.at[i]));
    const halley_io inputs = {
        n->io[0].n + n->io[1].n + n->io[2].n > 0, n->io[0], n->io[1], n->io[2], {0}};
    const halley_io outputs = {
        n->io[3].n + n->io[4].n + n->io[5].n > 0, n->io[3], n->io[4], n->io[5], {0}};
    TRY(halley_builder_inputs(b, &inputs));
    return halley_builder_outputs(b, &outputs);
}

/* A node message; with a builder it is added, without only checked. */
static bool take_node(const et_old_schema *s, const uint8_t *at, size_t n,
                      halley_builder *b, u64_array *parents)
{
    old_node node = {.parents = *parents};
    node.parents.n = 0;
    bool fine = parse_head(s, &node, at, at + n);
    if (fine && b)
        fine = open_node(s, &node, b) == HALLEY_OK;
    *parents = node.parents;
    return fine && walk_rest(s, at, at + n, b);
}

/* GlobalMetadata { repeated attribute = 1 } of late v0.0.3. */
static bool take_meta(const et_old_schema *s, const uint8_t *at, size_t n,
                      halley_builder *b)
{
    const uint8_t *const end = at + n;
    if (s->flat || !s->has_meta_type)
        return false;
    while (at < end) {
        uint32_t field;
        wire_type type;
        halley_bytes message;
        if (!wire_tag(&at, end, &field, &type) || field != 1 || type != WIRE_LEN ||
            !take_len(&at, end, &message) || !take_attr(s, message, b, true))
            return false;
    }
    return true;
}

/* The next message, or false at a cut or the end. */
static bool next_message(const uint8_t **at, const uint8_t *end, const uint8_t **bytes,
                         size_t *n)
{
    return *at < end && wire_len(at, end, bytes, n);
}

static bool fits(const et_old_schema *s, const uint8_t *at, const uint8_t *end)
{
    u64_array parents = {0};
    const uint8_t *bytes;
    size_t n;
    bool fine = true, any = false;
    for (int i = 0; i < SAMPLE && fine && next_message(&at, end, &bytes, &n); i++) {
        if (i == 0 && take_meta(s, bytes, n, NULL))
            continue;
        fine = n > 0 && take_node(s, bytes, n, NULL, &parents);
        any = true;
    }
    array_fini(&parents);
    return fine && any;
}

/* Is the file of the present schema, as far as its first messages tell? */
static bool is_present(const uint8_t *at, const uint8_t *end)
{
    trace_store store;
    const et_decoder d = {.s = &store, .base = at};
    const uint8_t *bytes;
    size_t n;
    if (!trace_store_init(&store)) {
        trace_store_fini(&store);
        return true;
    }
    store.base = at;
    bool fine = next_message(&at, end, &bytes, &n) &&
                et_read_meta(&d, bytes, n) == HALLEY_OK &&
                str_utf8_valid(trace_text(&store, store.meta.version)) &&
                !take_meta(&schemas[1], bytes, n ? n : 1, NULL) &&
                !take_meta(&schemas[2], bytes, n ? n : 1, NULL);
    for (int i = 0; i < SAMPLE && fine && next_message(&at, end, &bytes, &n); i++)
        fine = n > 0 && et_read_node(&d, bytes, n) == HALLEY_OK;
    trace_store_fini(&store);
    return fine;
}

const et_old_schema *et_old_recognise(const uint8_t *at, size_t n)
{
    if (n == 0 || is_present(at, at + n))
        return NULL;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas; i++)
        if (fits(&schemas[i], at, at + n))
            return &schemas[i];
    return NULL;
}

static halley_status read_messages(const et_old_schema *s, const file_input *in,
                                   halley_builder *b, halley_error *err)
{
    const et_decoder d = {.base = in->at, .err = err};
    const uint8_t *at = in->at, *const end = at + in->n;
    u64_array parents = {0};
    halley_status status = HALLEY_OK;
    for (bool first = true; at < end && !status; first = false) {
        const uint8_t *const start = at;
        size_t n = 0;
        status = et_read_length(&d, &at, end, &n);
        if (status || (first && take_meta(s, at, n, NULL) && take_meta(s, at, n, b))) {
            at += n;
            continue;
        }
        if (!take_node(s, at, n, b, &parents))
            status = et_bad(&d, start, "this message is no node of %s",
                            halley_trace_form_name(s->form));
        at += n;
    }
    array_fini(&parents);
    return status;
}

halley_status et_old_read(halley_trace **out, const et_old_schema *schema, file_input *in,
                          const char *path, halley_error *err)
{
    halley_builder *b = NULL;
    halley_status status = halley_builder_new(&b, err);
    if (!status) {
        halley_error first = {0}, built = {0};
        status = read_messages(schema, in, b, &first);
        const halley_status finished =
            builder_finish_as(out, b, path, schema->form, &built);
        if (finished) { /* memory ran out somewhere on the way: that is the cause */
            status = finished;
            first = built;
        } else if (status) {
            halley_trace_free(*out);
            *out = NULL;
        }
        if (status && err)
            *err = first;
    }
    file_input_close(in);
    return status;
}
