/*
 * hw/read/read_system.c - the part `system`: the settings of the communication library
 * and the simulator. It selects the rules: `native`, or `astra-sim` for a converted
 * configuration that must give the same times.
 */
#include "base/number/whole.h"
#include "hw/count.h"
#include "hw/groups.h"
#include "hw/schema.h"
#include "hw/slow.h"

#include <stddef.h>

/* The settings of the communication library and the engine. */
typedef struct system_text {
    uint32_t rules, model, plan, queues, compute, streams, channels, scheduling;
    uint32_t collectives;
    uint64_t chunks, active_chunks;
    double endpoint, group_endpoint;
    double jitter;
    uint64_t seed;
    bool rendezvous, replay;
    const conf_node *algorithms, *colls[CLUSTER_N_COLLS], *custom, *nodes, *bus, *slow;
    const conf_node *late, *interference;
} system_text;
enum { MODEL_FREE, MODEL_QUEUE, MODEL_FLOW, MODEL_UNAWARE, MODEL_AWARE };
static const char *const rules[] = {"native", "astra-sim", NULL};
static const char *const net_models[] = {"free",    "queue", "flow",
                                         "unaware", "aware", NULL};
static const char *const old_models[] = {"contention-free", "link-queue", NULL};
static const char *const plans[] = {"hierarchical", "every-dimension", NULL};
static const char *const channel_kinds[] = {"per-group", "one", NULL};
static const char *const collective_forms[] = {"bundles", "steps", NULL};
static const char *const schedulings[] = {"fifo", "themis", NULL};
static const char *const computes[] = {"duration", "roofline", "cost", NULL};

#define FIELD(key_, type_, member, doc_)                                                 \
    .key = key_, .type = type_, .offset = offsetof(system_text, member), .doc = doc_
#define LIST_DOC(what) "algorithms of the " what " only, one per dimension"
static const conf_field system_fields[] = {
    {FIELD("rules", CONF_TYPE_ENUM, rules,
           "native, or astra-sim for its clock, slots and quirks"),
     .names = rules, .by_default = "native"},
    {FIELD(
         "network-model", CONF_TYPE_ENUM, model,
         "flow: messages share links fairly; free: no contention; queue: messages queue "
         "on every link. unaware and aware are ASTRA-sim's own, under its rules"),
     .names = net_models, .by_default = "flow, or unaware under rules: astra-sim",
     .was = "system.model", .names_were = old_models},
    {FIELD("chunks", CONF_TYPE_U64, chunks,
           "number of chunks into which a collective is cut"),
     .min = 1, .max = 1 << 20, .by_default = "1", .example = "4"},
    {FIELD("active-chunks", CONF_TYPE_U64, active_chunks,
           "number of chunks in flight per dimension"),
     .min = 1, .max = 1 << 20, .by_default = "1", .example = "2"},
    {FIELD("queues", CONF_TYPE_U32, queues,
           "number of queues per dimension, which share active-chunks"),
     .min = 1, .max = 4096, .by_default = "1", .example = "2"},
    {FIELD("scheduling", CONF_TYPE_ENUM, scheduling,
           "fifo, or themis: chunks cross dimensions by load, smallest first"),
     .names = schedulings, .by_default = "fifo"},
    {FIELD("slow", CONF_TYPE_NODE, slow,
           "stragglers: NPUs (3, 0-7, node2) and the factor of their compute times"),
     .example = "{3: 1.5, node2: 1.1}", .by_default = "none"},
    {FIELD("late", CONF_TYPE_NODE, late, "NPUs that start later, and when"),
     .example = "{3: 5 ms}", .by_default = "none"},
    {FIELD("interference", CONF_TYPE_NODE, interference,
           "how much longer kernels take while the NPU communicates, by class: matmul, "
           "attention, memory-bound; network: what they take from collectives"),
     .by_default = "0", .example = "{matmul: 5 %, memory-bound: 20 %}"},
    {FIELD("jitter", CONF_TYPE_QUANTITY, jitter,
           "random spread of compute times, one standard deviation"),
     .unit = UNITS_SHARE, .min = 0, .max = 1, .by_default = "0", .example = "5 %"},
    {FIELD("seed", CONF_TYPE_U64, seed, "seed of the jitter"), .by_default = "0",
     .example = "7"},
    {FIELD("streams", CONF_TYPE_U32, streams,
           "number of compute nodes that an NPU runs concurrently"),
     .min = 1, .max = 1024, .by_default = "1", .example = "2"},
    {FIELD(
         "channels", CONF_TYPE_ENUM, channels,
         "per-group: one channel per group and peer; one: all communication in sequence"),
     .names = channel_kinds, .by_default = "per-group"},
    {FIELD("algorithms", CONF_TYPE_NODE, algorithms,
           "algorithms of all collectives, one per dimension: ring, direct, direct-N, "
           "halving-doubling, double-binary-tree, flat-ring, flat-direct, "
           "flat-halving-doubling"),
     .by_default = "the fastest; ring if message by message",
     .example = "[ring, halving-doubling]"},
    {FIELD("all-reduce", CONF_TYPE_NODE, colls[CLUSTER_ALL_REDUCE],
           LIST_DOC("all-reduce")),
     .by_default = "algorithms", .example = "[ring]"},
    {FIELD("all-gather", CONF_TYPE_NODE, colls[CLUSTER_ALL_GATHER],
           LIST_DOC("all-gather")),
     .by_default = "algorithms", .example = "[ring]"},
    {FIELD("reduce-scatter", CONF_TYPE_NODE, colls[CLUSTER_REDUCE_SCATTER],
           LIST_DOC("reduce-scatter")),
     .by_default = "algorithms", .example = "[ring]"},
    {FIELD("all-to-all", CONF_TYPE_NODE, colls[CLUSTER_ALL_TO_ALL],
           LIST_DOC("all-to-all")),
     .by_default = "algorithms", .example = "[direct]"},
    {FIELD("all-reduce-plan", CONF_TYPE_ENUM, plan,
           "hierarchical, or every-dimension for an all-reduce in each dimension"),
     .names = plans, .by_default = "hierarchical"},
    {FIELD("collectives", CONF_TYPE_ENUM, collectives,
           "under network-model flow: bundles carries out each collective as the library "
           "would; steps sends message by message with the algorithms above"),
     .names = collective_forms, .by_default = "bundles"},
    {FIELD("custom", CONF_TYPE_NODE, custom,
           "prefixes of traces that implement a collective"),
     .example = "{all-reduce: traces/my-all-reduce}", .by_default = "none"},
    {FIELD("custom-nodes", CONF_TYPE_NODE, nodes,
           "prefixes of traces that implement a collective, by node id"),
     .by_default = "none", .example = "{17: traces/my-all-reduce}"},
    {FIELD("endpoint-delay", CONF_TYPE_QUANTITY, endpoint,
           "delay before every step of a collective"),
     .unit = UNITS_TIME, .min = 0, .max = 1e3, .by_default = "0", .example = "10 ns"},
    {FIELD("group-endpoint-delay", CONF_TYPE_QUANTITY, group_endpoint,
           "delay before every step of a collective in groups smaller than the cluster"),
     .unit = UNITS_TIME, .min = 0, .max = 1e3, .by_default = "endpoint-delay",
     .example = "10 ns"},
    {FIELD("rendezvous", CONF_TYPE_BOOL, rendezvous,
           "whether every message starts with a handshake"),
     .by_default = "no", .example = "yes"},
    {FIELD("compute", CONF_TYPE_ENUM, compute,
           "times of compute nodes: as recorded, by the roofline, or by the cost model "
           "of the NPU"),
     .names = computes, .by_default = "duration"},
    {FIELD("replay-only", CONF_TYPE_BOOL, replay,
           "whether every node takes its recorded duration"),
     .by_default = "no", .example = "yes"},
    {FIELD("bus", CONF_TYPE_NODE, bus,
           "LogGP bus between NPU and network; needs rules: astra-sim"),
     .by_default = "none", .example = "{latency: 50 ns, overhead: 10 ns}"},
};
const hw_part hw_part_system = {"system", "system", HW_FIELDS(system_fields)};

/* The maximum number of dimensions of the network. A level without further nodes makes
 * none. */
static uint32_t most_dims(const halley_cluster *c)
{
    return c->network == HW_NETWORK_DIMS ? c->n_dims : 1 + c->n_outer;
}

static halley_status read_impls(const hw_reader *r, const conf_node *list,
                                cluster_coll_impl *to)
{
    const uint32_t n_dims = most_dims(r->c);
    if (list->kind != CONF_LIST || list->n == 0 || list->n > n_dims)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "algorithms must be a list of 1 to %u, one a dimension",
                          n_dims);
    to->n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *item = list->items[i];
        if (item->kind != CONF_SCALAR || !cluster_impl_parse(&to->dims[i], item->text))
            return conf_error(
                r->file, item, r->err, HALLEY_EINVAL,
                "\"%.*s\" is no algorithm; known are ring, direct, direct-N, "
                "halving-doubling, double-binary-tree, flat-ring, "
                "flat-direct, flat-halving-doubling",
                STR_ARG(item->text));
        const bool ended = i > 0 && to->dims[to->n - 1].flat;
        if (ended && !r->c->astra)
            return conf_error(r->file, item, r->err, HALLEY_EINVAL,
                              "the algorithm before it is flat, over all NPUs, and ends "
                              "the list");
        to->n = ended ? to->n : i + 1;
    }
    to->n_listed = list->n;
    if (to->n < n_dims && !r->c->astra && !to->dims[to->n - 1].flat)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "%u algorithms for %u dimensions; name one for each", to->n,
                          n_dims);
    return HALLEY_OK;
}

static halley_status read_custom(const hw_reader *r, const conf_node *map)
{
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        uint32_t k = 0;
        while (k < CLUSTER_N_COLLS &&
               !str_eq(map->keys[i], str_from(cluster_coll_names[k])))
            k++;
        if (k == CLUSTER_N_COLLS || map->items[i]->kind != CONF_SCALAR)
            return conf_error(r->file, map->items[i], r->err, HALLEY_EINVAL,
                              "custom: expected a collective and a trace prefix, not "
                              "\"%.*s\"",
                              STR_ARG(map->keys[i]));
        TRY(hw_text_keep(&r->c->system.colls[k].custom, r, map->items[i]->text));
    }
    return HALLEY_OK;
}

typedef struct bus_text {
    double latency, overhead, gap, gap_per_byte, reduction;
} bus_text;
static const conf_field bus_fields[] = {
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(bus_text, latency),
     .doc = "latency of the bus",
     .by_default = "0",
     .example = "50 ns"},
    {.key = "overhead",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(bus_text, overhead),
     .doc = "overhead per message",
     .by_default = "0",
     .example = "10 ns"},
    {.key = "gap",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(bus_text, gap),
     .doc = "gap between messages",
     .by_default = "0",
     .example = "10 ns"},
    {.key = "gap-per-byte-ns",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(bus_text, gap_per_byte),
     .min = 0,
     .max = 1e9,
     .doc = "gap per byte, in ns",
     .by_default = "0",
     .example = "0.01"},
    {.key = "reduction-ns-per-100-bytes",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(bus_text, reduction),
     .min = 0,
     .max = 1e9,
     .doc = "time to reduce 100 bytes at the end of the bus, in ns",
     .by_default = "0",
     .example = "1"},
};

const hw_part hw_part_bus = {"bus", "system.bus", HW_FIELDS(bus_fields)};

static halley_status read_bus(const hw_reader *r, const conf_node *map)
{
    bus_text raw = {.reduction = 1};
    TRY(conf_read(&raw, r->file, map, HW_FIELDS(bus_fields), true, NULL, r->err));
    r->c->system.bus = (cluster_bus){
        .on = true,
        .L_ns = whole_ns(raw.latency),
        .o_ns = whole_ns(raw.overhead),
        .g_ns = whole_ns(raw.gap),
        .G_ns = raw.gap_per_byte,
        .reduction_delay = whole_i64(raw.reduction),
    };
    return HALLEY_OK;
}

/* The slowdown of kernels during communication. */
typedef struct interference_text {
    double factors[CLUSTER_N_KERNELS];
    const conf_node *network;
} interference_text;
#define KERNEL(key_, class, most, doc_)                                                  \
    {                                                                                    \
        .key = key_, .type = CONF_TYPE_QUANTITY, .unit = UNITS_SHARE,                    \
        .offset = offsetof(interference_text, factors[class]), .max = most, .doc = doc_, \
        .by_default = "0", .example = "10 %"                                             \
    }
static const conf_field interference_fields[] = {
    KERNEL("matmul", CLUSTER_KERNEL_MATMUL, 100, "of matmuls and convolutions"),
    KERNEL("attention", CLUSTER_KERNEL_ATTENTION, 100, "of fused attention"),
    KERNEL("memory-bound", CLUSTER_KERNEL_MEMORY, 100, "of kernels bound by memory"),
    {.key = "network",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(interference_text, network),
     .doc = "what kernels of a member take from the rate of a collective, by class",
     .by_default = "0",
     .example = "{memory-bound: 10 %}"},
};
const hw_part hw_part_interference = {"interference", "system.interference",
                                      HW_FIELDS(interference_fields)};
static const conf_field network_interference_fields[] = {
    KERNEL("matmul", CLUSTER_KERNEL_MATMUL, 0.99, "while a matmul or convolution runs"),
    KERNEL("attention", CLUSTER_KERNEL_ATTENTION, 0.99, "while fused attention runs"),
    KERNEL("memory-bound", CLUSTER_KERNEL_MEMORY, 0.99,
           "while a kernel bound by memory runs"),
};
const hw_part hw_part_network_interference = {"network-interference",
                                              "system.interference.network",
                                              HW_FIELDS(network_interference_fields)};

static halley_status read_interference(const hw_reader *r, const conf_node *map)
{
    interference_text t = {0}, taken = {0};
    if (r->c->astra)
        return conf_error(r->file, map, r->err, HALLEY_EINVAL,
                          "interference needs rules: native");
    TRY(conf_read(&t, r->file, map, HW_FIELDS(interference_fields), true, NULL, r->err));
    if (t.network != NULL)
        TRY(conf_read(&taken, r->file, t.network, HW_FIELDS(network_interference_fields),
                      true, NULL, r->err));
    for (int i = 0; i < CLUSTER_N_KERNELS; i++) {
        r->c->system.interference[i] = t.factors[i];
        r->c->system.network_interference[i] = taken.factors[i];
    }
    return HALLEY_OK;
}

static halley_status read_stragglers(const hw_reader *r, const system_text *raw)
{
    if (raw->slow != NULL)
        TRY(hw_read_slow(r->c, r->file, raw->slow, r->err));
    if (raw->late != NULL && r->c->astra)
        return conf_error(r->file, raw->late, r->err, HALLEY_EINVAL,
                          "late needs rules: native");
    if (raw->late != NULL)
        TRY(hw_read_late(r->c, r->file, raw->late, r->err));
    return raw->interference == NULL ? HALLEY_OK
                                     : read_interference(r, raw->interference);
}

static halley_status read_lists(const hw_reader *r, const system_text *raw)
{
    cluster_system *s = &r->c->system;
    static const cluster_impl ring = {.algo = CLUSTER_ALGO_RING};
    const uint32_t n_dims = most_dims(r->c);
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        s->colls[i].n = s->colls[i].n_listed = r->c->astra ? 0 : n_dims;
        for (uint32_t d = 0; d < n_dims; d++)
            s->colls[i].dims[d] = ring;
        const conf_node *list = raw->colls[i] != NULL ? raw->colls[i] : raw->algorithms;
        s->colls[i].is_default = list == NULL;
        if (list != NULL)
            TRY(read_impls(r, list, &s->colls[i]));
    }
    if (raw->custom != NULL)
        TRY(read_custom(r, raw->custom));
    if (raw->bus == NULL)
        return HALLEY_OK;
    if (!r->c->astra)
        return conf_error(r->file, raw->bus, r->err, HALLEY_EINVAL,
                          "bus needs rules: astra-sim");
    return read_bus(r, raw->bus);
}

/* ASTRA-sim's two models have their own names. Older files used one pair of names for
 * both; hw_names_renew has already replaced them. */
static halley_status read_model(const hw_reader *r, const conf_node *map,
                                const system_text *t)
{
    const conf_node *at = map == NULL ? NULL : conf_find(map, "network-model");
    if (at == NULL) {
        r->c->model = r->c->astra ? HW_MODEL_FREE : HW_MODEL_FLOW;
        return HALLEY_OK;
    }
    const bool own = t->model >= MODEL_UNAWARE;
    const bool renamed = at != NULL && at->text.at == net_models[t->model];
    if (at != NULL && !renamed && own != r->c->astra)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "network-model: %s needs rules: %s", net_models[t->model],
                          own ? "astra-sim" : "native");
    r->c->model = t->model == MODEL_FLOW                               ? HW_MODEL_FLOW
                  : t->model == MODEL_QUEUE || t->model == MODEL_AWARE ? HW_MODEL_QUEUE
                                                                       : HW_MODEL_FREE;
    return HALLEY_OK;
}

static int by_node(const void *a, const void *b)
{
    const uint64_t x = ((const cluster_node_impl *)a)->node;
    const uint64_t y = ((const cluster_node_impl *)b)->node;
    return x < y ? -1 : x > y;
}

/* Read a YAML map from node id to trace prefix. */
halley_status cluster_read_node_map(halley_cluster *c, const conf_file *file,
                                    const conf_node *map, halley_error *err)
{
    if (map->kind != CONF_MAP)
        return conf_error(file, map, err, HALLEY_EFORMAT, "a map of node ids is wanted");
    c->system.node_impls = arena_array(&c->memory, map->n, sizeof *c->system.node_impls);
    if (c->system.node_impls == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < map->n; i++) {
        cluster_node_impl *to = &c->system.node_impls[i];
        if (!str_to_u64(map->keys[i], &to->node) || map->items[i]->kind != CONF_SCALAR)
            return conf_error(file, map->items[i], err, HALLEY_EINVAL,
                              "a node id and a trace prefix are wanted, not \"%.*s\"",
                              STR_ARG(map->keys[i]));
        to->custom = arena_copy(&c->memory, map->items[i]->text);
        if (to->custom == NULL)
            return error_nomem(err);
    }
    c->system.n_node_impls = map->n;
    qsort(c->system.node_impls, map->n, sizeof *c->system.node_impls, by_node);
    return HALLEY_OK;
}

halley_status hw_read_system(const hw_reader *r, const conf_node *map)
{
    system_text raw = {
        .chunks = 1, .active_chunks = 1, .queues = 1, .group_endpoint = -1};
    cluster_system *s = &r->c->system;
    if (map != NULL)
        TRY(conf_read(&raw, r->file, map, HW_FIELDS(system_fields), true, NULL, r->err));
    r->c->astra = raw.rules == 1;
    TRY(read_model(r, map, &raw));
    s->splits = raw.chunks;
    s->active_chunks = raw.active_chunks;
    s->queues = raw.queues;
    s->endpoint_ns = whole_ns(raw.endpoint);
    s->group_endpoint_ns =
        raw.group_endpoint < 0 ? s->endpoint_ns : whole_ns(raw.group_endpoint);
    s->hierarchical = raw.plan == 0;
    s->themis = raw.scheduling == 1;
    s->jitter = raw.jitter;
    s->seed = raw.seed;
    TRY(read_stragglers(r, &raw));
    s->streams = raw.streams;
    s->one_channel = raw.channels == 1;
    s->rendezvous = raw.rendezvous;
    s->steps = raw.collectives == 1;
    s->replay_only = raw.replay;
    halley_error why = {0};
    const halley_status status =
        halley_cluster_set_compute(r->c, (halley_compute)raw.compute, &why);
    if (status != HALLEY_OK)
        return conf_error(r->file, map, r->err, status, "%s", why.text);
    TRY(read_lists(r, &raw));
    hw_lists_cut(r->c);
    return raw.nodes == NULL ? HALLEY_OK
                             : cluster_read_node_map(r->c, r->file, raw.nodes, r->err);
}
