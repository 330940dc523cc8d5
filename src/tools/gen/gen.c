/*
 * Generators: the table of patterns, creating and freeing a generator, and the nodes that
 * patterns consist of. Attributes have the types that ASTRA-sim's readers expect:
 * comm_type, comm_size and num_ops are int64, comm_src, comm_dst and comm_tag int32,
 * tensor_size uint64.
 */
#include "gen/gen.h"

#include "base/call.h"
#include "base/error.h"
#include "base/number/number.h"
#include "base/number/units.h"
#include "base/str.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BIT(param) (UINT32_C(1) << GEN_##param)
#define WORK (BIT(COMPUTE) | BIT(FLOPS) | BIT(TENSOR))

enum {
    MAX_NPUS = 1 << 20,
    FLOPS_PER_MICRO = 100000000, /* 100 TFLOP/s, for compute nodes with only a time */
    FLOPS_PER_BYTE = 1000        /* high enough that memory is not the limit */
};

#define CHAKRA(name_, doc_, case_, params_)                                              \
    {                                                                                    \
        .name = name_, .doc = doc_, .detail = case_, .params = params_,                  \
        .own = {GEN_SIZE, GEN_COMPUTE, GEN_TENSOR, GEN_N_PARAMS},                        \
        .own_default = {65536, 5, 1024}, .check = gen_chakra_check,                      \
        .make = gen_chakra_make, .same = gen_chakra_same                                 \
    }
#define COLL(name_, type_, params_)                                                      \
    {                                                                                    \
        .name = name_, .doc = name_ ", repeated", .detail = HALLEY_COLL_##type_,         \
        .params = params_ | BIT(REPEAT) | BIT(ORDER) | WORK | BIT(GROUP),                \
        .own = {GEN_N_PARAMS}, .check = gen_coll_check, .make = gen_coll_make,           \
        .same = gen_coll_same                                                            \
    }

static const gen_pattern patterns[] = {
    CHAKRA("one_metadata_node_all_types", "a node with an attribute of every type", 0, 0),
    CHAKRA("one_remote_mem_load_node", "a memory load", 1, BIT(TENSOR)),
    CHAKRA("one_remote_mem_store_node", "a memory store", 2, BIT(TENSOR)),
    CHAKRA("one_comp_node", "a compute node", 3, BIT(COMPUTE)),
    CHAKRA("two_comp_nodes_independent", "two compute nodes", 4, BIT(COMPUTE)),
    CHAKRA("two_comp_nodes_dependent", "two compute nodes, one after the other", 5,
           BIT(COMPUTE)),
    CHAKRA("ALL_REDUCE", "one all-reduce", 6, BIT(SIZE)),
    CHAKRA("ALL_TO_ALL", "one all-to-all", 7, BIT(SIZE)),
    CHAKRA("ALL_GATHER", "one all-gather", 8, BIT(SIZE)),
    CHAKRA("REDUCE_SCATTER", "one reduce-scatter", 9, BIT(SIZE)),
    CHAKRA("BROADCAST", "one broadcast", 10, BIT(SIZE)),
    CHAKRA("BARRIER", "one barrier", 11, 0),
    CHAKRA("one_comm_send_node", "a send from every even rank to the next", 12,
           BIT(TENSOR)),
    CHAKRA("one_comm_recv_node", "a receive by every even rank from the next", 13,
           BIT(TENSOR)),
    COLL("all-reduce", ALL_REDUCE, BIT(SIZE)),
    COLL("reduce", REDUCE, BIT(SIZE)),
    COLL("all-gather", ALL_GATHER, BIT(SIZE)),
    COLL("gather", GATHER, BIT(SIZE)),
    COLL("scatter", SCATTER, BIT(SIZE)),
    COLL("broadcast", BROADCAST, BIT(SIZE)),
    COLL("all-to-all", ALL_TO_ALL, BIT(SIZE)),
    COLL("reduce-scatter", REDUCE_SCATTER, BIT(SIZE)),
    COLL("reduce-scatter-block", REDUCE_SCATTER_BLOCK, BIT(SIZE)),
    COLL("barrier", BARRIER, 0),
    {.name = "ring",
     .doc = "every rank sends to the next and receives from the last, in rounds",
     .params = BIT(SIZE) | BIT(REPEAT) | BIT(ORDER) | WORK,
     .own = {GEN_N_PARAMS},
     .check = gen_ring_check,
     .make = gen_ring_make},
    {.name = "all-pairs",
     .doc = "every rank sends to every other",
     .params = BIT(SIZE) | BIT(REPEAT) | BIT(ORDER),
     .own = {GEN_N_PARAMS},
     .check = gen_pairs_check,
     .make = gen_pairs_make},
    {.name = "messages",
     .doc = "messages between random ranks, of random size",
     .params = BIT(SIZE) | BIT(MESSAGES) | BIT(SEED) | BIT(ORDER),
     .own = {GEN_N_PARAMS},
     .check = gen_messages_check,
     .make = gen_messages_make},
    {.name = "pipeline",
     .doc = "micro-batches through one stage a rank, forward and back",
     .params = BIT(SIZE) | BIT(MICRO_BATCHES) | BIT(BACKWARD) | WORK,
     .own = {GEN_COMPUTE, GEN_N_PARAMS},
     .own_default = {100},
     .check = gen_pipeline_check,
     .make = gen_pipeline_make},
    {.name = "random",
     .doc = "a random graph of all kinds of nodes that runs",
     .params = BIT(NODES) | BIT(DEGREE) | BIT(SEED) | BIT(SIZE) | BIT(GROUP) |
               BIT(W_COMP) | BIT(W_COLL) | BIT(W_P2P) | BIT(W_MEM),
     .own = {GEN_N_PARAMS},
     .check = gen_random_check,
     .make = gen_random_make},
    {.name = "data-parallel",
     .doc = "training steps with gradients exchanged under the backward pass",
     .params = BIT(LAYERS) | BIT(GRADIENT) | BIT(ZERO) | BIT(REPEAT) | WORK,
     .own = {GEN_COMPUTE, GEN_N_PARAMS},
     .own_default = {100},
     .check = gen_dp_check,
     .make = gen_dp_make,
     .same = gen_all_same},
    {.name = "transformer",
     .doc = "one training step, tensor x data x pipeline parallel",
     .params = BIT(LAYERS) | BIT(MICRO_BATCHES) | BIT(BACKWARD) | BIT(TP) | BIT(DP) |
               BIT(PP) | BIT(SIZE) | BIT(GRADIENT) | WORK,
     .own = {GEN_COMPUTE, GEN_N_PARAMS},
     .own_default = {100},
     .check = gen_transformer_check,
     .make = gen_transformer_make,
     .same = gen_transformer_same},
};
enum { N_PATTERNS = sizeof patterns / sizeof *patterns };

uint32_t halley_gen_pattern_count(void)
{
    return N_PATTERNS;
}

halley_gen_doc halley_gen_pattern(uint32_t i)
{
    return (halley_gen_doc){patterns[i].name, patterns[i].doc, NULL};
}

uint32_t halley_gen_param_count(void)
{
    return GEN_N_PARAMS;
}

halley_gen_doc halley_gen_param(uint32_t i)
{
    const gen_param_row *row = &gen_params[i];
    return (halley_gen_doc){row->name, row->doc, row->value};
}

bool halley_gen_takes(uint32_t pattern, uint32_t param)
{
    return patterns[pattern].params >> param & 1;
}

bool halley_gen_is_chakra(uint32_t pattern)
{
    return patterns[pattern].make == gen_chakra_make;
}

static uint64_t default_of(const gen_pattern *pattern, uint32_t param)
{
    for (uint32_t i = 0; i < 4 && pattern->own[i] != GEN_N_PARAMS; i++)
        if (pattern->own[i] == param)
            return pattern->own_default[i];
    return gen_params[param].standard;
}

const char *halley_gen_default(char *to, size_t size, uint32_t pattern, uint32_t param)
{
    const gen_param_row *row = &gen_params[param];
    const uint64_t value = default_of(&patterns[pattern], param);
    switch (row->kind) {
    case GEN_KIND_RANKS:
        snprintf(to, size, "%s", "");
        break;
    case GEN_KIND_CHOICE:
        snprintf(to, size, "%s", row->choices[value]);
        break;
    case GEN_KIND_MICROS:
        snprintf(to, size, "%" PRIu64 " us", value);
        break;
    case GEN_KIND_MILLI:
        snprintf(to, size, "%s", number_digits((double)value / 1000, 6).at);
        break;
    case GEN_KIND_BYTES:
        if (value >= 1 << 20)
            snprintf(to, size, "%" PRIu64 " MiB", value >> 20);
        else if (value >= 1 << 10)
            snprintf(to, size, "%" PRIu64 " KiB", value >> 10);
        else
            snprintf(to, size, "%" PRIu64 " B", value);
        break;
    default:
        snprintf(to, size, "%" PRIu64, value);
    }
    return to;
}

static halley_status unknown_pattern(const char *pattern, halley_error *err)
{
    const char *names[N_PATTERNS];
    for (uint32_t i = 0; i < N_PATTERNS; i++)
        names[i] = patterns[i].name;
    const char *near = str_nearest(str_from(pattern), names, N_PATTERNS);
    if (near)
        return error_set(err, HALLEY_ENOTFOUND,
                         "there is no pattern \"%s\"; did you mean \"%s\"?", pattern,
                         near);
    return error_set(err, HALLEY_ENOTFOUND, "there is no pattern \"%s\"", pattern);
}

halley_status halley_gen_new(halley_gen **out, const char *pattern, uint32_t n_npus,
                             halley_error *err)
{
    uint32_t i = 0;
    while (i < N_PATTERNS && strcmp(patterns[i].name, pattern) != 0)
        i++;
    if (i == N_PATTERNS)
        return unknown_pattern(pattern, err);
    if (n_npus == 0)
        return error_set(err, HALLEY_EINVAL, "a trace set needs at least 1 NPU, not 0");
    if (n_npus > MAX_NPUS)
        return error_set(err, HALLEY_ELIMIT, "%u NPUs are more than the %u handled",
                         n_npus, (unsigned)MAX_NPUS);
    halley_gen *gen = mem_array_zero(1, sizeof *gen);
    if (!gen)
        return error_nomem(err);
    gen->pattern = &patterns[i];
    gen->n_npus = n_npus;
    for (uint32_t p = 0; p < GEN_N_PARAMS; p++)
        gen->value[p] = default_of(gen->pattern, p);
    *out = gen;
    return HALLEY_OK;
}

void halley_gen_free(halley_gen *gen)
{
    if (!gen)
        return;
    gen_groups_clear(gen);
    free(gen);
}

halley_status halley_gen_set(halley_gen *gen, const char *param, const char *value,
                             halley_error *err)
{
    uint32_t p = 0;
    while (p < GEN_N_PARAMS && strcmp(gen_params[p].name, param) != 0)
        p++;
    if (p == GEN_N_PARAMS)
        return error_set(err, HALLEY_ENOTFOUND, "there is no parameter \"%s\"", param);
    if (!(gen->pattern->params >> p & 1))
        return error_set(err, HALLEY_EINVAL, "pattern %s takes no %s", gen->pattern->name,
                         param);
    if (p == GEN_GROUP) {
        gen_group group;
        TRY(gen_group_parse(&group, value, gen->n_npus, err));
        return gen_group_add(gen, group, err);
    }
    TRY(gen_param_parse(&gen->value[p], (gen_param)p, value, err));
    gen->given[p] = true;
    return HALLEY_OK;
}

halley_status halley_gen_exact(halley_gen *gen, halley_error *err)
{
    if (gen->pattern->make != gen_chakra_make)
        return error_set(err, HALLEY_EINVAL,
                         "%s is not one of Chakra's own cases, so it has no exact form",
                         gen->pattern->name);
    gen->exact = true;
    return HALLEY_OK;
}

halley_status halley_gen_check(halley_gen *gen, halley_error *err)
{
    return gen->pattern->check ? gen->pattern->check(gen, err) : HALLEY_OK;
}

halley_status gen_limit(uint64_t n_nodes, halley_error *err)
{
    if (n_nodes < HALLEY_NO_NODE)
        return HALLEY_OK;
    return error_set(err, HALLEY_ELIMIT,
                     "one rank could have %" PRIu64
                     " nodes, more than the 4294967294 a trace can hold",
                     n_nodes);
}

halley_status halley_gen_trace(halley_trace **out, halley_gen *gen, uint32_t rank,
                               halley_error *err)
{
    if (rank >= gen->n_npus)
        return error_set(err, HALLEY_EINVAL, "rank %u does not exist, there are %u", rank,
                         gen->n_npus);
    TRY(halley_gen_check(gen, err));
    halley_builder *b = NULL;
    TRY(halley_builder_new(&b, err));
    (void)halley_builder_version(b, (halley_bytes){"1.0.0", 5});
    gen_out o = {b, 0, gen->exact};
    gen->pattern->make(&o, gen, rank);
    TRY(halley_builder_finish(out, b, err));
    const halley_status status = call_check(err); /* then its loops have ended early */
    if (status != HALLEY_OK)
        halley_trace_free(*out);
    return status;
}

uint64_t gen_node(gen_out *o, uint32_t type, const char *name, uint64_t micros)
{
    (void)halley_builder_node(o->b, o->next_id, type, (halley_bytes){name, strlen(name)});
    if (micros)
        (void)halley_builder_time(o->b, 0, micros);
    (void)halley_builder_attr_bool(o->b, HALLEY_ATTR_NAME_IS_CPU_OP, false);
    return o->next_id++;
}

uint64_t gen_comp(gen_out *o, const char *name, uint64_t micros, uint64_t flops,
                  uint64_t bytes)
{
    const uint64_t id = gen_node(o, HALLEY_NODE_COMP, name, micros);
    if (flops == 0 && bytes == 0) { /* a roofline would give it no time */
        flops = micros * FLOPS_PER_MICRO;
        bytes = flops / FLOPS_PER_BYTE;
    }
    if (!o->exact) {
        (void)halley_builder_attr_i64(o->b, HALLEY_ATTR_NAME_NUM_OPS, (int64_t)flops);
        (void)halley_builder_attr_u64(o->b, HALLEY_ATTR_NAME_TENSOR_SIZE, bytes);
    }
    return id;
}

uint64_t gen_mem(gen_out *o, bool store, const char *name, uint64_t bytes)
{
    const uint64_t id =
        gen_node(o, store ? HALLEY_NODE_MEM_STORE : HALLEY_NODE_MEM_LOAD, name, 0);
    (void)halley_builder_attr_u64(o->b, HALLEY_ATTR_NAME_TENSOR_SIZE, bytes);
    return id;
}

uint64_t gen_coll(gen_out *o, const char *name, uint32_t type, uint64_t bytes,
                  uint32_t group)
{
    const uint64_t id = gen_node(o, HALLEY_NODE_COLL, name, 0);
    (void)halley_builder_attr_i64(o->b, HALLEY_ATTR_NAME_COMM_TYPE, (int64_t)type);
    (void)halley_builder_attr_i64(o->b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)bytes);
    if (group > 0) {
        char text[16];
        const int n = snprintf(text, sizeof text, "%u", group);
        (void)halley_builder_attr_text(o->b, HALLEY_ATTR_NAME_PG_NAME,
                                       (halley_bytes){text, (size_t)n});
    }
    return id;
}

/* Both ends of a message have the same attributes. */
static uint64_t add_message(gen_out *o, bool send, const uint32_t ends[2], uint32_t tag,
                            uint64_t bytes)
{
    char name[64];
    snprintf(name, sizeof name, "%s %u to %u", send ? "SEND" : "RECV", ends[0], ends[1]);
    const uint64_t id = gen_node(o, send ? HALLEY_NODE_SEND : HALLEY_NODE_RECV, name, 0);
    (void)halley_builder_attr_i32(o->b, HALLEY_ATTR_NAME_COMM_SRC, (int32_t)ends[0]);
    (void)halley_builder_attr_i32(o->b, HALLEY_ATTR_NAME_COMM_DST, (int32_t)ends[1]);
    (void)halley_builder_attr_i32(o->b, HALLEY_ATTR_NAME_COMM_TAG, (int32_t)tag);
    (void)halley_builder_attr_i64(o->b, HALLEY_ATTR_NAME_COMM_SIZE, (int64_t)bytes);
    return id;
}

uint64_t gen_send(gen_out *o, uint32_t src, uint32_t dst, uint32_t tag, uint64_t bytes)
{
    return add_message(o, true, (const uint32_t[]){src, dst}, tag, bytes);
}

uint64_t gen_recv(gen_out *o, uint32_t src, uint32_t dst, uint32_t tag, uint64_t bytes)
{
    return add_message(o, false, (const uint32_t[]){src, dst}, tag, bytes);
}

void gen_after(gen_out *o, uint64_t id)
{
    if (id != GEN_NO_ID)
        (void)halley_builder_data(o->b, id);
}

void gen_after_ctrl(gen_out *o, uint64_t id)
{
    if (id != GEN_NO_ID)
        (void)halley_builder_ctrl(o->b, id);
}
