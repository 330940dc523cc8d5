/*
 * hw/graph/generators/params_edges.c - an explicit network: assigns ids to its devices,
 * and resolves every edge to two of them.
 *
 * Devices are named npu0 ... and switch0 ..., or as in `switches` and `devices`. An edge
 * refers to a device by name or number. NPUs are numbered first, by their `id` if they
 * have one, else in the order of the list.
 */
#include "base/hash.h"
#include "base/number/number.h"
#include "hw/graph/generators/params.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

typedef ARRAY(hw_device_params) device_array;

static const char *const device_kinds[] = {"npu",  "nic",    "switch", "cpu",
                                           "host", "memory", "other",  NULL};

typedef struct raw_device {
    str name;
    uint32_t kind;
    uint32_t id; /* HW_NONE: not given */
} raw_device;
static const conf_field device_fields[] = {
    {.key = "name", .type = CONF_TYPE_TEXT, .offset = offsetof(raw_device, name)},
    {.key = "kind",
     .type = CONF_TYPE_ENUM,
     .names = device_kinds,
     .offset = offsetof(raw_device, kind),
     .required = true},
    {.key = "id",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_device, id),
     .min = 0,
     .max = HW_MAX_DEVICES - 1},
};

typedef struct raw_edge {
    const conf_node *from, *to;
    uint32_t cables;
    double bw_Bps, latency_s;
    bool one_way;
} raw_edge;
static const conf_field edge_fields[] = {
    {.key = "from",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_edge, from),
     .required = true},
    {.key = "to",
     .type = CONF_TYPE_NODE,
     .offset = offsetof(raw_edge, to),
     .required = true},
    {.key = "bandwidth",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_BANDWIDTH,
     .offset = offsetof(raw_edge, bw_Bps)},
    {.key = "latency",
     .type = CONF_TYPE_QUANTITY,
     .unit = UNITS_TIME,
     .offset = offsetof(raw_edge, latency_s)},
    {.key = "cables",
     .type = CONF_TYPE_U32,
     .offset = offsetof(raw_edge, cables),
     .min = 1,
     .max = 65536},
    {.key = "one-way", .type = CONF_TYPE_BOOL, .offset = offsetof(raw_edge, one_way)},
};
enum { N_EDGE_FIELDS = sizeof edge_fields / sizeof *edge_fields };

/* The devices during reading. */
typedef struct edge_reader {
    const hw_params_source *in;
    hw_raw_params *raw;
    device_array npus, others;
    intern names; /* by device id, after number_devices */
} edge_reader;

static halley_status add_device(edge_reader *r, uint32_t kind, str name,
                                halley_error *err)
{
    device_array *to = kind == HW_DEVICE_NPU ? &r->npus : &r->others;
    if (r->npus.n + r->others.n >= HW_MAX_DEVICES)
        return error_set(err, HALLEY_ELIMIT, "at most %d devices are supported",
                         HW_MAX_DEVICES);
    if (!array_push(to, (hw_device_params){.name = name, .kind = kind}))
        return error_nomem(err);
    return HALLEY_OK;
}

static halley_status add_numbered(edge_reader *r, uint32_t kind, uint64_t n,
                                  halley_error *err)
{
    if (n > HW_MAX_DEVICES)
        return error_set(err, HALLEY_ELIMIT, "at most %d devices are supported",
                         HW_MAX_DEVICES);
    for (uint64_t i = 0; i < n; i++) {
        const char *name = arena_printf(r->in->memory, "%s%llu", device_kinds[kind],
                                        (unsigned long long)i);
        if (name == NULL)
            return error_nomem(err);
        TRY(add_device(r, kind, str_from(name), err));
    }
    return HALLEY_OK;
}

static halley_status read_switches(edge_reader *r, halley_error *err)
{
    const conf_node *node = r->raw->switches;
    if (node == NULL)
        return HALLEY_OK;
    if (node->kind == CONF_LIST) {
        for (uint32_t i = 0; i < node->n; i++) {
            if (node->items[i]->kind != CONF_SCALAR)
                return conf_error(r->in->file, node->items[i], err, HALLEY_EINVAL,
                                  "switches must be a number or a list of names");
            TRY(add_device(r, HW_DEVICE_SWITCH, node->items[i]->text, err));
        }
        return HALLEY_OK;
    }
    int64_t n;
    TRY(conf_to_i64(&n, r->in->file, node, "switches", err));
    if (n < 0)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "switches must not be negative, is %lld", (long long)n);
    return add_numbered(r, HW_DEVICE_SWITCH, (uint64_t)n, err);
}

static halley_status read_device(edge_reader *r, map64 *ids, const conf_node *node,
                                 halley_error *err)
{
    raw_device d = {.id = HW_NONE};
    if (node->kind != CONF_MAP)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "a device is a map, such as {name: a, kind: npu, id: 0}");
    TRY(conf_read(&d, r->in->file, node, device_fields, 3, true, NULL, err));
    if (d.name.n == 0)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL, "a device needs a name");
    if (d.kind != HW_DEVICE_NPU && d.id != HW_NONE)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "only NPUs have an id; %.*s is a %s", STR_ARG(d.name),
                          device_kinds[d.kind]);
    if (d.kind == HW_DEVICE_NPU) {
        const uint32_t id = d.id != HW_NONE ? d.id : (uint32_t)r->npus.n;
        uint32_t value = (uint32_t)r->npus.n;
        bool fresh;
        if (!map64_put(ids, id, &value, &fresh))
            return error_nomem(err);
        if (!fresh)
            return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                              "two NPUs have id %u: %.*s and %.*s", id,
                              STR_ARG(r->npus.at[value].name), STR_ARG(d.name));
    }
    return add_device(r, d.kind, d.name, err);
}

/* Sort NPUs by their ids, which must be 0 ... n - 1. */
static halley_status sort_npus(edge_reader *r, const map64 *ids, halley_error *err)
{
    device_array sorted = {0};
    if (!array_reserve(&sorted, r->npus.n + 1))
        return error_nomem(err);
    for (size_t i = 0; i < r->npus.n; i++) {
        const uint32_t from = map64_find(ids, i);
        if (from == HASH_NONE) {
            array_fini(&sorted);
            return conf_error(r->in->file, r->raw->devices, err, HALLEY_EINVAL,
                              "the ids of %zu NPUs must be 0 to %zu; no NPU has id %zu",
                              r->npus.n, r->npus.n - 1, i);
        }
        sorted.at[sorted.n++] = r->npus.at[from];
    }
    array_fini(&r->npus);
    r->npus = sorted;
    return HALLEY_OK;
}

static halley_status read_devices(edge_reader *r, halley_error *err)
{
    const conf_node *list = r->raw->devices;
    if (list == NULL) {
        TRY(add_numbered(r, HW_DEVICE_NPU, r->raw->p.npus, err));
        return read_switches(r, err);
    }
    if (list->kind != CONF_LIST || r->raw->p.npus > 0 || r->raw->switches != NULL)
        return conf_error(r->in->file, list, err, HALLEY_EINVAL,
                          "give either a list of devices, or npus and switches");
    map64 ids = {0};
    halley_status status = HALLEY_OK;
    for (uint32_t i = 0; status == HALLEY_OK && i < list->n; i++)
        status = read_device(r, &ids, list->items[i], err);
    if (status == HALLEY_OK)
        status = sort_npus(r, &ids, err);
    map64_fini(&ids);
    return status;
}

/* Number NPUs first; names must be distinct. */
static halley_status number_devices(edge_reader *r, halley_error *err)
{
    const size_t n = r->npus.n + r->others.n;
    hw_device_params *all = arena_array(r->in->memory, n + 1, sizeof *all);
    if (all == NULL)
        return error_nomem(err);
    if (r->npus.n > 0)
        memcpy(all, r->npus.at, r->npus.n * sizeof *all);
    if (r->others.n > 0)
        memcpy(all + r->npus.n, r->others.at, r->others.n * sizeof *all);
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = intern_add(&r->names, all[i].name);
        if (id == HASH_NONE)
            return error_nomem(err);
        if (id != i)
            return error_set(err, HALLEY_EINVAL, "two devices are called %.*s",
                             STR_ARG(all[i].name));
    }
    r->raw->p.devices = all;
    r->raw->p.n_devices = (uint32_t)n;
    return HALLEY_OK;
}

static halley_status find_device(uint32_t *out, const edge_reader *r,
                                 const conf_node *node, halley_error *err)
{
    uint64_t number;
    if (node == NULL || node->kind != CONF_SCALAR)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "an edge must name two devices");
    *out = intern_find(&r->names, node->text);
    if (*out == HASH_NONE && str_to_u64(node->text, &number) &&
        number < r->raw->p.n_devices)
        *out = (uint32_t)number;
    if (*out == HASH_NONE)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "the edge leads to %.*s, which is no device; devices are npu0 "
                          "..., and those of the keys switches and devices",
                          STR_ARG(node->text));
    return HALLEY_OK;
}

/* [from, to, rate, latency] with the last two optional. */
static halley_status read_edge_list(raw_edge *e, const edge_reader *r,
                                    const conf_node *list, halley_error *err)
{
    if (list->n < 2 || list->n > 4)
        return conf_error(r->in->file, list, err, HALLEY_EINVAL,
                          "an edge is [from, to], [from, to, rate] or [from, to, rate, "
                          "latency]");
    e->from = list->items[0];
    e->to = list->items[1];
    if (list->n > 2)
        TRY(conf_to_quantity(&e->bw_Bps, r->in->file, list->items[2], UNITS_BANDWIDTH,
                             "bandwidth", err));
    if (list->n > 3)
        TRY(conf_to_quantity(&e->latency_s, r->in->file, list->items[3], UNITS_TIME,
                             "latency", err));
    return HALLEY_OK;
}

static halley_status read_edge(hw_edge_params *out, const edge_reader *r,
                               const conf_node *node, halley_error *err)
{
    const hw_generator_params *p = &r->raw->p;
    raw_edge e = {.cables = 1,
                  .bw_Bps = p->link_Bps > 0 ? p->link_Bps : 50e9,
                  .latency_s = p->latency_s};
    if (node->kind == CONF_MAP)
        TRY(conf_read(&e, r->in->file, node, edge_fields, N_EDGE_FIELDS, true, NULL,
                      err));
    else if (node->kind == CONF_LIST)
        TRY(read_edge_list(&e, r, node, err));
    else
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "an edge is a list or a map");
    TRY(find_device(&out->from, r, e.from, err));
    TRY(find_device(&out->to, r, e.to, err));
    if (!(e.bw_Bps > 0))
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "bandwidth must be positive, is %s B/s",
                          number_digits(e.bw_Bps, 6).at);
    if (!(e.latency_s >= 0))
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "latency must not be negative, is %s s",
                          number_digits(e.latency_s, 6).at);
    if (out->from == out->to)
        return conf_error(r->in->file, node, err, HALLEY_EINVAL,
                          "the edge joins %.*s to itself", STR_ARG(e.from->text));
    out->bw_Bps = e.bw_Bps;
    out->latency_s = e.latency_s;
    out->cables = e.cables;
    out->one_way = e.one_way;
    return HALLEY_OK;
}

static halley_status read_all_edges(edge_reader *r, halley_error *err)
{
    const conf_node *list = r->raw->edges;
    if (list == NULL || list->kind != CONF_LIST || list->n == 0)
        return conf_error(r->in->file, list, err, HALLEY_EINVAL,
                          "a network written out needs edges, a list of [from, to]");
    hw_edge_params *edges = arena_array(r->in->memory, list->n, sizeof *edges);
    if (edges == NULL)
        return error_nomem(err);
    for (uint32_t i = 0; i < list->n; i++)
        TRY(read_edge(&edges[i], r, list->items[i], err));
    r->raw->p.edges = edges;
    r->raw->p.n_edges = list->n;
    return HALLEY_OK;
}

static halley_status read_written_network(edge_reader *r, halley_error *err)
{
    TRY(read_devices(r, err));
    TRY(number_devices(r, err));
    return read_all_edges(r, err);
}

halley_status hw_edges_read(hw_raw_params *raw, const hw_params_source *in,
                            halley_error *err)
{
    edge_reader r = {.in = in, .raw = raw};
    const halley_status status = read_written_network(&r, err);
    array_fini(&r.npus);
    array_fini(&r.others);
    intern_fini(&r.names);
    return status;
}
