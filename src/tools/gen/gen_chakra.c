/*
 * The fourteen cases of Chakra's generator.
 *
 * With `exact` the bytes are the same as Chakra's. Ids then run on over all files of all
 * cases, case by case and rank by rank. Otherwise ids start at 0 in every file, and
 * compute nodes have num_ops and tensor_size. The send and receive cases then pair the
 * ranks, so that every send has its receive. Both give peer, size and tag.
 */
#include "base/error.h"
#include "gen/gen.h"

#include <string.h>

typedef enum chakra_case {
    ALL_ATTRIBUTES,
    MEM_LOAD,
    MEM_STORE,
    ONE_COMP,
    TWO_INDEPENDENT,
    TWO_DEPENDENT,
    COLL_ALL_REDUCE,
    COLL_ALL_TO_ALL,
    COLL_ALL_GATHER,
    COLL_REDUCE_SCATTER,
    COLL_BROADCAST,
    COLL_BARRIER,
    ONE_SEND,
    ONE_RECV,
    N_CASES
} chakra_case;

static const struct {
    uint32_t n_nodes; /* per rank */
    uint32_t coll;    /* halley_coll_type */
} cases[N_CASES] = {
    [ALL_ATTRIBUTES] = {1, 0},
    [MEM_LOAD] = {1, 0},
    [MEM_STORE] = {1, 0},
    [ONE_COMP] = {1, 0},
    [TWO_INDEPENDENT] = {2, 0},
    [TWO_DEPENDENT] = {2, 0},
    [COLL_ALL_REDUCE] = {1, HALLEY_COLL_ALL_REDUCE},
    [COLL_ALL_TO_ALL] = {1, HALLEY_COLL_ALL_TO_ALL},
    [COLL_ALL_GATHER] = {1, HALLEY_COLL_ALL_GATHER},
    [COLL_REDUCE_SCATTER] = {1, HALLEY_COLL_REDUCE_SCATTER},
    [COLL_BROADCAST] = {1, HALLEY_COLL_BROADCAST},
    [COLL_BARRIER] = {1, HALLEY_COLL_BARRIER},
    [ONE_SEND] = {1, 0},
    [ONE_RECV] = {1, 0},
};

halley_status gen_chakra_check(halley_gen *gen, halley_error *err)
{
    const uint32_t which = gen->pattern->detail;
    if ((which == ONE_SEND || which == ONE_RECV) && !gen->exact && gen->n_npus % 2 != 0)
        return error_set(err, HALLEY_EINVAL,
                         "%s pairs the NPUs up, so their number must be even, is %u",
                         gen->pattern->name, gen->n_npus);
    return HALLEY_OK;
}

/* One attribute of every kind, with Chakra's values. Lists are encoded messages: field 1,
 * packed, or once per text. */
typedef struct sample {
    const char *name;
    bool documented; /* its doc string is its name */
    halley_attr_kind kind;
    uint64_t bits;
    const char *bytes;
    size_t n_bytes;
} sample;

#define NUMBER(name, doc, kind, value)                                                   \
    {                                                                                    \
        name, doc, kind, (uint64_t)(value), NULL, 0                                      \
    }
#define TEXT(name, doc, kind, value)                                                     \
    {                                                                                    \
        name, doc, kind, 0, value, sizeof(value) - 1                                     \
    }
#define TEN_TEXTS                                                                        \
    "\n\00512345\n\00512346\n\00512347\n\00512348\n\00512349"                            \
    "\n\00512350\n\00512351\n\00512352\n\00512353\n\00512354"

static const sample samples[] = {
    NUMBER("double", true, HALLEY_ATTR_DOUBLE, 0x3ff3c083126e978d), /* 1.2345 */
    TEXT("double_list", false, HALLEY_ATTR_DOUBLE_LIST,
         "\n\x10\x8d\x97\x6e\x12\x83\xc0\xf3\x3f\x16\xfb\xcb\xee\xc9\xc3\x02\x40"),
    NUMBER("float", true, HALLEY_ATTR_FLOAT, 0x3f9e0419), /* 1.2345 */
    TEXT("float_list", false, HALLEY_ATTR_FLOAT_LIST,
         "\n\x08\x19\x04\x9e\x3f\x4f\x1e\x16\x40"),
    NUMBER("int32", true, HALLEY_ATTR_INT32, 12345),
    TEXT("int32_list", false, HALLEY_ATTR_INT32_LIST, "\n\x05\xb9\x60\xa0\xb7\x01"),
    NUMBER("int64", true, HALLEY_ATTR_INT64, 9876543210),
    TEXT("int64_list", false, HALLEY_ATTR_INT64_LIST,
         "\n\n\xea\xad\xc0\xe5\x24\xd2\x85\xd8\xcc\x04"),
    NUMBER("uint32", true, HALLEY_ATTR_UINT32, 12345),
    TEXT("uint32_list", false, HALLEY_ATTR_UINT32_LIST, "\n\x05\xb9\x60\xa0\xb7\x01"),
    NUMBER("uint64", true, HALLEY_ATTR_UINT64, 9876543210),
    TEXT("uint64_list", false, HALLEY_ATTR_UINT64_LIST,
         "\n\n\xea\xad\xc0\xe5\x24\xd2\x85\xd8\xcc\x04"),
    NUMBER("sint32", true, HALLEY_ATTR_SINT32, -12345),
    TEXT("sint32_list", false, HALLEY_ATTR_SINT32_LIST, "\n\x06\xf2\xc0\x01\xbf\xee\x02"),
    NUMBER("sint64", true, HALLEY_ATTR_SINT64, -9876543210),
    TEXT("sint64_list", false, HALLEY_ATTR_SINT64_LIST,
         "\n\n\xd4\xdb\x80\xcb\x49\xa3\x8b\xb0\x99\x09"),
    NUMBER("fixed32", false, HALLEY_ATTR_FIXED32, 12345),
    TEXT("fixed32_list", false, HALLEY_ATTR_FIXED32_LIST,
         "\n\x08\x39\x30\0\0\xa0\x5b\0\0"),
    NUMBER("fixed64", false, HALLEY_ATTR_FIXED64, 9876543210),
    TEXT("fixed64_list", false, HALLEY_ATTR_FIXED64_LIST,
         "\n\x10\xea\x16\xb0\x4c\x02\0\0\0\xd2\x02\x96\x49\0\0\0\0"),
    NUMBER("sfixed32", false, HALLEY_ATTR_SFIXED32, -12345),
    TEXT("sfixed32_list", false, HALLEY_ATTR_SFIXED32_LIST,
         "\n\x08\x39\x30\0\0\x60\xa4\xff\xff"),
    NUMBER("sfixed64", false, HALLEY_ATTR_SFIXED64, -9876543210),
    TEXT("sfixed64_list", false, HALLEY_ATTR_SFIXED64_LIST,
         "\n\x10\xea\x16\xb0\x4c\x02\0\0\0\x2e\xfd\x69\xb6\xff\xff\xff\xff"),
    NUMBER("bool", true, HALLEY_ATTR_BOOL, 1),
    TEXT("bool_list", false, HALLEY_ATTR_BOOL_LIST, "\n\n\1\0\1\0\1\0\1\0\1\0"),
    TEXT("string", true, HALLEY_ATTR_STRING, "12345"),
    TEXT("string_list", false, HALLEY_ATTR_STRING_LIST, TEN_TEXTS),
    TEXT("bytes", false, HALLEY_ATTR_BYTES, "12345"),
    TEXT("bytes_list", false, HALLEY_ATTR_BYTES_LIST, TEN_TEXTS),
};

static void make_all_attributes(gen_out *o)
{
    (void)halley_builder_node(o->b, o->next_id++, HALLEY_NODE_METADATA,
                              (halley_bytes){"METADATA_NODE", 13});
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        const sample *s = &samples[i];
        const halley_bytes name = {s->name, strlen(s->name)};
        const halley_attr attr = {.name = name,
                                  .doc = s->documented ? name : (halley_bytes){"", 0},
                                  .kind = s->kind,
                                  .bits = s->bits,
                                  .bytes = {s->bytes, s->n_bytes}};
        (void)halley_builder_attr(o->b, &attr);
    }
}

/* Like Chakra: a tensor_size, and nothing about the peer. */
static void make_bare_message(gen_out *o, const halley_gen *gen, bool send)
{
    (void)gen_node(o, send ? HALLEY_NODE_SEND : HALLEY_NODE_RECV,
                   send ? "COMM_SEND_NODE" : "COMM_RECV_NODE", 0);
    (void)halley_builder_attr_u64(o->b, HALLEY_ATTR_NAME_TENSOR_SIZE,
                                  gen->value[GEN_TENSOR]);
}

/* Even ranks do what the case is named after; the odd rank above each does the
 * counterpart. */
static void make_paired_message(gen_out *o, const halley_gen *gen, uint32_t rank,
                                bool send)
{
    const bool even = rank % 2 == 0;
    const uint32_t peer = even ? rank + 1 : rank - 1;
    const uint64_t bytes = gen->value[GEN_TENSOR];
    if (even == send)
        (void)gen_send(o, rank, peer, 0, bytes);
    else
        (void)gen_recv(o, peer, rank, 0, bytes);
    (void)halley_builder_attr_u64(o->b, HALLEY_ATTR_NAME_TENSOR_SIZE, bytes);
}

static void make_comps(gen_out *o, const halley_gen *gen, uint32_t which)
{
    const uint64_t first = gen_comp(o, "COMP_NODE", gen->value[GEN_COMPUTE], 0, 0);
    if (which == ONE_COMP)
        return;
    (void)gen_comp(o, "COMP_NODE", gen->value[GEN_COMPUTE], 0, 0);
    if (which == TWO_DEPENDENT)
        gen_after(o, first);
}

void gen_chakra_make(gen_out *o, const halley_gen *gen, uint32_t rank)
{
    const uint32_t which = gen->pattern->detail;
    if (gen->exact) {
        for (uint32_t c = 0; c < which; c++)
            o->next_id += (uint64_t)cases[c].n_nodes * gen->n_npus;
        o->next_id += (uint64_t)cases[which].n_nodes * rank;
    }
    switch (which) {
    case ALL_ATTRIBUTES:
        make_all_attributes(o);
        return;
    case MEM_LOAD:
    case MEM_STORE:
        (void)gen_mem(o, which == MEM_STORE,
                      which == MEM_STORE ? "MEM_STORE_NODE" : "MEM_LOAD_NODE",
                      gen->value[GEN_TENSOR]);
        return;
    case ONE_COMP:
    case TWO_INDEPENDENT:
    case TWO_DEPENDENT:
        make_comps(o, gen, which);
        return;
    case ONE_SEND:
    case ONE_RECV:
        if (gen->exact)
            make_bare_message(o, gen, which == ONE_SEND);
        else
            make_paired_message(o, gen, rank, which == ONE_SEND);
        return;
    default:
        (void)gen_coll(o, gen->pattern->name, cases[which].coll,
                       which == COLL_BARRIER ? 0 : gen->value[GEN_SIZE], 0);
    }
}

bool gen_chakra_same(const halley_gen *gen, uint32_t *same)
{
    const uint32_t which = gen->pattern->detail;
    if (!gen->exact && which != ONE_SEND && which != ONE_RECV)
        return gen_all_same(gen, same);
    for (uint32_t r = 0; r < gen->n_npus; r++)
        same[r] = r;
    return true;
}
