/*
 * hw/read/read_topology.c - network: {topology: NAME, ...}. A fat tree of nodes,
 * described by its tiers, is read into levels. Tier t connects blocks of `npus` NPUs.
 * Traffic across it shares the capacity that the tiers below pass upwards. The
 * oversubscription of a level is therefore that of all tiers below, multiplied.
 * hw/read/read_graph.c reads all other generators.
 */
#include "hw/graph/generate.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/read/read_graph.h"
#include "hw/schema.h"

#include <stddef.h>

typedef struct topology_text {
    str topology, fabric;
    uint32_t routing;
    double link, latency;
    bool rail_optimised;
    const conf_node *tiers;
} topology_text;
static const conf_field topology_fields[] = {
    {.key = "topology",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(topology_text, topology),
     .required = true,
     .doc = "how switches are connected",
     .example = "fat-tree"},
    {.key = "tiers",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(topology_text, tiers),
     .doc = "tiers of a fat tree, from the bottom up",
     .by_default = "required for fat-tree",
     .example = "[{name: leaf, npus: 16}, {name: spine}]"},
    {.key = "fabric",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(topology_text, fabric),
     .doc = "fabric preset with the library's constants (step times, share)",
     .by_default = "none: steps take the latencies, and 90 % of the bandwidth is reached",
     .example = "roce"},
    {.key = "link",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(topology_text, link),
     .min = 1e-3,
     .max = 1e18,
     .doc = "bandwidth of one link in one direction, for tiers that do not state it",
     .example = "400 Gb/s",
     .by_default = "stated by the tiers"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(topology_text, latency),
     .min = 0,
     .max = 1e3,
     .doc = "latency of one hop, for tiers that do not state it",
     .by_default = "0",
     .example = "700 ns"},
    {.key = "routing",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(topology_text, routing),
     .names = hw_routings,
     .doc = "how paths are chosen; closed forms assume that all links share the load",
     .by_default = "spray"},
    {.key = "rail-optimised",
     .type = CONF_TYPE_BOOL,
     .offset = offsetof(topology_text, rail_optimised),
     .doc = "whether NPU i of every node is connected to leaf i",
     .by_default = "no",
     .example = "yes"},
};
const hw_part hw_part_topology = {"topology", "network", HW_FIELDS(topology_fields)};

typedef struct tier_text {
    str name;
    uint32_t npus, radix;
    double oversubscription, link, latency;
} tier_text;
static const conf_field tier_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(tier_text, name),
     .doc = "name of the tier, for reports",
     .example = "leaf",
     .by_default = "none"},
    {.key = "npus",
     .type = CONF_TYPE_U32,
     .offset = offsetof(tier_text, npus),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "NPUs under one switch block of the tier",
     .by_default = "all, in the top tier",
     .example = "3072"},
    {.key = "radix",
     .type = CONF_TYPE_U32,
     .offset = offsetof(tier_text, radix),
     .min = 2,
     .max = 65536,
     .doc = "ports of the tier's switches, instead of npus",
     .example = "64",
     .by_default = "by npus"},
    {.key = "oversubscription",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(tier_text, oversubscription),
     .min = 1,
     .max = 1e6,
     .doc = "capacity down over capacity up of the tier's switches",
     .by_default = "1",
     .example = "7"},
    {.key = "link",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(tier_text, link),
     .min = 1e-3,
     .max = 1e18,
     .doc = "bandwidth of one link, one way",
     .by_default = "link of network, or of the tier below",
     .example = "400 Gb/s"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(tier_text, latency),
     .min = 0,
     .max = 1e3,
     .doc = "of one hop",
     .by_default = "latency of network, or of the tier below",
     .example = "700 ns"},
};
const hw_part hw_part_tier = {"tier", "network.tiers[]", HW_FIELDS(tier_fields)};

/* The state after the tiers read so far, for those above. */
typedef struct climb {
    uint32_t npus;           /* of the tier below */
    double n_nics;           /* per node; each has one link of every tier's rate */
    double link_Bps;         /* of a link in this tier */
    double latency_s;        /* of a hop in this tier */
    double step_s;           /* from an NPU to this tier and down again */
    double oversubscription; /* all tiers below, multiplied */
} climb;

static halley_status check_tier(const hw_reader *r, const conf_node *at, const climb *up,
                                const tier_text *t, bool top)
{
    if (t->npus != 0 && t->npus % up->npus != 0)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "npus of a tier must be a multiple of those below: %u is no "
                          "multiple of %u",
                          t->npus, up->npus);
    if (t->npus == 0 && !top)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "npus is missing: only the top tier may leave it out");
    if (top && t->oversubscription > 1)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "the top tier has nothing above it and so no oversubscription");
    return HALLEY_OK;
}

static halley_status read_tier(const hw_reader *r, const conf_node *map, climb *up,
                               bool top, hw_outer *to)
{
    tier_text t = {.oversubscription = 1, .latency = -1};
    TRY(conf_read(&t, r->file, map, HW_FIELDS(tier_fields), true, NULL, r->err));
    TRY(check_tier(r, map, up, &t, top));
    up->link_Bps = t.link > 0 ? t.link : up->link_Bps;
    if (!(up->link_Bps > 0))
        return conf_error(r->file, map, r->err, HALLEY_EINVAL,
                          "link is missing: the bandwidth of one link, such as 400 Gb/s");
    up->latency_s = t.latency >= 0 ? t.latency : up->latency_s;
    up->step_s += 2 * up->latency_s;
    to->npus = t.npus;
    to->oversubscription = up->oversubscription;
    to->fabric.bandwidth_Bps =
        up->n_nics * up->link_Bps / r->c->nodes.npus / up->oversubscription;
    to->tier.link_Bps = up->link_Bps;
    to->tier.latency_s = up->latency_s;
    to->tier.oversubscription = t.oversubscription;
    for (int i = 0; i < 3 && to->fabric.name[0] == '\0'; i++)
        to->fabric.hop_s[i] = up->step_s;
    up->oversubscription *= t.oversubscription;
    up->npus = t.npus != 0 ? t.npus : up->npus;
    return hw_text_keep(&to->name, r, t.name);
}

static halley_status read_fat_tree(const hw_reader *r, const conf_node *map,
                                   const topology_text *t)
{
    halley_cluster *c = r->c;
    halley_fabric base = {.share = HW_FABRIC_SHARE};
    char name[HALLEY_NAME];
    const conf_node *list = t->tiers;
    if (t->rail_optimised)
        return conf_error(r->file, conf_find(map, "rail-optimised"), r->err,
                          HALLEY_EINVAL, "rail-optimised fat trees are not built yet");
    if (list == NULL || list->kind != CONF_LIST || list->n == 0 || list->n > HW_MAX_OUTER)
        return conf_error(r->file, list == NULL ? map : list, r->err, HALLEY_EINVAL,
                          "a fat tree needs tiers: a list of 1 to %d, from below",
                          HW_MAX_OUTER);
    if (t->fabric.n > 0) {
        TRY(cluster_name_copy(name, t->fabric, r->err));
        TRY(cluster_fabric_load(&base, name, r->err));
    }
    climb up = {.npus = c->nodes.npus,
                .n_nics = c->nodes.nics != 0 ? c->nodes.nics : c->nodes.npus,
                .link_Bps = t->link,
                .latency_s = t->latency,
                .oversubscription = 1};
    c->n_outer = list->n;
    for (uint32_t i = 0; i < list->n; i++) {
        c->outer[i] = (hw_outer){.name = "", .fabric = base};
        TRY(read_tier(r, list->items[i], &up, i + 1 == list->n, &c->outer[i]));
    }
    c->network = HW_NETWORK_TIERS;
    c->routing = t->routing;
    return HALLEY_OK;
}

static halley_status refuse_topology(const hw_reader *r, const conf_node *at)
{
    const char *names[64];
    size_t n = 0;
    while (n < 64 && hw_generator_get(n) != NULL) {
        names[n] = hw_generator_get(n)->name;
        n++;
    }
    const char *near = str_nearest(at->text, names, n);
    return conf_error(r->file, at, r->err, HALLEY_EINVAL, "no topology \"%.*s\"%s%s%s",
                      STR_ARG(at->text), near != NULL ? "; did you mean \"" : "",
                      near != NULL ? near : "", near != NULL ? "\"?" : "");
}

/* True if tiers are described by switch ports: the generator then computes their
 * sizes. */
static bool has_radix(const conf_node *tiers)
{
    for (uint32_t i = 0; tiers != NULL && tiers->kind == CONF_LIST && i < tiers->n; i++)
        if (tiers->items[i]->kind == CONF_MAP &&
            conf_find(tiers->items[i], "radix") != NULL)
            return true;
    return false;
}

/* True if there are keys that only the generator of fat trees knows. */
static bool has_generator_keys(const conf_node *map)
{
    static const char *const keys[] = {"links",  "failed",  "planes",   "plane-wiring",
                                       "events", "reroute", "cost",     "power",
                                       "seed",   "ties",    "weighted", "polarised"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (conf_find(map, keys[i]) != NULL)
            return true;
    return false;
}

/* A fat tree that connects nodes is read into levels, as described by its tiers. All
 * other networks are generators. */
halley_status hw_read_topology(const hw_reader *r, const conf_node *map)
{
    topology_text t = {0};
    const hw_nodes *nodes = &r->c->nodes;
    const conf_node *at = conf_find(map, "topology");
    if (hw_generator_is_short(map))
        return hw_read_graph(r, map);
    if (at == NULL)
        return conf_error(r->file, map, r->err, HALLEY_EINVAL,
                          "topology is missing: tiers belong to topology: fat-tree");
    if (at->kind != CONF_SCALAR || hw_generator_find(at->text) == NULL)
        return refuse_topology(r, at);
    const bool tiers = str_eq(at->text, STR("fat-tree")) &&
                       (conf_find(map, "tiers") != NULL || conf_find(map, "m") == NULL);
    if (!tiers || has_generator_keys(map) || has_radix(conf_find(map, "tiers")) ||
        nodes->npus == 0 || !(nodes->up.bandwidth_Bps > 0))
        return hw_read_graph(r, map);
    TRY(conf_read(&t, r->file, map, HW_FIELDS(topology_fields), true, NULL, r->err));
    return read_fat_tree(r, map, &t);
}
