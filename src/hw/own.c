/*
 * hw/own.c - the cluster file in our own form: YAML, a unit at every value that has
 * one, GB = 1e9, unknown keys are errors. Each part of the file is one table below.
 *
 * The part `system` chooses the rules: `native`, or `astra-sim` for a configuration that
 * was converted and must give the same times.
 */
#include "hw/own.h"

#include "base/conf.h"
#include "base/file.h"
#include "hw/astra.h"
#include "hw/platform_text.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Times keep a millionth of a nanosecond, so that a number of ns comes back as it was. */
static double ns_from(double seconds)
{
    return round(seconds * 1e15) / 1e6;
}

/* One dimension of the network. */
typedef struct raw_dim {
    str name;
    uint32_t topology, size;
    double bandwidth, latency, delay, throughput;
    const conf_node *in_network;
} raw_dim;
static const char *const topologies[] = {"ring", "fully-connected", "switch", NULL};
static const conf_field dim_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(raw_dim, name),
     .doc = "what it is called"},
    {.key = "topology",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_dim, topology),
     .required = true,
     .names = topologies,
     .doc = "ring, fully-connected or switch"},
    {.key = "size",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_dim, size),
     .required = true,
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "NPUs along it"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_dim, bandwidth),
     .required = true,
     .min = 1e-3,
     .max = 1e18,
     .doc = "of one link, one way"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_dim, latency),
     .min = 0,
     .max = 1e3,
     .doc = "of one hop"},
    {.key = "in-network",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_dim, in_network),
     .doc = "collectives that the switch does itself"},
    {.key = "in-network-delay",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_dim, delay),
     .min = 0,
     .max = 1e3,
     .doc = "of its processing"},
    {.key = "in-network-throughput",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_dim, throughput),
     .min = 1,
     .max = 1e18,
     .doc = "of its processing (default: no limit)"},
};

static halley_status copy_text(const char **out, const own_reader *r, str text)
{
    *out = text.n == 0 ? "" : arena_copy(&r->c->memory, text);
    return *out == NULL ? error_nomem(r->err) : HALLEY_OK;
}

static halley_status read_in_network(const own_reader *r, const conf_node *list,
                                     cluster_dim *to)
{
    if (to->topology != CLUSTER_SWITCH)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "in-network needs topology: switch");
    for (uint32_t i = 0; list->kind == CONF_LIST && i < list->n; i++) {
        uint32_t k = 0;
        const str name = list->items[i]->text;
        while (k < CLUSTER_N_COLLS && !str_eq(name, str_from(cluster_coll_names[k])))
            k++;
        if (str_eq(name, STR("broadcast")))
            k = CLUSTER_N_COLLS; /* a bit of its own */
        else if (k >= CLUSTER_ALL_TO_ALL)
            return conf_error(
                r->file, list->items[i], r->err, HALLEY_EINVAL,
                "in-network knows all-reduce, reduce-scatter, all-gather and "
                "broadcast, not \"%.*s\"",
                STR_ARG(name));
        to->in_network |= UINT32_C(1) << k;
    }
    return HALLEY_OK;
}

static halley_status read_dim(const own_reader *r, const conf_node *map, cluster_dim *to)
{
    raw_dim raw = {0};
    TRY(conf_read(&raw, r->file, map, FIELDS(dim_fields), true, NULL, r->err));
    *to = (cluster_dim){.topology = (cluster_topology)raw.topology,
                        .n = raw.size,
                        .bw_Bps = raw.bandwidth,
                        .latency_ns = ns_from(raw.latency),
                        .in_network_ns = ns_from(raw.delay),
                        .in_network_Bps = raw.throughput};
    if (raw.in_network != NULL)
        TRY(read_in_network(r, raw.in_network, to));
    return copy_text(&to->name, r, raw.name);
}

static halley_status read_network(const own_reader *r, const conf_node *list)
{
    halley_cluster *c = r->c;
    uint64_t total = 1;
    if (list->kind != CONF_LIST || list->n == 0 || list->n > CLUSTER_MAX_DIMS)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "network must be a list of 1 to %d dimensions, innermost first",
                          CLUSTER_MAX_DIMS);
    c->n_dims = list->n;
    for (uint32_t d = 0; d < list->n; d++) {
        TRY(read_dim(r, list->items[d], &c->dims[d]));
        total *= c->dims[d].n;
        if (total > CLUSTER_MAX_NPUS)
            return conf_error(r->file, list, r->err, HALLEY_ELIMIT,
                              "more than %d NPUs are not handled", CLUSTER_MAX_NPUS);
    }
    c->n_npus = (uint32_t)total;
    return HALLEY_OK;
}

/* How the communication library and the engine are set up. */
typedef struct raw_system {
    uint32_t rules, model, plan, queues, compute, streams, channels, scheduling;
    uint64_t chunks, active_chunks;
    double endpoint, group_endpoint;
    double jitter;
    uint64_t seed;
    bool rendezvous, replay;
    const conf_node *algorithms, *colls[CLUSTER_N_COLLS], *custom, *nodes, *bus, *slow;
} raw_system;
static const char *const rules[] = {"native", "astra-sim", NULL};
static const char *const net_models[] = {"contention-free", "link-queue", NULL};
static const char *const plans[] = {"hierarchical", "every-dimension", NULL};
static const char *const channel_kinds[] = {"per-group", "one", NULL};
static const char *const schedulings[] = {"fifo", "themis", NULL};
static const char *const computes[] = {"duration", "roofline", "cost", NULL};
static const conf_field system_fields[] = {
    {.key = "rules",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_system, rules),
     .names = rules,
     .doc = "native, or astra-sim for its clock, slots and quirks"},
    {.key = "model",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_system, model),
     .names = net_models,
     .doc = "contention-free or link-queue"},
    {.key = "chunks",
     .type = CONF_TYPE_U64,
     .offset = offsetof(raw_system, chunks),
     .min = 1,
     .max = 1 << 20,
     .doc = "pieces of a collective"},
    {.key = "active-chunks",
     .type = CONF_TYPE_U64,
     .offset = offsetof(raw_system, active_chunks),
     .min = 1,
     .max = 1 << 20,
     .doc = "pieces at a time in a dimension"},
    {.key = "queues",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_system, queues),
     .min = 1,
     .max = 4096,
     .doc = "queues of a dimension that share active-chunks"},
    {.key = "scheduling",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_system, scheduling),
     .names = schedulings,
     .doc = "fifo, or themis: chunks cross dimensions by load, smallest first"},
    {.key = "slow",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, slow),
     .doc = "stragglers: rank and factor of its compute times"},
    {.key = "jitter",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_SHARE,
     .offset = offsetof(raw_system, jitter),
     .min = 0,
     .max = 1,
     .doc = "random spread of compute times, one standard deviation"},
    {.key = "seed",
     .type = CONF_TYPE_U64,
     .offset = offsetof(raw_system, seed),
     .doc = "of the jitter"},
    {.key = "streams",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_system, streams),
     .min = 1,
     .max = 1024,
     .doc = "compute nodes at a time"},
    {.key = "channels",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_system, channels),
     .names = channel_kinds,
     .doc = "per-group: one for every group and peer; one: all communication in a row"},
    {.key = "algorithms",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, algorithms),
     .doc = "of all collectives, one a dimension"},
    {.key = "all-reduce",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, colls[CLUSTER_ALL_REDUCE]),
     .doc = "the same, of one"},
    {.key = "all-gather",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, colls[CLUSTER_ALL_GATHER]),
     .doc = "the same, of one"},
    {.key = "reduce-scatter",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, colls[CLUSTER_REDUCE_SCATTER]),
     .doc = "the same, of one"},
    {.key = "all-to-all",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, colls[CLUSTER_ALL_TO_ALL]),
     .doc = "the same, of one"},
    {.key = "all-reduce-plan",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_system, plan),
     .names = plans,
     .doc = "hierarchical, or every-dimension for one in each"},
    {.key = "custom",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, custom),
     .doc = "traces that are the algorithm, by collective"},
    {.key = "custom-nodes",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, nodes),
     .doc = "the same by node id"},
    {.key = "endpoint-delay",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_system, endpoint),
     .min = 0,
     .max = 1e3,
     .doc = "before every step of a collective"},
    {.key = "group-endpoint-delay",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_system, group_endpoint),
     .min = 0,
     .max = 1e3,
     .doc = "the same in groups; default: endpoint-delay"},
    {.key = "rendezvous",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(raw_system, rendezvous),
     .doc = "shake hands before every message"},
    {.key = "compute",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_system, compute),
     .names = computes,
     .doc =
         "time compute nodes as recorded, by the roofline, or by the model of the NPU"},
    {.key = "replay-only",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(raw_system, replay),
     .doc = "every node takes its recorded duration"},
    {.key = "bus",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_system, bus),
     .doc = "LogGP bus at the NPU's end: latency, overhead, gap, gap-per-byte"},
};

static halley_status read_impls(const own_reader *r, const conf_node *list,
                                cluster_coll_impl *to)
{
    if (list->kind != CONF_LIST || list->n == 0 || list->n > r->c->n_dims)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "algorithms must be a list of 1 to %u, one a dimension",
                          r->c->n_dims);
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
    if (to->n < r->c->n_dims && !r->c->astra && !to->dims[to->n - 1].flat)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "%u algorithms for %u dimensions; name one for each", to->n,
                          r->c->n_dims);
    return HALLEY_OK;
}

static halley_status read_custom(const own_reader *r, const conf_node *map)
{
    for (uint32_t i = 0; map->kind == CONF_MAP && i < map->n; i++) {
        uint32_t k = 0;
        while (k < CLUSTER_N_COLLS &&
               !str_eq(map->keys[i], str_from(cluster_coll_names[k])))
            k++;
        if (k == CLUSTER_N_COLLS || map->items[i]->kind != CONF_SCALAR)
            return conf_error(r->file, map->items[i], r->err, HALLEY_EINVAL,
                              "custom: a collective and a trace prefix are wanted, not "
                              "\"%.*s\"",
                              STR_ARG(map->keys[i]));
        TRY(copy_text(&r->c->system.colls[k].custom, r, map->items[i]->text));
    }
    return HALLEY_OK;
}

typedef struct raw_bus {
    double latency, overhead, gap, gap_per_byte, reduction;
} raw_bus;
static const conf_field bus_fields[] = {
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_bus, latency),
     .doc = "L"},
    {.key = "overhead",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_bus, overhead),
     .doc = "o"},
    {.key = "gap",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_bus, gap),
     .doc = "g"},
    {.key = "gap-per-byte-ns",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(raw_bus, gap_per_byte),
     .min = 0,
     .max = 1e9,
     .doc = "G"},
    {.key = "reduction-ns-per-100-bytes",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(raw_bus, reduction),
     .min = 0,
     .max = 1e9,
     .doc = "processing at the end of the bus"},
};

static halley_status read_bus(const own_reader *r, const conf_node *map)
{
    raw_bus raw = {.reduction = 1};
    TRY(conf_read(&raw, r->file, map, FIELDS(bus_fields), true, NULL, r->err));
    r->c->system.bus = (cluster_bus){
        .on = true,
        .L_ns = (uint64_t)(raw.latency * 1e9 + 0.5),
        .o_ns = (uint64_t)(raw.overhead * 1e9 + 0.5),
        .g_ns = (uint64_t)(raw.gap * 1e9 + 0.5),
        .G_ns = raw.gap_per_byte,
        .reduction_delay = (int64_t)raw.reduction,
    };
    return HALLEY_OK;
}

static halley_status read_slow(const own_reader *r, const conf_node *map)
{
    cluster_system *s = &r->c->system;
    if (map->kind != CONF_MAP)
        return conf_error(r->file, map, r->err, HALLEY_EINVAL,
                          "slow must be a map from rank to factor");
    s->slow = arena_array(&r->c->memory, r->c->n_npus, sizeof *s->slow);
    if (s->slow == NULL)
        return error_nomem(r->err);
    for (uint32_t i = 0; i < r->c->n_npus; i++)
        s->slow[i] = 1;
    for (uint32_t i = 0; i < map->n; i++) {
        uint64_t rank;
        double factor;
        if (!str_to_u64(map->keys[i], &rank) || rank >= r->c->n_npus)
            return conf_error(r->file, map->items[i], r->err, HALLEY_EINVAL,
                              "slow: \"%.*s\" is not one of the %u NPUs",
                              STR_ARG(map->keys[i]), r->c->n_npus);
        TRY(conf_to_double(&factor, r->file, map->items[i], "slow", r->err));
        if (!(factor > 0 && factor < 1e6))
            return conf_error(r->file, map->items[i], r->err, HALLEY_EINVAL,
                              "slow: a factor must be positive, is %g", factor);
        s->slow[rank] = factor;
    }
    return HALLEY_OK;
}

static halley_status read_lists(const own_reader *r, const raw_system *raw)
{
    cluster_system *s = &r->c->system;
    static const cluster_impl ring = {.algo = CLUSTER_ALGO_RING};
    for (uint32_t i = 0; i < CLUSTER_N_COLLS; i++) {
        s->colls[i].n = s->colls[i].n_listed = r->c->astra ? 0 : r->c->n_dims;
        for (uint32_t d = 0; d < r->c->n_dims; d++)
            s->colls[i].dims[d] = ring;
        const conf_node *list = raw->colls[i] != NULL ? raw->colls[i] : raw->algorithms;
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

static halley_status read_system(const own_reader *r, const conf_node *map)
{
    raw_system raw = {.chunks = 1, .active_chunks = 1, .queues = 1, .group_endpoint = -1};
    cluster_system *s = &r->c->system;
    if (map != NULL)
        TRY(conf_read(&raw, r->file, map, FIELDS(system_fields), true, NULL, r->err));
    r->c->astra = raw.rules == 1;
    r->c->link_queues = raw.model == 1;
    s->splits = raw.chunks;
    s->active_chunks = raw.active_chunks;
    s->queues = raw.queues;
    s->endpoint_ns = (uint64_t)(raw.endpoint * 1e9 + 0.5);
    s->group_endpoint_ns = raw.group_endpoint < 0
                               ? s->endpoint_ns
                               : (uint64_t)(raw.group_endpoint * 1e9 + 0.5);
    s->hierarchical = raw.plan == 0;
    s->themis = raw.scheduling == 1;
    s->jitter = raw.jitter;
    s->seed = raw.seed;
    if (raw.slow != NULL)
        TRY(read_slow(r, raw.slow));
    s->streams = raw.streams;
    s->one_channel = raw.channels == 1;
    s->rendezvous = raw.rendezvous;
    s->replay_only = raw.replay;
    halley_error why = {0};
    const halley_status status =
        halley_cluster_set_compute(r->c, (halley_compute)raw.compute, &why);
    if (status != HALLEY_OK)
        return conf_error(r->file, map, r->err, status, "%s", why.text);
    TRY(read_lists(r, &raw));
    return raw.nodes == NULL ? HALLEY_OK
                             : cluster_read_node_map(r->c, r->file, raw.nodes, r->err);
}

/* The whole file. */
typedef struct raw_cluster {
    str name;
    uint32_t npus;
    const conf_node *npu, *network, *remote, *system, *groups, *cost, *failures;
} raw_cluster;
static const conf_field cluster_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(raw_cluster, name),
     .doc = "what it is called"},
    {.key = "npus",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_cluster, npus),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "their number, which the sizes must multiply to"},
    {.key = "npu",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, npu),
     .doc = "the NPU: a preset's name, or peak and memory"},
    {.key = "network",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, network),
     .required = true,
     .doc = "dimensions, innermost first"},
    {.key = "system",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, system),
     .doc = "communication library and engine"},
    {.key = "remote-memory",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, remote),
     .doc = "memory beyond the NPU, instead of a second one in npu: memory"},
    {.key = "groups",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, groups),
     .doc = "communicator groups: number and ranks"},
    {.key = "cost",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, cost),
     .doc = "not used by sim"},
    {.key = "failures",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_cluster, failures),
     .doc = "not used by sim"},
};

static halley_status read_cluster(const own_reader *r)
{
    raw_cluster raw = {0};
    if (r->file->root->kind != CONF_MAP)
        return conf_error(r->file, r->file->root, r->err, HALLEY_EFORMAT,
                          "a cluster file is a map of keys");
    TRY(conf_read(&raw, r->file, r->file->root, FIELDS(cluster_fields), true, NULL,
                  r->err));
    TRY(copy_text(&r->c->name, r, raw.name));
    TRY(read_network(r, raw.network));
    if (raw.npus != 0 && raw.npus != r->c->n_npus)
        return conf_error(r->file, conf_find(r->file->root, "npus"), r->err,
                          HALLEY_EINVAL,
                          "npus is %u, and the sizes of the network multiply to %u",
                          raw.npus, r->c->n_npus);
    if (raw.npu != NULL)
        TRY(own_read_npu(r, raw.npu));
    if (raw.remote != NULL)
        TRY(own_read_remote(r, raw.remote));
    TRY(read_system(r, raw.system));
    return raw.groups == NULL ? HALLEY_OK
                              : cluster_read_groups(r->c, r->file, raw.groups, r->err);
}

halley_status cluster_own_from(halley_cluster *c, const conf_file *file,
                               halley_error *err)
{
    return read_cluster(&(own_reader){c, file, err});
}

halley_status halley_cluster_load(halley_cluster **out, const char *path,
                                  halley_error *err)
{
    conf_file file;
    if (!file_exists(path) && cluster_names_platform(path))
        return cluster_from_platform(out, path, err);
    TRY(conf_load(&file, path, err));
    halley_cluster *c = cluster_new();
    const halley_status status =
        c == NULL ? error_nomem(err) : read_cluster(&(own_reader){c, &file, err});
    conf_fini(&file);
    if (status != HALLEY_OK)
        halley_cluster_free(c);
    else
        *out = c;
    return status;
}

bool halley_cluster_has_groups(const halley_cluster *cluster)
{
    return cluster->n_groups > 0;
}

halley_status halley_cluster_load_groups(halley_cluster *cluster, const char *path,
                                         halley_error *err)
{
    return astra_read_groups(cluster, path, err);
}

static const char *type_name(const conf_field *f)
{
    static const char *const units[UNITS_N_KINDS] = {
        [UNITS_BYTES] = "bytes, such as \"80 GB\"",
        [UNITS_BANDWIDTH] = "bandwidth, such as \"900 GB/s\"",
        [UNITS_FLOPS] = "rate, such as \"312 TFLOP/s\"",
        [UNITS_TIME] = "time, such as \"1.5 us\"",
        [UNITS_SHARE] = "share, such as \"5 %\"",
    };
    switch (f->type) {
    case CONF_TYPE_U32:
    case CONF_TYPE_U64:
        return "whole number";
    case CONF_TYPE_DOUBLE:
        return "number";
    case CONF_TYPE_QUANTITY:
        return units[f->unit] == NULL ? "number with a unit" : units[f->unit];
    case CONF_TYPE_BOOL:
        return "true or false";
    case CONF_TYPE_TEXT:
        return "text";
    case CONF_TYPE_ENUM:
        return "one of";
    default:
        return "list or map";
    }
}

bool halley_cluster_key(halley_file_key *out, const char *part, size_t i)
{
    const own_part parts[] = {
        {"", FIELDS(cluster_fields)},
        {"network", FIELDS(dim_fields)},
        own_npu_part,
        own_memory_part,
        {"system", FIELDS(system_fields)},
        {"bus", FIELDS(bus_fields)},
    };
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        if (strcmp(parts[k].name, part) != 0 || i >= parts[k].n)
            continue;
        const conf_field *f = &parts[k].fields[i];
        *out = (halley_file_key){.key = f->key,
                                 .doc = f->doc,
                                 .type = type_name(f),
                                 .names = f->names,
                                 .required = f->required};
        return true;
    }
    return false;
}
