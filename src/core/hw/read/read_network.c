/*
 * hw/read/read_network.c - the part `network`: a list of dimensions, one level {fabric,
 * bandwidth}, or a topology (hw/read/read_topology.c). Only this file decides which of
 * the three it is.
 */
#include "hw/graph/generate.h"
#include "hw/link.h"
#include "hw/notation.h"
#include "hw/npu.h"
#include "hw/schema.h"

#include <stddef.h>

/* One dimension. */
typedef struct dim_text {
    str name;
    uint32_t topology, size;
    double bandwidth, latency, delay, throughput;
    const conf_node *in_network;
} dim_text;
static const char *const topologies[] = {"ring", "fully-connected", "switch", NULL};
static const conf_field dim_fields[] = {
    {.key = "name",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(dim_text, name),
     .doc = "name of the dimension, for reports",
     .example = "nvlink",
     .by_default = "none"},
    {.key = "topology",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(dim_text, topology),
     .required = true,
     .names = topologies,
     .doc = "how the NPUs along it are connected",
     .example = "ring"},
    {.key = "size",
     .type = CONF_TYPE_U32,
     .offset = offsetof(dim_text, size),
     .required = true,
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "NPUs along it; the sizes multiply to the number of NPUs",
     .example = "8"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(dim_text, bandwidth),
     .required = true,
     .min = 1e-3,
     .max = 1e18,
     .doc = "of one link, one way",
     .example = "300 GB/s"},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(dim_text, latency),
     .min = 0,
     .max = 1e3,
     .doc = "of one hop",
     .by_default = "0",
     .example = "700 ns"},
    {.key = "in-network",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(dim_text, in_network),
     .doc = "collectives that the switch computes itself",
     .example = "[all-reduce, broadcast]",
     .by_default = "none"},
    {.key = "in-network-delay",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(dim_text, delay),
     .min = 0,
     .max = 1e3,
     .doc = "latency of that computation",
     .by_default = "0",
     .example = "300 ns"},
    {.key = "in-network-throughput",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(dim_text, throughput),
     .min = 1,
     .max = 1e18,
     .doc = "throughput of that computation",
     .by_default = "no limit",
     .example = "400 GB/s"},
};
const hw_part hw_part_dimension = {"dimension", "network[]", HW_FIELDS(dim_fields)};

static halley_status read_in_network(const hw_reader *r, const conf_node *list,
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

static halley_status read_dim(const hw_reader *r, const conf_node *map, cluster_dim *to)
{
    dim_text t = {0};
    TRY(conf_read(&t, r->file, map, HW_FIELDS(dim_fields), true, NULL, r->err));
    *to = (cluster_dim){.topology = (cluster_topology)t.topology,
                        .n = t.size,
                        .bw_Bps = t.bandwidth,
                        .latency_ns = hw_ns_from(t.latency),
                        .in_network_ns = hw_ns_from(t.delay),
                        .in_network_Bps = t.throughput};
    if (t.in_network != NULL)
        TRY(read_in_network(r, t.in_network, to));
    return hw_text_keep(&to->name, r, t.name);
}

/* The innermost dimension is the scale-up domain. */
static halley_status check_nodes(const hw_reader *r)
{
    hw_nodes *nodes = &r->c->nodes;
    const conf_node *at = conf_find(r->file->root, "nodes");
    if (nodes->up.bandwidth_Bps > 0)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "nodes.up and a list of dimensions exclude each other: the "
                          "first dimension is the link inside a node");
    if (nodes->npus != 0 && nodes->npus != r->c->dims[0].n)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "nodes.npus is %u, and the first dimension of network has %u; "
                          "leave it out, or say with nodes.host how many are bought "
                          "together",
                          nodes->npus, r->c->dims[0].n);
    nodes->npus = r->c->dims[0].n;
    if (nodes->host != 0 && nodes->npus % nodes->host != 0)
        return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                          "nodes: %u NPUs do not divide into hosts of %u", nodes->npus,
                          nodes->host);
    return HALLEY_OK;
}

/* True for the generator `dims` with nothing but sizes, rates and latencies. */
static bool is_plain_dims(const hw_reader *r, const conf_node *map)
{
    static const char *const keys[] = {"topology", "dims", "link", "latency"};
    const conf_node *name = map->kind == CONF_MAP ? conf_find(map, "topology") : NULL;
    uint32_t known = 0;
    for (size_t i = 0; name != NULL && i < sizeof keys / sizeof *keys; i++)
        known += conf_find(map, keys[i]) != NULL;
    return name != NULL && name->kind == CONF_SCALAR && str_eq(name->text, STR("dims")) &&
           known == map->n && !(r->c->nodes.up.bandwidth_Bps > 0);
}

static halley_status read_generator_dims(const hw_reader *r, const conf_node *map)
{
    static const cluster_topology topologies_of[] = {[HW_DIM_RING] = CLUSTER_RING,
                                                     [HW_DIM_FULL] =
                                                         CLUSTER_FULLY_CONNECTED,
                                                     [HW_DIM_SWITCH] = CLUSTER_SWITCH};
    arena memory = {0};
    hw_generator_params p;
    hw_counts counts;
    halley_cluster *c = r->c;
    halley_status status = hw_generator_read(&p, &memory, r->file, map, r->err);
    if (status == HALLEY_OK)
        status = hw_graph_complete(&counts, &p, r->err);
    if (status == HALLEY_OK && counts.npus > CLUSTER_MAX_NPUS)
        status = conf_error(r->file, map, r->err, HALLEY_ELIMIT,
                            "more than %d NPUs are not handled", CLUSTER_MAX_NPUS);
    if (status == HALLEY_OK) {
        c->n_npus = (uint32_t)counts.npus;
        c->n_dims = p.n_dims;
    }
    for (uint32_t d = 0; status == HALLEY_OK && d < p.n_dims; d++)
        c->dims[d] =
            (cluster_dim){.topology = topologies_of[p.dim_kinds[d]],
                          .name = "",
                          .n = p.dims[d],
                          .bw_Bps = p.dim_Bps[d] > 0 ? p.dim_Bps[d] : p.link_Bps,
                          .latency_ns = hw_ns_from(
                              p.dim_latency_s[d] > 0 ? p.dim_latency_s[d] : p.latency_s)};
    arena_fini(&memory);
    c->network = HW_NETWORK_DIMS;
    c->plain = true;
    return status == HALLEY_OK ? check_nodes(r) : status;
}

/* Dimensions in one line (hw/notation.h). */
static halley_status read_notation(const hw_reader *r, const conf_node *at)
{
    halley_error why = {0};
    const halley_status status = hw_notation_read(r->c, at->text, &why);
    if (status != HALLEY_OK)
        return conf_error(r->file, at, r->err, status, "%s", why.text);
    r->c->network = HW_NETWORK_DIMS;
    r->c->plain = true;
    return check_nodes(r);
}

static halley_status read_dims(const hw_reader *r, const conf_node *list)
{
    halley_cluster *c = r->c;
    uint64_t total = 1;
    if (list->n == 0 || list->n > CLUSTER_MAX_DIMS)
        return conf_error(r->file, list, r->err, HALLEY_EINVAL,
                          "network must be a list of 1 to %d dimensions, innermost first",
                          CLUSTER_MAX_DIMS);
    c->network = HW_NETWORK_DIMS;
    c->plain = true;
    c->n_dims = list->n;
    for (uint32_t d = 0; d < list->n; d++) {
        TRY(read_dim(r, list->items[d], &c->dims[d]));
        total *= c->dims[d].n;
        if (total > CLUSTER_MAX_NPUS)
            return conf_error(r->file, list, r->err, HALLEY_ELIMIT,
                              "more than %d NPUs are not handled", CLUSTER_MAX_NPUS);
    }
    c->n_npus = (uint32_t)total;
    return check_nodes(r);
}

/* One level. */
typedef struct fabric_text {
    str fabric;
    double bandwidth;
} fabric_text;
static const conf_field fabric_fields[] = {
    {.key = "fabric",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(fabric_text, fabric),
     .required = true,
     .doc = "name of a fabric preset",
     .example = "ib-ndr"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(fabric_text, bandwidth),
     .min = 1e-3,
     .max = 1e18,
     .doc = "per direction and NPU, as wired",
     .by_default = "that of the preset",
     .example = "50 GB/s"},
};
const hw_part hw_part_fabric = {"fabric", "network", HW_FIELDS(fabric_fields)};

static halley_status load_fabric(const hw_reader *r, const conf_node *at, str name,
                                 halley_fabric *to)
{
    char text[HALLEY_NAME];
    halley_status status = cluster_name_copy(text, name, r->err);
    if (status == HALLEY_OK)
        status = cluster_fabric_load(to, text, r->err);
    if (status != HALLEY_OK && r->err != NULL && r->err->file[0] == '\0') {
        error_at_file(r->err, r->file->path);
        error_at_line(r->err, at->line, at->column);
    }
    return status;
}

/* Read "ib-ndr", {fabric: ib-ndr, bandwidth: 50 GB/s}, or a map as in fabric presets. */
static halley_status read_fabric(const hw_reader *r, const conf_node *node)
{
    hw_outer *out = &r->c->outer[0];
    fabric_text t = {0};
    r->c->network = HW_NETWORK_FABRIC;
    r->c->n_outer = 1;
    *out = (hw_outer){.name = "", .oversubscription = 1};
    if (node->kind == CONF_SCALAR)
        return load_fabric(r, node, node->text, &out->fabric);
    if (conf_find(node, "fabric") == NULL && conf_find(node, "hop") != NULL)
        return cluster_fabric_read(&out->fabric, r->file, node, r->err);
    TRY(conf_read(&t, r->file, node, HW_FIELDS(fabric_fields), true, NULL, r->err));
    TRY(load_fabric(r, node, t.fabric, &out->fabric));
    if (t.bandwidth > 0)
        out->fabric.bandwidth_Bps = t.bandwidth;
    return HALLEY_OK;
}

static halley_status need_nodes(const hw_reader *r, const conf_node *at)
{
    const hw_nodes *nodes = &r->c->nodes;
    if (nodes->npus > 0 && nodes->up.bandwidth_Bps > 0)
        return HALLEY_OK;
    return conf_error(r->file, at, r->err, HALLEY_EINVAL,
                      "such a network connects nodes: nodes needs %s, for example nodes: "
                      "{npus: 8, up: nvlink4-h100}",
                      nodes->npus == 0 ? "npus" : "up");
}

halley_status hw_read_network(const hw_reader *r, const conf_node *node)
{
    const conf_node *name =
        node->kind == CONF_MAP && node->n == 1 ? conf_find(node, "topology") : node;
    if (node->kind == CONF_LIST)
        return read_dims(r, node);
    if (name != NULL && name->kind == CONF_SCALAR && hw_notation_is(name->text))
        return read_notation(r, name);
    if (is_plain_dims(r, node))
        return read_generator_dims(r, node);
    if (node->kind == CONF_MAP &&
        (conf_find(node, "topology") != NULL || conf_find(node, "tiers") != NULL ||
         hw_generator_is_short(node)))
        return hw_read_topology(r, node);
    TRY(need_nodes(r, node));
    return read_fabric(r, node);
}
