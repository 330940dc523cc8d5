/* hw/read/read_nodes.c - the parts `nodes` and `kinds`: what a node consists of, and
 * which device is in which node. */
#include "hw/levels.h"
#include "hw/link.h"
#include "hw/npu.h"
#include "hw/schema.h"

#include <stddef.h>
#include <string.h>

typedef struct nodes_text {
    uint32_t npus, host, nics, shape, sold_by;
    double power;
    str rack;
    const conf_node *up;
} nodes_text;
const char *const hw_shapes[] = {"switch",   "fully-connected", "ring",    "dgx-1",
                                 "torus-2d", "torus-3d",        "mesh-2d", NULL};
static const char *const sold_by[] = {"host", "domain", NULL};
static const conf_field nodes_fields[] = {
    {.key = "npus",
     .type = CONF_TYPE_U32,
     .offset = offsetof(nodes_text, npus),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "NPUs in one scale-up domain",
     .example = "8",
     .was = "per-node",
     .by_default = "required for estimates"},
    {.key = "up",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(nodes_text, up),
     .doc = "link inside a node: name of a preset, {link: NAME, bandwidth: as wired}, or "
            "a map as link presets have it",
     .example = "nvlink4-h100",
     .was = "up",
     .by_default = "required for estimates"},
    {.key = "shape",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(nodes_text, shape),
     .names = hw_shapes,
     .doc = "topology inside a node; tori and meshes are as cubic as possible",
     .by_default = "switch",
     .example = "torus-3d"},
    {.key = "nics",
     .type = CONF_TYPE_U32,
     .offset = offsetof(nodes_text, nics),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "network cards of a node",
     .by_default = "one per NPU",
     .example = "8"},
    {.key = "host",
     .type = CONF_TYPE_U32,
     .offset = offsetof(nodes_text, host),
     .min = 1,
     .max = CLUSTER_MAX_NPUS,
     .doc = "NPUs that are bought together with one host, where that is not the whole "
            "scale-up domain",
     .by_default = "npus",
     .example = "4"},
    {.key = "sold-by",
     .type = CONF_TYPE_ENUM,
     .offset = offsetof(nodes_text, sold_by),
     .names = sold_by,
     .doc = "what is paid for as a whole: hosts, or whole scale-up domains",
     .by_default = "host",
     .example = "domain"},
    {.key = "rack",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(nodes_text, rack),
     .doc = "nodes in one rack",
     .example = "2 nodes",
     .by_default = "unknown"},
    {.key = "power",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_POWER,
     .offset = offsetof(nodes_text, power),
     .max = 1e9,
     .doc =
         "nameplate power of a node; of a host if host is given. Its NPUs and scale-up "
         "switches are subtracted, and the rest is cost.host-power",
     .example = "10.2 kW",
     .by_default = "by the power of the NPUs"},
};
const hw_part hw_part_nodes = {"nodes", "nodes", HW_FIELDS(nodes_fields)};

typedef struct wire_text {
    str link;
    double bandwidth;
} wire_text;
static const conf_field wire_fields[] = {
    {.key = "link",
     .type = CONF_TYPE_TEXT,
     .offset = offsetof(wire_text, link),
     .required = true,
     .doc = "name of a link preset"},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(wire_text, bandwidth),
     .min = 1e-3,
     .max = 1e18,
     .doc = "per direction and NPU, as wired"},
};

/* Report an error of a preset's name at the line that names it. */
static halley_status place_error(const hw_reader *r, const conf_node *at,
                                 halley_status status)
{
    if (status != HALLEY_OK && r->err != NULL && r->err->file[0] == '\0') {
        error_at_file(r->err, r->file->path);
        error_at_line(r->err, at->line, at->column);
    }
    return status;
}

static halley_status load_link(const hw_reader *r, const conf_node *at, str name,
                               halley_link *to)
{
    char text[HALLEY_NAME];
    halley_status status = cluster_name_copy(text, name, r->err);
    if (status == HALLEY_OK)
        status = cluster_link_load(to, text, r->err);
    return place_error(r, at, status);
}

static halley_status read_up(const hw_reader *r, const conf_node *node)
{
    halley_link *up = &r->c->nodes.up;
    wire_text t = {0};
    if (node->kind == CONF_SCALAR)
        return load_link(r, node, node->text, up);
    if (conf_find(node, "link") == NULL)
        return cluster_link_read(up, r->file, node, r->err);
    TRY(conf_read(&t, r->file, node, HW_FIELDS(wire_fields), true, NULL, r->err));
    TRY(load_link(r, node, t.link, up));
    if (t.bandwidth > 0)
        up->bandwidth_Bps = t.bandwidth;
    return HALLEY_OK;
}

/* "2 nodes", "1 node", "2". */
static halley_status read_rack(const hw_reader *r, const conf_node *at, str text)
{
    uint64_t n = 0;
    str rest = text, number;
    if (text.n == 0)
        return HALLEY_OK;
    (void)str_next(&rest, ' ', &number);
    const str unit = str_trim(rest);
    const bool known =
        unit.n == 0 || str_eq(unit, STR("nodes")) || str_eq(unit, STR("node"));
    if (!known || !str_to_u64(number, &n) || n == 0 || n > CLUSTER_MAX_NPUS)
        return conf_error(r->file, conf_find(at, "rack"), r->err, HALLEY_EINVAL,
                          "rack must be a number of nodes, such as \"2 nodes\", is "
                          "\"%.*s\"",
                          STR_ARG(text));
    r->c->nodes.rack = (uint32_t)n;
    return HALLEY_OK;
}

halley_status hw_read_nodes(const hw_reader *r, const conf_node *map)
{
    nodes_text t = {0};
    if (map == NULL)
        return HALLEY_OK;
    TRY(conf_read(&t, r->file, map, HW_FIELDS(nodes_fields), true, NULL, r->err));
    r->c->nodes = (hw_nodes){.npus = t.npus,
                             .shape = (hw_node_shape)t.shape,
                             .host = t.host,
                             .nics = t.nics,
                             .by_domain = t.sold_by == 1,
                             .host_npus = t.host != 0 ? t.host : t.npus,
                             .nics_per_npu = t.npus != 0 ? (double)t.nics / t.npus : 0,
                             .stated_w = t.power};
    if (t.host != 0 && t.npus != 0 && t.npus % t.host != 0)
        return conf_error(r->file, map, r->err, HALLEY_EINVAL,
                          "nodes: %u NPUs do not divide into hosts of %u", t.npus,
                          t.host);
    TRY(read_rack(r, map, t.rack));
    return t.up == NULL ? HALLEY_OK : read_up(r, t.up);
}

/* Kinds. */
typedef struct kind_text {
    const conf_node *npu, *nodes;
} kind_text;
static const conf_field kind_fields[] = {
    {.key = "npu",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(kind_text, npu),
     .required = true,
     .doc = "the device, as in npu of the file",
     .example = "h100-sxm-80gb"},
    {.key = "nodes",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(kind_text, nodes),
     .required = true,
     .doc = "the nodes that have it: a number, a range, or a list of these",
     .example = "0-127"},
};
const hw_part hw_part_kind = {"kinds", "kinds[]", HW_FIELDS(kind_fields)};

/* "5" or "0-127". */
static halley_status read_range(const hw_reader *r, const conf_node *node, uint32_t kind,
                                hw_kind_run *to)
{
    uint64_t first = 0, last = 0;
    str rest = node->text, head;
    const bool has = node->kind == CONF_SCALAR && str_next(&rest, '-', &head) &&
                     str_to_u64(str_trim(head), &first);
    last = first;
    if (!has || (rest.n > 0 && !str_to_u64(str_trim(rest), &last)) || last < first ||
        last >= CLUSTER_MAX_NPUS)
        return conf_error(r->file, node, r->err, HALLEY_EINVAL,
                          "nodes must be a number or a range such as 0-127, is \"%.*s\"",
                          STR_ARG(node->text));
    *to = (hw_kind_run){(uint32_t)first, (uint32_t)last, kind};
    return HALLEY_OK;
}

static uint32_t count_ranges(const conf_node *list)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        const conf_node *nodes = conf_find(list->items[i], "nodes");
        n += nodes != NULL && nodes->kind == CONF_LIST ? nodes->n : 1;
    }
    return n;
}

static halley_status read_kind(const hw_reader *r, const conf_node *map, uint32_t kind)
{
    kind_text t = {0};
    halley_cluster *c = r->c;
    TRY(conf_read(&t, r->file, map, HW_FIELDS(kind_fields), true, NULL, r->err));
    TRY(hw_npu_read_any(kind == 0 ? &c->npu : &c->other_kinds[kind - 1], r->file, t.npu,
                        r->err));
    if (t.nodes->kind != CONF_LIST)
        return read_range(r, t.nodes, kind, &c->kind_runs[c->n_kind_runs++]);
    for (uint32_t i = 0; i < t.nodes->n; i++)
        TRY(read_range(r, t.nodes->items[i], kind, &c->kind_runs[c->n_kind_runs++]));
    return HALLEY_OK;
}

static int by_first_node(const void *a, const void *b)
{
    const uint32_t x = ((const hw_kind_run *)a)->first;
    const uint32_t y = ((const hw_kind_run *)b)->first;
    return x < y ? -1 : x > y;
}

halley_status hw_read_kinds(const hw_reader *r, const conf_node *list)
{
    halley_cluster *c = r->c;
    enum { MOST_KINDS = 1024 };
    if (list->kind != CONF_LIST || list->n == 0 || list->n > MOST_KINDS)
        return conf_error(
            r->file, list, r->err, HALLEY_EINVAL,
            "kinds must be a list of 1 to %d entries {npu: ..., nodes: ...}", MOST_KINDS);
    c->other_kinds = arena_array(&c->memory, list->n, sizeof *c->other_kinds);
    c->kind_runs = arena_array(&c->memory, count_ranges(list), sizeof *c->kind_runs);
    if (c->other_kinds == NULL || c->kind_runs == NULL)
        return error_nomem(r->err);
    for (uint32_t i = 0; i < list->n; i++)
        TRY(read_kind(r, list->items[i], i));
    c->n_kinds = list->n;
    qsort(c->kind_runs, c->n_kind_runs, sizeof *c->kind_runs, by_first_node);
    for (uint32_t i = 0; i < c->n_kind_runs; i++) {
        const uint32_t next = i == 0 ? 0 : c->kind_runs[i - 1].last + 1;
        if (c->kind_runs[i].first != next)
            return conf_error(r->file, list, r->err, HALLEY_EINVAL, "kinds: node %u %s",
                              c->kind_runs[i].first < next ? c->kind_runs[i].first : next,
                              c->kind_runs[i].first < next ? "has two kinds"
                                                           : "has no kind");
    }
    hw_npu_follow(c);
    return HALLEY_OK;
}

halley_status hw_kinds_check(const halley_cluster *c, halley_error *err)
{
    if (c->n_kind_runs == 0 || c->n_npus == 0)
        return HALLEY_OK;
    const uint32_t n_nodes = (c->n_npus - 1) / c->nodes.npus + 1;
    const uint32_t last = c->kind_runs[c->n_kind_runs - 1].last;
    if (last + 1 < n_nodes)
        return error_set(err, HALLEY_EINVAL,
                         "kinds: node %u has no kind: %u NPUs are %u nodes of %u",
                         last + 1, c->n_npus, n_nodes, c->nodes.npus);
    return HALLEY_OK;
}

uint32_t halley_cluster_kind_count(const halley_cluster *cluster)
{
    return cluster->n_kinds > 1 ? cluster->n_kinds : 1;
}

const halley_npu *halley_cluster_npu(const halley_cluster *cluster, uint32_t kind)
{
    if (kind >= halley_cluster_kind_count(cluster))
        return NULL;
    return kind == 0 ? &cluster->npu : &cluster->other_kinds[kind - 1];
}

uint32_t halley_cluster_kind_of(const halley_cluster *cluster, uint32_t npu)
{
    const uint32_t node = cluster->nodes.npus > 0 ? npu / cluster->nodes.npus : npu;
    uint32_t low = 0, high = cluster->n_kind_runs;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (cluster->kind_runs[middle].last < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < cluster->n_kind_runs ? cluster->kind_runs[low].kind : 0;
}
