/*
 * hw/graph/generators/params.c - reads the parameters of generators from a YAML or JSON
 * map.
 *
 * One table names every key. Plain numbers and numbers with a unit are stored directly in
 * the parameters. Lists and maps are kept as nodes and read by the functions below,
 * because their form depends on the generator. params_edges.c reads explicit edges.
 */
#include "hw/graph/generators/params.h"

#include "base/array.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

static const char *const wiring_names[] = {"every", "one", NULL};

#define FIELD(k, t, member, text)                                                        \
    {                                                                                    \
        .key = k, .type = t, .offset = offsetof(hw_raw_params, member), .doc = text      \
    }
#define COUNT(k, member, text)                                                           \
    {                                                                                    \
        .key = k, .type = CONF_TYPE_U32, .offset = offsetof(hw_raw_params, p.member),    \
        .min = 1, .max = UINT32_MAX, .doc = text                                         \
    }
#define QUANTITY(k, u, member, least, most, text)                                        \
    {                                                                                    \
        .key = k, .type = CONF_TYPE_QUANTITY, .unit = u,                                 \
        .offset = offsetof(hw_raw_params, p.member), .min = least, .max = most,          \
        .doc = text                                                                      \
    }
/* Rates between 1 kB/s and 100 TB/s: the range of the flow model. */
#define LEAST_RATE 1e3
#define MOST_RATE 100e12

static const conf_field fields[] = {
    {.key = "topology",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(hw_raw_params, p.topology),
     .doc = "name of the generator (may be left out with file and with edges)"},
    QUANTITY("link", UNITS_BANDWIDTH, link_Bps, LEAST_RATE, MOST_RATE,
             "rate of a cable, one direction (default 400 Gb/s)"),
    QUANTITY("latency", UNITS_TIME, latency_s, 0, 1, "latency of a cable (default 0)"),
    QUANTITY("node-link", UNITS_BANDWIDTH, node_link_Bps, LEAST_RATE, MOST_RATE,
             "rate of an NPU's link inside its node (default: link)"),
    QUANTITY("node-latency", UNITS_TIME, node_latency_s, 0, 1,
             "latency of a link inside a node (default 0)"),
    QUANTITY("nic-link", UNITS_BANDWIDTH, nic_link_Bps, LEAST_RATE, MOST_RATE,
             "rate between an NPU and a NIC that it shares (default: link)"),
    QUANTITY("switch-latency", UNITS_TIME, switch_latency_s, 0, 1,
             "latency of passing through a switch (default 0)"),
    COUNT("n", n, "number of NPUs"),
    FIELD("dims", CONF_TYPE_NODE, dims,
          "sizes [4, 4, 8]; of the generator dims: [[ring, 4], [switch, 8]]"),
    FIELD("shifts", CONF_TYPE_NODE, shifts,
          "twists of a torus: a list of [wrap dimension, shifted dimension, amount]"),
    FIELD("twist", CONF_TYPE_BOOL, p.twist,
          "yes: the usual twist of a torus of n and 2n (default no)"),
    FIELD("m", CONF_TYPE_NODE, m, "children of a switch of each tier, from below"),
    FIELD("w", CONF_TYPE_NODE, w, "parents of a device below each tier"),
    FIELD("p", CONF_TYPE_NODE, parallel,
          "fat-tree: parallel cables of each tier; dragonfly: NPUs of a switch"),
    FIELD("tiers", CONF_TYPE_NODE, tiers,
          "a list from below of {name, npus, radix, oversubscription, link, latency}"),
    COUNT("planes", planes, "copies of the switches (default 1)"),
    {.key = "plane-wiring",
     .type = CONF_TYPE_ENUM,
     .names = wiring_names,
     .offset = offsetof(hw_raw_params, p.plane_wiring),
     .doc =
         "every (default): an NPU has a cable into each plane; one: NPU i of a node is "
         "in plane i"},
    COUNT("nodes", nodes, "number of nodes"),
    COUNT("npus", npus, "NPUs of a node or leaf; of edges: all NPUs"),
    COUNT("nics", nics, "NICs of a node (default: one for each NPU)"),
    COUNT("nodes-per-leaf", nodes_per_leaf, "nodes of one leaf (default: all)"),
    COUNT("leaves", leaves, "number of leaf switches"),
    COUNT("spines", spines, "number of spine switches"),
    COUNT("cables", cables, "parallel cables between a leaf and a spine (default 1)"),
    FIELD("node-switch", CONF_TYPE_BOOL, node_switch,
          "whether a switch joins the NPUs of a node (default yes)"),
    COUNT("a", a, "switches of a group of a dragonfly"),
    COUNT("h", h, "global ports of a switch"),
    COUNT("G", G, "groups"),
    COUNT("l", l, "leaves of a group of a dragonfly+"),
    COUNT("s", s, "spines of a group of a dragonfly+; switch chips of nvl"),
    FIELD("S", CONF_TYPE_NODE, sizes, "switches in each dimension of a HyperX"),
    COUNT("K", K, "cables between two switches of a HyperX (default 1)"),
    COUNT("T", T, "NPUs of a switch of a HyperX"),
    FIELD("merge", CONF_TYPE_BOOL, merge,
          "yes (default): the switch chips of nvl are one switch of the same rate"),
    COUNT("q", q, "parameter of a Slim Fly"),
    FIELD("edges", CONF_TYPE_NODE, edges,
          "a list of [from, to, rate, latency] or {from, to, bandwidth, latency, cables, "
          "one-way}"),
    FIELD("switches", CONF_TYPE_NODE, switches,
          "of edges: the number of switches, or a list of their names"),
    FIELD("devices", CONF_TYPE_NODE, devices, "of edges: a list of {name, kind, id}"),
    FIELD("cost", CONF_TYPE_NODE, cost,
          "USD: {npu, nic, node-switch, switch, copper (a cable), optical (an end)}"),
    FIELD("power", CONF_TYPE_NODE, power, "W: the same keys as cost"),
    FIELD("links", CONF_TYPE_NODE, links,
          "links that are slow or have failed: a list of {between: leaf0 - spine1, "
          "bandwidth: x0.5, latency, failed}"),
    FIELD("failed", CONF_TYPE_NODE, failed,
          "switches, NICs, NPUs and links that have failed: [spine2, leaf0 - spine1]; "
          "routes avoid them"),
    FIELD("events", CONF_TYPE_NODE, events,
          "links that change while a simulation runs: a list of {at: 2 s, link: leaf0 - "
          "spine1 (or device: spine2), bandwidth: 0 (or x0.5, a rate), for: 10 s}"),
    QUANTITY("reroute", UNITS_TIME, reroute_s, 0, 1e5,
             "of events: how long until routes avoid what has failed (default 0)"),
    FIELD("file", CONF_TYPE_TEXT, file,
          "of file: a topology file of another tool, relative to this file"),
    FIELD("format", CONF_TYPE_TEXT, format, "of file: its format (default: by content)"),
    COUNT("use", n_used,
          "of file: NPUs that take part, from the first on; others are idle (default: "
          "all)"),
};
enum { N_FIELDS = sizeof fields / sizeof *fields };
/* Keys that every generator accepts. */
static const char common_keys[] = " topology link latency node-link node-latency "
                                  "switch-latency cost power links failed "
                                  "events reroute ";

const conf_field *hw_generator_fields(size_t *n)
{
    *n = N_FIELDS;
    return fields;
}

/* True if a list of words contains the key; _ and - are equivalent. */
static bool has_key(const char *words, str key)
{
    str rest = str_from(words), word;
    while (str_next(&rest, ' ', &word)) {
        bool same = word.n == key.n && key.n > 0;
        for (size_t i = 0; same && i < key.n; i++)
            same = word.at[i] == (key.at[i] == '_' ? '-' : key.at[i]);
        if (same)
            return true;
    }
    return false;
}

const conf_field *hw_generator_field(const hw_generator *row, size_t k)
{
    const char *const lists[] = {row->keys, common_keys};
    for (size_t i = 0; i < 2; i++)
        for (size_t f = 1; f < N_FIELDS; f++) /* not the name itself */
            if (has_key(lists[i], str_from(fields[f].key)) &&
                (i == 0 || !has_key(row->keys, str_from(fields[f].key))) && k-- == 0)
                return &fields[f];
    return NULL;
}

/* Read a list of at most `most` positive integers. */
static halley_status read_numbers(uint32_t *to, uint32_t *n, uint32_t most,
                                  const hw_params_source *in, const conf_node *list,
                                  const char *key, halley_error *err)
{
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n == 0 || list->n > most)
        return conf_error(in->file, list, err, HALLEY_EINVAL,
                          "%s must be a list of 1 to %u whole numbers", key, most);
    for (uint32_t i = 0; i < list->n; i++) {
        int64_t value;
        TRY(conf_to_i64(&value, in->file, list->items[i], key, err));
        if (value < 1 || value > UINT32_MAX)
            return conf_error(in->file, list->items[i], err, HALLEY_EINVAL,
                              "%s must be at least 1, is %lld", key, (long long)value);
        to[i] = (uint32_t)value;
    }
    *n = list->n;
    return HALLEY_OK;
}

static const char *const dim_kind_names[] = {"ring", "fully-connected", "switch", NULL};

typedef struct raw_dim {
    uint32_t kind, size;
    double bw_Bps, latency_s;
} raw_dim;
static const conf_field dim_fields[] = {
    {.key = "kind",
     .type = CONF_TYPE_ENUM,
     .names = dim_kind_names,
     .offset = offsetof(raw_dim, kind),
     .required = true},
    {.key = "n",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_dim, size),
     .required = true,
     .min = 1,
     .max = UINT32_MAX},
    {.key = "link",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_dim, bw_Bps),
     .min = LEAST_RATE,
     .max = MOST_RATE},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_dim, latency_s),
     .min = 0,
     .max = 1},
};

/* [kind, size], as a map. */
static halley_status read_dim_pair(raw_dim *to, const hw_params_source *in,
                                   const conf_node *pair, halley_error *err)
{
    if (pair->kind != CONF_LIST || pair->n != 2)
        return conf_error(in->file, pair, err, HALLEY_EINVAL,
                          "a dimension is [kind, size] or {kind, n, link, latency}");
    str keys[2] = {STR("kind"), STR("n")};
    conf_node *items[2] = {pair->items[0], pair->items[1]};
    conf_node map = *pair;
    map.kind = CONF_MAP;
    map.n = 2;
    map.keys = keys;
    map.items = items;
    return conf_read(to, in->file, &map, dim_fields, 2, true, NULL, err);
}

static halley_status read_kinded_dims(hw_generator_params *p, const hw_params_source *in,
                                      const conf_node *list, halley_error *err)
{
    if (list->kind != CONF_LIST || list->n == 0 || list->n > HW_MAX_DIMS)
        return conf_error(in->file, list, err, HALLEY_EINVAL,
                          "dims must be a list of 1 to %d dimensions", HW_MAX_DIMS);
    for (uint32_t i = 0; i < list->n; i++) {
        raw_dim dim = {0};
        const conf_node *item = list->items[i];
        if (item->kind == CONF_MAP)
            TRY(conf_read(&dim, in->file, item, dim_fields, 4, true, NULL, err));
        else
            TRY(read_dim_pair(&dim, in, item, err));
        p->dim_kinds[i] = dim.kind;
        p->dims[i] = dim.size;
        p->dim_Bps[i] = dim.bw_Bps;
        p->dim_latency_s[i] = dim.latency_s;
    }
    p->n_dims = list->n;
    return HALLEY_OK;
}

static halley_status read_shifts(hw_generator_params *p, const hw_params_source *in,
                                 const conf_node *list, halley_error *err)
{
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n > HW_MAX_SHIFTS)
        return conf_error(in->file, list, err, HALLEY_EINVAL,
                          "shifts must be a list of at most %d entries", HW_MAX_SHIFTS);
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *item = list->items[i];
        if (item->kind != CONF_LIST || item->n != 3)
            return conf_error(in->file, item, err, HALLEY_EINVAL,
                              "a shift is [wrap dimension, shifted dimension, amount]");
        for (uint32_t k = 0; k < 3; k++) {
            int64_t value;
            TRY(conf_to_i64(&value, in->file, item->items[k], "shifts", err));
            if (value < 0 || value > UINT32_MAX)
                return conf_error(in->file, item, err, HALLEY_EINVAL,
                                  "a shift must not be negative");
            p->shifts[i][k] = (uint32_t)value;
        }
    }
    p->n_shifts = list->n;
    return HALLEY_OK;
}

static const conf_field tier_fields[] = {
    {.key = "name", .type = CONF_TYPE_TEXT, .offset = offsetof(hw_tier_params, name)},
    {.key = "npus",
     .type = CONF_TYPE_U32,
     .offset = offsetof(hw_tier_params, npus),
     .min = 1,
     .max = UINT32_MAX},
    {.key = "radix",
     .type = CONF_TYPE_U32,
     .offset = offsetof(hw_tier_params, radix),
     .min = 2,
     .max = 1 << 20},
    {.key = "oversubscription",
     .type = CONF_TYPE_DOUBLE,
     .offset = offsetof(hw_tier_params, oversubscription),
     .min = 1e-3,
     .max = 1e6},
    {.key = "link",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(hw_tier_params, link_Bps),
     .min = LEAST_RATE,
     .max = MOST_RATE},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(hw_tier_params, latency_s),
     .min = 0,
     .max = 1},
};

static halley_status read_tiers(hw_generator_params *p, const hw_params_source *in,
                                const conf_node *list, halley_error *err)
{
    if (list == NULL)
        return HALLEY_OK;
    if (list->kind != CONF_LIST || list->n == 0 || list->n > HW_MAX_TIERS)
        return conf_error(in->file, list, err, HALLEY_EINVAL,
                          "tiers must be a list of 1 to %d tiers, from below",
                          HW_MAX_TIERS);
    for (uint32_t i = 0; i < list->n; i++) {
        p->tiers[i].latency_s = -1;
        if (list->items[i]->kind != CONF_MAP)
            return conf_error(in->file, list->items[i], err, HALLEY_EINVAL,
                              "a tier is a map, such as {name: leaf, npus: 16}");
        TRY(conf_read(&p->tiers[i], in->file, list->items[i], tier_fields,
                      sizeof tier_fields / sizeof *tier_fields, true, NULL, err));
    }
    p->n_tiers = list->n;
    return HALLEY_OK;
}

#define PRICE(u, key_, member_)                                                          \
    {                                                                                    \
        .key = key_, .type = CONF_TYPE_QUANTITY, .unit = u,                              \
        .offset = offsetof(hw_price_params, member_), .min = 0, .max = 1e12              \
    }
#define PRICES(u)                                                                        \
    {                                                                                    \
        PRICE(u, "npu", npu), PRICE(u, "nic", nic),                                      \
            PRICE(u, "node-switch", node_switch), PRICE(u, "switch", network_switch),    \
            PRICE(u, "copper", copper), PRICE(u, "optical", optical_end)                 \
    }
enum { N_PRICES = 6 };
static const conf_field cost_fields[N_PRICES] = PRICES(UNITS_MONEY);
static const conf_field power_fields[N_PRICES] = PRICES(UNITS_POWER);

static halley_status read_prices(hw_price_params *to, const hw_params_source *in,
                                 const conf_node *map, const conf_field *table,
                                 halley_error *err)
{
    if (map != NULL && map->kind != CONF_MAP)
        return conf_error(in->file, map, err, HALLEY_EINVAL,
                          "cost and power are maps, such as {switch: 25000 USD}");
    return conf_read(to, in->file, map, table, N_PRICES, true, NULL, err);
}

/* p is a list for fat trees, a number for dragonflies. */
static halley_status read_p(hw_raw_params *raw, const hw_params_source *in,
                            halley_error *err)
{
    const conf_node *node = raw->parallel;
    if (node == NULL)
        return HALLEY_OK;
    if (node->kind == CONF_LIST)
        return read_numbers(raw->p.p, &raw->p.n_p, HW_MAX_TIERS, in, node, "p", err);
    int64_t value;
    TRY(conf_to_i64(&value, in->file, node, "p", err));
    if (value < 1 || value > UINT32_MAX)
        return conf_error(in->file, node, err, HALLEY_EINVAL,
                          "p must be at least 1, is %lld", (long long)value);
    raw->p.hosts_per_switch = (uint32_t)value;
    return HALLEY_OK;
}

static halley_status read_lists(hw_raw_params *raw, const hw_params_source *in,
                                halley_error *err)
{
    hw_generator_params *p = &raw->p;
    if (raw->dims != NULL && str_eq(p->topology, STR("dims")))
        TRY(read_kinded_dims(p, in, raw->dims, err));
    else
        TRY(read_numbers(p->dims, &p->n_dims, HW_MAX_DIMS, in, raw->dims, "dims", err));
    if (raw->sizes != NULL)
        TRY(read_numbers(p->dims, &p->n_dims, HW_MAX_DIMS, in, raw->sizes, "S", err));
    TRY(read_numbers(p->m, &p->n_m, HW_MAX_TIERS, in, raw->m, "m", err));
    TRY(read_numbers(p->w, &p->n_w, HW_MAX_TIERS, in, raw->w, "w", err));
    TRY(read_p(raw, in, err));
    TRY(read_shifts(p, in, raw->shifts, err));
    TRY(read_tiers(p, in, raw->tiers, err));
    TRY(read_prices(&p->cost, in, raw->cost, cost_fields, err));
    TRY(read_prices(&p->power, in, raw->power, power_fields, err));
    p->no_node_switch = !raw->node_switch;
    p->no_merge = !raw->merge;
    return HALLEY_OK;
}

/* Rename keys with _ to the spelling in the table. */
static halley_status normalise_keys(conf_node *copy, arena *memory, const conf_node *map,
                                    halley_error *err)
{
    *copy = *map;
    copy->keys = arena_array(memory, map->n + 1, sizeof *copy->keys);
    if (copy->keys == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < map->n; i++) {
        char *text = arena_copy(memory, map->keys[i]);
        if (text == NULL)
            return error_nomem(err);
        for (size_t k = 0; k < map->keys[i].n; k++)
            if (text[k] == '_')
                text[k] = '-';
        copy->keys[i] = (str){text, map->keys[i].n};
    }
    return HALLEY_OK;
}

bool hw_generator_is_short(const conf_node *map)
{
    return map->kind == CONF_MAP && conf_find(map, "topology") == NULL &&
           (conf_find(map, "file") != NULL || conf_find(map, "edges") != NULL);
}

/* A key of another generator is an error, like an unknown key. */
static halley_status check_keys(const hw_params_source *in, const conf_node *map,
                                const hw_generator *row, halley_error *err)
{
    for (uint32_t i = 0; i < map->n; i++)
        if (!has_key(common_keys, map->keys[i]) && !has_key(row->keys, map->keys[i]))
            return conf_error(in->file, map->items[i], err, HALLEY_EINVAL,
                              "%s takes no key \"%.*s\"; its keys are %s%slink, latency, "
                              "cost and power",
                              row->name, STR_ARG(map->keys[i]), row->keys,
                              row->keys[0] != '\0' ? ", " : "");
    return HALLEY_OK;
}

/* A relative path is relative to the file that contains it. */
static halley_status read_file_name(hw_raw_params *raw, const hw_params_source *in,
                                    halley_error *err)
{
    const char *slash = in->file->path != NULL ? strrchr(in->file->path, '/') : NULL;
    if (raw->file.n == 0)
        return HALLEY_OK;
    const bool is_relative = raw->file.at[0] != '/' && slash != NULL;
    raw->p.file =
        is_relative ? arena_printf(in->memory, "%.*s/%.*s", (int)(slash - in->file->path),
                                   in->file->path, STR_ARG(raw->file))
                    : arena_copy(in->memory, raw->file);
    if (raw->format.n > 0)
        raw->p.format = arena_copy(in->memory, raw->format);
    return raw->p.file == NULL || (raw->format.n > 0 && raw->p.format == NULL)
               ? error_nomem(err)
               : HALLEY_OK;
}

halley_status hw_generator_read(hw_generator_params *out, arena *memory,
                                const conf_file *file, const conf_node *map,
                                halley_error *err)
{
    const hw_params_source in = {file, memory};
    hw_raw_params raw = {.node_switch = true, .merge = true};
    conf_node copy;
    if (map->kind != CONF_MAP)
        return conf_error(file, map, err, HALLEY_EFORMAT,
                          "a network must be a map, such as {topology: ring, n: 8}; "
                          "halley topology convert --help lists the formats of other "
                          "tools that are read");
    TRY(normalise_keys(&copy, memory, map, err));
    TRY(conf_read(&raw, file, &copy, fields, N_FIELDS, true, NULL, err));
    if (raw.p.topology.n == 0 && hw_generator_is_short(&copy))
        raw.p.topology = conf_find(&copy, "file") != NULL ? STR("file") : STR("edges");
    if (raw.p.topology.n == 0)
        return conf_error(file, map, err, HALLEY_EINVAL,
                          "key \"topology\" is missing: name of the generator");
    const hw_generator *row = hw_generator_find(raw.p.topology);
    if (row != NULL)
        TRY(check_keys(&in, &copy, row, err));
    TRY(read_lists(&raw, &in, err));
    if (row == &hw_gen_edges)
        TRY(hw_edges_read(&raw, &in, err));
    TRY(read_file_name(&raw, &in, err));
    TRY(hw_faults_read(&raw.p.faults, &raw.p.n_faults, memory, file, raw.links,
                       raw.failed, err));
    TRY(hw_events_read(&raw.p.events, &raw.p.n_events, memory, file, raw.events, err));
    raw.p.has_link = conf_find(&copy, "link") != NULL;
    raw.p.has_latency = conf_find(&copy, "latency") != NULL;
    *out = raw.p;
    return HALLEY_OK;
}
