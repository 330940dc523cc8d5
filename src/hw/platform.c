/* Platform files: which NPU, how many in a scale-up domain, which link and fabric. */
#include "halley/platform.h"

#include "base/conf.h"
#include "hw/embedded.h"
#include "hw/failures.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/platform_own.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct wire_text {
    str kind;
    double bandwidth;
} wire_text;

/* {link: nvlink3-a100, bandwidth: 100 GB/s}: a preset, with its bandwidth as wired. */
static halley_status read_wire(wire_text *out, const conf_file *file,
                               const conf_node *map, const char *key, halley_error *err)
{
    const conf_field fields[] = {
        {key, CONF_TYPE_TEXT, UNITS_COUNT, offsetof(wire_text, kind), true, 0, 0, NULL,
         "preset"},
        {"bandwidth", CONF_TYPE_QUANTITY, UNITS_BANDWIDTH, offsetof(wire_text, bandwidth),
         false, 0, 0, NULL, "per direction and NPU, as wired"},
    };
    return conf_read(out, file, map, fields, 2, true, NULL, err);
}

#define COST(key, unit, member, doc)                                                     \
    CONF_FIELD(halley_platform, key, CONF_TYPE_QUANTITY, unit, member, false, doc)
static const conf_field cost_fields[] = {
    COST("per-node", UNITS_MONEY, node_price_usd, "price of a node beside its NPUs"),
    COST("network-per-gbps", UNITS_MONEY, network_usd_per_Bps, "per Gb/s and NPU"),
    COST("power-idle", UNITS_SHARE, power_idle, "of full power when idle"),
    COST("pue", UNITS_COUNT, pue, "power of the building over that of the machines"),
    COST("energy", UNITS_PRICE, energy_usd_per_J, "price of energy"),
    COST("years", UNITS_COUNT, years, "life"),
};

typedef struct platform_text {
    str name, npu;
    uint32_t per_node;
    double host_factor;
    const conf_node *up, *out, *cost, *failures, *sources;
} platform_text;
#define PLATFORM(key, type, member, required, doc)                                       \
    CONF_FIELD(platform_text, key, type, UNITS_COUNT, member, required, doc)
static const conf_field platform_fields[] = {
    PLATFORM("name", CONF_TYPE_TEXT, name, true, "name of the platform"),
    PLATFORM("npu", CONF_TYPE_TEXT, npu, true, "NPU preset"),
    PLATFORM("per-node", CONF_TYPE_U32, per_node, true, "NPUs in a scale-up domain"),
    PLATFORM("up", CONF_TYPE_NODE, up, true, "link inside a node"),
    PLATFORM("out", CONF_TYPE_NODE, out, true, "network between nodes"),
    PLATFORM("host-factor", CONF_TYPE_DOUBLE, host_factor, false, "speed of the host"),
    PLATFORM("cost", CONF_TYPE_NODE, cost, false, "money and power"),
    PLATFORM("failures", CONF_TYPE_NODE, failures, false, "how often things break"),
    PLATFORM("sources", CONF_TYPE_NODE, sources, false, "origin of the numbers"),
};

static halley_status name_of(char to[HALLEY_NAME], str text, halley_error *err)
{
    return cluster_name_copy(to, text, err);
}

static halley_status read_wires(halley_platform *out, const conf_file *file,
                                const platform_text *t, halley_error *err)
{
    wire_text up = {0}, net = {0};
    char name[HALLEY_NAME];
    TRY(read_wire(&up, file, t->up, "link", err));
    TRY(read_wire(&net, file, t->out, "fabric", err));
    TRY(name_of(name, up.kind, err));
    TRY(cluster_link_load(&out->up, name, err));
    TRY(name_of(name, net.kind, err));
    TRY(cluster_fabric_load(&out->out, name, err));
    if (up.bandwidth > 0)
        out->up.bandwidth_Bps = up.bandwidth;
    if (net.bandwidth > 0)
        out->out.bandwidth_Bps = net.bandwidth;
    return HALLEY_OK;
}

static halley_status read_platform(halley_platform *out, const conf_file *file,
                                   halley_error *err)
{
    platform_text t = {.host_factor = 1};
    TRY(conf_read(&t, file, file->root, platform_fields,
                  sizeof platform_fields / sizeof *platform_fields, true, NULL, err));
    *out = (halley_platform){.per_node = t.per_node ? t.per_node : 1,
                             .host_factor = t.host_factor,
                             .power_idle = 0.3,
                             .pue = 1.2,
                             .energy_usd_per_J = 0.1 / 3.6e6,
                             .years = 4};
    TRY(name_of(out->name, t.name, err));
    char npu[HALLEY_NAME];
    TRY(name_of(npu, t.npu, err));
    TRY(cluster_npu_load(&out->npu, npu, err));
    TRY(read_wires(out, file, &t, err));
    if (t.cost)
        TRY(conf_read(out, file, t.cost, cost_fields,
                      sizeof cost_fields / sizeof *cost_fields, true, NULL, err));
    out->network_usd_per_Bps /= 1e9 / 8; /* the file says per Gb/s */
    return cluster_failures_read(out, file, t.failures, err);
}

halley_status halley_platform_load(halley_platform *out, const char *name,
                                   halley_error *err)
{
    conf_file file;
    TRY(cluster_preset_load(&file, "platforms", name, err));
    const bool cluster =
        file.root->kind == CONF_MAP &&
        (conf_find(file.root, "network") != NULL || conf_find(file.root, "npus") != NULL);
    const halley_status status = cluster ? cluster_platform_from_own(out, &file, err)
                                         : read_platform(out, &file, err);
    conf_fini(&file);
    return status;
}

bool halley_preset_name(char *to, size_t size, const char *folder, size_t i)
{
    return cluster_preset_name(to, size, folder, i);
}

const char *halley_preset_text(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "presets/%s/%s.yaml", folder, name);
    const cluster_embedded *file = cluster_embedded_find(path);
    return file ? file->text : NULL;
}

enum { MOST_NPUS = 100000000 };

halley_status halley_platform_load_some(halley_platform *out, uint32_t *n_npus,
                                        const char *name, halley_error *err)
{
    const char *const colon = strrchr(name, ':');
    const str front = {name, colon ? (size_t)(colon - name) : strlen(name)};
    uint64_t n = 0;
    char alone[512];
    if (front.n >= sizeof alone)
        return error_set(err, HALLEY_EINVAL, "the name of the cluster is too long");
    if (colon && (!str_to_u64(str_from(colon + 1), &n) || n == 0 || n > MOST_NPUS))
        return error_set(err, HALLEY_EINVAL,
                         "cluster \"%s\": behind ':' stands the number of NPUs", name);
    snprintf(alone, sizeof alone, "%.*s", STR_ARG(front));
    TRY(halley_platform_load(out, alone, err));
    *n_npus = colon ? (uint32_t)n : out->n_npus;
    return HALLEY_OK;
}
