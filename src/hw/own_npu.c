/* hw/own_npu.c - the parts `npu` and `remote-memory` of our cluster file. */
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/own.h"

#include <stddef.h>
#include <stdio.h>

/* The NPU: a preset's name, or peak and memories. */
typedef struct raw_npu {
    str name;
    const conf_node *peak, *memory;
    double on_chip;
} raw_npu;
static const conf_field npu_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(raw_npu, name),
     .doc = "what it is called"},
    {.key = "peak",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_npu, peak),
     .doc = "FLOP/s, or a map from number format to FLOP/s"},
    {.key = "on-chip",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BYTES,
     .offset = offsetof(raw_npu, on_chip),
     .doc = "memory on the chip"},
    {.key = "memory",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_npu, memory),
     .doc = "memories, nearest first"},
};

typedef struct raw_memory {
    str name;
    uint32_t kind, npus_per_node, groups;
    double capacity, bandwidth, latency, node_bandwidth, npu_bandwidth, piece;
    bool in_switch;
} raw_memory;
static const char *const memory_kinds[] = {"per-npu", "per-node", "pool", "hierarchical",
                                           NULL};
static const conf_field memory_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(raw_memory, name),
     .doc = "what it is called"},
    {.key = "kind",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(raw_memory, kind),
     .names = memory_kinds,
     .doc = "per-npu, per-node, pool or hierarchical"},
    {.key = "capacity",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BYTES,
     .offset = offsetof(raw_memory, capacity),
     .doc = "its size"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_memory, bandwidth),
     .required = true,
     .min = 1,
     .max = 1e18,
     .doc = "of one device"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_memory, latency),
     .min = 0,
     .max = 1e3,
     .doc = "of one access"},
    {.key = "npus-per-node",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_memory, npus_per_node),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "NPUs that share it; for per-node"},
    {.key = "groups",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_memory, groups),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "hierarchical: memories that share the data (default: 1)"},
    {.key = "node-bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_memory, node_bandwidth),
     .min = 1,
     .max = 1e18,
     .doc = "hierarchical: from the pool into a node"},
    {.key = "npu-bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_memory, npu_bandwidth),
     .min = 1,
     .max = 1e18,
     .doc = "hierarchical: from the node's switch into an NPU"},
    {.key = "piece",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BYTES,
     .offset = offsetof(raw_memory, piece),
     .min = 1,
     .max = 1e15,
     .doc = "hierarchical: data travel in pieces of this size (default: 1 MB)"},
    {.key = "in-switch",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(raw_memory, in_switch),
     .doc = "hierarchical: the node's switch gathers loads and reduces stores"},
};

halley_status own_read_remote(const own_reader *r, const conf_node *map)
{
    static const cluster_memory_kind kinds[] = {
        CLUSTER_MEMORY_PER_NPU, CLUSTER_MEMORY_PER_NODE, CLUSTER_MEMORY_POOL,
        CLUSTER_MEMORY_HIERARCHICAL};
    raw_memory raw = {.npus_per_node = r->c->dims[0].n, .groups = 1, .piece = 1e6};
    TRY(conf_read(&raw, r->file, map, FIELDS(memory_fields), true, NULL, r->err));
    r->c->remote = (cluster_memory){
        .kind = kinds[raw.kind],
        .latency_ns = (uint64_t)(raw.latency * 1e9 + 0.5),
        .bytes_per_ns = raw.bandwidth / 1e9,
        .npus_per_node = raw.npus_per_node,
        .n_groups = raw.groups,
        .node_bytes_per_ns = (raw.node_bandwidth > 0 ? raw.node_bandwidth : 1e18) / 1e9,
        .npu_bytes_per_ns = (raw.npu_bandwidth > 0 ? raw.npu_bandwidth : 1e18) / 1e9,
        .piece_bytes = (uint64_t)raw.piece,
        .in_switch = raw.in_switch,
    };
    return HALLEY_OK;
}

/* The first memory is the NPU's own; the second, when there is one, is the remote one. */
static halley_status read_memories(const own_reader *r, const conf_node *list)
{
    raw_memory raw = {0};
    if (list->kind != CONF_LIST || list->n == 0)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "memory must be a list, nearest first");
    TRY(conf_read(&raw, r->file, list->items[0], FIELDS(memory_fields), true, NULL,
                  r->err));
    r->c->system.mem_Bps = raw.bandwidth;
    return list->n == 1 ? HALLEY_OK : own_read_remote(r, list->items[1]);
}

static halley_status read_peak(const own_reader *r, const conf_node *node)
{
    const conf_node *value = node;
    if (node->kind == CONF_MAP && node->n > 0) {
        const conf_node *bf16 = conf_find(node, "bf16");
        value = bf16 == NULL ? node->items[0] : bf16;
    }
    TRY(conf_to_quantity(&r->c->system.peak_flops, r->file, value, UNITS_FLOPS, "peak",
                         r->err));
    if (!(r->c->system.peak_flops > 0))
        return conf_error(r->file, value, r->err, HALLEY_EINVAL, "peak must be positive");
    return HALLEY_OK;
}

static halley_status read_preset_npu(const own_reader *r, str name)
{
    char text[HALLEY_NAME];
    halley_npu *npu = &r->c->npu;
    snprintf(text, sizeof text, "%.*s", STR_ARG(name));
    TRY(cluster_npu_load(npu, text, r->err));
    r->c->system.peak_flops = npu->peak_flops[HALLEY_BF16];
    if (npu->n_tiers > 0)
        r->c->system.mem_Bps = npu->tiers[0].bandwidth_Bps;
    return HALLEY_OK;
}

halley_status own_read_npu(const own_reader *r, const conf_node *node)
{
    raw_npu raw = {0};
    if (node->kind == CONF_SCALAR)
        return read_preset_npu(r, node->text);
    TRY(conf_read(&raw, r->file, node, FIELDS(npu_fields), true, NULL, r->err));
    if (raw.peak == NULL && raw.memory == NULL && raw.name.n > 0)
        return read_preset_npu(r, raw.name);
    if (raw.peak != NULL)
        TRY(read_peak(r, raw.peak));
    if (raw.memory != NULL)
        TRY(read_memories(r, raw.memory));
    if (raw.peak == NULL || raw.memory == NULL)
        return HALLEY_OK;
    cluster_npu_usual(&r->c->npu, r->c->system.peak_flops, r->c->system.mem_Bps);
    r->c->npu.on_chip_bytes = raw.on_chip;
    return HALLEY_OK;
}

const own_part own_npu_part = {"npu", FIELDS(npu_fields)};
const own_part own_memory_part = {"memory", FIELDS(memory_fields)};
