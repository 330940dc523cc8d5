/*
 * A cluster file (the one `halley sim` reads) as the estimator sees it: two levels. The
 * innermost dimension is the scale-up domain; of those outside it the narrowest counts.
 * No measured library constants are known for it, so collectives are plain rings, each
 * step a hop's latency and the bytes over the link, in the pieces and with the link
 * queues that the file's `system` asks the simulator for.
 */
#include "hw/platform_own.h"

#include "hw/embedded.h"
#include "hw/failures.h"
#include "hw/link.h"
#include "hw/npu.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct dim_text {
    str name, topology;
    uint32_t size;
    double bandwidth, latency;
    const conf_node *in_network;
} dim_text;
#define DIM(key, type, unit, member, required, doc)                                      \
    CONF_FIELD(dim_text, key, type, unit, member, required, doc)
static const conf_field dim_fields[] = {
    DIM("name", CONF_TYPE_TEXT, UNITS_COUNT, name, false, "what it is called"),
    DIM("topology", CONF_TYPE_TEXT, UNITS_COUNT, topology, false, "how it is wired"),
    DIM("size", CONF_TYPE_U32, UNITS_COUNT, size, true, "NPUs along it"),
    DIM("bandwidth", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, bandwidth, true, "one link"),
    DIM("latency", CONF_TYPE_QUANTITY, UNITS_TIME, latency, false, "one hop"),
    DIM("in-network", CONF_TYPE_NODE, UNITS_COUNT, in_network, false,
        "what a switch does"),
};

static halley_all_to_all all_to_all_of(str topology)
{
    if (str_eq(topology, STR("ring")))
        return HALLEY_A2A_ROUND;
    return str_eq(topology, STR("fully-connected")) ? HALLEY_A2A_AT_ONCE
                                                    : HALLEY_A2A_IN_TURN;
}

static halley_status read_dims(halley_platform *out, const conf_file *file,
                               const conf_node *list, halley_error *err)
{
    if (list->kind != CONF_LIST || list->n == 0)
        return conf_error(file, list, err, HALLEY_EINVAL,
                          "network must be a list of dimensions, innermost first");
    uint64_t npus = 1;
    for (uint32_t i = 0; i < list->n; i++) {
        dim_text d = {.name = STR(""), .topology = STR("")};
        TRY(conf_read(&d, file, list->items[i], dim_fields,
                      sizeof dim_fields / sizeof *dim_fields, true, NULL, err));
        if (d.size == 0 || !(d.bandwidth > 0) || npus * d.size > UINT32_MAX)
            return conf_error(file, list->items[i], err, HALLEY_EINVAL,
                              "size and bandwidth of a dimension must be positive");
        npus *= d.size;
        /* Through a switch a step is two hops. */
        const uint32_t links = str_eq(d.topology, STR("switch")) ? 2 : 1;
        const double step_s = links * d.latency;
        if (i == 0) {
            out->per_node = d.size;
            out->up = (halley_link){.bandwidth_Bps = d.bandwidth,
                                    .simple = {.hop_s = step_s, .share = 1},
                                    .all_to_all = all_to_all_of(d.topology),
                                    .stored = links,
                                    .torus = true};
        }
        if (i == 1 || (i > 1 && d.bandwidth < out->out.bandwidth_Bps))
            out->out = (halley_fabric){.bandwidth_Bps = d.bandwidth,
                                       .hop_s = {step_s, step_s, step_s},
                                       .share = 1,
                                       .stored = links};
    }
    if (list->n == 1) /* nothing outside: never used */
        out->out = (halley_fabric){.bandwidth_Bps = out->up.bandwidth_Bps, .share = 1};
    out->n_npus = (uint32_t)npus;
    return HALLEY_OK;
}

/* What the simulator would do with collectives; the rest of `system` is its own. */
typedef struct system_text {
    uint32_t model;
    uint32_t chunks, active;
} system_text;
static const char *const models[] = {"contention-free", "link-queue", NULL};
static const conf_field system_fields[] = {
    {"model", CONF_TYPE_ENUM, UNITS_COUNT, offsetof(system_text, model), false, 0, 0,
     models, "contention-free or link-queue"},
    {"chunks", CONF_TYPE_U32, UNITS_COUNT, offsetof(system_text, chunks), false, 1,
     1 << 20, NULL, "pieces of a collective"},
    {"active-chunks", CONF_TYPE_U32, UNITS_COUNT, offsetof(system_text, active), false, 1,
     1 << 20, NULL, "pieces at a time in a dimension"},
};

static halley_status read_system(halley_platform *out, const conf_file *file,
                                 const conf_node *map, halley_error *err)
{
    system_text t = {.chunks = 1, .active = 1};
    TRY(conf_read(&t, file, map, system_fields,
                  sizeof system_fields / sizeof *system_fields, false, NULL, err));
    out->up.pieces = t.active < t.chunks ? t.active : t.chunks;
    out->up.rounds = t.chunks / out->up.pieces;
    if (t.model == 0)
        out->up.stored = out->out.stored = 0;
    return HALLEY_OK;
}

static bool is_preset(str name)
{
    char path[128];
    if (name.n == 0 || name.n > 60)
        return false;
    snprintf(path, sizeof path, "presets/npus/%.*s.yaml", STR_ARG(name));
    return cluster_embedded_find(path) != NULL;
}

/* A preset by name, or peaks and memories in place. */
static halley_status read_npu(halley_platform *out, const conf_file *file,
                              const conf_node *node, halley_error *err)
{
    const conf_node *name = node->kind == CONF_MAP ? conf_find(node, "name") : node;
    const bool in_place =
        node->kind == CONF_MAP && (conf_find(node, "peak") || conf_find(node, "memory"));
    if (in_place)
        return cluster_npu_read(&out->npu, file, node, err);
    char text[HALLEY_NAME];
    if (!name || name->kind != CONF_SCALAR)
        return conf_error(file, node, err, HALLEY_EFORMAT,
                          "npu must be a preset's name, or have peak and memory");
    TRY(cluster_name_copy(text, name->text, err));
    if (!is_preset(name->text))
        return conf_error(file, node, err, HALLEY_ENOTFOUND,
                          "no NPU preset \"%s\"; `halley presets npus` lists them", text);
    return cluster_npu_load(&out->npu, text, err);
}

typedef struct cost_text {
    double npu, node, network, power, idle, pue, energy, years;
} cost_text;
#define COST(key, unit, member, doc)                                                     \
    CONF_FIELD(cost_text, key, CONF_TYPE_QUANTITY, unit, member, false, doc)
static const conf_field cost_fields[] = {
    COST("npu", UNITS_MONEY, npu, "price of an NPU"),
    COST("per-node", UNITS_MONEY, node, "price of a node beside its NPUs"),
    COST("network-per-gbps", UNITS_MONEY, network, "per Gb/s and NPU"),
    COST("power-per-npu", UNITS_POWER, power, "at full load"),
    COST("power-idle", UNITS_SHARE, idle, "of full power when idle"),
    COST("pue", UNITS_COUNT, pue, "power of the building over that of the machines"),
    COST("energy", UNITS_PRICE, energy, "price of energy"),
    COST("years", UNITS_COUNT, years, "life"),
};

static halley_status read_cost(halley_platform *out, const conf_file *file,
                               const conf_node *map, halley_error *err)
{
    cost_text t = {.npu = out->npu.price_usd,
                   .power = out->npu.power_w,
                   .idle = 0.3,
                   .pue = 1.2,
                   .energy = 0.1 / 3.6e6,
                   .years = 4};
    if (map)
        TRY(conf_read(&t, file, map, cost_fields,
                      sizeof cost_fields / sizeof *cost_fields, true, NULL, err));
    out->npu.price_usd = t.npu;
    out->npu.power_w = t.power;
    out->node_price_usd = t.node;
    out->network_usd_per_Bps = t.network / (1e9 / 8);
    out->power_idle = t.idle;
    out->pue = t.pue;
    out->energy_usd_per_J = t.energy;
    out->years = t.years;
    return HALLEY_OK;
}

typedef struct file_text {
    str name;
    uint32_t npus;
    const conf_node *npu, *network, *system, *cost, *failures, *memory, *groups;
} file_text;
#define FILE_FIELD(key, type, member, required, doc)                                     \
    CONF_FIELD(file_text, key, type, UNITS_COUNT, member, required, doc)
static const conf_field file_fields[] = {
    FILE_FIELD("name", CONF_TYPE_TEXT, name, false, "what it is called"),
    FILE_FIELD("npus", CONF_TYPE_U32, npus, false, "how many"),
    FILE_FIELD("npu", CONF_TYPE_NODE, npu, true, "which"),
    FILE_FIELD("network", CONF_TYPE_NODE, network, true, "dimensions, innermost first"),
    FILE_FIELD("system", CONF_TYPE_NODE, system, false, "rules of the simulator"),
    FILE_FIELD("cost", CONF_TYPE_NODE, cost, false, "money and power"),
    FILE_FIELD("failures", CONF_TYPE_NODE, failures, false, "how often things break"),
    FILE_FIELD("remote-memory", CONF_TYPE_NODE, memory, false, "remote memory"),
    FILE_FIELD("groups", CONF_TYPE_NODE, groups, false, "communicators"),
};

halley_status cluster_platform_from_own(halley_platform *out, const conf_file *file,
                                        halley_error *err)
{
    file_text t = {.name = STR("cluster")};
    TRY(conf_read(&t, file, file->root, file_fields,
                  sizeof file_fields / sizeof *file_fields, true, NULL, err));
    *out = (halley_platform){.host_factor = 1};
    TRY(cluster_name_copy(out->name, t.name, err));
    TRY(read_npu(out, file, t.npu, err));
    TRY(read_dims(out, file, t.network, err));
    if (t.npus && t.npus != out->n_npus)
        return conf_error(file, t.network, err, HALLEY_EINVAL,
                          "the dimensions multiply to %u NPUs, the file says %u",
                          out->n_npus, t.npus);
    out->up.reduce_Bps = out->npu.tiers[0].bandwidth_Bps;
    TRY(read_system(out, file, t.system, err));
    TRY(cluster_failures_read(out, file, t.failures, err));
    return read_cost(out, file, t.cost, err);
}
