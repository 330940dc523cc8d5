/*
 * Against protobuf-c: random messages in every wire form that protobuf allows (fields out
 * of order or twice, lists packed or not or both, sub-messages in pieces, unknown fields)
 * are read by both; every accessor must agree, and our writer must give the bytes that
 * protobuf-c packs.
 */
#include "chakra.pb-c.h"
#include "random_trace.h"

typedef struct pieces {
    bytes at[64];
    size_t n;
} pieces;

/* A new piece of a message to write into. */
static bytes *add_piece(pieces *p)
{
    assert_true(p->n < 64);
    p->at[p->n] = (bytes){0};
    return &p->at[p->n++];
}

/* The message: mostly in order, often not. */
static bytes join(rng *r, pieces *p)
{
    bytes out = {0};
    if (rng_below(r, 3) == 0)
        for (size_t i = p->n; i > 1; i--) {
            const size_t k = (size_t)rng_below(r, i);
            const bytes swap = p->at[i - 1];
            p->at[i - 1] = p->at[k];
            p->at[k] = swap;
        }
    for (size_t i = 0; i < p->n; i++) {
        put_raw(&out, p->at[i].at, p->at[i].n);
        free(p->at[i].at);
    }
    return out;
}

/* Usually once, sometimes not at all or again. */
static uint64_t times(rng *r)
{
    const uint64_t pick = rng_below(r, 10);
    return pick < 6 ? 1 : pick < 9 ? 0 : 2;
}

/* Text without zeros, which protobuf-c cannot hold. */
static halley_bytes plain_text(rng *r)
{
    halley_bytes text;
    do
        text = random_text(r, RANDOM_NOT_UTF8);
    while (memchr(text.at, 0, text.n));
    return text;
}

static void put_some_text(rng *r, bytes *m, uint32_t field)
{
    const halley_bytes text = plain_text(r);
    put_bytes(m, field, text.at, text.n);
}

static void add_unknown(rng *r, pieces *p, uint32_t first)
{
    for (uint64_t n = rng_below(r, 6) ? 0 : 1 + rng_below(r, 2); n > 0; n--) {
        static const uint32_t types[] = {0, 1, 2, 5};
        bytes *const m = add_piece(p);
        const uint32_t type = types[rng_below(r, 4)];
        const uint32_t field = first + (uint32_t)rng_below(r, 100);
        if (type == 2)
            put_some_text(r, m, field);
        else
            put_any(m, field, type);
    }
}

/* Numbers in one run, one by one, or some of each. */
static void add_numbers(rng *r, pieces *p, uint32_t field, halley_attr_kind scalar,
                        uint32_t wire_type)
{
    for (uint64_t n_runs = rng_below(r, 4); n_runs > 0; n_runs--) {
        bytes *const m = add_piece(p);
        bytes run = {0};
        const bool packed = rng_below(r, 3);
        for (uint64_t n = rng_below(r, 5); n > 0; n--) {
            if (!packed)
                put_tag(m, field, wire_type);
            put_scalar(packed ? &run : m, scalar, random_bits(r, scalar));
        }
        if (packed)
            put_message(m, field, run);
    }
}

static uint32_t wire_type_of(halley_attr_kind scalar)
{
    bytes m = {0};
    put_scalar(&m, scalar, UINT64_MAX);
    const size_t n = m.n;
    free(m.at);
    if (scalar == HALLEY_ATTR_STRING || scalar == HALLEY_ATTR_BYTES)
        return 2;
    return n == 8 ? 1 : n == 4 ? 5 : 0;
}

static bytes random_wire_list(rng *r, halley_attr_kind kind, bool alone)
{
    const halley_attr_kind scalar = (halley_attr_kind)(kind - 1);
    const uint32_t type = wire_type_of(scalar);
    pieces p = {0};
    if (type == 2)
        for (uint64_t n = rng_below(r, 4); n > 0; n--)
            put_some_text(r, add_piece(&p), 1);
    else
        add_numbers(r, &p, 1, scalar, type);
    if (alone) /* protobuf-c loses unknown fields of what it merges */
        add_unknown(r, &p, 2);
    return join(r, &p);
}

static bytes random_wire_attr(rng *r)
{
    pieces p = {0};
    for (uint64_t n = times(r); n > 0; n--)
        put_some_text(r, add_piece(&p), 1);
    if (rng_below(r, 8) == 0)
        put_some_text(r, add_piece(&p), 2);
    const uint64_t n_values = times(r);
    halley_attr_kind last = HALLEY_ATTR_NONE;
    for (uint64_t n = n_values; n > 0; n--) {
        bytes *const m = add_piece(&p);
        halley_attr_kind kind = (halley_attr_kind)(3 + rng_below(r, 30));
        if (last && rng_below(r, 2))
            kind = last;
        /* C++ protobuf merges a list that stands twice, as we do; protobuf-c does not. */
        if (kind == last && halley_attr_is_list(kind))
            kind--;
        last = kind;
        if (halley_attr_is_list(kind)) {
            put_message(m, kind, random_wire_list(r, kind, n_values == 1));
        } else if (wire_type_of(kind) == 2) {
            put_some_text(r, m, kind);
        } else {
            put_tag(m, kind, wire_type_of(kind));
            put_scalar(m, kind, random_bits(r, kind));
        }
    }
    add_unknown(r, &p, 33);
    return join(r, &p);
}

static void add_wire_io(rng *r, pieces *p, uint32_t field)
{
    const uint64_t n_parts = times(r);
    for (uint64_t n = n_parts; n > 0; n--) {
        pieces io = {0};
        for (uint32_t f = 1; f <= 3; f++)
            for (uint64_t k = times(r); k > 0; k--)
                put_some_text(r, add_piece(&io), f);
        if (n_parts == 1)
            add_unknown(r, &io, 4);
        put_message(add_piece(p), field, join(r, &io));
    }
}

static bytes random_wire_node(rng *r)
{
    pieces p = {0};
    put_u64(add_piece(&p), 1, 1 + rng_below(r, 1000));
    for (uint64_t n = times(r); n > 0; n--)
        put_some_text(r, add_piece(&p), 2);
    for (uint64_t n = times(r); n > 0; n--)
        put_u64(add_piece(&p), 3, rng_below(r, 5) ? rng_below(r, 8) : random_u64(r));
    add_numbers(r, &p, 4, HALLEY_ATTR_UINT64, 0);
    add_numbers(r, &p, 5, HALLEY_ATTR_UINT64, 0);
    for (uint64_t n = times(r); n > 0; n--)
        put_u64(add_piece(&p), 6, random_u64(r));
    for (uint64_t n = times(r); n > 0; n--)
        put_u64(add_piece(&p), 7, random_u64(r));
    add_wire_io(r, &p, 8);
    add_wire_io(r, &p, 9);
    for (uint64_t n = rng_below(r, 5); n > 0; n--)
        put_message(add_piece(&p), 10, random_wire_attr(r));
    add_unknown(r, &p, 11);
    return join(r, &p);
}

static bytes random_wire_meta(rng *r)
{
    pieces p = {0};
    put_text(add_piece(&p), 1, "1.0.0");
    for (uint64_t n = rng_below(r, 4); n > 0; n--)
        put_message(add_piece(&p), 2, random_wire_attr(r));
    add_unknown(r, &p, 3);
    return join(r, &p);
}

static void same_unknown(halley_bytes ours, const ProtobufCMessage *theirs)
{
    bytes all = {0};
    for (unsigned i = 0; i < theirs->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *const f = &theirs->unknown_fields[i];
        put_tag(&all, f->tag, f->wire_type);
        put_raw(&all, f->data, f->len);
    }
    assert_int_equal(ours.n, all.n);
    assert_true(all.n == 0 || memcmp(ours.at, all.at, all.n) == 0);
    free(all.at);
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static halley_bytes view(const char *text)
{
    return (halley_bytes){text, strlen(text)};
}

static halley_bytes binary(ProtobufCBinaryData data)
{
    return (halley_bytes){(const char *)data.data, data.len};
}

/* protobuf-c's value of a scalar attribute, or element i of a list; false behind the end.
 */
static bool their_item(const Chakra__AttributeProto *a, size_t i, halley_attr_item *out)
{
    *out = (halley_attr_item){0};
#define INTEGER(KIND, member)                                                            \
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_##KIND##_VAL:                                    \
        out->bits = (uint64_t)(int64_t)a->member##_val;                                  \
        return i == 0;                                                                   \
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_##KIND##_LIST:                                   \
        if (i >= a->member##_list->n_values)                                             \
            return false;                                                                \
        out->bits = (uint64_t)(int64_t)a->member##_list->values[i];                      \
        return true;
#define OTHER(KIND, member, to, convert)                                                 \
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_##KIND##_VAL:                                    \
        out->to = convert(a->member##_val);                                              \
        return i == 0;                                                                   \
    case CHAKRA__ATTRIBUTE_PROTO__VALUE_##KIND##_LIST:                                   \
        if (i >= a->member##_list->n_values)                                             \
            return false;                                                                \
        out->to = convert(a->member##_list->values[i]);                                  \
        return true;
    switch (a->value_case) {
        INTEGER(INT32, int32)
        INTEGER(INT64, int64)
        INTEGER(UINT32, uint32)
        INTEGER(UINT64, uint64)
        INTEGER(SINT32, sint32)
        INTEGER(SINT64, sint64)
        INTEGER(FIXED32, fixed32)
        INTEGER(FIXED64, fixed64)
        INTEGER(SFIXED32, sfixed32)
        INTEGER(SFIXED64, sfixed64)
        INTEGER(BOOL, bool)
        OTHER(DOUBLE, double, bits, bits_of_double)
        OTHER(FLOAT, float, bits, bits_of_float)
        OTHER(STRING, string, bytes, view)
        OTHER(BYTES, bytes, bytes, binary)
    default:
        return false;
    }
}

static void same_item(halley_attr_item a, halley_attr_item b)
{
    if (a.bits != b.bits)
        fail_msg("%llx is %llx for protobuf-c", (unsigned long long)a.bits,
                 (unsigned long long)b.bits);
    assert_int_equal(a.bytes.n, b.bytes.n);
    assert_true(a.bytes.n == 0 || memcmp(a.bytes.at, b.bytes.at, a.bytes.n) == 0);
}

static void same_as_theirs(halley_attr a, const Chakra__AttributeProto *b)
{
    halley_attr_item ours = {0}, theirs;
    assert_bytes(a.name, b->name);
    assert_bytes(a.doc, b->doc_string);
    assert_int_equal(a.kind, b->value_case);
    same_unknown(a.unknown, &b->base);
    if (!halley_attr_is_list(a.kind)) {
        ours = (halley_attr_item){a.bits, a.bytes};
        their_item(b, 0, &theirs);
        same_item(ours, theirs);
        return;
    }
    size_t cursor = 0;
    for (size_t i = 0; their_item(b, i, &theirs); i++) {
        assert_true(halley_attr_list_next(&a, &cursor, &ours));
        same_item(ours, theirs);
    }
    assert_false(halley_attr_list_next(&a, &cursor, &ours));
}

static void same_io_as_theirs(halley_io a, const Chakra__IOInfo *b)
{
    assert_int_equal(a.present, b != NULL);
    if (!b)
        return;
    assert_bytes(a.values, b->values);
    assert_bytes(a.shapes, b->shapes);
    assert_bytes(a.types, b->types);
    same_unknown(a.unknown, &b->base);
}

static void same_node_as_theirs(const halley_trace *t, uint32_t i, const Chakra__Node *b)
{
    assert_true(halley_node_id(t, i) == b->id);
    assert_bytes(halley_node_name(t, i), b->name);
    assert_int_equal((int32_t)halley_node_type_of(t, i), b->type);
    assert_true(halley_node_start_us(t, i) == b->start_time_micros);
    assert_true(halley_node_duration_us(t, i) == b->duration_micros);
    assert_int_equal(halley_node_ctrl_count(t, i), b->n_ctrl_deps);
    assert_int_equal(halley_node_data_count(t, i), b->n_data_deps);
    for (uint32_t k = 0; k < b->n_ctrl_deps; k++)
        assert_true(halley_node_ctrl(t, i, k).id == b->ctrl_deps[k]);
    for (uint32_t k = 0; k < b->n_data_deps; k++)
        assert_true(halley_node_data(t, i, k).id == b->data_deps[k]);
    same_io_as_theirs(halley_node_inputs(t, i), b->inputs);
    same_io_as_theirs(halley_node_outputs(t, i), b->outputs);
    assert_int_equal(halley_node_attr_count(t, i), b->n_attr);
    for (uint32_t k = 0; k < b->n_attr; k++)
        same_as_theirs(halley_node_attr(t, i, k), b->attr[k]);
    same_unknown(halley_node_unknown(t, i), &b->base);
}

/* Append what protobuf-c makes of a message. */
static void put_packed(bytes *file, const ProtobufCMessage *message)
{
    bytes m = {0};
    m.n = protobuf_c_message_get_packed_size(message);
    m.at = malloc(m.n + 1);
    assert_non_null(m.at);
    protobuf_c_message_pack(message, m.at);
    put_framed(file, m);
}

enum { MAX_NODES = 12 };

/* One file: read by both, compared, and written by both. */
static void compare(rng *r)
{
    bytes file = {0}, canonical = {0};
    const uint32_t n = 1 + (uint32_t)rng_below(r, MAX_NODES);
    Chakra__Node *nodes[MAX_NODES];
    const bytes meta = random_wire_meta(r);
    Chakra__GlobalMetadata *const theirs =
        chakra__global_metadata__unpack(NULL, meta.n, meta.at);
    assert_non_null(theirs);
    put_packed(&canonical, &theirs->base);
    put_framed(&file, meta);
    for (uint32_t i = 0; i < n; i++) {
        const bytes node = random_wire_node(r);
        nodes[i] = chakra__node__unpack(NULL, node.n, node.at);
        assert_non_null(nodes[i]);
        put_packed(&canonical, &nodes[i]->base);
        put_framed(&file, node);
    }
    halley_trace *const t = parse_file(file);
    assert_int_equal(halley_trace_form_of(t), HALLEY_FORM_ET);
    assert_int_equal(halley_trace_count(t), n);
    assert_bytes(halley_trace_version(t), theirs->version);
    assert_int_equal(halley_trace_metadata_count(t), theirs->n_attr);
    for (uint32_t i = 0; i < theirs->n_attr; i++)
        same_as_theirs(halley_trace_metadata(t, i), theirs->attr[i]);
    same_unknown(halley_trace_metadata_unknown(t), &theirs->base);
    for (uint32_t i = 0; i < n; i++) {
        same_node_as_theirs(t, i, nodes[i]);
        chakra__node__free_unpacked(nodes[i], NULL);
    }
    chakra__global_metadata__free_unpacked(theirs, NULL);
    assert_encodes(t, canonical.at, canonical.n);
    halley_trace_free(t);
    halley_trace *again = NULL;
    assert_int_equal(
        halley_trace_parse(&again, canonical.at, canonical.n, "made", NULL, NULL),
        HALLEY_OK);
    assert_encodes(again, canonical.at, canonical.n);
    halley_trace_free(again);
    free(canonical.at);
}

static void protobuf_c_reads_and_writes_the_same(void **state)
{
    (void)state;
    rng r = rng_seed(1);
    for (int i = 0; i < 4000; i++)
        compare(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(protobuf_c_reads_and_writes_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
