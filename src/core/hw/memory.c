/*
 * hw/memory.c - memories: the tiers of an NPU, and the part `remote-memory`, from which
 * the simulator makes its memory servers. The second tier of the NPU is the remote memory
 * unless the file describes another one.
 */
#include "hw/memory.h"

#include "base/number/whole.h"
#include "hw/npu.h"
#include "hw/price_list.h"

#include <stddef.h>
#include <string.h>

typedef struct memory_text {
    str name;
    uint32_t kind, npus_per_node, groups;
    double price, rate_price, power, included; /* negative: not given */
    double capacity, bandwidth, latency, node_bandwidth, npu_bandwidth, piece;
    bool in_switch;
} memory_text;
static const char *const memory_kinds[] = {"per-npu", "per-node", "pool", "hierarchical",
                                           NULL};
static const conf_field memory_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(memory_text, name),
     .doc = "name of the memory, which study paths use",
     .example = "hbm",
     .by_default = "none"},
    {.key = "kind",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(memory_text, kind),
     .names = memory_kinds,
     .doc = "which NPUs share it: one, those of a node, or all; hierarchical is a pool "
            "behind switches",
     .by_default = "per-npu"},
    {.key = "capacity",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BYTES,
     .offset = offsetof(memory_text, capacity),
     .min = 1,
     .max = 1e18,
     .doc = "size of one device; estimates need it",
     .example = "80 GB",
     .by_default = "0"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(memory_text, bandwidth),
     .required = true,
     .min = 1,
     .max = 1e18,
     .doc = "bandwidth of one device",
     .example = "3350 GB/s"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(memory_text, latency),
     .min = 0,
     .max = 1e3,
     .doc = "latency of one access",
     .by_default = "0",
     .example = "800 ns"},
    {.key = "price-per-gb",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_MONEY,
     .offset = offsetof(memory_text, price),
     .max = 1e9,
     .doc = "price of a GB beyond `included`",
     .by_default = "by its name (hbm, cxl, ddr, flash); else unknown",
     .example = "6 USD"},
    {.key = "price-per-gbps",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_MONEY,
     .offset = offsetof(memory_text, rate_price),
     .max = 1e9,
     .doc = "price of a GB/s beyond that of the included memory",
     .by_default = "by its name",
     .example = "10 USD"},
    {.key = "power-per-gb",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_POWER,
     .offset = offsetof(memory_text, power),
     .max = 1e6,
     .doc = "power of a GB beyond `included`",
     .by_default = "by its name",
     .example = "0.4 W"},
    {.key = "included",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BYTES,
     .offset = offsetof(memory_text, included),
     .max = 1e18,
     .doc = "capacity that the price of the NPU or of its host contains",
     .by_default = "all of the first memory and of host memory; else 0",
     .example = "80 GB"},
    {.key = "npus-per-node",
     .type = CONF_TYPE_U32,
     .offset = offsetof(memory_text, npus_per_node),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "per-node: NPUs that share it",
     .by_default = "nodes.npus",
     .example = "8"},
    {.key = "groups",
     .type = CONF_TYPE_U32,
     .offset = offsetof(memory_text, groups),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "hierarchical: memories that share the data",
     .by_default = "1",
     .example = "4"},
    {.key = "node-bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(memory_text, node_bandwidth),
     .min = 1,
     .max = 1e18,
     .doc = "hierarchical: bandwidth from the pool into a node",
     .by_default = "no limit",
     .example = "200 GB/s"},
    {.key = "npu-bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(memory_text, npu_bandwidth),
     .min = 1,
     .max = 1e18,
     .doc = "hierarchical: bandwidth from the node's switch into an NPU",
     .by_default = "no limit",
     .example = "100 GB/s"},
    {.key = "piece",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BYTES,
     .offset = offsetof(memory_text, piece),
     .min = 1,
     .max = 1e15,
     .doc = "hierarchical: data are transferred in pieces of this size",
     .by_default = "1 MB",
     .example = "4 MB"},
    {.key = "in-switch",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(memory_text, in_switch),
     .doc = "hierarchical: the node's switch gathers loads and reduces stores",
     .by_default = "no",
     .example = "yes"},
};

const hw_part hw_part_memory = {"memory", "remote-memory", HW_FIELDS(memory_fields)};

/* What the price of the NPU or of its host contains, unless the file says so. */
static void include_tier(halley_tier *t, bool first, double stated)
{
    const bool whole = first || (!t->price_given && hw_memory_is_of_host(t));
    t->included_bytes = stated >= 0 ? stated : whole ? t->capacity_bytes : 0;
    t->included_Bps = t->included_bytes > 0 || whole ? t->bandwidth_Bps : 0;
}

halley_status hw_tier_read(halley_tier *out, bool first, const conf_file *file,
                           const conf_node *map, halley_error *err)
{
    memory_text t = {
        .name = {"", 0}, .price = -1, .rate_price = -1, .power = -1, .included = -1};
    TRY(conf_read(&t, file, map, HW_FIELDS(memory_fields), true, NULL, err));
    *out = (halley_tier){.kind = (halley_tier_kind)t.kind,
                         .capacity_bytes = t.capacity,
                         .bandwidth_Bps = t.bandwidth,
                         .latency_s = t.latency,
                         .price_usd_per_byte = t.price / 1e9,
                         .price_usd_per_Bps = t.rate_price / 1e9,
                         .power_w_per_byte = t.power / 1e9,
                         .price_given = t.price >= 0,
                         .rate_price_given = t.rate_price >= 0,
                         .power_given = t.power >= 0};
    TRY(cluster_name_copy(out->name, t.name, err));
    include_tier(out, first, t.included);
    return HALLEY_OK;
}

halley_status hw_read_remote(const hw_reader *r, const conf_node *map)
{
    static const cluster_memory_kind kinds[] = {
        CLUSTER_MEMORY_PER_NPU, CLUSTER_MEMORY_PER_NODE, CLUSTER_MEMORY_POOL,
        CLUSTER_MEMORY_HIERARCHICAL};
    memory_text t = {.npus_per_node = r->c->nodes.npus, .groups = 1, .piece = 1e6};
    TRY(conf_read(&t, r->file, map, HW_FIELDS(memory_fields), true, NULL, r->err));
    r->c->remote = (cluster_memory){
        .kind = kinds[t.kind],
        .latency_ns = whole_ns(t.latency),
        .bytes_per_ns = t.bandwidth / 1e9,
        .npus_per_node = t.npus_per_node,
        .n_groups = t.groups,
        .node_bytes_per_ns = (t.node_bandwidth > 0 ? t.node_bandwidth : 1e18) / 1e9,
        .npu_bytes_per_ns = (t.npu_bandwidth > 0 ? t.npu_bandwidth : 1e18) / 1e9,
        .piece_bytes = whole_u64(t.piece),
        .in_switch = t.in_switch,
    };
    r->c->remote_given = true;
    return HALLEY_OK;
}

halley_status hw_remote_read_tier(const hw_reader *r, const conf_node *map)
{
    static const char *const beyond_tiers[] = {"npus-per-node",  "groups",
                                               "node-bandwidth", "npu-bandwidth",
                                               "piece",          "in-switch"};
    for (size_t i = 0; i < sizeof beyond_tiers / sizeof *beyond_tiers; i++)
        if (conf_find(map, beyond_tiers[i]) != NULL)
            return hw_read_remote(r, map);
    return HALLEY_OK;
}
