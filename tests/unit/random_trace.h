/* random_trace.h - traces with everything in them that a trace can have, from a seed. */
#ifndef RANDOM_TRACE_H
#define RANDOM_TRACE_H

#include "base/rng.h"
#include "et_bytes.h"

enum {
    RANDOM_UNKNOWN = 1, /* unknown fields everywhere */
    RANDOM_NOT_UTF8 = 2
};

#define TEXT(literal)                                                                    \
    {                                                                                    \
        literal, sizeof(literal) - 1                                                     \
    }

static inline halley_bytes random_text(rng *r, unsigned flags)
{
    static const char long_text[] = "a name that is longer than the sixty-four bytes "
                                    "that fit into a header, and then "
                                    "some more, until its length does not fit into one "
                                    "byte either, whichever way one "
                                    "looks at it; that is all";
    static const halley_bytes texts[] = {
        TEXT(""),
        TEXT("a"),
        TEXT("aten::mm"),
        TEXT("comm_size"),
        TEXT("\xce\xba\xcf\x8c\xcf\x83\xce\xbc\xce\xb5"),
        TEXT("\xf0\x9f\x98\x80 \xef\xbf\xbd \xc2\x80"),
        TEXT("\x00 nul \x7f"),
        TEXT("\" \\ / \b \f \n \r \t \x01 \x1f"),
        TEXT("</script>&'"),
        TEXT("[[1, 2], ['x', None]]"),
        TEXT("\x08\x01\x12\x01z\x18\x04"), /* looks like a node */
        TEXT("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf"),
    };
    static const halley_bytes wrong[] = {TEXT("\xff"), TEXT("\xc0\x80"),
                                         TEXT("a\xed\xa0\x80")};
    const uint64_t n = sizeof texts / sizeof *texts;
    if (flags & RANDOM_NOT_UTF8 && rng_below(r, 8) == 0)
        return wrong[rng_below(r, 3)];
    const uint64_t pick = rng_below(r, n + 2);
    if (pick < n)
        return texts[pick];
    return (halley_bytes){long_text, 60 + (size_t)rng_below(r, 12) * (pick > n ? 10 : 1)};
}

static inline uint64_t random_u64(rng *r)
{
    static const uint64_t ends[] = {0,
                                    1,
                                    127,
                                    128,
                                    16383,
                                    16384,
                                    INT32_MAX,
                                    0x80000000,
                                    UINT32_MAX,
                                    1ull << 32,
                                    1ull << 53,
                                    INT64_MAX,
                                    1ull << 63,
                                    UINT64_MAX,
                                    (uint64_t)INT32_MIN,
                                    UINT64_MAX - 1};
    const uint64_t pick = rng_below(r, 24);
    return pick < 16 ? ends[pick] : rng_u64(r) >> rng_below(r, 64);
}

/* The bits of a value as the API gives them. */
static inline uint64_t random_bits(rng *r, halley_attr_kind kind)
{
    static const uint32_t floats[] = {0,          0x80000000, 0x7f800000, 0xff800000,
                                      0x7fc00000, 1,          0x007fffff, 0x00800000,
                                      0x7f7fffff, 0x3dcccccd, 0x3f800000, 0x4b800000};
    static const uint64_t doubles[] = {0,
                                       1ull << 63,
                                       0x7ff0000000000000,
                                       0xfff0000000000000,
                                       0x7ff8000000000000,
                                       1,
                                       0x000fffffffffffff,
                                       0x0010000000000000,
                                       0x7fefffffffffffff,
                                       0x3fb999999999999a,
                                       0x4340000000000000,
                                       0x44b52d02c7e14af6};
    const uint64_t bits = random_u64(r);
    switch (kind) {
    case HALLEY_ATTR_DOUBLE:
        /* No NaN but the usual one, which is the only one that JSON can carry. */
        return rng_below(r, 2) ? doubles[rng_below(r, 12)] : bits & ~(UINT64_C(1) << 62);
    case HALLEY_ATTR_FLOAT:
        return rng_below(r, 2) ? floats[rng_below(r, 12)]
                               : (uint32_t)bits & ~(UINT32_C(1) << 30);
    case HALLEY_ATTR_INT32:
    case HALLEY_ATTR_SINT32:
    case HALLEY_ATTR_SFIXED32:
        return (uint64_t)(int64_t)(int32_t)(uint32_t)bits;
    case HALLEY_ATTR_UINT32:
    case HALLEY_ATTR_FIXED32:
        return (uint32_t)bits;
    case HALLEY_ATTR_BOOL:
        return bits & 1;
    default:
        return bits;
    }
}

static inline void put_scalar(bytes *m, halley_attr_kind kind, uint64_t bits)
{
    switch (kind) {
    case HALLEY_ATTR_DOUBLE:
    case HALLEY_ATTR_FIXED64:
    case HALLEY_ATTR_SFIXED64:
        put_raw(m, &bits, 8);
        break;
    case HALLEY_ATTR_FLOAT:
    case HALLEY_ATTR_FIXED32:
    case HALLEY_ATTR_SFIXED32:
        put_raw(m, &bits, 4);
        break;
    case HALLEY_ATTR_SINT32:
        put_varint(m, (uint32_t)(bits << 1) ^ (uint32_t)((int32_t)bits >> 31));
        break;
    case HALLEY_ATTR_SINT64:
        put_varint(m, bits << 1 ^ (uint64_t)((int64_t)bits >> 63));
        break;
    default:
        put_varint(m, bits);
    }
}

/* A list message with 0 … 3 elements, or many. */
static inline bytes random_list(rng *r, halley_attr_kind kind, unsigned flags)
{
    const halley_attr_kind scalar = (halley_attr_kind)(kind - 1);
    bytes list = {0}, packed = {0};
    const uint64_t n = rng_below(r, 20) ? rng_below(r, 4) : 60;
    for (uint64_t i = 0; i < n; i++) {
        if (scalar == HALLEY_ATTR_STRING || scalar == HALLEY_ATTR_BYTES) {
            const halley_bytes text = random_text(
                r, scalar == HALLEY_ATTR_BYTES ? flags | RANDOM_NOT_UTF8 : flags);
            put_bytes(&list, 1, text.at, text.n);
        } else {
            put_scalar(&packed, scalar, random_bits(r, scalar));
        }
    }
    if (packed.n)
        put_bytes(&list, 1, packed.at, packed.n);
    free(packed.at);
    if (flags & RANDOM_UNKNOWN && rng_below(r, 4) == 0)
        put_u64(&list, 2 + (uint32_t)rng_below(r, 40), 5);
    return list;
}

/* Fields that no message of the schema has, or none. */
static inline halley_bytes random_unknown(rng *r, unsigned flags)
{
    static const halley_bytes some[] = {
        TEXT("\xf8\x07\x01"),             /* field 127, varint */
        TEXT("\xaa\x02\x03pqr"),          /* field 37, text */
        TEXT("\xad\x02\x01\x02\x03\x04"), /* field 37, 32 bits */
        TEXT("\xab\x02\x08\x01\xac\x02"), /* field 37, a group */
        TEXT("\xf8\x07\x01\xaa\x02\x03pqr"),
    };
    return flags & RANDOM_UNKNOWN && rng_below(r, 4) == 0 ? some[rng_below(r, 5)]
                                                          : (halley_bytes){"", 0};
}

/* An attribute; *list is what its bytes point to, to be freed. */
static inline halley_attr random_attr(rng *r, unsigned flags, bytes *list)
{
    halley_attr a = {.name = random_text(r, flags), .doc = {"", 0}, .bytes = {"", 0}};
    a.kind = (halley_attr_kind)rng_below(r, HALLEY_ATTR_END - 2);
    a.kind = a.kind ? a.kind + 2 : HALLEY_ATTR_NONE;
    if (rng_below(r, 10) == 0)
        a.doc = random_text(r, flags);
    a.unknown = random_unknown(r, flags);
    if (a.kind == HALLEY_ATTR_STRING)
        a.bytes = random_text(r, flags);
    else if (a.kind == HALLEY_ATTR_BYTES)
        a.bytes = random_text(r, flags | RANDOM_NOT_UTF8);
    else if (halley_attr_is_list(a.kind)) {
        *list = random_list(r, a.kind, flags);
        a.bytes = (halley_bytes){list->n ? (const char *)list->at : "", list->n};
    } else if (a.kind != HALLEY_ATTR_NONE)
        a.bits = random_bits(r, a.kind);
    return a;
}

static inline halley_io random_io(rng *r, unsigned flags)
{
    halley_io io = {.present = rng_below(r, 2)};
    if (!io.present)
        return io;
    io.values = random_text(r, flags);
    io.shapes = random_text(r, flags);
    io.types = random_text(r, flags);
    io.unknown = random_unknown(r, flags);
    return io;
}

/* Ids rise by one, leap, fall, or stand twice. */
static inline uint64_t random_id(rng *r, uint64_t style, uint64_t last)
{
    if (style == 0)
        return last + 1;
    if (style == 1)
        return last + 1 + rng_below(r, 1000);
    if (style == 2)
        return last - 1 - rng_below(r, 3);
    return rng_below(r, 4) ? rng_below(r, 50) : random_u64(r);
}

static inline void add_random_attrs(rng *r, halley_builder *b, unsigned flags, bool meta)
{
    for (uint64_t n = rng_below(r, 5); n > 0; n--) {
        bytes list = {0};
        const halley_attr a = random_attr(r, flags, &list);
        assert_int_equal(meta ? halley_builder_metadata(b, &a)
                              : halley_builder_attr(b, &a),
                         HALLEY_OK);
        free(list.at);
    }
}

static inline void add_random_node(rng *r, halley_builder *b, unsigned flags, uint64_t id)
{
    static const uint32_t types[] = {8, 254, 255, 256, INT32_MAX, UINT32_MAX};
    const uint32_t type =
        rng_below(r, 20) ? 1 + (uint32_t)rng_below(r, 7) : types[rng_below(r, 6)];
    assert_int_equal(halley_builder_node(b, id, type, random_text(r, flags)), HALLEY_OK);
    if (rng_below(r, 2))
        halley_builder_time(b, random_u64(r), random_u64(r));
    for (uint64_t n = rng_below(r, 4); n > 0; n--)
        halley_builder_data(b, rng_below(r, 3) ? id - rng_below(r, 4) : random_u64(r));
    for (uint64_t n = rng_below(r, 40) ? rng_below(r, 3) : 40; n > 0; n--)
        halley_builder_ctrl(b, rng_below(r, 3) ? id - rng_below(r, 4) : random_u64(r));
    const halley_io inputs = random_io(r, flags), outputs = random_io(r, flags);
    halley_builder_inputs(b, &inputs);
    halley_builder_outputs(b, &outputs);
    add_random_attrs(r, b, flags, false);
    assert_int_equal(halley_builder_unknown(b, random_unknown(r, flags)), HALLEY_OK);
}

static inline halley_trace *random_trace(uint64_t seed, uint32_t n_nodes, unsigned flags)
{
    rng r = rng_seed(seed);
    halley_builder *b = NULL;
    halley_trace *t = NULL;
    assert_int_equal(halley_builder_new(&b, NULL), HALLEY_OK);
    halley_builder_version(b, random_text(&r, flags));
    halley_builder_metadata_unknown(b, random_unknown(&r, flags));
    add_random_attrs(&r, b, flags, true);
    const uint64_t style = rng_below(&r, 4);
    uint64_t id = rng_below(&r, 2) ? rng_below(&r, 3) : random_u64(&r);
    for (uint32_t i = 0; i < n_nodes; i++) {
        add_random_node(&r, b, flags, id);
        id = random_id(&r, style, id);
    }
    assert_int_equal(halley_builder_finish(&t, b, NULL), HALLEY_OK);
    return t;
}

#endif
