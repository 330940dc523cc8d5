/*
 * The schemas before v0.0.4, converted to it while they are read.
 *
 *   2023-01  v0.0.1: flat nodes, in which every property is a field; no metadata.
 *   2023-06  v0.0.2: attributes with a type tag: float, int, string and lists of them.
 *   2023-07  v0.0.3: also bools and METADATA_NODE.
 *   2023-08  v0.0.3: also unsigned integers and GlobalMetadata.
 *
 * No file states its schema. A file is taken for an old schema if its first messages do
 * not fit the present schema and all fit the old one strictly. That means that every
 * field is known and has its wire type, and each attribute's value is in the field that
 * its type tag names. Source: the history of the schema in the public Chakra repository,
 * listed by date above.
 *
 * Conversion: `parent` becomes data_deps. Node types and collective types are renumbered.
 * v0.0.1's simulated_run_time is in nanoseconds. It becomes duration_ns and, rounded,
 * duration_micros. Later `runtime` attributes are in microseconds and become
 * duration_micros.
 */
#include "trace/format/et.h"

#include <stdio.h>
#include <string.h>

/* One value field of an old attribute: its number, its wire type, and the kind it
 * becomes. */
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

/* Newest first. A file that fits several is taken for the newest, except that flat nodes
 * are v0.0.1. */
static const et_old_schema schemas[] = {
    {HALLEY_FORM_ET_V1, true, false, NULL, 0},
    {HALLEY_FORM_ET_V3, false, true, values_v3_uint, 10},
    {HALLEY_FORM_ET_V3, false, true, values_v3, 8},
    {HALLEY_FORM_ET_V2, false, false, values_v2, 6},
};

/* The fields of v0.0.1 from 5 on, and the attribute that each becomes. Kind NONE =
 * handled by name below. */
static const struct flat_field {
    const char *name;
    halley_attr_kind kind;
} flat_fields[] = {
    [5] = {"tensor_loc", HALLEY_ATTR_INT32},
    [6] = {HALLEY_ATTR_NAME_TENSOR_SIZE, HALLEY_ATTR_UINT64},
    [7] = {HALLEY_ATTR_NAME_DURATION_NS, HALLEY_ATTR_UINT64},
    [8] = {"input_tensor_loc", HALLEY_ATTR_INT32},
    [9] = {"input_tensor_size", HALLEY_ATTR_UINT64},
    [10] = {"output_tensor_loc", HALLEY_ATTR_INT32},
    [11] = {"output_tensor_size", HALLEY_ATTR_UINT64},
    [12] = {HALLEY_ATTR_NAME_NUM_OPS, HALLEY_ATTR_INT64},
    [13] = {HALLEY_ATTR_NAME_COMM_TYPE, HALLEY_ATTR_INT64},
    [14] = {HALLEY_ATTR_NAME_INVOLVED_DIM, HALLEY_ATTR_BOOL_LIST},
    [15] = {HALLEY_ATTR_NAME_PG_NAME, HALLEY_ATTR_STRING},
    [16] = {HALLEY_ATTR_NAME_COMM_SRC, HALLEY_ATTR_INT32},
    [17] = {HALLEY_ATTR_NAME_COMM_DST, HALLEY_ATTR_INT32},
    [18] = {HALLEY_ATTR_NAME_COMM_SIZE, HALLEY_ATTR_INT64},
    [19] = {HALLEY_ATTR_NAME_COMM_TAG, HALLEY_ATTR_INT32},
    [20] = {HALLEY_ATTR_NAME_COMM_PRIORITY, HALLEY_ATTR_INT32},
};

/* The content of one message. */
typedef struct old_attr {
    halley_attr a;
    et_list_writer list;
    bool has_tag;
    uint32_t tag;
} old_attr;

typedef struct old_node {
    uint64_t id, type;
    bool has_id, has_name, has_type;
    halley_bytes name, io[6]; /* inputs, shapes, types, outputs, shapes, types */
} old_node;

/* The state of reading a file, or of testing whether it has a certain schema. */
typedef struct old_reader {
    const et_old_schema *schema;
    halley_builder *b; /* NULL: only test */
    u64_array parents; /* of the current node */
    bool any_flat;     /* a property of a flat node was seen */
    bool nomem;        /* memory ran out, so a "no" is not an answer */
} old_reader;

/* Return whether something could be stored, and remember a failure. */
static bool is_kept_field(old_reader *r, bool fine)
{
    r->nomem |= !fine;
    return fine;
}

static bool take_len(const uint8_t **at, const uint8_t *end, halley_bytes *out)
{
    const uint8_t *bytes;
    if (!wire_len(at, end, &bytes, &out->n))
        return false;
    out->at = (const char *)bytes;
    return true;
}

/* Read one element or value of this kind. The old schemas did not pack lists. */
static bool take_old_value(old_reader *r, const old_value *v, wire_type type,
                           const uint8_t **at, const uint8_t *end, old_attr *to)
{
    halley_attr_item item = {0};
    uint32_t low = 0;
    if (type != v->type)
        return false;
    if (type == WIRE_LEN       ? !take_len(at, end, &item.bytes)
        : type == WIRE_FIXED32 ? !wire_fixed32(at, end, &low)
                               : !wire_varint(at, end, &item.bits))
        return false;
    if (type == WIRE_FIXED32)
        item.bits = low;
    /* No writer gives a bool another value. The check matters because v0.0.2's lists of
     * integers use the field of v0.0.3's lists of bools. */
    if ((v->kind == HALLEY_ATTR_BOOL || v->kind == HALLEY_ATTR_BOOL_LIST) &&
        item.bits > 1)
        return false;
    to->a.bits = item.bits;
    to->a.bytes = item.bytes;
    return !halley_attr_is_list(v->kind) ||
           is_kept_field(r, et_list_add(&to->list, &item));
}

/* Parse an attribute. Its kind comes from the type tag, and the value must be in the
 * field of that tag. */
static bool parse_attr(old_reader *r, halley_bytes message, old_attr *out)
{
    const et_old_schema *const s = r->schema;
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
                   !take_old_value(r, &s->values[out->tag], type, &at, end, out)) {
            return false;
        }
    }
    if (!has_name || !out->has_tag)
        return false;
    if (halley_attr_is_list(out->a.kind)) {
        if (!is_kept_field(r, et_list_finish(&out->list)))
            return false;
        out->a.bytes =
            (halley_bytes){(const char *)out->list.bytes.at, out->list.bytes.n};
    }
    return true;
}

/* Renumber a collective type: v0.0.1 starts at 1, the others at 0. */
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

/* Check an attribute message, and add it if there is a builder. */
static bool take_old_attr(old_reader *r, halley_bytes message, bool meta)
{
    halley_builder *const b = r->b;
    old_attr attr = {0};
    bool fine = parse_attr(r, message, &attr);
    halley_attr *const a = &attr.a;
    if (fine && b && !meta && name_is(a->name, "runtime") &&
        (a->kind == HALLEY_ATTR_INT64 || a->kind == HALLEY_ATTR_UINT64)) {
        fine = halley_builder_time(b, 0, a->bits) == HALLEY_OK;
    } else if (fine && b) {
        if (!meta && name_is(a->name, "comm_type") &&
            et_wire_type(a->kind) == WIRE_VARINT) {
            a->kind = HALLEY_ATTR_INT64;
            a->bits = coll_type(r->schema, a->bits);
        }
        fine = (meta ? halley_builder_metadata(b, a) : halley_builder_attr(b, a)) ==
               HALLEY_OK;
    }
    array_fini(&attr.list.bytes);
    return fine;
}

/* Read the elements of involved_dim, one per field. The first tag has been read. */
static bool take_dims(old_reader *r, const old_value *v, wire_type type,
                      const uint8_t **at, const uint8_t *end, old_attr *attr)
{
    bool fine = take_old_value(r, v, type, at, end, attr);
    while (fine && *at < end && **at == (14 << 3 | WIRE_VARINT)) {
        (*at)++;
        fine = take_old_value(r, v, WIRE_VARINT, at, end, attr);
    }
    fine = fine && is_kept_field(r, et_list_finish(&attr->list));
    attr->a.bytes = (halley_bytes){(const char *)attr->list.bytes.at, attr->list.bytes.n};
    return fine;
}

/* Read a property of a flat node. */
static bool take_flat(old_reader *r, uint32_t field, wire_type type, const uint8_t **at,
                      const uint8_t *end)
{
    if (field < 5 || field >= sizeof flat_fields / sizeof *flat_fields)
        return false;
    const struct flat_field *const f = &flat_fields[field];
    old_attr attr = {.a = {.name = {f->name, strlen(f->name)}, .kind = f->kind}};
    attr.list.kind = f->kind;
    const bool number_as_text = f->kind == HALLEY_ATTR_STRING;
    const old_value v = {field, WIRE_VARINT,
                         number_as_text ? HALLEY_ATTR_UINT64 : f->kind};
    char number[24];
    bool fine = f->kind == HALLEY_ATTR_BOOL_LIST
                    ? take_dims(r, &v, type, at, end, &attr)
                    : take_old_value(r, &v, type, at, end, &attr);
    const uint64_t bits = attr.a.bits;
    if (number_as_text) {
        const int n = snprintf(number, sizeof number, "%llu", (unsigned long long)bits);
        attr.a.bytes = (halley_bytes){number, (size_t)n};
    }
    r->any_flat = true;
    if (field == 13)
        attr.a.bits = coll_type(r->schema, bits);
    if (fine && r->b && field == 7)
        fine =
            halley_builder_time(r->b, 0, bits / 1000 + (bits % 1000 >= 500)) == HALLEY_OK;
    const bool means_nothing = field == 13 && bits == 0; /* INVALID_COMM */
    if (fine && r->b && !means_nothing)
        fine = halley_builder_attr(r->b, &attr.a) == HALLEY_OK;
    array_fini(&attr.list.bytes);
    return fine;
}

/* Parse the fields that the builder needs before the attributes. */
static bool parse_head(old_reader *r, old_node *n, const uint8_t *at, const uint8_t *end)
{
    const et_old_schema *const s = r->schema;
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
            if (field == 4 && !is_kept_field(r, array_push(&r->parents, value)))
                return false;
            n->has_id |= field == 1;
            n->has_type |= field == 3;
            *(field == 1 ? &n->id : field == 3 ? &n->type : &value) = value;
        } else if (!s->flat && field >= 5 && field <= 10) {
            if (type != WIRE_LEN || !take_len(&at, end, &n->io[field - 5]))
                return false;
        } else if (field < 5 || !wire_skip(&at, end, field, type)) {
            return false;
        }
    }
    return n->has_id && n->has_name && (n->has_type || s->flat) &&
           n->type <= (s->has_meta_type ? 7 : 6);
}

static bool walk_rest(old_reader *r, const uint8_t *at, const uint8_t *end)
{
    const bool flat = r->schema->flat;
    while (at < end) {
        uint32_t field;
        wire_type type;
        halley_bytes message;
        if (!wire_tag(&at, end, &field, &type))
            return false;
        if (field <= 4 || (!flat && field <= 10)) {
            if (!wire_skip(&at, end, field, type))
                return false;
        } else if (flat) {
            if (!take_flat(r, field, type, &at, end))
                return false;
        } else if (field != 11 || type != WIRE_LEN || !take_len(&at, end, &message) ||
                   !take_old_attr(r, message, false)) {
            return false;
        }
    }
    return true;
}

static halley_status open_node(const old_reader *r, const old_node *n)
{
    halley_builder *const b = r->b;
    const uint64_t type =
        n->type > 0 && !r->schema->has_meta_type ? n->type + 1 : n->type;
    TRY(halley_builder_node(b, n->id, (uint32_t)type, n->name));
    for (size_t i = 0; i < r->parents.n; i++)
        TRY(halley_builder_data(b, r->parents.at[i]));
    const halley_io inputs = {
        n->io[0].n + n->io[1].n + n->io[2].n > 0, n->io[0], n->io[1], n->io[2], {0}};
    const halley_io outputs = {
        n->io[3].n + n->io[4].n + n->io[5].n > 0, n->io[3], n->io[4], n->io[5], {0}};
    TRY(halley_builder_inputs(b, &inputs));
    return halley_builder_outputs(b, &outputs);
}

/* Check a node message, and add it if there is a builder. */
static bool take_old_node(old_reader *r, const uint8_t *at, size_t n)
{
    old_node node = {0};
    r->parents.n = 0;
    return parse_head(r, &node, at, at + n) &&
           (!r->b || open_node(r, &node) == HALLEY_OK) && walk_rest(r, at, at + n);
}

/* Read GlobalMetadata { repeated attribute = 1 } of late v0.0.3. */
static bool take_old_meta(old_reader *r, const uint8_t *at, size_t n)
{
    const uint8_t *const end = at + n;
    if (r->schema->flat || !r->schema->has_meta_type)
        return false;
    while (at < end) {
        uint32_t field;
        wire_type type;
        halley_bytes message;
        if (!wire_tag(&at, end, &field, &type) || field != 1 || type != WIRE_LEN ||
            !take_len(&at, end, &message) || !take_old_attr(r, message, true))
            return false;
    }
    return true;
}

/* Read the next message. False: the file has ended or is cut. */
static bool next_message(const uint8_t **at, const uint8_t *end, const uint8_t **bytes,
                         size_t *n)
{
    return *at < end && wire_len(at, end, bytes, n);
}

static bool fits_schema(old_reader *r, const uint8_t *at, const uint8_t *end)
{
    const uint8_t *bytes;
    size_t n;
    bool fine = true, any = false;
    for (int i = 0; i < ET_OLD_SAMPLE && fine && next_message(&at, end, &bytes, &n);
         i++) {
        if (i == 0 && take_old_meta(r, bytes, n))
            continue;
        fine = n > 0 && take_old_node(r, bytes, n);
        any = true;
    }
    /* A flat node without any property could be of another schema too. */
    return fine && any && (r->any_flat || !r->schema->flat);
}

/* Is this the metadata of a late v0.0.3? */
static bool is_old_meta(const uint8_t *at, size_t n, bool *nomem)
{
    bool is = false;
    for (size_t i = 0; i < sizeof schemas / sizeof *schemas && !is; i++) {
        old_reader r = {.schema = &schemas[i]};
        is = take_old_meta(&r, at, n);
        *nomem |= r.nomem;
    }
    return is;
}

/*
 * Does the message fit the present schema: known fields, packed dependencies? A compute
 * node with a run time of v0.0.1 reads as a store with a time but no attributes. Such a
 * node is not accepted, so it is read as v0.0.1.
 */
static bool is_present_node(const et_decoder *d, const uint8_t *at, size_t n,
                            halley_status *status)
{
    const uint8_t *p = at, *const end = at + n;
    uint64_t type = 0;
    bool has_time = false, has_attr = false;
    while (p < end) {
        uint32_t field;
        wire_type wire;
        if (!wire_tag(&p, end, &field, &wire) || field > 10)
            return false;
        if ((field == 4 || field == 5) && wire != WIRE_LEN)
            return false;
        has_time |= field == 7;
        has_attr |= field == 10;
        if (field == 3 && wire == WIRE_VARINT ? !wire_varint(&p, end, &type)
                                              : !wire_skip(&p, end, field, wire))
            return false;
    }
    if (n == 0 || (type == HALLEY_NODE_MEM_STORE && has_time && !has_attr))
        return false;
    *status = et_read_node(d, at, n);
    return *status == HALLEY_OK;
}

/* Does the file have the present schema, judging by its first messages? */
static halley_status is_present(bool *out, trace_store *store, const uint8_t *at,
                                const uint8_t *end)
{
    const et_decoder d = {.s = store, .base = at};
    const uint8_t *const start = at;
    const uint8_t *bytes;
    size_t n;
    bool nomem = false;
    store->base = at;
    *out = true;
    if (!next_message(&at, end, &bytes, &n))
        return HALLEY_OK;
    halley_status status = et_read_meta(&d, bytes, n);
    if (status == HALLEY_OK && n > 0 && !is_old_meta(bytes, n, &nomem))
        return nomem ? HALLEY_ENOMEM : HALLEY_OK;
    if (status == HALLEY_EFORMAT)
        at = start; /* no metadata; the first message is a node */
    *out = status != HALLEY_OK || n == 0;
    for (int i = 0; i < ET_OLD_SAMPLE && *out && status != HALLEY_ENOMEM && !nomem &&
                    next_message(&at, end, &bytes, &n);
         i++)
        *out = is_present_node(&d, bytes, n, &status);
    return status == HALLEY_ENOMEM || nomem ? HALLEY_ENOMEM : HALLEY_OK;
}

halley_status et_old_recognise(const et_old_schema **out, const uint8_t *at, size_t n,
                               halley_error *err)
{
    trace_store store;
    bool present = false;
    *out = NULL;
    halley_status status = trace_store_init(&store) ? HALLEY_OK : HALLEY_ENOMEM;
    if (!status)
        status = is_present(&present, &store, at, at + n);
    trace_store_fini(&store);
    for (size_t i = 0;
         i < sizeof schemas / sizeof *schemas && !status && !present && !*out; i++) {
        old_reader r = {.schema = &schemas[i]};
        if (fits_schema(&r, at, at + n))
            *out = &schemas[i];
        status = r.nomem ? HALLEY_ENOMEM : HALLEY_OK;
        array_fini(&r.parents);
    }
    return status ? error_nomem(err) : HALLEY_OK;
}

static halley_status read_old_messages(old_reader *r, const file_input *in,
                                       halley_error *err)
{
    const et_decoder d = {.base = in->at, .err = err};
    const uint8_t *at = in->at, *const end = at + in->n;
    halley_builder *const b = r->b;
    for (bool first = true; at < end; first = false) {
        const uint8_t *const start = at;
        size_t n = 0;
        TRY(et_read_length(&d, &at, end, &n));
        r->b = NULL;
        const bool is_meta = first && take_old_meta(r, at, n);
        r->b = b;
        if (!(is_meta ? take_old_meta(r, at, n) : take_old_node(r, at, n)))
            return r->nomem ? error_nomem(err)
                            : et_bad(&d, start, "this message is no node of %s",
                                     halley_trace_form_name(r->schema->form));
        at += n;
    }
    return HALLEY_OK;
}

halley_status et_old_read(halley_trace **out, const et_old_schema *schema, file_input *in,
                          const char *path, const halley_load_opts *opts,
                          halley_error *err)
{
    halley_trace *trace = NULL;
    old_reader r = {.schema = schema};
    halley_status status = halley_builder_new(&r.b, err);
    if (!status) {
        halley_error first = {0}, built = {0};
        builder_set_max_nodes(r.b, opts->max_nodes);
        status = read_old_messages(&r, in, &first);
        const halley_status finished =
            builder_finish_as(&trace, r.b, path, schema->form, &built);
        if (finished) { /* out of memory or over a limit: report that cause */
            status = finished;
            first = built;
        }
        if (status && err)
            *err = first;
    }
    if (status)
        halley_trace_free(trace);
    else
        *out = trace;
    array_fini(&r.parents);
    file_input_close(in);
    return status;
}
